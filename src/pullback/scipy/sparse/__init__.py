"""`scipy.sparse` with derivatives by the values: constructors that are given a tensor make a `SparseTensor`."""

from pullback.scipy import _surface
from pullback.scipy.sparse import _make  # noqa: F401  (it declares)
from pullback.scipy.sparse._tensor import SparseTensor as SparseTensor

__getattr__, __dir__ = _surface.attach(globals())

__all__ = [*_surface.declared_names("sparse"), "SparseTensor"]
