"""`scipy.fft` with derivatives: all transforms are linear in their arrays."""

from typing import Any as _Any

import numpy as np

import pullback as pb
from pullback.scipy import _composed, _surface, _twins

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


def _transformed(name: str, a: _Any, **options: _Any) -> _Any:
    """A linear map along the last axis, as a product with its matrix: what it makes of the unit vectors."""
    plain = _surface.scipy_value(f"fft.{name}")
    return a @ pb.asarray(plain(np.eye(a.shape[-1]), **options))


@_composed.composed("fft.fht", by="a")
def _fht(a: _Any, dln: _Any, mu: _Any, offset: _Any, bias: _Any) -> _Any:
    if _composed.watches((dln, mu, offset, bias)):
        return NotImplemented
    return _transformed("fht", a, dln=float(dln), mu=float(mu), offset=float(offset), bias=float(bias))


@_composed.composed("fft.ifht", by="A")
def _ifht(A: _Any, dln: _Any, mu: _Any, offset: _Any, bias: _Any) -> _Any:
    if _composed.watches((dln, mu, offset, bias)):
        return NotImplemented
    return _transformed("ifht", A, dln=float(dln), mu=float(mu), offset=float(offset), bias=float(bias))


_surface.constant("fft.fftfreq", "fft.rfftfreq", "fft.next_fast_len", "fft.prev_fast_len", "fft.fhtoffset")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("fft")
