"""Differentiation of recorded operations: `backward`, `grad`, custom Functions, hooks, modes and checks.

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.autograd.grad((x * x).sum(), x)            # (tensor([2., 4.]),)

`graph` has nodes, edges and hooks, `function` the base class of hand-written derivatives, `profiler` observers. The
machinery is in `pullback.tape`; its `engine` is the place to start reading.
"""

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred
from pullback.errors import AutogradError, GradcheckError
from pullback.tape import tensor_members as _tensor_members  # noqa: F401  gives `Tensor` its fields
from pullback.tape.anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from pullback.tape.backward import backward, grad
from pullback.tape.input_metadata import SparseGrad
from pullback.tape.modes import (
    enable_grad,
    enforce_grad_layout_policy,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from pullback.tape.overwriting import get_overwrite_policy, overwrite_policy, set_overwrite_policy

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.autograd import forward_ad, function, functional, graph, profiler
    from pullback.autograd._gradcheck import gradcheck, gradgradcheck
    from pullback.autograd.function import Function

_MODULES = ("forward_ad", "function", "functional", "graph", "profiler")
_PLACES = {name: f"pullback.autograd.{name}" for name in _MODULES}
_PLACES |= dict.fromkeys(("gradcheck", "gradgradcheck"), "pullback.autograd._gradcheck")
_PLACES["Function"] = "pullback.autograd.function"

__all__ = [
    "AutogradError",
    "Function",
    "GradcheckError",
    "SparseGrad",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "enforce_grad_layout_policy",
    "forward_ad",
    "function",
    "functional",
    "get_overwrite_policy",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "overwrite_policy",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "set_overwrite_policy",
]

__getattr__, __dir__ = _deferred(globals(), _PLACES)
