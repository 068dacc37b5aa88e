"""Questions asked of elements, and how often the answer is yes, as `expand` writes them out; bounds of integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.graph.ir import Node, Value
from pullback.graph.types import array_type

_BOOL = np.dtype(np.bool_)


def can_be_asked(node: Node) -> bool:
    """Is it a question about real numbers, of which there are some?"""
    x = node.operands[0]
    kinds = "f" if node.op != "count_nonzero" else "fbiu"
    return type(x) is Value and x.type.size > 0 and x.type.dtype.kind in kinds and x.type.dtype.itemsize != 2


def are_bounded_integers(node: Node) -> bool:
    """Does `clip` have integers of one dtype, and bounds among them?"""
    dtype = node.result.type.dtype
    if dtype.kind not in "iu" or any(x.type.dtype != dtype or not x.type.size for x in node.inputs):
        return False
    limits, (x, *bounds) = np.iinfo(dtype), node.operands
    numbers = [bound for bound in bounds if type(bound) is not Value and bound is not None]
    has_bounds = type(x) is Value and any(bound is not None for bound in bounds)
    return has_bounds and all(type(n) is int and limits.min <= n <= limits.max for n in numbers)


def _is(number: float) -> Callable[[Any, Node], Value]:
    """Is an element this number?"""

    def ask(add: Any, node: Node) -> Value:
        made: Value = add("equal", (node.operands[0], number), node.result.type)
        return made

    return ask


def _count(add: Any, node: Node) -> Value:
    (x,), made = node.operands, node.result.type
    if x.type.dtype != _BOOL:
        x = add("not_equal", (x, 0), array_type(x.type.shape, _BOOL))
    attrs = {"axis": node.attrs["axis"], "keepdims": node.attrs.get("keepdims", False), "dtype": made.dtype}
    counted: Value = add("sum", (x,), made, **attrs)
    return counted


QUESTIONS: dict[str, Callable[[Any, Node], Value]] = {
    "isposinf": _is(math.inf),
    "isneginf": _is(-math.inf),
    "count_nonzero": _count,
}
"""By operator: what it is written as."""
