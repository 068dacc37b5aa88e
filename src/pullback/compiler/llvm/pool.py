"""The threads of native code: started when a function first has work for them, and never stopped.

They run nothing but native loops and never touch the interpreter. A child process after a fork has none of them, works
alone, and starts its own when it compiles something. Where there is no futex, loops are not shared.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
import threading
from typing import Any

from pullback.compiler import threads
from pullback.compiler.llvm import jit
from pullback.compiler.llvm.pool_text import BUSY, FUTEX, LIMIT, SLEEPERS, STATE, pool_text

_STACK = 1 << 22
"""Bytes of the stack of a thread, on which the memory of a tile lies."""
_lock = threading.Lock()
_started = 0  # threads of this process, besides the one that asks


def is_possible() -> bool:
    """Is this a system on which threads can wait for work?"""
    return sys.platform == "linux" and platform.machine() in FUTEX


@functools.cache
def _addresses() -> tuple[int, int, int]:
    """`parallel`, `worker`, and the memory of the pool."""
    _, (parallel, worker, memory) = jit.load([pool_text()], {}, ("parallel", "worker", "memory"))
    jit.define_symbol("pullback_parallel", parallel)
    return parallel, worker, ctypes.CFUNCTYPE(ctypes.c_void_p)(memory)()


def _field(offset: int) -> Any:
    return ctypes.c_int64.from_address(_addresses()[2] + offset)


def prepare() -> None:
    """Have as many threads as may be used, and let native code know where they are."""
    wanted = threads.get_num_threads()
    with _lock:
        _addresses()
        _start(wanted - 1)
        _field(LIMIT).value = wanted


def _start(count: int) -> None:
    global _started
    libc = ctypes.CDLL(None)
    attributes = (ctypes.c_long * 32)()  # more than any system's
    libc.pthread_attr_init(attributes)
    libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(_STACK))
    while _started < count:
        thread = ctypes.c_ulong()
        number = ctypes.c_void_p(_started + 1)
        if libc.pthread_create(ctypes.byref(thread), attributes, ctypes.c_void_p(_addresses()[1]), number):
            return  # no more threads than the system gives
        libc.pthread_detach(thread)
        _started += 1


def _changed(count: int) -> None:
    if _addresses.cache_info().currsize:
        prepare()


def _after_fork() -> None:
    """The child has no threads, and nobody is at work."""
    global _started, _lock
    _started, _lock = 0, threading.Lock()
    if _addresses.cache_info().currsize:
        for offset in (STATE, BUSY, SLEEPERS, LIMIT):
            _field(offset).value = 0


threads.on_change(_changed)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
