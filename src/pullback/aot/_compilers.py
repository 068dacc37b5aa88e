"""`Compilers`: the functions that compile the graphs of a captured function, and how its joint graph is split."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pullback.aot import _later
from pullback.graph.graph import Graph

if TYPE_CHECKING:
    from pullback.aot._partition import Partition

# Compiles a graph: called with the graph and the types of its inputs, returns a function of one list that it owns.
Compiler = Callable[[Graph, list[Any]], Callable[[list[Any]], Sequence[Any]]]


class Compilers:
    """The functions that compile graphs, and how a joint graph is split for them."""

    def __init__(
        self, forward: Compiler, backward: Compiler | None = None, inference: Compiler | None = None,
        partitioner: Any = "auto", memory_budget: float = 1.0,
    ) -> None:  # fmt: skip
        self.forward = forward
        self.backward = backward or forward
        self.inference = inference or forward
        self.partitioner = partitioner
        self.memory_budget = memory_budget
        # What backends say of themselves: the backward graph takes gradients as they come; they fuse.
        self.takes_any_layout = getattr(self.backward, "layout", "exact") == "any"
        self.recompute_is_free = bool(getattr(forward, "recompute_is_free", False))
        # Loops keep less for their gradients where that is computed again in no time; None if backends do not fuse.
        self.narrow_loops: Callable[[Graph], Graph] | None = getattr(forward, "narrow_loops", None)
        # Which operators of a graph they leave to NumPy, and why; None if there is nothing to tell.
        self.left_to_numpy: Callable[[Graph], list[tuple[str, str]]] | None = getattr(forward, "left_to_numpy", None)

    def looking(self) -> Compilers:
        """The same without compiling anything, for those who only want to know."""
        made = Compilers(lambda graph, types: graph.eval_boxed, None, None, self.partitioner, self.memory_budget)
        made.recompute_is_free, made.left_to_numpy = self.recompute_is_free, self.left_to_numpy
        made.narrow_loops = self.narrow_loops
        return made

    def split(self, graph: Graph, count: int, static: tuple[int, ...]) -> Partition:
        """The two halves of a joint graph."""
        if callable(self.partitioner):
            return self.partitioner(graph, count)
        if self.narrow_loops is not None:
            graph = self.narrow_loops(graph)
        settings = {
            "method": self.partitioner, "memory_budget": self.memory_budget, "static_inputs": static,
            "recompute_is_free": self.recompute_is_free,
        }  # fmt: skip
        split: Partition = _later.stored_partition(
            graph, {"count": count, **settings}, lambda: _later.partition(graph, count, **settings)
        )
        return split


def flat(compiled: Any) -> Callable[..., Sequence[Any]]:
    """A compiled graph as a function of its inputs one by one."""
    direct = getattr(compiled, "flat", None)
    if direct is not None:
        return direct
    return lambda *arrays: compiled(list(arrays))
