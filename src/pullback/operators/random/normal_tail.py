"""Distributions made of the normal distribution function: truncated normal numbers and Wald's.

Everything is written with Mills' ratio, the upper tail of the normal distribution over its density, which neither
overflows nor cancels in the tail: `(1 - cdf(x)) / pdf(x)`, with derivative `x * ratio - 1`. No SciPy is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.declare.families import elementwise
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample
from pullback.operators.elementwise.arithmetic import exp, sqrt
from pullback.operators.elementwise.comparison import isinf, maximum, where
from pullback.operators.nn.erf import normal_cdf
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
    values_of,
    values_together,
)
from pullback.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]
_ROOT = math.sqrt(2 * math.pi)
_LEAST = 2.0**-54


def _mills(x: Any) -> Array:
    x = np.asarray(x)
    if x.dtype.kind == "c":
        raise TypeError("_mills_ratio takes real numbers, got complex ones")
    dtype = x.dtype if x.dtype.kind == "f" else np.result_type(x.dtype, np.float32)
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        near = normal_cdf(-np.minimum(x, 4)) * np.exp(np.minimum(x, 4) ** 2 / 2) * _ROOT
        far = np.maximum(x, 4)
        below = far
        for k in range(60, 0, -1):  # the continued fraction x + 1 / (x + 2 / (x + ..))
            below = far + k / below
        return np.asarray(np.where(x < 4, near, 1 / below)).astype(dtype)


mills: Op = elementwise(
    "_mills_ratio", _mills, ("x",), (lambda x, out: x * out - 1,), domain=(-2.0, 7.0), inplace=False,
    doc="The upper tail of the normal distribution over its density.",
)  # fmt: skip


@mills.spelling("array_api")
def mills_spelling(np_there, x):
    return np_there.special("erfcx", x * math.sqrt(0.5)) * math.sqrt(math.pi / 2)


def _log_cdf(x: Array) -> Array:
    """The logarithm of the normal distribution function; used at `x <= 0` and near it."""
    return np.log(_mills(-x)) - x * x / 2 - math.log(_ROOT)


# Truncated normal numbers --------------------------------------------------------------------------------------------


def _quantile_of_log(target: Array) -> Array:
    """The x at which the logarithm of the normal distribution function, at most -log(2), is `target`.

    Newton's method; that logarithm is concave, so it comes from the left after one step and does not leave.
    """
    x = -np.sqrt(np.maximum(-2 * (target + math.log(2)), 0))
    for _ in range(12):
        step = (_log_cdf(x) - target) * _mills(-x)
        x = x - np.where(np.isfinite(step), step, 0)
    return x


def _left(low: Array, high: Array, u: Array) -> Array:
    """Quantiles between bounds of which the lower one is the further one from 0."""
    middle = np.minimum(high, 0)
    top, bottom = _log_cdf(middle), np.where(np.isinf(low), -np.inf, _log_cdf(np.where(np.isinf(low), 0, low)))
    beyond = np.where(high > 0, normal_cdf(np.maximum(high, 0)) - 0.5, 0.0)
    whole = -np.expm1(bottom - top) * np.exp(top) + beyond
    chance = np.exp(bottom) + u * whole
    # Far in the tail only the logarithm of the chance is a number.
    log_chance = np.where(high > 0, np.log(chance), top + np.log(u + (1 - u) * np.exp(bottom - top)))
    is_left = log_chance <= -math.log(2)
    from_left = _quantile_of_log(np.where(is_left, log_chance, -1.0))
    upper = normal_cdf(-high) + (1 - u) * whole
    from_right = -_quantile_of_log(np.log(np.where(is_left, 0.25, np.minimum(upper, 0.5))))
    return np.where(is_left, from_left, from_right)


def _truncated(low: Any, high: Any, u: Any) -> Array:
    low, high, u = np.broadcast_arrays(low, high, u)
    dtype = np.result_type(low.dtype, high.dtype, u.dtype, np.float32)
    low, high, u = (x.astype(np.float64) for x in (low, high, u))
    with np.errstate(all="ignore"):
        is_mirrored = low + high > 0
        bounds = np.where(is_mirrored, -high, low), np.where(is_mirrored, -low, high)
        out = _left(*bounds, np.where(is_mirrored, 1 - u, u))
        return np.clip(np.where(is_mirrored, -out, out), low, high).astype(dtype)


def _between(low: Any, high: Any) -> Array:
    is_right = np.asarray(low) > 0
    first, second = np.where(is_right, -np.asarray(high), low), np.where(is_right, -np.asarray(low), high)
    return np.asarray(normal_cdf(second) - normal_cdf(first))


def _density(x: Any) -> Any:
    return exp(-x * x / 2) / _ROOT


normal_between: Op = elementwise(
    "_normal_between", _between, ("low", "high"), (lambda low: -_density(low), lambda high: _density(high)),
    inplace=False, doc="The probability that a normal number lies between two bounds.",
)  # fmt: skip
truncated: Op = elementwise(
    "_truncated_normal", _truncated, ("low", "high", "u"),
    (
        lambda low, u, out: (1 - u) * exp((out - low) * (out + low) / 2),
        lambda high, u, out: u * exp((out - high) * (out + high) / 2),
        lambda low, high, out: normal_between(low, high) / _density(out),
    ),
    domain=((-2.0, -0.2), (0.1, 2.0), (0.1, 0.9)), inplace=False,
    doc="The quantile of probability `u` of a normal number that lies between `low` and `high`.",
)  # fmt: skip


@normal_between.spelling("array_api")
def normal_between_spelling(np_there, low, high):
    # On the side where both tails are small, so that their difference keeps its digits.
    is_above = low > 0
    one, other = np_there.where(is_above, -high, low), np_there.where(is_above, -low, high)
    return np_there.special("ndtr", other) - np_there.special("ndtr", one)


@drawing
def truncated_normal(
    loc: Any = 0.0, scale: Any = 1.0, low: Any = -2.0, high: Any = 2.0, size: Any = None, *, dtype: Any = None,
    generator: Any = None,
) -> Tensor:  # fmt: skip
    """Normal numbers given that they lie between `low` and `high`, differentiable in all four parameters.

    The bounds are those of the result; they may be infinite.
    """
    check("truncated_normal", "be positive", scale=scale)
    least, most = values_together(low, high)
    if not np.all(least < most):
        raise ValueError(
            "truncated_normal: low must be below high, or there is nothing between them: swap the bounds, or make "
            "the interval wider"
        )
    parameters = tuple(as_parameter(p) for p in (loc, scale, low, high))
    dtype = dtype_for(parameters, dtype)
    shape = shape_for("truncated_normal", size, parameters)
    # Single precision has so few numbers between 0 and 1 that 0 itself, an infinite quantile, would be drawn.
    noise = draw("random", shape, dtype=np.float64, generator=generator)
    noise = maximum(beside(noise, *parameters), _LEAST)
    loc, scale, low, high = (cast(p, dtype) for p in parameters)
    standard = truncated(_standard(low, loc, scale), _standard(high, loc, scale), noise)
    return loc + scale * cast(standard, dtype)


def _standard(bound: Any, loc: Any, scale: Any) -> Any:
    """A bound in units of the standard normal distribution. An infinite one is where it is, whatever the units."""
    if not np.isinf(values_of(bound)).any():
        return (bound - loc) / scale
    if not isinstance(bound, Tensor):
        return bound
    is_infinite = isinf(bound)
    return where(is_infinite, bound, (where(is_infinite, 0, bound) - loc) / scale)


# Wald's numbers ------------------------------------------------------------------------------------------------------


def _draw_wald(mean: Any, scale: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    return numbers("wald", generator, shape, dtype, mean, scale)


def _tail(mean: Any, scale: Any, out: Any) -> Any:
    """Mills' ratio at the place that the second term of the distribution function asks about."""
    return mills(sqrt(scale / out) * (out / mean + 1))


def _wald_distribution(w: Array, mean: Array, scale: Array) -> tuple[Array, Array]:
    x = np.exp(w)
    root = np.sqrt(scale / x)
    inner, outer = root * (x / mean - 1), root * (x / mean + 1)
    density = np.exp(-inner * inner / 2) / _ROOT
    return normal_cdf(inner) + density * _mills(outer), root * density


wald_op: Op = sampler(
    "wald", _draw_wald, ("mean", "scale"),
    (
        lambda mean, scale, out: 2 * sqrt(scale * out) * out * _tail(mean, scale, out) / (mean * mean),
        lambda mean, scale, out: out / scale - 2 * sqrt(out / scale) * out * _tail(mean, scale, out) / mean,
    ),
    kind="wald", distribution=_wald_distribution, domain=(0.6, 3.0), start=lambda mean, scale: mean,
    doc="Numbers of Wald's distribution.",
)  # fmt: skip


@drawing
def wald(mean: Any, scale: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Numbers of Wald's distribution, the inverse Gaussian one, differentiable in `mean` and `scale`.

    The algorithm takes one of two roots, by chance, and the chances depend on the parameters. A derivative along the
    chosen root alone would be biased, so it is the implicit one.
    """
    check("wald", "be positive", mean=mean, scale=scale)
    return sample(wald_op, (mean, scale), size, dtype, generator)


for _op in (mills, normal_between, truncated):
    _op.refuses("parameters of distributions are real numbers", "complex128")


@mills.samples
def mills_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4), float, -2.0, 7.0),), {}, "matrix")
    yield Sample((make((3,), float, 3.9, 4.1),), {}, "seam")
    yield Sample((make((0, 2)),), {}, "empty")
    yield Sample((make((), float, -2.0, 7.0),), {}, "scalar")
    yield Sample((make((3,), np.float32, -1.0, 2.0),), {}, "float32")
