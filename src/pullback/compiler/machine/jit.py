"""From text to machine code: modules are compiled by LLVM (`engine`), unless they are known or on disk, and linked.

A module's name is a digest of its text, of the processor and of the versions, so equal modules are compiled once, and
object code that an earlier process left on disk can be used as it is (`object_cache`), without loading LLVM. A module
lives for as long as somebody holds it, or is among the last that were made: programs that compile for new shapes all
the time do not pile up code.
"""

from __future__ import annotations

import functools
import hashlib
import re
import time
from collections import deque
from collections.abc import MutableMapping
from weakref import WeakValueDictionary

import llvmlite
import numpy as np

from pullback.compiler import machine as llvm
from pullback.compiler.machine import elsewhere, headroom, objects, symbols
from pullback.compiler.machine.objects import Linked, NotLinked, link
from pullback.compiler.machine.symbols import lock as _lock
from pullback.core import threads
from pullback.core.reports import report, reported

_known: MutableMapping[str, Linked] = WeakValueDictionary()  # modules by their names
_kept: dict[str, Linked] = {}  # those that stay
_recent: deque[Linked] = deque()  # the last ones, which somebody may compile again
MOST_RECENT = 16 << 20
"""Bytes of modules that nobody holds, at most."""
_asked: set[str] = set()  # modules that another process was asked for
_answers: dict[str, bytes] = {}  # the code of those that it made, until they are linked


@functools.cache
def has_libmvec() -> bool:
    """Are there glibc's vector functions, and a processor for them?"""
    features = getattr(np._core._multiarray_umath, "__cpu_features__", {})  # type: ignore[attr-defined]
    if not features.get("AVX2", False):
        return False
    return all(map(symbols.exists, ("_ZGVdN4v_exp", "_ZGVdN4v_erf", "_ZGVdN4vv_hypot")))


# Names of modules.


@functools.cache
def target_key() -> str:
    """What object code depends on besides the text."""
    return f"{llvmlite.__version__} {_processor() or llvm.engine.processor()}"


def _processor() -> str:
    """What Linux says about the first processor; nothing where it cannot be asked."""
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

    It stays for as long as the process does.
    """
    name, module, addresses = borrow(functions, externals, wanted, effort)
    _kept[name] = module
    return name, addresses


def borrow(
    functions: list[str], externals: dict[str, str], wanted: tuple[str, ...], effort: int = 2
) -> tuple[str, Linked, list[int]]:
    """The same, with the module, which the caller holds for as long as anybody may be in its functions.

    `NAME` in the text is the name, which makes names of functions unique. Without effort there is one pass and code is
    made in the quickest way, which is right for what runs a few times.
    """
    text = assembled(functions, externals)
    with _lock:
        name = _name(text, effort)
        module = _module(name, text, effort)
        return name, module, _addresses(module, name, wanted)


def load_text(text: str, wanted: tuple[str, ...], effort: int = 2) -> list[int]:
    """The addresses of functions of a module that is given as a whole; it stays for as long as the process does."""
    with _lock:
        name = _name(text, effort)
        _kept[name] = module = _module(name, text, effort)
        return _addresses(module, name, wanted)


def _module(name: str, text: str, effort: int) -> Linked:
    module = _known.get(name)
    if module is None:
        module = _known[name] = _added(name, text, effort)
        _recent.append(module)
        while sum(each.size for each in _recent) > MOST_RECENT:
            _recent.popleft()
    return module


def _addresses(module: Linked, name: str, wanted: tuple[str, ...]) -> list[int]:
    full = [f"{name}_{each}" for each in wanted]
    return [module.get(each) or llvm.engine.address_of(each) for each in full]


def is_made(functions: list[str], externals: dict[str, str], effort: int) -> bool:
    """Is this module known already, in this process or on disk?"""
    return _is_made(_name(assembled(functions, externals), effort))


def _is_made(name: str) -> bool:
    return name in _known or objects.has(name)


def ask(functions: list[str], externals: dict[str, str], effort: int) -> str | None:
    """Have another process make a module, whose name is returned; None if it is known, or if nobody can be asked."""
    text = assembled(functions, externals)
    name = _name(text, effort)
    with _lock:
        if _is_made(name):
            return None
        if name not in _asked:
            if not elsewhere.ask(name, text.replace("NAME", name), effort):
                return None
            _asked.add(name)
    return name


def is_asked(name: str | None) -> bool:
    """Was this process the one that asked? A child after a fork has nobody who would answer."""
    return name in _asked


def is_awaited(name: str) -> bool:
    """Is another process still at work on a module that was asked for? If it comes to nothing, that is an error, and
    not a reason to do its work here."""
    with _lock:
        if name in _known or name in _answers:
            return False
        code = elsewhere.answer(name)
        if code is None:
            return True
        if not code:
            raise CompilerError(f"module {name[:8]} was not made by the other process")
        # path: good code from another process
        _answers[name] = code
        return False


class CompilerError(RuntimeError):
    """A module that was not made."""


def assembled(functions: list[str], externals: dict[str, str]) -> str:
    """The text of a module."""
    tail = ["attributes #0 = { nounwind willreturn memory(none) }", "!0 = !{}"]
    return "\n\n".join([*externals.values(), *functions, *tail]) + "\n"


def _added(name: str, text: str, effort: int) -> Linked:
    """A module that was not known."""
    began = time.perf_counter()
    code, how = objects.read(name), "from disk"
    if code is None:
        code, how = _answers.pop(name, None), "by another process"
        if code is None:
            headroom.check(text)
            with reported(f"machine code of {name[:8]}", "code"):
                code, how = llvm.engine.compiled(text.replace("NAME", name), name, effort), "compiled"
        objects.write(name, code)
    with reported(f"linking of {name[:8]}", "load"):
        module = _linked(name, code)
    report(f"module {name[:8]} {how} in {1e3 * (time.perf_counter() - began):.1f} ms")
    return module


def _linked(name: str, code: bytes) -> Linked:
    """The addresses of the functions of a module; none if LLVM has to be asked for them, which keeps it for good."""
    try:
        return link(code, symbols.address_of)
    except NotLinked as reason:
        report(f"linked by LLVM, because of {reason}")
    # path: LLVM's linker
    for name_of_libmvec in set(re.findall(rb"_ZGV\w+", code)):  # LLVM does not look there, and ends the process
        symbols.address_of(name_of_libmvec.decode())
    llvm.engine.link(code, symbols.defined())
    _kept[name] = made = Linked()
    return made


def assembly_of(text: str) -> str:
    """The machine code of a module, for people to read."""
    with _lock:
        headroom.check(text)
        return llvm.engine.assembly_of(text)


threads.after_fork(_asked.clear)
