"""`scipy.cluster.hierarchy`: trees of clusters do not move with their points; SciPy's functions, guarded."""

from pullback.scipy import _surface

_surface.refuse(
    "which clusters are joined is decided by comparisons, and heights jump where that changes",
    *(f"cluster.hierarchy.{_name}" for _name in (
        "average", "centroid", "complete", "cophenet", "fclusterdata", "linkage", "median", "single", "ward",
        "weighted",
    )),
)  # fmt: skip

__getattr__, __dir__ = _surface.attach(globals())

__all__ = _surface.declared_names("cluster.hierarchy")
