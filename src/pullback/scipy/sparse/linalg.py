"""`scipy.sparse.linalg` with derivatives: direct and iterative solves by the values and the right side."""

from pullback.scipy import _surface
from pullback.scipy.sparse import _eigen, _solve  # noqa: F401  (they declare)

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("sparse.linalg")
