"""The native backend: a graph becomes loop nests, LLVM makes machine code of them, and Python calls it once.

llvmlite is imported by this package and by nothing else, and this package only when somebody asks for native code.
`docs/design/native-compiler.md` tells how the parts work together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.deferred import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.compiler.llvm import engine, pool
    from pullback.compiler.llvm.compiled import NativeGraph, compile_llvm, left_to_numpy

_PLACES = dict.fromkeys(("NativeGraph", "compile_llvm", "left_to_numpy"), "pullback.compiler.llvm.compiled")
_PLACES |= {name: f"pullback.compiler.llvm.{name}" for name in ("engine", "pool")}
__getattr__, __dir__ = _deferred(globals(), _PLACES)

__all__ = ["NativeGraph", "compile_llvm", "engine", "left_to_numpy", "pool"]
