"""`argmax` and `argmin`: the smallest position at which the element equals the largest, or smallest, one.

Two reductions over the same loops, the second a stage after the first. If there is a NaN, it is what is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pullback.compiler.items.common import Fold, assembled, element, fits_kind, fold_of, region
from pullback.compiler.loops.access import Accesses, own_strides, squeezed
from pullback.compiler.loops.fusion import Element, Expression, Item, Position
from pullback.compiler.loops.kernel import Compute, Constant, Kernel, Read, Reference, Running, Write
from pullback.compiler.loops.scalars import Rule
from pullback.compiler.loops.text import FLOATS, can_cast, kind_of
from pullback.graph.ir import Node, Value, array_type, empty_like_type, find_operator, row_major


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


# `cumsum` and `cumprod`: a loop along one axis that writes what it has added up so far. In a recurrence that is
# multiplied by another operand at every step.
#
# Vectors lie along another axis, if there is one, so that lanes are rows that are independent of each other.

class Cumulative(NamedTuple):
    """How elements along an axis are combined, in which kind, and whether from the end."""

    combine: str
    kind: str
    axis: int
    is_reverse: bool


def cumulative(node: Node, accesses: Accesses) -> Item | None:
    """A scan that a ufunc does. Of two operands, the first multiplies what has been combined."""
    kind, shape = kind_of(node.result.type.dtype), node.result.type.shape
    if kind in (None, "b1") or set(node.attrs) - {"axis", "dtype", "reverse"}:
        return None
    assert kind is not None
    if not all(type(x) is Value and x.type.shape == shape and _is_cast(x, kind) for x in node.operands):
        return None
    reads = [element(x, accesses, shape) for x in reversed(node.operands)]
    if len(reads) == 2 and not (kind in FLOATS and all(isinstance(read, Element) for read in reads)):
        return None
    axis = node.attrs["axis"] % len(shape)
    if shape[axis] == 1:
        return Item(node, node.result, squeezed(shape), tuple(reads[:1]), Rule("identity", (kind,), kind))
    place = sum(length != 1 for length in shape[:axis])
    what = Cumulative(fold_of(node), kind, place, node.attrs.get("reverse", False))
    return Item(node, node.result, None, tuple(reads), what)


def _is_cast(x: Value, kind: str) -> bool:
    own = kind_of(x.type.dtype)
    return own is not None and can_cast(own, kind)


def running_kernel(item: Item, what: Cumulative) -> Kernel:
    """The kernel of parameters result and operands, unless the only one is a number; not arranged yet."""
    # path: running sum
    lengths, steps = squeezed(item.result.type.shape), own_strides(item.result.type)
    references = [Reference(0, what.kind, 0, steps)]
    values: list[Any] = []
    for read in item.reads:
        if isinstance(read, Element):
            values.append(Read(len(references), False))
            references.append(Reference(len(references), read.kind, read.offset, read.strides))
        else:
            values.append(Constant(what.kind, read))
    if what.is_reverse:
        references = [_reversed(ref, what.axis, lengths[what.axis]) for ref in references]
    count = len(values)
    values += [Compute("identity", (what.kind,), what.kind, (k,), False) for k in range(count)]
    values.append(Running(what.combine, what.kind, count, 0, factor=count + 1 if count == 2 else None))
    return Kernel(
        lengths, tuple([axis == what.axis for axis in range(len(lengths))]), tuple(references), tuple(values),
        (Write(2 * count, 0, 0, False),), (), 1, -1, 1, len(references), frozenset({0}),
    )  # fmt: skip


def _reversed(ref: Reference, axis: int, length: int) -> Reference:
    strides = tuple([-step if k == axis else step for k, step in enumerate(ref.strides)])
    return ref._replace(offset=ref.offset + (length - 1) * ref.strides[axis], strides=strides)


# `tril`, `triu` and matrices with a given diagonal: an element is read or is 0, as its place in the matrix says.

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


MAKERS |= {"tril": _triangle(1), "triu": _triangle(-1), "_from_diagonal": _diagonal}
