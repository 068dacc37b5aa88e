"""Rules that replace a value by one that is equal to the last bit. `graph/simplify.py` lists them.

`x+0.0` is not simplified, because -0.0 + 0.0 is 0.0; `x*0` and `x-x` are not, because of nan and inf. For the same
reasons complex numbers are multiplied by 1 after all, and floats are summed over no axes: that makes 0.0 of -0.0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.graph.ir import Node, Value
from pullback.graph.simplifier import Simplifier

# Arithmetic -----------------------------------------------------------------------------------------------------------


def number_of(x: Any) -> Any:
    """The number that an operand is: a Python number, or a constant of one element. None if it is neither."""
    if type(x) is not Value:
        return x
    node = x.node
    return node.attrs["value"].item() if node is not None and node.op == "constant" and x.type.size == 1 else None


def _kind(x: Any) -> str:
    return x.type.dtype.kind if type(x) is Value else ""


def _is_one(x: Any, other: Any) -> bool:
    return number_of(x) == 1 and _kind(other) in tuple("fiub")


def _is_nothing(x: Any, other: Any, sign: float) -> bool:
    """Is `x` a zero that changes nothing? Of floats only the zero with this sign is one."""
    number = number_of(x)
    if number is None or number != 0:
        return False
    kind = _kind(other)
    if kind in tuple("iu"):
        return True
    if isinstance(number, complex):
        return False
    return kind in tuple("f" if sign < 0 else "fc") and bool(np.copysign(1.0, number) == sign)


def multiply(rules: Simplifier, node: Node) -> Value | None:
    """`x * 1`."""
    x, y = node.operands
    return x if _is_one(y, x) else y if _is_one(x, y) else None


def divide(rules: Simplifier, node: Node) -> Value | None:
    """`x / 1`, and `x ** 1`."""
    x, y = node.operands
    return x if _is_one(y, x) else None


def subtract(rules: Simplifier, node: Node) -> Value | None:
    """`x - 0.0`."""
    x, y = node.operands
    return x if _is_nothing(y, x, 1.0) else None


def add(rules: Simplifier, node: Node) -> Value | None:
    """`x + (-0.0)`, and a gradient that is not there."""
    x, y = node.operands
    if x is None or y is None:
        return x if y is None else y
    return x if _is_nothing(y, x, -1.0) else y if _is_nothing(x, y, -1.0) else None


def twice(rules: Simplifier, node: Node) -> Value | None:
    """An operator that is its own inverse."""
    inner = _maker(node.operands[0])
    return inner.operands[0] if inner is not None and inner.target is node.target else None


def sum_over_nothing(rules: Simplifier, node: Node) -> Value | None:
    """A sum over no axes, of integers."""
    (x,) = node.operands
    return x if node.attrs["axis"] == () and _kind(x) in tuple("iub") else None


def astype(rules: Simplifier, node: Node) -> Value | None:
    """A cast to the dtype that is there, or there and back."""
    (x,) = node.operands
    if _dtype(node) == x.type.dtype:
        return x
    inner = _maker(x)
    if inner is None or inner.target is not node.target:
        return None
    (source,) = inner.operands
    is_kept = _dtype(node) == source.type.dtype and _holds(_dtype(inner), source.type.dtype)
    return source if is_kept else None


def _dtype(node: Node) -> np.dtype[Any]:
    return np.dtype(node.attrs["dtype"])


def _holds(wide: np.dtype[Any], narrow: np.dtype[Any]) -> bool:
    """Has every number of one dtype its place in the other? NumPy counts int64 to float64 as safe, which rounds."""
    if not np.can_cast(narrow, wide, "safe"):
        return False
    if narrow.kind in "iu" and wide.kind in "fc":
        return np.finfo(wide).nmant >= 8 * narrow.itemsize
    return True


# Views ----------------------------------------------------------------------------------------------------------------


def _maker(x: Any) -> Node | None:
    return x.node if type(x) is Value else None


def same(rules: Simplifier, node: Node) -> Value | None:
    """All of `x`."""
    value: Value = node.operands[0]
    return value


def permute(rules: Simplifier, node: Node) -> Value | None:
    """Axes in the order that they have; one permutation for two."""
    (x,), axes = node.operands, node.attrs["axes"]
    inner = _maker(x)
    is_double = inner is not None and inner.target is node.target
    if is_double and inner is not None:
        (x,), first = inner.operands, inner.attrs["axes"]
        axes = tuple([first[axis] for axis in axes])
    if axes == tuple(range(len(axes))):
        return x
    return rules.add("permute_dims", (x,), {"axes": axes}, node.result.type, node) if is_double else None


def reshape(rules: Simplifier, node: Node) -> Value | None:
    """The shape that is there; one reshape for two."""
    (x,) = node.operands
    if x.type.shape == node.result.type.shape:
        return x
    inner = _maker(x)
    if inner is None or inner.op not in ("_reshape", "_view") or inner.operands[0].type.strides is not None:
        return None
    (x,) = inner.operands
    if x.type.shape == node.result.type.shape:
        return x
    return rules.add(node.op, (x,), node.attrs, node.result.type, node)


def broadcast(rules: Simplifier, node: Node) -> Value | None:
    """The shape that is there."""
    (x,) = node.operands
    return x if x.type.shape == node.result.type.shape else None


def basic_index(rules: Simplifier, node: Node) -> Value | None:
    """`x[:]`."""
    (x,) = node.operands
    return x if is_full_index(node.attrs["index"], x.type.shape) else None


def is_full_index(index: Any, shape: tuple[int, ...]) -> bool:
    """Does `x[index]` have everything of an array of this shape, in its order?"""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(part is Ellipsis or isinstance(part, slice) for part in parts):
        return False
    before = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    lengths = [*shape[:before], *shape[len(shape) - (len(parts) - before - 1) :]] if before < len(parts) else shape
    slices = [part for part in parts if part is not Ellipsis]
    ranges = (part.indices(length) for part, length in zip(slices, lengths))
    return all(found == (0, length, 1) for found, length in zip(ranges, lengths))
