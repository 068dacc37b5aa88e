"""`scipy.sparse.csgraph` with derivatives of lengths by weights."""

from pullback.scipy import _surface
from pullback.scipy.sparse import _graphs  # noqa: F401  (it declares)

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("sparse.csgraph")
