"""`BatchedArray`: the payload of a tensor inside `vmap`. One example upstairs, all of them in memory.

`data` has one leading axis for every level of `vmap` that the value depends on, ordered by stamp, oldest first, and
`shape` is what remains. It is flat, never nested: the order of levels means nothing to kernels. A value that depends
on no level may be one too, with no levels: an array made inside `vmap`, into which examples may yet be written.

Such a write *widens*: the array that owns the memory gets new, wider memory, and all its views follow. For this a
view knows its parent and how it was made from it, and looks whether its root has moved before it shows its data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pullback.payloads.alignment import Array, Levels
from pullback.payloads.array_members import ArrayMembers
from pullback.payloads.layout import Flags, is_contiguous
from pullback.payloads.refusals import check_at_home, refuse_item, refuse_truth, refuse_values

Replay = Callable[[Any], Any]


class BatchedArray(ArrayMembers):
    """An array with batch axes in front that nobody upstairs sees."""

    __slots__ = ("__weakref__", "_data", "_epoch", "_levels", "_parent", "_replay", "_root", "is_spread")

    evaluate_op: ClassVar[Callable[..., Any]]  # payloads/batching.py, bound with the operators in payloads/batched.py

    def __init__(
        self, data: Array, levels: Levels = (), *, parent: BatchedArray | None = None, replay: Replay | None = None
    ) -> None:
        self._data = data
        self._levels = levels
        self._parent = parent
        self._replay = replay
        self.is_spread = False  # made wider without memory for it, by `widened`; gets memory when it is written
        if parent is None:
            self._root = None
            self._epoch = 0
        else:
            self._root = parent if parent._root is None else parent._root
            self._epoch = self._root._epoch

    # Where the data is.

    @property
    def data(self) -> Array:
        """The array, with one leading axis per level."""
        if self._root is not None and self._epoch != self._root._epoch:
            self._follow()
        return self._data

    @property
    def levels(self) -> Levels:
        """The levels of the leading axes, oldest first."""
        if self._root is not None and self._epoch != self._root._epoch:
            self._follow()
        return self._levels

    def _follow(self) -> None:
        """Take the view again: the memory that it was a view of has been replaced."""
        assert self._root is not None and self._replay is not None
        fresh = self._replay(self._parent)
        self._data, self._levels, self._epoch = fresh.data, fresh.levels, self._root._epoch

    @property
    def root(self) -> BatchedArray:
        """The payload that owns the memory."""
        return self if self._root is None else self._root

    def replace_memory(self, data: Array, levels: Levels) -> None:
        """Give a root other memory. Its views follow."""
        assert self._root is None
        self._data, self._levels = data, levels
        self._epoch += 1

    def aliases_payload(self, source: Any) -> bool:
        """Is this, which an operator made of `source`, a view of it?"""
        return self is source or self._parent is source

    # What one example looks like. None of it changes when the memory is replaced by wider memory.

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one example."""
        return self._data.shape[len(self._levels) :]

    @property
    def ndim(self) -> int:
        """The number of axes of one example."""
        return self._data.ndim - len(self._levels)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._data.dtype

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._data.itemsize

    @property
    def size(self) -> int:
        """The number of elements of one example."""
        count = 1
        for length in self.shape:
            count *= length
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of one example."""
        return self.size * self._data.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element of an example to the next, along each axis."""
        return self._data.strides[len(self._levels) :]

    def is_contiguous(self, order: str = "C") -> bool:
        """Does one example lie in memory in row-major ("C") or column-major ("F") order?"""
        return is_contiguous(self.shape, self.strides, self._data.itemsize, order)

    @property
    def flags(self) -> Flags:
        """How one example lies in memory, and whether it may be written."""
        own = self._data.flags
        return Flags(self.is_contiguous("C"), self.is_contiguous("F"), own.writeable, own.owndata)

    def __repr__(self) -> str:
        return f"BatchedArray({self.dtype}{list(self.shape)}, levels={list(self.levels)})"

    # What needs the values themselves.

    def plain_values(self, into: str) -> Array:
        """The array, which is about to become `into`; refused if it stands for many."""
        if not self.levels:
            return self.data
        check_at_home(self.levels, into)
        if into == "a truth value":
            raise refuse_truth(self)
        if into in ("a Python number", "a float", "a complex number", "an int", "an index"):
            raise refuse_item(self, into)
        raise refuse_values(self, into)


def levels_of(payload: Any) -> Levels:
    """The levels of a payload of any kind."""
    return payload.levels if type(payload) is BatchedArray else ()


def region_of(payload: Any) -> Any:
    """The memory of a payload, as version counters know it."""
    memory = payload.data if type(payload) is BatchedArray else payload
    return memory if type(memory) is np.ndarray else getattr(memory, "region", memory)


def parts_of(payload: Any) -> tuple[Any, Levels]:
    """The memory of a payload and the levels of its leading axes."""
    return (payload.data, payload.levels) if type(payload) is BatchedArray else (as_payload(payload), ())


def as_payload(x: Any) -> Any:
    """A payload as it is, anything else as an array."""
    return x if type(x) is np.ndarray or hasattr(type(x), "evaluate_op") else np.asarray(x)


def plain_array(payload: Any) -> Array | None:
    """The array behind a payload that is the same for all examples; None for batches, and for what is no payload."""
    if type(payload) is BatchedArray:
        return None if payload.levels else payload.data
    return payload if type(payload) is np.ndarray else None
