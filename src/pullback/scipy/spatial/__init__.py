"""`scipy.spatial` with derivatives: distances, nearest neighbours, hulls and rotations."""

from pullback.scipy import _surface
from pullback.scipy.spatial import _geometry

_surface.declare_as("spatial.KDTree", _geometry.KDTree, kind="A", by="points, data; indices are constants")
_surface.declare_as("spatial.cKDTree", _geometry.KDTree, kind="A", by="points, data; indices are constants")
_surface.declare_as("spatial.ConvexHull", _geometry.ConvexHull, kind="C", by="points, of volume and area")
_surface.constant("spatial.tsearch")


def _stand_in(value: object) -> object | None:
    """What stands for a tree or hull that SciPy has made; None if it is neither."""
    theirs = _surface.scipy_module("spatial")
    if isinstance(value, theirs.cKDTree):
        return _geometry.KDTree(value.data, boxsize=value.boxsize)
    return _geometry.ConvexHull(value.points) if isinstance(value, theirs.ConvexHull) else None


__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("spatial")
