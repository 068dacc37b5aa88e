"""How a tensor is connected to the graph: its gradient edge, the history of views, and what a write does to both."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from pullback.core.axes import inverse_permutation
from pullback.core.spec import Spec, describe
from pullback.core.state import NORMAL, changed, current, next_stamp, open_levels
from pullback.declare.views import ViewStep
from pullback.errors import AutogradError
from pullback.payloads.batched.crossing import leave_level, levels_of, widen
from pullback.payloads.batched.edge import widened
from pullback.tape.accumulate import AccumulateGrad, accumulator_of
from pullback.tape.anomaly import remember_place
from pullback.tape.input_metadata import conform
from pullback.tape.node import FreshLeaf, Node, note_kind, rare_of, released_error
from pullback.tape.transform.tokens import Deps, deps_of, is_live, joined, living, union
from pullback.tensors.tensor import Leaf, Tensor, Within, alias, extra_of, own_counter, version_of
from pullback.tensors.views import CreationMeta, ViewInfo, ViewWithin, replayed, view_of

# `CopySlices`: the history of a base one of whose views was written in place.

class CopySlices(Node):
    """Runs the formula of an in-place operation on the view's part of the base's gradient.

    Input `position` is the base's old value, the others are those of the operation itself.
    """

    __slots__ = ("fn", "lock", "next_nr", "order", "position", "steps")

    has_parts = True
    writes_part = True
    lock: threading.Lock | None  # made when it is needed: a long loop makes many nodes

    fn: Node | None
    order: tuple[int, ...] | None
    position: int
    steps: tuple[ViewStep, ...]

    @classmethod
    def around(
        cls, fn: Node, position: int, base: Tensor, info: ViewInfo, base_edge: tuple[Node | None, int]
    ) -> CopySlices:
        """The history of `base` after `fn` described how the view `info` of it was rewritten."""
        node = cls()
        node.fn = fn
        node.position = position
        node.steps = info.steps
        node.order = memory_order(base._data)
        node.lock = None
        edges = list(fn.edges())
        edges[position] = base_edge
        node.next = tuple(edge[0] for edge in edges)
        node.next_nr = tuple(edge[1] for edge in edges)
        node.spec = base._spec
        node.rare = None
        node.seq = next_stamp()
        if current().anomaly:
            remember_place(node)
        return node

    @property
    def is_strict(self) -> bool:  # type: ignore[override]
        """As strict as the formula inside."""
        return self.fn is not None and self.fn.is_strict

    def name(self) -> str:
        return "CopySlices"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        gradient = grads[0]
        if gradient is None:
            return (None,) * len(self.next)
        if self.lock is None:
            with _making_locks:
                self.lock = self.lock or threading.Lock()
        with self.lock:
            fn = self.fn
            if fn is None:
                raise released_error("CopySlices")
            partial = list(fn.evaluate((self._piece(gradient).copy(),), as_tensors, wanted))
            if wanted[self.position]:
                partial[self.position] = self._replaced(fn, gradient, partial[self.position])
            return tuple(partial)

    def part_in(self, whole: Any) -> Any:
        """Of an array, the part that was written; None if the write was to memory of several examples."""
        for op, params in self.steps:
            if "level" in params:
                return None
            whole = op.kernel(whole, **params)
        return whole

    def _piece(self, whole: Any) -> Any:
        for step in self.steps:
            whole = step(whole)
        return whole

    def _replaced(self, fn: Node, gradient: Any, new: Any) -> Any:
        """The gradient of the base's old value: that of the new one, with `new` in the place of the view."""
        scope = fn._scope
        if scope is not None:
            # Memory that was widened by the write was one and the same for all examples before. Other levels of the
            # base stay: the view may lack them, if it was returned from the vmap that they belong to.
            widened = [level for level in scope.output_levels if level not in scope.input_levels[self.position]]
            every = joined(scope.output_levels, _levels(gradient))
            with scope.reinstated():
                gradient = scope.reduced_to(gradient, tuple(level for level in every if level not in widened))
        # Without the level that a step leaves, that step would give a view of one place for all examples.
        crossed = tuple(step.params["level"] for step in self.steps if step.op is leave_level)
        missing = tuple(level for level in crossed if level not in _levels(gradient))
        result = copy_in_order(widen(gradient, levels=missing) if missing else gradient, self.order)
        piece = self._piece(result)
        missing = () if new is None else tuple(level for level in _levels(new) if level not in _levels(piece))
        if missing:
            result = copy_in_order(widen(result, levels=missing), self.order)
            piece = self._piece(result)
        piece[...] = 0 if new is None else conform(new, piece.shape, piece.dtype)
        return result

    def release(self) -> None:
        with self.lock or _making_locks:
            if self.fn is not None:
                self.fn.release()
                self.fn = None


_making_locks = threading.Lock()


class _Assigned(Node):
    """The formula of `base[key] = value`, inside of `CopySlices`: what is there now comes from the value alone."""

    __slots__ = ()

    is_declared = True

    def name(self) -> str:
        return "CopyBackward0"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        return None, grads[0] if wanted[1] else None


ASSIGNED = _Assigned()
ASSIGNED.next, ASSIGNED.spec, ASSIGNED.rare, ASSIGNED.seq = (None, None), None, None, 0


def _levels(value: Any) -> Any:
    return levels_of(value._data if isinstance(value, Tensor) else value)


def memory_order(payload: Any) -> tuple[int, ...] | None:
    """The axes of an array from the slowest to the fastest in memory; None for the usual order."""
    if type(payload) is not np.ndarray:
        payload = getattr(payload, "shadow", None)
    if payload is None or payload.flags.c_contiguous:
        return None
    axes = sorted(range(payload.ndim), key=lambda axis: (-abs(payload.strides[axis]), axis))
    return None if axes == list(range(payload.ndim)) else tuple(axes)


def copy_in_order(value: Any, order: tuple[int, ...] | None) -> Any:
    """A copy of an array, payload or Tensor whose axes lie in memory in this order."""
    if order is None:
        return value.copy(order="C")
    return value.transpose(order).copy(order="C").transpose(inverse_permutation(order))


def history_of_view(node: Node, base_spec: Spec, steps: tuple[ViewStep, ...], levels: tuple[Any, ...]) -> Tensor:
    """A tensor without real data that stands for the view `steps` of the value whose history is `node`. The value has
    the batch dimensions `levels`: without them it would be one for all examples, which share its gradient."""
    stand_in = Tensor()
    shape = np.broadcast_to(np.zeros((), base_spec.dtype), base_spec.shape)
    trace = current().trace
    stand_in._data = widened(shape if trace is None else trace.home(shape), levels)
    stand_in._spec = base_spec
    stand_in._node = node
    stand_in._counter = stand_in._extra = stand_in._meta = None
    return replayed(steps, stand_in)


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
    if type(tensor._data) is not np.ndarray and isinstance(node, Node):
        note_kind(node, number, tensor._data)
    if deps is not (None if tensor._extra is None else tensor._extra.deps):
        extra_of(tensor).deps = deps


def is_foreign(x: Tensor, within: Any) -> bool:
    """Is there more to a tensor with another `Extra` than `within`, in the body of a transform that has that: is it
    neither a constant nor a light view of what the body has made? The history of the latter is brought up to date."""
    extra: Any = x._extra
    if type(x._data) is not np.ndarray:
        return True
    if extra is None:
        return x._node is not None
    if type(extra) is ViewInfo:
        return x._node is not None or extra.base._node is not None or bool(open_levels)
    if type(extra) is Within:
        if x._node is None:
            return False  # whoever made it: what is `within` may be written without asking, and this may be captured
        if living(extra.deps) == within.deps:
            x._extra = within  # a transform inside of this one made it, which has ended
            return False
    if type(extra) is not ViewWithin or extra.within is not within or open_levels:
        return True
    if x._node is None or extra.attr_version != x._counter.value:  # type: ignore[union-attr]
        refresh_view(x)
        return x._extra is not extra
    return False


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
    if info.base._extra is not None and info.base._extra.deps is not None:
        extra_of(stand_in).deps = info.base._extra.deps  # as long as anybody wanted what the base was computed from
    with changed(grad=True, inference=False, saved_hooks=(), interceptors=()):
        replayed = info.replay(stand_in)
        if node is None and (last := replayed._node) is not None:  # None if the transform has ended
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
                fix=_UPDATE,
            )
    if is_leaf_marker(tensor._node) and requires_grad(tensor):
        raise AutogradError(
            "LEAF_INPLACE",
            f"a leaf {describe(tensor.shape, tensor.dtype)} that requires grad is being used in an in-place operation",
            why="the leaf would no longer hold the value that its gradient is taken at",
            fix=_UPDATE,
        )


_UPDATE = (
    "write to a clone of the leaf; if this is an update, `with pb.no_grad(): x -= lr * x.grad`, or use pb.optim, which "
    "does that"
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
    """The error for a view whose history cannot follow an in-place write."""
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


def bump_version(tensor: Tensor) -> None:
    """Count one write to the tensor's memory."""
    counter = tensor._counter or own_counter(tensor)
    if counter is not None:
        counter.bump()


# `GradientEdge`: a place in the graph, named without the tensor that was there.

class GradientEdge(NamedTuple):
    """Output `output_nr` of `node`. It can stand for a tensor in `grad` and `backward`, and keeps the graph alive."""

    node: Node
    output_nr: int
    ownership_token: Any = None

    def check(self) -> None:
        """Raise TypeError if this does not name a node."""
        if not isinstance(self.node, Node):
            raise TypeError(f"the first element of a GradientEdge must be a Node, got {type(self.node).__name__}")


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The gradient edge of a tensor that requires grad, for use where the tensor itself should not be kept."""
    if not requires_grad(tensor):
        raise AutogradError(
            "NO_EDGE",
            "a tensor that does not require grad has no gradient edge",
            why="no operation on it is recorded",
            fix="call requires_grad_() on it, or use the result of a recorded operation",
        )
    node, number = edge_of(tensor)
    return GradientEdge(node, number)  # type: ignore[arg-type]
