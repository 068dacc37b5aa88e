"""Reductions: operators that make axes disappear. Softmax and its kin are in `exponentials`; the largest and smallest
elements are in `extremes`.

Kernels keep the reduced axes at length 1, and so do `g` and `out` in the rules, which therefore broadcast and never
reshape. Kernels call the ufuncs' own `reduce`: NumPy's `sum` and `mean` cost three times as much on small arrays.
"""

from __future__ import annotations

import builtins
import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from pullback.core.axes import inverse_permutation, merge_spellings, normalize_shape
from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.families import reduced_shape, reduction
from pullback.declare.op import Op
from pullback.operators.arguments import as_array
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.elementwise import in_parts
from pullback.operators.elementwise.arithmetic import sqrt
from pullback.operators.elementwise.comparison import isnan, where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.pieces import PIECE, as_rows, empty_rows, in_pieces, scratch_like
from pullback.operators.reductions.scan import _shift, are_ordinary, cumprod, is_ordinary, smallest_and_largest


def _count(shape: tuple[int, ...], axis: tuple[int, ...]) -> int:
    """How many elements every result is made of."""
    return math.prod(shape[k] for k in axis)


_count_of = functools.lru_cache(1024)(_count)
"""The same for arrays, whose lengths are plain numbers."""


# Sums and products


@reduction(complex_domain=True, price="add", exact="no_axes", folds=np.add)
def sum(x, *, axis, dtype=None, keepdims=False):
    """The sum of the elements over `axis`."""
    return np.add.reduce(x, axis, dtype, None, keepdims)  # type: ignore[call-overload]


@sum.transpose
def sum_transpose(g, x):
    return broadcast_to(g, shape=x.shape)


sum.share = lambda g, count: +g


@sum.vjp_on_arrays
def sum_pulled(g, x):
    if not x.is_plain:
        return broadcast_to.kernel(g, shape=x.shape)
    out = np.empty(x.shape, g.dtype)
    out[...] = g
    return out


@reduction(complex_domain=True, empty=False, complex=lambda x, **how: _mean_of_parts(x, **how))
def mean(x, *, axis, dtype=None, keepdims=False):
    """The arithmetic mean of the elements over `axis`."""
    if x.dtype.kind in "biu" and dtype is None:
        dtype = np.float64
    elif x.dtype.char == "e":
        return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
    out = np.add.reduce(x, axis, dtype, None, keepdims) / _count_of(x.shape, axis)  # type: ignore[call-overload]
    return out if dtype is None or np.dtype(dtype).kind in "fc" else out.astype(dtype)


@mean.transpose
def mean_transpose(g, x, axis):
    return broadcast_to(g / builtins.max(_count(x.shape, axis), 1), shape=x.shape)


mean.share = lambda g, count: g / count


@mean.vjp_on_arrays
def mean_pulled(g, x, axis):
    return sum_pulled(g / builtins.max(_count_of(x.shape, axis), 1), x)


@mean.jvp
def mean_jvp(t_x, axis):
    # The mean of nothing is NaN, but it depends on nothing, so its tangent is 0.
    return sum(t_x, axis=axis, keepdims=True) / builtins.max(_count(t_x.shape, axis), 1)


def _mean_of_parts(x: Any, *, axis: tuple[int, ...], keepdims: bool = False, dtype: Any = None) -> Any:
    if not is_complex_dtype(x.dtype if dtype is None else np.dtype(dtype)):
        return None
    real, imag = (sum(part, axis=axis, keepdims=keepdims) for part in (x.real, x.imag))
    return in_parts.quotient(SimpleNamespace(real=real, imag=imag), np.complex128(_count(x.shape, axis)))


@mean.expand(when=lambda dtype: dtype is None)
def mean_parts(x, *, axis, keepdims=False, dtype=None):
    return sum(x, axis=axis, keepdims=keepdims) / _count(x.shape, axis)


@reduction(complex_domain=True, folds=np.multiply)
def prod(x, *, axis, dtype=None, keepdims=False):
    """The product of the elements over `axis`. The gradient is exact whether or not some of them are 0."""
    rows = as_rows(x, axis) if dtype is None and x.size > 8 * PIECE and x.dtype.char in "fd" else None
    if rows is None or len(rows) == 1:
        return np.multiply.reduce(x, axis, dtype, None, keepdims)  # type: ignore[call-overload]
    out = np.empty(len(rows), x.dtype)
    in_pieces(lambda start, stop: np.multiply.reduce(rows[start:stop], axis=1, out=out[start:stop]), *rows.shape)
    return out.reshape(reduced_shape(x.shape, axis, keepdims))


def _products_of_others(x: Any, axis: tuple[int, ...]) -> Any:
    """For every element the product of all others over `axis`, exact whether or not some of them are zero."""
    kept = tuple(k for k in range(x.ndim) if k not in axis)
    order = (*kept, *axis)
    permuted = x.transpose(order)
    flat = permuted.reshape((*(x.shape[k] for k in kept), _count(x.shape, axis)))
    last = len(kept)
    before = _shift(cumprod(flat, axis=last), axis=last, by=1, fill=1)
    after = _shift(cumprod(flat, axis=last, reverse=True), axis=last, by=-1, fill=1)
    return (before * after).reshape(permuted.shape).transpose(inverse_permutation(order))


def _prod_gradient(g: Any, x: Any, axis: tuple[int, ...]) -> Any:
    """`g` times the products of the others as quotients, if no element is near zero or infinity; None otherwise."""
    rows = as_rows(x, axis) if x.size > PIECE else None
    if rows is None:
        out = np.multiply.reduce(x, axis=axis, keepdims=True)
        return g * out / x if is_ordinary(out) and is_ordinary(x) else None
    gradients = g.reshape(-1, 1)
    quotients, targets = empty_rows(x, rows)
    failed: list[int] = []

    def work(start: int, stop: int) -> None:
        part, target = rows[start:stop], targets[start:stop]
        sizes = smallest_and_largest(part, target)
        if not failed and are_ordinary(*sizes, part.dtype):
            out = _row_products(part, *sizes)
            if is_ordinary(out):
                out *= gradients[start:stop]
                np.divide(out, part, target)
                return
        failed.append(start)

    in_pieces(work, *rows.shape)
    return None if failed else quotients


def _row_products(rows: Any, smallest: Any, largest: Any) -> Any:
    """The products of rows whose elements have sizes between these two."""
    columns = rows.shape[1]
    reach = columns * builtins.max(abs(math.log(smallest)), abs(math.log(largest)))
    if columns % 8 or reach > math.log(np.finfo(rows.dtype).max):
        return np.multiply.reduce(rows, axis=1, keepdims=True)
    # No product of any of them is too large or too small, so that their order does not matter: NumPy waits for each
    # product along a row, but not for those beside each other.
    eighths = np.multiply.reduce(rows.reshape(-1, 8, columns // 8), axis=1)
    return np.multiply.reduce(eighths, axis=1, keepdims=True)


@prod.vjp
def prod_vjp(g, x, axis):
    # The product is taken again and not kept: then the result may be written in place, which is worth a pass over x.
    if type(g) is type(x) is np.ndarray and x.dtype.char in "fd" and g.dtype == x.dtype and x.size:
        quotients = _prod_gradient(g, x, axis)
        if quotients is not None:
            return quotients
    return g * conjugated(_products_of_others(x, axis))


@prod.jvp
def prod_jvp(t_x, x, axis):
    return sum(t_x * _products_of_others(x, axis), axis=axis, keepdims=True)


@composite
def nansum(x: Any, axis: Any = None, keepdims: bool = False, **spellings: Any) -> Any:
    """The sum of the elements over `axis` that are not NaN."""
    return sum(where(isnan(x), 0, x), axis, keepdims, **spellings)


@composite
def nanprod(x: Any, axis: Any = None, keepdims: bool = False, **spellings: Any) -> Any:
    """The product of the elements over `axis` that are not NaN."""
    return prod(where(isnan(x), 1, x), axis, keepdims, **spellings)


@composite
def nanmean(x: Any, axis: Any = None, keepdims: bool = False, **spellings: Any) -> Any:
    """The mean of the elements over `axis` that are not NaN; where there are none, it is NaN with derivative 0."""
    missing = isnan(x)
    count = sum(~missing, axis, keepdims, **spellings)
    return quotient_or_nan(sum(where(missing, 0, x), axis, keepdims, **spellings), count, count == 0)


def quotient_or_nan(total: Any, divisor: Any, is_void: Any) -> Any:
    """`total / divisor`, and NaN with derivative 0 in either mode where `is_void` says that nothing was summed."""
    return where(is_void, math.nan, total / where(is_void, 1, divisor).astype(total.dtype))


@composite
def sum_to_size(x: Any, *size: Any) -> Any:
    """`x` summed over the axes along which `size` is shorter or missing: what undoes broadcasting from `size`."""
    shape = normalize_shape(size[0] if len(size) == 1 else size)
    lead = x.ndim - len(shape)
    if lead < 0 or builtins.any(n not in (1, own) for n, own in zip(shape, x.shape[lead:], strict=True)):
        raise ValueError(f"sum_to_size: shape {shape} does not broadcast to {tuple(x.shape)}")
    axes = tuple(k for k, own in enumerate(x.shape) if k < lead or (shape[k - lead] == 1 and own != 1))
    return (sum(x, axes, True) if axes else x).reshape(shape)


# Truth values


@reduction(complex_domain=True, folds=np.logical_and)
def all(x, *, axis, keepdims=False):
    """True if all elements over `axis` are nonzero."""
    return np.logical_and.reduce(x, axis, None, None, keepdims)  # type: ignore[call-overload]


@reduction(complex_domain=True, folds=np.logical_or)
def any(x, *, axis, keepdims=False):
    """True if at least one element over `axis` is nonzero."""
    return np.logical_or.reduce(x, axis, None, None, keepdims)  # type: ignore[call-overload]


@reduction(
    complex_domain=True, complex=lambda x, **how: count_nonzero(np.logical_or(x.real != 0, x.imag != 0), **how)
)
def count_nonzero(x, *, axis, keepdims=False):
    """How many elements over `axis` are nonzero."""
    if len(axis) == x.ndim:
        count = np.asarray(np.count_nonzero(x))
        return count.reshape((1,) * x.ndim) if keepdims else count
    return np.add.reduce(x != 0, axis, np.intp, None, keepdims)  # type: ignore[call-overload]


@count_nonzero.expand(of="everything", when=lambda x: x.size > 0 and x.dtype.kind in "fbiu" and x.dtype.itemsize != 2)
def count_nonzero_parts(x, *, axis, keepdims=False):
    return sum(x if x.dtype == bool else x != 0, axis=axis, keepdims=keepdims, dtype=np.dtype(np.intp))


all.not_differentiable("its results are truth values")
any.not_differentiable("its results are truth values")
count_nonzero.not_differentiable("its results are counts")


# Spread


def _divisor(shape: tuple[int, ...], axis: tuple[int, ...], correction: float) -> float:
    """The degrees of freedom; 1 where there are no elements, since then there is nothing to divide."""
    count = _count(shape, axis)
    return builtins.max(count - correction, 0) if count else 1


def _over(value: Any, divisor: float) -> Any:
    """`value / divisor`, infinite or NaN where there are no degrees of freedom left."""
    return value / divisor if divisor else value * math.inf


@reduction(complex_domain=True, empty=False)
def var(x, *, axis, correction=0, keepdims=False):
    """The variance over `axis`: the sum of squared deviations divided by their number less `correction`.

    Value and gradient are NaN or infinite where the number is not larger than `correction`.
    """
    divisor = _count_of(x.shape, axis) - correction
    if x.dtype.char not in "fd" or divisor <= 0 or not x.ndim:
        return np.var(x, axis=axis, ddof=correction, keepdims=keepdims)
    rows = as_rows(x, axis) if x.size > 8 * PIECE else None
    if rows is None or len(rows) == 1:
        return _squared_deviations(x, axis, keepdims) / divisor
    out = np.empty(len(rows), x.dtype)

    def work(start: int, stop: int) -> None:
        np.divide(_squared_deviations(rows[start:stop], (1,), False), divisor, out=out[start:stop])

    in_pieces(work, *rows.shape)
    return out.reshape(reduced_shape(x.shape, axis, keepdims))


def _squared_deviations(x: Any, axis: tuple[int, ...], keepdims: bool) -> Any:
    """Their sum over `axis`, as NumPy computes it."""
    means = np.add.reduce(x, axis, None, None, True) / _count_of(x.shape, axis)  # type: ignore[call-overload]
    deviation = np.subtract(x, means, out=scratch_like(x, 0))
    return np.add.reduce(np.square(deviation, out=deviation), axis, None, None, keepdims)  # type: ignore[call-overload]


def _has_spread(x: Any, axis: tuple[int, ...], correction: float) -> bool:
    return _count(x.shape, axis) > correction


@var.expand(when=_has_spread)
def var_parts(x, *, axis, correction, keepdims=False):
    count = _count(x.shape, axis)
    centred = x - sum(x, axis=axis, keepdims=True) / count
    return sum(centred * centred, axis=axis, keepdims=keepdims) / (count - correction)


@var.vjp
def var_vjp(g, x, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    return _over(2 * g, _divisor(x.shape, axis, correction)) * deviation


@var.vjp_on_arrays
def var_pulled(g, x, axis, correction):
    if x.dtype.kind != "f" or not x.ndim or _count_of(x.shape, axis) <= correction:
        return var_vjp(g, x, axis, correction)
    count = _count_of(x.shape, axis)
    deviation = x - np.add.reduce(x, axis, None, None, True) / count  # type: ignore[call-overload]
    deviation *= 2 * g / (count - correction)
    return deviation


@var.jvp
def var_jvp(t_x, x, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    total = sum((conjugated(deviation) * t_x).real, axis=axis, keepdims=True)
    return _over(2 * total, _divisor(x.shape, axis, correction))


@reduction(complex_domain=True, empty=False)
def std(x, *, axis, correction=0, keepdims=False):
    """The standard deviation, the root of `var`. Its derivative is 0 where all elements are equal."""
    if x.dtype.char not in "fd":
        return np.std(x, axis=axis, ddof=correction, keepdims=keepdims)
    return np.sqrt(var.kernel(x, axis=axis, correction=correction, keepdims=keepdims))


@std.expand(when=_has_spread)
def std_parts(x, **params):
    return sqrt(var_parts(x, **params))


@std.vjp
def std_vjp(g, x, out, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    return _over(g / where(out == 0, 1, out), _divisor(x.shape, axis, correction)) * deviation


@std.vjp_on_arrays
def std_pulled(g, x, out, axis, correction):
    count = _count_of(x.shape, axis)
    if x.dtype.kind != "f" or not x.ndim or count <= correction or not np.logical_and.reduce(out, None):
        return std_vjp(g, x, out, axis, correction)
    deviation = x - np.add.reduce(x, axis, None, None, True) / count  # type: ignore[call-overload]
    deviation *= g / out / (count - correction)
    return deviation


@std.jvp
def std_jvp(t_x, x, out, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    total = sum((conjugated(deviation) * t_x).real, axis=axis, keepdims=True)
    return _over(total / where(out == 0, 1, out), _divisor(x.shape, axis, correction))


def accept_spellings_of_correction(op: Op, plain: Any) -> None:
    """Let an operator take `correction`, NumPy's `ddof` or torch's `unbiased`."""

    @op.door
    def door(
        x: Any, axis: Any = None, keepdims: bool = False, *, correction: Any = None, ddof: Any = None,
        unbiased: bool | None = None, dim: Any = None, keepdim: Any = None,
    ) -> Any:  # fmt: skip
        correction = merge_spellings(f"{op.name}: correction/ddof", correction, ddof)
        correction = merge_spellings(f"{op.name}: correction/unbiased", correction, unbiased) or 0
        correction = int(correction) if isinstance(correction, bool) else correction
        return plain(as_array(x), axis, keepdims, dim=dim, keepdim=keepdim, correction=correction)


accept_spellings_of_correction(var, var.door_rule)
accept_spellings_of_correction(std, std.door_rule)
