"""Captured tensors: those that a function uses and was not given, and where it holds them.

A captured tensor is an input of the graph, bound by identity. Before every call it is asked whether it is still what it
was, and whether the function still holds it: in a cell of its closure, as a default of a parameter, or as a global that
its code names. A tensor that the function finds in another way is not asked for again: an attribute, a container.

    Place("cell", <cell>, "w")     w of the enclosing function
    Place("global", {...}, "w")    w of the module
    Place("default", f, 0)         def f(x, w=...)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from pullback.aot._guards import leaf_difference, leaf_key
from pullback.tensors.tensor import Tensor

_GONE: Any = object()


class Place(NamedTuple):
    """One place where a function holds a tensor."""

    kind: str  # "cell", "global", "default" or "keyword default"
    holder: Any
    name: Any

    def read(self) -> Any:
        """What is there now."""
        try:
            if self.kind == "cell":
                return self.holder.cell_contents
            if self.kind == "global":
                return self.holder.get(self.name, _GONE)
            if self.kind == "default":
                return self.holder.__defaults__[self.name]
            return self.holder.__kwdefaults__[self.name]
        except (ValueError, LookupError, TypeError):
            return _GONE

    def expression(self, holder: str) -> str:
        """Python that reads it, for a holder of this name. It may raise what `read` catches."""
        if self.kind == "cell":
            return f"{holder}.cell_contents"
        if self.kind == "global":
            return f"{holder}[{self.name!r}]"
        attribute = "__defaults__" if self.kind == "default" else "__kwdefaults__"
        return f"{holder}.{attribute}[{self.name!r}]"

    @property
    def text(self) -> str:
        """The place in words."""
        return f"{self.kind} {self.name}" if self.kind != "cell" else f"{self.name} of the closure"


class CapturedTensor:
    """A captured tensor with its guards."""

    def __init__(self, tensor: Tensor, name: str, function: Callable[..., Any] | None) -> None:
        self.tensor = tensor
        self.name = name
        self.key = leaf_key(tensor)
        self.places = list(places_of(function, tensor))

    def misfit(self) -> str | None:
        """What of it is not as it was; None if it is."""
        for place in self.places:
            if place.read() is not self.tensor:
                return f"{self.name}: {place.text} is another object"
        key = leaf_key(self.tensor)
        return None if key == self.key else f"{self.name}: {leaf_difference(key, self.key)}"


def places_of(function: Any, tensor: Tensor) -> Iterator[Place]:
    """Where a function holds a tensor, as far as it is looked for."""
    while isinstance(function, (MethodType, functools.partial)):
        function = function.__func__ if isinstance(function, MethodType) else function.func
    if not isinstance(function, FunctionType):
        return
    code = function.__code__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        place = Place("cell", cell, name)
        if place.read() is tensor:
            yield place
    for index, value in enumerate(function.__defaults__ or ()):
        if value is tensor:
            yield Place("default", function, index)
    for name, value in (function.__kwdefaults__ or {}).items():
        if value is tensor:
            yield Place("keyword default", function, name)
    known = function.__globals__
    for name in dict.fromkeys(_names_in(code)):
        if known.get(name) is tensor:
            yield Place("global", known, name)


def _names_in(code: CodeType) -> Iterator[str]:
    """All names that code reads other than its own variables, with those of the functions inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
