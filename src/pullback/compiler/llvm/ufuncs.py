"""Ufuncs of NumPy whose loops are native code.

`formula_ufunc` makes one of a formula. `twin` makes one that does what a ufunc of NumPy does: it has the same loops for
every dtype, and native ones before those that are given, for operands that are many and lie side by side. NumPy does
everything else for both: promotion, broadcasting, `out=`, overlapping memory, new arrays, warnings, and letting go of
the interpreter's lock.

A loop is a C function, and a ufunc is made of such by a function of NumPy's C interface. Where a ufunc of NumPy keeps
its own loops is checked against what NumPy says of it; if anything is not as it should be, there are no twins.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.compiler.llvm import jit, pool
from pullback.compiler.llvm.layouts import loops_of
from pullback.compiler.llvm.text import width_of
from pullback.compiler.llvm.ufunc_loop import BLOCK, FIELDS, glue_text
from pullback.compiler.llvm.ufunc_text import Formula, block_text

PARALLEL_FROM = 30_000
"""Estimated nanoseconds of work from which on threads share a loop."""
_MAKE = 1  # the place of `PyUFunc_FromFuncAndData` in the table of functions
_NO_IDENTITY = -1
_RESOLVER = 144  # where `type_resolver` is
_kept: list[Any] = []  # NumPy copies none of what a ufunc is made of, and ufuncs may outlive everything


def formula_ufunc(name: str, formulas: Sequence[Formula]) -> np.ufunc:
    """A ufunc of formulas with equally many operands, one for each dtype."""
    records = _records(formulas, 0, [(0, 0)] * len(formulas))
    return _made(name, [_loop()] * len(records), records, [numbers_of(formula) for formula in formulas])


def twin(ufunc: np.ufunc, formulas: Sequence[Formula], least: int) -> np.ufunc:
    """A ufunc like this one, with these native loops for at least so many elements side by side.

    One thread does arithmetic no faster than NumPy does, so that is native only where threads share it.
    """
    functions, data, types = loops_of(ufunc)
    places = [types.index(numbers_of(formula)) for formula in formulas]
    records = _records(formulas, least, [(functions[place], data[place]) for place in places])
    for place, record in zip(places, records, strict=True):
        functions[place], data[place] = _loop(), record
    made = _made(ufunc.__name__, functions, data, types, ufunc.nin)
    # What NumPy asks for loops of dtypes that are not in the list; some refuse truth values.
    ctypes.c_void_p.from_address(id(made) + _RESOLVER).value = ctypes.c_void_p.from_address(id(ufunc) + _RESOLVER).value
    return made


def numbers_of(formula: Formula) -> list[int]:
    """The dtypes of the operands and of the result as NumPy's numbers."""
    return [np.dtype(kind).num for kind in formula.kinds]


@functools.cache
def _loop() -> int:
    """The address of the loop that all of them have."""
    if pool.is_possible():
        pool.prepare()
    return jit.load(glue_text(pool.is_possible()), {}, ("loop",))[1][0]


def _records(formulas: Sequence[Formula], least: int, others: list[tuple[int, int]]) -> list[int]:
    """The addresses of what the loop is given for each formula; `others` are NumPy's own loops."""
    loop = _loop()  # which starts the threads
    texts, externals = [], {}
    for number, formula in enumerate(formulas):
        text, declared = block_text(formula, f"NAME_{number}", jit.has_libmvec())
        texts.append(text)
        externals.update(declared)
    blocks = jit.load(texts, externals, tuple(map(str, range(len(formulas)))))[1] if loop else []
    addresses = []
    for formula, block, (function, its) in zip(formulas, blocks, others, strict=True):
        time = formula.nanoseconds
        alone = math.ceil(PARALLEL_FROM / time)
        from_size = least if formula.is_heavy or not function else max(least, alone)
        fields = {
            "block": block, "count": len(formula.kinds), "least": from_size, "alone": alone,
            "grain": max(1, round(PARALLEL_FROM / 3 / time / BLOCK)), "reports": formula.reports, "other": function,
            "its": its,
        }  # fmt: skip
        words = [*(fields[name] for name in FIELDS), *map(width_of, formula.kinds)]
        record = (ctypes.c_int64 * len(words))(*words)
        _kept.append(record)
        addresses.append(ctypes.addressof(record))
    return addresses


def _made(name: str, functions: list[int], data: list[int], types: list[list[int]], nin: int = -1) -> np.ufunc:
    nargs = len(types[0])
    nin = nargs - 1 if nin < 0 else nin
    pointers = (ctypes.c_void_p * len(functions))(*functions)
    others = (ctypes.c_void_p * len(data))(*(each or None for each in data))
    codes = ctypes.create_string_buffer(bytes(code for row in types for code in row))
    label, doc = ctypes.create_string_buffer(name.encode()), ctypes.create_string_buffer(b"As NumPy's.")
    _kept.append((pointers, others, codes, label, doc))
    places = [ctypes.addressof(each) for each in (pointers, others, codes)]
    made: np.ufunc = _maker()(
        *places, len(functions), nin, nargs - nin, _NO_IDENTITY, ctypes.addressof(label), ctypes.addressof(doc), 0
    )
    return made


@functools.cache
def _maker() -> Any:
    capsule = np._core._multiarray_umath._UFUNC_API  # type: ignore[attr-defined]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))
    pointer, number = ctypes.c_void_p, ctypes.c_int
    kind = ctypes.PYFUNCTYPE(
        ctypes.py_object, pointer, pointer, pointer, number, number, number, number, pointer, pointer, number
    )
    return kind(table[_MAKE])
