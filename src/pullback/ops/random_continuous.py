"""Distributions of real numbers as functions of noise, so that samples are differentiable in the parameters.

The noise has no parameters: `loc + scale * noise`, or the inverse distribution function of uniform or exponential
noise. Gamma numbers, which have no such form, are in `random_gamma.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.ops.comparison import where
from pullback.ops.complex_numbers import abs
from pullback.ops.elementwise import exp, expm1, sqrt
from pullback.ops.generator import drawing
from pullback.ops.random_draws import as_parameter, cast, check, draw, dtype_for, shape_for, values_together
from pullback.tensors.tensor import Tensor


def _with_noise(
    function: str, kind: str, parameters: tuple[Any, ...], size: Any, dtype: Any, generator: Any
) -> tuple[Any, ...]:
    """Noise in the shape and dtype that the parameters ask for, and the parameters as operands."""
    operands = tuple(as_parameter(p) for p in parameters)
    dtype = dtype_for(operands, dtype)
    noise = draw(kind, shape_for(function, size, operands), dtype=dtype, generator=generator)
    return noise, *(cast(p, dtype) for p in operands)


# Location and scale --------------------------------------------------------------------------------------------------


@drawing
def uniform(low: Any = 0.0, high: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None) -> Tensor:
    """Numbers uniform between `low` and `high`, differentiable in both."""
    least, most = values_together(low, high)
    if np.any(least > most):
        raise ValueError("uniform: low must not be above high, or nothing lies between them: exchange the bounds")
    noise, low, high = _with_noise("uniform", "random", (low, high), size, dtype, generator)
    return low + (high - low) * noise


def _location_and_scale(name: str, kind: str, doc: str) -> Callable[..., Tensor]:
    def sample(
        loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, dtype: Any = None, generator: Any = None
    ) -> Tensor:
        check(name, "not be negative", scale=scale)
        noise, loc, scale = _with_noise(name, kind, (loc, scale), size, dtype, generator)
        return loc + scale * noise

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
