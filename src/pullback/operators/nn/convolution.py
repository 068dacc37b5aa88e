"""Convolution with stride, padding, dilation and groups, in any number of dimensions.

Three operators, each linear in both operands, transpose into each other. With `y[n, o, q] = sum x[n, c, s*q + d*k - p]
* w[o, c, k]` over c and k there is `convolution(x, w) -> y`, `convolution_input(y, w) -> x` and
`convolution_weight(x, y) -> w`; the two others are the gradients of the first, and so on, to any order.

The kernels copy windows into columns and multiply matrices, a few examples at a time so that the columns stay in the
cache. A batch of convolutions is one convolution with more groups.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.eager.build import as_operand
from pullback.operators.arrays.index_operators import basic_view, place_slice
from pullback.operators.arrays.joining import pile
from pullback.operators.arrays.movement import broadcast_to, permute_dims, swapaxes
from pullback.operators.arrays.padding import pad_parts
from pullback.operators.arrays.strided import as_strided
from pullback.operators.contraction import matmul
from pullback.operators.elementwise.casting import copy
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.reductions.reduction import sum
from pullback.payloads.batched.array import is_repeated

Pairs = tuple[tuple[int, int], ...]
Ints = tuple[int, ...]

# Columns of about 2 MB in double precision.
_ELEMENTS_AT_ONCE = 1 << 18


def output_lengths(lengths: Ints, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Ints:
    """How many positions a window has along each axis."""
    return tuple(
        (n + low + high - d * (k - 1) - 1) // s + 1
        for n, k, s, (low, high), d in zip(lengths, window, stride, padding, dilation, strict=True)
    )


def _padded(x: Any, padding: Pairs) -> Any:
    if not any(itertools.chain(*padding)):
        return x
    inside = tuple(slice(low, low + n) for n, (low, _) in zip(x.shape[2:], padding, strict=True))
    lengths = tuple(low + n + high for n, (low, high) in zip(x.shape[2:], padding, strict=True))
    out = np.zeros((*x.shape[:2], *lengths), x.dtype)
    out[(slice(None), slice(None), *inside)] = x
    return out


def _windows(x: Any, window: Ints, positions: Ints, stride: Ints, dilation: Ints) -> Any:
    """A view `[n, c, *k, *q]` of padded `x`."""
    steps = x.strides[2:]
    return np.lib.stride_tricks.as_strided(
        x, (*x.shape[:2], *window, *positions),
        (*x.strides[:2], *(d * t for d, t in zip(dilation, steps, strict=True)),
         *(s * t for s, t in zip(stride, steps, strict=True))),
        writeable=False,
    )  # fmt: skip


def _in_columns(windows: Any, groups: int, rows: int, area: int) -> Any:
    return windows.reshape((len(windows), groups, rows, area))  # not -1, which is nothing definite of no channels


def _pieces(count: int, columns: int) -> Iterator[slice]:
    step = max(_ELEMENTS_AT_ONCE // max(columns, 1), 1)
    return (slice(start, start + step) for start in range(0, count, step))


def _window(w: Any) -> int:
    """The weights that one element of the output reads."""
    return int(w.size // max(w.shape[0], 1))


def _letters(text: str, x: Any, groups: int) -> str:
    """How examples, channels and outputs meet; each of several groups has channels and outputs of its own."""
    text = text if groups == 1 else text.replace("c", "*").replace("o", "*")
    return text.replace(".", "*" * (x.ndim - 2))


@primitive(
    name="_convolution", torch="convolution", flops=lambda w, out: 2 * out.size * _window(w),
    letters=lambda x, groups: _letters("nc.,oc.->no.", x, groups),
)  # fmt: skip
def convolution(x, w, *, stride, padding, dilation, groups):
    """`out[n, o, q]`, the sum over c and k of `x[n, c, stride*q + dilation*k - padding] * w[o, c, k]`."""
    count, channels = x.shape[:2]
    outputs, window = w.shape[0], w.shape[2:]
    positions = output_lengths(x.shape[2:], window, stride, padding, dilation)
    rows, area = channels // groups * math.prod(window), math.prod(positions)
    windows = _windows(_padded(x, padding), window, positions, stride, dilation)
    matrix = w.reshape(groups, outputs // groups, rows)
    out = np.empty((count, groups, outputs // groups, area), np.result_type(x, w))
    for piece in _pieces(count, groups * rows * area):
        columns = _in_columns(windows[piece], groups, rows, area)
        np.matmul(matrix, columns, out=out[piece])
    return out.reshape((count, outputs, *positions))


# The same written out. The gradient by the input, with stride 1, is a convolution itself: of the padded gradient with
# weights that are turned around. With other strides, and where columns would take much memory, the kernel is called.
# Where every output reads one channel, a product has few terms and columns are most of the work: there are as many
# slices as places in the window, each times its weight, in one loop.

_MOST_COLUMNS = 1 << 23
"""Elements of all columns together; the kernels take a few examples at a time, and need less."""


_MOST_PLACES = 49
"""In a window, of which there is a slice for each."""


def _are_few(x: Any, window: Ints, positions: Ints) -> bool:
    return 0 < math.prod((*x.shape[:2], *window, *positions)) <= _MOST_COLUMNS


def _is_by_channel(x: Any, w: Any, groups: int) -> bool:
    """Has every group one channel and one output, and are there few places in the window?"""
    return x.shape[1] == w.shape[0] == groups and w.shape[1] == 1 and math.prod(w.shape[2:]) <= _MOST_PLACES


def _is_weight_by_channel(x: Any, y: Any, window: Ints, groups: int) -> bool:
    return x.shape[1] == y.shape[1] == groups and math.prod(window) <= _MOST_PLACES


@convolution.expand(
    in_rows=True, asks_memory=True,
    when=lambda x, w, out, groups: (
        out.size > 0 and (_is_by_channel(x, w, groups) or _are_few(x, w.shape[2:], out.shape[2:]))
    ),
)
def convolution_parts(x, w, *, stride, padding, dilation, groups):
    positions = output_lengths(x.shape[2:], w.shape[2:], stride, padding, dilation)
    if _is_by_channel(x, w, groups):
        return _slices(_with_border(x, padding), w, positions, stride, dilation)
    columns = _columns(x, padding, w.shape[2:], positions, stride, dilation, groups)
    matrix = _in_shape(w, (groups, w.shape[0] // groups, columns.shape[2]))
    return _product(matrix, columns).reshape((x.shape[0], w.shape[0], *positions))


def _columns(x: Any, padding: Any, window: Ints, positions: Ints, stride: Ints, dilation: Ints, groups: int) -> Any:
    """Windows as columns: `[example, group, channel and place in the window, position]`."""
    x = _with_border(x, padding)
    count, channels = x.shape[:2]
    wanted = (count, groups, channels // groups * math.prod(window), math.prod(positions))
    if math.prod(window) == 1 and set(stride) == {1}:
        return _in_shape(x, wanted)
    layout = tuple([math.prod(x.shape[axis + 1 :]) for axis in range(x.ndim)])
    inside, apart = ([n * step for n, step in zip(each, layout[2:], strict=True)] for each in (dilation, stride))
    shape, strides = (count, channels, *window, *positions), (*layout[:2], *inside, *apart)
    windows = as_strided(x, shape=shape, strides=strides, offset=0, layout=layout)
    return _in_shape(copy(windows, order="C"), wanted)


def _with_border(x: Any, widths: Any) -> Any:
    """`x` in row-major order with zeros around it, or with elements cut off."""
    return pad_parts(x, 0, widths=((0, 0), (0, 0), *widths)) if any(map(any, widths)) else _in_rows(x)


def _in_rows(x: Any) -> Any:
    return x if x.is_in_rows else copy(x, order="C")


def _in_shape(x: Any, shape: Ints) -> Any:
    x = _in_rows(x)
    return x if x.shape == shape else x.reshape(shape)


def _slices(x: Any, w: Any, positions: Ints, stride: Ints, dilation: Ints) -> Any:
    """The sum of slices of `x`, each times one weight of its channel."""
    total = None
    for place, part in _places(w.shape[2:], positions, stride, dilation):
        factor = _weight_at(w, place)
        product = x[(slice(None), slice(None), *part)] * factor
        total = product if total is None else total + product
    return total


def _placed(y: Any, w: Any, lengths: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The sum of `y` times a weight of its channel, put where the slices of `_slices` are."""
    around = list(zip(lengths, padding, strict=True))
    shape = (*y.shape[:2], *(low + n + high for n, (low, high) in around))
    y = _in_rows(y)
    total: Any = None
    for place, part in _places(w.shape[2:], y.shape[2:], stride, dilation):
        product = y * _weight_at(w, place)
        placed = place_slice(product, index=(slice(None), slice(None), *part, ...), shape=shape)
        total = placed if total is None else total + placed
    return copy(total[(slice(None), slice(None), *(slice(low, low + n) for n, (low, _) in around))], order="C")


def _weight_at(w: Any, place: Ints) -> Any:
    """The weights of all channels at a place of the window."""
    return w[(slice(None), 0, *place)].reshape((w.shape[0], *(1,) * len(place)))


def _places(window: Ints, positions: Ints, stride: Ints, dilation: Ints) -> Iterator[tuple[Ints, tuple[slice, ...]]]:
    """The places of a window, and what part of the padded array its positions read there."""
    for place in itertools.product(*map(range, window)):
        axes = zip(place, dilation, stride, positions, strict=True)
        yield place, tuple([slice(d * k, d * k + s * (q - 1) + 1, s) for k, d, s, q in axes])


def _product(matrix: Any, columns: Any) -> Any:
    """The product of one matrix for each group with the columns of every example."""
    return matmul(broadcast_to(matrix, shape=(columns.shape[0], *matrix.shape)), columns)


@primitive(
    name="_convolution_input", torch="convolution_transpose", flops=lambda y, w: 2 * y.size * _window(w),
    letters=lambda y, groups: _letters("no.,oc.->nc.", y, groups),
)  # fmt: skip
def convolution_input(y, w, *, lengths, stride, padding, dilation, groups):
    """The transpose of `convolution` in `x`, whose axes have these `lengths`."""
    count, outputs = y.shape[:2]
    window, positions = w.shape[2:], y.shape[2:]
    channels, area = w.shape[1] * groups, math.prod(positions)
    matrix = w.reshape(groups, outputs // groups, w.shape[1] * math.prod(window)).swapaxes(1, 2)
    flat = y.reshape(count, groups, outputs // groups, area)
    sizes = tuple(n + low + high for n, (low, high) in zip(lengths, padding, strict=True))
    out = np.zeros((count, channels, *sizes), np.result_type(y, w))
    for piece in _pieces(count, channels * math.prod(window) * area):
        columns = np.matmul(matrix, flat[piece])
        columns = columns.reshape((len(columns), channels, *window, *positions))
        target = out[piece]
        for place in itertools.product(*map(range, window)):
            reach = tuple(
                slice(d * k, d * k + s * (q - 1) + 1, s) if q else slice(0, 0)
                for k, d, s, q in zip(place, dilation, stride, positions, strict=True)
            )
            target[(slice(None), slice(None), *reach)] += columns[(slice(None), slice(None), *place)]
    inside = tuple(slice(low, low + n) for n, (low, _) in zip(lengths, padding, strict=True))
    return np.ascontiguousarray(out[(slice(None), slice(None), *inside)])


@convolution_input.expand(
    in_rows=True, asks_memory=True,
    when=lambda y, w, out, lengths, stride, groups: (
        out.size > 0
        and (_is_by_channel(y, w, groups) or (set(stride) == {1} and _are_few(y, w.shape[2:], lengths)))
    ),
)
def convolution_input_parts(y, w, *, lengths, stride, padding, dilation, groups):
    window, is_by_channel = w.shape[2:], _is_by_channel(y, w, groups)
    if is_by_channel and set(stride) != {1}:
        return _placed(y, w, lengths, stride, padding, dilation)
    widths = []
    for k, d, (low, _), n, q in zip(window, dilation, padding, lengths, y.shape[2:], strict=True):
        before = d * (k - 1) - low
        widths.append((before, n - q - before + d * (k - 1)))
    if is_by_channel:
        backwards = (slice(None),) * 2 + (slice(None, None, -1),) * len(window)
        turned = w[backwards]
        return _slices(_with_border(y, widths), turned, lengths, stride, dilation)
    columns = _columns(y, widths, window, lengths, stride, dilation, groups)
    outputs, inputs = w.shape[0] // groups, w.shape[1]
    apart = _in_shape(w, (groups, outputs, inputs, *window))
    turned = apart[(*(slice(None),) * 3, *(slice(None, None, -1),) * len(window))]
    turned = permute_dims(turned, axes=(0, 2, 1, *range(3, 3 + len(window))))
    matrix = _in_shape(turned, (groups, inputs, outputs * math.prod(window)))
    return _product(matrix, columns).reshape((y.shape[0], inputs * groups, *lengths))


@primitive(
    name="_convolution_weight", torch="convolution_weight", flops=lambda y, out: 2 * y.size * _window(out),
    letters=lambda x, groups: _letters("nc.,no.->oc.", x, groups),
)  # fmt: skip
def convolution_weight(x, y, *, window, stride, padding, dilation, groups):
    """The transpose of `convolution` in `w`, whose last axes are `window`."""
    count, channels = x.shape[:2]
    outputs, positions = y.shape[1], y.shape[2:]
    rows, area = channels // groups * math.prod(window), math.prod(positions)
    windows = _windows(_padded(x, padding), window, positions, stride, dilation)
    flat = y.reshape(count, groups, outputs // groups, area)
    out = np.zeros((groups, outputs // groups, rows), np.result_type(x, y))
    for piece in _pieces(count, groups * rows * area):
        columns = _in_columns(windows[piece], groups, rows, area)
        out += np.add.reduce(np.matmul(flat[piece], columns.swapaxes(2, 3)), axis=0)
    return out.reshape((outputs, channels // groups, *window))


@convolution_weight.expand(
    in_rows=True, asks_memory=True,
    when=lambda x, y, window, groups, out: (
        out.size > 0 and (_is_weight_by_channel(x, y, window, groups) or _are_few(x, window, y.shape[2:]))
    ),
)
def convolution_weight_parts(x, y, *, window, stride, padding, dilation, groups):
    if _is_weight_by_channel(x, y, window, groups):
        x, y, axes = _with_border(x, padding), _in_rows(y), (0, *range(2, y.ndim))
        parts = [x[(slice(None), slice(None), *part)] for _, part in _places(window, y.shape[2:], stride, dilation)]
        return pile(*[sum(part * y, axis=axes) for part in parts], axis=1).reshape((y.shape[1], 1, *window))
    columns = _columns(x, padding, window, y.shape[2:], stride, dilation, groups)
    flat = _in_shape(y, (y.shape[0], groups, y.shape[1] // groups, math.prod(y.shape[2:])))
    each = matmul(flat, swapaxes(columns, 2, 3))
    return sum(each, axis=(0,)).reshape((y.shape[1], x.shape[1] // groups, *window))


# Shapes


@convolution.spec
def convolution_spec(x, w, *, stride, padding, dilation, groups):
    positions = output_lengths(x.shape[2:], w.shape[2:], stride, padding, dilation)
    return spec_for((x.shape[0], w.shape[0], *positions), np.result_type(x.dtype, w.dtype))


@convolution_input.spec
def convolution_input_spec(y, w, *, lengths, stride, padding, dilation, groups):
    return spec_for((y.shape[0], w.shape[1] * groups, *lengths), np.result_type(y.dtype, w.dtype))


@convolution_weight.spec
def convolution_weight_spec(x, y, *, window, stride, padding, dilation, groups):
    return spec_for((y.shape[1], x.shape[1] // groups, *window), np.result_type(x.dtype, y.dtype))


# Transposes


def _how(stride: Ints, padding: Pairs, dilation: Ints, groups: int) -> dict[str, Any]:
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def _first(x: Any, positions: Ints) -> Any:
    """The first `positions`. An input longer than needed has room for more windows than there were outputs."""
    if x.shape[2:] == positions:
        return x
    return basic_view(x, index=(slice(None), slice(None), *(slice(0, n) for n in positions), ...))


@convolution.transpose_of("x")
def convolution_transpose_x(g, x, w, stride, padding, dilation, groups):
    return convolution_input(g, conjugated(w), lengths=x.shape[2:], **_how(stride, padding, dilation, groups))


@convolution.transpose_of("w")
def convolution_transpose_w(g, x, w, stride, padding, dilation, groups):
    return convolution_weight(conjugated(x), g, window=w.shape[2:], **_how(stride, padding, dilation, groups))


@convolution_input.transpose_of("y")
def convolution_input_transpose_y(g, y, w, stride, padding, dilation, groups):
    return _first(convolution(g, conjugated(w), **_how(stride, padding, dilation, groups)), y.shape[2:])


@convolution_input.transpose_of("w")
def convolution_input_transpose_w(g, y, w, stride, padding, dilation, groups):
    return convolution_weight(g, conjugated(y), window=w.shape[2:], **_how(stride, padding, dilation, groups))


@convolution_weight.transpose_of("x")
def convolution_weight_transpose_x(g, x, y, stride, padding, dilation, groups):
    return convolution_input(conjugated(y), g, lengths=x.shape[2:], **_how(stride, padding, dilation, groups))


@convolution_weight.transpose_of("y")
def convolution_weight_transpose_y(g, x, y, stride, padding, dilation, groups):
    return _first(convolution(conjugated(x), g, **_how(stride, padding, dilation, groups)), y.shape[2:])


# Batches: more groups


def _into_channels(x: Any) -> Any:
    """`[b, n, c, ...]` as `[n, b*c, ...]`."""
    moved = x.transpose((1, 0, *range(2, x.ndim)))
    return moved.reshape((x.shape[1], x.shape[0] * x.shape[2], *x.shape[3:]))


def _out_of_channels(x: Any, count: int) -> Any:
    """`[n, b*c, ...]` as `[b, n, c, ...]`."""
    split = x.reshape((x.shape[0], count, x.shape[1] // count, *x.shape[2:]))
    return split.transpose((1, 0, *range(2, split.ndim)))


def _joined(w: Any) -> Any:
    """`[b, o, c, ...]` as `[b*o, c, ...]`."""
    return w.reshape((w.shape[0] * w.shape[1], *w.shape[2:]))


def _together(x: Any) -> Any:
    """The images of all examples as those of one."""
    return x.reshape((x.shape[0] * x.shape[1], *x.shape[2:]))


def _apart(x: Any, count: int) -> Any:
    return x.reshape((count, x.shape[0] // count, *x.shape[1:]))


@convolution.batch
def convolution_batch(x, w, *, groups, **how):
    count = x.shape[0]
    if is_repeated(w):
        return _apart(convolution(_together(x), w[0], groups=groups, **how), count)
    return _out_of_channels(convolution(_into_channels(x), _joined(w), groups=count * groups, **how), count)


@convolution_input.batch
def convolution_input_batch(y, w, *, groups, **how):
    count = y.shape[0]
    if is_repeated(w):
        return _apart(convolution_input(_together(y), w[0], groups=groups, **how), count)
    return _out_of_channels(convolution_input(_into_channels(y), _joined(w), groups=count * groups, **how), count)


@convolution_weight.batch
def convolution_weight_batch(x, y, *, groups, **how):
    count = x.shape[0]
    w = convolution_weight(_into_channels(x), _into_channels(y), groups=count * groups, **how)
    return w.reshape((count, w.shape[0] // count, *w.shape[1:]))


# Samples: calls of `convolution`, from which those of the other two follow.


def _calls(make: Maker) -> Iterator[tuple[str, Any, Any, dict[str, Any]]]:
    def call(label: str, x: Ints, w: Ints, s: Ints, p: Pairs, d: Ints, groups: int = 1, dtype: Any = float) -> Any:
        return label, make(x, dtype), make(w, dtype), _how(s, p, d, groups)

    yield call("line", (2, 2, 7), (3, 2, 3), (1,), ((0, 0),), (1,))
    yield call("strided line", (1, 2, 7), (2, 2, 2), (2,), ((1, 0),), (2,))
    yield call("plane", (2, 2, 5, 4), (2, 2, 3, 2), (1, 1), ((1, 1), (1, 0)), (1, 1))
    yield call("all options", (1, 4, 6, 5), (2, 2, 2, 2), (2, 1), ((1, 1), (0, 2)), (1, 2), 2)
    yield call("depthwise", (2, 2, 4, 4), (4, 1, 2, 2), (2, 2), ((0, 0), (0, 0)), (1, 1), 2)
    yield call("by channel", (2, 3, 5, 4), (3, 1, 3, 2), (1, 1), ((1, 1), (0, 1)), (1, 2), 3)
    yield call("pointwise", (2, 3, 3, 2), (2, 3, 1, 1), (1, 1), ((0, 0), (0, 0)), (1, 1))
    yield call("space", (1, 1, 3, 3, 3), (2, 1, 2, 2, 2), (1, 1, 1), ((0, 0),) * 3, (1, 1, 1))
    yield call("empty", (0, 2, 5), (3, 2, 3), (1,), ((1, 1),), (1,))
    yield call("float32", (1, 2, 5), (3, 2, 3), (1,), ((1, 1),), (1,), 1, np.float32)
    yield call("complex", (1, 2, 5), (2, 2, 3), (1,), ((1, 1),), (1,), 1, np.complex128)
    label, x, w, how = call("channels last", (2, 4, 5, 3), (2, 3, 2, 2), (1, 1), ((0, 0), (0, 0)), (1, 1))
    yield label, x.transpose(0, 3, 1, 2), w[:, :, ::-1], how


@convolution.samples
def convolution_samples(make: Maker) -> Iterator[Sample]:
    for label, x, w, how in _calls(make):
        yield Sample((x, w), how, label)


@convolution_input.samples
def convolution_input_samples(make: Maker) -> Iterator[Sample]:
    for label, x, w, how in _calls(make):
        y = make(convolution.kernel(x, w, **how).shape, x.dtype)
        yield Sample((y, w), {"lengths": x.shape[2:], **how}, label)
    how = _how((1,), ((0, 0),), (3,), 1)
    yield Sample((make((1, 2, 4)), make((2, 1, 2))), {"lengths": (9,), **how}, "longer than needed")


@convolution_weight.samples
def convolution_weight_samples(make: Maker) -> Iterator[Sample]:
    for label, x, w, how in _calls(make):
        y = make(convolution.kernel(x, w, **how).shape, x.dtype)
        yield Sample((x, y), {"window": w.shape[2:], **how}, label)


# What users call


def each_axis(name: str, what: str, value: Any, rank: int) -> Ints:
    """One int for all axes, or one per axis."""
    values = (value,) * rank if isinstance(value, (int, np.integer)) else tuple(value)
    if len(values) == 1:
        values = values * rank
    if len(values) != rank:
        raise ValueError(f"nn.{name}: {what} has {len(values)} entries for {rank} axes")
    least = 0 if "padding" in what else 1
    if min(values) < least:
        raise ValueError(f"nn.{name}: {what} must be at least {least}, got {value}")
    return tuple(int(v) for v in values)


def _as_padding(name: str, padding: Any, window: Ints, stride: Ints, dilation: Ints) -> Pairs:
    if padding == "valid":
        return ((0, 0),) * len(window)
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ValueError(f"nn.{name}: padding 'same' needs stride 1")
        extra = [d * (k - 1) for d, k in zip(dilation, window, strict=True)]
        return tuple((n // 2, n - n // 2) for n in extra)
    if isinstance(padding, str):
        raise ValueError(f"nn.{name}: padding is 'same', 'valid' or numbers, got {padding!r}")
    if not isinstance(padding, (int, np.integer)) and any(isinstance(p, (tuple, list)) for p in padding):
        lows, highs = (each_axis(name, "padding", side, len(window)) for side in zip(*padding, strict=True))
        return tuple(zip(lows, highs, strict=True))
    return tuple((p, p) for p in each_axis(name, "padding", padding, len(window)))


def _with_bias(out: Any, bias: Any, rank: int) -> Any:
    return out if bias is None else out + as_operand(bias).reshape((-1,) + (1,) * rank)


def _convolve(
    name: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:  # fmt: skip
    is_single = x.ndim == rank + 1
    x = x.reshape((1, *x.shape)) if is_single else x
    if x.ndim != rank + 2 or weight.ndim != rank + 2:
        raise ValueError(f"nn.{name}: an input of shape {x.shape} and a weight of shape {weight.shape} do not fit")
    if groups < 1 or x.shape[1] != weight.shape[1] * groups or weight.shape[0] % groups:
        raise ValueError(
            f"nn.{name}: {x.shape[1]} channels in {groups} groups do not fit a weight of shape {weight.shape}"
        )
    stride, dilation = each_axis(name, "stride", stride, rank), each_axis(name, "dilation", dilation, rank)
    pairs = _as_padding(name, padding, weight.shape[2:], stride, dilation)
    if any(n < 1 for n in output_lengths(x.shape[2:], weight.shape[2:], stride, pairs, dilation)):
        raise ValueError(f"nn.{name}: the window {weight.shape[2:]} is larger than the padded input {x.shape[2:]}")
    out = convolution(x, weight, stride=stride, padding=pairs, dilation=dilation, groups=groups)
    out = _with_bias(out, bias, rank)
    return out.reshape(out.shape[1:]) if is_single else out


def _convolve_transposed(
    name: str, rank: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: int,
    dilation: Any,
) -> Any:  # fmt: skip
    is_single = x.ndim == rank + 1
    x = x.reshape((1, *x.shape)) if is_single else x
    if x.ndim != rank + 2 or weight.ndim != rank + 2 or x.shape[1] != weight.shape[0]:
        raise ValueError(f"nn.{name}: an input of shape {x.shape} and a weight of shape {weight.shape} do not fit")
    if groups < 1 or x.shape[1] % groups:
        raise ValueError(f"nn.{name}: {x.shape[1]} channels cannot be divided into {groups} groups")
    stride, dilation = each_axis(name, "stride", stride, rank), each_axis(name, "dilation", dilation, rank)
    padding = each_axis(name, "padding", padding, rank)
    extra = each_axis(name, "output_padding", output_padding, rank)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ValueError(f"nn.{name}: output_padding must be smaller than stride or dilation")
    lengths = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + e + 1
        for n, k, s, p, d, e in zip(x.shape[2:], weight.shape[2:], stride, padding, dilation, extra, strict=True)
    )
    pairs = tuple((p, p) for p in padding)
    out = convolution_input(x, weight, lengths=lengths, **_how(stride, pairs, dilation, groups))
    out = _with_bias(out, bias, rank)
    return out.reshape(out.shape[1:]) if is_single else out


def _declare(rank: int) -> None:
    def conv(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
    ) -> Any:  # fmt: skip
        return _convolve(f"conv{rank}d", rank, x, weight, bias, stride, padding, dilation, groups)

    def conv_transpose(
        x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, dilation: Any = 1,
    ) -> Any:  # fmt: skip
        name = f"conv_transpose{rank}d"
        return _convolve_transposed(
            name, rank, x, weight, bias, stride, padding, output_padding, groups, dilation
        )

    conv.__doc__ = f"""Cross-correlation of `x` (examples, channels, {rank} axes) with `weight`.

    `weight` has the axes outputs, channels of a group, and window.
    `padding` is a number of zeros per axis, pairs of them, "valid" or "same". Without the axis of examples `x` is one.
    """
    conv_transpose.__doc__ = f"""The transpose of `conv{rank}d`: `weight` has the channels of `x` first.

    `output_padding` adds to the length of the result, which `stride` leaves open.
    """
    for function, name in ((conv, f"conv{rank}d"), (conv_transpose, f"conv_transpose{rank}d")):
        function.__name__ = function.__qualname__ = name
        composite(name=f"nn.{name}", arrays=2)(function)


for _rank in (1, 2, 3):
    _declare(_rank)


@composite(name="nn.conv_general", arrays=2)
def conv_general(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:  # fmt: skip
    """Cross-correlation in as many axes as `weight` has after outputs and channels; see `conv2d`."""
    return _convolve("conv_general", weight.ndim - 2, x, weight, bias, stride, padding, dilation, groups)
