"""Exponentials along axes, scaled so that nothing overflows: `logsumexp`, `softmax`, `log_softmax`."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axes
from pullback.core.spec import Spec, spec_for
from pullback.declare.families import primitive, reduced_shape, reduction
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, layouts
from pullback.eager.large import large_kernel
from pullback.operators.arguments import as_array
from pullback.operators.elementwise.arithmetic import exp, log
from pullback.operators.elementwise.comparison import isfinite, isinf, where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.pieces import as_rows, empty_rows, in_pieces, row_products, scratch_like
from pullback.operators.reductions.reduction import sum

_SMALL = 1 << 12


def _shifted(x: Any, axis: tuple[int, ...]) -> tuple[Any, Any]:
    """`x` minus its largest real part over `axis`, and that part; infinite parts are not subtracted."""
    if x.dtype.kind in "biu":
        x = x / 1
    peak = _peak(x.real, axis)
    return np.asarray(x - peak), peak


def _peak(x: Any, axis: Any) -> Any:
    peak = np.maximum.reduce(x, axis, None, None, True, -np.inf)  # type: ignore[call-overload]
    finite = np.isfinite(peak)
    if type(peak) is np.ndarray and np.logical_and.reduce(finite, None):
        return peak
    return np.where(finite, peak, 0)


def shifted_by_peak(x: Any, axis: tuple[int, ...]) -> tuple[Any, Any]:
    """The same as native code computes it, for `expand` of what exponentiates."""
    peak = x.max(axis=axis, keepdims=True)
    peak = where(isfinite(peak), peak, 0.0)
    return x - peak, peak


def _rows(axis: tuple[int, ...], *arrays: Any) -> list[Any] | None:
    """Arrays of one floating dtype and shape as matrices of rows to be reduced; None if they are not laid out so."""
    first = arrays[0]
    for x in arrays:
        if type(x) is not np.ndarray or x.dtype.char not in "fd" or x.dtype != first.dtype or x.shape != first.shape:
            return None
    rows = [as_rows(x, axis) for x in arrays]
    return None if any_missing(rows) else rows


def _many_rows(axis: tuple[int, ...], x: Any) -> list[Any] | None:
    """The same for one array; None if it is small, and there is nothing to be gained by working in pieces."""
    return None if x.ndim and x.size < _SMALL else _rows(axis, x)


def any_missing(parts: list[Any]) -> bool:
    """Is one of them None?"""
    return builtins.any(part is None for part in parts)


@reduction(complex_domain=True, empty=False)
def logsumexp(x, *, axis):
    """`log(sum(exp(x)))` over `axis`, computed without overflow.

    The derivative is 0 where all elements are -inf; elements that are inf share the gradient.
    """
    rows = _many_rows(axis, x)
    if rows is not None:
        return _logsumexp_of_rows(rows[0]).reshape([1 if k in axis else n for k, n in enumerate(x.shape)])
    shifted, peak = _shifted(x, axis)
    with np.errstate(divide="ignore"):
        return np.log(np.add.reduce(np.exp(shifted, out=shifted), axis=axis, keepdims=True)) + peak


def _logsumexp_of_rows(x: Any) -> Any:
    out = np.empty((x.shape[0], 1), x.dtype)
    power = large_kernel(exp, x.size)

    def work(start: int, stop: int) -> None:
        peak = _peak(x[start:stop], 1)
        powers = np.subtract(x[start:stop], peak, out=scratch_like(x[start:stop], 0))
        sums = np.add.reduce(power(powers, out=powers), axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            np.add(np.log(sums, out=sums), peak, out=out[start:stop])

    in_pieces(work, *x.shape)
    return out


def _logsumexp_weigh(value: Any, x: Any, out: Any, axis: tuple[int, ...], adjoint: bool) -> Any:
    """`value` times `exp(x - out)`, or its conjugate.

    The weights are 0 where the result is the logarithm of zero, and where it is infinite the infinite elements share.
    """
    if type(out) is np.ndarray and np.isfinite(out).all():
        # Nearly always so, and a third of the time of the general formula below.
        rows = _rows(axis, x)
        if rows is not None and type(value) is np.ndarray and value.dtype == x.dtype and value.size == out.size:
            weighed, targets = empty_rows(x, rows[0])
            _weigh_rows(value.reshape((-1, 1)), rows[0], out.reshape((-1, 1)), targets)
            return weighed
        weights = exp(x - out)
        return value * (conjugated(weights) if adjoint else weights)
    weights = exp(x - where(isinf(out), 0, out))
    infinite = x == math.inf
    number = sum(infinite, axis=axis, keepdims=True, dtype=value.dtype)
    share = where(infinite, value / where(number == 0, 1, number), 0)
    return where(number == 0, value * (conjugated(weights) if adjoint else weights), share)


def _weigh_rows(value: Any, x: Any, out: Any, weighed: Any) -> None:
    """Write `value * exp(x - out)`, with one `value` and one `out` for each row of `x`."""
    power = large_kernel(exp, x.size)

    def work(start: int, stop: int) -> None:
        part = np.subtract(x[start:stop], out[start:stop], out=weighed[start:stop])
        power(part, out=part)
        part *= value[start:stop]

    in_pieces(work, *x.shape)


@logsumexp.expand()
def logsumexp_parts(x, *, axis, keepdims=False):
    shifted, peak = shifted_by_peak(x, axis)
    total = log(sum(exp(shifted), axis=axis, keepdims=True)) + peak
    return total if keepdims else sum(total, axis=axis)


@logsumexp.vjp
def logsumexp_vjp(g, x, out, axis):
    return _logsumexp_weigh(g, x, out, axis, True)


@logsumexp.kernel_on_arrays
def logsumexp_of_few(x, *, axis, keepdims=False):
    peak = _finite_peak(x, axis)
    if peak is None:
        return logsumexp.kernel(x, axis=axis, keepdims=keepdims)
    powers = x - peak
    out = np.log(np.add.reduce(np.exp(powers, powers), axis, None, None, True))  # type: ignore[call-overload]
    out += peak
    return out if keepdims else out.reshape(_reduced_shape(x.shape, axis, False))


_reduced_shape = functools.lru_cache(1024)(reduced_shape)


@logsumexp.vjp_on_arrays
def logsumexp_pulled(g, x, out, axis):
    if x.size >= _SMALL or x.dtype.char not in "fd" or g.dtype != x.dtype or not np.isfinite(out).all():
        return logsumexp_vjp(g, x, out, axis)
    pulled = np.asarray(x - out)
    np.exp(pulled, pulled)
    pulled *= g
    return pulled


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
        yield Sample((make((2, 3), np.complex128),), {"axis": (1,)}, "complex")
        yield Sample((make((2, 3), np.complex64),), {"axis": (1,)}, "complex64")
        for label, array in layouts(make((3, 4))):
            yield Sample((array,), {"axis": (1,)}, label)

    return op


@_normalizing
@primitive(flow="mixes", recompute="free", fresh=True)
def softmax(x, *, axis):
    """`exp(x)` divided by its sum over `axis`. Where all elements are -inf, values and gradients are NaN."""
    rows = _many_rows(axis, x)
    if rows is not None:
        return _softmax_of_rows(rows[0]).reshape(x.shape)
    powers, _ = _shifted(x, axis)
    np.exp(powers, out=powers)
    powers /= np.add.reduce(powers, axis=axis, keepdims=True)
    return powers


def _softmax_of_rows(x: Any) -> Any:
    out = np.empty_like(x)
    power = large_kernel(exp, x.size)

    def work(start: int, stop: int) -> None:
        source, part = x[start:stop], out[start:stop]
        np.subtract(source, _peak(source, 1), out=part)
        power(part, out=part)
        part /= np.add.reduce(part, axis=1, keepdims=True)

    in_pieces(work, *x.shape)
    return out


def _finite_peak(x: Any, axis: tuple[int, ...]) -> Any:
    """The largest elements over `axis` of a small array of real numbers; None if it is none, or one is infinite."""
    if x.dtype.char not in "fd" or not x.ndim or not 0 < x.size < _SMALL:
        return None
    peak = np.maximum.reduce(x, axis, None, None, True)  # type: ignore[call-overload]
    return peak if np.logical_and.reduce(np.isfinite(peak), None) else None


@softmax.kernel_on_arrays
def softmax_of_few(x, *, axis):
    peak = _finite_peak(x, axis)
    if peak is None:
        return softmax.kernel(x, axis=axis)
    powers = x - peak
    np.exp(powers, powers)
    powers /= np.add.reduce(powers, axis, None, None, True)  # type: ignore[call-overload]
    return powers


@softmax.expand()
def softmax_parts(x, *, axis):
    powers = exp(shifted_by_peak(x, axis)[0])
    return powers / sum(powers, axis=axis, keepdims=True)


@softmax.vjp
def softmax_vjp(g, out, axis):
    rows = _rows(axis, g, out)
    if rows is not None:
        pulled, targets = empty_rows(g, rows[0])
        _softmax_pulled(rows[0], rows[1], targets)
        return pulled
    out = conjugated(out)
    return out * (g - sum(g * out, axis=axis, keepdims=True))


@softmax.vjp_on_arrays
def softmax_pulled_of_few(g, out, axis):
    if g.size >= _SMALL or out.dtype.char not in "fd" or g.dtype != out.dtype:
        return softmax_vjp(g, out, axis)
    pulled = np.asarray(g * out)
    np.subtract(g, np.add.reduce(pulled, axis, None, None, True), pulled)  # type: ignore[call-overload]
    pulled *= out
    return pulled


def _softmax_pulled(g: Any, out: Any, pulled: Any) -> None:
    def work(start: int, stop: int) -> None:
        g_part, out_part, part = g[start:stop], out[start:stop], pulled[start:stop]
        np.subtract(g_part, row_products(g_part, out_part, part), out=part)
        part *= out_part

    in_pieces(work, *g.shape)


@softmax.jvp
def softmax_jvp(t_x, out, axis):
    return out * (t_x - sum(t_x * out, axis=axis, keepdims=True))


@_normalizing
@primitive(flow="mixes", recompute="free", fresh=True)
def log_softmax(x, *, axis):
    """`log(softmax(x))` over `axis`, computed without underflow."""
    rows = _many_rows(axis, x)
    if rows is not None:
        return _log_softmax_of_rows(rows[0]).reshape(x.shape)
    shifted, _ = _shifted(x, axis)
    with np.errstate(divide="ignore"):
        shifted -= np.log(np.add.reduce(np.exp(shifted), axis=axis, keepdims=True))
    return shifted


@log_softmax.kernel_on_arrays
def log_softmax_of_few(x, *, axis):
    peak = _finite_peak(x, axis)
    if peak is None:
        return log_softmax.kernel(x, axis=axis)
    shifted = x - peak
    shifted -= np.log(np.add.reduce(np.exp(shifted), axis, None, None, True))  # type: ignore[call-overload]
    return shifted


def _log_softmax_of_rows(x: Any) -> Any:
    out = np.empty_like(x)
    power = large_kernel(exp, x.size)

    def work(start: int, stop: int) -> None:
        part = np.subtract(x[start:stop], _peak(x[start:stop], 1), out=out[start:stop])
        with np.errstate(divide="ignore"):
            powers = power(part, out=scratch_like(part, 0))
            part -= np.log(np.add.reduce(powers, axis=1, keepdims=True))

    in_pieces(work, *x.shape)
    return out


@log_softmax.expand()
def log_softmax_parts(x, *, axis):
    shifted, _ = shifted_by_peak(x, axis)
    return shifted - log(sum(exp(shifted), axis=axis, keepdims=True))


@log_softmax.vjp
def log_softmax_vjp(g, out, axis):
    rows = _rows(axis, g, out)
    if rows is not None:
        pulled, targets = empty_rows(g, rows[0])
        _log_softmax_pulled(rows[0], rows[1], targets)
        return pulled
    return g - conjugated(exp(out)) * sum(g, axis=axis, keepdims=True)


@log_softmax.vjp_on_arrays
def log_softmax_pulled_of_few(g, out, axis):
    if g.size >= _SMALL or out.dtype.char not in "fd" or g.dtype != out.dtype:
        return log_softmax_vjp(g, out, axis)
    pulled = np.asarray(np.exp(out))
    pulled *= np.add.reduce(g, axis, None, None, True)  # type: ignore[call-overload]
    return np.subtract(g, pulled, pulled)


def _log_softmax_pulled(g: Any, out: Any, pulled: Any) -> None:
    power = large_kernel(exp, g.size)

    def work(start: int, stop: int) -> None:
        source, part = g[start:stop], pulled[start:stop]
        power(out[start:stop], out=part)
        part *= np.add.reduce(source, axis=1, keepdims=True)
        np.subtract(source, part, out=part)

    in_pieces(work, *g.shape)


@log_softmax.jvp
def log_softmax_jvp(t_x, out, axis):
    return t_x - sum(exp(out) * t_x, axis=axis, keepdims=True)
