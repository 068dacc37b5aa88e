"""Functions defined by integrals and equations: elliptic, exponential, Fresnel, Airy, Lambert W, hypergeometric.

The complete elliptic integrals are differentiated as the hypergeometric functions they are, pi/2 times
`F(1/2, 1/2; 1; m)` and `F(-1/2, 1/2; 1; m)`, because the usual derivatives, `(E - (1 - m) K) / (2 m (1 - m))` and
`(E - K) / (2 m)`, lose all digits near m = 0.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample
from pullback.operators.elementwise.arithmetic import cos, cosh, exp, sin, sinh
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.elementwise.elementary import sinc
from pullback.operators.special.elementary import erf, log1prel
from pullback.operators.special.rows import has_scipy, row, scipy_function

# Hypergeometric functions

_PARAMETER = "The derivative is by `z`; the parameters have none."
hyp0f1: Op = row(
    "hyp0f1", ("v", "z"), ("refused", lambda v, z: hyp0f1(v + 1, z) / v), domain=[range(1, 4), (-2.0, 2.0)],
    holomorphic=True, doc=f"The confluent hypergeometric limit function 0F1. {_PARAMETER}",
)  # fmt: skip
hyp1f1: Op = row(
    "hyp1f1", ("a", "b", "z"), ("refused", "refused", lambda a, b, z: hyp1f1(a + 1, b + 1, z) * (a / b)),
    domain=[range(1, 4), range(1, 4), (-2.0, 2.0)], holomorphic=True,
    doc=f"The confluent hypergeometric function 1F1. {_PARAMETER}",
)  # fmt: skip
hyp2f1: Op = row(
    "hyp2f1", ("a", "b", "c", "z"),
    ("refused", "refused", "refused", lambda a, b, c, z: hyp2f1(a + 1, b + 1, c + 1, z) * (a * b / c)),
    domain=[range(1, 3), range(1, 3), range(1, 4), (-0.7, 0.7)], holomorphic=True,
    doc=f"The hypergeometric function 2F1. {_PARAMETER}",
)  # fmt: skip

# Elliptic integrals

_EIGHTH = math.pi / 8
ellipk: Op = row(
    "ellipk", ("m",), (lambda m: _EIGHTH * hyp2f1(1.5, 1.5, 2.0, m),), domain=(-2.0, 0.9),
    doc="The complete elliptic integral of the first kind of the parameter `m` (the square of the modulus).",
)  # fmt: skip
ellipe: Op = row(
    "ellipe", ("m",), (lambda m: -_EIGHTH * hyp2f1(0.5, 1.5, 2.0, m),), domain=(-2.0, 0.9),
    doc="The complete elliptic integral of the second kind of the parameter `m`.",
)  # fmt: skip


def _ellipkm1_slope(p: Any) -> Any:
    """Minus the derivative of `ellipk` at 1 - p; close to p = 0 by the formula that does not form 1 - p twice."""
    is_small = p < 0.5
    small, large = where(is_small, p, 0.25), where(is_small, 1, p)
    by_formula = -(ellipe(1 - small) - small * ellipkm1(small)) / (2 * (1 - small) * small)
    return where(is_small, by_formula, -_EIGHTH * hyp2f1(1.5, 1.5, 2.0, 1 - large))


ellipkm1: Op = row(
    "ellipkm1", ("p",), (_ellipkm1_slope,), domain=(0.05, 1.5), doc="`ellipk(1 - p)`, accurate for small `p`."
)
ellipkinc: Op = row(
    "ellipkinc", ("phi", "m"), (lambda phi, m: (1 - m * sin(phi) ** 2) ** -0.5, "refused"),
    domain=[(-1.2, 1.2), range(-2, 1)],
    doc="The incomplete elliptic integral of the first kind; the parameter `m` has no derivative.",
)  # fmt: skip
ellipeinc: Op = row(
    "ellipeinc", ("phi", "m"), (lambda phi, m: (1 - m * sin(phi) ** 2) ** 0.5, "refused"),
    domain=[(-1.2, 1.2), range(-2, 1)],
    doc="The incomplete elliptic integral of the second kind; the parameter `m` has no derivative.",
)  # fmt: skip

# Exponential integrals, Spence, Lambert W, Owen

expi: Op = row(
    "expi", ("x",), (lambda x: exp(x) / x,), domain=(0.3, 2.0), holomorphic=True,
    doc="The exponential integral Ei, of `exp(t) / t` up to `x`.",
)  # fmt: skip
exp1: Op = row(
    "exp1", ("x",), (lambda x: -exp(-x) / x,), domain=(0.3, 2.0), holomorphic=True,
    doc="The exponential integral E1, of `exp(-t) / t` from `x` on.",
)  # fmt: skip


def _expn_slope(n: Any, x: Any) -> Any:
    lowest = -exp(-x) * (1 + x) / (x * x)
    return where(n > 0, -expn(n - (n > 0), x), lowest)


expn: Op = row(
    "expn", ("n", "x"), ("refused", _expn_slope), domain=[range(4), (0.4, 3.0)],
    doc="The exponential integral of order `n`, of `exp(-x * t) / t ** n` from 1 on.",
)  # fmt: skip
spence: Op = row(
    "spence", ("z",), (lambda z: -log1prel(z - 1),), domain=(0.3, 2.5), holomorphic=True,
    doc="The dilogarithm of `1 - z`, the integral of `log(t) / (1 - t)` from 1 to `z`. The derivative at 1 is -1.",
)  # fmt: skip
wrightomega: Op = row(
    "wrightomega", ("z",), (lambda out: out / (1 + out),), holomorphic=True,
    doc="The solution `w` of `w + log(w) = z`.",
)  # fmt: skip
lambertw: Op = row(
    "lambertw", ("z",), (lambda z, out: 1 / (z + exp(out)),), kernel=lambda z, *, k: scipy_function("lambertw")(z, k),
    domain=(0.2, 3.0), holomorphic=True, params={"k": 0},
    doc="The solution `w` of `w * exp(w) = z` on the branch `k`; always complex.",
)  # fmt: skip


@lambertw.door
def lambertw_door(z: Any, k: int = 0) -> Any:
    return (z,), {"k": operator.index(k)}


owens_t: Op = row(
    "owens_t", ("h", "a"),
    (
        lambda h, a: exp(-0.5 * h * h) * erf(a * h * math.sqrt(0.5)) / (-2 * math.sqrt(2 * math.pi)),
        lambda h, a: exp(-0.5 * h * h * (1 + a * a)) / (2 * math.pi * (1 + a * a)),
    ),
    doc="Owen's T: the probability that X > h and 0 < Y < a X for independent standard normal X, Y.",
)  # fmt: skip

# Functions with several values


def _several(name: str, outputs: tuple[str, ...], domain: tuple[float, float], doc: str) -> Op:
    """An elementwise function that returns several arrays; its derivatives are attached."""
    function = scipy_function(name)

    def kernel(x):
        return function(x)

    kernel.__doc__ = doc
    op = primitive(kernel, outputs=outputs, name=f"special.{name}", family="special", torch=f"special_{name}")
    op.spec(lambda x: tuple(spec_for(x.shape, op.kernel(np.ones((), x.dtype))[0].dtype) for _ in outputs))
    op.batch(lambda x: op(x))

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        if not has_scipy():
            return
        for label, shape in (("matrix", (3, 2)), ("scalar", ()), ("empty", (0, 2))):
            yield Sample((make(shape, float, *domain),), label=label)
        yield Sample((make((4,), np.float32, *domain),), label="float32")
        yield Sample((make((6,), float, *domain)[::-2],), label="strided")
        yield Sample((make((3,), np.complex128, *domain),), label="complex")

    return op


def _pulled(gs: tuple[Any, ...], slopes: tuple[Any, ...]) -> Any:
    """The gradient of `x` from those of the values that have one."""
    terms = [g * conjugated(slope) for g, slope in zip(gs, slopes, strict=True) if g is not None]
    return functools.reduce(operator.add, terms)


def _with_slopes(op: Op, slopes: Callable[[Any], tuple[Any, Any]]) -> Op:
    """Attach the derivatives of two values that are functions of `x` alone."""
    op.vjp(lambda gs, x: _pulled(gs, slopes(x)))
    op.jvp(lambda t_x, x: tuple(t_x * slope for slope in slopes(x)))
    return op


def _sinhc(x: Any) -> Any:
    """`sinh(x) / x`, and 1 at 0."""
    at_zero = x == 0
    return where(at_zero, 1, sinh(x) / where(at_zero, 1, x))


sici = _with_slopes(
    _several("sici", ("si", "ci"), (0.3, 3.0), "The sine and cosine integrals Si and Ci."),
    lambda x: (sinc(x / math.pi), cos(x) / x),
)
shichi = _with_slopes(
    _several("shichi", ("shi", "chi"), (0.3, 2.0), "The hyperbolic sine and cosine integrals Shi and Chi."),
    lambda x: (_sinhc(x), cosh(x) / x),
)
fresnel = _with_slopes(
    _several("fresnel", ("s", "c"), (-1.2, 1.2), "The Fresnel integrals of `sin` and `cos` of `pi * t * t / 2`."),
    lambda x: (sin(0.5 * math.pi * x * x), cos(0.5 * math.pi * x * x)),
)
airy = _several(
    "airy", ("ai", "aip", "bi", "bip"), (-2.0, 2.0), "The Airy functions and their derivatives: Ai, Ai', Bi, Bi'."
)


@airy.vjp
def airy_vjp(gs, x, ai, aip, bi, bip):
    return _pulled(gs, (aip, x * ai, bip, x * bi))


@airy.jvp
def airy_jvp(t_x, x, ai, aip, bi, bip):
    return t_x * aip, t_x * (x * ai), t_x * bip, t_x * (x * bi)


@composite(name="special.airy_ai")
def airy_ai(x: Any) -> Any:
    """The Airy function Ai, the first of the values of `airy`."""
    return airy(x)[0]
