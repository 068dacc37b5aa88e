"""Nodes recorded where batch dimensions exist.

Such a node remembers which levels were active, and which its operands and outputs have. Its formula runs with the
same levels active again, so that a pass from outside of the vmap sees the same world. A gradient for an operand that
lacks a level of the output is summed over it: that operand was used by every example. Not over levels that are active
where the pass was started, though: there the pass itself belongs to one example.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pullback.autograd._scope import Scope
from pullback.core.state import Modes
from pullback.eager.nodes import OpNode
from pullback.payloads.batched import BatchedArray, levels_of
from pullback.payloads.crossing import enter_level
from pullback.tensors.tensor import Tensor


class ScopedNode(OpNode):
    """An `OpNode` with a `Scope`."""

    __slots__ = ("_scope",)

    _scope: Scope

    @classmethod
    def within(cls, modes: Modes, operands: tuple[Any, ...]) -> ScopedNode:
        """A node recorded under these modes."""
        node = cls()
        node._scope = Scope(modes.vmaps, tuple([levels_of(x._data) if isinstance(x, Tensor) else () for x in operands]))
        return node

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        with self._scope.reinstated():
            results = super().evaluate(grads, as_tensors, wanted)
            exempt = self.params["level"] if self.op is enter_level else None
            return self._scope.reduced(results, exempt)


def all_plain(operands: Iterable[Any]) -> bool:
    """Has no operand a batch dimension?"""
    return not any(isinstance(x, Tensor) and type(x._data) is BatchedArray for x in operands)
