"""A memory budget between the fastest backward pass (1) and the one that keeps least (0).

The share of a choice is the memory that it saves beyond the inputs, compared with the memory that the fastest choice
saves beyond them. Three cuts are tried, each sparing more memory than the one before; if none is within the budget, a
knapsack chooses among the expensive nodes those that are worth most, and the others are recomputed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pullback.aot._partition.bans import MOST_SPARING, SPARING, find_bans
from pullback.aot._partition.joint import MUST_SAVE, JointAnalysis
from pullback.aot._partition.min_cut import min_cut
from pullback.errors import PartitionError
from pullback.graph.cost import flops
from pullback.graph.graph import Graph
from pullback.graph.ir import ArrayType, Node, Value, root_of

# Which things to keep in a box of limited size so that what is kept is worth most (0-1 knapsack).
#
# Three solvers: `dp` counts sizes in ten-thousandths of the whole, rounded up, so the box is never overfull and the
# answer is best up to that rounding; `exact` keeps every combination that is not beaten by a smaller and better one,
# which can take long for many things of many sizes; `greedy` takes what is worth most for its size.

GRAIN = 10_000


def keep_best(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float, solver: str = "dp") -> list[int]:
    """Positions of the things to keep, in order: the sum of their sizes is at most `share` of `whole`."""
    return sorted(_SOLVERS[solver](sizes, worths, whole, share))


def _room(whole: int, share: float) -> Fraction:
    """The size of the box. A share is meant as it is written: 0.3 of 10 has room for 3."""
    return Fraction(repr(float(share))) * whole


def _by_grains(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float) -> list[int]:
    room = int(_room(GRAIN, share))
    grains = [-(-size * GRAIN // whole) for size in sizes]
    best = np.zeros(room + 1)  # for every amount of room, the most that can be worth
    taken = np.zeros((len(sizes), room + 1), dtype=bool)
    for index, (size, worth) in enumerate(zip(grains, worths, strict=True)):
        if size <= room:
            with_it = best[: room + 1 - size] + worth
            taken[index, size:] = with_it > best[size:]
            best[size:] = np.maximum(with_it, best[size:])
    kept = []
    for index in reversed(range(len(sizes))):
        if taken[index, room]:
            kept.append(index)
            room -= grains[index]
    return kept


def _by_worth(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float) -> list[int]:
    room = _room(whole, share)
    kept = []
    for index in sorted(range(len(sizes)), key=lambda index: (-worths[index] / max(sizes[index], 1), index)):
        if worths[index] > 0 and sizes[index] <= room:
            kept.append(index)
            room -= sizes[index]
    return kept


def _exactly(sizes: Sequence[int], worths: Sequence[float], whole: int, share: float) -> list[int]:
    room = _room(whole, share)
    # (size, worth, what is kept), ever larger and ever worth more
    front: list[tuple[int, float, tuple[int, ...]]] = [(0, 0.0, ())]
    for index, (size, worth) in enumerate(zip(sizes, worths, strict=True)):
        grown = [(s + size, w + worth, (*kept, index)) for s, w, kept in front if s + size <= room]
        merged = sorted([*front, *grown], key=lambda state: (state[0], -state[1]))
        front = []
        for state in merged:
            if not front or state[1] > front[-1][1]:
                front.append(state)
    return list(front[-1][2])


_SOLVERS: dict[str, Callable[..., list[int]]] = {"dp": _by_grains, "greedy": _by_worth, "exact": _exactly}
SOLVERS = tuple(_SOLVERS)


def within_budget(
    joint: JointAnalysis, budget: float, static_inputs: frozenset[Value], cost: Callable[[Node], float], solver: str
) -> list[Value]:
    """The values to save, in the order of the graph."""
    if budget == 0:
        return _inputs_only(joint)
    fastest = min_cut(joint, static_inputs)
    least = distinct_bytes(joint, [value for value in joint.primals if value in joint.backward_values])
    most = distinct_bytes(joint, fastest)
    if budget == 1 or most <= least:
        return fastest
    for rules in (SPARING, MOST_SPARING):
        cut = min_cut(joint, static_inputs, rules)
        if distinct_bytes(joint, cut) - least < budget * (most - least):
            return cut
    candidates = _candidates(joint)
    if not candidates:
        return cut
    sizes = [_needed_bytes(joint, node) for node in candidates]
    kept = set(keep_best(sizes, [cost(node) for node in candidates], most - least, budget, solver))
    repeated = frozenset([node for index, node in enumerate(candidates) if index not in kept])
    return min_cut(joint, static_inputs, MOST_SPARING, repeated)


def distinct_bytes(joint: JointAnalysis, values: Iterable[Value]) -> int:
    """The memory that is held by these values, each piece counted once. Overwritten memory is held as copies."""
    held = dict.fromkeys([value if joint.is_overwritten(value) else root_of(value) for value in values])
    return sum([root.nbytes for root in held])


def _inputs_only(joint: JointAnalysis) -> list[Value]:
    """Inputs, and what cannot be computed twice. What backward does not read of them is dropped on extraction."""
    saved = list(joint.primals)
    saved += [value for node, tag in joint.tags.items() if tag == MUST_SAVE for value in node.results]
    return joint.in_order(saved)


def _candidates(joint: JointAnalysis) -> list[Node]:
    """Expensive nodes that backward needs and that may be recomputed all the same."""
    banned = find_bans(joint, MOST_SPARING)
    return [node for node in banned if node in joint.backward_nodes and joint.tags.get(node) != MUST_SAVE]


def _needed_bytes(joint: JointAnalysis, node: Node) -> int:
    return sum([value.nbytes for value in node.results if value in joint.backward_values])


# What recomputing a node costs, as a memory budget sees it: operations, measured time, or what the caller says.

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
