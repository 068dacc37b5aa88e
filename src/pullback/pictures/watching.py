"""What `pb.profile` and `pb.memory` have in common: they are in force in a block, and know the user's line."""

from __future__ import annotations

import contextlib
import os
import sys
from types import CodeType
from typing import Any

from pullback.core.frames import is_own
from pullback.core.state import Watch, change, watching


class Block(Watch):
    """A watch that is in force from entering the block until it is left, once."""

    def __init__(self) -> None:
        self._previous: dict[str, Any] | None = None
        self._token: Any = None

    def __enter__(self) -> Any:
        if self._previous is not None:
            raise RuntimeError(f"this {type(self).__name__} is already in force; make another one for a block inside")
        self._token = watching.set(self)
        self._previous = change(watch=self)
        self.started()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stopped()
        change(**(self._previous or {"watch": None}))
        watching.reset(self._token)
        self._previous = None

    def started(self) -> None:
        """The block begins."""

    def stopped(self) -> None:
        """The block ends."""


Place = tuple[CodeType, int]
_getframe = sys._getframe
_ours: dict[str, bool] = {contextlib.__file__: True}  # by file; blocks of our own run in its frames


def user_place(depth: int = 2) -> Place | None:
    """Where the innermost frame that is the user's is: its code, and how far it is there, which `shown` makes a line.
    A line number takes longer to find than the operation took."""
    frame: Any = _getframe(depth)
    while frame is not None:
        code = frame.f_code
        is_ours = _ours.get(code.co_filename)
        if is_ours is None:
            is_ours = _ours[code.co_filename] = is_own(code.co_filename)
        if not is_ours:
            return code, frame.f_lasti
        frame = frame.f_back
    return None


def shown(place: Place | None) -> str:
    """A line as people write it."""
    if place is None:
        return "?"
    code, position = place
    lines = (line for start, end, line in code.co_lines() if start <= position < end)
    return f"{os.path.basename(code.co_filename)}:{next(lines, code.co_firstlineno)}"
