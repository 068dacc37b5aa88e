"""Subscripts of ragged arrays: rows, parts of rows, elements at positions in their rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.operators.arrays.index_operators import (
    ARRAY,
    basic_view,
    index_arrays,
    index_put_arrays,
)
from pullback.operators.arrays.masks import masked_fill, positions
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.ragged.families import elementwise
from pullback.operators.ragged.parts import call, memory, on_rows_of, packed, ragged, ragged_of, refuse
from pullback.payloads.ragged.array import RaggedArray

_ALL = slice(None)


def _begins(own: RaggedArray) -> Any:
    return own.offsets.known("parts of rows").array[:-1] if own.starts is None else own.starts


def _full(index: Any, ndim: int) -> list[Any]:
    """A basic index with an entry for every axis, and those for new axes."""
    taken = sum(part is not None and part is not Ellipsis for part in index)
    if taken > ndim:
        raise IndexError(f"too many indices: {taken} axes are indexed, and the array has {ndim}")
    place = index.index(Ellipsis)
    return [*index[:place], *[_ALL] * (ndim - taken), *index[place + 1 :]]


@basic_view.ragged
def basic_ragged(x, *, index):
    own = ragged_of(x)
    parts = _full(index, own.ndim)
    if not parts or parts[0] is None:
        raise refuse("x[None]", "rows come first", "add axes behind the first", own.shape)
    rows, rest = parts[0], parts[1:]
    if rows != _ALL:
        first = _one_row(x, own, rows) if isinstance(rows, int) else _some_rows(x, own, rows)
        return first[tuple(rest)] if any(part != _ALL for part in rest) else first
    # Where the ragged axis is among the entries, which may be for new axes.
    axis, place = 0, None
    for position, part in enumerate(rest):
        if part is not None:
            axis += 1
        if axis == own.axis and part is not None:
            place = position
            break
    assert place is not None
    along = rest[place]
    before, behind = rest[:place], rest[place + 1 :]
    others = (_ALL, *before, *behind)
    new_axis = 1 + sum(not isinstance(part, int) for part in before)
    if along == _ALL:
        if all(part == _ALL for part in others):
            return x
        values = basic_view(memory(x), index=(*others, ...))
        return ragged(values, offsets=own.offsets, axis=new_axis, starts=own.starts)
    inner = x if all(part == _ALL for part in others) else basic_ragged(x, index=(_ALL, *before, _ALL, *behind, ...))
    return _one_element(inner, along) if isinstance(along, int) else _parts_of_rows(inner, along)


def _one_row(x: Any, own: RaggedArray, row: int) -> Any:
    count = own.offsets.count
    if not -count <= row < count:
        raise IndexError(f"row {row} is out of bounds: there are {count} rows")
    row %= count
    begin = int(_begins(own)[row])
    part = basic_view(memory(x), index=(slice(begin, begin + int(own.offsets.lengths[row])), ...))
    return moveaxis(part, 0, own.axis - 1) if own.axis > 1 else part


def _some_rows(x: Any, own: RaggedArray, rows: slice) -> Any:
    chosen = range(*rows.indices(own.offsets.count))
    begins = _begins(own)
    if chosen.step == 1 and own.starts is None and len(chosen):
        cuts = own.offsets.array
        offsets = own.offsets.part(("rows", chosen.start, chosen.stop), own.offsets.lengths[rows])
        part = basic_view(memory(x), index=(slice(int(cuts[chosen.start]), int(cuts[chosen.stop])), ...))
        return ragged(part, offsets=offsets, axis=own.axis, starts=None)
    offsets = own.offsets.part(("every", chosen.start, len(chosen), chosen.step), own.offsets.lengths[rows])
    return ragged(memory(x), offsets=offsets, axis=own.axis, starts=_frozen(begins[rows]))


def _parts_of_rows(x: Any, part: slice) -> Any:
    """`x[:, a:b]`: every row clipped, a view with gaps."""
    own = ragged_of(x)
    if part.step not in (None, 1):
        raise refuse("x[:, ::step]", "elements with gaps between them", "take every row by itself", own.shape)
    lengths = own.offsets.known("parts of rows").lengths
    start, stop = (0 if part.start is None else part.start), part.stop
    first = np.clip(np.where(start < 0, lengths + start, start), 0, lengths)
    last = lengths if stop is None else np.clip(np.where(stop < 0, lengths + stop, stop), first, lengths)
    # By lengths and not by bounds: x[:, 1:] and x[:, :-1] belong together.
    offsets = own.offsets.part(("lengths", (last - first).tobytes()), last - first)
    return ragged(memory(x), offsets=offsets, axis=own.axis, starts=_frozen(_begins(own) + first))


def _frozen(starts: Any) -> Any:
    starts = np.array(starts)
    starts.flags.writeable = False
    return starts


def _one_element(x: Any, position: int) -> Any:
    """`x[:, p]`: one element of every row, dense."""
    own = ragged_of(x)
    lengths = own.offsets.known("elements of rows").lengths
    short = np.flatnonzero((position >= lengths) | (position < -lengths))
    if len(short):
        row = short[0]
        raise IndexError(f"x[:, {position}]: row {row} has {lengths[row]} elements; take x[:, a:b], which clips")
    places = _begins(own) + (position if position >= 0 else lengths + position)
    return index_arrays(memory(x), places, template=(ARRAY,), distinct=True)


@index_arrays.ragged
def index_ragged(x, *arrays, template, distinct):
    own = ragged_of(x)
    owners = [ragged_of(array) for array in arrays]
    if own is None:  # a dense array at ragged positions
        like = next(each for each in owners if each is not None)
        if template[:1] == (ARRAY,) and len(arrays) == 1 and like is not None:
            out = index_arrays(x, packed(arrays[0]), template=template, distinct=distinct)
            return on_rows_of(out, like)
        raise refuse("x[index]", "one ragged index stands for the first axis", "index x.values()", like.shape)
    if len(arrays) == 1 and owners[0] is not None and owners[0].dtype == np.bool_:
        return chosen_elements(x, arrays[0])
    if any(each is not None for each in owners):
        raise refuse("x[index]", "positions in rows are given as (rows, positions)",
                     "use nested.take_along_row(x, index)", own.shape)  # fmt: skip
    parts = [part for part in template if part is not Ellipsis]
    plain = [np.asarray(getattr(array, "_data", array)) for array in arrays]
    rest = parts[len(arrays) :]
    if parts[: len(arrays)] != [ARRAY] * len(arrays) or any(part != _ALL for part in rest) or len(arrays) > 2:
        raise refuse("x[index]", "rows, or rows and positions, are indexed by arrays",
                     "index one after the other", own.shape)  # fmt: skip
    count = own.offsets.count
    rows = plain[0]
    if rows.size and (rows.min() < -count or rows.max() >= count):
        raise IndexError(f"row {rows.max() if rows.max() >= count else rows.min()} is out of bounds: there are {count}")
    rows = rows % max(count, 1)
    begins = _begins(own)
    if len(arrays) == 1:
        if rows.ndim != 1:
            raise refuse("x[rows]", "rows are chosen by a vector", "give a vector of row numbers", own.shape)
        offsets = own.offsets.part(("chosen", rows.tobytes()), own.offsets.lengths[rows])
        chosen = ragged(memory(x), offsets=offsets, axis=own.axis, starts=_frozen(begins[rows]))
        return on_rows_of(packed(chosen), ragged_of(chosen))
    if own.axis != 1:
        raise refuse("x[rows, positions]", "elements of rows are the second axis", "move it there", own.shape)
    rows, places = np.broadcast_arrays(rows, plain[1])
    return index_arrays(memory(x), _checked(own, rows, places), template=(ARRAY,), distinct=distinct)


def _checked(own: RaggedArray, rows: Any, places: Any) -> Any:
    """Where elements at positions in rows lie in memory; IndexError for one beyond its row."""
    lengths = own.offsets.lengths[rows]
    beyond = (places >= lengths) | (places < -lengths)
    if beyond.any():
        row = rows[beyond].flat[0]
        raise IndexError(
            f"position {places[beyond].flat[0]} lies beyond row {row}, which has {own.offsets.lengths[row]} elements"
        )
    return _begins(own)[rows] + np.where(places < 0, places + lengths, places)


@positions.ragged
def positions_ragged(x):
    raise refuse("nonzero", "the number of results depends on the values", "use x[mask] with a ragged mask",
                 ragged_of(x).shape)  # fmt: skip


def chosen_elements(x: Any, mask: Any) -> Any:
    """`x[mask]` for a ragged mask: the elements of every row where it is True, with lengths of their own."""
    own, chosen = ragged_of(x), ragged_of(mask)
    assert own is not None and chosen is not None
    if own.offsets is not chosen.offsets or chosen.ndim != 2 or own.axis != 1:
        raise refuse("x[mask]", "a ragged mask has the rows of x, and no further axes", "give a mask (B, j)",
                     own.shape, chosen.shape)  # fmt: skip
    truth = np.asarray(getattr(packed(mask), "_data", packed(mask)))
    counts = np.bincount(own.offsets.rows[truth], minlength=own.offsets.count)
    offsets = own.offsets.part(("lengths", counts.tobytes()), counts)
    return ragged(index_arrays(packed(x), np.flatnonzero(truth), template=(ARRAY,), distinct=True), offsets=offsets)


def _write_elements(write: Any, target: Any, others: Any, params: dict[str, Any]) -> None:
    """`x[rows, positions] = v`."""
    own = ragged_of(target)
    value, *arrays = others
    plain = [np.asarray(getattr(array, "_data", array)) for array in arrays]
    if len(arrays) != 2 or own.axis != 1 or ragged_of(value) is not None:
        raise refuse("x[index] = v", "rows and positions are indexed by arrays", "write row by row", own.shape)
    rows, places = np.broadcast_arrays(plain[0] % max(own.offsets.count, 1), plain[1])
    write(index_put_arrays, memory(target), (value, _checked(own, rows, places)), {**params, "template": (ARRAY,)})


index_put_arrays.ragged_write = _write_elements


@masked_fill.ragged
def masked_fill_ragged(x, mask, value):
    own, chosen = ragged_of(x), ragged_of(mask)
    if own is not None and chosen is not None and chosen.ndim < own.ndim:
        mask = mask[(..., *(None,) * (own.ndim - chosen.ndim))]
    return elementwise(masked_fill, (x, mask, value), {})


def row_of(x: Any, row: int) -> Any:
    """One row of a ragged tensor: a view."""
    return call(basic_view, (x,), {"index": (row, ...)})
