"""`compile_llvm`: a graph as a function of native code, with NumPy for what native code can not do."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

import numpy as np

from pullback.compiler.llvm import jit, layouts, pool
from pullback.compiler.llvm.driver import Call, Plan, is_parallel, plan_segment, summary, work_of, write_driver
from pullback.compiler.llvm.entry import entry_function
from pullback.compiler.llvm.native_call import portable_function
from pullback.compiler.llvm.segments import Segment, segmented
from pullback.compiler.numpy_source.compiled import CompiledGraph
from pullback.compiler.numpy_source.function import FunctionWriter, fresh_outputs
from pullback.compiler.numpy_source.module import Module
from pullback.compiler.passes.expand import expand
from pullback.compiler.planning import FOREIGN, Traits
from pullback.graph.ir import Node, Program
from pullback.graph.rewrite import dce


class Options:
    """How native code is made."""

    def __init__(
        self, fastmath: bool = False, portable: bool = False, threads: int | None = None, effort: int = 2
    ) -> None:
        self.fastmath = fastmath
        self.portable = portable  # no libmvec and no C entry: what runs everywhere
        self.threads = threads  # 1: nothing is shared, whatever `set_num_threads` says
        self.effort = effort


def prepared(program: Program) -> Program:
    """The passes in their order: what nobody needs goes before it is expanded, and segments are cut last."""
    return segmented(expand(dce(program)))


class NativeSegment:
    """A segment made a function of arrays."""

    def __init__(self, segment: Segment, options: Options) -> None:
        self.plan: Plan = plan_segment(segment)
        self.options = options
        has_libmvec = not options.portable and jit.has_libmvec()
        shares = options.threads != 1 and pool.is_possible() and any(map(is_parallel, self.plan.commands))
        if shares:
            pool.prepare()
        text = write_driver(self.plan, has_libmvec, options.fastmath, shares)
        constants = [value.node.attrs["value"] for value in segment.constants if value.node is not None]
        self.text = text
        _, (run,) = jit.load(*text, ("run",), options.effort)
        self.call: Callable[..., tuple[Any, ...]] = portable_function(self.plan, run, constants)
        if not options.portable and layouts.are_as_expected() and _has_plain_dtypes(segment):
            self.call = entry_function(self.plan, run, self.call, constants)

    @property
    def llvm_ir(self) -> str:
        """The text that LLVM gets."""
        return jit.assembled(*self.text)


def _has_plain_dtypes(segment: Segment) -> bool:
    """Are all dtypes those objects that NumPy gives to every new array? The entry compares addresses."""
    return all(value.type.dtype is np.dtype(value.type.dtype.char) for value in (*segment.inputs, *segment.results))


class NativeGraph(CompiledGraph):
    """A graph made native, with the same ways to call it as `CompiledGraph`.

    `source` shows the schedule: one statement for each native function and for each call of NumPy. `llvm_ir()`,
    `assembly()` and `kernels()` show what is inside.
    """

    def __init__(self, program: Program, options: Options, fresh: Collection[int] | None = None) -> None:
        began = time.perf_counter()
        fresh = fresh_outputs(program) if fresh is None else fresh
        cut = prepared(program)
        super().__init__(cut, fresh)
        self.original = program
        self.options = options
        self.segments = [NativeSegment(node.attrs["segment"], options) for node in cut.nodes if node.op == "native"]
        self._of_segment = {each.plan.segment: each for each in self.segments}
        if jit.is_logging():
            took = 1e3 * (time.perf_counter() - began)
            print(f"pullback compile: graph {program.name}, {len(program.nodes)} nodes, native in {took:.1f} ms")

    @cached_property
    def flat(self) -> Callable[..., tuple[Any, ...]]:
        """The function of arrays that returns a tuple; the native function itself if it does everything."""
        return self._whole() or self._build(False)[0]

    @cached_property
    def boxed(self) -> Callable[[list[Any]], list[Any]]:
        """The function of a list that returns a list."""
        whole = self._whole()
        if whole is None:
            return self._build(True)[0]

        def call(arrays: list[Any]) -> list[Any]:
            given = tuple(arrays)
            arrays.clear()
            return list(whole(*given))

        return call

    def _whole(self) -> Callable[..., tuple[Any, ...]] | None:
        nodes = self.program.nodes
        if len(nodes) != 1 or nodes[0].op != "native" or self.fresh:
            return None
        (node,) = nodes
        if list(node.operands) != self.program.inputs or list(node.results) != self.program.outputs:
            return None
        return self._of_segment[node.attrs["segment"]].call

    def _writer(self, module: Module) -> FunctionWriter:
        # Bodies of control flow are written by a writer of the same class, so the class knows the options.
        kind = type("NativeWriter", (_NativeWriter,), {"options": self.options, "known": dict(self._of_segment)})
        return kind(module, self.program, self.fresh, is_portable=False)

    @property
    def left_to_numpy(self) -> list[str]:
        """The operators that are called as their NumPy kernels, between native functions."""
        kinds = ("native", "constant", "store")
        return [node.op for node in self.program.nodes if node.op not in kinds and not node.is_view]

    def llvm_ir(self) -> str:
        """The LLVM IR of all native functions, before LLVM's passes."""
        return "\n".join(each.llvm_ir for each in self.segments)

    def assembly(self) -> str:
        """Their machine code as text."""
        return "\n".join(jit.assembly_of(each.llvm_ir) for each in self.segments)

    def kernels(self) -> list[dict[str, Any]]:
        """Every loop nest and every product: operators, lengths of loops, bytes, operations, estimated nanoseconds."""
        found = []
        for each in self.segments:
            for command in each.plan.commands:
                entry: dict[str, Any] = {"nanoseconds": work_of(command)}
                if isinstance(command, Call):
                    product = command.product
                    entry.update(operators=(product.function,), loops=(product.rows, product.columns, product.terms))
                else:
                    entry.update(operators=command.nodes, loops=command.kernel.lengths, **summary(command.kernel))
                found.append(entry)
        return found


class _NativeWriter(FunctionWriter):
    """Writes the schedule: a `native` node is a call of its function."""

    options: Options
    known: dict[Segment, NativeSegment]

    def __init__(self, module: Module, program: Program, fresh: Collection[int] | None, is_portable: bool) -> None:
        if not any(node.op == "native" for node in program.nodes):
            program = prepared(program)
        super().__init__(module, program, fresh, is_portable)

    def traits_of(self, node: Node) -> Traits:
        """Results of native functions are new arrays, which nobody writes over."""
        return Traits(kind=FOREIGN) if node.op == "native" else super().traits_of(node)

    def _statement(self, node: Node) -> None:
        if node.op != "native":
            super()._statement(node)
            return
        segment = node.attrs["segment"]
        native = self.known.get(segment)
        if native is None:
            native = self.known[segment] = NativeSegment(segment, self.options)
        names = [self.name_result(value) for value in node.results]
        operators = [item.node.op for item in segment.items]
        function = self.module.bind(native.call, "native", f"native function of {len(operators)} operators")
        args = ", ".join(self.argument(x) for x in node.operands)
        shown = ", ".join(dict.fromkeys(operators))
        self.add(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {function}({args})", shown[:80])




def compile_llvm(
    graph: Program, example_types: Any = None, *, fresh: Collection[int] | None = None, fastmath: bool = False,
    portable: bool = False, threads: int | None = None, effort: int = 2,
) -> NativeGraph:  # fmt: skip
    """Native code for a graph, called as what `compile_numpy` returns is.

    `portable` uses neither glibc's vector functions nor a C entry; `fastmath` lets LLVM reorder and contract. With
    `effort=0` LLVM takes no time to make code good, for what runs only once.
    """
    return NativeGraph(graph, Options(fastmath, portable, threads, effort), fresh)
