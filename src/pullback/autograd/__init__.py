"""Differentiation of recorded operations: `backward`, `grad`, custom Functions, hooks, modes and checks.

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.autograd.grad((x * x).sum(), x)            # (tensor([2., 4.]),)

`graph` has nodes, edges and hooks, `function` the base class of hand-written derivatives, `profiler` observers. The
machinery is in the underscore modules; `_engine` is the place to start reading.
"""

from typing import TYPE_CHECKING

from pullback.autograd import _fields as _fields
from pullback.autograd._anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from pullback.autograd._api import backward, grad
from pullback.autograd._policies import enforce_grad_layout_policy, set_multithreading_enabled
from pullback.autograd._sparse import SparseGrad
from pullback.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from pullback.core.deferred import deferred as _deferred
from pullback.errors import AutogradError, GradcheckError

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
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

__getattr__, __dir__ = _deferred(globals(), _PLACES)
