"""The tape in native code: backward passes, once so many nodes have been visited that it pays.

The engine's own loop (tape/engine.py) defines what a pass is. The native one (compiler/machine/passes.py) works on the
same entries in the same order, calls the same formulas, and leaves to Python whatever is unusual.
"""

from __future__ import annotations

from typing import Any

from pullback import compiler
from pullback.core.threads import sums
from pullback.eager import large
from pullback.tape import entries
from pullback.tape.accumulate import AccumulateGrad
from pullback.tape.engine import at_output, native, visit_leaves, visit_one
from pullback.tape.node import Node

NODES = 100_000
"""Visits of nodes after which native code is loaded: it takes 0.1 s, and saves a microsecond at each."""


class _Tape:
    """What `set_native_eager` tells, and what was made."""

    functions: Any = None

    def due(self) -> None:
        """So many nodes have been visited that native code may pay."""
        native.left = NODES
        if large.state.enabled and not large.state.failed and self.functions is None:
            self.load()

    def load(self) -> None:
        """Make it, and put it in place."""
        with large.lock:
            self.functions = self.functions or large.attempted(_pass_functions) or (None, None)
            self.reset()

    def reset(self) -> None:
        """Put in place what the switch wants."""
        found = self.functions if large.state.enabled else None
        native.prepare, native.loop = found or (None, None)


def _pass_functions() -> Any:
    return compiler.pass_functions(
        Node,
        {
            "sink": AccumulateGrad, "sole": entries.SOLE, "one": entries.ONE, "own": entries.OWN, "list": entries.LIST,
            "sums": sums, "add_new": entries.add_new, "at_output": at_output, "visit_leaves": visit_leaves,
            "visit_one": visit_one,
        },
    )  # fmt: skip


tape = _Tape()
native.left, native.due = NODES, tape.due
large.listen(tape)
