"""Machine code: LLVM makes it, memory and threads for it, and how Python calls it.

llvmlite is imported by this package and by nothing else, and this package only when somebody asks for native code.
`docs/design/machine.md` tells how the parts work together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.compiler.machine import engine, jit

__getattr__, __dir__ = _deferred(globals(), {name: f"pullback.compiler.machine.{name}" for name in ("engine", "jit")})

__all__ = ["engine", "jit"]
