"""The NumPy backend: a graph becomes readable Python source that calls NumPy, and `exec` makes it a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pullback.core.lazy import deferred as _deferred

if TYPE_CHECKING:  # loaded when they are first asked for, below
    from pullback.compiler.numpy_source.compiled import CompiledGraph, compile_numpy
    from pullback.compiler.numpy_source.export import export_source
    from pullback.compiler.numpy_source.records import read_record, write_record

_MODULES = {
    "CompiledGraph": "compiled", "compile_numpy": "compiled", "export_source": "export", "read_record": "records",
    "write_record": "records",
}  # fmt: skip
__getattr__, __dir__ = _deferred(
    globals(), {name: f"pullback.compiler.numpy_source.{module}" for name, module in _MODULES.items()}
)

__all__ = ["CompiledGraph", "compile_numpy", "export_source", "read_record", "write_record"]
