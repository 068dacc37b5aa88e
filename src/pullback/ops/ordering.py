"""Orders of plain arrays: sorted values, stable orders, and what sorting would put at given places.

NumPy's fast sorts are not stable, and its stable ones take ten times as long. An order becomes stable if positions are
part of what is sorted: where a number has at most 32 bits, its rank and its position fit into one integer, and sorting
these gives the order. Longer numbers are ordered first by the fast way, and again as ranks if some are equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.ops.index_operators import take_from_rows
from pullback.ops.pieces import PIECE, in_pieces

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
