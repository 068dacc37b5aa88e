"""`Reverse`: what all reverse formulas have in common."""

from __future__ import annotations

from typing import Any

from pullback.library._call import Call


class Reverse:
    """A reverse formula: `backward(ctx, call, gradients)` has one gradient per output in and one per operand out."""

    reads_values = False  # operands and outputs have to be saved for it
    node_name: str | None = None
    location = "nowhere"

    def backward(self, ctx: Any, call: Call, gradients: list[Any]) -> list[Any]:
        """Gradients of the operands."""
        raise NotImplementedError  # abstract
