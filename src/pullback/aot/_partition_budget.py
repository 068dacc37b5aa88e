"""A memory budget between the fastest backward pass (1) and the one that keeps least (0).

The share of a choice is the memory that it saves beyond the inputs, compared with the memory that the fastest choice
saves beyond them. Three cuts are tried, each sparing more memory than the one before; if none is within the budget, a
knapsack chooses among the expensive nodes those that are worth most, and the others are recomputed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pullback.aot._partition_bans import MOST_SPARING, SPARING, find_bans
from pullback.aot._partition_joint import JointAnalysis
from pullback.aot._partition_knapsack import keep_best
from pullback.aot._partition_min_cut import min_cut
from pullback.aot._partition_tags import MUST_SAVE
from pullback.graph.aliasing import root_of
from pullback.graph.ir import Node, Value


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
    """Inputs, and what can not be computed twice. What backward does not read of them is dropped on extraction."""
    saved = list(joint.primals)
    saved += [value for node, tag in joint.tags.items() if tag == MUST_SAVE for value in node.results]
    return joint.in_order(saved)


def _candidates(joint: JointAnalysis) -> list[Node]:
    """Expensive nodes that backward needs and that may be recomputed all the same."""
    banned = find_bans(joint, MOST_SPARING)
    return [node for node in banned if node in joint.backward_nodes and joint.tags.get(node) != MUST_SAVE]


def _needed_bytes(joint: JointAnalysis, node: Node) -> int:
    return sum([value.nbytes for value in node.results if value in joint.backward_values])
