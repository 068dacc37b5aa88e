"""The linear collectives as data: what each does to the blocks of the ranks, its shape rule, and its transpose.

A `Move` says everything about a collective but the block itself. `run` computes this rank's part of the result by one
round over a wire (`_wires.py`), `shape` says what it looks like, `transposed` is the move of gradients, and `agreed`
what ranks must have in common. `lead` axes in front belong to a `vmap`: axes of the program count from behind them.
"""

from __future__ import annotations

import functools
import itertools
import zlib
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from pullback.core.records import Record, field, replace

Shape = tuple[int, ...]
Sizes = tuple[int, ...]
Array = np.ndarray[Any, Any]


def split_sizes(length: int, parts: int) -> Sizes:
    """The lengths of the blocks that `numpy.array_split` makes: the first `length % parts` are one longer."""
    short, longer = divmod(length, parts)
    return (short + 1,) * longer + (short,) * (parts - longer)


def offsets(sizes: Sequence[int]) -> list[int]:
    """Where each block begins, and where the last one ends."""
    found = [0]
    for size in sizes:
        found.append(found[-1] + size)
    return found


def blocks_along(x: Array, sizes: Sequence[int], axis: int) -> list[Array]:
    """The blocks of an array, as views."""
    at = offsets(sizes)
    lead = (slice(None),) * axis
    return [x[(*lead, slice(low, high))] for low, high in itertools.pairwise(at)]


def replaced(shape: Shape, axis: int, length: int) -> Shape:
    """The shape with another length along one axis."""
    return (*shape[:axis], length, *shape[axis + 1 :])


class Move(Record, frozen=True):
    """A linear map of the blocks of all ranks."""

    comm: Any
    lead: int = 0  # axes in front that a vmap has added
    way: str = ""  # how this was derived: "b" is a transpose, "t" a tangent, and so on inwards
    records: bool = False
    label: str = ""  # what the user called, if that is something else
    site: str = field(default_factory=str, compare=False)  # the user's line

    name: ClassVar[str] = ""
    is_local: ClassVar[bool] = False

    def shape(self, shape: Shape) -> Shape:
        """The shape of the result on this rank."""
        return shape

    def run(self, wire: Any, x: Array) -> Array:
        """This rank's part of the result, in new memory."""
        raise NotImplementedError  # abstract

    def can_begin(self, shape: Shape) -> bool:
        """Can it be started, while other ranks make it in one piece? Its messages are the same in both ways."""
        return False

    def begun(self, x: Array, text: str) -> Any:
        """The collective, started: it has `test` and `wait`."""
        raise NotImplementedError  # abstract: only of those that can begin

    def transposed(self, shape: Shape) -> Move:
        """The transpose, for an operand of this shape."""
        raise NotImplementedError  # abstract

    def route(self, x: Array) -> tuple[int, int, int]:
        """Whom this rank sends to, whom it receives from, and how many elements it sends; -1 if that is no matter."""
        return (-1, -1, -1)

    def refusal(self, shape: Shape) -> str | None:
        """Why this rank's block cannot take part, which all ranks are told."""
        return None

    def agreed(self, shape: Shape) -> str:
        """What must be equal on all ranks, of an operand of this shape."""
        return _dims(shape)

    def details(self) -> str:
        """The parameters that must be equal, in words."""
        return ""

    def tangent(self) -> Move:
        """The same move of tangents."""
        return replace(self, way="t" + self.way, records=False)

    def batched(self) -> Move:
        """The move with one more axis in front."""
        return replace(self, lead=self.lead + 1)

    def _turned(self, kind: type[Move], **fields: Any) -> Move:
        return kind(self.comm, lead=self.lead, way="b" + self.way, label=self.label, site=self.site, **fields)

    def __hash__(self) -> int:
        found = self.__dict__.get("_hash")
        if found is None:
            found = super().__hash__()
            object.__setattr__(self, "_hash", found)
        return found

    def describe(self, shape: Shape, dtype: Any) -> str:
        """The call, as error messages and records show it: the part that ranks compare."""
        texts = self.__dict__.get("_texts")
        if texts is None:
            texts = {}
            object.__setattr__(self, "_texts", texts)
        found: str | None = texts.get((shape, dtype))
        if found is None:
            found = texts[shape, dtype] = _described(self, shape, dtype)
        return found


def _described(move: Move, shape: Shape, dtype: Any) -> str:
    details = move.details()
    words = [(move.label or move.name) + (f"({details})" if details else ""), f"{dtype}{move.agreed(shape)}"]
    if move.lead:
        words.append("mapped over " + " and ".join(map(str, shape[: move.lead])))
    if move.way:
        words.append(", ".join({"b": "backward", "t": "tangent"}[letter] for letter in move.way))
    return ", ".join([" ".join(words), *(["recorded"] if move.records and not move.way else [])])


@functools.lru_cache(4096)
def signature(text: str) -> np.uint64:
    """The number that ranks compare. It is never 0, which stands for a call that was refused."""
    data = text.encode()
    return np.uint64((zlib.crc32(data) << 32 | zlib.adler32(data)) or 1)


def _dims(shape: Sequence[Any]) -> str:
    return f"[{', '.join(map(str, shape))}]"


# Reductions.


class AllReduce(Move, frozen=True):
    """The sum on every rank. With `replicated` it counts as one value that all hold, and gradients are copied."""

    op: Any = "sum"
    replicated: bool = False
    ordered: bool = False

    name: ClassVar[str] = "all_reduce"

    def details(self) -> str:
        """The operation."""
        words = [self.op if isinstance(self.op, str) else "an operation of MPI"]
        words += ["replicated"] if self.replicated else []
        words += ["ordered"] if self.ordered else []
        return ", ".join(words)

    def run(self, wire: Any, x: Array) -> Array:
        """The sum of all blocks."""
        result: Array = wire.all_reduce(x, self.op, self.ordered)
        return result

    def transposed(self, shape: Shape) -> Move:
        """The same sum of gradients; a copy if the result counts once."""
        if self.replicated:
            return self._turned(Vary)
        return self._turned(AllReduce, ordered=self.ordered)


class Vary(Move, frozen=True):
    """A value that counts once, as each rank uses it: the transpose of a replicated sum."""

    name: ClassVar[str] = "vary"
    is_local: ClassVar[bool] = True

    def run(self, wire: Any, x: Array) -> Array:
        """A copy."""
        return np.array(x, order="C")

    def transposed(self, shape: Shape) -> Move:
        """The sum of what the ranks send back, which counts once again."""
        return self._turned(AllReduce, replicated=True)


class Reduce(Move, frozen=True):
    """The sum on the root, and zeros elsewhere."""

    root: int = 0

    name: ClassVar[str] = "reduce"

    def details(self) -> str:
        """The root."""
        return f"root {self.root}"

    def run(self, wire: Any, x: Array) -> Array:
        """The sum, or zeros."""
        found = wire.reduce(x, self.root)
        return np.zeros_like(x, order="C") if found is None else found

    def transposed(self, shape: Shape) -> Move:
        """The gradient of the root, on all ranks."""
        return self._turned(Broadcast, root=self.root)


class Broadcast(Move, frozen=True):
    """The block of the root on every rank."""

    root: int = 0

    name: ClassVar[str] = "broadcast"

    def details(self) -> str:
        """The root."""
        return f"root {self.root}"

    def run(self, wire: Any, x: Array) -> Array:
        """The block of the root."""
        result: Array = wire.broadcast(x, self.root)
        return result

    def transposed(self, shape: Shape) -> Move:
        """The sum at the root; what others gave was only a description, with gradient zero."""
        return self._turned(Reduce, root=self.root)


# Blocks along an axis.


class AllGather(Move, frozen=True):
    """The blocks of all ranks one behind the other, or stacked. Without `sizes` they are equally long."""

    axis: int = 0
    stack: bool = False
    sizes: Sizes | None = None
    replicated: bool = False

    name: ClassVar[str] = "all_gather"

    def details(self) -> str:
        """Axis, and whether blocks are stacked."""
        return f"{'stack, ' if self.stack else ''}axis {self.axis}" + (f", sizes {self.sizes}" if self.sizes else "")

    def agreed(self, shape: Shape) -> str:
        """Everything, or all but the length along the axis if sizes are known."""
        return _dims(shape if self.sizes is None else replaced(shape, self.lead + self.axis, "*"))  # type: ignore[arg-type]

    def _lengths(self, shape: Shape) -> Sizes:
        return self.sizes or (shape[self.lead + self.axis],) * self.comm.size

    def shape(self, shape: Shape) -> Shape:
        """With all blocks along the axis."""
        at = self.lead + self.axis
        if self.stack:
            return (*shape[:at], self.comm.size, *shape[at:])
        return replaced(shape, at, sum(self._lengths(shape)))

    def run(self, wire: Any, x: Array) -> Array:
        """All blocks."""
        at = self.lead + self.axis
        if self.stack:
            return np.stack(wire.all_gather(x, [x.shape] * self.comm.size), at)
        shapes = [replaced(x.shape, at, length) for length in self._lengths(x.shape)]
        return np.concatenate(wire.all_gather(x, shapes), at)

    def transposed(self, shape: Shape) -> Move:
        """Every rank gets the sum of what was sent to its block; its own part of it if the result counts once."""
        sizes = (1,) * self.comm.size if self.stack else self._lengths(shape)
        kind = OwnBlock if self.replicated else ReduceScatter
        return self._turned(kind, axis=self.axis, stack=self.stack, sizes=sizes)


class ReduceScatter(Move, frozen=True):
    """This rank's block of the sum. With `stack` the axis is one of blocks, and is gone afterwards."""

    axis: int = 0
    sizes: Sizes = ()
    stack: bool = False

    name: ClassVar[str] = "reduce_scatter"

    def details(self) -> str:
        """Axis and lengths of blocks."""
        return f"axis {self.axis}, sizes {self.sizes}"

    def shape(self, shape: Shape) -> Shape:
        """With one block along the axis."""
        at = self.lead + self.axis
        if self.stack:
            return (*shape[:at], *shape[at + 1 :])
        return replaced(shape, at, self.sizes[self.comm.rank])

    def run(self, wire: Any, x: Array) -> Array:
        """The sum of the blocks with this rank's number, in the order of ranks."""
        at = self.lead + self.axis
        blocks = blocks_along(x, self.sizes, at)
        mine = blocks[self.comm.rank].shape
        total = ordered_sum(wire.all_to_all(blocks, [mine] * self.comm.size))
        return total.reshape((*mine[:at], *mine[at + 1 :])) if self.stack else total

    def transposed(self, shape: Shape) -> Move:
        """All blocks of the gradient on every rank."""
        sizes = None if self.stack else self.sizes
        return self._turned(AllGather, axis=self.axis, sizes=sizes, stack=self.stack)


class OwnBlock(Move, frozen=True):
    """This rank's block of a value that counts once: the transpose of a gather that is replicated."""

    axis: int = 0
    sizes: Sizes = ()
    stack: bool = False

    name: ClassVar[str] = "own_block"
    is_local: ClassVar[bool] = True

    def shape(self, shape: Shape) -> Shape:
        """With one block along the axis."""
        at = self.lead + self.axis
        if self.stack:
            return (*shape[:at], *shape[at + 1 :])
        return replaced(shape, at, self.sizes[self.comm.rank])

    def run(self, wire: Any, x: Array) -> Array:
        """A copy of the block."""
        at = self.lead + self.axis
        block = blocks_along(x, self.sizes, at)[self.comm.rank]
        return np.array(block.squeeze(at) if self.stack else block, order="C")

    def transposed(self, shape: Shape) -> Move:
        """The blocks together, which count once again."""
        sizes = None if self.stack else self.sizes
        return self._turned(AllGather, axis=self.axis, sizes=sizes, stack=self.stack, replicated=True)


class Gather(Move, frozen=True):
    """The blocks of all ranks on the root; elsewhere nothing, along that axis."""

    root: int = 0
    axis: int = 0
    sizes: Sizes | None = None

    name: ClassVar[str] = "gather"

    def details(self) -> str:
        """Root, axis and lengths."""
        return f"root {self.root}, axis {self.axis}" + (f", sizes {self.sizes}" if self.sizes else "")

    def agreed(self, shape: Shape) -> str:
        """Everything, or all but the length along the axis if sizes are known."""
        return _dims(shape if self.sizes is None else replaced(shape, self.lead + self.axis, "*"))  # type: ignore[arg-type]

    def _lengths(self, shape: Shape) -> Sizes:
        return self.sizes or (shape[self.lead + self.axis],) * self.comm.size

    def shape(self, shape: Shape) -> Shape:
        """With all blocks, or none."""
        length = sum(self._lengths(shape)) if self.comm.rank == self.root else 0
        return replaced(shape, self.lead + self.axis, length)

    def run(self, wire: Any, x: Array) -> Array:
        """All blocks, or none."""
        at = self.lead + self.axis
        shapes = [replaced(x.shape, at, length) for length in self._lengths(x.shape)]
        found = wire.gather(x, self.root, shapes)
        return np.empty(self.shape(x.shape), x.dtype) if found is None else np.concatenate(found, at)

    def transposed(self, shape: Shape) -> Move:
        """Every rank gets the gradient of its block."""
        return self._turned(Scatter, root=self.root, axis=self.axis, sizes=self._lengths(shape))


class Scatter(Move, frozen=True):
    """This rank's block of what the root has. What others give is not read."""

    root: int = 0
    axis: int = 0
    sizes: Sizes = ()

    name: ClassVar[str] = "scatter"

    def details(self) -> str:
        """Root, axis and lengths."""
        return f"root {self.root}, axis {self.axis}, sizes {self.sizes}"

    def agreed(self, shape: Shape) -> str:
        """The shape of the whole."""
        return _dims(replaced(shape, self.lead + self.axis, sum(self.sizes)))

    def shape(self, shape: Shape) -> Shape:
        """With one block along the axis."""
        return replaced(shape, self.lead + self.axis, self.sizes[self.comm.rank])

    def run(self, wire: Any, x: Array) -> Array:
        """The block of the root with this rank's number."""
        at = self.lead + self.axis
        blocks = blocks_along(x, self.sizes, at) if self.comm.rank == self.root else None
        result: Array = wire.scatter(blocks, self.root, self.shape(x.shape), x.dtype)
        return result

    def transposed(self, shape: Shape) -> Move:
        """All blocks at the root, nothing elsewhere; zeros fill up what was only a description."""
        return self._turned(Gather, root=self.root, axis=self.axis, sizes=self.sizes)


class AllToAll(Move, frozen=True):
    """Block r of every rank's array on rank r, one behind the other.

    `split[r][q]` is the length of the block that rank r sends to rank q; `joined[q]` what rank q has along the axis of
    concatenation, if that is another axis.
    """

    split_axis: int = 0
    concat_axis: int = 0
    split: tuple[Sizes, ...] = ()
    joined: Sizes | None = None

    name: ClassVar[str] = "all_to_all"

    def details(self) -> str:
        """Axes and lengths."""
        alike = len(set(self.split)) == 1
        sizes = self.split[0] if alike else self.split
        joined = f", joined {self.joined}" if self.joined and len(set(self.joined)) > 1 else ""
        return f"axes {self.split_axis} to {self.concat_axis}, sizes {sizes}{joined}"

    def agreed(self, shape: Shape) -> str:
        """All but lengths along the axes that are moved."""
        known = replaced(shape, self.lead + self.split_axis, "*")  # type: ignore[arg-type]
        return _dims(replaced(known, self.lead + self.concat_axis, "*"))  # type: ignore[arg-type]

    def shape(self, shape: Shape) -> Shape:
        """With one block of every rank."""
        me = self.comm.rank
        if self.joined is None:
            return replaced(shape, self.lead + self.split_axis, sum(row[me] for row in self.split))
        found = replaced(shape, self.lead + self.split_axis, self.split[0][me])
        return replaced(found, self.lead + self.concat_axis, sum(self.joined))

    def run(self, wire: Any, x: Array) -> Array:
        """The blocks with this rank's number."""
        me, split, concat = self.comm.rank, self.lead + self.split_axis, self.lead + self.concat_axis
        shapes = [replaced(x.shape, split, self.split[q][me]) for q in range(self.comm.size)]
        if self.joined is not None:
            shapes = [replaced(each, concat, n) for each, n in zip(shapes, self.joined, strict=True)]
        return np.concatenate(wire.all_to_all(blocks_along(x, self.split[me], split), shapes), concat)

    def transposed(self, shape: Shape) -> Move:
        """All blocks back."""
        if self.joined is None:
            back = tuple(zip(*self.split, strict=True))
            return self._turned(AllToAll, split_axis=self.concat_axis, concat_axis=self.split_axis, split=back)
        return self._turned(
            AllToAll, split_axis=self.concat_axis, concat_axis=self.split_axis,
            split=(self.joined,) * self.comm.size, joined=self.split[0],
        )  # fmt: skip


def ordered_sum(blocks: Sequence[Array]) -> Array:
    """The sum in the order of ranks, in new memory: the same bits on every rank and in every run."""
    total = np.array(blocks[0], order="C")
    for block in blocks[1:]:
        total += block
    return total


# Neighbours.


class SendRecv(Move, frozen=True):
    """What `source` sends, while this rank sends its block to `dest`. Nobody is None: then there are zeros."""

    dest: int | None = None
    source: int | None = None
    like: Shape = ()

    name: ClassVar[str] = "sendrecv"

    def agreed(self, shape: Shape) -> str:
        """Nothing about lengths: each pair has its own."""
        return ""

    def route(self, x: Array) -> tuple[int, int, int]:
        """Both ends, so that ranks can see whether the pairs fit."""
        return (_or_nobody(self.dest), _or_nobody(self.source), x.size)

    def shape(self, shape: Shape) -> Shape:
        """That of what is received."""
        return (*shape[: self.lead], *self.like)

    def run(self, wire: Any, x: Array) -> Array:
        """The block that came, or zeros."""
        return self.received(x, wire.exchange(*self.messages(x)))

    def messages(self, x: Array) -> tuple[list[Any], list[Any]]:
        """What is sent, and what is wanted."""
        sends = [] if self.dest is None else [(self.dest, x, 0)]
        return sends, [] if self.source is None else [(self.source, self.shape(x.shape), x.dtype, 0)]

    def received(self, x: Array, came: list[Array]) -> Array:
        """The result, of what came."""
        return np.array(came[0], order="C") if came else np.zeros(self.shape(x.shape), x.dtype)

    def transposed(self, shape: Shape) -> Move:
        """The same the other way round."""
        return self._turned(SendRecv, dest=self.source, source=self.dest, like=shape[self.lead :])


def _or_nobody(rank: int | None) -> int:
    return -1 if rank is None else rank
