"""How code of the user's runs with other things in the place of what it finds: what `aot`, which traces it, and
`func.adapt`, which replaces NumPy for it, have in common.

A *twin* of a function is a new function of the same code. Its globals are the copy of a `Space`, which is filled by
need: what a run does not use costs nothing, be the module ever so large, and the user's own module is only read. A
*mirror* of a class is a subclass of it with other members, and takes objects of the class for its own.
"""

from __future__ import annotations

import builtins
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import CellType, FunctionType, ModuleType
from typing import Any

# What is looked into.

# Packages that are no programs of users': what they hold is constant, and what they compute with is their own affair.
_LIBRARIES = frozenset((
    *sys.stdlib_module_names, "pullback", "optree", "llvmlite", "numpy", "scipy", "array_api_compat",
    "array_api_strict", "autograd", "awkward", "cupy", "dask", "distributed", "hypothesis", "IPython", "ipykernel",
    "jax", "jaxlib", "joblib", "matplotlib", "mpi4py", "numba", "pandas", "pluggy", "pytest", "_pytest", "sklearn",
    "sparse", "sympy", "tensorflow", "torch", "tqdm", "xarray",
)) - {"__main__"}  # fmt: skip


def is_library(home: str | type | None) -> bool:
    """Is the module of this name, or the one that a class is of, one of those that are not looked into? Classes of a
    text that runs without a module of its own have Python's."""
    if isinstance(home, type):
        home = None if home.__module__ == "builtins" and home.__flags__ & HEAP_TYPE else home.__module__
    return (home or "").partition(".")[0] in _LIBRARIES


# Functions and their globals.


def twin_of(function: FunctionType, names: dict[str, Any], cells: Iterable[CellType]) -> FunctionType:
    """A function of the same code with these globals and this closure, and without defaults and attributes."""
    twin = FunctionType(function.__code__, names, function.__name__, None, tuple(cells))
    twin.__qualname__, twin.__module__, twin.__doc__ = function.__qualname__, function.__module__, function.__doc__
    return twin


MISSING: Any = object()
# What Python's own machinery reads from globals, which does not ask the builtins.
_READ_BY_PYTHON = ("__name__", "__package__", "__spec__", "__path__", "__file__", "__loader__", "__doc__")


class Space:
    """The globals of one module: the user's own, and the copy that twins have.

    A name that is not in the copy yet is looked for among the builtins, as Python does, and they look it up in the
    module: `see(name, value)` is what twins see. `before` has what the copy was given, without what was assigned since.
    """

    def __init__(
        self, original: dict[str, Any], see: Callable[..., Any], see_import: Callable[[Any], Any],
        built_ins: Mapping[str, Any], own: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.original = original
        self._see = see
        self.copy = {name: original[name] for name in _READ_BY_PYTHON if name in original}
        self.copy.update(own, __builtins__=_Builtins(self, see_import, built_ins))
        self.before = dict(self.copy)

    def has(self, name: str) -> bool:
        """Is this a name of the module that was not looked up before, and so was not deleted since?"""
        return name in self.original and name not in self.before

    def look_up(self, name: str, *text: str) -> Any:
        """What twins see under a name of the module; for the first time, with what it is called where it is asked."""
        if name not in self.before:
            self.before[name] = self.copy[name] = self._see(name, self.original[name], *text)
        return self.copy[name]

    def store_assigned(self, back: Callable[[Any], Any]) -> None:
        """Give the user's module what `global` statements have assigned in the copy, and delete what they have."""
        store_names(self.original, self.copy, self.before, back)


def store_names(
    target: dict[str, Any], now: dict[str, Any], before: dict[str, Any], back: Callable[[Any], Any]
) -> None:
    """Do to the user's own names what was done to a copy of them since it was as `before`."""
    for name, value in changed_names(now, before).items():
        if value is MISSING:
            target.pop(name, None)
        else:
            target[name] = back(value)


def changed_names(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What was assigned to a copy since it was as `before`; MISSING for what was deleted."""
    changed = {name: value for name, value in now.items() if value is not before.get(name, MISSING)}
    return {**dict.fromkeys(before.keys() - now.keys(), MISSING), **changed}


class _Builtins(dict[str, Any]):
    """The built-in names for twins, and behind them the names of their module, which come first."""

    def __init__(self, space: Space, see_import: Callable[[Any], Any], others: Mapping[str, Any]) -> None:
        given = space.original.get("__builtins__", builtins)
        self._names = vars(given) if isinstance(given, ModuleType) else given
        self._space, self._others = space, others
        self["__import__"] = lambda *args, **kwargs: see_import(self._names["__import__"](*args, **kwargs))

    def __missing__(self, name: str) -> Any:
        if not self._space.has(name):
            value = self._names[name]  # which may be such a dict itself, of a trace around: then the space has it now
            if not self._space.has(name):
                self[name] = value = self._others.get(name, value)
                return value
        return self._space.look_up(name)


def rebuilt(value: Any, items: list[Any]) -> Any:
    """A tuple or list with other items; `value` itself if they are the same ones, or its class is an unknown one."""
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    if hasattr(value, "_fields"):
        return with_items(value, items)
    return type(value)(items) if type(value) in (tuple, list) else value


def with_items(value: Any, items: list[Any]) -> Any:
    """A tuple with names, of any class, with other items: what else its class keeps stays with it."""
    made = tuple.__new__(type(value), items)
    if hasattr(value, "__dict__"):
        made.__dict__.update(value.__dict__)
    return made


# Classes.

HEAP_TYPE = 1 << 9


class _Asked(threading.local):
    """The classes whose mirrors this thread is asking about subclasses."""

    def __init__(self) -> None:
        self.originals: set[type] = set()


_asked = _Asked()


class MirrorType(type):
    """The type of mirrors. Everybody who makes mirrors has a subclass of it, which is the `kind` of theirs."""

    kind: type
    _pullback_original: type
    _pullback_made: list[Any]

    def mro(cls) -> list[type]:
        """The order of the original with mirrors in the places of classes that have one.

        The classes themselves come last. Between the mirrors `super().__init__()` in a base class would find the
        `__init__` of the derived class once more.
        """
        kind, original = type(cls).kind, vars(cls)["_pullback_original"]
        mirrors = {
            each._pullback_original: each  # type: ignore[attr-defined]
            for base in cls.__bases__ if isinstance(base, kind)
            for each in base.__mro__ if isinstance(each, kind)
        }  # fmt: skip
        mirrors[original] = cls
        own = original.__mro__
        return [*(mirrors.get(each, each) for each in own), *(each for each in own if each in mirrors)]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:  # noqa: D102 (makes an object)
        value = super().__call__(*args, **kwargs)
        try:
            cls._pullback_made.append(weakref.ref(value))
        except TypeError:
            cls._pullback_made.append(lambda: value)
        return value

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls._pullback_original)

    def __subclasscheck__(cls, other: type) -> bool:
        original, asked = cls._pullback_original, _asked.originals
        if original in asked:
            return False  # an abstract class asks its subclasses, of which its mirrors are some
        asked.add(original)
        try:
            return issubclass(other, original)
        finally:
            asked.discard(original)


def give_back_classes(made: Iterable[Any], kind: type) -> None:
    """Give all objects that were made of mirrors their own class."""
    for reference in made:
        value = reference()
        if value is not None and isinstance(type(value), kind):
            object.__setattr__(value, "__class__", type(value)._pullback_original)
