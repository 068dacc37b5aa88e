"""Special functions written out as arithmetic and elementary functions, for native code, which computes vectors.

SciPy's kernels define what the operators compute; these have the same values to a few units in the last place, in the
precision of their operand, and the same at poles, infinities and NaN. There is no loop and no branch: every element
goes all ways, and `where` chooses. Coefficients follow from the series that are named, but for those of `erfinv`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.operators.special.rows import scipy_function

Coefficients = tuple[float, ...]


def _series(coefficients: Coefficients, x: Any, reach: float, dtype: Any) -> Any:
    """The polynomial with these coefficients, the constant first. What is too small to matter for a result of this
    dtype, where `x` is at most `reach` in size, is left out."""
    sizes = [abs(c) * reach**k for k, c in enumerate(coefficients)]
    least = float(np.finfo(dtype).eps) / 16 * max(sizes)
    count = max(k for k, size in enumerate(sizes) if size >= least) + 1
    total = coefficients[count - 1]
    for c in coefficients[count - 2 :: -1]:
        total = total * x + c
    return total


# Modified Bessel functions of the first kind: the power series, whose terms are all positive, up to a border, and
# beyond it the asymptotic one, whose terms become smaller until they are about exp(-2 * x).

_BORDERS = {"d": 19.0, "f": 9.0}
_SPLITS = {"d": 2.0**27 + 1, "f": 2.0**12 + 1}


@functools.cache
def _power_series(order: int) -> Coefficients:
    """Of `iv(order, x) / x ** order`, in `x * x`."""
    return tuple([0.5 ** (2 * k + order) / (math.factorial(k) * math.factorial(k + order)) for k in range(60)])


@functools.cache
def _asymptotic_series(order: int, count: int) -> Coefficients:
    """Of `ive(order, x) * sqrt(2 * pi * x)`, in `1 / x`."""
    terms = [1.0]
    for k in range(1, count):
        terms.append(terms[-1] * ((2 * k - 1) ** 2 - 4 * order**2) / (8 * k))
    return tuple(terms)


def _square(x: Any) -> tuple[Any, Any]:
    """The square, and what was lost when it was rounded."""
    shifted = x * _SPLITS[x.dtype.char]
    high = shifted - (shifted - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


def modified_bessel(order: int, is_scaled: bool) -> Callable[[Any], Any]:
    """`iv(order, x)`, or `ive(order, x)`."""

    def function(x: Any) -> Any:
        border, size = _BORDERS[x.dtype.char], np.abs(x)
        square, lost = _square(x)
        near = _series(_power_series(order), square, border**2, x.dtype)
        # For large numbers the function grows so fast that it matters what was lost: its derivative, roughly.
        near = near + near * (lost * 0.5) / (np.sqrt(square + (order + 1) ** 2) + (order + 1))
        for _ in range(order):
            near = near * x
        far = _series(_asymptotic_series(order, int(2 * border)), 1 / size, 1 / border, x.dtype)
        far = far / (np.sqrt(size) * math.sqrt(2 * math.pi))  # two roots: the product may overflow
        if order % 2:
            far = np.where(x < 0, -far, far)
        if is_scaled:
            near = near * np.exp(-size)
        else:
            half = np.exp(size * 0.5)  # the whole overflows before the function does
            far = far * half * half
        return np.where(size < border, near, far)

    return function


# The gamma function's relatives: around 2, a power series; from 7 on, the asymptotic one; between, by recurrence; below
# 0, by reflection, with the accuracy that its terms have. They have zeros, so single precision is computed in double.

_FAR = 7.0
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138,
    -236364091 / 2730,
)  # fmt: skip
_GAMMA = 0.5772156649015329
_ROOT, _ROOT_REST = 1.4616321449683622, 9.549995429965697e-17  # the zero of digamma


@functools.cache
def _around_two() -> Coefficients:
    """Of `gammaln(2 + z) / z`: Hurwitz's zeta function at 2 is Riemann's without its first term."""
    zeta = scipy_function("zeta")
    return (1 - _GAMMA, *[float(zeta(k, 2.0)) / k * (-1) ** k for k in range(2, 32)])


@functools.cache
def _around_root() -> Coefficients:
    """Of `(digamma(1 + x) - digamma(1 + root)) / (x - root)`, in `x - root`."""
    zeta = scipy_function("zeta")
    return tuple([float(zeta(k + 2, _ROOT + 1)) * (-1) ** k for k in range(32)])


@functools.cache
def _stirling(power: int) -> Coefficients:
    """The series with Bernoulli's numbers, in `1 / x ** 2`: of gammaln for power 1, and of digamma for power 0."""
    return tuple([b / (2 * k * (2 * k - 1) ** power) for k, b in enumerate(_BERNOULLI, 1)])


def _reflected(x: Any) -> tuple[Any, Any, Any, Any]:
    """Where `x` is below 0, and a pole; `1 - x` there and `x` elsewhere; the distance from the next integer."""
    is_left = x < 0
    return is_left, is_left & (np.floor(x) == x), np.where(is_left, 1 - x, x), x - np.floor(x + 0.5)


def _in_double(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """A function that computes in double precision, and is told for which dtype."""

    @functools.wraps(function)
    def of_any(x: Any) -> Any:
        return function(x, x.dtype) if x.dtype.char == "d" else function(x.astype(np.float64), x.dtype).astype(x.dtype)

    return of_any


@_in_double
def gammaln(x: Any, dtype: Any) -> Any:
    """The logarithm of the absolute value of the gamma function."""
    is_left, is_pole, y, turn = _reflected(x)
    is_far, is_low = y >= _FAR, y < 1.5
    z = np.where(y < 0.5, y, np.where(is_low, y - 1, y - 2))  # without rounding, for the zeros at 1 and 2
    product = np.where(y < 0.5, y * (y + 1), np.where(is_low, y, 1.0))
    for _ in range(5):
        is_high = z >= 0.5
        product = np.where(is_high, product * (z + 1), product)
        z = np.where(is_high, z - 1, z)
    logarithm = np.log(np.where(is_far, y, product))
    near = _series(_around_two(), z, 0.5, dtype) * z + np.where(is_low, -logarithm, logarithm)
    inverse = 1 / y
    rest = _series(_stirling(1), inverse * inverse, _FAR**-2, dtype) * inverse + (0.5 * math.log(2 * math.pi) - 0.5)
    right = np.where(is_far, (y - 0.5) * (logarithm - 1) + rest, near)
    left = np.log(math.pi / np.abs(np.sin(turn * math.pi))) - right
    return np.where(is_left, np.where(is_pole, np.where(x == -math.inf, x, math.inf), left), right)


@_in_double
def digamma(x: Any, dtype: Any) -> Any:
    """The derivative of `gammaln`."""
    is_left, is_pole, y, turn = _reflected(x)
    is_far, is_low = y >= _FAR, y < 1
    total = np.where(is_low, -1 / y, 0.0)
    z = np.where(is_low, y + 1, y)
    for _ in range(5):
        is_high = z >= 2
        z = np.where(is_high, z - 1, z)
        total = total + np.where(is_high, 1 / z, 0.0)
    distance = (z - _ROOT) - _ROOT_REST
    near = (_series(_around_root(), distance, 0.54, dtype) + 1 / (z * _ROOT)) * distance + total
    inverse = 1 / y
    square = inverse * inverse
    far = np.log(y) - inverse * 0.5 - _series(_stirling(0), square, _FAR**-2, dtype) * square
    right = np.where(is_far, far, near)
    left = right - math.pi / np.tan(turn * math.pi)
    return np.where(is_left, np.where(is_pole, math.nan, left), right)


def trigamma(x: Any) -> Any:
    """Ten terms of the sum over `1 / (x + k) ** 2` and the asymptotic series of the others; below 0 by reflection."""
    is_left = x < 0
    y = np.where(is_left, 1 - x, x)
    total = 1 / (y * y)
    for k in range(1, 10):
        total = total + 1 / ((y + k) * (y + k))
    y = 1 / (y + 10)
    square = y * y
    series = _BERNOULLI[6] * square
    for number in _BERNOULLI[5::-1]:
        series = (series + number) * square
    total = total + (y + 0.5 * square + series * y)
    ratio = math.pi / np.sin(math.pi * (x - np.floor(x + 0.5)))
    left = np.where(x == -math.inf, math.inf, ratio * ratio - total)
    return np.where(is_left, left, total)


# The inverse error function: `erfinv(x) / x` is a smooth function of w = -log(1 - x * x). It was interpolated, with 50
# digits, in w up to 5 (6e-9 off) and in the root of w beyond, up to the last number below 1 (5e-8 off).

_UP_TO_FIVE = (
    1.50140936, 0.616600698, -0.0261087055, -0.0195738499, 0.0085292729, -0.00048558786, -0.000845699528, 0.0002857247,
    3.56078601e-05, -3.40725936e-05,
)  # fmt: skip
_FROM_FIVE = (
    4.00944467, 1.95099159, 0.00325200174, -0.00486820694, 0.0033449876, -0.0024771466, 0.00162632182, -5.5099397e-05,
    0.00121550407, -0.00421580859, 0.00244248148, 0.00115265689, -0.000985160061,
)  # fmt: skip
_LAST_ROOT = 6.1


def erfinv(x: Any, erf: Callable[[Any], Any], erfc: Callable[[Any], Any]) -> Any:
    """The inverse of `erf`."""
    w = -np.log((1 - x) * (1 + x))
    first, middle = math.sqrt(5), (math.sqrt(5) + _LAST_ROOT) / 2
    far = _series(_FROM_FIVE, (np.sqrt(w) - middle) * (2 / (_LAST_ROOT - first)), 1.0, x.dtype)
    y = np.where(w < 5, _series(_UP_TO_FIVE, (w - 2.5) * 0.4, 1.0, x.dtype), far) * x
    if x.dtype.char == "d":  # one step of Halley's method triples the digits; away from 0 with what is left to 1
        size = np.abs(x)
        far = 1 - size - erfc(np.abs(y))
        step = np.where(size < 0.5, erf(y) - x, np.where(x < 0, -far, far)) * np.exp(y * y) * (math.sqrt(math.pi) / 2)
        y = y - step / (1 + y * step)
    return np.where(np.abs(x) == 1, x * math.inf, y)
