"""`canonical`: one graph for all that differ only in the order of independent nodes or of commuting operands.

Tests compare canonical graphs, and `digest` is a hash of their text. Every value gets a name that says how it is
computed; operands that commute are sorted by these names. Nodes are then listed from what keeps its place
(effects, in their order) and from the outputs, operands first; the forward half stands before the backward half, and
stores end their half.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from pullback.graph.ir import BACKWARD, FORWARD, Node, Program, Value, root_of
from pullback.graph.rewrite import Replacements, keeps_its_place, outline, with_bodies, with_operands
from pullback.graph.text.literals import Writer, type_text
from pullback.graph.text.printing import bodies_of, program_text

Kind = TypeVar("Kind", bound=Program)


def canonical(program: Kind) -> Kind:
    """The graph that all graphs which compute the same in the same way have in common."""
    names: dict[Value, str] = {value: f"input{index}" for index, value in enumerate(program.inputs)}
    writer = Writer(True)
    replaced, made = Replacements(), outline(program)
    sorted_nodes: dict[Node, Node] = {}
    for original in program.nodes:
        node = with_bodies(replaced.node(original), canonical)
        if node.target is not None and node.target.commutes:
            operands = tuple(sorted(node.operands, key=lambda x: _rank(x, names, writer)))
            node = node if operands == node.operands else with_operands(node, operands)
        replaced.found.update(zip(original.results, node.results, strict=True))
        _name_results(node, names, writer)
        sorted_nodes[original] = node
    replaced.found = {old: new for old, new in replaced.found.items() if old is not new}
    replaced.finish(made, program)
    made.nodes = _ordered(list(sorted_nodes.values()), made.outputs, names)
    return made


def _rank(x: Any, names: dict[Value, str], writer: Writer) -> tuple[int, str]:
    return (0, names[x]) if type(x) is Value else (1, writer.value(x))


def _name_results(node: Node, names: dict[Value, str], writer: Writer) -> None:
    operands = [_rank(x, names, writer)[1] for x in node.operands]
    bodies = bodies_of(node)
    attrs = writer.params({name: value for name, value in sorted(node.attrs.items()) if name not in bodies})
    texts = [program_text(body) for _, body in sorted(bodies.items())]
    types = [type_text(value.type) for value in node.results]
    text = "\n".join((node.op, *operands, *attrs, *texts, *types))
    name = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
    for value in node.results:
        names[value] = f"{name}.{value.index}"


def _ordered(nodes: list[Node], outputs: Iterable[Value | None], names: dict[Value, str]) -> list[Node]:
    """The nodes, operands first. Two draws are not the same draw, so what keeps its place keeps its order."""
    listed: dict[Node, None] = {}
    makers = [value.node for value in outputs if value is not None and value.node is not None]
    for tag in (FORWARD, BACKWARD):
        half = [node for node in nodes if node.tag == tag]
        placed = [node for node in half if node.op != "store" and keeps_its_place(node)]
        loose = sorted((node for node in half if node.op != "store"), key=lambda node: names.get(_first(node), ""))
        stores = [node for node in half if node.op == "store"]
        needed = [x.node for node in stores for x in node.inputs if x.node is not None]
        for root in (*placed, *(node for node in makers if node.tag == tag), *needed, *loose):
            listed.update(dict.fromkeys(_with_operands_first(root, listed)))
        listed.update(dict.fromkeys(_sorted_stores(stores, names)))
    return list(listed)


def _sorted_stores(stores: list[Node], names: dict[Value, str]) -> list[Node]:
    """Stores by the input that they write, unless one reads what another writes: then their order has a meaning."""
    targets = {node.operands[0] for node in stores}
    if any(root_of(node.operands[1]) in targets for node in stores):
        return stores
    return sorted(stores, key=lambda node: names[node.operands[0]])


def _first(node: Node) -> Any:
    return node.results[0] if node.results else None


def _with_operands_first(root: Node, listed: dict[Node, None]) -> Iterator[Node]:
    """What a node needs and is not listed, then the node itself."""
    seen: set[Node] = set()
    stack = [(root, False)]
    while stack:
        node, is_ready = stack.pop()
        if is_ready:
            yield node
        elif node not in listed and node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(x.node, False) for x in reversed(node.inputs) if x.node is not None]


def digest(program: Program) -> str:
    """The same for graphs that are the same in canonical form, in every process."""
    return hashlib.sha256(program_text(canonical(program)).encode()).hexdigest()
