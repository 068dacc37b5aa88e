"""`RowArray`: the payload of a tensor inside `vmap` over the rows of a ragged array. One row upstairs, all in memory.

It looks like `(j, *rest)`; the axis of the rows belongs to a level of `vmap`, as those in front of a `BatchedArray` do.
What it has no length for is dense there: a sum over the row is a batch of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pullback.core.state import VmapLevel
from pullback.errors import AutogradError
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.batched import edge
from pullback.payloads.ragged.array import RaggedArray
from pullback.payloads.refusals import refuse_one_of_many


class RowArray(ArrayMembers):
    """One row of `rows`, for every row."""

    __slots__ = ("__weakref__", "dtype", "level", "rows", "shape")

    decompose: ClassVar[Callable[..., Any]]
    decompose_write: ClassVar[Callable[..., Any]]
    evaluate_op: ClassVar[Callable[..., Any]]

    def __init__(self, rows: RaggedArray, level: VmapLevel) -> None:
        self.rows = rows
        self.level = level
        self.shape: Any = rows.shape[1:]
        self.dtype = rows.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of a row."""
        return len(self.shape)

    @property
    def size(self) -> Any:
        """The number of elements of a row: no number."""
        count: Any = 1
        for length in self.shape:
            count = count * length
        return count

    @property
    def flags(self) -> Any:
        """How the rows lie in memory."""
        return self.rows.flags

    @property
    def region(self) -> Any:
        """The memory, as version counters know it."""
        return self.rows.region

    def zeros(self, shape: Any, dtype: Any) -> RowArray:
        """Zeros for every row."""
        return RowArray(self.rows.zeros((self.level.size, *shape), dtype), self.level)

    def ones(self, shape: Any, dtype: Any) -> RowArray:
        """Ones for every row."""
        return RowArray(self.rows.ones((self.level.size, *shape), dtype), self.level)

    def hollow(self) -> RowArray:
        """The same rows with zeros without memory."""
        return RowArray(self.rows.hollow(), self.level)

    is_tensor_subclass = False

    def aliases_payload(self, source: Any) -> bool:
        """Is this, which an operator made of `source`, a view of it?"""
        return self.rows.aliases_payload(source.rows if type(source) is RowArray else source)

    def leave_level(self, axis: int, level: VmapLevel) -> RaggedArray:
        """All rows."""
        if level is not self.level or axis != 0:
            raise refuse_place("vmap", f"out_dims {axis}")
        return self.rows

    def plain_values(self, into: str) -> np.ndarray[Any, Any]:
        """Refused: it stands for all rows."""
        raise refuse_one_of_many(self, (self.level,), into)

    def __repr__(self) -> str:
        return f"RowArray({self.dtype}{list(self.shape)}, level={self.level})"


def refuse_place(name: str, what: str) -> AutogradError:
    """The error for an axis in front of rows of different lengths."""
    return AutogradError(
        "RAGGED_OP",
        f"{name} of a ragged tensor: {what}",
        why="rows come first, and their axis is followed by that of their elements",
        fix="map over rows (0), or over an axis behind the ragged one, and give the result a place behind it",
    )


def enter_level(self: RaggedArray, axis: int, level: VmapLevel) -> Any:
    """One row at a time, or one place of another axis."""
    if axis == 0:
        return RowArray(self, level)
    if axis == self.axis:
        raise refuse_place("vmap", "in_dims is the ragged axis")
    inner = axis if axis < self.axis else axis - 1
    values = edge.enter(self.values, inner, level)
    return RaggedArray(values, self.offsets, self.axis - (axis < self.axis), self.starts)


def leave_level(self: RaggedArray, axis: int, level: VmapLevel) -> RaggedArray:
    """With the examples as an axis behind the first."""
    if axis == 0:
        raise refuse_place("vmap", "out_dims is 0")
    inner = axis if axis <= self.axis else axis - 1
    values = edge.leave(self.values, inner, level)
    return RaggedArray(values, self.offsets, self.axis + (axis <= self.axis), self.starts)


RaggedArray.enter_level = enter_level  # type: ignore[attr-defined]
RaggedArray.leave_level = leave_level  # type: ignore[attr-defined]
