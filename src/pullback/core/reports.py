"""Reports for whoever asks: `PULLBACK_LOG=compile` prints what is captured and compiled, the passes, and their times.

They go to the error output, one line each, so that programs which print results can be looked at as well.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


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
    yield
    report(f"{what} in {1e3 * (time.perf_counter() - began):.1f} ms")
