"""Where adapted code reads and writes: globals, variables of closures, lists and dicts, each with its copy.

The copy holds what adapted code should see. What it assigned there is stored in the user's own place when a call ends;
a place that was only read is not touched.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CellType, ModuleType
from typing import Any

from pullback.func._arrays import MARK, Arrays
from pullback.func._stand_ins import BUILTINS, Proxy

See = Callable[[Any], Any]

PLAIN = (int, float, complex, str, bytes, bool, type(None), Proxy)
"""Types of values that look the same to everybody."""
MISSING: Any = object()


# What Python's own machinery reads from globals, which does not ask the builtins.
_READ_BY_PYTHON = ("__name__", "__package__", "__spec__", "__path__", "__file__", "__loader__", "__doc__")


class Space:
    """The globals of one module: the user's own, and the copy that rewritten functions have.

    The copy is filled by need. A name that is not there yet is looked for among the builtins, as Python does, and they
    look it up in the module. So what a call does not use costs nothing, be the module ever so large.
    """

    def __init__(self, original: dict[str, Any], see: See, arrays: Arrays) -> None:
        self.original = original
        self._see = see
        self.copy = {name: original[name] for name in _READ_BY_PYTHON if name in original}
        self.copy.update({MARK: arrays, "__builtins__": _Builtins(self, see)})
        self._before = dict(self.copy)

    def has(self, name: str) -> bool:
        """Is this a name of the module that was not looked up before, and so was not deleted since?"""
        return name in self.original and name not in self._before

    def look_up(self, name: str) -> Any:
        """What adapted code sees under a name of the module, for the first time."""
        self._before[name] = self.copy[name] = value = self._see(self.original[name])
        return value

    def store_assigned(self, back: See) -> None:
        """Give the user's module what `global` statements assigned in the copy."""
        for name in self._before.keys() - self.copy.keys():
            self.original.pop(name, None)
        for name, value in self.copy.items():
            if value is not self._before.get(name, MISSING):
                self.original[name] = back(value)


class _Builtins(dict[str, Any]):
    """The built-in names for adapted code, and behind them the names of its module, which come first."""

    def __init__(self, space: Space, see: See) -> None:
        given = space.original.get("__builtins__", builtins)
        self._names = vars(given) if isinstance(given, ModuleType) else given
        self._space = space
        load = self._names["__import__"]
        self["__import__"] = lambda *args, **kwargs: see(load(*args, **kwargs))

    def __missing__(self, name: str) -> Any:
        if self._space.has(name):
            return self._space.look_up(name)
        self[name] = value = BUILTINS[name] if name in BUILTINS else self._names[name]
        return value


class Cell:
    """A variable of a closure: the user's own, and the one that rewritten functions have.

    They are one for numbers and text, which look the same to everybody, so that a counter counts for all.
    """

    def __init__(self, original: CellType, see: See) -> None:
        self.original = original
        self._see = see
        self._before: Any = MISSING
        try:
            self.copy = original if isinstance(original.cell_contents, PLAIN) else CellType()
        except ValueError:
            self.copy = original  # not assigned yet

    def fill(self) -> None:
        """Put what is seen of the variable into the copy: after the function that has it is known, which may be it."""
        if self._before is MISSING and self.copy is not self.original:
            self._before = self.original.cell_contents  # not filled twice on the way through a circle
            self._before = self.copy.cell_contents = self._see(self._before)

    def store_assigned(self, back: See) -> None:
        """Give the user's variable what `nonlocal` statements assigned in the copy."""
        try:
            value = self.copy.cell_contents
        except ValueError:
            return  # never filled, because seeing what it should hold failed
        if value is self._before:
            return
        stored = back(value)
        if self.copy is not self.original or stored is not value:
            self.original.cell_contents = stored


class Container:
    """A list or dict: the user's own, and the one that rewritten functions have because its items look different."""

    def __init__(self, original: Any, see: See) -> None:
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

    def store_assigned(self, back: See) -> None:
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
