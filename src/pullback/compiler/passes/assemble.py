"""`assemble`: a sum of slices that are put into different places of an array is an array into which they are written.

The gradient of an array of which a function takes parts is a sum of arrays that are zero outside of their part. To add
them up, every element asks of every part whether it lies in it. Where parts do not overlap there is nothing to add:
they are written one after the other.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pullback.declare.steps import ViewStep
from pullback.graph.ir import Node, Program, Value
from pullback.graph.operators import find_operator
from pullback.graph.rewrite import Replacements, in_bodies, keep_remarks, outline
from pullback.graph.types import array_type

Kind = TypeVar("Kind", bound=Program)
_LARGEST = 1 << 20
_FEWEST = 3


class Part(NamedTuple):
    """A value and the indices that lead to its place; without any it is as large as the whole."""

    value: Any
    indices: tuple[Any, ...]


@in_bodies
def assemble(program: Kind) -> Kind:
    """The graph with such sums; the graph itself if there are none. What is not needed any more is left to `dce`."""
    if sum(node.op == "_place_slice" for node in program.nodes) < _FEWEST:
        return program
    readers = Counter(x for node in program.nodes for x in node.inputs)
    readers.update(value for value in program.outputs if value is not None)
    inner = {x for node in program.nodes for x in node.inputs if node.op in ("add", "_place_slice") and readers[x] == 1}
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original.op == "add" and original.target is not None and original.result not in inner:
            parts = [part._replace(value=replaced.found.get(part.value, part.value))
                     for part in parts_of(original.result, readers)]  # fmt: skip
            total = _assembled(made, node, parts)
            if total is not None:
                replaced.found[original.result] = total
                continue
        made.nodes.append(node)
    return replaced.finish(made, program)


def parts_of(total: Value, readers: Counter[Any]) -> list[Part]:
    """What a value is the sum of, from left to right. What others read as well is a part as it is."""
    found: list[Part] = []
    waiting = [Part(total, ())]
    while waiting:
        part = waiting.pop()
        value, indices = part
        node = value.node if value is total or readers[value] == 1 else None
        operands: tuple[Any, ...] = () if node is None or node.target is None else node.operands
        if node is not None and node.op == "add" and all(_is_like(x, value) for x in operands):
            waiting += [Part(x, indices) for x in reversed(operands)]
        elif node is not None and node.op == "_place_slice" and operands[0].type.dtype == value.type.dtype:
            waiting.append(Part(operands[0], (*indices, node.attrs["index"])))
        else:
            found.append(part)
    return found


def _is_like(x: Any, value: Value) -> bool:
    return type(x) is Value and x.type.spec == value.type.spec


def _assembled(made: Program, node: Node, parts: list[Part]) -> Value | None:
    """The sum, with parts that do not overlap written side by side; None if there are too few of them."""
    kind = node.result.type
    if kind.strides is not None or kind.size > _LARGEST or sum(bool(part.indices) for part in parts) < _FEWEST:
        return None
    taken = np.zeros(kind.shape, bool)
    written: list[Part] = []
    others: list[Part] = []
    for part in parts:
        place = taken
        for index in part.indices:
            place = place[index]
        is_free = bool(part.indices) and place.shape == part.value.type.shape and not place.any()
        (written if is_free else others).append(part)
        if is_free:
            place[...] = True
    if len(written) < _FEWEST or any(part.indices for part in others):
        return None
    zeros = np.zeros(kind.shape, kind.dtype)
    zeros.flags.writeable = False
    total = add_node(made, node, "constant", (), {"value": zeros}, kind)
    for part in written:
        steps = tuple([ViewStep(find_operator("_basic_index"), {"index": index}) for index in part.indices])
        total = add_node(made, node, "update", (total, part.value), {"steps": steps}, kind)
    for part in others:
        total = add_node(made, node, node.target, (total, part.value), {}, kind)
    return total


def add_node(made: Program, node: Node, op: Any, operands: tuple[Any, ...], attrs: dict[str, Any], kind: Any) -> Value:
    """The result of a new node in the place of `node`."""
    added = made.add(op, operands, attrs, (array_type(kind.shape, kind.dtype),), node.tag)
    keep_remarks(added, node)
    return added.result
