"""The threads of native code: started when a function first has work for them, and never stopped.

They run nothing but native loops and never touch the interpreter (`c/pool.c`). A child process after a fork has none of
them, works alone, and starts its own when it compiles something. Where there is no futex, loops are not shared.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
import threading
from typing import Any, NamedTuple

from pullback.compiler.machine import symbols
from pullback.compiler.machine.blas_library import GET_THREADS, SET_THREADS, addresses
from pullback.compiler.machine.shipped import load_c
from pullback.core import threads

_lock = threading.Lock()
_started = 0  # threads of this process, besides the one that asks


def is_possible() -> bool:
    """Is this a system on which threads can wait for work?"""
    return sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")


class _Pool(NamedTuple):
    parallel: int
    start: Any
    limit: Any
    forget: Any


@functools.cache
def _pool() -> _Pool:
    parallel, start, limit, forget = load_c("pool", ("parallel", "start", "limit", "forget"))
    symbols.define("pullback_parallel", parallel)
    number = ctypes.c_int64
    return _Pool(
        parallel, ctypes.CFUNCTYPE(number, number)(start), ctypes.CFUNCTYPE(None, number)(limit),
        ctypes.CFUNCTYPE(None)(forget),
    )  # fmt: skip


def prepare() -> int:
    """Have as many threads as may be used, and let native code know where they are: the address of `parallel`."""
    global _started
    wanted = threads.get_num_threads()
    with _lock:
        pool = _pool()
        while _started < wanted - 1 and pool.start(_started + 1) == 0:  # no more than the system gives
            _started += 1
        pool.limit(wanted)
    return pool.parallel


def _changed(count: int) -> None:
    if _pool.cache_info().currsize:
        prepare()


def _after_fork() -> None:
    """The child has no threads, and nobody is at work."""
    global _started, _lock
    _started, _lock = 0, threading.Lock()
    if _pool.cache_info().currsize:
        _pool().forget()


threads.on_change(_changed)
threads.after_fork(_after_fork)


# BLAS told to use one thread while native code runs (`c/blas.c`).

ENTER, LEAVE = "pullback_blas_enter", "pullback_blas_leave"


@functools.cache
def can_guard() -> bool:
    """Can BLAS be told how many threads to use? Then native code knows the functions that do it."""
    if SET_THREADS not in addresses() or GET_THREADS not in addresses():
        return False
    enter, leave, forget = load_c("blas", ("enter", "leave", "forget"))
    symbols.define(ENTER, enter)
    symbols.define(LEAVE, leave)
    threads.after_fork(ctypes.CFUNCTYPE(None)(forget))
    return True
