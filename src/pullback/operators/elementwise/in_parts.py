"""What elementwise operators do to complex numbers, as functions of their parts: the `complex` of their declarations.

An operand has `real` and `imag`, arrays or numbers that they are everywhere, and is as a whole `itself`. A real operand
is a complex one whose imaginary part is 0. The result is two parts, or one real array; None leaves it to NumPy.

Arithmetic is NumPy's: infinities become NaN in the same cases, and quotients are Smith's. What functions give at
infinity is what C says of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Parts = tuple[Any, Any]
"""Real and imaginary."""


def product(x: Any, y: Any) -> Parts:
    """`x * y`."""
    return x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real


def square(x: Any) -> Parts:
    """`x * x`."""
    return product(x, x)


def quotient(x: Any, y: Any) -> Parts:
    """`x / y`. The larger part of the divisor divides the other one first: nothing overflows that need not."""
    is_turned: Any = np.False_
    if not isinstance(y.imag, np.float64) or y.imag != 0:
        is_turned = np.logical_not(abs(y.real) >= abs(y.imag))
    larger, smaller = _pick(is_turned, y.imag, y.real), _pick(is_turned, y.real, y.imag)
    first, second = _pick(is_turned, x.imag, x.real), _pick(is_turned, x.real, x.imag)
    ratio = smaller / larger
    scale = 1.0 / (larger + smaller * ratio)
    real = (first + second * ratio) * scale
    turned = first * ratio
    imag = _pick(is_turned, turned - second, second - turned) * scale
    is_zero = np.logical_and(larger == 0.0, smaller == 0.0)
    size = abs(larger)
    return _pick(is_zero, x.real / size, real), _pick(is_zero, x.imag / size, imag)


def _pick(is_first: Any, x: Any, y: Any) -> Any:
    """One of two, which may be known already."""
    if isinstance(is_first, np.bool_):
        return x if is_first else y
    return np.where(is_first, x, y)


def conjugate(x: Any) -> Parts:
    """The conjugate."""
    return +x.real, -x.imag


_LARGEST_EXPONENT = {"D": 709.0, "F": 88.0}


def exponential(x: Any) -> Parts:
    """`exp(x) * (cos(y) + i sin(y))`, in two factors where the first one alone would be too large."""
    most, (x, y) = _LARGEST_EXPONENT[x.dtype.char], (x.real, x.imag)
    size, rest = np.exp(np.minimum(x, most)), np.exp(np.maximum(x - most, 0.0))
    is_lost = np.logical_and(np.isinf(x), np.logical_not(np.isfinite(y)))
    cosine = _pick(is_lost, 1.0, np.cos(y))
    sine = _pick(np.logical_and(is_lost, x < 0.0), 0.0, np.sin(y))
    is_real = y == 0.0
    return _pick(is_real, size * rest, size * cosine * rest), _pick(is_real, y, size * sine * rest)


def choice(condition: Any, x: Any, y: Any) -> Parts | None:
    """`where`, of truth values."""
    if getattr(condition, "dtype", None) != np.bool_:
        return None
    return np.where(condition.itself, x.real, y.real), np.where(condition.itself, x.imag, y.imag)


def power(x: Any, exponent: Any) -> Any:
    """Powers that NumPy takes for other functions."""
    number = exponent.itself
    if number.__class__ not in (bool, int, float, complex) or x.dtype.kind != "c":
        return None
    if number in (0.5, -1):
        return np.sqrt(x.itself) if number == 0.5 else np.reciprocal(x.itself)
    if number == 2:
        return product(x, x)
    return (x.real, x.imag) if number == 1 else None


def both(ufunc: Any) -> Any:
    """A question to which both parts have to answer yes."""
    return lambda *xs: np.logical_and(ufunc(*[x.real for x in xs]), ufunc(*[x.imag for x in xs]))


def either(ufunc: Any) -> Any:
    """A question to which one of the parts has to answer yes."""
    return lambda *xs: np.logical_or(ufunc(*[x.real for x in xs]), ufunc(*[x.imag for x in xs]))
