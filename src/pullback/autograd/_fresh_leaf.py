"""`FreshLeaf`: the node behind an argument that a reverse transform differentiates with respect to."""

from __future__ import annotations

from typing import Any

from pullback.autograd._node import Node
from pullback.core.state import next_stamp


class FreshLeaf(Node):
    """Where the gradients of a transform are collected. For everybody outside it is the identity: what arrives goes
    on to the history that the caller's argument has, if any."""

    __slots__ = ("next_nr",)

    @classmethod
    def behind(cls, spec: Any, edge: tuple[Node | None, int]) -> FreshLeaf:
        """A new leaf of this shape and dtype, in front of `edge`."""
        node = cls()
        node.next = () if edge[0] is None else (edge[0],)
        node.next_nr = None if edge[1] == 0 else (edge[1],)
        node.spec = spec
        node.rare = None
        node.seq = next_stamp()
        return node

    def name(self) -> str:
        return "FreshLeaf"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        return grads if self.next else ()
