"""What people may know of native functions: their kernels, and the operators that are left to NumPy, and why."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.compiler.emit.flow import write_driver
from pullback.compiler.emit.module import Settings
from pullback.compiler.items import is_lowered
from pullback.compiler.items.blas import Product
from pullback.compiler.loops.planning import is_dense
from pullback.compiler.loops.text import kind_of, width_of
from pullback.compiler.machine.entry import GOOD, MachineCode
from pullback.compiler.plan.commands import Call, RoutineCall
from pullback.compiler.plan.launches import Launch
from pullback.compiler.plan.plan import Command, FlowCall, Plan, all_commands, summary, work_of
from pullback.compiler.plan.tiles import Tiled
from pullback.core.records import replace
from pullback.graph.ir import ArrayType, Node, Program
from pullback.graph.text.printing import bodies_of

# How long each command of a native function really takes: it is run alone, on arrays of its own.
#
# A command gets a module with a `run` that has no other, and the table and the arena of the whole function, so that its
# buffers are where they always are. Times are the least of several, without the time of an empty call.

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


_NEVER_NATIVE = ("native", "constant", "store")


def kernels_of(plan: Plan, settings: Settings, measure: bool) -> list[dict[str, Any]]:
    """Every loop nest, product and loop of commands of a native function: operators, lengths of loops, bytes,
    operations, and nanoseconds, as they were estimated and, if asked for, as they are.

    Only what a function does one after the other can be measured; what is inside of a loop has None there.
    """
    times = dict(zip(map(id, plan.commands), measured(plan, settings), strict=True)) if measure else {}
    found = []
    for command in all_commands(plan):
        entry = {"nanoseconds": work_of(command), **_described(command)}
        if measure:
            entry["measured"] = times.get(id(command))
        found.append(entry)
    return found


def _described(command: Command) -> dict[str, Any]:
    if isinstance(command, Call):
        product = command.product
        named = {"operators": (product.function,), "loops": (product.rows, product.columns, product.terms)}
    elif isinstance(command, Launch):
        named = {"operators": command.nodes, "loops": command.kernel.lengths}
    elif isinstance(command, RoutineCall):
        named = {"operators": (command.routine.name,), "loops": command.routine.loops}
    elif isinstance(command, Tiled):
        named = {"operators": ("tiles",), "loops": (command.rows, command.tile)}
    else:
        named = {"operators": (command.flow.op,), "loops": (command.flow.length,)}
    return {**named, **_amounts(command)}


def _amounts(command: Command) -> dict[str, int | None]:
    """Bytes that a command moves and operations that it does; None where it depends on values how often."""
    if isinstance(command, Launch):
        return {**summary(command.kernel)}
    if isinstance(command, Call):
        return {"bytes": _moved(command.product), "flops": 2 * command.product.size}
    if isinstance(command, RoutineCall):
        return {"bytes": sum(x.type.nbytes for x in command.buffers), "flops": command.routine.operations}
    if isinstance(command, FlowCall):
        times = command.flow.length if command.flow.op == "scan" else None
        parts = [part for plan in command.plans for part in plan.commands]
    else:
        times, parts = 1, [part.command for part in command.parts]
    return {key: _total([_amounts(part)[key] for part in parts], times) for key in ("bytes", "flops")}


def _total(amounts: list[int | None], times: int | None) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return None if times is None or len(known) < len(amounts) else times * sum(known)


def _moved(product: Product) -> int:
    """Bytes of both operands and of the result; what all products of a batch share counts once."""
    left, right, out = (
        math.prod(axis.length for axis in product.batch if step(axis))
        for step in (lambda axis: axis.left, lambda axis: axis.right, lambda axis: axis.out)
    )
    rows, columns, terms = product.rows, product.columns, product.terms
    return width_of(product.kind) * (left * rows * terms + right * terms * columns + out * rows * columns)


def foreign_nodes(program: Program) -> list[tuple[str, str]]:
    """The operators of a graph with native nodes that are called as their NumPy kernels, and why."""
    nodes = [node for node in program.nodes if node.op not in _NEVER_NATIVE and not node.is_view]
    return [(node.op, _reason(node)) for node in nodes]


def _reason(node: Node) -> str:
    """Why a node is no native code; the questions are those of `lowering.item_of`, in its order."""
    values = [*node.results, *node.inputs]
    strange = [x.type.dtype.name for x in values if kind_of(x.type.dtype) is None]
    answers = {
        "it draws random numbers": node.effect == "random",
        "it has an effect": node.effect is not None,
        "its bodies do something that only NumPy can": bool(bodies_of(node)),
        "it is an operator of the user's": node.target is not None and node.target.family == "custom",
        f"there is no native {' and '.join(dict.fromkeys(strange))}": bool(strange),
        "an array has no elements": not all(x.type.size for x in values),
        "its result has gaps in memory": not all(is_dense(x.type) for x in node.results),
        "not with these operands": is_lowered(node),
        "it has several results": len(node.results) != 1,
    }
    return next((text for text, is_so in answers.items() if is_so), "it has no native form")
