"""`_linalg_no_quotient`, which gradients of eigenvectors ask before they divide, as comparisons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.graph.ir import Node, Value
from pullback.graph.types import ArrayType, array_type


def are_real_matrices(node: Node) -> bool:
    """Are both operands real matrices of one kind, and the answers in row-major order?"""
    dtypes = {x.type.dtype.char for x in node.inputs}
    return dtypes in ({"f"}, {"d"}) and node.result.type.strides is None and all(x.type.size for x in node.inputs)


def no_quotient(w: Any, node: Node) -> Value:
    """On the diagonal, and where a gap is 0 and what is divided by it no more than a rounding error."""
    m, gap = node.operands
    like: Callable[..., Value] = w.like
    size = like("abs", array_type(m.type.shape, m.type.dtype), m)
    largest = w.reduce("amax", size, (m.type.ndim - 2, m.type.ndim - 1), True)
    largest = like("maximum", largest.type, largest, 1)
    bound = like("multiply", largest.type, 8 * float(np.finfo(m.type.dtype).eps), largest)
    is_small = like("less_equal", _answers(m), size, bound)
    both = like("bitwise_and", node.result.type, like("equal", _answers(gap), gap, 0), is_small)
    diagonal = np.eye(m.type.shape[-1], dtype=bool)
    diagonal.flags.writeable = False
    return like("bitwise_or", node.result.type, w.constant(diagonal), both)


def _answers(x: Value) -> ArrayType:
    return array_type(x.type.shape, np.dtype(np.bool_))
