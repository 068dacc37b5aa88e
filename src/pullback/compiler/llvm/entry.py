"""The C entry of segments: a function in the way of CPython's `METH_FASTCALL`, which the JIT compiles once.

`entry_text` holds its LLVM text. It checks type, dtype, number of axes, alignment, lengths and strides of every array,
makes the tuple of results and their arrays, finds memory for the arena, lets go of the interpreter's lock if there is
much to do, and calls the segment's `run`. Whatever is not as it was compiled for goes to the slow way, a function of
Python. What to expect, and where everything is, stands in a table of integers, which is the function's `self`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.llvm import jit, layouts
from pullback.compiler.llvm.entry_text import ANY, ENTRY, FIELDS, STACK_ARENA
from pullback.compiler.llvm.machine_code import GOOD, QUICK, MachineCode, on_first_improvement
from pullback.compiler.llvm.native_call import Interface
from pullback.compiler.llvm.slots import offset_of
from pullback.graph.types import ArrayType

RELEASES_FROM = 20_000
"""Estimated nanoseconds of work from which on the interpreter's lock is released."""
_FASTCALL = 0x80
_kept: list[Any] = []  # definitions of methods: a function may outlive whatever made it


class Wrapper(NamedTuple):
    """What results are wrapped in: instances of a class, the array in one slot, and objects in others. A result without
    any such objects stays an array."""

    kind: type
    data: str
    fields: tuple[dict[str, Any], ...]  # for every result

    @property
    def is_single(self) -> bool:
        """Is there one result, and is it wrapped?"""
        return len(self.fields) == 1 and bool(self.fields[0])


class _MethodDef(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("meth", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


@functools.cache
def _entry_address(effort: int) -> int:
    return jit.load([ENTRY], {}, ("entry",), effort)[1][0]


def _improve() -> None:
    """From now on all functions are called by a good entry: CPython reads its address at every call."""
    for method in _kept:
        method.meth = _entry_address(GOOD)


on_first_improvement(_improve)


def entry_function(
    interface: Interface, code: MachineCode, slow: Callable[..., Any], flags: int = 0, wrapper: Wrapper | None = None
) -> Callable[..., Any]:
    """A builtin function of arrays that returns a tuple of arrays, or what `slow` returns for arrays that lie in memory
    in another way, or do not have these flags. With a `wrapper` results are instances of its class, and a single one is
    returned without a tuple."""
    arena = _Arena()
    table = _table(interface, code, slow, arena, flags, wrapper) + ([] if wrapper is None else _wrap_records(wrapper))
    known = np.array(table, np.int64).view(_Known)
    known.holds = (slow, code, arena, interface, wrapper)
    effort = GOOD if jit.is_made([ENTRY], {}, GOOD) else QUICK
    function, method = builtin_function(b"compiled", _entry_address(effort), known)
    _kept.append(method)
    return function


def builtin_function(name: bytes, address: int, known: Any) -> tuple[Callable[..., Any], _MethodDef]:
    """The native function at an address as one of Python, whose `self` is `known`; and its definition, which must be
    kept for as long as anybody may call it."""
    method = _MethodDef(name, address, _FASTCALL, b"Native code.")
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(method), known, None), method


def _table(
    interface: Interface, code: MachineCode, slow: Any, arena: _Arena, flags: int, wrapper: Wrapper | None
) -> list[int]:
    """The fields, then the addresses of constants, then a record for every input and every result."""
    inputs, results, constants, arena_bytes, work = interface
    kind, new = layouts.numpy_functions()
    on_stack = arena_bytes if arena_bytes <= STACK_ARENA else 0
    fields = {
        "type": kind, "new": new, "slow": id(slow), "slot": arena.address, "malloc": _of_libc("malloc"),
        "free": _of_libc("free"), "code": code.place, "inputs": len(inputs), "constants": len(constants),
        "results": len(results), "arena": arena_bytes - on_stack, "stack": on_stack + 64,
        "releases": int(work >= RELEASES_FROM), "wrapper": 0 if wrapper is None else id(wrapper.kind),
        "array_slot": 0 if wrapper is None else offset_of(wrapper.kind, wrapper.data),
        "single": int(wrapper is not None and wrapper.is_single), **layouts.python_functions(),
    }  # fmt: skip
    table = [fields[name] for name in FIELDS] + [x.ctypes.data for x in constants]
    for type_ in inputs:
        table += _input_record(type_, flags)
    for type_ in results:
        table += _result_record(type_)
    return table


def _input_record(type_: ArrayType, flags: int) -> list[int]:
    flags |= layouts.ALIGNED | (layouts.C_CONTIGUOUS if type_.strides is None else 0)
    strides = [ANY] * type_.ndim
    if type_.strides is not None:
        strides = [step if length > 1 else ANY for step, length in zip(type_.strides, type_.shape, strict=True)]
    return [id(type_.dtype), type_.ndim, flags, *type_.shape, *strides]


def _result_record(type_: ArrayType) -> list[int]:
    return [id(type_.dtype), type_.ndim, int(type_.strides is not None), *type_.shape, *type_.byte_strides]


def _wrap_records(wrapper: Wrapper) -> list[int]:
    return [
        number for fields in wrapper.fields
        for number in (len(fields), *(part for name, value in fields.items()
                                      for part in (offset_of(wrapper.kind, name), id(value))))
    ]  # fmt: skip


class _Known(np.ndarray):
    """The table, which keeps alive what it points to."""

    holds: Any = None


class _Arena:
    """Memory that waits for the next call; it goes with the function."""

    def __init__(self) -> None:
        self._slot = ctypes.c_void_p(None)
        self.address = ctypes.addressof(self._slot)

    def __del__(self) -> None:
        if self._slot.value:
            _free(self._slot.value)


def _of_libc(name: str) -> int:
    address = ctypes.cast(getattr(_libc, name), ctypes.c_void_p).value
    assert address is not None
    return address


_libc = ctypes.CDLL(None)
_free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", _libc))
