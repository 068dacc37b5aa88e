"""How many threads may share the work of one call, in native code and in NumPy's, and what a fork does to them.

`PULLBACK_NUM_THREADS` says it, or else `OMP_NUM_THREADS`, as it does for the BLAS behind NumPy; without either there
are as many as processors. `set_num_threads` changes it at any time. Results do not depend on it, so a number far beyond
what could be of use is taken for the largest that is sensible.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.doors import door

_VARIABLES = ("PULLBACK_NUM_THREADS", "OMP_NUM_THREADS")
_listeners: list[Callable[[int], None]] = []
_forgetting: list[Callable[[], None]] = []


def _available() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def most_threads() -> int:
    """More than anybody has a use for: threads that are started stay, and each has a stack."""
    return max(16, 4 * _available())


def wanted_threads(*variables: str) -> int:
    """What the first of these variables that has a number says, and not more than there are processors."""
    available = _available()
    for variable in variables:
        wanted = os.environ.get(variable, "").partition(",")[0].strip().lstrip("0")
        if wanted.isascii() and wanted.isdigit():
            return min(available, int(wanted[:9]))  # which is enough of any number
    return available


_count = wanted_threads(*_VARIABLES)


def get_num_threads() -> int:
    """The number of threads that share the work of one function, in native code and in pieces of large arrays.

    >>> pb.get_num_threads() >= 1
    True
    """
    return _count


@door
def set_num_threads(count: int) -> None:
    """Let functions use so many threads, from the next call on. Results do not depend on it.

    At first it is what the environment says, `PULLBACK_NUM_THREADS` or `OMP_NUM_THREADS`, or the number of processors.
    There are never more than four for each processor, or 16 if that is more, whatever is asked for.

    >>> before = pb.get_num_threads()
    >>> pb.set_num_threads(1)
    >>> pb.get_num_threads()
    1
    >>> pb.set_num_threads(before)
    """
    global _count
    count = operator.index(count)
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1, got {count}")
    _count = min(count, most_threads())
    for listener in _listeners:
        listener(_count)


def on_change(listener: Callable[[int], None]) -> None:
    """Call a function with the number of threads whenever it changes."""
    _listeners.append(listener)


def after_fork(forget: Callable[[], None]) -> None:
    """Call a function in every child process, which has none of its parent's threads."""
    _forgetting.append(forget)


def _in_child() -> None:
    for forget in _forgetting:
        forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


# What adds up gradients: NumPy's `add`, or functions that do the same and share long arrays among threads.

class Sums:
    """Code that knows how to do it faster puts other functions here (eager/large.py)."""

    add: Callable[..., Any] = np.add
    large_add: Callable[..., Any] = np.add  # for large arrays


sums = Sums()
