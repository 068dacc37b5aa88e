"""`segmented`: a graph in which everything that native code can do is gathered into as few nodes as possible.

A `native` node stands for a segment: many nodes that become one native function. Between segments are the operators
that only NumPy has; the graph is cut into levels, each of which is a segment followed by such operators. Views remain
where somebody outside of native code looks at them; inside, they are only ways to count through memory.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TypeVar

from pullback.compiler.access import Accesses
from pullback.compiler.fusion import Item, elements_of
from pullback.compiler.llvm.bodies import Segment, native_items
from pullback.graph.ir import Node, Program, Value
from pullback.graph.rewrite import Replacements, outline

Kind = TypeVar("Kind", bound=Program)


def segmented(program: Kind) -> Kind:
    """The graph with `native` nodes."""
    accesses, items = native_items(program)
    levels = _levels(program, accesses, items)
    segments = _segments(program, accesses, items, levels)
    if not segments:
        return program
    made, replaced = outline(program), Replacements()
    others: dict[int, list[Node]] = defaultdict(list)
    for node in program.nodes:
        if items[node] is None:
            others[levels[node]].append(node)
    for level in sorted({*others, *segments}):
        if level in segments:
            _add_native(made, replaced, segments[level])
        for node in others[level]:
            made.nodes.append(replaced.node(node))
    return replaced.finish(made, program)


def _add_native(made: Program, replaced: Replacements, segment: Segment) -> None:
    operands = [replaced.found.get(value, value) for value in segment.inputs]
    types = [value.type for value in segment.results]
    node = made.add("native", operands, {"segment": segment}, types)
    replaced.found.update(zip(segment.results, node.results, strict=True))


def _levels(program: Program, accesses: Accesses, items: dict[Node, Item | None]) -> dict[Node, int]:
    """When each node runs: native ones of a level before the others of the same level."""
    levels: dict[Node, int] = {}
    last_effect = 0
    for node in program.nodes:
        is_native, level = items[node] is not None, 0
        for x in node.inputs:
            maker = accesses.root_of(x).node
            if maker is not None and maker in levels and maker.op != "constant":
                level = max(level, levels[maker] + (is_native and items[maker] is None))
        if node.effect is not None or node.op == "store":
            level = last_effect = max(level, last_effect)
        levels[node] = level
    return levels


def _segments(
    program: Program, accesses: Accesses, items: dict[Node, Item | None], levels: dict[Node, int]
) -> dict[int, Segment]:
    found: dict[int, Segment] = {}
    outside: set[Value] = {accesses.root_of(value) for value in program.outputs if value is not None}
    for node in program.nodes:
        item = items[node]
        if item is not None:
            found.setdefault(levels[node], Segment()).items.extend([*item.before, item])
        elif not accesses.is_view(node):
            outside.update(accesses.root_of(x) for x in node.inputs)
    for segment in found.values():
        _find_inputs(segment, outside)
    for segment in found.values():
        segment.results = [value for item in segment.items for value in item.results if value in outside]
    return found


def _find_inputs(segment: Segment, outside: set[Value]) -> None:
    own = {value for item in segment.items for value in item.results}
    roots = (leaf.root for item in segment.items for read in item.reads for leaf in elements_of(read))
    for root in dict.fromkeys(roots):
        if root in own:
            continue
        is_constant = root.node is not None and root.node.op == "constant"
        (segment.constants if is_constant else segment.inputs).append(root)
        outside.add(root)
