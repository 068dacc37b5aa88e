"""Padding: an array with more elements around it."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import constant, plain
from pullback.operators.arrays.creation import asarray
from pullback.operators.arrays.index_operators import ARRAY, basic_view, index_arrays, place_slice
from pullback.operators.arrays.joining import join
from pullback.operators.arrays.movement import broadcast_to

Widths = tuple[tuple[int, int], ...]
_GATHERED = ("edge", "reflect", "symmetric", "wrap")


def _interior(shape: tuple[int, ...], widths: Widths) -> tuple[Any, ...]:
    """Where an array of `shape` lies in its padded form; a negative width cuts elements off instead."""
    return tuple(
        slice(max(before, 0), before + length + min(after, 0))
        for length, (before, after) in zip(shape, widths, strict=True)
    ) + (...,)


def _kept(shape: tuple[int, ...], widths: Widths) -> tuple[Any, ...]:
    """Which elements of an array of `shape` are in its padded form."""
    return tuple(
        slice(max(-before, 0), length + min(after, 0)) for length, (before, after) in zip(shape, widths, strict=True)
    ) + (...,)


@primitive(name="_pad", torch="constant_pad_nd", flow="moves", complex="each", group="linear")
def pad_constant(x, value, *, widths):
    """`x` with `value` before and after it along every axis."""
    padded, interior, kept = _places(x.shape, widths)
    out = np.empty(padded, x.dtype)
    out[...] = value
    out[interior] = x[kept]
    return out


@functools.lru_cache(1024)
def _places(shape: tuple[int, ...], widths: Widths) -> tuple[Any, Any, Any]:
    """The shape of a padded array, and where the other lies in it. Arrays have plain numbers as lengths."""
    return _padded(shape, widths), _interior(shape, widths), _kept(shape, widths)


def _padded(shape: tuple[int, ...], widths: Widths) -> tuple[int, ...]:
    lengths = tuple(length + before + after for length, (before, after) in zip(shape, widths, strict=True))
    if min(lengths, default=0) < 0:
        raise ValueError(f"pad: widths {widths} cut more off than an array of shape {shape} has")
    return lengths


@pad_constant.spec
def pad_spec(x, value, *, widths):
    return spec_for(_padded(x.shape, widths), x.dtype)


@pad_constant.expand(when=lambda value: type(value) in (int, float) and value == 0, in_rows=True, takes_numbers=True)
def pad_parts(x, value, *, widths):
    return place_slice(x[_kept(x.shape, widths)], index=_interior(x.shape, widths), shape=_padded(x.shape, widths))


@pad_constant.vjp
def pad_vjp(g, widths, needs):
    crop = tuple((-before, -after) for before, after in widths)
    g_x = pad_constant(g, 0, widths=crop) if needs[0] else None
    if not needs[1]:
        return g_x, None
    inside = basic_view(g, index=_kept(g.shape, crop))
    return g_x, g.sum() - inside.sum()


@pad_constant.vjp_on_arrays
def pad_pulled(g, widths, needs):
    if needs[1] or min(map(min, widths), default=0) < 0:
        return pad_vjp(g, widths, needs)
    return g[_places(g.shape, tuple([(-before, -after) for before, after in widths]))[2]], None


@pad_constant.jvp
def pad_jvp(x, t_x, t_value, widths):
    t_x = np.zeros(x.shape, x.dtype) if t_x is None else t_x
    t_value = 0 if t_value is None else t_value
    if hasattr(t_value, "dtype") and is_complex_dtype(t_value.dtype) and not is_complex_dtype(t_x.dtype):
        t_value = t_value.real
    return pad_constant(t_x, t_value, widths=widths)


@pad_constant.batch
def pad_batch(x, value, *, widths):
    if hasattr(value, "ndim"):
        value = value.reshape(value.shape[:1] + (1,) * (x.ndim - value.ndim) + value.shape[1:])
    return pad_constant(x, value, widths=((0, 0), *widths))


@pad_constant.samples
def pad_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((2, 3)), make(())), {"widths": ((1, 2), (0, 1))}, "around")
    yield Sample((make((3,)), 1.5), {"widths": ((2, 0),)}, "number")
    yield Sample((make((4, 3)), 0.0), {"widths": ((-1, 2), (1, -2))}, "cropped")
    yield Sample((make((0,)), make(())), {"widths": ((1, 1),)}, "empty")
    yield Sample((make((2,), np.complex128), make(())), {"widths": ((1, 1),)}, "complex")


@composite
def pad(
    x: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0, end_values: Any = 0,
    stat_length: Any = None, reflect_type: str = "even", **options: Any,
) -> Any:  # fmt: skip
    """`x` with more elements before and after it along its axes, as in NumPy.

    Modes are "constant"; "edge", "reflect", "symmetric" and "wrap", which repeat elements of `x`; "linear_ramp", from
    the edge to `end_values`; "mean", "median", "maximum" and "minimum" of the `stat_length` elements next to an edge,
    or of all; "empty", whatever is there, which is 0. With `reflect_type="odd"` a reflected element is twice the edge
    less what "even" gives. A negative width cuts elements off, in the first five. A function in the place of a mode is
    called as `mode(line, widths, axis, options)` with every line of the result, along one axis after the other, and
    writes to its ends. Differentiable in constants and end values, too.
    """
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type is 'even' or 'odd', got {reflect_type!r}")
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return _padded_by_function(x, widths, mode, options)
    if options:
        raise TypeError(f"pad: unsupported keyword arguments for mode {mode!r}: {', '.join(options)}")
    if mode == "empty":
        return pad_constant(x, 0, widths=widths)
    if mode == "constant":
        if getattr(constant_values, "ndim", 0) == 0 and not isinstance(constant_values, (list, tuple)):
            return pad_constant(x, constant_values, widths=widths)
        return _padded_by_sides(x, widths, constant_values)
    if mode in _GATHERED:
        is_odd = reflect_type == "odd" and mode in ("reflect", "symmetric")
        return _reflected_about_edges(x, widths, mode) if is_odd else _gathered(x, widths, mode)
    if mode != "linear_ramp" and mode not in _STATISTICS:
        modes = ("constant", "empty", *_GATHERED, "linear_ramp", *_STATISTICS)
        raise ValueError(f"pad: mode must be one of {', '.join(map(repr, modes))}, got {mode!r}")
    if min((width for pair in widths for width in pair), default=0) < 0:
        raise ValueError(f"pad: a negative width has no meaning with mode={mode!r}")
    if x.dtype.kind not in "fc":
        # NumPy's rounding of the values that do not fit the dtype. No derivative is lost.
        others = {"end_values": end_values} if mode == "linear_ramp" else {"stat_length": stat_length}
        return constant(np.pad(plain("pad", x), widths, mode, **others))
    if mode == "linear_ramp":
        return _ramped(x, widths, broadcast_to(asarray(end_values), (x.ndim, 2)))
    return _with_statistics(x, widths, mode, stat_length)


def _padded_by_function(x: Any, widths: Widths, function: Any, options: dict[str, Any]) -> Any:
    out = pad_constant(x, 0, widths=widths)
    for axis, pair in enumerate(widths):
        lines = out.shape[:axis] + out.shape[axis + 1 :]
        for place in np.ndindex(lines):
            function(out[(*place[:axis], slice(None), *place[axis:])], pair, axis, options)
    return out


def _gathered(x: Any, widths: Widths, mode: str) -> Any:
    for axis, (before, after) in enumerate(widths):
        if before or after:
            order = np.pad(np.arange(x.shape[axis]), (max(before, 0), max(after, 0)), mode)  # type: ignore[call-overload]
            order = order[max(-before, 0) : len(order) + min(after, 0)]
            x = index_arrays(x, order, template=(slice(None),) * axis + (ARRAY,), distinct=False)
    return x


def _reflected_about_edges(x: Any, widths: Widths, mode: str) -> Any:
    """Odd reflections. Each turns elements around an edge: out is ±(an element) + a * (first) + b * (last one)."""
    for axis, (before, after) in enumerate(widths):
        length = x.shape[axis]
        if not length or (not before and not after):
            continue
        shape = (-1,) + (1,) * (x.ndim - axis - 1)
        places = np.arange(-before, length + after)
        period = length if mode == "symmetric" else max(length - 1, 1)
        sign = 1 - 2 * (places // period % 2)
        sign[before : before + length] = 1  # the last element is no reflection
        even = _gathered(x, tuple((before, after) if k == axis else (0, 0) for k in range(x.ndim)), mode)
        out = even * sign.reshape(shape).astype(x.real.dtype)
        probe = np.zeros(length)
        order = np.pad(np.arange(length), (before, after), mode)  # type: ignore[call-overload]
        for end in {0, length - 1}:
            probe[:] = 0
            probe[end] = 1
            # What an odd reflection makes of this end alone, less what was counted already.
            number = np.pad(probe, (before, after), mode, reflect_type="odd") - sign * (order == end)  # type: ignore[call-overload]
            out = out + _part(x, axis, end, end + 1) * number.reshape(shape).astype(x.real.dtype)
        x = out
    return x


def _padded_by_sides(x: Any, widths: Widths, constant_values: Any) -> Any:
    values = broadcast_to(asarray(constant_values), (x.ndim, 2))
    for axis, (before, after) in enumerate(widths):
        for side, width in enumerate(((before, 0), (0, after))):
            x = pad_constant(x, values[axis, side], widths=tuple(width if k == axis else (0, 0) for k in range(x.ndim)))
    return x


def _part(x: Any, axis: int, start: int, stop: int) -> Any:
    return basic_view(x, index=(slice(None),) * axis + (slice(start, stop),))


def _check_not_empty(x: Any, axis: int, mode: str) -> None:
    if not x.shape[axis]:
        raise ValueError(f"pad: axis {axis} is empty, so there is nothing to extend it from with mode={mode!r}")


def _ramped(x: Any, widths: Widths, end_values: Any) -> Any:
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        _check_not_empty(x, axis, "linear_ramp")
        length = x.shape[axis]
        shape = (-1,) + (1,) * (x.ndim - axis - 1)
        parts = [x]
        if before:
            weight = (np.arange(before) / before).astype(x.real.dtype).reshape(shape)
            end = end_values[axis, 0]
            parts.insert(0, end + (_part(x, axis, 0, 1) - end) * weight)
        if after:
            weight = (np.arange(after)[::-1] / after).astype(x.real.dtype).reshape(shape)
            end = end_values[axis, 1]
            parts.append(end + (_part(x, axis, length - 1, length) - end) * weight)
        x = join(*(part if part.dtype == x.dtype else part.astype(x.dtype) for part in parts), axis=axis)
    return x


_STATISTICS = {"mean": "mean", "median": "median", "maximum": "amax", "minimum": "amin"}
"""Modes, and the methods they call: reductions are declared in files that need this one."""


def _with_statistics(x: Any, widths: Widths, mode: str, stat_length: Any) -> Any:
    counts = None if stat_length is None else np.broadcast_to(np.asarray(stat_length), (x.ndim, 2)).tolist()
    for axis, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        _check_not_empty(x, axis, mode)
        length = x.shape[axis]
        first, last = (length, length) if counts is None else (min(count, length) for count in counts[axis])
        if min(first, last) < 1:
            raise ValueError(f"pad: stat_length must be positive, got {stat_length}")
        parts = [x]
        for place, width, piece in ((0, before, (0, first)), (2, after, (length - last, length))):
            if width:
                value = getattr(_part(x, axis, *piece), _STATISTICS[mode])(axis=axis, keepdims=True)
                parts.insert(place, broadcast_to(value, (*x.shape[:axis], width, *x.shape[axis + 1 :])))
        x = join(*parts, axis=axis)
    return x


def _widths(pad_width: Any, ndim: int) -> Widths:
    """NumPy's spellings of widths as one pair per axis."""
    if type(pad_width) is int:
        return ((pad_width, pad_width),) * ndim
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = np.broadcast_to(np.asarray(width), (2,)).tolist()
        pad_width = pairs
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise TypeError(f"pad: widths are integers, got {widths.dtype}")
    return tuple(
        (operator.index(before), operator.index(after)) for before, after in np.broadcast_to(widths, (ndim, 2)).tolist()
    )
