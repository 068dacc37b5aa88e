"""`hoist_invariants`: what is the same in every step of a loop is computed once, in front of it.

Such values depend on constants of the loop alone. They become further constants. Views stay where they are, since they
cost nothing, and so does what might raise: a loop that makes no step computes nothing. What an inner loop hands out can
leave the outer one as well.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pullback.graph.ir import Node, Program, Value
from pullback.graph.printing import bodies_of
from pullback.graph.rewrite import Replacements, in_bodies, keep_remarks, outline, with_operands

Kind = TypeVar("Kind", bound=Program)

_FAMILIES = frozenset({"elementwise", "special", "reduction", "view"})
_OTHERS = frozenset({"matmul", "einsum", "copy", "_astype", "_concat", "_stack", "tril", "triu", "softmax"})
_LOOPS = frozenset({"scan", "while_loop"})


@in_bodies
def hoist_invariants(program: Kind) -> Kind:
    """The graph with less in its loops; the graph itself if there is nothing to move."""
    found = {node: moving for node in program.nodes if (moving := _moving(node))}
    if not found:
        return program
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
    return node.effect is None and target is not None and (target.family in _FAMILIES or target.name in _OTHERS)


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
