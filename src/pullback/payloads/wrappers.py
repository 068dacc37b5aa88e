"""Wrappers: payloads that are made of arrays, and can be taken apart and put together (`pb.aot.wrap_payload`).

A class of wrappers says how: `__tensor_flatten__` names the parts and says what else it is, `__tensor_unflatten__`
makes the same on other parts. Parts of the payload's own dtype are its numbers; others, such as offsets, say how these
are arranged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def is_wrapper(payload: Any) -> bool:
    """Is this a payload that can be taken apart?"""
    return getattr(type(payload), "__tensor_flatten__", None) is not None


def is_array(part: Any) -> bool:
    """Is this part an array of any kind, and not a wrapper or something else?"""
    return isinstance(part, np.ndarray) or (hasattr(type(part), "evaluate_op") and not is_wrapper(part))


def parts_of(payload: Any) -> tuple[list[tuple[str, Any]], Any]:
    """The parts with their names, and the meta."""
    names, meta = payload.__tensor_flatten__()
    return [(name, getattr(payload, name)) for name in names], meta


def leaves_of(payload: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The parts that are no wrappers themselves, with the names that lead to them."""
    for name, part in parts_of(payload)[0]:
        if is_wrapper(part):
            yield from leaves_of(part, (*path, name))
        else:
            yield (*path, name), part


def arrays_of(payload: Any) -> list[Any]:
    """The arrays that a payload is made of, in order; the payload itself if it is an array."""
    if not is_wrapper(payload):
        return [payload]
    return [part for _, part in leaves_of(payload) if is_array(part)]


def rebuilt(payload: Any, make: Callable[[tuple[str, ...], Any], Any], path: tuple[str, ...] = ()) -> Any:
    """A payload of the same kind on other arrays: `make` is given the names that lead to an array, and the array."""
    parts, meta = parts_of(payload)
    inner = {}
    for name, part in parts:
        if is_wrapper(part):
            inner[name] = rebuilt(part, make, (*path, name))
        else:
            inner[name] = make((*path, name), part) if is_array(part) else part
    size = tuple(payload.shape)
    return type(payload).__tensor_unflatten__(inner, meta, size, stride_of(payload))


def stride_of(payload: Any) -> tuple[int, ...] | None:
    """The strides of a payload in bytes, None if it does not say."""
    found = getattr(payload, "strides", None)
    return None if found is None else tuple(found)
