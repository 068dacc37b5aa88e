"""`reroll`: the pass, from a graph to a graph."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from pullback.graph.ir import Program, array_type, find_operator, stored_inputs
from pullback.graph.reroll import FEWEST_NODES, FEWEST_REPEATS
from pullback.graph.reroll.loop import Loops
from pullback.graph.reroll.regions import Run, find_runs, make_region
from pullback.graph.reroll.rows import forward_rows
from pullback.graph.reroll.stacks import pieces_of
from pullback.graph.reroll.table import Stretch, Table, find_stretches
from pullback.graph.reroll.write import Writing
from pullback.graph.rewrite import Replacements, dce, outline, with_bodies, with_operands
from pullback.graph.text.printing import bodies_of

Kind = TypeVar("Kind", bound=Program)

_MULTIPLES = (1, 2, 3, 4)


def reroll(program: Kind, repeats: int = FEWEST_REPEATS, nodes: int = FEWEST_NODES) -> Kind:
    """The graph with loops; the graph itself if there are none. Loops in loops are found from the outside in."""
    program = _in_loops(program, repeats, nodes)
    if len(program.nodes) < nodes:
        return program
    table = Table(dce(forward_rows(_with_copies(program), repeats)))
    fewest = max(repeats // 2, 3)
    loops = Loops(table, fewest)
    for run in _runs(table, fewest, nodes // 4):
        region = make_region(table, run, lambda first, stop: (loops.number[first:stop] < 0).all())
        loop = None if region is None else loops.plan(region)
        if loop is not None:
            loops.keep(loop)
    sizes = [(loop.region.count, loop.region.count * loop.region.period) for loop in loops.loops]
    if sum([size for _, size in sizes]) < nodes or max([count for count, _ in sizes]) < repeats:
        return program
    # path: rerolled loop
    _find_needs(loops)
    return Writing(table.program, loops, lambda body: reroll(body, repeats, nodes)).run()


def _with_copies(program: Kind) -> Kind:
    """The graph in which inputs that are overwritten are read from a copy: slices that were taken before the write may
    be taken again behind it, where a loop needs them."""
    targets = stored_inputs(program)
    if not targets:
        return program
    targets &= {value for node in program.nodes if node.op != "store" for value in node.inputs}
    read = [value for value in program.inputs if value in targets and value.type.strides is None]
    if not read:
        return program
    made, copies = outline(program), Replacements()
    for value in read:
        dense = array_type(value.type.shape, value.type.dtype)
        copies.found[value] = made.add(find_operator("copy"), (value,), {"order": "C"}, (dense,)).result
    for node in program.nodes:
        copy = copies.node(node)
        if node.op == "store":
            copy = with_operands(copy, (node.operands[0], *copy.operands[1:]))
        made.nodes.append(copy)
    for value in read:
        del copies.found[value]
    return copies.finish(made, program)


def _in_loops(program: Kind, repeats: int, nodes: int) -> Kind:
    """The graph with loops inside of the control flow that it has."""
    if not any(node.target is None and bodies_of(node) for node in program.nodes):
        return program
    made, replaced = outline(program), Replacements()
    for node in program.nodes:
        moved = replaced.node(node)
        changed = with_bodies(moved, lambda body: reroll(body, repeats, nodes))
        replaced.found.update(zip(node.results, changed.results, strict=True))
        made.nodes.append(changed)
    return replaced.finish(made, program)


def _runs(table: Table, repeats: int, nodes: int) -> list[Run]:
    """Runs that do not overlap, in the order of the graph; longer ones are chosen first."""
    taken = np.zeros(len(table.nodes) + 1, bool)
    chosen: list[Run] = []
    for stretch in find_stretches(table.labels, repeats, nodes):
        for part in _free(stretch, taken):
            for multiple in _MULTIPLES:
                longer = part._replace(period=part.period * multiple)
                found = [run for run in find_runs(table, longer, repeats) if _size(run) >= nodes]
                if found:
                    for run in found:
                        # The repetition before them may be the first, which begins with other values.
                        first = max(run.first - 1, 0)
                        taken[run.start + first * run.period : run.start + run.stop * run.period] = True
                    chosen += found
                    break
    return sorted(chosen, key=lambda run: run.start + run.first * run.period)


def _size(run: Run) -> int:
    return (run.stop - run.first) * run.period


def _free(stretch: Stretch, taken: Any) -> list[Stretch]:
    """The parts of a stretch that no other has taken."""
    flags = np.concatenate(([True], taken[stretch.start : stretch.stop], [True])).astype(np.int8)
    edges = np.flatnonzero(np.diff(flags))
    return [
        Stretch(stretch.start + first, stretch.start + stop, stretch.period)
        for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    ]


def _find_needs(loops: Loops) -> None:
    """Let the loops know which of their results the rest of the graph reads."""
    table = loops.table
    for position in np.flatnonzero(loops.number < 0).tolist():
        pieces = pieces_of(loops, table.nodes[position])
        for piece in pieces:
            if piece.own is not None and piece.region is not None:
                loops.by_region[piece.region].collected.setdefault(piece.own)
            else:
                for value in piece.values:
                    loops.need(value)
        if not pieces:
            for value in table.operands_of(position):
                loops.need(value)
    for output in table.program.outputs:
        if output is not None:
            loops.need(table.number[output])
