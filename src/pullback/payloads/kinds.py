"""The kind of a payload: what upstairs knows of it beyond shape and dtype, and how it makes gradients of its own kind.

ndarrays, batches, traced and lifted arrays have no kind: their gradients begin as ndarrays. Every other payload has one
if its class has `zeros`, or if it is made of parts (`payloads/wrappers.py`). All that its class may say:

| member                                  | what                                          | otherwise            |
|-----------------------------------------|-----------------------------------------------|----------------------|
| `zeros(shape, dtype)`, `ones(...)`      | such a payload of another shape               | by parts             |
| `of_array(array)`                       | such a payload with the numbers of an ndarray | by parts             |
| `constant(array)`                       | what a function makes, beside such an operand | the ndarray itself   |
| `hollow()`                              | the same without memory, which nodes keep     | by parts             |
| `as_gradient(root)`                     | what gradients of a value on it look like     | itself               |
| `take_gradient(gradient, root)`         | a gradient of it, converted, or an error      | devices are compared |
| `takes_from`                            | a device: gradients there need no conversion  | none                 |
| `device`, `stream`, `layout`            | what `InputMetadata` shows                    | "cpu", None, "dense" |
| `is_nested`, `kind`                     |                                               | False, the class     |
| `is_tensor_subclass`                    |                                               | is it made of parts? |

`root` is a payload like the value that a pass began with, None if there are several of different kinds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.state import current
from pullback.payloads.evaluate import is_traced
from pullback.payloads.wrappers import is_array, is_wrapper, parts_of, stride_of

PLAIN_DEVICE = "cpu"


def has_kind(payload: Any) -> bool:
    """Are gradients of a value on this payload made by it?"""
    kind = type(payload)
    return kind is not np.ndarray and (getattr(kind, "zeros", None) is not None or is_wrapper(payload))


def filled(payload: Any, number: int, root: Any = None, is_gradient: bool = True) -> Any:
    """A gradient of a value with this payload, or a tangent, all numbers of which are 0 or 1."""
    like = as_gradient(payload, root) if is_gradient else payload
    make = getattr(like, "ones" if number else "zeros", None)
    if callable(make):
        return make(tuple(like.shape), like.dtype)
    return _with_numbers(like, lambda part: _made_here(np.full(part.shape, number, part.dtype)))


def of_array(payload: Any, array: np.ndarray[Any, Any], root: Any) -> Any:
    """A derivative by a value with this payload that has these numbers. It may have more axes in front."""
    like = as_gradient(payload, root)
    make = getattr(like, "of_array", None)
    if callable(make):
        return make(array)

    def part(of: Any) -> Any:
        if tuple(of.shape) != tuple(payload.shape):
            raise TypeError(
                f"an array of shape {list(array.shape)} cannot be made a {type(payload).__name__}, whose parts have "
                "other shapes; give the class a method of_array(array)"
            )
        return _made_here(array.copy())

    return _with_numbers(like, part, tuple(array.shape))


def as_gradient(payload: Any, root: Any) -> Any:
    """What gradients of a value on this payload look like, in a pass from a value like `root`."""
    make = getattr(payload, "as_gradient", None)
    if make is not None:
        return make(root)
    coerce = getattr(type(payload), "__coerce_tangent_metadata__", None)
    return payload if coerce is None else coerce(payload)


def _made_here(array: Any) -> Any:
    trace = current().trace
    return array if trace is None else trace.home(array)


def root_among(likes: list[Any]) -> Any:
    """A payload like the values that a pass begins with, if they are all alike."""
    first = likes[0] if likes else None
    return first if all(type(like) is type(first) and _meta(like) == _meta(first) for like in likes) else None


def _meta(payload: Any) -> Any:
    return parts_of(payload)[1] if is_wrapper(payload) else None


def hollow(payload: Any) -> Any:
    """A payload of the same kind whose numbers are zeros without memory."""
    make = getattr(payload, "hollow", None)
    if make is not None:
        return make()
    return _with_numbers(payload, lambda like: no_memory(like.shape, like.dtype))


@functools.lru_cache(1024)
def no_memory(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Zeros without memory, read-only: nodes keep one for each payload that they know of."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def _with_numbers(payload: Any, make: Callable[[Any], Any], size: tuple[int, ...] | None = None) -> Any:
    """The same payload on other numbers; NumPy's scalars, which it makes of arrays without axes, are numbers, too."""
    parts, meta = parts_of(payload)
    inner = {}
    for name, part in parts:
        if is_wrapper(part):
            inner[name] = _with_numbers(part, make, size)
        else:
            is_number = (is_array(part) or isinstance(part, np.generic)) and part.dtype == payload.dtype
            inner[name] = make(part) if is_number else part
    return type(payload).__tensor_unflatten__(
        inner, meta, tuple(payload.shape) if size is None else size, stride_of(payload)
    )


# What a gradient must be for a value of a kind.


def device_of(payload: Any) -> Any:
    """Where a payload is."""
    return getattr(payload, "device", PLAIN_DEVICE)


def is_users_own(payload: Any) -> bool:
    """Is this a payload of a user's class, whose devices are its own business?"""
    stated = getattr(type(payload), "is_tensor_subclass", None)
    return is_wrapper(payload) if stated is None else stated


def is_elsewhere(gradient: Any, like: Any) -> bool:
    """Is a gradient on another device than the value that it is for? Numbers without axes are at home everywhere."""
    if is_traced(gradient) or not gradient.shape or is_users_own(gradient) or is_users_own(like):
        return False
    return bool(device_of(gradient) != device_of(like))
