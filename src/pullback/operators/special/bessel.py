"""Bessel functions and their relatives. Orders are operands without derivative; derivatives by `x` are recurrences.

Where a recurrence divides by `x` there is often another that does not, and then that one is used: its limit at 0 is
right, to any order of differentiation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.op import Op
from pullback.operators.arguments import every_value, tensor_from
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import sign
from pullback.operators.special.gamma import rgamma
from pullback.operators.special.rows import row, scipy_function
from pullback.operators.special.written_out import modified_bessel

_ORDERS = [range(4), (0.4, 4.0)]


def _of_order(name: str, partial: Any, doc: str, **options: Any) -> Op:
    """A function of an order `v` and a point `x`."""
    return row(
        name, ("v", "x"), ("refused", partial), domain=_ORDERS, doc=f"{doc} There is no derivative by the order.",
        **options,
    )  # fmt: skip


# Of any order

jv: Op = _of_order(
    "jv", lambda v, x: (jv(v - 1, x) - jv(v + 1, x)) / 2, "The Bessel function of the first kind of order `v`.",
    aliases=("jn",), holomorphic=True,
)  # fmt: skip
yv: Op = _of_order(
    "yv", lambda v, x: (yv(v - 1, x) - yv(v + 1, x)) / 2, "The Bessel function of the second kind of order `v`.",
    aliases=("yn",), holomorphic=True,
)  # fmt: skip
hankel1: Op = _of_order(
    "hankel1", lambda v, x: (hankel1(v - 1, x) - hankel1(v + 1, x)) / 2,
    "The Hankel function of the first kind, `jv + 1j * yv`.", holomorphic=True,
)  # fmt: skip
hankel2: Op = _of_order(
    "hankel2", lambda v, x: (hankel2(v - 1, x) - hankel2(v + 1, x)) / 2,
    "The Hankel function of the second kind, `jv - 1j * yv`.", holomorphic=True,
)  # fmt: skip
iv: Op = _of_order(
    "iv", lambda v, x: (iv(v - 1, x) + iv(v + 1, x)) / 2, "The modified Bessel function of the first kind.",
    holomorphic=True,
)  # fmt: skip
kv: Op = _of_order(
    "kv", lambda v, x: -(kv(v - 1, x) + kv(v + 1, x)) / 2, "The modified Bessel function of the second kind.",
    aliases=("kn",), holomorphic=True,
)  # fmt: skip


def _ive_slope(v: Any, x: Any, out: Any) -> Any:
    if is_complex_dtype(x.dtype):
        raise NotImplementedError("special.ive has no complex derivative: abs(x.real) is not holomorphic; use iv")
    return (ive(v - 1, x) + ive(v + 1, x)) / 2 - sign(x) * out


ive: Op = _of_order(
    "ive", _ive_slope,
    "`iv(v, x) * exp(-abs(x))` for real `x`.",
)  # fmt: skip
ive.refuses("its factor exp(-abs(x.real)) has no complex derivative", "complex derivative")
kve: Op = _of_order(
    "kve", lambda v, x, out: out - (kve(v - 1, x) + kve(v + 1, x)) / 2, "`kv(v, x) * exp(x)`.", holomorphic=True
)


def _struve_slope(v: Any, x: Any) -> Any:
    extra = (0.5 * x) ** v * rgamma(v + 1.5) / (2 * math.sqrt(math.pi))
    return (struve(v - 1, x) - struve(v + 1, x)) / 2 + extra


struve: Op = _of_order("struve", _struve_slope, "The Struve function of order `v`.")

# Of order 0 and 1

j0: Op = row("j0", ("x",), (lambda x: -j1(x),), aliases=("bessel_j0",), doc="The Bessel function `jv(0, x)`.")
j1: Op = row(
    "j1", ("x",), (lambda x: (j0(x) - jv(2, x)) / 2,), aliases=("bessel_j1",), doc="The Bessel function `jv(1, x)`."
)
y0: Op = row(
    "y0", ("x",), (lambda x: -y1(x),), domain=(0.4, 4.0), aliases=("bessel_y0",), doc="The Bessel function `yv(0, x)`."
)
y1: Op = row(
    "y1", ("x",), (lambda x, out: y0(x) - out / x,), domain=(0.4, 4.0), aliases=("bessel_y1",),
    doc="The Bessel function `yv(1, x)`.",
)  # fmt: skip
i0: Op = row(
    "i0", ("x",), (lambda x: i1(x),), aliases=("modified_bessel_i0",), doc="The modified Bessel function `iv(0, x)`.",
    expand=modified_bessel(0, is_scaled=False),
)  # fmt: skip
i1: Op = row(
    "i1", ("x",), (lambda x: (i0(x) + _i2(x)) / 2,), aliases=("modified_bessel_i1",),
    doc="The modified Bessel function `iv(1, x)`.", expand=modified_bessel(1, is_scaled=False),
)  # fmt: skip
_i2: Op = row(
    "_i2", ("x",), (lambda x: (i1(x) + iv(3, x)) / 2,), kernel=lambda x: scipy_function("iv")(np.float32(2), x),
    doc="`iv(2, x)`.", expand=modified_bessel(2, is_scaled=False),
)  # fmt: skip
_i2.refuses("it is the slope of `i1`, which is for real numbers", "complex128")
i0e: Op = row(
    "i0e", ("x",), (lambda x, out: i1e(x) - sign(x) * out,), domain=(0.2, 3.0),
    doc="`i0(x) * exp(-abs(x))`. The derivative at the kink at 0 is 0.", expand=modified_bessel(0, is_scaled=True),
)  # fmt: skip


def _i1e_slope(x: Any, out: Any) -> Any:
    is_zero = x == 0  # ive(2, x) would do without a case, but is NaN for large numbers
    return where(is_zero, 0.5, i0e(x) - out * (sign(x) + 1 / where(is_zero, 1, x)))


i1e: Op = row(
    "i1e", ("x",), (_i1e_slope,), domain=(0.2, 3.0),
    doc="`i1(x) * exp(-abs(x))`. The derivative at 0 is 1/2.", expand=modified_bessel(1, is_scaled=True),
)  # fmt: skip
_POSITIVE: dict[str, Any] = {"domain": (0.4, 4.0)}
k0: Op = row(
    "k0", ("x",), (lambda x: -k1(x),), **_POSITIVE, aliases=("modified_bessel_k0",),
    doc="The modified Bessel function `kv(0, x)`.",
)  # fmt: skip
k1: Op = row(
    "k1", ("x",), (lambda x, out: -k0(x) - out / x,), **_POSITIVE, aliases=("modified_bessel_k1",),
    doc="The modified Bessel function `kv(1, x)`.",
)  # fmt: skip
k0e: Op = row(
    "k0e", ("x",), (lambda x, out: out - k1e(x),), **_POSITIVE, aliases=("scaled_modified_bessel_k0",),
    doc="`k0(x) * exp(x)`.",
)  # fmt: skip
k1e: Op = row(
    "k1e", ("x",), (lambda x, out: out * (1 - 1 / x) - k0e(x),), **_POSITIVE, aliases=("scaled_modified_bessel_k1",),
    doc="`k1(x) * exp(x)`.",
)  # fmt: skip

# Spherical: f' = (n f[n-1] - (n + 1) f[n+1]) / (2 n + 1), in which f[-1] has the factor 0


def _spherical(name: str, doc: str, falling: int, rising: int) -> Op:
    def slope(n: Any, z: Any) -> Any:
        lower = n - (n > 0)
        return (falling * n * op(lower, z) + rising * (n + 1) * op(n + 1, z)) / (2 * n + 1)

    op = row(
        name, ("n", "z"), ("refused", slope), domain=_ORDERS, doc=f"{doc} The order `n` is an integer.",
        kernel=lambda n, z: scipy_function(name)(n, z), holomorphic=True,
    )  # fmt: skip
    return op


spherical_jn: Op = _spherical("spherical_jn", "The spherical Bessel function of the first kind.", 1, -1)
spherical_yn: Op = _spherical("spherical_yn", "The spherical Bessel function of the second kind.", 1, -1)
spherical_in: Op = _spherical("spherical_in", "The modified spherical Bessel function of the first kind.", 1, 1)
spherical_kn: Op = _spherical("spherical_kn", "The modified spherical Bessel function of the second kind.", -1, -1)


@composite(name="special.spherical_bessel_j0")
def spherical_bessel_j0(x: Any) -> Any:
    """`sin(x) / x`, and 1 at 0: `spherical_jn(0, x)`."""
    return spherical_jn(0, x)


# Orthogonal polynomials at a point. Degrees and parameters are operands without derivative.
#
# The derivative of a classical orthogonal polynomial is one of lower degree of the next family, so no rule divides by
# `x * x - 1`, and the derivatives at the ends of the interval need no case of their own.

_INTERVAL = (-1.0, 1.0)


def _polynomial(name: str, operands: tuple[str, ...], slope: Any, doc: str, domain: Any = _INTERVAL) -> Op:
    parameters = len(operands) - 1
    return row(
        name, operands, (*["refused"] * parameters, slope),
        domain=[range(5), *[range(1, 4)] * (parameters - 1), domain],
        doc=f"{doc} The derivative is by `x` alone.", holomorphic="hermite" not in name,
    )  # fmt: skip


def _lower(n: Any) -> Any:
    """One degree less; degree 0 stays, and has the factor 0 in the rules."""
    return n - (n != 0)


eval_jacobi: Op = _polynomial(
    "eval_jacobi", ("n", "alpha", "beta", "x"),
    lambda n, alpha, beta, x: eval_jacobi(_lower(n), alpha + 1, beta + 1, x) * ((n + alpha + beta + 1) * (n != 0) / 2),
    "The Jacobi polynomial of degree `n`.",
)  # fmt: skip
eval_gegenbauer: Op = _polynomial(
    "eval_gegenbauer", ("n", "alpha", "x"),
    lambda n, alpha, x: eval_gegenbauer(_lower(n), alpha + 1, x) * (2.0 * alpha * (n != 0)),
    "The Gegenbauer polynomial of degree `n`.",
)  # fmt: skip
eval_legendre: Op = _polynomial(
    "eval_legendre", ("n", "x"), lambda n, x: eval_jacobi(_lower(n), 1.0, 1.0, x) * ((n + 1) * (n != 0) / 2),
    "The Legendre polynomial of degree `n`.",
)  # fmt: skip
eval_chebyt: Op = _polynomial(
    "eval_chebyt", ("n", "x"), lambda n, x: eval_chebyu(_lower(n), x) * (n * 1.0),
    "The Chebyshev polynomial of the first kind of degree `n`.",
)  # fmt: skip
eval_chebyu: Op = _polynomial(
    "eval_chebyu", ("n", "x"), lambda n, x: eval_gegenbauer(_lower(n), 2.0, x) * (2.0 * (n != 0)),
    "The Chebyshev polynomial of the second kind of degree `n`.",
)  # fmt: skip
eval_hermite: Op = _polynomial(
    "eval_hermite", ("n", "x"), lambda n, x: eval_hermite(_lower(n), x) * (2.0 * n),
    "The Hermite polynomial of degree `n`, for the weight `exp(-x * x)`.",
)  # fmt: skip
eval_hermitenorm: Op = _polynomial(
    "eval_hermitenorm", ("n", "x"), lambda n, x: eval_hermitenorm(_lower(n), x) * (1.0 * n),
    "The Hermite polynomial of degree `n` for the weight `exp(-x * x / 2)`.",
)  # fmt: skip
eval_genlaguerre: Op = _polynomial(
    "eval_genlaguerre", ("n", "alpha", "x"),
    lambda n, alpha, x: eval_genlaguerre(_lower(n), alpha + 1, x) * (-1.0 * (n != 0)),
    "The generalized Laguerre polynomial of degree `n`.", (0.1, 3.0),
)  # fmt: skip
eval_laguerre: Op = _polynomial(
    "eval_laguerre", ("n", "x"), lambda n, x: eval_genlaguerre(_lower(n), 1.0, x) * (-1.0 * (n != 0)),
    "The Laguerre polynomial of degree `n`.", (0.1, 3.0),
)  # fmt: skip


def _third(n: Any, x: Any) -> Any:
    return eval_chebyu(n, x) - eval_chebyu(_lower(n), x) * (n != 0)


def _fourth(n: Any, x: Any) -> Any:
    return eval_chebyu(n, x) + eval_chebyu(_lower(n), x) * (n != 0)


def _of_whole_degree(evaluate: Op) -> Any:
    """A polynomial that SciPy has for integers `n`, with degrees that are whole numbers of another type."""

    def polynomial(n: Any, x: Any) -> Any:
        degree = every_value(n)
        if degree.dtype.kind == "f":
            if (degree != np.floor(degree)).any():
                raise ValueError(f"{evaluate.name}: the degree of a polynomial is a whole number, got {degree}")
            n = astype(tensor_from(n), np.int64)
        return evaluate(n, x)

    return polynomial


def _with_point_first(name: str, evaluate: Any, what: str, shifted: bool = False) -> Any:
    """A polynomial under torch's name, which takes the point before the degree."""

    @composite(name=f"special.{name}", arrays=2)
    def polynomial(x: Any, n: Any) -> Any:
        return evaluate(n, 2 * x - 1 if shifted else x)

    polynomial.__name__ = polynomial.__qualname__ = name
    where = "2 * x - 1" if shifted else "x"
    polynomial.__doc__ = f"The {what} polynomial of degree `n` at `{where}`. The derivative is by `x` alone."
    return polynomial


chebyshev_polynomial_t = _with_point_first("chebyshev_polynomial_t", eval_chebyt, "Chebyshev")
chebyshev_polynomial_u = _with_point_first("chebyshev_polynomial_u", eval_chebyu, "second Chebyshev")
chebyshev_polynomial_v = _with_point_first("chebyshev_polynomial_v", _third, "third Chebyshev")
chebyshev_polynomial_w = _with_point_first("chebyshev_polynomial_w", _fourth, "fourth Chebyshev")
for _kind, _evaluate, _what in [
    ("t", eval_chebyt, "Chebyshev"), ("u", eval_chebyu, "second Chebyshev"), ("v", _third, "third Chebyshev"),
    ("w", _fourth, "fourth Chebyshev"),
]:  # fmt: skip
    _with_point_first(f"shifted_chebyshev_polynomial_{_kind}", _evaluate, _what, shifted=True)
hermite_polynomial_h = _with_point_first("hermite_polynomial_h", _of_whole_degree(eval_hermite), "Hermite")
hermite_polynomial_he = _with_point_first(
    "hermite_polynomial_he", _of_whole_degree(eval_hermitenorm), "normalized Hermite"
)
laguerre_polynomial_l = _with_point_first("laguerre_polynomial_l", eval_laguerre, "Laguerre")
legendre_polynomial_p = _with_point_first("legendre_polynomial_p", eval_legendre, "Legendre")
