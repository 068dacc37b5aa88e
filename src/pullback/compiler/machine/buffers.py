"""Arrays in memory that was used before: `reusing(ufunc)` calls a ufunc whose new arrays do not need fresh pages.

The first write to fresh memory costs more than adding up two arrays, since the system has to find and to clear every
page. NumPy lets an array have an allocator of its own, which is that of the context in which it is made; ours keeps the
buffers of large arrays that were freed for the next ones. It is in force only while such a function is called, so no
other array of the program ever has it (`c/buffers.c`). What waits is bounded: a sixteenth of the memory that the
process may use, and no more than `MOST_BYTES`.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.machine import structs
from pullback.compiler.machine.shipped import load_c

MOST_BYTES = 512 << 20
"""Bytes that wait for the next array, at most."""
FIELDS = ("ufunc", "allocator")
"""`struct buffers`."""


def reusing(ufunc: np.ufunc) -> Callable[..., Any]:
    """A function of operands by position that calls the ufunc, whose new arrays lie in memory that was used before.

    The ufunc itself where that is not possible.
    """
    if not structs.are_as_expected():
        return ufunc
    made = _buffers()
    return structs.builtin_function(made.within, [id(ufunc), id(made.allocator)], ufunc, ufunc.__name__)


def waiting_bytes() -> int:
    """The bytes that wait for the next array."""
    return int(_buffers().waiting())


def set_limit(limit: int) -> None:
    """Let so many bytes wait from now on; what is waiting goes."""
    _buffers().limit(limit)


def release() -> None:
    """Give back the memory that waits."""
    _buffers().release()


class _Buffers(NamedTuple):
    within: int
    allocator: Any  # as NumPy wants it
    waiting: Any
    limit: Any
    release: Any


@functools.cache
def _buffers() -> _Buffers:
    within, allocator, waiting, limit, release = load_c("buffers", _Buffers._fields)
    function = ctypes.PYFUNCTYPE  # which keeps Python's lock
    made = _Buffers(
        within, function(ctypes.py_object)(allocator)(), function(ctypes.c_int64)(waiting),
        function(None, ctypes.c_int64)(limit), function(None)(release),
    )  # fmt: skip
    made.limit(_default_limit())
    return made


def _default_limit() -> int:
    try:
        usable = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            usable = min(usable, int((Path("/sys/fs/cgroup") / name).read_text()))
        except (OSError, ValueError):  # there is no such file, or it says "max"
            continue
    return min(MOST_BYTES, usable // 16)
