"""The functions of `c/*.c`: from the object code that the package brings, or from its text, by LLVM.

`make native` writes both. Object code is there for Linux on x86-64, which `objects.py` can link, so neither LLVM nor
llvmlite is needed for it.
"""

from __future__ import annotations

import functools
import os
import platform
import sys

from pullback.compiler import machine
from pullback.compiler.machine import structs, symbols
from pullback.compiler.machine.objects import Linked, NotLinked, link


@functools.cache
def load_c(file: str, wanted: tuple[str, ...]) -> list[int]:
    """The addresses of functions of `c/{file}.c`, which stay for as long as the process does."""
    symbols.define(structs.NUMPY, structs.place_of_numpy_table())
    with symbols.lock:
        module = _linked(file)
        if module is None:
            return machine.jit.load_text(_text_of(file), wanted)
        return [module[f"NAME_{each}"] for each in wanted]


@functools.cache
def _linked(file: str) -> Linked | None:
    """The object code of a file in memory; None if there is none for this machine."""
    code = _code_of(file)
    if code is None:
        return None
    # path: object code that is shipped
    try:
        return link(code, symbols.address_of)
    except NotLinked:  # something is missing here that is there on other systems
        return None


def _code_of(file: str) -> bytes | None:
    if sys.platform != "linux" or sys.maxsize < 1 << 32:  # a Python of 32 bits may run there as well
        return None
    path = os.path.join(os.path.dirname(__file__), "o", f"{file}.{platform.machine()}.o")
    try:
        with open(path, "rb") as opened:
            return opened.read()
    except FileNotFoundError:
        return None


def _text_of(file: str) -> str:
    """What `make native` made of a file in C: one text for all machines, or one for each."""
    for name in (f"{file}.ll", f"{file}.{platform.machine()}.ll"):
        path = os.path.join(os.path.dirname(__file__), "ir", name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as opened:
                return opened.read()
    raise OSError(f"there is no {file}.c for {platform.machine()}")
