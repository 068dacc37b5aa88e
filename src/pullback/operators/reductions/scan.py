"""Scans: operators whose result at one place is made of everything up to there.

Derivatives of scans are scans. All of those here come down to one private primitive, the linear recurrence
`s[k] = a[k] * s[k - 1] + b[k]`, whose own derivatives are recurrences again, so any order of differentiation works.
Nothing divides by an element that could be zero, so `cumprod` is exact however many zeros there are.

On plain arrays there are shortcuts for numbers of ordinary size: a product over all elements divided by one of them,
exponentials that are added up as they are. Whatever could overflow, vanish or be NaN goes the general way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axis_index
from pullback.core.spec import Spec, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.op import Op, registry
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arguments import along_axis, as_array, on_arrays
from pullback.operators.arrays.joining import concat, join
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.arrays.padding import pad_constant
from pullback.operators.elementwise.arithmetic import add_exponents, exp
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.pieces import PIECE, as_rows, empty_rows, in_pieces


def _scan_axis(name: str, x: Any, axis: Any, dim: Any) -> tuple[Any, int]:
    """The value and the axis to scan; without an axis, the flattened value as in NumPy."""
    x, axis = as_array(x), merge_spellings(f"{name}: axis/dim", axis, dim)
    if axis is None:
        if x.ndim != 1:
            x = x.reshape((-1,))
        axis = 0
    return x, normalize_axis_index(axis, x.ndim)


def _give_scan_rules(op: Op, domain: tuple[float, float] = (-2.0, 2.0), complex_domain: bool = False) -> None:
    """What all scans of one operand along `axis` have in common: shape, batching, samples."""
    op.along_axis = True

    @op.spec
    def spec(x: Spec, *, axis: int, **params: Any) -> Spec:
        return spec_for(x.shape, op.kernel(np.ones((1,) * x.ndim, x.dtype), axis=axis, **params).dtype)

    @op.batch
    def batch(x: Any, *, axis: int, **params: Any) -> Any:
        return op(x, axis=axis + 1, **params)

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        make.domain = domain
        defaults = dict.fromkeys(op.params, None) | {"reverse": False}
        yield Sample((make((6,)),), {**defaults, "axis": 0}, "vector")
        yield Sample((make((3, 4)),), {**defaults, "axis": 0}, "first")
        yield Sample((make((2, 3, 4)),), {**defaults, "axis": 1, "reverse": True}, "reverse")
        yield Sample((make((1,)),), {**defaults, "axis": 0}, "one")
        yield Sample((make((3, 0)),), {**defaults, "axis": 1}, "empty")
        yield Sample((make((5,), np.float32),), {**defaults, "axis": 0}, "float32")
        for label, array in layouts(make((3, 4))):
            yield Sample((array,), {**defaults, "axis": 1}, label)
        if complex_domain:
            yield Sample((make((4, 2), np.complex128),), {**defaults, "axis": 0}, "complex")


def _along(x: Any, axis: int, reverse: bool) -> Any:
    """`x` itself, or a view of it that runs backwards along `axis`."""
    return x[(slice(None),) * axis + (slice(None, None, -1),)] if reverse else x


# From this many elements in a slice on, recurrences are computed slice by slice.
_WIDE = 32
# From this many elements behind the scanned axis on, whole slices are added; below, NumPy's own scan is faster.
_LONG_SLICE = 256


def _scanned(ufunc: Any, x: Any, axis: int, dtype: Any, reverse: bool) -> Any:
    """`ufunc.accumulate` along `axis`, from the end if `reverse`."""
    if x.dtype.kind not in "fc" or (dtype is not None and dtype != x.dtype) or not x.size:
        dtype = np.cumsum(np.empty(0, x.dtype), dtype=dtype).dtype
        return _along(ufunc.accumulate(_along(x, axis, reverse), axis, dtype), axis, reverse)
    out = np.empty(x.shape, x.dtype)
    source, target = _along(x, axis, reverse), _along(out, axis, reverse)
    if math.prod(x.shape[axis + 1 :]) >= _LONG_SLICE:
        # path: scan slice by slice
        source, target = np.moveaxis(source, axis, 0), np.moveaxis(target, axis, 0)
        target[0] = source[0]
        for k in range(1, len(source)):
            ufunc(target[k - 1], source[k], out=target[k])
    elif axis == x.ndim - 1 and x.flags.c_contiguous and x.size > PIECE:
        flat = (-1, x.shape[-1])
        source, target = _along(x.reshape(flat), 1, reverse), _along(out.reshape(flat), 1, reverse)
        in_pieces(lambda start, stop: ufunc.accumulate(source[start:stop], 1, out=target[start:stop]), *source.shape)
    else:
        ufunc.accumulate(source, axis, out=target)
    return out


def _row_by_row(shortcut: Any, general: Any, arrays: tuple[Any, ...], axis: int) -> Any:
    """`shortcut(*arrays, axis)`, or `general()` where it gives None; piece by piece if `axis` is the last one."""
    if any(type(x) is not np.ndarray or x.dtype.char not in "fd" or not x.size for x in arrays):
        return general(*arrays, axis)
    rows = [as_rows(x, (axis,)) for x in arrays]
    if any(part is None or part.dtype != rows[0].dtype for part in rows):
        out = shortcut(*arrays, axis)
        return general(*arrays, axis) if out is None else out
    whole, out = empty_rows(arrays[0], rows[0])

    def work(start: int, stop: int) -> None:
        parts = [part[start:stop] for part in rows]
        # path: running products by a shortcut
        found = shortcut(*parts, 1)
        out[start:stop] = general(*parts, 1) if found is None else found

    in_pieces(work, *out.shape)
    return whole


def is_ordinary(x: Any, buffer: Any = None) -> bool:
    """Are all elements far from zero and from infinity, so that neither they nor their quotients can vanish?

    `buffer` is an array of the same shape that may be overwritten.
    """
    return are_ordinary(*smallest_and_largest(x, buffer), x.dtype)


def smallest_and_largest(x: Any, buffer: Any = None) -> tuple[Any, Any]:
    """The least and the greatest absolute value; NaN if there is one."""
    smallest = x.min()
    if not smallest > 0:
        x = np.abs(x, buffer)
        smallest = x.min()
    return smallest, x.max()


def are_ordinary(smallest: Any, largest: Any, dtype: Any) -> bool:
    """`is_ordinary` of elements between these two."""
    lowest, highest = _ordinary(dtype)
    return bool(smallest > lowest and largest < highest)  # NaN compares False


@lru_cache(maxsize=8)
def _ordinary(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    limits = np.finfo(dtype)
    return limits.tiny**0.5, limits.max**0.5


def _peak_if_close(x: Any, axis: int) -> Any:
    """The largest elements along `axis`, if all exponentials relative to them are of ordinary size; None if not."""
    peak = np.maximum.reduce(x, axis=axis, keepdims=True)
    with np.errstate(invalid="ignore"):
        reach = (peak - np.minimum.reduce(x, axis=axis, keepdims=True)).max()
    return peak if reach < (64 if x.dtype.char == "d" else 10) else None


@primitive(name="_shift", flow="shifts", batch="shifted", spec="same")
def _shift(x, *, axis, by, fill):
    """`x` moved by one place along `axis`, up or down, with `fill` in the place that becomes free."""
    out = np.empty_like(x)
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    if by > 0:
        target[1:], target[:1] = source[:-1], fill
    else:
        target[:-1], target[-1:] = source[1:], fill
    return out


@_shift.expand(in_rows=True)
def shift_parts(x, *, axis, by, fill):
    kept = x[_slice_along(axis, slice(None, -1) if by > 0 else slice(1, None))]
    edge = np.full([1 if k == axis else n for k, n in enumerate(x.shape)], fill, x.dtype)
    return join(*((edge, kept) if by > 0 else (kept, edge)), axis=axis)


def _slice_along(axis: int, part: slice) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, part, ...)


@_shift.vjp
def shift_vjp(g, axis, by):
    return _shift(g, axis=axis, by=-by, fill=0)


@_shift.jvp
def shift_jvp(t_x, axis, by):
    return _shift(t_x, axis=axis, by=by, fill=0)


@_shift.samples
def shift_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((4,)),), {"axis": 0, "by": 1, "fill": 0}, "up")
    yield Sample((make((2, 3)),), {"axis": 1, "by": -1, "fill": 1}, "down")
    yield Sample((make((2, 0)),), {"axis": 1, "by": 1, "fill": 1}, "empty")
    yield Sample((make((3,), np.complex128),), {"axis": 0, "by": 1, "fill": 1}, "complex")


def _previous(x: Any, axis: int, reverse: bool, fill: float) -> Any:
    """For every place the element that the scan met just before it; `fill` for the first."""
    return _shift(x, axis=axis, by=-1 if reverse else 1, fill=fill)


def _next(x: Any, axis: int, reverse: bool) -> Any:
    """For every place the element that the scan meets just after it; 0 for the last."""
    return _shift(x, axis=axis, by=1 if reverse else -1, fill=0)


@primitive(name="_recurrence", flow="scans", folds=np.add, recompute="never", batch="shifted")
def _recurrence(a, b, *, axis, reverse):
    """`s` with `s[k] = a[k] * s[k - 1] + b[k]` along `axis`, from the end if `reverse`. The first `a` is not read.

    Slices of many elements are computed one after the other. Else every pass joins stretches of twice the length, so
    the number of passes is the logarithm of the axis' length.
    """
    dtype = np.result_type(a, b)
    is_wide = b.size >= _WIDE * b.shape[axis] > 0
    order = "C" if is_wide else "K"
    factors = np.moveaxis(_along(a, axis, reverse), axis, 0).astype(dtype, order)
    sums = np.moveaxis(_along(b, axis, reverse), axis, 0).astype(dtype, order)
    step = 1
    if is_wide:
        # path: recurrence slice by slice
        product = np.empty_like(sums[0])
        for k in range(1, len(sums)):
            sums[k] += np.multiply(factors[k], sums[k - 1], out=product)
        step = len(sums)
    while step < len(sums):
        sums[step:] += factors[step:] * sums[:-step]
        factors[step:] *= factors[:-step].copy()
        step *= 2
    return _along(np.moveaxis(sums, 0, axis), axis, reverse)


_MOST_STEPS = 32  # that are written out


@_recurrence.expand(when=lambda out, axis: 0 < out.shape[axis] <= _MOST_STEPS, in_rows=True)
def recurrence_parts(a, b, *, axis, reverse):
    made, last = {}, None
    for k in range(b.shape[axis])[:: -1 if reverse else 1]:
        factor, term = (x[_slice_along(axis, slice(k, k + 1))] for x in (a, b))
        last = made[k] = term if last is None else factor * last + term
    return join(*[made[k] for k in sorted(made)], axis=axis)


@_recurrence.vjp
def recurrence_vjp(g, a, out, axis, reverse):
    adjoint = _recurrence(_next(conjugated(a), axis, reverse), g, axis=axis, reverse=not reverse)
    return adjoint * conjugated(_previous(out, axis, reverse, 0)), adjoint


@_recurrence.jvp
def recurrence_jvp(a, out, t_a, t_b, axis, reverse):
    driving = t_b
    if t_a is not None:
        through_a = t_a * _previous(out, axis, reverse, 0)
        driving = through_a if t_b is None else through_a + t_b
    return _recurrence(a, driving, axis=axis, reverse=reverse)


@_recurrence.spec
def recurrence_spec(a, b, *, axis, reverse):
    return spec_for(b.shape, np.result_type(a.dtype, b.dtype))


@_recurrence.samples
def recurrence_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((6,)), make((6,))), {"axis": 0, "reverse": False}, "vector")
    yield Sample((make((2, 5)), make((2, 5))), {"axis": 1, "reverse": True}, "reverse")
    yield Sample((make((1, 2)), make((1, 2))), {"axis": 0, "reverse": False}, "one")
    yield Sample((make((0, 2)), make((0, 2))), {"axis": 0, "reverse": False}, "empty")
    yield Sample((make((4,), np.complex128), make((4,), np.complex128)), {"axis": 0, "reverse": False}, "complex")


@primitive(flow="scans", folds=np.add)
def cumsum(x, *, axis, dtype=None, reverse=False):
    """The sums of `x` up to every place along `axis`, or of the flat array; from the end if `reverse`."""
    return _scanned(np.add, x, axis, dtype, reverse)


@cumsum.door
def cumsum_door(x: Any, axis: Any = None, dtype: Any = None, *, dim: Any = None, reverse: bool = False) -> Any:
    x, axis = _scan_axis("cumsum", x, axis, dim)
    return (x,), {"axis": axis, "dtype": None if dtype is None else np.dtype(dtype), "reverse": reverse}


@cumsum.transpose
def cumsum_transpose(g, axis, reverse):
    return cumsum(g, axis=axis, reverse=not reverse)


@cumsum.vjp_on_arrays
def cumsum_pulled(g, axis, reverse):
    return _scanned(np.add, g, axis, None, not reverse)


_give_scan_rules(cumsum, complex_domain=True)


@primitive(flow="scans", folds=np.multiply)
def cumprod(x, *, axis, dtype=None, reverse=False):
    """The products of `x` up to every place along `axis`, or of the flat array; from the end if `reverse`.

    The gradient is exact whether or not some elements are 0.
    """
    return _scanned(np.multiply, x, axis, dtype, reverse)


@cumprod.door
def cumprod_door(x: Any, axis: Any = None, dtype: Any = None, *, dim: Any = None, reverse: bool = False) -> Any:
    x, axis = _scan_axis("cumprod", x, axis, dim)
    return (x,), {"axis": axis, "dtype": None if dtype is None else np.dtype(dtype), "reverse": reverse}


@cumprod.vjp
def cumprod_vjp(g, x, out, axis, reverse):
    def divided(g: Any, x: Any, out: Any, axis: int) -> Any:
        if not (is_ordinary(out) and is_ordinary(x)):
            return None
        with np.errstate(over="ignore"):
            sums = cumsum(g * out, axis=axis, reverse=not reverse)
        return np.divide(sums, x, out=sums)

    def general(g: Any, x: Any, out: Any, axis: int) -> Any:
        return _cumprod_pulled(g, x, out, axis, reverse)

    return _row_by_row(divided, general, (g, x, out), axis)


def _cumprod_pulled(g: Any, x: Any, out: Any, axis: int, reverse: bool) -> Any:
    adjoint = _recurrence(_next(conjugated(x), axis, reverse), g, axis=axis, reverse=not reverse)
    return adjoint * conjugated(_previous(out, axis, reverse, 1))


@cumprod.jvp
def cumprod_jvp(t_x, x, out, axis, reverse):
    return _recurrence(x, _previous(out, axis, reverse, 1) * t_x, axis=axis, reverse=reverse)


_give_scan_rules(cumprod, complex_domain=True)


@primitive(aliases=("cumlogsumexp",), flow="scans")
def logcumsumexp(x, *, axis, reverse=False):
    """`log(cumsum(exp(x)))` along `axis`, or of the flat array, computed without overflow.

    Elements get no gradient from places where the result is -inf.
    """

    def summed(x: Any, axis: int) -> Any:
        peak = _peak_if_close(x, axis)
        if peak is None:
            return None
        sums = _scanned(np.add, np.exp(x - peak), axis, None, reverse)
        np.log(sums, out=sums)
        sums += peak
        return sums

    def general(x: Any, axis: int) -> Any:
        return _along(np.logaddexp.accumulate(_along(x, axis, reverse), axis), axis, reverse)

    if is_complex_dtype(x.dtype):
        out = np.array(x)
        steps = np.moveaxis(_along(out, axis, reverse), axis, 0)
        for k in range(1, len(steps)):
            steps[k] = add_exponents(steps[k - 1], steps[k])
        return out
    return _row_by_row(summed, general, (x,), axis)


@logcumsumexp.door
def logcumsumexp_door(x: Any, axis: Any = None, *, dim: Any = None, reverse: bool = False) -> Any:
    x, axis = _scan_axis("logcumsumexp", x, axis, dim)
    return (x,), {"axis": axis, "reverse": reverse}


def _log_shares(x: Any, out: Any, axis: int, reverse: bool) -> tuple[Any, Any]:
    """How much of every result is its own element and how much is the previous result, as fractions.

    While the result is the logarithm of zero both are 0: nothing that is impossible takes part in a derivative.
    """
    divisor = where(out == -np.inf, 0, out)
    return exp(x - divisor), exp(_previous(out, axis, reverse, -np.inf) - divisor)


@logcumsumexp.vjp
def logcumsumexp_vjp(g, x, out, axis, reverse):
    def summed(g: Any, x: Any, out: Any, axis: int) -> Any:
        peak = _peak_if_close(x, axis)
        if peak is None:
            return None
        weights = np.exp(peak - out)
        weights *= g
        sums = _scanned(np.add, weights, axis, None, not reverse)
        sums *= np.exp(x - peak)
        return sums

    def general(g: Any, x: Any, out: Any, axis: int) -> Any:
        return _logcumsumexp_pulled(g, x, out, axis, reverse)

    if is_complex_dtype(x.dtype):
        return general(g, x, out, axis)
    return _row_by_row(summed, general, (g, x, out), axis)


def _logcumsumexp_pulled(g: Any, x: Any, out: Any, axis: int, reverse: bool) -> Any:
    own, previous = (conjugated(share) for share in _log_shares(x, out, axis, reverse))
    return own * _recurrence(_next(previous, axis, reverse), g, axis=axis, reverse=not reverse)


@logcumsumexp.jvp
def logcumsumexp_jvp(t_x, x, out, axis, reverse):
    own, previous = _log_shares(x, out, axis, reverse)
    return _recurrence(previous, own * t_x, axis=axis, reverse=reverse)


_give_scan_rules(logcumsumexp, complex_domain=True)


def _cumulative(scan: Op, x: Any, axis: int | None, dtype: Any, initial: int | None) -> Any:
    if axis is None and x.ndim != 1:
        raise ValueError(f"{scan.name}: without an axis there must be one axis only, got {x.ndim}")
    axis = normalize_axis_index(-1 if axis is None else axis, x.ndim)
    out = scan(x, axis=axis, dtype=dtype)
    if initial is None:
        return out
    return pad_constant(out, initial, widths=tuple((int(k == axis), 0) for k in range(x.ndim)))


@composite
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """`cumsum` as the array API standard has it; `include_initial` puts a 0 in front."""
    return _cumulative(cumsum, x, axis, dtype, 0 if include_initial else None)


@composite
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """`cumprod` as the array API standard has it; `include_initial` puts a 1 in front."""
    return _cumulative(cumprod, x, axis, dtype, 1 if include_initial else None)


@primitive(name="_running_positions", flow="scans", batch="shifted")
def _running_positions(x, *, axis, largest):
    """Where the largest or smallest element up to every place is, the last of equal ones."""
    best = (np.maximum if largest else np.minimum).accumulate(x, axis)
    places = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    return np.maximum.accumulate(np.where((x == best) | (x != x), places, 0), axis)


_running_positions.not_differentiable("its results are positions")


@_running_positions.spec
def running_positions_spec(x, *, axis, largest):
    return spec_for(x.shape, np.dtype(np.intp))


@_running_positions.samples
def running_positions_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((6,)),), {"axis": 0, "largest": True}, "largest")
    yield Sample((make.integers(0, 4, (3, 4)),), {"axis": 1, "largest": False}, "smallest")
    yield Sample((make((0, 2)),), {"axis": 0, "largest": True}, "empty")
    yield Sample((make((3, 4)),), {"axis": 1, "largest": True}, "rows")
    yield Sample((make((4,), np.complex128),), {"axis": 0, "largest": True}, "complex")


def _running_extreme(x: Any, axis: int, largest: bool) -> tuple[Any, Any]:
    axis = normalize_axis_index(axis, x.ndim)
    indices = _running_positions(x, axis=axis, largest=largest)
    if getattr(x, "is_nested", False):  # positions in rows of different lengths
        return registry["_gather"](x, indices, axis=axis, distinct=False), indices
    key: list[Any] = list(np.ogrid[tuple(slice(length) for length in x.shape)])
    key[axis] = indices
    return x[tuple(key)], indices


@composite
@along_axis
def cummax(x: Any, axis: int = -1, *, dim: int | None = None) -> tuple[Any, Any]:
    """The largest element up to every place along `axis`, and where it is; the gradient goes to the last of equals."""
    return _running_extreme(x, axis if dim is None else dim, True)


@composite
@along_axis
def cummin(x: Any, axis: int = -1, *, dim: int | None = None) -> tuple[Any, Any]:
    """The smallest element up to every place along `axis`, and where it is; the gradient goes to the last of equals."""
    return _running_extreme(x, axis if dim is None else dim, False)


@composite
@along_axis
@on_arrays
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along `axis`, taken `n` times, after joining `prepend` and `append` to the ends."""
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
    if n == 0:
        return x  # as it is, also with something to join, as in NumPy
    axis = normalize_axis_index(axis, x.ndim)
    if prepend is not None or append is not None:
        x = concat([_as_end(end, x, axis) for end in (prepend, x, append) if end is not None], axis)
    before = (slice(None),) * axis
    for _ in range(n):
        upper, lower = x[(*before, slice(1, None))], x[(*before, slice(None, -1))]
        x = upper != lower if x.dtype.kind == "b" else upper - lower
    return x


def _as_end(end: Any, x: Any, axis: int) -> Any:
    """A number in front of `x` or behind it counts as a slice of length 1."""
    end = as_array(end)
    return end if end.ndim else broadcast_to(end, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))
