"""Backends: functions made of graphs. `planning` decides which memory holds what; `numpy_source` writes NumPy code,
`llvm` native code, which is loaded when it is asked for."""

from __future__ import annotations

from pullback.core.deferred import deferred

__getattr__, __dir__ = deferred(
    globals(),
    {
        "compile_llvm": "pullback.compiler.llvm.compiled",
        "expand": "pullback.compiler.passes.expand",
        "formula_of": "pullback.compiler.llvm.ufunc_text",
        "formula_ufunc": "pullback.compiler.llvm.ufuncs",
        "left_to_numpy": "pullback.compiler.llvm.compiled",
        "read_native": "pullback.compiler.llvm.stored",
        "recompute": "pullback.compiler.passes.recompute",
        "release": "pullback.compiler.llvm.buffers",
        "reusing": "pullback.compiler.llvm.buffers",
        "sinks_function": "pullback.compiler.llvm.sinks",
        "twin": "pullback.compiler.llvm.ufuncs",
        "write_native": "pullback.compiler.llvm.stored",
    },
)
