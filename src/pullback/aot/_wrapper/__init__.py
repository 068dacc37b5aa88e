"""Wrapper payloads: tensors whose payload is made of arrays, and how such a payload is taken apart and put together.

A payload is what a tensor computes with. A class of payloads has `shape`, `dtype` and `evaluate_op(op, operands,
params)`, which says what an operator does to it. A *wrapper* can also be taken apart, so that graphs have plain arrays
only:

    __tensor_flatten__(self) -> (names, meta)                the attributes that hold its parts, and what else it is
    __tensor_unflatten__(inner, meta, outer_size, outer_stride)      the same payload on other parts; static

A part is an array, another wrapper, or anything else with a hash and equality, which is passed on as it is. `meta` has
a hash and equality too: together with the types and parts it decides whether a capture fits a call.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.core.spec import spec_of
from pullback.errors import TraceError
from pullback.payloads.traced import TracedArray
from pullback.payloads.wrapped.members import complete
from pullback.payloads.wrappers import arrays_of, is_wrapper, leaves_of, parts_of
from pullback.tensors.tensor import Tensor, wrap

ARRAYS = (np.ndarray, TracedArray)
_PROTOCOL = ("evaluate_op", "__tensor_flatten__", "__tensor_unflatten__")
_DESCRIPTION = ("shape", "dtype")


def wrap_payload(payload: Any) -> Tensor:
    """A tensor on a payload of your own, made of arrays. Captured functions take it apart, so that graphs have arrays.

    `op.call` is the operator, for arrays and payloads. The class is completed at its first use: operators, subscripts
    and methods that it does not have are those of an array, by way of its `evaluate_op`. Without an `assign_payload` of
    its own, writes go to its parts. Gradients that nobody gives, such as the 1 that `backward()` begins with, are
    payloads of the same class with 1 or 0 in all parts of its dtype, unless it has methods `ones(shape, dtype)` and
    `zeros`.

    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b, self.shape, self.dtype = a, b, a.shape, a.dtype
    ...     @staticmethod
    ...     def evaluate_op(op, operands, params):
    ...         firsts = [x.a if isinstance(x, Pair) else x for x in operands]
    ...         seconds = [x.b if isinstance(x, Pair) else x for x in operands]
    ...         return Pair(op.call(*firsts, **params), op.call(*seconds, **params))
    ...     def __tensor_flatten__(self):
    ...         return ("a", "b"), None
    ...     @staticmethod
    ...     def __tensor_unflatten__(inner, meta, outer_size, outer_stride):
    ...         return Pair(inner["a"], inner["b"])
    >>> x = pb.aot.wrap_payload(Pair(np.ones(2), np.zeros(2)))
    >>> print(pb.aot.trace(lambda x: pb.sin(x) + 1, x).graph)
    graph forward(%0: f64[2] = args[0].a, %1: f64[2] = args[0].b) {
      %2: f64[2] = sin(%0)    # fw
      %3: f64[2] = sin(%1)    # fw
      %4: f64[2] = add(%2, 1) # fw
      %5: f64[2] = add(%3, 1) # fw
      return (output[0].a=%4, output[0].b=%5)
    }
    """
    kind = type(payload)
    missing = [name for name in _PROTOCOL if not callable(getattr(kind, name, None))]
    missing += [name for name in _DESCRIPTION if not hasattr(payload, name)]
    if missing:
        raise TypeError(
            f"wrap_payload: {kind.__name__} has no {', '.join(missing)}; a payload has evaluate_op(op, operands, "
            "params), __tensor_flatten__(), a static __tensor_unflatten__(inner, meta, outer_size, outer_stride), "
            "shape and dtype"
        )
    spec_of(payload)  # a shape that is no tuple, or a dtype that is none, is found here
    if not any(isinstance(part, ARRAYS) for _, part in leaves_of(payload)):
        raise TypeError(f"wrap_payload: none of the parts of {kind.__name__} is an array")
    complete(kind)
    return wrap(payload)


def is_outside(payload: Any) -> bool:
    """Does a payload hold the caller's data, and not values of a trace?"""
    if type(payload) in ARRAYS:
        return type(payload) is np.ndarray
    return is_wrapper(payload) and all(type(array) is np.ndarray for array in arrays_of(payload))


def is_wrapped(leaf: Any) -> bool:
    """Is this a tensor on such a payload?"""
    return isinstance(leaf, Tensor) and type(leaf._data) not in ARRAYS and is_wrapper(leaf._data)


class HasWrappers(TraceError):
    """A capture for plain tensors has met a wrapper: it begins again, as one that expects them."""


def check_plain(values: Iterable[Any]) -> None:
    """Raise if a tensor, a result or a gradient is a wrapper."""
    for value in values:
        payload = value._data if isinstance(value, Tensor) else value
        if type(payload) not in ARRAYS and is_wrapper(payload):
            raise HasWrappers(
                f"a payload of type {type(payload).__name__} takes part in a function that is given plain tensors",
                why="this capture is one for plain tensors, since sizes vary",
                fix="compile the function without dynamic sizes",
            )


def wrapper_key(payload: Any) -> Any:
    """What of a payload a capture depends on: its type, its meta, and what its parts are."""
    parts, meta = parts_of(payload)
    return type(payload), meta, tuple([(name, _part_key(part)) for name, part in parts])


def _part_key(part: Any) -> Any:
    if is_wrapper(part):
        return wrapper_key(part)
    if isinstance(part, np.ndarray):
        flags = part.flags
        return part.shape, part.dtype, None if flags.c_contiguous else part.strides, flags.writeable
    return type(part), part
