"""`reroll`: a loop in place of what a Python loop left in a graph, a thousand repetitions of the same nodes.

    for k in range(1000):                          scan: carried h, scanned x, constant w
        h = pb.tanh(h * w + x[k])       ->             h' = tanh(h * w + x)

The graph of a trace is straight: it has every operator of every step. Everything behind it takes time for each node, so
the repetitions are found first, and made a `scan`. The backward half repeats itself too, in reverse, and reads what the
forward half computed in each step: the forward loop collects that, and the backward loop scans it.

| module         | what it does                                             |
|----------------|----------------------------------------------------------|
| `rows`         | rows of arrays that are written row by row               |
| `table`        | the graph as columns of integers                         |
| `periods`      | stretches of labels that repeat themselves               |
| `regions`      | repetitions whose operands move regularly                |
| `feeds`        | sequences that were there before, as slices of one array |
| `accumulators` | arrays of which every repetition writes another part     |
| `loops`        | what becomes of each node                                |
| `stacks`       | results of all repetitions that are stacked              |
| `body`         | the graph of one repetition                              |
| `gathering`    | arrays that were written in parts, behind the loop       |
| `writing`      | the graph around the loops                               |
| `rolling`      | the pass: all of these in order                          |

What is computed is the same to the bit. Repetitions at either end that are different stay as they are. The modules are
loaded when there is a long graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred
from pullback.graph.ir import Program
from pullback.graph.text.printing import bodies_of

if TYPE_CHECKING:
    from pullback.graph.reroll.rolling import reroll

__all__ = ["FEWEST_NODES", "FEWEST_REPEATS", "is_long", "reroll"]

FEWEST_REPEATS = 8
FEWEST_NODES = 200
"""Shorter programs are left alone: they compile fast, and straight code runs as fast. This counts all loops together,
and one of them must have so many repetitions: the backward half can be a loop only if the forward half is one, and some
of its repetitions are different."""


def is_long(program: Program) -> bool:
    """Has the graph, or one inside of it, so many nodes that it may be worth looking for loops?"""
    if len(program.nodes) >= FEWEST_NODES:
        return True
    control = (node for node in program.nodes if node.target is None)
    return any(is_long(body) for node in control for body in bodies_of(node).values())


__getattr__, __dir__ = _deferred(globals(), {"reroll": "pullback.graph.reroll.rolling"})
