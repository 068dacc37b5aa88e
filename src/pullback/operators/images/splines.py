"""Splines on the grid of an image: coefficients from values, and values at any coordinates from coefficients.

Coefficients are a linear map of the values along each axis (`spline_coefficients`). Sampling (`spline_sample`) is
linear in the coefficients, and its derivatives by coordinates are samples of derivatives of the spline, so that
`parts`, one number of derivatives for every axis, closes the rules to any order. SciPy computes coefficients and plain
samples; the adjoint and the derivatives are sums over the `(order + 1) ** ndim` elements around every point.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.images.borders import Array, examples

MIRRORED = ("mirror", "constant", "grid-constant", "wrap")  # what the filter takes as mirrored at the last element
SHORT = 32  # elements: below, SciPy's start of the filter for the other modes is not exact, and not symmetric
POINTS = 1 << 14  # at a time, so that what belongs to them stays in the cache


def _images() -> Any:
    return import_module("scipy.ndimage")


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(np.complex128 if dtype.kind == "c" else np.float64)


# Coefficients.


@primitive(name="_spline_coefficients", flow="mixes", batch="shifted", recompute="bearable")
def spline_coefficients(x, *, axis, order, mode, adjoint):
    """The coefficients of the spline through the values along an axis, or the adjoint of that map."""
    dtype = _wide(x.dtype)
    if x.size == 0 or x.shape[axis] == 1:
        return x.astype(dtype)
    if not adjoint:
        return _filtered(x, axis, order, mode)
    length = x.shape[axis]
    if mode in MIRRORED:  # symmetric, but for elements at the ends that are seen once and not twice
        ends = np.ones(length)
        ends[[0, -1]] = 0.5
        ends = ends.reshape((-1,) + (1,) * (x.ndim - 1 - axis))
        return _filtered(x / ends, axis, order, mode) * ends
    if length < SHORT and mode != "grid-wrap":
        matrix = _filtered(np.eye(length), 0, order, mode)
        return np.moveaxis(np.tensordot(matrix.T, x.astype(dtype), (1, axis)), 0, axis)
    return _filtered(x, axis, order, mode)


def _filtered(x: Array, axis: int, order: int, mode: str) -> Array:
    return np.asarray(_images().spline_filter1d(x, order, axis, _wide(x.dtype), mode))


@spline_coefficients.transpose
def spline_coefficients_transpose(g, axis, order, mode, adjoint):
    return spline_coefficients(g, axis=axis, order=order, mode=mode, adjoint=not adjoint)


@spline_coefficients.spec
def spline_coefficients_spec(x: Spec, *, axis: int, order: int, mode: str, adjoint: bool) -> Spec:
    return spec_for(x.shape, _wide(x.dtype))


@spline_coefficients.samples
def spline_coefficients_samples(make: Maker) -> Iterator[Sample]:
    def params(axis: int, order: int, mode: str, adjoint: bool = False) -> dict[str, Any]:
        return {"axis": axis, "order": order, "mode": mode, "adjoint": adjoint}

    for mode in ("mirror", "reflect", "grid-wrap"):
        yield Sample((make((6,)),), params(0, 3, mode), mode)
        yield Sample((make((3, 4)),), params(0, 5, mode, True), f"{mode}-adjoint")
    yield Sample((make((40,)),), params(0, 2, "nearest"), "long")
    yield Sample((make((1, 2)),), params(0, 3, "mirror"), "one")
    yield Sample((make((4,), np.float32),), params(0, 3, "mirror"), "float32")
    yield Sample((make((4,), np.complex64),), params(0, 3, "mirror"), "complex64")
    yield Sample((make((4,), np.complex128),), params(0, 4, "reflect"), "complex")
    yield Sample((make((0, 3)),), params(1, 3, "mirror"), "empty")
    for label, values in layouts(make((3, 4))):
        yield Sample((values,), params(1, 3, "mirror"), label)


# Samples.


@functools.lru_cache
def _basis(order: int, nu: int) -> Array:
    """The `nu`-th derivative of the basis functions around a point, as polynomials: a row for each, highest first."""
    rows = np.zeros((order + 1, max(order - nu, 0) + 1))
    for k in range(order + 1):
        total = np.poly1d([0.0])
        for i in range(order - k + 1):
            shifted = np.poly1d([1.0, float(order - k - i)]) ** order
            total = total + (-1) ** i * math.comb(order + 1, i) * shifted
        derived = (total / math.factorial(order)).deriv(nu) if nu else total / math.factorial(order)
        rows[k, rows.shape[1] - len(derived.coefficients) :] = derived.coefficients
    return rows


class Surroundings:
    """Of points along one axis: which elements are around them, and with what weights."""

    def __init__(self, at: Array, length: int, order: int, mode: str) -> None:
        place, self.turn, self.seen = _inside(at, length, mode)
        first = np.floor(place if order % 2 else place + 0.5)
        self.share = place - first + (0.0 if order % 2 else 0.5)
        indices = first.astype(np.int64) - order // 2 + np.arange(order + 1)[:, None]
        self.missing: Array = None
        if mode == "grid-constant":
            self.missing = (indices < 0) | (indices >= length)
        self.indices = _index_inside(indices, length, mode)
        self.order = order
        self.known: dict[int, Array] = {}

    def weights(self, nu: int) -> Array:
        """The weights of the elements, derived `nu` times by the coordinate."""
        if nu not in self.known:
            rows = _basis(self.order, nu)
            out = np.zeros((len(rows), len(self.share))) + rows[:, :1]
            for column in rows.T[1:]:
                out *= self.share
                out += column[:, None]
            if nu and self.turn is not None:
                out *= self.turn**nu
            if self.seen is not None:
                out *= self.seen
            if self.missing is not None:
                out[self.missing] = 0.0
            self.known[nu] = out
        return self.known[nu]


def _inside(at: Array, length: int, mode: str) -> tuple[Array, Array | None, Array | None]:
    """Coordinates inside of the image, the sign with which they move there, and which of them are seen at all."""
    last = length - 1
    outside = (at < 0) | (at > last)
    if mode in ("grid-constant", "nearest") or not outside.any():  # there the elements go on, not the coordinates
        return at, None, None
    if mode == "constant":
        return np.where(outside, 0.0, at), None, ~outside
    if length == 1:
        return np.zeros_like(at), np.zeros_like(at), None
    # Rounded as SciPy rounds, which decides between neighbours if the order is 0.
    size = {"wrap": last, "grid-wrap": length, "mirror": 2 * last}.get(mode, 2 * length)
    below = at < 0
    if mode in ("wrap", "grid-wrap"):
        turns = np.trunc((-1 - at if mode == "grid-wrap" else -at) / size) + 1
        return np.where(below, at + size * turns, np.where(outside, at - size * np.trunc(at / size), at)), None, None
    edge = last if mode == "mirror" else length
    beyond = 0 if mode == "mirror" else 1
    shifted = np.where(below, size * np.trunc(-at / size) + at, at - size * np.trunc(at / size))
    down = np.where(shifted <= -edge, shifted + size, -shifted - beyond)
    up = np.where(shifted >= length, size - shifted - beyond, shifted)
    turned = np.where(below, shifted > -edge, shifted >= length) & outside
    return np.where(below, down, np.where(outside, up, at)), np.where(turned, -1.0, 1.0), None


def _index_inside(indices: Array, length: int, mode: str) -> Array:
    if indices.min(initial=0) >= 0 and indices.max(initial=0) < length:
        return indices
    if length == 1 or mode in ("nearest", "grid-constant"):
        return np.clip(indices, 0, length - 1)
    if mode == "grid-wrap":
        return np.mod(indices, length)
    if mode in ("reflect", "grid-mirror"):
        indices = np.mod(indices, 2 * length)
        return np.minimum(indices, 2 * length - 1 - indices)
    indices = np.mod(indices, 2 * length - 2)
    return np.minimum(indices, 2 * length - 2 - indices)


def _around(at: Array, shape: tuple[int, ...], order: int, mode: str) -> tuple[list[Surroundings], Array]:
    """The surroundings of points along every axis, and the places of all elements around each in the flat image."""
    axes = [Surroundings(row, length, order, mode) for row, length in zip(at, shape, strict=True)]
    flat: Array = 0
    for axis, length in zip(axes, shape, strict=True):
        flat = flat[..., None, :] * length + axis.indices if isinstance(flat, np.ndarray) else axis.indices
    return axes, flat


@primitive(name="_spline_sample")
def spline_sample(c, at, *, order, mode, parts):
    """Values and derivatives of a spline: `parts` has for each of them the number of derivatives along every axis.

    `c` are the coefficients, and `at` has the coordinates of points, one row for each axis; axes before are examples.
    The result has a row for each part.
    """
    ndim, points = at.shape[-2:]
    batch = c.shape[: c.ndim - ndim]
    if batch:
        if 0 in batch:
            return np.zeros((*batch, len(parts), points), c.dtype)
        one = functools.partial(spline_sample.kernel, order=order, mode=mode, parts=parts)
        return examples(one, batch, (c, ndim), (at, 2))
    if not points or not c.size:
        return np.zeros((len(parts), points), c.dtype)
    if parts == ((0,) * ndim,):
        return np.asarray(_images().map_coordinates(c, at, c.dtype, order, mode, prefilter=False))[None]
    out = np.empty((len(parts), points), c.dtype)
    values = np.ascontiguousarray(c).reshape(-1)
    for start in range(0, points, POINTS):
        stop = min(start + POINTS, points)
        axes, flat = _around(at[:, start:stop].astype(float), c.shape, order, mode)
        found: dict[tuple[int, ...], Array] = {(): values[flat]}
        for row, part in enumerate(parts):
            for k in range(ndim - 1, -1, -1):
                if part[k:] not in found:
                    found[part[k:]] = np.einsum("...km,km->...m", found[part[k + 1 :]], axes[k].weights(part[k]))
            out[row, start:stop] = found[part]
    return out


@primitive(name="_spline_spread")
def spline_spread(y, at, *, shape, order, mode, parts):
    """The adjoint of `spline_sample` for fixed coordinates: coefficients of this shape."""
    points, batch = at.shape[-1], at.shape[:-2]
    if batch:
        if 0 in batch:
            return np.zeros((*batch, *shape), y.dtype)
        one = functools.partial(spline_spread.kernel, shape=shape, order=order, mode=mode, parts=parts)
        return examples(one, batch, (y, 2), (at, 2))
    out = np.zeros(math.prod(shape), y.dtype)
    size = POINTS * 4
    for start in range(0, points if out.size else 0, size):
        stop = min(start + size, points)
        axes, flat = _around(at[:, start:stop].astype(float), shape, order, mode)
        total: Array = 0
        for row, part in zip(y[:, start:stop], parts, strict=True):
            term = row
            for k, nu in enumerate(part):
                term = term[..., None, :] * axes[k].weights(nu)
            total = total + term if len(parts) > 1 else term
        _add_at(out, flat.reshape(-1), total.reshape(-1))
    return out.reshape(shape)


def _add_at(out: Array, places: Array, values: Array) -> None:
    """Add values to their places; counting is faster than NumPy's `add.at`, and points next to each other are local."""
    low, high = int(places.min()), int(places.max()) + 1
    places = places - low
    if out.dtype.kind == "c":
        out.real[low:high] += np.bincount(places, np.ascontiguousarray(values.real))
        out.imag[low:high] += np.bincount(places, np.ascontiguousarray(values.imag))
    else:
        out[low:high] += np.bincount(places, values).astype(out.dtype, copy=False)


def _along(parts: tuple[tuple[int, ...], ...], ndim: int) -> tuple[tuple[int, ...], ...]:
    """Each part derived once more along each axis, all axes of the first part first."""
    return tuple(tuple(nu + (k == axis) for k, nu in enumerate(part)) for part in parts for axis in range(ndim))


def _slopes(c: Any, at: Any, order: int, mode: str, parts: Any) -> Any:
    """The derivatives of the samples by coordinates: a row for each part, then one for each axis."""
    ndim, points = at.shape[-2:]
    out = spline_sample(c, at, order=order, mode=mode, parts=_along(parts, ndim))
    return out.reshape((*out.shape[:-2], len(parts), ndim, points))


@spline_sample.transpose_of("c")
def spline_sample_transpose_c(g, c, at, order, mode, parts):
    shape = tuple(c.shape[len(c.shape) - at.shape[-2] :])
    return spline_spread(g, at, shape=shape, order=order, mode=mode, parts=parts)


@spline_sample.vjp_of("at")
def spline_sample_vjp_at(g, c, at, order, mode, parts):
    return (g[..., :, None, :] * conjugated(_slopes(c, at, order, mode, parts))).sum(axis=-3)


@spline_sample.jvp
def spline_sample_jvp(t_c, t_at, c, at, order, mode, parts):
    out = 0
    if t_c is not None:
        out = spline_sample(t_c, at, order=order, mode=mode, parts=parts)
    if t_at is not None:
        out = out + (t_at[..., None, :, :] * _slopes(c, at, order, mode, parts)).sum(axis=-2)
    return out


@spline_spread.transpose_of("y")
def spline_spread_transpose_y(g, at, order, mode, parts):
    return spline_sample(g, at, order=order, mode=mode, parts=parts)


@spline_spread.vjp_of("at")
def spline_spread_vjp_at(g, y, at, order, mode, parts):
    return (y[..., :, None, :] * conjugated(_slopes(g, at, order, mode, parts))).sum(axis=-3)


@spline_spread.jvp
def spline_spread_jvp(t_y, t_at, y, at, shape, order, mode, parts):
    out = 0
    if t_y is not None:
        out = spline_spread(t_y, at, shape=shape, order=order, mode=mode, parts=parts)
    if t_at is not None:
        ndim, points = at.shape[-2:]
        rows = y[..., :, None, :] * t_at[..., None, :, :]
        rows = rows.reshape((*rows.shape[:-3], len(parts) * ndim, points))
        out = out + spline_spread(rows, at, shape=shape, order=order, mode=mode, parts=_along(parts, ndim))
    return out


@spline_sample.spec
def spline_sample_spec(c, at, *, order, mode, parts):
    ndim, points = at.shape[-2:]
    return spec_for((*c.shape[: len(c.shape) - ndim], len(parts), points), c.dtype)


@spline_spread.spec
def spline_spread_spec(y, at, *, shape, order, mode, parts):
    return spec_for((*at.shape[:-2], *shape), y.dtype)


@spline_sample.batch
def spline_sample_batch(c, at, **params):
    return spline_sample(c, at, **params)


@spline_spread.batch
def spline_spread_batch(y, at, **params):
    return spline_spread(y, at, **params)


def _point_samples(make: Maker) -> Iterator[tuple[Array, Array, dict[str, Any], str]]:
    def params(order: int, mode: str, *parts: tuple[int, ...]) -> dict[str, Any]:
        return {"order": order, "mode": mode, "parts": parts}

    for mode in ("mirror", "reflect", "nearest", "wrap", "grid-wrap", "constant", "grid-constant"):
        yield make((5,)), make((1, 4), low=-6, high=12) + 0.01, params(3, mode, (0,)), mode
    for order in (1, 2, 4, 5):
        yield make((4, 3)), make((2, 3), low=-3, high=5) + 0.02, params(order, "mirror", (0, 0)), f"order {order}"
    yield make((4,)), make((1, 3), low=0, high=3), params(3, "nearest", (1,), (0,)), "slopes"
    yield make((1, 4)), make((2, 2), low=0.2, high=2), params(3, "reflect", (0, 0)), "one row"
    yield make((2, 4)), make((2, 1, 3), low=0, high=3), params(3, "mirror", (0,)), "batch"
    yield make((4,), np.float32), make((1, 3), np.float32, 0, 3), params(3, "mirror", (0,)), "float32"
    yield make((4,), np.complex64), make((1, 3), np.float32, 0, 3), params(3, "mirror", (0,)), "complex64"
    yield make((4,), np.complex128), make((1, 3), low=0, high=3), params(3, "mirror", (0,)), "complex"
    yield make((4,)), make((1, 0)), params(3, "mirror", (0,)), "empty"
    for label, values in layouts(make((3, 4))):
        yield values, make((2, 3), low=0, high=2), params(3, "mirror", (0, 0)), label


@spline_sample.samples
def spline_sample_samples(make: Maker) -> Iterator[Sample]:
    for c, at, params, label in _point_samples(make):
        yield Sample((c, at), params, label)


@spline_spread.samples
def spline_spread_samples(make: Maker) -> Iterator[Sample]:
    for c, at, params, label in _point_samples(make):
        shape = c.shape[c.ndim - at.shape[-2] :]
        rows = make((*c.shape[: c.ndim - at.shape[-2]], len(params["parts"]), at.shape[-1]), c.dtype)
        yield Sample((rows, at), {**params, "shape": shape}, label)
    for label, at in layouts(make((2, 3), low=0, high=2)):
        yield Sample((make((1, 3)), at), {"order": 3, "mode": "mirror", "parts": ((0, 0),), "shape": (3, 4)}, label)
