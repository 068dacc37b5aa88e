"""Object code put into memory and linked without LLVM, which takes longer to load than most modules to compile.

Our modules need little of what linkers do: sections are copied next to each other, and places that hold addresses are
filled in. That is done here for ELF files of x86-64 with what LLVM's large code model uses. Whatever else is in a file
raises `NotLinked`, before anything of it could run, and LLVM's own linker takes it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Callable
from typing import NamedTuple

from pullback.core import disk as kept_files

_HEADER = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian
_RELOCATABLE, _X86_64 = 1, 62
_BYTES, _SYMBOLS, _ADDENDS, _ZEROS, _UNWINDING = 1, 2, 4, 8, 0x70000001  # kinds of sections
_WRITEABLE, _IN_MEMORY, _THREAD_LOCAL = 1, 2, 0x400  # flags of sections
_OF_NO_SECTION, _FROM_HERE_ON_SPECIAL = 0, 0xFF00
_ABSOLUTE, _RELATIVE = 1, 24  # kinds of places: 64 bits for an address, or for how far it is away


class NotLinked(Exception):
    """There is something in an object file that only LLVM knows how to link."""


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    start: int
    length: int
    link: int
    info: int
    alignment: int
    entry: int

    @property
    def is_loaded(self) -> bool:
        """Frames are for exceptions, of which there are none."""
        return bool(self.flags & _IN_MEMORY) and self.length > 0 and self.kind != _UNWINDING


class Linked(dict[str, int]):
    """The addresses of a module's functions and variables, by name. Its memory is given back when this goes: who calls
    a function holds it for so long."""

    base = size = 0

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if self.size and not is_finalizing():  # when the process ends, others may still be running
            _libc.munmap(ctypes.c_void_p(self.base), ctypes.c_size_t(self.size))


def link(code: bytes, address_of: Callable[[str], int]) -> Linked:
    """A module in memory; `address_of` gives the addresses of what others define, or 0."""
    sections = _sections(code)
    offsets, start_of_data, size = _layout(sections)
    linked = Linked()
    base = linked.base = _memory(size)
    linked.size = max(size, 1)
    places = [None if offset is None else base + offset for offset in offsets]
    for section, place in zip(sections, places, strict=True):
        if place is not None and section.kind == _BYTES:
            ctypes.memmove(place, code[section.start : section.start + section.length], section.length)
    names, addresses = _symbols(code, sections, places, address_of)
    for section in sections:
        target = places[section.info] if section.kind == _ADDENDS else None
        if target is not None:
            _fill_in(code, section, target, sections[section.info].length, addresses)
    _make_executable(base, start_of_data)
    # path: own linker
    linked.update(names)
    return linked


def _sections(code: bytes) -> list[_Section]:
    if code[:7] != _HEADER or struct.unpack_from("<HH", code, 16) != (_RELOCATABLE, _X86_64):
        raise NotLinked("not an ELF file for x86-64")
    (start,), (count,) = struct.unpack_from("<Q", code, 0x28), struct.unpack_from("<H", code, 0x3C)
    found = [_Section(*each) for each in struct.iter_unpack("<IIQQQQIIQQ", code[start : start + 64 * count])]
    for section in found:
        if section.is_loaded and (section.kind not in (_BYTES, _ZEROS) or section.flags & _THREAD_LOCAL):
            raise NotLinked(f"a section of kind {section.kind} with flags {section.flags:#x}")
    return found


def _layout(sections: list[_Section]) -> tuple[list[int | None], int, int]:
    """Where each section goes, where pages begin that are written to, and the size of all."""
    offsets: list[int | None] = [None] * len(sections)
    end, starts = 0, []
    for flag in (0, _WRITEABLE):
        end = _up(end, mmap.PAGESIZE)
        starts.append(end)
        for number, section in enumerate(sections):
            if section.is_loaded and section.flags & _WRITEABLE == flag:
                offsets[number] = start = _up(end, max(section.alignment, 1))
                end = start + section.length
    return offsets, starts[1], end


def _symbols(
    code: bytes, sections: list[_Section], places: list[int | None], address_of: Callable[[str], int]
) -> tuple[dict[str, int], list[int | None]]:
    """The addresses of what the module defines by name, and those of all symbols by number."""
    names: dict[str, int] = {}
    addresses: list[int | None] = []
    table = next((section for section in sections if section.kind == _SYMBOLS), None)
    if table is None:
        return names, addresses
    text = sections[table.link].start
    for start, _, _, number, value, _ in struct.iter_unpack("<IBBHQQ", code[table.start : table.start + table.length]):
        name = code[text + start : code.index(b"\0", text + start)].decode()
        if number == _OF_NO_SECTION:
            addresses.append((address_of(name) or None) if name else None)
        elif number >= _FROM_HERE_ON_SPECIAL or (place := places[number]) is None:
            addresses.append(None)
        else:
            addresses.append(place + value)
            if name:
                names[name] = place + value
    return names, addresses


def _fill_in(code: bytes, section: _Section, target: int, length: int, addresses: list[int | None]) -> None:
    """Write addresses to where a section wants them, in another one of this length."""
    for offset, what, addend in struct.iter_unpack("<QQq", code[section.start : section.start + section.length]):
        kind, address = what & 0xFFFFFFFF, addresses[what >> 32]
        if address is None or kind not in (_ABSOLUTE, _RELATIVE) or offset + 8 > length:
            raise NotLinked(f"a place of kind {kind} for {'something unknown' if address is None else 'an address'}")
        value = address + addend - (target + offset if kind == _RELATIVE else 0)
        ctypes.c_uint64.from_address(target + offset).value = value


def _up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple


# Memory.

_libc = ctypes.CDLL(None)


def _memory(size: int) -> int:
    function = _libc.mmap
    function.restype, function.argtypes = ctypes.c_void_p, [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long
    ]  # fmt: skip
    readable = mmap.PROT_READ | mmap.PROT_WRITE
    base = function(None, max(size, 1), readable, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if base is None or base == ctypes.c_void_p(-1).value:
        raise MemoryError("the system gives no memory for native code")  # LLVM's linker would end the process
    return int(base)


def _make_executable(base: int, size: int) -> None:
    """Nothing is executable while it is written to."""
    if size and _libc.mprotect(ctypes.c_void_p(base), ctypes.c_size_t(size), mmap.PROT_READ | mmap.PROT_EXEC):
        raise MemoryError("the system gives no executable memory for native code")


# Object code on disk: a process that needs a module which an earlier one has compiled loads it without running LLVM.
#
# Nothing is ever unpickled, and nothing is taken that is not sealed (`core/disk.py`). The folder belongs to the
# user alone; without one, nothing is kept. `pb.aot.set_cache_dir` chooses it.

MOST_BYTES = 256 << 20
"""When files take more than this together, those that were used longest ago go."""
_folder: str | os.PathLike[str] | None = None


def set_folder(path: str | os.PathLike[str] | None) -> None:
    """Keep object code in this folder, or nowhere."""
    global _folder
    _folder = path


def has(name: str) -> bool:
    """Is there a file for a module? Whether it can be used shows when it is read."""
    return _folder is not None and kept_files.has(_folder, f"{name}.o")


def read(name: str) -> bytes | None:
    """The code of a module, if it is there and whole."""
    return None if _folder is None else kept_files.read(_folder, f"{name}.o", MOST_BYTES)


def write(name: str, code: bytes) -> None:
    """Keep the code of a module; if that fails, it is not kept."""
    if _folder is not None and kept_files.keep(_folder, f"{name}.o", code):
        kept_files.shrink(_folder, ".o", MOST_BYTES, f"{name}.o", len(code))
