"""`scipy.optimize.elementwise`: roots of many equations at once, by their parameters; the rest is guarded."""

from pullback.scipy import _surface
from pullback.scipy.optimize import _roots  # noqa: F401  (it declares)

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("optimize.elementwise")
