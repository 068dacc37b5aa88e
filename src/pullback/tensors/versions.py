"""Version counters: how often the memory behind a tensor was written, and where.

A counter is shared by everything that aliases the same memory. It is made when the first alias, write or saved
output appears; a tensor without one has version 0. Besides the count it keeps the regions written, so that a value
saved for backward is only lost when a later write really touched it: `h[i + 1] = f(h[i])` is fine.

Contiguous writes are painted on a line of byte addresses, one piece per stretch with its last version, so a query
costs a bisection however many rows were written. Strided writes are kept as arrays and compared exactly.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.core.state import next_stamp

_lock = threading.Lock()
# How hard the exact overlap test of two strided regions may work before it is answered "they overlap".
_MOST_WORK = 10_000
# Strided writes beyond this number are merged by region, so that a loop that rewrites its columns stays small.
_MOST_STRIDED = 4096


class VersionCounter:
    """The version of one piece of memory, shared by all tensors on it. Make one with `new_counter`."""

    # No constructor: operations that save their result make one each, so it is kept bare.
    __slots__ = ("__weakref__", "value", "writes")

    value: int
    writes: WrittenRegions | None
    born = 0  # when the memory was made; known only of memory made inside a function transform

    def bump(self, written: Any = None) -> None:
        """Count one write to the region `written`; None means all of the memory."""
        with _lock:
            self.value += 1
            if self.writes is None:
                self.writes = WrittenRegions()
            self.writes.add(written, self.value)

    def has_written(self, region: Any, since: int) -> bool:
        """True if a write after version `since` may have changed `region`."""
        if self.value == since or self.writes is None:
            return self.value != since
        with _lock:
            return self.writes.overlap(region, since)

    def moved(self) -> None:
        """The memory was replaced by other memory: where it was written before can not be told any more."""
        with _lock:
            if self.writes is not None:
                self.writes = WrittenRegions()
                self.writes.add(None, self.value)

    def rewind(self, version: int) -> None:
        """Go back to an earlier version: the writes since then count as if they had been made before it."""
        with _lock:
            self.value = version
            if self.writes is not None:
                self.writes.rewind(version)


def new_counter() -> VersionCounter:
    """A counter at version 0."""
    counter = VersionCounter()
    counter.value = 0
    counter.writes = None
    return counter


class DatedCounter(VersionCounter):
    """The counter of memory made inside a function transform, which may do there what captured memory may not."""

    __slots__ = ("born",)


def dated_counter(born: int | None = None) -> DatedCounter:
    """A counter at version 0 that remembers when its memory was made: now, unless it is said."""
    counter = DatedCounter()
    counter.value = 0
    counter.writes = None
    counter.born = next_stamp() if born is None else born
    return counter


class WrittenRegions:
    """Where one piece of memory was written, and in which version last."""

    __slots__ = ("_ends", "_limit", "_starts", "_strided", "_versions", "_whole")

    def __init__(self) -> None:
        self._whole = 0  # last version that wrote an unknown or complete region
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._versions: list[int] = []
        self._strided: list[tuple[int, Any]] = []
        self._limit = _MOST_STRIDED

    def add(self, written: Any, version: int) -> None:
        """Remember a write."""
        if type(written) is not np.ndarray:
            self._whole = version
        elif written.size == 0:
            pass
        elif written.flags.c_contiguous or written.flags.f_contiguous:
            low = written.__array_interface__["data"][0]  # `byte_bounds` in a third of its time
            self._paint(low, low + written.nbytes, version)
        else:
            self._strided.append((version, written))
            if len(self._strided) > self._limit:
                self._merge_strided()

    def overlap(self, region: Any, since: int) -> bool:
        """True if something written after version `since` overlaps `region`."""
        if self._whole > since or type(region) is not np.ndarray:
            return True
        if region.size == 0:
            return False
        low, high = byte_bounds(region)
        contiguous = region.flags.c_contiguous or region.flags.f_contiguous
        for piece in range(bisect_right(self._ends, low), len(self._starts)):
            if self._starts[piece] >= high:
                break
            if self._versions[piece] > since and (
                contiguous or _touches(region, self._starts[piece], self._ends[piece])
            ):
                return True
        return any(version > since and overlap(region, written) for version, written in reversed(self._strided))

    def rewind(self, version: int) -> None:
        """Let no write be later than `version`."""
        self._whole = min(self._whole, version)
        self._versions = [min(each, version) for each in self._versions]
        self._strided = [(min(each, version), written) for each, written in self._strided]

    def _paint(self, low: int, high: int, version: int) -> None:
        starts, ends, versions = self._starts, self._ends, self._versions
        first = bisect_right(ends, low)
        last = bisect_left(starts, high, lo=first)
        new_starts, new_ends, new_versions = [low], [high], [version]
        if first < last:
            if starts[first] < low:
                new_starts.insert(0, starts[first])
                new_ends.insert(0, low)
                new_versions.insert(0, versions[first])
            if ends[last - 1] > high:
                new_starts.append(high)
                new_ends.append(ends[last - 1])
                new_versions.append(versions[last - 1])
        starts[first:last], ends[first:last], versions[first:last] = new_starts, new_ends, new_versions

    def _merge_strided(self) -> None:
        latest: dict[Any, tuple[int, Any]] = {}
        for version, written in self._strided:
            latest[(byte_bounds(written), written.shape, written.strides)] = (version, written)
        self._strided = sorted(latest.values(), key=lambda entry: entry[0])
        self._limit = max(_MOST_STRIDED, 2 * len(self._strided))


def overlap(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Do two arrays have an element in common? Answered exactly unless that is too hard, and with yes then."""
    try:
        return np.shares_memory(first, second, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _touches(region: np.ndarray[Any, Any], low: int, high: int) -> bool:
    """Does the strided `region` have an element inside the byte range?"""
    return overlap(region, np.asarray(_Interval(low, high)))


class _Interval:
    """A byte range dressed as an array, for NumPy's exact overlap test. Its contents are never read."""

    def __init__(self, low: int, high: int) -> None:
        self.__array_interface__ = {"version": 3, "shape": (high - low,), "typestr": "|u1", "data": (low, True)}
