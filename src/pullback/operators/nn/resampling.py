"""Resampling: images of another size, images at given points, and channels rearranged into pixels."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.operators.arguments import beside
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.arrays.movement import permute_dims, swapaxes
from pullback.operators.arrays.padding import pad as pad_as_numpy
from pullback.operators.arrays.scatter import take
from pullback.operators.contraction import matmul
from pullback.operators.elementwise.arithmetic import floor, rint
from pullback.operators.elementwise.comparison import where
from pullback.operators.nn.pooling import _adaptive_avg_pool

# Another size


def _source_points(length: int, count: int, align_corners: bool, scale: float | None) -> Any:
    """Where in the input the centres of the output's pixels lie."""
    places = np.arange(count, dtype=np.float64)
    if align_corners:
        return places * ((length - 1) / (count - 1)) if count > 1 else places * 0
    step = length / count if scale is None else 1 / scale
    return (places + 0.5) * step - 0.5


def _nearest(x: Any, axis: int, count: int, exact: bool, scale: float | None) -> Any:
    length = x.shape[axis]
    step = length / count if scale is None else 1 / scale
    places = np.floor((np.arange(count) + (0.5 if exact else 0)) * step).astype(np.int64)
    return take(x, np.clip(places, 0, length - 1), axis=axis)


def _linear(x: Any, axis: int, points: Any) -> Any:
    length = x.shape[axis]
    points = np.maximum(points, 0)
    low = np.minimum(np.floor(points).astype(np.int64), length - 1)
    high = np.minimum(low + 1, length - 1)
    share = _along(points - low, axis, x)
    return take(x, low, axis=axis) * (1 - share) + take(x, high, axis=axis) * share


def _along(values: Any, axis: int, x: Any) -> Any:
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    return beside(x, values.astype(dtype).reshape((-1,) + (1,) * (x.ndim - axis - 1)))


_CUBIC = -0.75


def _near(d: Any) -> Any:
    """The cubic weight of a pixel at distance d, up to 1."""
    return ((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1


def _far(d: Any) -> Any:
    """The cubic weight of a pixel at distance d from 1 to 2."""
    return ((_CUBIC * d - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC


def _cubic(x: Any, axis: int, points: Any) -> Any:
    length = x.shape[axis]
    low = np.floor(points).astype(np.int64)
    t = points - low
    total = None
    for offset, weight in ((-1, _far(t + 1)), (0, _near(t)), (1, _near(1 - t)), (2, _far(2 - t))):
        term = take(x, np.clip(low + offset, 0, length - 1), axis=axis) * _along(weight, axis, x)
        total = term if total is None else total + term
    return total


_RANKS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


def _resized(rank: int, x: Any, size: Any, scale_factor: Any) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """The lengths of the result, and the factors that were given."""
    if (size is None) == (scale_factor is None):
        raise ValueError("nn.interpolate: give size or scale_factor")
    if size is not None:
        sizes = (size,) * rank if isinstance(size, int) else tuple(size)
        if len(sizes) != rank:
            raise ValueError(f"nn.interpolate: size has {len(sizes)} entries for {rank} axes")
        return tuple(map(int, sizes)), (None,) * rank
    factors = (scale_factor,) * rank if isinstance(scale_factor, (int, float)) else tuple(scale_factor)
    if len(factors) != rank:
        raise ValueError(f"nn.interpolate: scale_factor has {len(factors)} entries for {rank} axes")
    lengths = tuple(math.floor(n * float(f)) for n, f in zip(x.shape[2:], factors, strict=True))
    return lengths, tuple(map(float, factors))


@composite(name="nn.interpolate", aliases=("nn.upsample",))
def interpolate(
    x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool = False,
) -> Any:  # fmt: skip
    """`x` (examples, channels, then up to three axes) with these axes resized to `size` or by `scale_factor`.

    `mode` is "nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic" or "area". With `align_corners`
    the centres of the corner pixels stay where they are, otherwise the outer edges do.
    """
    rank = x.ndim - 2
    if rank < 1 or rank > 3:
        raise ValueError(f"nn.interpolate: one to three axes after the channels are needed, got shape {x.shape}")
    lengths, factors = _resized(rank, x, size, scale_factor)
    if min(lengths) < 1:
        raise ValueError(f"nn.interpolate: the lengths of the result must be positive, got {lengths}")
    if recompute_scale_factor:
        factors = (None,) * rank
    if mode == "area":
        return _adaptive_avg_pool("interpolate", rank, x, lengths)
    if mode in ("nearest", "nearest-exact"):
        for k, count in enumerate(lengths):
            x = _nearest(x, k + 2, count, mode == "nearest-exact", factors[k])
        return x
    if mode not in _RANKS or _RANKS[mode] != rank:
        raise ValueError(f"nn.interpolate: mode {mode!r} does not fit an input of shape {x.shape}")
    along: Callable[..., Any] = _cubic if mode == "bicubic" else _linear
    for k, count in enumerate(lengths):
        x = along(x, k + 2, _source_points(x.shape[k + 2], count, bool(align_corners), factors[k]))
    return x


# At given points


@composite(name="nn.affine_grid")
def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Any:
    """The points `theta @ (x, y, 1)` of the pixels of images of `size`, for `grid_sample`; with depth (x, y, z, 1).

    `size` is (examples, channels, axes...); coordinates run from -1 to 1.
    """
    lengths = tuple(int(n) for n in size)[2:]
    rank = len(lengths)
    if theta.dtype.kind != "f":
        raise TypeError(f"nn.affine_grid: points lie between pixels, so theta holds real numbers, not {theta.dtype}")
    if theta.shape != (size[0], rank, rank + 1):
        raise ValueError(f"nn.affine_grid: theta has shape {theta.shape}, and {(size[0], rank, rank + 1)} is needed")
    lines = []
    for n in lengths:
        line = np.linspace(-1, 1, n) if n > 1 else np.zeros(n)
        lines.append(line if align_corners else line * ((n - 1) / n if n else 1))
    mesh = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*mesh[::-1], np.ones(lengths)], axis=-1).astype(theta.dtype)
    flat = points.reshape((1, math.prod(lengths), rank + 1))
    return matmul(flat, swapaxes(theta, 1, 2)).reshape((size[0], *lengths, rank))


def _reflected(x: Any, low: float, high: float) -> Any:
    """`x` folded back and forth into the interval from `low` to `high`."""
    if high <= low:
        return x * 0
    span = high - low
    away = abs(x - low)
    turns = floor(away / span)
    rest = away - turns * span
    return where(turns - 2 * floor(turns / 2) == 0, rest + low, high - rest)


def _unnormalized(x: Any, length: int, padding_mode: str, align_corners: bool) -> Any:
    """Coordinates from -1 to 1 as places in an axis."""
    place = (x + 1) * ((length - 1) / 2) if align_corners else ((x + 1) * length - 1) / 2
    if padding_mode == "reflection":
        place = _reflected(place, 0, length - 1) if align_corners else _reflected(place, -0.5, length - 0.5)
    return place if padding_mode == "zeros" else place.clip(0, length - 1)


@composite(name="nn.grid_sample", arrays=2)
def grid_sample(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Any:  # fmt: skip
    """Images `x` at the points of `grid`, whose last axis is (x, y) or (x, y, z) from -1 to 1; differentiable in both.

    `mode` is "bilinear", "nearest" or, for two axes, "bicubic". Points outside see zeros, or with `padding_mode` the
    "border" or the image's "reflection".
    """
    rank = x.ndim - 2
    if rank not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise ValueError(f"nn.grid_sample: a grid of shape {grid.shape} does not fit images of shape {x.shape}")
    modes = ("bilinear", "nearest", "bicubic") if rank == 2 else ("bilinear", "nearest")
    if mode not in modes or padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"nn.grid_sample: unknown mode {mode!r} or padding_mode {padding_mode!r}")
    lengths = x.shape[2:]
    if mode == "bicubic":
        return _cubic_at_points(x, grid, padding_mode, align_corners)
    places = [
        _unnormalized(grid[..., rank - 1 - k], n, padding_mode, align_corners) for k, n in enumerate(lengths)
    ]
    if mode == "nearest":
        return _read(x, [_as_integers(rint(p)) for p in places])
    floors = [floor(p) for p in places]
    shares = [p - f for p, f in zip(places, floors, strict=True)]
    bases = [_as_integers(f) for f in floors]
    total = None
    for corner in np.ndindex(*(2,) * rank):
        weight = None
        for step, share in zip(corner, shares, strict=True):
            factor = share if step else 1 - share
            weight = factor if weight is None else weight * factor
        values = _read(x, [base + step for base, step in zip(bases, corner, strict=True)])
        assert weight is not None
        term = values * weight.reshape((weight.shape[0], 1, *weight.shape[1:]))
        total = term if total is None else total + term
    return total


def _cubic_at_points(x: Any, grid: Any, padding_mode: str, align_corners: bool) -> Any:
    """The cubic mean of sixteen pixels around every point; of those outside the padding decides one by one."""
    bases, weights = [], []
    for k, n in enumerate(x.shape[2:]):
        place = _unnormalized(grid[..., 1 - k], n, "zeros", align_corners)
        low = floor(place)
        t = place - low
        bases.append(_as_integers(low))
        weights.append((_far(t + 1), _near(t), _near(1 - t), _far(2 - t)))
    total = None
    for step in np.ndindex(4, 4):
        places = [base + (k - 1) for base, k in zip(bases, step, strict=True)]
        if padding_mode != "zeros":
            fold = "nearest" if padding_mode == "border" else "mirror" if align_corners else "reflect"
            places = [_folded(place, n, fold) for place, n in zip(places, x.shape[2:], strict=True)]
        weight = weights[0][step[0]] * weights[1][step[1]]
        term = _read(x, places) * weight.reshape((weight.shape[0], 1, *weight.shape[1:]))
        total = term if total is None else total + term
    return total


def _as_integers(x: Any) -> Any:
    return x.astype(np.int64)


def _read(x: Any, places: list[Any]) -> Any:
    """`x[n, :, *places[n]]` with channels in axis 1; 0 for places outside."""
    count, points = x.shape[0], places[0].shape[1:]
    examples = np.arange(count).reshape((count,) + (1,) * len(points))
    inside: Any = True
    clipped = []
    for place, n in zip(places, x.shape[2:], strict=True):
        inside = (place >= 0) & (place < n) & inside
        clipped.append(place.clip(0, n - 1))
    moved = permute_dims(x, axes=(0, *range(2, x.ndim), 1))
    found = index_arrays(moved, examples, *clipped, template=(ARRAY,) * (1 + len(places)), distinct=False)
    found = where(inside.reshape((*inside.shape, 1)), found, 0)
    return permute_dims(found, axes=(0, found.ndim - 1, *range(1, found.ndim - 1)))


def _folded(place: Any, length: int, mode: str) -> Any:
    """Places outside an axis as the places inside that `mode` puts there."""
    if mode == "nearest":
        return place.clip(0, length - 1)
    if mode == "wrap":
        return place % length
    # "reflect" repeats the element at the edge, "mirror" does not.
    period = max(2 * length if mode == "reflect" else 2 * (length - 1), 1)
    place = place % period
    return where(place < length, place, period - place - (1 if mode == "reflect" else 0))


@composite(name="nn.map_coordinates", arrays=2)
def map_coordinates(x: Any, coordinates: Any, order: int = 1, mode: str = "constant", cval: float = 0.0) -> Any:
    """`x` at points between its elements, linearly interpolated, or the nearest element for `order` 0.

    `coordinates` has one row per axis of `x`, and is differentiable too. Outside are `cval`, or by `mode` "nearest",
    "wrap", "mirror" and "reflect" elements of `x`.
    """
    if coordinates.shape[0] != x.ndim:
        raise ValueError(f"nn.map_coordinates: {coordinates.shape[0]} coordinates for an array with {x.ndim} axes")
    if order not in (0, 1) or mode not in ("constant", "nearest", "wrap", "mirror", "reflect"):
        raise ValueError(f"nn.map_coordinates: unknown order {order!r} or mode {mode!r}")
    points = [coordinates[k] for k in range(x.ndim)]
    floors = [rint(p) if order == 0 else floor(p) for p in points]
    bases = [_as_integers(f) for f in floors]
    total = None
    for corner in np.ndindex(*(order + 1,) * x.ndim):
        weight: Any = 1
        if order:
            shares = (p - f if step else 1 - (p - f) for step, p, f in zip(corner, points, floors, strict=True))
            weight = math.prod(shares)
        places = [base + step for base, step in zip(bases, corner, strict=True)]
        values = _element(x, places, mode, cval)
        total = values * weight if total is None else total + values * weight
    return total


def _element(x: Any, places: list[Any], mode: str, cval: float) -> Any:
    if mode != "constant":
        inner = [_folded(place, n, mode) for place, n in zip(places, x.shape, strict=True)]
        return index_arrays(x, *inner, template=(ARRAY,) * x.ndim, distinct=False)
    inside: Any = True
    for place, n in zip(places, x.shape, strict=True):
        inside = (place >= 0) & (place < n) & inside
    clipped = [place.clip(0, n - 1) for place, n in zip(places, x.shape, strict=True)]
    return where(inside, index_arrays(x, *clipped, template=(ARRAY,) * x.ndim, distinct=False), cval)


# Channels and pixels


@composite(name="nn.pixel_shuffle")
def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """(..., channels * r * r, height, width) as (..., channels, height * r, width * r)."""
    r = upscale_factor
    *lead, channels, height, width = x.shape
    if r < 1 or channels % (r * r):
        raise ValueError(f"nn.pixel_shuffle: {channels} channels do not become squares of {r} by {r}")
    n = len(lead)
    parts = x.reshape((*lead, channels // (r * r), r, r, height, width))
    moved = permute_dims(parts, axes=(*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return moved.reshape((*lead, channels // (r * r), height * r, width * r))


@composite(name="nn.pixel_unshuffle")
def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """(..., channels, height * r, width * r) as (..., channels * r * r, height, width)."""
    r = downscale_factor
    *lead, channels, height, width = x.shape
    if r < 1 or height % r or width % r:
        raise ValueError(f"nn.pixel_unshuffle: a plane of {height} by {width} has no squares of {r} by {r}")
    n = len(lead)
    parts = x.reshape((*lead, channels, height // r, r, width // r, r))
    moved = permute_dims(parts, axes=(*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return moved.reshape((*lead, channels * r * r, height // r, width // r))


@composite(name="nn.channel_shuffle")
def channel_shuffle(x: Any, groups: int) -> Any:
    """`x` with its channels (axis 1) dealt out from `groups` piles in turn."""
    if groups < 1 or x.ndim < 2 or x.shape[1] % groups:
        raise ValueError(f"nn.channel_shuffle: {groups} groups do not divide the channels of shape {x.shape}")
    parts = x.reshape((x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))
    return swapaxes(parts, 1, 2).reshape(x.shape)


# Borders

_PAD_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@composite(name="nn.pad")
def pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """`x` with more elements around it. `pad` counts from the last axis: (left, right, top, bottom, ...).

    Modes are "constant" with `value`, "reflect", "replicate" and "circular". Negative widths cut elements off. NumPy's
    order of widths and other modes are those of `pb.pad`.
    """
    widths = tuple(pad)
    if len(widths) % 2 or len(widths) > 2 * x.ndim:
        raise ValueError(f"nn.pad: two widths per axis, the last axis first, but there are {len(widths)} for {x.ndim}")
    if mode not in _PAD_MODES:
        raise ValueError(f"nn.pad: mode must be one of {', '.join(map(repr, _PAD_MODES))}, got {mode!r}")
    if mode != "constant" and value is not None:
        raise ValueError(f"nn.pad: value is for mode='constant', and mode is {mode!r}")
    pairs = [*zip(widths[::2], widths[1::2], strict=True)]
    around = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    if not any(map(any, around)):
        return x.clone()
    if mode == "constant":
        return pad_as_numpy(x, around, constant_values=0 if value is None else value)
    if mode == "circular":  # what is left after cutting goes round
        x = pad_as_numpy(x, [(min(before, 0), min(after, 0)) for before, after in around])
        around = [(max(before, 0), max(after, 0)) for before, after in around]
    return pad_as_numpy(x, around, mode=_PAD_MODES[mode])
