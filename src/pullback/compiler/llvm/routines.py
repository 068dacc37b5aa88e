"""`Routine`: a function by address that computes matrices, as an item: for all matrices of a batch, into given memory.

The kinds are loops of NumPy's ufuncs (`numpy_loops.py`) and functions of BLAS and LAPACK (`lapack.py`). A routine is
written as a function of its own. What goes wrong in it is stored where native code keeps remarks on indices: the call
is then made again by the slow way, which raises `LinAlgError`.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pullback.compiler.access import Accesses, own_strides, squeezed
from pullback.compiler.fusion import Element, Item
from pullback.compiler.llvm.items import copy_of
from pullback.compiler.llvm.native_call import OTHER_ERRORS
from pullback.compiler.llvm.scalars import Rule
from pullback.declare.loops import MESSAGES
from pullback.graph.ir import Node, Value
from pullback.graph.types import array_type

Text = tuple[str, dict[str, str]]  # of functions, and the declarations that they need


class Axis(NamedTuple):
    """An axis of a batch: how many there are, and how many bytes the matrices of every argument are apart."""

    length: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Routine(abc.ABC):
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
    last.before = (*copies, *item.before, item, *others)
    last.others = tuple([value for value, _ in pairs if not value.type.size])
    return last


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
