"""Where the elements of a value lie: in which array, from which byte on, and how far apart along each axis.

A view is nothing but another way to count through its root's memory. Its operator is run once on a stand-in without
data, and NumPy tells the strides; so every operator that makes a view is understood without an entry of its own.
Axes of length 1 have no place in loops, so shapes and strides are given without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from pullback.graph.ir import ArrayType, Node, Value, empty_like_type

Lengths = tuple[int, ...]


class Access(NamedTuple):
    """Element `index` of the value lies `offset + sum(index * strides)` bytes behind the first element of `root`."""

    root: Value
    offset: int
    strides: tuple[int, ...]  # of all axes of the value


def squeezed(shape: Lengths) -> Lengths:
    """The lengths that are not 1."""
    return tuple([length for length in shape if length != 1])


def own_strides(type: ArrayType) -> tuple[int, ...]:
    """The strides of a value's own memory, without axes of length 1."""
    return tuple([step for step, length in zip(type.byte_strides, type.shape, strict=True) if length != 1])


def aligned(access: Access, shape: Lengths, wanted: Lengths) -> tuple[int, ...]:
    """The strides with which a value of `shape` is read for a result of shape `wanted`, which it broadcasts to."""
    missing = len(wanted) - len(shape)
    strides = (0,) * missing + tuple([0 if n == 1 else s for n, s in zip(shape, access.strides, strict=True)])
    return tuple([step for step, length in zip(strides, wanted, strict=True) if length != 1])


class Accesses:
    """The accesses of all values of a program; of some it may be said where they lie."""

    def __init__(
        self, inputs: Iterable[Value], nodes: Iterable[Node], placed: Mapping[Value, Access] | None = None
    ) -> None:
        self.found: dict[Value, Access] = {}
        self._stand_ins: dict[Value, Any] = {}
        self._placed = placed or {}
        for value in inputs:
            self._own(value)
        for node in nodes:
            if not self._view(node):
                for value in node.results:
                    self._own(value)

    def __getitem__(self, value: Value) -> Access:
        return self.found[value]

    def add(self, value: Value) -> None:
        """A value in memory of its own that the program does not have."""
        self.found[value] = Access(value, 0, value.type.byte_strides)

    def root_of(self, value: Value) -> Value:
        """The value in whose memory this one lies."""
        return self.found[value].root

    def is_view(self, node: Node) -> bool:
        """Does the node only look at the memory of its operand?"""
        return node.is_view and bool(node.results) and all(self.found[x].root is not x for x in node.results)

    def _own(self, value: Value) -> None:
        self.found[value] = self._placed.get(value) or Access(value, 0, value.type.byte_strides)

    def _stand_in(self, value: Value) -> Any:
        if value not in self._stand_ins:
            placed = self._placed.get(value)
            self._stand_ins[value] = empty_like_type(value.type) if placed is None else self._part(value, placed)
        return self._stand_ins[value]

    def _part(self, value: Value, placed: Access) -> Any:
        whole = self._stand_in(placed.root)
        return np.ndarray(value.type.shape, value.type.dtype, whole, placed.offset, placed.strides)

    def _view(self, node: Node) -> bool:
        if not node.is_view or type(node.operands[0]) is not Value:
            return False
        source = node.operands[0]
        root = self.found[source].root
        given = self._stand_in(source)
        assert node.target is not None
        made = node.target.kernel(given, *node.operands[1:], **node.attrs)
        parts = list(made) if isinstance(made, (tuple, list)) else [made]
        if not root.type.size or not all(_lies_in(part, given) for part in parts):
            return False
        first = _address(self._stand_in(root))
        for value, part in zip(node.results, parts, strict=True):
            if part.shape != value.type.shape or part.dtype != value.type.dtype:
                return False
            self._stand_ins[value] = part
            self.found[value] = Access(root, _address(part) - first, part.strides)
        return True


def _lies_in(part: Any, given: Any) -> bool:
    return isinstance(part, np.ndarray) and np.may_share_memory(part, given)


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
