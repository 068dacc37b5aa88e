"""Hooks on the gradients of several tensors at once."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from pullback.autograd._accumulate import AccumulateGrad
from pullback.autograd._fields import register_hook
from pullback.autograd._hooks import HandleGroup, RemovableHandle
from pullback.autograd._task import GraphTask, reachable, running_task
from pullback.autograd._variable import grad_fn, requires_grad
from pullback.tensors.tensor import Tensor

_VISITED = object()  # where a pass keeps what `_visited` found


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` once per backward pass that computes gradients of these tensors.

    `mode="all"`: with the list of all gradients, when the last one that the pass will compute is there; None stands
    for a tensor that the pass does not reach. `mode="any"`: with the first gradient that is computed.

    >>> a, b = pb.tensor(2.0, requires_grad=True), pb.tensor(3.0, requires_grad=True)
    >>> handle = pb.autograd.graph.register_multi_grad_hook((a, b), lambda grads: print(grads))
    >>> (a * b).backward()
    [tensor(3.), tensor(2.)]
    """
    if mode == "all":
        return _register_all(tuple(tensors), fn)
    if mode == "any":
        return _register_any(tuple(tensors), fn)
    raise ValueError(f"register_multi_grad_hook: mode must be 'all' or 'any', got {mode!r}")


def _register_any(tensors: tuple[Tensor, ...], fn: Callable[[Any], Any]) -> RemovableHandle:
    key = object()

    def hook(gradient: Any) -> None:
        scratch = running_task("a multi-grad hook").scratch
        if key not in scratch:
            scratch[key] = True
            fn(gradient)

    return HandleGroup([register_hook(tensor, hook) for tensor in tensors if requires_grad(tensor)])


def _register_all(tensors: tuple[Tensor, ...], fn: Callable[[list[Any]], Any]) -> RemovableHandle:
    # Interior tensors are named by their node, whose hooks these are, and leaves by themselves: their accumulator
    # comes and goes with the graphs. Both weakly, since the hooks below belong to what they name.
    places = [weakref.ref(grad_fn(tensor) or tensor) for tensor in tensors]
    key = object()

    def hook_for(position: int) -> Callable[[Any], None]:
        def hook(gradient: Any) -> None:
            task = running_task("a multi-grad hook")
            if key not in task.scratch:
                task.scratch[key] = _Collected(task, places, fn)
            task.scratch[key].add(position, gradient)

        return hook

    handles: list[RemovableHandle] = []
    try:
        for position, tensor in enumerate(tensors):
            handles.append(register_hook(tensor, hook_for(position)))
    except BaseException:
        HandleGroup(handles).remove()
        raise
    return HandleGroup(handles)


class _Collected:
    """The gradients of one registration in one pass."""

    def __init__(self, task: GraphTask, places: list[weakref.ref[Any]], fn: Callable[[list[Any]], Any]) -> None:
        visited = _visited(task)
        self._missing = sum(place() in visited for place in places)
        self._gradients: list[Any] = [None] * len(places)
        self._fn: Callable[[list[Any]], Any] | None = fn
        # A tensor that is visited may still get no gradient; then the end of the pass is when all have theirs.
        task.callbacks.append(self._call)

    def add(self, position: int, gradient: Any) -> None:
        self._gradients[position] = gradient
        self._missing -= 1
        if self._missing == 0:
            self._call()

    def _call(self) -> None:
        fn, self._fn = self._fn, None
        if fn is not None:
            gradients, self._gradients = self._gradients, []
            fn(gradients)


def _visited(task: GraphTask) -> set[Any]:
    """The nodes that the pass visits, and the leaves whose accumulators are among them."""
    found: set[Any] | None = task.scratch.get(_VISITED)
    if found is None:
        nodes = reachable(task.roots) if task.visit is None else task.visit
        leaves = {node.variable for node in nodes if isinstance(node, AccumulateGrad)}
        found = task.scratch[_VISITED] = nodes | leaves
    return found
