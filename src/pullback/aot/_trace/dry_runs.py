"""Passes over the nodes of a trace that are made to find something out, and are no part of the backward graph.

Which root does an error come from? Does a gradient arrive at a tensor that retains it? Such a pass leaves nodes behind,
which nobody uses and which vanish. But where its formulas have effects or write, what it leaves would happen again.
Then the trace begins anew, with what has been found out so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.aot._trace.trace import Trace
from pullback.core.records import Record, field
from pullback.errors import AOTError, TraceError
from pullback.graph.ir import BACKWARD
from pullback.graph.ir import Node as GraphNode
from pullback.tape.node import Node

Mark = tuple[int, int]


class BeginAgain(BaseException):
    """A pass has left something behind: the trace begins again. Not an Exception, so that nobody catches it."""


class Trials(Record):
    """What passes have found out about the roots of a trace, which are the same in every trace of the function."""

    errors: dict[int, BaseException] = field(default_factory=dict)  # by root, when it is differentiated alone
    untried: list[int] = field(default_factory=list)  # roots to be differentiated alone
    together: tuple[int, ...] = ()  # roots that raise when they are differentiated together
    checked: set[int] = field(default_factory=set)  # tensors that retain their gradient, by number

    def left(self, count: int) -> list[int]:
        """Of so many roots those that are not known to raise."""
        return [root for root in range(count) if root not in self.errors]

    def note_failure(self, roots: list[int], error: Exception) -> None:
        """All these together have raised. Which of them is it? Each is to be tried alone."""
        if len(roots) == 1:
            self.errors[roots[0]] = error.with_traceback(None)
        elif self.together == tuple(roots):
            raise TraceError(
                f"a backward pass raises for the gradients of several results together, and for none alone: {error}",
                why="a formula raises where several gradients arrive, and a graph is made for all of them",
                fix="call that part of the function outside of what is compiled",
            ) from error
        else:
            self.together, self.untried = tuple(roots), list(roots)


def mark(trace: Trace) -> Mark:
    """Where a trace is, before a pass."""
    return len(trace.graph.nodes), len(trace.written)


def check_left_nothing(trace: Trace, before: Mark) -> None:
    """Begin again if what was recorded since then has effects, or writes to what was there."""
    nodes, written = trace.graph.nodes, trace.written[before[1] :]
    if any(node.effect is not None for node in nodes[before[0] :]):
        raise BeginAgain
    if written:
        old = set(map(id, nodes[: before[0]]))
        if any(storage.start.node is None or id(storage.start.node) in old for storage, _ in written):
            raise BeginAgain


# Which gradients lead to the effects of a backward pass.
#
# A formula runs if a gradient arrives at its node, and so its draws, writes and other effects happen. The graph of a
# backward pass has the formulas of all nodes. Where gradients arrive at some of the results only, what depends on the
# others is left out of it; for effects, which need not depend on any gradient, the tape says what leads to them.

Sources = dict[int, tuple[int, ...]]
"""By `seq` of nodes of a graph: for each formula that a node comes from, the tangents that lead there, as bits."""


def reached_by(edges: Sequence[tuple[Node | None, int]]) -> dict[Node, int]:
    """For each node of the tape that one of these edges leads to: which of them do, as bits."""
    reached: dict[Node, int] = {}
    for number, (root, _) in enumerate(edges):
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node is not None and not reached.get(node, 0) >> number & 1:
                reached[node] = reached.get(node, 0) | 1 << number
                waiting += [each for each, _ in node.edges()]
    return reached


def effect_sources(trace: Trace, reached: dict[Node, int], before: Mark) -> Sources:
    """What leads to the effects that were recorded since then."""
    found = {node.seq: bits for node, bits in reached.items()}
    effects = [node for node in trace.graph.nodes[before[0] :] if node.effect is not None]
    return {node.seq: (found[node.seq],) for node in effects if node.seq in found}


def write_sources(trace: Trace, storage: Any, reached: dict[Node, int], before: Mark) -> tuple[int, ...]:
    """What leads to the writes to a storage since then."""
    found = {node.seq: bits for node, bits in reached.items()}
    writers = {seq for written, seq in trace.written[before[1] :] if written is storage}
    return tuple(sorted({found.get(seq, -1) for seq in writers}))


def happens(node: GraphNode, sources: Sources, arrived: int) -> bool:
    """Does a node have its effect if gradients arrive at these tangents?"""
    if node.tag != BACKWARD or node.seq not in sources or not (node.effect is not None or node.op == "store"):
        return True
    is_live = [bool(bits & arrived) for bits in sources[node.seq]]
    if any(is_live) and not all(is_live):
        raise AOTError(
            "a backward pass writes to an input in several formulas, and gradients arrive at some of them only",
            why="the graph of the backward pass has what all of them together write",
            fix="differentiate the results together, or let one formula do the writing",
        )
    return any(is_live)
