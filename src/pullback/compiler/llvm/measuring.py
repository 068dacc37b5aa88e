"""How long each command of a native function really takes: it is run alone, on arrays of its own.

A command gets a module with a `run` that has no other, and the table and the arena of the whole function, so that its
buffers are where they always are. Times are the least of several, without the time of an empty call.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pullback.compiler.llvm.driver import Plan
from pullback.compiler.llvm.flow_text import write_driver
from pullback.compiler.llvm.machine_code import GOOD, MachineCode
from pullback.compiler.llvm.schedule import Settings
from pullback.graph.types import ArrayType

_ENOUGH = 2e-3  # seconds of one measurement
_REPEATS = 5


def measured(plan: Plan, settings: Settings) -> list[float]:
    """Nanoseconds of every command, in their order."""
    memory = [_example(value.type) for value in (*plan.segment.inputs, *plan.segment.results)]
    known = [value.node.attrs["value"].ctypes.data for value in plan.segment.constants if value.node is not None]
    count = len(plan.segment.inputs)
    places = [array.ctypes.data - before for array, before in memory]
    pointers = [*places[:count], *known, *places[count:]]
    table = (ctypes.c_void_p * max(len(pointers), 1))(*pointers)
    arena = np.zeros(plan.arena_bytes + 64, np.uint8)
    place = -(-arena.ctypes.data // 64) * 64

    def seconds(commands: tuple[Any, ...]) -> float:
        text = write_driver(replace(plan, commands=commands), settings)
        run = MachineCode(text, GOOD, 0.0).run
        return _least(lambda: run(ctypes.addressof(table), place))

    empty = seconds(())
    return [1e9 * max(0.0, seconds((command,)) - empty) for command in plan.commands]


def _example(type_: ArrayType) -> tuple[Any, int]:
    """Memory for an array, and how far below its beginning elements lie. It can be divided by, and integers in it are
    positions in others."""
    ends = [(length - 1) * step for length, step in zip(type_.shape, type_.byte_strides, strict=True)]
    below = sum(min(0, end) for end in ends)
    count = (sum(map(abs, ends)) + type_.dtype.itemsize) // type_.dtype.itemsize
    return np.full(count, 0.5 if type_.dtype.kind == "f" else 0, type_.dtype), below


def _least(call: Callable[[], Any]) -> float:
    """Seconds of a call."""
    count = 1
    while True:
        began = time.perf_counter()
        for _ in range(count):
            call()
        took = time.perf_counter() - began
        if took > _ENOUGH / 4:
            break
        count *= 4
    least = took
    for _ in range(_REPEATS):
        began = time.perf_counter()
        for _ in range(count):
            call()
        least = min(least, time.perf_counter() - began)
    return least / count
