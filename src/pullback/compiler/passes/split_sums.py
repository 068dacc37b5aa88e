"""`split_sums`: a loop that adds slices to parts of a large sum carries one sum for each part.

The gradient of a constant of a loop, of which every step takes slices, is a sum of arrays that are zero outside of
their slice. Instead of such arrays, as large as the constant, the loop adds up what is in the slices, and the sums are
put in their places after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pullback.compiler.passes.assemble import Part, add_node, parts_of
from pullback.graph.ir import FORWARD, Node, Program, Value, array_type, find_operator
from pullback.graph.rewrite import Replacements, dce, in_bodies, keep_remarks, keeps_its_place, outline

Kind = TypeVar("Kind", bound=Program)


@in_bodies
def split_sums(program: Kind) -> Kind:
    """The graph with such loops; the graph itself if there are none."""
    found = {node: sums for node in program.nodes if (sums := _sums(node))}
    if not found:
        return program
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original in found:
            # path: sums of slices
            _split(made, node, found[original], replaced, original)
        else:
            made.nodes.append(node)
    return replaced.finish(made, program)


def _sums(node: Node) -> dict[int, list[Part]]:
    """For carried values that are sums of slices: what every step adds to them."""
    if node.op != "scan" or node.target is not None or keeps_its_place(node):
        return {}
    body: Program = node.attrs["body"]
    if not any(inner.op == "_place_slice" for inner in body.nodes):
        return {}
    readers = Counter(x for inner in body.nodes for x in inner.inputs)
    readers.update(value for value in body.outputs if value is not None)
    found = {}
    for place in range(node.attrs["carried"]):
        so_far, out = body.inputs[place], body.outputs[place]
        if out is None or readers[so_far] != 1 or readers[out] != 1 or out.type.spec != so_far.type.spec:
            continue
        parts = parts_of(out, readers)
        terms = [part for part in parts if part != Part(so_far, ())]
        if len(terms) == len(parts) - 1 and any(part.indices for part in terms):
            found[place] = terms
    return found


class _Carry(NamedTuple):
    """What the new loop carries: for which result, where it belongs in it, what it begins with, and how it goes on."""

    place: int
    indices: tuple[Any, ...]  # () for a value that is carried as it was
    start: Any
    so_far: Value
    out: Any


def _split(made: Program, node: Node, sums: dict[int, list[Part]], replaced: Replacements, original: Node) -> None:
    """Append the loop with sums of parts, and what puts them together."""
    body, count = node.attrs["body"], node.attrs["carried"]
    new = outline(body)
    new.nodes = list(body.nodes)
    carries = [*_wholes(new, node, sums), *_slices(made, new, node, sums)]
    new.inputs[:count] = [carry.so_far for carry in carries]
    new.outputs = [*(carry.out for carry in carries), *body.outputs[count:]]
    new.input_descs = [body.input_descs[0]] * len(new.inputs)
    new.output_descs = [body.output_descs[0]] * len(new.outputs)
    loop = _loop(node, dce(new), carries)
    made.nodes.append(loop)
    # A sum that has nothing but parts is not carried itself: the parts are added to what it began with.
    results: list[Any] = [*node.operands[:count], *loop.results[len(carries) :]]
    for carry, value in zip(carries, loop.results, strict=False):
        whole = results[carry.place]
        results[carry.place] = _put(made, node, whole, value, carry.indices) if carry.indices else value
    replaced.found.update(zip(original.results, results, strict=True))


def _wholes(new: Program, node: Node, sums: dict[int, list[Part]]) -> Iterator[_Carry]:
    """What is carried as before, without the parts."""
    body = node.attrs["body"]
    for place in range(node.attrs["carried"]):
        so_far, out = body.inputs[place], body.outputs[place]
        if place in sums:
            values = [part.value for part in sums[place] if not part.indices]
            if not values:
                continue
            out = _total(new, node, so_far, values)
        yield _Carry(place, (), node.operands[place], so_far, out)


def _slices(made: Program, new: Program, node: Node, sums: dict[int, list[Part]]) -> Iterator[_Carry]:
    """The sums of parts."""
    for place, terms in sums.items():
        for indices, values in _grouped(terms):
            so_far = Value(array_type(values[0].type.shape, values[0].type.dtype))
            start = _zeros(made, node, so_far)
            yield _Carry(place, indices, start, so_far, _total(new, node, so_far, values))


def _loop(node: Node, body: Program, carries: list[_Carry]) -> Node:
    count = node.attrs["carried"]
    operands = (*(carry.start for carry in carries), *node.operands[count:])
    loop = Node(None, "scan", operands, {**node.attrs, "body": body, "carried": len(carries)}, node.tag)
    keep_remarks(loop, node)
    types = [carry.so_far.type if carry.indices else node.results[carry.place].type for carry in carries]
    types += [value.type for value in node.results[count:]]
    loop.results = tuple([Value(kind, loop, index) for index, kind in enumerate(types)])
    return loop


def _grouped(terms: list[Part]) -> list[tuple[tuple[Any, ...], list[Any]]]:
    """The values that belong to the same place."""
    found: dict[str, tuple[tuple[Any, ...], list[Any]]] = {}
    for part in terms:
        if part.indices:
            entry = found.setdefault(repr(part.indices), (part.indices, []))
            entry[1].append(part.value)
    return list(found.values())


def _total(program: Program, node: Node, so_far: Value, values: list[Any]) -> Value:
    """The sum of all in a body, whose nodes are all of one half."""
    for value in values:
        so_far = add_node(program, node, find_operator("add"), (so_far, value), {}, so_far.type, FORWARD)
    return so_far


def _zeros(made: Program, node: Node, like: Value) -> Value:
    zeros = np.zeros(like.type.shape, like.type.dtype)
    zeros.flags.writeable = False
    return add_node(made, node, "constant", (), {"value": zeros}, like.type)


def _put(made: Program, node: Node, whole: Value, part: Value, indices: tuple[Any, ...]) -> Value:
    """The whole with a part added in its place."""
    shapes, view = [], np.broadcast_to(np.False_, whole.type.shape)
    for index in indices:
        shapes.append(view.shape)
        view = view[index]
    for index, shape in zip(reversed(indices), reversed(shapes), strict=True):
        kind = array_type(shape, whole.type.dtype)
        part = add_node(made, node, find_operator("_place_slice"), (part,), {"index": index, "shape": shape}, kind)
    return add_node(made, node, find_operator("add"), (whole, part), {}, whole.type)
