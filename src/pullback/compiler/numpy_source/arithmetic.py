"""Forms of operators that compute: powers, choices, products and reductions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pullback.compiler.loops.planning import OWN, Traits, is_dense
from pullback.compiler.numpy_source.forms import (
    NEW,
    Lowered,
    Operands,
    Writing,
    call_into,
    form,
    of_ufunc,
    rows_in_rows_out,
    with_scalars,
)
from pullback.compiler.numpy_source.runtime import logistic
from pullback.graph.ir import Node, Value


@form("pow")
def power(node: Node, operands: Operands) -> Lowered | None:
    """`x ** y`, for which NumPy has shorter ways with some numbers."""
    x, y = operands
    if type(x) is not Value or type(y) is Value:
        return of_ufunc(np.power, node, operands)
    ufunc = _ufunc_of_power(x.type.dtype, y)
    if ufunc is None:
        return None
    if ufunc is np.power:
        return of_ufunc(np.power, node, operands)
    alone = of_ufunc(ufunc, node, (x,))
    return alone._replace(write=lambda writing: alone.write(writing._replace(args=writing.args[:1])))


class _Watched(np.ndarray):
    """An array that tells which ufunc is called on it."""

    called: list[np.ufunc]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        self.called.append(ufunc)
        return 0


def _ufunc_of_power(dtype: np.dtype[Any], exponent: Any) -> np.ufunc | None:
    """The ufunc that the running NumPy takes for this power; None if it refuses."""
    watched = np.ones(1, dtype).view(_Watched)
    watched.called = []
    try:
        _ = watched**exponent
    except (ValueError, TypeError):
        return None
    (ufunc,) = watched.called
    return ufunc


_WITH_ZERO = {"relu": np.maximum, "softplus": np.logaddexp}


@form(*_WITH_ZERO)
def with_zero(node: Node, operands: Operands) -> Lowered | None:
    """`maximum(x, 0)`, `logaddexp(x, 0)`."""
    made = of_ufunc(_WITH_ZERO[node.op], node, (*operands, 0))
    return made._replace(write=lambda writing: made.write(writing._replace(args=[*writing.args, "0"])))


@form("rsqrt")
def rsqrt(node: Node, operands: Operands) -> Lowered | None:
    """`1 / sqrt(x)`."""
    root, quotient = of_ufunc(np.sqrt, node, operands), of_ufunc(np.divide, node, (1, *operands))
    if operands[0].type.dtype.kind not in "fc":
        return None
    return quotient._replace(write=lambda writing: quotient.write(writing._replace(args=["1", root.write(writing)])))


@form("sigmoid")
def sigmoid(node: Node, operands: Operands) -> Lowered | None:
    """`1 / (1 + exp(-x))` in one piece of memory."""
    (x,) = operands
    result = node.result.type
    if x.type.dtype != result.dtype or result.dtype.char not in "fd" or result.strides is not None:
        return None

    def write(writing: Writing) -> str:
        module = writing.module
        function = module.bind(logistic, "logistic", "helper")
        out = writing.target or f"np.empty({result.shape}, {module.dtype(result.dtype)})"
        return f"{function}({writing.args[0]}, {module.scalar(1, result.dtype)}, {out})"

    return Lowered(write, Traits(kind=OWN, takes_target=True, over_operands=True), is_exact=True)


@form("where")
def where(node: Node, operands: Operands) -> Lowered | None:
    """`where`, with numbers as arrays."""

    def write(writing: Writing) -> str:
        condition, *parts = writing.args
        parts = with_scalars(writing.module, parts, operands[1:])
        return f"np.where({', '.join([condition, *parts])})"

    return Lowered(write, NEW, rows_in_rows_out(node, operands))


# Products of matrices.


@form("matmul")
def matmul(node: Node, operands: Operands) -> Lowered | None:
    """`x @ y`; for plain matrices and vectors `dot`, which calls the same routine in half the time."""
    x, y = (operand.type for operand in operands)
    lowered = of_ufunc(np.matmul, node, operands)
    plain = x.dtype == y.dtype and x.dtype.char in "fdFD" and 3 <= x.ndim + y.ndim <= 4 and max(x.ndim, y.ndim) == 2
    if not plain or x.shape[-1] < 2 or not (x.size and y.size and is_dense(x) and is_dense(y)):
        return lowered  # Without terms to add, `dot` takes another routine than `matmul`.

    def write(writing: Writing) -> str:
        left, *rest = writing.args
        return f"{left}.dot({', '.join(rest if writing.target is None else [*rest, writing.target])})"

    takes_target = node.result.type.strides is None
    traits = Traits(kind=OWN, takes_target=takes_target)
    return Lowered(write, traits, is_exact=takes_target, trusts_layout=True)


# Reductions.


def reduce_with(ufunc: np.ufunc, node: Node, operands: Operands) -> Lowered:
    """`ufunc.reduce` over the axes in the attributes."""
    attrs, (x,) = node.attrs, operands
    axis: Any = attrs["axis"]
    if len(axis) == x.type.ndim:
        axis = None
    elif len(axis) == 1:
        axis = axis[0]
    keepdims, dtype = attrs.get("keepdims", False), attrs.get("dtype")

    def write(writing: Writing) -> str:
        module = writing.module
        function = f"np.{ufunc.__name__}.reduce"
        args = [writing.args[0], module.text(axis)]
        if writing.target is None and not node.result.type.shape:
            return call_into(function, args if dtype is None else [*args, module.text(dtype)], writing, True)
        if writing.target is not None or dtype is not None or keepdims:
            args += [module.text(dtype), writing.target or "None"]
        return f"{function}({', '.join([*args, 'True'] if keepdims else args)})"

    traits = Traits(kind=OWN, takes_target=node.result.type.strides is None)
    return Lowered(write, traits, node.result.type.ndim < 2 or rows_in_rows_out(node, operands))


@form("mean")
def mean(node: Node, operands: Operands) -> Lowered | None:
    """A sum, divided by the number of its terms."""
    (x,) = operands
    if x.type.dtype.kind not in "fc" or x.type.dtype.char == "e" or node.attrs.get("dtype") is not None:
        return None
    total = reduce_with(np.add, node, operands)
    count = math.prod(x.type.shape[k] for k in node.attrs["axis"])

    def write(writing: Writing) -> str:
        if writing.target is None and not node.result.type.shape:
            # The sum is a scalar, which Python divides in no time.
            return f"np.asarray(np.add.reduce({writing.args[0]}, None) / {count})"
        number = writing.module.scalar(count, x.type.dtype)
        return call_into("np.divide", [total.write(writing), number], writing, False)

    return Lowered(write, total.traits, total.is_exact)
