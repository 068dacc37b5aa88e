"""What native code relies on of CPython and NumPy: offsets in their structs, and addresses of their functions.

Everything is checked once, by reading the fields of known objects both ways. If anything is not as it should be, there
is no C entry and compiled functions are called through ctypes.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.errors import InternalError

TYPE, DATA, NDIM, SHAPE, STRIDES, DESCR, FLAGS = 8, 16, 24, 32, 40, 56, 64
KIND = 24  # of a dtype; its letter, its byte order and its number are next
ALIGNED, C_CONTIGUOUS, WRITEABLE = 0x100, 0x1, 0x400
_NEW_FROM_DESCR = 94  # in NumPy's table of functions
_ARRAY_TYPE = 2
NUMPY = "pullback_numpy"
"""The name of a variable in C whose value is NumPy's table of functions."""
# Fields of a ufunc: nin, nout, nargs, identity, functions, data, ntypes, reserved, name, types.
_UFUNC, _UFUNC_FIELDS = 16, "<iiiiQQiiQQ"
# Flags of floating point exceptions, as <fenv.h> has them.
INVALID, DIVIDE, OVERFLOW, UNDERFLOW = (1, 4, 8, 16) if platform.machine() == "x86_64" else (1, 2, 4, 8)


def _read(address: int, format_: str) -> Any:
    return struct.unpack(format_, ctypes.string_at(address, struct.calcsize(format_)))


@functools.cache
def _numpy_table() -> Any:
    """NumPy's table of functions."""
    capsule = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def place_of_numpy_table() -> int:
    """The address of a variable in C whose value is NumPy's table."""
    return ctypes.addressof(_numpy_table())


def numpy_functions() -> tuple[int, int]:
    """The addresses of the type of arrays and of `PyArray_NewFromDescr`."""
    table = _numpy_table()
    return table[_ARRAY_TYPE] or 0, table[_NEW_FROM_DESCR] or 0


@functools.cache
def are_as_expected() -> bool:
    """May native code read arrays, and make them?"""
    try:
        is_known = platform.python_implementation() == "CPython" and struct.calcsize("P") == 8
        return is_known and not _is_free_threaded() and _array_is_known() and _dtype_is_known() and _new_works()
    except Exception:
        return False


def _array_is_known() -> bool:
    read_only = np.ones(3)
    read_only.flags.writeable = False
    strided = np.zeros((4, 5), np.float32)[::2, ::-1]
    for array in (np.arange(6.0).reshape(2, 3), strided, np.zeros((), np.int64), read_only):
        address = id(array)
        (type_,) = _read(address + TYPE, "<Q")
        (data,) = _read(address + DATA, "<Q")
        (ndim,) = _read(address + NDIM, "<i")
        shape, strides = _read(address + SHAPE, "<QQ")
        (descr,) = _read(address + DESCR, "<Q")
        (flags,) = _read(address + FLAGS, "<i")
        if (type_, data, ndim, descr) != (id(np.ndarray), array.ctypes.data, array.ndim, id(array.dtype)):
            return False
        if ndim and (_read(shape, f"<{ndim}q"), _read(strides, f"<{ndim}q")) != (array.shape, array.strides):
            return False
        if [bool(flags & bit) for bit in (C_CONTIGUOUS, ALIGNED, WRITEABLE)] != [
            array.flags.c_contiguous, array.flags.aligned, array.flags.writeable
        ]:  # fmt: skip
            return False
    return numpy_functions()[0] == id(np.ndarray)


def _dtype_is_known() -> bool:
    found = [np.dtype(char) for char in "?bdfilD"]
    found += [np.dtype(float).newbyteorder(), np.dtype(float, copy=True)]
    return all(
        _read(id(each) + KIND, "<cccxi") == (each.kind.encode(), each.char.encode(), each.byteorder.encode(), each.num)
        for each in found
    )  # fmt: skip


def _is_free_threaded() -> bool:
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def _new_works() -> bool:
    """Make an array by the address of NumPy's function."""
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
        ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
    )(numpy_functions()[1])  # fmt: skip
    dtype = np.dtype(np.float64)
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(dtype))  # the call takes a reference
    shape = (ctypes.c_int64 * 2)(2, 3)
    made = make(np.ndarray, dtype, 2, ctypes.addressof(shape), None, None, 0, None)
    return type(made) is np.ndarray and made.shape == (2, 3) and made.dtype == dtype and made.flags.c_contiguous


def loops_of(ufunc: np.ufunc) -> tuple[list[int], list[int], list[list[int]]]:
    """The loops of a ufunc of NumPy, what each is given, and the dtypes of each as NumPy's numbers."""
    nin, nout, nargs, _, functions, data, count, _, name, types = _read(id(ufunc) + _UFUNC, _UFUNC_FIELDS)
    if (nin, nout, nargs, count) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        raise InternalError(f"NumPy's {ufunc.__name__} has other fields than expected")
    codes = ctypes.string_at(types, nargs * count)
    rows = [list(codes[nargs * k : nargs * k + nargs]) for k in range(count)]
    said = [[np.dtype(char).num for char in row.replace("->", "")] for row in ufunc.types]
    if ctypes.string_at(name).decode() != ufunc.__name__ or rows != said:
        raise InternalError(f"NumPy's {ufunc.__name__} has other loops than it says")
    given = list(_read(data, f"<{count}Q")) if data else [0] * count
    return list(_read(functions, f"<{count}Q")), given, rows


# Functions of Python whose code is native.

_FASTCALL, _KEYWORDS = 0x80, 0x2
_DOC = ctypes.create_string_buffer(b"Native code.")


class _Table(np.ndarray):
    """A table, which keeps alive what it points to."""

    holds: Any = None


@functools.cache
def _label(name: str) -> Any:
    return ctypes.create_string_buffer(name.encode())


def builtin_function(
    address: int, table: list[int], holds: Any, name: str, has_keywords: bool = False
) -> Callable[..., Any]:
    """The native function at an address as one of Python, with a table of numbers as its `self`.

    CPython's definition of the function lies behind the numbers of the table: CPython looks at it until the function is
    gone, and what an object holds goes before, if the garbage collector takes it.
    """
    definition = [ctypes.addressof(_label(name)), address, _FASTCALL | _KEYWORDS * has_keywords, ctypes.addressof(_DOC)]
    made = np.array([*table, *definition], np.int64).view(_Table)
    made.holds = holds
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    function: Callable[..., Any] = new(made.ctypes.data + 8 * len(table), made, None)
    return function


# Where the slots of a class are in its instances, for native code that reads and fills them.
#
# Nothing is assumed but that a slot holds the address of its object: an instance tells by where an object turns up in
# it.

_HEAD = 16  # bytes of every object: its reference count and its type


@functools.cache
def offset_of(kind: type, name: str) -> int:
    """The place of a slot in instances of a class, in bytes."""
    probe: Any = (dict if issubclass(kind, dict) else object).__new__(kind)
    places: set[int] = set()
    for attempt in range(2):
        value = object()
        try:
            setattr(probe, name, value)
        except AttributeError:
            break
        found = _places_of(id(value), probe, kind.__basicsize__)
        places = found if attempt == 0 else places & found
    if len(places) != 1:
        raise InternalError(f"native code cannot tell where the slot {kind.__name__}.{name} is")
    return places.pop()


def _places_of(number: int, instance: Any, size: int) -> set[int]:
    words = (ctypes.c_int64 * ((size - _HEAD) // 8)).from_address(id(instance) + _HEAD)
    return {_HEAD + 8 * place for place, word in enumerate(words) if word == number}
