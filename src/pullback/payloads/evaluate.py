"""Evaluate a primitive on payloads.

Plain arrays go to the NumPy kernel. A payload of another kind (batched, traced) says how it is evaluated with a
class method `evaluate_op(op, operands, params)`, found here by type, so that new payloads need no change upstairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.op import Op

ndarray = np.ndarray


def evaluate(op: Op, operands: tuple[Any, ...] | list[Any], params: dict[str, Any]) -> Any:
    """The result of `op`: a payload, or a tuple of them where the op has several outputs."""
    for value in operands:
        if type(value) is not ndarray:
            handler = getattr(type(value), "evaluate_op", None)
            if handler is not None:
                return handler(op, operands, params)
    out = op.kernel(*operands, **params)
    if type(out) is ndarray:
        return out
    if isinstance(out, (tuple, list)):
        return tuple(part if type(part) is ndarray else np.asarray(part) for part in out)
    return np.asarray(out)
