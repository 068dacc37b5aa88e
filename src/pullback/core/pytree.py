"""Nested containers of tensors: tuples, lists, dicts, namedtuples, deques, and classes that you register.

None is a leaf, and so is any object of a class that is not known. A function that takes a tree and returns one of the
same structure returns the same kinds of containers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import optree

__all__ = ["flatten", "map_leaves", "prefix_leaves", "register", "unflatten"]

_NAMESPACE = "pullback"


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a tree in order, and its structure."""
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=_NAMESPACE)
    return leaves, structure


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves."""
    return optree.tree_unflatten(structure, leaves)


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the same structure whose leaves are `function` of the leaves of all trees at that place."""
    return optree.tree_map(function, tree, *others, none_is_leaf=True, namespace=_NAMESPACE)


def register(
    cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, Iterable[Any]], Any]
) -> type:
    """Treat instances of `cls` as containers: `flatten(x)` gives their children and what else makes them up, and
    `unflatten(what_else, children)` makes one of them."""
    optree.register_pytree_node(cls, flatten, unflatten, namespace=_NAMESPACE)
    return cls


def prefix_leaves(prefix: Any, tree: Any) -> list[Any]:
    """A leaf of `prefix` for every leaf of `tree`, where `prefix` is the upper part of the tree's structure."""
    return optree.broadcast_prefix(prefix, tree, none_is_leaf=True, namespace=_NAMESPACE)
