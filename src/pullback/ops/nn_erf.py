"""The normal distribution function without SciPy, for `gelu`, as accurate as its argument is.

`gelu` is a staple and must not need an optional dependency. Where SciPy is installed `pullback.special.erf` is the
differentiable function for users; here are only kernels.

The function and its density are known on a grid of distance 1/1024, from `math.erfc`. At distance d from a grid point
p the density is `density(p) * exp(-p*d - d*d/2)`, so that with a = p * d both follow from a few terms of a series:

    cdf(p + d) = cdf(p) + density(p) * d * (1 - a/2 + a*a/6 - a*a*a/24 + d*d * (a/8 - 1/6) + ...)

A dozen cheap passes over a piece that stays in the cache, which is faster than one pass of a scalar function.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.ops.pieces import elementwise_in_pieces

_STEPS = 1024  # grid points per unit
_LOWEST, _HIGHEST = -39.0, 9.0  # below, the function is 0 in double precision; above, 1
_ROOT_HALF = math.sqrt(0.5)
_PEAK = 1 / math.sqrt(2 * math.pi)


@lru_cache(maxsize=2)
def _grid(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The function and its density at the grid points."""
    points = np.arange(int(_LOWEST) * _STEPS, int(_HIGHEST) * _STEPS + 1) / _STEPS
    values = np.array([0.5 * math.erfc(-point * _ROOT_HALF) for point in points.tolist()])
    with np.errstate(under="ignore"):
        return values.astype(dtype), (_PEAK * np.exp(-0.5 * points * points)).astype(dtype)


def _near_grid(x: Any) -> tuple[Any, Any, Any, Any]:
    """The function and the density at the grid points next to `x`, the distances d from there, and p * d."""
    values, densities = _grid(x.dtype)
    x = np.clip(x, _LOWEST, _HIGHEST)
    point = x * _STEPS
    np.rint(point, out=point)
    with np.errstate(invalid="ignore"):  # NaN has no place, and stays NaN through its distance
        place = (point - _LOWEST * _STEPS).astype(np.intp)
    point *= 1 / _STEPS
    x -= point
    point *= x
    return values.take(place, mode="clip"), densities.take(place, mode="clip"), x, point


# The bracket above, highest power of a first: the terms without d, then the factor of d*d. The powers of a that are
# left out are below rounding up to |a| = 0.005, which is everywhere but in the far tail.
_NEAR = (-1 / 24, 1 / 6, -0.5, 1.0), (0.125, -1 / 6)
_FAR = (-1 / 40320, 1 / 5040, -1 / 720, 1 / 120, -1 / 24, 1 / 6, -0.5, 1.0), (-1 / 336, 1 / 72, -0.05, 0.125, -1 / 6)


def _horner(coefficients: tuple[float, ...], a: Any) -> Any:
    total = a * coefficients[0]
    for coefficient in coefficients[1:-1]:
        total += coefficient
        total *= a
    total += coefficients[-1]
    return total


def _cdf_series(d: Any, a: Any) -> Any:
    """The bracket above. In single precision two terms are as good as all."""
    if a.dtype.char == "f":
        return _horner((-0.5, 1.0), a)
    alone, with_square = _FAR if np.abs(a).max(initial=0) > 0.005 else _NEAR
    series, square = _horner(alone, a), _horner(with_square, a)
    square *= d
    square *= d
    series += square
    return series


def _cdf(x: Any) -> Any:
    values, densities, d, a = _near_grid(x)
    series = _cdf_series(d, a)
    series *= d
    series *= densities
    series += values
    return series


def _gelu_and_cdf(x: Any) -> tuple[Any, Any]:
    cdf = _cdf(x)
    return x * cdf, cdf


def fill_gelu_gradient(outs: tuple[Any], g: Any, x: Any, cdf: Any) -> None:
    """`g` times the derivative of `gelu`, which is the distribution function plus `x` times the density."""
    (out,) = outs
    np.multiply(x, x, out)
    out *= -0.5
    with np.errstate(under="ignore"):
        np.exp(out, out)
    out *= _PEAK
    out *= x
    out += cdf
    out *= g


def _floating(x: Any) -> Any:
    x = np.asarray(x)
    return x if x.dtype.char in "fd" else x.astype(np.float32 if x.dtype.char == "e" else np.float64)


def normal_cdf(x: Any) -> Any:
    """The standard normal distribution function of real `x`, accurate in both tails."""
    wide = _floating(x)
    out = elementwise_in_pieces(_cdf, np.atleast_1d(wide)).reshape(wide.shape)
    return out.astype(np.float16) if np.asarray(x).dtype.char == "e" else out


def gelu_and_cdf(x: Any) -> tuple[Any, Any]:
    """`x` times the normal distribution function of `x`, and this function."""
    wide = _floating(x)
    out, cdf = (part.reshape(wide.shape) for part in elementwise_in_pieces(_gelu_and_cdf, np.atleast_1d(wide)))
    return (out.astype(np.float16), cdf.astype(np.float16)) if np.asarray(x).dtype.char == "e" else (out, cdf)
