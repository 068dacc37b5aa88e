"""Graphs as text: printing, parsing, Python source, pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.graph.text import parsing, picture, source

# Modules that a graph needs in order to be looked at or read, which happens to few.
_SELDOM = ("parsing", "picture", "source")
__getattr__, __dir__ = _deferred(globals(), {name: f"pullback.graph.text.{name}" for name in _SELDOM})

__all__ = ["parsing", "picture", "source"]
