"""Functions without a batching rule: one example after the other."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.errors import AutogradError, PerformanceWarning
from pullback.payloads.alignment import Array, Levels, broadcast, sizes, union
from pullback.payloads.batched_array import BatchedArray, as_payload, levels_of, plain_array
from pullback.payloads.refusals import check_at_home

_MODES = ("warn", "silent", "error")
_warned: set[str] = set()


class _Fallback:
    """What to do about a function that has no batching rule."""

    mode = "warn"


def set_vmap_fallback(mode: str) -> str:
    """What `vmap` does with an operator that has no batching rule, and returns what it did before.

    `"warn"` runs it for one example after the other and warns once for each operator, `"silent"` does not warn, and
    `"error"` raises.
    """
    if mode not in _MODES:
        raise ValueError(f'set_vmap_fallback: the mode is "warn", "silent" or "error", got {mode!r}')
    previous, _Fallback.mode = _Fallback.mode, mode
    return previous


def each_example(name: str, function: Callable[..., Any], *payloads: Any) -> Any:
    """`function` of plain arrays, applied to every example of payloads of any kind; numbers are passed as they are."""
    levels = union([levels_of(x) for x in payloads])
    if not levels:
        return function(*[x if plain_array(x) is None else plain_array(x) for x in payloads])
    check_at_home(levels, name)
    return one_by_one(name, function, payloads, levels)


def one_by_one(name: str, function: Callable[..., Any], operands: Any, levels: Levels) -> Any:
    """The results of `function` for every example of `levels`, stacked."""
    check_fallback(name)
    lead = sizes(levels)
    fixed = [x if plain_array(x) is None else plain_array(x) for x in operands]
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
    return AutogradError(
        "VMAP_DYNAMIC_SHAPE",
        f"{name} has a dynamic shape inside vmap: its results for the examples of the batch differ in shape",
        why="no array can hold results of different shapes",
        fix="use a loop in place of vmap",
    )


def refuse_rule(name: str, why: str) -> AutogradError:
    """For what has no batching rule and can not do without."""
    return AutogradError(
        "VMAP_NO_RULE",
        f"Batching rule not implemented for {name}",
        why=why,
        fix="give the operator a batching rule",
    )


def check_fallback(name: str) -> None:
    """Warn, or raise, that `name` is run for one example after the other, as `set_vmap_fallback` says."""
    if _Fallback.mode == "error":
        raise refuse_rule(name, 'set_vmap_fallback("error") forbids to run it for one example after the other')
    if _Fallback.mode == "warn" and name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"vmap runs {name} for one example after the other, because it has no batching rule",
            PerformanceWarning,
            stacklevel=2,
        )
