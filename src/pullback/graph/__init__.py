"""The graph of a traced function: values, nodes, passes. It knows declarations, and nothing of tensors or gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.graph import canonical, verify

# Modules that a graph needs in order to be looked at, read or compared, which happens to few.
_SELDOM = ("canonical", "verify")
__getattr__, __dir__ = _deferred(globals(), {name: f"pullback.graph.{name}" for name in _SELDOM})

__all__ = ["canonical", "verify"]
