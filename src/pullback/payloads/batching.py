"""Evaluate an operator on batched payloads: align the batch axes, or peel one level after the other.

Operators that work element by element, and reductions, run once on the arrays as they lie in memory, with axes of
length 1 for levels that an operand lacks. For all others the innermost level is taken off: its axis becomes the first
axis of every operand, and the operator's batching rule is called, whose own operators meet the remaining levels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.core.state import VmapLevel, changed, current
from pullback.declare.op import Op
from pullback.errors import InternalError
from pullback.payloads import contractions, copying
from pullback.payloads.alignment import Levels, aligned, broadcast, sizes, union
from pullback.payloads.batched_array import BatchedArray, as_payload, parts_of
from pullback.payloads.evaluate import evaluate
from pullback.payloads.fallback import one_by_one, refuse_rule
from pullback.payloads.refusals import check_at_home, refuse_dynamic_shape

_ELEMENTWISE = frozenset({"elementwise", "special"})
_DYNAMIC = frozenset({"_nonzero"})


def evaluate_batched(op: Op, operands: Any, params: dict[str, Any]) -> Any:
    """The result of `op` on operands of which at least one is a `BatchedArray`."""
    levels: Levels = ()
    for x in operands:
        if type(x) is BatchedArray and (own := x.levels) and own != levels:
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
    return _linked(op, operands[0], params, out) if op.is_view else out


def _evaluate(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> Any:
    if op.family in _ELEMENTWISE and len(operands) != 1:
        return _elementwise(op, operands, params, levels)
    if op.name in _DYNAMIC or (op.name == "where" and len(operands) == 1):
        raise refuse_dynamic_shape(op.name.strip("_"))
    if op.family in _ELEMENTWISE:
        return _wrapped(evaluate(op, (operands[0].data,), params), levels)
    if op.family == "reduction":
        return _reduction(op, operands[0], params, levels)
    if 0 in sizes(levels):
        return _of_no_examples(op, operands, params, levels)
    if op.batch_rule is None:
        return _one_by_one(op, operands, params, levels)
    direct = _AT_ONCE.get(op.name)
    found = None if direct is None else direct(op, operands, params, levels)
    return _peeled(op, operands, params, levels[-1]) if found is None else found


def _basic_index(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> BatchedArray:
    """The same slices of all examples."""
    return BatchedArray(operands[0].data[(*(slice(None),) * len(levels), *params["index"])], levels)


# Operators that do all levels at once in a way of their own.
_AT_ONCE = {
    "matmul": contractions.matmul, "einsum": contractions.einsum, "copy": copying.copy, "_basic_index": _basic_index,
}  # fmt: skip


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
        raise refuse_rule(op.name, "a view of every example can not be made one by one")
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
