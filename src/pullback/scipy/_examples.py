"""One example of `vmap` after the other, for what looks at numbers: SciPy's own text, pivots, knots, trees.

A function is called with batched tensors first, since most only compute. If it wants numbers, it is called for every
example, and its results are put together: tensors are stacked, and an object becomes an `Each`, which stands for the
objects of all examples.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from pullback.core.mirrors import with_items
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import VmapLevel
from pullback.errors import AutogradError
from pullback.payloads.batched import levels_of
from pullback.tape.function.batching import looped
from pullback.tensors.tensor import Tensor, made_here

_CODES = ("VMAP_DATA", "VMAP_DYNAMIC_SHAPE", "VMAP_ESCAPED")


def by_example(name: str, function: Callable[..., Any], args: Any, kwargs: dict[str, Any], known: Any = None) -> Any:
    """`function(*args, **kwargs)`; of one example after the other, if it wants the numbers of batched tensors.

    `known` is what else `function` gets, in front, if anything: an object whose attributes may be batched.
    """
    try:
        return function(*args, **kwargs) if known is None else function(known, *args, **kwargs)
    except AutogradError as error:
        inside = {} if known is None else vars(known)
        level = _innermost((args, kwargs, inside)) if error.code in _CODES else None
        if level is None:
            raise

    def called(args: Any, kwargs: Any, inside: Any) -> Any:
        own = None
        if known is not None:
            own = object.__new__(type(known))
            own.__dict__.update({**vars(known), **inside})
        return by_example(name, function, args, kwargs, own)  # of a map further out, perhaps

    return _for_all(name, [called] * level.size, (args, kwargs, inside), level)


def _innermost(tree: Any) -> VmapLevel | None:
    levels = {level for leaf in flatten(tree)[0] if isinstance(leaf, Tensor) for level in levels_of(leaf._data)}
    return max(levels, key=lambda level: level.stamp) if levels else None


def _for_all(name: str, functions: list[Callable[..., Any]], given: Any, level: VmapLevel) -> Any:
    """What one function for each example gives for that example, put together."""
    leaves, structure = flatten(given)
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    found: list[Any] = []

    def one(*own: Tensor) -> tuple[Tensor, ...]:
        for k, leaf in zip(places, own, strict=True):
            leaves[k] = leaf
        found.append(functions[len(found)](*unflatten(structure, leaves)))
        return tuple(_tensors_in(found[-1]))

    stacked = looped(SimpleNamespace(apply=one, __name__=name), tuple(leaves[k] for k in places), level)
    return _together(name, found, iter(stacked), level)


def _tensors_in(out: Any) -> Iterator[Tensor]:
    if isinstance(out, Tensor):
        yield out
    elif isinstance(out, np.ndarray | np.inexact | float) and np.asarray(out).dtype.kind in "biufc":
        yield made_here(np.asarray(out))
    elif isinstance(out, tuple | list | dict):
        for part in out.values() if isinstance(out, dict) else out:
            yield from _tensors_in(part)


def _together(name: str, outs: list[Any], stacked: Iterator[Tensor], level: VmapLevel) -> Any:
    first = outs[0]
    if next(_tensors_in(first), None) is not None and not isinstance(first, tuple | list | dict):
        return next(stacked)
    if isinstance(first, tuple | list):
        parts = [_together(name, list(each), stacked, level) for each in zip(*outs, strict=True)]
        return with_items(first, parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, dict):
        for key in first:
            first[key] = _together(name, [out[key] for out in outs], stacked, level)
        return first
    if first is None or isinstance(first, str | int | np.generic):
        return first if all(out == first for out in outs) else outs
    return Each(name, outs, level)


class Each:
    """The objects of all examples, as one: what it is asked for, and called with, is that of every example."""

    def __init__(self, name: str, objects: list[Any], level: VmapLevel) -> None:
        self._name = name
        self._objects = objects
        self._level = level

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        values = [getattr(each, attribute) for each in self._objects]
        if callable(values[0]) and not isinstance(values[0], Tensor):
            return lambda *args, **kwargs: self._called(values, args, kwargs)
        return self._called([lambda value=value: value for value in values], (), {})

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._called(self._objects, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return self._called([lambda i, each=each: each[i] for each in self._objects], (index,), {})

    def _called(self, functions: list[Callable[..., Any]], args: Any, kwargs: Any) -> Any:
        each = [lambda args, kwargs, own=own: own(*args, **kwargs) for own in functions]
        return _for_all(self._name, each, (args, kwargs), self._level)


def per_example(function: FunctionType) -> Callable[..., Any]:
    """A function that looks at numbers, for one example after the other where it has to."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return by_example(function.__name__, function, args, kwargs)

    return called


class PerExample(type):
    """The type of classes whose objects look at numbers: made, called and asked for one example after the other."""

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> PerExample:
        for own, value in members.items():
            if isinstance(value, FunctionType) and (own == "__call__" or not own.startswith("_")):
                members[own] = _method(value)
        return super().__new__(cls, name, bases, members)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return by_example(cls.__name__, super().__call__, args, kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        _, *rest = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
        return inspect.Signature(rest)


def _method(function: FunctionType) -> Callable[..., Any]:
    @functools.wraps(function)
    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        return by_example(function.__name__, function, args, kwargs, self)

    return called
