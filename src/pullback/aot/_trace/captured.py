"""Captured tensors: those that a function uses and was not given.

A captured tensor is an input of the graph, bound by identity. Before every call it is asked whether it is still what it
was. Whether the function would still find it is asked of the places on its way there (`_surroundings/places.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.aot._guards import leaf_difference, leaf_key
from pullback.core.state import changed, next_stamp
from pullback.declare.op import registry
from pullback.errors import TraceError
from pullback.payloads.traced import Recorder, TracedArray, user_location
from pullback.tape.history import requires_grad
from pullback.tape.node import Node
from pullback.tape.tensor_members import requires_grad_
from pullback.tensors.tensor import Tensor, alias, extra_of, is_inference, shared_counter
from pullback.tensors.views import CreationMeta, ViewInfo, view_of


class CapturedTensor:
    """A captured tensor with its guards. `text` is how the function finds it, if that is known."""

    def __init__(self, tensor: Tensor, name: str, text: str | None) -> None:
        self.tensor = tensor
        self.name = name
        self.key = leaf_key(tensor)
        self.text = text

    def misfit(self) -> str | None:
        """What of it is not as it was; None if it is."""
        key = leaf_key(self.tensor)
        return None if key == self.key else f"{self.name}: {leaf_difference(key, self.key)}"


def name_of(captured: CapturedTensor) -> str:
    """What the function calls a captured tensor."""
    return captured.tensor.name or captured.text or captured.name


# What traced tensors have in common with those that they stand for, and gradients that are tied to others.

class InputBoundary(Node):
    """Where the history of an input begins that is no leaf: gradients are taken here, and go no further."""

    __slots__ = ()

    def name(self) -> str:
        return "InputBoundary"

    def evaluate(self, grads: tuple[Any, ...], as_tensors: bool, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        raise TraceError(
            "backward() is called in the function, and goes on into the history of what the function was given",
            location=user_location(),
            why="a trace knows where the history of its inputs begins, and nothing of what is behind",
            fix="compute gradients with pb.autograd.grad(result, inputs), or call backward() outside of the function",
        )

def mirror(tensor: Tensor, leaf: Any) -> None:
    """Give a stand-in a counter of its own, and the flags of the caller's tensor."""
    shared_counter(tensor)
    if hasattr(leaf, "requires_grad"):
        with changed(transforms=()):  # a capture may be met inside of a transform, and is from outside of it
            _mirror_flags(tensor, leaf)


def _mirror_flags(tensor: Tensor, leaf: Any) -> None:
    if isinstance(leaf, Tensor):
        _mirror_kind(tensor, leaf)
    if not leaf.requires_grad:
        return
    if leaf.is_leaf:
        requires_grad_(tensor)
    else:
        node = InputBoundary()
        node.next, node.spec, node.rare, node.seq = (), tensor._spec, None, next_stamp()
        tensor._node = node


def _mirror_kind(tensor: Tensor, leaf: Tensor) -> None:
    """Views that may not be written where gradients are recorded stay such views."""
    if is_inference(leaf):
        extra_of(tensor).inference = True
        tensor._counter = None
    info = view_of(leaf)
    if info is not None and info.creation_meta is not CreationMeta.DEFAULT:
        base = alias(tensor)
        if requires_grad(info.base):
            requires_grad_(base)
        extra_of(tensor).view = ViewInfo(base, (), info.creation_meta, 0)


def tied(trace: Recorder, gradient: TracedArray, arrived: list[TracedArray]) -> Any:
    """A gradient that does not depend on those that arrived, as one that is there if one of them is.

    The condition always holds. What matters is that it is computed from the gradients that arrived: see `_entry.py`.
    """
    is_there = None
    for each in arrived:
        element = registry["_basic_index"].call(each, index=(0,) * each.ndim + (Ellipsis,))
        no_number = registry["isnan"].call(element)
        holds = registry["logical_or"].call(no_number, registry["logical_not"].call(no_number))
        is_there = holds if is_there is None else registry["logical_or"].call(is_there, holds)
    return registry["where"].call(is_there, gradient, trace.home(np.zeros((), gradient.dtype)))
