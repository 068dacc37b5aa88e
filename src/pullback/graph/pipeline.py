"""`run`: passes in their order. A pass is a function `Graph -> Graph` that leaves its argument alone.

`PULLBACK_LOG=compile` prints each pass with its time and the number of nodes before and after it. `PULLBACK_VERIFY=1`
has every graph verified that a pass returns, and sees to it that the pass has written to nothing of the graph that it
was given: what is wrong is an `InternalError` that names the pass. The test suite sets it. `compiler/pipeline.py` has
the passes of native code.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from operator import attrgetter, is_
from typing import Any, TypeVar

from pullback import graph as package
from pullback.core.reports import listener, report
from pullback.errors import InternalError
from pullback.graph import reroll as rolling
from pullback.graph.ir import Node, Program
from pullback.graph.passes.loops import fuse_loops, hoist_invariants, prune
from pullback.graph.passes.simplify import simplify
from pullback.graph.rewrite import cse, dce
from pullback.graph.text.printing import bodies_of

Kind = TypeVar("Kind", bound=Program)
Pass = Callable[[Any], Any]


def reroll(program: Kind) -> Kind:
    """The graph with loops in place of repetitions. What looks for them is loaded when a graph is long."""
    return rolling.reroll(program)


ROLL: tuple[Pass, ...] = (
    reroll,            # a loop in place of a thousand repetitions, before anything takes time for each node
)  # fmt: skip
JOINT: tuple[Pass, ...] = (
    prune,             # results of control flow that nobody reads
    hoist_invariants,  # what is the same in every step goes in front of the loop
    simplify,          # equal to the last bit, and cheaper
    cse,               # one node for what is computed twice
    fuse_loops,        # one scan for two that carry the same
    prune,             # what was only read by what is gone now
    dce,
)  # fmt: skip
"""Of the graph as it was traced: forward and backward in one, or the body of a loop."""


def run(passes: Iterable[Pass], program: Kind) -> Kind:
    """The graph behind all passes."""
    checker = Checker(program) if is_verifying() else None
    if checker is None and listener("compile") is None:
        for each in passes:
            program = each(program)
        return program
    for each in passes:
        began = time.perf_counter()
        made = each(program) if checker is None else checker.run(each)
        took = 1e3 * (time.perf_counter() - began)
        nodes = f"{len(program.nodes)} to {len(made.nodes)} nodes"
        report(f"pass {name_of(each)} of {program.name}, {nodes}, in {took:.1f} ms")
        program = made
    return program


def is_verifying() -> bool:
    """Does the environment ask for graphs to be verified behind each pass?"""
    return os.environ.get("PULLBACK_VERIFY", "0") not in ("", "0")


def is_told(error: Exception) -> bool:
    """Is an error one of ours, and somebody looks for these? Then it is raised where otherwise eager code would run."""
    return isinstance(error, InternalError) and is_verifying()


def check(made_by: str, *programs: Program, known: frozenset[Node] = frozenset()) -> None:
    """Raise if graphs are to be verified, and one is not what graphs promise to be; the error names who made it."""
    if is_verifying():
        for program in programs:
            try:
                package.verify.verify(program, is_to_be_split=True, known=known)
            except InternalError as error:
                raise InternalError(f"{made_by}: {error.what}") from error


def name_of(each: Pass) -> str:
    """The name of a pass, also of one that was given some of its arguments already."""
    return getattr(each, "func", each).__name__


class Checker:
    """Runs passes one after the other, and looks at what each does. Most return most of what they were given, so what
    was seen of that is kept: the parts of the graph, and which nodes are right."""

    def __init__(self, program: Program) -> None:
        check("what is given to the passes", program)
        self.program = program
        self.contents = _contents(program)

    def run(self, each: Pass) -> Any:
        """The graph behind this pass."""
        made = each(self.program)
        after = _contents(self.program)
        if len(self.contents) != len(after) or not all(map(is_, self.contents, after)):
            raise InternalError(f"pass {name_of(each)} writes to the graph that it is given")
        if made is not self.program:
            check(f"pass {name_of(each)}", made, known=frozenset(self.program.nodes))
            self.program, self.contents = made, _contents(made)
        return made


_fields_of = attrgetter(*Node.__slots__)


def _contents(program: Program) -> list[Any]:
    """All objects that a graph consists of, in their order."""
    found = [*program.inputs, *program.input_descs, *program.outputs, *program.output_descs]
    for node in program.nodes:
        found.append(node)
        found += _fields_of(node)
        found += [value.type for value in node.results]
        found += node.attrs.values()
        if node.target is None:
            for body in bodies_of(node).values():
                found += _contents(body)
    return found
