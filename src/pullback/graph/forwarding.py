"""Updates and the views that read them: what was written is taken from where it was made.

    view(update(b, new, steps), the same steps)     new
    update(b, view(b, steps), steps)                b
    update(update(b, old, steps), new, steps)       update(b, new, steps), also if `old` went to a part of that view
    update(b, new, steps that reach all of b)       the inverse views of new, or a copy where memory must be new
"""

from __future__ import annotations

from typing import Any

from pullback.core.axes import inverse_permutation
from pullback.declare.steps import ViewStep
from pullback.graph.exact_rules import is_full_index
from pullback.graph.ir import Node, Value
from pullback.graph.keys import attributes_key
from pullback.graph.operators import find_operator
from pullback.graph.simplifier import Simplifier
from pullback.graph.types import ArrayType, array_type

_RESHAPING = ("_reshape", "_view", "squeeze", "expand_dims")


def read_back(rules: Simplifier, node: Node) -> Value | None:
    """A view of an update that takes what the update wrote."""
    taken: list[tuple[Any, dict[str, Any]]] = []
    value = node.result
    maker: Node | None = node
    while maker is not None and maker.is_view:
        taken.append(_step_to(value))
        value = maker.operands[0]
        maker = value.node
    if maker is None or maker.op != "update":
        return None
    new = maker.operands[1]
    is_same = type(new) is Value and _are_same(taken[::-1], maker.attrs["steps"])
    return new if is_same else None


def _step_to(value: Value) -> tuple[Any, dict[str, Any]]:
    """The view that a value is, as one step: of an operator with several results it is a part."""
    node = value.node
    assert node is not None and node.target is not None
    if node.target.num_outputs == 1:
        return node.target, node.attrs
    return find_operator("_part"), {"whole": node.target, "params": node.attrs, "index": value.index}


def _are_same(taken: list[tuple[Any, dict[str, Any]]], steps: tuple[ViewStep, ...]) -> bool:
    if len(taken) != len(steps):
        return False
    return all(
        op is step.op and attributes_key(attrs) == attributes_key(step.params)
        for (op, attrs), step in zip(taken, steps, strict=True)
    )


def write_back(rules: Simplifier, node: Node) -> Value | None:
    """An update with what is there already."""
    base, new = node.operands
    taken: list[tuple[Any, dict[str, Any]]] = []
    while type(new) is Value and new is not base and new.node is not None and new.node.is_view:
        taken.append(_step_to(new))
        new = new.node.operands[0]
    return base if new is base and _are_same(taken[::-1], node.attrs["steps"]) else None


def overwrite(rules: Simplifier, node: Node) -> Value | None:
    """An update of an update that wrote the same elements, or some of them."""
    base, new = node.operands
    inner = base.node
    if inner is None or inner.op != "update":
        return None
    steps, earlier = node.attrs["steps"], inner.attrs["steps"]
    if not _are_same([(step.op, step.params) for step in earlier[: len(steps)]], steps):
        return None
    return rules.add("update", (inner.operands[0], new), node.attrs, node.result.type, node)


def whole(rules: Simplifier, node: Node) -> Value | None:
    """An update of all elements."""
    base, new = node.operands
    shapes = _shapes_on_the_way(base.type, node.attrs["steps"])
    if shapes is None or type(new) is not Value or new.type.spec != array_type(shapes[-1], base.type.dtype).spec:
        return None
    wanted = node.result.type
    value, reached = new, new.type
    for step, shape in zip(reversed(node.attrs["steps"]), reversed(shapes[:-1]), strict=True):
        before = _inverse(step, shape, reached)
        if before is None:
            return None
        name, attrs, reached = before
        if name:
            value = rules.add(name, (value,), attrs, reached, node)
    if reached == wanted and rules.may_share(value, node.result):
        return value
    return rules.add("copy", (value,), {"order": "C"}, wanted, node) if wanted.strides is None else None


def _shapes_on_the_way(type: ArrayType, steps: tuple[ViewStep, ...]) -> list[tuple[int, ...]] | None:
    """The shapes from the base to the end of the steps; None if they leave elements out."""
    shapes = [type.shape]
    for op, params in steps:
        is_covering = op.name in ("permute_dims", "_same", *_RESHAPING) or (
            op.name == "_basic_index" and is_full_index(params["index"], shapes[-1])
        )
        if not is_covering:
            return None
        shapes.append(op.specs_of(array_type(shapes[-1], type.dtype).spec, **params).shape)
    return shapes


def _inverse(step: ViewStep, shape: tuple[int, ...], type: ArrayType) -> tuple[str, dict[str, Any], ArrayType] | None:
    """The view that leads from the end of a step, of this type, back to `shape`; without a name if there is none."""
    if step.op.name == "permute_dims":
        axes = inverse_permutation(step.params["axes"])
        strides = tuple([type.byte_strides[axis] for axis in axes])
        return "permute_dims", {"axes": axes}, array_type(shape, type.dtype, strides)
    if step.op.name not in _RESHAPING:
        return "", {}, type
    if type.strides is not None:
        return None
    return "_reshape", {"shape": shape}, array_type(shape, type.dtype)
