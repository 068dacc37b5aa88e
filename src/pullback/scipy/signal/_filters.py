"""Filters whose kernels SciPy has in compiled code: computed from operators, for all modes of SciPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._composed import composed, real_or_complex
from pullback.scipy._replay import replay
from pullback.scipy._surface import joined, scipy_module
from pullback.tensors.tensor import Tensor


@composed("signal.lfilter", by="b, a, x, zi")
def lfilter(b: Tensor, a: Tensor, x: Tensor, axis: int, zi: Tensor | None) -> Any:
    b, a = pb.atleast_1d(b), pb.atleast_1d(a)
    return pb.signal.lfilter(b, a, x, axis=axis, zi=zi)


@composed("signal.sosfilt", by="sos, x, zi")
def sosfilt(sos: Tensor, x: Tensor, axis: int, zi: Tensor | None) -> Any:
    """One section after the other."""
    ends = []
    for k in range(sos.shape[0]):
        if zi is None:
            x = pb.signal.lfilter(sos[k, :3], sos[k, 3:], x, axis=axis)
        else:
            x, end = pb.signal.lfilter(sos[k, :3], sos[k, 3:], x, axis=axis, zi=zi[k])
            ends.append(end)
    return x if zi is None else (x, pb.stack(ends))


@composed("signal.upfirdn", by="h, x")
def upfirdn(h: Tensor, x: Tensor, up: int, down: int, axis: int, mode: str, cval: Any) -> Any:
    """Zeros between the samples, the filter, and every `down`-th of what comes out."""
    if mode not in (None, "constant") or cval != 0 or h.ndim != 1:
        return NotImplemented
    x = pb.moveaxis(x, axis, -1)
    length = (x.shape[-1] - 1) * up + 1
    wide = pb.stack([x, *[x * 0] * (up - 1)], axis=-1).reshape((*x.shape[:-1], x.shape[-1] * up))[..., :length]
    out = pb.signal.lfilter(h, pb.ones(1), pb.concat([wide, pb.zeros((*x.shape[:-1], h.shape[0] - 1))], axis=-1))
    return pb.moveaxis(out[..., ::down], -1, axis)


@composed("signal.savgol_filter", by="x")
def savgol_filter(
    x: Tensor, window_length: int, polyorder: int, deriv: int, delta: float, axis: int, mode: str, cval: float
) -> Any:
    """Inside a convolution; at the ends what SciPy makes of unit impulses there, since the filter is linear."""
    plain = scipy_module("signal").savgol_filter
    options = {"deriv": deriv, "delta": delta, "axis": 0, "mode": mode, "cval": cval}
    x = pb.moveaxis(x, axis, -1)
    if window_length % 2 == 0:
        return NotImplemented
    length, near = x.shape[-1], 2 * window_length
    short = min(length, 2 * near)
    offset = plain(np.zeros(short), window_length, polyorder, **options)  # of `cval`
    matrix = plain(np.eye(short), window_length, polyorder, **options) - offset[:, None]
    if length == short:
        out = x @ matrix.T + offset
    else:
        ends = pb.concat([x[..., :near], x[..., -near:]], axis=-1) @ matrix.T + offset
        edge = window_length // 2
        taps = matrix[window_length, window_length - edge : window_length + edge + 1]
        inside = pb.signal.lfilter(pb.asarray(taps[::-1].copy()), pb.ones(1), x)[..., window_length - 1 :]
        out = pb.concat([ends[..., :edge], inside, ends[..., -edge:]], axis=-1)
    return pb.moveaxis(out, -1, axis)


@composed("signal.bilinear", by="b, a, fs")
def bilinear(b: Tensor, a: Tensor, fs: Any) -> Any:
    """`s = 2 fs (z - 1) / (z + 1)`, power by power."""
    b, a = pb.atleast_1d(b), pb.atleast_1d(a)
    degree = max(b.shape[0], a.shape[0]) - 1
    powers = [np.array([1.0])]
    for _ in range(degree):
        powers.append(np.convolve(powers[-1], [1.0, -1.0]))
    others = [np.array([1.0])]
    for _ in range(degree):
        others.append(np.convolve(others[-1], [1.0, 1.0]))

    def turned(coefficients: Tensor) -> Tensor:
        count = coefficients.shape[0] - 1
        terms = [
            coefficients[k] * (2 * fs) ** (count - k) * np.convolve(powers[count - k], others[degree - count + k])
            for k in range(count + 1)
        ]
        return pb.stack(terms).sum(axis=0)

    top, bottom = turned(b), turned(a)
    return top / bottom[0], bottom / bottom[0]


# Two axes.


@composed("signal.convolve2d", by="in1, in2, fillvalue")
def convolve2d(in1: Tensor, in2: Tensor, mode: str, boundary: str, fillvalue: Any) -> Any:
    """The valid part of what is continued beyond its boundary."""
    if boundary == "fill" and not isinstance(fillvalue, Tensor) and fillvalue == 0:
        return pb.signal.convolve2d(in1, in2, mode=mode)
    return _beyond(in1, in2, mode, boundary, fillvalue, [(side - 1) // 2 for side in in2.shape])


@composed("signal.correlate2d", by="in1, in2, fillvalue")
def correlate2d(in1: Tensor, in2: Tensor, mode: str, boundary: str, fillvalue: Any) -> Any:
    if boundary == "fill" and not isinstance(fillvalue, Tensor) and fillvalue == 0:
        return pb.signal.correlate2d(in1, in2, mode=mode)
    turned = pb.flip(in2.conj() if in2.dtype.kind == "c" else in2, (0, 1))
    return _beyond(in1, turned, mode, boundary, fillvalue, [side // 2 for side in in2.shape])


def _beyond(in1: Tensor, in2: Tensor, mode: str, boundary: str, fillvalue: Any, skipped: list[int]) -> Any:
    if mode == "valid":
        if any(b > a for a, b in zip(in1.shape, in2.shape, strict=True)):
            return NotImplemented
        return pb.signal.convolve2d(in1, in2, mode="valid")
    wide = in1
    for axis in (0, 1):
        wide = _continued(wide, axis, in2.shape[axis] - 1, boundary, fillvalue)
    full = pb.signal.convolve2d(wide, in2, mode="valid")
    if mode == "full":
        return full
    rows, columns = (slice(skip, skip + side) for skip, side in zip(skipped, in1.shape, strict=True))
    return full[rows, columns]


def _continued(x: Tensor, axis: int, count: int, boundary: str, fillvalue: Any) -> Tensor:
    length = x.shape[axis]
    places = np.arange(-count, length + count)
    if boundary in ("circular", "wrap"):
        return pb.take(x, places % length, axis=axis)
    if boundary.startswith("symm"):
        folded = places % (2 * length)
        return pb.take(x, np.minimum(folded, 2 * length - 1 - folded), axis=axis)
    shape = [count if k == axis else side for k, side in enumerate(x.shape)]
    gap = pb.broadcast_to(joined(fillvalue) * 1.0, tuple(shape))
    return pb.concat([gap, x, gap], axis=axis)


# Selections: the gradient goes to the element that was taken.


def _windows(x: Tensor, sides: tuple[int, ...]) -> Tensor:
    """The elements around each one, zeros beyond the ends, in the last axis."""
    wide = pb.pad(x, [(side // 2, side // 2) for side in sides])
    return pb.sliding_window_view(wide, sides).reshape((*x.shape, int(np.prod(sides))))


@composed("signal.medfilt", by="volume")
def medfilt(volume: Tensor, kernel_size: Any) -> Any:
    sides = np.broadcast_to(np.asarray(3 if kernel_size is None else kernel_size, dtype=int), volume.ndim)
    return _medians(volume, tuple(int(side) for side in sides))


@composed("signal.medfilt2d", by="input")
def medfilt2d(input: Tensor, kernel_size: Any) -> Any:
    sides = np.broadcast_to(np.asarray(kernel_size, dtype=int), 2)
    return _medians(input, tuple(int(side) for side in sides))


def _medians(x: Tensor, sides: tuple[int, ...]) -> Tensor:
    if any(side % 2 == 0 for side in sides):
        raise ValueError("Each element of kernel_size should be odd.")
    return pb.sort(_windows(x, sides), axis=-1)[..., int(np.prod(sides)) // 2]


@composed("signal.order_filter", by="a")
def order_filter(a: Tensor, domain: Any, rank: int) -> Any:
    domain = np.asarray(domain)
    chosen = _windows(real_or_complex(a), domain.shape)[..., domain.reshape(-1) != 0]
    return pb.sort(chosen, axis=-1)[..., rank]


# SciPy divides by `a[0]` unless it is 1. Divided here, it has a derivative there too.


@composed("signal.lfilter_zi", by="b, a")
def lfilter_zi(b: Tensor, a: Tensor) -> Any:
    b, a = pb.atleast_1d(b), pb.atleast_1d(a)
    return replay(scipy_module("signal").lfilter_zi, b / a[0], a / a[0])


@composed("signal.lfiltic", by="b, a, y, x")
def lfiltic(b: Tensor, a: Tensor, y: Tensor, x: Tensor | None) -> Any:
    b, a = pb.atleast_1d(b), pb.atleast_1d(a)
    return replay(scipy_module("signal").lfiltic, b / a[0], a / a[0], y, x)
