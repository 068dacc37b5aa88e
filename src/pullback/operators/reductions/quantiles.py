"""Quantiles: elements at fractions of the sorted order, and between them by interpolation.

`quantile` sorts, finds the two neighbours of the place `q` asks for, and goes from one to the other by a weight. It is
therefore linear in those two elements, and differentiable in `q` under the continuous methods. All thirteen methods
of NumPy are here; they differ in the place that belongs to a fraction and in what happens between two places.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes
from pullback.declare.composite import composite
from pullback.operators.arguments import beside, every_value, on_arrays, tensor_from
from pullback.operators.arrays.index_operators import basic_view
from pullback.operators.arrays.movement import broadcast_to, expand_dims, moveaxis
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.arrays.scatter import gather_along
from pullback.operators.arrays.sorting import median_of, sort, sort_with_indices
from pullback.operators.elementwise.arithmetic import floor
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import clip, equal, isnan, where
from pullback.operators.reductions.reduction import sum
from pullback.operators.reductions.scan import cumsum
from pullback.tape.function.outputs import tensors_in
from pullback.tensors.tensor import Tensor

# The place, counted from 0, that belongs to the fraction q of n elements (Hyndman and Fan's numbers 4 to 9).
_CONTINUOUS: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda q, n: q * (n - 1),
    "interpolated_inverted_cdf": lambda q, n: q * n - 1,
    "hazen": lambda q, n: q * n - 0.5,
    "weibull": lambda q, n: q * (n + 1) - 1,
    "median_unbiased": lambda q, n: q * (n + 1 / 3) - 2 / 3,
    "normal_unbiased": lambda q, n: q * (n + 0.25) - 0.625,
}


def _detached(x: Any) -> Any:
    return x.detach() if isinstance(x, Tensor) else x


def _as_operand(value: Any, x: Any) -> Any:
    """An array if `x` is one, a Tensor otherwise; numbers and lists of them lie where `x` does."""
    if type(x) is np.ndarray:
        return np.asarray(value)
    value = _stacked(value)
    return tensor_from(value if hasattr(value, "dtype") else beside(x, np.asarray(value)))


def _stacked(value: Any) -> Any:
    """A list with tensors as their stack, anything else as it is."""
    return tensor_from(value) if next(tensors_in(value), None) is not None else value


def _is_whole(place: Any) -> Any:
    return equal(place, floor(place))


# Methods that take one element, or the mean of two: place and weight of the upper neighbour, from the place of
# `linear` or of the inverted distribution function.
def _discrete(method: str, q: Any, n: Any) -> tuple[Any, Any]:
    if method in ("lower", "higher", "nearest", "midpoint"):
        place = q * (n - 1)
        low = floor(place)
        part = place - low
        if method == "lower":
            return low, part * 0
        if method == "higher":
            return low, where(equal(part, 0), 0, 1.0)
        if method == "midpoint":
            return low, where(equal(part, 0), 0, 0.5)
        is_odd = equal(low % 2, 1)  # halfway between two, the even place
        return low, where((part > 0.5) | (equal(part, 0.5) & is_odd), 1.0, 0)
    if method == "closest_observation":
        place = q * n - 1 - 0.5
        low = floor(place)
        part = place - low
        stays = equal(part, 0) & equal(low % 2, 1)
        return low, where(stays, 0, 1.0)
    place = q * n - 1
    low = floor(place)
    if method == "inverted_cdf":
        return low, where(_is_whole(place), 0, 1.0)
    return low, where(_is_whole(place), 0.5, 1.0)  # averaged_inverted_cdf


_PICKING = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")  # one element as it is
_DISCRETE = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "lower", "higher", "nearest", "midpoint",
)  # fmt: skip


def _places(method: str, q: Any, n: Any) -> tuple[Any, Any]:
    """The lower neighbour's place and the weight of the upper one."""
    if method in _CONTINUOUS:
        place = clip(_CONTINUOUS[method](q, n), 0, n - 1)
        low = clip(floor(_detached(place)), 0, where(n > 1, n - 2, 0))
        return low, place - low
    if method in _DISCRETE:
        return _discrete(method, _detached(q), n)
    raise ValueError(f"quantile: there is no method {method!r}; there are {', '.join((*_CONTINUOUS, *_DISCRETE))}")


def _in_rows(x: Any, axes: tuple[int, ...]) -> Any:
    """`x` with `axes` as one last axis."""
    rest = [k for k in range(x.ndim) if k not in axes]
    row = moveaxis(x, axes, range(len(rest), x.ndim))
    length = math.prod(x.shape[k] for k in axes)
    return reshape(row, (*(x.shape[k] for k in rest), length))


def _fractions(name: str, q: Any, x: Any, scale: float) -> Any:
    q = q if type(x) is np.ndarray else _stacked(q)
    values = every_value(q)
    if not bool(((values >= 0) & (values <= scale)).all()):
        raise ValueError(f"{name}: fractions must lie between 0 and {scale:g}")
    is_number = q.__class__ in (int, float)  # these give way to the dtype of the elements
    q = _as_operand(q, x)
    if is_number or q.dtype.kind in "biu":
        q = astype(q, x.dtype.type if is_number and x.dtype.kind == "f" else np.float64)
    return q / scale if scale != 1 else q


def _quantile(
    name: str, x: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any, scale: float, leave_out: bool
) -> Any:
    if x.dtype.kind == "c":
        raise TypeError(f"{name}: complex numbers have no order")
    axes = normalize_axes(axis, x.ndim)
    q = _fractions(name, q, x, scale)
    kind = x.dtype
    if kind.kind in "biu":
        x = astype(x, np.float64)
    row = _in_rows(x, axes)
    length = row.shape[-1]
    if length == 0:
        if not leave_out:
            raise ValueError(f"{name}: there is no quantile of nothing")
        out = astype(_as_operand(np.full(row.shape[:-1], math.nan), row), x.dtype)
        return expand_dims(out, axes) if keepdims else out  # whatever `q` is, as in NumPy
    flat = reshape(q, (-1,))
    if weights is not None:
        spread = _spread_weights(name, _as_operand(weights, x), x, axes)
        out = _weighted(name, row, flat, _in_rows(spread, axes), method)
    else:
        out = _unweighted(row, flat, method, leave_out)
    out = moveaxis(out, -1, 0) if out.ndim > 1 else out
    out = reshape(out, (*q.shape, *out.shape[1:]))
    if method in _PICKING:
        out = astype(out, kind, copy=False)
    return expand_dims(out, tuple(k + q.ndim for k in axes)) if keepdims else out


def _unweighted(row: Any, q: Any, method: str, leave_out: bool) -> Any:
    """Quantiles along the last axis, which the fractions replace."""
    ordered = sort(row)
    length = row.shape[-1]
    last = basic_view(ordered, index=(..., slice(length - 1, None)))
    count = astype(_as_operand(float(length), row), q.dtype)
    if leave_out:
        count = sum(~isnan(row), -1, True, dtype=q.dtype.type)  # NaN are sorted to the end, and not counted
    low, weight = _places(method, q, count)
    weight = astype(weight, q.dtype, copy=False)
    lower, upper = (_at(ordered, place, count) for place in (low, low + 1))
    out = _between(lower, upper, weight)
    return where(equal(count, 0), math.nan, out) if leave_out else where(isnan(last), last, out)


def _at(ordered: Any, place: Any, count: Any) -> Any:
    """The elements at these places of every row, the ends for places beyond them."""
    place = astype(clip(_detached(place), 0, where(count > 1, count - 1, 0)), np.int64)
    shape = (*ordered.shape[:-1], place.shape[-1])
    return gather_along(ordered, broadcast_to(place, shape), ordered.ndim - 1)


def _between(lower: Any, upper: Any, weight: Any) -> Any:
    """From one neighbour to the other. Where the weight is 0 or 1 the other one does not matter, even if infinite."""
    weight = astype(weight, np.result_type(lower.dtype, weight.dtype), copy=False)
    gap = where(equal(lower, upper), 0, upper - lower)
    inner = where(weight >= 0.5, upper - gap * (1 - weight), lower + gap * weight)
    infinite = where(equal(weight, 0), lower, where(equal(weight, 1), upper, lower + upper))
    return where(_is_finite(gap), inner, infinite)


def _is_finite(x: Any) -> Any:
    return equal(x - x, 0)


def _spread_weights(name: str, weights: Any, x: Any, axes: tuple[int, ...]) -> Any:
    if weights.shape == x.shape:
        return weights
    if weights.shape != tuple(x.shape[k] for k in axes):
        raise ValueError(f"{name}: weights of shape {weights.shape} fit neither {x.shape} nor its axes {axes}")
    shape = tuple(length if k in axes else 1 for k, length in enumerate(x.shape))
    return broadcast_to(reshape(weights, shape), x.shape)


def _weighted(name: str, row: Any, q: Any, weights: Any, method: str) -> Any:
    """The first element up to which the weights make up a fraction `q` of all."""
    if method != "inverted_cdf":
        raise ValueError(f"{name}: weights go with method='inverted_cdf' only, got {method!r}")
    if (every_value(weights) < 0).any():
        raise ValueError(f"{name}: weights must not be negative")
    ordered, order = sort_with_indices(row)
    running = cumsum(gather_along(_detached(weights), order, row.ndim - 1), -1)
    total = basic_view(running, index=(..., slice(row.shape[-1] - 1, None)))
    reached = expand_dims(running / total, -2) >= expand_dims(_detached(q), -1)
    place = sum(~reached, -1, dtype=np.float64)
    last = basic_view(ordered, index=(..., slice(row.shape[-1] - 1, None)))
    return where(isnan(last), last, _at(ordered, place, _as_operand(float(row.shape[-1]), row)))


@composite
@on_arrays
def quantile(
    x: Any, q: Any, axis: Any = None, keepdims: bool = False, *, method: str = "linear",
    interpolation: str | None = None, weights: Any = None, dim: Any = None, keepdim: bool | None = None,
) -> Any:  # fmt: skip
    """The elements below which fractions `q` of all elements over `axis` lie; NaN where an element is NaN.

    That element then has the gradient, as in `max` and `median`. The axes of `q` come first. Under the continuous
    methods the derivative by `q` is the difference of neighbours.
    """
    axis, keepdims = merge_spellings("quantile: axis/dim", axis, dim), keepdims if keepdim is None else keepdim
    return _quantile("quantile", x, q, axis, interpolation or method, keepdims, weights, 1, False)


@composite
@on_arrays
def percentile(
    x: Any, q: Any, axis: Any = None, keepdims: bool = False, *, method: str = "linear", weights: Any = None
) -> Any:
    """`quantile` with fractions in percent."""
    return _quantile("percentile", x, q, axis, method, keepdims, weights, 100, False)


@composite
def nanquantile(
    x: Any, q: Any, axis: Any = None, keepdims: bool = False, *, method: str = "linear",
    interpolation: str | None = None, dim: Any = None, keepdim: bool | None = None,
) -> Any:  # fmt: skip
    """`quantile` of the elements that are not NaN, which get the gradient; NaN where there is none."""
    axis, keepdims = merge_spellings("nanquantile: axis/dim", axis, dim), keepdims if keepdim is None else keepdim
    return _quantile("nanquantile", x, q, axis, interpolation or method, keepdims, None, 1, True)


@composite
def nanpercentile(x: Any, q: Any, axis: Any = None, keepdims: bool = False, *, method: str = "linear") -> Any:
    """`percentile` of the elements that are not NaN; NaN where there is none."""
    return _quantile("nanpercentile", x, q, axis, method, keepdims, None, 100, True)


@composite
def nanmedian(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool | None = None) -> Any:
    """The middle element that is not NaN over `axis`, or the mean of the two middle ones; NaN where there is none.

    Equal elements share the gradient, as those of `median` do; elements that are NaN get 0.
    """
    axis, keepdims = merge_spellings("nanmedian: axis/dim", axis, dim), keepdims if keepdim is None else keepdim
    return median_of(x, axis, keepdims, omit_nan=True)
