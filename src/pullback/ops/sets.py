"""Vectors as sets, and sorting by several keys.

Which elements are distinct has no derivative. The elements themselves are read where they first appear, so their
gradients go there.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axis_index
from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.ops.casting import astype
from pullback.ops.joining import concat
from pullback.ops.plain import computed, constant, plain, tensor_from
from pullback.ops.reshaping import ravel
from pullback.ops.scatter import take
from pullback.ops.sorting import distinct, distinct_values, sort

Array = np.ndarray[Any, Any]


def _first_places(name: str, x: Any) -> Array:
    """Where each distinct element of a vector appears first, in ascending order of the elements."""
    return np.unique(plain(name, x), return_index=True)[1]


@composite(arrays=2)
def union1d(x: Any, y: Any) -> Any:
    """The distinct elements of both, in ascending order."""
    both = concat([ravel(tensor_from(x)), ravel(tensor_from(y))], 0)
    return take(both, _first_places("union1d", both))


@composite(arrays=2)
def intersect1d(x: Any, y: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """The distinct elements that are in both, in ascending order, and on request their first places in each.

    The values are read from `x`, and so is the gradient.
    """
    x, y = ravel(tensor_from(x)), ravel(tensor_from(y))
    _, first, second = np.intersect1d(plain("intersect1d", x), plain("intersect1d", y), assume_unique, True)
    values = take(x, first)
    return (values, constant(first), constant(second)) if return_indices else values


@composite(arrays=2)
def setdiff1d(x: Any, y: Any, assume_unique: bool = False) -> Any:
    """The distinct elements of `x` that are not in `y`: in ascending order, or as they come if they are unique."""
    x = ravel(tensor_from(x))
    places = np.arange(x.shape[0]) if assume_unique else _first_places("setdiff1d", x)
    values = plain("setdiff1d", x)[places]
    return take(x, places[~np.isin(values, plain("setdiff1d", tensor_from(y)))])


@composite(arrays=2)
def setxor1d(x: Any, y: Any, assume_unique: bool = False) -> Any:
    """The distinct elements that are in one of the two and not in the other, in ascending order."""
    x, y = ravel(tensor_from(x)), ravel(tensor_from(y))
    both = concat([x, y], 0)
    values = plain("setxor1d", both)
    places = _first_places("setxor1d", both)
    in_first = np.isin(values[places], plain("setxor1d", x))
    in_second = np.isin(values[places], plain("setxor1d", y))
    return take(both, places[in_first != in_second])


@composite(arrays=2)
def isin(x: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    """For every element of `x` whether it is one of `test_elements`; with `invert`, whether it is not."""
    find = functools.partial(np.isin, assume_unique=assume_unique, invert=invert, kind=kind)
    return computed("isin", find, tensor_from(x), tensor_from(test_elements))


@composite(arrays=2)
def in1d(x: Any, y: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """`isin` of all elements in a row."""
    return isin(ravel(tensor_from(x)), y, assume_unique, invert)


@composite
def unique(
    x: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
    axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True, dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct values in ascending order, and on request first positions, numbers of the elements, and counts.

    With `axis`, the distinct slices along it in lexicographic order. They always come sorted. The gradient goes to
    where each appears first.
    """
    axis = merge_spellings("axis/dim", axis, dim)
    if axis is None and not (return_index or return_inverse or return_counts):
        return distinct_values(x, equal_nan)
    if axis is None:
        values, *found = distinct(x, equal_nan)
    else:
        axis = normalize_axis_index(axis, x.ndim)
        _, *places = np.unique(plain("unique", x), True, True, True, axis, equal_nan=equal_nan)
        values, found = take(x, places[0], axis), [constant(part.reshape(-1)) for part in places]
    extras = [part for asked, part in zip((return_index, return_inverse, return_counts), found, strict=True) if asked]
    return (values, *extras) if extras else values


@composite
def unique_consecutive(
    x: Any, return_inverse: bool = False, return_counts: bool = False, *, dim: int | None = None
) -> Any:
    """`x` without elements, or slices along `dim`, that equal the one before, and on request numbers and counts.

    The gradient goes to the first of equal ones.
    """
    x, axis = (ravel(x), 0) if dim is None else (x, normalize_axis_index(dim, x.ndim))
    rows = np.moveaxis(plain("unique_consecutive", x), axis, 0)
    rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    starts = np.ones(len(rows), bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    (places,) = starts.nonzero()
    values = take(x, places, axis)
    extras: list[Any] = []
    if return_inverse:
        extras.append(constant(starts.cumsum() - 1))
    if return_counts:
        extras.append(constant(np.diff(places, append=len(rows))))
    return (values, *extras) if extras else values


@composite
def trim_zeros(x: Any, trim: str = "fb") -> Any:
    """A vector without the zeros at its front ("f"), at its back ("b"), or at both ends."""
    if x.ndim != 1:
        raise ValueError(f"trim_zeros: expected a vector, got {x.ndim} axes")
    (places,) = plain("trim_zeros", x).nonzero()
    length = x.shape[0]
    if not places.size:
        return x[length:]
    first = int(places[0]) if "f" in trim.lower() else 0
    last = int(places[-1]) + 1 if "b" in trim.lower() else length
    return x[first:last]


@composite(arrays=0)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions that sort by the last of `keys`, among equals by the one before it, and so on."""
    return computed("lexsort", lambda *parts: np.lexsort(parts, axis), *map(tensor_from, keys))


@composite
def sort_complex(x: Any) -> Any:
    """`x` as complex numbers, sorted along the last axis by real and then by imaginary part."""
    return sort(x if is_complex_dtype(x.dtype) else astype(x, np.result_type(x.dtype, np.complex64)))
