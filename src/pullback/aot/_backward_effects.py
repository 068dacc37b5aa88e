"""Which gradients lead to the effects of a backward pass.

A formula runs if a gradient arrives at its node, and so its draws, writes and other effects happen. The graph of a
backward pass has the formulas of all nodes. Where gradients arrive at some of the results only, what depends on the
others is left out of it; for effects, which need not depend on any gradient, the tape says what leads to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.aot._trace import Trace
from pullback.aot._trials import Mark
from pullback.autograd._node import Node
from pullback.errors import AOTError
from pullback.graph.ir import BACKWARD
from pullback.graph.ir import Node as GraphNode

Sources = dict[int, tuple[int, ...]]
"""By `seq` of nodes of a graph: for each formula that a node comes from, the tangents that lead there, as bits."""


def reached_by(edges: Sequence[tuple[Node | None, int]]) -> dict[Node, int]:
    """For each node of the tape that one of these edges leads to: which of them do, as bits."""
    reached: dict[Node, int] = {}
    for number, (root, _) in enumerate(edges):
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node is not None and not reached.get(node, 0) >> number & 1:
                reached[node] = reached.get(node, 0) | 1 << number
                waiting += [each for each, _ in node.edges()]
    return reached


def effect_sources(trace: Trace, reached: dict[Node, int], before: Mark) -> Sources:
    """What leads to the effects that were recorded since then."""
    found = {node.seq: bits for node, bits in reached.items()}
    effects = [node for node in trace.graph.nodes[before[0] :] if node.effect is not None]
    return {node.seq: (found[node.seq],) for node in effects if node.seq in found}


def write_sources(trace: Trace, storage: Any, reached: dict[Node, int], before: Mark) -> tuple[int, ...]:
    """What leads to the writes to a storage since then."""
    found = {node.seq: bits for node, bits in reached.items()}
    writers = {seq for written, seq in trace.written[before[1] :] if written is storage}
    return tuple(sorted({found.get(seq, -1) for seq in writers}))


def happens(node: GraphNode, sources: Sources, arrived: int) -> bool:
    """Does a node have its effect if gradients arrive at these tangents?"""
    if node.tag != BACKWARD or node.seq not in sources or not (node.effect is not None or node.op == "store"):
        return True
    is_live = [bool(bits & arrived) for bits in sources[node.seq]]
    if any(is_live) and not all(is_live):
        raise AOTError(
            "a backward pass writes to an input in several formulas, and gradients arrive at some of them only",
            why="the graph of the backward pass has what all of them together write",
            fix="differentiate the results together, or let one formula do the writing",
        )
    return any(is_live)
