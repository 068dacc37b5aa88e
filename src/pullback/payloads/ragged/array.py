"""`RaggedArray`: rows of different lengths, one below the other in `values`, and where they begin.

`values` has shape `(total, *rest)` and is a payload of any kind. The array looks like `(B, j, *rest)`; `axis` is where
the ragged axis stands among the axes, which is behind the first. Rows of a part of another array may have gaps between
them: `starts` says then where each row begins in `values`, which is the memory of the whole.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pullback.declare.op import Op
from pullback.errors import AutogradError
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.batched.array import Flags, levels_of, region_of
from pullback.payloads.devices import device_of
from pullback.payloads.kinds import no_memory
from pullback.payloads.ragged.offsets import Offsets, RaggedSize, ragged_place


class NoStrides(AutogradError, AttributeError):
    """Who asks with `getattr` whether there are strides learns that there are none."""


class RaggedArray(ArrayMembers):
    """Rows `values[offsets[i]:offsets[i + 1]]` as one array with an axis whose length is a `RaggedSize`."""

    __slots__ = ("__weakref__", "axis", "dtype", "offsets", "row_labels", "shape", "starts", "values")

    layout = "jagged"
    is_nested = True
    is_tensor_subclass = False  # it is no class of users
    # What an operator does is made of operators on `values`, also where it is recorded: `operators/ragged/families.py`.
    decompose: ClassVar[Callable[[Op, Any, dict[str, Any]], Any]]
    decompose_write: ClassVar[Callable[..., Any]]
    restore: ClassVar[Callable[..., RaggedArray]]  # loads the rules as well, for who unpickles one
    evaluate_op: ClassVar[Callable[[Op, Any, dict[str, Any]], Any]]

    def __init__(
        self, values: Any, offsets: Offsets, axis: int = 1, starts: Any = None, row_labels: Any = None
    ) -> None:
        self.values = values
        self.offsets = offsets
        self.axis = axis
        self.starts = starts
        self.row_labels = row_labels
        rest = tuple(values.shape[1:])
        self.shape: Any = (offsets.count, *rest[: axis - 1], RaggedSize(offsets), *rest[axis - 1 :])
        self.dtype = values.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements of all rows."""
        rest = 1
        for length in self.values.shape[1:]:
            rest *= length
        return self.offsets.total * rest

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """There are none: rows do not begin at equal distances."""
        raise NoStrides(
            "RAGGED_OP",
            f"strides of a ragged array {list(self.shape)}",
            why="rows of different lengths do not lie at equal distances in memory",
            fix="ask values() for its strides",
        )

    @property
    def flags(self) -> Flags:
        """Whether it may be written, and whether rows follow each other without gaps."""
        own = self.values.flags
        return Flags(own.c_contiguous and self.starts is None, False, own.writeable, own.owndata)

    def is_contiguous(self, order: str = "C") -> bool:
        """Do the rows follow each other in memory, without gaps?"""
        return order == "C" and self.flags.c_contiguous

    # How it lies in memory, and where.

    @property
    def device(self) -> Any:
        """Where the values are; offsets are on the host."""
        return device_of(self.values)

    @property
    def region(self) -> Any:
        """The memory, as version counters know it."""
        return region_of(self.values)

    @property
    def shadow(self) -> Any:
        """An array that overlaps others as this one does."""
        return self.values if type(self.values) is np.ndarray else getattr(self.values, "shadow", None)

    @property
    def levels(self) -> Any:
        """The levels of vmap that the values depend on."""
        return levels_of(self.values)

    def aliases_payload(self, source: Any) -> bool:
        """Is this, which an operator made of `source`, a view of it?"""
        memory = source.values if type(source) is RaggedArray else source
        if self is source or self.values is memory:
            return True
        test = getattr(type(self.values), "aliases_payload", None)
        return bool(test(self.values, memory)) if test is not None else np.may_share_memory(self.values, memory)

    def on(self, values: Any) -> RaggedArray:
        """The same rows with other values, which have no gaps."""
        return RaggedArray(values, self.offsets, self.axis)

    # Made anew.

    def zeros(self, shape: Any, dtype: Any) -> Any:
        """Zeros of a shape of this kind."""
        return filled(shape, dtype, getattr(self.values, "zeros", np.zeros))

    def ones(self, shape: Any, dtype: Any) -> Any:
        """Ones of a shape of this kind."""
        return filled(shape, dtype, getattr(self.values, "ones", np.ones))

    def hollow(self) -> RaggedArray:
        """The same rows with zeros without memory."""
        key = ("hollow", self.values.shape[1:], self.dtype, self.axis, self.device)
        found = self.offsets.derived.get(key)
        if found is None:
            make = getattr(self.values, "hollow", None)
            values = no_memory((self.offsets.total, *self.values.shape[1:]), self.dtype) if make is None else make()
            found = self.offsets.derived[key] = self.on(values)
        return found

    # Taken apart and put together.

    @property
    def offsets_array(self) -> Any:
        """The offsets, as a part of the array."""
        return self.offsets.array

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        if self.starts is not None:
            return ["values", "offsets_array", "starts"], (self.axis, self.offsets.total)
        return ["values", "offsets_array"], (self.axis, None)

    @classmethod
    def __tensor_unflatten__(cls, inner: dict[str, Any], meta: Any, size: Any, stride: Any) -> RaggedArray:
        values, (axis, total) = inner["values"], meta
        offsets = Offsets.of(inner["offsets_array"], values.shape[0] if total is None else total)
        return cls(values, offsets, axis, inner.get("starts"))

    def __deepcopy__(self, memo: dict[int, Any]) -> RaggedArray:
        values, offsets = copy.deepcopy(self.values, memo), copy.deepcopy(self.offsets, memo)
        return RaggedArray(values, offsets, self.axis, self.starts, self.row_labels)

    def __copy__(self) -> RaggedArray:
        return self

    def __reduce__(self) -> Any:
        return self.restore, (self.values, self.offsets, self.axis, self.starts, self.row_labels)

    # What needs the values themselves.

    def plain_values(self, into: str) -> np.ndarray[Any, Any]:
        """Refused: no array of NumPy has rows of different lengths."""
        raise AutogradError(
            "RAGGED_OP",
            f"{into} is wanted of a ragged array {list(self.shape)}",
            why="no array of NumPy has rows of different lengths",
            fix="take x.values(), x.to_padded(0.0) or x.tolist()",
        )

    def row(self, position: int) -> Any:
        """One row, a view."""
        starts = self.offsets.known("rows").array[:-1] if self.starts is None else self.starts
        begin = int(starts[position])
        row = self.values[begin : begin + int(self.offsets.lengths[position])]
        return np.moveaxis(row, 0, self.axis - 1) if self.axis > 1 else row

    def tolist(self) -> list[Any]:
        """The rows as lists of lists."""
        return [self.row(position).tolist() for position in range(self.offsets.count)]

    def __repr__(self) -> str:
        shape = f"({', '.join(map(str, self.shape))})"
        if not self.offsets.is_known or type(self.values) is not np.ndarray:
            return f"RaggedArray({self.dtype}{shape}, values={self.values!r})"
        lengths = np.array2string(self.offsets.lengths, separator=", ", threshold=8, edgeitems=3)
        values = self.values if self.starts is None else self.values[gather_index(self.offsets, self.starts)]
        text = np.array2string(values, separator=", ")
        return f"nested {self.dtype}{shape}, lengths={lengths}, values=\n{text}"


def filled(shape: Any, dtype: Any, make: Callable[..., Any]) -> Any:
    """An array of one number, by `np.zeros` or its like, ragged if a length of the shape is."""
    axis = ragged_place(shape)
    if axis is None:
        return make(shape, dtype)
    offsets = shape[axis].offsets
    return RaggedArray(make((offsets.total, *shape[1:axis], *shape[axis + 1 :]), dtype), offsets, axis)


def gather_index(offsets: Offsets, starts: Any) -> Any:
    """Where the elements of rows with gaps lie, row by row."""
    offsets.known("rows with gaps")
    return np.repeat(starts - offsets.array[:-1], offsets.lengths) + np.arange(offsets.total)


def refuse_holes(what: str) -> AutogradError:
    """The error for what needs rows that follow each other."""
    return AutogradError(
        "RAGGED_HOLES",
        what,
        why="its rows are parts of longer rows, with gaps between them in memory",
        fix="take x.contiguous() first, which packs the rows",
    )
