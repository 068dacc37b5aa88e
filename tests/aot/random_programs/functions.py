"""Custom Functions for random programs, under the name `fn`: views, writes, several results, formulas of their own."""

from __future__ import annotations

from typing import Any

import pullback as pb


class Halved(pb.autograd.Function):
    """A product with a formula of its own for the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y * 0.5, g * x * 2.0


class Flattened(pb.autograd.Function):
    """A view."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.shape = x.shape
        return x.reshape(-1)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g.reshape(ctx.shape) * 0.5


class Both(pb.autograd.Function):
    """Two results, of which the second may have no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x.sin(), x * 2.0

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return g * ctx.saved_tensors[0] + h


class Fixed(pb.autograd.Function):
    """Its gradient is computed by forward, and the same whatever arrives."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x * 2.0)
        return (x * x).sum()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return ctx.saved_tensors[0]


class Doubled(pb.autograd.Function):
    """Writes to what it is given."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2.0)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * 3.0
