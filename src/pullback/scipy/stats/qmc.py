"""`scipy.stats.qmc`: SciPy's functions, guarded."""

from pullback.scipy import _surface

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("stats.qmc")
