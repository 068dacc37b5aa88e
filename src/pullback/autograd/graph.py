"""The graph behind tensors: nodes and edges, hooks on saved values and on gradients, and the pass that is running."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pullback.errors import AutogradError
from pullback.tape.accumulate import AccumulateGrad
from pullback.tape.history import GradientEdge, bump_version, get_gradient_edge, grad_fn, requires_grad
from pullback.tape.hooks import HandleGroup, RemovableHandle
from pullback.tape.input_metadata import InputMetadata
from pullback.tape.node import Node
from pullback.tape.overwriting import allow_mutation_on_saved_tensors, report_overwrites
from pullback.tape.saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from pullback.tape.task import (
    GraphTask,
    current_graph_task_id,
    current_node,
    execution_order,
    queue_callback,
    reachable,
    running_task,
    will_execute,
)
from pullback.tape.tensor_members import register_hook
from pullback.tensors.overwrites import lose
from pullback.tensors.tensor import Tensor, shared_counter

__all__ = [
    "GradientEdge",
    "InputMetadata",
    "Node",
    "RemovableHandle",
    "allow_mutation_on_saved_tensors",
    "current_graph_task_id",
    "current_node",
    "disable_saved_tensors_hooks",
    "execution_order",
    "get_gradient_edge",
    "increment_version",
    "queue_callback",
    "register_multi_grad_hook",
    "report_overwrites",
    "save_on_cpu",
    "saved_tensors_hooks",
    "will_execute",
]


# Version counters changed by hand, for code that writes memory behind Pullback's back.

def increment_version(tensors: Tensor | Iterable[Tensor]) -> None:
    """Say that the memory of these tensors was written. Inference tensors are not counted.

    >>> x = pb.tensor([1.0, 2.0])
    >>> x.numpy()[0] = 5.0
    >>> pb.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for tensor in _listed(tensors):
        lose(tensor)
        bump_version(tensor)


def _listed(tensors: Any) -> list[Tensor]:
    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    for tensor in found:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected Tensors, got {type(tensor).__name__}")
    return found


class _unsafe_preserve_version_counter:
    """Writes to these tensors inside the block are not counted: backward will not notice them."""

    def __init__(self, tensors: Tensor | Iterable[Tensor]) -> None:
        self._counters = [shared_counter(tensor) for tensor in _listed(tensors)]
        self._versions = [0 if counter is None else counter.value for counter in self._counters]

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        for counter, version in zip(self._counters, self._versions, strict=True):
            if counter is not None:
                counter.rewind(version)


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Give these tensors these versions: a larger one counts as a write to all of the memory."""
    pairs = list(zip(_listed(tensors), versions, strict=True))
    for _, version in pairs:
        if version < 0:
            raise AutogradError(
                "VERSION_NEGATIVE",
                f"a version cannot be set to {version}, which is below 0",
                why="versions count writes",
                fix="pass a version that was read from a tensor",
            )
    for tensor, version in pairs:
        counter = shared_counter(tensor)
        if counter is None:
            continue
        if version > counter.value:
            lose(tensor)
            counter.value = version - 1
            counter.bump()
        else:
            counter.rewind(version)


# Hooks on the gradients of several tensors at once.

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
    raise ValueError(f"register_multi_grad_hook: Expects mode to be one of ('all', 'any') but got {mode}")


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



