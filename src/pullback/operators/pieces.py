"""Work in pieces: a kernel that passes over its operands several times does all passes on one piece before the next.

What lies between the passes then stays in the cache and needs little memory. Where there is much to do, pieces are
shared among threads, which helps because NumPy releases the interpreter's lock in its loops. `core/threads.py` says how
many there are.

The threads are started when they are needed for the first time, wait in between, and never run anything but pieces.
Whoever asks works along, so nobody waits for a thread that did not begin, and a busy machine is no slower than one.
"""

from __future__ import annotations

import contextvars
import math
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.threads import after_fork, get_num_threads

if TYPE_CHECKING:
    import queue

# Numbers in a piece: with a few arrays that are read and written together, a piece of this size stays in the cache.
PIECE = 1 << 15
# Numbers in a piece that threads share. A thread waits for the interpreter's lock after every pass, so a pass has to be
# long: fifty microseconds here. Pieces then fit into the third-level cache only, which costs much less.
_SHARED_PIECE = 1 << 17
# Below this many numbers, telling a thread costs more than it saves.
_SHARED_FROM = 1 << 16
# What a thread keeps to work in, see `scratch_like`: not for few numbers, and not more than a piece.
_KEPT_FROM, _KEPT_BYTES = 1 << 13, 8 * _SHARED_PIECE


class _Job:
    """Pieces to be done, taken one by one by whoever is free."""

    __slots__ = ("active", "context", "error", "finished", "is_over", "lock", "pieces", "work")

    def __init__(self, work: Callable[[int, int], Any], pieces: Iterator[tuple[int, int]]) -> None:
        self.work = work
        self.pieces = pieces
        self.context = contextvars.copy_context()  # np.errstate holds in the threads as well
        self.lock = threading.Lock()
        self.finished = threading.Event()
        self.active = 0
        self.is_over = False
        self.error: BaseException | None = None

    def take_part(self) -> None:
        """Do pieces until there are none left."""
        while True:
            with self.lock:
                piece = next(self.pieces, None)
            if piece is None or self.error is not None:
                return
            self.work(*piece)

    def help(self) -> None:
        """What a thread does, unless the job is over before it came to it."""
        with self.lock:
            if self.is_over:
                return
            self.active += 1
        try:
            self.context.copy().run(self.take_part)
        except BaseException as error:  # raised again where the job was asked for
            self.error = error
        with self.lock:
            self.active -= 1
            if not self.active:
                self.finished.set()

    def finish(self) -> None:
        """Take part, then wait for those who began."""
        try:
            self.take_part()
        except BaseException as error:
            self.error = error
        with self.lock:
            self.is_over = True
            is_waiting = self.active > 0
            if is_waiting:
                self.finished.clear()
        if is_waiting:
            self.finished.wait()
        if self.error is not None:
            raise self.error


class _Helpers:
    """The threads, and the queue that they wait at."""

    def __init__(self) -> None:
        self.jobs: queue.SimpleQueue[_Job] | None = None
        self.count = 0
        self.lock = threading.Lock()

    def forget(self) -> None:
        """After a fork the child has none of its parent's threads."""
        self.__init__()  # type: ignore[misc]

    def ask(self, job: _Job, count: int) -> None:
        """Let up to `count` threads help."""
        if self.count < count:
            with self.lock:
                if self.jobs is None:
                    from queue import SimpleQueue  # most programs have no work for threads

                    self.jobs = SimpleQueue()
                while self.count < count:
                    threading.Thread(target=_serve, args=(self.jobs,), daemon=True, name="pullback-pieces").start()
                    self.count += 1
        for _ in range(count):
            self.jobs.put(job)  # type: ignore[union-attr]


def _serve(jobs: queue.SimpleQueue[_Job]) -> None:
    while True:
        jobs.get().help()


_helpers = _Helpers()
after_fork(_helpers.forget)


def in_pieces(work: Callable[[int, int], Any], count: int, size: int = 1, piece: int = PIECE) -> None:
    """Call `work(start, stop)` for stretches that together are `range(count)`; each number stands for `size` elements.

    Stretches may run at the same time, in any order: `work` writes to its own part of the results and nowhere else.
    """
    step = max(1, piece // max(size, 1))
    if count <= step:
        if count:
            work(0, count)
        return
    threads = get_num_threads()
    if threads == 1 or count * size < _SHARED_FROM:
        # path: pieces
        for start in range(0, count, step):
            work(start, min(start + step, count))
        return
    # As large as it may be, but a few pieces for each thread, so that none waits long for the last one.
    # path: pieces on threads
    step = max(step, min(_SHARED_PIECE // max(size, 1), count // (4 * threads)))
    pieces = ((start, min(start + step, count)) for start in range(0, count, step))
    job = _Job(work, pieces)
    _helpers.ask(job, min(threads, -(-count // step)) - 1)
    job.finish()


class _Kept(threading.local):
    """Memory that a thread keeps from one piece to the next, by number."""

    def __init__(self) -> None:
        self.buffers: dict[int, Any] = {}


_kept = _Kept()


def scratch_like(x: Any, number: int, dtype: Any = None) -> Any:
    """An array of the shape of `x` for the result of a ufunc that is needed while a piece is done.

    To get large pieces of memory again and again takes as long as some passes do, so a thread keeps one of each number.
    For few elements, and for more than a piece has, this is None: then the ufunc makes an array itself.
    """
    if x.size < _KEPT_FROM:
        return None
    dtype = x.dtype if dtype is None else np.dtype(dtype)
    size = x.size * dtype.itemsize
    if size > _KEPT_BYTES:
        return None
    buffer = _kept.buffers.get(number)
    if buffer is None or buffer.size < size:
        buffer = _kept.buffers[number] = np.empty(size, np.uint8)
    return buffer[:size].view(dtype).reshape(x.shape)


def as_rows(x: Any, axis: tuple[int, ...]) -> Any:
    """`x` as a matrix whose columns are the axes `axis`, if these are the last ones and nothing has to be copied."""
    first = x.ndim - len(axis)
    if axis != tuple(range(first, x.ndim)) or not x.flags.c_contiguous or not x.size:
        return None
    return x.reshape(math.prod(x.shape[:first]), -1)


def empty_rows(x: Any, rows: Any) -> tuple[Any, Any]:
    """An array like `x` to be filled, and the same memory in the shape of `rows`.

    A rule that returns the first one and not a view of it gives away its memory, which then need not be copied.
    """
    out = np.empty(x.shape, x.dtype)
    return out, out.reshape(rows.shape)


def row_products(x: Any, y: Any, buffer: Any = None) -> Any:
    """The inner products of rows, along the last axis, which is kept with length 1. `buffer` may be overwritten.

    For BLAS that is one pass, but it adds up long rows less exactly than NumPy does, and is slow to begin.
    """
    if 64 <= x.shape[-1] <= PIECE:
        return np.vecdot(x, y)[..., None]
    return np.add.reduce(np.multiply(x, y, buffer), axis=-1, keepdims=True)


def are_contiguous(*operands: Any) -> bool:
    """Are all operands arrays of one shape whose elements lie one behind the other?"""
    first = operands[0]
    return all(type(x) is np.ndarray and x.shape == first.shape and x.flags.c_contiguous for x in operands)


def elementwise_in_pieces(function: Callable[..., Any], *operands: Any) -> Any:
    """`function(*operands)` for a function that works element by element, on large arrays piece by piece.

    The operands of a function of several have one shape. A function may return a tuple of arrays.
    """
    x = operands[0]
    if np.size(x) < PIECE or not are_contiguous(*operands):
        return function(*operands)
    # A first small piece tells how many results there are, and their dtypes.
    made = function(*(each.reshape(-1)[:1] for each in operands))
    several = type(made) is tuple
    outs = tuple([np.empty(x.size, each.dtype) for each in (made if several else (made,))])

    def fill(targets: tuple[Any, ...], *parts: Any) -> None:
        results = function(*parts)
        for target, result in zip(targets, results if several else (results,), strict=True):
            target[...] = result

    fill_in_pieces(fill, outs, *operands)
    shaped = tuple([out.reshape(x.shape) for out in outs])
    return shaped if several else shaped[0]


def fill_in_pieces(fill: Callable[..., Any], outs: tuple[Any, ...], *operands: Any) -> None:
    """Call `fill(parts of outs, *parts of operands)`, piece by piece, for contiguous arrays of one size."""
    targets, sources = ([each.reshape(-1) for each in arrays] for arrays in (outs, operands))

    def work(start: int, stop: int) -> None:
        fill(tuple([each[start:stop] for each in targets]), *[each[start:stop] for each in sources])

    in_pieces(work, sources[0].size, piece=4 * PIECE // sources[0].itemsize)
