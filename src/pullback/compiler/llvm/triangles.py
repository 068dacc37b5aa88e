"""`tril`, `triu` and matrices with a given diagonal: an element is read or is 0, as its place in the matrix says."""

from __future__ import annotations

from collections.abc import Callable

from pullback.compiler.access import Accesses, squeezed
from pullback.compiler.fusion import Expression, Item, Position
from pullback.compiler.llvm.items import assembled, element, fits_kind, region
from pullback.compiler.llvm.scalars import Rule
from pullback.compiler.llvm.text import kind_of
from pullback.graph.ir import Node, Value
from pullback.graph.types import empty_like_type


def _triangle(sign: int) -> Callable[[Node, Accesses], Item | None]:
    def make(node: Node, accesses: Accesses) -> Item | None:
        (x,), shape = node.operands, node.result.type.shape
        kind = kind_of(node.result.type.dtype)
        if type(x) is not Value or kind is None or x.type.dtype != node.result.type.dtype or len(shape) < 2:
            return None
        if x.type.shape != shape:
            return None
        steps = [0] * (len(shape) - 2) + [sign, -sign]
        # Below a diagonal: row - column + k is not negative.
        below = Position(sign * node.attrs["k"], tuple([s for s, n in zip(steps, shape, strict=True) if n != 1]))
        is_kept = Expression(Rule("ge", ("i8", "i8"), "b1"), "b1", (below, 0))
        reads = (is_kept, element(x, accesses, shape), False if kind == "b1" else 0)
        return Item(node, node.result, squeezed(shape), reads, Rule("select", ("b1", kind, kind), kind))

    return make


def _diagonal(node: Node, accesses: Accesses) -> Item | None:
    """Zeros, and `x` on the diagonals."""
    (x,), attrs = node.operands, node.attrs
    if type(x) is not Value or not fits_kind(x, node):
        return None
    whole = empty_like_type(node.result.type)
    view = whole.diagonal(attrs["offset"], attrs["axis1"], attrs["axis2"])
    return assembled(node, [region(whole, whole, 0), region(view, whole, element(x, accesses, x.type.shape))])


MAKERS = {"tril": _triangle(1), "triu": _triangle(-1), "_from_diagonal": _diagonal}
