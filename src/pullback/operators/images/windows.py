"""Which element of the window around each place a filter chooses: the smallest, the largest, or one by its rank.

The choice is a constant, so that the derivative of a filter is that of reading the elements that it chose. Of equal
elements the first of the window is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.images.borders import Array, examples, extended


def offsets(footprint: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    """The places of a window that belong to it, a row each, in row-major order; `footprint` has truth values flat."""
    return np.argwhere(np.array(footprint, dtype=bool).reshape(shape))


def _bordered(x: Array, size: tuple[int, ...], origin: tuple[int, ...], mode: str, fill: Any) -> Array:
    first = x.ndim - len(size)
    for k, (length, at) in enumerate(zip(size, origin, strict=True)):
        before = length // 2 + at
        x = extended(x, first + k, before, length - 1 - before, mode, fill)
    return x


def places_around(shape: tuple[int, ...], size: tuple[int, ...], origin: tuple[int, ...], mode: str) -> Array:
    """The numbers of the elements of an image, with its borders; -1 where there is none."""
    return _bordered(np.arange(int(np.prod(shape))).reshape(shape), size, origin, mode, -1)


def window(x: Array, offset: Array, shape: tuple[int, ...]) -> Array:
    """What is seen through one element of a window, from an image with its borders."""
    return x[(..., *(slice(start, start + length) for start, length in zip(offset, shape, strict=True)))]


@primitive(name="_window_choice", outputs=("place", "which"))
def window_choice(x, heights, fill, *, rank, footprint, size, mode, origin):
    """The element that is chosen from the window around each: its number in the image, or -1, and in the window.

    `heights` are added to the elements of a window before. Ranks count from the smallest; -1 is the largest. Axes of
    `x` before those of the window are examples, which have heights and `fill` of their own.
    """
    if x.dtype.kind == "c":
        raise TypeError("complex numbers have no order")
    ndim = len(size)
    shape, batch = x.shape[x.ndim - ndim :], x.shape[: x.ndim - ndim]
    known = offsets(footprint, size)
    if x.size == 0:
        return np.zeros(x.shape, np.int64), np.zeros(x.shape, np.int64)
    if batch:
        both = examples(
            lambda x, heights, fill: np.stack(
                window_choice.kernel(
                    x, heights, fill, rank=rank, footprint=footprint, size=size, mode=mode, origin=origin
                )
            ),
            batch, (x, ndim), (heights, 1), (fill, 0),
        )  # fmt: skip
        return both[..., 0, *(slice(None),) * ndim], both[..., 1, *(slice(None),) * ndim]
    seen = _bordered(x, size, origin, mode, fill)
    which = np.zeros(shape, np.int64)
    if rank in (0, -1):
        better = np.less if rank == 0 else np.greater
        best = window(seen, known[0], shape) + heights[0]
        for k in range(1, len(known)):
            other = window(seen, known[k], shape) + heights[k]
            is_better = better(other, best)
            which[is_better] = k
            best = np.where(is_better, other, best)
    else:
        of = np.array(footprint, dtype=bool).reshape(size)
        value = import_module("scipy.ndimage").rank_filter(
            x, rank, footprint=of, mode=mode, cval=float(fill), origin=origin
        )
        for k in range(len(known) - 1, -1, -1):
            which[window(seen, known[k], shape) == value] = k
    numbers = places_around(shape, size, origin, mode)
    around = tuple(np.indices(shape) + np.moveaxis(known[which], -1, 0))
    return numbers[around], which


@window_choice.spec
def window_choice_spec(x: Spec, heights: Spec, fill: Spec, **params: Any) -> tuple[Spec, Spec]:
    return spec_for(x.shape, np.dtype(np.int64)), spec_for(x.shape, np.dtype(np.int64))


@window_choice.batch
def window_choice_batch(x, heights, fill, **params):
    return window_choice(x, heights, fill, **params)


window_choice.not_differentiable("returns positions")


@window_choice.samples
def window_choice_samples(make: Maker) -> Iterator[Sample]:
    def params(rank: int, *size: int, mode: str = "reflect", footprint: Any = None) -> dict[str, Any]:
        full = (True,) * int(np.prod(size)) if footprint is None else footprint
        return {"rank": rank, "footprint": full, "size": size, "mode": mode, "origin": (0,) * len(size)}

    def operands(x: Array, count: int) -> tuple[Any, ...]:
        batch = x.shape[:1] if x.ndim == 3 else ()
        return x, np.zeros((*batch, count), x.dtype), np.zeros(batch, x.dtype)

    yield Sample(operands(make((5,)), 3), params(0, 3), "smallest")
    yield Sample(operands(make((5,)), 4), params(-1, 4, mode="constant"), "largest")
    yield Sample(operands(make((3, 4)), 9), params(4, 3, 3, mode="mirror"), "middle")
    yield Sample(operands(make((3, 4)), 3), params(1, 2, 2, footprint=(True, False, True, True)), "footprint")
    yield Sample(operands(make((2, 3, 4)), 4), params(1, 2, 2), "batch")
    yield Sample(operands(make((4,), np.float32), 3), params(1, 3), "float32")
    yield Sample(operands(make((0, 3)), 4), params(0, 2, 2), "empty")
    for label, values in layouts(make((3, 4))):
        yield Sample(operands(values, 4), params(0, 2, 2), label)
