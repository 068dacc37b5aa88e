"""The native backend: a graph becomes loop nests, LLVM makes machine code of them, and Python calls it once.

llvmlite is imported by this package and by nothing else, and this package only when somebody asks for native code.
`docs/design/native-compiler.md` tells how the parts work together.
"""

from __future__ import annotations

from pullback.compiler.llvm.compiled import NativeGraph, compile_llvm

__all__ = ["NativeGraph", "compile_llvm"]
