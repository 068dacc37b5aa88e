"""What a function leaves behind in Python objects, and how every compiled call leaves the same.

A traced function writes to copies. When it has returned, what differs from what it found is what it leaves behind:
attributes, variables, items. Each difference is a write: an action with the new value, which is a further result of
the function (`_tree/effects.py`), so that a call writes what it has computed itself. The writes happen when everything
else has. New lists, dicts and arrays are made by every call; one that would be found in two places afterwards is
refused, since these would be two.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.aot._numbers.stand_in import is_stand_in
from pullback.aot._surroundings.places import PLAIN
from pullback.core.mirrors import MISSING
from pullback.core.pytree import flatten, unflatten
from pullback.tensors.tensor import Tensor

Write = tuple["Action", Any]


class Action:
    """Something that is done to an object of the user's with one value."""

    def __init__(self, do: Callable[[Any, Any, Any], None], holder: Any, key: Any = None) -> None:
        self._do = do
        self._key = key
        self._has_constants = False
        self.is_of_argument = callable(holder) and do in (_set_item, _delete_item, _extend, _replace)
        self._holder: Callable[[], Any] = holder if self.is_of_argument else lambda: holder
        if do in (_set_attribute, _delete_attribute) and not isinstance(holder, type):
            try:
                self._holder = weakref.ref(holder)  # the object may own the compiled function
            except TypeError:
                pass

    def of(self, value: Any) -> Action:
        """The same for a value with constants in it."""
        self._has_constants = any(isinstance(leaf, Constant) for leaf in flatten(value)[0])
        return self

    def __call__(self, value: Any) -> None:
        if self._has_constants:
            leaves, structure = flatten(value)
            value = unflatten(structure, [leaf() if isinstance(leaf, Constant) else leaf for leaf in leaves])
        self._do(self._holder(), self._key, value)


class Constant:
    """An object that a call stores as it is, or a copy of an array. Being callable, it passes for a literal."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self) -> Any:
        return self._value.copy("K") if isinstance(self._value, np.ndarray) else self._value


# What can be done.

def _set_item(holder: Any, key: Any, value: Any) -> None:
    holder[key] = value


def _delete_item(holder: Any, key: Any, value: Any) -> None:
    holder.pop(key, None)


def _set_attribute(holder: Any, key: Any, value: Any) -> None:
    type.__setattr__(holder, key, value) if isinstance(holder, type) else object.__setattr__(holder, key, value)


def _delete_attribute(holder: Any, key: Any, value: Any) -> None:
    object.__delattr__(holder, key)


def _set_cell(holder: Any, key: Any, value: Any) -> None:
    holder.cell_contents = value


def _extend(holder: Any, key: Any, value: Any) -> None:
    holder.extend(value)


def _replace(holder: Any, key: Any, value: Any) -> None:
    holder[:] = value


# What was done.

def attributes(holder: Any, values: dict[str, Any]) -> Iterator[Write]:
    """Attributes of an object or a class that have places of their own."""
    for name, value in values.items():
        if value is MISSING:
            yield Action(_delete_attribute, holder, name), None
        else:
            yield Action(_set_attribute, holder, name), value


def items(holder: Any, values: dict[Any, Any]) -> Iterator[Write]:
    """Items of a dict, which may be the variables of a module or of an object."""
    for key, value in values.items():
        if value is MISSING:
            yield Action(_delete_item, holder, key), None
        else:
            yield Action(_set_item, holder, key), value


def cell(holder: Any, value: Any) -> Iterator[Write]:
    """A variable of a closure."""
    yield Action(_set_cell, holder), value


def _is_plain(key: Any) -> bool:
    """Is a key of a dict the same in every call, whatever it is called with?"""
    return isinstance(key, PLAIN) or (type(key) is tuple and all(map(_is_plain, key)))


def of_dict(holder: dict[Any, Any], now: dict[Any, Any], before: dict[Any, Any]) -> list[Write] | None:
    """What was done to a dict; None if that cannot be done again item by item."""
    gone = [key for key in before if key not in now]
    kept = [key for key in before if key in now]
    if list(now)[: len(kept)] != kept or not all(map(_is_plain, (*now, *gone))):
        return None  # in another order
    changed = {key: value for key, value in now.items() if value is not before.get(key, MISSING)}
    return list(items(holder, {**dict.fromkeys(gone, MISSING), **changed}))


def of_list(holder: list[Any], now: list[Any], before: list[Any]) -> list[Write]:
    """What was done to a list."""
    if grows(now, before):
        return [appended(holder, now[len(before) :])]
    if len(now) == len(before):
        changed = {k: new for k, (new, old) in enumerate(zip(now, before, strict=True)) if new is not old}
        return list(items(holder, changed))
    return [(Action(_replace, holder), now)]


def grows(now: list[Any], before: list[Any]) -> bool:
    """Was something appended, and nothing else done?"""
    is_same = all(new is old for new, old in zip(now, before, strict=False))
    return len(now) > len(before) and is_same


def appended(holder: list[Any], values: list[Any]) -> Write:
    """Items that are appended to a list."""
    return Action(_extend, holder), values


# Values.

class Unknown(Exception):
    """A value that a call cannot make."""


class Values:
    """The values of writes as results of a function that also returns `result`. `originals` has what the function sees
    in place of what, and `arrays` those that are found elsewhere as well."""

    def __init__(self, originals: dict[int, tuple[Any, Any]], result: Any, arrays: list[Any]) -> None:
        self._originals = originals
        made = list(_containers(result))
        self._made = set(map(id, made))
        self._arrays = [*arrays, *(each for each in made if isinstance(each, np.ndarray))]

    def of(self, value: Any) -> Any:
        """What a call returns to have this value."""
        if isinstance(value, Tensor) or is_stand_in(value) or isinstance(value, PLAIN):
            return value
        known = self._originals.get(id(value))
        if known is not None:
            return Constant(known[1])
        kind = type(value)
        if kind is tuple:
            return tuple([self.of(item) for item in value])
        if kind not in (list, dict, np.ndarray) or id(value) in self._made:
            raise Unknown
        self._made.add(id(value))
        if kind is np.ndarray:
            if value.dtype.hasobject or any(np.may_share_memory(value, other) for other in self._arrays):
                raise Unknown
            self._arrays.append(value)
            return Constant(value)
        if kind is list:
            return [self.of(item) for item in value]
        if not all(map(_is_plain, value)):
            raise Unknown
        return {key: self.of(item) for key, item in value.items()}


def _containers(tree: Any) -> Iterator[Any]:
    """The lists, dicts and arrays in a result."""
    if type(tree) in (list, dict, np.ndarray):
        yield tree
    if type(tree) in (list, tuple, dict):
        for part in tree.values() if type(tree) is dict else tree:
            yield from _containers(part)


# Lists that grow.

class Growing:
    """A list that a traced function appends to, and that nobody has looked into yet. It says that it is a list, and is
    none: C code would read its items without asking. Whoever looks is shown a copy, which is then guarded."""

    __slots__ = ("_list", "_look", "_new")

    def __init__(self, look: Callable[[], list[Any]]) -> None:
        self._look = look
        self._new: list[Any] = []
        self._list: list[Any] | None = None

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return list

    def seen(self) -> list[Any]:
        """The items, which the function depends on from now on."""
        if self._list is None:
            self._list = self._look()
            self._list.extend(self._new)
        return self._list

    def added(self) -> list[Any] | None:
        """What was appended to it; None if somebody has looked into it, and may have done anything."""
        return self._new if self._list is None else None

    def append(self, item: Any) -> None:
        """As a list does."""
        (self._new if self._list is None else self._list).append(item)

    def extend(self, items: Any) -> None:
        """As a list does."""
        (self._new if self._list is None else self._list).extend(items)

    def __iadd__(self, items: Any) -> Growing:
        self.extend(items)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.seen(), name)


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return getattr(self.seen(), name)(*[x.seen() if type(x) is Growing else x for x in args])

    return method


for _name in (
    "__len__", "__iter__", "__reversed__", "__getitem__", "__setitem__", "__delitem__", "__contains__", "__add__",
    "__mul__", "__rmul__", "__imul__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__",
    "__str__", "__format__",
):  # fmt: skip
    setattr(Growing, _name, _forwarded(_name))
setattr(Growing, "__radd__", lambda self, other: other + self.seen())  # noqa: B010
setattr(Growing, "__hash__", None)  # noqa: B010
