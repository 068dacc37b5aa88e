"""What a function does to the world while it is traced, and what every compiled call does again: `print`, and writes to
Python objects (`_surroundings/writes.py`).

The arguments of a `print` are further results of the function: tensors as they are at that moment, numbers of the call,
constants. When a call ends, after everything else has happened, the texts are printed in the order of the program. A
text that was made of a value before (`f"{err:.3e}"`) is a constant, because the path is for that value (`live.py`).
What is stored in objects is stored then, too.
"""

from __future__ import annotations

import builtins
from typing import Any

from pullback.aot._numbers.stand_in import is_stand_in
from pullback.core.pytree import flatten, unflatten
from pullback.core.state import changed, current
from pullback.errors import SideEffectError
from pullback.payloads.traced import TracedArray, user_location
from pullback.tensors.tensor import Tensor

_CONSTANTS = (str, int, float, complex, bool, type(None))


class Effects:
    """What was done in one trace."""

    def __init__(self, trace: Any) -> None:
        self._trace = trace
        self.given: list[tuple[Any, Any]] = []  # what is done, and with which value

    def print(self, *args: Any, **options: Any) -> None:
        """What `print` is in the user's code."""
        if not self._trace.is_open:
            builtins.print(*args, **options)
            return
        leaves, structure = flatten((args, options))
        self.given.append((_printed, unflatten(structure, [self._kept(leaf) for leaf in leaves])))

    def _kept(self, leaf: Any) -> Any:
        """An argument as it is now."""
        is_running = current().trace is self._trace
        if isinstance(leaf, Tensor) and type(leaf._data) is TracedArray and is_running:
            if leaf.requires_grad:  # which its text says
                raise _refused("a tensor that requires grad")
            with changed(grad=False):
                return leaf.detach().clone()
        if is_stand_in(leaf) or type(leaf) in _CONSTANTS:
            return leaf
        raise _refused(f"an object of type {type(leaf).__name__}")


def _refused(what: str) -> SideEffectError:
    return SideEffectError(
        f"the function prints {what}",
        location=user_location(),
        why="a compiled call does not have it when it prints",
        fix="print x.detach(), a number, or a text, or print outside of what is compiled",
    )


def _printed(value: Any) -> None:
    args, options = value
    builtins.print(*args, **options)
