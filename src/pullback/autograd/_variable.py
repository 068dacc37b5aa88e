"""How a tensor is connected to the graph: its gradient edge, the history of views, and what a write does to both."""

from __future__ import annotations

import threading
from typing import Any

from pullback.autograd._accumulate import AccumulateGrad, accumulator_of
from pullback.autograd._copy_slices import CopySlices
from pullback.autograd._fresh_leaf import FreshLeaf
from pullback.autograd._node import Node, rare_of
from pullback.autograd._tokens import Deps, deps_of, is_live, union
from pullback.core.spec import describe
from pullback.core.state import NORMAL, changed, current
from pullback.errors import AutogradError
from pullback.payloads.batched_array import region_of
from pullback.tensors.tensor import Leaf, Tensor, alias, extra_of, shared_counter, version_of
from pullback.tensors.views import CreationMeta, ViewInfo, view_of

_refresh_lock = threading.RLock()


def requires_grad(tensor: Tensor) -> bool:
    """Does an operation on this tensor get recorded? Reading this never rebuilds anything."""
    while True:
        extra = tensor._extra
        if extra is None:
            return tensor._node is not None
        info = extra.view
        if (
            info is not None
            and info.creation_meta is CreationMeta.DEFAULT
            and (tensor._node is None or (extra.deps is not None and info.base._node is not None))
        ):
            tensor = info.base
            continue
        return tensor._node is not None and (extra.deps is None or is_live(extra.deps))


def edge_of(tensor: Tensor) -> tuple[Node | None, int]:
    """The node behind the tensor and its output number; `(None, 0)` for a constant."""
    if tensor._extra is not None and tensor._extra.view is not None:
        refresh_view(tensor)
    node = tensor._node
    if node is None or (tensor._extra is not None and not requires_grad(tensor)):
        return None, 0
    if type(node) is Leaf:
        return accumulator_of(tensor), 0
    return node, tensor._nr


def is_leaf(tensor: Tensor) -> bool:
    """True if no node made the tensor."""
    return grad_fn(tensor) is None


def grad_fn(tensor: Tensor) -> Node | None:
    """The node that made the tensor; a view whose base was written gets its history rebuilt first."""
    if tensor._extra is not None and tensor._extra.view is not None:
        refresh_view(tensor)
    node = tensor._node
    if is_leaf_marker(node) or (tensor._extra is not None and not requires_grad(tensor)):
        return None
    return node


def is_leaf_marker(node: Any) -> bool:
    """Does this stand for a leaf, the user's or a transform's?"""
    return type(node) is Leaf or type(node) is FreshLeaf


def set_history(tensor: Tensor, node: Any, number: int, deps: Deps) -> None:
    """Make output `number` of `node` the tensor's history."""
    tensor._node, tensor._nr = node, number
    if deps is not None or tensor._extra is not None:
        extra_of(tensor).deps = deps


def refresh_view(tensor: Tensor) -> None:
    """Bring a view's history up to date with its base."""
    info: ViewInfo = tensor._extra.view  # type: ignore[union-attr]
    node = tensor._node
    version = version_of(tensor)
    if node is not None and info.attr_version == version:
        return
    # A view is a leaf of its own if requires_grad_() was called on it: until its base gets a history.
    if not isinstance(node, Node) and not requires_grad(info.base):
        return
    meta = info.creation_meta
    if meta is CreationMeta.DEFAULT:
        with _refresh_lock:
            if tensor._node is None or info.attr_version != version:
                _rebuild(tensor, info, version)
    elif meta in (CreationMeta.CUSTOM, CreationMeta.MULTI) and info.attr_version != version:
        raise view_error(meta, tensor, "its base or another view of its base was modified inplace")


def _rebuild(tensor: Tensor, info: ViewInfo, version: int) -> None:
    written, written_version = info.last_write()
    if written_version == version and written is not info.base._node:
        replayed = _replayed_from(written, info)
    elif not requires_grad(info.base):
        replayed = _replayed_from(None, info)
    elif current() is NORMAL:
        replayed = info.replay(info.base)
    else:
        with changed(grad=True, inference=False, saved_hooks=(), interceptors=()):
            replayed = info.replay(info.base)
    previous, previous_nr = tensor._node, tensor._nr
    set_history(tensor, replayed._node, replayed._nr, deps_of(replayed))
    info.attr_version = version
    move_retained(tensor, previous, previous_nr)


def _replayed_from(node: Node | None, info: ViewInfo) -> Tensor:
    """The view of a base that was detached. `node` was the base's history when this very view was written last; a view
    that had no part in that still requires grad, but leads nowhere."""
    stand_in = alias(info.base)
    stand_in._node = Leaf() if node is None else node
    with changed(grad=True, inference=False, saved_hooks=(), interceptors=()):
        replayed = info.replay(stand_in)
        if node is None:
            last = replayed._node
            while type(last.next[0]) is not AccumulateGrad:
                last = last.next[0]
            last.next = (None,)
    return replayed


def move_retained(tensor: Tensor, previous: Any, previous_nr: int) -> None:
    """Carry the promise of `retain_grad` from the tensor's previous node to its present one."""
    meta = tensor._meta
    if meta is None or not meta.retains_grad or not isinstance(previous, Node) or previous.rare is None:
        return
    kept = previous.rare.retained.pop(previous_nr, None)
    if kept is not None and isinstance(tensor._node, Node):
        rare_of(tensor._node).retained[tensor._nr] = kept


def check_tracked_write(tensor: Tensor) -> None:
    """Raise if a recorded in-place operation on `tensor` is not allowed. Nothing has been written yet."""
    info = view_of(tensor)
    if info is not None:
        if info.creation_meta is not CreationMeta.DEFAULT:
            raise view_error(info.creation_meta, tensor, "is being modified inplace")
        if type(tensor._node) is Leaf:
            refresh_view(tensor)  # no leaf any more if its base got a history
        if requires_grad(tensor) and (info.base._node is None or is_leaf_marker(info.base._node)):
            raise AutogradError(
                "VIEW_OF_LEAF_INPLACE",
                f"a view {describe(tensor.shape, tensor.dtype)} of a leaf that requires grad is being used in an "
                "in-place operation",
                why="the leaf would no longer hold the value that its gradient is taken at",
                fix="write to a clone of the leaf, or write inside `pb.no_grad()` if this is an update",
            )
    if is_leaf_marker(tensor._node) and requires_grad(tensor):
        raise AutogradError(
            "LEAF_INPLACE",
            f"a leaf {describe(tensor.shape, tensor.dtype)} that requires grad is being used in an in-place operation",
            why="the leaf would no longer hold the value that its gradient is taken at",
            fix="write to a clone of the leaf, or write inside `pb.no_grad()` if this is an update",
        )


_VIEW_CODES = {
    CreationMeta.CUSTOM: "VIEW_CUSTOM",
    CreationMeta.MULTI: "VIEW_MULTI",
    CreationMeta.NO_GRAD: "VIEW_NO_GRAD",
    CreationMeta.INFERENCE: "VIEW_INFERENCE",
}
_VIEW_FIXES = {
    CreationMeta.CUSTOM: "write to a clone of the view",
    CreationMeta.MULTI: "write to a clone of the view",
    CreationMeta.NO_GRAD: "move both the view and the write into the no_grad block, or both out of it, or clone",
    CreationMeta.INFERENCE: "move both the view and the write into inference mode, or both out of it, or clone",
}


def view_error(meta: CreationMeta, tensor: Tensor, cause: str) -> AutogradError:
    """The error for a view whose history can not follow an in-place write."""
    node = tensor._node
    made_by = f"output {tensor._nr} of {node.name()}, " if isinstance(node, Node) else ""
    shown = describe(tensor.shape, tensor.dtype)
    return AutogradError(
        _VIEW_CODES[meta],
        f"{made_by}{shown} is a view and {cause}; the view was made by {meta.value}",
        why="such a view does not know how to send gradients through an in-place write",
        fix=_VIEW_FIXES[meta],
    )


def rebase_history(tensor: Tensor, node: Node, position: int = 0, deps: Deps = None) -> None:
    """Make `node`, which computed the tensor's new contents from its old ones, the tensor's history.

    `position` is the input of `node` that was the tensor itself, `deps` the tokens behind the new contents. On a view
    the base gets the history, through a node that puts the view's gradient back in its place, and the view is rebuilt
    when it is next used.
    """
    info = view_of(tensor)
    if info is None:
        previous, previous_nr = tensor._node, tensor._nr
        set_history(tensor, node, 0, deps)
        move_retained(tensor, previous, previous_nr)
        return
    base = info.base
    edge = edge_of(base)
    copy_slices = CopySlices.around(node, position, base, info, edge)
    previous, previous_nr = base._node, base._nr
    set_history(base, copy_slices, 0, deps if edge[0] is None else union((deps, deps_of(base))))
    move_retained(base, previous, previous_nr)
    info.written = (copy_slices, version_of(base))
    if tensor._meta is not None and tensor._meta.retains_grad:
        refresh_view(tensor)  # what it retains from now on is the gradient of the new value


def bump_version(tensor: Tensor, written: Any) -> None:
    """Count one write to the tensor's memory."""
    counter = shared_counter(tensor)
    if counter is not None:
        counter.bump(region_of(written))
