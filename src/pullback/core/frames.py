"""Which frames of a stack are Pullback's own, which are of the program that calls it, and which are adapted code."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import threading
import warnings
from types import CodeType, FrameType
from typing import Any

import numpy as np

from pullback._sites import PACKAGE, Traceback, hide_callers, is_own
from pullback.errors import InternalError

__all__ = [
    "PACKAGE", "adapted_call", "adapting", "asking_call", "drop_own_frames", "is_asked_by_user", "is_own",
    "name_users_line", "passes_on", "place_of", "set_traceback", "user_place", "warn", "who_asks",
]  # fmt: skip

Place = tuple[str, int, str]
_PASSES_ON: set[CodeType] = set()


def passes_on(function: Any) -> Any:
    """The function, marked as one that only passes a call on to another: whoever called it is who asks."""
    _PASSES_ON.add(function.__code__)
    return function


def who_asks(frame: Any) -> FrameType:
    """The frame itself, or the first one above it that does not only pass a call on."""
    while frame.f_code in _PASSES_ON:
        frame = frame.f_back
    asking: FrameType = frame
    return asking


def is_asked_by_user(depth: int) -> bool:
    """Is the caller so many frames up code that is not Pullback's own?"""
    return not sys._getframe(depth + 1).f_code.co_filename.startswith(PACKAGE)


def user_place() -> Place | None:
    """File, line and function of the innermost frame above the caller that is not Pullback's own."""
    frame: Any = sys._getframe(2)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return place_of(frame)


def drop_own_frames(error: BaseException) -> None:
    """Leave the user's frames in the traceback of an error that is about to leave a public function, and its own.

    The function ends its `except` block with a bare `raise` after this. What a library did for us (NumPy's Python
    code below a kernel) goes with our frames; user code in between (callbacks, hooks, the differentiated function)
    stays. Where one public function calls another, what is left is the outer one's frame.
    """
    entry: Any = error.__traceback__
    if Traceback.is_full or isinstance(error, InternalError) or entry is None:
        return
    last, is_inside = entry, True
    while (entry := entry.tb_next) is not None:
        filename = entry.tb_frame.f_code.co_filename
        is_inside = is_own(filename) or (is_inside and filename.startswith(_NUMPY))
        if not is_inside:
            last.tb_next = last = entry
    last.tb_next = None
    hide_callers()


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program, however many frames of Pullback's are between it and here."""
    level = 2
    frame: Any = sys._getframe(1)
    while frame is not None and _is_between(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _is_between(filename: str) -> bool:
    """Is this Pullback's code, or that of a library by which it enters blocks and keeps results?"""
    return is_own(filename) or filename in _BETWEEN


_BETWEEN = frozenset({contextlib.__file__, functools.__file__})


# Floating-point warnings of NumPy. They name the innermost frame of Python, which is a kernel of ours or code that was
# written at run time. A filter of Python's is asked whether a warning matches: this one warns again, at the user's
# line, and drops the first. Filters that the user sets later come before it, and then the old place is named.


_OF_NUMPY = re.compile(r"(divide by zero|invalid value|overflow|underflow) encountered|Casting complex values")
_NUMPY = os.path.dirname(np.__file__) + os.sep


class _Asked(threading.local):
    """What a thread is asked of just now."""

    text: str | None = None
    is_warning = False


_asked = _Asked()


class _Message:
    """The part of the filter that is asked first: is this a warning of NumPy's about numbers?"""

    @staticmethod
    def match(text: str) -> bool:
        """Python gives what is warned of."""
        is_asked = not _asked.is_warning and _OF_NUMPY.match(text) is not None
        _asked.text = text if is_asked else None
        return is_asked


class _Module:
    """The part that is asked next: does it come from Pullback? Then the user's line is named instead."""

    @staticmethod
    def match(module: str) -> bool:
        """Python gives the module; what is asked of is on the stack."""
        text, _asked.text = _asked.text, None
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_NUMPY):
            frame = frame.f_back
        if text is None or frame is None or not is_own(frame.f_code.co_filename):
            return False
        while frame is not None and _is_between(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is None:
            return False
        category = RuntimeWarning if "encountered" in text else np.exceptions.ComplexWarning
        names = frame.f_globals
        registry = names.setdefault("__warningregistry__", {})
        name = names.get("__name__", "<string>")
        _asked.is_warning = True
        try:
            warnings.warn_explicit(text, category, frame.f_code.co_filename, frame.f_lineno, name, registry)
        finally:
            _asked.is_warning = False
        return True


_FILTER: Any = ("ignore", _Message, RuntimeWarning, _Module, 0)


def name_users_line() -> None:
    """Let floating-point warnings name the user's line. Whoever makes a function that computes calls this: a block of
    `warnings.catch_warnings` around the first one undoes it at its end."""
    if _FILTER not in warnings.filters:
        warnings.filters.insert(0, _FILTER)  # type: ignore[attr-defined]


def place_of(frame: Any) -> Place | None:
    """File, line and function of a frame."""
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_qualname)


# Adapted code (`func.adapt`), for which tensors have the manners of NumPy's arrays. Members of `Tensor` that differ
# there ask whose code is calling, if anybody's can be.

MARK = "__pullback_adapted__"
"""A name in the globals of adapted functions, by which their frames are known. It is true while their call runs."""

adapting: set[int] = set()
"""The calls of adapted functions that are running, in whatever thread."""


def adapted_call(frame: FrameType | None) -> Any:
    """The adapted call that `frame` belongs to; None in Pullback's code and outside."""
    while frame is not None:
        call = frame.f_globals.get(MARK)
        if call is not None:
            return call or None
        if is_own(frame.f_code.co_filename):
            return None
        frame = frame.f_back
    return None


def asking_call() -> Any:
    """The adapted call that asked Pullback for what it is doing now, or None."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return adapted_call(frame)


def set_traceback(mode: str) -> None:
    """Say how much of Pullback tracebacks show: "user" hides its frames, "full" shows them all.

    `PULLBACK_DEBUG=1` in the environment begins with "full".

    >>> pb.set_traceback("full")
    >>> pb.set_traceback("user")
    """
    if mode not in ("full", "user"):
        raise ValueError(f"set_traceback: mode must be 'full' or 'user', got {mode!r}")
    Traceback.is_full = mode == "full"
