"""Copies of batches: every example is laid out as its copy would be, and the examples follow each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.payloads.alignment import Levels, like_in_memory, sizes
from pullback.payloads.batched_array import BatchedArray


def copy(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> BatchedArray:
    """A copy in memory order "C", "F", or "K" for the order that an example has."""
    (x,) = operands
    if params["order"] == "C":
        strides = tuple(range(x.ndim, 0, -1))
    elif params["order"] == "F":
        strides = tuple(range(1, x.ndim + 1))
    elif 0 in x.strides:
        strides = op.kernel(x.data[(0,) * len(levels)], **params).strides
    else:
        strides = x.strides
    out = like_in_memory(x.shape, strides, sizes(levels), x.dtype)
    np.copyto(out, x.data)
    return BatchedArray(out, levels)
