"""What an error says when it leaves a public function: the user's line, and the keyword that was meant.

    @door
    def jacrev(function, argnums=0): ...

Errors that were raised with their parts (`AutogradError`, `_sites.told`) keep them, and errors of the user's own code
pass as they are. Nothing here runs unless there is an error; the call itself costs about a tenth of a microsecond, so
operators, which are called more often, have a `try` of their own that ends in `leave`.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from pullback._sites import hide_callers, is_own, told, torch_phrase
from pullback.core.frames import drop_own_frames

F = TypeVar("F", bound=Callable[..., Any])

_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")  # as of 3.13 Python has a hint of its own
_WHOLE = re.compile(r"'\w+' object cannot be interpreted as an integer")
_NUMPY = np.__path__[0]
# What others call it.
_ELSEWHERE = {
    "learning_rate": ("lr",), "step_size": ("lr",), "rate": ("lr",), "shape": ("size",), "size": ("shape",),
    "dim": ("axis",), "axis": ("dim",), "generator": ("rng",), "rng": ("generator",), "seed": ("rng", "generator"),
}  # fmt: skip


_doors: dict[Any, Any] = {}  # by function, which may be public under several names


def door(function: F) -> F:
    """The function, whose errors name the user's line and hide the frames behind it. One has one door."""
    found: F | None = _doors.get(function)
    if found is None:
        found = leaving(function)
        _doors[function] = _doors[found] = found
    return found


def leaving(function: F) -> F:
    """The same for a function that is made at run time, and does not last."""

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            leave(error, function)
            raise

    return called  # type: ignore[return-value]


def leave(error: BaseException, function: Any = None) -> None:
    """Say where an error happened that is about to leave `function`, and drop our frames from its traceback.

    The function ends its `except` block with a bare `raise` after this.
    """
    if isinstance(error, Exception) and getattr(error, "site", None) is None and is_ours(error):
        name_place(error, what_to_write(error, function))
    drop_own_frames(error)


def is_ours(error: Exception) -> bool:
    """Was it raised by this package, or by NumPy for it, and not by code of the user's?"""
    entry: Any = error.__traceback__
    while entry.tb_next is not None:
        entry = entry.tb_next
    filename = entry.tb_frame.f_code.co_filename
    return is_own(filename) or filename.startswith((_NUMPY, "numpy/"))  # as code that Cython made calls its files


def name_place(error: Exception, fix: str = "", why: str = "") -> None:
    """Write the user's line into the text of an error, or below it where its class makes the text itself."""
    if error.args == (str(error),):
        told(error, why=why, fix=fix)
        return
    site = error.site = hide_callers()  # type: ignore[attr-defined]
    for label, text in (("where", site), ("why", why), ("fix", fix), ("torch", torch_phrase("", str(error)))):
        if text:
            error.add_note(f"  {label:<6}{text}")


def what_to_write(error: Exception, function: Any) -> str:
    """What to write for an axis, a number or a keyword that a function does not take; nothing for other errors."""
    if isinstance(error, np.exceptions.AxisError) and error.ndim:
        return f"axes are counted from 0 to {error.ndim - 1}, or from the end, -{error.ndim} to -1"
    text = str(error) if isinstance(error, TypeError) else ""
    if _WHOLE.search(text):
        return "axes, lengths and counts are whole numbers: int(n), or // in place of / where it is computed"
    match = _KEYWORD.search(text)
    return "" if match is None else _close_keyword(match[1], function)


def _close_keyword(given: str, function: Any) -> str:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ""
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    known = [each.name for each in parameters if each.kind not in by_position and each.name != "self"]
    import difflib  # nobody needs it until there is an error

    close = [name for name in _ELSEWHERE.get(given, ()) if name in known]
    close = close or difflib.get_close_matches(given, known, 1, 0.5)
    return f"write {close[0]}=" if close else f"its keywords are {', '.join(known)}" if known else "it has no keywords"
