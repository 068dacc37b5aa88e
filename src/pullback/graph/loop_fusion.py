"""`fuse_loops`: one scan where two go along the same arrays with the same carry.

A derivative of a gradient runs a loop again, to keep more of every step than the loop before it did. The two carry the
same and collect different things: together they are one loop, which computes what both need once.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pullback.graph.aliasing import returned_roots
from pullback.graph.ir import Node, Program, Value
from pullback.graph.keys import attributes_key, operand_key
from pullback.graph.rewrite import Replacements, in_bodies, keep_remarks, keeps_its_place, outline, with_operands

Kind = TypeVar("Kind", bound=Program)


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
