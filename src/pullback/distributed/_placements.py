"""How a distributed array lies on a mesh: one placement for each axis of the mesh, and what moves it to others.

`Shard(dim)` is a block along a dim, as `numpy.array_split` cuts it; of several mesh axes that shard one dim the first
is the major one. `Replicate()` is all of it, `Partial()` a summand. Lengths are always those of the whole array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pullback.distributed._collectives import all_gather, all_reduce
from pullback.distributed._errors import PlacementError
from pullback.distributed._moves import offsets, split_sizes
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


def bounds(length: int, axes: list[int], mesh: Any) -> tuple[int, int]:
    """Where this rank's block along a dim of this length begins and ends, cut by these mesh axes in turn."""
    low, high = 0, length
    for axis in axes:
        group = mesh[mesh.axis_names[axis]]
        at = offsets(split_sizes(high - low, group.size))
        low, high = low + at[group.rank], low + at[group.rank + 1]
    return low, high


def local_index(lengths: Lengths, placements: Placements, mesh: Any) -> tuple[slice, ...]:
    """Where this rank's block lies in the whole array."""
    return tuple([slice(*bounds(n, shards(placements, dim), mesh)) for dim, n in enumerate(lengths)])


def local_lengths(lengths: Lengths, placements: Placements, mesh: Any) -> Lengths:
    """The shape of this rank's block."""
    return tuple([each.stop - each.start for each in local_index(lengths, placements, mesh)])


def has_empty_block(length: int, axes: list[int], mesh: Any) -> bool:
    """Has some rank nothing of a dim of this length? The answer is the same on all ranks."""
    for axis in axes:
        length //= mesh[mesh.axis_names[axis]].size
    return length == 0


def moved(local: Any, mesh: Any, lengths: Lengths, have: Placements, want: Placements) -> Any:
    """This rank's part of the same array, placed in another way."""
    if have == want:
        return local
    current = list(have)
    changed = [pair for pair in zip(have, want, strict=True) if pair[0] != pair[1]]
    disturbed = {each.dim for pair in changed for each in pair if isinstance(each, Shard)}
    with no_grad():
        for axis in reversed(range(len(have))):
            group, own = mesh[mesh.axis_names[axis]], current[axis]
            if isinstance(own, Partial) and own != want[axis]:
                local = all_reduce(wrap(local), comm=group)._data
                current[axis] = Replicate()
            elif isinstance(own, Shard) and (own != want[axis] or own.dim in disturbed):
                before = [k for k in shards(tuple(current), own.dim) if k < axis]
                low, high = bounds(lengths[own.dim], before, mesh)
                sizes = split_sizes(high - low, group.size)
                local = all_gather(wrap(local), own.dim, sizes=sizes, comm=group)._data
                current[axis] = Replicate()
    for axis, target in enumerate(want):
        if current[axis] == target:
            continue
        group = mesh[mesh.axis_names[axis]]
        if isinstance(target, Partial):
            local = local if group.rank == 0 else run("zeros_like", local)
        elif isinstance(target, Shard):
            before = shards(tuple(current), target.dim)
            low, high = bounds(lengths[target.dim], before, mesh)
            at = offsets(split_sizes(high - low, group.size))
            mine = slice(at[group.rank], at[group.rank + 1])
            local = local[(slice(None),) * target.dim + (mine,)]
        current[axis] = target
    return local
