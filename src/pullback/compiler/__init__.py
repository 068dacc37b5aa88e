"""Backends: functions made of graphs. `planning` decides which memory holds what; `numpy_source` writes NumPy code,
`llvm` native code, which is loaded when it is asked for."""

from __future__ import annotations

from pullback.core.lazy import deferred

__getattr__, __dir__ = deferred(
    globals(),
    {
        "Calls": "pullback.compiler.machine.tape",
        "are_as_expected": "pullback.compiler.machine.structs",
        "compile_llvm": "pullback.compiler.llvm",
        "expand": "pullback.compiler.passes.expand",
        "formula_of": "pullback.compiler.machine.ufuncs",
        "formula_ufunc": "pullback.compiler.machine.ufuncs",
        "formula_table": "pullback.compiler.machine.tape",
        "left_to_numpy": "pullback.compiler.llvm",
        "pass_functions": "pullback.compiler.machine.passes",
        "read_native": "pullback.compiler.stored",
        "recompute": "pullback.compiler.passes.recompute",
        "release": "pullback.compiler.machine.buffers",
        "reusing": "pullback.compiler.machine.buffers",
        "sinks_function": "pullback.compiler.machine.leaves",
        "twin": "pullback.compiler.machine.ufuncs",
        "visit_function": "pullback.compiler.machine.parts",
        "write_native": "pullback.compiler.stored",
    },
)
