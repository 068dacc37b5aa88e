"""Operators that move elements, or combine few of them, as `expand` writes them out: slices, put together again."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.graph.ir import Node, Value
from pullback.graph.types import array_type, empty_like_type, type_of

Add = Any  # the writer of `expand`: (name of an operator, operands, type, **attributes) -> its result
Index = tuple[Any, ...]
_MOST_STEPS = 32  # of a recurrence that is written out


def can_be_arranged(node: Node) -> bool:
    """Is this operator such a case, and are all its operands arrays, but for what it fills with?"""
    if node.result.type.strides is not None or type(node.operands[0]) is not Value:
        return False
    if node.op == "_pad":
        return type(node.operands[1]) in (int, float) and node.operands[1] == 0
    if node.op == "_recurrence" and node.result.type.shape[node.attrs["axis"]] > _MOST_STEPS:
        return False
    return all(type(x) is Value for x in node.operands) and node.attrs.get("ord") != 0


def sliced(add: Add, x: Value, index: Index) -> Value:
    """A view of a part."""
    return add("_basic_index", (x,), type_of(empty_like_type(x.type)[index]), index=index)


def permuted(add: Add, x: Value, order: tuple[int, ...]) -> Value:
    """A view with axes in another order."""
    shape, steps = (tuple([each[k] for k in order]) for each in (x.type.shape, x.type.byte_strides))
    return add("permute_dims", (x,), array_type(shape, x.type.dtype, steps), axes=order)


def _along(axis: int, part: slice) -> Index:
    return (*(slice(None),) * axis, part, ...)


def _joined(add: Add, parts: tuple[Value, ...], axis: int) -> Value:
    first = parts[0].type
    shape = list(first.shape)
    shape[axis] = sum(part.type.shape[axis] for part in parts)
    return add("_concat", parts, array_type(tuple(shape), first.dtype), axis=axis)


def _roll(add: Add, node: Node) -> Value:
    (x,) = node.operands
    for shift, axis in zip(node.attrs["shift"], node.attrs["axis"], strict=True):
        cut = -shift % x.type.shape[axis]
        if cut:
            parts = (slice(cut, None), slice(None, cut))
            x = _joined(add, tuple([sliced(add, x, _along(axis, part)) for part in parts]), axis)
    return x if x is not node.operands[0] else add("copy", (x,), node.result.type, order="C")


def padded(add: Add, x: Value, widths: tuple[tuple[int, int], ...]) -> Value:
    """Zeros around `x`; a negative width cuts elements off."""
    lengths = list(zip(x.type.shape, widths, strict=True))
    kept = tuple([slice(max(-before, 0), n + min(after, 0)) for n, (before, after) in lengths])
    place = tuple([slice(max(before, 0), before + n + min(after, 0)) for n, (before, after) in lengths])
    shape = tuple([n + before + after for n, (before, after) in lengths])
    part = sliced(add, x, (*kept, ...))
    return add("_place_slice", (part,), array_type(shape, x.type.dtype), index=(*place, ...), shape=shape)


def _assign(add: Add, node: Node) -> Value:
    """A copy of the second operand in the shape of the first."""
    y, shape = node.operands[1], node.result.type.shape
    steps = [0 if n == 1 else step for n, step in zip(y.type.shape, y.type.byte_strides, strict=True)]
    spread = array_type(shape, y.type.dtype, (*(0,) * (len(shape) - y.type.ndim), *steps))
    return add("copy", (add("broadcast_to", (y,), spread, shape=shape),), node.result.type, order="C")


def _shift(add: Add, node: Node) -> Value:
    (x,), axis, is_up = node.operands, node.attrs["axis"], node.attrs["by"] > 0
    kept = sliced(add, x, _along(axis, slice(None, -1) if is_up else slice(1, None)))
    shape = tuple([1 if k == axis else n for k, n in enumerate(x.type.shape)])
    filled = np.full(shape, node.attrs["fill"], x.type.dtype)
    filled.flags.writeable = False
    edge = add.constant(filled)
    return _joined(add, (edge, kept) if is_up else (kept, edge), axis)


def _recurrence(add: Add, node: Node) -> Value:
    """`s[k] = a[k] * s[k - 1] + b[k]`, step by step."""
    (a, b), axis = node.operands, node.attrs["axis"]
    places = range(b.type.shape[axis])[:: -1 if node.attrs["reverse"] else 1]
    made: dict[int, Value] = {}
    last: Value | None = None
    for k in places:
        factor, term = (sliced(add, x, _along(axis, slice(k, k + 1))) for x in (a, b))
        type_ = array_type(term.type.shape, term.type.dtype)
        last = term if last is None else add("add", (add("multiply", (factor, last), type_), term), type_)
        made[k] = last
    return _joined(add, tuple([made[k] for k in sorted(made)]), axis)


def _cross(add: Add, node: Node) -> Value:
    """Three differences of products, of vectors whose other axes broadcast."""
    type_ = array_type(node.result.type.shape[:-1], node.result.type.dtype)
    a, b = ([sliced(add, x, (..., k)) for k in range(3)] for x in node.operands)
    parts = []
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        products = [add("multiply", (a[p], b[q]), type_) for p, q in ((i, j), (j, i))]
        parts.append(add("subtract", tuple(products), type_))
    return add("_stack", tuple(parts), node.result.type, axis=len(type_.shape))


def _norm(add: Add, node: Node) -> Value:
    """The root of a sum of squares, or what the order says, as the kernel has it."""
    (x,), attrs = node.operands, dict(node.attrs)
    order, plain = attrs.pop("ord", 2.0), array_type(x.type.shape, x.type.dtype)

    def total(name: str, of: Value, **others: Any) -> Value:
        return add(name, (of,), node.result.type, **attrs, **others)

    if order == 2:
        squares = add("multiply", (x, x), plain)
        return add("sqrt", (total("sum", squares, dtype=None),), node.result.type)
    size = add("abs", (x,), plain)
    if math.isinf(order):
        return total("amax" if order > 0 else "amin", size)
    if order == 1:
        return total("sum", size, dtype=None)
    powers = total("sum", add("pow", (size, order), plain), dtype=None)
    return add("pow", (powers, 1 / order), node.result.type)


ARRANGEMENTS: dict[str, Callable[[Add, Node], Value]] = {
    "_assign": _assign,
    "_roll": _roll,
    "_pad": lambda add, node: padded(add, node.operands[0], node.attrs["widths"]),
    "_shift": _shift,
    "_recurrence": _recurrence,
    "_cross": _cross,
    "_linalg_vector_norm": _norm,
}
"""By operator: what it is written as."""
