"""What generated functions call besides NumPy. Nothing here refers to anything but NumPy: it is exported as it is."""

from __future__ import annotations

from typing import Any

import numpy as np


def in_layout(x: Any, strides: tuple[int, ...]) -> Any:
    """`x` if it has these strides, or else a copy that has them; axes of length 1 have no stride to speak of."""
    if all(own == wanted for own, wanted, length in zip(x.strides, strides, x.shape) if length > 1):
        return x
    return copy_in_layout(x, strides)


def copy_in_layout(x: Any, strides: tuple[int, ...]) -> Any:
    """A copy of `x` with these strides; without elements there is nothing that could lie otherwise."""
    if not x.size:
        return x.copy()
    lowest = sum((length - 1) * stride for length, stride in zip(x.shape, strides) if stride < 0)
    highest = sum((length - 1) * stride for length, stride in zip(x.shape, strides) if stride > 0)
    memory = np.empty(highest - lowest + x.itemsize, np.uint8)
    out = np.ndarray(x.shape, x.dtype, memory, -lowest, strides)
    out[...] = x
    return out


def own_memory(result: Any, operand: Any) -> Any:
    """The result of a loop, which must not be the array that it began with."""
    return result.copy() if result is operand else result


def logistic(x: Any, one: Any, out: Any) -> Any:
    """`1 / (1 + exp(-x))`, written to `out`. Where exp overflows, the result is 0 to the last digit."""
    np.negative(x, out)
    with np.errstate(over="ignore"):
        np.exp(out, out)
    np.add(one, out, out)
    return np.divide(one, out, out)
