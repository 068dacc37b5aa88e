"""Tensors and the rest of the world: NumPy's protocols, arrays, Python numbers, and text.

Importing this package gives `Tensor` these members; nothing here is called by name.
"""

from pullback.errors import DetachedScalarWarning
from pullback.interop import _array_api, _conversion
from pullback.interop._array_function import array_function as _array_function
from pullback.interop._numpy import array_ufunc as _array_ufunc
from pullback.tensors import printing
from pullback.tensors.tensor import Tensor as _Tensor

__all__ = ["DetachedScalarWarning"]


def _bind() -> None:
    """Give `Tensor` the members of this package."""
    printing.bind()
    protocols = {"__array_ufunc__": _array_ufunc, "__array_function__": _array_function}
    for name, member in (_conversion.MEMBERS | _array_api.MEMBERS | protocols).items():
        setattr(_Tensor, name, member)


_bind()
