"""`scipy.fftpack` with derivatives: all of it is linear in its arrays."""

from typing import Any as _Any

import numpy as np

import pullback as pb
from pullback.scipy import _composed, _surface, _twins
from pullback.scipy.fft import _along

_twins.declare_existing("fftpack")


@_composed.composed("fftpack.rfft", by="x")
def _rfft(x: _Any, n: _Any, axis: int) -> _Any:
    """The coefficients as real numbers: the first, then real and imaginary part of each."""
    found = pb.moveaxis(pb.fft.rfft(x, n, axis), axis, -1)
    length = x.shape[axis] if n is None else int(n)
    pairs = pb.stack([found.real, found.imag], axis=-1).reshape((*found.shape[:-1], -1))
    return pb.moveaxis(pb.concat([pairs[..., :1], pairs[..., 2 : length + 1]], axis=-1), -1, axis)


@_composed.composed("fftpack.irfft", by="x")
def _irfft(x: _Any, n: _Any, axis: int) -> _Any:
    x = pb.moveaxis(x, axis, -1)
    length = x.shape[-1] if n is None else int(n)
    x = x[..., :length]
    x = pb.concat([x, pb.zeros((*x.shape[:-1], length - x.shape[-1]))], axis=-1)
    zero = pb.zeros((*x.shape[:-1], 1))
    parts = [x[..., :1], zero, x[..., 1:]] if length % 2 else [x[..., :1], zero, x[..., 1:], zero]
    pairs = pb.concat(parts, axis=-1).reshape((*x.shape[:-1], -1, 2))
    return pb.moveaxis(pb.fft.irfft(pairs[..., 0] + 1j * pairs[..., 1], length), -1, axis)


def _inverse(name: str) -> None:
    """Declare an inverse that is only one with norm="ortho": otherwise it is the transform of the inverse type."""

    @_composed.composed(f"fftpack.i{name}", by="x")
    def transformed(x: _Any, type: _Any, n: _Any, axis: int, norm: _Any) -> _Any:
        return getattr(pb.fft, name)(x, {1: 1, 2: 3, 3: 2, 4: 4}[type], n, axis, norm)


_inverse("dct")
_inverse("dst")


def _separable(name: str) -> None:
    @_composed.composed(f"fftpack.{name}n", by="x")
    def transformed(x: _Any, type: _Any, shape: _Any, axes: _Any, norm: _Any) -> _Any:
        for axis, length in _along(axes, shape, x):
            x = getattr(pb.scipy.fftpack, name)(x, type, length, axis, norm)
        return x


for _name in ("dct", "idct", "dst", "idst"):
    _separable(_name)


def _periodic(name: str) -> None:
    """Declare a function that multiplies Fourier coefficients: it is known by what it makes of one impulse."""

    @_composed.composed(f"fftpack.{name}", by="x")
    def convolved(x: _Any, **options: _Any) -> _Any:
        if _composed.watches(options) or x.ndim != 1:
            return NotImplemented
        options.pop("_cache", None)
        impulse = np.zeros(x.shape[0])
        impulse[0] = 1.0
        known = np.fft.fft(_surface.scipy_value(f"fftpack.{name}")(impulse, **options))
        out = pb.fft.ifft(pb.fft.fft(x) * known)
        return out if x.dtype.kind == "c" else out.real


for _name in ("diff", "cc_diff", "cs_diff", "sc_diff", "ss_diff", "hilbert", "ihilbert", "tilbert", "itilbert"):
    _periodic(_name)
_periodic("shift")

for _name in ("fftshift", "ifftshift"):
    _surface.declare_as(f"fftpack.{_name}", getattr(pb.fft, _name), kind="E", by="x")
_surface.constant("fftpack.next_fast_len")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("fftpack")
