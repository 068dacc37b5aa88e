"""From text to machine code: modules are compiled by LLVM (`engine`), unless they are known or on disk, and linked.

A module's name is a digest of its text, of the processor and of the versions, so equal modules are compiled once, and
object code that an earlier process left on disk can be used as it is (`object_cache`), without loading LLVM.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import threading
import time

import llvmlite
import numpy as np

from pullback.compiler import llvm, object_cache
from pullback.compiler.llvm import blas_library
from pullback.compiler.llvm.object_code import NotLinked, link
from pullback.core.reports import report

_lock = threading.RLock()
_known: dict[str, dict[str, int]] = {}  # addresses of functions, by the names of modules
_symbols: dict[str, int] = {}  # what native code calls that is in no library


@functools.cache
def has_libmvec() -> bool:
    """Are there glibc's vector functions, and a processor for them?"""
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
    if not features.get("AVX2", False):
        return False
    return all(map(has_symbol, ("_ZGVdN4v_exp", "_ZGVdN4v_erf", "_ZGVdN4vv_hypot")))


# What native code can call.


@functools.cache
def _libraries() -> list[ctypes.CDLL]:
    """What the process has loaded, and glibc's vector functions where there are any."""
    found = [ctypes.CDLL(None)]
    try:
        found.append(ctypes.CDLL("libmvec.so.1"))
    except OSError:
        pass  # another system
    return found


def define_symbol(name: str, address: int) -> None:
    """Let native code call a function by name."""
    _symbols[name] = address


def has_symbol(name: str) -> bool:
    """Can native code call a function of this name?"""
    return _address_of(name) != 0


def _address_of(name: str) -> int:
    """The address of a function that is not in the module itself, 0 if it is nowhere."""
    address = _symbols.get(name) or blas_library.addresses().get(name)
    if address is None:
        address = next((_in_library(each, name) for each in _libraries() if hasattr(each, name)), 0)
        if address:
            _symbols[name] = address
    return address


def _in_library(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


# Names of modules.


@functools.cache
def target_key() -> str:
    """What object code depends on besides the text."""
    return f"{llvmlite.__version__} {_processor() or llvm.engine.processor()}"


def _processor() -> str:
    """What Linux says about the first processor; nothing where it can not be asked."""
    wanted = ("vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU ")
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            first = file.read(1 << 14).partition("\n\n")[0]
    except (OSError, ValueError):
        return ""
    return "\n".join(line for line in first.splitlines() if line.startswith(wanted))


def _name(text: str, effort: int) -> str:
    """The name of a module with this text on this machine."""
    return "pb" + hashlib.sha256(f"{target_key()}\n{effort}\n{text}".encode()).hexdigest()[:32]


# Modules.


def load(
    functions: list[str], externals: dict[str, str], wanted: tuple[str, ...], effort: int = 2
) -> tuple[str, list[int]]:
    """The name of the module with these functions, and the addresses of those that are wanted.

    `NAME` in the text is the name, which makes names of functions unique. Without effort there is one pass and code is
    made in the quickest way, which is right for what runs a few times.
    """
    text = assembled(functions, externals)
    with _lock:
        name = _name(text, effort)
        if name not in _known:
            _known[name] = _added(name, text, effort)
        full = [f"{name}_{each}" for each in wanted]
        return name, [_known[name].get(each) or llvm.engine.address_of(each) for each in full]


def is_made(functions: list[str], externals: dict[str, str], effort: int) -> bool:
    """Is this module known already, in this process or on disk?"""
    name = _name(assembled(functions, externals), effort)
    return name in _known or object_cache.has(name)


def assembled(functions: list[str], externals: dict[str, str]) -> str:
    """The text of a module."""
    tail = ["attributes #0 = { nounwind willreturn memory(none) }", "!0 = !{}"]
    return "\n\n".join([*externals.values(), *functions, *tail]) + "\n"


def _added(name: str, text: str, effort: int) -> dict[str, int]:
    """The addresses of the functions of a module that was not known; none if LLVM has to be asked for them."""
    began = time.perf_counter()
    code = object_cache.read(name)
    from_disk = code is not None
    if code is None:
        code = llvm.engine.compiled(text.replace("NAME", name), name, effort)
        object_cache.write(name, code)
    addresses = _linked(code)
    how = "from disk" if from_disk else "compiled"
    report(f"module {name[:8]} {how} in {1e3 * (time.perf_counter() - began):.1f} ms")
    return addresses


def _linked(code: bytes) -> dict[str, int]:
    try:
        return link(code, _address_of)
    except NotLinked as reason:
        report(f"linked by LLVM, because of {reason}")
    llvm.engine.link(code, {**blas_library.addresses(), **_symbols})
    return {}


def assembly_of(text: str) -> str:
    """The machine code of a module, for people to read."""
    with _lock:
        return llvm.engine.assembly_of(text)


if hasattr(os, "register_at_fork"):
    # A child process can not compile if another thread was compiling when it was made: LLVM's locks stay locked there.
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
