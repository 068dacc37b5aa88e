"""Sorting, and what follows from it: order statistics, the largest elements, distinct values.

Positions have no derivative. Values are read at positions (`gather`), so their gradient goes to the elements they came
from. Sorting is stable in both directions: of equal elements the first stays first, also when the order is descending,
and NaN counts as larger than every number.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes, normalize_axis_index
from pullback.core.spec import Spec, spec_for
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.eager.build import as_operand
from pullback.eager.record import new_tensor
from pullback.ops.comparison import isnan, where
from pullback.ops.index_operators import ARRAY, basic_view, index_arrays, take_from_rows
from pullback.ops.movement import expand_dims, moveaxis, squeeze
from pullback.ops.pieces import in_pieces
from pullback.ops.plain import plain
from pullback.ops.reshaping import ravel, reshape
from pullback.ops.scatter import gather_along
from pullback.tensors.tensor import Tensor

# Positions.


@primitive(name="_argsort", torch="argsort")
def sorting_order(x, *, axis, descending):
    """The positions of the elements along `axis` in stably sorted order."""
    order = _order_of_distinct(x, axis, descending)
    if order is not None:
        return order
    if not descending:
        return x.argsort(axis, kind="stable")
    # Sorted from the back and counted from there, so that equal elements keep their order.
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - backwards, axis)


def _order_of_distinct(x: Any, axis: int, descending: bool) -> Any:
    """The order of floating-point numbers along the last axis, if no two are equal and none is NaN; None otherwise.

    Then there is only one order, and NumPy's fastest algorithm finds it, three times faster than the stable one.
    """
    if x.dtype.char not in "fd" or axis != x.ndim - 1 or x.size < 256 or not x.flags.c_contiguous:
        return None
    rows = x.reshape(-1, x.shape[-1])
    order = np.empty(rows.shape, np.intp)
    failed: list[int] = []

    def work(start: int, stop: int) -> None:
        if failed:
            return
        found = np.argsort(rows[start:stop], axis=1)
        values = take_from_rows(rows[start:stop], found)
        # Ascending strictly everywhere: False for equal numbers and for NaN.
        if not (values[:, 1:] > values[:, :-1]).all() or (values[:, -1:] != values[:, -1:]).any():
            failed.append(start)
        order[start:stop] = found[:, ::-1] if descending else found

    in_pieces(work, *rows.shape)
    return None if failed else order.reshape(x.shape)


sorting_order.not_differentiable("returns positions")


@sorting_order.spec
def sorting_order_spec(x, *, axis, descending):
    return spec_for(x.shape, np.dtype(np.int64))


@sorting_order.batch
def sorting_order_batch(x, *, axis, descending):
    return sorting_order(x, axis=axis + 1, descending=descending)


@sorting_order.samples
def sorting_order_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"axis": 1, "descending": False}, "ascending")
    yield Sample((make.integers(0, 3, (8,)),), {"axis": 0, "descending": True}, "ties")
    yield Sample((make((0, 2)),), {"axis": 0, "descending": True}, "empty")
    yield Sample((make((2, 3), np.complex128),), {"axis": 1, "descending": True}, "complex")


@primitive(name="_leading_positions", torch="topk")
def leading_positions(x, *, k, axis, largest):
    """The positions of the `k` largest or smallest elements along `axis`, in stably sorted order."""
    if 0 < k <= x.shape[axis] // 4 and axis == x.ndim - 1 and x.dtype.char in "fd" and x.flags.c_contiguous:
        found = _leading_of_distinct(x.reshape(-1, x.shape[-1]), k, largest)
        if found is not None:
            return found.reshape((*x.shape[:-1], k))
    order = sorting_order.kernel(x, axis=axis, descending=largest)
    return order[(slice(None),) * axis + (slice(0, k),)].copy()


def _leading_of_distinct(x: Any, k: int, largest: bool) -> Any:
    """The same for rows by partition, which is linear in their length; None for a row with NaN or with ties at its end.

    Ties are seen as more than `k` elements that are no worse than the worst chosen one, or as equal chosen ones.
    """
    places = np.empty((x.shape[0], k), np.intp)
    failed: list[int] = []

    def work(start: int, stop: int) -> None:
        part = x[start:stop]
        if failed:
            return
        at = part.shape[1] - k if largest else k - 1
        worst = np.partition(part, at, axis=1)[:, at, None]
        (found,) = (part >= worst if largest else part <= worst).ravel().nonzero()
        if found.size != len(part) * k or np.isnan(part.max()):
            failed.append(start)
            return
        columns = found.reshape(-1, k) - (np.arange(len(part)) * part.shape[1])[:, None]
        values = take_from_rows(part, columns)
        inner = np.argsort(-values if largest else values, axis=1, kind="stable")
        places[start:stop] = take_from_rows(columns, inner)

    in_pieces(work, *x.shape)
    return None if failed else places


leading_positions.not_differentiable("returns positions")


@leading_positions.spec
def leading_positions_spec(x, *, k, axis, largest):
    return spec_for((*x.shape[:axis], k, *x.shape[axis + 1 :]), np.dtype(np.int64))


@leading_positions.batch
def leading_positions_batch(x, *, k, axis, largest):
    return leading_positions(x, k=k, axis=axis + 1, largest=largest)


@leading_positions.samples
def leading_positions_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 9)),), {"k": 2, "axis": 1, "largest": True}, "largest")
    yield Sample((make((3, 9)),), {"k": 2, "axis": 1, "largest": False}, "smallest")
    yield Sample((make((9, 2)),), {"k": 2, "axis": 0, "largest": True}, "first axis")
    yield Sample((make.integers(0, 3, (2, 8)),), {"k": 2, "axis": 1, "largest": True}, "ties")
    yield Sample((np.array([[1.0, 3, 3, 3, 0, 2, 1, 0], [1, np.nan, 3, 5, 0, 2, 1, 0]]),),
                 {"k": 2, "axis": 1, "largest": True}, "ties and NaN")  # fmt: skip
    yield Sample((make((2, 0)),), {"k": 0, "axis": 1, "largest": True}, "empty")
    yield Sample((make((2, 5), np.complex128),), {"k": 2, "axis": 1, "largest": True}, "complex")


@primitive(name="_searchsorted", torch="searchsorted")
def insertion_points(x, v, *, side):
    """Where elements of `v` would have to be inserted into the sorted `x` to keep it sorted."""
    return np.searchsorted(x, v, side)


insertion_points.not_differentiable("returns positions")


@insertion_points.spec
def insertion_points_spec(x, v, *, side):
    return spec_for(v.shape if isinstance(v, Spec) else (), np.dtype(np.int64))


@insertion_points.batch
def insertion_points_batch(x, v, *, side):
    if not hasattr(v, "ndim"):
        v = np.full(x.shape[0], v)
    # Of each element, how many of its row's elements come before it.
    row, each = (
        reshape(x, (x.shape[0],) + (1,) * (v.ndim - 1) + x.shape[1:]),
        reshape(v, (*v.shape, 1)),
    )
    return (row < each if side == "left" else row <= each).sum(axis=-1)


@insertion_points.samples
def insertion_points_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((np.array([0, 1, 1, 3]), np.array([[1, 0], [5, 2]])), {"side": "left"}, "left")
    yield Sample((np.array([0, 1, 1, 3]), np.array([1, 3])), {"side": "right"}, "right")
    for label, operands in [
        ("numbers", (make((5,)), make((2, 3)))),
        ("scalar", (make((5,)), make(()))),
        ("empty", (make((0,)), make((2,)))),
        ("complex", (make((5,), np.complex128), make((3,), np.complex128))),
    ]:
        yield Sample(operands, {"side": "left"}, label, prepare=lambda x, v: (np.sort(x), v))


# Sorted values.


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
        along = axis % x.ndim
        order = sorting_order(x, axis=along, descending=bool(descending))
        return gather_along(x, order, along, distinct=True)
    return sort_with_indices(x, axis, descending=descending, stable=stable, dim=dim).values


@composite
def msort(x: Any) -> Any:
    """`x` sorted along its first axis."""
    return sort(x, 0)


@composite
def partition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """`x` arranged so that its elements at `kth` are where sorting puts them: here, sorted."""
    return sort(x, axis)


@composite
def argpartition(x: Any, kth: Any, axis: int | None = -1) -> Any:
    """The positions that arrange `x` as `partition` does."""
    return argsort(x, axis)


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
    if not 1 <= operator.index(k) <= x.shape[along]:
        raise ValueError(f"kthvalue: an axis of length {x.shape[along]} has no element number {k}")
    order = sorting_order(x, axis=along, descending=False)
    chosen = basic_view(order, index=(slice(None),) * along + (slice(k - 1, k), ...))
    values = gather_along(x, chosen, along, distinct=True)
    if keepdims if keepdim is None else keepdim:
        return Sorted(values, chosen)
    return Sorted(squeeze(values, along), squeeze(chosen, along))


@composite
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
    ordered = sort(row)
    low, high, last = (basic_view(ordered, index=(..., k)) for k in ((length - 1) // 2, length // 2, length - 1))
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
    _, first, inverse, counts = np.unique(
        payload, return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan
    )
    values = index_arrays(ravel(x), first, template=(ARRAY,), distinct=True)
    parts = (first, inverse.reshape(payload.shape), counts)
    return UniqueAll(values, *(new_tensor(part, current()) if isinstance(x, Tensor) else part for part in parts))


@composite
def unique_all(x: Any) -> UniqueAll:
    """The distinct values in ascending order, with positions and counts. The gradient goes to first appearances."""
    return distinct(x, False)


@composite
def unique_values(x: Any) -> Any:
    """The distinct values in ascending order. The gradient goes to where each appears first."""
    return distinct(x, False).values


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
