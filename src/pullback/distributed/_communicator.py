"""`Communicator`: a group of ranks that talk to each other, in one sequence of collectives.

    comm = pb.distributed.world()
    comm.rank, comm.size
    rows = comm.split(comm.rank // 2)

Every collective goes through `perform`: this rank writes what it is about to do on the board, waits until all ranks
have written the same, and then the blocks are moved. One thread at a time may do that.
"""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.core.state import inside_worker
from pullback.distributed._board import BROKEN, REFUSED, Board
from pullback.distributed._errors import CommunicatorBroken, DistributedError, Refusal
from pullback.distributed._log import is_noted, note
from pullback.distributed._moves import Array, Move, signature
from pullback.distributed._wires import SwapWire, check_routes


class Pending(threading.local):
    """The collectives that this thread has started, and not waited for yet, by number."""

    def __init__(self) -> None:
        self.begun: dict[int, Any] = {}
        self.count = 0

    def progress(self) -> None:
        """Let all of them go on: other ranks may wait for any."""
        for each in self.begun.values():
            each.test()

    def finish(self) -> None:
        """Wait for all, in order: before a call that blocks, for which another rank may not be ready otherwise."""
        for each in self.begun.values():
            each.wait()


pending = Pending()

Route = tuple[int, int, int]
NO_ROUTE: Route = (-1, -1, -1)


def _check_outside(what: str) -> None:
    if inside_worker.get():
        raise DistributedError(
            f"{what}: called inside a worker, by a function that an executor maps over items\n"
            "  why  workers are no ranks, and items are dealt to them as they come: others would wait for ever\n"
            "  fix  communicate before or after pb.distributed.map"
        )


class Communicator:
    """Ranks that make the same sequence of collectives. `pb.distributed.world()` has all of them."""

    is_literal_argument = True  # of compiled functions, which are made for this one

    def __init__(self, rank: int, size: int, name: str, wire: SwapWire | Any, board: Board | None) -> None:
        self.rank = rank
        self.size = size
        self.name = name
        self.seq = 0  # collectives so far
        self.messages = 0  # rounds of blocks so far
        self._wire = wire
        self._board = board
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._broken: BaseException | None = None
        self.check = "sequence"  # or "values", or "off"

    @property
    def chunk_elements(self) -> int:
        """How many elements one message has at most; larger blocks travel in pieces."""
        return int(self._wire.chunk_elements)

    @chunk_elements.setter
    def chunk_elements(self, count: int) -> None:
        self._wire.chunk_elements = max(1, int(count))

    # Groups -----------------------------------------------------------------------------------------------------------

    def split(self, color: int | None, key: int = 0) -> Any:
        """The ranks that gave the same `color`, ordered by `key` and then by rank; None where `color` is None."""
        chosen = self.gather_objects((color, key))
        if color is None:
            self._subgroup(None, [], "")
            return None
        members = [r for r, (c, _) in enumerate(chosen) if c == color]
        members.sort(key=lambda r: (chosen[r][1], r))
        return self._like_this(self._subgroup(color, members, f"{self.name}/{color}"))

    def sub(self, ranks: Sequence[int]) -> Any:
        """A communicator of these ranks, in this order; None on all others. All ranks of this one call it."""
        wanted = [int(r) for r in ranks]
        if len(set(wanted)) != len(wanted) or not all(0 <= r < self.size for r in wanted):
            raise ValueError(f"sub: {list(ranks)} are no different ranks of {self.size}")
        mine = wanted.index(self.rank) if self.rank in wanted else 0
        return self.split(0 if self.rank in wanted else None, mine)

    def dup(self) -> Communicator:
        """The same ranks with a sequence of their own, for another thread or library."""
        self.barrier()
        found: Communicator = self._subgroup(0, list(range(self.size)), f"{self.name}/dup")
        return self._like_this(found)

    @property
    def node(self) -> Communicator:
        """The ranks on this machine."""
        return self

    @property
    def mpi(self) -> Any:
        """The communicator of mpi4py that carries this one."""
        raise DistributedError(f"{self.name} does not use MPI, so it has no communicator of mpi4py")

    def _like_this(self, other: Any) -> Any:
        other.check, other.chunk_elements = self.check, self.chunk_elements
        return other

    def _subgroup(self, color: Any, members: list[int], name: str) -> Any:
        raise NotImplementedError  # abstract: what a group is made of differs

    # Talking ----------------------------------------------------------------------------------------------------------

    def perform(self, move: Move, x: Array) -> Array:
        """This rank's part of a collective, on arrays."""
        if move.is_local:
            if self.check == "values" and self.size > 1:
                self._check_replicated(move, x)
            return move.run(self._wire, x)
        block = x if x.flags.c_contiguous else np.ascontiguousarray(x).reshape(x.shape)
        text = move.describe(block.shape, block.dtype)
        if is_noted():
            with note(self, text, move.site, block.nbytes):
                return self._performed(move, block, text)
        return self._performed(move, block, text)

    def _performed(self, move: Move, block: Array, text: str) -> Array:
        if pending.begun:
            pending.finish()
        self._take_turn(text)
        try:
            self.enter(text, move.site, move.route(block), move.refusal(block.shape))
            return move.run(self._wire, block)
        except Refusal:
            raise
        except BaseException as error:
            raise self.break_off(error, text) from error.__cause__
        finally:
            self._lock.release()

    def begin(self, move: Move, x: Array) -> int:
        """Start a collective that has messages, and come back at once; the number by which it is waited for."""
        block = np.array(x, order="C")  # the memory may be used again before it is sent
        text = move.describe(block.shape, block.dtype)
        self._take_turn(text)
        try:
            handle = move.begun(block, text)
        except BaseException as error:
            raise self.break_off(error, text) from error.__cause__
        finally:
            self._lock.release()
        pending.count += 1
        pending.begun[pending.count] = handle
        return pending.count

    def _check_replicated(self, move: Move, x: Array) -> None:
        """Raise if a value that counts once differs between ranks."""
        digests = self.gather_objects(zlib.crc32(np.ascontiguousarray(x).tobytes()))
        different = [rank for rank, each in enumerate(digests) if each != digests[0]]
        if different:
            what = "the gradient of a replicated value" if move.way else f"the argument of {move.name}"
            raise DistributedError(
                f"{what} on ranks {different} is not that of rank 0, recorded at {move.site}\n"
                "  why  it counts once, so every rank must have the same\n"
                "  fix  leave out `replicated=True` where each rank has a loss of its own",
                collective=move.name, seq=self.seq, rank=different[0],
            )  # fmt: skip

    def perform_point(self, move: Any, x: Array) -> Array:
        """This rank's part of a message between two ranks."""
        if pending.begun:
            pending.finish()
        self.check_usable(move.name)
        _check_outside(move.name)
        self._check_thread()
        block = x if x.flags.c_contiguous else np.ascontiguousarray(x).reshape(x.shape)
        try:
            with note(self, move.name, move.site, block.nbytes):
                return move.run(self._wire, block)
        except BaseException as error:
            raise self.break_off(error, move.name) from error.__cause__

    def barrier(self) -> None:
        """Return when all ranks are here."""
        with self._turn("barrier"):
            pass

    def gather_objects(self, value: Any) -> list[Any]:
        """What every rank gave: small objects, which are pickled if they travel."""
        with self._turn("gather_objects"):
            return self._objects(value)

    def _objects(self, value: Any) -> list[Any]:
        return self._wire.parts(value)

    def check_process(self, what: str) -> None:
        """Raise if this process was forked from a rank."""
        if self._pid != os.getpid():
            raise DistributedError(
                f"{what}: this process was forked from rank {self.rank} of {self.name}, and is no rank\n"
                "  fix  start workers with the method `spawn`, or communicate in the parent"
            )

    def check_usable(self, what: str) -> None:
        """Raise if nothing can be said here any more."""
        self.check_process(what)
        if self._broken is not None:
            first = str(self._broken).partition("\n")[0]
            raise CommunicatorBroken(
                f"{what}: {self.name} is broken since {type(self._broken).__name__}: {first}", rank=self.rank
            ) from self._broken

    def _take_turn(self, text: str) -> None:
        """Raise unless this thread may make the next collective; others may not until the lock is released."""
        if self._pid != os.getpid() or self._broken is not None:
            self.check_usable(text.partition(" ")[0])
        _check_outside(text)
        self._check_thread()
        if not self._lock.acquire(blocking=False):
            raise DistributedError(
                f"{text}: another thread communicates by {self.name} just now\n"
                "  fix  give each thread a communicator of its own: comm.dup()"
            )

    @contextmanager
    def _turn(self, text: str) -> Iterator[None]:
        """This rank's place in the next collective: entered when all ranks are there with the same one."""
        if pending.begun:
            pending.finish()
        self._take_turn(text)
        try:
            with note(self, text, "", 0):
                self.enter(text, "", NO_ROUTE, None)
                yield
        except BaseException as error:
            raise self.break_off(error, text) from error.__cause__
        finally:
            self._lock.release()

    def enter(self, text: str, site: str, route: Route, refusal: str | None) -> None:
        """Write this rank's call on the board, and wait for the others."""
        shown = self.announce(text, site, route, refusal)
        if self._board is not None:
            self._board.meet(self.seq, shown)
            if route != NO_ROUTE:
                check_routes(self._board.routes(self.seq), text)
        elif route != NO_ROUTE:
            check_routes([route], text)
        if refusal is not None:
            raise Refusal(refusal)
        self.messages += 1

    def announce(self, text: str, site: str, route: Route = NO_ROUTE, refusal: str | None = None) -> str:
        """Write the next call of this rank on the board; the text that the others see."""
        self.seq += 1
        self._wire.seq = self.seq
        shown = refusal or (f"{text} at {site}" if site else text)
        if self._board is not None:
            number = REFUSED if refusal else signature("" if self.check == "off" else text)
            self._board.enter(self.seq, number, shown, route)
        return shown

    def say_everywhere(self, state: int, text: str) -> None:
        """Tell the ranks of all communicators of this process what it does now; one alone tells nobody."""

    def _check_thread(self) -> None:
        """Raise if this thread may not communicate here."""

    def break_off(self, error: BaseException, text: str) -> BaseException:
        """Nobody can rely on this communicator any more. The error, as users shall see it."""
        error = self._translated(error, text)
        if self._broken is None:
            self._broken = error
            if self._board is not None:
                self._board.say(BROKEN, f"{type(error).__name__}: {str(error).partition(chr(10))[0]}")
        return error

    def _translated(self, error: BaseException, text: str) -> BaseException:
        return error

    def __repr__(self) -> str:
        return f"<Communicator {self.name}: rank {self.rank} of {self.size}>"

    def __reduce__(self) -> Any:
        raise TypeError(f"{self!r} belongs to this process, and cannot be pickled or copied")

    def __copy__(self) -> Communicator:
        return self

    def __deepcopy__(self, memo: Any) -> Communicator:
        return self


class Alone(Communicator):
    """The communicator of a process that has no others: every collective is its formula for one rank."""

    def __init__(self, name: str = "world") -> None:
        super().__init__(0, 1, name, SwapWire(), None)

    def _subgroup(self, color: Any, members: list[int], name: str) -> Any:
        return Alone(name) if members else None

