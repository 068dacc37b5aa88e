"""`undo_transposes`: elementwise operators and reductions of transposed arrays are done as the arrays lie.

    negative(permute_dims(x))    becomes    permute_dims(negative(x))

Loops then go along memory, and are shared with those that read `x` itself. Whoever reads the result reads it
transposed, as products of matrices and other loops can. What anybody else reads, and outputs, stay as they are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeVar

from pullback.compiler.loops.scalars import rule_of
from pullback.graph.ir import ArrayType, Node, Program, Value, array_type, find_operator, row_major
from pullback.graph.rewrite import Replacements, keep_remarks, outline

Kind = TypeVar("Kind", bound=Program)


def undo_transposes(program: Kind) -> Kind:
    """The graph with such operators turned; the graph itself if nothing is transposed."""
    if not any(node.op == "permute_dims" for node in program.nodes):
        return program
    made, replaced, fixed = outline(program), Replacements(), _fixed(program)
    for original in program.nodes:
        node = replaced.node(original)
        axes = _axes(node) if fixed.isdisjoint(original.results) else None
        if axes is None:
            made.nodes.append(node)
        else:
            # path: turned
            replaced.found[original.result] = _Turn(made, node, axes).result()
    return replaced.finish(made, program) if replaced.found else program


def _fixed(program: Program) -> set[Any]:
    """The values that have to lie as their types say."""
    found: set[Any] = set(program.outputs)
    for node in program.nodes:
        if not (_is_in_loops(node) or (node.op == "matmul" and all(x.type.ndim <= 2 for x in node.inputs))):
            found.update(node.inputs)
    return found


def _is_in_loops(node: Node) -> bool:
    return is_fold(node) or rule_of(node) is not None


def is_fold(node: Node) -> bool:
    """Is a node a reduction that a ufunc does, one element after the other?"""
    return node.target is not None and node.target.family == "reduction" and node.target.folds is not None


def _axes(node: Node) -> tuple[int, ...] | None:
    """The order of axes in which all large operands of a node are transposed, if they are."""
    if not _is_in_loops(node) or node.is_view or node.effect is not None:
        return None
    shape = node.operands[0].type.shape if is_fold(node) else node.result.type.shape
    found = {_order(x) for x in node.inputs if x.type.shape == shape}
    return found.pop() if len(found) == 1 else None


def _order(x: Value) -> tuple[int, ...] | None:
    if x.node is None or x.node.op != "permute_dims":
        return None
    axes: tuple[int, ...] = x.node.attrs["axes"]
    return axes


class _Turn(NamedTuple):
    """One node on arrays as they lie: axis k of its operands is axis `axes[k]` of what they are views of."""

    program: Program
    node: Node
    axes: tuple[int, ...]

    def result(self) -> Value:
        """What stands for the result of the node."""
        if is_fold(self.node):
            return self._reduced()
        type_ = self.node.result.type
        whole = array_type(_permuted(type_.shape, _inverse(self.axes)), type_.dtype)
        operands = tuple([self._operand(x) for x in self.node.operands])
        return self._permute(self._add(self.node.op, operands, whole, **self.node.attrs), self.axes)

    def _reduced(self) -> Value:
        attrs, source = self.node.attrs, self.node.inputs[0].node
        assert source is not None
        base, type_, reduced = source.operands[0], self.node.result.type, {self.axes[k] for k in attrs["axis"]}
        kept = self.axes if attrs["keepdims"] else tuple([k for k in self.axes if k not in reduced])
        order = tuple([sorted(kept).index(k) for k in kept])
        whole = array_type(_permuted(type_.shape, _inverse(order)), type_.dtype)
        attrs = attrs | {"axis": tuple(sorted(reduced))}
        return self._permute(self._add(self.node.op, (base,), whole, **attrs), order)

    def _operand(self, x: Any) -> Any:
        if type(x) is not Value or x.type.ndim == 0:
            return x
        if x.node is not None and _order(x) == self.axes:
            return x.node.operands[0]
        missing = len(self.axes) - x.type.ndim
        if missing:
            strides = (x.type.nbytes,) * missing + x.type.byte_strides
            type_ = array_type((1,) * missing + x.type.shape, x.type.dtype, strides)
            x = self._add("_reshape", (x,), type_, shape=type_.shape)
        return self._permute(x, _inverse(self.axes))

    def _permute(self, x: Value, axes: tuple[int, ...]) -> Value:
        if axes == tuple(range(len(axes))):
            return x
        type_ = array_type(_permuted(x.type.shape, axes), x.type.dtype, _permuted(x.type.byte_strides, axes))
        return self._add("permute_dims", (x,), type_, axes=axes)

    def _add(self, name: str, operands: tuple[Any, ...], type_: ArrayType, **attrs: Any) -> Value:
        made = self.program.add(find_operator(name), operands, attrs, (type_,), self.node.tag)
        keep_remarks(made, self.node)
        return made.result


def _permuted(items: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([items[axis] for axis in axes])


def _inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([axes.index(axis) for axis in range(len(axes))])


# `planar_points`: points with two to four coordinates lie coordinate by coordinate, where only native code sees them.
#
# `positions[:, None] - positions` has the coordinates of a point side by side. Loops go over the points, so a vector of
# the first coordinates of four points would have to be picked together. Memory that nobody else looks at may lie
# otherwise: all first coordinates, then all second ones.

_MOST_COORDINATES = 4
_FEWEST_POINTS = 16
_VIEWS = frozenset({"_basic_index", "permute_dims", "expand_dims", "broadcast_to", "_reshape"})


def planar_points(program: Kind) -> Kind:
    """The graph with such arrays; the graph itself if there are none."""
    found = _found(program)
    if not found:
        return program
    # path: planes
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original in found:
            planar = Node(node.target, node.op, node.operands, node.attrs, node.tag)
            keep_remarks(planar, node)
            planar.results = (Value(_planar(node.result.type), planar),)
            replaced.found[original.result] = planar.result
            node = planar
        made.nodes.append(node)
    return replaced.finish(made, program)


def _planar(type_: ArrayType) -> ArrayType:
    *points, coordinates = type_.shape
    last, *others = row_major((coordinates, *points), type_.dtype.itemsize)
    return array_type(type_.shape, type_.dtype, (*others, last))


def _found(program: Program) -> set[Node]:
    """The nodes whose results may lie so: nothing but loops read them."""
    candidates = [node for node in program.nodes if _has_points(node)]
    if not candidates:
        return set()
    refused: set[Any] = set(program.outputs)
    for node in reversed(program.nodes):
        if _is_fine(node) and (not node.is_view or refused.isdisjoint(node.results)):
            continue
        refused.update(node.inputs)
    return {node for node in candidates if node.result not in refused}


def _has_points(node: Node) -> bool:
    if len(node.results) != 1 or node.result.type.strides is not None or node.result.type.ndim < 2:
        return False
    *points, coordinates = node.result.type.shape
    return 2 <= coordinates <= _MOST_COORDINATES and math.prod(points) >= _FEWEST_POINTS and rule_of(node) is not None


def _is_fine(node: Node) -> bool:
    """Does a node read its operands wherever they lie?"""
    if node.is_view:
        return node.op in _VIEWS and (node.op != "_reshape" or _keeps_axes(node))
    return _is_in_loops(node)


def _keeps_axes(node: Node) -> bool:
    """Does a reshape only add or take away axes of length 1?"""
    before, after = node.operands[0].type.shape, node.result.type.shape
    return [n for n in before if n != 1] == [n for n in after if n != 1]
