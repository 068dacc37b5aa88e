"""Calling a compiled segment from Python without anything but ctypes: the way that works everywhere.

It is the slow way of the C entry as well: arrays that do not lie in memory as the graph says are copied into that
layout here, and what can not be made to fit is refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.llvm.machine_code import MachineCode
from pullback.compiler.numpy_source.runtime import copy_in_layout
from pullback.declare.loops import MESSAGES
from pullback.errors import AutogradError
from pullback.graph.types import ArrayType, empty_like_type


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
        outputs = tuple([new_result(type_) for type_ in interface.results])
        pointers = [*(x.ctypes.data for x in inputs), *known, *(x.ctypes.data for x in outputs)]
        table = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
        arena = new_arena(interface.arena_bytes)
        wrong = code.run(ctypes.addressof(table), arena.ctypes.data)
        if wrong:
            raise error_of(wrong)
        return outputs

    return call
