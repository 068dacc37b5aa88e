"""`fold_scalars`: what is computed from constants alone and is one number becomes a constant.

A backward pass begins with 1 and divides it by the number of examples. Native code writes a constant of one element
into its instructions, and a kernel that needs it does not have to wait for another one. Larger results are left alone:
a broadcast number is better than the array that it stands for.
"""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

import numpy as np

from pullback.graph.ir import Node, Program, Value, type_of
from pullback.graph.rewrite import Replacements, in_bodies, keep_remarks, outline

Kind = TypeVar("Kind", bound=Program)


@in_bodies
def fold_scalars(program: Kind) -> Kind:
    """The graph with such constants; the graph itself if there are none."""
    made, replaced = outline(program), Replacements()
    returned = set(program.outputs)
    for original in program.nodes:
        node = replaced.node(original)
        # An output that is a view of another one must stay one.
        number = None if original.is_view and not returned.isdisjoint(original.results) else _number(node)
        if number is None:
            made.nodes.append(node)
            continue
        constant = made.add("constant", (), {"value": number}, (original.result.type,), node.tag)
        keep_remarks(constant, node)
        replaced.found[original.result] = constant.result
    return replaced.finish(made, program) if replaced.found else program


def _number(node: Node) -> Any:
    """The result of a node on constants; None if there are others, or if NumPy has something to say about it."""
    target = node.target
    if target is None or target.family not in ("elementwise", "view") or node.effect is not None:
        return None
    if len(node.results) != 1:
        return None
    if node.result.type.size != 1 or not node.inputs or not all(map(_is_constant, node.inputs)):
        return None
    operands = [x.node.attrs["value"] if _is_constant(x) else x for x in node.operands]
    try:
        with warnings.catch_warnings(), np.errstate(all="warn", under="ignore"):
            warnings.simplefilter("error")
            out = np.asarray(target.kernel(*operands, **node.attrs))
    except (ArithmeticError, TypeError, ValueError, Warning):
        return None
    if type_of(out) != node.result.type:
        return None
    out.flags.writeable = False
    return out


def _is_constant(x: Any) -> bool:
    return type(x) is Value and x.node is not None and x.node.op == "constant"
