"""`_max_pool` as `expand` writes it out: every place of the window is compared with the best one before it.

Only windows that stay inside of the array and have few elements are written out; of equal elements the first one wins,
and of NaNs too, as in the kernel.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from pullback.compiler.passes.arrangements import sliced
from pullback.graph.ir import Node, Value
from pullback.graph.types import array_type

_MOST_PLACES = 25


def can_be_compared(node: Node) -> bool:
    """Do all windows stay inside, and are they small?"""
    attrs = node.attrs
    if type(node.operands[0]) is not Value or any(value.type.strides is not None for value in node.results):
        return False
    reach = zip(attrs["positions"], attrs["window"], attrs["stride"], attrs["dilation"], attrs["lengths"], strict=True)
    is_inside = not any(attrs["padding"]) and all(s * (q - 1) + d * (k - 1) < n for q, k, s, d, n in reach)
    return is_inside and math.prod(attrs["window"]) <= _MOST_PLACES and node.results[0].type.size > 0


def compared(add: Any, node: Node) -> tuple[Value, Value]:
    """The largest elements, and their places."""
    (x,), attrs = node.operands, node.attrs
    best_type, index_type = (value.type for value in node.results)
    answer = array_type(best_type.shape, np.dtype(np.bool_))
    starts = add.constant(_starts(attrs))
    best, places = None, None
    for place in itertools.product(*map(range, attrs["window"])):
        new = sliced(add, x, (..., *_reach(place, attrs)))
        offset = _counted([k * d for k, d in zip(place, attrs["dilation"], strict=True)], attrs["lengths"])
        at = add("add", (starts, offset), array_type(attrs["positions"], index_type.dtype))
        if best is None:
            best = add("copy", (new,), best_type, order="C")
            places = add("add", (add("broadcast_to", (at,), _spread(at, index_type.shape), shape=index_type.shape), 0),
                         index_type)  # fmt: skip
            continue
        is_first = add("logical_and", (add("isnan", (new,), answer), add("equal", (best, best), answer)), answer)
        is_better = add("logical_or", (add("greater", (new, best), answer), is_first), answer)
        best = add("where", (is_better, new, best), best_type)
        places = add("where", (is_better, at, places), index_type)
    assert best is not None and places is not None
    return best, places


def _reach(place: tuple[int, ...], attrs: dict[str, Any]) -> tuple[slice, ...]:
    """The elements at one place of all windows."""
    axes = zip(place, attrs["dilation"], attrs["stride"], attrs["positions"], strict=True)
    return tuple([slice(d * k, d * k + s * (q - 1) + 1, s) for k, d, s, q in axes])


def _counted(index: Any, lengths: tuple[int, ...]) -> Any:
    """A place in row-major order."""
    found = 0
    for number, length in zip(index, lengths, strict=True):
        found = found * length + number
    return found


def _starts(attrs: dict[str, Any]) -> Any:
    """Where windows begin, in row-major order."""
    rank = len(attrs["positions"])
    axes = [
        (np.arange(q) * s).reshape((-1,) + (1,) * (rank - axis - 1))
        for axis, (q, s) in enumerate(zip(attrs["positions"], attrs["stride"], strict=True))
    ]
    made = np.ascontiguousarray(np.broadcast_to(_counted(axes, attrs["lengths"]), attrs["positions"]), np.int64)
    made.flags.writeable = False
    return made


def _spread(value: Value, shape: tuple[int, ...]) -> Any:
    steps = (0,) * (len(shape) - value.type.ndim) + value.type.byte_strides
    return array_type(shape, value.type.dtype, steps)
