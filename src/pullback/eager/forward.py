"""Forward mode for declared operators: from the tangents of the operands to those of the outputs.

One level at a time, the oldest first. The rule for a level runs on operands and outputs that show older levels only,
with ordinary operations: so these are recorded for reverse mode, batched, and pushed through the older levels in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.autograd._levels import handle, lend_tangent, tangent_of
from pullback.autograd._tangent_holders import ForwardLevel
from pullback.autograd._tangents import follows_its_base
from pullback.autograd._variable import requires_grad
from pullback.core.state import Modes
from pullback.declare.derive import push
from pullback.declare.op import Op
from pullback.tensors.tensor import Tensor

ndarray = np.ndarray
Attach = Callable[[Tensor, ForwardLevel, Any, Sequence[Any]], bool]


def push_tangents(
    op: Op,
    operands: tuple[Any, ...],
    outputs: list[Tensor],
    params: dict[str, Any],
    levels: list[ForwardLevel],
    modes: Modes,
    attach: Attach,
) -> None:
    """Give the outputs of a call the tangents that follow from those of its operands at these levels."""
    if op.not_differentiable_because is not None or (op.is_view and all(map(follows_its_base, outputs))):
        return
    for index, level in enumerate(levels):
        older = levels[:index]
        tangents = tuple(tangent_of(x, level) if isinstance(x, Tensor) else None for x in operands)
        if index == 0 and _push_plainly(op, operands, outputs, params, level, tangents, modes, attach):
            continue
        primals = tuple([handle(x, older) for x in operands])
        results = tuple([handle(out, older) for out in outputs])
        pushed = run_rule(op, primals, tangents, results if len(outputs) != 1 else results[0], params)
        _attach_all(attach, operands, outputs, level, pushed, tangents)


def _push_plainly(
    op: Op,
    operands: tuple[Any, ...],
    outputs: list[Tensor],
    params: dict[str, Any],
    level: ForwardLevel,
    tangents: tuple[Any, ...],
    modes: Modes,
    attach: Attach,
) -> bool:
    """The same on arrays, where nothing but this level is watching. False if something is."""
    for tangent in tangents:
        if tangent is not None and (type(tangent._data) is not ndarray or tangent._extra is not None):
            return False
        if modes.grad and tangent is not None and tangent._node is not None:
            return False
    if modes.grad and any(isinstance(x, Tensor) and requires_grad(x) for x in operands):
        return False
    payloads = tuple([x._data if isinstance(x, Tensor) else x for x in operands])
    results = tuple([out._data for out in outputs])
    if any(type(x) is not ndarray and hasattr(x, "evaluate_op") for x in (*payloads, *results)):
        return False
    arrays = tuple([None if tangent is None else tangent._data for tangent in tangents])
    pushed = run_rule(op, payloads, arrays, results if len(outputs) != 1 else results[0], params)
    _attach_all(attach, operands, outputs, level, pushed, tangents)
    return True


def _attach_all(
    attach: Attach,
    operands: tuple[Any, ...],
    outputs: list[Tensor],
    level: ForwardLevel,
    pushed: tuple[Any, ...],
    tangents: tuple[Any, ...],
) -> None:
    for out, tangent in zip(outputs, pushed, strict=True):
        if attach(out, level, tangent, tangents):
            for x in operands:
                lend_tangent(x, level)


def run_rule(op: Op, primals: Any, tangents: Any, results: Any, params: dict[str, Any]) -> tuple[Any, ...]:
    """The tangents of the outputs, one each."""
    if op.jvp_rule is None and op.partials is None and op.linear_in is None:
        raise NotImplementedError(
            f"forward AD: `{op.name}` does not support it: it has no jvp rule, and its result would silently lose "
            "the tangent; register a jvp, or detach() the operand if that is what you mean"
        )
    pushed = push(op, primals, tangents, results, params)
    return tuple(pushed) if isinstance(pushed, (tuple, list)) else (pushed,)
