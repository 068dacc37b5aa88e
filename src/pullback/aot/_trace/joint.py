"""The backward half of a capture: the ordinary engine, run over the nodes that the trace has recorded.

Gradients start from new inputs of the graph, one for each thing that the caller may differentiate, and are taken at
the edges at which the inputs' histories begin. Writes of a backward pass to inputs become stores at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from pullback.aot._metadata import MemoryFormatMeta, ViewAndMutationMeta
from pullback.aot._trace.dry_runs import Trials, check_left_nothing, effect_sources, mark, reached_by, write_sources
from pullback.aot._trace.trace import Primal, Trace
from pullback.core.state import changed
from pullback.declare.op import registry
from pullback.errors import AOTError, InternalError, TraceError
from pullback.graph.descriptors import GradAOTOutput, TangentAOTInput
from pullback.graph.graph import Graph
from pullback.graph.ir import BACKWARD, FORWARD, ArrayType, Value, array_type, root_of
from pullback.payloads.traced import TracedArray, fresh
from pullback.payloads.wrappers import arrays_of
from pullback.tape.engine import run_pass
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.input_metadata import SparseGrad
from pullback.tensors.tensor import Tensor, version_of

Roots = list[tuple[Tensor, Any]]  # tensors that gradients arrive at, with the descriptors of what they are


def add_backward(
    trace: Trace, meta: ViewAndMutationMeta, roots: Roots, fresh_leaves: list[Tensor], strict: bool, trials: Trials
) -> None:
    """Append the backward pass to the graph of a trace: tangents, gradients, and stores.

    An error of the backward pass itself is kept, and raised when the backward pass of a call is run, as in eager code:
    from the roots whose gradients lead there, and from no other.
    """
    before, beginning = [_state(primal, storage) for primal, storage, _ in trace.memories], mark(trace)
    first = len(trace.graph.inputs)
    trace.begin_backward()
    tangents = [_tangent(trace, meta, tensor, desc) for tensor, desc in roots]
    if len(roots) > 1:
        trace.dependent = set(trace.graph.inputs[first:])
    meta.tangent_source_stack_traces = [_place(tensor._data) for tensor, _ in roots]
    edges: list[Any] = [edge_of(tensor) for tensor, _ in roots]
    found = _gradients_and_errors(trace, trials, edges, tangents, fresh_leaves)
    meta.deferred_errors = trials.errors
    _check_retained(trace, trials, roots, edges, tangents)
    if meta.deferred_errors and strict:
        raise next(iter(meta.deferred_errors.values()))
    if len(meta.deferred_errors) == len(roots):
        meta.deferred_backward_error = meta.deferred_errors[0]
    for primal in trace.targets:
        for gradient, desc in trace.taken_apart(_payload(found.get(id(primal))), GradAOTOutput(primal.desc)):
            trace.graph.add_output(_value(trace, gradient), desc)
    reached = reached_by(edges) if len(roots) > 1 or meta.deferred_errors else {}
    if reached:
        meta.effect_sources = effect_sources(trace, reached, beginning)
        meta.gradient_sources = [reached.get(primal.edge[0], 0) for primal in trace.targets]
    if meta.deferred_backward_error is None:
        counted: set[Any] = set()
        for index, ((primal, storage, start), state) in enumerate(zip(trace.memories, before, strict=True)):
            if not _add_store(trace, primal, storage, start, index, state):
                continue
            # The writes to a tensor are counted once, whatever it is made of.
            meta.backward_writes[index] = 0 if primal in counted else version_of(primal.tensor) - state[1]
            counted.add(primal)
            if requires_grad(primal.tensor):
                meta.indices_of_inputs_that_requires_grad_with_mutations_in_bw.append(index)
            if reached:
                meta.effect_sources[_store_number(index)] = write_sources(trace, storage, reached, beginning)
    trace.graph.name = "joint"


def _place(payload: Any) -> str:
    """The line that made a value of the graph, or the first part of a payload; no text if that is an input."""
    traced = [part for part in arrays_of(payload) if type(part) is TracedArray]
    node = None if not traced else traced[0].value.node or traced[0].storage.base.node  # of memory that was written
    place = None if node is None else node.place
    return "" if place is None else f"{place[0]}, line {place[1]}, in {place[2]}"


def _tangent(trace: Trace, meta: ViewAndMutationMeta, tensor: Tensor, desc: Any) -> TracedArray:
    """The gradient of one root, as a new input of the graph."""
    made = trace.tangent_of(meta, tensor, desc)
    if made is not None:
        return made
    kind, expected = tangent_layout(tensor._data)
    value = trace.graph.add_input(kind, TangentAOTInput(desc))
    meta.traced_tangents.append(value)
    meta.traced_tangents_descs.append(TangentAOTInput(desc))
    meta.traced_tangent_metas.append(expected)
    shadow = np.empty(kind.shape, kind.dtype) if kind.strides is None else np.empty_like(tensor._data.shadow)
    return fresh(trace, value, shadow)


def tangent_layout(payload: TracedArray) -> tuple[ArrayType, MemoryFormatMeta]:
    """The layout in which the gradient of an output is expected: its own, unless elements of it share memory."""
    if payload.is_contiguous():
        return array_type(payload.shape, payload.dtype), MemoryFormatMeta(payload.shape, None)
    if np.empty_like(payload.shadow).strides == payload.strides:
        kind = array_type(payload.shape, payload.dtype, payload.strides)
        return kind, MemoryFormatMeta(payload.shape, payload.strides)
    return array_type(payload.shape, payload.dtype), MemoryFormatMeta(payload.shape, None, "C")


def _gradients_and_errors(
    trace: Trace, trials: Trials, edges: list[Any], tangents: list[TracedArray], leaves: list[Tensor]
) -> dict[int, Any]:
    """The gradients of the inputs from all roots that have any. The errors of the others are in `trials`."""
    while chosen := trials.left(len(edges)):
        before = mark(trace)
        if not trials.untried:
            try:
                return _gradients(trace, [edges[k] for k in chosen], [tangents[k] for k in chosen], leaves)
            except (AOTError, InternalError):
                raise
            except Exception as error:
                trials.note_failure(chosen, error)
        else:  # Which of them is it? Each is tried alone, and then all that are left together.
            root = trials.untried.pop(0)
            try:
                _gradients(trace, [edges[root]], [tangents[root]], leaves)
            except (AOTError, InternalError):
                raise
            except Exception as error:
                trials.errors[root] = error.with_traceback(None)
        check_left_nothing(trace, before)
    return {}


def _gradients(trace: Trace, edges: list[Any], tangents: list[TracedArray], leaves: list[Tensor]) -> dict[int, Any]:
    """The gradients of the inputs, by id of the primal."""
    wanted = [primal for primal in trace.targets if primal.edge[0] is not None]
    moved = [primal for primal in wanted if primal.former_edge is not None]
    former = [primal.former_edge for primal in moved]
    targets: Any = [*(primal.edge for primal in wanted), *former, *map(edge_of, leaves)]
    with changed(grad=False):
        arrived = run_pass(edges, tangents, True, False, None, targets)
    _check_moved_leaves(moved, arrived[len(wanted) :])
    _check_fresh_leaves(leaves, arrived[len(wanted) + len(moved) :])
    return {id(primal): gradient for primal, gradient in zip(wanted, arrived, strict=False)}


def _check_moved_leaves(moved: list[Primal], gradients: Iterable[Any]) -> None:
    for primal, gradient in zip(moved, gradients, strict=False):
        if gradient is not None:
            raise TraceError(
                f"the leaf {primal.desc.expr()} was used, and then its shape was changed",
                why="it would get gradients of two shapes",
                fix="change the shape before the leaf is used, or use a view of it",
            )


def _check_fresh_leaves(leaves: list[Tensor], gradients: Iterable[Any]) -> None:
    for leaf, gradient in zip(leaves, gradients, strict=True):
        if gradient is not None:
            raise TraceError(
                f"a leaf {leaf._spec!r} that requires grad was made in the function, used and returned",
                why="its gradient would have to be accumulated into a tensor that is made anew in every call",
                fix="make it outside and pass it as an argument",
            )


def _check_retained(
    trace: Trace, trials: Trials, roots: Roots, edges: list[Any], tangents: list[TracedArray]
) -> None:
    """The gradient that a result retains must be what arrives from outside: nothing of it from other results."""
    for number, tensor in enumerate(trace.retaining):
        others = [k for k in trials.left(len(roots)) if roots[k][0] is not tensor]
        if number not in trials.checked and others and edge_of(tensor)[0] is not None:
            before, targets = mark(trace), cast("Any", [edge_of(tensor)])
            with changed(grad=False):
                (arrived,) = run_pass(
                    [edges[k] for k in others], [tangents[k] for k in others], True, False, None, targets
                )
            if arrived is not None:
                raise TraceError(
                    f"retain_grad() on a tensor {tensor._spec!r} that is returned, and that other results depend on",
                    why="a compiled call is one node: a gradient inside of it is not seen",
                    fix="remove the call, or compute the other results outside of the function",
                )
            trials.checked.add(number)
            check_left_nothing(trace, before)


def _payload(gradient: Any) -> Any:
    if isinstance(gradient, SparseGrad):
        gradient = gradient.to_dense()
    return gradient._data if isinstance(gradient, Tensor) else gradient


def _value(trace: Trace, gradient: Any) -> Value | None:
    if gradient is None:
        return None
    return gradient.value if type(gradient) is TracedArray else trace.constant(np.asarray(gradient))


def separate_from_backward(graph: Graph, borrowed: list[int]) -> None:
    """Copy outputs whose values the backward pass reads, where the function itself has copied them.

    The caller may write to such an output before gradients are computed, as eager code allows.
    """
    read = {root_of(x) for node in graph.nodes if node.tag == BACKWARD for x in node.inputs}
    copies: dict[Value, Value] = {}
    for index in borrowed:
        value = graph.outputs[index]
        if value is not None and root_of(value) in read:
            graph.outputs[index] = _copied(graph, value, copies)
    if copies:
        graph.nodes.sort(key=lambda node: (node.tag == BACKWARD, node.op == "store"))


def _copied(graph: Graph, value: Value, copies: dict[Value, Value]) -> Value:
    """A value in other memory; what shared memory with it before does so afterwards."""
    found = copies.get(value)
    if found is None:
        node = value.node
        if node is not None and node.is_view:
            base = _copied(graph, node.operands[0], copies)
            made = graph.add(node.op if node.target is None else node.target, [base], node.attrs, [value.type], FORWARD)
        else:
            order = "C" if value.type.strides is None else "K"
            made = graph.add(registry["copy"], [value], {"order": order}, [value.type], FORWARD)
        found = copies[value] = made.result
    return found


# Writes.

_State = tuple[int, int, Any]


def _state(primal: Any, storage: Any) -> _State:
    return storage.generation, version_of(primal.tensor), primal.tensor._data


def _store_number(index: int) -> int:
    """Stands for the sequence number of a node of the tape, which the store of an input does not belong to."""
    return -1 - index


def _add_store(trace: Trace, primal: Any, storage: Any, start: Value, index: int, before: _State) -> bool:
    """Store what the backward pass has written to an input of the graph; says whether it has."""
    generation, _, payload = before
    if primal.tensor._data is not payload:
        raise TraceError(
            f"a backward pass changed the shape or the memory of {primal.desc.expr()}",
            why="the caller's tensor would have to change whenever gradients are computed",
            fix="return a new tensor from forward",
        )
    if storage.generation == generation:
        return False
    node = trace.graph.add("store", [start, storage.base], {}, [], BACKWARD)
    node.seq = _store_number(index)
    return True
