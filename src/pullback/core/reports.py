"""Reports for whoever asks: `PULLBACK_LOG=compile` prints what is captured and compiled, the passes, and their times.

They go to the error output, one line each, so that programs which print results can be looked at as well.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pullback.core.state import watched

compile_observers: list[Callable[[str | None], None]] = []
"""Called with what is captured or compiled when that begins, and with None when it ends."""


def is_reporting(topic: str = "compile") -> bool:
    """Does the environment ask for reports on this topic?"""
    return topic in os.environ.get("PULLBACK_LOG", "").split(",")


def report(what: str) -> None:
    """Tell what happened in compiling."""
    if is_reporting():
        print(f"pullback compile: {what}", file=sys.stderr)


@contextmanager
def reported(what: str) -> Iterator[None]:
    """Tell what happens in a block, and how long it takes."""
    began = time.perf_counter()
    with watched("compile", what):
        yield
    report(f"{what} in {1e3 * (time.perf_counter() - began):.1f} ms")


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Tell whoever waits for this process that it captures or compiles a function in this block."""
    for observer in compile_observers:
        observer(name)
    try:
        yield
    finally:
        for observer in compile_observers:
            observer(None)


# `paused`: a time in which Python does not look for garbage.
#
# A trace makes hundreds of thousands of objects that all stay. Every few hundred of them Python looks through what is
# there for cycles nobody needs, and finds none: with a thousand steps of a loop that is 40 % of the time.

_lock = threading.Lock()
_depth = 0
_was_on = False


@contextmanager
def paused() -> Iterator[None]:
    """No collections in here, of any thread. What is garbage by then is found afterwards."""
    global _depth, _was_on
    with _lock:
        if _depth == 0:
            _was_on = gc.isenabled()
            gc.disable()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0 and _was_on:
                gc.enable()
