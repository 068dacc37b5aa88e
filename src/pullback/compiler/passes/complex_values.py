"""`split_complex`: complex numbers as two real arrays, so that everything that is fused for real ones is for them too.

A product of complex numbers is four of real ones, a sum two sums, and whatever moves elements moves those of both
arrays. A complex value is put together again only where somebody needs it whole: an output, an operator
without a rule in `passes/complex.py`, a call of somebody else's loop. Loops carry the two arrays.

Every value of the graph has up to three forms while it is written anew:

    exact     of the same type, and in the same layout; made when it is asked for
    parts     the real and the imaginary parts of a complex one: arrays, or numbers that they are everywhere
    near      a real one that was to be a view of a complex one, as a view of one of its parts
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.loops.planning import is_dense
from pullback.graph.ir import ArrayType, Node, Program, Value, array_type, empty_like_type, find_operator, type_of
from pullback.graph.rewrite import keep_remarks, with_operands

PARTS = ("_real", "_imag")


class Parts(NamedTuple):
    """Real and imaginary parts."""

    real: Any
    imag: Any


def part_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the parts of complex numbers; others have themselves."""
    return np.dtype(dtype.char.lower()).newbyteorder(dtype.byteorder) if dtype.kind == "c" else dtype


def part_type(type_: ArrayType) -> ArrayType:
    """The type of a part that lies in memory as the whole does."""
    strides = None if type_.strides is None else tuple([step // 2 for step in type_.strides])
    return array_type(type_.shape, part_of(type_.dtype), strides)


def is_complex(x: Any) -> bool:
    """Is it an array of complex numbers that native code could know the parts of?"""
    return type(x) is Value and x.type.dtype.char in "FD" and x.type.dtype.isnative and x.type.size > 0


class Splitter:
    """Writes a graph anew. `add` appends a node, as rules of `expand` do; values of the old graph are asked for by
    `exact`, `parts` and `near`."""

    def __init__(self, program: Program, node: Node | None = None) -> None:
        self.made = program
        self.node = node  # the one that is being written out
        self._exact: dict[Value, Value] = {}
        self._near: dict[Value, Value] = {}
        self._parts: dict[Value, Parts] = {}
        self._known: set[Value] = set()  # what was made as parts
        self._split: set[Value] = set()  # what is not yet there exactly

    # What rules write.

    def add(self, name: str, operands: tuple[Any, ...], type_: ArrayType, **attrs: Any) -> Value:
        """The result of one more node."""
        return self.append(find_operator(name), operands, type_, attrs)

    def append(self, target: Any, operands: tuple[Any, ...], type_: ArrayType, attrs: dict[str, Any]) -> Value:
        """The same, as stand-ins add it."""
        return self._added(target, operands, attrs, (type_,)).result

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
            self._exact[value] = self.add("complex", tuple(self._parts[value]), type_)
        return self._exact[value]

    def near(self, value: Value) -> Value:
        """The value, if it is complex exactly, otherwise in any layout."""
        return self._near[value] if value in self._near else self.exact(value)

    def parts(self, x: Any, dtype: np.dtype[Any]) -> Parts:
        """The parts of an operand in the dtype of a part."""
        if type(x) is not Value:
            return Parts(float(x.real), float(x.imag))
        if x.type.dtype.kind != "c":
            return Parts(self._cast(self.near(x), dtype), 0.0)
        if x not in self._parts:
            self._parts[x] = self._looked_at(x)
        return Parts(*(self._cast(part, dtype) for part in self._parts[x]))

    def _looked_at(self, x: Value) -> Parts:
        node = x.node
        if node is None or node.op != "constant":
            return Parts(*(self.view(name, self.exact(x)) for name in PARTS))
        array = node.attrs["value"]
        if array.size == 1:
            return Parts(float(array.item().real), float(array.item().imag))
        return Parts(*(self.constant(np.array(part, order="K")) for part in (array.real, array.imag)))

    def _cast(self, x: Any, dtype: np.dtype[Any]) -> Any:
        if type(x) is not Value or x.type.dtype == dtype:
            return x
        return self.add("_astype", (x,), array_type(x.type.shape, dtype), dtype=dtype)

    def solid(self, part: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
        """A part as an array of this shape, though it may be a number or repeat itself."""
        array = part if type(part) is Value else self.constant(np.array(part, dtype))
        return array if array.type.shape == shape else self.view("broadcast_to", array, shape=shape)

    def arrays(self, x: Value) -> tuple[Value, Value]:
        """The parts of a value as arrays."""
        dtype = part_of(x.type.dtype)
        real, imag = (self.solid(part, x.type.shape, dtype) for part in self.parts(x, dtype))
        return real, imag

    # Nodes.

    def in_rows(self, part: Value) -> Value:
        """A part in row-major order, as loops carry it; a part of complex numbers in memory is not."""
        if part.type.strides is None:
            return part
        return self.add("copy", (part,), array_type(part.type.shape, part.type.dtype), order="C")

    def split(self, value: Value, parts: Parts) -> None:
        """Say what a complex value consists of."""
        dtype, shape = part_of(value.type.dtype), value.type.shape
        full = [part if type(part) is not Value else self.solid(part, shape, dtype) for part in parts]
        self._parts[value] = Parts(*full)
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
        elif node.target is None or node.target.complex != "each":
            return False
        elif x in self._near:
            parts = self._views(node.target, self._near[x], others, node.attrs)
            self._near.update(zip(node.results, parts, strict=True))
        elif x in self._known:
            both = [self._views(node.target, part, others, node.attrs) for part in self.arrays(x)]
            self._parts.update({value: Parts(*pair) for value, *pair in zip(node.results, *both, strict=True)})
            self._known.update(node.results)
        else:
            return False
        self._split.update(node.results)
        return True
