"""Discrete Fourier transforms: three linear operators, and everything else composed of them.

`c2c` maps complex arrays to complex ones, `r2c` real arrays to the half of their spectrum that is not
redundant, `c2r` such a half back. All three first cut or zero-pad `axes` to `lengths`, and their axes are
distinct: a transform that names an axis twice is done axis by axis.

The adjoint of a transform is the transform in the other direction with the same factor, then cut or padded to the
length of the input. Directions and factors meet in `norm`: "backward" puts the factor 1/n on inverse transforms,
"forward" on the others, so the same factor in the other direction is the opposite `norm`. What is particular to half
spectra: each entry but the first, and the middle one of an even n, stands for itself and for its mirror image. The
adjoint of `c2r` counts it twice, the adjoint of `r2c` half, and the imaginary part of an entry without mirror
image is ignored by `c2r`, so its gradient is 0.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axis_index, normalize_axis_tuple, normalize_shape
from pullback.core.spec import Spec, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.loops import Loop
from pullback.declare.op import Op
from pullback.declare.samples import Maker, Sample, layouts
from pullback.errors import AutogradError
from pullback.operators.arrays.creation import default_dtype_for, finished
from pullback.operators.arrays.padding import pad_constant
from pullback.operators.arrays.rearranging import roll
from pullback.operators.elementwise.casting import copy
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.tensors.tensor import Tensor

_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


def _operations(x: Any, out: Any, lengths: tuple[int, ...]) -> float:
    size = max(x.size, out.size)
    return 5 * size * math.log2(max(math.prod(lengths) if lengths else size, 2))


@primitive(name="_fft_c2c", torch="fft_c2c", flow="mixes", flops=_operations)
def c2c(x, *, axes, lengths, inverse, norm):
    """The transform of complex (or real) numbers over distinct `axes`."""
    if len(axes) == 1:
        transform = np.fft.ifft if inverse else np.fft.fft
        return transform(x, lengths[0], axes[0], norm)
    return (np.fft.ifftn if inverse else np.fft.fftn)(x, lengths, axes, norm)


@primitive(name="_fft_r2c", torch="fft_r2c", flow="mixes", flops=_operations)
def r2c(x, *, axes, lengths, norm):
    """The transform of real numbers over distinct `axes`, of the last of which the first half is kept."""
    return np.fft.rfft(x, lengths[0], axes[0], norm) if len(axes) == 1 else np.fft.rfftn(x, lengths, axes, norm)


@primitive(name="_fft_c2r", torch="fft_c2r", flow="mixes", flops=_operations)
def c2r(x, *, axes, lengths, norm):
    """The real numbers whose transform over `axes` has `x` as its first half along the last of them."""
    return np.fft.irfft(x, lengths[0], axes[0], norm) if len(axes) == 1 else np.fft.irfftn(x, lengths, axes, norm)


def _rows(ufunc: str, axis: int, length: int, points: int, norm: str) -> Loop:
    """Transforms along one axis: `length` is that of the result, and `points` are as many as the factor says."""
    factor = {"backward": 1.0, "ortho": 1 / math.sqrt(points), "forward": 1 / points}[norm]
    return Loop(ufunc, numbers=(factor,), axis=axis, length=length)


def _complex_rows(axes: Any, lengths: Any, inverse: bool, norm: str) -> list[Loop]:
    name, norm = ("fft.ifft", _OPPOSITE[norm]) if inverse else ("fft.fft", norm)
    return [_rows(name, axis, length, length, norm) for axis, length in zip(axes, lengths, strict=True)]


@c2c.loop
def c2c_loops(*, axes: Any, lengths: Any, inverse: bool, norm: str) -> list[Loop]:
    return _complex_rows(axes, lengths, inverse, norm)[::-1]


@r2c.loop
def r2c_loops(*, axes: Any, lengths: Any, norm: str) -> list[Loop]:
    points = lengths[-1]
    name = "fft.rfft_n_odd" if points % 2 else "fft.rfft_n_even"
    first = _rows(name, axes[-1], _half(points), points, norm)
    return [first, *_complex_rows(axes[:-1], lengths[:-1], False, norm)[::-1]]


@c2r.loop
def c2r_loops(*, axes: Any, lengths: Any, norm: str) -> list[Loop]:
    last = _rows("fft.irfft", axes[-1], lengths[-1], lengths[-1], _OPPOSITE[norm])
    return [*_complex_rows(axes[:-1], lengths[:-1], True, norm), last]


def resized(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` cut off or padded with zeros at the end of its axes."""
    if x.shape == shape:
        return x
    return pad_constant(x, 0, widths=tuple((0, new - old) for new, old in zip(shape, x.shape, strict=True)))


def _half(length: int) -> int:
    """How much of the spectrum of `length` real numbers is not redundant."""
    return length // 2 + 1


def _counted(x: Any, axis: int, length: int, times: float) -> Any:
    """A half spectrum with the entries that have a mirror image multiplied by `times`."""
    counts = np.full(_half(length), times, np.finfo(x.dtype).dtype)
    counts[0] = 1
    if length % 2 == 0:
        counts[-1] = 1
    return x * counts.reshape((-1,) + (1,) * (x.ndim - axis - 1))


@c2c.transpose
def c2c_transpose(g, x, axes, lengths, inverse, norm):
    whole = c2c(g, axes=axes, lengths=lengths, inverse=not inverse, norm=_OPPOSITE[norm])
    return resized(whole, x.shape)


@r2c.transpose
def r2c_transpose(g, x, axes, lengths, norm):
    half = _counted(g, axes[-1], lengths[-1], 0.5)
    return resized(c2r(half, axes=axes, lengths=lengths, norm=_OPPOSITE[norm]), x.shape)


@c2r.transpose
def c2r_transpose(g, x, axes, lengths, norm):
    half = r2c(g, axes=axes, lengths=lengths, norm=_OPPOSITE[norm])
    return resized(_counted(half, axes[-1], lengths[-1], 2.0), x.shape)


def _shape_rule(op: Op, last: Callable[[int], int]) -> None:
    """The result's shape; `last` says how long the last transformed axis of a given length is in it."""

    @functools.cache
    def result_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
        options = {"inverse": False} if "inverse" in op.params else {}
        return op.kernel(np.ones(1, dtype), axes=(0,), lengths=(1,), norm="backward", **options).dtype

    @op.spec
    def rule(x: Spec, *, axes: tuple[int, ...], lengths: tuple[int, ...], **others: Any) -> Spec:
        shape = list(x.shape)
        for axis, length in zip(axes, lengths, strict=True):
            shape[axis] = length
        shape[axes[-1]] = last(lengths[-1])
        return spec_for(tuple(shape), result_dtype(x.dtype))


def _batch_rule(op: Op) -> None:
    @op.batch
    def rule(x: Any, *, axes: tuple[int, ...], **others: Any) -> Any:
        return op(x, axes=tuple(axis + 1 for axis in axes), **others)


def _sample_rule(op: Op, dtypes: tuple[Any, Any], directions: tuple[dict[str, bool], ...]) -> None:
    """Every norm; lengths 1 to 8, cut and padded; one and more axes in any order; strided memory; nothing at all."""
    double, single = dtypes
    cases = [
        ((1,), (0,), (1,), "backward"), ((2,), (0,), (2,), "ortho"), ((4,), (0,), (4,), "forward"),
        ((5,), (0,), (5,), "backward"), ((3,), (0,), (8,), "forward"), ((8,), (0,), (5,), "ortho"),
        ((6, 2), (0,), (4,), "backward"), ((3, 4), (0, 1), (3, 4), "ortho"), ((2, 3, 4), (2, 0), (4, 5), "forward"),
        ((3, 4), (1, 0), (5, 2), "backward"), ((0, 3), (1,), (4,), "backward"),
    ]  # fmt: skip

    @op.samples
    def rule(make: Maker) -> Iterator[Sample]:
        for number, (shape, axes, lengths, norm) in enumerate(cases):
            params = {"axes": axes, "lengths": lengths, "norm": norm, **directions[number % len(directions)]}
            label = f"{norm}-{'x'.join(map(str, shape))}-over-{'x'.join(map(str, lengths))}"
            yield Sample((make(shape, double),), params, label)
        params = {"axes": (0,), "lengths": (4,), "norm": "backward", **directions[0]}
        for label, array in layouts(make((4, 3), double)):
            yield Sample((array,), params, label)
        yield Sample((make((4,), single),), params, "single")
        if op is not r2c:
            yield Sample((make((5,)),), params, "of-real-numbers")


_shape_rule(c2c, lambda length: length)
_shape_rule(r2c, _half)
_shape_rule(c2r, lambda length: length)
for _op in (c2c, r2c, c2r):
    _batch_rule(_op)
r2c.refuses("it transforms real numbers", "complex128")
_sample_rule(c2c, (np.complex128, np.complex64), ({"inverse": False}, {"inverse": True}))
_sample_rule(r2c, (np.float64, np.float32), ({},))
_sample_rule(c2r, (np.complex128, np.complex64), ({},))


# What users write: n, axis, s, axes and norm as in NumPy, and torch's `dim` for either


def checked_norm(name: str, norm: str | None) -> str:
    """`norm` in canonical form."""
    if norm is None:
        return "backward"
    if norm not in _OPPOSITE:
        raise ValueError(f'{name}: norm must be "backward", "ortho" or "forward", got {norm!r}')
    return norm


def opposite_norm(norm: str) -> str:
    """The `norm` that gives the other direction the same factor."""
    return _OPPOSITE[norm]


def one_axis(name: str, x: Any, n: Any, axis: int, dim: int | None) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """`n` and `axis` as the lengths and axes of a transform over one axis."""
    if dim is not None:
        axis = merge_spellings(f"{name}: axis/dim", None if axis == -1 else axis, dim)
    if x.ndim == 0:
        raise ValueError(f"{name}: a single number has no axis to transform; reshape it to (1,)")
    return (normalize_axis_index(axis, x.ndim),), None if n is None else (operator.index(n),)


def several_axes(name: str, x: Any, s: Any, axes: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    """`s` and `axes` as lengths and axes; an axis may come twice."""
    axes = merge_spellings(f"{name}: axes/dim", axes, dim)
    wanted = None if s is None else tuple(-1 if length is None else length for length in normalize_sizes(s))
    if axes is None:
        count = x.ndim if wanted is None else len(wanted)
        if count > x.ndim:
            raise ValueError(f"{name}: s has {count} lengths, but the array has {x.ndim} axes")
        places = tuple(range(x.ndim - count, x.ndim))
    else:
        places = normalize_axis_tuple(axes, x.ndim, allow_duplicate=True)
    if wanted is not None and len(wanted) != len(places):
        raise ValueError(f"{name}: s has {len(wanted)} lengths for {len(places)} axes; they must be as many")
    return places, wanted


def normalize_sizes(s: Any) -> tuple[Any, ...]:
    """`s` as a tuple; None and -1 in it stand for the length that the axis has."""
    sizes = (s,) if np.ndim(s) == 0 else tuple(s)
    return tuple(None if size is None else operator.index(size) for size in sizes)


def _two_axes(name: str, x: Any, s: Any, axes: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    if dim is not None:
        axes = merge_spellings(f"{name}: axes/dim", None if tuple(axes) == (-2, -1) else axes, dim)
    return several_axes(name, x, s, axes, None)


def chosen_lengths(
    name: str, shape: tuple[int, ...], axes: tuple[int, ...], wanted: tuple[int, ...] | None, from_half: bool = False
) -> tuple[int, ...]:
    """The length of every transformed axis. `from_half`: the last one of the input is half a spectrum."""
    given = (-1,) * len(axes) if wanted is None else wanted
    lengths = [shape[axis] if length == -1 else length for axis, length in zip(axes, given, strict=True)]
    if from_half and (wanted is None or wanted[-1] == -1):
        lengths[-1] = 2 * (shape[axes[-1]] - 1)
    if any(not isinstance(length, (int, np.integer)) for length in lengths):
        raise AutogradError(
            "RAGGED_OP", f"{name} along rows of different lengths", why="a transform has one length for all rows",
            fix="transform row by row, or pad with x.to_padded(0.0)",
        )  # fmt: skip
    if min(lengths, default=1) < 1:
        raise ValueError(f"{name}: an axis needs at least one element to be transformed, got lengths {tuple(lengths)}")
    return tuple(lengths)


def _over_axes(name: str, x: Any, where: Any, inverse: bool, norm: str | None) -> Any:
    axes, wanted = where
    lengths = chosen_lengths(name, x.shape, axes, wanted)
    return _complex(x, axes, lengths, inverse, checked_norm(name, norm))


def _complex(x: Any, axes: tuple[int, ...], lengths: tuple[int, ...], inverse: bool, norm: str) -> Any:
    """`c2c` over axes of which there may be none, or some twice; the last one is done first, as in NumPy."""
    if not axes:
        return copy(x)
    if len(set(axes)) == len(axes):
        return c2c(x, axes=axes, lengths=lengths, inverse=inverse, norm=norm)
    for axis, length in zip(reversed(axes), reversed(lengths), strict=True):
        x = c2c(x, axes=(axis,), lengths=(length,), inverse=inverse, norm=norm)
    return x


def _to_half(name: str, x: Any, where: Any, norm: str | None) -> Any:
    axes, wanted = where
    norm = checked_norm(name, norm)
    if not axes:
        raise ValueError(f"{name}: at least one axis must be transformed")
    if is_complex_dtype(x.dtype):
        raise TypeError(f"{name}: the input must be real, got {x.dtype}; use fft or fftn, or take the real part")
    lengths = chosen_lengths(name, x.shape, axes, wanted)
    if len(set(axes)) == len(axes):
        return r2c(x, axes=axes, lengths=lengths, norm=norm)
    half = r2c(x, axes=axes[-1:], lengths=lengths[-1:], norm=norm)
    return _complex(half, axes[:-1], lengths[:-1], False, norm)


def _from_half(name: str, x: Any, where: Any, norm: str | None) -> Any:
    axes, wanted = where
    norm = checked_norm(name, norm)
    if not axes:
        raise ValueError(f"{name}: at least one axis must be transformed")
    lengths = chosen_lengths(name, x.shape, axes, wanted, from_half=True)
    if len(set(axes)) == len(axes):
        return c2r(x, axes=axes, lengths=lengths, norm=norm)
    # Unlike `_complex`, the first axis is done first.
    whole = _complex(x, axes[-2::-1], lengths[-2::-1], True, norm)
    return c2r(whole, axes=axes[-1:], lengths=lengths[-1:], norm=norm)


@composite(name="fft.fft")
def fft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", *, dim: int | None = None
) -> Any:
    """The discrete Fourier transform of `x` along `axis`, cut or zero-padded to `n` elements first.

    `norm` says which direction carries the factor 1/n: "backward" the inverse one, "forward" this one, and "ortho"
    gives both 1/sqrt(n).
    """
    return _over_axes("fft", x, one_axis("fft", x, n, axis, dim), False, norm)


@composite(name="fft.ifft")
def ifft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", *, dim: int | None = None
) -> Any:
    """The inverse of `fft` along `axis`."""
    return _over_axes("ifft", x, one_axis("ifft", x, n, axis, dim), True, norm)


@composite(name="fft.fftn")
def fftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The Fourier transform over `axes`, by default all of them, each cut or zero-padded to its length in `s`.

    A length of -1 in `s` leaves its axis as it is. Lengths without axes belong to the last axes.
    """
    return _over_axes("fftn", x, several_axes("fftn", x, s, axes, dim), False, norm)


@composite(name="fft.ifftn")
def ifftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The inverse of `fftn` over `axes`."""
    return _over_axes("ifftn", x, several_axes("ifftn", x, s, axes, dim), True, norm)


@composite(name="fft.fft2")
def fft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The Fourier transform over two axes, by default the last two."""
    return _over_axes("fft2", x, _two_axes("fft2", x, s, axes, dim), False, norm)


@composite(name="fft.ifft2")
def ifft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The inverse of `fft2`."""
    return _over_axes("ifft2", x, _two_axes("ifft2", x, s, axes, dim), True, norm)


@composite(name="fft.rfft")
def rfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", *, dim: int | None = None
) -> Any:
    """The first n // 2 + 1 elements of `fft(x)` for real `x`; the others are their conjugates."""
    return _to_half("rfft", x, one_axis("rfft", x, n, axis, dim), norm)


@composite(name="fft.irfft")
def irfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", *, dim: int | None = None
) -> Any:
    """The `n` real numbers that `rfft` maps to `x`; n is even unless it is given.

    The imaginary part of the first element, and for even n of the last one, is ignored and has gradient 0.
    """
    return _from_half("irfft", x, one_axis("irfft", x, n, axis, dim), norm)


@composite(name="fft.rfftn")
def rfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = "backward", *, dim: Any = None) -> Any:
    """`rfft` over the last of `axes`, and `fft` over the others."""
    return _to_half("rfftn", x, several_axes("rfftn", x, s, axes, dim), norm)


@composite(name="fft.irfftn")
def irfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The inverse of `rfftn`: `ifft` over all of `axes` but the last, then `irfft` over that one."""
    return _from_half("irfftn", x, several_axes("irfftn", x, s, axes, dim), norm)


@composite(name="fft.rfft2")
def rfft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward", *, dim: Any = None) -> Any:
    """`rfftn` over two axes, by default the last two."""
    return _to_half("rfft2", x, _two_axes("rfft2", x, s, axes, dim), norm)


@composite(name="fft.irfft2")
def irfft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The inverse of `rfft2`."""
    return _from_half("irfft2", x, _two_axes("irfft2", x, s, axes, dim), norm)


# Spectra that are real, because the signal equals its mirrored conjugate


@composite(name="fft.hfft")
def hfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", *, dim: int | None = None
) -> Any:
    """The `n` real numbers that are the transform of a signal of which `x` is the first half; see `irfft` for n."""
    norm = opposite_norm(checked_norm("hfft", norm))
    return _from_half("hfft", conjugated(x), one_axis("hfft", x, n, axis, dim), norm)


@composite(name="fft.ihfft")
def ihfft(
    x: Any, /, n: int | None = None, axis: int = -1, norm: str | None = "backward", *, dim: int | None = None
) -> Any:
    """The inverse of `hfft`: the first half of a signal whose transform is the real `x`."""
    norm = opposite_norm(checked_norm("ihfft", norm))
    return conjugated(_to_half("ihfft", x, one_axis("ihfft", x, n, axis, dim), norm))


@composite(name="fft.hfftn")
def hfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = "backward", *, dim: Any = None) -> Any:
    """`hfft` over the last of `axes` after `fft` over the others."""
    norm = opposite_norm(checked_norm("hfftn", norm))
    return _from_half("hfftn", conjugated(x), several_axes("hfftn", x, s, axes, dim), norm)


@composite(name="fft.ihfftn")
def ihfftn(x: Any, /, s: Any = None, axes: Any = None, norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The inverse of `hfftn`."""
    norm = opposite_norm(checked_norm("ihfftn", norm))
    return conjugated(_to_half("ihfftn", x, several_axes("ihfftn", x, s, axes, dim), norm))


@composite(name="fft.hfft2")
def hfft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward", *, dim: Any = None) -> Any:
    """`hfftn` over two axes, by default the last two."""
    norm = opposite_norm(checked_norm("hfft2", norm))
    return _from_half("hfft2", conjugated(x), _two_axes("hfft2", x, s, axes, dim), norm)


@composite(name="fft.ihfft2")
def ihfft2(x: Any, /, s: Any = None, axes: Any = (-2, -1), norm: str | None = "backward", *, dim: Any = None) -> Any:
    """The inverse of `hfft2`."""
    norm = opposite_norm(checked_norm("ihfft2", norm))
    return conjugated(_to_half("ihfft2", x, _two_axes("ihfft2", x, s, axes, dim), norm))


# Frequencies and their order


def _shifted(name: str, x: Any, axes: Any, dim: Any, direction: int) -> Any:
    axes = merge_spellings(f"{name}: axes/dim", axes, dim)
    places = tuple(range(x.ndim)) if axes is None else normalize_shape(axes)
    middles = [x.shape[axis] // 2 for axis in normalize_axis_tuple(places, x.ndim, allow_duplicate=True)]
    return roll(x, tuple(direction * middle for middle in middles), places) if places else copy(x)


@composite(name="fft.fftshift")
def fftshift(x: Any, /, axes: Any = None, *, dim: Any = None) -> Any:
    """`x` with the frequency 0 moved from the start to the middle of `axes`, by default of all axes."""
    return _shifted("fftshift", x, axes, dim, 1)


@composite(name="fft.ifftshift")
def ifftshift(x: Any, /, axes: Any = None, *, dim: Any = None) -> Any:
    """The inverse of `fftshift`; it differs from it on axes of odd length."""
    return _shifted("ifftshift", x, axes, dim, -1)


def _frequencies(name: str, n: int, positions: Callable[[int], Any], d: float, dtype: Any, device: Any) -> Tensor:
    length = operator.index(n)
    if length < 1:
        raise ValueError(f"{name}: a transform has at least one element, got n = {length}")
    distance = length * d
    values = positions(length) / (1.0 if isinstance(d, Tensor) else distance)
    dtype = default_dtype_for(values) if dtype is None else np.dtype(dtype)
    if dtype.kind != "f":
        raise TypeError(f"{name}: frequencies are real numbers, and cannot have the dtype {dtype}")
    out = finished(values.astype(dtype, copy=False), device)
    return out / distance if isinstance(d, Tensor) else out


@composite(name="fft.fftfreq", arrays=0)
def fftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies that belong to the elements of `fft` of `n` samples taken at distance `d`, negative ones last."""
    return _frequencies("fftfreq", n, lambda size: np.fft.ifftshift(np.arange(size) - size // 2), d, dtype, device)


@composite(name="fft.rfftfreq", arrays=0)
def rfftfreq(n: int, /, d: float = 1.0, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """The frequencies that belong to the elements of `rfft` of `n` samples taken at distance `d`."""
    return _frequencies("rfftfreq", n, lambda size: np.arange(_half(size)), d, dtype, device)
