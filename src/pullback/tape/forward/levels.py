"""The tangents of tensors at forward-mode levels: found, stored, lent and copied.

A level is opened by `dual_level()` or, without a name, by a transform such as `func.jvp`. A tensor keeps its tangents
by level in a `ForwardGrad`; the level knows every `ForwardGrad` that has an entry of it, weakly, and removes these
entries when it closes, wherever they are held: in tensors and in values saved for backward (_tangent_holders.py).

Levels nest. The tangent stored at a level has tangents only at older levels, so the mixed derivative for two levels is
the tangent, at the older one, of the tangent at the newer one. An operation treats one level at a time, the oldest
first, on operands that do not show the level or newer ones (eager/forward.py): perturbations cannot mix.
"""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from _thread import RLock  # what threading.RLock calls, which takes longer than making one
from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

import numpy as np

from pullback.core.spec import Spec
from pullback.core.state import changed, current, next_stamp, open_levels
from pullback.payloads.batched import BatchedArray
from pullback.payloads.batched.array import like_in_memory, sizes
from pullback.payloads.evaluate import innermost
from pullback.tape.accumulate import accumulator_of
from pullback.tape.history import refresh_view, requires_grad
from pullback.tensors.tensor import Extra, Leaf, Tensor, extra_of, made_here, shared_counter, wrap
from pullback.tensors.versions import VersionCounter, dated_counter, new_counter
from pullback.tensors.views import CreationMeta, ViewInfo, at_home, replayed, view_of

# How a tangent must lie in memory: like its primal, so that one view, even `as_strided`, addresses the same elements
# in both.

ndarray = np.ndarray


def _owner(array: Any) -> Any:
    while isinstance(array.base, ndarray):
        array = array.base
    return array


def _offset(array: Any, owner: Any) -> int:
    start: int = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return start // array.itemsize


def fits_layout(tangent: Any, primal: Any) -> bool:
    """Has the tangent the memory layout of the primal?"""
    if type(tangent) is not ndarray or type(primal) is not ndarray:
        return True  # batched and traced payloads address by logical index
    if tangent.base is None and primal.base is None and tangent.strides == primal.strides:
        return True
    if primal.size == 0:
        return True
    if any(
        length > 1 and own // tangent.itemsize != theirs // primal.itemsize
        for own, theirs, length in zip(tangent.strides, primal.strides, primal.shape, strict=True)
    ):
        return False
    own, theirs = _owner(tangent), _owner(primal)
    # In elements of the tensors themselves: the real part of a complex array lives in a buffer of another dtype.
    is_as_large = own.nbytes // tangent.itemsize == theirs.nbytes // primal.itemsize
    return is_as_large and _offset(tangent, own) == _offset(primal, theirs)


def in_layout_of(primal: Any, dtype: Any) -> Tensor:
    """Zeros that lie in memory like `primal`, in a buffer of the same size."""
    if type(primal) is BatchedArray:
        memory: Any = primal.data
        if type(memory) in innermost:
            return made_here(BatchedArray(memory.zeros(memory.shape, dtype), primal.levels))
        room = like_in_memory(primal.shape, primal.strides, sizes(primal.levels), dtype)
        room[...] = 0
        return made_here(BatchedArray(room, primal.levels))
    if type(primal) is not ndarray:
        return made_here(primal.astype(dtype) * 0)
    owner = _owner(primal)
    buffer = np.zeros(owner.nbytes // primal.itemsize, dtype)
    strides = tuple(stride // primal.itemsize * buffer.itemsize for stride in primal.strides)
    offset = _offset(primal, owner) * buffer.itemsize
    view = np.ndarray(primal.shape, dtype, buffer, offset, strides)
    if any(stride == 0 and length > 1 for stride, length in zip(strides, primal.shape, strict=True)):
        view = np.zeros(primal.shape, dtype)  # an expanded primal is written by nobody
    return made_here(view)


# Forward-mode levels, and the two things that hold tangents for them.
#
# `ForwardGrad` is the general one: any tangents, by level. `Dual` is the light one, and what a chain of elementwise
# operations makes: it stands in the place of a tensor's `Extra` and holds one tangent, as a bare array, and nothing
# else. Whoever asks it for more than that (`forward`, or `extra_of`) turns it into the general thing first, so nobody
# but the short way of eager/forward.py has to know that it exists.
#
# A level knows its holders weakly: it keeps no tensor alive, and takes the tangents from those that live when it
# closes.

# How many references to holders, living or not, a level has before it looks for those that have died.
_MOST_REFERENCES = 1024


class ForwardLevel:
    """One direction of differentiation in progress. Later stamps are more inner."""

    __slots__ = ("__weakref__", "index", "is_open", "limit", "lock", "references", "stamp")

    def __init__(self, index: int | None = None) -> None:
        self.stamp = next_stamp()
        self.index = index  # the depth among the user's levels; None for the level of a transform
        self.is_open = True
        self.lock = RLock()  # memory allocated under it may run finalizers, and these may come here
        # Only appended to without the lock. Who appends compares the length with `limit` after it, which is less than
        # any length once the level is closed: so no holder is missed, whatever other threads do.
        self.references: list[weakref.ref[Any]] = []
        self.limit = _MOST_REFERENCES
        open_levels.add(self)

    @property
    def holders(self) -> list[Any]:
        """The living holders of tangents at this level."""
        return [holder for reference in self.references[:] if (holder := reference()) is not None]

    def register(self, holder: ForwardGrad | Dual) -> None:
        """Take the tangent from this holder when the level closes; now, if it has been closed meanwhile."""
        self.references.append(weakref.ref(holder))
        if len(self.references) > self.limit:
            self.tidy(holder)

    def tidy(self, holder: ForwardGrad | Dual) -> None:
        """What to do if there are more references than `limit`, of which the one to `holder` is the last."""
        with self.lock:
            if self.is_open:
                self.limit = sys.maxsize
                count = len(self.references)  # others may add some meanwhile, behind these
                self.references[:count] = [each for each in self.references[:count] if each() is not None]
                self.limit = max(_MOST_REFERENCES, 2 * len(self.references))
                return
        holder.pop(self, None)

    def close(self) -> None:
        """Remove the tangents of this level from everything that holds one."""
        with self.lock:
            self.is_open = False
            self.limit = -1
            references, self.references = self.references, []
        open_levels.discard(self)
        # Kept to the end of this call: freeing a tangent may run code that comes back to this level.
        released = [holder.pop(self, None) for holder in filter(None, map(operator.call, references))]
        del released

    def __repr__(self) -> str:
        name = "of a transform" if self.index is None else str(self.index)
        return f"<forward level {name}{'' if self.is_open else ', closed'}>"


class ForwardGrad(dict[ForwardLevel, Tensor]):
    """The tangents of one tensor by level.

    A `borrowed` tangent belongs to somebody else, or is the tangent of another tensor too; it is copied before it is
    written in place.
    """

    # A dict made by C code and a field that is unset until it is needed.
    __slots__ = ("__weakref__", "borrowed")

    borrowed: set[ForwardLevel]

    __hash__ = object.__hash__  # type: ignore[assignment]  # known by identity

    def lends(self, level: ForwardLevel) -> bool:
        """Is the tangent at this level borrowed?"""
        return level in getattr(self, "borrowed", ())


class Dual(Extra):
    """The `Extra` of a real tensor on an array with one tangent and without anything else: neither view nor history.

    `slope` is the tangent, as an array, or as a Tensor once somebody has seen it; the tangents by level if somebody
    asked for these; None when there are none any more.
    `born` is when the memory of the tensor was made, for which it needs no counter then.
    `memory` is what is known of the memory of the tangent: when it was made, which is 0 outside of function transforms;
    or its version counter, if it is somebody else's tangent too and may not be written.
    """

    # Every operation on duals makes one. The fields of `Extra` are constants here: to write them is to call `extra_of`.
    __slots__ = ("__weakref__", "born", "level", "memory", "slope")

    view: Any = None
    deps = None
    inference = readonly = False
    output_nr = 0

    born: int
    level: ForwardLevel
    slope: Any
    memory: int | VersionCounter

    __init__ = object.__init__  # who makes one fills it: a constructor would cost as much as the rest

    @property
    def forward(self) -> ForwardGrad | None:
        """The tangents by level. Once somebody has asked, they are kept in this form."""
        slope = self.slope
        return slope if slope is None or type(slope) is ForwardGrad else self._spread()

    @forward.setter
    def forward(self, entries: ForwardGrad | None) -> None:
        self.slope = entries

    def _spread(self) -> ForwardGrad | None:
        level, slope = self.level, self.slope
        if slope is None or type(slope) is ForwardGrad:
            return slope
        entries = ForwardGrad({level: self._as_tensor(slope)})
        with level.lock:
            if self.slope is not slope:  # others were first: they asked as well, or they closed the level
                return self.slope
            if not level.is_open:
                return None
            self.slope = entries
            if type(self.memory) is not int:
                entries.borrowed = {level}
        level.register(entries)
        return entries

    def _as_tensor(self, slope: Any, spec: Spec | None = None) -> Tensor:
        """A tangent as a Tensor. Who knows that no graph is being recorded gives the spec of the primal."""
        if type(slope) is Tensor:
            return slope
        array = slope if type(slope) is np.ndarray else np.asarray(slope)
        if spec is None or array.dtype is not spec.dtype:
            tangent = wrap(array)
        else:
            tangent = Tensor()
            tangent._data, tangent._spec = array, spec
            tangent._node = tangent._extra = tangent._meta = tangent._counter = None
        memory = self.memory
        if memory:
            tangent._counter = dated_counter(memory) if isinstance(memory, int) else memory
        return tangent

    def tangent_at(self, level: ForwardLevel, spec: Spec) -> Tensor | None:
        """The tangent at `level` if there is no other; from now on it is kept as this Tensor, which has `spec`."""
        slope = self.slope
        if type(slope) is ForwardGrad:
            return slope.get(level) if len(slope) == 1 else None
        if slope is None or self.level is not level:
            return None
        tangent = self._as_tensor(slope, spec)
        with level.lock:
            if self.slope is slope:
                self.slope = tangent
                return tangent
        return self.tangent_at(level, spec)

    def take(self, level: ForwardLevel, spec: Spec) -> Tensor | None:
        """The tangent, which goes from here to the caller; None if there are others, or it is at another level."""
        slope = self.slope
        if slope is None or type(slope) is ForwardGrad or self.level is not level:
            return None
        self.slope = None
        return self._as_tensor(slope, spec)

    def stands_alone(self) -> bool:
        """Does the tangent say it all, without tangents of other tensors?"""
        return True

    def lend(self) -> VersionCounter:
        """Let another tensor have this tangent too, which is not by level. The counter of its memory."""
        with self.level.lock:
            memory = self.memory
            if isinstance(memory, int):
                own = shared_counter(self.slope) if type(self.slope) is Tensor else None
                self.memory = memory = own or (dated_counter(memory) if memory else new_counter()).made_shared()
            return memory

    def general(self) -> Extra:
        """An `Extra` that says the same."""
        extra = Extra()
        extra.forward, extra.view = self.forward, self.view
        return extra

    def pop(self, level: ForwardLevel, otherwise: Any) -> Any:
        """Remove and return the tangent, if it is one. Tangents by level are asked themselves."""
        slope = self.slope
        if slope is None or type(slope) is ForwardGrad:
            return otherwise
        self.slope = None
        return slope


class DualAlias(Dual):
    """The same for the alias that `make_dual` returns, a view for backward. `slope` is the Tensor that it was given.

    At its level it shares no tangents with the tensor it is an alias of, and at other levels neither has one when this
    is made; should that change, `view` finds it.
    """

    __slots__ = ("view",)

    view: ViewInfo

    def stands_alone(self) -> bool:
        """Is there neither history nor anything unusual behind it, and is it set apart from that at one level only?"""
        info = self.view
        base = info.base
        return base._extra is None and base._node is None and info.records is not None and len(info.records) == 1


def store_tangent(tensor: Tensor, level: ForwardLevel, tangent: Tensor, borrowed: bool = False) -> None:
    """Make `tangent` the tensor's tangent at `level`; nothing happens if the level has been closed meanwhile."""
    extra: Any = tensor._extra
    if not isinstance(extra, (Extra, Dual)):
        extra = extra_of(tensor)
    forward = extra.forward
    if forward is None:
        forward = extra.forward = ForwardGrad()
    with level.lock:
        if not level.is_open:
            return
        is_new = level not in forward
        forward[level] = tangent
    if is_new:
        level.register(forward)
    if borrowed or forward.lends(level):
        others: set[ForwardLevel] = getattr(forward, "borrowed", set()) - {level}
        forward.borrowed = others | {level} if borrowed else others


def _entries(tensor: Tensor) -> dict[ForwardLevel, Tensor] | None:
    extra = tensor._extra
    return None if extra is None else extra.forward


def live_levels(tensors: Iterable[Any]) -> list[ForwardLevel]:
    """The open levels, not masked, at which one of these has a tangent, oldest first."""
    mask = current().forward_mask
    found: set[ForwardLevel] = set()
    for tensor in tensors:
        if not isinstance(tensor, Tensor) or tensor._extra is None:
            continue
        entries = _entries(tensor)
        if entries:
            found.update(entries)
        info = tensor._extra.view
        if info is not None:
            found.update(_shared_levels(info))
    if not found:
        return []
    return sorted((level for level in found if level.is_open and level.stamp > mask), key=lambda level: level.stamp)


def _shared_levels(info: ViewInfo) -> Iterable[ForwardLevel]:
    """The levels at which a view has a tangent because what it is a view of has one."""
    record = info.forward_record()
    entries = (None if record is None else _entries(record[0])) or {}
    if info.records is None:
        return entries
    others = [level for level, at in info.records.items() if at is not None and level in (_entries(at[0]) or {})]
    return [*(level for level in entries if level not in info.records), *others]


def tangent_of(tensor: Tensor, level: ForwardLevel) -> Tensor | None:
    """The tensor's tangent at a level. The tangent of a view is the same view of its base's tangent."""
    entries = _entries(tensor)
    own = None if entries is None else entries.get(level)
    info = view_of(tensor)
    record = None if info is None else info.forward_record(level)
    if record is None:
        return own
    base, steps = record
    entries = _entries(base)
    whole = None if entries is None else entries.get(level)
    if whole is None:
        return own
    if own is not None and _is_view_into(own, whole):
        return own
    # It is kept, so its history is that of where the view was taken, and not of where it is asked for.
    is_recorded = info.creation_meta is not CreationMeta.NO_GRAD  # type: ignore[union-attr]
    with nullcontext() if current().grad is is_recorded else changed(grad=is_recorded):
        value = replayed(steps, whole)
    store_tangent(tensor, level, value)
    return value


def _is_view_into(part: Tensor, whole: Tensor) -> bool:
    info = view_of(part)
    if info is None:
        return part is whole
    root = view_of(whole)
    return info.base is (whole if root is None else root.base) and part._counter is whole._counter


def handle(tensor: Any, keep: Iterable[ForwardLevel] = ()) -> Any:
    """Another Tensor on the same payload and history that shows tangents only at the levels `keep`."""
    if not isinstance(tensor, Tensor):
        return tensor
    twin = Tensor()
    twin._counter = shared_counter(tensor)
    twin._data = tensor._data
    twin._spec = tensor._spec
    twin._node = twin._meta = None
    twin._extra = None if type(tensor._data) is ndarray else Extra()
    extra = tensor._extra
    if tensor._node is not None or (extra is not None and extra.view is not None):
        _copy_history(tensor, twin)
    if extra is not None:
        if extra.inference:
            extra_of(twin).inference = True
        for level in keep:
            tangent = tangent_of(tensor, level)
            if tangent is not None:
                store_tangent(twin, level, tangent, borrowed=True)
    return twin


def _copy_history(tensor: Tensor, twin: Tensor) -> None:
    if not requires_grad(tensor):
        return
    if view_of(tensor) is not None:
        refresh_view(tensor)
    node = tensor._node
    if type(node) is Leaf:
        marker = Leaf()
        marker.accumulator = functools.partial(accumulator_of, tensor)
        twin._node = marker
    else:
        twin._node, twin._nr = node, tensor._nr
    if tensor._extra is not None and tensor._extra.deps is not None:
        extra_of(twin).deps = tensor._extra.deps


def snapshot(tensor: Tensor, levels: Iterable[ForwardLevel]) -> Tensor:
    """The tensor as it is now: later writes change neither its values nor its tangents."""
    twin = handle(tensor)
    twin._data = tensor._data.copy()
    twin._counter = None
    for level in levels:
        tangent = tangent_of(tensor, level)
        if tangent is not None:
            store_tangent(twin, level, tangent.clone())
    return twin


def owned_tangent(tensor: Tensor, level: ForwardLevel, wider: Any = None) -> Tensor | None:
    """The tensor's tangent as something that may be written in place: a borrowed one is replaced by a copy first, and
    so is one that lacks batch dimensions of `wider`."""
    info = view_of(tensor)
    record = None if info is None else info.forward_record(level)
    holder = tensor if record is None else record[0]
    tangent = tangent_of(holder, level)
    if tangent is None:
        return tangent_of(tensor, level)
    forward = holder._extra.forward  # type: ignore[union-attr]
    copied = None
    if wider is not None:
        copied = wider(tangent)
    # Where reverse mode records too, the formulas of what was computed from the tangent so far read its old values.
    is_recorded = current().grad and (requires_grad(tangent) or requires_grad(holder))
    if copied is None and (is_recorded or forward.lends(level)):
        with at_home(tangent), changed(grad=True):  # what a write without history leaves alone keeps its own
            copied = tangent.clone()
    if copied is not None:
        store_tangent(holder, level, like_layout(copied, holder))
    return tangent_of(tensor, level)


def lend_tangent(tensor: Any, level: ForwardLevel) -> None:
    """Say that another tensor has this one's tangent too: whoever is written first gets a copy."""
    if not isinstance(tensor, Tensor):
        return
    info = view_of(tensor)
    record = None if info is None else info.forward_record(level)
    for holder in (tensor,) if record is None else (tensor, record[0]):
        forward = None if holder._extra is None else holder._extra.forward
        if forward is not None and level in forward and not forward.lends(level):
            forward.borrowed = getattr(forward, "borrowed", set()) | {level}


def like_layout(tangent: Tensor, primal: Tensor) -> Tensor:
    """`tangent` if it lies in memory like `primal`, so that every view addresses the same elements; else a copy."""
    if fits_layout(tangent._data, primal._data):
        return tangent
    copy = in_layout_of(primal._data, tangent.dtype)
    copy.copy_(tangent)
    return copy
