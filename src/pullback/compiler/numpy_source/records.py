"""Records of compiled graphs, which `stored.py` reads and describes."""

from __future__ import annotations

import base64
import itertools
import linecache
import weakref
from typing import Any

import numpy as np

from pullback.compiler.numpy_source import runtime
from pullback.compiler.numpy_source.function import FunctionWriter
from pullback.compiler.numpy_source.module import Binding, Module
from pullback.declare.op import registry
from pullback.graph.ir import Program, find_operator

# Compiled graphs as records of texts, from which another process makes the same functions without writing them.
#
#     {"source": "def forward(x): ...", "function": "forward", "names": {"two": ["array", ...], "exp": ["numpy",
# "exp"]}}
#
# A name of the source stands for a dtype, an array, a function of NumPy, the kernel of an operator, or a function of
# `runtime.py`. A graph that refers to anything else has no record. `recording.py` writes them.

_numbers = itertools.count(1)


class StoredGraph:
    """A compiled graph, as `CompiledGraph` is one: a function of a list, `flat`, and `source`."""

    def __init__(self, source: str, name: str, namespace: dict[str, Any]) -> None:
        self.source = source
        file = f"<pullback {name} from texts {next(_numbers)}>"
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
        exec(compile(source, file, "exec"), namespace)
        self.flat = namespace[name]
        weakref.finalize(self.flat, linecache.cache.pop, file, None)

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """Run on a list of arrays, which is empty afterwards."""
        given = tuple(arrays)
        arrays.clear()
        return list(self.flat(*given))


def read_record(record: Any) -> StoredGraph | None:
    """The compiled graph of a record; None if it is none of ours."""
    try:
        namespace = {each: _value(*described) for each, described in record["names"].items()}
        # path: source from disk
        return StoredGraph(record["source"], record["function"], {"np": np, **namespace})
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, SyntaxError):
        return None


def _value(kind: str, *parts: Any) -> Any:
    if kind == "dtype":
        return np.dtype(parts[0])
    if kind == "numpy":
        return getattr(np, parts[0])
    if kind == "helper":
        return getattr(runtime, parts[0])
    if kind == "kernel":
        return find_operator(parts[0]).kernel
    dtype, shape, order, text = parts
    array = np.frombuffer(base64.b64decode(text, validate=True), np.dtype(dtype)).reshape(shape, order=order)
    return array[()] if kind == "scalar" else array


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
