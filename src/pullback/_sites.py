"""Whose frames are whose: the user's line, which errors name, and the frames of the package, which tracebacks hide.

Frames of the package are marked, so that IPython and pytest leave them out, unless `pb.set_traceback("full")` or
`PULLBACK_DEBUG=1` asks for them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""Where a user's call ends and Pullback's own frames begin."""

_WRITTEN = ("<pull of ", "<fast path of ", "<call of ", "<pullback ")  # what code that Pullback wrote is called
_own_files: dict[str, bool] = {}  # by name


def is_own(filename: str) -> bool:
    """Is the code of this file Pullback's? Code that it wrote itself is, too."""
    found = _own_files.get(filename)
    if found is None:
        found = _own_files[filename] = filename.startswith((PACKAGE, *_WRITTEN))
    return found


class Traceback:
    """How much of the package users see in tracebacks."""

    is_full = os.environ.get("PULLBACK_DEBUG", "0") not in ("", "0")


def hide_callers() -> str:
    """Mark the frames of the package that lead here, and give the user's line above them, as `file:line`."""
    frame: Any = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        if not Traceback.is_full:
            frame.f_locals["__tracebackhide__"] = True
        frame = frame.f_back
    # A library in between, such as one that draws, is not where the user would look first.
    nearest = frame
    while frame is not None and _is_installed(frame.f_code.co_filename):
        frame = frame.f_back
    frame = nearest if frame is None else frame
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_installed(filename: str) -> bool:
    """Is this code of Python's library or of an installed package, or code of our own below them?"""
    is_package = f"{os.sep}site-packages{os.sep}" in filename
    return is_package or filename.startswith((_PYTHON, "<frozen ")) or is_own(filename)


_PYTHON = os.path.dirname(os.__file__) + os.sep


def told(error: Exception, *, why: str = "", fix: str = "", where: str = "") -> Any:
    """An error of Python's own, with the parts that an `AutogradError` has: in its text, and as fields."""
    site = hide_callers()
    where = f"{where}, at {site}" if where else site
    what = str(error)
    labels = (("where", where), ("why", why), ("fix", fix), ("torch", torch_phrase("", what)))
    error.args = ("\n".join([what, *(f"  {label:<6}{text}" for label, text in labels if text)]),)
    if isinstance(error, ImportError):
        error.msg = error.args[0]  # which is what it shows
    vars(error).update(what=what, where=where, why=why, fix=fix, site=site)
    return error


_PHRASES = "pullback._phrases"  # loaded with the first error


def torch_phrase(code: str, what: str) -> str:
    """What torch says of the same mistake, if anything."""
    phrase: str = import_module(_PHRASES).torch_phrase(code, what)
    return phrase


def not_installed(who: str, library: str, extra: str) -> Any:
    """The error for what needs a library that is not there."""
    error = ImportError(f"{who} needs {library}, which is not installed", name=library.lower())
    return told(error, fix=f"pip install 'pullback[{extra}]'")
