"""The leaves of arguments and results: which types a captured function may have, and how arguments share memory."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np
import optree
from numpy.lib.array_utils import byte_bounds

from pullback.core.pytree import flatten
from pullback.errors import UnsupportedTypeError
from pullback.tensors.tensor import Tensor
from pullback.tensors.versions import overlap

_STATIC = (
    int, float, complex, bool, str, bytes, type(None), np.generic, np.dtype, slice, type(Ellipsis), enum.Enum, type,
)  # fmt: skip


class ArraySpec:
    """A description of an array argument, where there is no array: see `spec`."""

    is_array_spec = True

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], requires_grad: bool, leaf: bool) -> None:
        self.shape = shape
        self.dtype = dtype
        self.requires_grad = requires_grad
        self.is_leaf = leaf

    def __call__(self) -> Any:  # what is callable passes as a leaf
        return np.empty(self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"spec({self.shape}, {self.dtype.str!r}, requires_grad={self.requires_grad}, leaf={self.is_leaf})"


def is_array(leaf: Any) -> bool:
    """Is this leaf an input or output of the graph, and not a literal?"""
    return isinstance(leaf, (Tensor, np.ndarray))


def is_leaf_type(x: Any) -> bool:
    """Is this an array or a literal?"""
    return isinstance(x, (Tensor, np.ndarray, *_STATIC))


def check_leaves(tree: Any, leaves: Sequence[Any], what: str) -> None:
    """Raise if a leaf is of a type that is neither an array nor a literal."""
    for position, leaf in enumerate(leaves):
        if not (is_leaf_type(leaf) or callable(leaf)):
            paths = optree.tree_paths(tree, none_is_leaf=True, namespace="pullback")
            path = "".join(f"[{key!r}]" for key in paths[position]) if position < len(paths) else f"[{position}]"
            raise UnsupportedTypeError(
                f"{what}{path} is of type {type(leaf).__name__}, which a captured function can not have",
                why="a graph has arrays, and literals that are part of it",
                fix="register the type as a container with pb.utils.pytree.register, or pass what is in it",
            )


def flatten_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of a call's arguments and their structure."""
    return flatten((args, kwargs)) if kwargs else flatten((args, {}))


def array_of(leaf: Any) -> np.ndarray[Any, Any]:
    """The memory behind an array leaf."""
    return leaf._data if isinstance(leaf, Tensor) else leaf


def overlapping(arrays: dict[int, np.ndarray[Any, Any]]) -> list[tuple[int, ...]]:
    """Groups of slots whose arrays share memory, directly or through each other."""
    spans = sorted((*byte_bounds(array), slot) for slot, array in arrays.items() if array.size)
    groups: list[set[int]] = []
    for position, (_, high, slot) in enumerate(spans):
        for other_low, _, other in spans[position + 1 :]:
            if other_low >= high:
                break
            if overlap(arrays[slot], arrays[other]):
                merged = {slot, other}
                apart = []
                for group in groups:
                    if group & merged:
                        merged |= group
                    else:
                        apart.append(group)
                groups = [*apart, merged]
    return sorted(tuple(sorted(group)) for group in groups)
