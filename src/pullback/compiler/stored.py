"""Native graphs as records of texts and numbers, of which another process makes the same function without planning.

A record has the text of the module, whose object code the other cache has (`object_cache`), what the function is called
with, and where the outputs of the graph are. Only a graph that is one native function has a record. Modules that write
native code are not even imported where a record is read.
"""

from __future__ import annotations

import base64
from functools import cached_property
from typing import Any

import numpy as np

from pullback import compiler
from pullback.compiler.function import NativeFunction
from pullback.compiler.machine import gufuncs, jit, symbols, threads
from pullback.compiler.machine.entry import Interface, MachineCode
from pullback.graph.ir import ArrayType, Program, array_type

_MOST_BYTES = 1 << 20  # of constants


class StoredGraph:
    """A native graph that was read, called as `NativeGraph` is. What can be looked at is made when it is asked for."""

    def __init__(self, function: NativeFunction, places: list[tuple[str, int]], graph: Program, fastmath: bool) -> None:
        self.function, self.places = function, places
        self.graph, self.fastmath = graph, fastmath
        results = [("result", k) for k in range(len(function.interface.results))]
        self.flat = function.call if places == results else self._with_inputs

    def _with_inputs(self, *arrays: Any) -> tuple[Any, ...]:
        """For a graph that returns some of its inputs."""
        made = self.function.call(*arrays)
        return tuple([made[k] if kind == "result" else arrays[k] for kind, k in self.places])

    def __call__(self, arrays: list[Any]) -> list[Any]:
        """Run on a list of arrays, which is empty afterwards."""
        given = tuple(arrays)
        arrays.clear()
        return list(self.flat(*given))

    def guarded(self, miss: Any, wrapping: Any = None) -> Any:
        """See `NativeGraph.guarded`."""
        return self.function.guarded(miss, self.places, wrapping)

    @cached_property
    def _planned(self) -> Any:
        return compiler.compile_llvm(self.graph, fastmath=self.fastmath)

    @property
    def codes(self) -> list[MachineCode]:
        """The machine code."""
        return [self.function.code]

    def kernels(self, measure: bool = False) -> list[dict[str, Any]]:
        """See `NativeGraph.kernels`."""
        found: list[dict[str, Any]] = self._planned.kernels(measure)
        return found

    def llvm_ir(self) -> str:
        """The LLVM IR, before LLVM's passes."""
        return self.function.llvm_ir

    def assembly(self) -> str:
        """The machine code as text."""
        return jit.assembly_of(self.function.llvm_ir)


def write_native(made: Any) -> dict[str, Any] | None:
    """The record of a native graph; None if it has none."""
    found = getattr(made, "only_function", None)
    if found is None:
        return None
    function, places = found
    interface = function.interface
    if not all(x.flags.c_contiguous for x in interface.constants) or sum(
        x.nbytes for x in interface.constants
    ) > _MOST_BYTES:
        return None
    functions, externals = function.text
    return {
        "functions": functions, "externals": externals, "places": places, "arena": interface.arena_bytes,
        "work": interface.work, "inputs": [*map(_written, interface.inputs)],
        "results": [*map(_written, interface.results)],
        "constants": [[x.dtype.str, x.shape, base64.b64encode(x.tobytes()).decode()] for x in interface.constants],
    }  # fmt: skip


def read_native(record: Any, graph: Program, fastmath: bool) -> StoredGraph | None:
    """The native graph of a record; None if there is none, or if it calls what is not there."""
    if not isinstance(record, dict) or not _provide(record["externals"]):
        return None
    interface = Interface(
        tuple([_type(each) for each in record["inputs"]]), tuple([_type(each) for each in record["results"]]),
        tuple([_constant(*each) for each in record["constants"]]), record["arena"], record["work"],
    )  # fmt: skip
    # path: function from disk
    function = NativeFunction((record["functions"], record["externals"]), interface, 2 if fastmath else None)
    return StoredGraph(function, [(kind, k) for kind, k in record["places"]], graph, fastmath)


def _provide(externals: dict[str, str]) -> bool:
    """Is there everything that a module calls? LLVM ends the process if something is missing."""
    if "pullback_parallel" in externals:
        if not threads.is_possible():
            return False
        threads.prepare()
    if threads.ENTER in externals and not threads.can_guard():
        return False
    return all(name.startswith("llvm.") or gufuncs.provide(name) or symbols.exists(name) for name in externals)


def _written(type_: ArrayType) -> list[Any]:
    return [type_.dtype.str, type_.shape, type_.strides]


def _type(written: list[Any]) -> ArrayType:
    dtype, shape, strides = written
    return array_type(tuple(shape), np.dtype(dtype), None if strides is None else tuple(strides))


def _constant(dtype: str, shape: list[int], data: str) -> Any:
    return np.frombuffer(base64.b64decode(data), dtype).reshape(shape).copy()
