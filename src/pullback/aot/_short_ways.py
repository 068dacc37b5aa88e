"""`ShortWays`: the short ways of a function (`_fast_call.py`), and which of them a call tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot._fast_call import MISS
from pullback.tensors.tensor import Tensor

FEW = 3
"""Up to so many are tried in turn, which takes a tenth of a microsecond each."""
MOST = 64
_MOST_ALIKE = 8


class ShortWays:
    """Functions of the arguments that answer MISS to calls that are not theirs. `calls` are those to be tried."""

    def __init__(self) -> None:
        self.calls: tuple[Callable[..., Any], ...] = ()
        self._known: tuple[tuple[Callable[..., Any], tuple[Any, ...]], ...] = ()  # with their marks, the newest first

    def add(self, call: Callable[..., Any], args: tuple[Any, ...]) -> None:
        """Try this one first, for calls like the one with these arguments."""
        self._known = ((call, tuple(map(_mark, args))), *self._known[: MOST - 1])
        if len(self._known) <= FEW:
            self.calls = tuple([known for known, _ in self._known])
        else:
            self.calls = (self._by_mark(),)

    def _by_mark(self) -> Callable[..., Any]:
        """One for all, which looks at the argument in which they differ most."""
        count = min(len(marks) for _, marks in self._known)
        place = max(range(count), key=lambda k: len({marks[k] for _, marks in self._known}), default=0)
        table: dict[Any, tuple[Any, ...]] = {}
        for call, marks in self._known:
            mark = marks[place] if marks else None
            table[mark] = (*table.get(mark, ()), call)[:_MOST_ALIKE]
        find = table.get

        def chosen(args: tuple[Any, ...]) -> Any:
            for known in find(_mark(args[place]) if place < len(args) else None, ()):
                result = known(args)
                if result is not MISS:
                    return result
            return MISS

        return chosen


def _mark(argument: Any) -> Any:
    """What tells one kind of argument from another with little effort. Different kinds may have the same."""
    kind = type(argument)
    if kind is Tensor:
        return argument._spec.shape
    if kind is np.ndarray:
        return argument.shape
    return argument if kind in (int, float, bool, str) else None
