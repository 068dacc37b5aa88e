"""Compiled methods: one compiled function for every object that a compiled method was called on.

An object that is no container of arrays cannot be an argument of a graph. Its tensors are captured instead, by a
function that is bound to it, weakly: the compiled function belongs to the object, and goes when it goes.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from contextlib import suppress
from types import MethodType
from typing import Any

from pullback.aot._trace.leaves import is_leaf_type
from pullback.core.pytree import flatten


class Method:
    """A function with its first argument given, which is not kept alive by it."""

    def __init__(self, function: Callable[..., Any], instance: Any) -> None:
        functools.update_wrapper(self, function, updated=())
        self.function = function
        self._instance = weakref.ref(instance)
        with suppress(TypeError, ValueError):  # written in C, and nobody knows
            _, *parameters = inspect.signature(function).parameters.values()
            self.__signature__ = inspect.Signature(parameters)

    @property
    def __self__(self) -> Any:
        return self._instance()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function for this object."""
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"the object of {self.__name__} is gone")  # type: ignore[attr-defined]
        return self.function(instance, *args, **kwargs)

    def seen_by(self, see: Callable[..., Any]) -> Any:
        """The same with the function and the object as a trace sees them."""
        return MethodType(see(self.function), see(self.__self__, text="self"))


class BoundMethods:
    """The compiled functions of one compiled method, by object."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], Any]] = {}

    def of(self, function: Callable[..., Any], instance: Any, compiled: Callable[[Method], Any]) -> Any:
        """The compiled function of an object; None if the object is better given as an argument."""
        known = self._known.get(id(instance))
        if known is not None and known[0]() is instance:
            return known[1]
        if is_leaf_type(instance) or not flatten(instance)[1].is_leaf():
            return None
        key = id(instance)
        try:
            reference = weakref.ref(instance, lambda _: self._known.pop(key, None))
        except TypeError:
            return None
        found = compiled(Method(function, instance))
        with suppress(TypeError, ValueError):
            found.__signature__ = inspect.signature(function)  # of which a bound method leaves out the first
        self._known[key] = (reference, found)
        return found
