"""Values in f-strings that are told and nothing else: `print(f"{err:.3e}")`.

A text of a value is another one in every call. Where the source says that an f-string, or `"...".format(...)`, is an
argument of `print`, of a logger or of `warnings.warn`, nobody else sees it: each value in it is written as a mark, and
when a call ends the text is made of the values of that call. The source is believed only if compiling it gives the
code that runs.
"""

from __future__ import annotations

import ast
import functools
import linecache
import re
import sys
from contextlib import suppress
from types import CodeType, FrameType
from typing import Any

from pullback.core.frames import is_own

_MARK = re.compile("\ue0f0(\\d+)\ue0f1")


class Texts:
    """The values that marks stand for."""

    def __init__(self) -> None:
        self._values: list[tuple[Any, str]] = []

    def standing_for(self, value: Any, specification: str) -> str:
        """The mark of one more value."""
        self._values.append((value, specification))
        return f"\ue0f0{len(self._values) - 1}\ue0f1"

    def pieces(self, text: str) -> list[Any]:
        """A text as a list of texts, and of values with how they are formatted."""
        parts: list[Any] = _MARK.split(text)
        parts[1::2] = [self._values[int(part)] for part in parts[1::2]]
        return [part for part in parts if part != ""]


def is_told_here(teller: type) -> bool:
    """Is the user's code about to format a value for an argument of something that is a `teller`?"""
    frame: Any = sys._getframe(2)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return False
    line, end_line, column, end_column = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    if None in (line, end_line, column, end_column):
        return False
    for call in _calls(frame.f_code.co_filename, frame.f_code):
        for argument in call.args:
            begin, end = (argument.lineno, argument.col_offset), (argument.end_lineno, argument.end_col_offset)
            if begin <= (line, column) and (end_line, end_column) <= end and _is_text(argument):
                return isinstance(_found(call.func, frame), teller)
    return False


def _is_text(argument: ast.expr) -> bool:
    """Is this an f-string, or `"...".format(...)`?"""
    if isinstance(argument, ast.Call) and isinstance(argument.func, ast.Attribute) and argument.func.attr == "format":
        return isinstance(argument.func.value, ast.Constant)
    return isinstance(argument, ast.JoinedStr)


def _found(function: ast.expr, frame: FrameType) -> Any:
    """What a name, or an attribute of one, is in a frame."""
    if isinstance(function, ast.Attribute):
        return getattr(_found(function.value, frame), function.attr, None)
    if not isinstance(function, ast.Name):
        return None
    for names in (frame.f_locals, frame.f_globals, frame.f_builtins):
        with suppress(KeyError):  # names of builtins are found by need
            return names[function.id]
    return None


@functools.lru_cache(64)
def _calls(filename: str, code: CodeType) -> list[ast.Call]:
    """The calls with texts among their arguments in the source of this code; none if it has another source."""
    text = "".join(linecache.getlines(filename))
    try:
        tree = ast.parse(text)
        codes = [compile(tree, filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return []
    for each in codes:
        codes += [part for part in each.co_consts if isinstance(part, CodeType)]
    if not any(each == code for each in codes):
        return []
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if any(map(_is_text, call.args))]
