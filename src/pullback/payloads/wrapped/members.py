"""What upstairs expects of every payload made of parts: writes, aliases, and how it lies in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.payloads.batched.indexing import assign, read, store
from pullback.payloads.evaluate import is_traced
from pullback.payloads.operators import bind_operators
from pullback.payloads.wrappers import arrays_of, is_array, is_wrapper, leaves_of


def complete(kind: Any) -> None:
    """Give a class that is not derived from `Payload` what it lacks of an array."""
    if kind.__dict__.get("_is_completed_payload"):
        return
    defaults: Any = type("Defaults", (), {**MEMBERS, "assign_payload": _assign_parts})
    bind_operators(defaults, read, store)
    for name, value in vars(defaults).items():
        own = getattr(kind, name, None)
        if name not in _OF_EVERY_CLASS and (own is None or own is getattr(object, name, None)):
            setattr(kind, name, value)
    kind._is_completed_payload = True


_OF_EVERY_CLASS = frozenset({"__dict__", "__doc__", "__module__", "__weakref__", "__qualname__", "__firstlineno__"})


def _assign_parts(self: Any, value: Any) -> None:
    """Write a value: to the parts of this dtype, since the others say how the values are arranged."""
    if not is_wrapper(self):
        raise TypeError(f"a {type(value).__name__} cannot be written into a plain array")
    parts = dict(leaves_of(self))
    given = dict(leaves_of(value)) if type(value) is type(self) else {}
    for path, part in parts.items():
        if is_array(part) and part.dtype == self.dtype:
            assign(part, given.get(path, value))


def aliases_payload(self: Any, source: Any) -> bool:
    """Does it share a part with what an operator made it of?"""
    if type(source) is not type(self):
        return False
    theirs = arrays_of(source)
    return any(_share(mine, other) for mine in arrays_of(self) if mine.dtype == self.dtype for other in theirs)


def _share(first: Any, second: Any) -> bool:
    if is_traced(first) or is_traced(second):
        return type(first) is type(second) and first.storage is second.storage
    test = getattr(type(first), "aliases_payload", None)
    return bool(np.may_share_memory(first, second) if test is None else test(first, second))


def _size(self: Any) -> int:
    count = 1
    for length in self.shape:
        count *= length
    return count


def _first(payload: Any) -> Any:
    if not is_wrapper(payload):
        raise AttributeError(f"a {type(payload).__name__} does not say how it lies in memory")
    # NumPy makes scalars of arrays without axes.
    return next(part for _, part in leaves_of(payload) if is_array(part) or isinstance(part, np.generic))


MEMBERS = {
    "aliases_payload": aliases_payload,
    "ndim": property(lambda self: len(self.shape)),
    "size": property(_size),
    "itemsize": property(lambda self: self.dtype.itemsize),
    "nbytes": property(lambda self: self.size * self.dtype.itemsize),
    "strides": property(lambda self: _first(self).strides),
    "flags": property(lambda self: _first(self).flags),
    "is_contiguous": lambda self, order="C": _is_contiguous(_first(self), order),
    "__repr__": lambda self: f"{type(self).__name__}({self.dtype}{list(self.shape)})",
}


def _is_contiguous(array: Any, order: str) -> bool:
    flags = array.flags
    return bool(flags.c_contiguous if order == "C" else flags.f_contiguous)
