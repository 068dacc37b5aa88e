"""Reports for whoever asks, by Python's `logging`.

`pullback.compile` tells what is captured and compiled, the passes, and their times, `pullback.cache` what is read from
disk and written to it, `pullback.autograd` which nodes raised and what native code has taken over, `pullback.optim`
steps and searches, and `pullback.distributed` every collective.

Nothing is printed unless the program configures logging, or the environment says `PULLBACK_LOG=compile`, or several
such names with commas: then lines go to the error output, so that programs which print results can be looked at too.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pullback.core.progress import told_if_long
from pullback.core.state import watched

DEBUG, INFO, WARNING = 10, 20, 30  # as in `logging`

compile_observers: list[Callable[[str | None], None]] = []
"""Called with what is captured or compiled when that begins, and with None when it ends."""

_loggers: dict[str, Any] = {}
_printing: dict[str, Any] = {}  # by topic: the handler that prints


def listener(topic: str, level: int = DEBUG) -> Any:
    """The logger of this topic if somebody listens to it, otherwise None.

    A program that has not imported `logging` cannot have asked it for anything, and does not pay for the import.
    """
    if "logging" not in sys.modules and not _is_printed(topic):
        return None
    logger = logger_of(topic)
    return logger if logger.isEnabledFor(level) else None


def logger_of(topic: str) -> Any:
    """The logger of this topic, which prints if the environment says so."""
    logger = _loggers.get(topic)
    if logger is None:
        import logging

        above = logging.getLogger("pullback")
        if not above.handlers:
            above.addHandler(logging.NullHandler())  # otherwise Python prints warnings that nobody handles
        logger = _loggers[topic] = above.getChild(topic)
    if _is_printed(topic) != (topic in _printing):
        _switch(topic, logger)
    return logger


def _is_printed(topic: str) -> bool:
    return topic in os.environ.get("PULLBACK_LOG", "").split(",")


def _switch(topic: str, logger: Any) -> None:
    """Begin to print, or end it."""
    import logging

    if topic in _printing:
        logger.removeHandler(_printing.pop(topic))
        logger.setLevel(logging.NOTSET)
        return
    _printing[topic] = printer = logging.StreamHandler(_ErrorOutput())
    printer.setFormatter(logging.Formatter(f"pullback {topic}: %(message)s"))
    logger.addHandler(printer)
    logger.setLevel(DEBUG)


class _ErrorOutput:
    """The error output as it is when something is written."""

    def write(self, text: str) -> None:
        sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def report(what: str, topic: str = "compile", level: int = DEBUG) -> None:
    """Tell what happened."""
    logger = listener(topic, level)
    if logger is not None:
        logger.log(level, "%s", what)


class Phases:
    """What a thread does for a function that it captures and compiles: the phase it is in, and the milliseconds of all
    kinds of phases by name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.phase = ""
        self.spent: dict[str, float] = {}

    def __str__(self) -> str:
        return f"compiling {self.name}: {self.phase}"


_now = threading.local()


@contextmanager
def reported(what: str, kind: str = "") -> Iterator[None]:
    """Tell what happens in a block, and how long it takes; `kind` says what the time is for, where it counts."""
    phases = getattr(_now, "phases", None)
    outer = "" if phases is None else phases.phase
    if phases is not None:
        phases.phase = what
    began = time.perf_counter()
    try:
        with watched("compile", what):
            yield
    finally:
        took = 1e3 * (time.perf_counter() - began)
        if phases is not None:
            phases.phase = outer
            if kind:
                phases.spent[kind] = phases.spent.get(kind, 0.0) + took
    report(f"{what} in {took:.1f} ms")


@contextmanager
def compiling(name: str) -> Iterator[Phases]:
    """Tell whoever waits for this process that it captures or compiles a function in this block."""
    for observer in compile_observers:
        observer(name)
    outer = getattr(_now, "phases", None)
    _now.phases = phases = Phases(name)
    try:
        with told_if_long(phases.__str__):
            yield phases
    finally:
        _now.phases = outer
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
