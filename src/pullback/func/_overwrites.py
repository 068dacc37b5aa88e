"""Values that a graph keeps for backward may be overwritten by adapted code: they are copied right before that.

`y = np.exp(x)` followed by `y += 1` is good NumPy, and the derivative of `exp` needs the `y` of before. Ordinary code
is told so by an error when it runs backward. Adapted code was written without derivatives in mind, so for it copies are
made as in `allow_mutation_on_saved_tensors`, except that they live as long as the graph.
"""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np

from pullback.autograd._mutation import Guard, Watched
from pullback.payloads.batched import BatchedArray
from pullback.tensors.tensor import Tensor, shared_counter, version_of


class Overwrites(Guard):
    """Sees what adapted code saves and overwrites, in one call and the calls in it."""

    def __init__(self) -> None:
        super().__init__()
        self._examples: dict[int, list[ref[_KeptExamples]]] = {}  # by the identity of what owns the memory

    def watch(self, tensor: Tensor) -> Any:
        """Protect the tensor's present value."""
        payload = tensor._data
        if type(payload) is BatchedArray:
            kept = _KeptExamples(tensor)
            self._examples.setdefault(id(payload.root), []).append(ref(kept))
            return kept
        watched = super().watch(tensor)
        if watched is not None:
            watched.__class__ = _Kept
        return watched

    def before_write(self, target: Tensor) -> None:
        """Copy every saved value that a write to `target` is about to change."""
        payload = target._data
        if type(payload) is not BatchedArray:
            super().before_write(target)
            return
        for each in self._examples.pop(id(payload.root), ()):
            kept = each()
            if kept is not None:
                kept.keep_copy()


class _Kept(Watched):
    """A saved array that can be read after the call."""

    __slots__ = ()

    def saved_copy(self) -> Any:
        """The copy that a write made necessary; None while the memory still holds the saved value."""
        return self._copy


class _KeptExamples:
    """A saved value inside of `vmap`. Its memory may move, so it is known by its owner and not by its address."""

    def __init__(self, tensor: Tensor) -> None:
        self._payload = tensor._data
        self._counter = shared_counter(tensor)
        self._version = version_of(tensor)
        self._copy: BatchedArray | None = None

    def saved_copy(self) -> BatchedArray | None:
        """The copy that a write made necessary; None while the memory still holds the saved value."""
        return self._copy

    def keep_copy(self) -> None:
        """Copy the value, which is about to be overwritten; one that nobody announced in time is left to be noticed."""
        if self._counter is None or self._counter.value == self._version:
            self._copy = BatchedArray(np.array(self._payload.data, order="K", copy=True), self._payload.levels)
        self._payload = None
