"""How a distributed array lies on a mesh: one placement for each axis of the mesh, and what moves it to others.

`Shard(dim)` is a block along a dim, as `numpy.array_split` cuts it; of several mesh axes that shard one dim the first
is the major one. `Replicate()` is all of it, `Partial()` a summand. Lengths are always those of the whole array.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pullback.declare.op import registry
from pullback.distributed._collectives import all_gather, all_reduce, all_to_all, reduce_scatter
from pullback.distributed._errors import PlacementError
from pullback.distributed._moves import offsets, split_sizes
from pullback.payloads.evaluate import evaluate
from pullback.payloads.wrapped.rules import run
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import wrap

Lengths = tuple[int, ...]


@dataclass(frozen=True)
class Shard:
    """A block along one dim."""

    dim: int


@dataclass(frozen=True)
class Replicate:
    """All of it, on every rank."""


@dataclass(frozen=True)
class Partial:
    """A summand: the array is the sum over the ranks."""


@dataclass(frozen=True)
class Mapped:
    """Inside of a `vmap` over a sharded axis: every rank has examples of its own."""

    level: Any


Placements = tuple[Any, ...]


def normalized(placements: Any, mesh: Any, ndim: int) -> Placements:
    """One placement for each mesh axis, with dims counted from the front."""
    found = (placements,) if isinstance(placements, (Shard, Replicate, Partial)) else tuple(placements)
    if len(found) != len(mesh.axis_names) or not all(isinstance(each, (Shard, Replicate, Partial)) for each in found):
        raise PlacementError(
            f"placements {found} for a mesh with axes {mesh.axis_names}: give one Shard(dim), Replicate() or Partial() "
            "for each axis"
        )
    made = []
    for each in found:
        if isinstance(each, Shard):
            if not -ndim <= each.dim < ndim:
                raise PlacementError(f"{each} of an array with {ndim} axes")
            each = Shard(each.dim % ndim)
        made.append(each)
    return tuple(made)


def shards(placements: Placements, dim: int) -> list[int]:
    """The mesh axes that shard a dim, major first."""
    return [axis for axis, each in enumerate(placements) if each == Shard(dim)]


def spelled_out(index: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """A basic index with an entry for every axis, and `...` behind them."""
    taken = sum(entry is not None and entry is not Ellipsis for entry in index)
    entries: list[Any] = []
    for entry in index if Ellipsis in index else (*index, ...):
        entries += [slice(None)] * (ndim - taken) if entry is Ellipsis else [entry]
    return (*entries, ...)


def _places(mesh: Any, axes: list[int]) -> list[tuple[int, ...]]:
    """Where the ranks are that cut a dim by these mesh axes, in the order of their blocks."""
    return list(itertools.product(*[range(mesh.shape[axis]) for axis in axes]))


def _bounds_at(length: int, axes: list[int], mesh: Any, place: Sequence[int]) -> tuple[int, int]:
    low, high = 0, length
    for axis, at in zip(axes, place, strict=True):
        cuts = offsets(split_sizes(high - low, mesh.shape[axis]))
        low, high = low + cuts[at], low + cuts[at + 1]
    return low, high


def bounds(length: int, axes: list[int], mesh: Any) -> tuple[int, int]:
    """Where this rank's block along a dim of this length begins and ends, cut by these mesh axes in turn."""
    return _bounds_at(length, axes, mesh, [mesh.coords[axis] for axis in axes])


def local_index(lengths: Lengths, placements: Placements, mesh: Any, coords: Any = None) -> tuple[slice, ...]:
    """Where this rank's block lies in the whole array, or that of the rank at these places of the mesh."""
    coords = mesh.coords if coords is None else coords
    axes = [shards(placements, dim) for dim in range(len(lengths))]
    return tuple([
        slice(*_bounds_at(n, cut, mesh, [coords[axis] for axis in cut])) for n, cut in zip(lengths, axes, strict=True)
    ])  # fmt: skip


def local_lengths(lengths: Lengths, placements: Placements, mesh: Any) -> Lengths:
    """The shape of this rank's block."""
    return tuple([each.stop - each.start for each in local_index(lengths, placements, mesh)])


def moved(local: Any, mesh: Any, lengths: Lengths, have: Placements, want: Placements) -> Any:
    """This rank's part of the same array, placed in another way."""
    if have == want:
        return local
    current = list(have)
    with no_grad():
        for axis, target in enumerate(want):
            if isinstance(target, Shard) and _can_go_straight(current, want, axis):
                local = _straight(local, mesh, lengths, current, axis, target.dim)
                current[axis] = target
        disturbed = {
            each.dim for pair in zip(current, want, strict=True) if pair[0] != pair[1]
            for each in pair if isinstance(each, Shard)
        }  # fmt: skip
        for axis in reversed(range(len(have))):
            group, own = mesh[mesh.axis_names[axis]], current[axis]
            if isinstance(own, Partial) and own != want[axis]:
                local = all_reduce(wrap(local), comm=group)._data
                current[axis] = Replicate()
            elif isinstance(own, Shard) and (own != want[axis] or own.dim in disturbed):
                sizes = split_sizes(_length_before(lengths, current, own.dim, mesh, axis), group.size)
                local = all_gather(wrap(local), own.dim, sizes=sizes, comm=group)._data
                current[axis] = Replicate()
    for axis, target in enumerate(want):
        if current[axis] == target:
            continue
        group = mesh[mesh.axis_names[axis]]
        if isinstance(target, Partial):
            local = local if group.rank == 0 else run("zeros_like", local)
        elif isinstance(target, Shard):
            at = offsets(split_sizes(_length_before(lengths, current, target.dim, mesh, axis), group.size))
            mine = slice(at[group.rank], at[group.rank + 1])
            local = local[(slice(None),) * target.dim + (mine,)]
        current[axis] = target
    return local


def _length_before(lengths: Lengths, current: Sequence[Any], dim: int, mesh: Any, axis: int) -> int:
    """How long a dim is here, cut by the mesh axes before this one."""
    low, high = bounds(lengths[dim], [k for k in shards(tuple(current), dim) if k < axis], mesh)
    return high - low


def _can_go_straight(current: Sequence[Any], want: Placements, axis: int) -> bool:
    """Can a summand or a block become the block that is wanted in one message, without the whole on any rank?"""
    own, dim = current[axis], want[axis].dim
    if own == want[axis] or isinstance(own, Replicate):
        return False
    if isinstance(own, Shard) and max(shards(tuple(current), own.dim)) > axis:
        return False
    return shards(tuple(current), dim) == [k for k in shards(want, dim) if k < axis]


def _straight(local: Any, mesh: Any, lengths: Lengths, current: Sequence[Any], axis: int, dim: int) -> Any:
    own, group = current[axis], mesh[mesh.axis_names[axis]]
    sizes = split_sizes(_length_before(lengths, current, dim, mesh, axis), group.size)
    if isinstance(own, Partial):
        return reduce_scatter(wrap(local), axis=dim, sizes=sizes, comm=group)._data
    joined = split_sizes(_length_before(lengths, current, own.dim, mesh, axis), group.size)
    return all_to_all(wrap(local), dim, own.dim, sizes=sizes, joined=joined, comm=group)._data


class Rows:
    """Which rows along a dim every rank has of an array, and which it needs of it for another: who sends what.

    `positions` are those of the rows that are wanted, -1 for a row that there is not. They are cut as the array is, by
    `axes` of the mesh. All ranks find the same, so nothing has to be asked.
    """

    def __init__(self, length: int, positions: Any, axes: list[int], mesh: Any) -> None:
        places = _places(mesh, axes)
        me = places.index(tuple(mesh.coords[axis] for axis in axes))
        have = [_bounds_at(length, axes, mesh, place) for place in places]
        want = [positions[slice(*_bounds_at(len(positions), axes, mesh, place))] for place in places]
        needed = [[np.flatnonzero((rows >= low) & (rows < high)) for low, high in have] for rows in want]
        self.group = mesh.group([mesh.axis_names[axis] for axis in axes])
        self.sizes = tuple(tuple(len(needed[r][q]) for r in range(len(places))) for q in range(len(places)))
        self.sent = np.concatenate([want[r][needed[r][me]] for r in range(len(places))]) - have[me][0]
        came = np.concatenate(needed[me])
        self.order = np.full(len(want[me]), len(came))
        self.order[came] = np.arange(len(came))
        self.has_zeros = bool((want[me] < 0).any())
        self.is_local = all(not n for q, row in enumerate(self.sizes) for r, n in enumerate(row) if q != r)

    def moved(self, local: Any, dim: int, fill: Any = 0) -> Any:
        """This rank's rows of those that are wanted, `fill` where there is none."""
        lead = (slice(None),) * dim
        local = local[(*lead, self.sent)]
        if not self.is_local:
            with no_grad():
                local = all_to_all(wrap(local), dim, dim, sizes=self.sizes, comm=self.group)._data
        if self.has_zeros:
            shape = (*local.shape[:dim], 1, *local.shape[dim + 1 :])
            local = evaluate(registry["_concat"], (local, np.full(shape, fill, local.dtype)), {"axis": dim})
        return local[(*lead, self.order)]


def moves_between(length: int, cut: int, wanted: int, axes: list[int], mesh: Any) -> list[list[int]]:
    """How many rows every rank sends to every other, if `wanted` of the rows remain, those behind the first `cut`, and
    are cut into balanced blocks again."""
    places = _places(mesh, axes)
    have = [_bounds_at(length, axes, mesh, place) for place in places]
    kept = [(min(max(low - cut, 0), wanted), min(max(high - cut, 0), wanted)) for low, high in have]
    return overlaps(kept, [_bounds_at(wanted, axes, mesh, place) for place in places])


def overlaps(have: Sequence[tuple[int, int]], want: Sequence[tuple[int, int]]) -> list[list[int]]:
    """How much of each range lies in each of the others."""
    return [[max(0, min(b, d) - max(a, c)) for c, d in want] for a, b in have]


def cut_anew(local: Any, mesh: Any, axes: list[int], length: int, inner: int, wanted: int) -> Any:
    """The elements along axis 1, of which ranks have rows of `inner` elements, cut into so many rows instead."""
    places = _places(mesh, axes)
    width = length * inner // wanted
    have, want = ([_bounds_at(n, axes, mesh, place) for place in places] for n in (length, wanted))
    sizes = overlaps([(a * inner, b * inner) for a, b in have], [(a * width, b * width) for a, b in want])
    if all(not n for q, row in enumerate(sizes) for r, n in enumerate(row) if q != r):
        return local
    with no_grad():
        group = mesh.group([mesh.axis_names[axis] for axis in axes])
        return all_to_all(wrap(local), 1, 1, sizes=sizes, comm=group)._data
