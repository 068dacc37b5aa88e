"""Which graphs may be looked up in the cache on disk."""

from __future__ import annotations

from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, Program
from pullback.graph.printing import bodies_of, opaque_in


def is_storable(graph: Graph) -> bool:
    """Does the text of a graph say everything about it? Custom operators are code of others, which may change, and
    which gradients lead to effects of a backward pass is no part of the text."""
    has_effects = any(node.tag == BACKWARD and (node.effect or node.op == "store") for node in graph.nodes)
    return not has_effects and not opaque_in(graph) and not _has_custom_operators(graph)


def _has_custom_operators(graph: Program) -> bool:
    return any(
        node.target.family == "custom" if node.target is not None
        else any(_has_custom_operators(body) for body in bodies_of(node).values())
        for node in graph.nodes
    )  # fmt: skip
