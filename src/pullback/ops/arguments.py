"""What public functions do with their arguments before an operator sees them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pullback.eager.build import as_operand
from pullback.tensors.tensor import as_constant

ANY_NUMBER = 1 << 30
"""For composites all of whose positional arguments are arrays."""


def as_array(x: Any) -> Any:
    """`x` itself if it is an array of any kind; numbers and lists of them as a constant Tensor."""
    return x if hasattr(x, "ndim") else as_constant(as_operand(x))


def called_as(example: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Show the parameters of `example` as those of a function that takes more spellings than one signature can say.

    They are what the array API standard prescribes, and what `inspect.signature` and `help` tell.
    """

    def show(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__signature__ = inspect.signature(example)  # type: ignore[attr-defined]
        return function

    return show


def one_sequence(name: str, parts: tuple[Any, ...], spelled: Any = None) -> Any:
    """The ints given one by one, as one sequence, or by keyword: `f(x, 2, 3)`, `f(x, (2, 3))`, `f(x, shape=(2, 3))`."""
    if spelled is not None:
        if parts:
            raise TypeError(f"{name}: two spellings of one argument were given; keep one of them")
        return spelled
    return parts[0] if len(parts) == 1 else parts
