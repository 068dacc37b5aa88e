"""Evaluate a primitive on payloads.

Plain arrays go to the NumPy kernel. A payload of another kind (batched, traced) says how it is evaluated with a
class method `evaluate_op(op, operands, params)`, found here by type, so that new payloads need no change upstairs.
A payload that is made of payloads, such as `payloads/lifted/__init__.py`, has a `lift`, and the newest lift goes first.
One that nothing is inside of (`innermost`) is asked at once, and passes on operands that others have to evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.errors import AutogradError

ndarray = np.ndarray
innermost: set[type] = set()
"""The classes of payloads that nothing is inside of, of libraries whose arrays have been seen."""


class OnTensors(AutogradError):
    """The rule of a payload for an operator runs above the tape, on tensors. Whoever has them goes on with `run`."""

    def __init__(self, name: str, kind: str, run: Callable[..., Any]) -> None:
        super().__init__(
            "WRAPPER_OP",
            f"{name} of a {kind} is needed where there are payloads only, and the class has a rule for tensors",
            why="inside of a derivative, or in a write, values are no tensors",
            fix=f"give {kind} a rule for {name} without on=\"tensors\"",
        )
        self.run = run


def evaluate(op: Op, operands: tuple[Any, ...] | list[Any], params: dict[str, Any]) -> Any:
    """The result of `op`: a payload, or a tuple of them where the op has several outputs."""
    for value in operands:
        if type(value) is not ndarray:
            handler = getattr(type(value), "evaluate_op", None)
            if handler is not None:
                if not op.takes_payloads and type(value) in innermost:
                    return handler(op, operands, params)
                return evaluate_outermost(op, operands, params, handler)
    out = (op.native or op.kernel)(*operands, **params)
    if type(out) is ndarray or op.takes_payloads:
        return out
    if isinstance(out, (tuple, list)):
        return tuple(part if type(part) is ndarray else np.asarray(part) for part in out)
    return np.asarray(out)


def evaluate_outermost(op: Op, operands: tuple[Any, ...] | list[Any], params: dict[str, Any], first: Any) -> Any:
    """The result of `op` by the payload that goes first; `first` is the handler of the first operand that has one."""
    lifted = _newest_lift(operands)
    if lifted is not None:
        return lifted.evaluate_op(op, operands, params)
    if op.takes_payloads and not (op.family == "random" and any(hasattr(type(x), "downloaded") for x in operands)):
        return op.kernel(*operands, **params)
    return _outermost(operands, first)(op, operands, params)


def _outermost(operands: tuple[Any, ...] | list[Any], first: Any) -> Any:
    """The handler that goes first: that of a payload made of parts, which may be batches, before all others."""
    for value in operands:
        kind = type(value)
        if kind is not ndarray and (hasattr(kind, "__tensor_flatten__") or hasattr(kind, "decompose")):
            return kind.evaluate_op
    return first


def _newest_lift(operands: tuple[Any, ...] | list[Any]) -> Any:
    """The operand that is made of payloads, of the transform that was entered last; None if there is none."""
    newest = None
    for value in operands:
        lift = getattr(value, "lift", None)
        if lift is not None and (newest is None or lift.stamp > newest.lift.stamp):
            newest = value
    return newest


def is_traced(payload: Any) -> bool:
    """Is this an array of a trace? Its class, which few programs need, is not loaded for the question."""
    return getattr(type(payload), "is_traced", False)
