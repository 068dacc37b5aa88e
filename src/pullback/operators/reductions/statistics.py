"""Statistics: ranges, averages, covariances, and reductions that leave NaN out.

All of them are made of reductions, so their derivatives are too. An element that is left out has derivative 0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.axes import axis_letters, merge_spellings, normalize_axes, normalize_axis_index
from pullback.declare.composite import composite
from pullback.declare.families import primitive, reduced_shape
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import along_axis, computed, constant, every_value, tensor_from
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import broadcast_to, diagonal, permute_dims, squeeze, swapaxes
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.arrays.scatter import take_along_axis
from pullback.operators.contraction import matmul
from pullback.operators.elementwise.arithmetic import sqrt
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import clip, isnan, where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.reductions.exponentials import logsumexp
from pullback.operators.reductions.extremes import amax, amin, argmax, argmin
from pullback.operators.reductions.reduction import (
    accept_spellings_of_correction,
    mean,
    mean_jvp,
    mean_transpose,
    quotient_or_nan,
    std,
    std_jvp,
    std_vjp,
    sum,
    var,
    var_jvp,
    var_vjp,
)
from pullback.operators.reductions.scan import cumprod, cumsum
from pullback.tensors.tensor import Tensor


def _axes(name: str, x: Any, axis: Any, dim: Any) -> tuple[int, ...]:
    return normalize_axes(merge_spellings(f"{name}: axis/dim", axis, dim), x.ndim)


def _count(x: Any, axes: tuple[int, ...]) -> int:
    return math.prod(x.shape[k] for k in axes)


# Ranges.


class MinAndMax(NamedTuple):
    """The smallest and the largest element."""

    min: Tensor
    max: Tensor


@composite
def aminmax(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool | None = None) -> Any:
    """The smallest and the largest element over `axis`; equal ones share the gradient."""
    axes = _axes("aminmax", x, axis, dim)
    keepdims = keepdims if keepdim is None else keepdim
    return MinAndMax(amin(x, axes, keepdims), amax(x, axes, keepdims))


@composite
def ptp(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool | None = None) -> Any:
    """The largest less the smallest element over `axis`; equal ones share the gradient."""
    low, high = aminmax(x, axis, keepdims, dim=dim, keepdim=keepdim)
    return high - low


@composite
def logmeanexp(
    x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool | None = None
) -> Any:
    """`log(mean(exp(x)))` over `axis`, computed without overflow."""
    axes = _axes("logmeanexp", x, axis, dim)
    return logsumexp(x, axes, keepdims if keepdim is None else keepdim) - math.log(_count(x, axes))


# Leaving NaN out.


def _has_nan(x: Any) -> bool:
    return bool(x.dtype.kind in "fc")


def _checked_positions(name: str, x: Any, axis: Any, keepdims: bool, replacement: float, find: Any) -> Any:
    if not _has_nan(x):
        return find(x, axis, keepdims)
    missing = isnan(x)
    axes = normalize_axes(axis, x.ndim)
    if bool(every_value(missing.all(axis=axes)).any()):
        raise ValueError(f"{name}: there are only NaN along an axis")
    return find(where(missing, replacement, x), axis, keepdims)


@composite
def nanargmax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Where the largest element that is not NaN is along `axis`, or in the flat array; the first of equal ones."""
    return _checked_positions("nanargmax", x, axis, keepdims, -math.inf, argmax)


@composite
def nanargmin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Where the smallest element that is not NaN is along `axis`, or in the flat array; the first of equal ones."""
    return _checked_positions("nanargmin", x, axis, keepdims, math.inf, argmin)


def _nan_extreme(x: Any, axes: tuple[int, ...], keepdims: bool, replacement: float, extreme: Any) -> Any:
    if not _has_nan(x):
        return extreme(x, axes, keepdims)
    missing = isnan(x)
    out = extreme(where(missing, replacement, x), axes, keepdims)
    return where(missing.all(axis=axes, keepdims=keepdims), math.nan, out)


@composite
def nanmax(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool | None = None) -> Any:
    """The largest element over `axis` that is not NaN, or NaN if there is none; equal ones share the gradient."""
    axes = _axes("nanmax", x, axis, dim)
    return _nan_extreme(x, axes, keepdims if keepdim is None else keepdim, -math.inf, amax)


@composite
def nanmin(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: bool | None = None) -> Any:
    """The smallest element over `axis` that is not NaN, or NaN if there is none; equal ones share the gradient."""
    axes = _axes("nanmin", x, axis, dim)
    return _nan_extreme(x, axes, keepdims if keepdim is None else keepdim, math.inf, amin)


@composite
def nanvar(
    x: Any, axis: Any = None, keepdims: bool = False, *, correction: float | None = None, ddof: float | None = None,
    dim: Any = None, keepdim: bool | None = None,
) -> Any:  # fmt: skip
    """The variance over `axis` of the elements that are not NaN; NaN where fewer remain than `correction` asks for."""
    axes = _axes("nanvar", x, axis, dim)
    keepdims = keepdims if keepdim is None else keepdim
    correction = merge_spellings("nanvar: correction/ddof", correction, ddof) or 0
    if not _has_nan(x):
        return var(x, axis=axes, correction=correction, keepdims=keepdims)
    missing = isnan(x)
    count = sum(~missing, axes, True, dtype=x.real.dtype.type)
    center = sum(where(missing, 0, x), axes, True) / where(count == 0, 1, count)
    deviation = where(missing, 0, x - where(missing, 0, center))
    freedom = count - correction
    squares = (deviation * conjugated(deviation)).real
    out = quotient_or_nan(sum(squares, axes, True), where(freedom > 0, freedom, math.nan), count == 0)
    return out if keepdims else squeeze(out, axes)


@composite
def nanstd(x: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Any:
    """The root of `nanvar`. Its derivative is 0 where all elements are equal."""
    variance = nanvar(x, axis, keepdims, **options)
    is_positive = variance > 0
    return where(is_positive, sqrt(where(is_positive, variance, 1)), variance)


@composite
def nancumsum(x: Any, axis: Any = None, *, dim: Any = None) -> Any:
    """Running sums along `axis`, or in row-major order, with NaN counted as 0."""
    return cumsum(where(isnan(x), 0, x) if _has_nan(x) else x, merge_spellings("nancumsum: axis/dim", axis, dim))


@composite
def nancumprod(x: Any, axis: Any = None, *, dim: Any = None) -> Any:
    """Running products along `axis`, or in row-major order, with NaN counted as 1."""
    return cumprod(where(isnan(x), 1, x) if _has_nan(x) else x, merge_spellings("nancumprod: axis/dim", axis, dim))


# Averages.


@composite
def average(
    x: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """The weighted mean over `axis`, differentiable in the elements and in the weights.

    Weights have the shape of `x`, or that of the averaged axes. `returned=True` gives the sum of weights as well.
    """
    axes = normalize_axes(axis, x.ndim)
    if weights is None:
        out = mean(x, axes, keepdims)
        return (out, constant(np.full(out.shape, float(_count(x, axes)), out.dtype))) if returned else out
    weights = tensor_from(weights)
    if weights.shape != x.shape:
        # The axes of the weights are in the order in which `axis` names them.
        named = () if axis is None else tuple(normalize_axis_index(k, x.ndim) for k in np.atleast_1d(axis).tolist())
        if axis is None or weights.shape != tuple(x.shape[k] for k in named):
            raise ValueError(f"average: weights of shape {weights.shape} fit neither {x.shape} nor the axes averaged")
        weights = permute_dims(weights, tuple(np.argsort(named).tolist()))
        weights = reshape(weights, tuple(length if k in axes else 1 for k, length in enumerate(x.shape)))
    kind = np.result_type(x.dtype, weights.dtype, *([np.float64] if x.dtype.kind in "biu" else []))
    weights = astype(weights, kind, copy=False)
    total = sum(broadcast_to(weights, x.shape), axes, keepdims)
    out = sum(x * weights, axes, keepdims) / total
    return (out, total) if returned else out


@composite
def standardize(x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: float = 1e-5) -> Any:
    """`x` less its mean and divided by its standard deviation over `axis`; `epsilon` is added to the variance."""
    axes = normalize_axes(axis, x.ndim)
    center = sum(x, axes, True) / max(_count(x, axes), 1) if mean is None else mean
    deviation = x - center
    if variance is None:
        variance = sum((deviation * conjugated(deviation)).real, axes, True) / max(_count(x, axes), 1)
    return deviation / sqrt(variance + epsilon)


@composite
@along_axis
def mode(x: Any, axis: int = -1, keepdims: bool = False, *, dim: int | None = None, keepdim: bool | None = None) -> Any:
    """The most frequent value along `axis`, the smallest of equally frequent ones, and the last place where it is."""
    along = normalize_axis_index(axis if dim is None else dim, x.ndim)
    indices = computed("mode", functools.partial(_last_places_of_mode, axis=along), x)
    values = take_along_axis(x, indices, along)
    if keepdims if keepdim is None else keepdim:
        return ValueAndPlace(values, indices)
    return ValueAndPlace(squeeze(values, along), squeeze(indices, along))


def _last_places_of_mode(x: Any, axis: int) -> Any:
    rows = np.moveaxis(x, axis, -1)
    places = np.empty(rows.shape[:-1], np.int64)
    for place in np.ndindex(places.shape):
        values, counts = np.unique(rows[place], return_counts=True)
        places[place] = np.flatnonzero(rows[place] == values[counts.argmax()])[-1]
    return np.expand_dims(places, axis)


class ValueAndPlace(NamedTuple):
    """Values and where they were."""

    values: Tensor
    indices: Tensor


# Covariances.


@composite
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: float | None = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None, correction: float | None = None,
) -> Any:  # fmt: skip
    """The covariance matrix of variables in the rows of `m` (and `y`); observations are columns.

    Differentiable in the observations and in `aweights`; `fweights` are counts. The divisor is the sum of weights less
    `correction`, which is 1 unless `bias` or `ddof` says otherwise.
    """
    rows = _variables(m, rowvar, dtype)
    if y is not None:
        rows = concat([rows, _variables(tensor_from(y), rowvar, dtype)], 0)
    ddof = merge_spellings("cov: correction/ddof", ddof, correction)
    freedom = (0 if bias else 1) if ddof is None else ddof
    if rows.dtype.kind in "biu":
        rows = astype(rows, np.float64)
    weights, total, divisor = _observation_weights(rows.shape[1], fweights, aweights, freedom)
    center = mean(rows, 1, True) if weights is None else sum(rows * weights, 1, True) / total
    deviation = rows - center
    weighted = deviation if weights is None else deviation * weights
    return squeeze_all(matmul(weighted, conjugated(swapaxes(deviation, 0, 1))) / divisor)


def squeeze_all(x: Any) -> Any:
    """`x` without its axes of length 1."""
    return reshape(x, tuple(length for length in x.shape if length != 1))


def _variables(m: Any, rowvar: bool, dtype: Any) -> Any:
    """One variable per row."""
    if m.ndim > 2:
        raise ValueError(f"cov: variables must have one axis or two, got {m.ndim}")
    m = m if dtype is None else astype(m, dtype, copy=False)
    if m.ndim < 2:
        return reshape(m, (1, -1))
    return m if rowvar else swapaxes(m, 0, 1)


def _observation_weights(count: int, fweights: Any, aweights: Any, freedom: float) -> tuple[Any, Any, Any]:
    """The weights of the observations, their sum, and what to divide by."""
    if fweights is None and aweights is None:
        return None, count, float(max(count - freedom, 0))
    weights: Any = 1 if fweights is None else tensor_from(fweights)
    if fweights is not None and (weights.dtype.kind not in "iu" or (every_value(weights) < 0).any()):
        raise ValueError("cov: fweights are counts: integers that are not negative")
    if aweights is not None:
        aweights = tensor_from(aweights)
        values = every_value(aweights)
        if type(values) is np.ndarray and (values < 0).any():  # what is traced has no values yet
            raise ValueError("cov: aweights cannot be negative")
        weights = weights * aweights
    if weights.shape != (count,):
        raise ValueError(f"cov: expected a weight for each of {count} observations, got shape {weights.shape}")
    total = sum(weights)
    if freedom == 0:
        return weights, total, total
    left = total - freedom * (1 if aweights is None else sum(weights * aweights) / total)
    return weights, total, where(left > 0, left, 0)  # no freedom is left, and never a negative one


@composite
def corrcoef(m: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The correlation matrix of variables in the rows of `m` (and `y`): covariances over standard deviations."""
    matrix = cov(m, y, rowvar, dtype=dtype)
    if matrix.ndim == 0:
        return matrix / matrix
    deviation = sqrt(diagonal(matrix).real)
    out = matrix / reshape(deviation, (-1, 1)) / deviation
    # Rounding must not push a correlation over 1; the derivative is that of the quotient.
    return out + (_limited(out) - out).detach()


def _limited(x: Any) -> Any:
    if x.dtype.kind != "c":
        return clip(x, -1, 1)
    return clip(x.real, -1, 1) + 1j * clip(x.imag, -1, 1)


# Spread and mean


def _with_mean(name: str, spread: Op) -> Op:
    """`var` or `std` and the mean, as one operator: the derivatives have the deviations in common."""

    is_var = spread is var

    def kernel(x, *, axis, correction, keepdims):
        value = spread.kernel(x, axis=axis, correction=correction, keepdims=keepdims)
        return value, mean.kernel(x, axis=axis, keepdims=keepdims)

    kernel.__doc__ = f"The {'variance' if is_var else 'standard deviation'} and the mean over `axis`."

    def letters(x: Any, axis: tuple[int, ...], keepdims: bool) -> str:
        own = axis_letters(x.ndim, axis)
        rest = own if keepdims else own.replace("*", "")
        return f"{own}->{rest},{rest}"

    op: Op = primitive(kernel, name=name, outputs=("spread", "center"), letters=letters)
    accept_spellings_of_correction(op, spread.door_rule)

    def kept(value: Any, x: Any, axis: tuple[int, ...]) -> Any:
        return value.reshape(reduced_shape(x.shape, axis, True))

    def pulled(g_spread: Any, g_center: Any, x: Any, out: Any, axis: Any, correction: Any) -> Any:
        terms = []
        if g_spread is not None:
            g = kept(g_spread, x, axis)
            at = (axis, correction)
            terms.append(var_vjp(g, x, *at) if is_var else std_vjp(g, x, kept(out, x, axis), *at))
        if g_center is not None:
            terms.append(mean_transpose(kept(g_center, x, axis), x, axis))
        return terms[0] if len(terms) == 1 else terms[0] + terms[1]

    if is_var:  # whose derivative does not read it, so that it may be overwritten

        @op.vjp
        def var_mean_vjp(g_spread, g_center, x, axis, correction):
            return pulled(g_spread, g_center, x, None, axis, correction)

    else:

        @op.vjp
        def std_mean_vjp(g_spread, g_center, x, spread, axis, correction):
            return pulled(g_spread, g_center, x, spread, axis, correction)

    @op.jvp
    def jvp(t_x, x, spread, center, axis, correction):
        out = kept(spread, x, axis)
        pushed = var_jvp(t_x, x, axis, correction) if is_var else std_jvp(t_x, x, out, axis, correction)
        return pushed.reshape(spread.shape), mean_jvp(t_x, axis).reshape(center.shape)

    @op.spec
    def spec(x, *, axis, correction, keepdims):
        value = spread.specs_of(x, axis=axis, correction=0, keepdims=keepdims)
        return value, mean.specs_of(x, axis=axis, keepdims=keepdims)

    @op.batch
    def batch(x, *, axis, correction, keepdims):
        return op(x, tuple(k + 1 for k in axis), keepdims, correction=correction)

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        for label, shape, axis, keepdims, dtype in [
            ("all", (3, 4), (0, 1), False, np.float64), ("last", (3, 4), (1,), True, np.float64),
            ("complex", (3, 2), (0,), False, np.complex128), ("empty", (3, 0), (0,), False, np.float64),
        ]:  # fmt: skip
            params = {"axis": axis, "correction": 1, "keepdims": keepdims}
            yield Sample((make(shape, dtype),), params, label)

    return op


var_mean = _with_mean("var_mean", var)
std_mean = _with_mean("std_mean", std)
