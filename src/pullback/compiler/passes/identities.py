"""Products with an identity matrix, which is what Jacobians and Hessians begin with: forward mode takes every unit
vector through the first product of the program.

    eye(n) @ x      is x, but for what 0 times an infinity is
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.graph.ir import Node, Value
from pullback.graph.types import array_type


def has_identity(node: Node) -> bool:
    """Is a node a product of two matrices of real floating numbers, one of which is a constant identity?"""
    return all(type(x) is Value and x.type.ndim == 2 for x in node.operands) and any(map(_is_identity, node.operands))


def _is_identity(x: Value) -> bool:
    rows, columns = x.type.shape
    if rows != columns or x.node is None or x.node.op != "constant":
        return False
    array = np.asarray(x.node.attrs["value"])
    return bool((np.diagonal(array) == 1).all() and np.count_nonzero(array) == rows)


def by_identity(w: Any, node: Node) -> Value:
    """The other matrix. Where another one of the terms of a sum is not finite, the sum is not a number."""
    left, right = node.operands
    x, axis = (right, 0) if _is_identity(left) else (left, 1)
    type_, answer = node.result.type, array_type(node.result.type.shape, np.dtype(np.bool_))
    numbers = [w.constant(np.full((), number, type_.dtype)) for number in (0, 1)]
    own = w("where", (w("isfinite", (x,), answer), *numbers), type_)
    everywhere = w.reduce("sum", own, (axis,), True, dtype=None)
    alone = w("equal", (everywhere, own), answer)
    return w("where", (alone, w("add", (x, 0.0), type_), np.nan), type_)  # a sum of negative zeros is a positive one
