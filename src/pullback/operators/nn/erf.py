"""The normal distribution function without SciPy, for `gelu`, as accurate as its argument is, and `erf` of many.

`gelu` is a staple and must not need an optional dependency. Where SciPy is installed `pullback.special.erf` is the
differentiable function for users; here are only kernels.

The function and its density are known on a grid of distance 1/1024, from `math.erfc`. At distance d from a grid point
p the density is `density(p) * exp(-p*d - d*d/2)`, so that with a = p * d both follow from a few terms of a series:

    cdf(p + d) = cdf(p) + density(p) * d * (1 - a/2 + a*a/6 - a*a*a/24 + d*d * (a/8 - 1/6) + ...)

Two dozen cheap passes over a piece that stays in the cache, which is faster than one pass of a scalar function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.operators.pieces import are_contiguous, fill_in_pieces, scratch_like

_STEPS = 1024  # grid points per unit
_LOWEST, _HIGHEST = -39.0, 9.0  # below, the function is 0 in double precision; above, 1
_ROOT_HALF = math.sqrt(0.5)
_PEAK = 1 / math.sqrt(2 * math.pi)
_MANY = 1 << 13  # elements, for which it matters that they are worked on in pieces


# Adding this to a number and taking it away again rounds to an integer, which stands in the lowest bits in between.
_ROUNDING = {"d": (1.5 * 2**52, np.int64), "f": (1.5 * 2**23, np.int32)}
_PLACES = 1 << 16  # in the tables, where negative grid points come last


@lru_cache(maxsize=2)
def _grid(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The function and its density at the grid points."""
    places = np.arange(int(_LOWEST) * _STEPS, int(_HIGHEST) * _STEPS + 1)
    points = places / _STEPS
    values, densities = np.zeros(_PLACES, dtype), np.zeros(_PLACES, dtype)
    values[places % _PLACES] = [0.5 * math.erfc(-point * _ROOT_HALF) for point in points.tolist()]
    with np.errstate(under="ignore"):
        densities[places % _PLACES] = _PEAK * np.exp(-0.5 * points * points)
    return values, densities


def _near_grid(x: Any) -> tuple[Any, Any, Any]:
    """The places in the tables of the grid points next to `x`, the distances d from there, and p * d."""
    magic, integer = _ROUNDING[x.dtype.char]
    point = np.multiply(x, x.dtype.type(_STEPS), scratch_like(x, 0))
    point += magic
    place = np.bitwise_and(point.view(integer), _PLACES - 1, out=scratch_like(x, 1, np.intp))
    point -= magic
    point *= 1 / _STEPS
    distance = np.subtract(x, point, scratch_like(x, 2))
    point *= distance
    return place, distance, point


# The bracket above, highest power of a first: the terms without d, then the factor of d*d. The powers of a that are
# left out are below rounding up to |a| = 0.005, which is everywhere but in the far tail.
_NEAR = (-1 / 24, 1 / 6, -0.5, 1.0), (0.125, -1 / 6)
_FAR = (-1 / 40320, 1 / 5040, -1 / 720, 1 / 120, -1 / 24, 1 / 6, -0.5, 1.0), (-1 / 336, 1 / 72, -0.05, 0.125, -1 / 6)


def _horner(coefficients: tuple[float, ...], a: Any, out: Any = None) -> Any:
    total = np.multiply(a, coefficients[0], out)
    for coefficient in coefficients[1:-1]:
        total += coefficient
        total *= a
    total += coefficients[-1]
    return total


def _fill_cdf(out: Any, x: Any) -> None:
    """Fill `out` with the distribution function of `x`, which has elements."""
    values, densities = _grid(x.dtype)
    reach = np.minimum.reduce(x, axis=None), np.maximum.reduce(x, axis=None)
    is_usual = reach[0] > -10 and reach[1] < _HIGHEST  # False if there is a NaN, which stays NaN through its distance
    place, d, a = _near_grid(x if is_usual else np.clip(x, _LOWEST, _HIGHEST))
    if x.dtype.char == "f":
        _horner((-0.5, 1.0), a, out)  # in single precision two terms are as good as all
    else:
        alone, with_square = _NEAR if is_usual else _FAR
        _horner(alone, a, out)
        square = _horner(with_square, a, scratch_like(x, 3))
        _add_with_square(out, square, d)
    _finish(out, place, d, a, values, densities)


def _add_with_square(out: Any, square: Any, d: Any) -> None:
    square *= d
    square *= d
    out += square


def _finish(out: Any, place: Any, d: Any, buffer: Any, values: Any, slopes: Any) -> None:
    out *= d
    out *= slopes.take(place, mode="wrap", out=buffer)
    out += values.take(place, mode="wrap", out=buffer)


@lru_cache(maxsize=1)
def _erf_grid() -> tuple[Any, Any]:
    """The error function of `p / sqrt(2)` at the grid points p, and its slope there."""
    places = np.arange(-int(_HIGHEST) * _STEPS, int(_HIGHEST) * _STEPS + 1)
    values = np.zeros(_PLACES)
    values[places % _PLACES] = [math.erf(place / _STEPS * _ROOT_HALF) for place in places.tolist()]
    values[0] = -0.0  # to which zero of either sign can be added
    return values, 2 * _grid(np.dtype(np.float64))[1]


def erf(x: Any) -> Any:
    """The error function of many numbers of double precision, which takes half as long as one by one.

    Near zero it is as small as its argument, so that the next term of the series is needed, `d*d*d*d / 40`.
    """
    scaled = np.multiply(x, 1 / _ROOT_HALF, scratch_like(x, 4))
    if not (scaled.min() > -_HIGHEST and scaled.max() < _HIGHEST):
        np.clip(scaled, -_HIGHEST, _HIGHEST, out=scaled)
    place, d, a = _near_grid(scaled)
    out = _horner(_NEAR[0], a, np.empty_like(scaled))
    square = _horner(_NEAR[1], a, scratch_like(x, 3))
    fourth = np.multiply(d, d, scaled)
    fourth *= 1 / 40
    square += fourth
    _add_with_square(out, square, d)
    _finish(out, place, d, a, *_erf_grid())
    return out


def _fill_gelu(outs: tuple[Any, Any], x: Any) -> None:
    out, cdf = outs
    _fill_cdf(cdf, x)
    np.multiply(x, cdf, out)


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
    if x.dtype.char in "fd" and x.dtype.isnative:  # bits are looked at, in the machine's own order
        return x
    return x.astype(np.float32 if x.dtype.char in "ef" else np.float64)


def normal_cdf(x: Any) -> Any:
    """The standard normal distribution function of real `x`, accurate in both tails."""
    return _filled(lambda outs, part: _fill_cdf(outs[0], part), 1, x)[0]


def gelu_and_cdf(x: Any) -> tuple[Any, Any]:
    """`x` times the normal distribution function of `x`, and this function."""
    return _filled(_fill_gelu, 2, x)


def _filled(fill: Callable[..., None], count: int, x: Any) -> tuple[Any, ...]:
    """So many arrays like `x`, filled from it."""
    wide = _floating(x)
    outs = tuple([np.empty_like(wide) for _ in range(count)])
    if (wide.size >= _MANY or not wide.ndim) and are_contiguous(wide):
        fill_in_pieces(fill, outs, wide)  # also of a single number, which ufuncs would not return as an array
    elif wide.size:
        fill(outs, wide)
    return tuple([each.astype(np.float16) for each in outs]) if np.asarray(x).dtype.char == "e" else outs
