"""`start_sum`: sums over the ranks that go on while something else is computed, in the order of ranks.

The same inputs give the same bits in every run and on every rank. Small arrays are sent to everybody and added there;
of larger ones each rank adds up one block, and sends it to everybody: as many bytes as a ring takes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.distributed._communicator import NO_ROUTE, Communicator, Route, pending
from pullback.distributed._moves import Array, blocks_along, ordered_sum, split_sizes
from pullback.distributed._mpi import FIRST_SUMS, LAST_SUMS, SMALL
from pullback.distributed._wires import SwapWire, check_routes, taken


class Running:
    """A sum that was started. `test` lets it go on, `wait` returns the sum."""

    def __init__(
        self, comm: Communicator, text: str, x: Array, combine: Callable[[list[Array]], Array], by_mpi: bool = False,
        site: str = "", shape: Any = None,
    ) -> None:  # fmt: skip
        self._comm = comm
        comm.check_usable(text.partition(" ")[0])
        self._text = comm.announce(text, site)
        self._shape = shape
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
            self._stage = wire.begin([(q, x, FIRST_SUMS) for q in everybody],
                                     [(q, x.shape, x.dtype, FIRST_SUMS) for q in everybody], self._seq)  # fmt: skip
        else:
            self._sizes = split_sizes(x.size, comm.size)
            mine = (self._sizes[comm.rank],)
            self._stage = wire.begin(
                [(q, block, FIRST_SUMS) for q, block in enumerate(blocks_along(x, self._sizes, 0))],
                [(q, mine, x.dtype, FIRST_SUMS) for q in range(comm.size)], self._seq,
            )  # fmt: skip

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
                    [(q, self._blocks[0], LAST_SUMS) for q in range(comm.size)],
                    [(q, (n,), self._kept.dtype, LAST_SUMS) for q, n in enumerate(self._sizes)], self._seq,
                )  # fmt: skip
                continue
            self._result = np.concatenate(found)
            return True
        return False

    def wait(self) -> Array:
        """The sum, when it is there."""
        _wait_for(self)
        assert self._result is not None
        return self._result if self._shape is None else self._result.reshape(self._shape)


def _goes_on(handle: Any) -> bool:
    """Is it done? What else this thread has started goes on meanwhile."""
    if pending.begun:
        pending.progress()
    return bool(handle.test())


def _wait_for(handle: Any) -> None:
    """Wait until a message that was started is there; what goes wrong breaks off the communicator."""
    comm = handle._comm
    try:
        if comm._board is not None:
            comm._board.wait(lambda: _goes_on(handle), handle._seq, handle._text)
        while not handle.test():
            pass
    except BaseException as error:
        raise comm.break_off(error, handle._text) from error.__cause__


def start_sum(comm: Communicator, x: Array, text: str, by_mpi: bool = False) -> Running:
    """Start the sum of the vectors of all ranks, in the order of ranks, or in that of the MPI library."""
    return Running(comm, f"{text} {x.dtype}[{x.size}]", x, ordered_sum, by_mpi)


def start_gather(comm: Communicator, x: Array, text: str) -> Running:
    """Start to collect the vectors of all ranks, as rows."""
    return Running(comm, f"{text} {x.dtype}[{x.size}]", x, np.stack)


class Begun:
    """Messages between neighbours that were started. `wait` returns what came, or what `finish` makes of it."""

    def __init__(
        self, comm: Communicator, text: str, site: str, sends: list[Any], wanted: list[Any],
        finish: Callable[[list[Array]], Any] | None = None, route: Route = NO_ROUTE,
    ) -> None:  # fmt: skip
        self._comm = comm
        comm.check_usable(text.partition(" ")[0])
        self._text = comm.announce(text, site, route)
        self._seq, self._wanted, self._finish, self._route = comm.seq, wanted, finish, route
        self._result: Any = None
        self._is_done = False
        wire: Any = comm._wire
        # Messages that go astray are not sent before all ranks have said whom they send to.
        self._sends = sends if isinstance(wire, SwapWire) or route != NO_ROUTE else None
        self._exchange = None if self._sends is not None else wire.begin(sends, wanted, self._seq)
        if isinstance(wire, SwapWire):
            wire.post(self._seq, [(dest, channel, block) for dest, block, channel in sends])

    def test(self) -> bool:
        """Is it done? Finds out whether other ranks do the same."""
        comm, wire = self._comm, self._comm._wire
        if self._is_done:
            return True
        if comm._board is not None and not comm._board.has_met(self._seq, self._text):
            return False
        if self._route != NO_ROUTE:
            check_routes([self._route] if comm._board is None else comm._board.routes(self._seq), self._text)
        if isinstance(wire, SwapWire):
            if not wire.is_ready(self._seq):
                return False
            came = taken(wire.collect(self._seq), wire.rank, self._wanted)
        else:
            if self._exchange is None:
                self._exchange = wire.begin(self._sends, self._wanted, self._seq)
            if not self._exchange.is_done():
                return False
            came = self._exchange.result()
        self._result, self._is_done = came if self._finish is None else self._finish(came), True
        return True

    def wait(self) -> Any:
        """The blocks that came, in the order in which they were wanted, or what is made of them."""
        _wait_for(self)
        return self._result


def tree_sum(parts: list[Any]) -> Any:
    """The sum along a binary tree: halves first. Of 2, 4, 8, ... parts; cut anywhere between halves it is the same."""
    while len(parts) > 1:
        parts = [parts[k] + parts[k + 1] for k in range(0, len(parts), 2)]
    return parts[0]


def check_virtual_shards(who: str, shards: int, ranks: int) -> None:
    """Raise unless parts can be dealt to the ranks so that every rank has a whole branch of the tree."""
    if any(n < 1 or n & (n - 1) for n in (shards, ranks)) or ranks > shards:
        raise ValueError(
            f"{who}: virtual_shards={shards} on {ranks} ranks: both are powers of two, and there are not more ranks "
            "than parts"
        )
