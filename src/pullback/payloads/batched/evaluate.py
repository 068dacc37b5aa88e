"""Evaluate an operator on batched payloads: align the batch axes, or peel one level after the other.

Operators that work element by element, and reductions, run once on the arrays as they lie in memory, with axes of
length 1 for levels that an operand lacks. For all others the innermost level is taken off: its axis becomes the first
axis of every operand, and the operator's batching rule is called, whose own operators meet the remaining levels.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.frames import warn
from pullback.core.spec import Spec, spec_for
from pullback.core.state import VmapLevel, changed, current
from pullback.declare.op import Op
from pullback.errors import AutogradError, InternalError, PerformanceWarning
from pullback.payloads.batched import array
from pullback.payloads.batched.array import (
    Array,
    BatchedArray,
    Levels,
    aligned,
    as_payload,
    bare,
    broadcast,
    levels_of,
    parts_of,
    sizes,
    union,
)
from pullback.payloads.evaluate import evaluate
from pullback.payloads.refusals import check_at_home, noted, refuse_dynamic_shape

# Products of batches, all levels at once. An operand that is the same for all examples is used once, not repeated.
#
# `x @ w` with a batch of vectors `x` and one matrix `w` is then one product of matrices, and in `einsum` every level is
# one more letter, which only the operands have that depend on it.

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def matmul(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> BatchedArray:
    """`a @ b` as NumPy means it for one example."""
    (a, a_levels), (b, b_levels) = map(parts_of, operands)
    a_rank, b_rank = a.ndim - len(a_levels), b.ndim - len(b_levels)
    if 0 in (a_rank, b_rank):
        raise ValueError("matmul: an operand has no axes")
    if not b_levels and b_rank == 2 and a.shape[-1] == b.shape[0]:
        return _rows_times(op, a, a_levels, b)
    if not a_levels and a_rank == 2 and b_rank == 1 and a.shape[1] == b.shape[-1]:
        return _rows_times(op, b, b_levels, a.T)
    # Vectors as matrices with one row or one column; the other leading axes broadcast as batches do.
    a = a[..., None, :] if a_rank == 1 else a
    b = b[..., None] if b_rank == 1 else b
    rank = max(a_rank, b_rank, 2)
    out = evaluate(op, (aligned(a, a_levels, levels, rank), aligned(b, b_levels, levels, rank)), {})
    out = out[..., 0, :] if a_rank == 1 else out
    return BatchedArray(out[..., 0] if b_rank == 1 else out, levels)


def _rows_times(op: Op, rows: Array, levels: Levels, matrix: Array) -> BatchedArray:
    """The product of all rows of all examples with one matrix."""
    lead = rows.shape[:-1]
    out = evaluate(op, (rows.reshape((math.prod(lead), rows.shape[-1])), matrix), {})
    return BatchedArray(out.reshape((*lead, matrix.shape[1])), levels)


def einsum(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> Any:
    """A contraction with a letter for each level. None if there are not enough letters."""
    inputs, output = params["subscripts"].split("->")
    unused = [letter for letter in _LETTERS if letter not in params["subscripts"]]
    if len(unused) < len(levels):
        return None
    letters = dict(zip(levels, unused, strict=False))
    parts = [parts_of(x) for x in operands]
    terms = [
        "".join(letters[level] for level in own) + term
        for (_, own), term in zip(parts, inputs.split(","), strict=True)
    ]
    subscripts = f"{','.join(terms)}->{''.join(letters[level] for level in levels)}{output}"
    return BatchedArray(evaluate(op, [data for data, _ in parts], {**params, "subscripts": subscripts}), levels)


# Functions without a batching rule: one example after the other.

_MODES = ("warn", "silent", "error")
_warned: set[str] = set()


class _Fallback:
    """What to do about a function that has no batching rule."""

    mode = "warn"


def set_vmap_fallback(mode: str) -> str:
    """What `vmap` does with an operator that has no batching rule, and returns what it did before.

    `"warn"` runs it for one example after the other and warns once for each operator, `"silent"` does not warn, and
    `"error"` raises.

    >>> before = pb.func.set_vmap_fallback("error")
    >>> pb.func.set_vmap_fallback(before)
    'error'
    """
    if mode not in _MODES:
        raise ValueError(f'set_vmap_fallback: the mode is "warn", "silent" or "error", got {mode!r}')
    previous, _Fallback.mode = _Fallback.mode, mode
    return previous


def each_example(name: str, function: Callable[..., Any], *payloads: Any) -> Any:
    """`function` of plain arrays, applied to every example of payloads of any kind; numbers are passed as they are."""
    levels = union([levels_of(x) for x in payloads])
    if not levels:
        return function(*[bare(x) for x in payloads])
    check_at_home(levels, name)
    return one_by_one(name, function, payloads, levels)


def one_by_one(name: str, function: Callable[..., Any], operands: Any, levels: Levels) -> Any:
    """The results of `function` for every example of `levels`, stacked."""
    check_fallback(name)
    # path: one example after the other
    lead = sizes(levels)
    fixed = [bare(x) for x in operands]
    varied = {
        position: broadcast(x.data, x.levels, levels).reshape((math.prod(lead), *x.shape)) if 0 not in lead
        # No example at all: what the result would look like is learnt from one that does not exist.
        else np.zeros((1, *x.shape), x.dtype)
        for position, x in enumerate(operands)
        if levels_of(x)
    }  # fmt: skip
    count = len(next(iter(varied.values())))
    rows = [function(*[varied[k][row] if k in varied else x for k, x in enumerate(fixed)]) for row in range(count)]
    if not isinstance(rows[0], (tuple, list)):
        return _stacked(name, rows, lead, levels)
    if len({len(row) for row in rows}) > 1:
        raise unequal_shapes(name)
    return tuple([_stacked(name, list(parts), lead, levels) for parts in zip(*rows, strict=True)])


def _stacked(name: str, rows: list[Any], lead: tuple[int, ...], levels: Levels) -> BatchedArray:
    arrays: list[Array] = [as_payload(row) for row in rows]
    if any(array.shape != arrays[0].shape for array in arrays):
        raise unequal_shapes(name)
    if 0 in lead:
        return BatchedArray(np.empty((*lead, *arrays[0].shape), arrays[0].dtype), levels)
    return BatchedArray(np.stack(arrays).reshape((*lead, *arrays[0].shape)), levels)


def unequal_shapes(name: str) -> AutogradError:
    """For results that differ in shape between the examples."""
    return noted(AutogradError(
        "VMAP_DYNAMIC_SHAPE",
        f"{name} has a dynamic shape inside vmap: its results for the examples of the batch differ in shape",
        why="no array can hold results of different shapes",
        fix="use a loop in place of vmap",
    ))  # fmt: skip


def refuse_rule(name: str, why: str) -> AutogradError:
    """For what has no batching rule and cannot do without."""
    return noted(AutogradError(
        "VMAP_NO_RULE",
        f"Batching rule not implemented for {name}",
        why=why,
        fix="give the operator a batching rule",
    ))  # fmt: skip


def check_fallback(name: str) -> None:
    """Warn, or raise, that `name` is run for one example after the other, as `set_vmap_fallback` says."""
    if _Fallback.mode == "error":
        raise refuse_rule(name, 'set_vmap_fallback("error") forbids to run it for one example after the other')
    if _Fallback.mode == "warn" and name not in _warned:
        _warned.add(name)
        warn(
            f"vmap runs {name} for one example after the other, because it has no batching rule",
            PerformanceWarning,
        )


_ELEMENTWISE = frozenset({"elementwise", "special"})


def evaluate_batched(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The result of `op` on operands of which at least one is a `BatchedArray`."""
    levels: Levels = ()
    for x in operands:
        if type(x) is BatchedArray:
            if x.picked is not None:
                x.picked.check()
            if (own := x.levels) and own != levels:
                levels = union((levels, own))
    if not levels:
        return _without_levels(op, operands, params)
    if levels != current().vmaps:
        check_at_home(levels, op.name)
    try:
        out = _evaluate(op, operands, params, levels)
    except (ValueError, IndexError):
        if op.spec_rule is not None:
            op.specs_of(*map(_spec, operands), **params)  # says what is wrong in terms of one example, if it knows
        raise
    if op.is_view:
        return _linked(op, operands[0], params, out)
    if op.layout == "kernel":
        return array.as_of_one(op, operands, params, out)
    return tuple(map(array.settled, out)) if type(out) is tuple else array.settled(out)


def _evaluate(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> Any:
    if op.family in _ELEMENTWISE and len(operands) != 1:
        return _elementwise(op, operands, params, levels)
    if op.dynamic == len(operands):
        raise refuse_dynamic_shape(op.name.strip("_"))
    if op.family in _ELEMENTWISE:
        return _wrapped(evaluate(op, (operands[0].data,), params), levels)
    if op.family == "reduction":
        return _reduction(op, operands[0], params, levels)
    if 0 in sizes(levels):
        return _of_no_examples(op, operands, params, levels)
    if op.batch_rule is None:
        return _one_by_one(op, operands, params, levels)
    direct = _AT_ONCE.get(op.flow) or _AT_ONCE.get(op.name)
    found = None if direct is None else direct(op, operands, params, levels)
    return _peeled(op, operands, params, levels[-1]) if found is None else found


def _basic_index(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> BatchedArray:
    """The same slices of all examples."""
    return BatchedArray(operands[0].data[(*(slice(None),) * len(levels), *params["index"])], levels)


_AT_ONCE = {"multiplies": matmul, "contracts": einsum, "copy": array.copy, "_basic_index": _basic_index}
"""By flow or name: operators that do all levels at once in a way of their own."""


def _without_levels(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    out = evaluate(op, [x.data if type(x) is BatchedArray else x for x in operands], params)
    wrapped = tuple(map(BatchedArray, out)) if type(out) is tuple else BatchedArray(out)
    return _linked(op, operands[0], params, wrapped) if op.is_view else wrapped


def _elementwise(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> Any:
    rank = 0
    for x in operands:
        if hasattr(x, "ndim") and x.ndim > rank:
            rank = x.ndim
    arrays = []
    for x in operands:
        if type(x) is BatchedArray:
            data, own = x.data, x.levels
            if own != levels or data.ndim - len(own) != rank:
                data = aligned(data, own, levels, rank)
            arrays.append(data)
        elif hasattr(x, "ndim") and x.ndim:
            arrays.append(aligned(as_payload(x), (), levels, rank))
        else:
            arrays.append(x)
    return _wrapped(evaluate(op, arrays, params), levels)


def aligned_values(*payloads: Any) -> list[Any]:
    """The arrays behind payloads and numbers, with axes for all examples, so that they broadcast against each other."""
    return _aligned(*payloads)[0]


def across_examples(function: Callable[..., Any], *payloads: Any) -> Any:
    """A function of arrays that works element by element and may add axes at the end, on all examples at once."""
    arrays, levels = _aligned(*payloads)
    out = function(*arrays)
    return _wrapped(out, levels) if levels else out


def _aligned(*payloads: Any) -> tuple[list[Any], Levels]:
    parts = [parts_of(x) for x in payloads]
    levels = union([own for _, own in parts])
    rank = max(data.ndim - len(own) for data, own in parts)
    return [aligned(data, own, levels, rank) for data, own in parts], levels


def _reduction(op: Op, x: BatchedArray, params: dict[str, Any], levels: Levels) -> Any:
    shifted = tuple([axis + len(levels) for axis in params["axis"]])
    return _wrapped(evaluate(op, (x.data,), {**params, "axis": shifted}), levels)


def _wrapped(out: Any, levels: Levels) -> Any:
    if type(out) is tuple:
        return tuple([BatchedArray(part, levels) for part in out])
    return BatchedArray(out, levels)


# One level after the other.


def _peeled(op: Op, operands: Any, params: dict[str, Any], level: VmapLevel) -> Any:
    assert op.batch_rule is not None
    out = op.batch_rule(*[_lowered(x, level) for x in operands], **params)
    if isinstance(out, (tuple, list)):
        return tuple([_raised(op, part, level) for part in out])
    return _raised(op, out, level)


def _lowered(x: Any, level: VmapLevel) -> Any:
    """An operand with the axis of `level`, its newest level or newer, as its first axis."""
    if type(x) is BatchedArray:
        data, own = x.data, x.levels
        if own and own[-1] is level:
            own = own[:-1]
        else:
            data = broadcast(data, own, (*own, level))
        return BatchedArray(data, own) if own else data
    if hasattr(x, "ndim"):
        return np.broadcast_to(x, (level.size, *x.shape))
    return x


def _raised(op: Op, out: Any, level: VmapLevel) -> BatchedArray:
    """A result whose first axis is that of `level`."""
    data, older = (out.data, out.levels) if type(out) is BatchedArray else (as_payload(out), ())
    if data.ndim <= len(older) or data.shape[len(older)] != level.size:
        raise InternalError(
            f"the batching rule of {op.name} returned {data.dtype}{list(data.shape)} for a batch of {level.size}"
        )
    return BatchedArray(data, (*older, level))


def _of_no_examples(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> Any:
    """The result where a level has length 0: it has a shape, and no values."""
    specs = op.specs_of(*map(_spec, operands), **params)
    lead = sizes(levels)

    def made(spec: Spec) -> BatchedArray:
        return BatchedArray(np.empty((*lead, *spec.shape), spec.dtype), levels)

    return tuple(map(made, specs)) if isinstance(specs, (tuple, list)) else made(specs)


def _spec(x: Any) -> Any:
    return spec_for(x.shape, x.dtype) if hasattr(x, "shape") else x


def _one_by_one(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> Any:
    if op.is_view:
        raise refuse_rule(op.name, "a view of every example cannot be made one by one")
    return one_by_one(op.name, lambda *example: evaluate(op, example, params), operands, levels)


# Views know what they are views of.


def _linked(op: Op, source: BatchedArray, params: dict[str, Any], out: Any) -> Any:
    if type(out) is tuple:
        return tuple([_link(op, source, params, part, index) for index, part in enumerate(out)])
    return _link(op, source, params, out, None)


def _link(op: Op, source: BatchedArray, params: dict[str, Any], out: BatchedArray, index: int | None) -> BatchedArray:
    if op.may_copy and out.size and not np.may_share_memory(out.data, source.data):
        return out
    return BatchedArray(
        out.data, out.levels, parent=source, replay=functools.partial(_replay, op=op, params=params, index=index)
    )


def _replay(parent: BatchedArray, op: Op, params: dict[str, Any], index: int | None) -> Any:
    # The view may have been taken inside a vmap that has ended, on the way to what that returned.
    with changed(vmaps=union((current().vmaps, parent.levels))):
        out = evaluate_batched(op, (parent,), params)
    return out if index is None else out[index]
