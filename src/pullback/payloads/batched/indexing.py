"""`payload[index]` and `payload[index] = value` for rules and the engine: a plain index, or arrays of any payload."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.declare.op import registry
from pullback.errors import AutogradError
from pullback.payloads.batched.array import (
    BatchedArray,
    Levels,
    aligned,
    in_own_memory,
    levels_of,
    parts_of,
    sizes,
    union,
)
from pullback.payloads.refusals import refuse_dynamic_shape
from pullback.payloads.wrappers import arrays_of, is_wrapper

# Writing into payloads, and making room for what is written.

class NeedsWidening(Exception):
    """A value differs between examples for which the memory to be written has one place only. `levels` says which."""

    def __init__(self, levels: Levels) -> None:
        super().__init__(levels)
        self.levels = levels


def assign(target: Any, value: Any) -> None:
    """Write `value`, a payload or a number that broadcasts to the target's shape, into the memory of `target`.

    Raises NeedsWidening, with nothing written, if the value has levels that the target lacks.
    """
    store = getattr(type(target), "assign_payload", None) or getattr(type(value), "assign_payload", None)
    if store is not None:
        store(target, value)
        return
    assign_batches(target, value)


def assign_batches(target: Any, value: Any) -> None:
    """The same for targets that are arrays or batches."""
    own = levels_of(target)
    missing = tuple([level for level in levels_of(value) if level not in own])
    if missing:
        raise NeedsWidening(missing)
    if own and (
        target.root.is_spread
        or (target.data.size and any(not s and n > 1 for s, n in zip(target.data.strides, sizes(own), strict=False)))
    ):
        _give_memory(target)
    written = parts_of(target)[0]
    if not isinstance(value, (int, float, complex)):
        data, levels = parts_of(value)
        value = aligned(data, levels, own, target.ndim) if own else data
        if value.ndim and np.may_share_memory(written, value):
            value = value.copy()  # NumPy gets two overlapping vectors of different strides wrong: a[1] = a[:, 2]
    np.copyto(written, value, casting="unsafe")


def widen_in_place(payload: BatchedArray, levels: Levels) -> None:
    """Give the memory behind `payload` room for every example of `levels`. All views of that memory follow."""
    if is_wrapper(payload):
        for part in arrays_of(payload):
            if type(part) is BatchedArray:
                widen_in_place(part, levels)
        return
    root = payload.root
    missing = tuple([level for level in levels if level not in payload.levels])
    if missing:
        _move(root, union([root.levels, missing]))


def _give_memory(target: BatchedArray) -> None:
    root = target.root
    if not root.is_spread:
        raise AutogradError(
            "OVERLAP_WRITE",
            f"an expanded tensor {describe(target.shape, target.dtype)} is being written in place, and its examples "
            "refer to a single memory location",
            why="the result would depend on the order of the writes",
            fix="write to a clone() of it",
        )
    _move(root, root.levels)


def _move(root: BatchedArray, levels: Levels) -> None:
    root.replace_memory(in_own_memory(root.data, root.levels, levels, lambda: root.strides), levels)
    root.is_spread = False


def read(payload: Any, index: Any) -> Any:
    """`payload[index]`: a view for a basic index, a copy for an index with arrays."""
    parts = index if type(index) is tuple else (index,)
    if not any(_is_array(part) for part in parts):
        return registry["_basic_index"].call(payload, index=_with_ellipsis(parts))
    arrays, template = _arrays_and_template(parts)
    return registry["_index"].call(payload, *arrays, template=template, distinct=False)


def store(payload: Any, index: Any, value: Any) -> None:
    """`payload[index] = value`. The memory is widened if the value differs between more examples than it."""
    parts = index if type(index) is tuple else (index,)
    if not any(_is_array(part) for part in parts):
        target = payload if index is Ellipsis else read(payload, index)
        assign_widening(target, value)
        return
    arrays, template = _arrays_and_template(parts)
    params = {"template": template, "accumulate": False, "distinct": False}
    assign_widening(payload, registry["_index_put"].call(payload, value, *arrays, **params))


def assign_widening(target: Any, value: Any) -> None:
    """Write a value, and make room for it first if need be."""
    try:
        assign(target, value)
    except NeedsWidening as needs:
        widen_in_place(target, needs.levels)
        assign(target, value)


def _is_array(part: Any) -> bool:
    return isinstance(part, list) or (hasattr(part, "ndim") and not _is_integer(part))


def _is_integer(part: Any) -> bool:
    return isinstance(part, np.integer) or (type(part) is np.ndarray and part.ndim == 0 and part.dtype.kind in "iu")


def _with_ellipsis(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    plain = tuple([int(part) if _is_integer(part) else part for part in parts])
    # Without it NumPy gives a scalar in place of a view without axes.
    return plain if any(part is Ellipsis for part in plain) else (*plain, ...)


def _arrays_and_template(parts: tuple[Any, ...]) -> tuple[list[Any], tuple[Any, ...]]:
    arrays: list[Any] = []
    template: list[Any] = []
    for part in parts:
        if not _is_array(part):
            template.append(int(part) if _is_integer(part) else part)
            continue
        part = part if hasattr(type(part), "evaluate_op") else np.asarray(part)
        if part.dtype != np.bool_:
            found: tuple[Any, ...] = (part,)
        elif type(part) is BatchedArray and part.levels:
            raise refuse_dynamic_shape("selection with a truth array")
        else:
            found = np.asarray(part).nonzero()
        arrays.extend(found)
        template.extend("array" for _ in found)
    return arrays, tuple(template)
