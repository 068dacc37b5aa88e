"""`scipy.spatial.distance` with derivatives, by the vectors and by the parameters of the metrics."""

from pullback.scipy import _surface
from pullback.scipy.spatial import _geometry, _metrics  # noqa: F401

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("spatial.distance")
