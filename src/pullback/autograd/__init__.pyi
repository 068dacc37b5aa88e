# Written by `make stubs` (tools/stubs), not by hand.
from collections.abc import Mapping, Sequence
from pullback.tape.history import GradientEdge
from pullback.tensors.tensor import Tensor
from pullback.typing import ArrayLike
from typing import Literal, TypeVar, overload

_K = TypeVar("_K")
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

@overload
def grad(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], inputs: Mapping[_K, Tensor], grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None=None, retain_graph: bool | None=None, create_graph: bool=False, only_inputs: bool=True, allow_unused: bool | None=None, is_grads_batched: bool=False, materialize_grads: bool=False) -> dict[_K, Tensor]: ...
@overload
def grad(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None=None, retain_graph: bool | None=None, create_graph: bool=False, only_inputs: bool=True, allow_unused: Literal[False] | None=None, is_grads_batched: bool=False, materialize_grads: bool=False) -> tuple[Tensor, ...]: ...
@overload
def grad(outputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], inputs: Tensor | GradientEdge | Sequence[Tensor | GradientEdge], grad_outputs: ArrayLike | Sequence[ArrayLike | None] | None=None, retain_graph: bool | None=None, create_graph: bool=False, only_inputs: bool=True, allow_unused: bool | None=None, is_grads_batched: bool=False, materialize_grads: bool=False) -> tuple[Tensor | None, ...]: ...
from pullback.errors import AutogradError as AutogradError
from pullback.autograd.function import Function as Function
from pullback.errors import GradcheckError as GradcheckError
from pullback.tape.input_metadata import SparseGrad as SparseGrad
from pullback.tape.backward import backward as backward
from pullback.tape.anomaly import detect_anomaly as detect_anomaly
from pullback.tape.modes import enable_grad as enable_grad
from pullback.tape.modes import enforce_grad_layout_policy as enforce_grad_layout_policy
from pullback.autograd import forward_ad as forward_ad
from pullback.autograd import function as function
from pullback.autograd import functional as functional
from pullback.tape.overwriting import get_overwrite_policy as get_overwrite_policy
from pullback.autograd._gradcheck import gradcheck as gradcheck
from pullback.autograd._gradcheck import gradgradcheck as gradgradcheck
from pullback.autograd import graph as graph
from pullback.tape.modes import inference_mode as inference_mode
from pullback.tape.anomaly import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from pullback.tape.anomaly import is_anomaly_enabled as is_anomaly_enabled
from pullback.tape.modes import is_grad_enabled as is_grad_enabled
from pullback.tape.modes import is_inference_mode_enabled as is_inference_mode_enabled
from pullback.tape.modes import no_grad as no_grad
from pullback.tape.overwriting import overwrite_policy as overwrite_policy
from pullback.autograd import profiler as profiler
from pullback.tape.anomaly import set_detect_anomaly as set_detect_anomaly
from pullback.tape.modes import set_grad_enabled as set_grad_enabled
from pullback.tape.modes import set_multithreading_enabled as set_multithreading_enabled
from pullback.tape.overwriting import set_overwrite_policy as set_overwrite_policy
