"""`scipy.fftpack` with derivatives of its transforms."""

from pullback.scipy import _surface, _twins

_twins.declare_existing("fftpack")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("fftpack")
