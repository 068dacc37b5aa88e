"""Pooling: the largest element, the mean or the p-norm of windows, and windows as columns.

Arrays are examples, channels and then the axes that windows move along; the axis of examples may be missing.
`max_pool` is an operator that also returns where in the pooled axes it found each element; of equal elements the first
counts, and NaN is the largest of all. The others are convolutions with constant weights.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.core.axes import axis_letters
from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import beside
from pullback.operators.arrays.index_operators import ARRAY, index_arrays, index_put_arrays
from pullback.operators.arrays.movement import broadcast_to, moveaxis
from pullback.operators.arrays.scatter import add_elements, gather_elements, take
from pullback.operators.elementwise.casting import copy
from pullback.operators.elementwise.comparison import isnan, logical_and, logical_or, relu, where
from pullback.operators.elementwise.complex_numbers import sign
from pullback.operators.nn.convolution import Ints, convolution, convolution_input, each_axis, output_lengths
from pullback.operators.pieces import PIECE, in_pieces
from pullback.operators.reductions.extremes import max_with_indices
from pullback.operators.vector_products import tensordot

_SMALL = 1 << 12  # elements, for which calls take longer than their work


def _extent(positions: Ints, window: Ints, stride: Ints, dilation: Ints) -> Ints:
    """How far the windows reach along each axis."""
    return tuple(
        (q - 1) * s + d * (k - 1) + 1 for q, k, s, d in zip(positions, window, stride, dilation, strict=True)
    )


@primitive(
    name="_max_pool", outputs=("out", "index"), torch="max_pool_with_indices", recompute="bearable", batch="shifted",
    letters=lambda x, window: "{0}->{0},{0}".format(axis_letters(x.ndim, range(x.ndim - len(window), x.ndim))),
)  # fmt: skip
def max_pool(x, *, lengths, window, stride, padding, dilation, positions):
    """The largest element of each window over the last axes, and its place in these axes counted in row-major order."""
    how = _how(lengths, window, stride, padding, dilation, positions)
    if 0 < x.size < _SMALL and x.flags.c_contiguous and _is_inside(**how):
        return _small_max_pool(x, *_cells(**how))
    if x.size < PIECE or not x.flags.c_contiguous or x.ndim == len(window):
        return _max_pool_kernel(x, **how)
    planes = x.reshape((-1, *lengths))
    best, places = np.empty((len(planes), *positions), x.dtype), np.empty((len(planes), *positions), np.int64)

    def work(start: int, stop: int) -> None:
        best[start:stop], places[start:stop] = _max_pool_kernel(planes[start:stop], **how)

    in_pieces(work, len(planes), math.prod(lengths))
    shape = (*x.shape[: x.ndim - len(window)], *positions)
    return best.reshape(shape), places.reshape(shape)


_MOST_PLACES = 25  # of a window that is written out


def _is_small(
    out: Any, lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, positions: Ints
) -> bool:  # fmt: skip
    is_small = math.prod(window) <= _MOST_PLACES and out.size > 0
    return is_small and _is_inside(lengths, window, stride, padding, dilation, positions)


@max_pool.expand(when=_is_small, in_rows=True, asks_memory=True)
def max_pool_parts(x, **how):
    starts, offsets = _starts_and_offsets(**how)
    starts = x.beside(starts)
    best: Any = None
    places: Any = None
    for place, offset in zip(itertools.product(*map(range, how["window"])), offsets.tolist(), strict=True):
        new, at = x[(..., *_reach(place, how["dilation"], how["stride"], how["positions"]))], starts + offset
        if best is None:
            best, places = copy(new, order="C"), broadcast_to(at, shape=new.shape) + 0
        else:
            is_first = logical_and(isnan(new), best == best)
            is_better = logical_or(new > best, is_first)
            best, places = where(is_better, new, best), where(is_better, at, places)
    return best, places


def _reach(place: Ints, dilation: Ints, stride: Ints, positions: Ints) -> tuple[slice, ...]:
    """The elements at one place of all windows."""
    axes = zip(place, dilation, stride, positions, strict=True)
    return tuple([slice(d * k, d * k + s * (q - 1) + 1, s) for k, d, s, q in axes])


def _is_inside(lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, positions: Ints) -> bool:
    """Do all windows end inside, without a border?"""
    if any(padding):
        return False
    return all(e <= n for e, n in zip(_extent(positions, window, stride, dilation), lengths, strict=True))


@lru_cache(maxsize=64)
def _cells(
    lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, positions: Ints
) -> tuple[Any, Any, Ints]:  # fmt: skip
    """Where the elements of each window are in row-major order, the numbers of the windows, and their shape."""
    starts, offsets = _starts_and_offsets(lengths, window, stride, padding, dilation, positions)
    cells = starts.reshape(-1, 1) + offsets
    return cells, np.arange(len(cells)), positions


@max_pool.spelling("array_api")
def max_pool_spelling(np_there, x, *, lengths, window, stride, padding, dilation, positions):
    source = _bordered(x, _extent(positions, window, stride, dilation), padding)
    numbers = np_there.arange(1, math.prod(lengths) + 1).reshape(lengths)
    numbers = _bordered(numbers, source.shape[x.ndim - len(window) :], padding)
    best: Any = None
    places: Any = None
    for place in itertools.product(*map(range, window)):
        reach = _reach(place, dilation, stride, positions)
        new, at = source[(..., *reach)], np_there.maximum(numbers[(..., *reach)], 0)  # 0: the border
        if best is None:
            best, places = new, np_there.broadcast_to(np_there.asarray_there(at), new.shape)
            continue
        is_better = (new > best) | ((places == 0) & (at > 0))
        if x.dtype.kind == "f":
            is_better = is_better | (np_there.isnan(new) & ~np_there.isnan(best))
        is_better = is_better & (at > 0)
        best, places = np_there.where(is_better, new, best), np_there.where(is_better, at, places)
    return best, places - 1


def _small_max_pool(x: Any, cells: Any, numbers: Any, positions: Ints) -> tuple[Any, Any]:
    """All windows side by side: more memory, fewer calls. For NumPy too NaN is the largest, and of equals the first."""
    leading = x.shape[: x.ndim - len(positions)]
    planes = x.reshape(math.prod(leading), -1)
    candidates = planes.take(cells, 1)
    places = cells[numbers, candidates.argmax(2)]
    best = planes[np.arange(len(planes))[:, None], places]
    return best.reshape(*leading, *positions), places.reshape(*leading, *positions)


def _max_pool_kernel(
    x: Any, lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, positions: Ints
) -> tuple[Any, Any]:  # fmt: skip
    source = _bordered(x, _extent(positions, window, stride, dilation), padding)
    has_nan = x.dtype.kind == "f" and bool(np.isnan(x.max(initial=_lowest(x.dtype))))
    best: Any = None
    which: Any = None
    other: Any = None
    for number, place in enumerate(itertools.product(*map(range, window))):
        candidate = source[(..., *_reach(place, dilation, stride, positions))]
        if best is None:
            best, other = candidate.copy("C"), np.empty(candidate.shape, x.dtype)
            which = np.zeros(candidate.shape, np.uint8 if math.prod(window) < 256 else np.int32)
            continue
        np.copyto(other, candidate)  # one strided pass for the three that follow
        better = other > best
        if has_nan:
            better |= np.isnan(other) & ~np.isnan(best)
        # Without choosing by a mask, for which NumPy has a branch at every element: later numbers are larger.
        np.maximum(best, other, out=best)
        np.maximum(which, better.view(np.uint8) * which.dtype.type(number), out=which)
    # Only windows of nothing but the lowest value choose the border; their first element inside is meant.
    chose_border = any(padding) and bool((best == _lowest(x.dtype)).any())
    places = _places(which, lengths, window, stride, padding, dilation, positions, chose_border)
    if x.dtype.kind == "f" and not best.all():
        best = _at_places(x, places, len(window))  # of zeros of both signs `maximum` takes any, the first one is meant
    return best, places


def _at_places(x: Any, places: Any, rank: int) -> Any:
    count = math.prod(x.shape[: x.ndim - rank])
    found = np.take_along_axis(x.reshape(count, -1), places.reshape(count, -1), 1)
    return found.reshape(places.shape)


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@lru_cache(maxsize=64)
def _starts_and_offsets(
    lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, positions: Ints
) -> tuple[Any, Any]:  # fmt: skip
    """Where windows begin, and where their elements are from there, in row-major order."""
    starts: Any = np.zeros((), np.int64)
    offsets: Any = np.zeros((), np.int64)
    for n, k, s, p, d, q in zip(lengths, window, stride, padding, dilation, positions, strict=True):
        starts = starts[..., None] * n + (np.arange(q) * s - p)
        offsets = offsets[..., None] * n + np.arange(k) * d
    return starts, offsets.reshape(-1)


def _places(
    which: Any, lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, positions: Ints, inside: bool
) -> Any:  # fmt: skip
    """Where the elements are of which the numbers in their windows are given; `inside` moves them out of the border."""
    if not inside:
        starts, offsets = _starts_and_offsets(lengths, window, stride, padding, dilation, positions)
        places = offsets.take(which)
        places += starts
        return places
    index = np.zeros(which.shape, np.int64)
    for axis, steps in enumerate(np.unravel_index(which, window)):
        first = np.arange(positions[axis]) * stride[axis] - padding[axis]
        at = first.reshape((-1,) + (1,) * (len(window) - axis - 1)) + steps * dilation[axis]
        index = index * lengths[axis] + np.where(at < 0, at % dilation[axis], at)
    return index


def _bordered(x: Any, extent: Ints, padding: Ints) -> Any:
    """`x` with a border that never wins, so that windows do not have to stop at the edge."""
    lengths = x.shape[x.ndim - len(extent) :]
    if not any(padding) and all(e <= n for e, n in zip(extent, lengths, strict=True)):
        return x
    full = tuple(max(e, n + p) for e, n, p in zip(extent, lengths, padding, strict=True))
    out = np.full((*x.shape[: x.ndim - len(extent)], *full), _lowest(x.dtype), x.dtype)
    inside: Any = tuple(slice(p, p + n) for p, n in zip(padding, lengths, strict=True))
    out[(..., *inside)] = x
    return out


@max_pool.spec
def max_pool_spec(x, *, lengths, window, stride, padding, dilation, positions):
    shape = (*x.shape[: x.ndim - len(window)], *positions)
    return spec_for(shape, x.dtype), spec_for(shape, np.dtype(np.int64))


def _rows(index: Any, rank: int) -> tuple[Any, Any]:
    """Arrays that address places in the last axes, for arrays whose leading and last axes are joined."""
    count = math.prod(index.shape[: index.ndim - rank])
    return np.arange(count).reshape((count, 1)), index.reshape((count, math.prod(index.shape[index.ndim - rank :])))


def _is_disjoint(window: Ints, stride: Ints) -> bool:
    return all(s >= k for s, k in zip(stride, window, strict=True))


def _add_to_planes(g: Any, index: Any, lengths: Ints, rank: int, distinct: bool) -> Any:
    """Zeros to which `g` is added at `index` in the last axes; `distinct` says that no place occurs twice."""
    leading = index.shape[: index.ndim - rank]
    count, size = math.prod(leading), math.prod(lengths)
    values, places = g.reshape(count, -1), index.reshape(count, -1)
    out = np.zeros((*leading, *lengths), g.dtype)
    planes = out.reshape(count, size)

    def work(start: int, stop: int) -> None:
        flat = planes[start:stop].reshape(-1)
        cells = (places[start:stop] + np.arange(0, (stop - start) * size, size)[:, None]).reshape(-1)
        if distinct:
            flat[cells] = values[start:stop].reshape(-1)
        else:
            np.add.at(flat, cells, values[start:stop].reshape(-1))

    in_pieces(work, count, size)
    return out


@max_pool.vjp
def max_pool_vjp(g_out, index, lengths, window, stride, dilation):
    if g_out is None:
        return None
    distinct = _is_disjoint(window, stride) and all(d == 1 for d in dilation)
    if type(g_out) is type(index) is np.ndarray and index.size:
        return _add_to_planes(g_out, index, lengths, len(window), distinct)
    axis = index.ndim - len(window)
    lead, places = index.shape[:axis], _joined(index, axis)
    total = add_elements(
        g_out.reshape(places.shape), places, axis=axis, shape=(*lead, math.prod(lengths)), distinct=distinct
    )  # fmt: skip
    return total.reshape((*lead, *lengths))


@max_pool.jvp
def max_pool_jvp(t_x, index, lengths, window):
    axis = index.ndim - len(window)
    picked = gather_elements(_joined(t_x, axis), _joined(index, axis), axis=axis, distinct=False)
    return picked.reshape(index.shape), None


def _joined(x: Any, axis: int) -> Any:
    """With the axes from this one on as one."""
    return x.reshape((*x.shape[:axis], math.prod(x.shape[axis:])))


def _how(lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, positions: Ints) -> dict[str, Any]:
    return {
        "lengths": lengths, "window": window, "stride": stride, "padding": padding, "dilation": dilation,
        "positions": positions,
    }  # fmt: skip


max_pool.refuses("complex numbers have no order", "complex128")


@max_pool.samples
def max_pool_samples(make: Maker) -> Iterator[Sample]:
    plane = _how((4, 5), (2, 2), (2, 2), (0, 0), (1, 1), (2, 2))
    yield Sample((make.distinct((2, 3, 4, 5)),), plane, "plane")
    yield Sample((make.distinct((2, 3, 7)),), _how((7,), (3,), (2,), (1,), (1,), (4,)), "overlapping")
    yield Sample((make.distinct((1, 2, 7)),), _how((7,), (2,), (1,), (1,), (3,), (6,)), "dilated")
    space = _how((3,) * 3, (2,) * 3, (1,) * 3, (0,) * 3, (1,) * 3, (2,) * 3)
    yield Sample((make.distinct((1, 1, 3, 3, 3)),), space, "space")
    yield Sample((make.distinct((1, 2, 6)),), _how((6,), (2,), (3,), (0,), (1,), (2,)), "gaps between windows")
    yield Sample((make.distinct((1, 2, 5)),), _how((5,), (2,), (2,), (0,), (1,), (3,)), "beyond the end")
    yield Sample((make.distinct((0, 3, 4, 5)),), plane, "empty")
    yield Sample((make.distinct((2, 1, 4, 5), np.float32),), plane, "float32")
    yield Sample((make.distinct((2, 4, 5, 3)).transpose(0, 3, 1, 2),), plane, "channels last")
    yield Sample((make.distinct((2, 3, 4, 5))[:, :, ::-1],), plane, "reversed")


# What users call


@lru_cache(maxsize=256)
def _positions(name: str, lengths: Ints, window: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool) -> Ints:
    """How many windows there are; with `ceil` also one that begins inside and ends beyond the padding."""
    if any(2 * p > k for p, k in zip(padding, window, strict=True)):
        raise ValueError(f"nn.{name}: the padding {padding} is more than half of the window {window}")
    pairs = tuple((p, p) for p in padding)
    counts = list(output_lengths(lengths, window, stride, pairs, dilation))
    if ceil:
        for axis, (n, k, s, p, d) in enumerate(zip(lengths, window, stride, padding, dilation, strict=True)):
            count = -((n + 2 * p - d * (k - 1) - 1) // -s) + 1
            counts[axis] = count - 1 if (count - 1) * s >= n + p else count
    if any(count < 1 for count in counts):
        raise ValueError(f"nn.{name}: the window {window} is larger than the input {lengths}")
    return tuple(counts)


def check_rank(name: str, x: Any, rank: int) -> None:
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(f"nn.{name}: an input with {rank + 1} or {rank + 2} axes is needed, got shape {x.shape}")


def _max_pool(
    name: str, rank: int, x: Any, size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> tuple[Any, Any]:  # fmt: skip
    check_rank(name, x, rank)
    window = each_axis(name, "kernel_size", size, rank)
    stride = window if stride is None else each_axis(name, "stride", stride, rank)
    padding, dilation = each_axis(name, "padding", padding, rank), each_axis(name, "dilation", dilation, rank)
    lengths = x.shape[x.ndim - rank :]
    positions = _positions(name, lengths, window, stride, padding, dilation, ceil_mode)
    return max_pool(x, **_how(lengths, window, stride, padding, dilation, positions))


def _window_sums(x: Any, window: Ints, stride: Ints, padding: Ints, positions: Ints) -> Any:
    """The sums over windows of the last axes: a convolution with ones."""
    rank = len(window)
    lengths = x.shape[x.ndim - rank :]
    ends = _extent(positions, window, stride, (1,) * rank)
    pairs = tuple((p, max(e - n - p, 0)) for p, e, n in zip(padding, ends, lengths, strict=True))
    ones = beside(x, np.ones((1, 1, *window), x.dtype if x.dtype.kind in "fc" else np.float64))
    single = x.reshape((math.prod(x.shape[: x.ndim - rank]), 1, *lengths))
    out = convolution(single, ones, stride=stride, padding=pairs, dilation=(1,) * rank, groups=1)
    return out.reshape((*x.shape[: x.ndim - rank], *positions))


def _window_sizes(lengths: Ints, window: Ints, stride: Ints, padding: Ints, positions: Ints, with_padding: bool) -> Any:
    """How many elements each window has, with or without those of the padding."""
    total: Any = 1
    for n, k, s, p, q in zip(lengths, window, stride, padding, positions, strict=True):
        starts = np.arange(q) * s - p
        ends = np.minimum(starts + k, n + p)
        if not with_padding:
            starts, ends = np.maximum(starts, 0), np.minimum(ends, n)
        total = np.multiply.outer(total, ends - starts)
    return total


def _avg_pool(
    name: str, rank: int, x: Any, size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor: int | None,
) -> Any:  # fmt: skip
    check_rank(name, x, rank)
    window = each_axis(name, "kernel_size", size, rank)
    stride = window if stride is None else each_axis(name, "stride", stride, rank)
    padding = each_axis(name, "padding", padding, rank)
    lengths = x.shape[x.ndim - rank :]
    positions = _positions(name, lengths, window, stride, padding, (1,) * rank, ceil_mode)
    sums = _window_sums(x, window, stride, padding, positions)
    if divisor is not None:
        if divisor == 0:
            raise ValueError(f"nn.{name}: divisor_override must not be zero")
        return sums / divisor
    if not any(padding) and not ceil_mode:
        return sums / math.prod(window)
    sizes = _window_sizes(lengths, window, stride, padding, positions, count_include_pad)
    return sums / beside(sums, sizes.astype(sums.dtype))


def _lp_pool(name: str, rank: int, x: Any, p: float, size: Any, stride: Any, ceil_mode: bool) -> Any:
    check_rank(name, x, rank)
    window = each_axis(name, "kernel_size", size, rank)
    stride = window if stride is None else each_axis(name, "stride", stride, rank)
    none = (0,) * rank
    positions = _positions(name, x.shape[x.ndim - rank :], window, stride, none, (1,) * rank, ceil_mode)
    sums = _window_sums(x**p, window, stride, none, positions)
    return (sign(sums) * relu(sign(sums) * sums)) ** (1 / p)


# Adaptive pooling: as many windows as asked for, as even as possible.


def _adaptive_bounds(length: int, count: int) -> list[tuple[int, int]]:
    return [(k * length // count, -((k + 1) * length // -count)) for k in range(count)]


def _targets(name: str, x: Any, rank: int, size: Any) -> Ints:
    check_rank(name, x, rank)
    sizes = (size,) * rank if isinstance(size, int) or size is None else tuple(size)
    if len(sizes) != rank:
        raise ValueError(f"nn.{name}: output_size has {len(sizes)} entries for {rank} axes")
    return tuple(x.shape[x.ndim - rank + k] if n is None else int(n) for k, n in enumerate(sizes))


def _adaptive_avg_pool(name: str, rank: int, x: Any, size: Any) -> Any:
    for axis, count in enumerate(_targets(name, x, rank, size), start=x.ndim - rank):
        length = x.shape[axis]
        weights = np.zeros((length, count), x.dtype if x.dtype.kind in "fc" else np.float64)
        for k, (start, end) in enumerate(_adaptive_bounds(length, count)):
            weights[start:end, k] = 1 / (end - start)
        x = moveaxis(tensordot(x, beside(x, weights), axes=((axis,), (0,))), -1, axis)
    return x


def _adaptive_max_pool(name: str, rank: int, x: Any, size: Any) -> tuple[Any, Any]:
    counts = _targets(name, x, rank, size)
    lead, lengths = x.ndim - rank, x.shape[x.ndim - rank :]
    places: Any = np.zeros((), np.int64)
    for n, count in zip(lengths, counts, strict=True):
        bounds = _adaptive_bounds(n, count)
        widest = max((end - start for start, end in bounds), default=1)
        # A shorter window repeats its last element, which then is not the first of equals.
        table = np.array([[min(start + j, end - 1) for j in range(widest)] for start, end in bounds], np.int64)
        places = places[..., None, None] * n + table
    # [q1, k1, q2, k2, ...] -> [q1, q2, ..., k1 * k2 * ...]
    places = places.transpose((*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)))
    places = places.reshape((*counts, -1))
    flat = x.reshape((*x.shape[:lead], math.prod(lengths)))
    windows = take(flat, places, axis=lead)
    out, which = max_with_indices(windows, axis=-1)
    grid = np.arange(math.prod(counts)).reshape(counts)
    index = index_arrays(
        places.reshape((-1, places.shape[-1])), grid, which, template=(ARRAY, ARRAY), distinct=False
    )  # fmt: skip
    return out, index


def _max_unpool(name: str, rank: int, x: Any, indices: Any, size: Any, stride: Any, padding: Any, output: Any) -> Any:
    check_rank(name, x, rank)
    window = each_axis(name, "kernel_size", size, rank)
    stride = window if stride is None else each_axis(name, "stride", stride, rank)
    padding = each_axis(name, "padding", padding, rank)
    lengths = tuple(
        (n - 1) * s - 2 * p + k
        for n, s, p, k in zip(x.shape[x.ndim - rank :], stride, padding, window, strict=True)
    )
    if output is not None:
        wanted = tuple(int(n) for n in tuple(output)[-rank:])
        if not all(n - s < want < n + s for n, s, want in zip(lengths, stride, wanted, strict=True)):
            raise ValueError(f"nn.{name}: output_size {wanted} must be less than a stride {stride} away from {lengths}")
        lengths = wanted
    rows, places = _rows(indices, rank)
    zeros = np.zeros((rows.shape[0], math.prod(lengths)), x.dtype)
    out = index_put_arrays(
        zeros, x.reshape(places.shape), rows, places, template=(ARRAY, ARRAY), accumulate=False, distinct=False
    )
    return out.reshape((*x.shape[: x.ndim - rank], *lengths))


def _declare(rank: int) -> None:
    """The pooling functions for windows with `rank` axes."""
    suffix = f"{rank}d"

    def max_pool(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        """The largest element of each window; of equal ones the first has the gradient.

        `stride` is the size of the window if not given. `return_indices` returns their places as well.
        """
        out, index = _max_pool(f"max_pool{suffix}", rank, x, kernel_size, stride, padding, dilation, ceil_mode)
        return (out, index) if return_indices else out

    def max_pool_with_indices(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
    ) -> Any:  # fmt: skip
        """The largest element of each window, and its place in the pooled axes, counted in row-major order."""
        return _max_pool(f"max_pool{suffix}", rank, x, kernel_size, stride, padding, dilation, ceil_mode)

    def avg_pool(
        x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> Any:  # fmt: skip
        """The mean of each window. Zeros of the padding count unless `count_include_pad=False`."""
        return _avg_pool(
            f"avg_pool{suffix}", rank, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    def lp_pool(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        """`sum(x ** norm_type) ** (1 / norm_type)` of each window."""
        return _lp_pool(f"lp_pool{suffix}", rank, x, norm_type, kernel_size, stride, ceil_mode)

    def adaptive_avg_pool(x: Any, output_size: Any) -> Any:
        """The mean of as many windows as `output_size` says; None keeps the length of an axis."""
        return _adaptive_avg_pool(f"adaptive_avg_pool{suffix}", rank, x, output_size)

    def adaptive_max_pool(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        """The largest element of as many windows as `output_size` says; None keeps the length of an axis."""
        out, index = _adaptive_max_pool(f"adaptive_max_pool{suffix}", rank, x, output_size)
        return (out, index) if return_indices else out

    def max_unpool(
        x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Any:  # fmt: skip
        """Zeros with the elements of `x` at the places from which `max_pool_with_indices` took them."""
        return _max_unpool(
            f"max_unpool{suffix}", rank, x, indices, kernel_size, stride, padding, output_size
        )

    pooling = (max_pool, max_pool_with_indices, avg_pool, lp_pool, adaptive_avg_pool, adaptive_max_pool, max_unpool)
    for function in pooling:
        name, ending = function.__name__.partition("_with_indices")[:2]
        function.__name__ = function.__qualname__ = f"{name}{suffix}{ending}"
        composite(name=f"nn.{function.__name__}", arrays=2 if function is max_unpool else 1)(function)


for _rank in (1, 2, 3):
    _declare(_rank)


# Windows as columns


def _columns_weight(channels: int, window: Ints, dtype: Any) -> Any:
    """Weights whose convolution, with one group per channel, copies every element of a window to an output."""
    size = math.prod(window)
    return np.tile(np.eye(size, dtype=dtype), (channels, 1)).reshape((channels * size, 1, *window))


def _columns_how(name: str, kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> tuple[Ints, dict[str, Any]]:
    window = each_axis(name, "kernel_size", kernel_size, 2)
    pairs = tuple((p, p) for p in each_axis(name, "padding", padding, 2))
    return window, {
        "stride": each_axis(name, "stride", stride, 2),
        "padding": pairs,
        "dilation": each_axis(name, "dilation", dilation, 2),
    }


@composite(name="nn.unfold")
def unfold(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """The windows of images as columns: shape (examples, channels * window, positions)."""
    window, how = _columns_how("unfold", kernel_size, stride, padding, dilation)
    is_single = x.ndim == 3
    images = x.reshape((1, *x.shape)) if is_single else x
    channels = images.shape[1]
    out = convolution(images, beside(x, _columns_weight(channels, window, x.dtype)), groups=channels, **how)
    shape = (*out.shape[:2], math.prod(out.shape[2:]))
    return out.reshape(shape[1:] if is_single else shape)


@composite(name="nn.fold")
def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Images of `output_size` in which columns of windows add up: the transpose of `unfold`."""
    window, how = _columns_how("fold", kernel_size, stride, padding, dilation)
    lengths = each_axis("fold", "output_size", output_size, 2)
    is_single = x.ndim == 2
    columns = x.reshape((1, *x.shape)) if is_single else x
    positions = output_lengths(lengths, window, **how)
    if columns.shape[1] % math.prod(window) or columns.shape[2] != math.prod(positions):
        raise ValueError(f"nn.fold: columns of shape {x.shape} do not fold into {lengths} with windows {window}")
    channels = columns.shape[1] // math.prod(window)
    weight = beside(x, _columns_weight(channels, window, x.dtype))
    images = columns.reshape((*columns.shape[:2], *positions))
    out = convolution_input(images, weight, lengths=lengths, groups=channels, **how)
    return out.reshape(out.shape[1:]) if is_single else out
