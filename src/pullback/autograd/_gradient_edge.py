"""`GradientEdge`: a place in the graph, named without the tensor that was there."""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.autograd._node import Node
from pullback.autograd._variable import edge_of, requires_grad
from pullback.errors import AutogradError
from pullback.tensors.tensor import Tensor


class GradientEdge(NamedTuple):
    """Output `output_nr` of `node`. It can stand for a tensor in `grad` and `backward`, and keeps the graph alive."""

    node: Node
    output_nr: int
    ownership_token: Any = None

    def check(self) -> None:
        """Raise TypeError if this does not name a node."""
        if not isinstance(self.node, Node):
            raise TypeError(f"the first element of a GradientEdge must be a Node, got {type(self.node).__name__}")


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The gradient edge of a tensor that requires grad, for use where the tensor itself should not be kept."""
    if not requires_grad(tensor):
        raise AutogradError(
            "NO_EDGE",
            "a tensor that does not require grad has no gradient edge",
            why="no operation on it is recorded",
            fix="call requires_grad_() on it, or use the result of a recorded operation",
        )
    node, number = edge_of(tensor)
    return GradientEdge(node, number)  # type: ignore[arg-type]
