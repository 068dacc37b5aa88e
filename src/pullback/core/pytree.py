"""Nested containers of tensors: tuples, lists, dicts, namedtuples, deques, and classes that you register.

None is a leaf, and so is any object of a class that is not known. A function that takes a tree and returns one of the
same structure returns the same kinds of containers. The leaves of a dict come by its sorted keys.

Containers that have nothing but leaves in them, which most are, are taken apart and filled by a few calls for all of
their leaves together: a thousand leaves take as long as some operators do.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

import numpy as np

__all__ = ["add_leaf_type", "flatten", "map_leaves", "paths", "prefix_leaves", "register", "unflatten"]

_leaf_types: set[type] = {np.ndarray, *np.sctypeDict.values(), bool, int, float, complex, str, type(None)}
_registered: dict[type, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {}
_field_names: dict[type, tuple[str, ...]] = {}  # of those registered classes whose children have names
_DICTS = (dict, OrderedDict, defaultdict)
_TEXT = {str}
_BUILT_IN = (tuple, list, deque, *_DICTS)


class Structure:
    """The structure of a tree: its containers, with places for leaves.

    >>> pb.tree.structure([1, (2, 3)]).num_leaves
    3
    """

    __slots__ = ("_about", "_described", "_is_flat", "_order", "_parts", "num_leaves", "type")
    num_leaves: int
    _described: tuple[Any, ...]  # what structures are compared by

    def __init__(self, kind: Any, num_leaves: int, parts: tuple[Structure, ...], is_flat: bool, about: Any, order: Any):
        self.type = kind
        self.num_leaves = num_leaves
        self._parts = parts
        is_flat = is_flat or (kind is not None and all(part.type is None for part in parts))
        self._is_flat = is_flat  # all parts are leaves
        self._about = about  # the keys of dicts, and what else containers need to be equal
        self._order = order  # the keys of a dict as they were given, which makes no difference to others
        self._described = (kind, about, num_leaves if is_flat else tuple([part._described for part in parts]))

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

    def written(self, names: Iterator[str]) -> str | None:
        """The tree with these names for leaves as an expression; None if it has other containers than tuples, lists
        and dicts with texts for keys."""
        if self.type is None:
            return next(names)
        parts = [part.written(names) for part in self._parts]
        if None in parts:
            return None
        if self.type is dict and _TEXT.issuperset(map(type, self._order)):
            by_key = dict(zip(self._about, parts, strict=True))
            return f"{{{', '.join(f'{key!r}: {by_key[key]}' for key in self._order)}}}"
        inside = "".join(f"{part}, " for part in parts)
        return f"({inside})" if self.type is tuple else f"[{inside}]" if self.type is list else None

    def filled(self, leaves: Iterator[Any]) -> Any:
        """The tree with these leaves."""
        kind = self.type
        if kind is None:
            return next(leaves)
        if not self._is_flat:
            made: Any = [next(leaves) if part is _LEAF else part.filled(leaves) for part in self._parts]
            return made if kind is list else self._made_of(made)
        if kind is dict:
            by_key = dict.fromkeys(self._order)
            by_key.update(zip(self._about, leaves))
            return by_key
        return self._made_of(islice(leaves, self.num_leaves))

    def _made_of(self, children: Iterable[Any]) -> Any:
        """The container with these in it."""
        kind = self.type
        if kind is tuple or kind is list:
            return kind(children)
        if kind is dict:
            return _as_dict(self._about, self._order, children)
        if kind in _registered:
            return _registered[kind][1](self._about, tuple(children))
        if kind is OrderedDict:
            return OrderedDict(zip(self._about, children, strict=True))
        if kind is defaultdict:
            return defaultdict(self._about[1], _as_dict(self._about[0], self._order, children))
        if kind is deque:
            return deque(children, self._about)
        return kind._make(children) if hasattr(kind, "_make") else kind(children)

    def __eq__(self, other: object) -> bool:
        return self._described == other._described if type(other) is Structure else NotImplemented

    def __hash__(self) -> int:
        try:
            return hash(self._described)
        except TypeError:  # what registered classes are besides need not have one
            return hash((self.type, self.num_leaves))

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        if self.type in _registered:
            return f"{self.type.__qualname__}[{self._about!r}]({', '.join(map(repr, self._parts))})"
        return repr(self._made_of(self._parts))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.type, self.num_leaves, self._parts, self._is_flat, self._about, self._order)


def _restored(kind: Any, *rest: Any) -> Structure:
    return _LEAF if kind is None else Structure(kind, *rest)


_LEAF = Structure(None, 1, (), False, None, None)


def _as_dict(keys: tuple[Any, ...], order: tuple[Any, ...], values: Iterable[Any]) -> dict[Any, Any]:
    made = dict.fromkeys(order)
    made.update(zip(keys, values, strict=True))
    return made


@lru_cache(1024)
def _sequence_of_leaves(kind: Any, count: int) -> Structure:
    return Structure(kind, count, (_LEAF,) * count, True, None, None)


@lru_cache(1024)
def _dict_of_leaves(order: tuple[str, ...]) -> tuple[Structure, Callable[[Any], Any]]:
    """And the function that takes the values out of such a dict."""
    keys = tuple(sorted(order))
    get = itemgetter(*keys) if len(keys) > 1 else lambda tree: [tree[key] for key in keys]
    return Structure(dict, len(keys), (_LEAF,) * len(keys), True, keys, order), get


def add_leaf_type(cls: type) -> None:
    """Objects of this class are never containers, unless somebody registers it."""
    _leaf_types.add(cls)


def flatten(tree: Any) -> tuple[list[Any], Structure]:
    """The leaves of a tree in order, and its structure.

    >>> pb.tree.flatten({"b": 1, "a": (2, 3)})
    ([2, 3, 1], {'b': *, 'a': (*, *)})
    """
    leaves: list[Any] = []
    return leaves, _taken_apart(tree, leaves)


def _taken_apart(tree: Any, leaves: list[Any]) -> Structure:
    """The structure of a tree, of which the leaves are added."""
    kind = type(tree)
    about = order = flat = None
    if kind in _leaf_types:
        leaves.append(tree)
        return _LEAF
    if kind is tuple or kind is list:
        children = tree
        flat = _sequence_of_leaves(kind, len(tree))  # type: ignore[arg-type]
    elif kind is dict:
        order = tuple(tree)
        if _TEXT.issuperset(map(type, order)):
            flat, get = _dict_of_leaves(order)
            children, about = get(tree), flat._about
        else:
            about = _sorted(order)
            children = [tree[key] for key in about]
    else:
        opened = _opened(tree)
        if opened is None:
            leaves.append(tree)
            return _LEAF
        children, about, order = opened
    if _leaf_types.issuperset(map(type, children)):
        leaves += children
        count = len(children)
        return flat or Structure(kind, count, (_LEAF,) * count, True, about, order)
    first = len(leaves)
    parts = []
    for each in children:
        if type(each) in _leaf_types:
            leaves.append(each)
            parts.append(_LEAF)
        else:
            parts.append(_taken_apart(each, leaves))
    return Structure(kind, len(leaves) - first, tuple(parts), False, about, order)


def _opened(tree: Any) -> tuple[Any, Any, Any] | None:
    """What a container has in it, what it is besides, and the order of its keys; None for a leaf."""
    kind = type(tree)
    if kind in _registered:
        children, about = _registered[kind][0](tree)[:2]
        return tuple(children), about, None
    if kind is tuple or kind is list:
        return tree, None, None
    if kind is OrderedDict:
        return list(tree.values()), tuple(tree), None
    if kind is dict or kind is defaultdict:
        order = tuple(tree)
        keys = _sorted(order)
        about = keys if kind is dict else (keys, tree.default_factory)
        return [tree[key] for key in keys], about, order
    if kind is deque:
        return tree, tree.maxlen, None
    return (tree, None, None) if isinstance(tree, tuple) and _has_fields(kind) else None


def _has_fields(kind: type) -> bool:
    """Is this a class of namedtuples, or of those that C functions return, such as `os.stat_result`?"""
    if type(getattr(kind, "_fields", None)) is tuple and hasattr(kind, "_make"):
        return True
    return kind.__base__ is tuple and hasattr(kind, "n_sequence_fields")


def _sorted(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """The keys of a dict in an order that does not depend on how it was made, where there is one."""
    try:
        return tuple(sorted(keys))
    except TypeError:
        pass
    try:
        return tuple(sorted(keys, key=lambda key: (f"{type(key).__module__}.{type(key).__qualname__}", key)))
    except TypeError:
        return keys


def unflatten(structure: Structure, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves.

    >>> pb.tree.unflatten(pb.tree.structure({"a": (2, 3)}), [4, 5])
    {'a': (4, 5)}
    """
    given = leaves if type(leaves) is list else list(leaves)
    if len(given) != structure.num_leaves:
        raise ValueError(f"{len(given)} leaves were given for the structure {structure}, not {structure.num_leaves}")
    return structure.filled(iter(given))


def map_leaves(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """A tree of the same structure whose leaves are `function` of the leaves of all trees at that place.

    Where `tree` has a leaf, another may have a tree, which is given to `function` as it is.
    """
    leaves, structure = flatten(tree)
    return unflatten(structure, list(map(function, leaves, *(_up_to(structure, other) for other in others))))


def _up_to(structure: Structure, tree: Any) -> list[Any]:
    """What a tree has at the places of the leaves of a structure, which is that of its upper part."""
    if structure.type is None:
        return [tree]
    return list(chain.from_iterable(map(_up_to, structure._parts, _children_like(structure, tree))))


def _children_like(structure: Structure, tree: Any) -> Any:
    """What a container has in it, in the order of a structure of the same kind; dicts of all classes are of one."""
    kind, wanted = type(tree), structure.type
    opened = _opened(tree)
    if opened is None or (kind is not wanted and not (kind in _DICTS and wanted in _DICTS)):
        raise ValueError(f"expected a tree with the structure {structure}, got {tree!r}")
    children, about, _ = opened
    if kind in _DICTS:
        keys = structure._about[0] if wanted is defaultdict else structure._about
        if tree.keys() != set(keys):
            raise ValueError(f"expected a {wanted.__name__} with the keys {list(keys)}, got {list(tree)}")
        return [tree[key] for key in keys]
    if len(children) != len(structure._parts) or (kind in _registered and about != structure._about):
        raise ValueError(f"expected a {wanted.__name__} with the structure {structure}, got {tree!r}")
    return children


def register(
    cls: type, flatten: Callable[[Any], tuple[Iterable[Any], Any]], unflatten: Callable[[Any, Iterable[Any]], Any],
    names: tuple[str, ...] | None = None,
) -> type:  # fmt: skip
    """Treat instances of `cls` as containers: `flatten(x)` gives their children and what else makes them up, and
    `unflatten(what_else, children)` makes one of them. `names` are what the children are called, if that is always
    the same."""
    if not isinstance(cls, type):
        raise TypeError(f"pytree.register takes a class, got {cls!r}")
    if cls in _registered or cls in _BUILT_IN:
        raise ValueError(f"pytree.register: {cls.__qualname__} is a container already")
    _registered[cls] = (flatten, unflatten)
    if names is not None:
        _field_names[cls] = names
    _leaf_types.discard(cls)
    return cls


def is_registered(cls: type) -> bool:
    """Are instances of this class containers because somebody registered it?"""
    return cls in _registered


def prefix_leaves(prefix: Any, tree: Any) -> list[Any]:
    """A leaf of `prefix` for every leaf of `tree`, where `prefix` is the upper part of the tree's structure."""
    leaves, structure = flatten(prefix)
    counts = [len(flatten(part)[0]) for part in _up_to(structure, tree)]
    return list(chain.from_iterable(map(repeat, leaves, counts)))


def contents(tree: Any) -> tuple[Any, Any, Any] | None:
    """What a container has in it, what it is besides, and the order of its keys; None for a leaf."""
    return _opened(tree)


def rebuilt(cls: type, about: Any, children: Iterable[Any]) -> Any:
    """An object of a registered class with these in it."""
    return _registered[cls][1](about, tuple(children))


def field_names(cls: type) -> tuple[str, ...]:
    """What the children of a registered class, or of a namedtuple, are called; nothing if they have no names."""
    return _field_names.get(cls, getattr(cls, "_fields", ()))


def registered_name(name: str) -> type | None:
    """The registered class of this module and qualified name, the last one if there are several."""
    return next((cls for cls in reversed(_registered) if f"{cls.__module__}.{cls.__qualname__}" == name), None)


def paths(tree: Any, by_field: bool = False) -> list[tuple[Any, ...]]:
    """How to get from a tree to each of its leaves, as keys and positions, or names of fields where there are some."""
    opened = _opened(tree)
    if opened is None:
        return [()]
    children, about, _ = opened
    kind = type(tree)
    keys: Iterable[Any] = range(len(children))
    if kind in _DICTS:
        keys = about[0] if kind is defaultdict else about
    elif by_field:
        keys = field_names(kind) or keys
    return [(key, *path) for key, child in zip(keys, children, strict=True) for path in paths(child, by_field)]


def how_to_register(kind: type) -> str:
    """What to write so that objects of a class with fields are containers; "" for other classes."""
    marks = ("__dataclass_fields__", "__attrs_attrs__", "__pydantic_validator__")
    if isinstance(kind, type) and any(hasattr(kind, mark) for mark in marks):
        return f"add the line pb.register_dataclass({kind.__name__}), or write @pb.dataclass above the class"
    return ""
