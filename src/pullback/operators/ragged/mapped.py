"""Operators inside `vmap` over rows: what they do to one row is done to all rows at once, by their batching rules."""

from __future__ import annotations

from typing import Any

from pullback.core.frames import warn
from pullback.core.state import VmapLevel, changed, current
from pullback.declare.op import Op
from pullback.errors import AutogradError, PerformanceWarning
from pullback.operators.arrays.joining import concat, stack
from pullback.operators.arrays.movement import broadcast_to, expand_dims
from pullback.operators.ragged.parts import call, ragged, ragged_of
from pullback.payloads.batched import levels_of
from pullback.payloads.batched.crossing import enter_level, leave_level
from pullback.payloads.ragged.row import RowArray
from pullback.tensors.tensor import Tensor

_warned: set[str] = set()


def _payload(x: Any) -> Any:
    return x._data if isinstance(x, Tensor) else x


def decompose(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The result for every row of `op` on operands of which at least one is a row."""
    if op.takes_payloads:
        return op.kernel(*operands, **params)
    level = max((x.level for x in map(_payload, operands) if type(x) is RowArray), key=lambda level: level.stamp)
    with changed(vmaps=tuple([other for other in current().vmaps if other is not level])):
        lowered = [_lowered(x, level) for x in operands]
        try:
            if op.batch_rule is None:
                out = _row_by_row(op, lowered, params, level)
            else:
                out = op.batch_rule(*lowered, **params)
        except AutogradError as error:
            if error.code != "RAGGED_OP":
                raise
            out = _row_by_row(op, lowered, params, level)
    return tuple([_raised(x, level) for x in out]) if isinstance(out, tuple) else _raised(out, level)


def _lowered(x: Any, level: VmapLevel) -> Any:
    """An operand with the axis of all rows in front."""
    if not hasattr(x, "shape"):
        return x
    if ragged_of(x) is not None:
        raise AutogradError(
            "RAGGED_MISMATCH",
            f"a ragged tensor {list(x.shape)} is combined with one row of another inside vmap",
            why="it is the same for all rows, and has rows itself",
            fix="give it to vmap as an argument, with in_dims=0",
        )
    payload = _payload(x)
    if type(payload) is RowArray or level in levels_of(payload):
        return leave_level(x, axis=0, level=level)
    # The same for all rows: repeated by an operator whose gradient is the sum.
    return broadcast_to(expand_dims(x, axis=(0,)), shape=(level.size, *x.shape)) if len(x.shape) else x


def _raised(x: Any, level: VmapLevel) -> Any:
    return enter_level(x, axis=0, level=level)


def _row_by_row(op: Op, lowered: list[Any], params: dict[str, Any], level: VmapLevel) -> Any:
    """The results of rows one after the other, for an operator that cannot take all at once."""
    if op.name not in _warned:
        _warned.add(op.name)
        warn(f"vmap runs {op.name.strip('_')} for one row after the other", PerformanceWarning)
    like = next(own for own in map(ragged_of, lowered) if own is not None)
    outs = [
        call(op, [x[row] if hasattr(x, "shape") else x for x in lowered], params) for row in range(level.size)
    ]
    if outs and isinstance(outs[0], tuple):
        return tuple([_together(list(parts), like) for parts in zip(*outs, strict=True)])
    return _together(outs, like)


def _together(rows: list[Any], like: Any) -> Any:
    lengths = like.offsets.lengths.tolist()
    if rows and all(row.ndim and row.shape[0] == length for row, length in zip(rows, lengths, strict=True)):
        return ragged(concat(rows, axis=0), offsets=like.offsets)
    return stack(rows, axis=0)


def decompose_write(write: Any, op: Op, target: Tensor, others: Any, params: dict[str, Any], overwrites: bool) -> None:
    """Refused: a row inside vmap is a value."""
    raise AutogradError(
        "RAGGED_OP",
        f"{op.name.strip('_')}_ on a row inside vmap",
        why="all rows would be written at once, each with its own length",
        fix="return the new value, or write to the ragged tensor outside of vmap",
    )


RowArray.decompose = staticmethod(decompose)
RowArray.decompose_write = staticmethod(decompose_write)
RowArray.evaluate_op = staticmethod(decompose)
