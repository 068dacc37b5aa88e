"""Captured tensors: those that a function uses and was not given, and the way on which it finds them.

A captured tensor is an input of the graph, bound by identity. Before every call it is asked whether it is still what it
was, and whether the function would still find it: every step of the way from the function to the tensor must lead to
the same object as before.

    w                    the cell of the closure that holds w
    model.layers[0].w    the global `model`, its `layers`, the first of them, its `w`
    def f(x, w=...)      the default of the parameter

Ways are looked for through closures, defaults, globals that the code names, the object of a method, attributes, lists,
tuples and dicts, up to a limit. A tensor that a function finds in another way is not asked for again.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from pullback.aot._guards import leaf_difference, leaf_key
from pullback.tensors.tensor import Tensor

_MOST_STEPS = 20_000  # that are looked at for one function
_DEEPEST = 6
_GONE: Any = object()
_NO_HOLDERS = (Tensor, np.ndarray, np.generic, str, bytes, int, float, complex, type, type(None))


class Step(NamedTuple):
    """One step of a way: where it starts, how it is taken, and where it led when the function was captured."""

    kind: str  # "cell", "item", "default" or "keyword default"
    holder: Any
    key: Any
    value: Any
    text: str  # the whole way so far, as one would write it

    def leads_there(self) -> bool:
        """Does the step still lead to the same object?"""
        try:
            return self._taken() is self.value
        except (ValueError, LookupError, TypeError, AttributeError):
            return False

    def _taken(self) -> Any:
        if self.kind == "cell":
            return self.holder.cell_contents
        if self.kind == "item":
            return self.holder[self.key]
        return (self.holder.__defaults__ if self.kind == "default" else self.holder.__kwdefaults__)[self.key]

    def expression(self, holder: str) -> str:
        """Python that takes the step from a holder of this name. It may raise what `leads_there` catches."""
        if self.kind == "cell":
            return f"{holder}.cell_contents"
        if self.kind == "item":
            return f"{holder}[{self.key!r}]"
        return f"{holder}.__{'' if self.kind == 'default' else 'kw'}defaults__[{self.key!r}]"


class CapturedTensor:
    """A captured tensor with its guards."""

    def __init__(self, tensor: Tensor, name: str, way: tuple[Step, ...]) -> None:
        self.tensor = tensor
        self.name = name
        self.key = leaf_key(tensor)
        self.way = way

    def misfit(self) -> str | None:
        """What of it is not as it was; None if it is."""
        for step in self.way:
            if not step.leads_there():
                return f"{self.name}: {step.text} is another object"
        key = leaf_key(self.tensor)
        return None if key == self.key else f"{self.name}: {leaf_difference(key, self.key)}"


def name_of(tensor: Tensor, otherwise: str, way: tuple[Step, ...]) -> str:
    """What the function calls a captured tensor."""
    return tensor.name or (way[-1].text if way else otherwise)


def ways_to(function: Any, tensors: list[Tensor]) -> list[tuple[Step, ...]]:
    """For each tensor the shortest way from the function to it; empty if none is found. Steps that can not change, such
    as that from a tuple to what is in it, are left out."""
    wanted = {id(tensor) for tensor in tensors}
    found: dict[int, tuple[Step, ...]] = {}
    seen = {id(function)}
    waiting: deque[tuple[Any, tuple[Step, ...], str]] = deque([(function, (), "")])
    left = _MOST_STEPS if tensors else 0
    while waiting and left > 0 and len(found) < len(wanted):
        holder, way, text = waiting.popleft()
        for step, is_fixed in _steps_from(holder, text):
            left -= 1
            if id(step.value) in seen or left <= 0:
                continue
            longer = way if is_fixed else (*way, step)
            if id(step.value) in wanted:
                found.setdefault(id(step.value), longer or (step,))
            elif not isinstance(step.value, _NO_HOLDERS) and len(longer) < _DEEPEST:
                seen.add(id(step.value))
                waiting.append((step.value, longer, step.text))
    return [found.get(id(tensor), ()) for tensor in tensors]


def _steps_from(holder: Any, text: str) -> Iterator[tuple[Step, bool]]:
    """The steps that lead on from an object, and for each whether it always leads to the same object."""
    if isinstance(holder, FunctionType):
        yield from _steps_from_function(holder, text)
    elif isinstance(holder, MethodType):
        yield Step("item", (holder.__self__,), 0, holder.__self__, text or "self"), True
        yield Step("item", (holder.__func__,), 0, holder.__func__, text), True
    elif isinstance(holder, functools.partial):
        for part in (holder.func, *holder.args, *holder.keywords.values()):
            yield Step("item", (part,), 0, part, text), True
    elif isinstance(holder, dict):
        for key, value in list(holder.items()):
            if isinstance(key, (str, int)):
                yield Step("item", holder, key, value, f"{text}[{key!r}]"), False
    elif isinstance(holder, (list, tuple)):
        for index, value in enumerate(list(holder)):
            yield Step("item", holder, index, value, f"{text}[{index}]"), isinstance(holder, tuple)
    elif type(holder).__module__.partition(".")[0] == "pullback":
        # What is kept inside of ours is no way of the function's; but a compiled function stands for another one.
        for inner, name in ((getattr(holder, "__wrapped__", None), text), (getattr(holder, "__self__", None), "self")):
            if inner is not None:
                yield Step("item", (inner,), 0, inner, name), True
    elif not isinstance(holder, ModuleType) and hasattr(holder, "__dict__"):
        for name, value in list(vars(holder).items()):
            yield Step("item", vars(holder), name, value, f"{text}.{name}".lstrip(".")), False


def _steps_from_function(function: FunctionType, text: str) -> Iterator[tuple[Step, bool]]:
    code, known = function.__code__, function.__globals__
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield Step("cell", cell, name, cell.cell_contents, name), False
        except ValueError:
            continue  # empty
    for index, value in enumerate(function.__defaults__ or ()):
        parameter = code.co_varnames[code.co_argcount - len(function.__defaults__ or ()) + index]
        yield Step("default", function, index, value, parameter), False
    for name, value in (function.__kwdefaults__ or {}).items():
        yield Step("keyword default", function, name, value, name), False
    names = list(dict.fromkeys(_names_in(code)))
    for name in names:
        value = known.get(name, _GONE)
        if isinstance(value, ModuleType):  # of a module that is named, what else is named
            inside = vars(value)
            yield from (
                (Step("item", inside, other, inside[other], f"{name}.{other}"), False) for other in names
                if other in inside
            )  # fmt: skip
        elif value is not _GONE:
            yield Step("item", known, name, value, name), False


def _names_in(code: CodeType) -> Iterator[str]:
    """All names that code reads other than its own variables, with those of the functions inside of it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def captured_tensors(
    function: Callable[..., Any] | None, tensors: list[tuple[Tensor, str]]
) -> list[CapturedTensor]:
    """Captured tensors, given with the names that the graph has for them."""
    ways = ways_to(function, [tensor for tensor, _ in tensors])
    return [CapturedTensor(tensor, name, way) for (tensor, name), way in zip(tensors, ways, strict=True)]
