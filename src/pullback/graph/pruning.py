"""`prune`: control flow without the results that nobody reads, and without what only those needed.

A scan that keeps values of every step for a gradient nobody asks for stops keeping them; what the body computed for
them goes, and so do carried values and operands that nothing depends on any more. Two loops that differed in such
results only are then the same, and `cse` merges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pullback.graph.aliasing import returned_roots
from pullback.graph.ir import Node, Program, Value
from pullback.graph.printing import bodies_of
from pullback.graph.rewrite import Replacements, dce, keep_remarks, keeps_its_place, outline

Kind = TypeVar("Kind", bound=Program)
Flags = list[bool]


def prune(program: Kind) -> Kind:
    """The graph with narrower control flow; the graph itself if it has none."""
    if not any(node.target is None and bodies_of(node) for node in program.nodes):
        return program
    program = _without_twins(program)
    needs = _needs(program)
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original in needs:
            results, operands = needs[original]
            narrow = _narrowed(node, results, operands)
            kept = [value for value, needed in zip(original.results, results, strict=True) if needed]
            replaced.found.update(zip(kept, narrow.results, strict=True))
            node = narrow
        made.nodes.append(node)
    return replaced.finish(made, program)


def _without_twins(program: Kind) -> Kind:
    """Let everybody read one of the results that a scan collects twice. Outputs stay arrays of their own."""
    made, replaced = outline(program), Replacements()
    returned = returned_roots(program)
    for original in program.nodes:
        node = replaced.node(original)
        made.nodes.append(node)
        if node.op != "scan" or node.target is not None:
            continue
        first: dict[Any, Value] = {}
        carried = node.attrs["carried"]
        columns = (original.results, node.results, node.attrs["body"].outputs)
        for old, new, inner in zip(*(column[carried:] for column in columns), strict=True):
            if old not in returned and first.setdefault(inner, new) is not new:
                replaced.found[old] = first[inner]
    return replaced.finish(made, program)


def _needs(program: Program) -> dict[Node, tuple[Flags, Flags]]:
    """For control flow that something depends on: which results are needed, and which operands for these."""
    live: set[Any] = set(program.outputs)
    found: dict[Node, tuple[Flags, Flags]] = {}
    for node in reversed(program.nodes):
        results = [value in live for value in node.results]
        if not (any(results) or node.op == "store" or keeps_its_place(node)):
            continue
        bodies = bodies_of(node)
        if not bodies or keeps_its_place(node):
            live.update(node.operands)
            continue
        results, operands = _RULES[node.op](node, results)
        found[node] = results, operands
        live.update([x for x, needed in zip(node.operands, operands, strict=True) if needed])
    return found


def _reads(body: Program, outputs: Iterable[int]) -> Flags:
    """Which inputs do these outputs of a body depend on?"""
    live: set[Any] = {body.outputs[k] for k in outputs}
    for node in reversed(body.nodes):
        if not live.isdisjoint(node.results) or keeps_its_place(node):
            live.update(node.operands)
    return [value in live for value in body.inputs]


def _places(flags: Sequence[bool]) -> list[int]:
    return [k for k, flag in enumerate(flags) if flag]


def _cond(node: Node, results: Flags) -> tuple[Flags, Flags]:
    wanted = _places(results)
    true, false = (_reads(node.attrs[name], wanted) for name in ("true", "false"))
    return results, [True, *(a or b for a, b in zip(true, false, strict=True))]


def _while_loop(node: Node, results: Flags) -> tuple[Flags, Flags]:
    carried = node.attrs["carried"]
    decides = _reads(node.attrs["condition"], [0])
    carry = [a or b for a, b in zip(results, decides[:carried], strict=True)]
    while True:
        inputs = [a or b for a, b in zip(_reads(node.attrs["body"], _places(carry)), decides, strict=True)]
        grown = [a or b for a, b in zip(carry, inputs[:carried], strict=True)]
        if grown == carry:
            return carry, [*carry, *inputs[carried:]]
        carry = grown


def _scan(node: Node, results: Flags) -> tuple[Flags, Flags]:
    carried = node.attrs["carried"]
    results = list(results)
    while True:
        inputs = _reads(node.attrs["body"], _places(results))
        grown = [a or b for a, b in zip(results[:carried], inputs[:carried], strict=True)]
        if grown == results[:carried]:
            return results, [*grown, *inputs[carried:]]
        results[:carried] = grown


_RULES = {"cond": _cond, "while_loop": _while_loop, "scan": _scan}


def _narrowed(node: Node, results: Flags, operands: Flags) -> Node:
    inputs = operands[1:] if node.op == "cond" else operands
    bodies = {
        name: _body(body, inputs, [True] if name == "condition" else results) for name, body in bodies_of(node).items()
    }
    if all(results) and all(operands) and all(node.attrs[name] is body for name, body in bodies.items()):
        return node
    attrs = {**node.attrs, **bodies}
    if "carried" in attrs:
        attrs["carried"] = sum(operands[: node.attrs["carried"]])
    if "scanned" in attrs:
        first = node.attrs["carried"]
        attrs["scanned"] = sum(operands[first : first + node.attrs["scanned"]])
    made = Node(None, node.op, tuple([x for x, k in zip(node.operands, operands, strict=True) if k]), attrs, node.tag)
    keep_remarks(made, node)
    types = [value.type for value, needed in zip(node.results, results, strict=True) if needed]
    made.results = tuple([Value(kind, made, index) for index, kind in enumerate(types)])
    return made


def _body(body: Any, inputs: Flags, outputs: Flags) -> Any:
    if all(inputs) and all(outputs):
        return prune(body)
    made = type(body)(body.name)
    made.nodes = list(body.nodes)
    for value, desc, needed in zip(body.inputs, body.input_descs, inputs, strict=True):
        if needed:
            made.inputs.append(value)
            made.input_descs.append(desc)
    for value, desc, needed in zip(body.outputs, body.output_descs, outputs, strict=True):
        if needed:
            made.add_output(value, desc)
    return dce(prune(dce(made)))
