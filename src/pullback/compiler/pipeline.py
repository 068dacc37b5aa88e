"""Every pass from the captured graph to native code, in order. `graph/pipeline.py` runs, reports and verifies them.

    ROLL, JOINT   forward and backward in one graph (`aot/_entry.py`)
    the cut       `recompute` lets loops keep less for their gradients, and `aot/_partition` splits the graph in two
    NATIVE        each half, and the graph of a function that is not differentiated
    BODY          bodies of loops and branches in native code, while `cut_segments` looks for what can be native
    PLAN          what becomes of a segment (`plan/plan.py`)
"""

from __future__ import annotations

from pullback.compiler.items.factors import share_factors
from pullback.compiler.items.flow import BODY, align_inputs, cut_segments
from pullback.compiler.passes.assemble import frames_in_sums, sums_to_writes
from pullback.compiler.passes.complex import split_complex
from pullback.compiler.passes.expand import expand
from pullback.compiler.passes.fold import fold_scalars
from pullback.compiler.passes.layout import undo_transposes
from pullback.compiler.passes.recompute import recompute
from pullback.compiler.passes.split_sums import split_sums
from pullback.compiler.plan.plan import PLAN
from pullback.graph.ir import Program
from pullback.graph.passes.loops import hoist_invariants
from pullback.graph.pipeline import JOINT, ROLL, Pass, run
from pullback.graph.rewrite import dce

__all__ = ["BODY", "JOINT", "NATIVE", "PLAN", "ROLL", "prepared"]

NATIVE: tuple[Pass, ...] = (
    fold_scalars,      # numbers computed from constants
    split_complex,     # complex arrays as two real ones, so that all passes below fuse them too
    hoist_invariants,  # again: parts of complex constants are the same in every step
    split_sums,        # a loop that adds to parts of a sum carries one sum for each
    recompute,         # what a half keeps for a second loop of its own
    frames_in_sums,    # gradients of writes to the inside of an array, which read what is around it
    sums_to_writes,    # a sum of slices put into different places is written there
    share_factors,     # one elimination for all systems with the same matrix
    dce,               # before operators are written out as many others
    expand,            # operators as others that native code has
    undo_transposes,   # elementwise work is done as the arrays lie
    cut_segments,      # what native code can do, in as few `native` nodes as possible
    align_inputs,      # a segment that is all there is takes the inputs as they are
)  # fmt: skip


def prepared(program: Program) -> Program:
    """The graph after all passes, in which native functions are nodes."""
    return run(NATIVE, program)
