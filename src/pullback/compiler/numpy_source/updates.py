"""Where an `update` writes: the views that lead there as one expression to assign to, `out.T[1:, 0]`."""

from __future__ import annotations

from pullback.compiler.numpy_source.lowering import Writing, lower
from pullback.compiler.numpy_source.module import Module
from pullback.graph.ir import Node, Value
from pullback.graph.types import empty_like_type, type_of

_SUBSCRIPTS = frozenset({"_basic_index", "flip", "_part"})


def place_text(module: Module, name: str, node: Node) -> str:
    """The part of the array `name` that the views of an update lead to, as something to assign to."""
    text, value = name, node.result
    stand_in = empty_like_type(value.type)
    is_subscript = False
    for step in node.attrs["steps"]:
        stand_in = step.op.kernel(stand_in, **step.params)
        view = Node(step.op, step.op.name, (value,), step.params)
        view.results = (Value(type_of(stand_in), view),)
        text = lower(view, (value,)).write(Writing(module, [text]))
        is_subscript, value = step.op.name in _SUBSCRIPTS and text.endswith("]"), view.result
    return text if is_subscript else f"{text}[...]"
