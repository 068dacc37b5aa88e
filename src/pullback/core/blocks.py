"""`Block`: a part of an array that lies on several processes, for whoever saves and loads it.

What is spread over processes says so by two methods: `__block__()` is the part that is here, and
`__with_block__(array)` the same thing with other numbers in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Block:
    """The part of an array of `shape` that begins at `offsets`: an array, or a tensor.

    Processes that have the same part have equal offsets.

    >>> rows = pb.distributed.Block(np.ones((2, 3)), offsets=(4, 0), shape=(8, 3))
    >>> rows
    Block of float64[8, 3]: [4:6, 0:3]
    """

    __slots__ = ("array", "offsets", "requires_grad", "shape")

    def __init__(self, array: Any, offsets: Any, shape: Any, requires_grad: bool = False) -> None:
        self.array = np.asarray(array)
        self.offsets = tuple(int(offset) for offset in offsets)
        self.shape = tuple(int(length) for length in shape)
        self.requires_grad = requires_grad
        extents = self.array.shape
        if not len(self.offsets) == len(self.shape) == len(extents) or any(
            low < 0 or low + extent > length
            for low, extent, length in zip(self.offsets, extents, self.shape, strict=True)
        ):
            raise ValueError(f"a block of shape {extents} at {self.offsets} does not lie in an array of {self.shape}")

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the whole."""
        return self.array.dtype

    def __block__(self) -> Block:
        return self

    def __with_block__(self, array: Any) -> Block:
        return Block(array, self.offsets, self.shape, self.requires_grad)

    def __repr__(self) -> str:
        part = ", ".join(
            f"{low}:{low + extent}" for low, extent in zip(self.offsets, self.array.shape, strict=True)
        )
        return f"Block of {self.dtype}{list(self.shape)}: [{part}]"


def block_of(value: Any) -> Block | None:
    """The part of something spread that is here; None for anything else. A tensor is asked for its payload."""
    ask = getattr(type(value), "__block__", None)
    if ask is not None:
        return ask(value)
    ask = getattr(type(getattr(value, "_data", None)), "__block__", None)
    if ask is None:
        return None
    found: Block = ask(value._data)
    return Block(found.array, found.offsets, found.shape, value.requires_grad)
