"""Differentiation of recorded operations: `backward`, `grad`, custom Functions, hooks, modes and checks.

    x = pb.tensor([1.0, 2.0], requires_grad=True)
    pb.autograd.grad((x * x).sum(), x)            # (tensor([2., 4.]),)

`graph` has nodes, edges and hooks, `function` the base class of hand-written derivatives, `profiler` observers. The
machinery is in the underscore modules; `_engine` is the place to start reading.
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from pullback.autograd import _fields as _fields
from pullback.autograd import forward_ad, function, graph, profiler
from pullback.autograd._anomaly import (
    detect_anomaly,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    set_detect_anomaly,
)
from pullback.autograd._api import backward, grad
from pullback.autograd._policies import enforce_grad_layout_policy, set_multithreading_enabled
from pullback.autograd._sparse import SparseGrad
from pullback.autograd.function import Function
from pullback.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from pullback.autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from pullback.errors import AutogradError

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


def __getattr__(name: str) -> _Any:
    if name == "functional":  # loaded when it is first asked for, with the pytrees that it needs
        return _import_module("pullback.autograd.functional")
    raise AttributeError(f"module 'pullback.autograd' has no attribute {name!r}")
