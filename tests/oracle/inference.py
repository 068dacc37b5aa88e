"""Operations on inference tensors that require grad, recorded (rule §9.4).

Torch records an operation only if some operand is no inference tensor, whatever the operands' flags say. Here a flag
is a flag: the operand is replaced by a normal copy that leads to it, or the whole view becomes one recorded step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .saved import RuleError


class Connect(torch.autograd.Function):
    """A normal copy of a tensor, with the tensor behind it."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0]


class RecordedView(torch.autograd.Function):
    """Views of an inference tensor: inference tensors themselves, with history."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, view: Callable[[Any], Any]) -> Any:
        ctx.shape, ctx.dtype, ctx.view = x.shape, x.dtype, view
        with torch.inference_mode():
            value = view(x)
        return value if isinstance(value, torch.Tensor) else tuple(value)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        keep, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
        with torch.inference_mode(False), torch.enable_grad():
            stand_in = torch.zeros(ctx.shape, dtype=ctx.dtype, requires_grad=True)
            value = ctx.view(stand_in)
            outputs = [value] if isinstance(value, torch.Tensor) else list(value)
            given = [Connect.apply(g) if g is not None and is_flagged(g) else g for g in grads]
            (gradient,) = torch.autograd.grad(outputs, [stand_in], given, create_graph=keep and not inference)
        return gradient.clone() if inference else gradient, None


def is_flagged(tensor: torch.Tensor) -> bool:
    """An inference tensor that requires grad, where operations are recorded."""
    recorded = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    return recorded and tensor.is_inference() and tensor.requires_grad


def needs_connection(operands: list[torch.Tensor]) -> bool:
    """Whether torch would forget that one of these requires grad."""
    return any(map(is_flagged, operands)) and all(operand.is_inference() for operand in operands)


@contextmanager
def refusing(copies: list[torch.Tensor], pack: Callable[[Any], Any], unpack: Callable[[Any], Any]) -> Iterator[None]:
    """Raise when one of `copies`, which stand for inference tensors, is saved; others are packed with `pack`."""

    def check(tensor: torch.Tensor) -> Any:
        if any(tensor is copy for copy in copies):
            raise RuleError("INFERENCE_SAVE")
        return pack(tensor)

    with torch.autograd.graph.saved_tensors_hooks(check, unpack):
        yield
