"""Derivatives for NumPy programs, with PyTorch's autograd semantics.

    import pullback as pb
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.grad                                     # tensor([2., 4.])

Array functions have the names of the array API standard and of NumPy, and torch's where these do not clash;
`pb.autograd` has everything about differentiation.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

import numpy as _np

from pullback import autograd, interop
from pullback.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from pullback.errors import AutogradError, CheckpointError, GradcheckError, PerformanceWarning
from pullback.interop import _array_api
from pullback.ops import LATER as _LATER
from pullback.ops import TOP_LEVEL as _TOP_LEVEL
from pullback.ops import functions as _functions
from pullback.tensors.tensor import Tensor

__version__ = "0.1.0"
__array_api_version__ = _array_api.ARRAY_API_VERSION
__array_namespace_info__ = _array_api.array_namespace_info

_dtypes = {
    name: _np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
        "float64", "complex64", "complex128", "longdouble",
    )
}  # fmt: skip
_constants = {name: getattr(_np, name) for name in ("e", "euler_gamma", "inf", "nan", "newaxis", "pi")}
_functions = {name: function for name, function in _functions.items() if "." not in name}
globals().update(_functions | _dtypes | _constants)

# Loaded when they are first asked for: most programs need none of them.
_LAZY = ("func", "lax", "library", "random", "testing", "utils", *_LATER)
_FROM = {name: family for family, names in _TOP_LEVEL.items() for name in names}
_FROM["scipy_value_and_grad"] = "interop._scipy"
_FROM |= {"ShapeDtype": "library", "device": "library", "ops": "library._packets", "vmap": "func"}
# `pb.ops` are the operators that users define, by name. The package of built-in ones, which importing it has bound
# here under the same name, is internal and is imported as `pullback.ops`.
del globals()["ops"]


def __getattr__(name: str) -> _Any:
    if name in _LAZY:
        return _import_module(f"pullback.{name}")
    if name in _FROM:
        value = globals()[name] = getattr(_import_module(f"pullback.{_FROM[name]}"), name)
        return value
    raise AttributeError(f"module 'pullback' has no attribute {name!r}")


__all__ = [
    "AutogradError",
    "CheckpointError",
    "GradcheckError",
    "PerformanceWarning",
    "Tensor",
    "autograd",
    "enable_grad",
    "inference_mode",
    "interop",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
    *_functions,
    *_dtypes,
    *_constants,
    *_LAZY,
    *_FROM,
]


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY, *_FROM})
