"""How many threads native code may use.

`PULLBACK_NUM_THREADS` says it, or else `OMP_NUM_THREADS`, as it does for the BLAS behind NumPy; without either there
are as many as processors. `set_num_threads` changes it at any time. Results do not depend on it.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable

_VARIABLES = ("PULLBACK_NUM_THREADS", "OMP_NUM_THREADS")
_listeners: list[Callable[[int], None]] = []


def _default() -> int:
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for variable in _VARIABLES:
        wanted = os.environ.get(variable, "").partition(",")[0].strip()
        if wanted.isdigit() and int(wanted):
            return min(available, int(wanted))
    return available


_count = _default()


def get_num_threads() -> int:
    """The number of threads that share the work of one native function.

    >>> pb.get_num_threads() >= 1
    True
    """
    return _count


def set_num_threads(count: int) -> None:
    """Let native functions use so many threads, from the next call on. Results do not depend on it.

    At first it is what the environment says, `PULLBACK_NUM_THREADS` or `OMP_NUM_THREADS`, or the number of processors.

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
    _count = count
    for listener in _listeners:
        listener(count)


def on_change(listener: Callable[[int], None]) -> None:
    """Call a function with the number of threads whenever it changes."""
    _listeners.append(listener)
