"""Distances of every row of one matrix from every row of another."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from pullback.core.axes import axis_letters
from pullback.core.spec import Spec, spec_for
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arrays.movement import matrix_transpose
from pullback.operators.elementwise.comparison import where


@primitive(name="_row_distances", letters=lambda x: "{0}L*,{0}M*->{0}LM".format(axis_letters(x.ndim - 2)))
def row_distances(x, y, *, squared):
    """The Euclidean distances of rows, or their squares, as SciPy computes them; 0 has slope 0."""
    if x.dtype.kind == "c" or y.dtype.kind == "c":
        raise TypeError("distances are those of real vectors")
    metric = "sqeuclidean" if squared else "euclidean"
    cdist = import_module("scipy.spatial.distance").cdist
    batch = x.shape[:-2]
    out = np.empty((*batch, x.shape[-2], y.shape[-2]))
    for place in np.ndindex(batch):
        out[place] = cdist(x[place], y[place], metric) if x.shape[-1] else 0.0
    return out.astype(np.result_type(x, y), copy=False)


@row_distances.spelling("array_api")
def row_distances_spelling(np_there, x, y, *, squared):
    apart = x[..., :, None, :] - y[..., None, :, :]
    squares = np_there.sum(apart * apart, -1)
    return squares if squared else np_there.sqrt(squares)


def _slopes(g: Any, out: Any, squared: bool) -> Any:
    """What the differences of rows are multiplied by."""
    if squared:
        return 2 * g
    return where(out == 0, 0, g / where(out == 0, 1, out))


def _near_zero(x: Any, y: Any) -> tuple[Any, Any]:
    """Both moved so that digits are not lost to a place far away; differences stay."""
    if not y.shape[-2]:
        return x, y
    middle = y.mean(axis=-2, keepdims=True)
    return x - middle, y - middle


@row_distances.vjp_of("x")
def row_distances_vjp_x(g, x, y, out, squared):
    x, y = _near_zero(x, y)
    h = _slopes(g, out, squared)
    return x * h.sum(axis=-1)[..., None] - h @ y


@row_distances.vjp_of("y")
def row_distances_vjp_y(g, x, y, out, squared):
    x, y = _near_zero(x, y)
    h = _slopes(g, out, squared)
    return y * h.sum(axis=-2)[..., None] - matrix_transpose(h) @ x


@row_distances.jvp
def row_distances_jvp(t_x, t_y, x, y, out, squared):
    x, y = _near_zero(x, y)
    total = 0
    if t_x is not None:
        total = (x * t_x).sum(axis=-1)[..., :, None] - t_x @ matrix_transpose(y)
    if t_y is not None:
        total = total + (y * t_y).sum(axis=-1)[..., None, :] - x @ matrix_transpose(t_y)
    return _slopes(total, out, squared)


@row_distances.spec
def row_distances_spec(x: Spec, y: Spec, *, squared: bool) -> Spec:
    return spec_for((*x.shape[:-1], y.shape[-2]), np.result_type(x.dtype, y.dtype))


@row_distances.batch
def row_distances_batch(x, y, *, squared):
    return row_distances(x, y, squared=squared)


@row_distances.samples
def row_distances_samples(make: Maker) -> Iterator[Sample]:
    for squared in (False, True):
        yield Sample((make((3, 2)), make((4, 2))), {"squared": squared}, "squares" if squared else "lengths")
    yield Sample((make((2, 3, 2)), make((2, 2, 2))), {"squared": False}, "batch")
    yield Sample((make((3, 2), np.float32), make((2, 2), np.float32)), {"squared": False}, "float32")
    yield Sample((make((0, 2)), make((3, 2))), {"squared": False}, "empty")
    for label, values in layouts(make((3, 2))):
        yield Sample((values, make((2, 2))), {"squared": False}, label)
