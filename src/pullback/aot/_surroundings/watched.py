"""Objects that are seen as they are: all places in them, for objects whose class has no mirror."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.aot._surroundings.places import PLAIN, Place, contents_of, items_of
from pullback.errors import TraceError
from pullback.tensors.tensor import Tensor

_MOST = 1000
_Step = tuple[str, Any, Any, Any, str]


def watched(value: Any, text: str, is_constant: Callable[[Any], bool]) -> list[_Step]:
    """The places in an object, in what it leads to, and in what its methods name."""
    found: list[_Step] = []
    known = {id(value), id(type(value))}
    waiting: deque[tuple[Any, str]] = deque([(value, text), (type(value), type(value).__name__)])
    while waiting:
        holder, name = waiting.popleft()
        for step in _steps(holder, name, is_constant):
            found.append(step)
            inside = step[1] if step[0] in ("items", "contents") else step[3]
            parts = step[3].values if step[0] == "items" else (inside,)
            for part in parts:
                if id(part) not in known and not isinstance(part, (*PLAIN, Tensor, ModuleType)):
                    known.add(id(part))
                    waiting.append((part, step[4]))
        if len(found) > _MOST:
            raise TraceError(
                f"the function uses {text}, of type {type(value).__name__}, in which there is too much to be looked at",
                why="its class has a metaclass, or does something when it is subclassed, so reads are not seen",
                fix="pass what the function needs of it as arguments",
            )
    return found


def _steps(holder: Any, text: str, is_constant: Callable[[Any], bool]) -> Iterator[_Step]:
    if isinstance(holder, np.ndarray):
        yield "contents", holder, None, contents_of(holder), text
    elif isinstance(holder, (list, dict, set, frozenset, tuple, deque)):
        yield "items", holder, None, items_of(holder), text
    elif isinstance(holder, (staticmethod, classmethod, MethodType)):
        yield from _steps(holder.__func__, text, is_constant)
    elif isinstance(holder, property):
        for part in (holder.fget, holder.fset):
            yield from _steps(part, text, is_constant)
    elif isinstance(holder, FunctionType):
        if not is_constant(holder.__globals__.get("__name__")):
            yield from _steps_of_function(holder)
    elif isinstance(holder, type):
        for base in holder.__mro__:
            if not is_constant(base):
                for name, value in list(vars(base).items()):
                    if not name.startswith("__") or isinstance(value, FunctionType):
                        kind = "item" if hasattr(type(value), "__get__") else "attribute"
                        yield kind, vars(base) if kind == "item" else base, name, value, f"{base.__name__}.{name}"
        return
    if hasattr(holder, "__dict__") and not isinstance(holder, type) and not is_constant(type(holder)):
        yield "items", vars(holder), None, items_of(vars(holder)), text


def restored(place: Place) -> None:
    """Put back what was in a place."""
    kind, holder, key, value, _ = place
    if kind == "items" and isinstance(holder, dict):
        holder.clear()
        holder.update(zip(value.keys, value.values, strict=True))
    elif kind == "items" and hasattr(holder, "clear"):
        holder.clear()
        holder.update(value.values) if isinstance(holder, set) else holder.extend(value.values)
    elif kind == "contents":
        holder[...] = np.frombuffer(value, holder.dtype).reshape(holder.shape) if type(value) is bytes else value
    elif kind == "cell":
        holder.cell_contents = value
    elif kind == "item" and isinstance(holder, dict):
        holder[key] = value
    elif kind == "attribute":
        setattr(holder, key, value)


def _steps_of_function(function: FunctionType) -> Iterator[_Step]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield "cell", cell, None, cell.cell_contents, name
        except ValueError:
            continue  # empty
    for index, value in enumerate(function.__defaults__ or ()):
        yield "default", function, index, value, f"a default of {function.__name__}"
    for name, value in (function.__kwdefaults__ or {}).items():
        yield "keyword default", function, name, value, name
    for name in dict.fromkeys(_names_in(function.__code__)):
        if name in function.__globals__:
            yield "item", function.__globals__, name, function.__globals__[name], name


def _names_in(code: CodeType) -> Iterator[str]:
    """All names that code reads other than its own variables, with those of the functions inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)
