"""Passes over the nodes of a trace that are made to find something out, and are no part of the backward graph.

Which root does an error come from? Does a gradient arrive at a tensor that retains it? Such a pass leaves nodes behind,
which nobody uses and which vanish. But where its formulas have effects or write, what it leaves would happen again.
Then the trace begins anew, with what has been found out so far.
"""

from __future__ import annotations

from pullback.aot._trace import Trace
from pullback.core.records import Record, field
from pullback.errors import TraceError

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
