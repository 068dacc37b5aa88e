"""Progress of long work: a function of the user's, a bar of tqdm's if that is installed, or one line of our own.

    with shown(progress, total=40, label="jacrev") as bar:
        for chunk in chunks:
            ...
            bar.advance(len(chunk))

Everything goes to the error output; nothing is ever printed to the standard output. Work that is done inside of other
work shows no bar of its own.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module, util
from typing import Any, NamedTuple

from pullback.core.doors import door

Progress = bool | Callable[[int, int, str], Any] | None

_MODES = ("auto", "on", "off")
_QUIET_FOR = 2.0  # seconds, in which "auto" shows nothing
_BETWEEN = 0.1  # seconds from one line to the next
_mode = [""]
_outer: ContextVar[Bar | None] = ContextVar("pullback_progress", default=None)


@door
def set_progress(mode: str) -> None:
    """Say whether long work shows how far it is: "on", "off", or "auto", which is how it begins.

    "auto" shows a bar on a terminal or in a notebook, and only after two seconds. The environment variable
    `PULLBACK_PROGRESS` says the same. Functions with an argument `progress` take True, False or a function
    `callback(done, total, label)` for themselves.

    >>> pb.set_progress("off")
    >>> pb.set_progress("auto")
    """
    if mode not in _MODES:
        raise ValueError(f"set_progress: mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")
    _mode[0] = mode


def _present_mode() -> str:
    if not _mode[0]:
        given = os.environ.get("PULLBACK_PROGRESS", "auto")
        _mode[0] = given if given in _MODES else "auto"
    return _mode[0]


def _is_watched() -> bool:
    """Is there somebody who sees what goes to the error output?"""
    if "ipykernel" in sys.modules:
        return True
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):  # closed, or replaced by something simple
        return False


class TimeUp(Exception):
    """The time that was given for a piece of work is over. Whoever took the time takes this, too."""


class _Labelled(NamedTuple):
    progress: Progress
    label: str


class Bar:
    """How far a piece of work is."""

    def __init__(self, progress: Progress, total: int, label: str, timeout: float | None = None) -> None:
        if isinstance(progress, _Labelled):
            progress, label = progress
        self.total = total
        self.label = label
        self.done = 0
        self._tell = progress if callable(progress) else None
        self._began = time.monotonic()
        self._ends = None if timeout is None else self._began + timeout
        self._next = self._began  # when the line may be written next
        self._tqdm: Any = None
        self._width = 0
        self._token: Any = None
        mode = "off" if progress is False or self._tell is not None else "on" if progress else _present_mode()
        if mode == "auto":
            mode = "on" if _is_watched() else "off"
            self._next += _QUIET_FOR
        self.is_shown = mode == "on" and _outer.get() is None

    def __enter__(self) -> Bar:
        if self.is_shown or self._ends is not None:
            self._token = _outer.set(self)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._token is not None:
            _outer.reset(self._token)
        if self._tqdm is not None:
            self._tqdm.close()
        elif self._width:
            _write("\r" + " " * self._width + "\r")

    def advance(self, count: int = 1) -> None:
        """So much more is done."""
        self.done += count
        if self._tell is not None:
            self._tell(self.done, self.total, self.label)
        if self.is_shown or self._ends is not None:
            now = time.monotonic()
            if self._ends is not None and now > self._ends and self.done < self.total:
                raise TimeUp(f"{self.label} was stopped by its timeout, after {self.done} of {self.total} steps")
            if self.is_shown and now >= self._next:
                self._next = now + _BETWEEN
                self._draw(now)

    def _draw(self, now: float) -> None:
        if self._tqdm is None and not self._width and util.find_spec("tqdm") is not None:
            make = import_module("tqdm.auto").tqdm
            self._tqdm = make(total=self.total or None, desc=self.label, leave=False, file=sys.stderr)
        if self._tqdm is not None:
            self._tqdm.update(self.done - self._tqdm.n)
            return
        rate = self.done / max(now - self._began, 1e-9)
        filled = 24 * self.done // max(self.total, 1)
        left = (self.total - self.done) / max(rate, 1e-9)
        bar = "#" * filled + " " * (24 - filled)
        text = f"{self.label} [{bar}] {self.done}/{self.total}  {rate:.3g}/s  {left:.0f} s left"
        if not self.total:  # nobody knows
            text = f"{self.label} {self.done}  {rate:.3g}/s"
        _write("\r" + text.ljust(self._width))
        self._width = len(text)


def shown(progress: Progress, total: int, label: str, timeout: float | None = None) -> Bar:
    """What tells how far a piece of work of `total` steps is, in a block."""
    return Bar(progress, total, label, timeout)


@contextmanager
def told_if_long(text: Callable[[], str]) -> Iterator[None]:
    """A block for work of one piece: after two seconds a line says what is done, and goes with the block."""
    mode = _present_mode()
    if mode == "off" or _outer.get() is not None or (mode == "auto" and not _is_watched()):
        yield
        return
    is_over = threading.Event()

    def tell() -> None:
        width, wait = 0, _QUIET_FOR
        while not is_over.wait(wait):
            line = text()
            _write("\r" + line.ljust(width))
            width, wait = max(width, len(line)), _BETWEEN
        if width:
            _write("\r" + " " * width + "\r")

    teller = threading.Thread(target=tell, name="pullback-progress", daemon=True)
    teller.start()
    try:
        yield
    finally:
        is_over.set()
        teller.join()


def labelled(progress: Any, label: str) -> Any:
    """What is given for `progress`, for work that is done by something else: this name is shown, and not that one's."""
    return progress if isinstance(progress, _Labelled) else _Labelled(progress, label)


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (AttributeError, ValueError, OSError):  # nobody reads it any more, and the work goes on
        pass
