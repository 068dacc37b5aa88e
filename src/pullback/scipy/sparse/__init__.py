"""`scipy.sparse` with derivatives by the values: constructors that are given a tensor make a `SparseTensor`."""

from pullback.scipy import _surface
from pullback.scipy.sparse import _make  # noqa: F401  (it declares)
from pullback.scipy.sparse._tensor import SparseMatrix as SparseMatrix
from pullback.scipy.sparse._tensor import SparseTensor as SparseTensor
from pullback.scipy.sparse._tensor import from_any as from_scipy


def _stand_in(value: object) -> object | None:
    """What stands for a sparse matrix of SciPy's in adapted code: itself, but for a method that takes no tensors."""
    return from_scipy(value) if getattr(value, "format", "") == "coo" and getattr(value, "ndim", 0) == 2 else None


__getattr__, __dir__ = _surface.attach(globals())

__all__ = [*_surface.declared_names("sparse"), "SparseMatrix", "SparseTensor", "from_scipy"]
