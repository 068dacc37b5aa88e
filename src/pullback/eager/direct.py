"""A short way for operators of one or two operands and one result in normal modes: views, reductions, products.

It does what `record.apply` does with the loops and lists written out; whatever is unusual about the
call goes there, and the samples are run through both in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.autograd._saved import SavedVariable
from pullback.autograd._variable import edge_of, refresh_view, requires_grad
from pullback.core.spec import spec_for
from pullback.core.state import current, next_stamp, switch
from pullback.declare.op import Op
from pullback.eager.nodes import OpNode
from pullback.eager.record import aliases, apply
from pullback.tensors.tensor import Extra, Leaf, Tensor, shared_counter
from pullback.tensors.views import CreationMeta, ViewInfo, ViewStep

ndarray = np.ndarray
DEFAULT = CreationMeta.DEFAULT


def direct(op: Op) -> Callable[[Any, dict[str, Any]], Any]:
    """The op as a function of its operand and its canonical parameters."""
    kernel, is_view, may_copy = op.kernel, op.is_view, op.may_copy
    is_differentiable = op.is_differentiable
    reads_operand, reads_output = map(bool, op.reads((True,))) if is_differentiable else (False, False)

    def run(x: Any, params: dict[str, Any]) -> Any:
        if type(x) is not Tensor or current() is not switch.normal or type(x._data) is not ndarray:
            return apply(op, (x,), params)
        extra = x._extra
        info: ViewInfo | None = None
        node = x._node
        if extra is not None:
            info = extra.view
            if info is None or extra.inference or extra.readonly or extra.forward is not None or extra.deps is not None:
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
            view.is_forward_view = True
            step = tuple.__new__(ViewStep, (op, params))
            if info is None:
                view.base, view.steps, view.creation_meta = x, (step,), DEFAULT
            else:
                view.base, view.steps, view.creation_meta = info.base, (*info.steps, step), info.creation_meta
            out._extra = Extra()
            out._extra.view = view
        if node is not None and is_differentiable and spec.is_differentiable and x._spec.is_differentiable:
            if info is not None:
                refresh_view(x)
                node = x._node
            if type(node) is Leaf:
                reference = node.accumulator
                if reference is None or (node := reference()) is None:
                    node = accumulator_of(x)
            out._node = made = OpNode()
            made.op = op
            made.params = params
            made.rare = None
            made.next = (node,)
            number = 0 if extra is None else extra.output_nr
            made.next_nr = (number,) if number else None
            made.operand_specs = (x._spec,)
            made.spec = spec
            made.output_specs = (spec,)
            made.num_outputs = 1
            made.statics = ()
            made.saved_operands = (SavedVariable(x),) if reads_operand else ()
            made.seq = next_stamp()
            made.saved_outputs = (SavedVariable(out, True),) if reads_output else ()
        return out

    return run


def direct_pair(op: Op) -> Callable[[Any, Any, dict[str, Any]], Any]:
    """The same for an op of two tensors that is no view: products, above all."""
    kernel = op.kernel

    def run(x: Any, y: Any, params: dict[str, Any]) -> Any:
        if (
            type(x) is not Tensor
            or type(y) is not Tensor
            or current() is not switch.normal
            or not (_is_plain(x) and _is_plain(y))
        ):
            return apply(op, (x, y), params)
        payload = kernel(x._data, y._data, **params)
        if type(payload) is not ndarray:
            payload = np.asarray(payload)
        out = Tensor()
        out._data = payload
        out._spec = spec = spec_for(payload.shape, payload.dtype)
        out._node = out._counter = out._extra = out._meta = None
        needs_x = x._spec.is_differentiable and (x._node is not None or (x._extra is not None and requires_grad(x)))
        needs_y = y._spec.is_differentiable and (y._node is not None or (y._extra is not None and requires_grad(y)))
        if (needs_x or needs_y) and op.is_differentiable and spec.is_differentiable:
            behind_x, number_x = edge_of(x) if needs_x else (None, 0)
            behind_y, number_y = edge_of(y) if needs_y else (None, 0)
            out._node = made = OpNode()
            made.op = op
            made.params = params
            made.rare = None
            made.next = (behind_x, behind_y)
            made.next_nr = (number_x, number_y) if number_x or number_y else None
            made.operand_specs = (x._spec, y._spec)
            made.spec = spec
            made.output_specs = (spec,)
            made.num_outputs = 1
            made.statics = made.saved_operands = made.saved_outputs = ()
            reads, reads_output = op.reads((needs_x, needs_y))
            if reads:
                made.saved_operands = (
                    SavedVariable(x) if 0 in reads else None,
                    SavedVariable(y) if 1 in reads else None,
                )
            made.seq = next_stamp()
            if reads_output:
                made.saved_outputs = (SavedVariable(out, True),)
        return out

    return run


def _is_plain(x: Tensor) -> bool:
    """No more than a view on an array."""
    extra = x._extra
    return type(x._data) is ndarray and (
        extra is None or not (extra.inference or extra.readonly or extra.forward is not None or extra.deps is not None)
    )
