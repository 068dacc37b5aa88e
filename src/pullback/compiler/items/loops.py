"""Operators that are loops of NumPy's ufuncs (`declare/loops.py`), as items.

A loop reads operands where and as they lie in memory, strided or repeated, and writes results where the plan has them.
It counts through one axis of a batch by itself; what does not count as one axis is a loop around it.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.items.common import complex_copy, copy_of
from pullback.compiler.loops.access import Accesses, own_strides, squeezed
from pullback.compiler.loops.fusion import Element, Item
from pullback.compiler.loops.planning import is_dense
from pullback.compiler.loops.scalars import Rule
from pullback.compiler.loops.text import in_memory, literal, width_of
from pullback.compiler.machine import gufuncs
from pullback.compiler.machine.entry import OTHER_ERRORS
from pullback.core.records import Record, replace
from pullback.declare.loops import MESSAGES, Loop
from pullback.graph.ir import Node, Value, array_type

# `Routine`: a function by address that computes matrices, as an item: for all matrices of a batch, into given memory.
#
# The kinds are loops of NumPy's ufuncs, here, and functions of BLAS and LAPACK (`lapack.py`). A routine is
# written as a function of its own. What goes wrong in it is stored where native code keeps remarks on indices: the call
# is then made again by the slow way, which raises `LinAlgError`.

Text = tuple[str, dict[str, str]]  # of functions, and the declarations that they need


class Axis(NamedTuple):
    """An axis of a batch: how many there are, and how many bytes the matrices of every argument are apart."""

    length: int
    steps: tuple[int, ...]


class Routine(Record, abc.ABC, frozen=True):
    """A function that is called with pointers to operands and results."""

    name: str  # for people to read
    lengths: tuple[int, ...]  # of the axes of matrices
    batch: tuple[Axis, ...]
    results: int  # how many it writes
    raises: str  # one of the messages, if it can fail
    writes_over: bool  # the first operand, which is a copy, becomes the first result

    @abc.abstractmethod
    def write(self, name: str) -> Text:
        """A function of pointers, the last of which leads to the number that tells of errors."""

    @property
    def count(self) -> int:
        """How many matrices there are."""
        return math.prod(axis.length for axis in self.batch)

    @property
    def loops(self) -> tuple[int, ...]:
        """All lengths."""
        return (*[axis.length for axis in self.batch], *self.lengths)

    @property
    def operations(self) -> int:
        """About how many, in all."""
        return self.count * math.prod(self.lengths) * max(self.lengths)

    @property
    def work(self) -> float:
        """Estimated nanoseconds."""
        return 300 * self.count + self.operations / 4

    @property
    def report(self) -> str:
        """The instruction that leaves word of an error."""
        code = MESSAGES.index(self.raises) << 8 | OTHER_ERRORS
        return f"store atomic i64 {code}, ptr %status monotonic, align 8"


# Items.


def where(value: Value, accesses: Accesses) -> Element:
    """Where an operand lies."""
    access = accesses[value]
    return Element(access.root, "", access.offset, ())


def routine_item(
    node: Node, results: Sequence[Value], reads: Sequence[Element], routine: Routine, before: Sequence[Item] = ()
) -> Item:
    """An item that calls a routine."""
    first, *others = results
    return Item(node, first, None, tuple(reads), routine, others=tuple(others), before=tuple(before))


def batch_of(arrays: Sequence[Sequence[tuple[int, int]]]) -> tuple[Axis, ...]:
    """The axes around matrices, given as lengths and strides for each argument: without those of length 1, and with
    those made one that lie one behind the other."""
    rank = max(map(len, arrays))
    aligned = [[(1, 0)] * (rank - len(axes)) + list(axes) for axes in arrays]
    found: list[Axis] = []
    for level in zip(*aligned, strict=True):
        axis = Axis(max(n for n, _ in level), tuple([0 if n == 1 else step for n, step in level]))
        if axis.length == 1:
            continue
        if found and found[-1].steps == tuple([axis.length * step for step in axis.steps]):
            axis = Axis(axis.length * found.pop().length, axis.steps)
        found.append(axis)
    return tuple(found)


_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def in_double(node: Node, accesses: Accesses, make: Callable[[Node, Accesses], Item | None]) -> Item | None:
    """What `make` makes of a node in single precision, computed in double precision: copies in, and copies out."""
    if any(x.type.dtype != _SINGLE for x in (*node.operands, *node.results)):
        return None
    copies = [copy_of(x, array_type(x.type.shape, _DOUBLE), accesses) for x in node.operands]
    for copy in copies:
        accesses.add(copy.result)
    double = Node(node.target, node.op, tuple([copy.result for copy in copies]), node.attrs)
    double.results = tuple([Value(array_type(x.type.shape, _DOUBLE), double) for x in node.results])
    item = make(double, accesses)
    if item is None:
        return None
    pairs = list(zip(node.results, double.results, strict=True))
    *others, last = [_rounded(node, value, source) for value, source in pairs if value.type.size]
    without = tuple([value for value, _ in pairs if not value.type.size])
    return replace(last, before=(*copies, *item.before, item, *others), others=without)


def _rounded(node: Node, value: Value, source: Value) -> Item:
    read = Element(source, "f8", 0, own_strides(source.type))
    return Item(node, value, squeezed(value.type.shape), (read,), Rule("identity", ("f4",), "f4"))


# Text.


def function_text(name: str, pointers: Sequence[str], lines: Sequence[str], constants: Sequence[str] = ()) -> str:
    """A function of pointers, after the constants that it uses. It stays one, so that nothing else gets between its
    lines."""
    parameters = ", ".join(f"ptr {pointer}" for pointer in (*pointers, "%status"))
    body = [line if line.endswith(":") else f"  {line}" for line in (*lines, "ret void")]
    head = f"define internal void @{name}({parameters}) noinline nounwind {{"
    return "\n".join([*constants, head, "entry:", *body, "}"])


def constant_text(name: str, element: str, values: Sequence[object]) -> str:
    """Numbers that are known."""
    inside = ", ".join(f"{element} {value}" for value in values)
    return f"@{name} = private unnamed_addr constant [{len(values)} x {element}] [{inside}]"


def counted(name: str, count: int, before: str, body: Sequence[str]) -> list[str]:
    """A loop of so many turns: `%name` is the number of one, `before` the block in front, `name.done` that behind."""
    return [
        f"br label %{name}.loop", f"{name}.loop:",
        f"%{name} = phi i64 [ 0, %{before} ], [ %{name}.next, %{name}.end ]", *body,
        f"br label %{name}.end", f"{name}.end:", f"%{name}.next = add nsw i64 %{name}, 1",
        f"%{name}.more = icmp slt i64 %{name}.next, {count}",
        f"br i1 %{name}.more, label %{name}.loop, label %{name}.done", f"{name}.done:",
    ]  # fmt: skip


class Around:
    """Loops around a body, over axes of a batch: `pointers` are those to the matrices of a turn, `block` is where the
    body begins."""

    def __init__(self, axes: Sequence[Axis], pointers: Sequence[str]) -> None:
        self.before: list[str] = []
        self.after: list[str] = []
        self.pointers = list(pointers)
        self.block = "entry"
        for level, axis in enumerate(axes):
            self._begin(level, axis)
            self.after[:0] = [
                f"br label %end{level}", f"end{level}:", f"%next{level} = add nsw i64 %i{level}, 1",
                f"%more{level} = icmp slt i64 %next{level}, {axis.length}",
                f"br i1 %more{level}, label %loop{level}, label %done{level}", f"done{level}:",
            ]  # fmt: skip

    def _begin(self, level: int, axis: Axis) -> None:
        turn = f"%i{level} = phi i64 [ 0, %{self.block} ], [ %next{level}, %end{level} ]"
        self.before += [f"br label %loop{level}", f"loop{level}:", turn]
        for number, step in enumerate(axis.steps):
            offset, pointer = f"%o{level}.{number}", f"%q{level}.{number}"
            self.before.append(f"{offset} = mul nsw i64 %i{level}, {step}")
            self.before.append(f"{pointer} = getelementptr i8, ptr {self.pointers[number]}, i64 {offset}")
            self.pointers[number] = pointer
        self.block = f"loop{level}"


class LoopRoutine(Routine, frozen=True):
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
    # path: loop of NumPy
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
