"""Version counters: how often the memory behind a tensor was written.

A counter is shared by everything that aliases the same memory. It is made when the first alias or write appears; a
tensor without one has version 0. Memory is private until `shared` says otherwise: one tensor uses it, and nobody else
was given it. What graphs keep of shared memory is found through epochs: see `tensors/overwrites.py`.
"""

from __future__ import annotations

import sys
import threading
import weakref
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.core.state import next_stamp

_lock = threading.RLock()
# How hard the exact overlap test of two strided regions may work before it is answered "they overlap".
_MOST_WORK = 10_000


class VersionCounter:
    """The version of one piece of memory, shared by all tensors on it. Make one with `new_counter`."""

    # No constructor: inside transforms every operation makes one, so it is kept bare. Make one with `new_counter`.
    __slots__ = ("__weakref__", "early", "epoch", "group", "index", "leaves", "shared", "unsorted",
                 "value")  # fmt: skip

    value: int
    shared: bool  # somebody else has the memory, or had it: another tensor, NumPy, a caller
    epoch: Epoch | None  # the present version; None of private memory whose saved values were never written over
    index: Any  # what living graphs keep of older versions, by address; None if there is nothing
    unsorted: Any  # what of that is still to be put there: logs of epochs, each with a weak reference to its epoch
    early: Any  # the payload that was kept by a graph when the memory became shared, until it is written over
    group: Group | None  # of memory that others have outside, where further tensors may have been put on it
    leaves: list[Any] | None  # weak references to the leaves on shared memory
    born = 0  # when the memory was made; known only of memory made inside a function transform

    def bump(self) -> None:
        """Count one write."""
        with _lock:
            self.value += 1
            epoch = self.epoch
            if epoch is not None:
                if sys.getrefcount(epoch) > UNHELD:
                    self.end_epoch()
                else:
                    epoch.version = self.value
                    if epoch.log:
                        epoch.log.clear()

    def end_epoch(self) -> None:
        """What is kept from now on is of another version than what was kept until now."""
        epoch: Any = self.epoch
        if epoch.log:  # no write: what was kept is as it was, and may still be written over
            known = [each for each in self.unsorted or () if each[1]() is not None]
            self.unsorted = [*known, (epoch.log, weakref.ref(epoch))]
        self.epoch = epoch.next = new_epoch(self.value, None if epoch.log is None else [], epoch.counter)

    def begin_epochs(self, log: list[Any] | None) -> None:
        """From now on say which version a graph keeps. `log` is for the payloads kept, if the memory is shared."""
        if self.epoch is None:
            self.epoch = new_epoch(self.value, log, weakref.ref(self))
        elif self.epoch.log is None:
            self.epoch.log = log

    def made_shared(self) -> VersionCounter:
        """The counter of memory that others have, and of which no graph keeps anything yet."""
        self.begin_epochs([])
        self.shared = True
        return self

    def rewind(self, version: int) -> None:
        """Go back to an earlier version: the writes since then count as none."""
        with _lock:
            self.value = version


def new_counter() -> VersionCounter:
    """A counter at version 0."""
    counter = VersionCounter()
    counter.value = 0
    counter.shared = False
    counter.epoch = counter.index = counter.unsorted = counter.early = counter.leaves = counter.group = None
    return counter


def counter_at(version: int) -> VersionCounter:
    """A counter at this version."""
    counter = new_counter()
    counter.value = version
    return counter


class DatedCounter(VersionCounter):
    """The counter of memory made inside a function transform, which may do there what captured memory may not."""

    __slots__ = ("born",)


def dated_counter(born: int | None = None) -> DatedCounter:
    """A counter at version 0 that remembers when its memory was made: now, unless it is said."""
    counter = DatedCounter()
    counter.value = 0
    counter.shared = False
    counter.epoch = counter.index = counter.unsorted = counter.early = counter.leaves = counter.group = None
    counter.born = next_stamp() if born is None else born
    return counter


class _Outlives:
    """A counter of memory that NumPy or others have too. It outlives its tensor while a graph keeps values of the
    memory, since other tensors may be put on that and write to it. It is the graph that keeps it alive, by the epoch:
    a counter refers to payloads, and these are to go with the last graph that keeps any."""

    __slots__ = ()

    def __del__(self) -> None:
        # The garbage collector may run in the middle of anything, so groups are left alone here, and nobody waits.
        counter: Any = self
        if type(counter.early) is np.ndarray:
            _outlive_early(counter)
        if not _is_held(counter):
            return
        counter.__class__ = _DatedOutlivingCounter if isinstance(counter, DatedCounter) else _OutlivingCounter
        epoch = counter.epoch
        epoch.counter = _Keeper(counter)
        if _lock.acquire(blocking=False):  # else a cycle is left to the garbage collector
            try:
                counter.epoch = counter.epoch
            finally:
                _lock.release()
        _dying.append(weakref.ref(counter))


class _Keeper:
    """Refers to a counter as a weak reference would, and keeps it."""

    __slots__ = ("counter",)

    def __init__(self, counter: VersionCounter) -> None:
        self.counter = counter

    def __call__(self) -> VersionCounter:
        return self.counter


class _OutsideCounter(_Outlives, VersionCounter):
    __slots__ = ()


class _DatedOutsideCounter(_Outlives, DatedCounter):
    __slots__ = ()


class _Outliving:
    """A counter whose tensors have gone. It refers weakly to its epoch, and lives as long as that."""

    __slots__ = ()

    @property
    def epoch(self) -> Epoch | None:
        """The present version; None if no graph keeps anything any more."""
        found: Any = _epoch_slot.__get__(self)
        return found() if type(found) is weakref.ref else found

    @epoch.setter
    def epoch(self, epoch: Epoch) -> None:
        _epoch_slot.__set__(self, weakref.ref(epoch))


_epoch_slot: Any = VersionCounter.__dict__["epoch"]


class _OutlivingCounter(_Outliving, VersionCounter):
    __slots__ = ()


class _DatedOutlivingCounter(_Outliving, DatedCounter):
    __slots__ = ()


# Weak references to counters whose tensors have gone, and which their groups may have lost.
_dying: list[weakref.ref[VersionCounter]] = []
# By identity, counters of what graphs keep without an epoch, each with a weak reference to that, which cleans up.
_outliving: dict[int, tuple[VersionCounter, Any]] = {}


def _outlive_early(counter: Any) -> None:
    """Leave the early payload of a counter that goes to one of its own, which does not keep it."""
    heir = new_counter()
    key = id(heir)
    reference = weakref.ref(counter.early, lambda _: _outliving.pop(key, None))
    heir.value, heir.leaves, heir.group = counter.value, counter.leaves, counter.group
    heir.early = reference
    heir.made_shared()
    _outliving[key] = (heir, reference)
    _dying.append(weakref.ref(heir))
    counter.early = None


def _is_held(counter: Any) -> bool:
    epoch = counter.epoch
    return epoch is not None and (sys.getrefcount(epoch) > UNHELD or isinstance(counter, _Outliving))


def _readmit() -> None:
    """Let counters live on whose tensors have gone, while graphs keep values of their memory."""
    while _dying:
        counter = _dying.pop()()
        if counter is not None:
            group: Any = counter.group
            group.add(counter)
            _groups.add(group)


class Group:
    """The counters of tensors that were put, one by one, on the same memory. Each counts its own writes, but what
    graphs keep of the memory is threatened by all of them."""

    __slots__ = ("__weakref__", "_limit", "_references", "high", "low")

    def __init__(self, low: int, high: int) -> None:
        self.low, self.high = low, high
        self._references: list[weakref.ref[VersionCounter]] = []
        self._limit = 8

    def add(self, counter: VersionCounter) -> None:
        """Let a counter in."""
        if len(self._references) > self._limit:
            self._references = [each for each in self._references if each() is not None]
            self._limit = 8 + 2 * len(self._references)
        self._references.append(weakref.ref(counter))
        counter.group = self

    def living(self) -> list[VersionCounter]:
        """The counters that are still there."""
        return [counter for each in self._references if (counter := each()) is not None]

    def is_shared(self) -> bool:
        """May there be more than one?"""
        return len(self._references) > 1


class _Groups:
    """The groups by address. Identities of arrays would not do: what comes by DLPack does not say whose memory it is.

    Two that overlap become one. That of memory which is gone ends with its counters, and is found to be dead later.
    """

    def __init__(self) -> None:
        self._sorted: list[tuple[int, int, weakref.ref[Group]]] = []
        self._limit = 64

    def of(self, low: int, high: int) -> Group:
        """The group of the memory between two addresses."""
        first = bisect_right(self._sorted, low, key=_low)
        if first and self._sorted[first - 1][1] >= high:  # nearly always so, if the memory is known
            found = self._sorted[first - 1][2]()
            if found is not None:
                return found
        return self.add(Group(low, high))

    def add(self, group: Group) -> Group:
        """Put in a group, with what others have whose memory is also its own."""
        if len(self._sorted) > self._limit:
            self._sorted = [each for each in self._sorted if each[2]() is not None]
            self._limit = max(64, 2 * len(self._sorted))
        first = last = bisect_left(self._sorted, group.low, key=_low)
        if first and self._sorted[first - 1][1] > group.low:
            first -= 1
        while last < len(self._sorted) and self._sorted[last][0] < group.high:
            last += 1
        for *_, reference in self._sorted[first:last]:
            other = reference()
            if other is not None and other is not group:
                group.low, group.high = min(group.low, other.low), max(group.high, other.high)
                for counter in other.living():
                    group.add(counter)
        self._sorted[first:last] = [(group.low, group.high, weakref.ref(group))]
        return group


def _low(entry: tuple[int, int, Any]) -> int:
    return entry[0]


_groups = _Groups()


def join_group(counter: VersionCounter, owner: Any) -> None:
    """Say that the memory of this counter is, or is a part of, that of `owner`, and that others have that too."""
    if not isinstance(owner, np.ndarray):
        low = id(owner)  # of another library, whose addresses nobody asks for
        high = low + 1
    elif owner.flags.c_contiguous:
        low = owner.__array_interface__["data"][0]
        high = low + owner.nbytes
    else:
        low, high = byte_bounds(owner)
    _join(counter, low, high)


def _join(counter: VersionCounter, low: int, high: int) -> None:
    with _lock:
        if _dying:
            _readmit()
        _groups.of(low, high).add(counter)
        counter.__class__ = _DatedOutsideCounter if isinstance(counter, DatedCounter) else _OutsideCounter


def counter_of(epoch: Epoch) -> VersionCounter | None:
    """The counter for a tensor on memory of which a graph keeps this version; None if its tensors have gone, and
    nobody else had the memory."""
    found: VersionCounter | None = epoch.counter()
    if isinstance(found, _Outliving):
        # It cannot be given tensors again, since it would not outlive them: objects are finalized once.
        group: Any = found.group
        counter = dated_counter(found.born) if isinstance(found, DatedCounter) else new_counter()
        counter.value, counter.leaves = found.value, found.leaves
        _join(counter.made_shared(), group.low, group.high)
        return counter
    return found


def others_on(group: Group, counter: VersionCounter) -> list[VersionCounter]:
    """The other counters of a group through which graphs keep something."""
    with _lock:
        if _dying:
            _readmit()
        if not group.is_shared():
            return []
        others = [each for each in group.living() if each is not counter]
    return [each for each in others if each.early is not None or _is_held(each)]


class Epoch:
    """One version of one piece of memory, as those know it who keep a value of it for backward.

    The counter refers to the present epoch, a graph to that of the values it keeps, and an epoch that has ended to its
    successor. So somebody besides the counter refers to the present one exactly if a graph keeps a value of this or of
    any older version: one reference count answers for all of them.
    """

    __slots__ = ("__weakref__", "counter", "kept", "limit", "log", "next", "version")

    counter: Any  # weak, unless the counter has outlived its tensors, and lives as long as its last epoch with those
    version: int
    next: Epoch | None  # None while it is the present one
    log: list[Any] | None  # the payloads kept in it; None of private memory, where the reference count of one tells
    limit: int
    kept: dict[int, Any] | None  # by the identity of a payload that was written over: a copy, or `Lost`

    def hold(self, payload: Any) -> Epoch:
        """Note that a graph keeps `payload` in this version, and return the epoch, which is to be kept with it."""
        log = self.log
        if log is not None:
            log.append(payload)
            if len(log) > self.limit:
                self._sweep(log)
        return self

    def _sweep(self, log: list[Any]) -> None:
        """Forget payloads that nobody has any more, and all but one mention of each."""
        with _lock:
            single = {id(payload): payload for payload in log}
            log.clear()
            while single:
                payload = single.popitem()[1]
                if sys.getrefcount(payload) > LOCAL:
                    log.append(payload)
            self.limit = max(64, 2 * len(log))


def new_epoch(version: int, log: list[Any] | None, counter: Any) -> Epoch:
    """An epoch that begins now."""
    epoch = Epoch()
    epoch.version, epoch.log, epoch.counter = version, log, counter
    epoch.next = epoch.kept = None
    epoch.limit = 64
    return epoch


def _references_to_an_epoch() -> int:
    """The reference count of an epoch to which nobody refers but its counter and a local variable."""
    holder = new_counter()
    holder.begin_epochs(None)
    epoch = holder.epoch
    return sys.getrefcount(epoch)


def _references_to_a_local() -> int:
    payload = np.empty(0)
    return sys.getrefcount(payload)


def overlap(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> bool:
    """Do two arrays have an element in common? Answered exactly unless that is too hard, and with yes then."""
    try:
        return np.shares_memory(first, second, max_work=_MOST_WORK)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def shows_an_element_twice(array: np.ndarray[Any, Any]) -> bool:
    """Do two places of an array refer to one element, as in overlapping windows?"""
    flags = array.flags
    if flags.c_contiguous or flags.f_contiguous or array.size < 2:
        return False
    reach = array.itemsize
    steps = zip(array.strides, array.shape, strict=True)
    axes = sorted((abs(stride), length) for stride, length in steps if length > 1)
    for stride, length in axes:
        if stride < reach:  # the axes before this one reach into its next step; they may still miss each other
            break
        reach += stride * (length - 1)
    else:
        return False
    offsets = np.zeros((), np.intp)
    for stride, length in axes:
        offsets = offsets[..., None] + stride * np.arange(length)
    return np.unique(offsets).size < array.size


# Counts of references. Each is compared with one that was taken in the same way: since Python 3.14 a local variable
# that is given to a function is not counted once more, while a field is.
UNHELD = _references_to_an_epoch()
LOCAL = _references_to_a_local()
