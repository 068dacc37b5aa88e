"""Running control flow on whatever its operands are: arrays, traced arrays, batches, tensors with tapes and tangents.

`run_flow` is the one entrance. Tensors with tangents run the flow of pairs (`_control_push`); tensors that require grad
leave one node on the tape, whose formula runs the flow of the gradients (`_control_pull`); payloads of a vmap run the
flow of the batch (`_control_batch`); and in a trace there is one node of the graph for each of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.aot._control_batch import batched, chosen, has_level, newest_level, without_levels
from pullback.aot._control_body import CONTROL, BodyTrace
from pullback.aot._control_flow import Cond, Flow, Scan, WhileLoop, check_repeatable
from pullback.aot._control_pull import (
    ScanPull,
    gradients_of,
    has_gradient,
    pull_of_graph,
    reverse_cond,
    reverse_scan,
    while_error,
    with_kept,
)
from pullback.aot._control_push import primal_places, pushed
from pullback.autograd._bodies import copy_tangents
from pullback.autograd._levels import handle, live_levels, tangent_of
from pullback.autograd._tangents import attach_new
from pullback.autograd._variable import requires_grad
from pullback.core.state import current, open_levels
from pullback.declare.op import Op, registry
from pullback.eager.record import new_tensor
from pullback.errors import TraceError
from pullback.graph.descriptors import DummyAOTInput, DummyAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.interpret import on_tensors
from pullback.graph.rewrite import keeps_its_place
from pullback.graph.types import type_of
from pullback.payloads.traced import TracedArray, fresh
from pullback.payloads.tracing import operand_of
from pullback.tensors.making import made_here
from pullback.tensors.tensor import Tensor


class Held:
    """A flow that has run: its results are given to the tape. What its gradient needs are further operands."""

    def __init__(self, flow: Flow, pull: ScanPull | None, results: Sequence[Tensor], count: int) -> None:
        self.flow = flow
        self.pull = pull
        self.results: list[Any] | None = [x._data for x in results]
        self.count = count  # of the operands of the flow itself

    def taken(self) -> tuple[Any, ...]:
        """The results, once."""
        results, self.results = self.results, None
        assert results is not None
        return tuple(results)


def run_flow(flow: Flow, operands: Sequence[Any]) -> list[Any]:
    """The results of a flow: tensors if an operand is one, payloads otherwise."""
    if not flow.types and not any(keeps_its_place(node) for body in flow.bodies for node in body.nodes):
        return []
    if not any(isinstance(x, Tensor) for x in operands):
        return list(evaluate(flow, operands))
    modes = current()
    tensors = [x if isinstance(x, Tensor) else made_here(x) for x in operands]
    if modes.trace is not None:
        is_body = isinstance(modes.trace, BodyTrace)
        tensors = [modes.trace.taken(x) if is_body else modes.trace.lifted(x) for x in tensors]
    levels = live_levels(tensors) if open_levels and not modes.inference else []
    needs = [modes.grad and not modes.inference and requires_grad(x) and x._spec.is_differentiable for x in tensors]
    if not has_gradient(flow, needs):
        return _run_pairs(flow, tensors, levels) if levels else _run_unrecorded(flow, tensors)
    pull = (flow.pull or pull_of_graph(flow, needs)) if isinstance(flow, Scan) else None
    whole = flow if pull is None else with_kept(flow, pull)  # type: ignore[arg-type]
    found = _run_pairs(whole, tensors, levels) if levels else _run_unrecorded(whole, tensors)
    return _recorded_as(flow, pull, tensors, found)


def _run_unrecorded(flow: Flow, tensors: list[Tensor]) -> list[Any]:
    modes = current()
    return [new_tensor(payload, modes) for payload in evaluate(flow, [x._data for x in tensors])]


def _recorded_as(flow: Flow, pull: ScanPull | None, tensors: list[Tensor], found: list[Tensor]) -> list[Any]:
    """The results with one node of the tape behind them, which saves the operands as they are: with their tangents."""
    count = len(flow.types)
    held = Held(flow, pull, found[:count], len(tensors))
    kept = [handle(x) for x in found[count:]]
    results = list(_OPERATORS[flow.kind].call(*tensors, *kept, flow=held))
    for source, result in zip(found, results, strict=False):
        copy_tangents(source, result)
    return results


def _run_pairs(flow: Flow, tensors: list[Tensor], levels: list[Any]) -> list[Any]:
    """The newest level: values and tangents go through together, and have what older levels and the tape know."""
    level, older = levels[-1], levels[:-1]
    tangents = [tangent_of(x, level) if x._spec.is_differentiable else None for x in tensors]
    made, operands, places = pushed(flow, [tangent is not None for tangent in tangents])
    found = run_flow(made, operands([handle(x, older) for x in tensors], tangents))
    results = [found[k] for k in primal_places(flow, made)]
    for out, place in zip(results, places, strict=True):
        if place >= 0:
            attach_new(out, level, found[place], ())
    return results


# On payloads ----------------------------------------------------------------------------------------------------------


def evaluate(flow: Flow, payloads: Sequence[Any]) -> tuple[Any, ...]:
    """The results on payloads of any kind."""
    payloads = [without_levels(x) for x in payloads]
    level = newest_level(payloads)
    if level is not None:
        if isinstance(flow, Cond) and has_level(payloads[0], level):
            return chosen(flow, payloads)
        made, lowered, results = batched(flow, payloads, level)
        return results(evaluate(made, lowered))
    for x in payloads:
        if type(x) is TracedArray:
            return _recorded(flow, payloads, x.storage.trace)
        if hasattr(type(x), "evaluate_op"):
            raise TraceError(
                f"{flow.kind} on a {type(x).__name__}",
                why="Taylor series and patterns of sparsity go through plain loops only",
                fix="call this transform outside of the compiled function",
            )
    return tuple(_program_of(flow, payloads).eval(*[np.asarray(x) for x in payloads]))


def _recorded(flow: Flow, payloads: list[Any], trace: Any) -> tuple[Any, ...]:
    """One node of the graph. What goes around a loop lies in memory in row-major order, from the start."""
    trace.check_open(flow.kind)
    if isinstance(trace, BodyTrace):
        trace.limits |= flow.limits
    copy = registry["copy"].call
    rows = [x if not hasattr(x, "flags") or x.flags.c_contiguous else copy(x, order="C") for x in payloads]
    node = trace.add(flow.kind, [operand_of(x, trace) for x in rows], flow.attrs, flow.types)
    return tuple([fresh(trace, value, np.empty(value.type.shape, value.type.dtype)) for value in node.results])


def _program_of(flow: Flow, payloads: list[Any]) -> Graph:
    """A graph of this node alone, with which arrays are evaluated."""
    key = ("program", tuple([(np.shape(x), np.asarray(x).dtype) for x in payloads]))
    if key not in flow.cache:
        graph = Graph(flow.kind)
        inputs = [graph.add_input(type_of(np.asarray(x)), DummyAOTInput(k)) for k, x in enumerate(payloads)]
        for k, value in enumerate(graph.add(flow.kind, inputs, flow.attrs, flow.types).results):
            graph.add_output(value, DummyAOTOutput(k))
        flow.cache[key] = graph
    found: Graph = flow.cache[key]
    return found


# On the tape ----------------------------------------------------------------------------------------------------------


def _kernel(*values: Any, flow: Held) -> Any:
    return flow.taken()


def _pull(gs: Sequence[Any], values: Sequence[Any], needs: Sequence[bool], flow: Held) -> list[Any]:
    operands, kept = values[: flow.count], values[flow.count :]
    if isinstance(flow.flow, WhileLoop):
        raise while_error()
    if isinstance(flow.flow, Cond):
        gradients = _pull_cond(flow.flow, gs, operands, needs)
    else:
        assert flow.pull is not None
        gradients = _pull_scan(flow.flow, flow.pull, gs, operands, kept)
    return [*gradients, *[None] * len(kept)]


def _pull_cond(flow: Cond, gs: Sequence[Any], operands: Sequence[Any], needs: Sequence[bool]) -> list[Any]:
    made, wanted = reverse_cond(flow, gs, needs[1:])
    gradients: list[Any] = [None] * len(operands)
    found = run_flow(made, [*operands, *(g for g in gs if g is not None)])
    for k, gradient in zip(wanted, found, strict=True):
        gradients[k + 1] = gradient
    return gradients


def _pull_scan(
    flow: Scan, pull: ScanPull, gs: Sequence[Any], operands: Sequence[Any], kept: Sequence[Any]
) -> list[Any]:
    if isinstance(operands[0], Tensor):
        # A derivative of the gradient is wanted: what was kept must have a history, so the scan runs again.
        whole = with_kept(flow, pull)
        check_repeatable(whole)
        kept = run_flow(whole, operands)[len(flow.types) :]
    made, given = reverse_scan(flow, pull, gs, operands, kept)
    return gradients_of(flow, pull, made, given, run_flow(made.scan, given))


def _operator(kind: str) -> Op:
    op = Op(f"_{kind}", _kernel, ("*values",), params=("flow",), outputs=(), family=CONTROL, table={})
    op.num_outputs = None
    op.takes_payloads = True
    op.vjp(_pull)
    op.not_differentiable("tangents are given to the results by run_flow")  # which leaves the rule above in force
    return op


_OPERATORS = {kind: _operator(kind) for kind in ("cond", "while_loop", "scan")}


# Graphs that are run on tensors ---------------------------------------------------------------------------------------

_flows: dict[tuple[int, ...], tuple[Flow, Any]] = {}  # by identity of the graphs, which are held
_MOST_FLOWS = 256


def _flow_of(kind: str, attrs: dict[str, Any]) -> Flow:
    """The record of a node. It is kept, as its derivatives are found once and kept in it."""
    made = {"cond": Cond, "while_loop": WhileLoop, "scan": Scan}[kind]
    key = tuple([id(value) if isinstance(value, Graph) else int(value) for value in attrs.values()])
    known = _flows.get(key)
    if known is None:
        if len(_flows) >= _MOST_FLOWS:
            _flows.clear()
        known = _flows[key] = (made(**attrs), attrs)
    return known[0]


def _runner(kind: str) -> Any:
    return lambda operands, attrs: run_flow(_flow_of(kind, attrs), operands)


for _kind in _OPERATORS:
    on_tensors[_kind] = _runner(_kind)
