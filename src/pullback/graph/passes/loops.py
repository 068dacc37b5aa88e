"""`hoist_invariants`: what is the same in every step of a loop is computed once, in front of it.

Such values depend on constants of the loop alone. They become further constants. Views stay where they are, since they
cost nothing, and so does what might raise: a loop that makes no step computes nothing. What an inner loop hands out can
leave the outer one as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from pullback.graph.ir import Node, Program, Value, returned_roots
from pullback.graph.rewrite import (
    Replacements,
    attributes_key,
    dce,
    in_bodies,
    keep_remarks,
    keeps_its_place,
    operand_key,
    outline,
    with_operands,
)
from pullback.graph.text.printing import bodies_of

Kind = TypeVar("Kind", bound=Program)

# Flows of operators that raise nothing, whatever the values are.
_SAFE = frozenset({
    "elementwise", "casts", "moves", "joins", "reduces", "mixes", "contracts", "multiplies", "affine", "shifts",
    "halves", "to_pairs", "from_pairs",
})  # fmt: skip
_NOT_ALIKE = frozenset({"random", "custom"})  # two draws are not the same draw, and who knows what users declare
_LOOPS = frozenset({"scan", "while_loop"})


@in_bodies
def hoist_invariants(program: Kind) -> Kind:
    """The graph with less in its loops; the graph itself if there is nothing to move."""
    found = {node: moving for node in program.nodes if (moving := _moving(node))}
    if not found:
        return program
    # path: hoisted invariants
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original in found:
            node = _without(node, found[original], made)
            replaced.found.update(zip(original.results, node.results, strict=True))
        made.nodes.append(node)
    return replaced.finish(made, program)


def _first_constant(node: Node) -> int:
    return int(node.attrs["carried"]) + int(node.attrs.get("scanned", 0))


def _moving(node: Node) -> list[Node]:
    """The nodes of a loop's body that are the same in every step and worth moving."""
    if node.target is not None or node.op not in _LOOPS:
        return []
    body = node.attrs["body"]
    fixed: set[Value] = set(body.inputs[_first_constant(node) :])
    moving = []
    for inner in body.nodes:
        if inner.inputs and fixed.issuperset(inner.inputs) and _can_move(inner):
            fixed.update(inner.results)
            moving.append(inner)
    return moving if any(not inner.is_view for inner in moving) else []


def _can_move(node: Node) -> bool:
    target = node.target
    return node.effect is None and target is not None and target.family not in _NOT_ALIKE and target.flow in _SAFE


def _without(node: Node, moving: list[Node], made: Program) -> Node:
    """The loop without these nodes, which are appended to `made`; it gets the results that its body still reads."""
    body = node.attrs["body"]
    gone = {inner for inner in moving if not inner.is_view}
    read = {x for inner in body.nodes if inner not in gone for x in inner.inputs} | set(body.outputs)
    outer: dict[Any, Any] = dict(zip(body.inputs, node.operands, strict=True))
    added: list[Value] = []
    for inner in moving:
        copy = with_operands(inner, tuple([outer.get(x, x) for x in inner.operands]))
        copy.tag = node.tag
        made.nodes.append(copy)
        outer.update(zip(inner.results, copy.results, strict=True))
        if inner in gone:
            added += [value for value in inner.results if value in read]
    return _with_constants(node, gone, added, [outer[value] for value in added])


def _with_constants(node: Node, gone: set[Node], added: list[Value], given: list[Value]) -> Node:
    bodies = {
        name: _with_inputs(body, gone, added, is_body=name == "body") for name, body in bodies_of(node).items()
    }
    made = Node(None, node.op, (*node.operands, *given), {**node.attrs, **bodies}, node.tag)
    keep_remarks(made, node)
    made.results = tuple([Value(value.type, made, value.index) for value in node.results])
    return made


def _with_inputs(body: Any, gone: set[Node], added: list[Value], is_body: bool) -> Any:
    """The graph of a body with further inputs; that of a condition does not read them."""
    made, replaced = outline(body), Replacements()
    for value in added:
        new = made.add_input(value.type, made.input_descs[0])
        if is_body:
            replaced.found[value] = new
    made.nodes = [replaced.node(inner) for inner in body.nodes if inner not in gone]
    return replaced.finish(made, body)


# `fuse_loops`: one scan where two go along the same arrays with the same carry.
#
# A derivative of a gradient runs a loop again, to keep more of every step than the loop before it did. The two carry
# the same and collect different things: together they are one loop, which computes what both need once.

@in_bodies
def fuse_loops(program: Kind) -> Kind:
    """The graph with fewer scans; the graph itself if no two of them are alike."""
    different: set[tuple[int, int]] = set()  # bodies of loops that carry other things, by identity
    if sum([node.op == "scan" for node in program.nodes]) < 2:
        return program
    while True:
        found = _alike(program, different)
        if found is None:
            return program
        # path: fused loops
        program = _with_one(program, *found)


def _alike(program: Program, different: set[tuple[int, int]]) -> tuple[Node, Node, Node, list[int]] | None:
    """Two loops, the loop that does both, and where the results of the second are then."""
    loops: dict[Any, list[Node]] = {}
    returned = returned_roots(program)
    for node in program.nodes:
        if node.op != "scan" or node.target is not None or keeps_its_place(node):
            continue
        before = loops.setdefault(_key(node), [])
        for first in before:
            bodies = id(first.attrs["body"]), id(node.attrs["body"])
            stays = bodies in different or not returned.isdisjoint(node.results[: node.attrs["carried"]])
            fused = None if stays else _fused(first, node)
            if fused is not None:
                return first, node, *fused
            different.add(bodies)
        before.append(node)
    return None


def _key(node: Node) -> Any:
    plain = {name: value for name, value in node.attrs.items() if name != "body"}
    return node.tag, tuple(map(operand_key, node.operands)), attributes_key(plain)


def _with_one(program: Kind, first: Node, second: Node, union: Node, results: list[int]) -> Kind:
    made, replaced = outline(program), Replacements()
    for node in program.nodes:
        if node is first:
            made.nodes.append(union)
            replaced.found.update(zip(first.results, union.results, strict=False))
        elif node is second:
            replaced.found.update(zip(second.results, [union.results[k] for k in results], strict=True))
        else:
            made.nodes.append(replaced.node(node))
    return replaced.finish(made, program)


def _fused(first: Node, second: Node) -> tuple[Node, list[int]] | None:
    """The loop that returns what both return, and where the results of the second are then. None if they differ in
    what they carry."""
    carried = first.attrs["carried"]
    body, values = _union(first.attrs["body"], second.attrs["body"])
    if values[:carried] != body.outputs[:carried]:
        return None
    before = len(body.outputs)
    for value, desc in zip(values[carried:], second.attrs["body"].output_descs[carried:], strict=True):
        body.add_output(value, desc)
    made = Node(None, "scan", first.operands, {**first.attrs, "body": body}, first.tag)
    keep_remarks(made, first)
    types = [value.type for value in (*first.results, *second.results[carried:])]
    made.results = tuple([Value(kind, made, index) for index, kind in enumerate(types)])
    return made, [*range(carried), *range(before, len(types))]


def _union(first: Any, second: Any) -> tuple[Any, list[Any]]:
    """The first body with the nodes of the second that it has not, and the values that the second returns there."""
    body = outline(first)
    body.nodes = list(first.nodes)
    body.outputs, body.output_descs = list(first.outputs), list(first.output_descs)
    found: dict[Any, Any] = dict(zip(second.inputs, first.inputs, strict=True))
    known: dict[Any, Node] = {}
    for node in first.nodes:
        known.setdefault(_node_key(node, node.operands), node)
    for node in second.nodes:
        operands = tuple([found.get(x, x) for x in node.operands])
        same = known.get(_node_key(node, operands))
        if same is None:
            same = with_operands(node, operands)
            body.nodes.append(same)
            known[_node_key(same, same.operands)] = same
        found.update(zip(node.results, same.results, strict=True))
    return body, [found.get(value, value) for value in second.outputs]


def _node_key(node: Node, operands: tuple[Any, ...]) -> Any:
    return node.target or node.op, tuple(map(operand_key, operands)), attributes_key(node.attrs)


# `prune`: control flow without the results that nobody reads, and without what only those needed.
#
# A scan that keeps values of every step for a gradient nobody asks for stops keeping them; what the body computed for
# them goes, and so do carried values and operands that nothing depends on any more. Two loops that differed in such
# results only are then the same, and `cse` merges them.

Flags = list[bool]


def prune(program: Kind) -> Kind:
    """The graph with narrower control flow, and without what nobody needs; the graph itself if it has none."""
    if not any(node.target is None and bodies_of(node) for node in program.nodes):
        return program
    program = _without_twins(program)
    nodes, needs = _needs(program)
    made, replaced = outline(program), Replacements()
    for original in nodes:
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


def _needs(program: Program) -> tuple[list[Node], dict[Node, tuple[Flags, Flags]]]:
    """The nodes that something depends on; for control flow among them, which results are needed, and which operands
    for these."""
    live: set[Any] = set(program.outputs)
    found: dict[Node, tuple[Flags, Flags]] = {}
    nodes: list[Node] = []
    for node in reversed(program.nodes):
        results = [value in live for value in node.results]
        if not (any(results) or node.op == "store" or keeps_its_place(node)):
            continue
        nodes.append(node)
        bodies = bodies_of(node)
        if not bodies or keeps_its_place(node):
            live.update(node.operands)
            continue
        results, operands = _RULES[node.op](node, results)
        found[node] = results, operands
        live.update([x for x, needed in zip(node.operands, operands, strict=True) if needed])
    return nodes[::-1], found


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
