"""Axes of ragged arrays moved, added, dropped and split; arrays joined; copies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.declare.views import same
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.arrays.joining import cut, join, pile, unpile
from pullback.operators.arrays.movement import broadcast_to, expand_dims, moveaxis, permute_dims, squeeze
from pullback.operators.arrays.reshaping import reshape_view, reshape_without_copy
from pullback.operators.elementwise.casting import _assign as assign
from pullback.operators.elementwise.casting import copy
from pullback.operators.ragged.families import elementwise, first_ragged
from pullback.operators.ragged.parts import (
    check_same_rows,
    memory,
    mismatch,
    on_rows_of,
    packed,
    ragged,
    ragged_of,
    refuse,
    value_axis,
)
from pullback.payloads.ragged.array import RaggedArray
from pullback.payloads.ragged.offsets import Offsets, RaggedSize, ragged_place


def _seen(x: Any, own: RaggedArray, values: Any, axis: int) -> Any:
    """Rows as those of `x`, gaps included, in other memory or another view of it."""
    return ragged(values, offsets=own.offsets, axis=axis, starts=own.starts)


@permute_dims.ragged
def permute_ragged(x, *, axes):
    own = ragged_of(x)
    if axes[0] != 0:
        raise refuse("permute_dims", "rows come first: another axis in front of them would have no length of its own",
                     "move the other axes only, or pad with x.to_padded(0.0)", own.shape)  # fmt: skip
    place = axes.index(own.axis)
    order = (0, *[value_axis(axis, own) for axis in axes if axis not in (0, own.axis)])
    values = memory(x)
    return _seen(x, own, values if order == tuple(range(len(order))) else permute_dims(values, axes=order), place)


@expand_dims.ragged
def expand_dims_ragged(x, *, axis):
    own = ragged_of(x)
    ndim = own.ndim + len(axis)
    kept = [place for place in range(ndim) if place not in axis]
    if kept[0] != 0:
        raise refuse("expand_dims", "rows come first", "add axes behind the first", own.shape)
    place = kept[own.axis]
    inner = tuple([each if each < place else each - 1 for each in axis])
    return _seen(x, own, expand_dims(memory(x), axis=inner), place)


@squeeze.ragged
def squeeze_ragged(x, *, axis):
    own = ragged_of(x)
    if 0 in axis:
        raise refuse("squeeze", "the axis of rows stays", "take the only row: x[0]", own.shape)
    inner = tuple([value_axis(each, own) for each in axis])
    place = own.axis - sum(each < own.axis for each in axis)
    return _seen(x, own, squeeze(memory(x), axis=inner), place)


def _reshaped(reshape: Any, x: Any, shape: Any) -> Any:
    own = ragged_of(x)
    if own is None:
        raise refuse("reshape", "a dense array has no rows like these", "use nested.from_padded", x.shape, shape)
    place = ragged_place(shape)
    if place == 0 and not any(isinstance(length, RaggedSize) for length in shape[1:]) and own.axis == 1:
        rest = math.prod(shape[1:])  # (j, ...): all elements one below the other
        inner = math.prod(own.values.shape[1:])
        if rest and inner % rest == 0 and shape[0] == own.shape[1] * (own.offsets.count * (inner // rest)):
            return packed(x).reshape((own.offsets.total * (inner // rest), *shape[1:]))
    if (
        place is None or shape[0] != own.shape[0] or shape[place] != own.shape[own.axis]
        or math.prod(shape[1:place]) != math.prod(own.shape[1 : own.axis])
        or math.prod(shape[place + 1 :]) != math.prod(own.shape[own.axis + 1 :])
    ):  # fmt: skip
        raise refuse("reshape", "rows and their elements keep their places; other axes are split and merged on their "
                     "own side of the ragged axis", "give (B, j, ...) with x.shape[0] and the ragged length, or "
                     "flatten() for all elements", own.shape, shape)  # fmt: skip
    values = memory(x)
    return _seen(x, own, reshape(values, shape=(values.shape[0], *shape[1:place], *shape[place + 1 :])), place)


@reshape_view.ragged
def reshape_ragged(x, *, shape):
    return _reshaped(reshape_view, x, shape)


@reshape_without_copy.ragged
def reshape_without_copy_ragged(x, *, shape):
    return _reshaped(reshape_without_copy, x, shape)


@broadcast_to.ragged
def broadcast_ragged(x, *, shape):
    own = ragged_of(x)
    more = len(shape) - own.ndim
    if more or shape[0] != own.shape[0] or shape[own.axis] != own.shape[own.axis]:
        raise mismatch("broadcast_to", own.shape, shape, "rows and their elements are not repeated",
                       "give a shape with the same rows")  # fmt: skip
    values = packed(x)
    inner = (values.shape[0], *shape[1 : own.axis], *shape[own.axis + 1 :])
    return on_rows_of(broadcast_to(values, shape=inner), own)


@same.ragged
def same_ragged(x):
    own = ragged_of(x)
    return _seen(x, own, memory(x), own.axis)


@copy.ragged
def copy_ragged(x, *, order):
    own = ragged_of(x)
    return on_rows_of(copy(packed(x), order=order), own)


@assign.ragged
def assign_ragged(x, y):
    own = ragged_of(x)
    if own is None:
        raise refuse("copy_", "a dense tensor has no room for rows of different lengths", "write x.to_padded(0.0)",
                     first_ragged((x, y)).shape)  # fmt: skip
    return elementwise(assign, (x, y), {})


# Parts along an axis.


@cut.ragged
def cut_ragged(x, *, pieces, axis):
    own = ragged_of(x)
    if axis == own.axis:
        raise refuse("split", "rows have no common places to be cut at", "take x[:, a:b]", own.shape)
    if axis == 0:
        return tuple([x[begin:end] for begin, end in pieces])
    parts = cut(memory(x), pieces=pieces, axis=value_axis(axis, own))
    return tuple([_seen(x, own, part, own.axis) for part in parts])


@unpile.ragged
def unpile_ragged(x, *, axis):
    own = ragged_of(x)
    if axis == own.axis:
        raise refuse("unbind", "rows of different lengths have no common elements", "take rows: x.unbind()", own.shape)
    if axis:
        place = own.axis - (axis < own.axis)
        return tuple([_seen(x, own, part, place) for part in unpile(memory(x), axis=value_axis(axis, own))])
    begins = own.offsets.known("unbind").array[:-1] if own.starts is None else own.starts
    pieces = tuple(zip(begins.tolist(), (begins + own.offsets.lengths).tolist(), strict=True))
    rows = cut(memory(x), pieces=pieces, axis=0)
    return tuple([moveaxis(row, 0, own.axis - 1) for row in rows]) if own.axis > 1 else rows


# Joining.


@join.ragged
def join_ragged(*xs, axis):
    owners = [ragged_of(x) for x in xs]
    like = first_ragged(xs)
    if axis not in (0, like.axis):
        for x, own in zip(xs, owners, strict=True):
            if own is None:
                raise mismatch("concat", like.shape, x.shape, "a dense array has no rows of different lengths",
                               "make it ragged: nested.from_padded")  # fmt: skip
            check_same_rows("concat", like, own)
        return on_rows_of(join(*map(packed, xs), axis=value_axis(axis, like)), like)
    arrays: list[Any] = [own for own in owners if own is not None and own.axis == like.axis]
    if len(arrays) != len(xs):
        other = next(x.shape for x in xs if ragged_of(x) is None or ragged_of(x).axis != like.axis)
        raise mismatch("concat", like.shape, other, "all have rows of different lengths, in the same place",
                       "make it ragged: nested.from_padded")  # fmt: skip
    values = join(*map(packed, xs), axis=0)
    lengths = [own.offsets.known("concat").lengths for own in arrays]
    if axis == 0:
        return ragged(values, offsets=Offsets.from_lengths(np.concatenate(lengths)), axis=like.axis)
    if len({own.offsets.count for own in arrays}) > 1:
        raise mismatch("concat", like.shape, arrays[-1].shape, "there are not equally many rows", "concat along axis 0")
    offsets = Offsets.from_lengths(np.sum(lengths, axis=0))
    # All arrays one below the other; every row takes its parts from each.
    rows = np.concatenate([own.offsets.rows for own in arrays])
    order = np.argsort(rows, kind="stable")
    return ragged(index_arrays(values, order, template=(ARRAY,), distinct=True), offsets=offsets, axis=like.axis)


@pile.ragged
def pile_ragged(*xs, axis):
    like = first_ragged(xs)
    if axis == 0 or any(ragged_of(x) is None for x in xs):
        raise refuse("stack", "rows come first, and all have them", "stack behind the ragged axis, or concat along 0",
                     like.shape)  # fmt: skip
    for x in xs:
        own = ragged_of(x)
        check_same_rows("stack", like, own)
    place = like.axis + (axis <= like.axis)
    return on_rows_of(pile(*map(packed, xs), axis=axis if axis < place else axis - 1), like, place)
