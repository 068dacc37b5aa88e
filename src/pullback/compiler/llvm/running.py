"""`cumsum` and `cumprod`: a loop along one axis that writes what it has added up so far.

Vectors lie along another axis, if there is one, so that lanes are rows that are independent of each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from pullback.compiler.access import Accesses, own_strides, squeezed
from pullback.compiler.fusion import Element, Item
from pullback.compiler.llvm.items import element
from pullback.compiler.llvm.kernel import Compute, Constant, Kernel, Read, Reference, Running, Write
from pullback.compiler.llvm.scalars import Rule
from pullback.compiler.llvm.text import can_cast, kind_of
from pullback.graph.ir import Node, Value


class Cumulative(NamedTuple):
    """How elements along an axis are combined, in which kind, and whether from the end."""

    combine: str
    kind: str
    axis: int
    is_reverse: bool


def _cumulative(node: Node, accesses: Accesses) -> Item | None:
    (x,) = node.operands
    kind = kind_of(node.result.type.dtype)
    if type(x) is not Value or kind in (None, "b1") or set(node.attrs) - {"axis", "dtype", "reverse"}:
        return None
    own, axis, shape = kind_of(x.type.dtype), node.attrs["axis"] % x.type.ndim, x.type.shape
    assert kind is not None
    if own is None or not can_cast(own, kind):
        return None
    read = element(x, accesses, shape)
    if shape[axis] == 1:
        return Item(node, node.result, squeezed(shape), (read,), Rule("identity", (kind,), kind))
    combine = "add" if node.op == "cumsum" else "mul"
    place = sum(length != 1 for length in shape[:axis])
    return Item(node, node.result, None, (read,), Cumulative(combine, kind, place, node.attrs.get("reverse", False)))


def running_kernel(item: Item, what: Cumulative) -> Kernel:
    """The kernel of parameters result and operand, unless that is a number; not arranged yet."""
    (read,) = item.reads
    lengths, steps = squeezed(item.result.type.shape), own_strides(item.result.type)
    references = [Reference(0, what.kind, 0, steps)]
    first: Any = Constant(what.kind, read)
    if isinstance(read, Element):
        references.append(Reference(1, read.kind, read.offset, read.strides))
        first = Read(1, False)
    if what.is_reverse:
        references = [_reversed(ref, what.axis, lengths[what.axis]) for ref in references]
    cast = Compute("identity", (what.kind,), what.kind, (0,), False)
    return Kernel(
        lengths, tuple([axis == what.axis for axis in range(len(lengths))]), tuple(references),
        (first, cast, Running(what.combine, what.kind, 1, 0)), (Write(2, 0, 0, False),), (), 1, -1, 1,
        len(references), frozenset({0}),
    )  # fmt: skip


def _reversed(ref: Reference, axis: int, length: int) -> Reference:
    strides = tuple([-step if k == axis else step for k, step in enumerate(ref.strides)])
    return ref._replace(offset=ref.offset + (length - 1) * ref.strides[axis], strides=strides)


MAKERS = {"cumsum": _cumulative, "cumprod": _cumulative}
