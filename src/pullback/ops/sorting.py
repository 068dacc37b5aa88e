"""Sorting, and what follows from it: order statistics, the largest elements, distinct values.

Positions have no derivative. Values are read at positions (`gather`), so their gradient goes to the elements they came
from. Sorting is stable in both directions: of equal elements the first stays first, also when the order is descending,
and NaN counts as larger than every number.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes, normalize_axis_index
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.eager.build import as_operand
from pullback.eager.record import new_tensor
from pullback.ops.comparison import isnan, where
from pullback.ops.index_operators import ARRAY, basic_view, index_arrays
from pullback.ops.movement import expand_dims, moveaxis, squeeze
from pullback.ops.order_operators import (
    insertion_points,
    leading_positions,
    partitioned,
    partitioning_order,
    ranked_positions,
    ranked_values,
    sorted_values,
    sorting_order,
)
from pullback.ops.ordering import sorted_copy, stable_order
from pullback.ops.plain import is_constant, is_recorded, on_arrays, plain, tensor_from
from pullback.ops.reshaping import ravel, reshape
from pullback.ops.scatter import gather_along
from pullback.tensors.tensor import Tensor


def _in_order(x: Any, axis: int, descending: bool) -> Any:
    """`x` sorted along an axis. Who wants a gradient needs the order; otherwise values alone are sorted."""
    if is_recorded(x):
        return gather_along(x, sorting_order(x, axis=axis, descending=descending), axis, distinct=True)
    return sorted_values(x, axis=axis, descending=descending)


def at_ranks(x: Any, places: tuple[int, ...]) -> Any:
    """The elements along the last axis that sorting puts at `places`."""
    if is_recorded(x):
        return gather_along(x, ranked_positions(x, places=places), x.ndim - 1, distinct=True)
    return ranked_values(x, places=places)


def _axis_of(name: str, x: Any, axis: int, dim: int | None) -> int:
    return normalize_axis_index(axis if dim is None else dim, x.ndim)


class Sorted(NamedTuple):
    """Values and the positions they came from."""

    values: Any
    indices: Any


@composite
def argsort(
    x: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True, dim: int | None = None
) -> Any:
    """The positions that sort `x` along an axis; without an axis, in row-major order."""
    if axis is None and dim is None:
        x, axis = ravel(x), 0
    return sorting_order(x, axis=_axis_of("argsort", x, -1 if axis is None else axis, dim), descending=bool(descending))


@composite
def sort_with_indices(
    x: Any, axis: int | None = -1, *, descending: bool = False, stable: bool = True, dim: int | None = None
) -> Sorted:
    """`x` sorted along an axis, and the positions that the elements had."""
    if axis is None and dim is None:
        x, axis = ravel(x), 0
    if x.ndim == 0:
        order = sorting_order(reshape(x, 1), axis=0, descending=False)
        return Sorted(reshape(x, ()), reshape(order, ()))
    along = _axis_of("sort", x, -1 if axis is None else axis, dim)
    order = sorting_order(x, axis=along, descending=bool(descending))
    return Sorted(gather_along(x, order, along, distinct=True), order)


@composite
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
    if x.ndim == 0:
        return sort_with_indices(x, axis, dim=dim).values
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
def topk(
    x: Any, k: int, axis: int = -1, largest: bool = True, sorted: bool = True, *, dim: int | None = None
) -> Sorted:
    """The `k` largest (or smallest) elements along an axis in order, and their positions; ties go to the first.

    The gradients go to these positions.
    """
    along = _axis_of("topk", x, axis, dim)
    k = operator.index(k)
    if not 0 <= k <= x.shape[along]:
        raise ValueError(f"topk: an axis of length {x.shape[along]} has no {k} elements")
    chosen = leading_positions(x, k=k, axis=along, largest=bool(largest))
    return Sorted(gather_along(x, chosen, along, distinct=True), chosen)


@composite
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
    """The middle element along axes, or the mean of the two middle ones; NaN where an element is NaN.

    Two middle elements get half of the gradient each; of equal elements it is the one that `sort` puts in the middle.
    """
    axes = normalize_axes(merge_spellings("median: axis/dim", axis, dim), x.ndim)
    keepdims = keepdims if keepdim is None else keepdim
    rest = [k for k in range(x.ndim) if k not in axes]
    row = moveaxis(x, axes, range(len(rest), x.ndim))
    row = reshape(row, (*(x.shape[k] for k in rest), -1))
    length = row.shape[-1]
    if length == 0:
        raise ValueError("median: there is no median of nothing")
    places = sorted({(length - 1) // 2, length // 2, length - 1})
    found = at_ranks(row, tuple(places))
    low, high, last = (basic_view(found, index=(..., k)) for k in (0, places.index(length // 2), -1))
    middle = low if length % 2 and low.dtype.kind in "fc" else (low + high) / 2
    out = where(isnan(last), last, middle) if x.dtype.kind in "fc" else middle
    return expand_dims(out, axes) if keepdims else out


@composite(arrays=2, method=False)
def searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None, *, right: bool | None = None) -> Any:
    """Where the elements of `v` would have to be inserted into the sorted vector `x` to keep it sorted."""
    side = side if right is None else ("right" if right else "left")
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if sorter is not None:
        x = index_arrays(x, as_operand(sorter), template=(ARRAY,), distinct=True)
    if x.ndim != 1:
        raise ValueError(f"searchsorted: expected a sorted vector, got {x.ndim} axes")
    return insertion_points(x, v, side=side)


# Distinct values.


class UniqueAll(NamedTuple):
    """Distinct values, where each appears first, which one every element is, and how often each appears."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """Distinct values and how often each appears."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """Distinct values and which of them every element is."""

    values: Any
    inverse_indices: Any


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
    parts = (first, inverse.reshape(payload.shape), counts)
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


def searchsorted_method(
    self: Tensor, v: Any, side: str = "left", sorter: Any = None, *, right: bool | None = None
) -> Any:
    """Where the elements of `v` would have to be inserted into this sorted vector to keep it sorted."""
    return searchsorted(self, tensor_from(v), side, sorter, right=right)


members: dict[str, Any] = {"searchsorted": searchsorted_method}
"""Methods of `Tensor` whose arguments differ from those of the functions."""
