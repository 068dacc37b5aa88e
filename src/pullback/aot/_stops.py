"""What has no history inside of a captured function, for derivatives of its backward pass.

A graph has values and no histories: of `x.detach() * x` it knows that one value is used twice. Gradients are traced by
the tape, which knows better. The backward pass is differentiated by running the joint graph on tensors, and there the
operands that had no history get a `detach`.
"""

from __future__ import annotations

from pullback.aot._trace import Trace
from pullback.core.records import Record, field
from pullback.errors import HigherOrderError
from pullback.graph.graph import Graph
from pullback.graph.interpret import on_tensors
from pullback.graph.ir import Node, Value

on_tensors["detach"] = lambda operands, attrs: [operands[0].detach()]


class Stops(Record):
    """Operands without history, by node and position, and values whose memory was written behind the tape's back."""

    operands: dict[Node, tuple[int, ...]] = field(default_factory=dict)
    hidden: frozenset[Value] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.operands or self.hidden)


def stops_of(trace: Trace) -> Stops:
    """Those that matter: without them there would be a way to an input that requires grad."""
    # Arguments that require grad from some point of the function on: it is not known what was read before.
    wants = [primal for primal in trace.primals if primal.edge[0] is not None]
    flagged = {primal.value for primal in wants if not getattr(primal.original, "requires_grad", False)}
    if not trace.stopped and not trace.hidden and not flagged:
        return Stops()
    live = {primal.value for primal in wants}
    operands: dict[Node, tuple[int, ...]] = {}
    for node in trace.graph.nodes:
        stopped = trace.stopped.get(node, ())
        reached = [k for k, x in enumerate(node.operands) if type(x) is Value and x in live]
        if any(k in stopped for k in reached):
            operands[node] = tuple([k for k in reached if k in stopped])
        if any(k not in stopped for k in reached):
            live.update(node.results)
    hidden = {after for before, after in trace.hidden if before in live}
    return Stops(operands, frozenset(hidden | flagged))


def with_stops(graph: Graph, stops: Stops, first: int) -> Graph:
    """A copy of a joint graph in which operands without history are detached. Gradients begin at output `first`."""
    if stops.hidden & _needed(graph, first):
        raise HigherOrderError(
            "a derivative of a compiled backward pass needs a value that was written without a history",
            why="the backward pass is differentiated as a graph, and a graph knows no writes",
            fix="write where gradients are recorded, or to a .clone()",
        )
    copy = graph.copy()
    nodes, copy.nodes = copy.nodes, []
    for original, node in zip(graph.nodes, nodes, strict=True):
        for position in stops.operands.get(original, ()):
            operand = node.operands[position]
            detached = copy.add("detach", [operand], {}, [operand.type], node.tag).result
            node.operands = (*node.operands[:position], detached, *node.operands[position + 1 :])
        copy.nodes.append(node)
    return copy


def _needed(graph: Graph, first: int) -> set[Value]:
    needed = {value for value in graph.outputs[first:] if value is not None}
    for node in reversed(graph.nodes):
        if any(value in needed for value in node.results):
            needed.update(node.inputs)
    return needed
