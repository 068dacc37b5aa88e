"""Which numbers a trace has stand-ins for. If the function cannot do with those, it is traced again without them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.aot._numbers.program import Host, Repeat, is_number
from pullback.aot._numbers.stand_in import given_numbers
from pullback.core.pytree import flatten, unflatten
from pullback.errors import AOTError


class Attempts:
    """The traces of one capture. `fixed` has the slots of numbers that the capture is for, with the reasons; None if it
    is for all of them, and somebody else sees to that."""

    def __init__(self, leaves: list[Any], fixed: dict[int, str] | None) -> None:
        self._leaves = leaves
        self._numbers = [] if fixed is None else [slot for slot, leaf in enumerate(leaves) if is_number(leaf)]
        self._fixed = {slot: why for slot, why in (fixed or {}).items() if slot in self._numbers}
        self._host: Host | None = None

    @property
    def _free(self) -> list[int]:
        return [slot for slot in self._numbers if slot not in self._fixed]

    def begin(self, trace: Any) -> None:
        """Give a trace its stand-ins."""
        if self._numbers:
            self._host = trace.host = Host(self._leaves, self._free, self._fixed, trace)
            given_numbers(trace.host, self._leaves, self._free)

    def _fix(self, slots: Iterable[int], why: str) -> None:
        self._fixed = {**self._fixed, **dict.fromkeys(slots, why)}

    def are_for(self, captured: Any) -> bool:
        """Is a capture good for all the numbers that there were stand-ins for? If not, it is for these from now on."""
        why = None
        if captured.meta.deferred_errors:
            why = "a formula of the backward pass raises"
        elif captured.has_own_formulas and captured.is_training:
            why = "derivatives of the gradient run the function again, because of a formula of its own"
        if why is None or not self._free:
            return True
        self._fix(self._free, why)
        return False

    def goes_on_after(self, error: BaseException, trace: Any) -> bool:
        """Can another trace do better than this one, which raised an error?"""
        if isinstance(error, Repeat):
            self._fix(self._free if error.slots is None else error.slots, error.why)
            return True
        met = frozenset().union(*trace.met_arrays.values()).difference(self._fixed)
        if isinstance(error, AOTError) and met:  # where eager code has arrays there were tensors
            self._fix(met, f"with it the function makes arrays, and raises {type(error).__name__}")
            return True
        if isinstance(error, AOTError):
            error.numbers = None if self._host is None else self._host.program
            return False
        if not self._free:
            return False
        # Perhaps the function cannot do with a stand-in. Whole numbers first: they are lengths and indices.
        whole = [slot for slot in self._free if isinstance(self._leaves[slot], (int, np.integer))]
        self._fix(whole or self._free, f"with a stand-in for it the function raises {type(error).__name__}")
        return True


def static_slots(
    function: Callable[..., Any], in_tree: Any, count: int, static: tuple[int | str, ...]
) -> dict[int, str]:
    """The slots of the arguments that somebody has called static, by position or name."""
    if not static:
        return {}
    args, kwargs = unflatten(in_tree, list(range(count)))
    chosen = [part for position, part in enumerate(args) if position in static]
    chosen += [part for name, part in kwargs.items() if name in static]
    try:
        names = list(inspect.signature(function).parameters)
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # written in C, or the function will say itself that it does not take these
        names, bound = [], {}
    wanted = {*static, *(names[each] for each in static if isinstance(each, int) and -1 < each < len(names))}
    chosen += [part for name, part in bound.items() if name in wanted]
    return dict.fromkeys(flatten(chosen)[0], "it was called static")
