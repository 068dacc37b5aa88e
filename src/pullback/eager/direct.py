"""A short way for operators of one or two operands and one result in normal modes: views, reductions, products.

It does what `record.apply` does with the loops and lists written out; whatever is unusual about the call goes there,
and the samples are run through both in the tests. Calls on plain tensors record a `DirectNode`, whose formula is
compiled (eager/formulas.py), calls on views an `OpNode`: a view must be saved weakly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.autograd._saved import SavedVariable
from pullback.autograd._variable import edge_of, requires_grad
from pullback.core.spec import spec_for
from pullback.core.state import current, next_stamp, open_levels, switch
from pullback.declare.op import Op
from pullback.declare.steps import ViewStep
from pullback.eager.nodes import OpNode, direct_node_class
from pullback.eager.record import aliases, apply
from pullback.tensors.tensor import UNSET, Extra, Leaf, Tensor, shared_counter
from pullback.tensors.versions import new_counter
from pullback.tensors.views import CreationMeta, ViewInfo

ndarray = np.ndarray
DEFAULT = CreationMeta.DEFAULT
NUMBERS = (float, int)


def direct(op: Op) -> Callable[[Any, dict[str, Any]], Any]:
    """The op as a function of its operand and its canonical parameters."""
    kernel, is_view, may_copy = op.kernel, op.is_view, op.may_copy
    is_differentiable = op.is_differentiable
    Made: Any = UNSET  # the op's own class of nodes, made when the first is needed; None if it has none

    def run(x: Any, params: dict[str, Any]) -> Any:
        nonlocal Made
        if type(x) is not Tensor or current() is not switch.normal or type(x._data) is not ndarray:
            return apply(op, (x,), params)
        extra = x._extra
        info: ViewInfo | None = None
        node = x._node
        if extra is not None:
            info = extra.view
            if (
                info is None
                or info.forward is not None
                or extra.inference
                or extra.readonly
                or extra.deps is not None
                or open_levels  # a view has the tangent of its base
            ):
                return apply(op, (x,), params)
            if node is None and requires_grad(x):
                node = True
        payload = kernel(x._data, **params)
        if type(payload) is not ndarray:
            payload = np.asarray(payload)
        out = Tensor()
        out._data = payload
        out._spec = spec = spec_for(payload.shape, payload.dtype)
        out._node = out._counter = out._extra = out._meta = None
        if is_view and (not may_copy or aliases(payload, x._data)):
            out._counter = counter = x._counter or shared_counter(x)
            view = ViewInfo.__new__(ViewInfo)
            view.attr_version = counter.value  # type: ignore[union-attr]
            view.forward = None
            step = tuple.__new__(ViewStep, (op, params))
            if info is None:
                view.base, view.steps, view.creation_meta = x, (step,), DEFAULT
            else:
                view.base, view.steps, view.creation_meta = info.base, (*info.steps, step), info.creation_meta
            out._extra = Extra()
            out._extra.view = view
        if node is None or not (is_differentiable and spec.is_differentiable and x._spec.is_differentiable):
            return out
        if Made is UNSET:
            Made = direct_node_class(op)
        if extra is not None or Made is None:
            _record(op, (x,), (True,), params, out)
            return out
        if type(node) is Leaf:
            reference = node.accumulator
            if reference is None or (node := reference()) is None:
                node = accumulator_of(x)
        out._node = made = Made()
        made.next = (node,)
        made.spec = spec
        made.rare = None
        made.params = params
        made.operand_specs = (x._spec,)
        if Made.saves_x:
            made.x = x
            made.x_data = x._data
            counter = x._counter
            made.x_version = 0 if counter is None else counter.value
        if Made.saves_out:
            made.out_data = payload
            made.out_counter = out._counter = new_counter()
        made.seq = next_stamp()
        return out

    return run


def direct_pair(op: Op) -> Callable[[Any, Any, dict[str, Any]], Any]:
    """The same for an op of two tensors that is no view: products, above all.

    The second may be a number if nobody can ask for derivatives: comparisons with numbers are common.
    """
    kernel, is_differentiable = op.kernel, op.is_differentiable
    Made: Any = UNSET

    def run(x: Any, y: Any, params: dict[str, Any]) -> Any:
        nonlocal Made
        if type(x) is not Tensor or current() is not switch.normal or not _is_plain(x):
            return apply(op, (x, y), params)
        if type(y) is Tensor:
            if not _is_plain(y):
                return apply(op, (x, y), params)
            payload = kernel(x._data, y._data, **params)
        elif is_differentiable or type(y) not in NUMBERS:
            return apply(op, (x, y), params)
        else:
            payload = kernel(x._data, y, **params)
        if type(payload) is not ndarray:
            payload = np.asarray(payload)
        out = Tensor()
        out._data = payload
        out._spec = spec = spec_for(payload.shape, payload.dtype)
        out._node = out._counter = out._extra = out._meta = None
        if not (is_differentiable and spec.is_differentiable):
            return out
        if Made is UNSET:
            Made = direct_node_class(op)
        needs_x = x._spec.is_differentiable and (x._node is not None or (x._extra is not None and requires_grad(x)))
        needs_y = y._spec.is_differentiable and (y._node is not None or (y._extra is not None and requires_grad(y)))
        if not (needs_x or needs_y):
            return out
        if x._extra is not None or y._extra is not None or Made is None:
            _record(op, (x, y), (needs_x, needs_y), params, out)
            return out
        behind_x = x._node if needs_x else None
        if type(behind_x) is Leaf:
            reference = behind_x.accumulator
            if reference is None or (behind_x := reference()) is None:
                behind_x = accumulator_of(x)
        behind_y = y._node if needs_y else None
        if type(behind_y) is Leaf:
            reference = behind_y.accumulator
            if reference is None or (behind_y := reference()) is None:
                behind_y = accumulator_of(y)
        out._node = made = Made()
        made.next = (behind_x, behind_y)
        made.spec = spec
        made.rare = None
        made.params = params
        made.operand_specs = (x._spec, y._spec)
        reads, reads_output = op.reads((needs_x, needs_y))
        if 0 in reads:
            made.x = x
            made.x_data = x._data
            counter = x._counter
            made.x_version = 0 if counter is None else counter.value
        elif Made.saves_x:
            made.x = made.x_data = None
        if 1 in reads:
            made.y = y
            made.y_data = y._data
            counter = y._counter
            made.y_version = 0 if counter is None else counter.value
        elif Made.saves_y:
            made.y = made.y_data = None
        if reads_output:
            made.out_data = payload
            made.out_counter = out._counter = new_counter()
        elif Made.saves_out:
            made.out_data = made.out_counter = None
        made.seq = next_stamp()
        return out

    return run


def _record(op: Op, operands: tuple[Tensor, ...], needs: tuple[bool, ...], params: dict[str, Any], out: Tensor) -> None:
    """Give the result an `OpNode`: some operand is a view, or the op has no class of nodes of its own."""
    edges = [edge_of(x) if needed else (None, 0) for x, needed in zip(operands, needs, strict=True)]
    out._node = made = OpNode()
    made.op = op
    made.params = params
    made.rare = None
    made.next = tuple([node for node, _ in edges])
    numbers = tuple([number for _, number in edges])
    made.next_nr = numbers if any(numbers) else None
    made.operand_specs = tuple([x._spec for x in operands])
    made.spec = out._spec
    made.output_specs = (out._spec,)
    made.num_outputs = 1
    made.statics = made.saved_operands = made.saved_outputs = ()
    reads, reads_output = op.reads(needs)
    if reads:
        made.saved_operands = tuple([SavedVariable(x) if k in reads else None for k, x in enumerate(operands)])
    made.seq = next_stamp()
    if reads_output:
        made.saved_outputs = (SavedVariable(out, True),)


def _is_plain(x: Tensor) -> bool:
    """No more than a view on an array."""
    extra = x._extra
    return type(x._data) is ndarray and (
        extra is None or not (extra.inference or extra.readonly or extra.deps is not None or open_levels)
    )
