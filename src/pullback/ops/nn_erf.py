"""The error function without SciPy: rational approximations after W. J. Cody (1969), right to about 1e-15.

`gelu` is a staple and must not need an optional dependency. Where SciPy is installed `pullback.special.erf` is the
differentiable function for users; here is only the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

# Highest power first. Below one half: erf(x) = x * P(x*x) / Q(x*x).
_SMALL = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
# From one half to four: erfc(x) = exp(-x*x) * P(x) / Q(x).
_MIDDLE = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
        2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
        3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ),
)  # fmt: skip
# Beyond four: erfc(x) = exp(-x*x) / x * (1/sqrt(pi) - z * P(z) / Q(z)) with z = 1 / (x*x).
_LARGE = (
    (
        1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
        1.60837851487422766e-2, 6.58749161529837803e-4,
    ),
    (
        1.0, 2.56852019228982242, 1.87295284992346725, 5.27905102951428412e-1, 6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)  # fmt: skip
_ROOT_PI = 0.5641895835477563
# Small enough for the cache: a million numbers take a fifth of the time that they take in one piece.
_BLOCK = 1 << 13


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    above, below = (_horner(part, x) for part in coefficients)
    return above / below


def _horner(coefficients: tuple[float, ...], x: Any) -> Any:
    total = coefficients[0] * x
    for coefficient in coefficients[1:-1]:
        total += coefficient
        total *= x
    total += coefficients[-1]
    return total


def _near_tail(x: Any) -> Any:
    return _ratio(_MIDDLE, x)


def _far_tail(x: Any) -> Any:
    z = 1 / (x * x)
    return (_ROOT_PI - z * _ratio(_LARGE, z)) / x


def normal_cdf(x: Any) -> Any:
    """The standard normal distribution function of real `x`, accurate in both tails."""
    x = np.asarray(x)
    flat = np.asarray(x * 0.7071067811865476).reshape(-1)
    out = np.empty_like(flat)
    for start in range(0, flat.size, _BLOCK):
        _fill(out[start : start + _BLOCK], flat[start : start + _BLOCK])
    return out.reshape(x.shape)


def _fill(out: Any, x: Any) -> None:
    """`(1 + erf(x)) / 2` of a block of numbers."""
    size = np.abs(x)
    small = np.flatnonzero(size <= 0.46875)
    middle = np.flatnonzero(~((size <= 0.46875) | (size > 4)))
    far = np.flatnonzero(size > 4)
    at = x[small]
    out[small] = 0.5 + 0.5 * at * _ratio(_SMALL, at * at)
    for places, factor in ((middle, _near_tail), (far, _far_tail)):
        if places.size:
            part = np.minimum(size[places], 40)
            tail = 0.5 * np.exp(-part * part) * factor(part)
            out[places] = np.where(x[places] < 0, tail, 1 - tail)
