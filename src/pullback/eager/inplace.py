"""Writing in place: check, evaluate, write, count the write, rebase the history. In that order, so that a refused
write leaves data, version and history as they were."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.core.state import Modes, current, observers, open_levels, put_in_force, switch
from pullback.declare.op import Op
from pullback.eager.forward import push_tangents
from pullback.eager.parts import write_view
from pullback.eager.record import check_kinds, make_node, save_outputs, tell_observers
from pullback.eager.scoped_nodes import ScopedNode
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray, assign, levels_of
from pullback.payloads.evaluate import evaluate
from pullback.tape.forward.duals import attach_written
from pullback.tape.forward.levels import live_levels, snapshot, store_tangent, tangent_of
from pullback.tape.history import (
    bump_version,
    check_tracked_write,
    is_leaf_marker,
    rebase_history,
    refresh_view,
    requires_grad,
    set_history,
)
from pullback.tape.saved import SavedVariable
from pullback.tape.transform.body import check_capture, make_room
from pullback.tape.transform.tokens import Deps, deps_behind, deps_of
from pullback.tensors.overwrites import get_policy, make_way, new_room, report
from pullback.tensors.tensor import Leaf, Tensor, is_inference
from pullback.tensors.versions import overlap, shows_an_element_twice
from pullback.tensors.views import view_of


def write(op: Op, target: Tensor, others: tuple[Any, ...], params: dict[str, Any], overwrites: bool = False) -> Tensor:
    """`target = op(target, *others)`, written into the target's memory. Returns the target.

    `overwrites` says that nothing of the old value is left in the new one: the target's old history is dropped.
    """
    modes = current()
    if modes.watch is not None:
        return _write_watched(op, target, others, params, overwrites, modes)
    if modes.interceptors:
        modes.interceptors[-1](
            op,
            (target, *others),
            params,
            lambda _, operands, __: _write(op, operands[0], operands[1:], params, overwrites, modes),
        )
    else:
        _write(op, target, others, params, overwrites, modes)
    return target


def _write_watched(
    op: Op, target: Tensor, others: tuple[Any, ...], params: dict[str, Any], overwrites: bool, modes: Modes
) -> Tensor:
    """A write that somebody watches: it begins, goes its usual way, and ends."""
    watch: Any = modes.watch
    out = None
    mark = watch.begin("forward", f"{op.name}_", (target, *others))
    put_in_force(modes.unwatched())
    try:
        out = write(op, target, others, params, overwrites)
    finally:
        put_in_force(modes)
        watch.end(mark, out)
    return target


def write_plain(op: Op, target: Any, other: Any) -> bool:
    """`write` for an op that is a ufunc on plain tensors, or a tensor and a number, of which nobody wants gradients.

    Says whether it did. bench/plain_numpy.py::in place
    """
    modes = current()
    if (
        type(target) is not Tensor
        or target._extra is not None
        or ((target._node is not None or modes is not switch.normal) and modes is not switch.no_grad)
    ):
        return False
    data = target._data
    if type(other) is Tensor:
        if other._extra is not None or other._spec is not target._spec:
            return False
        if other._node is not None and modes is switch.normal:
            return False
        other = other._data
    elif type(other) is not float and type(other) is not int:
        return False
    if 0 in data.strides:
        return False
    counter = target._counter
    if (counter is not None and counter.shared) or getrefcount(data) > _ALONE or data.base is not None:
        del data
        make_way(target, name=op.name)
        data = target._data
    (op.native or op.kernel)(data, other, out=data, casting="same_kind")
    # path: plain write
    bump_version(target)
    return True


def write_recorded(op: Op, target: Any, other: Any) -> bool:
    """`write` for a recorded op that is a ufunc on plain tensors, or a tensor and a number; says whether it did.

    bench/eager.py::writes
    """
    modes = current()
    if type(target) is not Tensor or modes.usual is not switch.normal:
        return False
    if target._extra is not modes.within:
        return write_view(op, target, other)
    node = target._node
    if type(other) is Tensor:
        if node is None and other._node is None:
            return False
    elif node is None or (type(other) is not float and type(other) is not int):
        return False
    return adopt(op, target, (other,), {})


def adopt(op: Op, target: Any, others: tuple[Any, ...], params: dict[str, Any]) -> bool:
    """A recorded write as the operator without a write, whose result the tensor adopts; says whether it did. For small
    arrays, and for memory that a graph keeps, which would be left."""
    counter, spec = target._counter, target._spec
    modes = current()
    if (
        modes.usual is not switch.normal
        or target._extra is not modes.within
        or is_leaf_marker(target._node)
        or target._meta is not None
        or not spec.is_real
        or (counter is not None and counter.shared)
    ):
        return False
    for other in others:
        if type(other) is Tensor and other._extra is not modes.within and (
            other._extra is not None or other._node is not None
        ):
            return False
    data = target._data
    is_held = getrefcount(data) > _ALONE
    if (
        not (is_held or data.nbytes <= _SMALL)
        or data.base is not None
        or not data.flags.carray
        or get_policy().policy != "preserve"
    ):
        return False
    result = op.call(target, *others, **params)
    if result._spec is not spec or type(result._data) is not np.ndarray or not result._data.flags.carray:
        return False
    # path: adopted write
    if is_held:
        report("left", op.name, data.nbytes)
    target._data, target._node = result._data, result._node
    bump_version(target)
    return True


_SMALL = 4096  # bytes up to which new memory costs less than finding out that it is not needed


def _write(
    op: Op, target: Tensor, others: tuple[Any, ...], params: dict[str, Any], overwrites: bool, modes: Modes
) -> Tensor:
    check_writable(target, modes)
    kind = type(target._data)
    if kind is not np.ndarray and (decompose := getattr(kind, "decompose_write", None)) is not None:
        if modes.grad and not modes.inference and requires_grad(target):
            check_tracked_write(target)
        decompose(write, op, target, others, params, overwrites)
        return target
    operands = (target, *others)
    if type(target._data) is not np.ndarray or any(type(getattr(x, "_data", None)) is not np.ndarray for x in others):
        check_kinds(op, operands)
    if modes.transforms:
        check_capture(target, others, modes)
    levels = live_levels(operands) if open_levels and not modes.inference else []
    before = _before_tangents_change(operands, target, levels) if levels else operands
    needs: tuple[bool, ...] = ()
    info = view_of(target)
    if modes.grad and not modes.inference and target._spec.is_differentiable:
        needs = tuple(isinstance(x, Tensor) and x._spec.is_differentiable and requires_grad(x) for x in operands)
        if info is not None and not needs[0] and requires_grad(info.base):
            needs = (True, *needs[1:])
    node = None
    if True in needs:
        check_tracked_write(target)
        deps = deps_behind(operands, needs)  # an overwritten target still requires grad for whom it did before
        if overwrites:
            needs = (False, *needs[1:])
        node = _tracked_write(op, target, operands, params, needs, deps, modes)
    else:
        _write_payload(op, target, operands, params, modes)
    try:
        if levels:
            push_tangents(op, before, [target], params, levels, modes, attach_written)
    finally:
        if node is not None:  # only now: a saved value has the tangents that it has when it is saved
            _save_written_output(node, target, needs)
    if observers:
        tell_observers(op, target)
    if type(target._data) is BatchedArray and (picked := target._data.picked) is not None:
        picked.write_through(target if info is None else info.base, write)
    return target


def _before_tangents_change(operands: tuple[Any, ...], target: Tensor, levels: list[Any]) -> tuple[Any, ...]:
    """The operands as forward rules must see them: what the write is about to change is copied, with its tangents."""
    return tuple(
        snapshot(x, levels) if isinstance(x, Tensor) and (x is target or _may_overlap(x, target)) else x
        for x in operands
    )


def _may_overlap(operand: Tensor, target: Tensor) -> bool:
    payload, written = _memory(operand), _memory(target)
    if payload is not None and written is not None:
        return overlap(payload, written)
    return operand._counter is not None and operand._counter is target._counter


def _memory(tensor: Tensor) -> Any:
    """The array behind a tensor, or one that overlaps others as that will when what is being traced is run."""
    data = tensor._data
    return data if type(data) is np.ndarray else getattr(data, "shadow", None)


LENT = (
    "it was lent to a hook, a custom backward or the kernel of an operator that does not declare to write it, and "
    "others still use it"
)


def check_writable(target: Tensor, modes: Modes) -> None:
    """Raise if the memory behind `target` must not be written, whatever the operation."""
    extra = target._extra
    if extra is not None:
        if extra.readonly:
            raise AutogradError(
                "READONLY_GRAD",
                f"{describe(target.shape, target.dtype)} is read-only, and is being modified inplace",
                why=LENT,
                fix="return a new tensor instead of changing this one",
            )
        if extra.inference and not modes.inference:
            raise AutogradError(
                "INFERENCE_INPLACE",
                "an inference tensor is being written in place outside of inference mode",
                why="it carries no version counter, so the write could not be noticed by others",
                fix="make a normal copy with clone() and write to that",
            )
    data = _memory(target)
    if type(target._data) is BatchedArray and target._data.data.size:
        data = target._data  # one example
    if data is not None and 0 in data.strides and data.size and any(
        stride == 0 and length > 1 for stride, length in zip(data.strides, data.shape, strict=True)
    ):
        raise AutogradError(
            "OVERLAP_WRITE",
            f"an expanded tensor {describe(target.shape, target.dtype)} is being written in place, and more than one "
            "of its elements refers to a single memory location",
            why="the result would depend on the order of the writes",
            fix="write to a clone() of it",
        )


def _write_payload(op: Op, target: Tensor, operands: tuple[Any, ...], params: dict[str, Any], modes: Modes) -> None:
    if modes.vmaps and not target._spec.size:
        bump_version(target)  # there is nothing to write, so memory that all examples share need not be one's own
        return
    payloads: list[Any] = [None]
    written: Any = None
    if not modes.vmaps and isinstance(op.kernel, np.ufunc) and op.inplace_kernel is None:
        written = new_room(target, name=op.name)
    else:
        make_way(target, name=op.name)
    payloads += [x._data if isinstance(x, Tensor) else x for x in operands[1:]]
    payloads[0] = target._data
    if modes.vmaps or type(payloads[0]) is not np.ndarray:
        make_room(target, payloads[1:], modes)
        payloads[0] = target._data
    if written is None:
        written = payloads[0]
    if op.inplace_kernel is not None and all(type(x) is np.ndarray or not hasattr(x, "evaluate_op") for x in payloads):
        op.inplace_kernel(*payloads, **params)
    elif isinstance(op.kernel, np.ufunc) and all(not hasattr(x, "evaluate_op") for x in payloads):
        (op.native or op.kernel)(*payloads, out=written, casting="same_kind")
        target._data = written
    else:
        if written is not payloads[0]:
            np.copyto(written, payloads[0])
            target._data = written
        _copy_result(op, target, evaluate(op, payloads, params))
    bump_version(target)


def _copy_result(op: Op, target: Tensor, result: Any) -> None:
    if result.shape != target.shape:
        raise ValueError(
            f"{op.name}_: the result has shape {list(result.shape)} and cannot be written into a tensor of shape "
            f"{list(target.shape)}"
        )
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise TypeError(f"{op.name}_: the result has dtype {result.dtype}, which cannot be stored as {target.dtype}")
    whole = getattr(target._data, "assign_whole", None)
    counter = target._counter
    if whole is not None and view_of(target) is None and (counter is None or not counter.shared):
        whole(result)
    else:
        assign(target._data, result)


def _tracked_write(
    op: Op,
    target: Tensor,
    operands: tuple[Any, ...],
    params: dict[str, Any],
    needs: tuple[bool, ...],
    deps: Deps,
    modes: Modes,
) -> Any:
    """Write and rebase the history. Returns the node, which is to save what its rules read of the result."""
    reads, _ = op.reads(needs)
    if any(needs[1:]) and view_of(target) is not None:
        _check_places(target)
    for x in operands:
        if isinstance(x, Tensor) and view_of(x) is not None:
            refresh_view(x)
    to_save = tuple(
        _before_the_write(x, target) if position in reads and isinstance(x, Tensor) else x
        for position, x in enumerate(operands)
    )
    node = make_node(op, operands, params, needs, modes, to_save)
    node.output_specs = (target._spec,)
    node.num_outputs = 1
    node.spec = target._spec
    _write_payload(op, target, operands, params, modes)
    if type(node) is ScopedNode:
        node._scope.output_levels = levels_of(target._data)
    rebase_history(target, node, deps=deps)
    return node


def _check_places(target: Tensor) -> None:
    """Raise if values with a gradient are written to places of which one hides another."""
    memory = _memory(target)
    if memory is not None and shows_an_element_twice(memory):
        raise AutogradError(
            "OVERLAP_WRITE",
            f"values that require grad are being written to a view {describe(target.shape, target.dtype)}, and more "
            "than one of its elements refers to a single memory location",
            why="of two values for one location only the last one stays, and the other would get its gradient, too",
            fix="write to parts that do not overlap, one after the other",
        )


def _before_the_write(operand: Tensor, target: Tensor) -> Tensor:
    """An operand as the rules must see it: a copy if the write is about to change it, with the history it has now."""
    payload = operand._data
    if operand is target:
        if type(payload) is np.ndarray and _is_left(target):
            return target  # the node refers to the payload, so the write leaves it
    elif not _may_overlap(operand, target):
        return operand
    kept = Tensor()
    kept._data = payload.copy()
    kept._spec = operand._spec
    kept._counter = kept._extra = kept._meta = None
    set_history(kept, operand._node, operand._nr, deps_of(operand))
    if operand._extra is not None and operand._extra.forward is not None:
        for level in live_levels((operand,)):
            tangent = tangent_of(operand, level)
            if tangent is not None:
                store_tangent(kept, level, tangent.clone())
    return kept


def _is_left(target: Tensor) -> bool:
    """Would a write to the target leave its memory to a graph that keeps it?"""
    counter = target._counter
    return (
        (counter is None or not counter.shared)
        and get_policy().policy == "preserve"
        and type(target._node) is not Leaf
        and target._data.size > 0
        and not is_inference(target)
    )


def _save_written_output(node: Any, target: Tensor, needs: tuple[bool, ...]) -> None:
    if not node.op.reads(needs)[1]:
        return
    if view_of(target) is None:
        save_outputs(node, [target], needs)
    else:
        node.saved_outputs = (SavedVariable.of_written_view(node, target),)


def _references_to_a_payload() -> int:
    target = Tensor()
    target._data = np.empty(0)
    data = target._data
    return getrefcount(data)


_ALONE = _references_to_a_payload()
