"""`in_planes`: points with two to four coordinates lie coordinate by coordinate, where only native code sees them.

`positions[:, None] - positions` has the coordinates of a point side by side. Loops go over the points, so a vector of
the first coordinates of four points would have to be picked together. Memory that nobody else looks at may lie
otherwise: all first coordinates, then all second ones.
"""

from __future__ import annotations

import math
from typing import Any, TypeVar

from pullback.compiler.llvm.scalars import rule_of
from pullback.graph.ir import Node, Program, Value
from pullback.graph.rewrite import Replacements, keep_remarks, outline
from pullback.graph.types import ArrayType, array_type, row_major

Kind = TypeVar("Kind", bound=Program)
_MOST_COORDINATES = 4
_FEWEST_POINTS = 16
_REDUCTIONS = frozenset({"sum", "prod", "amax", "amin", "any", "all"})
_VIEWS = frozenset({"_basic_index", "permute_dims", "expand_dims", "broadcast_to", "_reshape"})


def in_planes(program: Kind) -> Kind:
    """The graph with such arrays; the graph itself if there are none."""
    found = _found(program)
    if not found:
        return program
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original in found:
            planar = Node(node.target, node.op, node.operands, node.attrs, node.tag)
            keep_remarks(planar, node)
            planar.results = (Value(_planar(node.result.type), planar),)
            replaced.found[original.result] = planar.result
            node = planar
        made.nodes.append(node)
    return replaced.finish(made, program)


def _planar(type_: ArrayType) -> ArrayType:
    *points, coordinates = type_.shape
    last, *others = row_major((coordinates, *points), type_.dtype.itemsize)
    return array_type(type_.shape, type_.dtype, (*others, last))


def _found(program: Program) -> set[Node]:
    """The nodes whose results may lie so: nothing but loops read them."""
    candidates = [node for node in program.nodes if _has_points(node)]
    if not candidates:
        return set()
    refused: set[Any] = set(program.outputs)
    for node in reversed(program.nodes):
        if _is_fine(node) and (not node.is_view or refused.isdisjoint(node.results)):
            continue
        refused.update(node.inputs)
    return {node for node in candidates if node.result not in refused}


def _has_points(node: Node) -> bool:
    if len(node.results) != 1 or node.result.type.strides is not None or node.result.type.ndim < 2:
        return False
    *points, coordinates = node.result.type.shape
    return 2 <= coordinates <= _MOST_COORDINATES and math.prod(points) >= _FEWEST_POINTS and rule_of(node) is not None


def _is_fine(node: Node) -> bool:
    """Does a node read its operands wherever they lie?"""
    if node.is_view:
        return node.op in _VIEWS and (node.op != "_reshape" or _keeps_axes(node))
    return node.op in _REDUCTIONS or rule_of(node) is not None


def _keeps_axes(node: Node) -> bool:
    """Does a reshape only add or take away axes of length 1?"""
    before, after = node.operands[0].type.shape, node.result.type.shape
    return [n for n in before if n != 1] == [n for n in after if n != 1]
