"""Writes over values that a graph still needs: the values survive, or their loss is noted.

Whoever writes to the memory of a tensor calls `make_way` (or `new_room`) first. What happens then depends on the
memory. *Private* memory, which one tensor alone uses, is left to the graph: the tensor takes new memory, and nothing is
copied that an operation without a write would not have made anew. That a graph keeps it is seen by the reference count
of the payload; a larger one than expected leaves the memory, so the worst that can happen is a copy. Of *shared*
memory, the values that the write is about to change are copied, and the copies are kept by their epoch. The next write
after they were saved finds them in the log of the epoch and sorts them by address into the index of the counter.

A graph that keeps a payload keeps the epoch with it (None of private memory that was never written over while a graph
had it), and reads it by `kept_value`.

The policy says whether values survive, and whether those of leaves do (`overwrite_policy`). Only writes look at it, so
it is no part of the modes.
"""

from __future__ import annotations

import math
import os
import sys
import weakref
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.core.frames import user_place
from pullback.core.state import current, restore_beside_modes
from pullback.payloads.batched.array import BatchedArray, region_of
from pullback.tensors.tensor import ALONE, ALONE_OWNER, Leaf, Tensor, own_counter
from pullback.tensors.versions import (
    LOCAL,
    UNHELD,
    Epoch,
    VersionCounter,
    _lock,
    new_counter,
    new_epoch,
    others_on,
    overlap,
)

getrefcount = sys.getrefcount
ndarray = np.ndarray


class Policy(NamedTuple):
    """What a write does to values that a graph needs: "preserve" or "raise", for leaves apart."""

    policy: str
    leaves: str = "raise"


def checked_policy(policy: Any, leaves: Any = "raise") -> Policy:
    """The policy of these names; a ValueError for others."""
    for name, value in (("policy", policy), ("leaves", leaves)):
        if value not in ("preserve", "raise"):
            raise ValueError(f"overwrite_policy: {name} must be 'preserve' or 'raise', got {value!r}")
    return Policy(policy, leaves)


_default = checked_policy(os.environ.get("PULLBACK_OVERWRITES", "preserve"))
_policy: ContextVar[Policy] = ContextVar("pullback_overwrites", default=_default)
get_policy = _policy.get
put_policy_in_force = _policy.set
restore_beside_modes(get_policy, put_policy_in_force)


class Lost:
    """Stands for a saved value that was written over. `version` is that of the write, `expected` that of the value,
    `place` the user's line that wrote, or `OUTSIDE`."""

    __slots__ = ("counter", "expected", "place", "version")

    def __init__(self, counter: VersionCounter | None, expected: int, place: Any = None) -> None:
        self.counter = _nobody if counter is None else weakref.ref(counter)
        self.expected = expected
        self.version = expected + 1 if counter is None else counter.value + 1
        self.place = place or user_place()

    def present_version(self) -> int | None:
        """What the counter says now; None if it was set back, so that the write counts as none."""
        counter = self.counter()
        if counter is None:
            return self.version
        return counter.value if counter.value >= self.version else None


OUTSIDE = ("NumPy", 0)
"""The place of writes that nobody has told Pullback of."""


def _nobody() -> None:
    return None


# How many elements of an array are looked at, at least, if it has as many as that.
_LOOKED_AT = 500


class _WatchedEpoch(Epoch):
    """The epoch of an array of NumPy's that is too large to be copied. It is known to have been written if elements of
    a sample have changed since a graph kept it: always if the write changed the 500th part of it in a row."""

    __slots__ = ("array", "held", "later", "sample")

    array: Any
    held: Any  # the payloads that graphs keep: the array, or views of it
    later: Epoch | None
    sample: bytes | None  # None until a graph keeps something

    def hold(self, payload: Any) -> Epoch:
        if self.sample is None:
            self.sample = _sample(self.array)
        self.held.append(payload)
        return super().hold(payload)

    @property
    def next(self) -> Epoch | None:
        """Itself, if the array was written."""
        if self.later is None and self.sample is not None and _sample(self.array) != self.sample:
            self.kept = {id(payload): Lost(None, 0, OUTSIDE) for payload in self.held}
            return self
        return self.later

    @next.setter
    def next(self, epoch: Epoch | None) -> None:
        self.later = epoch


def _sample(array: Any) -> bytes:
    flags = array.flags
    if flags.c_contiguous:
        flat = array if array.ndim == 1 else array.reshape(-1)
    elif flags.f_contiguous:
        flat = array.T.reshape(-1)
    else:
        flat = array.flat
    stride = max(array.size // _LOOKED_AT, 1)
    while math.gcd(stride, 2 * 3 * 5 * 7) > 1:  # it should not meet the same column in every row, or place of a pattern
        stride -= 1
    found: bytes = flat[::stride].tobytes()
    return found


def epoch_of_array(array: Any) -> Epoch:
    """What a graph that keeps an array of NumPy's, to which anybody may write, has to keep with it."""
    return _watched_epoch(array, _nobody).hold(array)


def watched(constant: Tensor) -> Tensor:
    """The same for a graph that may keep a new Tensor on such an array, or views of it."""
    counter = constant._counter = new_counter()
    counter.epoch = _watched_epoch(constant._data, weakref.ref(counter))
    return constant


def _watched_epoch(array: Any, counter: Any) -> _WatchedEpoch:
    epoch = _WatchedEpoch()
    epoch.version, epoch.log, epoch.counter, epoch.kept, epoch.limit = 0, None, counter, None, 64
    epoch.array, epoch.held, epoch.later, epoch.sample = array, [], None, None
    return epoch


# What became of payloads that a graph keeps without an epoch: by identity, a weak reference that cleans up, and a copy
# or `Lost`. Almost always empty, and asked only if it is not. A copy that could refer to the payload, as one in a trace
# does through the trace, is an attribute of the payload, and None here: it would keep the payload, and so its entry.
disturbed: dict[int, tuple[Any, Any]] = {}

UNWRITTEN = new_epoch(0, None, lambda: None)
"""The epoch of what cannot be written over, such as numbers."""


def epoch_of(tensor: Tensor) -> Epoch | None:
    """What a graph that keeps the tensor's payload has to keep with it."""
    counter = tensor._counter
    epoch = None if counter is None else counter.epoch
    return None if epoch is None else epoch.hold(tensor._data)


def is_disturbed(payload: Any, epoch: Epoch | None) -> bool:
    """Is there any reason to ask `kept_value`, and not to take the payload itself?"""
    return id(payload) in disturbed if epoch is None else epoch.next is not None


def kept_value(payload: Any, epoch: Epoch | None) -> Any:
    """The value of a payload when it was saved: itself, a copy, or `Lost`."""
    if epoch is None:
        found = disturbed.get(id(payload))
        value = payload if found is None else payload.kept if found[1] is None else found[1]
    else:
        value = payload if epoch.kept is None else epoch.kept.get(id(payload), payload)
    if type(value) is Lost and value.present_version() is None:
        return payload
    return value


# What writers call.


def make_way(tensor: Tensor, part: Any = None, name: str = "") -> None:
    """Before a write to `part` of the tensor's memory, or to all of it: let survive what graphs keep of it."""
    room = new_room(tensor, part, name)
    if room is not None:
        room[...] = tensor._data
        tensor._data = room


def new_room(tensor: Tensor, part: Any = None, name: str = "") -> Any:
    """The same for a caller that computes the new contents as a whole: if memory is to be left, new memory without
    contents, which is to become the tensor's payload, and otherwise None."""
    counter = tensor._counter
    if counter is not None and counter.shared:
        epoch = counter.epoch
        if getrefcount(epoch) > UNHELD or counter.early is not None:
            with _lock:
                _copy_out(tensor, counter, region_of(tensor._data if part is None else part), name, counter)
        else:
            counter.index = counter.unsorted = None
        if counter.group is not None:
            # What is kept through other tensors on the same memory, which do not count the write.
            for other in others_on(counter.group, counter):
                with _lock:
                    _copy_out(tensor, other, region_of(tensor._data if part is None else part), name, counter)
        return None
    if getrefcount(tensor._data) <= ALONE and (
        type(tensor._data) is not ndarray or tensor._data.base is None or _owner_is_alone(tensor)
    ):
        return None
    return _leave(tensor, name)


def lose(tensor: Tensor) -> None:
    """Note that all of the tensor's memory was written, and nobody could keep what was there."""
    before = _policy.set(_STRICT)
    try:
        make_way(tensor)
    finally:
        _policy.reset(before)


_STRICT = Policy("raise")


def _owner_is_alone(tensor: Tensor) -> bool:
    owner = tensor._data.base
    return getrefcount(owner) <= ALONE_OWNER


# Private memory.


def _leave(tensor: Tensor, name: str) -> Any:
    payload = tensor._data
    if payload.size == 0 or (tensor._extra is not None and tensor._extra.inference):
        return None
    if type(payload) is ndarray and not payload.flags.writeable:
        return None  # NumPy will refuse to write it
    policy = get_policy()
    note_trace(policy)
    if policy.policy == "raise" or (policy.leaves == "raise" and type(tensor._node) is Leaf):
        _note_private(tensor, payload, None)
        return None
    if type(payload) is ndarray:
        report("left", name, payload.nbytes)
        return memory_like(payload)
    report("copied", name, payload.nbytes)
    _note_private(tensor, payload, copy_of(payload))
    return None


def _note_private(tensor: Tensor, payload: Any, value: Any) -> None:
    """Note the copy, or the loss, of the payload of private memory that stays the tensor's."""
    counter = own_counter(tensor)
    assert counter is not None
    with _lock:
        epoch = counter.epoch
        if epoch is None:
            _disturb(payload, Lost(counter, counter.value) if value is None else value)
            counter.begin_epochs(None)
        else:
            _keep(epoch, payload, Lost(counter, epoch.version) if value is None else value)
            counter.end_epoch()


def _disturb(payload: Any, value: Any) -> None:
    key = id(payload)
    try:
        reference = weakref.ref(payload, lambda _: disturbed.pop(key, None))
    except TypeError:  # a payload of somebody else's class, kept for good
        reference = payload
    if type(value) is not Lost and hasattr(type(payload), "kept"):
        payload.kept, value = value, None
    disturbed[key] = (reference, value)


def _keep(epoch: Epoch, payload: Any, value: Any) -> None:
    if epoch.kept is None:
        epoch.kept = {}
    epoch.kept.setdefault(id(payload), value)


def memory_like(array: Any) -> Any:
    """New memory of the same shape, dtype and strides, without contents."""
    made = np.empty_like(array)
    if made.strides == array.strides:
        return made
    low, high = byte_bounds(array)
    start = array.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, np.empty(high - low, np.uint8), start - low, array.strides)


def copy_of(payload: Any) -> Any:
    """A payload with the same value that nobody else has."""
    if type(payload) is ndarray:
        return np.array(payload, order="K", copy=True)
    if type(payload) is BatchedArray:
        return BatchedArray(copy_of(payload.data), payload.levels)
    if hasattr(payload, "pinned"):
        return payload.pinned()
    return payload.copy()


# Shared memory.


class Entry(NamedTuple):
    """A payload that a graph keeps of shared memory. `region` is None where nobody knows its addresses."""

    low: int
    number: int
    high: int
    payload: Any
    region: Any
    epoch: Any  # weak; None for what was kept without one


class Index:
    """What graphs keep of one piece of memory, by address."""

    __slots__ = ("_count", "_entries", "_limit", "_longest", "_loose")

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._loose: list[Entry] = []
        self._longest = 0
        self._count = 0
        self._limit = 64

    def add(self, payloads: Iterable[Any], epoch: Any) -> None:
        """Remember what was kept in an epoch."""
        if len(self._entries) > self._limit:
            self._entries = list(filter(_is_alive, self._entries))
            self._limit = max(64, 2 * len(self._entries))
        for payload in payloads:
            self._count += 1
            region = region_of(payload)
            if type(region) is not ndarray or type(payload) is BatchedArray:  # batches can move
                self._loose.append(Entry(0, self._count, 0, payload, None, epoch))
            elif region.size:
                low, high = byte_bounds(region)
                insort(self._entries, Entry(low, self._count, high, payload, region, epoch), key=_low)
                self._longest = max(self._longest, high - low)

    def take(self, written: Any) -> list[Entry]:
        """Remove and return what a write overlaps; what nobody keeps any more is forgotten on the way."""
        if type(written) is not ndarray:
            taken = [*self._entries, *self._loose]
            self._entries, self._loose = [], []
            return [entry for entry in taken if _is_alive(entry)]
        if not written.size:
            return []
        low, high = byte_bounds(written)
        entries = self._entries
        first = bisect_right(entries, low - self._longest, key=_low)
        last = bisect_left(entries, high, lo=first, key=_low)
        taken = []
        left: list[Entry] = []
        # path: written regions
        for entry in entries[first:last]:
            if not _is_alive(entry):
                continue
            (taken if entry.high > low and overlap(entry.region, written) else left).append(entry)
        entries[first:last] = left
        taken += filter(_is_alive, self._loose)
        self._loose = []
        return taken


def _low(entry: Entry) -> int:
    return entry.low


def _is_alive(entry: Entry) -> bool:
    return entry.epoch is None or entry.epoch() is not None


def _copy_out(tensor: Tensor, counter: VersionCounter, written: Any, name: str, writer: VersionCounter) -> None:
    epoch: Any = counter.epoch
    if epoch is None:  # the last graph that kept something has just gone
        return
    index = counter.index
    if index is None:
        index = counter.index = Index()
    early = counter.early() if type(counter.early) is weakref.ref else counter.early
    if early is not None and _meets(early, written):  # else it stays where it is, and is not kept by the index
        index.add((early,), None)
        counter.early = None
    unsorted, counter.unsorted = [*(counter.unsorted or ()), (epoch.log, weakref.ref(epoch))], None
    for log, reference in unsorted:
        if log:
            single = {id(payload): payload for payload in log}
            log.clear()
            index.add(_living(single), reference)
    taken = index.take(written)
    if not taken:
        return
    counter.end_epoch()
    policy = get_policy()
    note_trace(policy)
    if policy.policy == "raise" or (policy.leaves == "raise" and _is_of_a_leaf(counter, written)):
        for entry in taken:
            _settle(entry, None, writer)
        return
    copies: dict[Any, Any] = {}
    snapshot = _Snapshot.if_smaller(taken)
    for entry in taken:
        key = _place(entry)
        if key not in copies:
            copies[key] = copy_of(entry.payload) if snapshot is None else snapshot.part(entry.payload)
            if snapshot is None:
                report("copied", name, entry.payload.nbytes)
        _settle(entry, copies[key], writer)
    if snapshot is not None:
        report("copied", name, snapshot.nbytes)


def _meets(payload: Any, written: Any) -> bool:
    """Would `Index.take` give this payload for a write?"""
    if type(written) is not ndarray:
        return True
    region = region_of(payload)
    if type(region) is not ndarray or type(payload) is BatchedArray:
        return written.size > 0
    return overlap(region, written)


def _living(payloads: dict[int, Any]) -> Iterable[Any]:
    while payloads:
        payload = payloads.popitem()[1]
        if getrefcount(payload) > LOCAL:
            yield payload


def _settle(entry: Entry, value: Any, writer: VersionCounter) -> None:
    if entry.epoch is None:
        _disturb(entry.payload, Lost(writer, 0) if value is None else value)
        return
    epoch = entry.epoch()
    if epoch is not None:
        _keep(epoch, entry.payload, Lost(writer, epoch.version) if value is None else value)


def _place(entry: Entry) -> Any:
    """What two payloads have in common that need one copy; of what has no address, nothing."""
    payload = entry.payload
    if type(payload) is not ndarray:
        return id(payload)
    return (entry.low, entry.high, payload.shape, payload.strides, payload.dtype)


def _is_of_a_leaf(counter: VersionCounter, written: Any) -> bool:
    for reference in counter.leaves or ():
        leaf = reference()
        if leaf is not None and type(leaf._node) is Leaf:
            region = region_of(leaf._data)
            if type(region) is not ndarray or type(written) is not ndarray or overlap(region, written):
                return True
    return False


class _Snapshot:
    """A copy of all of the memory, where the parts that were kept of it are larger together."""

    def __init__(self, owner: Any) -> None:
        ordered = owner if owner.flags.c_contiguous else owner.T
        self._memory = ordered.copy()
        self._start = owner.__array_interface__["data"][0]
        self.nbytes = owner.nbytes

    @classmethod
    def if_smaller(cls, entries: list[Entry]) -> _Snapshot | None:
        """The copy, if it is worth it."""
        parts = {_place(entry): entry.payload for entry in entries}
        if len(parts) < 2 or any(type(payload) is not ndarray for payload in parts.values()):
            return None
        owners = {id(owner): owner for owner in map(_owner, parts.values())}
        if len(owners) != 1:
            return None
        (owner,) = owners.values()
        if not isinstance(owner, ndarray) or not (owner.flags.c_contiguous or owner.flags.f_contiguous):
            return None
        return cls(owner) if sum(payload.nbytes for payload in parts.values()) > owner.nbytes else None

    def part(self, payload: Any) -> Any:
        """The part of the copy where the payload lies in the original."""
        offset = payload.__array_interface__["data"][0] - self._start
        return np.ndarray(payload.shape, payload.dtype, self._memory, offset, payload.strides)


def _owner(array: Any) -> Any:
    while isinstance(array, ndarray) and array.base is not None:
        array = array.base
    return array


# What is told about it.

reports: ContextVar[tuple[list[Any], ...]] = ContextVar("pullback_overwrite_reports", default=())


class Overwrite(NamedTuple):
    """A value that survived a write: where the write was, by which operator, its bytes, and "left" or "copied"."""

    file: str
    line: int
    operator: str
    nbytes: int
    kind: str


def report(kind: str, name: str, nbytes: int) -> None:
    """Tell those who listen that a value was preserved."""
    trace = current().trace
    listeners = reports.get() if trace is None else (*reports.get(), trace.overwrites)
    if listeners:
        place = user_place() or ("?", 0, "?")
        for listener in listeners:
            listener.append(Overwrite(place[0], place[1], name, nbytes, kind))


def note_trace(policy: Policy) -> None:
    """Tell a running trace that its graph depends on the policy."""
    trace = current().trace
    if trace is not None:
        trace.overwrite_policy = policy
