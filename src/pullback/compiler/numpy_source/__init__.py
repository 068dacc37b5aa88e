"""The NumPy backend: a graph becomes readable Python source that calls NumPy, and `exec` makes it a function."""

from __future__ import annotations

from pullback.compiler.numpy_source.compiled import CompiledGraph, compile_numpy
from pullback.compiler.numpy_source.export import export_source

__all__ = ["CompiledGraph", "compile_numpy", "export_source"]
