"""The general path of every operator call. It alone defines what a call means; fast paths are shortcuts of it."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np

from pullback.core.frames import is_own
from pullback.core.spec import spec_for, spec_of
from pullback.core.state import Modes, current, next_stamp, observers, open_levels, put_in_force
from pullback.declare.derive import pull, push
from pullback.declare.op import Op, run_rule
from pullback.declare.views import ViewStep, part
from pullback.eager.forward import push_tangents
from pullback.eager.nodes import OpNode, aliases
from pullback.eager.scoped_nodes import ForeignNode, ScopedNode, all_plain, foreign_device
from pullback.payloads.batched import BatchedArray, levels_of, roomy
from pullback.payloads.devices import CPU, device_of, mix_error
from pullback.payloads.evaluate import OnTensors, evaluate, innermost
from pullback.payloads.wrappers import is_wrapper
from pullback.tape.accumulate import accumulator_of
from pullback.tape.anomaly import remember_place
from pullback.tape.forward.duals import attach_new
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import refresh_view, requires_grad
from pullback.tape.node import Node, note_kind
from pullback.tape.saved import SavedVariable
from pullback.tape.transform.tokens import deps_behind, equalize_levels
from pullback.tensors.tensor import AWAY, Extra, Leaf, Tensor, extra_for, extra_of, shared_counter, version_of
from pullback.tensors.versions import dated_counter
from pullback.tensors.views import (
    CreationMeta,
    forward_step,
    propagated_meta,
    record_of_view,
    root_and_steps,
    view_of,
)

ndarray = np.ndarray


def apply(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Evaluate `op`, at least one of whose operands is a Tensor, and record it if somebody wants its derivative."""
    for x in operands:
        if type(x) is Tensor and x._extra is AWAY:
            return (op.elsewhere or op.make_elsewhere(operands))(operands, params)
    return apply_generally(op, operands, params)


def apply_generally(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """`apply` without its fast path for arrays of other libraries."""
    modes = current()
    if modes.watch is not None:
        return watched(op, operands, params, modes)
    if modes.interceptors:
        return modes.interceptors[-1](op, operands, params, _proceed)
    return _proceed(op, operands, params) if observers else _apply(op, operands, params, modes)


def watched(op: Op, operands: tuple[Any, ...], params: dict[str, Any], modes: Modes) -> Any:
    """A call that somebody watches: it begins, goes its usual way, and ends."""
    watch: Any = modes.watch
    out = None
    mark = watch.begin("forward", op.name, operands)
    put_in_force(modes.unwatched())
    try:
        out = op.run(operands, params) if op.fast_rules is None else op.call(*operands)
    finally:
        put_in_force(modes)
        watch.end(mark, out)
    return out


def _proceed(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """What an interceptor calls to let the operation happen."""
    out = _apply(op, operands, params, current())
    if observers:
        tell_observers(op, out[0] if isinstance(out, tuple) and out else out)
    return out


def _apply(op: Op, operands: tuple[Any, ...], params: dict[str, Any], modes: Modes) -> Any:
    # One loop over the operands and one call for each stage: this is what views, reductions and products pay.
    tracks = modes.grad and not modes.inference and op.is_differentiable
    payloads: list[Any] = []
    needs: list[bool] = []
    for x in operands:
        if isinstance(x, Tensor):
            kind = type(x._data)
            if kind is not ndarray and hasattr(kind, "decompose") and not op.takes_payloads:
                return kind.decompose(op, operands, params)
            payloads.append(x._data)
            needs.append(
                tracks
                and (x._node is not None if x._extra is None else requires_grad(x))
                and x._spec.is_differentiable
            )
        else:
            payloads.append(x)
            needs.append(False)
    if op.is_view and isinstance(operands[0], Tensor):
        payloads[0] = None
        shared_counter(operands[0])  # before anything else refers to the memory
        payloads[0] = operands[0]._data
    try:
        payload = evaluate(op, payloads, params)
    except OnTensors as rule:
        return rule.run(*operands)
    if type(payload) is not ndarray:
        check_kinds(op, operands)
    if type(payload) is tuple:  # an operator of users may return numbers as well
        outputs = [new_tensor(each, modes) if hasattr(each, "dtype") else each for each in payload]
    else:
        outputs = [new_tensor(payload, modes)]
    if op.is_view:
        _make_views(op, operands[0], params, outputs, type(payload) is tuple and op.num_outputs != 1, modes)
    if open_levels or True in needs:
        differentiate(op, operands, params, outputs, tuple(needs), modes)
    return tuple(outputs) if type(payload) is tuple else outputs[0]


def check_kinds(op: Op, operands: tuple[Any, ...]) -> None:
    """Raise if tensors of two libraries or devices meet. Numbers go with all of them, and so do places on the host."""
    found: Any = None
    for x in operands:
        if not isinstance(x, Tensor) or not x._spec.ndim:
            continue
        place = CPU if type(x._data) is ndarray else device_of(x._data)
        if found is not None and place is not found and not op.takes_payloads:
            if op.flow in _TAKE_PLACES and CPU in (place, found) and x.dtype.kind in "iub":
                continue
            if is_in_a_rule():
                continue
            raise mix_error(str(found), str(place))
        found = place


def is_in_a_rule() -> bool:
    """Does a derivative rule of ours make this call, and not the user? Rules make constants with NumPy."""
    return is_called_by(_OF_RULES)


def is_called_by(codes: frozenset[Any]) -> bool:
    """Is a function with one of these codes on the stack, with nothing of the user's between?"""
    frame: Any = sys._getframe(2)
    while frame is not None and is_own(frame.f_code.co_filename):
        if frame.f_code in codes:
            return True
        frame = frame.f_back
    return False


_OF_RULES = frozenset({run_rule.__code__, pull.__code__, push.__code__})
_TAKE_PLACES = frozenset({"gathers", "puts", "collects"})


def differentiate(
    op: Op,
    operands: tuple[Any, ...],
    params: dict[str, Any],
    outputs: list[Tensor],
    needs: tuple[bool, ...],
    modes: Modes,
) -> None:
    """Record a call for those who differentiate backwards, and give its outputs their tangents."""
    levels = live_levels(operands) if open_levels and not modes.inference else []
    if op.context is not None:
        if levels or True in needs:
            op.context.record(operands, params, outputs, needs, levels, modes)
        return
    node = record(op, operands, params, outputs, needs, modes) if True in needs else None
    if levels:
        push_tangents(op, operands, outputs, params, levels, modes, attach_new)
    if node is not None:
        save_outputs(node, outputs, needs)  # with the tangents that forward-over-reverse will ask for


def new_tensor(payload: Any, modes: Modes) -> Tensor:
    """A Tensor on an evaluated payload: an inference tensor in inference mode."""
    tensor = Tensor()
    tensor._data = payload
    tensor._spec = spec_for(payload.shape, payload.dtype)
    tensor._node = tensor._counter = tensor._meta = tensor._extra = None
    if modes.inference:
        tensor._extra = Extra()
        tensor._extra.inference = True
    elif modes.within is not None and type(payload) is ndarray:
        tensor._extra = modes.within
    elif modes.transforms:
        tensor._counter = dated_counter()
    if modes.trace is not None and type(payload) is ndarray:
        tensor._data = payload = modes.trace.home(payload)
    if modes.vmaps:
        if is_wrapper(payload):
            tensor._data = roomy(payload)
        elif type(payload) is not BatchedArray and (
            type(payload) is ndarray or modes.trace is not None or type(payload) in innermost
        ):
            tensor._data = BatchedArray(payload, ())  # may be widened, should an example be written into it
    if tensor._extra is None:
        tensor._extra = extra_for(tensor._data)
    return tensor


def record(
    op: Op,
    operands: tuple[Any, ...],
    params: dict[str, Any],
    outputs: list[Tensor],
    needs: tuple[bool, ...],
    modes: Modes,
) -> OpNode:
    """Make the node of a call and set it as the history of its differentiable outputs, which are still to be saved."""
    node = make_node(op, operands, params, needs, modes)
    deps = deps_behind(operands, needs)
    if type(node) is ScopedNode and len(outputs) > 1:
        equalize_levels(outputs)
    specs: list[Any] = []
    for number, out in enumerate(outputs):
        spec = out._spec
        if not spec.is_differentiable:
            specs.append(None)
            continue
        specs.append(spec)
        out._node = node
        extra = out._extra
        if deps is not (None if extra is None else extra.deps):
            extra = extra_of(out)
            extra.deps = deps
        if number or extra is not None:
            out._nr = number
            if extra is not None and extra.view is not None:
                extra.view.attr_version = version_of(out)
            if type(out._data) is not ndarray:
                note_kind(node, number, out._data)
    node.output_specs = tuple(specs)
    node.num_outputs = len(specs)
    node.spec = specs[0]
    if type(node) is ScopedNode:
        node._scope.output_levels = levels_of(outputs[0]._data)
    return node


def make_node(
    op: Op,
    operands: tuple[Any, ...],
    params: dict[str, Any],
    needs: tuple[bool, ...],
    modes: Modes,
    to_save: tuple[Any, ...] | None = None,
) -> OpNode:
    """The node of a call, with the operands saved that its rules read; outputs are still to come.

    `to_save` has the operands as they are to be saved, where that differs: copies of what is about to be written.
    """
    behind: list[Node | None] = []
    numbers: list[int] = []
    specs: list[Any] = []
    for x, needed in zip(operands, needs, strict=True):
        number = 0
        found: Any = None
        if isinstance(x, Tensor):
            specs.append(x._spec)
            if needed:
                extra = x._extra
                if extra is not None:
                    if extra.view is not None:
                        refresh_view(x)
                    number = extra.output_nr
                found = x._node
                if type(found) is Leaf:
                    found = accumulator_of(x)
        else:
            specs.append(spec_of(x) if hasattr(x, "shape") and hasattr(x, "dtype") else None)
        behind.append(found)
        numbers.append(number)
    node: Any
    if modes.vmaps or not all_plain(operands):
        node = ScopedNode.within(modes, operands)
    else:
        place = foreign_device(operands)
        node = OpNode() if place is None else ForeignNode.on(place, operands)
    node.op = op
    node.params = params
    node.rare = None
    node.next = tuple(behind)
    node.next_nr = tuple(numbers) if any(numbers) else None
    node.operand_specs = tuple(specs)
    node.saved_operands = node.saved_outputs = node.statics = ()
    reads, _ = op.reads(needs)
    if reads:
        source = operands if to_save is None else to_save
        node.saved_operands = tuple(
            [SavedVariable(x) if k in reads and isinstance(x, Tensor) else None for k, x in enumerate(source)]
        )
        if len(reads) != len(operands) - node.saved_operands.count(None):
            node.statics = tuple([None if isinstance(x, Tensor) else x for x in operands])
    node.seq = next_stamp()
    if modes.anomaly:
        remember_place(node)
    return node


def save_outputs(node: OpNode, outputs: list[Tensor], needs: tuple[bool, ...]) -> None:
    """Save the outputs that the rules read."""
    _, reads = node.op.reads(needs)
    if reads:
        node.saved_outputs = tuple(
            SavedVariable(out, is_output=out._node is node) if position in reads else None
            for position, out in enumerate(outputs)
        )


def _make_views(
    op: Op, source: Any, params: dict[str, Any], outputs: list[Tensor], several: bool, modes: Modes
) -> None:
    if not isinstance(source, Tensor):
        return
    if source._extra is not None and source._extra.inference:
        for out in outputs:
            if not op.may_copy or aliases(out._data, source._data):
                extra_of(out).inference = True
        return
    parent = view_of(source)
    if modes.inference:
        meta = CreationMeta.INFERENCE
    elif modes.grad:
        meta = CreationMeta.CUSTOM if op.family == "custom" else CreationMeta.DEFAULT
    else:
        meta = CreationMeta.NO_GRAD
    if parent is not None:
        meta = propagated_meta(meta, parent.creation_meta)
    counter = shared_counter(source)
    version = version_of(source)
    for number, out in enumerate(outputs):
        if op.may_copy and not aliases(out._data, source._data):
            continue
        if getattr(out._data, "is_copied_part", False):  # it came from other processes
            continue
        step = ViewStep(part, {"whole": op, "params": params, "index": number}) if several else ViewStep(op, params)
        base, steps = root_and_steps(source, step)
        out._counter = counter
        view = record_of_view(source._extra)
        view.__init__(base, steps, meta, version)  # type: ignore[misc]
        view.records = forward_step(source, parent, step)
        is_light = meta is CreationMeta.DEFAULT and view.records is None and type(out._data) is ndarray
        out._extra = view if is_light else view.general()  # type: ignore[assignment]


def tell_observers(op: Op, out: Any) -> None:
    """Report a forward call, with the number of the node it recorded, or -1."""
    node = out._node if isinstance(out, Tensor) else None
    number = node.seq if isinstance(node, Node) else -1
    for observer in tuple(observers):
        observer("forward", op.name, number, threading.get_ident())
