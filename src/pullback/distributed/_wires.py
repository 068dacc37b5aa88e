"""`SwapWire`: how blocks reach other ranks that are in this process, or that do not exist.

A wire moves blocks and knows nothing of what they mean. Every collective is one call of it: `all_reduce`, `reduce`,
`broadcast`, `all_gather`, `gather`, `scatter`, `all_to_all` or `exchange`. Here all of them are one `swap`, by which
each rank sees what all ranks gave; the formulas are those of the stacked blocks. `_mpi.py` has the wire between
processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.distributed._errors import CollectiveMismatch, DistributedError
from pullback.distributed._moves import Array, Shape, ordered_sum

_MPI = {
    "MPI_LOR": ("any", np.logical_or),
    "MPI_LAND": ("all", np.logical_and),
    "MPI_BAND": ("bitwise_and", np.bitwise_and),
    "MPI_BOR": ("bitwise_or", np.bitwise_or),
    "MPI_BXOR": ("bitwise_xor", np.bitwise_xor),
    "MPI_MAX": ("max", np.maximum),
    "MPI_MIN": ("min", np.minimum),
}
MPI_NAMES = {"MPI_SUM": "sum", "MPI_PROD": "prod"} | {key: name for key, (name, _) in _MPI.items()}
"""What mpi4py's operations are called here."""

REDUCTIONS = dict(_MPI.values())
"""What one message can reduce by; NumPy's functions hand NaN on, which those of MPI libraries do not."""


def reduced(blocks: Sequence[Array], op: Any) -> Array:
    """The blocks of all ranks as one, in the order of ranks."""
    if op == "sum":
        return ordered_sum(blocks)
    if op not in REDUCTIONS:
        raise DistributedError(f"all_reduce: {op!r} is an operation of MPI, and these ranks do not use MPI")
    total = np.array(blocks[0], order="C")
    for block in blocks[1:]:
        total = REDUCTIONS[op](total, block)
    return np.asarray(total)


def check_routes(routes: Any, text: str) -> None:
    """Raise unless everybody sends to those who receive from them."""
    for rank, (dest, source, _) in enumerate(routes):
        if dest >= 0 and routes[dest][1] != rank:
            problem = f"rank {rank} sends to rank {dest}, which receives from {_name(routes[dest][1])}"
        elif source >= 0 and routes[source][0] != rank:
            problem = f"rank {rank} receives from rank {source}, which sends to {_name(routes[source][0])}"
        else:
            continue
        raise CollectiveMismatch(f"{text}: {problem}", collective="sendrecv", rank=rank)


def _name(rank: int) -> str:
    return "nobody" if rank < 0 else f"rank {rank}"


class SwapWire:
    """Blocks between ranks of one process. `post` gives this rank's part, `collect` has all parts."""

    rank = 0
    size = 1
    seq = 0  # of the collective that is running
    chunk_elements = 2**30  # threads send whole blocks

    def post(self, seq: int, part: Any) -> None:
        """Give this rank's part; it may be changed afterwards."""
        self._kept = _copied(part)

    def is_ready(self, seq: int) -> bool:
        """Has every rank given its part?"""
        return True

    def collect(self, seq: int) -> list[Any]:
        """What every rank gave; not to be changed."""
        return [self._kept]

    def parts(self, part: Any) -> list[Any]:
        """Give a part, and see those of all."""
        self.post(self.seq, part)
        return self.collect(self.seq)

    def all_reduce(self, x: Array, op: Any, ordered: bool) -> Array:
        """One block from all."""
        return reduced(self.parts(x), op)

    def reduce(self, x: Array, root: int) -> Array | None:
        """The sum, at the root."""
        parts = self.parts(x)
        return ordered_sum(parts) if self.rank == root else None

    def broadcast(self, x: Array, root: int) -> Array:
        """The block of the root."""
        return np.array(self.parts(x if self.rank == root else None)[root], order="C")

    def all_gather(self, x: Array, shapes: Sequence[Shape]) -> list[Array]:
        """The blocks of all, which have these shapes."""
        return _checked(self.parts(x), shapes)

    def gather(self, x: Array, root: int, shapes: Sequence[Shape]) -> list[Array] | None:
        """The blocks of all, at the root."""
        parts = self.parts(x)
        return _checked(parts, shapes) if self.rank == root else None

    def scatter(self, blocks: Sequence[Array] | None, root: int, shape: Shape, dtype: Any) -> Array:
        """The block of the root with this rank's number."""
        parts = self.parts(None if blocks is None else list(blocks))
        return np.array(_checked([parts[root][self.rank]], [shape])[0], order="C")

    def all_to_all(self, blocks: Sequence[Array], shapes: Sequence[Shape]) -> list[Array]:
        """The blocks of all ranks with this rank's number."""
        parts = self.parts(list(blocks))
        return _checked([part[self.rank] for part in parts], shapes)

    def exchange(self, sends: Sequence[Any], wanted: Sequence[Any]) -> list[Array]:
        """`sends` are (rank, block, channel), `wanted` are (rank, shape, dtype, channel)."""
        return taken(self.parts([(dest, channel, block) for dest, block, channel in sends]), self.rank, wanted)


def taken(parts: Sequence[Any], rank: int, wanted: Sequence[Any]) -> list[Array]:
    """The blocks that are wanted, of what all ranks send."""
    found = []
    for source, shape, _, channel in wanted:
        block = next(b for dest, c, b in parts[source] if dest == rank and c == channel)
        found += _checked([block], [shape])
    return found


def _copied(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        return np.array(part, order="C")
    if isinstance(part, (list, tuple)):
        return type(part)(_copied(each) for each in part)
    return part


def _checked(blocks: Sequence[Array], shapes: Sequence[Shape]) -> list[Array]:
    for rank, (block, shape) in enumerate(zip(blocks, shapes, strict=True)):
        if block.shape != tuple(shape):
            found, wanted = list(block.shape), list(shape)
            raise CollectiveMismatch(f"a block of shape {found} came where {wanted} was expected", rank=rank)
    return list(blocks)
