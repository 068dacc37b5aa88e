"""`scipy.fft` with derivatives."""

from pullback.scipy import _surface, _twins

_twins.declare_existing("fft")

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("fft")
