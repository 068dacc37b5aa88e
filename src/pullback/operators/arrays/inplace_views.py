"""Methods that change how a tensor looks at its memory, as `swapaxes_` does, or give it another: `resize_`, `set_`.

They are in-place operations in every respect but one: no element changes, so values saved for backward stay good.
The version counts the change, permissions are those of a write, and the history gets the view operation.

Views of the tensor stay views of it: their record of how to find their elements begins with the way back to its former
look. Only `as_strided_`, from which there is no way back, makes the tensor itself a view of what it was.
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import inverse_permutation, normalize_axis_index, normalize_shape
from pullback.core.spec import describe, spec_of
from pullback.core.state import changed, current, open_levels
from pullback.declare.op import Op
from pullback.declare.views import ViewStep
from pullback.eager.inplace import LENT
from pullback.errors import AutogradError, FunctionalizationError
from pullback.operators.arguments import one_sequence
from pullback.operators.arrays.movement import (
    expand_dims,
    expand_dims_door,
    moveaxis,
    permute_dims,
    permute_dims_door,
    rollaxis,
    squeeze,
    squeeze_door,
)
from pullback.operators.arrays.strided import as_strided, as_strided_door
from pullback.payloads.evaluate import evaluate
from pullback.tape.forward.levels import live_levels, store_tangent
from pullback.tape.history import bump_version, check_tracked_write, grad_fn, move_retained, requires_grad
from pullback.tensors.tensor import Leaf, Tensor, as_constant, extra_of, is_inference, shared_counter, to_outside
from pullback.tensors.views import ViewInfo, view_of


def _check_permitted(tensor: Tensor, name: str) -> None:
    modes = current()
    if tensor._extra is not None and tensor._extra.readonly:
        raise AutogradError(
            "READONLY_GRAD",
            f"{name}: {describe(tensor.shape, tensor.dtype)} is read-only, and is being changed in place",
            why=LENT,
            fix="return a new tensor instead of changing this one",
        )
    if is_inference(tensor) and not modes.inference:
        raise AutogradError(
            "INFERENCE_INPLACE",
            f"{name}: an inference tensor is being changed in place outside of inference mode",
            why="it carries no version counter, so the change could not be noticed by others",
            fix="make a normal copy with clone() and change that",
        )
    info = view_of(tensor)
    is_tracked = requires_grad(tensor) or (info is not None and requires_grad(info.base))
    if is_tracked and modes.grad and not modes.inference and tensor._spec.is_differentiable:
        check_tracked_write(tensor)


def look_through(tensor: Tensor, op: Op, params: dict[str, Any], name: str) -> Tensor:
    """Make `tensor` the view `op` of itself."""
    _check_permitted(tensor, name)
    shared_counter(tensor)  # what a graph keeps of it is another array on the same memory from now on
    payload = evaluate(op, (tensor._data,), params)
    info = view_of(tensor)
    if open_levels:
        _change_tangents(tensor, op, params)
    if info is not None:
        # The version is about to change, so the history is rebuilt from the new record when it is next asked for.
        info.steps = (*info.steps, ViewStep(op, params))
        info.records = info.records and {
            level: None if record is None else (record[0], (*record[1], ViewStep(op, params)))
            for level, record in info.records.items()
        }
    else:
        _change_root(tensor, op, params, name)
    if type(tensor._node) is Leaf:
        tensor._node = Leaf()  # graphs made from now on get an accumulator that knows the new shape
    tensor._data = payload
    tensor._spec = spec_of(payload)
    bump_version(tensor)
    return tensor


def _change_tangents(tensor: Tensor, op: Op, params: dict[str, Any]) -> None:
    """Look at the tangents that the tensor itself holds in the same way."""
    forward = None if tensor._extra is None else tensor._extra.forward
    if not forward:
        return
    back = _way_back(op, params)
    shared = list(_forward_records_of(tensor))
    if back is None and (shared or (view_of(tensor) is None and _views_of(tensor))):
        raise ValueError(f"{op.name}_: this dual tensor has views, which would lose their way to its tangent")
    with _recording():
        for level, tangent in list(forward.items()):
            store_tangent(tensor, level, op(tangent, **params), borrowed=forward.lends(level))
    for records, level, steps in shared:
        records[level] = (tensor, (back, *steps))


def _forward_records_of(tensor: Tensor) -> Iterator[tuple[dict[Any, Any], Any, tuple[ViewStep, ...]]]:
    """The records by which living views share the tangents of `tensor` although it is not their base."""
    for record in gc.get_referrers(tensor):
        if type(record) is tuple and len(record) == 2 and record[0] is tensor and type(record[1]) is tuple:
            for records in gc.get_referrers(record):
                if type(records) is dict:
                    yield from [(records, level, record[1]) for level, each in records.items() if each is record]


def _recording() -> Any:
    return changed(grad=True, inference=False, saved_hooks=(), interceptors=())


def _change_root(tensor: Tensor, op: Op, params: dict[str, Any], name: str) -> None:
    """Record `op` in the history of a tensor that is no view, and let its views find their elements from there."""
    views = _views_of(tensor)
    back = _way_back(op, params)
    if views and back is not None:
        for info in views:
            info.steps = (back, *info.steps)
        views = []
    is_leaf = type(tensor._node) is Leaf
    if is_leaf and views:
        raise ValueError(f"{name}: this leaf has {len(views)} views, which would lose their way to its gradient")
    if is_leaf or (tensor._node is None and not views):
        return
    former = Tensor()
    former._data, former._spec = tensor._data, tensor._spec
    former._counter, former._extra, former._meta = tensor._counter, None, None
    former._node, former._nr = tensor._node, tensor._nr
    with _recording():
        looked = op(former, **params)
    previous, previous_nr = tensor._node, tensor._nr
    tensor._node, tensor._nr = looked._node, looked._nr
    move_retained(tensor, previous, previous_nr)
    if views:
        for info in views:
            info.base = former
        extra_of(tensor).view = looked._extra.view


def _way_back(op: Op, params: dict[str, Any]) -> ViewStep | None:
    """The view that undoes the view `op`."""
    if op is permute_dims:
        return ViewStep(permute_dims, {"axes": inverse_permutation(params["axes"])})
    if op is squeeze:
        return ViewStep(expand_dims, params)
    return ViewStep(squeeze, params) if op is expand_dims else None


def _views_of(tensor: Tensor) -> list[ViewInfo]:
    """The records of all living views whose base is `tensor`.

    Views have the counter of their base. If nobody else has it, nobody is looked for: a search of the whole heap takes
    as long as the heap is large.
    """
    if tensor._counter is None or sys.getrefcount(tensor._counter) == _UNSHARED:
        return []
    return [info for info in gc.get_referrers(tensor) if isinstance(info, ViewInfo) and info.base is tensor]


_UNSHARED = 2  # references to a counter: its tensor's, and that of the call that counts


def permute_(self: Tensor, *axes: Any) -> Tensor:
    """Put the axes of this tensor in another order; without an order, reverse them."""
    order = one_sequence("permute_", axes)
    if order is None or order == ():
        order = tuple(range(self.ndim))[::-1]
    (_, params) = permute_dims_door(self, order)
    return look_through(self, permute_dims, params, "permute_")


def swapaxes_(self: Tensor, axis1: int, axis2: int) -> Tensor:
    """Exchange two axes of this tensor."""
    order = list(range(self.ndim))
    first, second = normalize_axis_index(axis1, self.ndim), normalize_axis_index(axis2, self.ndim)
    order[first], order[second] = second, first
    return permute_(self, order)


def transpose_(self: Tensor, *axes: Any) -> Tensor:
    """Exchange the two axes that are given, as torch's method of this name does; with another number, `permute_`."""
    if len(axes) == 2 and all(isinstance(axis, (int, np.integer)) for axis in axes):
        return swapaxes_(self, *axes)
    return permute_(self, *axes)


def moveaxis_(self: Tensor, source: Any, destination: Any) -> Tensor:
    """Put the axes `source` of this tensor at the places `destination`, and leave the others in their order."""
    # Axis k of this array has length k, so that the lengths of the result are the order of the axes.
    return permute_(self, moveaxis(np.empty(range(self.ndim)), source, destination).shape)


def rollaxis_(self: Tensor, axis: int, start: int = 0) -> Tensor:
    """Move an axis of this tensor in front of the one at `start`."""
    return permute_(self, rollaxis(np.empty(range(self.ndim)), axis, start).shape)


def matrix_transpose_(self: Tensor) -> Tensor:
    """Exchange the last two axes of this tensor."""
    return swapaxes_(self, -2, -1)


def t_(self: Tensor) -> Tensor:
    """Transpose this matrix; a vector stays a vector."""
    if self.ndim > 2:
        raise ValueError(f"t_: expected at most two axes, got {self.ndim}; use swapaxes_")
    return permute_(self)


def squeeze_(self: Tensor, axis: Any = None, *, dim: Any = None) -> Tensor:
    """Drop axes of length 1 from this tensor."""
    (_, params) = squeeze_door(self, axis, dim=dim)
    return look_through(self, squeeze, params, "squeeze_")


def unsqueeze_(self: Tensor, axis: Any = None, *, dim: Any = None) -> Tensor:
    """Insert axes of length 1 into this tensor."""
    (_, params) = expand_dims_door(self, axis, dim=dim)
    return look_through(self, expand_dims, params, "unsqueeze_")


def as_strided_(self: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    """Make this tensor `size` of its own elements, `stride` apart, beginning `storage_offset` after its first."""
    (_, params) = as_strided_door(self, size, stride, storage_offset)
    return look_through(self, as_strided, params, "as_strided_")


def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Give this tensor the memory of another one, or a part of it as `as_strided` reads it; without one, none.

    The two share memory from then on, but as after an assignment to `data` each counts the writes made through itself.
    Refused where gradients are recorded if either requires grad, on results that have a history, and on a view or a
    tensor with views, whose elements belong together.
    """
    source = as_constant(np.empty(0, self.dtype)) if source is None else source
    if not isinstance(source, Tensor):
        raise TypeError(f"set_: expected a Tensor, got {type(source).__name__}")
    if source.dtype != self.dtype:
        raise TypeError(f"set_: a tensor of {self.dtype} cannot get the memory of one of {source.dtype}")
    modes = current()
    is_recorded = modes.grad and not modes.inference and (requires_grad(self) or requires_grad(source))
    if is_recorded or grad_fn(self) is not None or live_levels((self, source)):
        raise AutogradError(
            "SET_GRAD",
            f"cannot give a tensor {describe(self.shape, self.dtype)} other memory where gradients are required",
            why="its elements would be replaced without a history",
            fix="assign the other tensor to a name, copy its values with copy_, or use x.detach()",
        )
    _check_permitted(self, "set_")
    if view_of(self) is not None or _views_of(self):
        raise ValueError("set_: a view, or a tensor that has views, cannot get other memory; use a copy()")
    shared_counter(self)
    to_outside(source)
    payload = source._data
    if size is not None or stride is not None or storage_offset:
        (_, params) = as_strided_door(source, size, stride, storage_offset)
        payload = evaluate(as_strided, (payload,), params)
    if type(self._data) is not np.ndarray and hasattr(self._data, "replaced_by"):
        payload = self._data.replaced_by(payload)
    if type(self._node) is Leaf and spec_of(payload) != self._spec:
        self._node = Leaf()  # graphs made from now on get an accumulator that knows the new shape
    self._data = payload
    self._spec = spec_of(payload)
    to_outside(self, again=True)
    bump_version(self)
    return self


def resize_(self: Tensor, *lengths: Any) -> Tensor:
    """Give this tensor another shape and memory of its own: first elements are kept, new ones are 0. Nothing happens if
    it has that shape.

    Refused on a tensor that requires grad, and on a view, which has no memory of its own.
    """
    shape = normalize_shape(one_sequence("resize_", lengths))
    if requires_grad(self):
        raise AutogradError(
            "RESIZE_GRAD",
            f"cannot resize a tensor {describe(self.shape, self.dtype)} that requires grad",
            why="elements would appear and vanish without a history",
            fix="use reshape, or pad and slice it; or resize x.detach()",
        )
    if live_levels((self,)):
        raise AutogradError(
            "RESIZE_DUAL",
            f"cannot resize a tensor {describe(self.shape, self.dtype)} that carries a tangent",
            why="elements would appear and vanish without a derivative",
            fix="use reshape, or pad and slice it; or resize x.detach()",
        )
    _check_permitted(self, "resize_")
    if shape == self.shape:
        return self
    if current().trace is not None:
        raise FunctionalizationError(
            f"resize_ of a tensor {describe(self.shape, self.dtype)} in a function that is being captured",
            why="memory cannot grow while the caller's tensor refers to it",
            fix="return a new tensor: pad, slice or concatenate",
        )
    if view_of(self) is not None or _views_of(self):
        raise ValueError("resize_: a view, or a tensor that has views, cannot be resized, since its elements belong "
                         "together; use a copy()")
    payload = np.zeros(math.prod(shape), self.dtype)
    kept = min(payload.size, self._data.size)
    payload[:kept] = self._data.reshape(-1)[:kept]
    self._data = payload.reshape(shape)
    self._spec = spec_of(self._data)
    bump_version(self)
    return self


inplace_methods: dict[str, Callable[..., Any]] = {
    "as_strided_": as_strided_,
    "expand_dims_": unsqueeze_,
    "matrix_transpose_": matrix_transpose_,
    "moveaxis_": moveaxis_,
    "movedim_": moveaxis_,
    "permute_": permute_,
    "permute_dims_": permute_,
    "resize_": resize_,
    "rollaxis_": rollaxis_,
    "set_": set_,
    "squeeze_": squeeze_,
    "swapaxes_": swapaxes_,
    "swapdims_": swapaxes_,
    "t_": t_,
    "transpose_": transpose_,
    "unsqueeze_": unsqueeze_,
}
"""Methods of `Tensor` that change its shape in place."""
