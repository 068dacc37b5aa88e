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
from pullback.core.lazy import deferred as _deferred
from pullback.errors import AutogradError, CheckpointError, GradcheckError, PerformanceWarning
from pullback.interop import _array_api
from pullback.operators import LATER as _LATER
from pullback.operators import TOP_LEVEL as _TOP_LEVEL
from pullback.operators import functions as _functions
from pullback.operators.methods import Later as _Later
from pullback.tape.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
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
_PLACES = {name: "pullback.operators.public" for name in _functions if "." not in name}
# Loaded when they are first asked for: most programs need none of them.
_LAZY = (
    "aot", "data", "distributed", "func", "init", "lax", "library", "optim", "random", "scipy", "testing", "tree",
    "utils", *_LATER,
)  # fmt: skip
_PLACES |= {name: f"pullback.{name}" for name in _LAZY}
_PLACES |= {name: f"pullback.{family}" for family, names in _TOP_LEVEL.items() for name in names}
_PLACES["scipy_value_and_grad"] = "pullback.interop._conversion"
_PLACES |= {"checkpoint": "pullback.utils.checkpoint", "compile": "pullback._compile", "help": "pullback.utils._help"}
_PLACES |= dict.fromkeys(("cond", "fori_loop", "scan", "while_loop"), "pullback.aot._control")
_PLACES |= dict.fromkeys(("get_num_threads", "set_num_threads"), "pullback.core.threads")
_PLACES["show_versions"] = "pullback.utils._versions"
_PLACES |= dict.fromkeys(("is_native_eager", "set_native_eager"), "pullback.eager.large")
_PLACES |= dict.fromkeys(("ShapeDtype", "device"), "pullback.library")
_TRANSFORMS = ("grad", "hessian", "jacfwd", "jacrev", "jvp", "value_and_grad", "vjp", "vmap")
_PLACES |= dict.fromkeys(_TRANSFORMS, "pullback.func")
_PLACES |= dict.fromkeys(("dataclass", "register_dataclass"), "pullback.tree._dataclasses")
_PLACES |= dict.fromkeys(("LoadReport", "load", "save"), "pullback.tree._files")
# `pb.ops` are the operators that users define, by name; the built-in ones are in `pullback.operators`.
_PLACES |= dict.fromkeys(("memory", "profile", "show"), "pullback.pictures")
_PLACES |= {"set_progress": "pullback.core.progress", "set_traceback": "pullback.core.frames"}
_PLACES |= {"Payload": "pullback.payloads.wrapped"}
_PLACES |= dict.fromkeys(("parts", "wrap"), "pullback.operators.assembly")
_PLACES["ops"] = "pullback.library._namespace"
__getattr__, __dir__ = _deferred(globals(), _PLACES)


def _pictured(name: str) -> _Any:
    """A member of `Tensor` that draws, loaded when it is first asked for."""
    return _import_module("pullback.pictures.members").MEMBERS[name]


for _name in ("graph", "_repr_mimebundle_"):
    setattr(Tensor, _name, _Later(_name, _pictured, _name))

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
