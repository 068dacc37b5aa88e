"""Levels and the axes that belong to them: pure functions on arrays with one leading axis per level, oldest first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.core.state import VmapLevel, current

Array = np.ndarray[Any, Any]
Levels = tuple[VmapLevel, ...]


def union(several: Iterable[Levels]) -> Levels:
    """All these levels, each once, oldest first."""
    found: Levels = ()
    for levels in several:
        if not levels or levels == found:
            continue
        if not found:
            found = levels
        else:
            found = tuple(sorted({*found, *levels}, key=_stamp))
    return found


def _stamp(level: VmapLevel) -> int:
    return level.stamp


def sizes(levels: Levels) -> tuple[int, ...]:
    """The lengths of the levels' axes."""
    return tuple([level.size for level in levels])


def aligned(data: Array, own: Levels, levels: Levels, rank: int) -> Array:
    """`data` with an axis for every one of `levels`, of length 1 where it lacks the level, and `rank` axes behind them.

    A view in every case: only axes of length 1 are inserted.
    """
    missing = rank - (data.ndim - len(own))
    if own == levels and not missing:
        return data
    lead: list[int] = []
    position = 0
    for level in levels:
        if position < len(own) and own[position] is level:
            lead.append(data.shape[position])
            position += 1
        else:
            lead.append(1)
    return data.reshape((*lead, *(1,) * missing, *data.shape[len(own) :]))


def broadcast(data: Array, own: Levels, levels: Levels) -> Array:
    """`data` with an axis of full length for every one of `levels`: a read-only view where it lacks one."""
    if own == levels:
        return data
    rank = data.ndim - len(own)
    spread = aligned(data, own, levels, rank)
    return np.broadcast_to(spread, (*sizes(levels), *spread.shape[len(levels) :]))


def is_repeated(x: Any) -> bool:
    """Is the first axis one element, repeated without memory for it? Batching rules use it only once then."""
    return x.shape[0] > 1 and x.strides[0] == 0


def inserted_at(levels: Levels, level: VmapLevel) -> int:
    """The place of a level's axis among those of `levels`."""
    position = 0
    while position < len(levels) and levels[position].stamp < level.stamp:
        position += 1
    return position


def like_in_memory(shape: tuple[int, ...], strides: tuple[int, ...], lead: tuple[int, ...], dtype: Any) -> Array:
    """A new array of shape `lead + shape` whose last axes lie in memory in the order that `strides` says."""
    order = sorted(range(len(shape)), key=lambda axis: (-abs(strides[axis]), axis))
    out = np.empty((*lead, *(shape[axis] for axis in order)), dtype)
    back = [0] * len(shape)
    for place, axis in enumerate(order):
        back[axis] = place
    trace = current().trace
    if trace is not None:
        out = trace.home(out)
    return out.transpose((*range(len(lead)), *(len(lead) + place for place in back)))
