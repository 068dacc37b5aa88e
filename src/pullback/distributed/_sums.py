"""`start_sum`: sums over the ranks that go on while something else is computed, in the order of ranks.

The same inputs give the same bits in every run and on every rank. Small arrays are sent to everybody and added there;
of larger ones each rank adds up one block, and sends it to everybody: as many bytes as a ring takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.distributed._communicator import MOST_PENDING, Communicator
from pullback.distributed._moves import Array, blocks_along, ordered_sum, split_sizes
from pullback.distributed._mpi import SMALL
from pullback.distributed._wires import SwapWire, taken


class Running:
    """A sum that was started. `test` lets it go on, `wait` returns the sum."""

    def __init__(
        self, comm: Communicator, text: str, x: Array, combine: Callable[[list[Array]], Array], by_mpi: bool = False
    ) -> None:
        self._comm = comm
        comm.check_usable(text.partition(" ")[0])
        self._text = comm.announce(text, "")
        self._seq = comm.seq
        self._combine = combine
        self._kept = x  # alive as long as messages may read it
        self._stage: Any = None
        self._blocks: list[Array] = []
        self._result: Array | None = None
        wire = comm._wire
        self._is_one_stage = comm.size * x.nbytes <= SMALL or combine is not ordered_sum
        if isinstance(wire, SwapWire):
            wire.post(self._seq, x)
        elif by_mpi and (begun := wire.begin_sum(x)) is not None:
            self._stage, self._is_one_stage = begun, True
        elif self._is_one_stage:
            everybody = range(comm.size)
            self._stage = wire.begin([(q, x, self._channel) for q in everybody],
                                     [(q, x.shape, x.dtype, self._channel) for q in everybody])  # fmt: skip
        else:
            self._sizes = split_sizes(x.size, comm.size)
            mine = (self._sizes[comm.rank],)
            self._stage = wire.begin(
                [(q, block, self._channel) for q, block in enumerate(blocks_along(x, self._sizes, 0))],
                [(q, mine, x.dtype, self._channel) for q in range(comm.size)],
            )

    @property
    def _channel(self) -> int:
        return 8 + 2 * (self._seq % MOST_PENDING)

    def test(self) -> bool:
        """Is it done? Finds out whether other ranks do the same, and sends what can be sent."""
        if self._result is not None:
            return True
        comm, wire = self._comm, self._comm._wire
        if comm._board is not None and not comm._board.has_met(self._seq, self._text):
            return False
        if isinstance(wire, SwapWire):
            if not wire.is_ready(self._seq):
                return False
            self._result = self._combine(wire.collect(self._seq))
            return True
        while self._stage.is_done():
            found = self._stage.result()
            if self._is_one_stage:
                self._result = self._combine(found)
                return True
            if not self._blocks:
                self._blocks = [ordered_sum(found)]
                self._stage = wire.begin(
                    [(q, self._blocks[0], self._channel + 1) for q in range(comm.size)],
                    [(q, (n,), self._kept.dtype, self._channel + 1) for q, n in enumerate(self._sizes)],
                )
                continue
            self._result = np.concatenate(found)
            return True
        return False

    def wait(self) -> Array:
        """The sum, when it is there."""
        comm = self._comm
        try:
            if comm._board is not None:
                comm._board.meet(self._seq, self._text)
                comm._board.wait(self.test, self._seq, self._text)
            while not self.test():
                pass
        except BaseException as error:
            raise comm.break_off(error, self._text) from error.__cause__
        assert self._result is not None
        return self._result


def start_sum(comm: Communicator, x: Array, text: str, by_mpi: bool = False) -> Running:
    """Start the sum of the vectors of all ranks, in the order of ranks, or in that of the MPI library."""
    return Running(comm, f"{text} {x.dtype}[{x.size}]", x, ordered_sum, by_mpi)


def start_gather(comm: Communicator, x: Array, text: str) -> Running:
    """Start to collect the vectors of all ranks, as rows."""
    return Running(comm, f"{text} {x.dtype}[{x.size}]", x, np.stack)


class Begun:
    """Messages between neighbours that were started. `wait` returns what came."""

    def __init__(self, comm: Communicator, text: str, site: str, sends: list[Any], wanted: list[Any]) -> None:
        self._comm = comm
        comm.check_usable(text.partition(" ")[0])
        self._text = comm.announce(text, site)
        self._seq, self._wanted = comm.seq, wanted
        wire = comm._wire
        self._exchange = None if isinstance(wire, SwapWire) else wire.begin(sends, wanted)
        if self._exchange is None:
            wire.post(self._seq, [(dest, channel, block) for dest, block, channel in sends])

    def wait(self) -> list[Array]:
        """The blocks that came, in the order in which they were wanted."""
        comm: Any = self._comm
        wire = comm._wire
        try:
            if comm._board is not None:
                comm._board.meet(self._seq, self._text)
            if self._exchange is None:
                return taken(wire.collect(self._seq), wire.rank, self._wanted)
            wire.wait(self._exchange.is_done)
            return self._exchange.result()
        except BaseException as error:
            raise comm.break_off(error, self._text) from error.__cause__


def tree_sum(parts: list[Any]) -> Any:
    """The sum along a binary tree: halves first. Of 2, 4, 8, ... parts; cut anywhere between halves it is the same."""
    while len(parts) > 1:
        parts = [parts[k] + parts[k + 1] for k in range(0, len(parts), 2)]
    return parts[0]


def is_power_of_two(n: int) -> bool:
    """Is it one of 1, 2, 4, ...?"""
    return n > 0 and math.log2(n).is_integer()
