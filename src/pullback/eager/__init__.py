"""From declarations to functions: recording on the tape, writing in place, and fast paths by arity. Internal."""

from __future__ import annotations

from pullback.core.lazy import deferred

__getattr__, __dir__ = deferred(
    globals(), {name: f"pullback.eager.{name}" for name in ("native", "stand_in", "traced_calls")}
)
