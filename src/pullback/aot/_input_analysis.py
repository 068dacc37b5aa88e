"""From a finished trace to `InputAliasInfo`: what the function has done to each of its inputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._memory import address, are_same_views
from pullback.aot._metadata import InputAliasInfo, Layout
from pullback.aot._trace import Primal, Trace
from pullback.autograd._node import Node
from pullback.autograd._variable import edge_of, requires_grad
from pullback.declare.steps import ViewStep
from pullback.errors import FunctionalizationError, TraceError
from pullback.payloads.traced import TracedArray
from pullback.tensors.tensor import Leaf, Tensor, version_of

Steps = tuple[ViewStep, ...]


def input_info(trace: Trace, primal: Primal, keep: bool, group: int | None = None) -> InputAliasInfo:
    """What the function has done to one input."""
    tensor, storage = primal.tensor, primal.storage
    final: TracedArray = tensor._data
    swapped = final.is_swapped_in and not (final.storage is storage and same_place(final, primal.payload))
    writes, bumps = storage.generation, version_of(tensor)
    flag = flag_set(primal)
    if flag:
        primal.edge = edge_of(tensor)
    # Memory that it was given, and that turns out to be its own, was reached by views which are no change of shape.
    steps = () if final.is_swapped_in else relative(final, primal.payload) or ()
    moved = swapped or layout_in(final, primal.payload) != layout_in(primal.payload, primal.payload)
    if steps and type(tensor._node) is Leaf:
        primal.former_edge, primal.edge = primal.edge, edge_of(tensor)  # another shape, another accumulator
    tracked = requires_grad(tensor) and (writes > 0 or swapped) and _before_views(tensor, len(steps)) != primal.edge
    if swapped and tracked:
        raise FunctionalizationError(
            f"{primal.desc.expr()} was given other memory, and then written where gradients are recorded",
            why="the memory belongs to another tensor, whose history knows nothing of the write",
            fix="copy the values with copy_ instead of assigning to .data",
        )
    if swapped and flag and final.dtype != primal.payload.dtype:
        raise FunctionalizationError(
            f"{primal.desc.expr()} was given memory of another dtype, and then made to require grad",
            why="the flag is set before anything else happens to an argument, and its own dtype need not allow it",
            fix="assign to .data outside of the function",
        )
    to, place = _swapped_to(trace, final) if swapped else (None, None)
    return InputAliasInfo(
        is_leaf=bool(getattr(primal.original, "is_leaf", False)),
        requires_grad=requires_grad(tensor),
        mutates_data=writes > 0 and not swapped,
        mutates_metadata=moved,
        mutates_storage_metadata=swapped,
        mutation_is_shallow_copy_data=swapped,
        mutations_hidden_from_autograd=not bumps or writes <= storage.hidden,
        mutations_under_no_grad_or_inference_mode=writes > 0
        and (not bumps or writes <= storage.no_grad + storage.hidden),
        keep_input_mutations=keep,
        tracked=tracked,
        sets_requires_grad=flag,
        version_bumps=bumps,
        alias_group=group,
        metadata_steps=steps,
        swapped_to=to,
        strided=place,
        retains_grad=tensor._meta is not None and tensor._meta.retains_grad,
    )


def flag_set(primal: Any) -> bool | None:
    """What `requires_grad_` was called with on the input itself, if it was; False if it was detached in place."""
    before, node = getattr(primal.original, "requires_grad", False), primal.tensor._node
    if not before and type(node) is Leaf:
        return True
    if not before or primal.edge[0] is None:
        return None
    was_leaf = primal.original.is_leaf
    if not was_leaf and type(node) is Leaf:
        raise TraceError(
            f"{primal.desc.expr()} was detached in place and then made to require grad again",
            why="what was computed from it before has another gradient than what was computed afterwards",
            fix="use detach(), which returns a new tensor, and call requires_grad_() on that",
        )
    return False if node is None or (was_leaf and type(node) is not Leaf) else None  # the leaf was let go, and written


def _before_views(tensor: Tensor, count: int) -> tuple[Node | None, int]:
    """The gradient edge that the tensor had before the last `count` changes of its shape, if nothing came between."""
    node, number = edge_of(tensor)
    for _ in range(count):
        op = getattr(node, "op", None)
        if node is None or op is None or not op.is_view:
            break
        node, number = next(iter(node.edges()))
    return node, number


def _swapped_to(trace: Trace, final: TracedArray) -> tuple[int | None, Layout | None]:
    """The input whose memory this is, and where it lies there."""
    for slot, other in trace.numbered():
        if other.storage is final.storage:
            return slot, layout_in(final, other.payload)
    return None, None


def layout_in(payload: TracedArray, base: TracedArray) -> Layout:
    """Where an array lies in the memory of another one of its storage."""
    return payload.shape, payload.strides, address(payload.shadow) - address(base.shadow), payload.dtype.str


def same_place(first: TracedArray, second: TracedArray) -> bool:
    """Do two arrays of one storage consist of the same elements in the same order?"""
    mine, theirs = first.shadow, second.shadow
    return (
        mine.shape == theirs.shape
        and mine.dtype == theirs.dtype
        and address(mine) == address(theirs)
        and _effective(mine) == _effective(theirs)
    )


def _effective(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(stride if length != 1 else 0 for stride, length in zip(array.strides, array.shape, strict=True))


def relative(payload: TracedArray, base: TracedArray) -> Steps | None:
    """The views that lead from `base` to `payload`; None if the base's own are not their beginning."""
    count = len(base.steps)
    if payload.storage is not base.storage or not are_same_views(payload.steps[:count], base.steps):
        return None
    return payload.steps[count:]
