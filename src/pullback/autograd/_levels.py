"""The tangents of tensors at forward-mode levels: found, stored, lent and copied.

A level is opened by `dual_level()` or, without a name, by a transform such as `func.jvp`. A tensor keeps its tangents
by level in a `ForwardGrad`; the level knows every `ForwardGrad` that has an entry of it, weakly, and removes these
entries when it closes, wherever they are held: in tensors and in values saved for backward (_tangent_holders.py).

Levels nest. The tangent stored at a level has tangents only at older levels, so the mixed derivative for two levels is
the tangent, at the older one, of the tangent at the newer one. An operation treats one level at a time, the oldest
first, on operands that do not show the level or newer ones (eager/forward.py): perturbations can not mix.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.autograd._accumulate import accumulator_of
from pullback.autograd._layout import fits_layout, in_layout_of
from pullback.autograd._tangent_holders import ForwardGrad, ForwardLevel
from pullback.autograd._variable import refresh_view, requires_grad
from pullback.core.state import current
from pullback.tensors.tensor import Extra, Leaf, Tensor, extra_of, shared_counter
from pullback.tensors.views import ViewInfo, at_home, replayed, view_of

ndarray = np.ndarray


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
    twin._counter = shared_counter(tensor)
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
