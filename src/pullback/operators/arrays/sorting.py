"""Sorting, and what follows from it: order statistics, the largest elements, distinct values.

Positions have no derivative. Values are read at positions (`gather`), so their gradient goes to the elements they came
from. Sorting is stable in both directions: of equal elements the first stays first, also when the order is descending,
and NaN counts as larger than every number.
"""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes, normalize_axis_index
from pullback.core.spec import is_complex_dtype
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.eager.record import new_tensor
from pullback.operators.arguments import (
    along_axis,
    constant,
    every_value,
    is_constant,
    is_recorded,
    on_arrays,
    plain,
    tensor_from,
)
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import expand_dims, moveaxis, squeeze
from pullback.operators.arrays.order_operators import (
    insertion_points,
    leading_positions,
    middle,
    partitioned,
    partitioning_order,
    ranked_positions,
    sorted_copy,
    sorted_values,
    sorting_order,
    stable_order,
)
from pullback.operators.arrays.reshaping import ravel, reshape
from pullback.operators.arrays.scatter import gather_along, take
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import minimum, where
from pullback.operators.reductions.reduction import mean
from pullback.tensors.tensor import Tensor


def _in_order(x: Any, axis: int, descending: bool) -> Any:
    """`x` sorted along an axis. Who wants a gradient needs the order; otherwise values alone are sorted."""
    if is_recorded(x):
        return gather_along(x, sorting_order(x, axis=axis, descending=descending), axis, distinct=True)
    return sorted_values(x, axis=axis, descending=descending)


def _axis_of(name: str, x: Any, axis: int, dim: int | None) -> int:
    return normalize_axis_index(axis if dim is None else dim, x.ndim)


class Sorted(NamedTuple):
    """Values and the positions they came from."""

    values: Tensor
    indices: Tensor


@composite
@along_axis
def argsort(
    x: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True, dim: int | None = None
) -> Any:
    """The positions that sort `x` along an axis; without an axis, in row-major order."""
    if axis is None and dim is None:
        x, axis = ravel(x), 0
    return sorting_order(x, axis=_axis_of("argsort", x, -1 if axis is None else axis, dim), descending=bool(descending))


@composite
@along_axis
def sort_with_indices(
    x: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True, dim: int | None = None
) -> Sorted:
    """`x` sorted along an axis, and the positions that the elements had."""
    if axis is None and dim is None:
        x, axis = ravel(x), 0
    along = _axis_of("sort", x, -1 if axis is None else axis, dim)
    order = sorting_order(x, axis=along, descending=bool(descending))
    return Sorted(gather_along(x, order, along, distinct=True), order)


@composite
@along_axis
def sort(
    x: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True, dim: int | None = None
) -> Any:
    """`x` sorted along an axis; without an axis, its elements in one sorted row.

    Every gradient goes to the element that was moved there; equal elements keep their order, descending too.
    """
    if type(axis) is int and dim is None and -x.ndim <= axis < x.ndim:  # what most calls give
        return _in_order(x, axis % x.ndim, bool(descending))
    if axis is None and dim is None:
        x, axis = ravel(x), 0
    return _in_order(x, _axis_of("sort", x, -1 if axis is None else axis, dim), bool(descending))


@composite
def msort(x: Any) -> Any:
    """`x` sorted along its first axis."""
    return sort(x, 0)


@composite
def partition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """`x` arranged so that its elements at `kth` are where sorting puts them, with nothing larger before them.

    The order of the others is not defined. The i-th of equal elements is the i-th of them in `x`.
    """
    x, params = _partition_arguments(x, kth, axis)
    return partitioned(x, **params)


@composite
def argpartition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """Positions of elements in an order such that those at `kth` are where sorting puts them."""
    x, params = _partition_arguments(x, kth, axis)
    return partitioning_order(x, **params)


def _partition_arguments(x: Any, kth: Any, axis: int | None) -> tuple[Any, dict[str, Any]]:
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    places = [operator.index(k) for k in (kth if isinstance(kth, (tuple, list, np.ndarray)) else (kth,))]
    return x, {"kth": tuple(places), "axis": axis}


@composite
@along_axis
def topk(
    x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True, *, dim: int | None = None
) -> Sorted:
    """The `k` largest (or smallest) elements along an axis in order, and their positions; ties go to the first.

    The gradients go to these positions.
    """
    along = _axis_of("topk", x, axis, dim)
    k = operator.index(k)
    if k < 0 or (not getattr(x, "is_nested", False) and k > x.shape[along]):  # rows that are shorter give all they have
        raise ValueError(f"topk: an axis of length {x.shape[along]} has no {k} elements")
    chosen = leading_positions(x, k=k, axis=along, largest=bool(largest))
    return Sorted(gather_along(x, chosen, along, distinct=True), chosen)


@composite
@along_axis
def kthvalue(
    x: Any, k: int, axis: int = -1, keepdims: bool = False, *, dim: int | None = None, keepdim: bool | None = None
) -> Sorted:
    """The `k`-th smallest element along an axis, counted from 1, and its position, to which the gradient goes."""
    along = _axis_of("kthvalue", x, axis, dim)
    k = operator.index(k)
    if not 1 <= k <= x.shape[along]:
        raise ValueError(f"kthvalue: an axis of length {x.shape[along]} has no element number {k}")
    chosen = moveaxis(ranked_positions(moveaxis(x, along, -1), places=(k - 1,)), -1, along)
    values = gather_along(x, chosen, along, distinct=True)
    if keepdims if keepdim is None else keepdim:
        return Sorted(values, chosen)
    return Sorted(squeeze(values, along), squeeze(chosen, along))


@composite
@on_arrays
def median(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool | None = None) -> Any:
    """The middle element along axes, or the mean of the two middle ones; NaN where an element is NaN, or none is there.

    Two middle elements get half of the gradient each, and elements that are equal to one of them share its part.
    """
    axis, keepdims = merge_spellings("median: axis/dim", axis, dim), keepdims if keepdim is None else keepdim
    return median_of(x, axis, keepdims)


def median_of(x: Any, axis: Any, keepdims: bool, omit_nan: bool = False) -> Any:
    """`median`, or `nanmedian` if NaN are left out."""
    axes = normalize_axes(axis, x.ndim)
    x = astype(x, np.float64) if x.dtype.kind in "biu" else x
    rest = [k for k in range(x.ndim) if k not in axes]
    row = moveaxis(x, axes, range(len(rest), x.ndim))
    row = reshape(row, (*(x.shape[k] for k in rest), math.prod(x.shape[k] for k in axes)))
    if row.shape[-1] == 0:
        out = mean(row, -1)  # NaN, of nothing
        return expand_dims(out, axes) if keepdims else out
    omit_nan = omit_nan and x.dtype.kind in "fc"
    low, high = middle(row, omit_nan=omit_nan)
    if omit_nan or getattr(x, "is_nested", False):
        out = where(low == high, low, low / 2 + high / 2)
    else:
        out = low if row.shape[-1] % 2 else low / 2 + high / 2  # the sum may be too large for float16
    return expand_dims(out, axes) if keepdims else out


def _checked_sorter(sorter: Any, length: int) -> Any:
    """Positions that put an axis of this length in order."""
    sorter = tensor_from(sorter)
    if sorter.dtype.kind not in "iu":
        raise TypeError(f"searchsorted: sorter holds positions, which are integers, not {sorter.dtype}")
    if sorter.ndim == 0 or sorter.shape[-1] != length:
        raise ValueError(f"searchsorted: sorter has shape {list(sorter.shape)} for an axis of length {length}")
    places = every_value(sorter)
    if type(places) is np.ndarray and not bool(((places >= 0) & (places < length)).all()):
        raise ValueError(f"searchsorted: sorter holds positions outside of 0 to {length - 1}")
    return sorter


@composite(arrays=2, method=False)
def searchsorted(
    x: Any, v: Any, side: str | None = None, sorter: Any = None, *, right: bool | None = None, out_int32: bool = False
) -> Any:  # fmt: skip
    """Where the elements of `v` would have to be inserted into the sorted vector `x` to keep it sorted.

    `x` may have sorted rows in its last axis; `v` then has the same axes before its last one.
    """
    side = side if side is not None else ("right" if right else "left")
    if side not in ("left", "right") or (side == "left" and right):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r} and right={right}")
    if sorter is not None:
        x = gather_along(x, _checked_sorter(sorter, x.shape[-1]), x.ndim - 1, distinct=True)
    if x.ndim != 1 and (x.ndim == 0 or x.shape[:-1] != getattr(v, "shape", ())[:-1]):
        raise ValueError(f"searchsorted: sorted rows of shape {x.shape} do not fit values of shape {np.shape(v)}")
    out = insertion_points(x, v, side=side)
    return astype(out, np.int32) if out_int32 else out


# Distinct values.


class UniqueAll(NamedTuple):
    """Distinct values, where each appears first, which one every element is, and how often each appears."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Distinct values and how often each appears."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Distinct values and which of them every element is."""

    values: Tensor
    inverse_indices: Tensor


def distinct(x: Any, equal_nan: bool) -> UniqueAll:
    """The distinct elements of `x`, read from where each appears first, with positions and counts."""
    payload = plain("unique", x)
    flat = payload.reshape(-1)
    order = stable_order(flat, 0, False)
    starts = _starts(flat[order], equal_nan)
    first = order[starts]
    inverse = np.empty(payload.size, np.intp)
    inverse[order] = np.cumsum(starts) - 1
    counts = np.diff(np.append(starts.nonzero()[0], payload.size))
    parts: tuple[Any, ...] = (first, inverse.reshape(payload.shape), counts)
    values = index_arrays(ravel(x), first, template=(ARRAY,), distinct=True)
    return UniqueAll(values, *(new_tensor(part, current()) if isinstance(x, Tensor) else part for part in parts))


def _starts(ordered: Any, equal_nan: bool) -> Any:
    """Where in a sorted vector the first of equal elements are."""
    starts = np.ones(ordered.shape, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=starts[1:])
    if equal_nan and ordered.dtype.kind in "fc":
        starts[1:] &= ~(np.isnan(ordered[1:]) & np.isnan(ordered[:-1]))
    return starts


def distinct_values(x: Any, equal_nan: bool) -> Any:
    """The distinct elements of `x` in ascending order, read from where each appears first."""
    payload = plain("unique", x)
    if not is_constant(x):
        return distinct(x, equal_nan).values
    ordered = sorted_copy(payload.reshape(-1), 0, False)
    return new_tensor(ordered[_starts(ordered, equal_nan)], current())


@composite
def unique_all(x: Any) -> UniqueAll:
    """The distinct values in ascending order, with positions and counts. The gradient goes to first appearances."""
    return distinct(x, False)


@composite
def unique_values(x: Any) -> Any:
    """The distinct values in ascending order. The gradient goes to where each appears first."""
    return distinct_values(x, False)


@composite
def unique_counts(x: Any) -> UniqueCounts:
    """The distinct values in ascending order, and how often each appears."""
    found = distinct(x, False)
    return UniqueCounts(found.values, found.counts)


@composite
def unique_inverse(x: Any) -> UniqueInverse:
    """The distinct values in ascending order, and for each element of `x` its number among them."""
    found = distinct(x, False)
    return UniqueInverse(found.values, found.inverse_indices)


def searchsorted_method(self: Tensor, v: Any, side: str | None = None, sorter: Any = None, **options: Any) -> Any:
    """Where the elements of `v` would have to be inserted into this sorted vector to keep it sorted."""
    return searchsorted(self, tensor_from(v), side, sorter, **options)


members: dict[str, Any] = {"searchsorted": searchsorted_method}
"""Methods of `Tensor` whose arguments differ from those of the functions."""


# Vectors as sets, and sorting by several keys.
#
# Which elements are distinct has no derivative. The elements themselves are read where they first appear, so their
# gradients go there.

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
    values = astype(take(x, first), np.result_type(x.dtype, y.dtype), copy=False)
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
    places = np.concatenate([_first_places("setxor1d", x), x.shape[0] + _first_places("setxor1d", y)])
    values = plain("setxor1d", both)[places]
    order = values.argsort(kind="stable")
    changes = np.ones(len(values) + 1, bool)
    changes[1:-1] = values[order][1:] != values[order][:-1]  # NaN is like no other
    return take(both, places[order[changes[1:] & changes[:-1]]])


@composite(arrays=2)
def isin(x: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    """For every element of `x` whether it is one of `test_elements`; with `invert`, whether it is not."""
    x, among = tensor_from(x), ravel(tensor_from(test_elements))
    if not among.size:
        return constant(np.full(x.shape, bool(invert)))
    among = sorted_values(among, axis=0, descending=False)
    nearest = take(among, minimum(insertion_points(among, x, side="left"), among.size - 1))
    return nearest != x if invert else nearest == x


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
    shape = x.shape if dim is None else (-1,)
    x, axis = (ravel(x), 0) if dim is None else (x, normalize_axis_index(dim, x.ndim))
    rows = np.moveaxis(plain("unique_consecutive", x), axis, 0)
    rows = rows.reshape(len(rows), math.prod(rows.shape[1:]))
    starts = np.ones(len(rows), bool)
    starts[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    (places,) = starts.nonzero()
    values = take(x, places, axis)
    extras: list[Any] = []
    if return_inverse:
        extras.append(constant((starts.cumsum() - 1).reshape(shape)))
    if return_counts:
        extras.append(constant(np.diff(places, append=len(rows))))
    return (values, *extras) if extras else values


@composite
def trim_zeros(x: Any, trim: str = "fb", axis: Any = None) -> Any:
    """`x` without the zeros at its front ("f"), at its back ("b"), or at both ends, along `axis` or all axes."""
    if trim.lower() not in ("fb", "bf", "f", "b"):
        raise ValueError(f"trim_zeros: trim must be 'f', 'b' or 'fb', got {trim!r}")
    places = np.atleast_1d(plain("trim_zeros", x)).nonzero()
    index: list[Any] = [slice(None)] * x.ndim
    for k in normalize_axes(axis, x.ndim):
        length = x.shape[k]
        if not places[k].size:
            index[k] = slice(length, None)
            continue
        first = int(places[k].min()) if "f" in trim.lower() else 0
        last = int(places[k].max()) + 1 if "b" in trim.lower() else length
        index[k] = slice(first, last)
    return x[tuple(index)]


@composite(arrays=0)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """The positions that sort by the last of `keys`, among equals by the one before it, and so on."""
    first, *rest = [tensor_from(key) for key in keys]
    along = normalize_axis_index(axis, first.ndim)
    order = sorting_order(first, axis=along, descending=False)
    for key in rest:
        nested = sorting_order(gather_along(key, order, along, distinct=True), axis=along, descending=False)
        order = gather_along(order, nested, along, distinct=True)
    return order


@composite
def sort_complex(x: Any) -> Any:
    """`x` as complex numbers, sorted along the last axis by real and then by imaginary part."""
    if not is_complex_dtype(x.dtype):
        x = astype(x, np.complex64 if x.dtype.char in "bhBH" else np.complex128)
    return sort(x)
