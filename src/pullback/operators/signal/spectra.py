"""Signals by their spectra, as in SciPy: trends, analytic signals, other sampling rates, power spectra."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.operators.arguments import constant, plain, tensor_from
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.arrays.sorting import median
from pullback.operators.elementwise.arithmetic import square
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.signal.frames import frames
from pullback.operators.signal.transforms import fft, fftfreq, ifft, irfft, resized, rfft, rfftfreq

_WINDOWS: dict[str, Callable[[int], Any]] = {
    "bartlett": np.bartlett, "blackman": np.blackman, "boxcar": np.ones, "hamming": np.hamming, "hann": np.hanning,
}  # fmt: skip


def _signal(name: str, x: Any, axis: int, dim: int | None) -> tuple[Any, int]:
    """The signal as floating point numbers with its axis last, and that axis."""
    x = tensor_from(x)
    if x.ndim == 0:
        raise ValueError(f"{name}: expected a signal, got a number")
    axis = normalize_axis_index(axis if dim is None else dim, x.ndim)
    x = x if x.dtype.kind in "fc" else astype(x, np.float64)
    return moveaxis(x, axis, -1), axis


def _window(name: str, window: Any, length: int) -> Any:
    """A window by its name, for frames that repeat; arrays and tensors as they are."""
    if isinstance(window, tuple) and len(window) == 2 and window[0] == "kaiser":
        return constant(np.kaiser(length + 1, window[1])[:-1])
    if isinstance(window, str):
        if window not in _WINDOWS:
            raise ValueError(f"{name}: the window must be an array, ('kaiser', beta) or one of {', '.join(_WINDOWS)}")
        return constant(_WINDOWS[window](length + 1)[:-1])
    window = tensor_from(window)
    if window.shape != (length,):
        raise ValueError(f"{name}: the window must have shape {[length]}, got {list(window.shape)}")
    return window


# Trends


@composite(name="signal.detrend")
def detrend(x: Any, axis: int = -1, type: str = "linear", bp: Any = 0, *, dim: int | None = None) -> Any:
    """`x` without its trend along `axis`: the closest straight line, or with `type="constant"` the mean.

    `bp` are positions at which a new line begins.
    """
    x, axis = _signal("detrend", x, axis, dim)
    return moveaxis(_without_trend(x, type, bp), -1, axis)


def _without_trend(x: Any, type: str, bp: Any = 0) -> Any:
    if type in ("constant", "c"):
        return x - x.mean(axis=-1, keepdims=True)
    if type not in ("linear", "l"):
        raise ValueError(f"detrend: type must be 'linear' or 'constant', got {type!r}")
    length = x.shape[-1]
    borders = np.unique([0, *np.ravel(plain("detrend", bp)).tolist(), length]).astype(int).tolist()
    if borders[0] < 0 or borders[-1] > length:
        raise ValueError(f"detrend: the breakpoints must lie between 0 and {length}")
    pieces = [_without_line(x[..., start:stop]) for start, stop in itertools.pairwise(borders)]
    return pieces[0] if len(pieces) == 1 else concat(pieces, -1) if pieces else x


def _without_line(x: Any) -> Any:
    count = x.shape[-1]
    # From -1 to 1 and with mean 0, so that the slope and the mean are found independently.
    place = np.linspace(-1, 1, count, dtype=x.real.dtype) if count > 1 else np.zeros(count, x.real.dtype)
    weight = place / max(float(place @ place), np.finfo(place.dtype).tiny)
    return x - x.mean(axis=-1, keepdims=True) - (x * weight).sum(axis=-1, keepdims=True) * place


# Analytic signals, and other sampling rates


@composite(name="signal.hilbert")
def hilbert(x: Any, N: int | None = None, axis: int = -1, *, dim: int | None = None) -> Any:
    """The analytic signal of real `x`: complex, with `x` as its real part and no negative frequencies.

    `N` cuts or fills up the axis first. The imaginary part is the Hilbert transform of `x`.
    """
    x, axis = _signal("hilbert", x, axis, dim)
    if is_complex_dtype(x.dtype):
        raise ValueError(f"hilbert: the signal must be real, got {x.dtype}")
    length = x.shape[-1] if N is None else operator.index(N)
    if length <= 0:
        raise ValueError(f"hilbert: the length must be positive, got {length}")
    weight = np.zeros(length, x.dtype)
    weight[1 : (length + 1) // 2] = 2
    weight[0] = 1
    if length % 2 == 0:
        weight[length // 2] = 1
    return moveaxis(ifft(fft(x, length) * weight), -1, axis)


@composite(name="signal.resample")
def resample(
    x: Any, num: int, t: Any = None, axis: int = 0, window: Any = None, domain: str = "time", *, dim: int | None = None
) -> Any:
    """`x` at `num` equidistant points of the same period, by cutting or filling up its spectrum.

    With the sample positions `t` the result is `(y, new positions)`. `window` weights the spectrum, at the frequencies
    in the order of `fft` if it is an array, and as a function of them if it is one. With `domain="freq"`, `x` is the
    spectrum.
    """
    x, axis = _signal("resample", x, axis, dim)
    if domain not in ("time", "freq"):
        raise ValueError(f"resample: domain must be 'time' or 'freq', got {domain!r}")
    length, num = x.shape[-1], operator.index(num)
    if num <= 0 or length == 0:
        raise ValueError(f"resample: cannot make {num} samples out of {length}")
    is_real = domain == "time" and not is_complex_dtype(x.dtype)
    spectrum = x if domain == "freq" else rfft(x) if is_real else fft(x)
    if window is not None:
        spectrum = spectrum * _spectral_window(window, length, is_real)
    kept = min(num, length)
    if is_real:
        out = irfft(_half_resized(spectrum, kept, num, length), num)
    else:
        out = ifft(_whole_resized(spectrum, kept, num, length))
    out = moveaxis(out * (num / length), -1, axis)
    if t is None:
        return out
    t = tensor_from(t)
    return out, np.arange(num) * (t[1] - t[0]) * (length / num) + t[0]


def _spectral_window(window: Any, length: int, is_half: bool) -> Any:
    if callable(window):
        weight = tensor_from(window(np.fft.fftfreq(length)))
    elif isinstance(window, (str, tuple)):
        weight = constant(np.fft.ifftshift(plain("resample", _window("resample", window, length))))
    else:
        weight = _window("resample", window, length)
    if not is_half:
        return weight
    # What a real signal sees of a window is its even part.
    turned = concat([weight[:1], weight[:0:-1]], 0)
    return ((weight + turned) * 0.5)[: length // 2 + 1]


def _half_resized(spectrum: Any, kept: int, num: int, length: int) -> Any:
    low = spectrum[..., : kept // 2 + 1]
    if kept % 2 == 0 and num != length:
        # The frequency that is its own negative: two of them fall together, or one comes apart.
        weight = np.ones(kept // 2 + 1)
        weight[-1] = 2 if num < length else 0.5
        low = low * weight.astype(low.real.dtype)
    return resized(low, (*low.shape[:-1], num // 2 + 1))


def _whole_resized(spectrum: Any, kept: int, num: int, length: int) -> Any:
    if num == length:
        return spectrum
    low, high = spectrum[..., : (kept + 1) // 2], spectrum[..., length - (kept - 1) // 2 :]
    parts = [low]
    if kept % 2 == 0:
        middle = spectrum[..., kept // 2 : kept // 2 + 1]
        if num < length:
            parts.append(middle + spectrum[..., length - kept // 2 : length - kept // 2 + 1])
        else:
            parts.append(middle * 0.5)
            high = concat([middle * 0.5, high], -1)
    gap = num - sum(part.shape[-1] for part in parts) - high.shape[-1]
    zeros = constant(np.zeros((*low.shape[:-1], gap), low.dtype))
    return concat([*parts, zeros, high], -1)


# Power spectra


def _power(
    name: str, x: Any, fs: float, window: Any, nperseg: int, noverlap: int, nfft: int, trend: Any, onesided: bool,
    scaling: str, average: str,
) -> tuple[Any, Any]:  # fmt: skip
    """Frequencies and mean power of pieces of the last axis."""
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"{name}: scaling must be 'density' or 'spectrum', got {scaling!r}")
    weight = _window(name, window, nperseg)
    weight = weight if weight.dtype.kind == "c" else astype(weight, x.real.dtype)
    total = fs * (weight * conjugated(weight)).real.sum() if scaling == "density" else square(weight.sum())
    pieces = frames(x, size=nperseg, step=nperseg - noverlap)
    pieces = trend(pieces) if callable(trend) else _without_trend(pieces, trend) if trend else pieces
    pieces = pieces * weight
    onesided = onesided and not is_complex_dtype(pieces.dtype)
    spectrum = rfft(pieces, nfft) if onesided else fft(pieces, nfft)
    power = (square(spectrum.real) + square(spectrum.imag)) / total
    if onesided:
        both = np.full(power.shape[-1], 2.0)
        both[0] = 1
        both[-1] = 1 if nfft % 2 == 0 else 2
        power = power * both.astype(power.dtype)
    frequencies = rfftfreq(nfft, 1 / fs) if onesided else fftfreq(nfft, 1 / fs)
    return frequencies, _averaged(name, power, average)


def _averaged(name: str, power: Any, average: str) -> Any:
    if average == "mean":
        return power.mean(axis=-2)
    if average != "median":
        raise ValueError(f"{name}: average must be 'mean' or 'median', got {average!r}")
    # The median of n squared normal numbers is smaller than their mean by this factor (Allen et al., 2012).
    even = 2 * np.arange(1, (power.shape[-2] - 1) // 2 + 1)
    return median(power, axis=-2) / (1 + np.sum(1 / (even + 1) - 1 / even))


@composite(name="signal.periodogram")
def periodogram(
    x: Any, fs: float = 1.0, window: Any = "boxcar", nfft: int | None = None, detrend: Any = "constant",
    return_onesided: bool = True, scaling: str = "density", axis: int = -1, *, dim: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The frequencies of a signal and its power at them: the squared size of its transform.

    `detrend` is "constant", "linear", a function, or False. "density" gives power per frequency, "spectrum" power.
    """
    x, axis = _signal("periodogram", x, axis, dim)
    length = x.shape[-1] if nfft is None else operator.index(nfft)
    x = x[..., :length]
    if not x.shape[-1]:
        raise ValueError("periodogram: the signal is empty")
    frequencies, power = _power(
        "periodogram", x, fs, window, x.shape[-1], 0, length, detrend, return_onesided, scaling, "mean"
    )
    return frequencies, moveaxis(power, -1, axis)


@composite(name="signal.welch")
def welch(
    x: Any, fs: float = 1.0, window: Any = "hann", nperseg: int | None = None, noverlap: int | None = None,
    nfft: int | None = None, detrend: Any = "constant", return_onesided: bool = True, scaling: str = "density",
    axis: int = -1, average: str = "mean", *, dim: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """The frequencies of a signal and the mean power at them of overlapping pieces of length `nperseg`.

    The pieces are 256 samples long, or as long as the signal or the window, and half of each lies in the next. The
    other arguments are those of `periodogram`; `average` is "mean" or "median".
    """
    x, axis = _signal("welch", x, axis, dim)
    if not x.shape[-1]:
        raise ValueError("welch: the signal is empty")
    if nperseg is None:
        nperseg = 256 if isinstance(window, (str, tuple)) else len(window)
    size = min(operator.index(nperseg), x.shape[-1])
    overlap = size // 2 if noverlap is None else operator.index(noverlap)
    length = size if nfft is None else operator.index(nfft)
    if not 0 <= overlap < size <= length:
        raise ValueError(
            f"welch: noverlap must be less than nperseg, and nfft at least nperseg; got {overlap}, {size}, {length}"
        )
    frequencies, power = _power(
        "welch", x, fs, window, size, overlap, length, detrend, return_onesided, scaling, average
    )
    return frequencies, moveaxis(power, -1, axis)
