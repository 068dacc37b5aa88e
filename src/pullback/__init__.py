"""Derivatives for NumPy programs, with PyTorch's autograd semantics.

    import pullback as pb
    x = pb.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    x.grad                                     # tensor([2., 4.])

Array functions have the names of the array API standard and of NumPy, and torch's where these do not clash;
`pb.autograd` has everything about differentiation.
"""

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
from pullback.core.deferred import deferred as _deferred
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
globals().update(_dtypes | _constants)

# Made when they are first asked for.
_PLACES = {name: "pullback.ops.public" for name in _functions if "." not in name}
# Loaded when they are first asked for: most programs need none of them.
_LAZY = ("aot", "func", "lax", "library", "random", "testing", "utils", *_LATER)
_PLACES |= {name: f"pullback.{name}" for name in _LAZY}
_PLACES |= {name: f"pullback.{family}" for family, names in _TOP_LEVEL.items() for name in names}
_PLACES["scipy_value_and_grad"] = "pullback.interop._scipy"
_PLACES |= {"checkpoint": "pullback.utils.checkpoint", "compile": "pullback._compile"}
_PLACES |= dict.fromkeys(("cond", "fori_loop", "scan", "while_loop"), "pullback.aot._control")
_PLACES |= dict.fromkeys(("get_num_threads", "set_num_threads"), "pullback.compiler.threads")
_PLACES |= dict.fromkeys(("is_native_eager", "set_native_eager"), "pullback.eager.large")
_PLACES |= {"ShapeDtype": "pullback.library", "device": "pullback.library", "vmap": "pullback.func"}
# `pb.ops` are the operators that users define, by name. The package of built-in ones, which importing it has bound
# here under the same name, is internal and is imported as `pullback.ops`.
_PLACES["ops"] = "pullback.library._packets"
del globals()["ops"]
__getattr__, __dir__ = _deferred(globals(), _PLACES)

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
    *_dtypes,
    *_constants,
    *_PLACES,
]
