"""Compiled callbacks of a few numbers, as Python code on Python's own numbers (`compiler/scalar_source.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.aot._entry import Entry
from pullback.compiler.scalar_source import RAISED, scalar_function
from pullback.tensors.tensor import Tensor

Direct = Callable[..., Any]  # a function of arrays that gives a tuple of arrays, or None for a call that does not fit


class Small:
    """What a `direct` form of a capture computes, on numbers. What numbers cannot do, as 1 / 0, `direct` does.

    `held` are the tensors that the capture closes over. They are read when `refresh` was called since.
    """

    __slots__ = ("_bind", "_bound", "_held", "_kinds", "_moved", "_shapes", "direct")

    def __init__(self, direct: Direct, bind: Any, held: list[Tensor], entry: Entry, args: Sequence[Tensor]) -> None:
        self.direct = direct
        self._bind = bind
        self._held = held
        self._bound: Any = None
        self._moved = entry.fit.moved
        self._kinds = [arg._data.shape for arg in args]
        self._shapes = [value.type.shape for value in entry.forward_graph.outputs if value is not None]

    def refresh(self) -> None:
        """The values of what is held are others now."""
        self._bound = None

    def on_numbers(self) -> Callable[..., Any] | None:
        """The function of numbers for the present values, if what else the capture looked at is as it was."""
        if self._moved is not None and self._moved():
            return None
        # path: callback on numbers
        if self._bound is None:
            try:
                self._bound = self._bind([tensor._data.reshape(-1).tolist() for tensor in self._held])
            except RAISED:
                return None
        return self._bound

    def __call__(self, *arrays: Any) -> Any:
        """As `direct`."""
        computed = self.on_numbers()
        if computed is not None:
            for array, shape in zip(arrays, self._kinds, strict=True):
                if array.shape != shape or array.dtype != np.float64:
                    return self.direct(*arrays)
            try:
                found = computed(*[array.reshape(-1).tolist() if array.ndim else array.item() for array in arrays])
                return tuple([np.array(each).reshape(shape) for each, shape in zip(found, self._shapes, strict=True)])
            except RAISED:
                pass
        return self.direct(*arrays)


def small(direct: Direct | None, entry: Entry | None, args: Sequence[Tensor]) -> Direct | None:
    """`direct`, on numbers if its arrays are few and small."""
    if direct is None or entry is None:
        return direct
    places = [k for k, given in enumerate(entry.inputs) if given.capture is not None]
    slots = [given.slot for given in entry.inputs if given.capture is None]
    if slots != list(range(len(args))) or any(arg.dtype != np.float64 for arg in args):
        return direct
    bind = scalar_function(entry.forward_graph, places)
    if bind is None:
        return direct
    held = [given.capture for given in entry.inputs if given.capture is not None]
    return Small(direct, bind, held, entry, args)
