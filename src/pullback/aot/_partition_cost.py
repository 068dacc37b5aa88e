"""What recomputing a node costs, as a memory budget sees it: operations, measured time, or what the caller says."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.errors import PartitionError
from pullback.graph.cost import flops
from pullback.graph.graph import Graph
from pullback.graph.ir import Node, Value
from pullback.graph.types import ArrayType

Cost = Callable[[Node], float]

_RUNS = 3


def resolve_cost(cost: str | Cost) -> Cost:
    """The function from a node to its cost."""
    if callable(cost):
        return cost
    if cost not in _KNOWN:
        raise PartitionError(f"cost={cost!r} is not known", fix='use "flops", "time", or a function of a node')
    return _KNOWN[cost]


def measured_seconds(node: Node) -> float:
    """The time that a node takes on operands of its types: the shortest of a few runs. It differs from run to run."""
    graph = Graph("measured")
    taken: dict[Value, Value] = {}
    for value in node.inputs:
        if value not in taken:
            taken[value] = graph.add_input(value.type, None)
    operands = [taken[x] if type(x) is Value else x for x in node.operands]
    made = graph.add(node.target or node.op, operands, node.attrs, [value.type for value in node.results])
    for value in made.results:
        graph.add_output(value, None)
    arrays = [_example(value.type) for value in graph.inputs]
    return min([_seconds(graph, arrays) for _ in range(_RUNS)])


def _seconds(graph: Graph, arrays: list[Any]) -> float:
    start = time.perf_counter()
    graph.eval(*arrays)
    return time.perf_counter() - start


def _example(type: ArrayType) -> np.ndarray[Any, Any]:
    """An array that no operator refuses: integers are 0, which is an index of everything; matrices can be inverted."""
    if type.dtype.kind in "biu":
        return np.zeros(type.shape, type.dtype)
    array = np.full(type.shape, 0.5, type.dtype)
    if type.ndim > 1:
        array += np.eye(*type.shape[-2:], dtype=type.dtype)
    return array


_KNOWN: dict[str, Cost] = {"flops": flops, "time": measured_seconds}
