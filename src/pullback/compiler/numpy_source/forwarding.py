"""What is read directly: an elementwise function repeats its operands by itself, so nobody has to do it before.

The rule of every sum is a `broadcast_to`, and most of them go straight into a product. Such a view is not made; the
function reads the array behind it and has the same elements, in the same order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.graph.ir import Node, Program, Value


def forwarded(program: Program) -> tuple[list[Node], dict[Node, tuple[Any, ...]]]:
    """The nodes that are still needed, stores at the end, and for each what it reads."""
    operands = {node: _without_repeats(node) for node in program.nodes}
    needed = {value for value in program.outputs if value is not None}
    kept: list[Node] = []
    for node in reversed(program.nodes):
        if node.is_view and not needed.intersection(node.results):
            continue
        kept.append(node)
        needed.update(x for x in operands[node] if type(x) is Value)
    kept.reverse()
    return sorted(kept, key=lambda node: node.op == "store"), operands


def _without_repeats(node: Node) -> tuple[Any, ...]:
    if not _is_elementwise(node):
        return node.operands
    sources = tuple(_source(x) for x in node.operands)
    shapes = [x.type.shape for x in sources if type(x) is Value]
    return sources if np.broadcast_shapes(*shapes) == node.result.type.shape else _some(node, sources)


def _some(node: Node, sources: tuple[Any, ...]) -> tuple[Any, ...]:
    """All but the first repeated operand read directly, if that gives the result its shape."""
    for position, (source, x) in enumerate(zip(sources, node.operands, strict=True)):
        if source is not x and x.type.shape == node.result.type.shape:
            return (*sources[:position], x, *sources[position + 1 :])
    return node.operands


def _is_elementwise(node: Node) -> bool:
    op = node.target
    if op is None or op.family != "elementwise" or len(node.results) != 1:
        return False
    return op.name in ("where", "pow", "relu") or (isinstance(op.kernel, np.ufunc) and op.kernel.signature is None)


def _source(x: Any) -> Any:
    """The array behind a `broadcast_to`."""
    while type(x) is Value and x.node is not None and x.node.op == "broadcast_to":
        x = x.node.operands[0]
    return x
