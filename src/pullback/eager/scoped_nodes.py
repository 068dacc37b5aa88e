"""Nodes that know where they were recorded: among batch dimensions, or on a device of another library."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.core.state import Modes
from pullback.declare.op import Op, registry
from pullback.eager.call_source import CallRules
from pullback.eager.nodes import OpNode, class_of_calls
from pullback.eager.pull import call_pull
from pullback.payloads.batched import BatchedArray, levels_of
from pullback.payloads.batched.crossing import enter_level
from pullback.payloads.devices import CPU, device_of, moved, pending_streams
from pullback.tape.input_metadata import SparseGrad, conform
from pullback.tape.transform.tokens import Scope
from pullback.tensors.tensor import Tensor, as_constant

# Nodes recorded where batch dimensions exist.
#
# Such a node remembers which levels were active, and which its operands and outputs have. Its formula runs with the
# same levels active again, so that a pass from outside of the vmap sees the same world. A gradient for an operand that
# lacks a level of the output is summed over it: that operand was used by every example. Not over levels that are active
# where the pass was started, though: there the pass itself belongs to one example.

class ScopedNode(OpNode):
    """An `OpNode` with a `Scope`."""

    __slots__ = ("_scope",)

    _scope: Scope

    @classmethod
    def within(cls, modes: Modes, operands: tuple[Any, ...]) -> ScopedNode:
        """A node recorded under these modes."""
        node = cls()
        places = [device_of(x._data) for x in operands if isinstance(x, Tensor)]
        place = next((each for each in places if each.kind is not None), None)
        node._scope = Scope(modes.vmaps, tuple([levels_of(x._data) if isinstance(x, Tensor) else () for x in operands]))
        node._scope.place = place
        return node

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        with self._scope.reinstated():
            results = super().evaluate(grads, as_tensors, wanted)
            if self._scope.place is not None:
                results = tuple([brought(g, self._scope.place) for g in results])
            exempt = self.params["level"] if self.op is enter_level else None
            return self._scope.reduced(results, exempt)


class ForeignNode(OpNode):
    """An `OpNode` of a call on arrays of another library: it knows the stream of its forward, and which operands are
    numbers on the host, whose gradients go back there."""

    __slots__ = ("hosts", "place", "stream")

    hosts: tuple[bool, ...]
    place: Any
    stream: Any

    @classmethod
    def on(cls, place: Any, operands: tuple[Any, ...]) -> ForeignNode:
        """A node of a call on this device."""
        node = cls()
        node.place = place
        node.hosts = tuple([isinstance(x, Tensor) and not x._spec.ndim and x.device is not place for x in operands])
        node.stream = None if place.kind.streams is None else place.kind.streams.current_stream()
        return node

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        streams = self.place.kind.streams
        if streams is None:
            results = super().evaluate(grads, as_tensors, wanted)
        else:
            pending_streams[self.stream] = streams
            with streams.use(self.stream):  # what it reads of other streams is waited for where it is read
                results = super().evaluate(grads, as_tensors, wanted)
        return tuple([
            _delivered(conform(g, (), g.dtype), CPU, as_tensors) if is_host and g is not None
            else _delivered(g, self.place, as_tensors)
            for g, is_host in zip(results, self.hosts, strict=True)
        ])  # fmt: skip


class Elsewhere:
    """What the node of a fast call on such arrays adds to a `DirectNode` (eager/elsewhere.py): its device, `place`."""

    __slots__ = ()

    is_fast = False
    stream = None  # of a library with streams there are no such nodes
    pulls: Any  # the class of the arrays
    place: Any

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        results = super().evaluate(grads, as_tensors, wanted)  # type: ignore[misc]
        return tuple([_delivered(g, self.place, as_tensors) for g in results])

    def output_kind(self, number: int) -> Any:
        spec = self.specs[number]  # type: ignore[attr-defined]
        return None if spec is None else self.pulls.like(self.place, spec.shape, spec.dtype)


def node_class_elsewhere(op: Op, rules: CallRules, foreign: type) -> Any:
    """The node of fast calls of `op` on arrays of the class `foreign`; its `pull` is made when it is first needed."""

    def pull(self: Any, gradient: Any, keep: bool) -> tuple[Any, ...]:
        made.pull = call_pull(op, rules, {"Foreign": foreign, "fitted_there": _fitted})
        return made.pull(self, gradient, keep)

    made: Any = class_of_calls(op, rules, (Elsewhere,), {"__slots__": ("place",), "pull": pull, "pulls": foreign})
    return made


def _fitted(gradient: Any, successor: Any, place: Any) -> Any:
    """A gradient as the node behind the operand takes it, on the device of its value."""
    if gradient is None:
        return None
    return brought(conform(gradient, successor.spec.shape, successor.grad_dtype_of(0)), place)


def _delivered(gradient: Any, place: Any, as_tensor: bool) -> Any:
    """The same of what a rule has made, in a pass that may be recorded."""
    if as_tensor and gradient is not None and not isinstance(gradient, SparseGrad):
        gradient = as_constant(gradient)
    return brought(gradient, place)


def brought(value: Any, place: Any) -> Any:
    """What a rule made, where its value lies: rules make constants with NumPy. None and sparse rows as they are."""
    if value is None or isinstance(value, SparseGrad):
        return value
    if isinstance(value, Tensor):
        found = device_of(value._data)
        return value if found is place else registry["_to_device"](value, device=place, source=found, copy=None)
    return value if device_of(value) is place else moved(value, place)


def foreign_device(operands: Iterable[Any]) -> Any:
    """The device of another library that one of the operands is on; None if there is none."""
    for x in operands:
        if isinstance(x, Tensor) and type(x._data) is not np.ndarray and type(x._data) is not BatchedArray:
            place = device_of(x._data)
            if place.kind is not None:
                return place
    return None


def all_plain(operands: Iterable[Any]) -> bool:
    """Has no operand a batch dimension?"""
    for x in operands:
        payload = x._data if isinstance(x, Tensor) else None
        if type(payload) is not np.ndarray and (type(payload) is BatchedArray or levels_of(payload)):
            return False
    return True
