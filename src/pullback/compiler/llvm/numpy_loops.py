"""Operators that are loops of NumPy's ufuncs (`declare/loops.py`), as items.

A loop reads operands where and as they lie in memory, strided or repeated, and writes results where the plan has them.
It counts through one axis of a batch by itself; what does not count as one axis is a loop around it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.access import Accesses
from pullback.compiler.fusion import Element, Item
from pullback.compiler.llvm import gufuncs
from pullback.compiler.llvm.items import complex_copy
from pullback.compiler.llvm.routines import (
    Around,
    Axis,
    Routine,
    Text,
    batch_of,
    constant_text,
    function_text,
    in_double,
    routine_item,
    where,
)
from pullback.compiler.llvm.text import in_memory, literal, width_of
from pullback.compiler.planning import is_dense
from pullback.declare.loops import Loop
from pullback.graph.ir import Node, Value
from pullback.graph.types import array_type


@dataclass(frozen=True)
class LoopRoutine(Routine):
    """A loop of a ufunc. Its arguments are arrays, then numbers, then results."""

    core: gufuncs.Core
    steps: tuple[int, ...]  # along the axes of matrices, argument by argument
    numbers: tuple[float, ...]
    kind: str  # of numbers

    @property
    def operations(self) -> int:
        """As many as decompositions take, or transforms of rows."""
        longest, axes = max(self.lengths), max(map(len, self.core.axes))
        return self.count * (longest**3 if axes > 1 else 5 * longest * longest.bit_length())

    def write(self, name: str) -> Text:
        """The call of the loop, and the question whether it found anything invalid."""
        core, first, extra = self.core, self.core.inputs - len(self.numbers), len(self.numbers)
        pointers = [f"%p{k}" for k in range(len(core.axes) - extra)]
        *outer, inner = self.batch or (Axis(1, (0,) * len(pointers)),)
        around = Around(outer, pointers)
        steps = [*inner.steps[:first], *[0] * extra, *inner.steps[first:], *self.steps]
        constants = [
            constant_text(f"{name}.lengths", "i64", [inner.length, *self.lengths]),
            constant_text(f"{name}.steps", "i64", steps),
            constant_text(f"{name}.numbers", in_memory(self.kind), [literal(x, self.kind) for x in self.numbers]),
        ]
        fixed = [f"getelementptr (i8, ptr @{name}.numbers, i64 {width_of(self.kind) * k})" for k in range(extra)]
        lines = [f"%args = alloca [{len(core.axes)} x ptr]", *self._clear(), *around.before]
        for place, pointer in enumerate([*around.pointers[:first], *fixed, *around.pointers[first:]]):
            lines.append(f"%arg{place} = getelementptr ptr, ptr %args, i64 {place}")
            lines.append(f"store ptr {pointer}, ptr %arg{place}")
        given = f"@{core.data}" if core.data else "null"
        lines.append(f"call void @{core.function}(ptr %args, ptr @{name}.lengths, ptr @{name}.steps, ptr {given})")
        lines += [*around.after, *self._ask()]
        return function_text(name, pointers, lines, constants), self._externals()

    def _externals(self) -> dict[str, str]:
        core = self.core
        found = {core.function: f"declare void @{core.function}(ptr, ptr, ptr, ptr)"}
        if core.data:
            found[core.data] = f"@{core.data} = external global i8"
        if self.raises:
            found |= {name: f"declare i32 @{name}(i32)" for name in (gufuncs.CLEAR_FLAGS, gufuncs.TEST_FLAGS)}
        return found

    def _clear(self) -> list[str]:
        return [f"%cleared = call i32 @{gufuncs.CLEAR_FLAGS}(i32 {gufuncs.INVALID})"] if self.raises else []

    def _ask(self) -> list[str]:
        if not self.raises:
            return []
        return [
            f"%raised = call i32 @{gufuncs.TEST_FLAGS}(i32 {gufuncs.INVALID})", "%is.fine = icmp eq i32 %raised, 0",
            "br i1 %is.fine, label %fine, label %failed", "failed:", self.report, "br label %fine", "fine:",
        ]  # fmt: skip


class Array(NamedTuple):
    """An argument: how it lies in memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


def array_of(value: Value, accesses: Accesses | None = None) -> Array:
    """How a value lies in memory, as an operand or in memory of its own."""
    strides = value.type.byte_strides if accesses is None else accesses[value].strides
    return Array(value.type.shape, strides, value.type.dtype)


def loop_routine(loop: Loop, inputs: Sequence[Array], results: Sequence[Array], over: bool = False) -> Routine | None:
    """The call of a loop for arrays that lie like this; None if there is none. Further results must be empty."""
    number = np.dtype(inputs[0].dtype.char.lower())
    codes = [x.dtype.char for x in inputs] + [number.char] * len(loop.numbers)
    core = gufuncs.core_of(loop.ufunc, "".join(codes), "".join([x.dtype.char for x in results]))
    if core is None:
        return None
    count = len(core.axes) - core.inputs
    if not all(math.prod(x.shape) for x in results[:count]) or any(math.prod(x.shape) for x in results[count:]):
        return None
    axes = [*core.axes[: len(inputs)], *core.axes[core.inputs :]]
    arrays = [_split(x, len(names), loop.axis) for x, names in zip([*inputs, *results[:count]], axes, strict=True)]
    named = [pair for names, (own, _) in zip(axes, arrays, strict=True) for pair in zip(names, own, strict=True)]
    lengths = {name: length for name, (length, _) in named}
    return LoopRoutine(
        loop.ufunc, tuple(lengths.values()), batch_of([others for _, others in arrays]), count + over, loop.raises,
        over, core, tuple([step for _, (_, step) in named]), loop.numbers, number.str[1:],
    )  # fmt: skip


_Axes = list[tuple[int, int]]  # length and stride of each


def _split(x: Array, count: int, axis: int) -> tuple[_Axes, _Axes]:
    """The axes of matrices, or the one of rows, and the others."""
    axes = list(zip(x.shape, x.strides, strict=True))
    first = axis if count == 1 and axis >= 0 else len(axes) - count
    return axes[first : first + count], axes[:first] + axes[first + count :]


def loop_item(node: Node, accesses: Accesses) -> Item | None:
    """A node whose operator has loops; None if they are not for these operands."""
    assert node.target is not None and node.target.loop_rule is not None
    loops: list[Loop] = node.target.loop_rule(**node.attrs)
    if not all(type(x) is Value and x.type.size and x.type.dtype.char in "fdFD" for x in node.operands):
        return None
    if not loops or not all(is_dense(x.type) for x in node.results):
        return None
    if loops[0].in_double and node.operands[0].type.dtype.char in "fF":
        return in_double(node, accesses, loop_item)
    inputs = [array_of(x, accesses) for x in node.operands]
    made = _chain(node, loops, inputs, [where(x, accesses) for x in node.operands])
    if made is None and len(inputs) == 1 and inputs[0].dtype.kind == "f":
        copy = complex_copy(node.operands[0], accesses)
        made = _chain(node, loops, [array_of(copy.result)], [Element(copy.result, "", 0, ())], [copy])
    return made


def _chain(
    node: Node, loops: Sequence[Loop], inputs: Sequence[Array], reads: Sequence[Element], before: Sequence[Item] = ()
) -> Item | None:
    """Loops one after the other, with rows in memory between them."""
    before = list(before)
    for loop in loops[:-1]:
        shape = list(inputs[0].shape)
        shape[loop.axis] = loop.length
        between = Value(array_type(tuple(shape), _complex(inputs[0].dtype)), node)
        routine = loop_routine(loop, inputs, [array_of(between)])
        if routine is None:
            return None
        before.append(routine_item(node, [between], reads, routine))
        inputs, reads = [array_of(between)], [Element(between, "", 0, ())]
    routine = loop_routine(loops[-1], inputs, [array_of(x) for x in node.results])
    return None if routine is None else routine_item(node, node.results, reads, routine, before)


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.char.upper())
