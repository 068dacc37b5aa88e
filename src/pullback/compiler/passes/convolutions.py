"""Convolutions as `expand` writes them out: windows copied into columns, and products of matrices, as the kernels do.

The gradient by the input, with stride 1, is a convolution itself: of the padded gradient with weights that are turned
around. With other strides, and where columns would take very much memory, the kernel is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from pullback.compiler.passes.arrangements import padded, permuted, sliced
from pullback.graph.ir import Node, Value
from pullback.graph.types import ArrayType, array_type, row_major

Add = Callable[..., Value]  # (name of an operator, operands, type, **attributes) -> its result
Ints = tuple[int, ...]
_MOST_COLUMNS = 1 << 23
"""Elements of all columns together; the kernels take a few examples at a time, and need less."""


class _Windows(NamedTuple):
    """How windows lie in the last axes of a padded array."""

    window: Ints
    stride: Ints
    dilation: Ints
    positions: Ints

    @property
    def size(self) -> int:
        return math.prod(self.window)

    @property
    def area(self) -> int:
        return math.prod(self.positions)

    @property
    def is_trivial(self) -> bool:
        """Is every window one element, and every element one window?"""
        return self.size == 1 and set(self.stride) == {1}


def can_be_columns(node: Node) -> bool:
    """Is this convolution better written as products?"""
    if node.result.type.strides is not None or not all(type(x) is Value for x in node.operands):
        return False
    if node.op == "_convolution_input" and set(node.attrs["stride"]) != {1}:
        return False
    x, windows = node.operands[0].type, _windows(node)
    columns = math.prod(x.shape[:2]) * windows.size * windows.area
    return 0 < columns <= _MOST_COLUMNS and node.result.type.size > 0


def _windows(node: Node) -> _Windows:
    attrs, y = node.attrs, node.operands[1]
    if node.op == "_convolution":
        window, positions = y.type.shape[2:], node.result.type.shape[2:]
    elif node.op == "_convolution_weight":
        window, positions = attrs["window"], y.type.shape[2:]
    else:
        window, positions = y.type.shape[2:], attrs["lengths"]
    return _Windows(window, attrs["stride"], attrs["dilation"], positions)


def convolution(add: Add, node: Node) -> Value:
    """`matrix @ columns` for every example."""
    x, weight = node.operands
    windows = _windows(node)
    columns = _columns(add, _padded(add, x, node.attrs["padding"]), windows, node.attrs["groups"])
    groups, outputs = node.attrs["groups"], weight.type.shape[0]
    matrix = _shaped(add, weight, (groups, outputs // groups, columns.type.shape[2]))
    return _multiplied(add, matrix, columns, node.result.type)


def convolution_weight(add: Add, node: Node) -> Value:
    """`gradient @ columns.T`, the sum over all examples."""
    (x, y), groups = node.operands, node.attrs["groups"]
    windows, dtype = _windows(node), node.result.type.dtype
    columns = _columns(add, _padded(add, x, node.attrs["padding"]), windows, groups)
    count, outputs = y.type.shape[:2]
    flat = _shaped(add, y, (count, groups, outputs // groups, windows.area))
    turned = permuted(add, columns, (0, 1, 3, 2))
    shape = (groups, outputs // groups, columns.type.shape[2])
    each = add("matmul", (flat, turned), array_type((count, *shape), dtype))
    total = add("sum", (each,), array_type(shape, dtype), axis=(0,), keepdims=False, dtype=None)
    return add("_reshape", (total,), node.result.type, shape=node.result.type.shape)


def convolution_input(add: Add, node: Node) -> Value:
    """The convolution of the gradient with the weights turned around, inputs and outputs exchanged."""
    (y, weight), attrs = node.operands, node.attrs
    groups, windows = attrs["groups"], _windows(node)
    widths = []
    for k, d, (low, _), n, q in zip(
        windows.window, windows.dilation, attrs["padding"], windows.positions, y.type.shape[2:], strict=True
    ):
        before = d * (k - 1) - low
        widths.append((before, n - q - before + d * (k - 1)))
    columns = _columns(add, _padded(add, y, tuple(widths)), windows, groups)
    outputs, inputs = weight.type.shape[0] // groups, weight.type.shape[1]
    apart = _shaped(add, weight, (groups, outputs, inputs, *windows.window))
    backwards = (*(slice(None),) * 3, *(slice(None, None, -1),) * len(windows.window))
    order = (0, 2, 1, *range(3, 3 + len(windows.window)))
    turned = permuted(add, sliced(add, apart, backwards), order)
    matrix = _shaped(add, turned, (groups, inputs, outputs * windows.size))
    return _multiplied(add, matrix, columns, node.result.type)


CONVOLUTIONS = {
    "_convolution": convolution, "_convolution_weight": convolution_weight, "_convolution_input": convolution_input,
}  # fmt: skip
"""By operator: what it is written as."""


# Parts.


def _multiplied(add: Add, matrix: Value, columns: Value, type_: ArrayType) -> Value:
    """The product of one matrix for each group with the columns of every example."""
    count, groups, _, area = columns.type.shape
    steps = (0, *matrix.type.byte_strides)
    shape = (count, *matrix.type.shape)
    spread = add("broadcast_to", (matrix,), array_type(shape, matrix.type.dtype, steps), shape=shape)
    product = array_type((count, groups, matrix.type.shape[1], area), type_.dtype)
    return add("_reshape", (add("matmul", (spread, columns), product),), type_, shape=type_.shape)


def _columns(add: Add, x: Value, windows: _Windows, groups: int) -> Value:
    """The windows of row-major `x` as columns: `[example, group, channel and place in the window, position]`."""
    count, channels = x.type.shape[:2]
    wanted = (count, groups, channels // groups * windows.size, windows.area)
    if windows.is_trivial:
        return _shaped(add, x, wanted)
    layout = row_major(x.type.shape, 1)
    inside = [d * step for d, step in zip(windows.dilation, layout[2:], strict=True)]
    apart = [s * step for s, step in zip(windows.stride, layout[2:], strict=True)]
    steps = (*layout[:2], *inside, *apart)
    shape = (count, channels, *windows.window, *windows.positions)
    type_ = array_type(shape, x.type.dtype, tuple([step * x.type.dtype.itemsize for step in steps]))
    view = add("as_strided", (x,), type_, shape=shape, strides=steps, offset=0, layout=layout)
    return _shaped(add, add("copy", (view,), array_type(shape, x.type.dtype), order="C"), wanted)


def _padded(add: Add, x: Value, widths: tuple[tuple[int, int], ...]) -> Value:
    """`x` in row-major order with zeros around it, or with elements cut off."""
    return padded(add, x, ((0, 0), (0, 0), *widths)) if any(map(any, widths)) else _in_rows(add, x)


def _in_rows(add: Add, x: Value) -> Value:
    return x if x.type.strides is None else add("copy", (x,), array_type(x.type.shape, x.type.dtype), order="C")


def _shaped(add: Add, x: Value, shape: Ints) -> Value:
    x = _in_rows(add, x)
    return x if x.type.shape == shape else add("_reshape", (x,), array_type(shape, x.type.dtype), shape=shape)
