"""Where adapted code reads and writes: globals, variables of closures, lists and dicts, each with its copy.

The copy holds what adapted code should see. What it assigned there is stored in the user's own place when a call ends;
a place that was only read is not touched.
"""

from __future__ import annotations

import builtins
import dis
import functools
from collections.abc import Callable
from types import CellType, CodeType, ModuleType
from typing import Any

from pullback.func._stand_ins import BUILTINS, Proxy
from pullback.func._values import MARK
from pullback.tensors.tensor import Tensor

PLAIN = (int, float, complex, str, bytes, bool, type(None), Tensor, Proxy)
"""Types of values that look the same to everybody."""
CONTAINERS = (tuple, list, dict)
MISSING: Any = object()


@functools.lru_cache(maxsize=4096)
def names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """The names a function may read from its globals, and those it assigns there, nested functions included."""
    read = set(code.co_names)
    written = {step.argval for step in dis.get_instructions(code) if step.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner_read, inner_written = names_in(constant)
            read |= inner_read
            written |= inner_written
    return frozenset(read), frozenset(written)


class Space:
    """The globals of one module: the user's own, and the copy that rewritten functions have."""

    def __init__(self, original: dict[str, Any], see: Callable[[Any], Any]) -> None:
        self.original = original
        self.copy = {**original, MARK: True, "__builtins__": _builtins_of(original, see)}
        self.seen: set[str] = set()
        self.written: dict[str, Any] = {}

    def store_assigned(self, back: Callable[[Any], Any]) -> None:
        """Give the user's module what `global` statements assigned in the copy."""
        for name, before in self.written.items():
            after = self.copy.get(name, MISSING)
            if after is MISSING and before is not MISSING:
                self.original.pop(name, None)
            elif after is not before:
                self.original[name] = back(after)


class Cell:
    """A variable of a closure: the user's own, and the one that rewritten functions have."""

    def __init__(self, original: CellType) -> None:
        self.original = original
        self.copy = CellType()
        self.before: Any = MISSING

    def store_assigned(self, back: Callable[[Any], Any]) -> None:
        """Give the user's variable what `nonlocal` statements assigned in the copy."""
        try:
            after = self.copy.cell_contents
        except ValueError:
            return  # never filled, because seeing what it should hold failed
        if after is not self.before:
            self.original.cell_contents = back(after)


def is_plain(value: Any) -> bool:
    """Is this a value, or a container of values, that looks the same to everybody?"""
    if type(value) in CONTAINERS:
        return all(isinstance(item, PLAIN) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, PLAIN)


class Container:
    """A list or dict: the user's own, and the one that rewritten functions have because its items look different."""

    def __init__(self, original: Any, see: Callable[[Any], Any]) -> None:
        self.original = original
        self.copy: Any = type(original)()
        self._see = see
        self._items: dict[int, Any] = {}
        self._before: list[tuple[Any, Any]] = []

    def fill(self) -> bool:
        """Put what is seen of the items into the copy; False if that makes no difference."""
        for key, item in list(_items_of(self.original)):
            seen = self._see(item)
            if seen is not item:
                self._items[id(seen)] = item
            if isinstance(self.copy, dict):
                self.copy[key] = seen
            else:
                self.copy.append(seen)
        self._before = list(_items_of(self.copy))
        return bool(self._items)

    def store_assigned(self, back: Callable[[Any], Any]) -> None:
        """Give the user's container what was put into the copy."""
        now = list(_items_of(self.copy))
        # Compared with what was put there and not with the original, which other threads may have written.
        if len(now) == len(self._before) and all(
            key == old_key and item is old for (key, item), (old_key, old) in zip(now, self._before, strict=True)
        ):
            return
        after = {key: self._items[id(item)] if id(item) in self._items else back(item) for key, item in now}
        self.original.clear()
        if isinstance(self.original, dict):
            self.original.update(after)
        else:
            self.original.extend(after.values())


def _items_of(container: Any) -> Any:
    return container.items() if isinstance(container, dict) else enumerate(container)


def _builtins_of(original: dict[str, Any], see: Callable[[Any], Any]) -> dict[str, Any]:
    given = original.get("__builtins__", builtins)
    names = vars(given) if isinstance(given, ModuleType) else given
    load = names["__import__"]

    def load_and_see(*args: Any, **kwargs: Any) -> Any:
        return see(load(*args, **kwargs))

    return {**names, **BUILTINS, "__import__": load_and_see}
