"""Which nodes of torch's graph lead to the tensors a pass is asked about."""

from __future__ import annotations

from typing import Any

import torch


class Reach:
    """The inputs of one pass as places in the graph; without inputs every place is one."""

    def __init__(self, inputs: list[torch.Tensor] | None) -> None:
        self.everywhere = inputs is None
        self.nodes = {tensor.grad_fn for tensor in inputs or () if tensor.grad_fn is not None}
        self.leaves = [tensor for tensor in inputs or () if tensor.grad_fn is None]

    def is_input(self, node: Any) -> bool:
        return node in self.nodes or any(getattr(node, "variable", None) is leaf for leaf in self.leaves)

    def leads(self, start: Any) -> bool:
        """Whether an input lies behind `start`."""
        pending, seen = [start], {start}
        while pending:
            for node, _ in pending.pop().next_functions:
                if node is None or node in seen:
                    continue
                if self.everywhere or self.is_input(node):
                    return True
                seen.add(node)
                pending.append(node)
        return False

    def wants(self, node: Any, position: int) -> bool:
        """Whether the pass needs the gradient that `node` computes for its input number `position`."""
        behind = node.next_functions[position][0]
        return behind is not None and (self.everywhere or self.is_input(behind) or self.leads(behind))

    def idle(self) -> set[Any]:
        """Nodes of interior inputs that lead to no other input: torch's `backward` runs them all the same."""
        return {node for node in self.nodes if not self.leads(node)}
