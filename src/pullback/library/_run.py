"""A call of a custom operator from start to end.

`call_operator` is the one way in: it decides whether anybody differentiates. If not, the kernel runs and its results
are wrapped. If so, a node is begun, the kernel runs, the author's setup says what to save, outputs get their history,
and forward mode its tangents: the stages of a custom Function, in its order.
"""

from __future__ import annotations

import threading
from typing import Any

from pullback.autograd._anomaly import remember_place
from pullback.autograd._function_apply import _save as save_tensors
from pullback.autograd._function_apply import begin_in_trace, mark_history
from pullback.autograd._function_forward import push_function
from pullback.autograd._function_node import Call as NodeCall
from pullback.autograd._function_node import Forward
from pullback.autograd._function_outputs import process_outputs
from pullback.autograd._levels import live_levels
from pullback.autograd._scope import Scope
from pullback.autograd._tokens import deps_behind
from pullback.autograd._variable import edge_of, requires_grad
from pullback.core.state import Modes, change, change_grad, current, next_stamp, observers, open_levels
from pullback.declare.steps import ViewStep
from pullback.eager.record import new_tensor
from pullback.library._call import Call
from pullback.library._checked_fakes import compares_fakes
from pullback.library._fake import check_against_fake
from pullback.library._node import OperatorNode, store
from pullback.library._writing import run_mutating
from pullback.payloads.batched import levels_of
from pullback.payloads.evaluate import evaluate
from pullback.tensors.tensor import Extra, Tensor, shared_counter, version_of
from pullback.tensors.views import (
    CreationMeta,
    ViewInfo,
    forward_step,
    propagated_meta,
    root_and_steps,
    view_of,
)


def call_operator(call: Call, operands: list[Tensor]) -> Any:
    """The results of a call, recorded if somebody wants their derivative."""
    definition = call.definition
    modes = current()
    formulas = definition.formulas()
    if modes.trace is not None:
        operands = [modes.trace.lifted(x) for x in operands]
        call.keywords = {
            name: modes.trace.lifted(x) if isinstance(x, Tensor) else x for name, x in call.keywords.items()
        }
    if definition.effect is not None and modes.saved_hooks:
        _check_not_repeated(definition, modes)
    if definition.schema.written:
        return run_mutating(call, operands, modes)
    is_tracking = modes.grad and not modes.inference and definition.is_autograd_enabled()
    needs = [is_tracking and x._spec.is_differentiable and requires_grad(x) for x in operands]
    levels: list[Any] = []
    if open_levels and not modes.inference and definition.is_autograd_enabled():
        levels = live_levels(operands)
    if True in needs or levels:
        formulas.check_call(call, True in needs)
        if not formulas.is_constant:
            return _differentiated(call, operands, tuple(needs), levels, modes, formulas)
    outputs = _evaluated(call, operands, modes)
    formulas.check_outputs(call, outputs)
    _tell(call, -1)
    return call.results(outputs)


def _check_not_repeated(definition: Any, modes: Modes) -> None:
    """Raise if an effect that must happen once, in its order, is inside of what will be run again."""
    if definition.effect[0] == "ordered" and any(
        getattr(getattr(pack, "__self__", None), "runs_again", False) for pack, _ in modes.saved_hooks
    ):
        raise RuntimeError(
            f"{definition.qualname} has an ordered effect and is called inside a checkpoint, which would run it again "
            f"in the backward pass: call it outside\n  effect  registered at {definition.effect[1]}"
        )


def _evaluated(call: Call, operands: list[Tensor], modes: Modes) -> list[Any]:
    """The outputs without history: Tensors, and numbers where the schema returns those."""
    payloads = [x._data for x in operands]
    flat = evaluate(call.definition.op, payloads, {"call": call})
    if modes.interceptors and compares_fakes in modes.interceptors:
        check_against_fake(call, payloads, flat)
    outputs = [new_tensor(each, modes) if hasattr(each, "dtype") else each for each in flat]
    if call.definition.schema.returns_views:
        for out in outputs:
            _make_view(call, operands[0], out, modes)
    return outputs


def _make_view(call: Call, source: Tensor, out: Tensor, modes: Modes) -> None:
    """Make the result of a declared view a view of its argument."""
    if source._extra is not None and source._extra.inference:
        return
    step = ViewStep(call.definition.op, {"call": call})
    base, steps = root_and_steps(source, step)
    parent = view_of(source)
    meta = CreationMeta.CUSTOM if modes.grad else CreationMeta.NO_GRAD
    out._counter = shared_counter(source)
    out._extra = Extra()
    info = ViewInfo(base, steps, propagated_meta(meta, None if parent is None else parent.creation_meta),
                    version_of(source))  # fmt: skip
    info.forward = forward_step(source, parent, step)
    out._extra.view = info


def _differentiated(
    call: Call, operands: list[Tensor], needs: tuple[bool, ...], levels: list[Any], modes: Modes, formulas: Any
) -> Any:
    node, forward = _begin(call, operands, needs, modes, formulas)
    before = begin_in_trace(modes.trace)
    previous = change_grad(False)
    masked = change(forward_mask=next_stamp()) if open_levels else {}
    try:
        outputs = formulas.outputs_of(node, call, operands)
        if outputs is None:
            outputs = _evaluated(call, operands, modes)
        formulas.check_outputs(call, outputs)
        _prepare(node, forward, call, operands, outputs, levels, formulas)
    finally:
        if masked:
            change(**masked)
        change_grad(previous)
        if modes.trace is not None:
            modes.trace.stops = before
    results = process_outputs(node, forward, tuple(outputs))
    if modes.trace is not None:
        mark_history(modes.trace, results)
    if levels:
        materialize, node._call.materialize = node._call.materialize, False  # formulas fill in zeros themselves
        push_function(node, forward, tuple(outputs), results)
        node._call.materialize = materialize
    if forward.is_recorded and forward.to_save:
        save_tensors(node, forward, False, tuple(outputs))
    node._call.forward = None
    _tell(call, node.seq if forward.is_recorded else -1)
    return call.results(results)


def _begin(
    call: Call, operands: list[Tensor], needs: tuple[bool, ...], modes: Modes, formulas: Any
) -> tuple[OperatorNode, Forward]:
    edges = [edge_of(x) if needed else (None, 0) for x, needed in zip(operands, needs, strict=True)]
    forward = Forward(tuple(operands), True in needs, modes.grad)
    record = NodeCall(forward, (True,) * len(operands), needs)
    if forward.is_recorded:
        record.deps = deps_behind(operands, needs)
        if modes.vmaps or any(levels_of(x._data) for x in operands):
            record.scope = Scope(modes.vmaps, tuple(levels_of(x._data) for x in operands))
    node = formulas.node_class._begin(record, edges)
    store(node, "_operator", call)
    store(node, "_formulas", formulas)
    store(node, "_specs", tuple([x._spec for x in operands]))
    if modes.anomaly and forward.is_recorded:
        remember_place(node)
    return node, forward


def _prepare(
    node: OperatorNode,
    forward: Forward,
    call: Call,
    operands: list[Tensor],
    outputs: list[Any],
    levels: list[Any],
    formulas: Any,
) -> None:
    """Let the author's setup run, and collect what is to be saved: what it names, then what formulas read."""
    formulas.set_up(node, call, operands, outputs)
    named = forward.to_save
    constants = node.__dict__.get("_constants", ())
    known = {id(x) for x in (*operands, *outputs, *constants)}
    store(node, "_num_saved", len(named))
    store(node, "_levels", levels)
    store(node, "_fills", node._call.materialize)
    store(node, "_intermediates", tuple(
        x is not None and id(x) not in known and x._spec.is_differentiable for x in named
    ))  # fmt: skip
    if formulas.reads_values:
        tensors = tuple(x if isinstance(x, Tensor) else None for x in outputs)
        forward.to_save = (*named, *operands, *tensors)
    if levels and not forward.to_save_forward:
        forward.to_save_forward = forward.to_save


def _tell(call: Call, number: int) -> None:
    if observers:
        for observer in tuple(observers):
            observer("forward", call.definition.qualname, number, threading.get_ident())
