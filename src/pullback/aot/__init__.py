"""Ahead-of-time autograd: capture a function as a graph, with its gradient, its mutations and its aliases.

| name               | what it gives                                                         |
|--------------------|-----------------------------------------------------------------------|
| `trace`            | the forward graph                                                     |
| `collect_metadata` | what the function does to its inputs, and what its outputs are        |
| `joint_graph`      | forward and backward in one graph                                     |
| `partition`        | the joint graph, split; what is saved and what is recomputed          |
| `explain`          | what is mutated, aliased, saved and recomputed, with bytes and flops  |
| `aot_function`     | a compiled function, with compilers of your own                       |
| `export_source`    | Python that computes the same with NumPy alone                        |
| `mark_dynamic`     | an axis whose length may vary without another capture                 |
| `effect_op`        | an operator that does something whenever the graph runs               |
| `wrap_payload`     | a tensor on a payload of your own, which captures take apart          |
| `set_cache_dir`    | where compiled functions are kept for other processes                 |
| `reset`            | all captures of this process are forgotten                            |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback._compile import export_source
    from pullback.aot._api import (
        BackwardSignature,
        Joint,
        Signature,
        Traced,
        aot_function,
        collect_metadata,
        explain,
        joint_graph,
        partition,
        spec,
        trace,
    )
    from pullback.aot._disk import clear_cache, set_cache_dir
    from pullback.aot._dynamic import mark_dynamic
    from pullback.aot._explain import Explanation
    from pullback.aot._function import reset
    from pullback.aot._metadata import (
        InputAliasInfo,
        MemoryFormatMeta,
        MutationType,
        OutputAliasInfo,
        OutputType,
        ViewAndMutationMeta,
    )
    from pullback.aot._wrapper import wrap_payload
    from pullback.errors import (
        AliasError,
        AOTError,
        CaptureError,
        ConcretizationError,
        ConstantMutationError,
        DoubleBackwardError,
        DynamicShapeError,
        FunctionalizationError,
        GuardError,
        HigherOrderError,
        LeakedTracerError,
        NotCompiledError,
        PartitionError,
        RecompileLimitError,
        SideEffectError,
        TraceError,
        TraceWarning,
        UnsupportedTypeError,
    )
    from pullback.graph.graph import Graph
    from pullback.library._effects import debug_print, effect_op

_MODULES = {
    "pullback._compile": ("export_source",),
    "pullback.aot._api": (
        "BackwardSignature", "Joint", "Signature", "Traced", "aot_function", "collect_metadata", "explain",
        "joint_graph", "partition", "spec", "trace",
    ),
    "pullback.aot._disk": ("clear_cache", "set_cache_dir"),
    "pullback.aot._dynamic": ("mark_dynamic",),
    "pullback.aot._explain": ("Explanation",),
    "pullback.aot._function": ("reset",),
    "pullback.aot._metadata": (
        "InputAliasInfo", "MemoryFormatMeta", "MutationType", "OutputAliasInfo", "OutputType", "ViewAndMutationMeta",
    ),
    "pullback.aot._wrapper": ("wrap_payload",),
    "pullback.errors": (
        "AOTError", "AliasError", "CaptureError", "ConcretizationError", "ConstantMutationError", "DoubleBackwardError",
        "DynamicShapeError", "FunctionalizationError", "GuardError", "HigherOrderError", "LeakedTracerError",
        "NotCompiledError", "PartitionError", "RecompileLimitError", "SideEffectError", "TraceError", "TraceWarning",
        "UnsupportedTypeError",
    ),
    "pullback.graph.graph": ("Graph",),
    "pullback.library._effects": ("debug_print", "effect_op"),
}  # fmt: skip
__getattr__, __dir__ = _deferred(
    globals(), {name: module for module, names in _MODULES.items() for name in names}
)

__all__ = [
    "AOTError", "AliasError", "BackwardSignature", "CaptureError", "ConcretizationError", "ConstantMutationError",
    "DoubleBackwardError", "DynamicShapeError", "Explanation", "FunctionalizationError", "Graph", "GuardError",
    "HigherOrderError", "InputAliasInfo", "Joint", "LeakedTracerError", "MemoryFormatMeta", "MutationType",
    "NotCompiledError", "OutputAliasInfo", "OutputType", "PartitionError", "RecompileLimitError", "SideEffectError",
    "Signature", "TraceError", "TraceWarning", "Traced", "UnsupportedTypeError", "ViewAndMutationMeta", "aot_function",
    "clear_cache", "collect_metadata", "debug_print", "effect_op", "explain", "export_source", "joint_graph",
    "mark_dynamic", "partition", "reset", "set_cache_dir", "spec", "trace", "wrap_payload",
]  # fmt: skip
