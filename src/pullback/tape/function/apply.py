"""`Function.apply` from start to end.

Read from top to bottom: `apply_function` names the stages. The node is made before `forward` runs, because `forward`
may write its arguments and the edges are those of the values it was given. Outputs are processed next, saved values
are wrapped after that, when it is known which of them are outputs.

A call on batched arguments goes through `batching` first, which may answer it with the author's `vmap`.
Forward mode comes last, while the call is still in progress: the author's `jvp` runs once for every level.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import Any

from pullback.core.frames import warn
from pullback.core.spec import describe
from pullback.core.state import (
    Modes,
    change,
    change_grad,
    current,
    in_force,
    next_stamp,
    observers,
    open_levels,
    reinstate,
)
from pullback.errors import AutogradError, DetachedWarning
from pullback.payloads.batched import BatchedArray, levels_of
from pullback.payloads.lifted import LiftedArray, newest_lift
from pullback.tape.anomaly import remember_place
from pullback.tape.forward.levels import live_levels
from pullback.tape.function.batching import answered_by_rule
from pullback.tape.function.forward import push_function
from pullback.tape.function.node import Call, ContextNode, Forward, FunctionNode
from pullback.tape.function.outputs import process_outputs, refuse_losses, tensors_in, with_tensors
from pullback.tape.function.rules import CallPlan, Statics, plan_of
from pullback.tape.history import edge_of, requires_grad
from pullback.tape.saved import SavedVariable
from pullback.tape.transform.interception import as_seen
from pullback.tape.transform.tokens import Scope, deps_behind
from pullback.tensors.tensor import Tensor, made_here
from pullback.tensors.views import view_of

# Custom Functions on lifted payloads (`payloads/lifted/__init__.py`): they run on values, and the lift says what that
# means.

def is_lifted(inputs: Iterable[Any]) -> bool:
    """Is the payload of one of these a lifted one?"""
    return any(isinstance(x, Tensor) and isinstance(x._data, LiftedArray) for x in inputs)


def on_values(name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an opaque function gives for the values of its arguments, lifted again."""
    everything = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
    lift = newest_lift([x._data for x in everything])
    given = [x._data for x in everything if isinstance(x._data, LiftedArray) and x._data.lift is lift]

    def value(x: Any) -> Any:
        if isinstance(x, Tensor) and isinstance(x._data, LiftedArray) and x._data.lift is lift:
            return made_here(x._data.parts[0])
        return x

    lift.opaque(name, given, [])  # refused before it runs
    out = function(*map(value, args), **{key: value(x) for key, x in kwargs.items()})
    outs = out if isinstance(out, tuple) else (out,)
    tensors = [x for x in outs if isinstance(x, Tensor)]
    lifted = iter(lift.opaque(name, given, [x._data for x in tensors]))
    results = tuple([made_here(next(lifted)) if isinstance(x, Tensor) else x for x in outs])
    return results if isinstance(out, tuple) else results[0]


def apply_function(cls: type[Statics], node_class: type[FunctionNode], args: tuple[Any, ...], kwargs: Any) -> Any:
    """Run a custom Function on these arguments and record it if somebody wants its derivative."""
    watch = current().watch
    if watch is None:
        return _apply_function(cls, node_class, args, kwargs)
    out = None
    mark = watch.begin("forward", cls.__name__, args)
    try:
        out = _apply_function(cls, node_class, args, kwargs)
    finally:
        watch.end(mark, out)
    return out


def _apply_function(cls: type[Statics], node_class: type[FunctionNode], args: tuple[Any, ...], kwargs: Any) -> Any:
    plan = plan_of(cls)
    inputs = plan.positions(cls.__name__, args, kwargs)
    modes = current()
    if modes.transforms and not cls.__module__.startswith("pullback."):
        for transform in modes.transforms:
            transform.has_rules = True
    if modes.trace is not None:
        modes.trace.has_own_formulas = True
        inputs = tuple([modes.trace.lifted(x) if isinstance(x, Tensor) else x for x in inputs])
    elif modes.interceptors:
        inputs = tuple([as_seen(x) for x in inputs])
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
    outputs = output if several else (output,)
    refuse_losses(cls.__name__, forward, outputs)
    if plan.is_split and forward.is_recorded:
        _check_no_returned_input(node, forward, outputs)
    results = finish_call(node, forward, outputs, modes)
    if observers:
        for observer in tuple(observers):
            observer("forward", cls.__name__, node.seq if forward.is_recorded else -1, threading.get_ident())
    return results if several else results[0]


def finish_call(node: ContextNode, forward: Forward, outputs: tuple[Any, ...], modes: Modes) -> tuple[Any, ...]:
    """The outputs as the caller gets them, with history and tangents; the node keeps what the author named."""
    try:
        results = process_outputs(node, forward, outputs)
        if modes.trace is not None:
            mark_history(modes.trace, results)
        if open_levels and not modes.inference:
            push_function(node, forward, outputs, results)
        if forward.is_recorded and forward.to_save:
            node._call.saved = tuple([_saved(node, forward, tensor) for tensor in forward.to_save])
    finally:
        # An output that it names owns the node. The second run of a checkpoint ends inside of a `SavedVariable`.
        node._call.forward = None
    return results


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
        if not found and type(value) in (list, tuple, dict):
            _warn_of_nested(node_class, value, is_tracking)
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


def _warn_of_nested(node_class: type[FunctionNode], value: Any, is_tracking: bool) -> None:
    """Warn if somebody differentiates a tensor inside of a list: only arguments themselves get gradients."""
    for tensor in tensors_in(value):
        if (is_tracking and requires_grad(tensor)) or (open_levels and live_levels((tensor,))):
            warn(
                f"{node_class._function.__name__}.apply: a tensor {describe(tensor.shape, tensor.dtype)} that requires "
                "grad is inside of a list, tuple or dict, where no gradient reaches it; give every tensor as an "
                "argument of its own, or detach() it",
                DetachedWarning,
            )
            return


def _run_forward(
    cls: type[Statics], plan: CallPlan, compute: Callable[..., Any], node: FunctionNode, inputs: tuple[Any, ...]
) -> Any:
    """What `compute`, which is `forward` or stands in for it, returns. Nobody differentiates through it."""
    trace = current().trace
    before = begin_in_trace(trace)
    settings = in_force()
    change_grad(False)
    if open_levels:
        change(forward_mask=next_stamp())
    try:
        if not plan.is_split:
            return with_tensors(compute(node, *inputs), inputs)
        output = with_tensors(compute(*inputs), inputs)
        cls.setup_context(node, inputs, output)
        return output
    finally:
        reinstate(settings)
        if trace is not None:
            trace.stops = before


def _saved(node: ContextNode, forward: Forward, tensor: Tensor | None) -> SavedVariable:
    if tensor is None:
        return SavedVariable(None)
    info = view_of(tensor)
    if info is not None and any(tensor is dirty for dirty in forward.dirty):
        return SavedVariable.of_written_view(node, tensor)
    return SavedVariable(tensor, is_output=tensor._node is node)


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
