"""Work in pieces, on any executor of the kind of `concurrent.futures`, or here.

    results = run(work, [(0, 16), (16, 32)], who="jacrev", executor=pool)     # [work(0, 16), work(16, 32)]

Items are put into pieces by their number alone, never by the number of workers, and results are put together by their
place. So they have the same bits on every executor, with any number of workers, in whatever order they arrive.

A function that raises is not asked again. Pieces that are lost, because a worker died, a pool broke or time was up,
are sent again `retries` times; if the executor is given as a function that makes one, with a new executor.
"""

from __future__ import annotations

import hashlib
import inspect
import queue
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future
from typing import Any

from pullback.core.frames import warn
from pullback.core.pickling import dumps
from pullback.core.progress import Progress, shown
from pullback.core.pytree import flatten
from pullback.core.state import current
from pullback.errors import PieceError
from pullback.func._pieces.worker import (
    Failure,
    check_without_history,
    done,
    received,
    refusal,
    settings_here,
    short,
    work_elsewhere,
)
from pullback.tensors.tensor import Tensor

PIECES = 16
SENT_ALONG = 64 * 1024  # bytes of a function that go with each piece; larger ones go by the executor's own broadcast
_TICK = 0.05  # seconds between looks at the clock
_LAST_WAIT = 5.0  # seconds for pieces that run when another one has failed

Tell = Callable[[int, int | None, int], Any]


def run(
    work: Callable[..., Any], items: Iterable[tuple[Any, ...]], *, who: str, executor: Any, pieces: int | None = None,
    retries: int = 1, timeout: float | None = None, tell: Tell | None = None, seed: Any = None, collects: bool = False,
) -> list[Any]:  # fmt: skip
    """`work(*item)` for all items, in their order. `tell(done, total, index)` is told of every piece.

    With `collects`, items that failed have a `PieceError` in their place.
    """
    listed = list(items)
    cuts = cut(len(listed), pieces)
    ranges = iter([(start, listed[start:stop]) for start, stop in cuts])
    results: list[Any] = [None] * len(listed)
    going = _Run(work, ranges, len(cuts), who, executor, retries, timeout, tell, seed, collects)
    for start, found in going.finished():
        results[start : start + len(found)] = found
    return results


def blocks(
    work: Callable[..., Any], count: int, chunk_size: int | None, *, who: str, executor: Any, progress: Progress
) -> Iterator[tuple[int, int, Any]]:
    """`start, stop, work(start, stop)` as they arrive, for blocks of `chunk_size` of `count` rows, or 16 blocks."""
    size = chunk_size or -(-count // PIECES)
    items = [(start, min(start + size, count)) for start in range(0, count, size)]
    with shown(progress, count, who) as bar:
        ranges = iter([(number, [item]) for number, item in enumerate(items)])
        going = _Run(work, ranges, len(items), who, executor, 1, None, None, None, False)
        for number, (result,) in going.finished():
            start, stop = items[number]
            bar.advance(stop - start)
            yield start, stop, result


def stream(
    work: Callable[..., Any], items: Iterable[tuple[Any, ...]], *, who: str, executor: Any, retries: int = 1,
    timeout: float | None = None, tell: Tell | None = None, seed: Any = None, collects: bool = False,
) -> Iterator[Any]:  # fmt: skip
    """`work(*item)` for items that need not all be there yet: each is a piece, and results come in their order.

    At most 32 pieces are under way or wait for an earlier one.
    """
    ranges = ((index, [item]) for index, item in enumerate(items))
    going = _Run(work, ranges, None, who, executor, retries, timeout, tell, seed, collects, ahead=2 * PIECES)
    early: dict[int, Any] = {}
    turn = 0
    for start, (result,) in going.finished():
        early[start] = result
        while turn in early:
            yield early.pop(turn)
            turn += 1


def cut(count: int, pieces: int | None) -> list[tuple[int, int]]:
    """Where pieces begin and end: as many as asked for, or 16, or one for each item if there are fewer."""
    if pieces is not None and not (isinstance(pieces, int) and pieces > 0):
        raise ValueError(f"pieces must be None or greater than 0, got {pieces!r}")
    number = min(count, pieces or PIECES)
    return [(count * k // number, count * (k + 1) // number) for k in range(number)]


def check_outside(who: str) -> None:
    """Raise if a transform or a trace is running: what is sent to workers would be lost for it."""
    modes = current()
    if modes.transforms or modes.vmaps or modes.trace is not None:
        raise RuntimeError(
            f"{who}: an executor cannot be used inside of grad, vmap, compile or another transform: workers do not "
            "take part in it, and the derivative would be lost without notice; call it outside, or without executor="
        )


def check_sendable(who: str, tree: Any) -> None:
    """Raise if the result of a Jacobian would have a gradient, which ends where workers begin."""
    check_outside(who)
    if current().grad and any(isinstance(leaf, Tensor) and leaf.requires_grad for leaf in flatten(tree)[0]):
        raise RuntimeError(
            f"{who}: an argument requires grad, and what comes back from an executor is a constant: its gradient would "
            "be lost without notice; hand over x.detach(), or call it under pb.no_grad()"
        )


class _Here:
    """An executor that does it at once."""

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*args))
        return future


class _Piece:
    """Some items that go together."""

    def __init__(self, number: int, start: int, items: list[tuple[Any, ...]]) -> None:
        self.number, self.start, self.items = number, start, items
        self.attempts = 0
        self.since: float | None = None  # when it was first seen running
        self.executor: Any = None  # which has it
        self.data: bytes | None = None  # as it is sent


class _Run:
    """One call: what is under way, and what became of it."""

    def __init__(
        self, work: Callable[..., Any], ranges: Iterator[Any], total: int | None, who: str, executor: Any,
        retries: int, timeout: float | None, tell: Tell | None, seed: Any, collects: bool, ahead: int | None = None,
    ) -> None:  # fmt: skip
        check_outside(who)
        self.who, self.retries, self.timeout, self.tell, self.total = who, retries, timeout, tell, total
        self.collects, self.ahead = collects, ahead
        self.work, self.settings = work, settings_here(seed, not collects)
        self.sent: tuple[str, Any] | None = None  # the digest of the function, and its bytes
        self.pickled: bytes | None = None
        self.executor: Any = None
        self.factory = executor if _is_factory(executor) else None
        self._use(_Here() if executor is None else executor() if self.factory else executor)
        self.ranges = ranges
        self.again: deque[_Piece] = deque()  # lost, and to be sent again
        self.number = 0  # of the next piece
        self.waiting: dict[Any, _Piece] = {}  # by their futures
        self.arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.unfinished: dict[int, _Piece] = {}
        self.failures: dict[int, tuple[_Piece, Failure]] = {}
        self.broken: BaseException | None = None

    # Executors.

    def _use(self, executor: Any) -> None:
        if not hasattr(executor, "submit"):
            raise TypeError(
                f"{self.who}: executor= takes an executor with `submit`, as concurrent.futures has them, a function "
                f"that makes one, or None, got {type(executor).__name__}"
            )
        self.executor = executor
        self.sent = None
        # Objects need not be pickled for those who have the same memory.
        self.is_near = isinstance(executor, _Here) or _is_a(executor, "thread", "ThreadPoolExecutor")
        if _is_a(executor, "process", "ProcessPoolExecutor"):
            _warn_of_fork(executor)

    def _submit(self, piece: _Piece) -> None:
        piece.attempts += 1
        piece.since, piece.executor = None, self.executor
        self.unfinished[piece.number] = piece
        if self.is_near:
            check_without_history(piece.items, self.who)
            arguments: tuple[Any, ...] = (done, self.work, self.settings, piece.start, piece.items, False)
        else:
            if piece.data is None:
                piece.data = dumps((piece.start, piece.items), self.who, refusal)
            arguments = (work_elsewhere, *self._shipped(), piece.data)
        # Clients of dask take equal calls for one call, and give the lost result of the first for the second.
        options = {"pure": False} if type(self.executor).__module__.startswith("distributed.client") else {}
        try:
            future = self.executor.submit(*arguments, **options)
        except (BrokenExecutor, RuntimeError) as error:  # broken, or shut down
            self.broken = error
            self._lost(piece, error)
            return
        self.waiting[future] = piece
        future.add_done_callback(self.arrived.put)

    def _shipped(self) -> tuple[str, Any]:
        """The function as workers get it."""
        if self.sent is None:
            if self.pickled is None:
                self.pickled = dumps((self.work, self.settings), self.who, refusal)
            data: Any = self.pickled
            client = getattr(self.executor, "_client", self.executor)
            if len(data) > SENT_ALONG and hasattr(client, "scatter"):
                data = client.scatter(data, broadcast=True, hash=False)
            self.sent = (hashlib.sha256(self.pickled).hexdigest(), data)
        return self.sent

    def _replace_broken(self) -> None:
        """A new executor in place of a broken one, if somebody makes them."""
        if self.broken is None:
            return
        if self.factory is None:
            raise self._unfinished_error(f"the executor broke: {_text(self.broken)}") from self.broken
        self.executor.shutdown(wait=False)
        self.broken = None
        self._use(self.factory())

    # Pieces.

    def finished(self) -> Iterator[tuple[int, list[Any]]]:
        """The number of the first item of every piece and the results of its items, as they arrive."""
        count = 0
        is_done = False
        try:
            while True:
                self._fill()
                if not self.waiting:
                    break
                piece, found = self._next_arrival()
                if piece is None:
                    continue
                count += 1
                if self.tell is not None:
                    self.tell(count, self.total, piece.number)
                yield piece.start, found
            if self.failures:
                self._end_running()
                piece, failure = self.failures[min(self.failures)]
                raise failure.as_error(self.who, piece.attempts)
            is_done = True
        finally:
            for future in self.waiting:
                future.cancel()
            if self.factory is not None:
                self.executor.shutdown(wait=is_done)

    def _fill(self) -> None:
        """Send what may be sent now."""
        while True:
            self._replace_broken()
            if self.again:
                piece = self.again.popleft()
            else:
                first = min(self.unfinished, default=self.number)
                is_full = self.ahead is not None and self.number - first >= self.ahead
                if self.failures or is_full or (isinstance(self.executor, _Here) and self.waiting):
                    return
                following = next(self.ranges, None)
                if following is None:
                    return
                piece = _Piece(self.number, *following)
                self.number += 1
            if not self.failures or piece.number < min(self.failures):
                self._submit(piece)

    def _next_arrival(self) -> tuple[Any, Any]:
        """A piece that is done and its results; None if there is none yet, or it has to be done again."""
        try:
            future = self.arrived.get(timeout=_TICK if self.timeout is not None else 1.0)
        except queue.Empty:
            self._look_at_the_clock()
            return None, None
        if future not in self.waiting:
            return None, None  # given up before
        piece = self.waiting.pop(future)
        try:
            found = future.result() if self.is_near else received(future.result())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # of the pool's: those of the function are returned
            if isinstance(error, BrokenExecutor) and piece.executor is self.executor:
                self.broken = error
            self._lost(piece, error)
            return None, None
        del self.unfinished[piece.number]
        failure = next((each for each in found if isinstance(each, Failure)), None)
        if failure is not None and not self.collects:
            self._fail(piece, failure)
            return None, None
        return piece, [
            each.as_error(self.who, piece.attempts) if isinstance(each, Failure) else each for each in found
        ]

    def _lost(self, piece: _Piece, error: BaseException) -> None:
        if piece.attempts > self.retries:
            times = "once" if piece.attempts == 1 else f"{piece.attempts} times"
            raise self._unfinished_error(f"piece {piece.number} was lost {times}, by {_text(error)}") from error
        self.again.append(piece)

    def _fail(self, piece: _Piece, failure: Failure) -> None:
        """The first piece that fails, by its number, is the one that is reported: those before it are waited for."""
        self.failures[piece.number] = (piece, failure)
        first = min(self.failures)
        for future, other in list(self.waiting.items()):
            if other.number > first and future.cancel():
                del self.waiting[future]

    def _end_running(self) -> None:
        """Wait a little for pieces that run although another one has failed."""
        ends = time.monotonic() + _LAST_WAIT
        while self.waiting and time.monotonic() < ends:
            try:
                self.waiting.pop(self.arrived.get(timeout=_TICK), None)
            except queue.Empty:
                pass

    def _look_at_the_clock(self) -> None:
        if self.timeout is None:
            return
        now = time.monotonic()
        for future, piece in list(self.waiting.items()):
            if piece.since is None:
                piece.since = now if getattr(future, "running", lambda: True)() else None
            elif now - piece.since > self.timeout:
                del self.waiting[future]
                future.cancel()
                self._lost(piece, TimeoutError(f"it took longer than {self.timeout} s"))

    def _unfinished_error(self, reason: str) -> PieceError:
        first = self.unfinished[min(self.unfinished)]
        numbers = [*sorted(self.unfinished), *range(self.number, self.total or 0)]
        several = ", ".join(map(str, numbers))
        return PieceError(
            f"{self.who}: pieces {several} were not finished: {reason}; give a function that makes an executor, which "
            "is called again after one broke, or more retries=", index=first.start,
            item=", ".join(map(short, first.items[0])), attempts=first.attempts, pieces=tuple(numbers),
        )  # fmt: skip


def _is_factory(executor: Any) -> bool:
    return callable(executor) and (inspect.isclass(executor) or not hasattr(executor, "submit"))


def _is_a(executor: Any, module: str, name: str) -> bool:
    """Is this one of `concurrent.futures`? Its modules are large, and whoever has one of theirs has loaded them."""
    found = sys.modules.get(f"concurrent.futures.{module}")
    return found is not None and isinstance(executor, getattr(found, name))


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _warn_of_fork(executor: Any) -> None:
    context: Any = getattr(executor, "_mp_context", None)
    if context is None or context.get_start_method() != "fork" or getattr(executor, "_processes", None):
        return
    mpi: Any = sys.modules.get("mpi4py.MPI")
    reason = "MPI was started" if mpi is not None and mpi.Is_initialized() else None
    if reason is None and threading.active_count() > 1:
        reason = "threads were started"
    if reason is not None:
        warn(
            f"a ProcessPoolExecutor that forks is used after {reason}, and its workers may hang; make it with "
            "mp_context=multiprocessing.get_context('spawn')", RuntimeWarning,
        )  # fmt: skip
