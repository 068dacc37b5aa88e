"""Forward-mode levels and the tangents they own.

A level is opened by `dual_level()` or, without a name, by a transform such as `func.jvp`. A tensor keeps its tangents
by level in a `ForwardGrad`; the level knows every `ForwardGrad` that has an entry of it, weakly, and removes these
entries when it closes, wherever they are held: in tensors and in values saved for backward.

Levels nest. The tangent stored at a level has tangents only at older levels, so the mixed derivative for two levels is
the tangent, at the older one, of the tangent at the newer one. An operation treats one level at a time, the oldest
first, on operands that do not show the level or newer ones (eager/forward.py): perturbations can not mix.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.autograd._layout import fits_layout, in_layout_of
from pullback.autograd._variable import refresh_view, requires_grad
from pullback.core.state import current, next_stamp, open_levels
from pullback.tensors.tensor import Extra, Leaf, Tensor, extra_of
from pullback.tensors.views import ViewInfo, at_home, replayed, view_of

ndarray = np.ndarray


class ForwardLevel:
    """One direction of differentiation in progress. Later stamps are more inner."""

    __slots__ = ("__weakref__", "forget", "holders", "index", "is_open", "lock", "stamp")

    def __init__(self, index: int | None = None) -> None:
        self.stamp = next_stamp()
        self.index = index  # the depth among the user's levels; None for the level of a transform
        self.is_open = True
        self.lock = threading.Lock()
        self.holders: set[weakref.ref[ForwardGrad]] = set()
        self.forget = self.holders.discard  # called when a holder dies
        open_levels.add(self)

    def close(self) -> None:
        """Remove the tangents of this level from everything that holds one."""
        with self.lock:
            self.is_open = False
            references = list(self.holders)  # at once: they go when their holders die, on any thread
            self.holders.clear()
        holders = [reference() for reference in references]
        open_levels.discard(self)
        # Kept to the end of this call: freeing a tangent may run code that comes back to this level.
        released = [holder.pop(self, None) for holder in holders if holder is not None]
        del released

    def __repr__(self) -> str:
        name = "of a transform" if self.index is None else str(self.index)
        return f"<forward level {name}{'' if self.is_open else ', closed'}>"


class ForwardGrad(dict[ForwardLevel, Tensor]):
    """The tangents of one tensor by level.

    A `borrowed` tangent belongs to somebody else, or is the tangent of another tensor too; it is copied before it is
    written in place.
    """

    # A dict made by C code and a field that is unset until it is needed: every operation on duals makes one of these.
    __slots__ = ("__weakref__", "borrowed")

    borrowed: set[ForwardLevel]

    __hash__ = object.__hash__  # type: ignore[assignment]  # known by identity, in a set of weak references

    def lends(self, level: ForwardLevel) -> bool:
        """Is the tangent at this level borrowed?"""
        return level in getattr(self, "borrowed", ())


def store_tangent(tensor: Tensor, level: ForwardLevel, tangent: Tensor, borrowed: bool = False) -> None:
    """Make `tangent` the tensor's tangent at `level`; nothing happens if the level has been closed meanwhile."""
    extra = tensor._extra
    if extra is None:
        extra = tensor._extra = Extra()
    forward = extra.forward
    if forward is None:
        forward = extra.forward = ForwardGrad()
    with level.lock:
        if not level.is_open:
            return
        if level not in forward:
            level.holders.add(weakref.ref(forward, level.forget))
        forward[level] = tangent
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
    if info.forward is None:
        return entries
    others = [level for level, at in info.forward.items() if at is not None and level in (_entries(at[0]) or {})]
    return [*(level for level in entries if level not in info.forward), *others]


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
    twin._data = tensor._data
    twin._spec = tensor._spec
    twin._counter = tensor._counter
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
        with at_home(tangent):
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
