"""How many threads native code may use.

`OMP_NUM_THREADS` says it, as it does for the BLAS behind NumPy; without it there are as many as processors.
`set_num_threads` changes it at any time. Results do not depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable

_listeners: list[Callable[[int], None]] = []


def _default() -> int:
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(available, int(wanted)) if wanted.isdigit() and int(wanted) else available


_count = _default()


def get_num_threads() -> int:
    """The number of threads that share the work of one compiled function."""
    return _count


def set_num_threads(count: int) -> None:
    """Let compiled functions use so many threads."""
    global _count
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1, got {count}")
    _count = count
    for listener in _listeners:
        listener(count)


def on_change(listener: Callable[[int], None]) -> None:
    """Call a function with the number of threads whenever it changes."""
    _listeners.append(listener)
