"""What an operator does to ragged operands, as its family and its flow say; and writes.

An operator may have a rule of its own (`@op.ragged`), which comes first. What no rule serves is refused.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pullback.core.frames import warn
from pullback.core.state import current, switch
from pullback.declare.families import reduced_shape
from pullback.declare.op import Op
from pullback.errors import AutogradError, PerformanceWarning
from pullback.operators.arrays.index_operators import ARRAY, index_put_arrays
from pullback.operators.arrays.joining import concat, stack
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.arrays.segments import row_folds
from pullback.operators.ragged.parts import (
    by_row,
    call,
    check_same_rows,
    memory,
    mismatch,
    on_rows_of,
    packed,
    ragged_of,
    refuse,
    value_axis,
)
from pullback.payloads.ragged.array import RaggedArray, gather_index
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, wrap

_ELEMENTWISE = frozenset({"elementwise", "casts", "halves"})
_ALONG_AN_AXIS = frozenset({"scans", "sorts", "mixes"})
_warned: set[str] = set()


def decompose(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The result of `op` on operands of which at least one is ragged, made of operators on values."""
    if op.takes_payloads:  # the views from values to ragged arrays and back
        return op.kernel(*operands, **params)
    if op.ragged_rule is not None:
        return op.ragged_rule(*operands, **params)
    if op.flow in _ELEMENTWISE:
        out = _unrecorded(op, operands, params)
        return elementwise(op, operands, params) if out is None else out
    like = first_ragged(operands)
    if op.family == "reduction":
        return reduction(op, operands[0], params)
    axis = params.get("axis")
    if axis is not None and len(operands) == 1 and op.flow in _ALONG_AN_AXIS:
        return along_axis(op, operands[0], params)
    if op.cores is not None:
        return matrices(op, operands, params)
    raise refuse(
        op, "there is no rule for rows of different lengths",
        "work on x.values(), on rows (`for row in x`), or on x.to_padded(0.0)", like.shape,
    )  # fmt: skip


def first_ragged(operands: Any) -> RaggedArray:
    """The first ragged operand."""
    return next(own for own in map(ragged_of, operands) if own is not None)


# Element by element.


def elementwise(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """On values: those of ragged operands that share offsets, and of dense ones that broadcast to them."""
    like = first_ragged(operands)
    values = [aligned(op.name, x, like) for x in operands]
    out = call(op, values, params)
    return tuple([on_rows_of(part, like) for part in out]) if isinstance(out, tuple) else on_rows_of(out, like)


def _unrecorded(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The same where nobody wants derivatives and all operands have the same rows; None for everything else.

    bench/ragged.py::add
    """
    modes = current()
    if modes is not switch.normal and modes is not switch.no_grad:
        return None
    like: Any = None
    values = []
    for x in operands:
        if type(x) is Tensor:
            own = x._data
            if type(own) is not RaggedArray or own.starts is not None or x._node is not None:
                return None
            if like is None:
                like = own
            elif own.offsets is not like.offsets or own.axis != like.axis or own.ndim != like.ndim:
                return None
            extra: Any = x._extra
            if extra.forward is not None or extra.inference or (extra.view is not None and requires_grad(x)):
                return None
            values.append(own.values)
        elif type(x) is float or type(x) is int:
            values.append(x)
        else:
            return None
    if like is None or any(type(x) is not np.ndarray and hasattr(x, "shape") for x in values):
        return None
    out = (op.native or op.kernel)(*values, **params)
    return wrap(RaggedArray(out, like.offsets, like.axis)) if type(out) is np.ndarray else None


def aligned(name: str, x: Any, like: RaggedArray) -> Any:
    """An operand beside `like` as values that broadcast to its values."""
    own = ragged_of(x)
    if own is not None:
        if own.ndim != like.ndim or own.axis != like.axis:
            raise mismatch(
                name, like.shape, own.shape, "ragged operands have equally many axes, and the ragged one in its place",
                "add axes with x[..., None], or move them",
            )  # fmt: skip
        check_same_rows(name, like, own)
        return packed(x)
    shape = getattr(x, "shape", ())
    if len(shape) == 0:
        return x
    if len(shape) > like.ndim:
        raise mismatch(
            name, like.shape, shape, "a dense operand has at most the axes of the ragged one",
            "a ragged tensor does not broadcast to further axes in front",
        )  # fmt: skip
    padded = (1,) * (like.ndim - len(shape)) + tuple(shape)
    if padded[like.axis] != 1 or padded[0] not in (1, like.offsets.count):
        raise mismatch(
            name, like.shape, shape, "a dense length meets rows of different lengths",
            "give one value for each row, of shape (B, 1, ...), or one for all; or make it ragged: nested.from_padded",
        )  # fmt: skip
    rest = (*padded[1 : like.axis], *padded[like.axis + 1 :])
    if padded[0] == 1:
        return x.reshape(rest)
    return by_row(x.reshape((padded[0], *rest)), like)


# Reductions.


def reduction(op: Op, x: Any, params: dict[str, Any]) -> Any:
    """Over other axes: ragged. Over rows: one result for each. Over rows and their elements: dense."""
    own = ragged_of(x)
    axes, keepdims = params["axis"], params["keepdims"]
    others = {name: value for name, value in params.items() if name not in ("axis", "keepdims")}
    rest = tuple([value_axis(axis, own) for axis in axes if axis not in (0, own.axis)])
    if own.axis in axes and 0 in axes:
        out = call(op, (packed(x),), {**others, "axis": (0, *rest), "keepdims": False})
        return out.reshape(reduced_shape(own.shape, axes, True)) if keepdims else out
    if 0 in axes:
        raise refuse(
            op, "over the rows alone there is nothing to reduce: rows of different lengths have no common elements",
            "reduce over (0, 1) for everything, over 1 for each row, or pad with x.to_padded(0.0)", own.shape,
        )  # fmt: skip
    if own.axis not in axes:
        out = call(op, (packed(x),), {**others, "axis": rest, "keepdims": keepdims})
        moved = 0 if keepdims else sum(axis < own.axis for axis in axes)
        return on_rows_of(out, own, own.axis - moved)
    if rest and op.row_rule is not None:
        # Rows of all elements that are reduced: the others stand behind.
        flat, lengthened = _lengthened(x, own, rest)
        out = op.row_rule(flat, lengthened, **others)
    elif op.row_rule is not None:
        out = op.row_rule(packed(x), own.offsets, **others)
    elif not rest and op.folds is not None and not op.is_differentiable:
        out = row_folds(packed(x), own.offsets.array, ufunc=op.folds.__name__, start=op.folds.identity)
    else:
        along = tuple([axis - 1 for axis in axes])
        rows = [call(op, (row,), {**others, "axis": along, "keepdims": False}) for row in each_row(op, x, own)]
        out = stack(rows, axis=0) if rows else no_rows(op, own, rest, others)
    return out.reshape(reduced_shape(own.shape, axes, True)) if keepdims else out


def _lengthened(x: Any, own: RaggedArray, rest: tuple[int, ...]) -> tuple[Any, Any]:
    """Values with the axes `rest` laid into the rows, and the offsets of these."""
    values = moveaxis(packed(x), rest, tuple(range(1, len(rest) + 1)))
    count = 1
    for length in values.shape[1 : len(rest) + 1]:
        count *= length
    flat = values.reshape((values.shape[0] * count, *values.shape[len(rest) + 1 :]))
    offsets = own.offsets
    return flat, offsets.part(("times", count), offsets.known("rows over several axes").lengths * count)


def no_rows(op: Op, own: RaggedArray, rest: tuple[int, ...], others: dict[str, Any]) -> Any:
    """The result of a reduction of no rows at all."""
    one = np.ones((1, *own.values.shape[1:]), own.dtype)
    return np.asarray(op.kernel(one, axis=(0, *rest), keepdims=False, **others))[None][:0]


def each_row(op: Op, x: Any, own: RaggedArray) -> list[Any]:
    """The rows of `x`, for an operator that has no way to compute all at once: views."""
    if op.name not in _warned:
        _warned.add(op.name)
        warn(f"{op.name.strip('_')} of a ragged tensor is computed row by row", PerformanceWarning)
    steps = own.offsets.known(f"{op.name.strip('_')} of rows").array.tolist()
    values = packed(x)
    rows = [values[begin:end] for begin, end in pairwise(steps)]
    return [moveaxis(row, 0, own.axis - 1) for row in rows] if own.axis > 1 else rows


# Along one axis.


def along_axis(op: Op, x: Any, params: dict[str, Any]) -> Any:
    """An operator whose result has the shape of its operand, along a row or another axis."""
    own = ragged_of(x)
    given = params["axis"]
    axes = given if isinstance(given, tuple) else (given,)
    if 0 in axes or (own.axis in axes and len(axes) > 1):
        raise refuse(
            op, "it works along rows, or along the axes behind them", "pad with x.to_padded(0.0)", own.shape
        )
    others = {name: value for name, value in params.items() if name != "axis"}
    if own.axis not in axes:
        moved = tuple([value_axis(axis, own) for axis in axes])
        out = call(op, (packed(x),), {**others, "axis": moved if isinstance(given, tuple) else moved[0]})
    elif op.row_rule is not None:
        out = op.row_rule(packed(x), own.offsets, **others)
    else:
        place = own.axis - 1
        along = (place,) if isinstance(given, tuple) else place
        rows = [call(op, (row,), {**others, "axis": along}) for row in each_row(op, x, own)]
        if own.axis > 1:
            rows = [moveaxis(row, place, 0) for row in rows]
        out = concat(rows, axis=0) if rows else packed(x)
    return on_rows_of(out, own)


def matrices(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """An operator on stacks of matrices: one for every element of every row."""
    like = first_ragged(operands)
    assert op.cores is not None
    values = []
    for x, core in zip(operands, op.cores, strict=True):
        own = ragged_of(x)
        if own is None and len(getattr(x, "shape", ())) <= len(core):
            values.append(x)
            continue
        if own is None or own.axis >= own.ndim - len(core):
            raise refuse(
                op, f"it works on the last {len(core)} axes, and rows of different lengths make no matrices",
                "work on rows (`for row in x`), or pad with x.to_padded(0.0)", like.shape,
            )  # fmt: skip
        check_same_rows(op.name, like, own)
        values.append(packed(x))
    out = call(op, values, params)
    return tuple([on_rows_of(part, like) for part in out]) if isinstance(out, tuple) else on_rows_of(out, like)


# Writes.


def decompose_write(
    write: Any, op: Op, target: Tensor, others: Any, params: dict[str, Any], overwrites: bool = False
) -> None:
    """`target = op(target, *others)` in the memory of a ragged target. Lengths never change."""
    own = ragged_of(target)
    if op.flow not in _ELEMENTWISE and op.flow not in ("assigns", "puts"):
        raise refuse(
            f"{op.name}_", "it does not work element by element", "write the result with x.copy_(...)", own.shape
        )
    for x in others:
        given = ragged_of(x)
        if given is not None and given.offsets is not own.offsets:
            raise AutogradError(
                "RAGGED_SHAPE",
                f"{op.name.strip('_')}_: a ragged tensor {list(given.shape)} is written to one of {list(own.shape)}",
                why="rows keep their lengths in place, and these come from other offsets",
                fix="make a new tensor, or write y.with_offsets_of(x) if the lengths are equal",
            )
    if op.ragged_write is not None:
        op.ragged_write(write, target, others, params)
        return
    values = tuple([aligned(f"{op.name}_", x, own) for x in others])
    if own.starts is None:
        write(op, memory(target), values, params, overwrites)
        return
    new = values[0] if op.flow == "assigns" else call(op, (packed(target), *values), params)
    how = {"template": (ARRAY,), "accumulate": False, "distinct": True}
    write(index_put_arrays, memory(target), (new, gather_index(own.offsets, own.starts)), how)


RaggedArray.decompose = staticmethod(decompose)
RaggedArray.decompose_write = staticmethod(decompose_write)
RaggedArray.evaluate_op = staticmethod(decompose)
