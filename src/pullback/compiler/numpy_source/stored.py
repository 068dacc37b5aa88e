"""Compiled graphs as records of texts, from which another process makes the same functions without writing them.

    {"source": "def forward(x): ...", "function": "forward", "names": {"two": ["array", ...], "exp": ["numpy", "exp"]}}

A name of the source stands for a dtype, an array, a function of NumPy, the kernel of an operator, or a function of
`runtime.py`. A graph that refers to anything else has no record. `recording.py` writes them.
"""

from __future__ import annotations

import base64
import itertools
import linecache
import weakref
from typing import Any

import numpy as np

from pullback.compiler.numpy_source import runtime
from pullback.graph.operators import find_operator

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
