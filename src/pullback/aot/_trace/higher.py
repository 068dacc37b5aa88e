"""What has no history inside of a captured function, for derivatives of its backward pass.

A graph has values and no histories: of `x.detach() * x` it knows that one value is used twice. Gradients are traced by
the tape, which knows better. The backward pass is differentiated by running the joint graph on tensors, and there the
operands that had no history get a `detach`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from pullback.aot import _later
from pullback.aot._metadata import InputAliasInfo, MutationType
from pullback.aot._trace.trace import Trace
from pullback.core.pytree import flatten, unflatten
from pullback.core.records import Record, field, replace
from pullback.core.state import changed, next_stamp
from pullback.declare.op import registry
from pullback.errors import HigherOrderError
from pullback.graph.descriptors import PlainAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.interpret import on_tensors
from pullback.graph.ir import Node as GraphNode
from pullback.graph.ir import Program, Value, array_type
from pullback.graph.text.printing import bodies_of
from pullback.operators.random.draws import numpy_generator
from pullback.tape.backward import grad
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.node import Node
from pullback.tensors.tensor import Tensor, alias, wrap


def _run_flow(kind: str, operands: list[Any], attrs: dict[str, Any]) -> Any:
    return _later.run_flow_of(kind, operands, attrs)


on_tensors["detach"] = lambda operands, attrs: [operands[0].detach()]
for _kind in ("cond", "scan", "while_loop"):
    on_tensors[_kind] = partial(_run_flow, _kind)


class Stops(Record):
    """Operands without history, by node and position, and values whose memory was written behind the tape's back.

    With operands that have a history only where a mask says so: a node computes more elements than the program did."""

    operands: dict[GraphNode, tuple[int, ...]] = field(default_factory=dict)
    hidden: frozenset[Value] = frozenset()
    masked: dict[GraphNode, tuple[Value, tuple[int, ...]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.operands or self.hidden)

    def moved(self, nodes: dict[GraphNode, GraphNode], values: dict[Value, Value]) -> Stops:
        """The same of another graph, whose nodes and values stand for those of this one."""
        operands = {nodes[node]: positions for node, positions in self.operands.items()}
        masked = {nodes[node]: (values[mask], positions) for node, (mask, positions) in self.masked.items()}
        return Stops(operands, frozenset(values[value] for value in self.hidden), masked)


def stops_of(trace: Trace) -> Stops:
    """Those that matter: without them there would be a way to an input that requires grad."""
    # Arguments that require grad from some point of the function on: it is not known what was read before.
    wants = [primal for primal in trace.primals if primal.edge[0] is not None]
    flagged = {primal.value for primal in wants if not getattr(primal.original, "requires_grad", False)}
    found = stops_from(trace, [primal.value for primal in wants])
    return replace(found, hidden=found.hidden | flagged) if flagged else found


def stops_from(trace: Trace, begun: Iterable[Value]) -> Stops:
    """Those without which there would be a way to one of these values."""
    if not trace.stopped and not trace.hidden:
        return Stops()
    live = set(begun)
    operands: dict[GraphNode, tuple[int, ...]] = {}
    for node in trace.graph.nodes:
        stopped = trace.stopped.get(node, ())
        reached = [k for k, x in enumerate(node.operands) if type(x) is Value and x in live]
        if any(k in stopped for k in reached):
            operands[node] = tuple([k for k in reached if k in stopped])
        if any(k not in stopped for k in reached):
            live.update(node.results)
    hidden = {after for before, after in trace.hidden if before in live}
    return Stops(operands, frozenset(hidden))


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
    known = dict(zip(graph.inputs, copy.inputs, strict=True))
    for original, node in zip(graph.nodes, nodes, strict=True):
        operands = list(node.operands)
        mask, masked = stops.masked.get(original, (None, ()))
        for position in (*stops.operands.get(original, ()), *masked):
            operand = operands[position]
            found = copy.add("detach", [operand], {}, [operand.type], node.tag).result
            if position in masked and mask is not None:
                shape = np.broadcast_shapes(mask.type.shape, operand.type.shape)
                given, kind = [known[mask], operand, found], array_type(shape, operand.type.dtype)
                found = copy.add(registry["where"], given, {}, [kind], node.tag).result
            operands[position] = found
        node.operands = tuple(operands)
        copy.nodes.append(node)
        known.update(zip(original.results, node.results, strict=True))
    return copy


def _needed(graph: Graph, first: int) -> set[Value]:
    needed = {value for value in graph.outputs[first:] if value is not None}
    for node in reversed(graph.nodes):
        if any(value in needed for value in node.results):
            needed.update(node.inputs)
    return needed


# Random numbers of a compiled call that a derivative of its backward pass needs again.
#
# Such a derivative computes the forward part of the graph a second time, and has to draw what was drawn before. So a
# call whose graph draws keeps where the streams of its generators were; they are put there and back again.

States = list[tuple[Any, Any]]


def sources_of(program: Program) -> tuple[Any, ...]:
    """The generators that a graph draws from; None stands for the default one."""
    found: dict[int, Any] = {}
    for node in nodes_in(program):
        if node.effect == "random" and "generator" in node.attrs:
            found[id(node.attrs["generator"])] = node.attrs["generator"]
    return tuple(found.values())


def nodes_in(program: Program) -> Iterator[GraphNode]:
    """All nodes, also those of the bodies of control flow."""
    for node in program.nodes:
        yield node
        for body in bodies_of(node).values():
            yield from nodes_in(body)


def is_repeatable(node: GraphNode) -> bool:
    """May a node run again, and nobody notices? Not if it has an effect, or draws from what cannot be put back.

    A collective may: every rank runs it again."""
    call = node.attrs.get("call")
    has_effect = call is not None and call.definition.effect is not None and node.effect != "collective"
    return not has_effect and (node.effect != "random" or "generator" in node.attrs)


def states_of(sources: Iterable[Any]) -> States:
    """Where the streams of generators are."""
    chosen = [numpy_generator(source) for source in sources]
    return [(source, source.bit_generator.state) for source in chosen]


def put_back(states: States) -> None:
    """Bring the streams of generators to where they were."""
    for source, state in states:
        source.bit_generator.state = state


@contextmanager
def drawing_again(states: States) -> Iterator[None]:
    """The block draws from these generators what was drawn when they were in these states; then they go on."""
    now = [(source, source.bit_generator.state) for source, _ in states]
    for source, state in states:
        source.bit_generator.state = state
    try:
        yield
    finally:
        for source, state in now:
            source.bit_generator.state = state


# Higher derivatives of functions whose formulas are their own.
#
# A custom Function may have another derivative than its forward has, a straight-through estimator for example. A graph
# knows what the forward computes and what the backward computes; differentiated again, it would differentiate the
# forward. So where a derivative of the backward pass is wanted, such a function itself runs again, on the inputs. So
# does one with payloads made of arrays: the graph knows the arrays, and the formulas are those of the payloads.

def check_can_run_again(entry: Any, what: str) -> None:
    """Raise unless a call is nothing but its results, so that it may be repeated: without writes, effects and merged
    arguments. What it draws, it draws again."""
    if not _can_run_again(entry):
        raise HigherOrderError(
            f"a derivative of the backward pass of a compiled function with {what} was asked for",
            why="it is computed by running the function again, which writes to its inputs or has effects",
            fix="write to a .clone() of the input, or call the function itself where such derivatives are wanted",
        )


def _can_run_again(entry: Any) -> bool:
    return (
        entry.function is not None
        and not entry.capture.effects
        and all(is_repeatable(node) for node in nodes_in(entry.graph))
        and all(_is_left_alone(given.info) for given in entry.inputs)
        and all(given.slot is not None or given.capture is not None for given in entry.inputs)
        and all(isinstance(desc.of, PlainAOTOutput) for desc in entry.meta.traced_tangents_descs)
    )


def _is_left_alone(info: InputAliasInfo) -> bool:
    """Does the function do nothing to an input? `squeeze_()` counts as a write, also where it changes nothing."""
    is_flagged = info.sets_requires_grad is not None or info.retains_grad
    return info.mutation_type is MutationType.NOT_MUTATED and not info.version_bumps and not is_flagged


_moving = threading.RLock()
"""Held while tensors that a function finds by itself have another history."""


def gradients_of_function(
    entry: Any, primals: Any, edges: Any, gradients: tuple[Any, ...], draws: States | None = None
) -> tuple[Any, ...]:
    """The gradients of the inputs that have an edge, recorded, from gradients of the outputs.

    One input may be computed from another. Each gradient is that of the function alone, so while they are computed no
    path leads from one input on to the next; afterwards it does, for the derivatives of these gradients.
    """
    tensors = [x if isinstance(x, Tensor) else wrap(x) for x in primals]
    # Other threads may use the inputs meanwhile, so the function is given others. What it finds by itself has to be the
    # very tensor, and what has tangents belongs to one thread.
    found = {id(tensor) for tensor in entry.capture.met.values()}
    found |= {id(given.capture) for given in entry.inputs if given.capture is not None}
    entrances, moved = [], []
    for position, tensor in enumerate(tensors):
        if requires_grad(tensor) and not tensor.is_leaf:
            edge, node = edge_of(tensor), Entrance.of(tensor)
            extra = tensor._extra
            if id(tensor) in found or (extra is not None and (extra.forward or extra.deps is not None)):
                moved.append((tensor, edge))
            else:
                tensors[position] = tensor = alias(tensor)
            entrances.append((tensor, edge, node))
    with _moving if moved else nullcontext():
        try:
            for tensor, _, node in entrances:
                tensor._node, tensor._nr = node, 0
            return _gradients(entry, tensors, edges, gradients, draws)
        finally:
            for _, edge, node in entrances:
                node.next, node.next_nr = (edge[0],), (edge[1],)
            for tensor, edge in moved:
                tensor._node, tensor._nr = edge


def _gradients(
    entry: Any, tensors: list[Tensor], edges: Any, gradients: tuple[Any, ...], draws: States | None
) -> tuple[Any, ...]:
    leaves: dict[int, Any] = dict(entry.capture.literals)
    for given, tensor in zip(entry.inputs, tensors, strict=True):
        if given.slot is not None:
            leaves[given.slot] = tensor
    for slot, info in enumerate(entry.meta.input_info):
        if info.duplicate_of is not None:
            leaves[slot] = leaves[info.duplicate_of]
    args, kwargs = unflatten(entry.capture.in_tree, [leaves[slot] for slot in range(len(leaves))])
    again = nullcontext() if draws is None else drawing_again(draws)
    with changed(grad=True, inference=False, saved_hooks=()), again:
        results, _ = flatten(entry.function(*args, **kwargs))
    given = [
        (results[desc.of.index], gradient)
        for desc, gradient in zip(entry.meta.traced_tangents_descs, gradients, strict=True) if gradient is not None
    ]  # fmt: skip
    wanted = [tensor for tensor, edge in zip(tensors, edges, strict=True) if edge is not None]
    roots, seeds = [root for root, _ in given], [seed for _, seed in given]
    found = iter(grad(roots, wanted, seeds, create_graph=True, allow_unused=True))
    return tuple([None if edge is None else next(found) for edge in edges])


class Entrance(Node):
    """Where the history of a function begins that runs again; what is behind is known to it afterwards."""

    __slots__ = ("next_nr",)

    @classmethod
    def of(cls, tensor: Tensor) -> Entrance:
        """The node in front of a tensor."""
        node = cls()
        node.next, node.next_nr, node.spec, node.rare, node.seq = (), None, tensor._spec, None, next_stamp()
        return node

    def name(self) -> str:
        return "Entrance"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        return grads
