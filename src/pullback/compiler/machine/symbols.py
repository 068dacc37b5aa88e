"""What native code can call by name: functions of the process, of glibc and of BLAS, and what was defined here."""

from __future__ import annotations

import ctypes
import functools
import os
import threading

from pullback.compiler.machine import blas_library
from pullback.core import threads

lock = threading.RLock()
"""Held while modules are made and linked."""
_defined: dict[str, int] = {}


@functools.cache
def _libraries() -> list[ctypes.CDLL]:
    """What the process has loaded, and glibc's vector functions where there are any."""
    found = [ctypes.CDLL(None)]
    try:
        found.append(ctypes.CDLL("libmvec.so.1"))
    except OSError:
        pass  # another system
    return found


def define(name: str, address: int) -> None:
    """Let native code call a function by name."""
    _defined[name] = address


def defined() -> dict[str, int]:
    """The addresses that were defined, or found."""
    return {**blas_library.addresses(), **_defined}


def exists(name: str) -> bool:
    """Can native code call a function of this name?"""
    return address_of(name) != 0


def address_of(name: str) -> int:
    """The address of a function that is not in the module itself, 0 if it is nowhere."""
    address = _defined.get(name)
    if address is None:
        address = next((_in_library(each, name) for each in _libraries() if hasattr(each, name)), 0)
        address = address or blas_library.addresses().get(name, 0)
        if address:
            _defined[name] = address
    return address


def _in_library(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


# A child process cannot compile if another thread was compiling when it was made: LLVM's locks stay locked there.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release)
threads.after_fork(lock.release)
