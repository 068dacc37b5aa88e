"""`Function.apply` from start to end.

Read from top to bottom: `apply_function` names the stages. The node is made before `forward` runs, because `forward`
may write its arguments and the edges are those of the values it was given. Outputs are processed next, saved values
are wrapped after that, when it is known which of them are outputs.

A call on batched arguments goes through `_function_batching` first, which may answer it with the author's `vmap`.
Forward mode comes last, while the call is still in progress: the author's `jvp` runs once for every level.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from pullback.autograd._anomaly import remember_place
from pullback.autograd._copy_slices import CopySlices
from pullback.autograd._function_batching import answered_by_rule
from pullback.autograd._function_forward import push_function
from pullback.autograd._function_lifting import is_lifted, on_values
from pullback.autograd._function_node import Call, Forward, FunctionNode
from pullback.autograd._function_outputs import process_outputs
from pullback.autograd._function_rules import CallPlan, Statics, plan_of
from pullback.autograd._saved import SavedVariable
from pullback.autograd._scope import Scope
from pullback.autograd._tokens import deps_behind
from pullback.autograd._variable import edge_of, requires_grad
from pullback.core.state import Modes, change, change_grad, current, next_stamp, observers, open_levels
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray, levels_of
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import view_of


def apply_function(cls: type[Statics], node_class: type[FunctionNode], args: tuple[Any, ...], kwargs: Any) -> Any:
    """Run a custom Function on these arguments and record it if somebody wants its derivative."""
    plan = plan_of(cls)
    inputs = plan.positions(cls.__name__, args, kwargs)
    modes = current()
    if modes.trace is not None:
        modes.trace.has_own_formulas = True
        inputs = tuple([modes.trace.lifted(x) if isinstance(x, Tensor) else x for x in inputs])
    if modes.interceptors and not modes.grad and is_lifted(inputs):
        again = functools.partial(apply_function, cls, node_class)
        return on_values(cls.__name__, lambda *values, **named: again(values, named), args, kwargs)
    compute: Callable[..., Any] = plan.forward
    if modes.vmaps:
        is_answered, answer = answered_by_rule(cls, inputs, kwargs, plan)
        if is_answered:
            return answer
        compute = answer
    node, forward = _begin(node_class, inputs, modes)
    output = _run_forward(cls, plan, compute, node, inputs)
    several = isinstance(output, tuple)
    results = process_outputs(node, forward, output if several else (output,))
    if modes.trace is not None:
        mark_history(modes.trace, results)
    if open_levels and not modes.inference:
        push_function(node, forward, output if several else (output,), results)
    if forward.is_recorded and forward.to_save:
        _save(node, forward, plan.is_split, output if several else (output,))
    node._call.forward = None
    if observers:
        for observer in tuple(observers):
            observer("forward", cls.__name__, node.seq if forward.is_recorded else -1, threading.get_ident())
    return results if several else results[0]


def begin_in_trace(trace: Any) -> bool:
    """What is computed from now on has the history that a formula gives it, although no gradients are recorded. The
    result is what `trace.stops` is to be afterwards."""
    before = trace is not None and trace.stops
    if trace is not None:
        trace.stops = False
    return before


def mark_history(trace: Any, results: tuple[Any, ...]) -> None:
    """Let a trace know which results have a history."""
    for result in results:
        payload: Any = result._data if isinstance(result, Tensor) else None
        while type(payload) is BatchedArray:
            payload = payload.data
        if hasattr(payload, "stopped"):
            payload.stopped = trace.stops and not requires_grad(result)


def _begin(node_class: type[FunctionNode], inputs: tuple[Any, ...], modes: Modes) -> tuple[FunctionNode, Forward]:
    """The node of a call that is about to run, and the record that its forward fills in."""
    is_tracking = modes.grad and not modes.inference
    is_tensor: list[bool] = []
    needs: list[bool] = []
    edges: list[tuple[Any, int]] = []
    for value in inputs:
        found = isinstance(value, Tensor)
        needed = found and value._spec.is_differentiable and requires_grad(value)
        is_tensor.append(found)
        needs.append(needed)
        if found:
            edges.append(edge_of(value) if needed and is_tracking else (None, 0))
    forward = Forward(inputs, is_tracking and True in needs, is_tracking)
    call = Call(forward, tuple(is_tensor), tuple(needs))
    if forward.is_recorded:
        call.deps = deps_behind(inputs, needs)
        if modes.vmaps:
            call.scope = Scope(modes.vmaps, tuple(levels_of(x._data) for x in inputs if isinstance(x, Tensor)))
    node = node_class._begin(call, edges)
    if modes.anomaly and forward.is_recorded:
        remember_place(node)
    return node, forward


def _run_forward(
    cls: type[Statics], plan: CallPlan, compute: Callable[..., Any], node: FunctionNode, inputs: tuple[Any, ...]
) -> Any:
    """What `compute`, which is `forward` or stands in for it, returns. Nobody differentiates through it."""
    trace = current().trace
    before = begin_in_trace(trace)
    previous = change_grad(False)
    masked = change(forward_mask=next_stamp()) if open_levels else {}
    try:
        if not plan.is_split:
            return compute(node, *inputs)
        output = compute(*inputs)
        cls.setup_context(node, inputs, output)
        return output
    finally:
        if masked:
            change(**masked)
        change_grad(previous)
        if trace is not None:
            trace.stops = before


def _save(node: FunctionNode, forward: Forward, is_split: bool, outputs: tuple[Any, ...]) -> None:
    """Keep for backward what the author named."""
    if is_split:
        _check_no_returned_input(node, forward, outputs)
    node._call.saved = tuple([_saved(node, forward, tensor) for tensor in forward.to_save])


def _saved(node: FunctionNode, forward: Forward, tensor: Tensor | None) -> SavedVariable:
    if tensor is None:
        return SavedVariable(None)
    info = view_of(tensor)
    if info is not None and any(tensor is dirty for dirty in forward.dirty):
        return _saved_view(node, tensor)
    return SavedVariable(tensor, is_output=tensor._node is node)


def _saved_view(node: FunctionNode, tensor: Tensor) -> SavedVariable:
    """A dirty view as this node's output. Its base owns the history that owns the record, so it is not held itself."""
    info = view_of(tensor)
    stand_in = Tensor()
    stand_in._data = tensor._data
    stand_in._spec = tensor._spec
    stand_in._counter = tensor._counter
    stand_in._extra = stand_in._meta = None
    stand_in._node, stand_in._nr = node, 0
    saved = SavedVariable(stand_in, is_output=True)
    history = info.base._node  # type: ignore[union-attr]
    if isinstance(history, CopySlices):
        saved.attach_output_to(history, info.steps)  # type: ignore[union-attr]
    return saved


def _check_no_returned_input(node: FunctionNode, forward: Forward, outputs: tuple[Any, ...]) -> None:
    for tensor in forward.to_save:
        if (
            tensor is not None
            and any(tensor is value for value in forward.inputs)
            and any(tensor is out for out in outputs)
            and not any(tensor is dirty for dirty in forward.dirty)
        ):
            raise AutogradError(
                "SAVE_RETURNED_INPUT",
                "setup_context saved an input that forward returned as it is",
                where=node._function.__name__,
                why="it is input and output at once, and only one of the two could be saved",
                fix="return a view of it (`x.view_as(x)`), or save inside a forward that takes ctx",
            )
