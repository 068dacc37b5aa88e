"""`CopySlices`: the history of a base one of whose views was written in place."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from pullback.autograd._input_metadata import conform
from pullback.autograd._node import Node, released_error
from pullback.autograd._scope import joined
from pullback.core.axes import inverse_permutation
from pullback.core.spec import Spec
from pullback.core.state import current, next_stamp
from pullback.declare.steps import ViewStep
from pullback.payloads.crossing import leave_level, levels_of, widen
from pullback.tensors.tensor import Tensor
from pullback.tensors.views import ViewInfo, replayed


class CopySlices(Node):
    """Runs the formula of an in-place operation on the view's part of the base's gradient.

    Input `position` is the base's old value, the others are those of the operation itself.
    """

    __slots__ = ("fn", "lock", "next_nr", "order", "position", "steps")

    lock: threading.Lock

    fn: Node | None
    order: tuple[int, ...] | None
    position: int
    steps: tuple[ViewStep, ...]

    @classmethod
    def around(
        cls, fn: Node, position: int, base: Tensor, info: ViewInfo, base_edge: tuple[Node | None, int]
    ) -> CopySlices:
        """The history of `base` after `fn` described how the view `info` of it was rewritten."""
        node = cls()
        node.fn = fn
        node.position = position
        node.steps = info.steps
        node.order = memory_order(base._data)
        node.lock = threading.Lock()
        edges = list(fn.edges())
        edges[position] = base_edge
        node.next = tuple(edge[0] for edge in edges)
        node.next_nr = tuple(edge[1] for edge in edges)
        node.spec = base._spec
        node.rare = None
        node.seq = next_stamp()
        return node

    @property
    def is_strict(self) -> bool:  # type: ignore[override]
        """As strict as the formula inside."""
        return self.fn is not None and self.fn.is_strict

    def name(self) -> str:
        return "CopySlices"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        gradient = grads[0]
        if gradient is None:
            return (None,) * len(self.next)
        with self.lock:
            fn = self.fn
            if fn is None:
                raise released_error("CopySlices")
            partial = list(fn.evaluate((self._piece(gradient).copy(),), as_tensors, wanted))
            if wanted[self.position]:
                partial[self.position] = self._replaced(fn, gradient, partial[self.position])
            return tuple(partial)

    def _piece(self, whole: Any) -> Any:
        for step in self.steps:
            whole = step(whole)
        return whole

    def _replaced(self, fn: Node, gradient: Any, new: Any) -> Any:
        """The gradient of the base's old value: that of the new one, with `new` in the place of the view."""
        scope = fn._scope
        if scope is not None:
            # Memory that was widened by the write was one and the same for all examples before. Other levels of the
            # base stay: the view may lack them, if it was returned from the vmap that they belong to.
            widened = [level for level in scope.output_levels if level not in scope.input_levels[self.position]]
            every = joined(scope.output_levels, _levels(gradient))
            with scope.reinstated():
                gradient = scope.reduced_to(gradient, tuple(level for level in every if level not in widened))
        # Without the level that a step leaves, that step would give a view of one place for all examples.
        crossed = tuple(step.params["level"] for step in self.steps if step.op is leave_level)
        missing = tuple(level for level in crossed if level not in _levels(gradient))
        result = copy_in_order(widen(gradient, levels=missing) if missing else gradient, self.order)
        piece = self._piece(result)
        missing = () if new is None else tuple(level for level in _levels(new) if level not in _levels(piece))
        if missing:
            result = copy_in_order(widen(result, levels=missing), self.order)
            piece = self._piece(result)
        piece[...] = 0 if new is None else conform(new, piece.shape, piece.dtype)
        return result

    def release(self) -> None:
        with self.lock:
            if self.fn is not None:
                self.fn.release()
                self.fn = None


def _levels(value: Any) -> Any:
    return levels_of(value._data if isinstance(value, Tensor) else value)


def memory_order(payload: Any) -> tuple[int, ...] | None:
    """The axes of an array from the slowest to the fastest in memory; None for the usual order."""
    if type(payload) is not np.ndarray:
        payload = getattr(payload, "shadow", None)
    if payload is None or payload.flags.c_contiguous:
        return None
    axes = sorted(range(payload.ndim), key=lambda axis: (-abs(payload.strides[axis]), axis))
    return None if axes == list(range(payload.ndim)) else tuple(axes)


def copy_in_order(value: Any, order: tuple[int, ...] | None) -> Any:
    """A copy of an array, payload or Tensor whose axes lie in memory in this order."""
    if order is None:
        return value.copy(order="C")
    return value.transpose(order).copy(order="C").transpose(inverse_permutation(order))


def history_of_view(node: Node, base_spec: Spec, steps: tuple[ViewStep, ...]) -> Tensor:
    """A tensor without real data that stands for the view `steps` of the value whose history is `node`."""
    stand_in = Tensor()
    shape = np.broadcast_to(np.zeros((), base_spec.dtype), base_spec.shape)
    trace = current().trace
    stand_in._data = shape if trace is None else trace.home(shape)
    stand_in._spec = base_spec
    stand_in._node = node
    stand_in._counter = stand_in._extra = stand_in._meta = None
    return replayed(steps, stand_in)
