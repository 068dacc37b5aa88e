"""Angles of von Mises' distribution, with the implicit derivative by their concentration.

The density is `exp(kappa * cos(x)) / (2 pi I0(kappa))`. `angle_path` is minus a derivative of the distribution function
by kappa, divided by the density: an integral of elementary functions and of `A = I1 / I0`, the derivative of
`log(I0)`. It is taken from 0 to x where `cos(x) >= A` and from x to pi elsewhere, so that nothing cancels. A and its
derivatives come from `A' = 1 - A * A - A / kappa`, and near 0 from a power series with the same rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.declare.families import elementwise
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample
from pullback.operators.elementwise.arithmetic import cos, floor, sin
from pullback.operators.random.draws import (
    as_parameter,
    cast,
    check,
    drawing,
    dtype_for,
    numbers,
    sample,
    sampler,
    shape_for,
)
from pullback.operators.random.gamma import bell, gauss_rule
from pullback.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]
_DEPTH = 38.0
_NEAR, _FAR = 0.5, 50.0


def _series_of_quotient(count: int) -> list[float]:
    """The coefficients of kappa, kappa ** 3, .. in the power series of A."""
    found = [0.5]
    for k in range(1, count):
        found.append(-sum(found[i] * found[k - 1 - i] for i in range(k)) / (2 * k + 2))
    return found


_COEFFICIENTS = _series_of_quotient(24)


def _near(kappa: Array, order: int) -> Array:
    total = np.zeros_like(kappa)
    for k in range(len(_COEFFICIENTS) - 1, -1, -1):
        power = 2 * k + 1 - order
        if power >= 0:
            total = total + _COEFFICIENTS[k] * math.perm(2 * k + 1, order) * kappa**power
    return total


def _complement(kappa: Array) -> Array:
    """`1 - A`, by a continued fraction, and far out by the asymptotic series of both Bessel functions."""
    near = np.minimum(kappa, _FAR)
    below = np.zeros_like(near)
    for k in range(120, 0, -1):
        below = 1 / (2 * k / near + below)
    far = np.maximum(kappa, _FAR)
    zeroth, difference = np.ones_like(far), np.zeros_like(far)
    terms = [1.0, 1.0]
    for k in range(1, 22):
        terms = [term * -(4 * nu * nu - (2 * k - 1) ** 2) / (8 * k) for nu, term in enumerate(terms)]
        zeroth = zeroth + terms[0] / far**k
        difference = difference + (terms[0] - terms[1]) / far**k
    return np.where(kappa < _FAR, 1 - below, difference / zeroth)


def _quotients(kappa: Array, highest: int) -> list[Array]:
    """A and its derivatives up to an order."""
    is_near = kappa < _NEAR
    away = np.where(is_near, 1.0, kappa)
    rest = _complement(away)
    found = [1 - rest]
    for m in range(highest):
        if m == 0:
            value = rest * (2 - rest) - found[0] / away
        else:
            value = np.zeros_like(away)
            for i in range(m + 1):
                inverse = (-1.0) ** (m - i) * math.factorial(m - i) / away ** (m - i + 1)
                value = value - math.comb(m, i) * found[i] * (found[m - i] + inverse)
        found.append(value)
    return [np.where(is_near, _near(np.where(is_near, kappa, 0.0), m), value) for m, value in enumerate(found)]


def _quotient(kappa: Any, *, order: int) -> Array:
    kappa = np.asarray(kappa)
    dtype = np.result_type(kappa.dtype, np.float32)
    with np.errstate(all="ignore"):
        return _quotients(kappa.astype(np.float64), order)[order].astype(dtype)


quotient: Op = elementwise(
    "_bessel_quotient", _quotient, ("kappa",), (lambda kappa, order: quotient(kappa, order=order + 1),),
    params=("order",), inplace=False, doc="The derivative of this order of `I1(kappa) / I0(kappa)`.",
)  # fmt: skip


def _path_of_angle(kappa: Array, x: Array, order: int) -> Array:
    """The path at angles from 0 to pi."""
    slopes = _quotients(kappa, max(order - 1, 0))
    rest = np.where(kappa < _NEAR, 1 - slopes[0], _complement(np.maximum(kappa, _NEAR)))
    is_inner = 2 * np.sin(x / 2) ** 2 <= rest
    end = np.where(is_inner, 0.0, np.arccos(np.maximum(np.cos(x) - _DEPTH / kappa, -1)))
    total = np.zeros_like(x)
    for node, weight in gauss_rule():
        t = x + node * (end - x)
        # The difference of two cosines, and cos(t) - A, without cancellation.
        value = weight * np.exp(-2 * kappa * np.sin((t + x) / 2) * np.sin((t - x) / 2))
        first = rest - 2 * np.sin(t / 2) ** 2
        total += value * bell(order, lambda k: first if k == 1 else -slopes[k - 1])  # noqa: B023
    return total * (end - x)


def _path(kappa: Any, x: Any, *, order: int) -> Array:
    kappa, x = np.broadcast_arrays(kappa, x)
    dtype = np.result_type(kappa.dtype, x.dtype, np.float32)
    angle = x.astype(np.float64)
    with np.errstate(all="ignore"):
        return (np.sign(angle) * _path_of_angle(kappa.astype(np.float64), np.abs(angle), order)).astype(dtype)


def _logarithm(kappa: Any, x: Any) -> Any:
    """The derivatives by kappa of the logarithm of the density."""
    return lambda k: (cos(x) if k == 1 else 0.0) - quotient(kappa, order=k - 1)


angle_path: Op = elementwise(
    "_angle_path", _path, ("kappa", "x"),
    (
        lambda kappa, x, out, order: angle_path(kappa, x, order=order + 1) - out * _logarithm(kappa, x)(1),
        lambda kappa, x, out, order: out * kappa * sin(x) - bell(order, _logarithm(kappa, x)),
    ),
    params=("order",), inplace=False,
    doc="Minus the derivative of this order by `kappa` of the distribution function of angles `x`, divided by their "
    "density. Order 1: how x moves with kappa.",
)  # fmt: skip


for _op in (quotient, angle_path):
    _op.refuses("parameters of distributions are real numbers", "complex128")


@quotient.samples
def quotient_samples(make: Maker) -> Iterator[Sample]:
    for order in (0, 1):
        yield Sample((make((3, 4), float, 0.05, 6.0),), {"order": order}, f"order-{order}")
    yield Sample((make((3,), float, 40.0, 60.0),), {"order": 0}, "large")
    yield Sample((make((3,), np.float32, 0.05, 6.0),), {"order": 0}, "float32")
    yield Sample((make((), float, 0.05, 6.0),), {"order": 0}, "scalar")
    yield Sample((make((0, 2)),), {"order": 0}, "empty")


@angle_path.samples
def angle_path_samples(make: Maker) -> Iterator[Sample]:
    for order in (1, 2):
        operands = make((3, 4), float, 0.1, 6.0), make((3, 4), float, -3.0, 3.0)
        yield Sample(operands, {"order": order}, f"order-{order}")
    yield Sample((make((3, 1), float, 20.0, 90.0), make((2,), float, 0.1, 0.4)), {"order": 1}, "large")
    yield Sample((make((0, 2)), make((0, 2))), {"order": 1}, "empty")
    yield Sample((make((), float, 0.1, 6.0), make((), float, -3.0, 3.0)), {"order": 1}, "scalar")
    yield Sample((make((3,), np.float32, 0.4, 4.0), make((3,), np.float32, -2.0, 2.0)), {"order": 1}, "float32")


# The sampler ---------------------------------------------------------------------------------------------------------


def _draw_angle(kappa: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    return numbers("vonmises", generator, shape, dtype, 0.0, kappa)


def _distribution(w: Array, mu: Array, kappa: Array) -> tuple[Array, Array]:
    """That of the sizes of angles around 0."""
    x = np.exp(w)
    density = np.exp(kappa * np.cos(x)) / (math.pi * np.i0(kappa))
    parts = [weight * np.exp(kappa * np.cos(node * x)) for node, weight in gauss_rule()]
    return np.sum(parts, axis=0) * x / (math.pi * np.i0(kappa)), density * x


vonmises_op: Op = sampler(
    "vonmises", _draw_angle, ("kappa",), (lambda kappa, out: angle_path(kappa, out, order=1),), kind="vonmises",
    distribution=_distribution, domain=(0.3, 4.0), start=lambda mu, kappa: 1 + 0 * kappa,
    doc="Angles around 0.",
)  # fmt: skip


@drawing
def vonmises(mu: Any, kappa: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Angles from -pi to pi around `mu`, more concentrated for larger `kappa`, differentiable in both parameters."""
    check("vonmises", "not be negative", kappa=kappa)
    mu, kappa = as_parameter(mu), as_parameter(kappa)
    dtype = dtype_for((mu, kappa), dtype)
    around = sample(vonmises_op, (kappa,), shape_for("vonmises", size, (mu, kappa)), dtype, generator)
    angle = cast(mu, dtype) + around
    turns = floor((angle.detach() + math.pi) / (2 * math.pi))
    return angle - 2 * math.pi * turns
