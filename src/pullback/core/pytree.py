"""Nested containers of tensors: tuples, lists, dicts, namedtuples, deques, and classes that you register.

None is a leaf, and so is any object of a class that is not known. A function that takes a tree and returns one of the
same structure returns the same kinds of containers.

Small trees of tuples, lists and dicts whose leaves are tensors, arrays, numbers or texts are taken apart here. Others
are given to optree, which is faster for many leaves. It is loaded when the first of them comes by, which takes a while.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

__all__ = ["add_leaf_type", "flatten", "map_leaves", "paths", "prefix_leaves", "register", "unflatten"]

_NAMESPACE = "pullback"
_MOST_LEAVES = 12  # of a tree that is taken apart here
_leaf_types: set[type] = {np.ndarray, *np.sctypeDict.values(), bool, int, float, complex, str, type(None)}


class Structure:
    """The structure of a plain tree, with the attributes that optree's structures have."""

    __slots__ = ("_described", "_order", "_parts", "num_leaves", "type")
    num_leaves: int
    _described: tuple[Any, ...]  # what structures are compared by

    def __init__(
        self, kind: Any, num_leaves: int, parts: tuple[Structure, ...] = (), keys: Any = (), order: Any = ()
    ) -> None:
        self.type = kind
        self.num_leaves = num_leaves
        self._parts = parts  # those of a dict by their sorted keys
        self._order = order  # the keys of a dict as they were given, which makes no difference to others
        self._described = (kind, keys, *[part._described for part in parts])

    @property
    def num_children(self) -> int:
        """How many trees this one is made of directly."""
        return len(self._parts)

    def children(self) -> list[Structure]:
        """The structures of these."""
        return list(self._parts)

    def is_leaf(self) -> bool:
        """Is this no container?"""
        return self.type is None

    def filled(self, leaves: Iterator[Any]) -> Any:
        """The tree with these leaves."""
        if self.type is None:
            return next(leaves)
        made = [next(leaves) if part is _LEAF else part.filled(leaves) for part in self._parts]
        if self.type is dict:
            by_key = dict(zip(self._described[1], made, strict=True))
            return by_key if self._order == self._described[1] else {key: by_key[key] for key in self._order}
        return made if self.type is list else tuple(made)

    def __eq__(self, other: object) -> bool:
        if type(other) is Structure:
            return self._described == other._described
        return bool(_of_optree(self) == other)  # of a tree with a leaf that optree had to be asked about

    def __hash__(self) -> int:
        return hash(self._described)

    def __repr__(self) -> str:
        return repr(_of_optree(self))


_LEAF = Structure(None, 1)


def add_leaf_type(cls: type) -> None:
    """Objects of this class are never containers, unless somebody registers it."""
    _leaf_types.add(cls)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree in order, and its structure."""
    leaves: list[Any] = []
    structure = _taken_apart(tree, leaves)
    if structure is None:
        leaves, structure = _optree().tree_flatten(tree, none_is_leaf=True, namespace=_NAMESPACE)
    return leaves, structure


def _taken_apart(tree: Any, leaves: list[Any]) -> Structure | None:
    """The structure of a plain tree, of which the leaves are added; None if it is not plain, or too large."""
    kind = type(tree)
    if kind in _leaf_types:
        leaves.append(tree)
        return _LEAF
    keys: tuple[Any, ...] = ()
    order: tuple[Any, ...] = ()
    first = len(leaves)
    if kind is dict:
        order = tuple(tree)
        if any([type(key) is not str for key in order]):  # noqa: C419, a list is faster
            return None
        keys = tuple(sorted(order))
        tree = [tree[key] for key in keys]
    elif (kind is not tuple and kind is not list) or len(tree) > _MOST_LEAVES:
        return None
    parts = []
    for each in tree:
        if type(each) in _leaf_types:
            leaves.append(each)
            parts.append(_LEAF)
        else:
            part = _taken_apart(each, leaves)
            if part is None:
                return None
            parts.append(part)
    count = len(leaves)
    return Structure(kind, count - first, tuple(parts), keys, order) if count <= _MOST_LEAVES else None


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves."""
    if type(structure) is not Structure:
        return _optree().tree_unflatten(structure, leaves)
    given = list(leaves)
    if len(given) != structure.num_leaves:
        raise ValueError(f"{len(given)} leaves were given for the structure {structure}, not {structure.num_leaves}")
    return structure.filled(iter(given))


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the same structure whose leaves are `function` of the leaves of all trees at that place."""
    leaves, structure = flatten(tree)
    flat = [flatten(other) for other in others]
    if type(structure) is Structure and all(structure == its_structure for _, its_structure in flat):
        return unflatten(structure, map(function, leaves, *(its_leaves for its_leaves, _ in flat)))
    return _optree().tree_map(function, tree, *others, none_is_leaf=True, namespace=_NAMESPACE)


def register(
    cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, Iterable[Any]], Any]
) -> type:
    """Treat instances of `cls` as containers: `flatten(x)` gives their children and what else makes them up, and
    `unflatten(what_else, children)` makes one of them."""
    _optree().register_pytree_node(cls, flatten, unflatten, namespace=_NAMESPACE)
    _leaf_types.discard(cls)
    return cls


def prefix_leaves(prefix: Any, tree: Any) -> list[Any]:
    """A leaf of `prefix` for every leaf of `tree`, where `prefix` is the upper part of the tree's structure."""
    if type(prefix) in _leaf_types:
        return [prefix] * len(flatten(tree)[0])
    found: list[Any] = _optree().broadcast_prefix(prefix, tree, none_is_leaf=True, namespace=_NAMESPACE)
    return found


def paths(tree: Any) -> list[tuple[Any, ...]]:
    """How to get from a tree to each of its leaves, as keys and positions."""
    found: list[tuple[Any, ...]] = _optree().tree_paths(tree, none_is_leaf=True, namespace=_NAMESPACE)
    return found


@functools.cache
def _optree() -> Any:
    import optree  # which takes longer to load than all of our modules that differentiate

    return optree


def _of_optree(structure: Structure) -> Any:
    """The same structure, as optree has it."""
    tree = structure.filled(iter([0] * structure.num_leaves))
    return _optree().tree_structure(tree, none_is_leaf=True, namespace=_NAMESPACE)
