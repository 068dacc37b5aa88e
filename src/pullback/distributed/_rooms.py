"""`Rooms`: memory for results of messages, used again once nobody holds them.

New memory is slow where the system has to give it page by page: for 4 MB it took 17 times as long as the message.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

_SMALLEST = 1 << 16  # bytes, below which memory is quick to get
_MOST = 8  # buffers that are kept


def _references(buffers: list[Any]) -> list[int]:
    return [sys.getrefcount(buffer) for buffer in buffers]


_OF_NOBODY = _references([np.empty(0)])[0]  # versions of Python count differently, but always alike


class Rooms:
    """Buffers of one communicator, which one thread at a time uses."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def room(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """An array of any contents. It is a view of a buffer, which is not given away again while the view exists."""
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        if nbytes < _SMALLEST:
            return np.empty(shape, dtype)
        for place, count in enumerate(_references(self._kept)):
            if count == _OF_NOBODY and self._kept[place].nbytes == nbytes:
                return self._kept[place].view(dtype).reshape(shape)
        buffer = np.empty(nbytes, np.uint8)
        if len(self._kept) == _MOST:
            del self._kept[0]
        self._kept.append(buffer)
        return buffer.view(dtype).reshape(shape)
