"""`payload[index]` and `payload[index] = value` for rules and the engine: a plain index, or arrays of any payload."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.op import registry
from pullback.payloads.batched_array import BatchedArray
from pullback.payloads.refusals import refuse_dynamic_shape
from pullback.payloads.writing import NeedsWidening, assign, widen_in_place


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
