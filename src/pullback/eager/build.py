"""Build the functions of an operator from its declaration.

Every operator gets two. `op.call` is what derivative rules use: arrays in, arrays out; Tensors in, Tensors out.
`op.function` is what users get: the same, except that arrays and lists count as constant Tensors.
Elementwise operators of one and two operands get fast paths for plain tensors in normal modes (eager/fast.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._variable import bump_version, requires_grad
from pullback.core.state import current
from pullback.declare.op import Op, registry
from pullback.eager.direct import direct, direct_pair
from pullback.eager.fast import fast_function
from pullback.eager.inplace import check_writable, write
from pullback.eager.record import apply
from pullback.errors import AutogradError
from pullback.payloads.evaluate import evaluate
from pullback.tensors.tensor import Tensor, as_constant

_NUMBERS = (int, float, complex, bool)


def build_all() -> None:
    """Give every operator its functions that was declared since the last call."""
    for op in registry.values():
        if not op.is_built:
            build(op)


def build(op: Op) -> None:
    """Give one operator its functions."""
    op.is_built = True
    general = _general(op)
    public = _public(op, general)
    op.call, op.function = general, public
    if op.fast_rules is not None:
        op.call, op.function = fast_function(op, general, True), fast_function(op, public, False)
    for function in (op.call, op.function):
        function.__name__ = function.__qualname__ = op.name.rpartition(".")[2]
        function.__doc__ = op.doc
        function.__module__ = "pullback"
    op.function.op = op  # type: ignore[attr-defined]


def _general(op: Op) -> Callable[..., Any]:
    door = op.door_rule
    if _has_one_operand(op):
        run = direct(op)
        names = set(op.params) if op.keywords_are_canonical else None

        def call_one(*operands: Any, **params: Any) -> Any:
            if door is not None and (len(operands) != 1 or params.keys() != names):
                operands, params = door(*operands, **params)
            (x,) = operands
            if type(x) is Tensor or isinstance(x, Tensor):
                return run(x, params)
            return evaluate(op, operands, params)

        return call_one

    def call(*operands: Any, **params: Any) -> Any:
        if door is not None:
            operands, params = door(*operands, **params)
        for x in operands:
            if isinstance(x, Tensor):
                return apply(op, operands, params)
        return evaluate(op, operands, params)

    return call


def _has_one_operand(op: Op) -> bool:
    return len(op.operands) == 1 and op.variadic_from < 0 and op.num_outputs == 1


def _direct_or_none(op: Op) -> Callable[..., Any] | None:
    if op.variadic_from >= 0 or op.num_outputs != 1:
        return None
    if len(op.operands) == 1:
        return direct(op)
    return direct_pair(op) if len(op.operands) == 2 and not op.is_view else None


def _public(op: Op, general: Callable[..., Any]) -> Callable[..., Any]:
    door = op.door_rule
    run = _direct_or_none(op)
    count = len(op.operands)

    def function(*operands: Any, out: Tensor | None = None, **params: Any) -> Any:
        if door is not None:
            if operands and not isinstance(operands[0], (Tensor, *_NUMBERS, tuple, list)):
                operands = (as_constant(operands[0]), *operands[1:])
            operands, params = door(*operands, **params)
        if (
            run is not None
            and out is None
            and len(operands) == count
            and type(operands[0]) is type(operands[-1]) is Tensor
        ):
            return run(*operands, params)
        has_tensor = False
        for x in operands:
            if type(x) is Tensor or isinstance(x, Tensor):
                has_tensor = True
            elif type(x) not in _NUMBERS:
                operands = tuple([as_operand(each) for each in operands])
                has_tensor = any(isinstance(each, Tensor) for each in operands)
                break
        if not has_tensor:
            operands = tuple(as_constant(x) if isinstance(x, (*_NUMBERS, np.generic)) else x for x in operands)
        if out is not None:
            return write_out(op, operands, params, out)
        return apply(op, operands, params)

    if door is not None:
        functools.update_wrapper(function, door)
    return function


def as_operand(x: Any) -> Any:
    """Numbers stay numbers: Python's promote weakly, and none is ever a saved tensor. Everything else is a Tensor."""
    if isinstance(x, (Tensor, np.generic)) or type(x) in _NUMBERS or x is None or hasattr(type(x), "evaluate_op"):
        return x
    if isinstance(x, (list, tuple)) and any(isinstance(part, Tensor) for part in x):
        raise TypeError("a list that holds Tensors is not an array: use pb.stack(list) or pb.asarray(list)")
    return as_constant(np.asarray(x))


def write_out(op: Op, operands: tuple[Any, ...], params: dict[str, Any], out: Tensor) -> Tensor:
    """Evaluate into `out`, which is only allowed where nobody differentiates."""
    modes = current()
    if not isinstance(out, Tensor):
        raise TypeError(f"out= must be a Tensor, got {type(out).__name__}")
    if modes.grad and any(isinstance(x, Tensor) and requires_grad(x) for x in (*operands, out)):
        raise AutogradError(
            "OUT_GRAD",
            f"{op.name}: out= can not be used when an input or the out= tensor requires grad",
            why="writing into it would replace a value without a history",
            fix="assign the result instead, or work under pb.no_grad()",
        )
    check_writable(out, modes)
    result = evaluate(op, [x._data if isinstance(x, Tensor) else x for x in operands], params)
    if result.shape != out.shape:
        raise ValueError(f"{op.name}: out= has shape {list(out.shape)}, but the result has {list(result.shape)}")
    np.copyto(out._data, result, casting="same_kind")
    bump_version(out, out._data)
    return out


def inplace_twin(op: Op) -> Callable[..., Tensor]:
    """The method `name_` of an operator: writes the result into its first operand."""

    def twin(self: Tensor, *others: Any, **params: Any) -> Tensor:
        if op.door_rule is not None:
            operands, params = op.door_rule(self, *others, **params)
            others = operands[1:]
        return write(op, self, tuple(as_operand(x) for x in others), params)

    twin.__name__ = twin.__qualname__ = f"{op.name}_"
    twin.__doc__ = f"In-place version of `{op.name}`."
    return twin
