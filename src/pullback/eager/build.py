"""Build the functions of an operator from its declaration.

Every operator gets two. `op.call` is what derivative rules use: arrays in, arrays out; Tensors in, Tensors out.
`op.function` is what users get: the same, except that arrays and lists count as constant Tensors. They are built when
the operator is first used, since most programs use few of them (docs/design/import-time.md).
Elementwise operators of one and two operands get fast paths for plain tensors in normal modes (eager/fast.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from pullback.autograd._levels import live_levels
from pullback.autograd._variable import bump_version, requires_grad
from pullback.core.state import current, open_levels
from pullback.declare.op import Op
from pullback.eager.direct import NUMBERS, direct, direct_pair
from pullback.eager.fast import fast_function
from pullback.eager.fast_forward import Duals
from pullback.eager.fast_tokens import with_tokens
from pullback.eager.inplace import check_writable, write, write_plain
from pullback.eager.record import apply
from pullback.errors import AutogradError
from pullback.payloads.evaluate import evaluate
from pullback.tensors.tensor import Tensor, as_constant

_NUMBERS = (int, float, complex, bool)
_OF_SUMS = {"axis", "correction", "dtype", "keepdims"}


def build(op: Op) -> None:
    """Give an operator its functions. Should two threads do so at once, either's serve."""
    run = _direct_or_none(op)
    general = _general(op, run)
    public = _public(op, run)
    op.call, op.function = general, public
    if op.fast_rules is not None:
        op.call = fast_function(op, Duals(op, with_tokens(op, general)), True)
        op.function = fast_function(op, Duals(op, with_tokens(op, public)), False)
    for function in (op.call, op.function):
        function.__name__ = function.__qualname__ = op.name.rpartition(".")[2]
        function.__doc__ = op.doc
        function.__module__ = "pullback"
    op.function.op = op  # type: ignore[attr-defined]


Op.build = build


def _general(op: Op, run: Callable[..., Any] | None) -> Callable[..., Any]:
    door = op.door_rule
    if run is not None and len(op.operands) == 1:
        kernel = op.kernel
        names = set(op.params) if op.keywords_are_canonical else None

        def call_one(*operands: Any, **params: Any) -> Any:
            if door is not None and (len(operands) != 1 or params.keys() != names):
                operands, params = door(*operands, **params)
            (x,) = operands
            if type(x) is np.ndarray:  # most calls that derivative rules make
                out = kernel(x, **params)
                return out if type(out) is np.ndarray else np.asarray(out)
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


def _direct_or_none(op: Op) -> Callable[..., Any] | None:
    if op.variadic_from >= 0 or op.num_outputs != 1 or op.takes_payloads:
        return None
    if len(op.operands) == 1:
        return direct(op)
    return direct_pair(op) if len(op.operands) == 2 and not op.is_view else None


def _public(op: Op, run: Callable[..., Any] | None) -> Callable[..., Any]:
    door = op.door_rule
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
            and type(operands[0]) is Tensor
            and (type(operands[-1]) is Tensor or type(operands[-1]) in NUMBERS)
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

    if run is not None and _has_plain_axes(op):
        function = _reduction(op, run, function)
    if door is not None:
        functools.update_wrapper(function, door)
    else:
        function.__signature__ = signature_of(op.operands, op.params)  # type: ignore[attr-defined]
    return function


@functools.cache
def signature_of(operands: tuple[str, ...], params: tuple[str, ...], out: bool = True) -> Signature:
    """What `help` shows of a function that takes operands and parameters as they are declared.

    Most operators without a door have the operands `x`, or `x` and `y`, so there are few different ones to build.
    """
    shown = [
        Parameter(name[1:], Parameter.VAR_POSITIONAL) if name.startswith("*") else
        Parameter(name, Parameter.POSITIONAL_ONLY)
        for name in operands
    ]  # fmt: skip
    shown += [Parameter(name, Parameter.KEYWORD_ONLY) for name in params]
    return Signature([*shown, Parameter("out", Parameter.KEYWORD_ONLY, default=None)] if out else shown)


def _has_plain_axes(op: Op) -> bool:
    return op.family == "reduction" and len(op.operands) == 1 and {"axis", "keepdims"} <= set(op.params) <= _OF_SUMS


def _reduction(op: Op, run: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, with a short way for what most calls of a reduction give. bench/eager.py::reduction_small"""
    defaults = getattr(op.kernel, "__kwdefaults__", None) or {}
    given = {name: value for name, value in defaults.items() if name not in ("axis", "dtype", "keepdims")}

    def reduce(x: Any, axis: Any = None, keepdims: Any = False, **others: Any) -> Any:
        if type(x) is Tensor and not others and type(keepdims) is bool:
            ndim = x._spec.ndim
            if axis is None:
                return run(x, {"axis": tuple(range(ndim)), "keepdims": keepdims, **given})
            if type(axis) is int and -ndim <= axis < ndim:
                return run(x, {"axis": (axis % ndim,), "keepdims": keepdims, **given})
        return function(x, axis, keepdims, **others)

    return reduce


def as_operand(x: Any) -> Any:
    """Numbers stay numbers: Python's promote weakly, and none is ever a saved tensor. Everything else is a Tensor."""
    if isinstance(x, (Tensor, np.generic)) or type(x) in _NUMBERS or x is None or hasattr(type(x), "evaluate_op"):
        return x
    if isinstance(x, int):
        return int.__index__(x)
    if isinstance(x, (list, tuple)) and any(isinstance(part, Tensor) for part in x):
        raise TypeError("a list that holds Tensors is not an array: use pb.stack(list) or pb.asarray(list)")
    return as_constant(np.asarray(x))


def write_out(op: Op, operands: tuple[Any, ...], params: dict[str, Any], out: Tensor) -> Tensor:
    """Evaluate into `out`, which is only allowed where nobody differentiates."""
    modes = current()
    if modes.vmaps or (open_levels and live_levels((*operands, out))):
        raise AutogradError(
            "OUT_TRANSFORM",
            f"{op.name}: an out= function does not support forward mode or vmap",
            why="writing into it would replace a value without its tangent, or for one example only",
            fix="assign the result instead",
        )
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

    quick = isinstance(op.kernel, np.ufunc) and op.inplace_kernel is None

    def twin(self: Tensor, *others: Any, **params: Any) -> Tensor:
        if quick and not params and len(others) == 1 and write_plain(op, self, others[0]):
            return self
        if op.door_rule is not None:
            operands, params = op.door_rule(self, *others, **params)
            others = operands[1:]
        return write(op, self, tuple(as_operand(x) for x in others), params)

    if op.door_rule is not None:
        twin.__wrapped__ = op.door_rule  # type: ignore[attr-defined]
    else:
        twin.__signature__ = signature_of(op.operands, op.params, False)  # type: ignore[attr-defined]
    twin.__name__ = twin.__qualname__ = f"{op.name}_"
    twin.__doc__ = f"In-place version of `{op.name}`."
    return twin
