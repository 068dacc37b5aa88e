"""`ArrayType`: what a value of a graph is known to be: shape, dtype and how it lies in memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for

_interned: dict[Any, ArrayType] = {}
_MOST_INTERNED = 8192


class ArrayType:
    """Shape, dtype and strides in bytes. `strides` is None for row-major order, which most values have."""

    __slots__ = ("_hash", "dtype", "shape", "strides")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] | None

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self._hash = hash((shape, dtype, strides))  # types are parts of the keys of most tables

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements together."""
        return self.size * self.dtype.itemsize

    @property
    def spec(self) -> Spec:
        """Shape and dtype alone, as shape rules take them."""
        return spec_for(self.shape, self.dtype)

    @property
    def byte_strides(self) -> tuple[int, ...]:
        """The strides, also where they are those of row-major order."""
        return row_major(self.shape, self.dtype.itemsize) if self.strides is None else self.strides

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ArrayType)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.strides == other.strides
        )

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> Any:
        return ArrayType, (self.shape, self.dtype, self.strides)  # a hash is that of one process

    def __repr__(self) -> str:
        return f"ArrayType({self.shape}, {self.dtype}, {self.strides})"


def row_major(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of a row-major array."""
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def array_type(
    shape: tuple[int, ...], dtype: np.dtype[Any], strides: tuple[int, ...] | None = None
) -> ArrayType:
    """The interned type; strides that mean row-major order become None. Axes of length 1 have no stride to speak of."""
    key = (shape, dtype, strides)
    found = _interned.get(key)
    if found is None:
        if len(_interned) >= _MOST_INTERNED:
            _interned.clear()
        kept = strides
        if strides is not None:
            plain = row_major(shape, dtype.itemsize)
            kept = tuple(
                own if length == 1 else given for own, given, length in zip(plain, strides, shape, strict=True)
            )
            if kept == plain or 0 in shape:
                kept = None
        found = _interned[key] = ArrayType(shape, dtype, kept)
    return found


def type_of(array: Any) -> ArrayType:
    """The type of an array."""
    return array_type(array.shape, array.dtype, None if array.flags.c_contiguous else array.strides)


def empty_like_type(type: ArrayType) -> Any:
    """An array of this type whose memory nobody ever touches."""
    if not type.size:
        return np.empty(type.shape, type.dtype)
    strides = type.byte_strides
    lowest = sum((length - 1) * stride for length, stride in zip(type.shape, strides, strict=True) if stride < 0)
    highest = sum((length - 1) * stride for length, stride in zip(type.shape, strides, strict=True) if stride > 0)
    memory = np.empty(highest - lowest + type.dtype.itemsize, np.uint8)
    return np.ndarray(type.shape, type.dtype, memory, -lowest, strides)
