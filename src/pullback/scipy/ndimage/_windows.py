"""Filters that choose from the window around each element, and filters whose function is the user's.

Which element is chosen is a constant: the derivative is 1 for that one and 0 for the others. Of equal elements it is
the first of the window, in row-major order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.operators.images.windows import offsets, places_around, window, window_choice
from pullback.scipy._arrays import as_output, ascending_axes, chosen_axes, declare_arrays, floating, per_axis, root
from pullback.scipy._surface import Call, declare, joined, numbers
from pullback.tensors.tensor import Tensor


class Window:
    """Where a window lies around its place: its size along every axis, which of its places count, and its origin."""

    def __init__(self, ndim: int, axes: Any, size: Any, footprint: Any, origin: Any) -> None:
        chosen = ascending_axes(axes, ndim)
        if footprint is None:
            if size is None:
                raise RuntimeError("no footprint or filter size provided")
            footprint = np.ones(tuple(int(n) for n in per_axis(size, len(chosen))), dtype=bool)
        footprint = np.asarray(numbers(footprint), dtype=bool)
        if footprint.ndim != len(chosen) or not footprint.size:
            raise RuntimeError("footprint array has incorrect shape.")
        self.others = [axis for axis in range(ndim) if axis not in chosen]
        self.footprint = self.placed(footprint)
        self.origin = [0] * ndim
        for axis, at in zip(chosen, per_axis(origin, len(chosen))):
            self.origin[axis] = int(at)
        self.size = self.footprint.shape
        for length, at in zip(self.size, self.origin):
            if not 0 <= length // 2 + at < max(length, 1):
                raise ValueError("invalid origin")
        self.count = int(self.footprint.sum())

    def placed(self, values: Any) -> Any:
        """What belongs to the places of the window, with all axes of the image."""
        for axis in self.others:
            values = (pb if isinstance(values, Tensor) else np).expand_dims(values, axis)
        return values

    def turned(self) -> None:
        """Let the window be seen from its elements, as dilation does."""
        self.footprint = np.flip(self.footprint)
        self.origin = [-at - (length % 2 == 0) for at, length in zip(self.origin, self.size)]

    @property
    def options(self) -> dict[str, Any]:
        return {
            "footprint": tuple(self.footprint.reshape(-1).tolist()), "size": self.size, "origin": tuple(self.origin),
        }  # fmt: skip


def _read(x: Tensor, place: Any, cval: Any) -> Any:
    """Elements of an image by their numbers, `cval` for -1."""
    values = pb.take(x.reshape(-1), pb.maximum(place, 0))
    if isinstance(cval, Tensor) or bool((numbers(place) < 0).any() if isinstance(place, np.ndarray) else True):
        values = pb.where(place < 0, cval, values)
    return values


def _chosen(x: Tensor, rank: int, around: Window, mode: str, cval: Any, heights: Any = None) -> Any:
    plain = pb.stop_gradient(x)
    fill = pb.astype(pb.stop_gradient(joined(cval)), x.dtype)
    added = np.zeros(around.count, x.dtype) if heights is None else pb.stop_gradient(heights)
    place, which = window_choice(plain, added, fill, rank=rank, mode=mode, **around.options)
    out = _read(x, place, cval) if "constant" in mode else pb.take(x.reshape(-1), place)
    return out if heights is None else out + pb.take(heights, which)


def _real(call: Call) -> Tensor:
    x = floating(call, call["input"], "an image")
    if x.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    return x


def _extreme(x: Tensor, rank: int, around: Window, modes: list[str], cval: Any, heights: Any = None) -> Any:
    """The smallest or largest; of a full window axis by axis, the last first, so that the first of equals is chosen."""
    if heights is not None or not around.footprint.all():
        if len(set(modes)) > 1:
            raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
        return _chosen(x, rank, around, modes[0], cval, heights)
    for axis in range(x.ndim - 1, -1, -1):
        if around.size[axis] > 1:
            line = Window(x.ndim, (axis,), around.size[axis], None, around.origin[axis])
            x = _chosen(x, rank, line, modes[axis], cval)
    return x


def _modes(mode: Any, axes: Any, ndim: int) -> list[str]:
    """The mode along every axis of the image."""
    chosen = chosen_axes(axes, ndim)
    known = per_axis(mode, len(chosen))
    found = [known[0] if known else "reflect"] * ndim
    for axis, each in zip(chosen, known):
        found[axis] = each
    return found


@declare_arrays(
    "ndimage.minimum_filter", "ndimage.maximum_filter", "ndimage.minimum_filter1d", "ndimage.maximum_filter1d",
    kind="P", by="input, cval",
)  # fmt: skip
def _extremes(call: Call) -> Any:
    x = _real(call)
    rank = 0 if ".minimum" in call.name else -1
    if call.name.endswith("1d"):
        around = Window(x.ndim, (call["axis"],), (call["size"],), None, call["origin"])
        modes = [call["mode"]] * x.ndim
    else:
        around = Window(x.ndim, call["axes"], call["size"], call["footprint"], call["origin"])
        modes = _modes(call["mode"], call["axes"], x.ndim)
    return as_output(call, _extreme(x, rank, around, modes, call["cval"]))


@declare_arrays(
    "ndimage.rank_filter", "ndimage.median_filter", "ndimage.percentile_filter", kind="P", by="input, cval"
)
def _ranks(call: Call) -> Any:
    x = _real(call)
    around = Window(x.ndim, call["axes"], call["size"], call["footprint"], call["origin"])
    if call.name.endswith("rank_filter"):
        rank = int(numbers(call["rank"]))
        rank = rank + around.count if rank < 0 else rank
    elif call.name.endswith("median_filter"):
        rank = around.count // 2
    else:
        percentile = float(numbers(call["percentile"]))
        percentile = percentile + 100.0 if percentile < 0 else percentile
        if not 0 <= percentile <= 100:
            raise RuntimeError("invalid percentile")
        rank = around.count - 1 if percentile == 100.0 else int(float(around.count) * percentile / 100.0)
    if not 0 <= rank < around.count:
        raise RuntimeError("rank not within filter footprint size")
    modes = _modes(call["mode"], call["axes"], x.ndim)
    if rank in (0, around.count - 1):
        return as_output(call, _extreme(x, 0 if rank == 0 else -1, around, modes, call["cval"]))
    return as_output(call, _chosen(x, rank, around, modes[0], call["cval"]))


# Morphology.


def _eroded(call: Call, x: Tensor, dilates: bool) -> Any:
    structure, footprint, size = call["structure"], call["footprint"], call["size"]
    if structure is not None:
        structure = joined(structure) * 1.0
        footprint = np.ones(tuple(structure.shape), dtype=bool) if footprint is None else footprint
    around = Window(x.ndim, call["axes"], size, footprint, call["origin"])
    heights = None
    if structure is not None:
        structure = around.placed(structure)
    if dilates:
        around.turned()
        structure = None if structure is None else pb.flip(structure)
    if structure is not None:
        counted = np.flatnonzero(around.footprint)
        heights = pb.take(structure.reshape(-1), counted)
        heights = pb.astype(heights if dilates else -heights, x.dtype)
    return _extreme(x, -1 if dilates else 0, around, _modes(call["mode"], call["axes"], x.ndim), call["cval"], heights)


def _morphology(name: str, function: Callable[[Call, Tensor], Any]) -> None:
    declare_arrays(f"ndimage.{name}", kind="P", by="input, structure, cval")(
        lambda call: as_output(call, function(call, _real(call)))
    )


def _opened(call: Call, x: Tensor) -> Any:
    return _eroded(call, _eroded(call, x, False), True)


def _closed(call: Call, x: Tensor) -> Any:
    return _eroded(call, _eroded(call, x, True), False)


_morphology("grey_erosion", lambda call, x: _eroded(call, x, False))
_morphology("grey_dilation", lambda call, x: _eroded(call, x, True))
_morphology("grey_opening", _opened)
_morphology("grey_closing", _closed)
_morphology("morphological_gradient", lambda call, x: _eroded(call, x, True) - _eroded(call, x, False))
_morphology("morphological_laplace", lambda call, x: _eroded(call, x, True) + _eroded(call, x, False) - x - x)
_morphology("white_tophat", lambda call, x: x - _opened(call, x))
_morphology("black_tophat", lambda call, x: _closed(call, x) - x)


# Functions of the user.


@declare("ndimage.generic_filter", kind="C", by="input, cval, what the function takes from anywhere")
def _generic_filter(call: Call) -> Any:
    x = floating(call, call["input"], "an image")
    around = Window(x.ndim, call["axes"], call["size"], call["footprint"], call["origin"])
    shape = tuple(x.shape)
    seen = places_around(shape, around.size, tuple(around.origin), call["mode"])
    places = np.stack([
        window(seen, each, shape).reshape(-1) for each in offsets(around.options["footprint"], around.size)
    ], axis=-1)  # fmt: skip
    rows = _read(x, places, call["cval"])
    more, keywords = call["extra_arguments"], call["extra_keywords"] or {}
    made = [joined(call["function"](rows[k], *more, **keywords)) for k in range(places.shape[0])]
    return as_output(call, pb.astype(pb.stack(made).reshape(shape), x.dtype))


def _along_each(call: Call, derivative: Callable[..., Any]) -> list[Any]:
    x = floating(call, call["input"], "an image")
    axes = chosen_axes(call["axes"], x.ndim)
    more, keywords = call["extra_arguments"], call["extra_keywords"] or {}
    modes = per_axis(call["mode"], len(axes))
    return [derivative(x, axis, x.dtype, mode, call["cval"], *more, **keywords) for axis, mode in zip(axes, modes)]


@declare("ndimage.generic_laplace", kind="C", by="input, what the function takes from anywhere")
def _generic_laplace(call: Call) -> Any:
    return as_output(call, _total(_along_each(call, call["derivative2"])))


@declare("ndimage.generic_gradient_magnitude", kind="C", by="input, what the function takes from anywhere")
def _generic_gradient_magnitude(call: Call) -> Any:
    return as_output(call, root(_total([each * each for each in _along_each(call, call["derivative"])])))


def _total(parts: list[Any]) -> Any:
    return list(itertools.accumulate(parts, lambda a, b: a + b))[-1]
