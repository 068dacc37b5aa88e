"""Counting elements in bins. The counts are constants; sums of weights are linear in the weights.

Which bin an element belongs to has no derivative. With weights, a histogram adds each weight to its bin and so hands
the gradient of the bin back to the weight. Edges that lie evenly between two limits move with these, which are given
or the smallest and the largest element.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.operators.arguments import computed, constant, is_constant, plain, tensor_from
from pullback.operators.arrays.creation import linspace
from pullback.operators.arrays.index_operators import ARRAY, index_add_to_zeros
from pullback.operators.arrays.joining import stack
from pullback.operators.arrays.reshaping import ravel, reshape
from pullback.operators.arrays.sorting import searchsorted
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import isnan, where
from pullback.operators.reductions.extremes import amax, amin
from pullback.operators.reductions.reduction import sum
from pullback.payloads.evaluate import is_traced
from pullback.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]


def _added_up(weights: Any, places: Array, length: int) -> Any:
    """Sums of weights by place."""
    return index_add_to_zeros(weights, places, template=(ARRAY,), shape=(length,), distinct=False)


@composite
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often every integer from 0 on occurs in `x`, or the sum of its weights, differentiable in the weights."""
    values = plain("bincount", x)
    if values.ndim != 1:
        raise ValueError(f"bincount: expected a vector, got {values.ndim} axes")
    if values.dtype.kind not in "biu" and values.size:
        raise TypeError(f"bincount: expected integers, got {values.dtype}")
    values = values.astype(np.int64, copy=False)
    if operator.index(minlength) < 0:
        raise ValueError(f"bincount: minlength should be >= 0, got {minlength}")
    if weights is None:
        return constant(np.bincount(values, minlength=minlength))
    weights = _weights_for("bincount", weights, values.shape)
    if values.size and values.min() < 0:
        raise ValueError("bincount: integers must not be negative")
    return _added_up(weights, values, max(int(values.max(initial=-1)) + 1, operator.index(minlength)))


def _weights_for(name: str, weights: Any, shape: tuple[int, ...]) -> Any:
    weights = tensor_from(weights)
    if weights.shape != shape:
        raise ValueError(f"{name}: expected a weight for every element, {shape}, got {weights.shape}")
    weights = reshape(weights, (-1,))
    return astype(weights, np.float64) if weights.dtype.kind in "biu" else weights


# Finding bins.


@composite
def histogram_bin_edges(x: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins that `histogram` counts in: a number of bins, edges, or the name of a method of NumPy's."""
    return _edges("histogram_bin_edges", x, bins, range, weights)[1]


def _edges(name: str, x: Any, bins: Any, limits: Any, weights: Any = None) -> tuple[Array, Any]:
    """The values of the edges, and the edges as a function of what they depend on: the limits, or edges given."""
    number = bins
    if not isinstance(bins, (str, int)):
        number = plain(name, bins if hasattr(bins, "ndim") else stack([tensor_from(edge) for edge in bins]))
        number = number if number.ndim else int(number)
    spans: Any = None if limits is None else tuple(float(plain(name, limit)) for limit in limits)
    weights = None if weights is None else plain(name, tensor_from(weights))
    depends_on_values = isinstance(bins, str) or (limits is None and isinstance(number, int))
    values = plain(name, x) if depends_on_values else np.zeros(0, x.dtype)
    found = np.histogram_bin_edges(values, number, spans, weights)
    if not isinstance(bins, str) and not isinstance(number, int):
        edges = bins if hasattr(bins, "ndim") else stack([tensor_from(edge) for edge in bins])
        return found, constant(found) if not hasattr(edges, "_data") or is_constant(edges) else edges + 0
    if not x.size or (limits is not None and not any(isinstance(limit, Tensor) for limit in limits)):
        return found, constant(found)
    ends = (x, x) if limits is None else tuple(map(tensor_from, limits))
    if all(map(is_constant, ends)):
        return found, constant(found)
    first, last = (amin(x), amax(x)) if limits is None else ends
    # Where all elements are equal, NumPy spreads the bins around them.
    spread = 0.5 if found[0] != plain(name, first) else 0.0
    return found, linspace(first - spread, last + spread, len(found), dtype=found.dtype)


@composite
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The number of the bin every element belongs to: how many edges lie at or below it, or below it with `right`.

    `bins` may fall as well as rise.
    """
    if not is_traced(x._data) or isinstance(bins, Tensor):
        return computed("digitize", lambda values, edges: np.digitize(values, edges, right), x, tensor_from(bins))
    edges = np.asarray(bins)
    np.digitize(0.0, edges)  # which raises if they neither rise nor fall
    side = "left" if right else "right"
    if not edges.size or edges[0] <= edges[-1]:
        return searchsorted(edges, x, side)
    return len(edges) - searchsorted(edges[::-1].copy(), x, side)


@composite
def bucketize(x: Any, boundaries: Any, *, right: bool = False, out_int32: bool = False) -> Any:
    """The number of boundaries below every element, or at or below it with `right`. The boundaries must rise."""
    return searchsorted(tensor_from(boundaries), tensor_from(x), "right" if right else "left", out_int32=out_int32)


def _bins_of(values: Any, edges: Array) -> tuple[Any, Any]:
    """The bin of every element, and whether it has one. The last edge belongs to the last bin."""
    is_array = isinstance(values, np.ndarray)
    search, choose, is_nan = (np.searchsorted, np.where, np.isnan) if is_array else (searchsorted, where, isnan)
    places = search(edges, values, "right") - 1
    places = choose(values == edges[-1], len(edges) - 2, places)
    return places, (places >= 0) & (places < len(edges) - 1) & ~is_nan(values)


# Histograms.


@composite
def histogram(x: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> tuple[Any, Any]:
    """How many elements lie in each bin, or the sum of their weights, and the edges of the bins.

    `density` divides by the total and by the widths, so that the integral is 1. Weights get a gradient, and limits do
    by way of the edges; which bin an element lies in has none.
    """
    found, edges = _edges("histogram", x, bins, range)
    weights = None if weights is None else _weights_for("histogram", weights, x.shape)
    if is_traced(x._data):  # the bins are found in every call
        places, is_inside = _bins_of(ravel(x).detach(), found)
    else:
        places, is_inside = computed("histogram", lambda row: _bins_of(row, found), ravel(x))
    ones = np.ones(x.size, np.int64) if weights is None else weights
    counts = _added_up(where(is_inside, ones, 0), where(is_inside, places, 0), len(found) - 1)
    if density:
        counts = counts / (edges[1:] - edges[:-1]) / sum(counts)
    return counts, edges


def _counted(weights: Any, places: Sequence[Array], is_inside: Array, shape: tuple[int, ...]) -> Any:
    """Counts, or sums of weights, of the elements that lie in a bin."""
    flat = np.ravel_multi_index([np.where(is_inside, place, 0) for place in places], shape)
    length = math.prod(shape)
    if weights is None:
        return constant(np.bincount(flat[is_inside], minlength=length).reshape(shape))
    (chosen,) = is_inside.nonzero()
    return reshape(_added_up(weights[chosen], flat[chosen], length), shape)


@composite
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Any, tuple[Any, ...]]:
    """How many of the points, one per row of `sample`, lie in each cell of a grid, and the edges along every axis."""
    sample = reshape(sample, (-1, 1)) if sample.ndim == 1 else sample
    if sample.ndim != 2:
        raise ValueError(f"histogramdd: expected one point per row, got {sample.ndim} axes")
    return _cells("histogramdd", sample, bins, range, density, weights)


def _cells(
    name: str, sample: Any, bins: Any, limits: Any, density: bool, weights: Any
) -> tuple[Any, tuple[Any, ...]]:
    points = plain(name, sample)
    number, axes = points.shape
    each = [bins] * axes if isinstance(bins, int) else list(bins)
    if len(each) != axes:
        raise ValueError(f"{name}: points have {axes} coordinates, and there are bins for {len(each)}")
    spans = [None] * axes if limits is None else list(limits)
    borders = [_edges(name, sample[:, k], each[k], spans[k]) for k in np.arange(axes)]
    found = [_bins_of(points[:, k], border) for k, (border, _) in enumerate(borders)]
    is_inside = np.logical_and.reduce([inside for _, inside in found])
    weights = None if weights is None else _weights_for(name, weights, (number,))
    shape = tuple(len(border) - 1 for border, _ in borders)
    counts = astype(_counted(weights, [place for place, _ in found], is_inside, shape), np.float64, copy=False)
    edges = tuple(edge for _, edge in borders)
    if density:
        counts = counts / sum(counts)
        for k, edge in enumerate(edges):
            counts = counts / reshape(edge[1:] - edge[:-1], (-1,) + (1,) * (axes - 1 - k))
    return counts, edges


@composite(arrays=2)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None
) -> tuple[Any, Any, Any]:
    """How many of the points with coordinates `x` and `y` lie in each cell of a grid, and the edges of both axes."""
    points = stack([x, y], -1)
    if not isinstance(bins, (int, str)) and len(bins) != 2:
        bins = [bins, bins]  # edges for both axes
    counts, (first, second) = _cells("histogram2d", points, bins, range, density, weights)
    return counts, first, second


@composite
def histc(x: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """How many elements lie in each of `bins` equal bins from `min` to `max`; equal ones mean those of `x`."""
    limits = None if min == max else (min, max)

    def count(values: Array) -> Array:
        counts, _ = np.histogram(values, operator.index(bins), limits)
        return counts.astype(values.dtype if values.dtype.kind == "f" else np.float64)

    return computed("histc", count, x)
