"""Short-time Fourier transforms: overlapping frames of a signal, each times a window and transformed.

`frames` cuts the last axis into pieces `step` apart, `overlapped` adds such pieces up again; each is the transpose of
the other. Signatures and conventions are torch's.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample
from pullback.eager.build import as_operand
from pullback.operators.arrays.movement import swapaxes
from pullback.operators.arrays.padding import pad, pad_constant
from pullback.operators.signal.transforms import c2c, c2r, r2c, resized
from pullback.tensors.tensor import Tensor


@primitive(name="_frames", flow="moves", batch="shifted")
def frames(x, *, size, step):
    """Pieces of length `size` of the last axis, one every `step` elements, with their number before their length."""
    return np.lib.stride_tricks.sliding_window_view(x, size, -1)[..., ::step, :].copy()


@primitive(name="_overlapped", flow="collects", batch="shifted")
def overlapped(x, *, length, step):
    """The sum of the pieces `x[..., k, :]`, each moved to `k * step`, in an axis of this length."""
    out = np.zeros((*x.shape[:-2], length), x.dtype)
    for k in range(x.shape[-2]):
        out[..., k * step : k * step + x.shape[-1]] += x[..., k, :]
    return out


@frames.transpose
def frames_transpose(g, x, step):
    return overlapped(g, length=x.shape[-1], step=step)


@overlapped.transpose
def overlapped_transpose(g, x, step):
    used = (x.shape[-2] - 1) * step + x.shape[-1]
    return frames(resized(g, (*g.shape[:-1], used)), size=x.shape[-1], step=step)


@frames.spec
def frames_spec(x, *, size, step):
    return spec_for((*x.shape[:-1], (x.shape[-1] - size) // step + 1, size), x.dtype)


@overlapped.spec
def overlapped_spec(x, *, length, step):
    return spec_for((*x.shape[:-2], length), x.dtype)


@frames.samples
def frames_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((7,)),), {"size": 3, "step": 2}, "overlapping")
    yield Sample((make((2, 9)),), {"size": 3, "step": 4}, "apart")
    yield Sample((make((8, 2)).T[:, ::-1],), {"size": 4, "step": 3}, "strided")
    yield Sample((make((0, 5), np.float32),), {"size": 2, "step": 1}, "empty")
    yield Sample((make((5,), np.complex128),), {"size": 5, "step": 1}, "complex")


@overlapped.samples
def overlapped_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 3)),), {"length": 7, "step": 2}, "overlapping")
    yield Sample((make((2, 2, 3)),), {"length": 9, "step": 4}, "apart")
    yield Sample((make((0, 3, 2), np.float32),), {"length": 4, "step": 1}, "empty")
    yield Sample((make((2, 4), np.complex128)[:, ::-1],), {"length": 5, "step": 1}, "complex")


def _framing(name: str, n_fft: int, hop_length: Any, win_length: Any, window: Any, dtype: Any) -> tuple[int, int, Any]:
    """The frame length, the step, and the window in the middle of a frame."""
    size = operator.index(n_fft)
    step = size // 4 if hop_length is None else operator.index(hop_length)
    if size < 1 or step < 1:
        raise ValueError(f"{name}: n_fft and hop_length are positive, got {size} and {step}")
    width = size if win_length is None else operator.index(win_length)
    if not 0 < width <= size:
        raise ValueError(f"{name}: win_length must be between 1 and n_fft = {size}, got {width}")
    window = np.ones(width, np.finfo(dtype).dtype) if window is None else as_operand(window)
    if window.shape != (width,):
        raise ValueError(f"{name}: the window must have the shape ({width},), got {tuple(window.shape)}")
    before = (size - width) // 2
    if width < size:
        window = pad_constant(window, 0, widths=((before, size - width - before),))
    return size, step, window


@composite(name="fft.stft")
def stft(
    x: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool = True,
) -> Any:  # fmt: skip
    """The short-time Fourier transform of the last axis: frequencies, then the number of the frame.

    Frames have `n_fft` elements, one every `hop_length` (by default a quarter of that), and are multiplied by `window`.
    With `center`, the signal is padded so that frame k is centred at `k * hop_length`. For real input only the first
    n_fft // 2 + 1 frequencies are kept, unless `onesided=False`. `normalized` divides by `sqrt(n_fft)`.
    """
    if not return_complex:
        raise ValueError("stft: the result is complex; use view_as_real to see its parts as an axis")
    if x.dtype.kind not in "fc" or x.ndim not in (1, 2):
        raise ValueError(f"stft: expected a real or complex signal or a batch of them, got {x.dtype}{list(x.shape)}")
    size, step, window = _framing("stft", n_fft, hop_length, win_length, window, x.dtype)
    if center:
        x = pad(x, ((0, 0),) * (x.ndim - 1) + ((size // 2, size // 2),), pad_mode)
    if x.shape[-1] < size:
        raise ValueError(f"stft: the signal has {x.shape[-1]} elements, fewer than n_fft = {size}")
    pieces = frames(x, size=size, step=step) * window
    is_complex = is_complex_dtype(pieces.dtype)
    if is_complex and onesided:
        raise ValueError("stft: complex signals have no redundant frequencies; leave out onesided=True")
    where_to = {"axes": (pieces.ndim - 1,), "lengths": (size,), "norm": "ortho" if normalized else "backward"}
    if is_complex or onesided is False:
        spectrum = c2c(pieces, **where_to, inverse=False)
    else:
        spectrum = r2c(pieces, **where_to)
    return swapaxes(spectrum, -1, -2)


@composite(name="fft.istft")
def istft(
    x: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    """The inverse of `stft`: frames transformed back, times the window, added up, and divided by the squared windows.

    It raises where the windows leave a gap, for the signal cannot be known there. `length` is the length of the
    signal, which otherwise ends with the last frame.
    """
    size, step, window = _framing("istft", n_fft, hop_length, win_length, window, x.dtype)
    where_to = {"axes": (x.ndim - 1,), "lengths": (size,), "norm": "ortho" if normalized else "backward"}
    half = not return_complex if onesided is None else onesided
    expected = size // 2 + 1 if half else size
    if x.ndim not in (2, 3) or x.shape[-2] != expected:
        raise ValueError(f"istft: expected {expected} frequencies in the axis before the last, got {tuple(x.shape)}")
    spectrum = swapaxes(x, -1, -2)
    pieces = c2r(spectrum, **where_to) if half else c2c(spectrum, **where_to, inverse=True)
    pieces = pieces if return_complex or half else pieces.real
    count = x.shape[-1]
    total = (count - 1) * step + size
    signal = overlapped(pieces * window, length=total, step=step)
    squares = (window * window) * np.ones((count, 1), window.dtype)
    weight = overlapped(squares, length=total, step=step)
    start = size // 2 if center else 0
    end = start + operator.index(length) if length is not None else total - start
    inside = slice(start, min(end, total))
    signal, weight = signal[..., inside], weight[inside]
    payload = weight.detach().numpy() if isinstance(weight, Tensor) else weight
    if payload.size and np.min(np.abs(payload)) < 1e-11:
        raise ValueError("istft: the windows leave a gap, where the signal is not determined; use a smaller hop_length")
    signal = signal / weight
    return resized(signal, (*signal.shape[:-1], end - start))
