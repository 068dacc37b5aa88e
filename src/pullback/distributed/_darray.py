"""`DArray`: the payload of a distributed tensor. It stands for the whole array, so that the derivative rules of
operators are right as they are. What operators do to placements is in `_block_rules.py` and `_row_rules.py`.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from pullback.core.blocks import Block
from pullback.distributed._errors import PlacementError
from pullback.distributed._placements import (
    Lengths,
    Mapped,
    Partial,
    Placements,
    Replicate,
    Shard,
    bounds,
    local_index,
    local_lengths,
    moved,
    shards,
    spelled_out,
)
from pullback.payloads.batched import edge
from pullback.payloads.wrapped import Payload


class Examples:
    """The examples of a vmap over an axis that is sharded: every rank maps its own."""

    def __init__(self, mesh: Any, axes: tuple[int, ...], length: int) -> None:
        self.mesh, self.axes, self.length = mesh, axes, length
        low, high = bounds(length, list(axes), mesh)
        self.here = high - low

    def refuse_plain(self, payload: Any) -> NoReturn:
        """Raise, since a plain array does not say which of it belongs to the examples of this rank."""
        raise PlacementError(
            f"vmap over a sharded axis, and an array of shape {list(payload.shape)} that is not distributed\n"
            "  fix  pb.distributed.distribute(x, mesh, placements), or from_local, says how it is placed"
        )


class DArray(Payload, parts=("local",), meta=("mesh", "placements", "lengths")):
    """This rank's part of an array on a mesh."""

    default = "refuse"
    tensor_members: ClassVar[dict[str, Any]] = {}  # of tensors on such payloads; `_tensors.py` has them

    local: Any
    mesh: Any
    placements: Placements
    lengths: Lengths

    @property
    def shape(self) -> Lengths:
        """The shape of the whole array."""
        return self.lengths

    @staticmethod
    def dual_meta(value: Any, root: Any) -> Any:
        """The gradient of a sum is the same for every summand."""
        return value._replace(placements=dual(value.placements))

    @staticmethod
    def check_gradient(value: Any, gradient: Any, root: Any) -> Any:
        """A gradient is placed as its value; that of a sum is on every rank."""
        if gradient.mesh != value.mesh:
            raise PlacementError(f"a gradient on {gradient.mesh} for a value on {value.mesh}")
        return gradient.to(dual(value.placements))

    @staticmethod
    def from_plain(array: Any, meta: Any) -> Any:
        """An array that all ranks have."""
        whole = DArray(array, meta.mesh, (Replicate(),) * len(meta.placements), tuple(array.shape))
        return whole.to(meta.placements)

    def _filled(self, number: int, shape: Lengths, dtype: Any) -> Any:
        placements = self.placements if shape == self.lengths else (Replicate(),) * len(self.placements)
        local = local_lengths(shape, placements, self.mesh)
        if number and Partial() in placements:
            raise PlacementError("ones that are spread as summands")
        return DArray(np.full(local, number, dtype), self.mesh, placements, shape)

    def constant(self, array: Any) -> Any:
        """An array that all ranks have, on all of them."""
        return DArray(array, self.mesh, (Replicate(),) * len(self.placements), tuple(array.shape))

    def of_array(self, array: Any) -> Any:
        """An array that all ranks have, with new axes in front."""
        extra = array.ndim - len(self.lengths)
        placements = tuple([Shard(p.dim + extra) if isinstance(p, Shard) else p for p in self.placements])
        return self.from_plain(array, self.meta._replace(placements=placements, lengths=tuple(array.shape)))

    def to(self, placements: Placements) -> Any:
        """The same array, placed in another way."""
        if self.placements == placements:
            return self
        if any(isinstance(own, Mapped) and own != want for own, want in zip(self.placements, placements, strict=True)):
            raise PlacementError(f"examples of a vmap that ranks have of their own, {self.placements}, as {placements}")
        local = moved(self.local, self.mesh, self.lengths, self.placements, placements)
        return DArray(local, self.mesh, placements, self.lengths)

    # One example of a vmap at a time.

    def spread_over(self, axis: int) -> Examples | None:
        """Who has which examples of a vmap over this axis; None if every rank has all of them."""
        axes = shards(self.placements, axis)
        return Examples(self.mesh, tuple(axes), self.lengths[axis]) if axes else None

    def enter_level(self, axis: int, level: Any) -> Any:
        """Without this axis, which becomes the batch axis of the parts."""
        own, placements = self, list(self.placements)
        if level.over is not None:
            if level.over.mesh != self.mesh:
                raise PlacementError(f"vmap over arrays on different meshes, {self.mesh} and {level.over.mesh}")
            for k, each in enumerate(placements):
                if (k in level.over.axes) != (each == Shard(axis)):
                    placements[k] = Shard(axis) if k in level.over.axes else Replicate()
            own = self.to(tuple(placements))
            placements = [Mapped(level) if k in level.over.axes else each for k, each in enumerate(own.placements)]
        placements = [Shard(p.dim - (axis < p.dim)) if isinstance(p, Shard) else p for p in placements]
        lengths = (*self.lengths[:axis], *self.lengths[axis + 1 :])
        return DArray(edge.enter(own.local, axis, level), self.mesh, tuple(placements), lengths)

    def leave_level(self, axis: int, level: Any) -> Any:
        """With the examples of a vmap as an axis, which is sharded if they are."""
        axes = () if level.over is None else level.over.axes
        if any(isinstance(self.placements[k], Shard) for k in axes):
            raise PlacementError(f"a result of a vmap over blocks is placed as {self.placements}: {_FIX}")
        whole = [Replicate() if k in axes and p == Partial() else p for k, p in enumerate(self.placements)]
        own = self.to(tuple(whole))
        placements = [Shard(p.dim + (axis <= p.dim)) if isinstance(p, Shard) else p for p in own.placements]
        placements = [Shard(axis) if k in axes else p for k, p in enumerate(placements)]
        lengths = (*self.lengths[:axis], level.length, *self.lengths[axis:])
        return DArray(edge.leave(own.local, axis, level), self.mesh, tuple(placements), lengths)

    def sum_level(self, level: Any) -> Any:
        """The sum over the examples of a vmap, of which every rank may have some."""
        axes = () if level.over is None else level.over.axes
        placements = [Partial() if k in axes else each for k, each in enumerate(self.placements)]
        return DArray(edge.sum_level(self.local, level), self.mesh, tuple(placements), self.lengths)

    def to_numpy(self) -> Any:
        """The array, if every rank has it; a number is brought to every rank."""
        if not self.lengths:
            return self.to((Replicate(),) * len(self.placements)).local
        if any(each != Replicate() for each in self.placements):
            raise PlacementError(f"an array placed as {self.placements} is on several ranks; full_tensor(x) gathers it")
        return self.local

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise PlacementError("a distributed tensor cannot be pickled: it belongs to its ranks; pb.save(..., comm=) can")

    def __block__(self) -> Block:
        """This rank's part, for whoever saves it."""
        if Partial() in self.placements:
            raise PlacementError(f"an array placed as {self.placements} is saved: {_FIX}")
        part = local_index(self.lengths, self.placements, self.mesh)
        return Block(self.local, [each.start for each in part], self.lengths)

    def __with_block__(self, array: Any) -> Any:
        return DArray(array, self.mesh, self.placements, self.lengths)

    def rows_to_write(self, index: Any) -> tuple[Any, int, Any, bool] | None:
        """If a basic index takes a part of one sharded axis: the rest of it, where the axis is behind that, which rows
        of it they are, and whether a single one is meant. A part of it is no view, since rows have moved."""
        *spelled, _ = spelled_out(index, len(self.lengths))
        places = [k for k, entry in enumerate(spelled) if entry is not None]
        cut = {p.dim for p in self.placements if isinstance(p, Shard)}
        found = [(dim, places[dim]) for dim in sorted(cut) if spelled[places[dim]] != slice(None)]
        if len(found) != 1:
            return None
        ((dim, place),) = found
        entry, length = spelled[place], self.lengths[dim]
        is_one = not isinstance(entry, slice)
        if is_one and not -length <= entry < length:
            return None
        rows = np.arange(length)[slice(entry % length, entry % length + 1) if is_one else entry]
        axis = sum(isinstance(each, slice) or each is None for each in spelled[:place])
        return (*spelled[:place], slice(None), *spelled[place + 1 :], ...), axis, rows, is_one

    is_copied_part: bool = False  # where plain arrays would have a view

    def assign_payload(self, value: Any) -> None:
        """Write a value, which is moved to where this array lies."""
        if self.is_copied_part:
            raise PlacementError(
                "a part of a sharded axis is written in place: it was moved between ranks, and is a copy\n"
                "  fix  x[2:5] = x[2:5] + 1 writes to x; to change the copy alone, clone it first"
            )
        if isinstance(value, DArray):
            if value.placements != self.placements and Partial() in self.placements:
                raise PlacementError(f"an array placed as {self.placements} is written, which only sums can be; {_FIX}")
            value = value.to(self.placements) if value.mesh == self.mesh else value
        super().assign_payload(value)

    assign_whole = assign_payload

    def __format_parts__(self) -> str:
        return f"DArray({list(self.lengths)}, {self.placements}, local={self.local!r})"


_FIX = "redistribute it first"


def dual(placements: Placements) -> Placements:
    """How gradients of a value with these placements are placed."""
    return tuple([Replicate() if isinstance(each, Partial) else each for each in placements])


def refused(call: Any, arrays: list[Any], what: str) -> PlacementError:
    """The error for an operator that cannot run on blocks."""
    placed = ", ".join(str(x.placements) for x in arrays)
    return PlacementError(
        f"{call.name} of arrays placed as {placed}: {what}\n"
        f"  fix  pb.distributed.redistribute(x, [Replicate()] * {len(arrays[0].placements)}) gathers it on all ranks"
    )
