"""How segments are called: by an entry in C (`c/entry.c`), or through ctypes.

The entry checks every array, makes those of the results, and calls the segment's `run`. Whatever is not as it was
compiled for goes to the slow way, a function of Python. What to expect, and where everything is, stands in a table of
integers, which is the function's `self`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.machine import jit, structs
from pullback.compiler.machine.shipped import load_c
from pullback.compiler.machine.structs import offset_of
from pullback.compiler.numpy_source.runtime import copy_in_layout
from pullback.core.reports import report
from pullback.declare.loops import MESSAGES
from pullback.errors import AutogradError
from pullback.graph.ir import ArrayType, empty_like_type

# `MachineCode`: the `run` of a segment, made quickly at first, and made well once it has been called often enough.
#
# LLVM needs two to four times as long for good code as for any code, and most functions that are compiled are called
# a few times. So a segment starts with quick code. Calls count down; when as much time went into them as good code
# takes to make, it is made, and put in the place of the other. Both do the same operations in the same order, so
# results are equal to the bit. What takes long, or has been made well before (by this process or in the cache on disk),
# starts with good code. Another process makes it (`elsewhere`), unless LLVM has little to do, and calls go on with
# quick code.

Text = tuple[list[str], dict[str, str]]  # functions, and declarations of what they call, by name
QUICK, GOOD = 0, 2
_WORTH = 5_000_000
"""Estimated nanoseconds of calls after which good code is made: about what it costs."""
_MOST_CALLS = 200  # estimates of small functions say little, since the call itself is most of it
_LARGE = 1 << 12
"""Characters of text from which on good code is made by another process. LLVM takes about 15 ms for so many."""
_NANOSECONDS_OF_TEXT = 1000  # of making good code, for each character, at least
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


class MachineCode:
    """Where the code of a segment is: `place` is the address of two numbers, the code's own address and the number of
    calls that are left until it is made anew."""

    def __init__(self, text: Text, effort: int | None, work: float) -> None:
        self.text = text
        calls = 0 if effort is not None else _calls_with_quick_code(text, work)
        self.is_quick = calls > 0
        self._modules: list[Any] = []
        self._awaited: str | None = None  # the module that another process makes
        self._calls = calls  # until good code is made, and from one look for it to the next
        self._memory = (ctypes.c_int64 * 2)(0, calls)
        self.place = ctypes.addressof(self._memory)
        self._load(QUICK if self.is_quick else GOOD if effort is None else effort)

    def _load(self, effort: int) -> None:
        _, module, (address,) = jit.borrow(*self.text, ("run",), effort)
        self._modules.append(module)  # both stay: others may be in the first when the second takes its place
        self.run: Callable[[int, int], Any] = _RUN(address)
        self._memory[0] = address

    def count(self) -> None:
        """A call that did not come by the C entry, which counts those that do."""
        self._memory[1] -= 1

    def improve_if_due(self) -> None:
        """Make good code if the number of calls says so."""
        if self.is_quick and self._memory[1] <= 0:
            self.improve()

    def finish(self) -> None:
        """Have good code now."""
        if self.is_quick:
            self.is_quick = False
            self._load(GOOD)

    def improve(self) -> None:
        """Make good code, or see whether it has been made. If that fails, the other one is right as well."""
        self.is_quick = False
        try:
            if _size(self.text) >= _LARGE and not jit.is_asked(self._awaited):
                self._awaited = jit.ask(*self.text, GOOD)
            if self._awaited is not None and jit.is_awaited(self._awaited):
                self.is_quick, self._memory[1] = True, self._calls
                return
            self._load(GOOD)
            # path: good code later
        except Exception as error:
            report(f"a module stays as it is: {error}")


def _calls_with_quick_code(text: Text, work: float) -> int:
    """How many calls quick code is made for; 0 for none."""
    size = _size(text)
    worth = max(_WORTH, size * _NANOSECONDS_OF_TEXT if size >= _LARGE else 0)
    if 2 * work > worth or jit.is_made(*text, GOOD):
        # path: good code at once
        return 0
    # path: quick code
    return max(1, min(_MOST_CALLS, int(_WORTH / max(work, 1.0))))


def _size(text: Text) -> int:
    return sum(map(len, text[0]))


# Calling a compiled segment from Python without anything but ctypes: the way that works everywhere.
#
# It is the slow way of the C entry as well: arrays that do not lie in memory as the graph says are copied into that
# layout here, and what cannot be made to fit is refused.

class Interface(NamedTuple):
    """What a native function is called with, what it knows, and what it makes."""

    inputs: tuple[ArrayType, ...]
    results: tuple[ArrayType, ...]
    constants: tuple[Any, ...]
    arena_bytes: int
    work: float  # estimated nanoseconds


def fitting(x: Any, type_: ArrayType, number: int) -> Any:
    """An array with the dtype, the shape and the layout of a type."""
    x = np.asarray(x)
    if x.dtype != type_.dtype and not x.dtype.isnative and x.dtype.newbyteorder("=") == type_.dtype:
        x = x.astype(type_.dtype)  # NumPy keeps the byte order in some reductions
    if x.dtype != type_.dtype or x.shape != type_.shape:
        raise AutogradError(
            "GRAPH_INPUTS",
            f"input {number} is {x.dtype}{list(x.shape)}, and {type_.dtype}{list(type_.shape)} was compiled for",
            why="native code is made for arrays of one dtype and shape",
        )
    lies_well = x.flags.aligned and x.dtype.isnative
    if lies_well and all(a == b for a, b, n in zip(x.strides, type_.byte_strides, x.shape, strict=True) if n > 1):
        return x
    return copy_in_layout(x, type_.byte_strides)


def new_result(type_: ArrayType) -> Any:
    """An array for a result."""
    return empty_like_type(type_)


def new_arena(nbytes: int) -> Any:
    """Memory for the arena."""
    return np.empty(nbytes, np.uint8)


OTHER_ERRORS = 255
"""The low byte of what a native function returns if it is not about an index; above is the place of the message."""


def error_of(wrong: int) -> Exception:
    """What a number that a native function returned says."""
    if wrong & 255 == OTHER_ERRORS:
        return np.linalg.LinAlgError(MESSAGES[wrong >> 8])
    return IndexError(f"an index is out of bounds for axis {(wrong & 255) - 1} with size {wrong >> 8}")


def portable_function(interface: Interface, code: MachineCode) -> Callable[..., tuple[Any, ...]]:
    """The native function as one of arrays that returns a tuple. It owns what it points to."""
    types = interface.inputs
    known = [x.ctypes.data for x in interface.constants]

    def call(*arrays: Any) -> tuple[Any, ...]:
        code.count()
        code.improve_if_due()
        if len(arrays) != len(types):
            raise AutogradError(
                "GRAPH_INPUTS",
                f"the compiled function takes {len(types)} arrays, and {len(arrays)} were given",
                why="every input of the graph has to be given, in its order",
            )
        inputs = [fitting(x, type_, number) for number, (x, type_) in enumerate(zip(arrays, types, strict=True))]
        # path: call by ctypes
        outputs = tuple([new_result(type_) for type_ in interface.results])
        pointers = [*(x.ctypes.data for x in inputs), *known, *(x.ctypes.data for x in outputs)]
        table = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        arena = new_arena(interface.arena_bytes)
        wrong = code.run(ctypes.addressof(table), arena.ctypes.data)
        if wrong:
            raise error_of(wrong)
        return outputs

    return call


STACK_ARENA = 1 << 15
"""Bytes of an arena that lies on the stack."""
ANY = -(1 << 63)
"""A stride that is not looked at."""
FIELDS = (
    "slow", "code", "slot", "wrapper", "inputs", "constants", "results", "arena", "stack", "releases", "array_slot",
    "single", "finite",
)  # fmt: skip
"""`struct entry`."""
RELEASES_FROM = 20_000
"""Estimated nanoseconds of work from which on the interpreter's lock is released."""


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


def entry_function(
    interface: Interface, code: MachineCode, slow: Callable[..., Any], flags: int = 0, wrapper: Wrapper | None = None,
    finite: bool = False,
) -> Callable[..., Any]:
    """A builtin function of arrays that returns a tuple of arrays, or what `slow` returns for arrays that lie in memory
    in another way, or do not have these flags. With a `wrapper` results are instances of its class, and a single one is
    returned without a tuple. With `finite` results that are not are left to `slow` as well."""
    arena = _Arena()
    table = _table(interface, code, slow, arena, flags, wrapper, finite)
    table += [] if wrapper is None else _wrap_records(wrapper)
    # path: native entry
    (address,) = load_c("entry", ("entry",))
    return structs.builtin_function(address, table, (slow, code, arena, interface, wrapper), "compiled")


def _table(
    interface: Interface, code: MachineCode, slow: Any, arena: _Arena, flags: int, wrapper: Wrapper | None,
    finite: bool,
) -> list[int]:
    """The fields, then the addresses of constants, then a record for every input and every result."""
    inputs, results, constants, arena_bytes, work = interface
    on_stack = arena_bytes if arena_bytes <= STACK_ARENA else 0
    fields = {
        "slow": id(slow), "code": code.place, "slot": arena.address, "inputs": len(inputs), "constants": len(constants),
        "results": len(results), "arena": arena_bytes - on_stack, "stack": on_stack + 64,
        "releases": int(work >= RELEASES_FROM), "wrapper": 0 if wrapper is None else id(wrapper.kind),
        "array_slot": 0 if wrapper is None else offset_of(wrapper.kind, wrapper.data),
        "single": int(wrapper is not None and wrapper.is_single), "finite": int(finite),
    }  # fmt: skip
    table = [fields[name] for name in FIELDS] + [x.ctypes.data for x in constants]
    for type_ in inputs:
        table += _input_record(type_, flags)
    for type_ in results:
        table += _result_record(type_)
    return table


def _input_record(type_: ArrayType, flags: int) -> list[int]:
    flags |= structs.ALIGNED | (structs.C_CONTIGUOUS if type_.strides is None else 0)
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


class _Arena:
    """Memory that waits for the next call; it goes with the function."""

    def __init__(self) -> None:
        self._slot = ctypes.c_void_p(None)
        self.address = ctypes.addressof(self._slot)

    def __del__(self) -> None:
        if self._slot.value and _free is not None:  # which is gone before, when the interpreter ends
            _free(self._slot.value)


_libc = ctypes.CDLL(None)
_free = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", _libc))
