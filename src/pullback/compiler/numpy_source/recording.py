"""Records of compiled graphs, which `stored.py` reads and describes."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from pullback.compiler.numpy_source import runtime
from pullback.compiler.numpy_source.function import FunctionWriter
from pullback.compiler.numpy_source.module import Binding, Module
from pullback.compiler.numpy_source.stored import StoredGraph
from pullback.declare.op import registry
from pullback.graph.ir import Program


def write_record(program: Program) -> tuple[StoredGraph, dict[str, Any] | None]:
    """A compiled graph and its record, which is None if it has none."""
    module = Module()
    name = module.name(program.name)
    module.functions.append(FunctionWriter(module, program, None, is_portable=False).write(name, False))
    source = module.source()
    names = {each: _described(binding) for each, binding in module.bindings.items()}
    record = None if None in names.values() else {"source": source, "function": name, "names": names}
    return StoredGraph(source, name, module.namespace()), record


def _described(binding: Binding) -> list[Any] | None:
    """What a name stands for, in words that can be stored."""
    value, role = binding
    name = getattr(value, "__name__", "")
    if isinstance(value, np.dtype):
        return ["dtype", value.str]
    if isinstance(value, (np.ndarray, np.generic)):
        return _described_array(value)
    if isinstance(value, np.ufunc) and getattr(np, name, None) is value:
        return ["numpy", name]
    if role == "helper" and getattr(runtime, name, None) is value:
        return ["helper", name]
    operator = role.partition(" ")[2]
    if operator in registry and registry[operator].kernel is value:
        return ["kernel", operator]
    return None


def _described_array(value: Any) -> list[Any] | None:
    if value.dtype.hasobject or not (value.flags.c_contiguous or value.flags.f_contiguous):
        return None
    order = "C" if value.flags.c_contiguous else "F"
    kind = "array" if isinstance(value, np.ndarray) else "scalar"
    text = base64.b64encode(value.tobytes(order)).decode()
    return [kind, value.dtype.str, list(value.shape), order, text]
