"""Arrays in memory that was used before: `reusing(ufunc)` calls a ufunc whose new arrays do not need fresh pages.

The first write to fresh memory costs more than adding up two arrays, since the system has to find and to clear every
page. NumPy lets an array have an allocator of its own, which is that of the context in which it is made; ours keeps the
buffers of large arrays that were freed for the next ones. It is in force only while such a function is called, so no
other array of the program ever has it. What waits is bounded: a sixteenth of the memory that the process may use, and
no more than `MOST_BYTES`.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pullback.compiler.llvm import jit, layouts
from pullback.compiler.llvm.buffers_text import BUFFERS, CALLS, EXPORTED, LIMIT, TOTAL

MOST_BYTES = 512 << 20
"""Bytes that wait for the next array, at most."""
_SET_HANDLER = 304  # the place of `PyDataMem_SetHandler` in NumPy's table of functions
_FASTCALL = 0x80
_kept: list[Any] = []


class _Handler(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("context", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p), ("calloc", ctypes.c_void_p), ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    )  # fmt: skip


class _MethodDef(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("meth", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


class _Known(np.ndarray):
    """The table of a function, which keeps alive what it points to."""

    holds: Any = None


def reusing(ufunc: np.ufunc) -> Callable[..., Any]:
    """A function of operands by position that calls the ufunc, whose new arrays lie in memory that was used before.

    The ufunc itself where that is not possible.
    """
    if not layouts.are_as_expected():
        return ufunc
    addresses = _addresses()
    found = {**_python_functions(), "ufunc": id(ufunc), "capsule": id(_capsule()), "set": _set_handler()}
    known = np.array([found[name] for name in CALLS], np.int64).view(_Known)
    known.holds = ufunc
    method = _MethodDef(ufunc.__name__.encode(), addresses["within"], _FASTCALL, b"A ufunc of arrays by position.")
    _kept.append(method)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = make(ctypes.addressof(method), known, None)
    return function


def waiting_bytes() -> int:
    """The bytes that wait for the next array."""
    return int(_field(TOTAL).value)


def set_limit(limit: int) -> None:
    """Let so many bytes wait from now on; what is waiting goes."""
    _field(LIMIT).value = limit
    release()


def release() -> None:
    """Give back the memory that waits."""
    ctypes.PYFUNCTYPE(None)(_addresses()["clear"])()  # which keeps Python's lock


@functools.cache
def _addresses() -> dict[str, int]:
    found = dict(zip(EXPORTED, jit.load(BUFFERS, {}, EXPORTED)[1], strict=True))
    memory = ctypes.CFUNCTYPE(ctypes.c_void_p)(found["memory"])()
    ctypes.c_int64.from_address(memory + 8 * LIMIT).value = _default_limit()
    return found | {"memory": memory}


def _field(place: int) -> Any:
    return ctypes.c_int64.from_address(_addresses()["memory"] + 8 * place)


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


@functools.cache
def _capsule() -> Any:
    """The allocator as NumPy wants it."""
    addresses = _addresses()
    handler = _Handler(b"pullback", 1, None, *(addresses[name] for name in ("malloc", "calloc", "realloc", "free")))
    name = ctypes.create_string_buffer(b"mem_handler")
    _kept.append((handler, name))
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return new(ctypes.addressof(handler), ctypes.addressof(name), None)


@functools.cache
def _set_handler() -> int:
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))[_SET_HANDLER] or 0


@functools.cache
def _python_functions() -> dict[str, int]:
    names = [name for name in CALLS if name.startswith("Py")]
    return {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0 for name in names}
