"""Running control flow on whatever its operands are: arrays, traced arrays, batches, tensors with tapes and tangents.

`run_flow` is the one entrance. Tensors with tangents run the flow of pairs (`_control_push`); tensors that require grad
leave one node on the tape, whose formula runs the flow of the gradients (`_control_pull`); payloads of a vmap run the
flow of the batch (`_control_batch`); and in a trace there is one node of the graph for each of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.aot._control.batch import batched, chosen, has_level, newest_level, without_levels
from pullback.aot._control.body import CONTROL, BodyTrace, Tree, check_predicate, check_same, pair_of
from pullback.aot._control.flow import Cond, Flow, Scan, WhileLoop, check_repeatable
from pullback.aot._control.forward import primal_places, pushed
from pullback.aot._control.reverse import (
    ScanPull,
    gradients_of,
    has_gradient,
    pull_of_graph,
    reverse_cond,
    reverse_scan,
    while_error,
    with_kept,
)
from pullback.core.pytree import map_leaves
from pullback.core.state import changed, current, open_levels
from pullback.declare.op import Op, registry
from pullback.eager.record import new_tensor
from pullback.errors import TraceError
from pullback.graph.descriptors import DummyAOTInput, DummyAOTOutput
from pullback.graph.graph import Graph
from pullback.graph.ir import type_of
from pullback.graph.rewrite import keeps_its_place
from pullback.payloads.batched import BatchedArray
from pullback.payloads.traced import TracedArray, fresh
from pullback.payloads.traced.evaluate import note_stopped, operand_of
from pullback.tape.forward.duals import attach_new
from pullback.tape.forward.levels import handle, live_levels, snapshot, tangent_of
from pullback.tape.history import requires_grad
from pullback.tape.transform.body import copy_tangents
from pullback.tensors.tensor import Tensor, alias, made_here


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
    if modes.trace is not None:
        tensors = [_as_it_is(x, levels) if type(x._data) is TracedArray else x for x in tensors]
    return _recorded_as(flow, pull, tensors, found)


def _as_it_is(tensor: Tensor, levels: list[Any]) -> Tensor:
    """In a graph a value stays what it is, whatever is written to its place: its gradient may be computed later."""
    kept = snapshot(tensor, levels)
    kept._data.is_detached, kept._data.stopped = tensor._data.is_detached, tensor._data.stopped
    return kept


def _run_unrecorded(flow: Flow, tensors: list[Tensor]) -> list[Any]:
    modes = current()
    return [new_tensor(payload, modes) for payload in evaluate(flow, [x._data for x in tensors])]


def _recorded_as(flow: Flow, pull: ScanPull | None, tensors: list[Tensor], found: list[Tensor]) -> list[Any]:
    """The results with one node of the tape behind them, which saves the operands as they are: with their tangents."""
    count = len(flow.types)
    held = Held(flow, pull, found[:count], len(tensors))
    kept = [handle(x) for x in found[count:]]
    results = list(_OPERATORS[flow.kind].call(*tensors, *kept, flow=held))
    is_known = isinstance(flow, Scan) and flow.length > 0 and pull is not None
    roots = pull.roots if pull is not None and is_known else range(count)
    for k, source in enumerate(found[:count]):
        if k in roots:
            copy_tangents(source, results[k])
        else:
            results[k] = source  # the body computed it without a history
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
    elif flow.limits:  # no derivative is taken of this graph: the function runs again
        trace.has_own_formulas = True
    copy = registry["copy"].call
    rows = [x if not hasattr(x, "flags") or x.flags.c_contiguous else copy(x, order="C") for x in payloads]
    node = trace.add(flow.kind, [operand_of(x, trace) for x in rows], flow.attrs, flow.types)
    if trace.noted:
        note_stopped(trace, node, rows)
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


def run_flow_of(kind: str, operands: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """The results of a node of control flow on tensors."""
    return run_flow(_flow_of(kind, attrs), operands)


# Branches and loops where nothing is traced: Python's own, on ordinary tensors.
#
# The tape records what the functions do, tangents go through, and `vmap` maps. The one thing that Python cannot do is
# decide for many examples at once: under `vmap`, a branch whose predicate differs between examples runs both ways and
# chooses element by element, and a loop goes on until the last example is done, while those that are done stay as they
# are.
#
# A body owns its carry: it may write to it in place. So the loop begins with copies, and what is collected while it
# shares memory with the carry is copied as well. What goes around lies in memory in row-major order, as in a graph.

def differs(predicate: Any) -> bool:
    """Does the predicate have a value of its own for every example of a vmap?"""
    return isinstance(predicate, Tensor) and type(predicate._data) is BatchedArray and bool(predicate._data.levels)


def _any_example(predicate: Tensor) -> bool:
    return bool(np.asarray(predicate._data.data).any())


def _chosen(predicate: Any, yes: Tree, no: Tree) -> Any:
    where = registry["where"].function
    return yes.filled([where(predicate, a, b) for a, b in zip(yes.tensors, no.tensors, strict=True)])


def as_results(tree: Any) -> Any:
    """What a branch or a loop returns: while grad mode is off nothing of it has a history, whatever the body did."""
    return tree if current().grad else map_leaves(_without_history, tree)


def _without_history(leaf: Any) -> Any:
    if not isinstance(leaf, Tensor) or not requires_grad(leaf):
        return leaf
    result = alias(leaf)
    copy_tangents(leaf, result)
    return result


def cond(predicate: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """One branch, or both if the examples of a vmap do not agree."""
    if not differs(predicate):
        return true_fn(*operands) if predicate else false_fn(*operands)
    yes, no = Tree("result", true_fn(*operands)), Tree("result", false_fn(*operands))
    check_same("cond", yes, no, "what true_fn returns", "what false_fn returns")
    return _chosen(predicate, yes, no)


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Tree, max_steps: int | None) -> Any:
    """A loop; `max_steps` is the most that it makes."""
    carry, state = init, init.filled(begun(init))
    steps = 0
    while max_steps is None or steps < max_steps:
        going = check_predicate("while_loop", condition(state))
        if not (_any_example(going) if differs(going) else going):
            break
        new = Tree("carry", body(state))
        check_same("while_loop", carry, new, "what the body is given", "what it returns")
        state = _chosen(going, new, Tree("carry", state)) if differs(going) else new.filled(map(_in_rows, new.tensors))
        carry = new
        steps += 1
    return state


def scan(f: Callable[[Any, Any], Any], init: Tree, xs: Tree, length: int, reverse: bool) -> tuple[Any, Any]:
    """A loop over slices; what the body returns beside the carry is stacked."""
    carry, state = init, init.filled(begun(init))
    rows: list[Tree] = []
    for turn in range(length - 1, -1, -1) if reverse else range(length):
        new_state, y = pair_of("scan", f(state, xs.filled([leaf[turn] for leaf in xs.tensors])))
        new, row = Tree("carry", new_state), Tree("y", y)
        check_same("scan", carry, new, "what the body is given", "what it returns")
        if rows:
            check_same("scan", rows[0], row, "the y of one step", "the y of another")
        row.leaves = [_apart(leaf, new) for leaf in row.leaves]
        rows.append(row)
        carry, state = new, new.filled(map(_in_rows, new.tensors))
    if not rows:
        return state, _nothing(f, state, xs)
    return state, _stacked(rows[::-1] if reverse else rows)


def begun(init: Tree) -> list[Tensor]:
    """What a loop begins with: copies."""
    return [registry["copy"].function(leaf, order="C") for leaf in init.tensors]


def _in_rows(leaf: Tensor) -> Tensor:
    return leaf if leaf.is_contiguous() else registry["copy"].function(leaf, order="C")


def _apart(leaf: Tensor | None, carry: Tree) -> Tensor | None:
    """What is collected must not change when the next step writes to the carry."""
    for other in carry.tensors:
        if leaf is not None and _share_memory(leaf._data, other._data):
            return leaf.clone()
    return leaf


def _share_memory(first: Any, second: Any) -> bool:
    if type(first) is np.ndarray and type(second) is np.ndarray:
        return np.may_share_memory(first, second)
    memory, other = getattr(first, "data", first), getattr(second, "data", second)
    is_known = isinstance(memory, np.ndarray) and isinstance(other, np.ndarray)
    return np.may_share_memory(memory, other) if is_known else True


def _stacked(rows: list[Tree]) -> Any:
    stack = registry["_stack"].function
    columns = zip(*[row.tensors for row in rows], strict=True)
    first = rows[0]
    return first.filled([stack(*column, axis=0) for column in columns])


def _nothing(f: Callable[[Any, Any], Any], state: Any, xs: Tree) -> Any:
    """No steps: the ys have their shapes, which only the body knows, and no slices. It is asked with zeros."""
    given = xs.filled([made_here(np.zeros(leaf.shape[1:], leaf.dtype)) for leaf in xs.tensors])
    own = Tree("carry", state)
    with changed(grad=False):
        _, y = pair_of("scan", f(own.filled([leaf.clone() for leaf in own.tensors]), given))
    row = Tree("y", y)
    return row.filled([made_here(np.empty((0, *leaf.shape), leaf.dtype)) for leaf in row.tensors])
