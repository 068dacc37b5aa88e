"""One backward pass in progress: what it keeps, what it wants, and what user code may ask about it."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from pullback.core.state import current, open_levels, running_pass
from pullback.errors import AutogradError
from pullback.tape.accumulate import Delivery
from pullback.tape.node import Node

_next_id: Callable[[], int] = itertools.count().__next__


class GraphTask:
    """The state of one pass. Passes may run at the same time and inside one another; each has its own."""

    __slots__ = (
        "as_tensors",
        "callbacks",
        "captured",
        "create_graph",
        "current_node",
        "delivery",
        "depth",
        "execute",
        "floor",
        "id",
        "keep_graph",
        "roots",
        "scratch",
        "targets",
        "visit",
        "vmaps",
    )

    def __init__(self, roots: list[tuple[Node, int]], keep_graph: bool, create_graph: bool) -> None:
        self.id = _next_id()
        self.roots = roots
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        # Gradients are Tensors if somebody differentiates the pass: backwards by recording it, or forwards.
        self.as_tensors = create_graph or bool(open_levels)
        self.vmaps = current().vmaps  # the batch dimensions that this pass itself is part of
        self.current_node: Node | None = None
        self.callbacks: list[Callable[[], Any]] = []
        self.delivery = Delivery()
        # Nodes whose formula runs and nodes that are visited at all; None means all that are reachable.
        self.execute: set[Node] | None = None
        self.visit: set[Node] | None = None
        self.targets: dict[Node, list[tuple[int, int]]] = {}  # node -> (output_nr, index of the result)
        self.captured: list[Any] = []
        self.floor = 0  # no node made before this can lead to a target
        self.scratch: dict[Any, Any] = {}  # per-pass state of multi-grad hooks and checkpoints
        parent = current_task()
        self.depth: int = 0 if parent is None else parent.depth + 1

    def runs(self, node: Node) -> bool:
        """Will the formula of this node run in this pass?"""
        return self.execute is None or node in self.execute

    def visits(self, node: Node | None) -> bool:
        """Does this pass compute the gradient that arrives at this node?"""
        return node is not None and (self.visit is None or node in self.visit)


task_variable: ContextVar[GraphTask | None] = running_pass
current_task: Callable[[], GraphTask | None] = task_variable.get


def current_graph_task_id() -> int:
    """The number of the backward pass that is running here, -1 outside of one."""
    task = current_task()
    return -1 if task is None else task.id


def current_node() -> Node | None:
    """The node that the running backward pass is visiting, None outside of one."""
    task = current_task()
    return None if task is None else task.current_node


def running_task(what: str, code: str = "CALLBACK_OUTSIDE") -> GraphTask:
    """The pass in progress; an error that names `what` if there is none."""
    task = current_task()
    if task is None:
        raise AutogradError(
            code,
            f"{what} was called outside of a backward pass",
            why="it speaks about the backward pass that is running",
            fix="call it from a hook or from a custom backward",
        )
    return task


def reachable(roots: list[tuple[Node, int]]) -> set[Node]:
    """Every node that a pass over `roots` could come to."""
    found = {node for node, _ in roots}
    pending = list(found)
    while pending:
        for node in pending.pop().next:
            if node is not None and node not in found:
                found.add(node)
                pending.append(node)
    return found


def will_execute(node: Node) -> bool:
    """Does the running pass compute the gradient that arrives at this node?"""
    task = running_task("will_execute")
    if task.visit is not None:
        return node in task.visit
    return node in reachable(task.roots)


def execution_order() -> list[Node]:
    """The nodes that the running pass visits, in the order of their visits."""
    task = running_task("execution_order")
    waiting: dict[Node, int] = {}
    pending = [node for node, _ in task.roots if task.visits(node)]
    for node in pending:
        waiting[node] = waiting.get(node, 0) + 1
    pending = list(waiting)
    while pending:
        node = pending.pop()
        for successor in node.next if task.runs(node) else ():
            if successor is not None and task.visits(successor):
                if successor not in waiting:
                    pending.append(successor)
                waiting[successor] = waiting.get(successor, 0) + 1
    order: list[Node] = []
    ready: list[tuple[int, int, Node]] = []

    def arrive(nodes: Iterable[Node | None]) -> None:
        for node in nodes:
            if node is not None and node in waiting:
                waiting[node] -= 1
                if waiting[node] == 0:
                    heapq.heappush(ready, (-node._sequence_nr(), _next_id(), node))

    arrive(node for node, _ in task.roots)
    while ready:
        node = heapq.heappop(ready)[2]
        order.append(node)
        if task.runs(node):
            arrive(node.next)
    return order


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call `callback()` when the running pass has finished its nodes, before the call that started it returns."""
    running_task("queue_callback").callbacks.append(callback)
