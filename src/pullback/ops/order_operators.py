"""The operators that sorting is made of: stable orders, sorted values, the places of some elements.

Positions have no derivative. The gradient of sorted values goes to the elements they came from, which are found again
by a stable order. How orders are found is in `ordering`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.ops.index_operators import take_from_rows
from pullback.ops.ordering import positions_of_ranks, sorted_copy, stable_order, values_of_ranks
from pullback.ops.pieces import in_pieces
from pullback.ops.reshaping import reshape
from pullback.ops.scatter import add_elements, gather_along

# Positions.


@primitive(name="_argsort", torch="argsort")
def sorting_order(x, *, axis, descending):
    """The positions of the elements along `axis` in stably sorted order."""
    return stable_order(x, axis, descending)


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


@primitive(name="_ranked_positions", torch="kthvalue")
def ranked_positions(x, *, places):
    """The positions of the elements along the last axis that stable sorting puts at `places`."""
    return positions_of_ranks(x, places)


ranked_positions.not_differentiable("returns positions")


@ranked_positions.spec
def ranked_positions_spec(x, *, places):
    return spec_for((*x.shape[:-1], len(places)), np.dtype(np.int64))


@ranked_positions.batch
def ranked_positions_batch(x, *, places):
    return ranked_positions(x, places=places)


@ranked_positions.samples
def ranked_positions_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 9)),), {"places": (4,)}, "middle")
    yield Sample((make.integers(0, 3, (2, 8)),), {"places": (0, 3, 7)}, "ties")
    yield Sample((np.array([[1.0, 3, 3, np.nan, 0, np.nan], [1, 3, 3, 0, 0, 2]]),), {"places": (3, 5)}, "NaN")
    yield Sample((make((0, 4)),), {"places": (1,)}, "empty")
    yield Sample((make((2, 5), np.complex128),), {"places": (2,)}, "complex")


@primitive(name="_ranked_values", torch="kthvalue")
def ranked_values(x, *, places):
    """The elements along the last axis that stable sorting puts at `places`."""
    return values_of_ranks(x, places)


@ranked_values.vjp
def ranked_values_vjp(g, x, places):
    return add_elements(g, ranked_positions(x, places=places), axis=x.ndim - 1, distinct=True, shape=x.shape)


@ranked_values.jvp
def ranked_values_jvp(t_x, x, places):
    return gather_along(t_x, ranked_positions(x, places=places), x.ndim - 1, distinct=True)


@ranked_values.spec
def ranked_values_spec(x, *, places):
    return spec_for((*x.shape[:-1], len(places)), x.dtype)


@ranked_values.batch
def ranked_values_batch(x, *, places):
    return ranked_values(x, places=places)


@ranked_values.samples
def ranked_values_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 9)),), {"places": (4,)}, "middle")
    yield Sample((make.integers(0, 3, (2, 8)),), {"places": (0, 3, 7)}, "integers")
    yield Sample((make((0, 4)),), {"places": (1,)}, "empty")
    yield Sample((make((2, 5), np.complex128),), {"places": (2,)}, "complex")


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


@primitive(name="_argpartition", torch="argpartition")
def partitioning_order(x, *, kth, axis):
    """Positions along `axis` that put those elements at `kth` which sorting puts there."""
    return np.argpartition(x, kth, axis)


partitioning_order.not_differentiable("returns positions")


@partitioning_order.spec
def partitioning_order_spec(x, *, kth, axis):
    return spec_for(x.shape, np.dtype(np.int64))


@partitioning_order.batch
def partitioning_order_batch(x, *, kth, axis):
    return partitioning_order(x, kth=kth, axis=axis + 1)


@partitioning_order.samples
def partitioning_order_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 40)),), {"kth": (7,), "axis": 1}, "rows")
    yield Sample((make.integers(0, 3, (9,)),), {"kth": (2, 4), "axis": 0}, "ties")
    yield Sample((make((0, 9)),), {"kth": (2,), "axis": 1}, "empty")
    yield Sample((make((2, 6), np.complex128),), {"kth": (2,), "axis": 1}, "complex")


# Sorted values.


@primitive(name="_sort", torch="sort")
def sorted_values(x, *, axis, descending):
    """The elements along `axis` in stably sorted order."""
    return sorted_copy(x, axis, descending)


@sorted_values.vjp
def sorted_values_vjp(g, x, axis, descending):
    order = sorting_order(x, axis=axis, descending=descending)
    return add_elements(g, order, axis=axis, distinct=True, shape=x.shape)


@sorted_values.jvp
def sorted_values_jvp(t_x, x, axis, descending):
    return gather_along(t_x, sorting_order(x, axis=axis, descending=descending), axis, distinct=True)


@sorted_values.spec
def sorted_values_spec(x, *, axis, descending):
    return x


@sorted_values.batch
def sorted_values_batch(x, *, axis, descending):
    return sorted_values(x, axis=axis + 1, descending=descending)


@sorted_values.samples
def sorted_values_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 4)),), {"axis": 1, "descending": False}, "ascending")
    yield Sample((make.distinct((3, 4)),), {"axis": 0, "descending": True}, "first axis")
    yield Sample((make.integers(0, 3, (8,)),), {"axis": 0, "descending": True}, "integers")
    yield Sample((make((0, 2)),), {"axis": 0, "descending": True}, "empty")
    yield Sample((make((2, 3), np.complex128),), {"axis": 1, "descending": True}, "complex")


@primitive(name="_partition", torch="partition")
def partitioned(x, *, kth, axis):
    """The elements along `axis`, those at `kth` where sorting puts them."""
    return np.partition(x, kth, axis)


@partitioned.vjp
def partitioned_vjp(g, x, out, axis):
    order, arranged = (sorting_order(each, axis=axis, descending=False) for each in (x, out))
    return add_elements(gather_along(g, arranged, axis, distinct=True), order, axis=axis, distinct=True, shape=x.shape)


@partitioned.jvp
def partitioned_jvp(t_x, x, out, axis):
    order, arranged = (sorting_order(each, axis=axis, descending=False) for each in (x, out))
    back = sorting_order(arranged, axis=axis, descending=False)
    return gather_along(gather_along(t_x, order, axis, distinct=True), back, axis, distinct=True)


@partitioned.spec
def partitioned_spec(x, *, kth, axis):
    return x


@partitioned.batch
def partitioned_batch(x, *, kth, axis):
    return partitioned(x, kth=kth, axis=axis + 1)


@partitioned.samples
def partitioned_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 40)),), {"kth": (7,), "axis": 1}, "rows")
    yield Sample((make.distinct((40, 2)),), {"kth": (7, 20), "axis": 0}, "columns")
    yield Sample((make((0, 9)),), {"kth": (2,), "axis": 1}, "empty")
    yield Sample((make((2, 6), np.complex128),), {"kth": (2,), "axis": 1}, "complex")
