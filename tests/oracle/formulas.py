"""Torch's operations with Pullback's formulas, where the two read different values.

What a formula reads is seen from outside: in which write makes it fail, and, once a pass is differentiated itself, in
which tensors its gradients depend on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Product(torch.autograd.Function):
    """The product of a vector's elements. It keeps the elements; torch keeps the product as well (rule R5)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, keepdim: bool) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.prod(dim=0, keepdim=keepdim)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        one = torch.ones(1, dtype=x.dtype)
        before = torch.cat([one, x.cumprod(0)[:-1]])
        after = torch.cat([x.flip(0).cumprod(0).flip(0)[1:], one])
        return grads[0] * (before * after), None


class Quotient(torch.autograd.Function):
    """`x / y`. It keeps the divisor and the quotient; torch keeps divisor and dividend (rule §3.2)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = x / y
        ctx.shapes = x.shape, y.shape
        ctx.save_for_backward(y, out if ctx.needs_input_grad[1] else None)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        y, out = ctx.saved_tensors
        over_x = over_y = None
        if ctx.needs_input_grad[0]:
            over_x = (grads[0] * (1 / y)).sum_to_size(ctx.shapes[0])
        if ctx.needs_input_grad[1]:
            over_y = (grads[0] * (-out / y)).sum_to_size(ctx.shapes[1])
        return over_x, over_y


class Sign(torch.autograd.Function):
    """The sign, and NaN for NaN. Its derivative is 0, for which nothing need be kept; torch keeps `x` (rule R5)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x.isnan(), x, x.sgn())

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return torch.zeros_like(grads[0])


class Magnitude(torch.autograd.Function):
    """`abs(x)` with NaN for the derivative at NaN, where torch has 0 (rule §6.2)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.abs()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return grads[0] * Sign.apply(x)


class Larger(torch.autograd.Function):
    """`maximum(x, y)` whose gradient goes to the operand that is NaN, where torch gives it to both (rule §6.1)."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.shapes = x.shape, y.shape
        ctx.save_for_backward(x, y)
        return torch.maximum(x, y)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        x, y = ctx.saved_tensors
        largest = torch.maximum(x, y)
        shares = [(z == largest) | (z.isnan() & largest.isnan()) for z in (x, y)]
        total = shares[0].to(x.dtype) + shares[1].to(x.dtype)
        return tuple((grads[0] * s / total).sum_to_size(shape) for s, shape in zip(shares, ctx.shapes, strict=True))


def formula_for(op: str, text: str, operands: list[torch.Tensor]) -> tuple[str, Callable[..., Any]] | None:
    """The rule and the operation that stand for the statement `text`, or None if torch's own formula will do."""
    if op == "abs":
        return "§6.2" if has_nan(operands) else "R5", Magnitude.apply
    if op == "maximum" and has_nan(operands):
        return "§6.1", Larger.apply
    if op == "prod":
        return "R5", lambda x: Product.apply(x, "keepdim=True" in text)
    if op == "div" and len(operands) == 2:
        return "§3.2", Quotient.apply
    if op == "square" or (op == "pow" and text.endswith("** 2")):
        return "N3", lambda x: x * x
    return None


def has_nan(tensors: list[torch.Tensor]) -> bool:
    return any(bool(x.detach().isnan().any()) for x in tensors)
