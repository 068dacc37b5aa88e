"""Elements reversed as a view, and rolled, tiled and repeated as copies."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import (
    merge_spellings,
    normalize_axes,
    normalize_axis_index,
    normalize_axis_tuple,
    normalize_shape,
)
from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive, view
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arguments import as_array, constant, on_arrays, one_sequence, plain
from pullback.operators.arrays.joining import join
from pullback.operators.arrays.movement import broadcast_to, swapaxes
from pullback.operators.arrays.reshaping import ravel, reshape
from pullback.operators.elementwise.casting import copy

# Reversing.


@view(batch="shifted")
def flip(x, *, axis):
    """`x` with the elements along `axis` in reverse order: a view with negative strides."""
    backwards, as_is = slice(None, None, -1), slice(None)
    return x[tuple(backwards if k in axis else as_is for k in range(x.ndim)) + (...,)]


@flip.door
def flip_door(x: Any, axis: Any = None, *, dim: Any = None, dims: Any = None) -> Any:
    x = as_array(x)
    axis = merge_spellings("flip: axis/dim/dims", merge_spellings("flip: axis/dim", axis, dim), dims)
    return (x,), {"axis": normalize_axes(axis, x.ndim)}


flip.shows_each_once = True


@flip.transpose
def flip_transpose(g, axis):
    return flip(g, axis=axis)


@flip.samples
def flip_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"axis": (0, 1)}, "both")
    yield Sample((make(()),), {"axis": ()}, "scalar")
    yield Sample((make((0, 2)),), {"axis": (0,)}, "empty")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"axis": (1,)}, label)


@composite
def flipud(x: Any) -> Any:
    """`x` with its first axis reversed."""
    if not x.ndim:
        raise ValueError("flipud: an array with an axis is needed, got a number")
    return flip(x, 0)


@composite
def fliplr(x: Any) -> Any:
    """`x` with its second axis reversed."""
    return flip(x, 1)


@composite
def rot90(x: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`x` rotated `k` times by 90 degrees from the first of `axes` towards the second: a view."""
    first, second = normalize_axis_tuple(axes, x.ndim)
    turns = operator.index(k) % 4
    if turns == 0:
        return reshape(x, x.shape)
    if turns == 2:
        return flip(x, (first, second))
    return swapaxes(flip(x, second), first, second) if turns == 1 else flip(swapaxes(x, first, second), second)


# Rolling and repeating: copies.


@primitive(name="_roll", torch="roll", flow="moves", batch="shifted", spec="same")
def roll_axes(x, *, shift, axis):
    """`x` with its elements moved by `shift` places along `axis`, those beyond the end coming in at the start."""
    if len(axis) != 1 or not x.size:
        return np.roll(x, shift, axis)
    (along,) = axis
    before = (slice(None),) * along
    cut = shift[0] % x.shape[along]  # so many come in at the start
    out = np.empty_like(x)
    out[(*before, slice(cut, None))] = x[(*before, slice(None, x.shape[along] - cut))]
    if cut:
        out[(*before, slice(None, cut))] = x[(*before, slice(-cut, None))]
    return out


@roll_axes.expand(in_rows=True)
def roll_parts(x, *, shift, axis):
    rolled = x
    for amount, k in zip(shift, axis, strict=True):
        cut = -amount % x.shape[k]
        if cut:
            parts = [rolled[(*(slice(None),) * k, part, ...)] for part in (slice(cut, None), slice(None, cut))]
            rolled = join(*parts, axis=k)
    return copy(x, order="C") if rolled is x else rolled


@roll_axes.transpose
def roll_transpose(g, shift, axis):
    return roll_axes(g, shift=tuple(-amount for amount in shift), axis=axis)


@roll_axes.samples
def roll_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"shift": (1, -2), "axis": (0, 1)}, "both")
    yield Sample((make((5,)),), {"shift": (7,), "axis": (0,)}, "around")
    yield Sample((make((0, 2)),), {"shift": (1,), "axis": (0,)}, "empty")


@composite
@on_arrays
def roll(x: Any, shift: Any, axis: Any = None, *, dims: Any = None) -> Any:
    """`x` with its elements moved by `shift` places along `axis`; without an axis, in row-major order."""
    axis = merge_spellings("roll: axis/dims", axis, dims)
    shift = normalize_shape(shift if np.ndim(shift) else operator.index(shift))
    if axis is None and x.ndim == 1:
        axis = 0
    if axis is None:
        return reshape(roll_axes(ravel(x), shift=shift, axis=(0,)), x.shape)
    axes = normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    pairs = list(np.broadcast(shift, axes))
    return roll_axes(x, shift=tuple(int(amount) for amount, _ in pairs), axis=tuple(int(k) for _, k in pairs))


@composite
@on_arrays
def tile(x: Any, *lengths: Any, reps: Any = None, dims: Any = None) -> Any:
    """Copies of `x` side by side, `reps` of them along each axis."""
    counts = normalize_shape(one_sequence("tile", lengths, merge_spellings("tile: reps/dims", reps, dims)))
    ndim = max(len(counts), x.ndim)
    counts = (1,) * (ndim - len(counts)) + counts
    shape = (1,) * (ndim - x.ndim) + tuple(x.shape)
    apart = reshape(x, tuple(length for own in shape for length in (1, own)))
    wide = broadcast_to(apart, tuple(length for pair in zip(counts, shape, strict=True) for length in pair))
    return reshape(wide.copy(order="C"), tuple(count * own for count, own in zip(counts, shape, strict=True)))


@primitive(name="_repeat", torch="repeat_interleave", flow="moves", batch="shifted")
def repeat_along(x, *, repeats, axis):
    """Each element repeated along `axis`, `repeats` times or as often as `repeats` says for its place."""
    return np.repeat(x, repeats, axis)


@primitive(name="_segment_sum", flow="collects", batch="shifted")
def segment_sum(x, *, repeats, axis):
    """Sums of consecutive stretches of `x` along `axis`, whose lengths are `repeats`."""
    counts = np.asarray(repeats)
    out = np.zeros((*x.shape[:axis], len(repeats), *x.shape[axis + 1 :]), x.dtype)
    (present,) = counts.nonzero()
    if present.size:
        starts = (np.cumsum(counts) - counts)[present]
        out[(slice(None),) * axis + (present,)] = np.add.reduceat(x, starts, axis)
    return out


@repeat_along.spec
def repeat_spec(x, *, repeats, axis):
    total = repeats * x.shape[axis] if isinstance(repeats, int) else sum(repeats)
    return spec_for((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype)


@segment_sum.spec
def segment_sum_spec(x, *, repeats, axis):
    return spec_for((*x.shape[:axis], len(repeats), *x.shape[axis + 1 :]), x.dtype)


@repeat_along.transpose
def repeat_transpose(g, x: Spec, repeats, axis):
    if not isinstance(repeats, int):
        return segment_sum(g, repeats=repeats, axis=axis)
    return g.reshape((*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :])).sum(axis=axis + 1)


@segment_sum.transpose
def segment_sum_transpose(g, repeats, axis):
    return repeat_along(g, repeats=repeats, axis=axis)


@repeat_along.samples
def repeat_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((2, 3)),), {"repeats": 2, "axis": 1}, "evenly")
    yield Sample((make((3, 2)),), {"repeats": (2, 0, 3), "axis": 0}, "unevenly")
    yield Sample((make((0, 2)),), {"repeats": 2, "axis": 0}, "empty")


@segment_sum.samples
def segment_sum_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((5, 2)),), {"repeats": (2, 0, 3), "axis": 0}, "first")
    yield Sample((make((2, 3)),), {"repeats": (0, 1, 2, 0), "axis": 1}, "last")
    yield Sample((make((0, 2)),), {"repeats": (0, 0), "axis": 0}, "empty")


@composite
def repeat(x: Any, repeats: Any, axis: Any = None, *, dim: Any = None) -> Any:
    """Each element of `x` repeated, `repeats` times or as often as an array says for its place along `axis`.

    Without an axis the elements are taken in row-major order. `tile` repeats the array as a whole.
    """
    axis = merge_spellings("repeat: axis/dim", axis, dim)
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    counts = plain("repeat", repeats)
    if counts.size == 1:
        return repeat_along(x, repeats=operator.index(counts.item()), axis=axis)
    if counts.shape != (x.shape[axis],):
        raise ValueError(f"repeat: {counts.shape} counts were given for an axis of length {x.shape[axis]}")
    return repeat_along(x, repeats=tuple(map(operator.index, counts.tolist())), axis=axis)


@composite
def repeat_interleave(x: Any, repeats: Any = None, axis: Any = None, *, output_size: int | None = None) -> Any:
    """`repeat`; of counts alone, the positions 0, 1, 2, .. each repeated as often as its count says.

    `output_size` is the length that the axis gets, to be checked.
    """
    if repeats is None:
        x, repeats, axis = constant(np.arange(x.shape[0])), x, 0
    out = repeat(x, repeats, axis)
    if output_size is not None and out.shape[0 if axis is None else axis] != output_size:
        raise ValueError(f"repeat_interleave: the result has shape {out.shape}, not {output_size} elements")
    return out


# Triangles.


@primitive(flow="moves", fresh=True)
def tril(x, *, k):
    """`x` with zeros above the `k`-th diagonal of the last two axes."""
    return np.where(_below(*x.shape[-2:], k), x, x.dtype.type(0)) if x.size < _MANY else np.tril(x, k)


@primitive(flow="moves", fresh=True)
def triu(x, *, k):
    """`x` with zeros below the `k`-th diagonal of the last two axes."""
    return np.where(_below(*x.shape[-2:], k - 1), x.dtype.type(0), x) if x.size < _MANY else np.triu(x, k)


_MANY = 1 << 14  # elements; up to here the masks of triangles are kept


@functools.lru_cache(64)
def _below(rows: int, columns: int, k: int) -> Any:
    """Which elements of a matrix are not above its `k`-th diagonal."""
    return np.tri(rows, columns, k, dtype=bool)


def _declare_triangle(op: Op) -> None:
    @op.door
    def door(x: Any, k: int = 0, *, diagonal: int | None = None) -> Any:
        x = as_array(x)
        if x.ndim < 2:
            raise ValueError(f"{op.name}: a matrix has two axes, and this array has {x.ndim}")
        return (x,), {"k": operator.index(k if diagonal is None else diagonal)}

    @op.inplace
    def write(x: Any, *, k: int) -> None:
        x[...] = op.kernel(x, k=k)

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample((make((3, 4)),), {"k": 0}, "wide")
        yield Sample((make((2, 4, 3)),), {"k": -1}, "below")
        yield Sample((make((3, 3), np.complex128),), {"k": 1}, "complex")
        yield Sample((make((0, 2)),), {"k": 0}, "empty")

    op.spec(lambda x, *, k: x)
    op.transpose(lambda g, k: op(g, k=k))
    op.batch(lambda x, *, k: op(x, k=k))


for _triangle in (tril, triu):
    _declare_triangle(_triangle)
