"""`in_parts`: complex numbers as two real arrays, so that everything that is fused for real ones is for them too.

A product of complex numbers is four of real ones, a sum two sums, and whatever moves elements moves those of both
arrays. A complex value is put together again only where somebody needs it whole: an output, an operator that has no
rule in `complex_rules`, a call of somebody else's loop. Loops carry the two arrays.

Every value of the graph has up to three forms while it is written anew:

    exact     of the same type, and in the same layout; made when it is asked for
    halves    the real and the imaginary parts of a complex one: arrays, or numbers that they are everywhere
    near      a real one that was to be a view of a complex one, as a view of one of its halves
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.planning import is_dense
from pullback.graph.ir import Node, Program, Value
from pullback.graph.operators import find_operator
from pullback.graph.rewrite import keep_remarks, with_operands
from pullback.graph.types import ArrayType, array_type, empty_like_type, type_of

PARTS = ("_real", "_imag")
_VIEWS = frozenset({
    "permute_dims", "squeeze", "expand_dims", "broadcast_to", "diagonal", "_basic_index", "_reshape", "flip", "_split",
    "_unbind", "_windows",
})  # fmt: skip


class Halves(NamedTuple):
    """Real and imaginary parts."""

    real: Any
    imag: Any


def part_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; others have themselves."""
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def part_type(type_: ArrayType) -> ArrayType:
    """The type of a half that lies in memory as the whole does."""
    strides = None if type_.strides is None else tuple([step // 2 for step in type_.strides])
    return array_type(type_.shape, part_of(type_.dtype), strides)


def is_complex(x: Any) -> bool:
    """Is it an array of complex numbers that native code could know the parts of?"""
    return type(x) is Value and x.type.dtype.char in "FD" and x.type.size > 0


class Splitter:
    """Writes a graph anew. `add` appends a node, as rules of `expand` do; values of the old graph are asked for by
    `exact`, `halves` and `near`."""

    def __init__(self, program: Program, node: Node | None = None) -> None:
        self.made = program
        self.node = node  # the one that is being written out
        self._exact: dict[Value, Value] = {}
        self._near: dict[Value, Value] = {}
        self._halves: dict[Value, Halves] = {}
        self._known: set[Value] = set()  # what was made as halves
        self._split: set[Value] = set()  # what is not yet there exactly

    # What rules write.

    def add(self, name: str, operands: tuple[Any, ...], type_: ArrayType, **attrs: Any) -> Value:
        """The result of one more node."""
        return self._added(find_operator(name), operands, attrs, (type_,)).result

    def constant(self, array: Any) -> Value:
        """A constant."""
        array.flags.writeable = False
        return self._added("constant", (), {"value": array}, (type_of(array),)).result

    def view(self, name: str, x: Value, **attrs: Any) -> Value:
        """A view, whose type follows from that of what it looks at."""
        return self._views(find_operator(name), x, (), attrs)[0]

    def _views(self, target: Any, x: Value, others: tuple[Any, ...], attrs: dict[str, Any]) -> tuple[Value, ...]:
        made = target.kernel(empty_like_type(x.type), *others, **attrs)
        parts = made if isinstance(made, (tuple, list)) else (made,)
        return self._added(target, (x, *others), attrs, [type_of(part) for part in parts]).results

    def _added(self, target: Any, operands: tuple[Any, ...], attrs: dict[str, Any], types: Any) -> Node:
        assert self.node is not None
        made = self.made.add(target, operands, attrs, types, self.node.tag)
        keep_remarks(made, self.node)
        return made

    # Forms of values.

    def exact(self, value: Value) -> Value:
        """The value of the same type."""
        if value not in self._split:
            return self._exact.get(value, value)
        self._split.discard(value)
        node = value.node
        if node is not None and node.is_view:
            whole = self._views(node.target, self.exact(node.operands[0]), node.operands[1:], node.attrs)
            self._exact.update(zip(node.results, whole, strict=True))
            self._split.difference_update(node.results)
        else:
            type_ = value.type if is_dense(value.type) else array_type(value.type.shape, value.type.dtype)
            self._exact[value] = self.add("complex", tuple(self._halves[value]), type_)
        return self._exact[value]

    def near(self, value: Value) -> Value:
        """The value, if it is complex exactly, otherwise in any layout."""
        return self._near[value] if value in self._near else self.exact(value)

    def halves(self, x: Any, dtype: np.dtype[Any]) -> Halves:
        """The parts of an operand in the dtype of a part."""
        if type(x) is not Value:
            return Halves(float(x.real), float(x.imag))
        if x.type.dtype.kind != "c":
            return Halves(self._cast(self.near(x), dtype), 0.0)
        if x not in self._halves:
            self._halves[x] = self._looked_at(x)
        return Halves(*(self._cast(half, dtype) for half in self._halves[x]))

    def _looked_at(self, x: Value) -> Halves:
        node = x.node
        if node is None or node.op != "constant":
            return Halves(*(self.view(name, self.exact(x)) for name in PARTS))
        array = node.attrs["value"]
        if array.size == 1:
            return Halves(float(array.item().real), float(array.item().imag))
        return Halves(*(self.constant(np.array(half, order="K")) for half in (array.real, array.imag)))

    def _cast(self, x: Any, dtype: np.dtype[Any]) -> Any:
        if type(x) is not Value or x.type.dtype == dtype:
            return x
        return self.add("_astype", (x,), array_type(x.type.shape, dtype), dtype=dtype)

    def solid(self, half: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
        """A half as an array of this shape, though it may be a number or repeat itself."""
        array = half if type(half) is Value else self.constant(np.array(half, dtype))
        return array if array.type.shape == shape else self.view("broadcast_to", array, shape=shape)

    def arrays(self, x: Value) -> tuple[Value, Value]:
        """The parts of a value as arrays."""
        dtype = part_of(x.type.dtype)
        real, imag = (self.solid(half, x.type.shape, dtype) for half in self.halves(x, dtype))
        return real, imag

    # Nodes.

    def in_rows(self, part: Value) -> Value:
        """A part in row-major order, as loops carry it; a part of complex numbers in memory is not."""
        if part.type.strides is None:
            return part
        return self.add("copy", (part,), array_type(part.type.shape, part.type.dtype), order="C")

    def split(self, value: Value, halves: Halves) -> None:
        """Say what a complex value consists of."""
        dtype, shape = part_of(value.type.dtype), value.type.shape
        full = [half if type(half) is not Value else self.solid(half, shape, dtype) for half in halves]
        self._halves[value] = Halves(*full)
        self._known.add(value)
        self._split.add(value)

    def found(self, value: Value, made: Value) -> None:
        """Say what stands for a value."""
        self._exact[value] = made

    def kept(self, node: Node) -> None:
        """A node that stays as it is."""
        is_custom = node.target is not None and node.target.family == "custom"
        form = self.exact if is_custom or node.is_view or node.target is None else self.near
        operands = tuple([form(x) if type(x) is Value else x for x in node.operands])
        if operands == node.operands:
            self.made.nodes.append(node)
            return
        changed = with_operands(node, operands)
        self.made.nodes.append(changed)
        self._exact.update(zip(node.results, changed.results, strict=True))

    def looked(self, node: Node) -> bool:
        """Is a node a view of something that is known by its parts? Then its results are, from now on."""
        x, others = node.operands[0], node.operands[1:]
        if node.op in PARTS and x in self._known:
            self._near[node.result] = self.arrays(x)[PARTS.index(node.op)]
        elif node.op in _VIEWS and x in self._near:
            parts = self._views(node.target, self._near[x], others, node.attrs)
            self._near.update(zip(node.results, parts, strict=True))
        elif node.op in _VIEWS and x in self._known:
            both = [self._views(node.target, half, others, node.attrs) for half in self.arrays(x)]
            self._halves.update({value: Halves(*pair) for value, *pair in zip(node.results, *both, strict=True)})
            self._known.update(node.results)
        else:
            return False
        self._split.update(node.results)
        return True
