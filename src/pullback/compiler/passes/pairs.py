"""Sums of products as `expand` writes them out: of many operands as pairs, of two without what one of them alone has.

What only one operand has is summed before it is multiplied, as the kernel does: that is less work, and an infinity
becomes NaN in the same cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback.core.subscripts import Step, join, label_lengths, order_pairs, split
from pullback.graph.ir import Node, Value
from pullback.graph.types import ArrayType, array_type

Add = Callable[..., Value]  # (name of an operator, operands, type, **attributes) -> its result
_LARGEST_SPREAD = 1 << 16
"""Elements of a product without a sum, or with several batches: how NumPy would lay out a larger one is not known."""


def can_be_paired(node: Node) -> bool:
    """Is this sum of products better written as others?"""
    if len(node.operands) < 2 or not all(type(x) is Value for x in node.operands):
        return False
    if node.op == "_einsum_two":
        return any(_lone_axes(step, k) for step in _steps(node) for k in range(2))
    return all(_has_known_layout(step) for step in _steps(node)[:-1])


def pair(add: Add, node: Node) -> Value:
    """The contractions one after the other."""
    values = list(node.operands)
    steps = _steps(node)
    for step in steps:
        lengths = label_lengths((step.left, step.right), step.shapes)
        made = array_type(tuple([lengths[label] for label in step.output]), node.result.type.dtype)
        type_ = node.result.type if step is steps[-1] else made
        values.append(_contract(add, step, values[step.first], values[step.second], type_))
    return values[-1]


def _steps(node: Node) -> list[Step]:
    shapes = tuple([x.type.shape for x in node.inputs])
    if len(shapes) == 2:
        (left, right), output = split(node.attrs["subscripts"])
        return [Step(0, 1, left, right, output, (shapes[0], shapes[1]))]
    return order_pairs(node.attrs["subscripts"], shapes, node.attrs["optimize"])


def _has_known_layout(step: Step) -> bool:
    """Does NumPy, if it has to, give this product in row-major order?"""
    lengths = label_lengths((step.left, step.right), step.shapes)
    shared = set(step.left) & set(step.right)
    batches = [label for label in step.output if label in shared]
    return math.prod(lengths.values()) <= _LARGEST_SPREAD or (len(batches) < 2 and not shared <= set(step.output))


def _contract(add: Add, step: Step, left: Value, right: Value, type_: ArrayType) -> Value:
    (x, first), (y, second) = (_summed(add, step, k, operand) for k, operand in enumerate((left, right)))
    return add("_einsum_two", (x, y), type_, subscripts=join((first, second), step.output), optimize=True)


def _summed(add: Add, step: Step, side: int, x: Value) -> tuple[Value, str]:
    """An operand without its lone axes, and its term."""
    term, axes = (step.left, step.right)[side], _lone_axes(step, side)
    if not axes:
        return x, term
    shape = tuple([n for axis, n in enumerate(x.type.shape) if axis not in axes])
    attrs: dict[str, Any] = {"axis": axes, "keepdims": False, "dtype": None}
    kept = "".join(label for axis, label in enumerate(term) if axis not in axes)
    return add("sum", (x,), array_type(shape, x.type.dtype), **attrs), kept


def _lone_axes(step: Step, side: int) -> tuple[int, ...]:
    """Axes of one operand along which the other is constant, and which are summed over."""
    term, other = (step.left, step.right)[:: 1 - 2 * side]
    shape, across = step.shapes[:: 1 - 2 * side]
    varying = {label for label, length in zip(other, across, strict=True) if length != 1}
    return tuple(
        axis
        for axis, label in enumerate(term)
        if label not in varying and label not in step.output and shape[axis] != 1 and term.count(label) == 1
    )
