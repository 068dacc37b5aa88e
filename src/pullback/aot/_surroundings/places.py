"""Places: where a function finds what it was not given, and the guards on them.

A place is a variable of a closure, a global name, a default, an attribute, or what is in a container or an array. Those
that were read while the function was traced (`seer.py`) are looked at before every call: each must still hold the
same object, or an equal value of the same type.

    w                    the cell of the closure that holds w
    model.layers[0].w    the global `model`, its `layers`, what is in that list, and the `w` of the first of them
    def f(x, w=...)      the default of the parameter
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from operator import is_
from typing import Any, NamedTuple

import numpy as np

from pullback.aot._guards import leaf_difference, leaf_key
from pullback.tape.hooks import has_hooks
from pullback.tensors.tensor import Tensor

_TEXTS = (str, bytes, int, bool, type(None), type(Ellipsis), np.dtype, range)
_NUMBERS = (float, complex, np.generic)
PLAIN = (*_TEXTS, *_NUMBERS, slice)
"""Types of values that are guarded by what they are, and not by which object it is."""

RAISED = (ValueError, LookupError, TypeError, AttributeError, RuntimeError)
_FEW_BYTES = 4096
ANY: Any = object()
"""Stands in `Items` for one that is read before every call, and may be anything."""


class Weak(weakref.ref[Any]):
    """What was in a place, if that is an object that a guard should not keep alive."""


class Place(NamedTuple):
    """One place, and what was there when the function was captured."""

    kind: str  # how it is read: see `_EXPRESSIONS` and `_CHANGED`
    holder: Any
    key: Any
    value: Any
    text: str  # as one would write it

    @property
    def identity(self) -> tuple[str, int, Any]:
        """What tells two places apart."""
        return self.kind, id(self.holder), self.key

    def has_moved(self) -> bool:
        """Is something else there now?"""
        try:
            found = _CHANGED.get(self.kind)
            if found is not None:
                return found(self.holder, self.value)
            new = eval(self.expression("holder", "key"), {"holder": self.holder, "key": self.key})
        except RAISED:
            return True
        old = self.value() if type(self.value) is Weak else self.value
        return new is not old and differs(new, old)

    def expression(self, holder: str, key: str) -> str:
        """Python that reads the place, given what holder and key are called. It may raise what guards catch."""
        return _EXPRESSIONS[self.kind].format(holder, key, self.key)

    def condition(self, holder: str, key: str, value: str) -> str:
        """Python that is true if something else is there now."""
        if self.kind in _CHANGED:
            return f"{self.kind}_changed({holder}, {value})"
        new = self.expression(holder, key)
        if type(self.value) is Weak:
            return f"{new} is not {value}()"
        if isinstance(self.value, (*PLAIN, tuple)) and self.kind not in ("cell", "call"):
            return f"(new := {new}) is not {value} and differs(new, {value})"
        if isinstance(self.value, (*PLAIN, tuple)):
            return f"{new} is not {value} and differs({new}, {value})"
        return f"{new} is not {value}"

    def words(self) -> str:
        """What is different, if something is."""
        if self.kind == "tensor":
            return f"{self.text}: {leaf_difference(leaf_key(self.holder), self.value)}"
        if self.kind in ("absent", "missing"):
            return f"{self.text} was not there before"
        if self.kind == "hooks":
            return f"{self.text}: there were none before"
        if self.kind in ("contents", "bytes"):
            return f"{self.text}: other contents than before"
        if self.kind == "items":
            return _other_item(self.holder, self.value, self.text)
        try:
            new = eval(self.expression("holder", "key"), {"holder": self.holder, "key": self.key})
        except RAISED:
            return f"{self.text} is gone"
        return _difference(self.text, new, self.value)


_EXPRESSIONS = {
    "cell": "{0}.cell_contents",
    "item": "{0}[{1}]",
    "default": "{0}.__defaults__[{1}]",
    "keyword default": "{0}.__kwdefaults__[{1}]",
    "attribute": "{0}.{2}",
    "method": "{0}.{2}.__func__",
    "member": "{0}.__dict__[{1}]",
    "call": "{0}(*{1})",
}


def differs(new: Any, old: Any) -> bool:
    """Are these two objects also two values?"""
    kind = type(old)
    if type(new) is not kind:
        return True
    if isinstance(old, _TEXTS):
        return bool(new != old)
    if isinstance(old, tuple):
        return len(new) != len(old) or any(
            mine is not theirs and differs(mine, theirs) for mine, theirs in zip(new, old, strict=True)
        )
    if isinstance(old, (*_NUMBERS, slice)):
        return bool(leaf_key(new) != leaf_key(old))
    return True


class Items(NamedTuple):
    """What was in a container."""

    keys: tuple[Any, ...] | None
    values: tuple[Any, ...]


def items_of(container: Any) -> Items:
    """What is in a container now."""
    if hasattr(container, "keys"):
        return Items(tuple(container), tuple(container.values()))
    return Items(None, tuple(container))


def items_changed(container: Any, before: Items) -> bool:
    """Is something else in a container now, or in another order?"""
    if len(container) != len(before.values):
        return True
    if before.keys is None:
        if all(map(is_, container, before.values)):
            return False
    elif all(map(is_, container.values(), before.values)) and all(map(is_, container, before.keys)):
        return False
    keys, values = items_of(container)
    return keys != before.keys or any(
        new is not old and old is not ANY and differs(new, old) for new, old in zip(values, before.values, strict=True)
    )


def moved_parts(place: Place) -> Iterator[tuple[Place, Any]]:
    """What has moved in a place, each as a place of its own with what is there now: the place itself, or items."""
    kind, holder, key, before, text = place
    if not place.has_moved():
        return
    if kind in _EXPRESSIONS and kind != "call":
        with suppress(*RAISED):  # it is gone
            yield place, eval(place.expression("holder", "key"), {"holder": holder, "key": key})
    elif kind == "items" and isinstance(holder, (list, dict)):
        keys, values = items_of(holder)
        if keys == before.keys and len(values) == len(before.values):
            for at, new, old in zip(keys or range(len(values)), values, before.values, strict=True):
                if new is not old and old is not ANY and differs(new, old):
                    yield Place("item", holder, at, old, f"{text}[{at!r}]"), new


def _other_item(container: Any, before: Items, text: str) -> str:
    """What else is in a container now, in words."""
    now = items_of(container)
    is_ordered = not isinstance(container, (set, frozenset))
    if is_ordered and len(now.values) == len(before.values) and now.keys == before.keys:
        for key, new, old in zip(now.keys or range(len(now.values)), now.values, before.values, strict=True):
            if new is not old and old is not ANY and differs(new, old):
                return _difference(f"{text}[{key!r}]", new, old)
    return f"{text}: other items than before"


def _difference(text: str, new: Any, old: Any) -> str:
    if isinstance(old, PLAIN) and isinstance(new, PLAIN):
        return f"{text}: {old!r} before, {new!r} now"
    return f"{text} is another object"


def contents_of(array: np.ndarray[Any, Any]) -> Any:
    """What is in an array now, in memory of its own."""
    return array.tobytes() if array.nbytes <= _FEW_BYTES else array.copy("K")


def contents_changed(array: np.ndarray[Any, Any], before: Any) -> bool:
    """Has an array been written to? NaN and the signs of zeros count as bits."""
    if type(before) is bytes:
        return array.tobytes() != before
    if array.shape != before.shape or array.dtype != before.dtype:
        return True
    if array.flags.forc and array.strides == before.strides:
        mine, theirs = (each.reshape(-1, order="A").view(np.uint8) for each in (array, before))
        whole = mine.size & -8
        return not (
            np.array_equal(mine[:whole].view(np.uint64), theirs[:whole].view(np.uint64))
            and np.array_equal(mine[whole:], theirs[whole:])
        )
    return array.tobytes() != before.tobytes()


def tensor_changed(tensor: Tensor, key: Any) -> bool:
    """Is a tensor of another shape, dtype or kind than it was?"""
    return bool(leaf_key(tensor) != key)


_CHANGED: dict[str, Callable[[Any, Any], bool]] = {
    "absent": lambda holder, key: key in holder,
    "missing": hasattr,
    "bytes": lambda holder, before: bytes(holder) != before,
    "items": items_changed,
    "contents": contents_changed,
    "tensor": tensor_changed,
    "hooks": lambda tensor, _: has_hooks(tensor),
    "policy": lambda policy, before: policy() != before,
}


def moved_function(places: list[Place]) -> Callable[[], bool] | None:
    """A function that says whether something is not as it was, written out for these places; None if there are none."""
    if not places:
        return None
    scope: dict[str, Any] = {f"{kind}_changed": function for kind, function in _CHANGED.items()}
    scope.update(differs=differs, raised=RAISED)
    names: dict[int, str] = {}
    conditions = []
    for number, place in enumerate(places):
        holder = names.setdefault(id(place.holder), f"h{len(names)}")
        scope[holder], scope[f"v{number}"] = place.holder, place.value
        key = repr(place.key) if type(place.key) in (str, int) else f"k{number}"
        scope[f"k{number}"] = place.key
        conditions.append(place.condition(holder, key, f"v{number}"))
    body = "".join(f"        if {each}: return True\n" for each in conditions)
    source = f"def moved():\n    try:\n{body}    except raised: return True\n    return False\n"
    exec(compile(source, "<pull of places>", "exec"), scope)
    moved: Callable[[], bool] = scope["moved"]
    return moved
