"""`scipy.fft` with derivatives: all transforms are linear in their arrays."""

from typing import Any as _Any

import numpy as np

import pullback as pb
from pullback.scipy import _composed, _replay, _surface, _twins

_twins.declare_existing("fft")


def _along(axes: _Any, s: _Any, x: _Any) -> list[tuple[int, int | None]]:
    """The axes of a transform in several dimensions, with the lengths that they are brought to."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    axes = [axes] if isinstance(axes, int) else list(axes)
    lengths = [None] * len(axes) if s is None else [s] if isinstance(s, int) else list(s)
    return list(zip(axes, lengths, strict=True))


@_composed.composed("fft.dstn", by="x")
def _dstn(x: _Any, type: _Any, s: _Any, axes: _Any, norm: _Any, orthogonalize: _Any) -> _Any:
    if orthogonalize is not None:
        return NotImplemented
    for axis, length in _along(axes, s, x):
        x = pb.fft.dst(x, type, length, axis, norm)
    return x


@_composed.composed("fft.idstn", by="x")
def _idstn(x: _Any, type: _Any, s: _Any, axes: _Any, norm: _Any, orthogonalize: _Any) -> _Any:
    if orthogonalize is not None:
        return NotImplemented
    for axis, length in _along(axes, s, x):
        x = pb.fft.idst(x, type, length, axis, norm)
    return x


def _weights(n: int, dln: _Any, mu: _Any, offset: _Any, bias: _Any) -> _Any:
    """What the fast Hankel transform multiplies the Fourier coefficients with: quotients of gamma functions."""
    y = np.pi * np.arange(n // 2 + 1) / (n * dln)
    plus, minus = (pb.special.loggamma((mu + 1 + sign * bias) / 2 + 1j * y) for sign in (1, -1))
    whole = pb.exp((plus - pb.conj(minus)) + np.log(2.0) * bias + 2j * y * (np.log(2.0) - offset))
    return whole if n % 2 else pb.concat([whole[:-1], whole[-1:].real + 0j])  # the last frequency is its own mirror


def _hankel(a: _Any, dln: _Any, mu: _Any, offset: _Any, bias: _Any, is_inverse: bool) -> _Any:
    n = a.shape[-1]
    steps = (np.arange(n) - (n - 1) / 2) * dln
    weights = _weights(n, dln, mu, offset, bias)
    if not np.isfinite(_surface.numbers(weights.detach())).all():
        raise _composed.refused("fft.fht", "a gamma function has a pole at these numbers; use fhtoffset, another bias")
    a = a * pb.exp(bias * (steps + offset) if is_inverse else -bias * steps)
    found = pb.fft.rfft(a)
    out = pb.flip(pb.fft.irfft(found / pb.conj(weights) if is_inverse else found * weights, n), (-1,))
    return out * pb.exp(bias * steps if is_inverse else -bias * (steps + offset))


@_composed.composed("fft.fht", by="a, dln, mu, offset, bias")
def _fht(a: _Any, dln: _Any, mu: _Any, offset: _Any, bias: _Any) -> _Any:
    return _hankel(a, dln, mu, offset, bias, False)


@_composed.composed("fft.ifht", by="A, dln, mu, offset, bias")
def _ifht(A: _Any, dln: _Any, mu: _Any, offset: _Any, bias: _Any) -> _Any:
    return _hankel(A, dln, mu, offset, bias, True)


@_composed.composed("fft.fftfreq", "fftpack.fftfreq", by="d")
def _fftfreq(n: int, d: _Any, **_: _Any) -> _Any:
    return np.fft.fftfreq(n) / d


@_composed.composed("fft.rfftfreq", by="d")
def _rfftfreq(n: int, d: _Any, **_: _Any) -> _Any:
    return np.fft.rfftfreq(n) / d


@_composed.composed("fftpack.rfftfreq", by="d")
def _packed_rfftfreq(n: int, d: _Any) -> _Any:
    return ((np.arange(n) + 1) // 2) / (n * d)


_replay.declare_replayed("fft", "fhtoffset", by="dln, mu, initial, bias")
_surface.constant("fft.next_fast_len", "fft.prev_fast_len")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("fft")
