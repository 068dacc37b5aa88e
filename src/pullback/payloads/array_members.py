"""What the arrays that are not NumPy's have in common: they can be asked for their values, which they may refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


class ArrayMembers:
    """Members of an array that follow from `shape`, `flags` and `plain_values`."""

    __slots__ = ()

    shape: Any
    flags: Any

    def plain_values(self, into: str) -> np.ndarray[Any, Any]:
        """The values, which are about to become `into`; an error where there are none to be had."""
        raise NotImplementedError

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without axes")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        for position in range(len(self)):
            yield self[position]  # type: ignore[index]  # bound with the operators

    def is_contiguous(self, order: str = "C") -> bool:
        """Does the array lie in memory in row-major ("C") or column-major ("F") order?"""
        return self.flags.c_contiguous if order == "C" else self.flags.f_contiguous

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.plain_values("a NumPy array"), dtype, copy=copy)

    def tolist(self) -> Any:
        """The values as nested lists."""
        return self.plain_values("a list").tolist()

    def item(self, *args: Any) -> Any:
        """The only value as a Python number."""
        return self.plain_values("a Python number").item(*args)

    def __int__(self) -> int:
        return int(self.plain_values("an int"))

    def __float__(self) -> float:
        return float(self.plain_values("a float"))

    def __complex__(self) -> complex:
        return complex(self.plain_values("a complex number"))

    def __index__(self) -> int:
        return self.plain_values("an index").__index__()

    def __bool__(self) -> bool:
        return bool(self.plain_values("a truth value"))
