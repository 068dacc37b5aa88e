"""The operators that sorting is made of: stable orders, sorted values, the places of some elements.

Positions have no derivative. The gradient of sorted values goes to the elements they came from, which are found again
by a stable order. How orders are found is in `ordering`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.families import gufunc, primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arrays.index_operators import take_from_rows
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.arrays.scatter import add_elements, gather_along
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import where
from pullback.operators.pieces import PIECE, in_pieces

# Orders of plain arrays: sorted values, stable orders, and what sorting would put at given places.
#
# NumPy's fast sorts are not stable, and its stable ones take ten times as long. An order becomes stable if positions
# are part of what is sorted: where a number has at most 32 bits, its rank and its position fit into one integer, and
# sorting these gives the order. Longer numbers are ordered first by the fast way, and again as ranks if some are equal.

_FEW = 256
"""Below so many elements NumPy's stable sort is as fast."""
_ALONE = 8 * PIECE
"""Up to so many elements NumPy sorts alone: threads of Python would have to wait for each other too often."""
_HALF = 32  # bits of a rank, and of a position
_MOST = 1 << _HALF
_POSITION = _MOST - 1
_MIDDLE = 1 << (_HALF - 1)
_SHORT = frozenset("?bBhHiIef")  # of at most 32 bits
_LONG = frozenset("lLqQd")


def stable_order(x: Any, axis: int, descending: bool) -> Any:
    """The positions of the elements along `axis` in sorted order; equal ones keep theirs, also when it descends."""
    if x.size < _FEW or x.shape[axis] >= _MOST or x.dtype.char not in _SHORT | _LONG:
        if not descending:
            return x.argsort(axis, kind="stable")
        # Sorted from the back and counted from there, so that equal elements keep their order.
        backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
        return np.flip(x.shape[axis] - 1 - backwards, axis)
    moved = np.moveaxis(x, axis, -1)
    rows = np.ascontiguousarray(moved).reshape(-1, x.shape[axis])
    order = np.empty(rows.shape, np.intp)

    def work(start: int, stop: int) -> None:
        part = rows[start:stop]
        ranks = _ranks(part)
        if ranks is None:
            _order_long(part, descending, order[start:stop])
        else:
            _order_ranks(ranks, np.arange(part.shape[1]), descending, order[start:stop])

    in_pieces(work, *rows.shape)
    return np.ascontiguousarray(np.moveaxis(order.reshape(moved.shape), -1, axis))


def _ranks(x: Any) -> Any:
    """New integers of 32 bits in the order of the elements; None if the elements have more bits than that."""
    kind, char = x.dtype.kind, x.dtype.char
    if char in "ef":
        bits = (x.astype(np.float32) + np.float32(0)).view(np.int32)  # -0.0 is as good as 0.0
        bits ^= (bits >> 31) & np.int32(_MIDDLE - 1)  # the smaller a negative number, the larger its bits
        is_nan = np.isnan(x)
        if is_nan.any():
            bits[is_nan] = _MIDDLE - 1
        return bits.astype(np.int64)
    if char in _SHORT:
        return x.astype(np.int64) - (_MIDDLE if kind == "u" else 0)
    if kind != "f" and int(x.max()) - int(low := x.min()) < _MOST:
        return (x - low).astype(np.int64) - _MIDDLE
    return None


def _order_ranks(ranks: Any, positions: Any, descending: bool, order: Any) -> None:
    """Sort ranks, which are overwritten, together with positions, and write the positions."""
    if descending:
        np.invert(ranks, out=ranks)
    ranks <<= _HALF
    ranks |= positions
    ranks.sort(axis=1)
    np.bitwise_and(ranks, _POSITION, out=order)


def _order_long(x: Any, descending: bool, order: Any) -> None:
    found = np.argsort(x, axis=1)
    values = take_from_rows(x, found)
    rises = values[:, 1:] > values[:, :-1]
    if rises.all() and not (values[:, -1:] != values[:, -1:]).any():
        order[...] = found[:, ::-1] if descending else found
        return
    if x.dtype.kind == "f":
        rises |= np.isnan(values[:, 1:]) > np.isnan(values[:, :-1])
    ranks = np.zeros(x.shape, np.int64)
    np.cumsum(rises, axis=1, out=ranks[:, 1:])
    _order_ranks(ranks, found, descending, order)


def sorted_copy(x: Any, axis: int, descending: bool) -> Any:
    """The elements along `axis` in sorted order."""
    if x.dtype.kind not in "fbiu":
        return np.take_along_axis(x, stable_order(x, axis, descending), axis)
    if axis != x.ndim - 1 or not x.flags.c_contiguous or x.size <= max(_ALONE, x.shape[-1]):
        out = x.copy()
        out.sort(axis)
        return _finished(x, out, axis, descending)
    out = np.empty(x.shape, x.dtype)
    rows, targets = (each.reshape(-1, x.shape[-1]) for each in (x, out))

    def work(start: int, stop: int) -> None:
        targets[start:stop] = rows[start:stop]
        targets[start:stop].sort(axis=1)
        if descending or x.dtype.kind == "f":
            targets[start:stop] = _finished(rows[start:stop], targets[start:stop], 1, descending)

    in_pieces(work, *rows.shape)
    return out


def _finished(x: Any, out: Any, axis: int, descending: bool) -> Any:
    """Ascending elements as they were asked for. Zeros of either sign, which are equal, get the order they had."""
    is_mixed = x.dtype.kind == "f" and _has_zeros(out, axis) and np.signbit(x[x == 0]).any()
    if descending:
        out = np.ascontiguousarray(np.flip(out, axis))
    if is_mixed:
        source, target = np.moveaxis(x, axis, -1), np.moveaxis(out, axis, -1)
        target[target == 0] = source[source == 0]
    return out


def _has_zeros(ordered: Any, axis: int) -> bool:
    if ordered.ndim == 1:
        place = ordered.searchsorted(0)
        return bool(place < ordered.size and ordered[place] == 0)
    first = ordered[(slice(None),) * axis + (slice(0, 1),)]
    return bool(not (first > 0).all() and (ordered == 0).any())


def values_of_ranks(x: Any, places: tuple[int, ...]) -> Any:
    """The elements along the last axis that sorting stably puts at `places`: in linear time."""
    if x.dtype.kind not in "fbiu":
        return np.take_along_axis(x, positions_of_ranks(x, places), -1)
    rows = x.reshape(-1, x.shape[-1])
    found = np.empty((len(rows), len(places)), x.dtype)

    def work(start: int, stop: int) -> None:
        found[start:stop] = np.partition(rows[start:stop], places, axis=1)[:, places]

    if x.size <= _ALONE:
        work(0, len(rows))
    else:
        in_pieces(work, *rows.shape)
    found = found.reshape(*x.shape[:-1], len(places))
    if x.dtype.kind == "f" and (found == 0).any():  # whose sign is that of one of several equal ones
        return np.take_along_axis(x, positions_of_ranks(x, places), -1)
    return found


def positions_of_ranks(x: Any, places: tuple[int, ...]) -> Any:
    """The positions of the elements along the last axis that sorting stably puts at `places`: in linear time."""
    if x.dtype.kind not in "fbiu":
        return stable_order(x, x.ndim - 1, False)[..., list(places)]
    rows = x.reshape(-1, x.shape[-1])
    found = np.empty((len(rows), len(places)), np.intp)

    def work(start: int, stop: int) -> None:
        part = rows[start:stop]
        parted = np.partition(part, places, axis=1)
        for number, place in enumerate(places):
            found[start:stop, number] = _position(part, parted[:, place, None], place)

    in_pieces(work, *rows.shape)
    return found.reshape(*x.shape[:-1], len(places))


def _position(x: Any, value: Any, place: int) -> Any:
    """Where the element of each row is that stands at `place` of the sorted row, and has this value."""
    equal, less = x == value, x < value
    is_nan = value != value
    if is_nan.any():  # which come last
        missing = np.isnan(x)
        equal |= is_nan & missing
        less |= is_nan & ~missing
    earlier = place - np.count_nonzero(less, axis=1)  # equal ones that come before it
    if not earlier.any():
        return equal.argmax(axis=1)
    return (np.cumsum(equal, axis=1) > earlier[:, None]).argmax(axis=1)


# Positions.


@primitive(name="_argsort", torch="argsort", flow="sorts", batch="shifted")
def sorting_order(x, *, axis, descending):
    """The positions of the elements along `axis` in stably sorted order."""
    return stable_order(x, axis, descending)


sorting_order.not_differentiable("returns positions")


@sorting_order.spec
def sorting_order_spec(x, *, axis, descending):
    return spec_for(x.shape, np.dtype(np.int64))


@sorting_order.samples
def sorting_order_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"axis": 1, "descending": False}, "ascending")
    yield Sample((make.integers(0, 3, (8,)),), {"axis": 0, "descending": True}, "ties")
    yield Sample((make((0, 2)),), {"axis": 0, "descending": True}, "empty")
    yield Sample((make((2, 3), np.complex128),), {"axis": 1, "descending": True}, "complex")


@primitive(name="_ranked_positions", torch="kthvalue", batch="shifted")
def ranked_positions(x, *, places):
    """The positions of the elements along the last axis that stable sorting puts at `places`."""
    return positions_of_ranks(x, places)


ranked_positions.not_differentiable("returns positions")


@ranked_positions.spec
def ranked_positions_spec(x, *, places):
    return spec_for((*x.shape[:-1], len(places)), np.dtype(np.int64))


@ranked_positions.samples
def ranked_positions_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 9)),), {"places": (4,)}, "middle")
    yield Sample((make.integers(0, 3, (2, 8)),), {"places": (0, 3, 7)}, "ties")
    yield Sample((np.array([[1.0, 3, 3, np.nan, 0, np.nan], [1, 3, 3, 0, 0, 2]]),), {"places": (3, 5)}, "NaN")
    yield Sample((make((0, 4)),), {"places": (1,)}, "empty")
    yield Sample((make((2, 5), np.complex128),), {"places": (2,)}, "complex")


@gufunc("(n)->(),()", outputs=("low", "high"), name="_middle", torch="median")
def middle(x, *, omit_nan):
    """The two elements in the middle of every sorted row, one twice if the length is odd; NaN where the row has one.

    With `omit_nan` they are those of the elements that are not NaN. As for `amax`, no position is asked for, so that
    equal elements share the gradient.
    """
    length = x.shape[-1]
    if omit_nan:
        ordered = np.sort(x, axis=-1)
        count = np.sum(~np.isnan(x), axis=-1, keepdims=True)
        places = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, length - 1)
        low, high = (np.take_along_axis(ordered, place, -1)[..., 0] for place in places)
        return low, high
    found = values_of_ranks(x, ((length - 1) // 2, length // 2, length - 1))
    low, high, last = (found[..., k] for k in range(3))
    if x.dtype.kind in "fc":
        missing = np.isnan(last)
        low, high = np.where(missing, last, low), np.where(missing, last, high)
    return low, high


def _share_of_equals(x: Any, value: Any, omit_nan: bool) -> Any:
    """The derivative of one of the middle elements of a row by all of its elements."""
    value = value[..., None]
    equals = x == value if omit_nan else (x == value) | ((x != x) & (value != value))
    count = equals.sum(axis=-1, keepdims=True)
    return astype(equals, x.dtype) / astype(where(count == 0, 1, count), x.dtype)


@middle.vjp
def middle_vjp(g_low, g_high, x, low, high, omit_nan):
    pairs = [(g, value) for g, value in ((g_low, low), (g_high, high)) if g is not None]
    terms = [g[..., None] * _share_of_equals(x, value, omit_nan) for g, value in pairs]
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


@middle.jvp
def middle_jvp(t_x, x, low, high, omit_nan):
    return tuple((t_x * _share_of_equals(x, value, omit_nan)).sum(axis=-1) for value in (low, high))


@middle.samples
def middle_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 9)),), {"omit_nan": False}, "odd")
    yield Sample((make.distinct((2, 8)),), {"omit_nan": False}, "even")
    yield Sample((make.integers(0, 3, (2, 8)),), {"omit_nan": False}, "integers")
    yield Sample((make((0, 4)),), {"omit_nan": False}, "empty")
    yield Sample((make((2, 5), np.complex128),), {"omit_nan": False}, "complex")
    yield Sample((make.distinct((3, 4)),), {"omit_nan": True}, "without NaN")


@primitive(name="_leading_positions", torch="topk", flow="sorts", batch="shifted")
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


@primitive(name="_searchsorted", torch="searchsorted", recompute="bearable", ascending=("x",))
def insertion_points(x, v, *, side):
    """Where elements of `v` would have to be inserted into the sorted `x`, or its sorted rows, to keep them sorted."""
    if x.ndim == 1:
        return np.searchsorted(x, v, side)
    out = np.empty(v.shape, np.int64)
    for index in np.ndindex(*x.shape[:-1]):
        out[index] = np.searchsorted(x[index], v[index], side)
    return out


insertion_points.not_differentiable("returns positions")


@insertion_points.spec
def insertion_points_spec(x, v, *, side):
    return spec_for(v.shape if isinstance(v, Spec) else (), np.dtype(np.int64))


@insertion_points.batch
def insertion_points_batch(x, v, *, side):
    if not hasattr(v, "ndim"):
        v = np.full(x.shape[0], v)
    if x.ndim > 2:
        return insertion_points(x, v, side=side)
    return reshape(insertion_points(x, reshape(v, (v.shape[0], -1)), side=side), v.shape)


@insertion_points.samples
def insertion_points_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((np.array([0, 1, 1, 3]), np.array([[1, 0], [5, 2]])), {"side": "left"}, "left")
    yield Sample((np.array([0, 1, 1, 3]), np.array([1, 3])), {"side": "right"}, "right")
    for label, operands in [
        ("numbers", (make((5,)), make((2, 3)))),
        ("scalar", (make((5,)), make(()))),
        ("rows", (make((2, 5)), make((2, 3)))),
        ("empty", (make((0,)), make((2,)))),
        ("complex", (make((5,), np.complex128), make((3,), np.complex128))),
    ]:
        yield Sample(operands, {"side": "left"}, label, prepare=lambda x, v: (np.sort(x), v))


@primitive(name="_argpartition", torch="argpartition", flow="sorts", batch="shifted")
def partitioning_order(x, *, kth, axis):
    """Positions along `axis` that put those elements at `kth` which sorting puts there."""
    return np.argpartition(x, kth, axis)


partitioning_order.not_differentiable("returns positions")


@partitioning_order.spec
def partitioning_order_spec(x, *, kth, axis):
    return spec_for(x.shape, np.dtype(np.int64))


@partitioning_order.samples
def partitioning_order_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 40)),), {"kth": (7,), "axis": 1}, "rows")
    yield Sample((make.integers(0, 3, (9,)),), {"kth": (2, 4), "axis": 0}, "ties")
    yield Sample((make((0, 9)),), {"kth": (2,), "axis": 1}, "empty")
    yield Sample((make((2, 6), np.complex128),), {"kth": (2,), "axis": 1}, "complex")


# Sorted values.


@primitive(name="_sort", torch="sort", flow="sorts", batch="shifted", spec="same")
def sorted_values(x, *, axis, descending):
    """The elements along `axis` in stably sorted order."""
    return sorted_copy(x, axis, descending)


@sorted_values.spelling("array_api")
def sorted_values_spelling(np_there, x, *, axis, descending):
    return np_there.take_along_axis(x, sorting_order.kernel(x, axis=axis, descending=descending), axis)


@sorted_values.vjp
def sorted_values_vjp(g, x, axis, descending):
    order = sorting_order(x, axis=axis, descending=descending)
    return add_elements(g, order, axis=axis, distinct=True, shape=x.shape)


@sorted_values.jvp
def sorted_values_jvp(t_x, x, axis, descending):
    return gather_along(t_x, sorting_order(x, axis=axis, descending=descending), axis, distinct=True)


@sorted_values.samples
def sorted_values_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 4)),), {"axis": 1, "descending": False}, "ascending")
    yield Sample((make.distinct((3, 4)),), {"axis": 0, "descending": True}, "first axis")
    yield Sample((make.integers(0, 3, (8,)),), {"axis": 0, "descending": True}, "integers")
    yield Sample((make((0, 2)),), {"axis": 0, "descending": True}, "empty")
    yield Sample((make((2, 3), np.complex128),), {"axis": 1, "descending": True}, "complex")


@primitive(name="_partition", torch="partition", flow="mixes", batch="shifted", spec="same")
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


@partitioned.samples
def partitioned_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.distinct((3, 40)),), {"kth": (7,), "axis": 1}, "rows")
    yield Sample((make.distinct((40, 2)),), {"kth": (7, 20), "axis": 0}, "columns")
    yield Sample((make((0, 9)),), {"kth": (2,), "axis": 1}, "empty")
    yield Sample((make((2, 6), np.complex128),), {"kth": (2,), "axis": 1}, "complex")
