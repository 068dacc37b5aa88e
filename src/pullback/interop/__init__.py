"""Tensors and the rest of the world: NumPy's protocols, arrays, Python numbers, and text.

Importing this package gives `Tensor` these members. What is called by name is about arrays of other libraries.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from pullback.core.lazy import deferred as _deferred
from pullback.errors import DetachedScalarWarning, DetachedWarning
from pullback.interop import _array_api, _conversion
from pullback.operators.methods import Later as _Later
from pullback.tensors import printing
from pullback.tensors.tensor import Tensor as _Tensor

_LATER = ("Kind", "as_jax_function", "as_torch_function", "compute", "jax_key", "no_sync", "on_host", "register_kind")
__getattr__, __dir__ = _deferred(globals(), dict.fromkeys(_LATER, "pullback.interop._foreign"))

__all__ = ["DetachedScalarWarning", "DetachedWarning", *_LATER]


def _bind() -> None:
    """Give `Tensor` the members of this package."""
    printing.bind()
    for name, member in (_conversion.MEMBERS | _array_api.MEMBERS).items():
        setattr(_Tensor, name, member)
    for name, module in {"array_ufunc": "_ufuncs", "array_function": "_array_function"}.items():
        setattr(_Tensor, f"__{name}__", _Later(f"__{name}__", _protocol, module, name))


def _protocol(module: str, name: str) -> _Any:
    """What NumPy calls, loaded when it first calls it."""
    return getattr(_import_module(f"pullback.interop.{module}"), name)


_bind()
