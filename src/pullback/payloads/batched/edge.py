"""Into a level and out of it: an axis that everybody sees becomes a batch axis, and back. Views wherever possible."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.core.state import VmapLevel, current
from pullback.errors import InternalError
from pullback.payloads.batched.array import (
    Array,
    BatchedArray,
    Levels,
    as_payload,
    broadcast,
    in_own_memory,
    inserted_at,
    parts_of,
    union,
)
from pullback.payloads.wrappers import is_wrapper, rebuilt


def mapped_parts(payload: Any, axis: int, cross: Callable[[Any, int], Any], is_left: bool = False) -> Any:
    """A payload made of parts, of which those that have the mapped axis cross the edge: as its class says in
    `batched_parts`, or else those with as many axes as the payload."""
    rank = len(payload.shape)
    axis = normalize_axis_index(axis, rank + is_left)
    named = getattr(type(payload), "batched_parts", None)

    def part(path: tuple[str, ...], array: Any) -> Any:
        if path[0] in named if named is not None else array.ndim == rank:
            return cross(array, axis)
        return array

    return rebuilt(payload, part)


def enter(payload: Any, axis: int, level: VmapLevel) -> Any:
    """A view of `payload` in which `axis` has become the batch axis of `level`."""
    if hasattr(type(payload), "enter_level"):  # rows of different lengths, blocks
        return payload.enter_level(axis, level)
    if is_wrapper(payload):
        return mapped_parts(payload, axis, lambda part, at: enter(part, at, level))
    data, levels = parts_of(payload)
    if level in levels:
        raise InternalError(f"a payload enters {level} twice")
    axis = normalize_axis_index(axis, data.ndim - len(levels))
    place = inserted_at(levels, level)
    moved = _moved(data, len(levels) + axis, place)
    return _view(payload, moved, (*levels[:place], level, *levels[place:]), enter, axis, level)


def leave(payload: Any, axis: int, level: VmapLevel) -> Any:
    """A view of `payload` in which the batch axis of `level` has become `axis` of the result.

    What lacks the level is repeated along that axis, read-only and without memory for it. The result is a plain array
    if nothing can make it a batch: it has no other levels, and none is active.
    """
    if type(payload) is BatchedArray:
        if payload.picked is not None:
            payload.picked.check()
    elif hasattr(type(payload), "leave_level"):  # rows of different lengths
        return payload.leave_level(axis, level)
    elif is_wrapper(payload):
        return mapped_parts(payload, axis, lambda part, at: leave(part, at, level), is_left=True)
    data, levels = parts_of(payload)
    rest = tuple([other for other in levels if other is not level])
    axis = normalize_axis_index(axis, data.ndim - len(rest) + (len(rest) == len(levels)))
    if level in levels:
        moved = _moved(data, levels.index(level), len(rest) + axis)
    else:
        spread = np.expand_dims(data, len(rest) + axis)
        lengths = list(spread.shape)
        lengths[len(rest) + axis] = level.size
        moved = np.broadcast_to(spread, lengths)
    if not rest and (type(payload) is not BatchedArray or all(other is level for other in current().vmaps)):
        return moved
    return _view(payload, moved, rest, leave, axis, level)


def _moved(data: Array, source: int, target: int) -> Array:
    """A view of `data` with one axis in another place."""
    if source == target:
        return data[...]
    order = list(range(data.ndim))
    order.insert(target, order.pop(source))
    return data.transpose(order)


def _view(payload: Any, data: Any, levels: Levels, function: Any, axis: int, level: VmapLevel) -> BatchedArray:
    if type(payload) is not BatchedArray:
        return BatchedArray(data, levels)
    return BatchedArray(data, levels, parent=payload, replay=functools.partial(function, axis=axis, level=level))


def sum_level(payload: Any, level: VmapLevel) -> Any:
    """The sum over the examples of `level`; `level.size` times a payload that is the same for all of them."""
    if hasattr(type(payload), "sum_level"):
        return payload.sum_level(level)
    if is_wrapper(payload):
        return rebuilt(payload, lambda _, part: sum_level(part, level) if part.dtype.kind in "fc" else part)
    data, levels = parts_of(payload)
    if level not in levels:
        return payload * level.size
    total = as_payload(data.sum(axis=levels.index(level), dtype=data.dtype))
    rest = tuple([other for other in levels if other is not level])
    return BatchedArray(total, rest) if rest else total


def own_copies(array: Array, levels: Levels) -> Any:
    """An array in memory of its own for every example of `levels`, laid out like the array."""
    if not levels:
        return array
    return BatchedArray(in_own_memory(array, (), levels, lambda: array.strides), levels)


def roomy(payload: Any) -> Any:
    """A payload made of parts that was made inside of a vmap: its parts may be widened, should examples be written."""
    return rebuilt(payload, lambda _, part: BatchedArray(part, ()) if type(part) is np.ndarray else part)


def widened(payload: Any, levels: Levels) -> Any:
    """`payload` with these levels too: repeated without memory for it, which it gets when it is written to."""
    if is_wrapper(payload):
        return rebuilt(payload, lambda _, part: widened(part, levels))
    data, own = parts_of(payload)
    wider = union([own, levels])
    if wider == own:
        return payload
    out = BatchedArray(broadcast(data, own, wider), wider)
    out.is_spread = True
    return out
