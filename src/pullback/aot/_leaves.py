"""The leaves of arguments and results: which types a captured function may have, and how arguments share memory."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from pullback.core.pytree import flatten, paths
from pullback.errors import UnsupportedTypeError
from pullback.tensors.tensor import Tensor
from pullback.tensors.versions import overlap

Array = np.ndarray[Any, Any]

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
            found = paths(tree)
            path = "".join(f"[{key!r}]" for key in found[position]) if position < len(found) else f"[{position}]"
            raise UnsupportedTypeError(
                f"{what}{path} is of type {type(leaf).__name__}, which a captured function can not have",
                why="a graph has arrays, and literals that are part of it",
                fix="register the type as a container with pb.utils.pytree.register, or pass what is in it",
            )


def flatten_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
    """The leaves of a call's arguments and their structure."""
    return flatten((args, kwargs)) if kwargs else flatten((args, {}))


def array_of(leaf: Any) -> Array:
    """The memory behind an array leaf."""
    return leaf._data if isinstance(leaf, Tensor) else leaf


def overlapping(arrays: dict[int, Array]) -> list[tuple[int, ...]]:
    """Groups of slots whose arrays share memory, directly or through each other."""
    slots = list(arrays)
    group_of: dict[int, set[int]] = {}
    for first, second in touching([arrays[slot] for slot in slots]):
        merged = group_of.get(slots[first], {slots[first]}) | group_of.get(slots[second], {slots[second]})
        group_of.update(dict.fromkeys(merged, merged))
    return sorted({tuple(sorted(group)) for group in group_of.values()})


def touching(arrays: Sequence[Array], asked: Collection[int] | None = None) -> Iterator[tuple[int, int]]:
    """The pairs of positions whose arrays have an element in common, where one of the two is `asked` about if that is
    given. There may be thousands: they are compared with their neighbours in memory, and owners of theirs with none."""
    if all(array.flags.owndata for array in arrays) and len(set(map(id, arrays))) == len(arrays):
        return
    spans = sorted((*byte_bounds(array), position) for position, array in enumerate(arrays) if array.size)
    for place, (_, high, first) in enumerate(spans):
        for low, _, second in islice(spans, place + 1, None):
            if low >= high:
                break
            if (asked is None or first in asked or second in asked) and overlap(arrays[first], arrays[second]):
                yield first, second
