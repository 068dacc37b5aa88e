"""Combining values with elements at positions that may repeat: `scatter_reduce`, `index_reduce`, `x.at[key]`.

Sums go through `index_put` with accumulation. For other reductions the values that meet in one element are written
into one row of a table, and the table is reduced along its rows; so the rules for ties and zeros are those of `amax`
and `prod`. The table has as many columns as the most crowded element has values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.core.lazy import UnknownName
from pullback.declare.composite import composite
from pullback.operators.arguments import along_axis, constant, plain, tensor_from
from pullback.operators.arrays.index_operators import ARRAY, basic_view, index_put_arrays
from pullback.operators.arrays.indexing import getitem, setitem
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.arrays.reshaping import ravel, reshape
from pullback.operators.arrays.scatter import put, take
from pullback.operators.elementwise.arithmetic import addcdiv, addcmul, lerp, nan_to_num
from pullback.operators.elementwise.casting import astype, in_place
from pullback.operators.products import addmm
from pullback.operators.reductions.extremes import amax, amin
from pullback.operators.reductions.reduction import prod
from pullback.payloads.batched import levels_of
from pullback.payloads.batched.crossing import enter_level, leave_level
from pullback.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]

_REDUCTIONS: dict[str, tuple[Any, float]] = {"prod": (prod, 1.0), "amax": (amax, -math.inf), "amin": (amin, math.inf)}


def _put(x: Any, places: Array, values: Any, accumulate: bool = False, distinct: bool = True) -> Any:
    return index_put_arrays(x, values, places, template=(ARRAY,), accumulate=accumulate, distinct=distinct)


def _combined(x: Any, places: Array, values: Any, reduce: str, include_self: bool) -> Any:
    """A vector with the values at its places combined with what is there."""
    if not places.size:
        return x
    values = astype(values, x.dtype, copy=False)
    touched, row, counts = np.unique(places, return_inverse=True, return_counts=True)
    if reduce in ("sum", "mean"):
        base = x if include_self else _put(x, touched, 0)
        out = _put(base, places, values, accumulate=True, distinct=False)
        if reduce == "sum":
            return out
        totals, shares = take(out, touched), constant((counts + include_self).astype(x.real.dtype))
        means = totals / shares if x.dtype.kind in "fc" else totals // shares
        return _put(out, touched, astype(means, x.dtype, copy=False))
    operator, neutral = _REDUCTIONS[reduce]
    order = np.argsort(row, kind="stable")
    column = np.empty_like(row)
    column[order] = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts) + include_self
    width = int(counts.max()) + include_self
    table = constant(np.full((len(touched) * width,), _storable(neutral, x.dtype), x.dtype))
    if include_self:
        table = _put(table, np.arange(len(touched)) * width, take(x, touched))
    table = _put(table, row * width + column, values)
    return _put(x, touched, operator(reshape(table, (-1, width)), 1))


def _storable(neutral: float, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "b":
        return neutral > 0
    if dtype.kind in "iu" and math.isinf(neutral):
        return np.iinfo(dtype).min if neutral < 0 else np.iinfo(dtype).max
    return neutral


def _check_reduction(name: str, reduce: str) -> str:
    reduce = {"add": "sum", "multiply": "prod"}.get(reduce, reduce)
    if reduce not in ("sum", "mean", *_REDUCTIONS):
        raise ValueError(f"{name}: there is no reduction {reduce!r}; there are sum, mean, prod, amax and amin")
    return reduce


@composite
@along_axis
def scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """`x` with `src[i, j]` combined into `x[index[i, j], j]` for `dim` 0, and so on, by "sum", "prod", "mean", "amax"
    or "amin".

    Without `include_self` the former elements do not count where something is combined. Equal extremes share the
    gradient; a product is differentiated exactly also where factors are zero.
    """
    reduce = _check_reduction("scatter_reduce", reduce)
    axis = normalize_axis_index(dim, x.ndim)
    levels = levels_of(index._data) if isinstance(index, Tensor) else ()
    if levels:
        # Positions that differ between examples: the examples are one more axis along which nothing is combined.
        x, index, src = (leave_level(tensor_from(each), axis=0, level=levels[-1]) for each in (x, index, src))
        out = scatter_reduce(x, axis + 1, index, src, reduce, include_self=include_self)
        return enter_level(out, axis=0, level=levels[-1])
    positions, src = plain("scatter_reduce", index), tensor_from(src)
    if positions.ndim != x.ndim or any(a > b for a, b in zip(positions.shape, src.shape, strict=True)):
        raise ValueError(f"scatter_reduce: index {positions.shape} does not fit values {src.shape} and array {x.shape}")
    src = basic_view(src, index=tuple(slice(0, length) for length in positions.shape))
    length = x.shape[axis]
    if positions.size and (positions.min() < -length or positions.max() >= length):
        raise IndexError(f"scatter_reduce: an index is beyond an axis of length {length}")
    where = list(np.indices(positions.shape, sparse=True))
    where[axis] = np.where(positions < 0, positions + length, positions)
    places = np.ravel_multi_index(np.broadcast_arrays(*where), x.shape).reshape(-1)
    return reshape(_combined(ravel(x), places, reshape(src, (-1,)), reduce, include_self), x.shape)


@composite
@along_axis
def index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """`x` with the slices of `source` along `dim` combined into the slices of `x` at `index`; see `scatter_reduce`."""
    axis = normalize_axis_index(dim, x.ndim)
    source = tensor_from(source)
    shape = (1,) * axis + (-1,) + (1,) * (x.ndim - axis - 1)
    positions = broadcast_to(reshape(tensor_from(index), shape), source.shape)
    reduce = _check_reduction("index_reduce", reduce)
    return scatter_reduce(x, axis, positions, source, reduce, include_self=include_self)


# Functional updates.


class Places:
    """Some places of a tensor. Every method but `get` returns a new tensor in which they are changed.

    Where a place is named twice, both values count: `x.at[[0, 0]].add(1)` adds 2.
    """

    __slots__ = ("_key", "_tensor")

    def __init__(self, tensor: Tensor, key: Any) -> None:
        self._tensor = tensor
        self._key = key

    if not TYPE_CHECKING:  # or every name would be one of its own

        def __getattr__(self, name: str) -> Any:
            raise UnknownName("x.at[i]", name, self)

    def get(self) -> Tensor:
        """The elements at these places."""
        return self._tensor[self._key]

    def set(self, values: Any) -> Tensor:
        """The tensor with values written to these places; of several for one place, the last."""
        out = self._tensor.clone()
        setitem(out, self._key, values)
        return out

    def apply(self, function: Callable[[Any], Any]) -> Tensor:
        """The tensor with a function applied to the elements at these places."""
        return self.set(function(self.get()))

    def add(self, values: Any) -> Tensor:
        """The tensor with values added at these places."""
        return self._combine(values, "sum")

    def subtract(self, values: Any) -> Tensor:
        """The tensor with values subtracted at these places."""
        return self.add(-tensor_from(values))

    def multiply(self, values: Any) -> Tensor:
        """The tensor multiplied by values at these places."""
        return self._combine(values, "prod")

    def divide(self, values: Any) -> Tensor:
        """The tensor divided by values at these places."""
        return self._tensor / Places(self._ones(), self._key).multiply(values)

    def power(self, values: Any) -> Tensor:
        """The tensor raised to powers at these places."""
        return self._tensor ** Places(self._ones(), self._key).multiply(values)

    def min(self, values: Any) -> Tensor:
        """The tensor with the smaller of its elements and values at these places; equal ones share the gradient."""
        return self._combine(values, "amin")

    def max(self, values: Any) -> Tensor:
        """The tensor with the larger of its elements and values at these places; equal ones share the gradient."""
        return self._combine(values, "amax")

    def _ones(self) -> Tensor:
        return constant(np.ones(self._tensor.shape, self._tensor.dtype))

    def _combine(self, values: Any, reduce: str) -> Tensor:
        x = self._tensor
        places = getitem(constant(np.arange(x.size).reshape(x.shape)), self._key)
        values = reshape(broadcast_to(tensor_from(values), places.shape), (-1,))
        return reshape(scatter_reduce(ravel(x), 0, reshape(places, (-1,)), values, reduce), x.shape)


class Updates:
    """What `x.at` is: `x.at[key]` names places of `x`."""

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __getitem__(self, key: Any) -> Places:
        return Places(self._tensor, key)


def put_(self: Tensor, indices: Any, values: Any, accumulate: bool = False) -> Tensor:
    """Write values to places counted in row-major order, or add them there with `accumulate`."""
    put(self, indices, values, accumulate=accumulate)
    return self


members: dict[str, Any] = {
    "at": property(Updates, doc="Functional updates: `x.at[key].add(y)` is a new tensor."),
    "addcdiv_": in_place(addcdiv, "addcdiv"),
    "addcmul_": in_place(addcmul, "addcmul"),
    "addmm_": in_place(addmm, "addmm"),
    "index_reduce_": in_place(index_reduce, "index_reduce"),
    "lerp_": in_place(lerp, "lerp"),
    "nan_to_num_": in_place(nan_to_num, "nan_to_num"),
    "put_": put_,
    "scatter_reduce_": in_place(scatter_reduce, "scatter_reduce"),
}
"""Members of `Tensor` that are no functions."""
