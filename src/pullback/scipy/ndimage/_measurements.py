"""Measurements of labelled parts of an image. Labels are constants, and so are the places of extremes."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._arrays import declare_arrays, floating, root
from pullback.scipy._surface import Call, declare, joined, numbers
from pullback.tensors.tensor import Tensor


class Parts:
    """The labelled parts of an image: which elements belong to each, and the shape in which results are returned."""

    def __init__(self, call: Call) -> None:
        self.x = floating(call, call["input"], "an image")
        self.flat = self.x.reshape(-1)
        labels, index = (numbers(call[name]) for name in ("labels", "index"))
        self.shape: tuple[int, ...] = ()
        if labels is None:
            if index is not None:
                raise ValueError("index without defined labels")
            group = np.zeros(self.x.size, dtype=np.int64)
            self.count = 1
            self.of = np.zeros(1, dtype=np.int64)
        else:
            labels = np.broadcast_to(np.asarray(labels), tuple(self.x.shape)).reshape(-1)
            if index is None:
                group = np.where(labels > 0, 0, -1)
                self.count = 1
                self.of = np.zeros(1, dtype=np.int64)
            else:
                self.shape = np.shape(index)
                wanted, self.of = np.unique(np.asarray(index).reshape(-1), return_inverse=True)
                group = np.searchsorted(wanted, labels)
                group = np.where(wanted[np.minimum(group, len(wanted) - 1)] == labels, group, -1)
                self.count = len(wanted)
        self.places = np.flatnonzero(group >= 0)
        self.group = group[self.places]
        self.sizes = np.bincount(self.group, minlength=self.count)

    def returned(self, values: Any) -> Any:
        """Results, one for each part, as they were asked for."""
        return pb.take(values, self.of).reshape(self.shape)

    def sums(self, values: Any) -> Any:
        """The sum over each part of what belongs to its elements."""
        return pb.index_add(pb.zeros(self.count, dtype=values.dtype), 0, self.group, values)

    @property
    def values(self) -> Any:
        """The elements that belong to a part."""
        return pb.take(self.flat, self.places)

    def each(self, function: Any, missing: Any) -> Any:
        """A function of the elements of each part, and what is returned for one without elements."""
        made = []
        for k in range(self.count):
            inside = self.places[self.group == k]
            made.append(function(pb.take(self.flat, inside)) if inside.size else joined(missing) + self.flat[0] * 0)
        return pb.stack(made)


@declare_arrays("ndimage.sum", "ndimage.sum_labels", kind="C", by="input")
def _sum(call: Call) -> Any:
    parts = Parts(call)
    return parts.returned(parts.sums(parts.values))


def _means(parts: Parts, values: Any) -> Any:
    return parts.sums(values) / parts.sizes


@declare_arrays("ndimage.mean", kind="C", by="input")
def _mean(call: Call) -> Any:
    parts = Parts(call)
    return parts.returned(_means(parts, parts.values))


def _variances(parts: Parts) -> Any:
    values = parts.values
    off = values - pb.take(_means(parts, values), parts.group)
    return _means(parts, off * pb.conj(off))


@declare_arrays("ndimage.variance", kind="C", by="input")
def _variance(call: Call) -> Any:
    parts = Parts(call)
    return parts.returned(_variances(parts))


@declare_arrays("ndimage.standard_deviation", kind="C", by="input")
def _standard_deviation(call: Call) -> Any:
    parts = Parts(call)
    return parts.returned(root(_variances(parts)))


@declare_arrays("ndimage.minimum", "ndimage.maximum", "ndimage.median", kind="C", by="input")
def _order(call: Call) -> Any:
    parts = Parts(call)
    return parts.returned(parts.each(_ORDERS[call.name], 0.0))


def _median(values: Tensor) -> Any:
    ordered, n = pb.sort(values), values.shape[0]
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


_ORDERS = {
    "ndimage.minimum": lambda values: values.min(),
    "ndimage.maximum": lambda values: values.max(),
    "ndimage.median": _median,
}


@declare_arrays("ndimage.extrema", kind="C", by="input; positions are constants")
def _extrema(call: Call) -> Any:
    parts = Parts(call)
    plain = numbers(parts.x.detach())
    *_, lowest, highest = call.plain(plain, numbers(call["labels"]), numbers(call["index"]))
    least, most = (parts.returned(parts.each(_ORDERS[f"ndimage.{name}"], 0.0)) for name in ("minimum", "maximum"))
    return least, most, lowest, highest


@declare_arrays("ndimage.center_of_mass", kind="C", by="input")
def _center_of_mass(call: Call) -> Any:
    parts = Parts(call)
    values = parts.values
    whole = parts.sums(values)
    grid = np.unravel_index(parts.places, tuple(parts.x.shape))
    rows = [pb.take(parts.sums(values * each) / whole, parts.of) for each in grid]
    centers = [tuple(row[k] for row in rows) for k in range(len(parts.of))]
    return centers if parts.shape else centers[0]


@declare("ndimage.labeled_comprehension", kind="C", by="input, what the function takes from anywhere")
def _labeled_comprehension(call: Call) -> Any:
    parts = Parts(call)
    function = call["func"]
    if call["pass_positions"]:
        made = []
        for k in range(parts.count):
            inside = parts.places[parts.group == k]
            made.append(joined(function(pb.take(parts.flat, inside), inside) if inside.size else call["default"]))
        return parts.returned(pb.stack(made))
    return parts.returned(parts.each(lambda values: joined(function(values)), call["default"]))
