"""Scans: operators whose result at one place is made of everything up to there.

Derivatives of scans are scans. All of those here come down to one private primitive, the linear recurrence
`s[k] = a[k] * s[k - 1] + b[k]`, whose own derivatives are recurrences again, so any order of differentiation works.
Nothing divides by an element, so `cumprod` is exact however many zeros there are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axis_index
from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, layouts
from pullback.ops.arguments import as_array
from pullback.ops.comparison import where
from pullback.ops.complex_numbers import conjugated
from pullback.ops.elementwise import exp
from pullback.ops.joining import concat
from pullback.ops.movement import broadcast_to
from pullback.ops.padding import pad_constant


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
    return np.flip(x, axis) if reverse else x


@primitive(name="_shift")
def _shift(x, *, axis, by, fill):
    """`x` moved by one place along `axis`, up or down, with `fill` in the place that becomes free."""
    out = np.empty_like(x)
    source, target = np.moveaxis(x, axis, 0), np.moveaxis(out, axis, 0)
    if by > 0:
        target[1:], target[:1] = source[:-1], fill
    else:
        target[:-1], target[-1:] = source[1:], fill
    return out


@_shift.vjp
def shift_vjp(g, axis, by):
    return _shift(g, axis=axis, by=-by, fill=0)


@_shift.jvp
def shift_jvp(t_x, axis, by):
    return _shift(t_x, axis=axis, by=by, fill=0)


@_shift.spec
def shift_spec(x, *, axis, by, fill):
    return x


@_shift.batch
def shift_batch(x, *, axis, by, fill):
    return _shift(x, axis=axis + 1, by=by, fill=fill)


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


@primitive(name="_recurrence")
def _recurrence(a, b, *, axis, reverse):
    """`s` with `s[k] = a[k] * s[k - 1] + b[k]` along `axis`, from the end if `reverse`. The first `a` is not read.

    Every pass joins stretches of twice the length, so the number of passes is the logarithm of the axis' length.
    """
    dtype = np.result_type(a, b)
    factors = np.moveaxis(_along(a, axis, reverse), axis, 0).astype(dtype)
    sums = np.moveaxis(_along(b, axis, reverse), axis, 0).astype(dtype)
    step = 1
    while step < len(sums):
        sums[step:] += factors[step:] * sums[:-step]
        factors[step:] *= factors[:-step].copy()
        step *= 2
    return _along(np.moveaxis(sums, 0, axis), axis, reverse)


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


@_recurrence.batch
def recurrence_batch(a, b, *, axis, reverse):
    return _recurrence(a, b, axis=axis + 1, reverse=reverse)


@_recurrence.samples
def recurrence_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((6,)), make((6,))), {"axis": 0, "reverse": False}, "vector")
    yield Sample((make((2, 5)), make((2, 5))), {"axis": 1, "reverse": True}, "reverse")
    yield Sample((make((1, 2)), make((1, 2))), {"axis": 0, "reverse": False}, "one")
    yield Sample((make((0, 2)), make((0, 2))), {"axis": 0, "reverse": False}, "empty")
    yield Sample((make((4,), np.complex128), make((4,), np.complex128)), {"axis": 0, "reverse": False}, "complex")


@primitive
def cumsum(x, *, axis, dtype=None, reverse=False):
    """The sums of `x` up to every place along `axis`, or of the flat array; from the end if `reverse`."""
    return _along(np.cumsum(_along(x, axis, reverse), axis, dtype), axis, reverse)


@cumsum.door
def cumsum_door(x: Any, axis: Any = None, dtype: Any = None, *, dim: Any = None, reverse: bool = False) -> Any:
    x, axis = _scan_axis("cumsum", x, axis, dim)
    return (x,), {"axis": axis, "dtype": None if dtype is None else np.dtype(dtype), "reverse": reverse}


@cumsum.transpose
def cumsum_transpose(g, axis, reverse):
    return cumsum(g, axis=axis, reverse=not reverse)


_give_scan_rules(cumsum, complex_domain=True)


@primitive
def cumprod(x, *, axis, dtype=None, reverse=False):
    """The products of `x` up to every place along `axis`, or of the flat array; from the end if `reverse`."""
    return _along(np.cumprod(_along(x, axis, reverse), axis, dtype), axis, reverse)


@cumprod.door
def cumprod_door(x: Any, axis: Any = None, dtype: Any = None, *, dim: Any = None, reverse: bool = False) -> Any:
    x, axis = _scan_axis("cumprod", x, axis, dim)
    return (x,), {"axis": axis, "dtype": None if dtype is None else np.dtype(dtype), "reverse": reverse}


@cumprod.vjp
def cumprod_vjp(g, x, out, axis, reverse):
    adjoint = _recurrence(_next(conjugated(x), axis, reverse), g, axis=axis, reverse=not reverse)
    return adjoint * conjugated(_previous(out, axis, reverse, 1))


@cumprod.jvp
def cumprod_jvp(t_x, x, out, axis, reverse):
    return _recurrence(x, _previous(out, axis, reverse, 1) * t_x, axis=axis, reverse=reverse)


_give_scan_rules(cumprod, complex_domain=True)


@primitive(aliases=("cumlogsumexp",))
def logcumsumexp(x, *, axis, reverse=False):
    """`log(cumsum(exp(x)))` along `axis`, or of the flat array, computed without overflow."""
    return _along(np.logaddexp.accumulate(_along(x, axis, reverse), axis), axis, reverse)


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
    own, previous = _log_shares(x, out, axis, reverse)
    return own * _recurrence(_next(previous, axis, reverse), g, axis=axis, reverse=not reverse)


@logcumsumexp.jvp
def logcumsumexp_jvp(t_x, x, out, axis, reverse):
    own, previous = _log_shares(x, out, axis, reverse)
    return _recurrence(previous, own * t_x, axis=axis, reverse=reverse)


_give_scan_rules(logcumsumexp)


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


@primitive(name="_running_positions")
def _running_positions(x, *, axis, largest):
    """Where the largest or smallest element up to every place is, the last of equal ones."""
    best = (np.maximum if largest else np.minimum).accumulate(x, axis)
    places = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - axis - 1))
    return np.maximum.accumulate(np.where((x == best) | (x != x), places, 0), axis)


_running_positions.not_differentiable("its results are positions")


@_running_positions.spec
def running_positions_spec(x, *, axis, largest):
    return spec_for(x.shape, np.dtype(np.intp))


@_running_positions.batch
def running_positions_batch(x, *, axis, largest):
    return _running_positions(x, axis=axis + 1, largest=largest)


@_running_positions.samples
def running_positions_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((6,)),), {"axis": 0, "largest": True}, "largest")
    yield Sample((make.integers(0, 4, (3, 4)),), {"axis": 1, "largest": False}, "smallest")
    yield Sample((make((0, 2)),), {"axis": 0, "largest": True}, "empty")


def _running_extreme(x: Any, axis: int, largest: bool) -> tuple[Any, Any]:
    axis = normalize_axis_index(axis, x.ndim)
    indices = _running_positions(x, axis=axis, largest=largest)
    key: list[Any] = list(np.ogrid[tuple(slice(length) for length in x.shape)])
    key[axis] = indices
    return x[tuple(key)], indices


@composite
def cummax(x: Any, axis: int = -1, *, dim: int | None = None) -> tuple[Any, Any]:
    """The largest element up to every place along `axis`, and where it is; of equal ones the last."""
    return _running_extreme(x, axis if dim is None else dim, True)


@composite
def cummin(x: Any, axis: int = -1, *, dim: int | None = None) -> tuple[Any, Any]:
    """The smallest element up to every place along `axis`, and where it is; of equal ones the last."""
    return _running_extreme(x, axis if dim is None else dim, False)


@composite
def diff(x: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along `axis`, taken `n` times, after joining `prepend` and `append` to the ends."""
    if n < 0:
        raise ValueError(f"diff: n must not be negative, got {n}")
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
