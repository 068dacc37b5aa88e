"""`compile_native`: native code for a graph, and the NumPy backend if anything goes wrong on the way.

A failure of the compiler is never one of the user's program: it is told once, with its reason, and the graph runs with
NumPy. llvmlite is looked for here, when native code is asked for, and not before.
"""

from __future__ import annotations

from typing import Any

from pullback import compiler
from pullback.compiler import numpy_source
from pullback.core.frames import warn
from pullback.core.reports import report
from pullback.errors import AOTError
from pullback.graph.ir import Program
from pullback.graph.pipeline import is_told

_told: set[str] = set()


class NativeCompilerWarning(UserWarning):
    """A graph could not be made native code, and runs with NumPy."""


def compile_native(
    graph: Program, example_types: Any = None, *, strict: bool = False, required: bool = True, **options: Any
) -> Any:
    """Native code for a graph. `strict` raises where otherwise there would be a warning; `required` raises if llvmlite
    cannot be imported."""
    try:
        compile_llvm = compiler.compile_llvm
    except ImportError as error:
        if required:
            raise AOTError(
                "native code needs llvmlite, which cannot be imported",
                why=str(error),
                fix='install it with `pip install "pullback[compile]"`, or say backend="numpy"',
            ) from error
        _tell(graph, error)
        return numpy_source.compile_numpy(graph)
    try:
        return compile_llvm(graph, example_types, **options)
    except Exception as error:
        if strict or is_told(error):
            raise
        _tell(graph, error)
        return numpy_source.compile_numpy(graph)


def read_native(record: Any, graph: Program, fastmath: bool) -> Any:
    """Native code of a record that another process left; None if there is none, or if anything is wrong with it."""
    if record is None:
        return None
    try:
        return compiler.read_native(record, graph, fastmath)
    except Exception as error:
        report(f"a record of {graph.name} cannot be used: {type(error).__name__}: {error}")
        return None


def write_native(made: Any) -> Any:
    """What another process needs to make this function again; None if it has to begin anew."""
    return compiler.write_native(made) if hasattr(made, "only_function") else None


def left_to_numpy(graph: Program) -> list[tuple[str, str]]:
    """The operators of a graph that native code calls as their NumPy kernels, each with the reason."""
    try:
        return compiler.left_to_numpy(graph)
    except Exception as error:
        return [(node.op, f"{type(error).__name__}: {error}") for node in graph.nodes]


def _tell(graph: Program, error: Exception) -> None:
    reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    if reason in _told:
        return
    _told.add(reason)
    notes = "; ".join(getattr(error, "__notes__", ()))
    where = notes or ", ".join(list(dict.fromkeys(node.op for node in graph.nodes))[:8])
    warn(
        f"graph {graph.name} runs with NumPy, because native code could not be made of it ({where}): {reason}",
        NativeCompilerWarning,
    )
