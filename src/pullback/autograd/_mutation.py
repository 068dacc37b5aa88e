"""`allow_mutation_on_saved_tensors`: saved values are copied right before they are overwritten.

A guard stands for one entered context. Saving a value asks it to `watch` the memory; every in-place operation
announces its target with `before_write`; whatever watched memory overlaps the target is copied then, and never
otherwise. Watched stretches of memory are sorted by address, so a write looks only at its neighbourhood.
"""

from __future__ import annotations

import weakref
from bisect import bisect_left, bisect_right, insort
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.core.state import change, current
from pullback.errors import AutogradError
from pullback.tensors.tensor import Tensor, shared_counter, version_of

# How hard the exact overlap test may work before it is answered "they overlap", which costs a copy and nothing else.
_MOST_WORK = 10_000


class Watched:
    """A saved payload at one version, shared by everything that saved it, with the copy made before it was written."""

    __slots__ = ("__weakref__", "_copy", "_counter", "_guard", "_payload", "_version", "high", "key", "low")

    def __init__(self, guard: Guard, key: Any, tensor: Tensor) -> None:
        self.key = key
        self.low, self.high = byte_bounds(tensor._data)
        self._guard = guard
        self._payload: Any = tensor._data
        self._counter = shared_counter(tensor)
        self._version = version_of(tensor)
        self._copy: Any = None

    def saved_copy(self) -> Any:
        """The copy that a write made necessary; None while the memory still holds the saved value."""
        if current().mutation_guard is not self._guard:
            raise AutogradError(
                "MUTATION_CTX",
                "backward reads values that were saved inside another allow_mutation_on_saved_tensors() block",
                why="the copies of overwritten values live as long as the block that made them",
                fix="run backward inside the same block as the forward pass",
            )
        return self._copy

    def overlaps(self, written: Any) -> bool:
        """Could a write to `written` change the saved value?"""
        try:
            return np.shares_memory(self._payload, written, max_work=_MOST_WORK)  # type: ignore[arg-type]
        except np.exceptions.TooHardError:
            return True

    def keep_copy(self) -> None:
        """Copy the value, which is about to be overwritten."""
        # A write that nobody announced, as from another thread, has destroyed it already; reading it will say so.
        if self._counter is None or not self._counter.has_written(self._payload, self._version):
            self._copy = np.array(self._payload, order="K", copy=True)
        self._payload = None

    def drop(self) -> None:
        """Forget value and copy."""
        self._copy = self._payload = None


class Guard:
    """One entered `allow_mutation_on_saved_tensors` context. Used by saved values and by in-place operations."""

    def __init__(self) -> None:
        self._watched: weakref.WeakSet[Watched] = weakref.WeakSet()
        # Those whose memory has not been written: by what they are, and as (low address, number, reference) in order.
        self._by_memory: weakref.WeakValueDictionary[Any, Watched] = weakref.WeakValueDictionary()
        self._unwritten: list[tuple[int, int, weakref.ref[Watched]]] = []
        self._longest = 0
        self._count = 0
        self._most_before_sweep = 64

    def watch(self, tensor: Tensor) -> Watched | None:
        """Protect the tensor's present value; None for payloads that are no plain arrays."""
        payload = tensor._data
        if type(payload) is not np.ndarray:
            return None
        address = payload.__array_interface__["data"][0]
        key = (address, payload.shape, payload.strides, payload.dtype, version_of(tensor))
        watched = self._by_memory.get(key)
        if watched is None:
            watched = self._by_memory[key] = Watched(self, key, tensor)
            self._watched.add(watched)
            self._sweep()
            self._count += 1
            insort(self._unwritten, (watched.low, self._count, weakref.ref(watched)))
            self._longest = max(self._longest, watched.high - watched.low)
        return watched

    def before_write(self, target: Tensor) -> None:
        """Copy every saved value that a write to `target` is about to change."""
        written = target._data
        if not self._unwritten or type(written) is not np.ndarray or written.size == 0:
            return
        low, high = byte_bounds(written)
        first = bisect_right(self._unwritten, low - self._longest, key=_low)
        last = bisect_left(self._unwritten, high, lo=first, key=_low)
        still_unwritten = []
        for entry in self._unwritten[first:last]:
            watched = entry[2]()
            if watched is None:
                continue
            if watched.high > low and watched.overlaps(written):
                watched.keep_copy()
                del self._by_memory[watched.key]
            else:
                still_unwritten.append(entry)
        self._unwritten[first:last] = still_unwritten

    def close(self) -> None:
        """Forget everything; what was saved can no longer be read."""
        for watched in list(self._watched):
            watched.drop()
        self._watched.clear()
        self._by_memory.clear()
        self._unwritten.clear()

    def _sweep(self) -> None:
        """Now and then, remove entries of values that were released."""
        if len(self._unwritten) >= self._most_before_sweep:
            self._unwritten = [entry for entry in self._unwritten if entry[2]() is not None]
            self._most_before_sweep = max(64, 2 * len(self._unwritten))


def _low(entry: tuple[int, int, Any]) -> int:
    return entry[0]


class allow_mutation_on_saved_tensors:
    """Inside the block tensors saved for backward may be written in place: backward uses the values they had.

    A saved tensor is copied right before a write changes it. Backward must run inside the same block.

    >>> a = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.autograd.graph.allow_mutation_on_saved_tensors():
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     b *= 5
    ...     out.backward()
    >>> a.grad
    tensor([2., 4.])
    """

    def __init__(self) -> None:
        self._entered: list[tuple[Guard, dict[str, Any]]] = []

    def __enter__(self) -> Guard:
        if current().mutation_guard is not None:
            raise AutogradError(
                "MUTATION_NESTED",
                "allow_mutation_on_saved_tensors() inside another allow_mutation_on_saved_tensors()",
                why="a saved value belongs to one block, which keeps its copy",
                fix="use the outer block only",
            )
        guard = Guard()
        self._entered.append((guard, change(mutation_guard=guard)))
        return guard

    def __exit__(self, *exc: object) -> None:
        guard, previous = self._entered.pop()
        change(**previous)
        guard.close()
