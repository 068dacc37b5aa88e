"""Gamma numbers and what is made of them: chi-square, beta, Dirichlet, F and Student's t.

`standard_gamma` and `loggamma` draw, with the implicit derivative by the shape; everything else is a function of their
results. Quotients are taken of logarithms, which are never zero where a gamma number of a small shape is.

The numbers are those of NumPy for one seed, up to rounding in a quotient. NumPy has other algorithms for `beta` with
both parameters at most 1 and for `dirichlet` with all of them below 0.1, and alternates between normal and gamma
numbers in `standard_t`, so these have streams of their own here (in `standard_t`, if there is more than one number).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.declare.families import elementwise
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample
from pullback.operators.arrays.joining import stack
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.elementwise.arithmetic import exp, log, sigmoid
from pullback.operators.elementwise.comparison import where
from pullback.operators.random.draws import (
    as_parameter,
    beside,
    cast,
    check,
    draw,
    drawing,
    dtype_for,
    numbers,
    sample,
    sampler,
    shape_for,
    sized,
)
from pullback.operators.reductions.exponentials import softmax
from pullback.tensors.tensor import Tensor

# How gamma numbers move with their shape: the implicit derivative, to any order and without SciPy.
#
# Let P(a, w) be the distribution function of `w = log(z)` for gamma numbers z of shape a, and q = dP/dw its density.
# The number of a fixed probability moves by `dw/da = -(dP/da) / q`. The operator `gamma_path` is that quotient, with a
# derivative of any order in the numerator; differentiating it gives the next order and elementary functions of a and w.
#
# Numbers are the logarithms, because a gamma number of a small shape is often smaller than any float. The quotient
# needs no gamma function. With `h(t) = a * t - exp(w) * (exp(t) - 1)`, density at `w + t` over density at w is
# `exp(h(t))`, so derivatives of P divided by q are integrals of powers of t times `exp(h(t))`: over the negative
# numbers for P, over the positive ones for 1 - P, whichever has no cancellation. There h is concave and falls from 0,
# and a Gauss rule up to where it reaches -38 has an error near 1e-14. For shapes below 1, where that range is long, P
# is summed as a series.

Array = np.ndarray[Any, Any]

# Polygamma functions of positive numbers -----------------------------------------------------------------------------

# Bernoulli numbers of the orders 2, 4, ..
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
)  # fmt: skip
_FAR = 16.0
_BLOCK = 1 << 13  # fits the cache


def _polygamma(x: Any, *, order: int) -> Array:
    x = np.asarray(x)
    dtype = np.result_type(x.dtype, np.float32)
    flat = x.astype(np.float64).reshape(-1)
    out = np.empty_like(flat)
    with np.errstate(all="ignore"):
        for start in range(0, flat.size, _BLOCK):
            out[start : start + _BLOCK] = _polygamma_block(flat[start : start + _BLOCK], order)
    return out.reshape(x.shape).astype(dtype)


def _polygamma_block(x: Array, order: int) -> Array:
    """The asymptotic series, which is exact for large numbers; the others are moved up by whole steps first."""
    x = x.copy()
    steps = np.zeros_like(x)
    near = np.flatnonzero(x < _FAR + order)
    if near.size:
        at = x[near]
        taken = np.ones_like(at) if order < 0 else np.zeros_like(at)
        for _ in range(math.ceil(_FAR + order - max(float(at.min()), 0.0))):
            taken = taken * at if order < 0 else taken + (1 / at) ** (order + 1)
            at = at + 1
        x[near], steps[near] = at, np.log(taken) if order < 0 else taken
    inverse = 1 / (x * x)
    tail = np.zeros_like(x)
    for k in range(len(_BERNOULLI), 0, -1):
        weight = _BERNOULLI[k - 1] * math.factorial(2 * k + order - 1) / math.factorial(2 * k)
        tail = (tail + weight) * inverse
    if order < 0:
        return (x - 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + tail * x - steps
    if order == 0:
        return np.log(x) - 0.5 / x - tail - steps
    sign = -1.0 if order % 2 else 1.0
    scale = (1 / x) ** order
    leading = scale * (math.factorial(order - 1) + math.factorial(order) / (2 * x)) + scale * tail
    return -sign * leading - sign * math.factorial(order) * steps


polygamma: Op = elementwise(
    "_polygamma_of_positive", _polygamma, ("x",), (lambda x, order: polygamma(x, order=order + 1),),
    params=("order",), inplace=False,
    doc="The derivative of this order of the digamma function at positive numbers; -1 is the logarithm of gamma.",
)  # fmt: skip


# The path ------------------------------------------------------------------------------------------------------------


def bell(order: int, logarithm: Callable[[int], Any]) -> Any:
    """The derivative of `exp(L)`, divided by `exp(L)`; `logarithm(k)` is the derivative of L of order k."""
    if order == 0:
        return 1.0
    total: Any = 0.0
    for k in range(order):
        total = total + math.comb(order - 1, k) * logarithm(k + 1) * bell(order - 1 - k, logarithm)
    return total


@functools.cache
def gauss_rule() -> tuple[tuple[float, float], ...]:
    """Nodes between 0 and 1 with their weights. Made when needed: loading NumPy's polynomials takes a while."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    return tuple(zip(((nodes + 1) / 2).tolist(), (weights / 2).tolist(), strict=True))


_DEPTH = 38.0
_FLAT = 0.3  # up to here exp(t) - 1 - t is summed as a series


def _moments(a: Array, z: Array, side: float, highest: int) -> list[Array]:
    """The integrals of `t ** k * exp(h(t))` for k = 0 .. highest, over the numbers of one sign."""
    gap = a - z
    end = _end(z, gap, side, a)
    is_flat = end < _FLAT
    totals = [np.zeros_like(a) for _ in range(highest + 1)]
    for node, weight in gauss_rule():
        t = side * node * end
        value = weight * np.exp(gap * t - z * _bend(t, is_flat))
        for total in totals:
            total += value
            value = value * t
    return [total * end for total in totals]


def _bend(t: Array, is_flat: Array) -> Array:
    """`exp(t) - 1 - t`."""
    if not is_flat.any():
        return np.expm1(t) - t
    small = np.where(is_flat, t, 0.0)
    total = small / math.factorial(13)
    for k in range(12, 1, -1):
        total = (total + 1 / math.factorial(k)) * small
    total = total * small
    return total if is_flat.all() else np.where(is_flat, total, np.expm1(t) - t)


def _end(z: Array, gap: Array, side: float, a: Array) -> Array:
    """The distance at which h has fallen to -38, by Newton's method from beyond; h is concave, so it stays there."""
    slope = np.abs(gap)
    if side > 0:
        end = np.minimum(np.sqrt(2 * _DEPTH / z), np.log1p(2 + 2 * _DEPTH / z))
    else:
        end = (_DEPTH + z) / a
    with np.errstate(divide="ignore"):
        end = np.minimum(end, _DEPTH / slope)
    for _ in range(8):
        t = side * end
        bend = _bend(t, end < _FLAT)
        depth = slope * end + z * bend
        end = np.maximum(end - (depth - _DEPTH) / (slope + z * np.abs(np.expm1(t))), 0.1 * end)
    return end


def _series(a: Array, w: Array, z: Array, order: int) -> Array:
    """Minus the sum of the derivatives of `z ** k / (a * (a + 1) * .. * (a + k))`, the series of P / q."""
    psi = [_polygamma_block(a + 1, k) for k in range(order)]
    at = a + 1
    term = 1 / a
    total = np.zeros_like(a)
    for _ in range(40):
        total -= term * bell(order, lambda k: (w - psi[0]) if k == 1 else -psi[k - 1])
        for k in range(order):
            psi[k] = psi[k] + (-1.0) ** k * math.factorial(k) * at ** -(k + 1.0)
        term = term * z / at
        at = at + 1
    return total


def _path_block(a: Array, w: Array, order: int) -> Array:
    z = np.exp(w)
    by_series = (a < 1) & (z <= np.maximum(a, 0.5))
    out = np.empty_like(a)
    out[by_series] = _series(a[by_series], w[by_series], z[by_series], order)
    is_above = ~by_series & (z >= a)
    for places, side in ((is_above, 1.0), (~(by_series | is_above), -1.0)):
        if places.any():
            shape, at = a[places], w[places]
            moments = _moments(shape, z[places], side, order)
            psi = [_polygamma_block(shape, k) for k in range(order)]
            factors = [bell(k, lambda n: (at - psi[0]) if n == 1 else -psi[n - 1]) for k in range(order + 1)]  # noqa: B023
            terms = [math.comb(order, k) * factors[order - k] * moments[k] for k in range(order + 1)]
            out[places] = side * np.sum(terms, axis=0)
    return out


def _path(a: Any, w: Any, *, order: int) -> Array:
    a, w = np.broadcast_arrays(a, w)
    dtype = np.result_type(a.dtype, w.dtype, np.float32)
    shape, log_z = a.astype(np.float64).reshape(-1), w.astype(np.float64).reshape(-1)
    out = np.full(shape.shape, np.nan)
    places = np.flatnonzero((shape > 0) & np.isfinite(shape) & np.isfinite(log_z) & (log_z < 700))
    with np.errstate(all="ignore"):
        for start in range(0, places.size, _BLOCK):
            block = places[start : start + _BLOCK]
            out[block] = _path_block(shape[block], log_z[block], order)
    return out.reshape(a.shape).astype(dtype)


def _by_shape(a: Any, w: Any, out: Any, order: int) -> Any:
    return gamma_path(a, w, order=order + 1) - out * (w - polygamma(a, order=0))


def _by_number(a: Any, w: Any, out: Any, order: int) -> Any:
    factor = bell(order, lambda k: (w if k == 1 else 0.0) - polygamma(a, order=k - 1))
    return -factor - out * (a - exp(w))


gamma_path: Op = elementwise(
    "_gamma_path", _path, ("a", "w"), (_by_shape, _by_number), params=("order",), inplace=False,
    doc="Minus the derivative of this order by `a` of the distribution function of the logarithms `w` of gamma "
    "numbers of shape `a`, divided by their density. Order 1: how w moves with a.",
)  # fmt: skip


for _op in (polygamma, gamma_path):
    _op.refuses("parameters of distributions are real numbers", "complex128")


@polygamma.samples
def polygamma_samples(make: Maker) -> Iterator[Sample]:
    for order in (-1, 0, 1, 2):
        yield Sample((make((3, 4), float, 0.3, 30.0),), {"order": order}, f"order-{order}")
    yield Sample((make((), np.float32, 0.3, 3.0),), {"order": 1}, "float32")
    yield Sample((make((0, 2)),), {"order": 1}, "empty")


@gamma_path.samples
def gamma_path_samples(make: Maker) -> Iterator[Sample]:
    for order in (1, 2):
        operands = make((3, 4), float, 0.4, 4.0), make((3, 4), float, -2.0, 2.0)
        yield Sample(operands, {"order": order}, f"order-{order}")
    yield Sample((make((3, 1), float, 5.0, 60.0), make((2,), float, 2.0, 3.5)), {"order": 1}, "large")
    yield Sample((make((3,), float, 0.01, 0.2), make((3,), float, -90.0, 0.0)), {"order": 1}, "small")
    yield Sample((make((0, 2)), make((0, 2))), {"order": 1}, "empty")
    yield Sample((make((), float, 0.4, 4.0), make(())), {"order": 1}, "scalar")
    yield Sample((make((3,), np.float32, 0.4, 4.0), make((3,), np.float32, -2.0, 2.0)), {"order": 1}, "float32")


def gamma_distribution(w: Array, a: Array) -> tuple[Array, Array]:
    """The distribution function of the logarithms of gamma numbers, and its density."""
    z = np.exp(w)
    density = np.exp(a * w - z - np.asarray([math.lgamma(each) for each in a.flat]).reshape(a.shape))
    below = -_path(a, w, order=0) * density
    return np.where((z >= a) & ((a >= 1) | (z > 0.5)), 1 + below, below), density


# The two samplers ----------------------------------------------------------------------------------------------------


def _draw_gamma(a: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    return numbers("standard_gamma", generator, shape, dtype, a)


def _gamma_slope(a: Any, out: Any) -> Any:
    """`dz/da = z * dw/da`; 0 where the number is too small to be told from 0."""
    is_zero = out == 0
    inside = where(is_zero, 1, out)
    return where(is_zero, 0, inside * gamma_path(where(is_zero, 1, a), log(inside), order=1))


_SMALLEST = float(np.finfo(np.float64).tiny)


def _draw_log_gamma(a: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    """Logarithms, also of numbers below the smallest float.

    Given that a number is below a tiny bound, `(number / bound) ** a` is uniform: minus its logarithm is drawn.
    """
    drawn = numbers("standard_gamma", generator, shape, np.float64, a)
    is_tiny = drawn < _SMALLEST
    out = np.log(np.where(is_tiny, _SMALLEST, drawn))
    count = int(np.count_nonzero(is_tiny))
    if count:
        below = numbers("standard_exponential", generator, (count,), np.float64)
        out[is_tiny] -= below / np.broadcast_to(a, shape)[is_tiny]
    return out.astype(dtype, copy=False)


standard_gamma_op: Op = sampler(
    "standard_gamma", _draw_gamma, ("a",), (_gamma_slope,), kind="standard_gamma", distribution=gamma_distribution,
    domain=(0.5, 4.0), start=lambda a: a, doc="Gamma numbers of shape `a`.",
)  # fmt: skip
loggamma_op: Op = sampler(
    "loggamma", _draw_log_gamma, ("a",), (lambda a, out: gamma_path(a, out, order=1),), kind="standard_gamma",
    distribution=gamma_distribution, domain=(0.5, 4.0), start=lambda a: a, doc="Logarithms of gamma numbers.",
)  # fmt: skip


@drawing
def standard_gamma(shape: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Gamma numbers of this shape parameter and scale 1, differentiable in `shape`.

    The derivative is the implicit one, `-(dF / dshape) / density`.
    """
    check("standard_gamma", "not be negative", shape=shape)
    return sample(standard_gamma_op, (shape,), size, dtype, generator)


@drawing
def gamma(shape: Any, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Gamma numbers `scale * standard_gamma(shape)`, differentiable in both parameters."""
    check("gamma", "not be negative", shape=shape, scale=scale)
    shape, scale = as_parameter(shape), as_parameter(scale)
    dtype = dtype_for((shape, scale), dtype)
    drawn = sample(standard_gamma_op, (shape,), shape_for("gamma", size, (shape, scale)), dtype, generator)
    return drawn * cast(scale, dtype)


@drawing
def loggamma(shape: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """The logarithms of gamma numbers of this shape parameter, differentiable in it.

    They are right also where the gamma numbers themselves are too small for a float.
    """
    check("loggamma", "be positive", shape=shape)
    return sample(loggamma_op, (shape,), size, dtype, generator)


# Functions of gamma numbers ------------------------------------------------------------------------------------------


@drawing
def chisquare(df: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Chi-square numbers of `df` degrees of freedom, differentiable in them."""
    check("chisquare", "be positive", df=df)
    df = as_parameter(df)
    return 2 * sample(standard_gamma_op, (df / 2,), shape_for("chisquare", size, (df,)), dtype, generator)


def _log_gamma_pair(
    function: str, first: Any, second: Any, size: Any, dtype: Any, generator: Any
) -> tuple[Tensor, Tensor]:
    """The logarithms of two gamma numbers for each result, drawn in turns, as NumPy draws them."""
    first, second = as_parameter(first), as_parameter(second)
    dtype = dtype_for((first, second), dtype)
    shape = shape_for(function, size, (first, second))
    sides = [broadcast_to(as_parameter(np.asarray(p)) if isinstance(p, (int, float)) else p, shape)
             for p in (first, second)]  # fmt: skip
    drawn = sample(loggamma_op, (stack(sides, axis=-1),), None, dtype, generator)
    return drawn[..., 0], drawn[..., 1]


@drawing
def beta(a: Any, b: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Beta numbers `x / (x + y)` of gamma numbers of shapes `a` and `b`, differentiable in both."""
    check("beta", "be positive", a=a, b=b)
    x, y = _log_gamma_pair("beta", a, b, size, dtype, generator)
    return sigmoid(x - y)


@drawing
def f(dfnum: Any, dfden: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Quotients of chi-square numbers over their degrees of freedom, differentiable in both of these."""
    check("f", "be positive", dfnum=dfnum, dfden=dfden)
    dfnum, dfden = as_parameter(dfnum), as_parameter(dfden)
    dtype = dtype_for((dfnum, dfden), dtype)
    x, y = _log_gamma_pair("f", dfnum / 2, dfden / 2, size, dtype, generator)
    return exp(x - y) * (cast(dfden, dtype) / cast(dfnum, dtype))


@drawing
def standard_t(df: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Student's t numbers, a normal one over the root of a mean of squares, differentiable in `df`."""
    check("standard_t", "be positive", df=df)
    df = as_parameter(df)
    dtype = dtype_for((df,), dtype)
    shape = shape_for("standard_t", size, (df,))
    noise = draw("standard_normal", shape, dtype=dtype, generator=generator)
    half = cast(df, dtype) / 2
    log_half = log(half) if isinstance(half, Tensor) else math.log(half)
    return beside(noise, df) * exp((log_half - sample(loggamma_op, (half,), shape, dtype, generator)) / 2)


@drawing
def dirichlet(alpha: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Probabilities that sum to 1 over the last axis, differentiable in `alpha`, whose last axis counts the outcomes.

    `size` is the shape of the result without that axis.
    """
    check("dirichlet", "be positive", alpha=alpha)
    alpha = as_parameter(alpha)
    if np.ndim(alpha) == 0 or alpha.shape[-1] == 0:
        raise ValueError(
            "dirichlet: alpha needs one positive number for each outcome along its last axis, and has "
            f"{'no axis' if np.ndim(alpha) == 0 else 'none'}: pass at least a list of one number"
        )
    whole = shape_for("dirichlet", None if size is None else (*sized(size), alpha.shape[-1]), (alpha,))
    return softmax(sample(loggamma_op, (alpha,), whole, dtype, generator), axis=-1)
