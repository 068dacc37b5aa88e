"""`MachineCode`: the `run` of a segment, made quickly at first, and made well once it has been called often enough.

LLVM needs two to four times as long for good code as for any code, and most functions that are compiled are called
a few times. So a segment starts with quick code. Calls count down; when as much time went into them as good code takes
to make, it is made, and put in the place of the other. Both do the same operations in the same order, so results are
equal to the bit. What takes long, or has been made well before (by this process or in the cache on disk), starts with
good code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from pullback.compiler.llvm import jit
from pullback.core.reports import report

Text = tuple[list[str], dict[str, str]]  # functions, and declarations of what they call, by name
QUICK, GOOD = 0, 2
_WORTH = 5_000_000
"""Estimated nanoseconds of calls after which good code is made: about what it costs."""
_MOST_CALLS = 200  # estimates of small functions say little, since the call itself is most of it
_RUN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


_listeners: list[Callable[[], None]] = []


def on_first_improvement(listener: Callable[[], None]) -> None:
    """Call a function once, when the process turns out to be one that calls functions often."""
    _listeners.append(listener)


class MachineCode:
    """Where the code of a segment is: `place` is the address of two numbers, the code's own address and the number of
    calls that are left until it is made anew."""

    def __init__(self, text: Text, effort: int | None, work: float) -> None:
        self.text = text
        calls = 0 if effort is not None else _calls_with_quick_code(text, work)
        self.is_quick = calls > 0
        self._memory = (ctypes.c_int64 * 2)(0, calls)
        self.place = ctypes.addressof(self._memory)
        self._load(QUICK if self.is_quick else GOOD if effort is None else effort)

    def _load(self, effort: int) -> None:
        _, (address,) = jit.load(*self.text, ("run",), effort)
        self.run: Callable[[int, int], Any] = _RUN(address)
        self._memory[0] = address

    def count(self) -> None:
        """A call that did not come by the C entry, which counts those that do."""
        self._memory[1] -= 1

    def improve_if_due(self) -> None:
        """Make good code if the number of calls says so."""
        if self.is_quick and self._memory[1] <= 0:
            self.improve()

    def improve(self) -> None:
        """Make good code. If that fails, the other one is right as well."""
        self.is_quick = False
        try:
            self._load(GOOD)
            while _listeners:
                _listeners.pop()()
        except Exception as error:
            report(f"a module stays as it is: {error}")


def _calls_with_quick_code(text: Text, work: float) -> int:
    """How many calls quick code is made for; 0 for none."""
    if 2 * work > _WORTH or jit.is_made(*text, GOOD):
        return 0
    return min(_MOST_CALLS, int(_WORTH / max(work, 1.0)))
