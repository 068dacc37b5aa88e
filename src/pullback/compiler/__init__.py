"""Backends: functions made of graphs. `planning` decides which memory holds what; `numpy_source` writes NumPy code,
`llvm` native code, which is loaded when it is asked for."""

from __future__ import annotations

from pullback.core.deferred import deferred

__getattr__, __dir__ = deferred(globals(), {"compile_llvm": "pullback.compiler.llvm"})
