"""From a ragged tensor to its values and back: views, each the other's adjoint."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.families import view
from pullback.declare.op import Op
from pullback.errors import AutogradError, InternalError
from pullback.operators.arrays.index_operators import ARRAY, index_add_to_zeros, index_arrays
from pullback.operators.arrays.segments import spread_rows
from pullback.operators.elementwise.casting import _to_device as to_device
from pullback.payloads.devices import CPU, device_of
from pullback.payloads.evaluate import evaluate
from pullback.payloads.ragged.array import RaggedArray, gather_index
from pullback.payloads.ragged.offsets import Offsets, RaggedSize, ragged_place
from pullback.tensors.tensor import Tensor


def beside(array: Any, values: Any) -> Any:
    """An array of the host, made of offsets, where the values of rows are."""
    place = device_of(values._data if isinstance(values, Tensor) else values)
    return array if place is CPU else to_device(array, device=place, source=CPU, copy=None)


@view(name="_ragged_values", torch="nested_get_values")
def ragged_values(x):
    """What the rows of `x` lie in, one below the other; with the gaps between them, if there are any."""
    return x.values


@view(name="_ragged", torch="nested_view_from_jagged")
def rows_on_values(x, *, offsets, axis, starts):
    """Rows of `x` as one array. `starts` says where they begin if there are gaps between them."""
    return RaggedArray(x, offsets, axis, starts)


def ragged(values: Any, *, offsets: Offsets, axis: int = 1, starts: Any = None) -> Any:
    """Rows of `values` as a ragged array, a view; with gaps between them if there are `starts`."""
    return rows_on_values(values, offsets=offsets, axis=axis, starts=starts)


@ragged_values.transpose
def ragged_values_transpose(g, x):
    axis: Any = ragged_place(x.shape)
    return ragged(g, offsets=x.shape[axis].offsets, axis=axis, starts=None)


@rows_on_values.transpose
def rows_on_values_transpose(g, x: Spec, offsets, starts):
    if starts is None:
        return packed(g)
    index = gather_index(offsets, starts)
    return index_add_to_zeros(packed(g), index, template=(ARRAY,), shape=x.shape, distinct=True)


@rows_on_values.spec
def rows_on_values_spec(x: Spec, *, offsets: Offsets, axis: int, starts: Any) -> Spec:
    shape: Any = (offsets.count, *x.shape[1:axis], RaggedSize(offsets), *x.shape[axis:])
    return spec_for(shape, x.dtype)


@ragged_values.spec
def ragged_values_spec(x: Spec) -> Spec:
    shape: Any = x.shape
    axis: Any = ragged_place(shape)
    return spec_for((shape[axis].total, *shape[1:axis], *shape[axis + 1 :]), x.dtype)


for _op in (rows_on_values, ragged_values):
    _op.takes_payloads = True
    _op.shows_each_once = True


@view(name="_ragged_memory")
def ragged_memory(x, *, offsets, starts, length, axis):
    """The memory that rows with gaps lie in, of `length` elements."""
    return x.values


@ragged_memory.transpose
def ragged_memory_transpose(g, offsets, starts, axis):
    return ragged(g, offsets=offsets, axis=axis, starts=starts)


@ragged_memory.spec
def ragged_memory_spec(x: Spec, *, offsets: Offsets, starts: Any, length: int, axis: int) -> Spec:
    return spec_for((length, *x.shape[1:axis], *x.shape[axis + 1 :]), x.dtype)


ragged_memory.takes_payloads = True


def ragged_of(x: Any) -> Any:
    """The ragged payload of a tensor, or the payload itself; None of everything else."""
    payload = x._data if isinstance(x, Tensor) else x
    return payload if type(payload) is RaggedArray else None


def memory(x: Any) -> Any:
    """What the rows of `x` lie in: a view, with gaps if there are any."""
    own = ragged_of(x)
    if own.starts is None:
        return ragged_values(x)
    return ragged_memory(x, offsets=own.offsets, starts=own.starts, length=own.values.shape[0], axis=own.axis)


def packed(x: Any) -> Any:
    """The rows of `x`, one below the other: a view, or a copy if there are gaps between them."""
    own = ragged_of(x)
    if own is None:
        raise InternalError(f"values of rows are wanted of a dense array {list(x.shape)}")
    if own.starts is None:
        return ragged_values(x)
    return index_arrays(memory(x), gather_index(own.offsets, own.starts), template=(ARRAY,), distinct=True)


def on_rows_of(values: Any, like: RaggedArray, axis: int | None = None) -> Any:
    """`values` as rows of the same lengths as those of `like`."""
    return ragged(values, offsets=like.offsets, axis=like.axis if axis is None else axis, starts=None)


def call(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """`op` on tensors or payloads, with canonical parameters."""
    if any(isinstance(x, Tensor) for x in operands):
        return op.run(tuple(operands), params)
    return evaluate(op, tuple(operands), params)


def by_row(x: Any, like: RaggedArray) -> Any:
    """`x[i]` of a dense `(B, *rest)` for every element of row `i`: `(total, *rest)`."""
    return spread_rows(x, like.offsets.array, total=like.offsets.total)


def value_axis(axis: int, like: RaggedArray) -> int:
    """Which axis of the values an axis of the ragged array is, which is not that of the rows' numbers."""
    return 0 if axis == like.axis else axis if axis < like.axis else axis - 1


def refuse(op: Op | str, why: str, fix: str, *shapes: Any) -> AutogradError:
    """The error for an operator that has no meaning, or no rule, for rows of different lengths."""
    name = (op if isinstance(op, str) else op.name).strip("_")
    shown = " and ".join(f"[{', '.join(map(str, shape))}]" for shape in shapes)
    return AutogradError("RAGGED_OP", f"{name} of a ragged tensor {shown}", why=why, fix=fix)


def mismatch(name: str, first: Any, second: Any, why: str, fix: str) -> AutogradError:
    """The error for two operands that do not fit."""
    one, two = (f"[{', '.join(map(str, shape))}]" for shape in (first, second))
    return AutogradError("RAGGED_MISMATCH", f"{name.strip('_')}: shapes {one} and {two} do not fit", why=why, fix=fix)


def check_same_rows(name: str, first: RaggedArray, second: RaggedArray) -> None:
    """Raise `!RAGGED_MISMATCH` unless both have the same record of offsets."""
    if first.offsets is second.offsets:
        return
    known = first.offsets.is_known and second.offsets.is_known
    if known and np.array_equal(first.offsets.array, second.offsets.array):
        raise mismatch(
            name, first.shape, second.shape,
            "the lengths of their rows are equal, but they come from different offsets, and may be so by chance",
            "write y.with_offsets_of(x), which compares the lengths once and says that they belong together",
        )  # fmt: skip
    raise mismatch(
        name, first.shape, second.shape, "their rows have different lengths",
        "ragged tensors fit if they were made with the same offsets, or one was made of the other",
    )  # fmt: skip
