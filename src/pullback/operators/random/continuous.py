"""Distributions of real numbers as functions of noise, so that samples are differentiable in the parameters.

The noise has no parameters: `loc + scale * noise`, or the inverse distribution function of uniform or exponential
noise. Gamma numbers, which have no such form, are in `gamma.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.operators.arrays.movement import expand_dims
from pullback.operators.elementwise.arithmetic import exp, expm1, log, sqrt
from pullback.operators.elementwise.casting import placed
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import abs
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
    values_together,
)
from pullback.operators.random.gamma import gamma_distribution, gamma_path, polygamma
from pullback.operators.reductions.exponentials import softmax
from pullback.operators.reductions.reduction import sum
from pullback.payloads.batched.evaluate import across_examples
from pullback.tensors.tensor import Tensor


def _with_noise(
    function: str, kind: str, parameters: tuple[Any, ...], size: Any, dtype: Any, generator: Any
) -> tuple[Any, ...]:
    """Noise in the shape and dtype that the parameters ask for, and the parameters as operands."""
    operands = tuple(as_parameter(p) for p in parameters)
    dtype = dtype_for(operands, dtype)
    noise = draw(kind, shape_for(function, size, operands), dtype=dtype, generator=generator)
    return beside(noise, *operands), *(cast(p, dtype) for p in operands)


# Location and scale --------------------------------------------------------------------------------------------------


@drawing
def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Numbers uniform between `low` and `high`, differentiable in both."""
    least, most = values_together(low, high)
    if np.any(least > most):
        raise ValueError("uniform: low must not be above high, or nothing lies between them: swap the bounds")
    noise, low, high = _with_noise("uniform", "random", (low, high), size, dtype, generator)
    return low + (high - low) * noise


def _location_and_scale(name: str, kind: str, doc: str) -> Callable[..., Tensor]:
    def sample(
        loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None,
        device: Any = None,
    ) -> Tensor:  # fmt: skip
        check(name, "not be negative", scale=scale)
        noise, loc, scale = _with_noise(name, kind, (loc, scale), size, dtype, generator)
        drawn = loc + scale * noise
        return drawn if device is None else placed(drawn, device)

    sample.__name__ = sample.__qualname__ = name
    sample.__doc__ = f"{doc} numbers `loc + scale * noise`, differentiable in `loc` and `scale`."
    return drawing(sample)


normal = _location_and_scale("normal", "standard_normal", "Normal")
laplace = _location_and_scale("laplace", "laplace", "Laplace")
logistic = _location_and_scale("logistic", "logistic", "Logistic")
gumbel = _location_and_scale("gumbel", "gumbel", "Gumbel")
cauchy = _location_and_scale("cauchy", "standard_cauchy", "Cauchy")


@drawing
def lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None
) -> Tensor:
    """The exponentials of normal numbers, differentiable in their `mean` and `sigma`."""
    check("lognormal", "not be negative", sigma=sigma)
    noise, mean, sigma = _with_noise("lognormal", "standard_normal", (mean, sigma), size, dtype, generator)
    return exp(mean + sigma * noise)


@drawing
def half_normal(scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """The absolute values of normal numbers of mean 0, differentiable in their `scale`."""
    check("half_normal", "not be negative", scale=scale)
    noise, scale = _with_noise("half_normal", "standard_normal", (scale,), size, dtype, generator)
    return abs(noise) * scale


@drawing
def exponential(scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Exponential numbers of mean `scale`, differentiable in it."""
    check("exponential", "not be negative", scale=scale)
    noise, scale = _with_noise("exponential", "standard_exponential", (scale,), size, dtype, generator)
    return noise * scale


@drawing
def rayleigh(scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Rayleigh numbers, the lengths of normal vectors in the plane, differentiable in `scale`."""
    check("rayleigh", "not be negative", scale=scale)
    noise, scale = _with_noise("rayleigh", "standard_exponential", (scale,), size, dtype, generator)
    return sqrt(2 * noise) * scale


# Shapes --------------------------------------------------------------------------------------------------------------


@drawing
def weibull(a: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Weibull numbers of shape `a`, differentiable in it."""
    check("weibull", "be positive", a=a)
    noise, a = _with_noise("weibull", "standard_exponential", (a,), size, dtype, generator)
    return noise ** (1 / a)


@drawing
def pareto(a: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Pareto numbers of the second kind, of shape `a` and differentiable in it."""
    check("pareto", "be positive", a=a)
    noise, a = _with_noise("pareto", "standard_exponential", (a,), size, dtype, generator)
    return expm1(noise / a)


@drawing
def power(a: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Numbers between 0 and 1 with density `a * x ** (a - 1)`, differentiable in `a`."""
    check("power", "be positive", a=a)
    noise, a = _with_noise("power", "standard_exponential", (a,), size, dtype, generator)
    return (-expm1(-noise)) ** (1 / a)


@drawing
def kumaraswamy(a: Any, b: Any, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Numbers between 0 and 1 with distribution function `1 - (1 - x ** a) ** b`, differentiable in `a` and `b`."""
    check("kumaraswamy", "be positive", a=a, b=b)
    noise, a, b = _with_noise("kumaraswamy", "standard_exponential", (a, b), size, dtype, generator)
    return (-expm1(-noise / b)) ** (1 / a)


@drawing
def triangular(
    left: Any, mode: Any, right: Any, size: Any = None, *, dtype: Any = None, generator: Any = None
) -> Tensor:
    """Numbers whose density rises from `left` to `mode` and falls to `right`, differentiable in all three."""
    first, peak, last = values_together(left, mode, right)
    if not (np.all(first <= peak) and np.all(peak <= last) and np.all(first < last)):
        raise ValueError(
            "triangular: left <= mode <= right and left < right must hold, or there is no triangle: sort the three "
            "numbers, and move left and right apart"
        )
    noise, left, mode, right = _with_noise("triangular", "random", (left, mode, right), size, dtype, generator)
    rises = noise * (right - left) <= mode - left
    # The root of the other side is taken of 1, so that a side of length 0 has no infinite derivative.
    rising = where(rises, noise * (mode - left) * (right - left), 1)
    falling = where(rises, 1, (1 - noise) * (right - mode) * (right - left))
    return where(rises, left + sqrt(rising), right - sqrt(falling))


# Noncentral chi-square numbers, with the implicit derivative by both parameters.
#
# Such a number is a gamma number whose shape is `df / 2 + k` for a Poisson number k of mean `nonc / 2`. Its
# distribution function is the mean of theirs, and so the number x = 2z moves as gamma numbers do, averaged over the k
# that may have led to it: with the probability p(k) that it was k, given z,
#
#     dx/dnonc = sum of p(k) * z / (df / 2 + k)        dx/ddf = sum of p(k) * z * gamma_path(df / 2 + k, log(z))
#
# This holds for all degrees of freedom. The usual sum of a chi-square number of `df - 1` degrees and a shifted squared
# normal one needs df > 1, and its derivative is infinite at nonc = 0.

Array = np.ndarray[Any, Any]
_NEXT_TO_NOTHING = np.asarray(1e-150)


def _window(df: Array, nonc: Array, out: Array) -> Array:
    """The k that matter, along a new last axis: those within eight deviations of the most probable one.

    Where the deviation is large and the k from 0 on are not among them, steps of half of it sum a bell curve exactly.
    """
    a, rate, z = df / 2, nonc / 2, out / 2
    mode = np.maximum(np.hypot(a - 1, 2 * np.sqrt(rate * z)) - (a - 1), 0) / 2
    deviation = np.sqrt(mode * (a + mode) / (a + 2 * mode))
    reach = 8 * deviation + 12
    first = np.floor(np.maximum(mode - reach, 0))
    step = np.where(first > 0, np.maximum(np.floor(deviation / 2), 1), 1)
    count = int(np.max(np.ceil((mode + reach - first) / step), initial=1))
    return np.asarray(first[..., None] + step[..., None] * np.arange(count))


def _last(x: Any) -> Any:
    """`x` with an axis of length 1 at the end; numbers as they are."""
    return expand_dims(x, axis=-1) if hasattr(x, "shape") else x


def _mean_over_k(df: Any, nonc: Any, out: Any, value: Any) -> Any:
    """The mean of `value(a, z)` over the k that may have led to a number; 0 where the number is too small."""
    is_zero = out == 0
    k = across_examples(_window, *(x._data if isinstance(x, Tensor) else x for x in (df, nonc, out)))
    z = _last(where(is_zero, 1, out)) / 2
    # At nonc = 0 the derivative of the logarithm would be infinite; this is less than any result shows.
    a, rate = _last(df) / 2 + k, _last(nonc) / 2 + _NEXT_TO_NOTHING
    chances = softmax(k * log(rate * z) - polygamma(k + 1, order=-1) - polygamma(a, order=-1), axis=-1)
    return where(is_zero, 0, sum(chances * value(a, z), axis=-1))


def _draw_noncentral(df: Any, nonc: Any, *, shape: tuple[int, ...], dtype: Any, generator: Any) -> Any:
    return numbers("noncentral_chisquare", generator, shape, dtype, df, nonc)


def _by_df(df: Any, nonc: Any, out: Any) -> Any:
    return _mean_over_k(df, nonc, out, lambda a, z: z * gamma_path(a, log(z), order=1))


def _by_nonc(df: Any, nonc: Any, out: Any) -> Any:
    return _mean_over_k(df, nonc, out, lambda a, z: z / a)


def _distribution(w: Array, df: Array, nonc: Array) -> tuple[Array, Array]:
    k = np.arange(30)
    below = np.cumsum(np.log(np.maximum(k, 1)))  # logarithms of the factorials
    chances = np.exp(k * np.log(nonc[..., None] / 2) - nonc[..., None] / 2 - below)
    shapes = df[..., None] / 2 + k
    reached, slopes = gamma_distribution(np.broadcast_to(w[..., None] - np.log(2), shapes.shape), shapes)
    return np.sum(chances * reached, axis=-1), np.sum(chances * slopes, axis=-1)


noncentral_op: Op = sampler(
    "noncentral_chisquare", _draw_noncentral, ("df", "nonc"), (_by_df, _by_nonc), kind="noncentral_chisquare",
    distribution=_distribution, domain=(0.7, 3.0), start=lambda df, nonc: df + nonc,
    doc="Noncentral chi-square numbers.",
)  # fmt: skip


@drawing
def noncentral_chisquare(
    df: Any, nonc: Any, size: Any = None, *, dtype: Any = None, generator: Any = None
) -> Tensor:
    """Sums of squares of `df` normal numbers whose squared means sum to `nonc`, differentiable in both parameters."""
    check("noncentral_chisquare", "be positive", df=df)
    check("noncentral_chisquare", "not be negative", nonc=nonc)
    return sample(noncentral_op, (df, nonc), size, dtype, generator)
