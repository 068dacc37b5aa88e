"""Correlation of images with weights, as `scipy.ndimage` has it: the result is as large as the image.

`out[i] = sum(w[j] * x[i + j - len(w) // 2 - origin])` along every axis, where `x` goes on beyond its borders as the
mode says. Three operators are closed under transposition: the correlation itself, its adjoint for fixed weights
(`spread`), and that for a fixed image (`collected`). Weights lie along one axis, or along all axes of the image. Axes
before those of the image are examples, paired with those of the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.images.borders import MODES, Array, examples, extended, first_of_equal, folded, positions


def _filters() -> Any:
    return import_module("scipy.ndimage")


def _dtype(x: Any, w: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.result_type(x.dtype, np.complex64) if w.dtype.kind == "c" else x.dtype
    return dtype


def _by_parts(function: Any, x: Array, w: Array) -> Array:
    """What is linear in the weights, for complex ones; SciPy would take their conjugates."""
    if w.dtype.kind != "c":
        return function(x, w)
    return function(x, np.ascontiguousarray(w.real)) + 1j * function(x, np.ascontiguousarray(w.imag))


@primitive(name="_image_correlate", recompute="bearable")
def correlated(x, w, *, ndim, axis, mode, origin):
    """The correlation with weights along `axis`, or along all axes if that is None, of the last `ndim` axes."""
    batch, core = x.ndim - ndim, ndim if axis is None else 1
    if x.size == 0:
        return np.zeros(x.shape, _dtype(x, w))
    same = first_of_equal(w, batch)
    if same is None:
        return examples(
            lambda x, w: correlated.kernel(x, w, ndim=ndim, axis=axis, mode=mode, origin=origin),
            x.shape[:batch], (x, ndim), (w, core),
        )  # fmt: skip

    def run(x: Array, w: Array) -> Array:
        if axis is not None:
            return _filters().correlate1d(x, w, axis, mode=mode, origin=origin[0])
        return _filters().correlate(x, w[(None,) * batch], mode=mode, origin=(0,) * batch + origin)

    return np.asarray(_by_parts(run, x, same)).astype(_dtype(x, w), copy=False)


@primitive(name="_image_spread", recompute="bearable")
def spread(y, w, *, ndim, axis, mode, origin):
    """The adjoint of `correlated` for fixed weights."""
    batch, core = y.ndim - ndim, ndim if axis is None else 1
    if y.size == 0:
        return np.zeros(y.shape, _dtype(y, w))
    same = first_of_equal(w, batch)
    if same is None:
        return examples(
            lambda y, w: spread.kernel(y, w, ndim=ndim, axis=axis, mode=mode, origin=origin),
            y.shape[:batch], (y, ndim), (w, core),
        )  # fmt: skip

    def run(y: Array, w: Array) -> Array:
        if axis is not None:
            return _spread_along(y, w, axis, mode, origin[0])
        return _spread_over_all(y, w, mode, origin)

    return np.asarray(_by_parts(run, y, same)).astype(_dtype(y, w), copy=False)


def _spread_along(y: Array, w: Array, axis: int, mode: str, origin: int) -> Array:
    """Inside, a correlation with the reversed weights; what falls into the borders is few rows, and added by hand."""
    size, length = len(w), y.shape[axis]
    before = size // 2 + origin
    after = size - 1 - before
    out = _filters().correlate1d(y, w[::-1], axis, mode="constant", origin=after - size // 2)
    if "constant" in mode or size == 1:
        return out
    rows, total = np.moveaxis(y, axis, 0), np.moveaxis(out, axis, 0)
    seen = positions(length, before, after, mode)
    wide = np.result_type(y.dtype, np.float64)
    for k in (*range(before), *range(before + length, before + length + after)):
        first, last = max(0, k - length + 1), min(size - 1, k)  # the weights that an element of y is seen through
        if first <= last:
            part = np.tensordot(w[first : last + 1], rows[k - last : k - first + 1][::-1].astype(wide, copy=False), 1)
            total[seen[k]] += part.astype(y.dtype, copy=False)
    return out


def _spread_over_all(y: Array, w: Array, mode: str, origin: tuple[int, ...]) -> Array:
    batch = y.ndim - w.ndim
    lengths = tuple(n + k - 1 for n, k in zip(y.shape[batch:], w.shape, strict=True))
    whole: Array = np.zeros(y.shape[:batch] + lengths, y.dtype)
    whole[(..., *(slice(0, n) for n in y.shape[batch:]))] = y
    turned = w[(slice(None, None, -1),) * w.ndim][(None,) * batch]
    ends = (0,) * batch + tuple(k - 1 - k // 2 for k in w.shape)
    out = _filters().correlate(whole, turned, mode="constant", origin=ends)
    for k, (size, at) in enumerate(zip(w.shape, origin, strict=True)):
        out = folded(out, batch + k, y.shape[batch + k], size // 2 + at, mode)
    return out


@primitive(name="_image_collected", recompute="bearable")
def collected(y, x, *, ndim, axis, mode, origin, shape):
    """The adjoint of `correlated` for a fixed image: for every weight of this shape, what it is multiplied by."""
    dtype = np.result_type(y.dtype, x.dtype)
    places = range(ndim) if axis is None else (ndim + axis,)
    batch = x.ndim - ndim
    for k, size, at in zip(places, shape, origin, strict=True):
        before = size // 2 + at
        x = extended(x, batch + k, before, size - 1 - before, mode)
    out = np.zeros(y.shape[:batch] + shape, dtype)
    letters = "abcdefghijklmnopqrstuvwxyz"[: y.ndim]
    for place in np.ndindex(shape):
        window = [slice(None)] * x.ndim
        for k, j in zip(places, place, strict=True):
            window[batch + k] = slice(j, j + y.shape[batch + k])
        out[(..., *place)] = np.einsum(f"{letters},{letters}->{letters[:batch]}", y, x[tuple(window)])
    return out


@correlated.transpose_of("x")
def correlated_transpose_x(g, w, ndim, axis, mode, origin):
    return spread(g, conjugated(w), ndim=ndim, axis=axis, mode=mode, origin=origin)


@correlated.transpose_of("w")
def correlated_transpose_w(g, x, w, ndim, axis, mode, origin):
    shape = w.shape[len(w.shape) - (ndim if axis is None else 1) :]
    return collected(g, conjugated(x), ndim=ndim, axis=axis, mode=mode, origin=origin, shape=tuple(shape))


@spread.transpose_of("y")
def spread_transpose_y(g, w, ndim, axis, mode, origin):
    return correlated(g, conjugated(w), ndim=ndim, axis=axis, mode=mode, origin=origin)


@spread.transpose_of("w")
def spread_transpose_w(g, y, w, ndim, axis, mode, origin):
    shape = w.shape[len(w.shape) - (ndim if axis is None else 1) :]
    return collected(conjugated(y), g, ndim=ndim, axis=axis, mode=mode, origin=origin, shape=tuple(shape))


@collected.transpose_of("y")
def collected_transpose_y(g, x, ndim, axis, mode, origin):
    return correlated(conjugated(x), g, ndim=ndim, axis=axis, mode=mode, origin=origin)


@collected.transpose_of("x")
def collected_transpose_x(g, y, ndim, axis, mode, origin):
    return spread(conjugated(y), g, ndim=ndim, axis=axis, mode=mode, origin=origin)


def _correlated_spec(x: Spec, w: Spec, *, ndim: int, axis: int | None, mode: str, origin: tuple[int, ...]) -> Spec:
    return spec_for(x.shape, _dtype(x, w))


correlated.spec(_correlated_spec)
spread.spec(_correlated_spec)


@collected.spec
def collected_spec(y, x, *, ndim, axis, mode, origin, shape):
    return spec_for(y.shape[: y.ndim - ndim] + shape, np.result_type(y.dtype, x.dtype))


@correlated.batch
def correlated_batch(x, w, **params):
    return correlated(x, w, **params)


@spread.batch
def spread_batch(y, w, **params):
    return spread(y, w, **params)


@collected.batch
def collected_batch(y, x, **params):
    return collected(y, x, **params)


def _weight_samples(make: Maker) -> Iterator[tuple[Array, Array, dict[str, Any], str]]:
    def params(ndim: int, axis: int | None, mode: str, *origin: int) -> dict[str, Any]:
        return {"ndim": ndim, "axis": axis, "mode": mode, "origin": origin}

    for mode in MODES:
        yield make((5,)), make((3,)), params(1, -1, mode, 0), mode
    yield make((3, 4)), make((4,)), params(2, -2, "mirror", 1), "even"
    yield make((2, 3)), make((7,)), params(2, -1, "reflect", -2), "longer than the image"
    yield make((3, 4)), make((2, 3)), params(2, None, "nearest", 0, -1), "plane"
    yield make((2, 3, 4)), make((2, 3)), params(2, -1, "wrap", 0), "a batch of rows"
    yield make((2, 3, 4)), make((2, 2, 3)), params(2, None, "mirror", 0, 1), "a batch of planes"
    yield make((4,), np.float32), make((3,), np.float32), params(1, -1, "mirror", 0), "float32"
    yield make((4,), np.complex64), make((2,), np.float32), params(1, -1, "mirror", 0), "complex64"
    yield make((4,), np.complex128), make((2,)), params(1, -1, "nearest", 0), "complex"
    yield make((4,), np.complex128), make((3,), np.complex128), params(1, -1, "reflect", 0), "complex weights"
    yield make((0, 3)), make((3,)), params(2, -1, "reflect", 0), "empty"
    for label, values in layouts(make((3, 4))):
        yield values, make((3,)), params(2, -1, "reflect", 0), label


@correlated.samples
def correlated_samples(make: Maker) -> Iterator[Sample]:
    for x, w, params, label in _weight_samples(make):
        yield Sample((x, w), params, label)


@spread.samples
def spread_samples(make: Maker) -> Iterator[Sample]:
    for x, w, params, label in _weight_samples(make):
        yield Sample((x, w), params, label)


@collected.samples
def collected_samples(make: Maker) -> Iterator[Sample]:
    for x, w, params, label in _weight_samples(make):
        core = params["ndim"] if params["axis"] is None else 1
        yield Sample((make(x.shape, x.dtype), x), {**params, "shape": w.shape[w.ndim - core :]}, label)


@primitive(name="_image_mean", flow="mixes", spec="same", batch="shifted", recompute="bearable")
def window_mean(x, *, axis, size, mode, origin):
    """The mean of the `size` elements around each along an axis, as a running sum."""
    return _filters().uniform_filter1d(x, size, axis, mode=mode, origin=origin) if x.size else x.copy()


@window_mean.transpose
def window_mean_transpose(g, x, axis, size, mode, origin):
    weights = np.full(size, 1 / size)
    return spread(g, weights, ndim=x.ndim, axis=axis - x.ndim, mode=mode, origin=(origin,))


@window_mean.samples
def window_mean_samples(make: Maker) -> Iterator[Sample]:
    def params(axis: int, size: int, mode: str, origin: int = 0) -> dict[str, Any]:
        return {"axis": axis, "size": size, "mode": mode, "origin": origin}

    yield Sample((make((5,)),), params(0, 3, "reflect"), "reflect")
    yield Sample((make((3, 4)),), params(1, 4, "mirror", 1), "even")
    yield Sample((make((4,), np.float32),), params(0, 2, "nearest"), "float32")
    yield Sample((make((4,), np.complex128),), params(0, 3, "constant"), "complex")
    yield Sample((make((4,), np.complex64),), params(0, 3, "mirror"), "complex64")
    yield Sample((make((0, 3)),), params(1, 3, "wrap"), "empty")
    for label, values in layouts(make((3, 4))):
        yield Sample((values,), params(0, 3, "wrap"), label)
