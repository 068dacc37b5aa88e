"""Commands of a plan that call external functions. The other commands are `Launch` and loops of commands."""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.compiler.items.blas import Product
from pullback.compiler.items.loops import Routine
from pullback.compiler.loops.fusion import Element
from pullback.graph.ir import Value


class Call(NamedTuple):
    """A product of matrices: two operands with their offsets in bytes, and the result."""

    product: Product
    left: Element
    right: Element
    out: Value

    @property
    def buffers(self) -> tuple[Any, ...]:
        """The buffers it reads and writes."""
        return (self.left.root, self.right.root, self.out)


class RoutineCall(NamedTuple):
    """A routine: where its operands are, with their offsets in bytes, and its results."""

    routine: Routine
    reads: tuple[Element, ...]
    results: tuple[Value, ...]

    @property
    def buffers(self) -> tuple[Any, ...]:
        """The buffers it reads and writes."""
        return (*[read.root for read in self.reads], *self.results)
