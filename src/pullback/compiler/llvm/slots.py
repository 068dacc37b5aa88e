"""Where the slots of a class are in its instances, for native code that reads and fills them.

Nothing is assumed but that a slot holds the address of its object: an instance tells by where an object turns up in it.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from pullback.errors import InternalError

_HEAD = 16  # bytes of every object: its reference count and its type


@functools.cache
def offset_of(kind: type, name: str) -> int:
    """The place of a slot in instances of a class, in bytes."""
    probe: Any = object.__new__(kind)
    places: set[int] = set()
    for attempt in range(2):
        value = object()
        try:
            setattr(probe, name, value)
        except AttributeError:
            break
        found = _places_of(id(value), probe, kind.__basicsize__)
        places = found if attempt == 0 else places & found
    if len(places) != 1:
        raise InternalError(f"native code can not tell where the slot {kind.__name__}.{name} is")
    return places.pop()


def _places_of(number: int, instance: Any, size: int) -> set[int]:
    words = (ctypes.c_int64 * ((size - _HEAD) // 8)).from_address(id(instance) + _HEAD)
    return {_HEAD + 8 * place for place, word in enumerate(words) if word == number}
