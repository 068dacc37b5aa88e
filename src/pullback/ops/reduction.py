"""Reductions: operators that make axes disappear. Softmax, which makes them sum to one, is here as well; the largest
and smallest elements are in `extremes`.

Kernels keep the reduced axes at length 1, and so do `g` and `out` in the rules, which therefore broadcast and never
reshape. Kernels call the ufuncs' own `reduce`: NumPy's `sum` and `mean` cost three times as much on small arrays.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import inverse_permutation, merge_spellings, normalize_axes
from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive, reduction
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, layouts
from pullback.ops.arguments import as_array
from pullback.ops.comparison import isinf, isnan, where
from pullback.ops.complex_numbers import conjugated
from pullback.ops.elementwise import exp
from pullback.ops.movement import broadcast_to
from pullback.ops.scan import _shift, cumprod


def _count(shape: tuple[int, ...], axis: tuple[int, ...]) -> int:
    """How many elements every result is made of."""
    return math.prod(shape[k] for k in axis)


# Sums and products


@reduction(complex_domain=True, lower="add")
def sum(x, *, axis, dtype=None, keepdims=False):
    """The sum of the elements over `axis`."""
    return np.add.reduce(x, axis, dtype, None, keepdims)  # type: ignore[call-overload]


@sum.transpose
def sum_transpose(g, x):
    return broadcast_to(g, shape=x.shape)


@reduction(complex_domain=True, empty=False)
def mean(x, *, axis, dtype=None, keepdims=False):
    """The arithmetic mean of the elements over `axis`."""
    if x.dtype.kind in "biu" and dtype is None:
        dtype = np.float64
    elif x.dtype.char == "e":
        return np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims)
    return np.add.reduce(x, axis, dtype, None, keepdims) / _count(x.shape, axis)  # type: ignore[call-overload]


@mean.transpose
def mean_transpose(g, x, axis):
    return broadcast_to(g / builtins.max(_count(x.shape, axis), 1), shape=x.shape)


@mean.jvp
def mean_jvp(t_x, axis):
    # The mean of nothing is NaN, but it depends on nothing, so its tangent is 0.
    return sum(t_x, axis=axis, keepdims=True) / builtins.max(_count(t_x.shape, axis), 1)


@reduction(complex_domain=True, lower="mul")
def prod(x, *, axis, dtype=None):
    """The product of the elements over `axis`."""
    return np.multiply.reduce(x, axis=axis, dtype=dtype, keepdims=True)


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


@prod.vjp
def prod_vjp(g, x, axis):
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
    """The mean of the elements over `axis` that are not NaN."""
    missing = isnan(x)
    return sum(where(missing, 0, x), axis, keepdims, **spellings) / sum(~missing, axis, keepdims, **spellings)


# Truth values


@reduction
def all(x, *, axis):
    """True if all elements over `axis` are nonzero."""
    return np.logical_and.reduce(x, axis=axis, keepdims=True)


@reduction
def any(x, *, axis):
    """True if at least one element over `axis` is nonzero."""
    return np.logical_or.reduce(x, axis=axis, keepdims=True)


@reduction
def count_nonzero(x, *, axis):
    """How many elements over `axis` are nonzero."""
    return np.add.reduce(x != 0, axis=axis, dtype=np.intp, keepdims=True)


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
def var(x, *, axis, correction=0):
    """The variance over `axis`: the sum of squared deviations divided by their number less `correction`."""
    return np.var(x, axis=axis, ddof=correction, keepdims=True)


@var.vjp
def var_vjp(g, x, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    return _over(2 * g, _divisor(x.shape, axis, correction)) * deviation


@var.jvp
def var_jvp(t_x, x, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    total = sum((conjugated(deviation) * t_x).real, axis=axis, keepdims=True)
    return _over(2 * total, _divisor(x.shape, axis, correction))


@reduction(complex_domain=True, empty=False)
def std(x, *, axis, correction=0):
    """The standard deviation, the root of `var`. Its derivative is 0 where all elements are equal."""
    return np.std(x, axis=axis, ddof=correction, keepdims=True)


@std.vjp
def std_vjp(g, x, out, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    return _over(g / where(out == 0, 1, out), _divisor(x.shape, axis, correction)) * deviation


@std.jvp
def std_jvp(t_x, x, out, axis, correction):
    deviation = x - mean(x, axis=axis, keepdims=True)
    total = sum((conjugated(deviation) * t_x).real, axis=axis, keepdims=True)
    return _over(total / where(out == 0, 1, out), _divisor(x.shape, axis, correction))


def _accept_spellings_of_correction(op: Op) -> None:
    plain: Callable[..., Any] = op.door_rule  # type: ignore[assignment]

    @op.door
    def door(
        x: Any, axis: Any = None, keepdims: bool = False, *, correction: Any = None, ddof: Any = None,
        dim: Any = None, keepdim: Any = None,
    ) -> Any:  # fmt: skip
        correction = merge_spellings(f"{op.name}: correction/ddof", correction, ddof) or 0
        return plain(as_array(x), axis, keepdims, dim=dim, keepdim=keepdim, correction=correction)


_accept_spellings_of_correction(var)
_accept_spellings_of_correction(std)


@composite
def var_mean(x: Any, axis: Any = None, keepdims: bool = False, **spellings: Any) -> tuple[Any, Any]:
    """The variance and the mean over `axis`."""
    correction = {name: spellings.pop(name) for name in ("correction", "ddof") if name in spellings}
    return var(x, axis, keepdims, **correction, **spellings), mean(x, axis, keepdims, **spellings)


@composite
def std_mean(x: Any, axis: Any = None, keepdims: bool = False, **spellings: Any) -> tuple[Any, Any]:
    """The standard deviation and the mean over `axis`."""
    correction = {name: spellings.pop(name) for name in ("correction", "ddof") if name in spellings}
    return std(x, axis, keepdims, **correction, **spellings), mean(x, axis, keepdims, **spellings)


# Exponentials, scaled so that nothing overflows


def _shifted(x: Any, axis: tuple[int, ...]) -> tuple[Any, Any]:
    """`x` minus its largest real part over `axis`, and that part; infinite parts are not subtracted."""
    if x.dtype.kind in "biu":
        x = x / 1
    peak = np.maximum.reduce(x.real, axis=axis, keepdims=True, initial=-np.inf)
    peak = np.where(np.isfinite(peak), peak, 0)
    return x - peak, peak


@reduction(complex_domain=True, empty=False)
def logsumexp(x, *, axis):
    """`log(sum(exp(x)))` over `axis`, computed without overflow."""
    shifted, peak = _shifted(x, axis)
    with np.errstate(divide="ignore"):
        return np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True)) + peak


def _logsumexp_weigh(value: Any, x: Any, out: Any, axis: tuple[int, ...], adjoint: bool) -> Any:
    """`value` times `exp(x - out)`, or its conjugate.

    The weights are 0 where the result is the logarithm of zero, and where it is infinite the infinite elements share.
    """
    if type(out) is np.ndarray and np.isfinite(out).all():
        # Nearly always so, and a third of the time of the general formula below.
        weights = exp(x - out)
        return value * (conjugated(weights) if adjoint else weights)
    weights = exp(x - where(isinf(out), 0, out))
    infinite = x == math.inf
    number = sum(infinite, axis=axis, keepdims=True, dtype=value.dtype)
    share = where(infinite, value / where(number == 0, 1, number), 0)
    return where(number == 0, value * (conjugated(weights) if adjoint else weights), share)


@logsumexp.vjp
def logsumexp_vjp(g, x, out, axis):
    return _logsumexp_weigh(g, x, out, axis, True)


@logsumexp.jvp
def logsumexp_jvp(t_x, x, out, axis):
    return sum(_logsumexp_weigh(t_x, x, out, axis, False), axis=axis, keepdims=True)


def _normalizing(op: Op) -> Op:
    """What `softmax` and `log_softmax` have in common: the signature, shape, batching and samples."""

    @op.door
    def door(x: Any, axis: Any = -1, *, dim: Any = None, dtype: Any = None) -> Any:
        x = as_array(x)
        if dtype is not None:
            x = x.astype(dtype)
        return (x,), {"axis": normalize_axes(axis if dim is None else dim, x.ndim)}

    @op.spec
    def spec(x: Spec, *, axis: tuple[int, ...]) -> Spec:
        return x if x.is_differentiable else spec_for(x.shape, np.dtype(np.float64))

    @op.batch
    def batch(x: Any, *, axis: tuple[int, ...]) -> Any:
        return op(x, axis=tuple(k + 1 for k in axis))

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample((make((5,)),), {"axis": (0,)}, "vector")
        yield Sample((make((3, 4)),), {"axis": (0, 1)}, "both")
        yield Sample((make((2, 3, 4)),), {"axis": (1,)}, "middle")
        yield Sample((make((4, 3), np.float32),), {"axis": (1,)}, "float32")
        yield Sample((make((2, 0)),), {"axis": (1,)}, "empty")
        yield Sample((make.integers(0, 9, (3,)),), {"axis": (0,)}, "integers")
        for label, array in layouts(make((3, 4))):
            yield Sample((array,), {"axis": (1,)}, label)

    return op


@_normalizing
@primitive
def softmax(x, *, axis):
    """`exp(x)` divided by its sum over `axis`."""
    shifted, _ = _shifted(x, axis)
    powers = np.exp(shifted)
    return powers / np.add.reduce(powers, axis=axis, keepdims=True)


@softmax.vjp
def softmax_vjp(g, out, axis):
    return out * (g - sum(g * out, axis=axis, keepdims=True))


@softmax.jvp
def softmax_jvp(t_x, out, axis):
    return out * (t_x - sum(t_x * out, axis=axis, keepdims=True))


@_normalizing
@primitive
def log_softmax(x, *, axis):
    """`log(softmax(x))` over `axis`, computed without underflow."""
    shifted, _ = _shifted(x, axis)
    with np.errstate(divide="ignore"):
        return shifted - np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))


@log_softmax.vjp
def log_softmax_vjp(g, out, axis):
    return g - exp(out) * sum(g, axis=axis, keepdims=True)


@log_softmax.jvp
def log_softmax_jvp(t_x, out, axis):
    return t_x - sum(exp(out) * t_x, axis=axis, keepdims=True)
