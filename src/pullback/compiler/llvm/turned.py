"""`turned`: elementwise operators and reductions of transposed arrays are done as the arrays lie.

    negative(permute_dims(x))    becomes    permute_dims(negative(x))

Loops then go along memory, and are shared with those that read `x` itself. Whoever reads the result reads it
transposed, as products of matrices and other loops can. What anybody else reads, and outputs, stay as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from pullback.compiler.llvm.scalars import rule_of
from pullback.graph.ir import Node, Program, Value
from pullback.graph.operators import find_operator
from pullback.graph.rewrite import Replacements, keep_remarks, outline
from pullback.graph.types import ArrayType, array_type

Kind = TypeVar("Kind", bound=Program)
_REDUCTIONS = frozenset({"sum", "prod", "amax", "amin", "any", "all"})


def turned(program: Kind) -> Kind:
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
    return node.op in _REDUCTIONS or rule_of(node) is not None


def _axes(node: Node) -> tuple[int, ...] | None:
    """The order of axes in which all large operands of a node are transposed, if they are."""
    if not _is_in_loops(node) or node.is_view or node.effect is not None:
        return None
    shape = node.operands[0].type.shape if node.op in _REDUCTIONS else node.result.type.shape
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
        if self.node.op in _REDUCTIONS:
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
