"""What lies beyond the borders of an image, as `scipy.ndimage` names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Array = Any  # an ndarray; NumPy's types do not know that an index may be a tuple of slices

_PAD = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap",
    "grid-wrap": "wrap",
}  # fmt: skip
MODES = (*_PAD, "constant", "grid-constant")


def positions(length: int, before: int, after: int, mode: str) -> Array:
    """Which element is seen at every place from `-before` up to `length + after`; -1 where there is none."""
    inside = np.arange(length)
    if mode in _PAD:
        return np.pad(inside, (before, after), mode=_PAD[mode])  # type: ignore[call-overload]
    return np.pad(inside, (before, after), constant_values=-1)


def extended(x: Array, axis: int, before: int, after: int, mode: str, fill: Any = 0) -> Array:
    """`x` with its border along an axis, `fill` where there is no element."""
    seen = positions(x.shape[axis], before, after, mode)
    out = np.take(x, seen, axis)
    if mode not in _PAD:
        np.moveaxis(out, axis, 0)[seen < 0] = fill
    return out


def folded(x: Array, axis: int, length: int, before: int, mode: str) -> Array:
    """The adjoint of `extended`: what lies in the border is added to the elements that are seen there."""
    rows = np.moveaxis(x, axis, 0)
    out = rows[before : before + length].copy()
    if mode in _PAD:
        seen = positions(length, before, rows.shape[0] - before - length, mode)
        for k in (*range(before), *range(before + length, rows.shape[0])):
            out[seen[k]] += rows[k]
    return np.moveaxis(out, 0, axis)


def examples(function: Callable[..., Any], batch: tuple[int, ...], *operands: tuple[Array, int]) -> Array:
    """`function` of every example of a batch. Operands are given with the number of axes that an example has."""
    spread = [np.broadcast_to(x, batch + x.shape[x.ndim - ndim :]) for x, ndim in operands]
    made = [function(*(x[place] for x in spread)) for place in _places(batch)]
    return np.stack(made).reshape(batch + made[0].shape)


def _places(batch: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return iter(np.ndindex(batch))


def first_of_equal(x: Array, batch: int) -> Array | None:
    """The example that all of a batch are, or None if they may differ: `vmap` repeats what has no examples."""
    if all(length == 1 or stride == 0 for length, stride in zip(x.shape[:batch], x.strides[:batch], strict=True)):
        return x[(0,) * batch] if 0 not in x.shape[:batch] else None
    return None
