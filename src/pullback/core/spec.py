"""`Spec`: the shape and dtype of an array without its data.

Specs are interned, so two arrays of one shape and dtype usually share one object and hot code compares them by
identity. Identity is a shortcut only: nothing may be wrong when two equal specs are different objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback._sites import told

LARGE = 1 << 14
"""Elements from which on an array is large: calls that take so long that native code may pay (eager/large.py)."""
_NATIVE = frozenset("fd")
_FLOATING = frozenset("efdg")
_COMPLEX = frozenset("FDG")


class Spec:
    """Shape and dtype of a value. `is_differentiable` says whether gradients may flow through it, `is_real` also
    that it is not complex and in the machine's byte order, so that results are of the same dtype, and `is_plain` also
    that there is no use of native code for its arrays."""

    __slots__ = ("__weakref__", "dtype", "is_complex", "is_differentiable", "is_plain", "is_real",
                 "known", "ndim", "numbers", "shape", "single")  # fmt: skip

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ndim: int
    is_complex: bool
    is_differentiable: bool
    is_real: bool
    is_plain: bool
    numbers: dict[Any, Any]
    single: tuple[Spec]  # itself: what nodes keep of one operand, so that there is one tuple for all of them
    known: dict[Any, Any]  # canonical parameters of operators on such arrays, by what users gave (eager/build.py)

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self.is_complex = dtype.char in _COMPLEX
        self.is_real = dtype.char in _FLOATING and dtype.isnative
        self.is_plain = self.is_real and (self.size < LARGE or dtype.char not in _NATIVE)
        self.is_differentiable = dtype.char in _FLOATING or self.is_complex
        self.numbers = {}
        self.known = {}
        self.single = (self,)

    def number(self, value: float) -> Any:
        """A Python number as NumPy would promote it against this dtype, ready made: that halves a ufunc's overhead.

        Zero is left alone, because 0.0 and -0.0 are one key, and so is what does not fit the dtype.
        """
        if not value or len(self.numbers) >= _MOST_NUMBERS:
            return value
        array = np.asarray(value, self.dtype)
        if not np.isfinite(array):
            return value
        array.flags.writeable = False
        self.numbers[value] = array
        return array

    @property
    def size(self) -> int:
        """Number of elements."""
        count = 1
        for length in self.shape:
            count *= length
        return count if isinstance(count, int) else count.elements  # rows of different lengths

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Spec) and self.shape == other.shape and self.dtype == other.dtype
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


_MOST_NUMBERS = 64
_interned: dict[tuple[tuple[int, ...], np.dtype[Any]], Spec] = {}
# A program that makes new shapes forever must not grow this table forever.
_MOST_INTERNED = 8192


NUMBERS_ONLY = "a tensor holds truth values, integers, real or complex numbers, and"


def spec_for(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Spec:
    """The interned spec of this shape and dtype."""
    key = (shape, dtype)
    spec = _interned.get(key)
    if spec is None:
        table = _table_for(shape)
        spec = table.get(key)
        if spec is None:
            if dtype.kind not in "biufc":
                # NumPy computes with objects, but they have no derivative: a gradient would end here without a word.
                raise told(
                    TypeError(f"{NUMBERS_ONLY} this data is of dtype {dtype}"), fix="convert it first: x.astype(float)"
                )
            if len(table) >= _MOST_INTERNED:
                table.clear()
            spec = table[key] = Spec(shape, usual_dtype(dtype))
    return spec


def _table_for(shape: tuple[int, ...]) -> dict[Any, Spec]:
    """Where the specs of this shape are interned: one with a length that is no number keeps its own, or the lengths of
    rows that nobody has any more would stay here."""
    for length in shape:
        if not isinstance(length, (int, np.integer)) and hasattr(length, "specs"):
            return length.specs
    return _interned


def usual_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The object that NumPy's own arrays of an equal dtype have, which code may compare by identity. Arrays that were
    pickled have others."""
    usual = np.dtype(dtype.char)
    return usual if usual == dtype else dtype


def spec_of(array: Any) -> Spec:
    """The spec of an array or of any payload."""
    return spec_for(array.shape, array.dtype)


def is_differentiable_dtype(dtype: np.dtype[Any]) -> bool:
    """True for real and complex floating dtypes."""
    return dtype.char in _FLOATING or dtype.char in _COMPLEX


def is_complex_dtype(dtype: np.dtype[Any]) -> bool:
    """True for complex dtypes."""
    return dtype.char in _COMPLEX


def describe(shape: tuple[int, ...], dtype: Any) -> str:
    """How error messages write a value's shape and dtype: `float64[2, 3]`."""
    return f"{np.dtype(dtype)}[{', '.join([str(getattr(length, 'expression', length)) for length in shape])}]"


def on_number(function: Any, number: Any) -> Any:
    """A function of Python's `math` of a number, which may be one of a trace (aot/_numbers)."""
    through = getattr(type(number), "through", None)
    return function(number) if through is None else through(number, function)
