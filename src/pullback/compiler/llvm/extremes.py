"""`argmax` and `argmin`: the smallest position at which the element equals the largest, or smallest, one.

Two reductions over the same loops, the second a stage after the first. If there is a NaN, it is what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.compiler.access import Accesses, own_strides, squeezed
from pullback.compiler.fusion import Element, Expression, Item, Position
from pullback.compiler.llvm.items import Fold, element
from pullback.compiler.llvm.scalars import Rule
from pullback.compiler.llvm.text import FLOATS, kind_of
from pullback.graph.ir import Node, Value
from pullback.graph.operators import find_operator
from pullback.graph.types import array_type, row_major


def _of_extreme(reduction: str, combine: str) -> Callable[[Node, Accesses], Item | None]:
    def make(node: Node, accesses: Accesses) -> Item | None:
        (x,) = node.operands
        axes = _axes(node)
        read = element(x, accesses, x.type.shape) if type(x) is Value else None
        kept = [axis for axis, length in enumerate(x.type.shape) if length != 1] if axes is not None else []
        reduced = frozenset(place for place, axis in enumerate(kept) if axis in (axes or ()))
        if axes is None or type(read) is not Element or not reduced or kind_of(node.result.type.dtype) != "i8":
            return None
        shape = squeezed(x.type.shape)
        peak = _peak(x, axes, read, Fold(combine, read.kind), reduced, reduction)
        rest = iter(own_strides(peak.result.type))
        steps = tuple([0 if place in reduced else next(rest) for place in range(len(shape))])
        found = _position_of(read, Element(peak.result, read.kind, 0, steps), _position(kept, axes, x.type.shape))
        return Item(node, node.result, shape, (found,), Fold("minimum", "i8"), reduced, before=(peak,))

    return make


def _axes(node: Node) -> tuple[int, ...] | None:
    """The axes that are searched; a kernel that is called with several is not NumPy's."""
    axis, x = node.attrs["axis"], node.operands[0]
    if type(x) is not Value:
        return None
    if axis is None:
        return tuple(range(x.type.ndim))
    return (axis % x.type.ndim,) if type(axis) is int else None


def _peak(x: Value, axes: tuple[int, ...], read: Element, fold: Fold, reduced: Any, name: str) -> Item:
    shape = tuple([1 if axis in axes else length for axis, length in enumerate(x.type.shape)])
    node = Node(find_operator(name), name, (x,), {"axis": axes, "keepdims": True})
    node.results = (Value(array_type(shape, x.type.dtype), node),)
    return Item(node, node.result, squeezed(x.type.shape), (read,), fold, reduced)


def _position(kept: list[int], axes: tuple[int, ...], shape: tuple[int, ...]) -> Position:
    """The number of an element along the axes, in row-major order."""
    steps = dict(zip(axes, row_major(tuple([shape[axis] for axis in axes]), 1), strict=True))
    return Position(0, tuple([steps.get(axis, 0) for axis in kept]))


def _position_of(x: Element, peak: Element, position: Position) -> Expression:
    """The position where an element is the extreme one, and a number larger than all positions elsewhere."""
    found = Expression(Rule("eq", (x.kind, x.kind), "b1"), "b1", (x, peak))
    if x.kind in FLOATS:
        is_nan = Expression(Rule("isnan", (x.kind,), "b1"), "b1", (x,))
        found = Expression(Rule("bitwise_or", ("b1", "b1"), "b1"), "b1", (found, is_nan))
    nowhere = (1 << 63) - 1
    return Expression(Rule("select", ("b1", "i8", "i8"), "i8"), "i8", (found, position, nowhere))


MAKERS = {"argmax": _of_extreme("amax", "maximum"), "argmin": _of_extreme("amin", "minimum")}

