"""Axis and shape arguments in canonical form: tuples of non-negative integers."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from pullback._sites import told

__all__ = [
    "axis_letters",
    "inverse_permutation",
    "merge_spellings",
    "no_fit",
    "normalize_axes",
    "normalize_axis_index",
    "normalize_axis_tuple",
    "normalize_shape",
    "resolve_shape",
]


def normalize_axes(axis: int | Iterable[int] | None, ndim: int) -> tuple[int, ...]:
    """`axis` as a sorted tuple of non-negative axes; None means all of them.

    An array without axes is taken as a vector of one element, so that 0 and -1 mean all of its axes, of which there are
    none: NumPy's reductions and PyTorch agree on that.
    """
    if axis is None:
        return tuple(range(ndim))
    if ndim == 0:
        normalize_axis_tuple(axis, 1)
        return ()
    return tuple(sorted(normalize_axis_tuple(axis, ndim)))


def inverse_permutation(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    inverse = [0] * len(axes)
    for position, axis in enumerate(axes):
        inverse[axis] = position
    return tuple(inverse)


def axis_letters(ndim: int, whole: Iterable[int] = ()) -> str:
    """A letter for every axis, `*` for those that are needed `whole`, as a declaration's `letters` has them."""
    return "".join(["*" if axis in whole else chr(ord("a") + axis) for axis in range(ndim)])


def normalize_shape(shape: Any) -> tuple[int, ...]:
    """`shape` as a tuple of ints; a lone int is a shape of one axis."""
    if isinstance(shape, (int, np.integer)):
        return (_plain(shape),)
    try:
        return tuple([length if type(length) is int else _plain(length) for length in shape])
    except TypeError:
        wrong = next((x for x in shape if not hasattr(x, "__index__")), shape) if hasattr(shape, "__len__") else shape
        raise no_length(wrong) from None


def no_length(x: Any) -> Exception:
    """The error for something in a shape that is no whole number."""
    error: Exception = told(
        TypeError(f"lengths are whole numbers, got {type(x).__name__} {x!r}"),
        fix="write int(n), or // in place of / where it is computed" if isinstance(x, float | np.floating) else "",
    )
    return error


def _plain(length: Any) -> int:
    """A length as an int, also where it is of a class that has more to say than its value (aot/_dynamic/sizes.py)."""
    if issubclass(type(length), int):
        return int.__index__(length)
    # A length that is no number, of rows of different lengths, stays what it is.
    return length if hasattr(length, "specs") else operator.index(length)


def no_fit(size: int, lengths: tuple[int, ...]) -> Exception:
    """The error for a shape that has another number of elements, and which length would fit in its place."""
    would = []
    for position in range(len(lengths)):
        others = math.prod(length for k, length in enumerate(lengths) if k != position and length != -1)
        if others and size % others == 0 and -1 not in (*lengths[:position], *lengths[position + 1 :]):
            would.append(str((*lengths[:position], -1, *lengths[position + 1 :])))
    why = f"that shape has {math.prod(lengths)}"
    if -1 in lengths:
        why = "no whole number in the place of -1 gives that many"
    error: Exception = told(
        ValueError(f"reshape: cannot fit {size} elements into shape {lengths}"),
        why=why,
        fix=f"{' or '.join(would)} would fit" if would else f"choose lengths whose product is {size}",
    )
    return error


def resolve_shape(shape: Any, size: int) -> tuple[int, ...]:
    """`shape` with a single -1 replaced by what `size` leaves for it."""
    lengths = normalize_shape(shape)
    unknown = [position for position, length in enumerate(lengths) if length == -1]
    if not unknown:
        return lengths
    if len(unknown) > 1:
        raise told(ValueError(f"reshape: only one length may be -1, got shape {lengths}"))
    known = 1
    for length in lengths:
        known *= length if length != -1 else 1
    if not isinstance(size, int):  # rows of different lengths
        return (*lengths[: unknown[0]], size.rest_beside(known), *lengths[unknown[0] + 1 :])
    if known == 0 or size % known:
        raise no_fit(size, lengths)
    position = unknown[0]
    return (*lengths[:position], size // known, *lengths[position + 1 :])


_MISSING: Any = object()


def merge_spellings(name: str, first: Any, second: Any, missing: Any = None) -> Any:
    """The value given under one of two spellings of a parameter; giving both is a TypeError."""
    if second is missing:
        return first
    if first is not missing:
        raise TypeError(f"{name}: two spellings of one argument were given; keep one of them")
    return second
