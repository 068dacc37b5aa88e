"""Gradients of long functions, taken of their loops.

A Python loop of a thousand steps leaves a thousand repetitions in the graph, and as many on the tape. The backward pass
over these would leave two thousand more, of which loops are made again. So the loops of the forward pass are found
first (`graph/reroll`). The graph that has them runs once on tensors, where a loop is one node of the tape, and the
backward pass of that is a loop from the start.

Only the tape of the function knows some things: formulas of the user's, hooks, what was detached, what a write has
destroyed. Where there is any of these, or where the tape and the loops disagree about which inputs have a gradient,
the pass goes over the tape itself, as for every short function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from pullback.aot._metadata import ViewAndMutationMeta
from pullback.aot._trace.captured import InputBoundary
from pullback.aot._trace.dry_runs import Trials
from pullback.aot._trace.higher import stops_from
from pullback.aot._trace.joint import add_backward
from pullback.aot._trace.trace import Primal, Trace
from pullback.core.records import replace
from pullback.core.reports import report, reported
from pullback.core.state import changed, next_stamp
from pullback.eager.nodes import OpNode
from pullback.errors import AutogradError
from pullback.graph.descriptors import DummyAOTInput, DummyAOTOutput, PlainAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.interpret import run_node_on
from pullback.graph.ir import Node as GraphNode
from pullback.graph.ir import Program, Value, empty_like_type, is_store
from pullback.graph.pipeline import ROLL, is_told, run
from pullback.graph.reroll import FEWEST_NODES
from pullback.payloads.traced import Storage, TracedArray, fresh
from pullback.tape.accumulate import AccumulateGrad
from pullback.tape.engine import run_pass
from pullback.tape.history import ASSIGNED, CopySlices, edge_of
from pullback.tape.node import FreshLeaf, Node
from pullback.tensors.tensor import Tensor, wrap

Found = TypeVar("Found")

# A function that is captured: forward and backward become one graph -----------------------------------------------


def joint_of_loops(
    trace: Trace, meta: ViewAndMutationMeta, roots: Sequence[tuple[Tensor, Any]]
) -> tuple[Graph, ViewAndMutationMeta] | None:
    """The joint graph, with loops, and the metadata that has its tangents; None where there are no loops, or where the
    tape has to be asked. The outputs and stores of the forward half are in the trace's graph."""
    return _tried(_joint, trace, meta, roots)


def _joint(
    trace: Trace, meta: ViewAndMutationMeta, roots: Sequence[tuple[Tensor, Any]]
) -> tuple[Graph, ViewAndMutationMeta] | None:
    wanted = [primal for primal in trace.primals if primal.edge[0] is not None]
    if len(roots) != 1 or not isinstance(roots[0][1], PlainAOTOutput) or trace.retaining:
        return None
    if any(primal.former_edge is not None for primal in wanted):
        return None
    if not _is_known_to_graphs(trace, trace.graph.nodes, [primal.value for primal in wanted]):
        return None
    reached = _reached(trace, edge_of(roots[0][0])[0])
    rolled = None if reached is None else _rolled(trace.graph)
    if reached is None or rolled is None:
        return None
    # path: gradient of rolled loops
    made, trials = Trace(), Trials()
    own = replace(meta, traced_tangents=[], traced_tangents_descs=[], traced_tangent_metas=[])
    try:
        with changed(transforms=(), vmaps=(), forward_mask=0, inference=False), made.running():
            outputs = _run_anew(rolled, trace, made)
            root = outputs[rolled.output_descs.index(roots[0][1])]
            add_backward(made, own, [(root, roots[0][1])], [], False, trials)
    finally:
        made.close()
    gradients = made.graph.outputs[len(rolled.outputs) :]
    if trials.errors or not _agree([primal.edge[0] for primal in trace.primals], gradients, reached):
        return None
    return made.graph, own


def _run_anew(rolled: Program, trace: Trace, made: Trace) -> list[Any]:
    """Run the graph on tensors of another trace, which gets its inputs, outputs and stores; the outputs as tensors."""
    primals = {primal.value: primal for primal in trace.primals}
    tensors: dict[Any, Any] = {None: None}
    for value, desc in zip(rolled.inputs, rolled.input_descs, strict=True):
        primal = primals.get(value)
        tensors[value] = _stand_in(made, made.graph.add_input(value.type, desc), primal and primal.edge[0])
        if primal is not None:
            made.primals.append(Primal(tensors[value], None, desc, []))
    _run(rolled, made, tensors)
    for node in rolled.nodes:
        if is_store(node):
            made.add("store", [tensors[x]._data.value for x in node.inputs], {}, [])
    for output, desc in zip(rolled.outputs, rolled.output_descs, strict=True):
        made.graph.add_output(None if output is None else tensors[output]._data.value, desc)
    return [tensors[output] for output in rolled.outputs]


# A function that is differentiated while it is traced: `func.grad` in a compiled function -----------------------------


def gradients_of_loops(trace: Trace, root: Tensor, edge: Any, seed: Any, leaves: Sequence[Tensor]) -> list[Any] | None:
    """The gradients that arrive at the fresh leaves of a transform; None where the tape has to be asked."""
    return _tried(_gradients, trace, root, edge, seed, leaves)


def _gradients(trace: Trace, root: Tensor, edge: Any, seed: Any, leaves: Sequence[Tensor]) -> list[Any] | None:
    if any(type(each._data) is not TracedArray for each in (root, *leaves)):
        return None
    values = [leaf._data.last_value for leaf in leaves]
    marks = [trace.leaves.get(value) for value in values]
    recorded = trace.graph.nodes[min([-1 if mark is None else mark[0] for mark in marks]) :]
    if len(recorded) < FEWEST_NODES:
        return None
    for leaf, mark in zip(leaves, marks, strict=True):
        if mark is None or leaf._data.storage.generation != mark[1]:  # a leaf that was written begins elsewhere
            return None
    if not _is_known_to_graphs(trace, recorded, values):
        return None
    nodes: list[Any] = [leaf._node for leaf in leaves]
    reached = _reached(trace, edge[0], min([node.seq for node in nodes]))
    rolled = None if reached is None else _rolled(_part(recorded, values, root._data.value))
    if reached is None or rolled is None:
        return None
    # path: gradient of rolled loops
    with changed(grad=True, transforms=(), vmaps=(), forward_mask=0, inference=False):
        tensors = {value: _stand_in(trace, value, value in values) for value in rolled.inputs}
        _run(rolled, trace, tensors)
        again = tensors[rolled.outputs[0]]  # type: ignore[index]
        targets = [tensors[value]._node for value in values]
    found = run_pass([edge_of(again)], [seed], True, False, None, [(target, 0) for target in targets])  # type: ignore[list-item]
    if not _agree(nodes, found, reached):
        return None
    _replace(trace, root._data, again._data.value)
    return found


def _part(nodes: list[GraphNode], leaves: list[Value], root: Value) -> Graph:
    """What the root is computed with, of these nodes. What was there before them is an input, and the leaves are."""
    made = Graph("part")
    made.nodes = [node for node in nodes if not (node.results and node.results[0] in leaves)]
    own = {value for node in made.nodes for value in node.results}
    outside = dict.fromkeys(leaves)
    outside.update({value: None for node in made.nodes for value in node.inputs if value not in own})
    made.inputs = list(outside)
    made.input_descs = [DummyAOTInput(k) for k in range(len(outside))]
    made.add_output(root, DummyAOTOutput(0))
    return made.dce()


def _replace(trace: Trace, array: TracedArray, value: Value) -> None:
    """Let an array have the value that the loop gave it, which is the same: nobody needs the repetitions then."""
    storage = array.storage
    if not array.steps and storage.base is array.last_value:
        storage.base = array._value = value
        trace.homes[value] = storage
        trace.has_repetitions = True


# What both have in common ---------------------------------------------------------------------------------------------


def _tried(attempt: Callable[..., Found | None], *args: Any) -> Found | None:
    """What was found, and None if something went wrong: the tape gives the gradient, or says what is wrong."""
    try:
        return attempt(*args)
    except Exception as error:
        if is_told(error):
            raise
        report(f"gradients are those of the tape and not of loops, because of {type(error).__name__}: {error}")
        return None


def _is_known_to_graphs(trace: Trace, nodes: list[GraphNode], begun: Iterable[Value]) -> bool:
    """Do these nodes of the graph say everything about derivatives by these values?"""
    if type(trace) is not Trace or trace.watcher is not None or trace.has_own_formulas or stops_from(trace, begun):
        return False
    return all(map(_is_plain, nodes))


def _is_plain(node: GraphNode) -> bool:
    if node.effect is not None or node.region is not None or node.recompute is not None:
        return False
    return node.target is not None or node.op in ("constant", "update", "store")


def _reached(trace: Trace, root: Node | None, oldest: int = 0) -> set[Node] | None:
    """The nodes of the tape that a gradient goes through; None if one of them is no declared operator's, has hooks, or
    cannot have what it has saved. What they have saved is noted in the trace, as a pass over them would."""
    reached: set[Node] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node is None or node in reached or node.seq < oldest:
            continue
        if node.rare is not None and (node.rare.has_hooks or node.rare.saved):
            return None
        reached.add(node)
        formula = node.fn if isinstance(node, CopySlices) else node
        if type(formula) is OpNode:
            if not _note_saved(trace, formula):
                return None
            waiting += node.next
        elif formula is ASSIGNED:
            waiting += node.next
        elif not isinstance(formula, (AccumulateGrad, FreshLeaf, InputBoundary)):
            return None
    return reached


def _note_saved(trace: Trace, node: OpNode) -> bool:
    later = trace.read_later
    for saved in (*node.saved_operands, *node.saved_outputs):
        if saved is None or saved.spec is None:
            continue
        try:
            value = saved.unpack(node, False)
        except AutogradError:
            return False
        if type(value) is TracedArray:
            known, size = later.get(id(value.storage)), value.shadow.size
            if known is None or known[1] < size:
                later[id(value.storage)] = value.storage, size
    return True


def _rolled(graph: Graph) -> Graph | None:
    with reported(f"rolling of {len(graph.nodes)} nodes"):
        rolled = run(ROLL, graph)
    return None if rolled is graph else rolled


def _stand_in(trace: Trace, value: Value, begins: Any) -> Tensor:
    """A tensor with this value, at which gradients are taken if a history begins there."""
    shadow = empty_like_type(value.type)
    tensor = wrap(TracedArray(Storage(trace, value, shadow), shadow, value))
    if begins:
        node = InputBoundary()
        node.next, node.spec, node.rare, node.seq = (), tensor._spec, None, next_stamp()
        tensor._node = node
    return tensor


def _run(program: Program, trace: Trace, tensors: dict[Value, Tensor]) -> None:
    """Run the nodes of a graph in this trace, on tensors; what is recorded has the places of these nodes."""
    try:
        for node in program.nodes:
            if not is_store(node):
                trace.place = node.place
                operands = [tensors[x] if type(x) is Value else x for x in node.operands]
                tensors.update(zip(node.results, _results(trace, node, operands), strict=True))
    finally:
        trace.place = None


def _results(trace: Trace, node: GraphNode, operands: list[Any]) -> Sequence[Any]:
    if node.op == "constant":
        return [wrap(trace.home(node.attrs["value"]))]
    results = run_node_on(node, operands)
    if node.op == "copy" and results[0]._data.value is operands[0]._data.value:
        # In a trace a copy is the value itself. Here it is one that the capture wants to lie elsewhere.
        made = trace.add(node.target, [operands[0]._data.value], node.attrs, [node.result.type])  # type: ignore[arg-type]
        results[0]._data = fresh(trace, made.result, results[0]._data.shadow)
    return results


def _agree(nodes: Sequence[Node | None], gradients: Sequence[Any], reached: Collection[Node]) -> bool:
    """Is there a gradient wherever the tape leads to?"""
    return all((node in reached) is (g is not None) for node, g in zip(nodes, gradients, strict=True))
