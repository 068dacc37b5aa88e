"""`compile_llvm`: a graph as a function of native code, with NumPy for what native code cannot do."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

from pullback.compiler.emit.flow import write_driver
from pullback.compiler.emit.module import Settings
from pullback.compiler.function import NativeFunction, Wrapping
from pullback.compiler.items.flow import Segment
from pullback.compiler.loops.planning import FOREIGN, Traits
from pullback.compiler.machine import jit, threads
from pullback.compiler.machine.entry import GOOD, Interface, MachineCode
from pullback.compiler.numpy_source.compiled import CompiledGraph
from pullback.compiler.numpy_source.function import FunctionWriter, fresh_outputs
from pullback.compiler.numpy_source.module import Module
from pullback.compiler.pipeline import prepared
from pullback.compiler.plan.plan import Plan, all_commands, is_parallel, plan_segment
from pullback.compiler.report import foreign_nodes, kernels_of
from pullback.core.reports import report, reported
from pullback.graph.ir import Node, Program
from pullback.graph.text.printing import bodies_of


class Options:
    """How native code is made."""

    def __init__(
        self, fastmath: bool = False, portable: bool = False, threads: int | None = None, effort: int | None = None
    ) -> None:
        self.fastmath = fastmath
        self.portable = portable  # no libmvec and no C entry: what runs everywhere
        self.threads = threads  # 1: nothing is shared, whatever `set_num_threads` says
        self.effort = effort  # None: quick code at first, good code for what is called often


class NativeSegment(NativeFunction):
    """A segment made a function of arrays."""

    def __init__(self, segment: Segment, options: Options) -> None:
        with reported(f"plan of {len(segment.items)} operators", "plan"):
            self.plan: Plan = plan_segment(segment)
        has_libmvec = not options.portable and jit.has_libmvec()
        shares = options.threads != 1 and threads.is_possible() and any(map(is_parallel, all_commands(self.plan)))
        if shares:
            threads.prepare()
        self.settings = Settings(has_libmvec, options.fastmath, shares)
        constants = [value.node.attrs["value"] for value in segment.constants if value.node is not None]
        interface = Interface(
            tuple([value.type for value in segment.inputs]), tuple([value.type for value in segment.results]),
            tuple(constants), self.plan.arena_bytes, self.plan.work,
        )  # fmt: skip
        effort = GOOD if options.fastmath and options.effort is None else options.effort
        super().__init__(write_driver(self.plan, self.settings), interface, effort, options.portable)


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
        parts = [node.attrs["segment"] for node in cut.nodes if node.op == "native"]
        self.segments: list[NativeSegment] = []
        for number, part in enumerate(parts):
            with reported(f"LLVM {number + 1} of {len(parts)}"):
                self.segments.append(NativeSegment(part, options))
        self._of_segment = {each.plan.segment: each for each in self.segments}
        took = 1e3 * (time.perf_counter() - began)
        report(f"graph {program.name}, {len(program.nodes)} nodes, native in {took:.1f} ms")

    @cached_property
    def flat(self) -> Callable[..., tuple[Any, ...]]:
        """The function of arrays that returns a tuple; the native function itself if it does everything."""
        whole = self._whole()
        return self._build(False)[0] if whole is None else whole.call

    def guarded(
        self, miss: Any, wrapping: Wrapping | None = None
    ) -> tuple[Callable[..., Any], list[tuple[str, int]]] | None:
        """A native function of the inputs that returns `miss`, and does nothing, for arrays that are not writeable or
        not as the graph says, and where the outputs of the graph are: each `("result", k)` of it; `("wrapped", k)`, if
        it is in an instance of the class of `wrapping`; `("alone", k)`, if it is also returned without a tuple; or
        `("input", k)`. None if NumPy has a part in it."""
        found = self.only_function
        return None if found is None else found[0].guarded(miss, found[1], wrapping)

    @property
    def only_function(self) -> tuple[NativeSegment, list[tuple[str, int]]] | None:
        """The native function that does everything, and where the outputs of the graph are, as `guarded` says it."""
        node = self._only_node()
        if node is None:
            return None
        places: dict[Any, tuple[str, int]] = {value: ("input", k) for k, value in enumerate(self.program.inputs)}
        places.update({value: ("result", k) for k, value in enumerate(node.results)})
        if not all(value in places for value in self.program.outputs):
            return None
        return self._of_segment[node.attrs["segment"]], [places[value] for value in self.program.outputs]

    @cached_property
    def boxed(self) -> Callable[[list[Any]], list[Any]]:
        """The function of a list that returns a list."""
        whole = self._whole()
        if whole is None:
            return self._build(True)[0]

        def call(arrays: list[Any]) -> list[Any]:
            given = tuple(arrays)
            arrays.clear()
            return list(whole.call(*given))

        return call

    def _whole(self) -> NativeSegment | None:
        """The one native function that does everything, if there is."""
        node = self._only_node()
        if node is None or list(node.results) != self.program.outputs:
            return None
        return self._of_segment[node.attrs["segment"]]

    def _only_node(self) -> Node | None:
        """The node of a native function of all inputs, if there is no other node."""
        nodes = self.program.nodes
        if len(nodes) != 1 or nodes[0].op != "native" or self.fresh:
            return None
        return nodes[0] if list(nodes[0].operands) == self.program.inputs else None

    def _writer(self, module: Module) -> FunctionWriter:
        # Bodies of control flow are written by a writer of the same class, so the class knows the options.
        kind = type("NativeWriter", (_NativeWriter,), {"options": self.options, "known": self._of_segment})
        return kind(module, self.program, self.fresh, is_portable=False)

    @property
    def left_to_numpy(self) -> list[str]:
        """The operators that are called as their NumPy kernels, between native functions."""
        return [operator for operator, _ in foreign_nodes(self.program)]

    def llvm_ir(self) -> str:
        """The LLVM IR of all native functions, before LLVM's passes."""
        return "\n".join(each.llvm_ir for each in self.segments)

    def assembly(self) -> str:
        """Their machine code as text."""
        return "\n".join(jit.assembly_of(each.llvm_ir) for each in self.segments)

    def kernels(self, measure: bool = False) -> list[dict[str, Any]]:
        """Every loop nest and every product: operators, lengths of loops, bytes, operations, estimated nanoseconds, and
        with `measure` how long it takes, alone and on arrays of its own."""
        return [kernel for each in self.segments for kernel in kernels_of(each.plan, each.settings, measure)]

    @property
    def codes(self) -> list[MachineCode]:
        """The machine code of all native functions."""
        return [each.code for each in self._of_segment.values()]


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




def left_to_numpy(graph: Program) -> list[tuple[str, str]]:
    """The operators of a graph that would be called as their NumPy kernels, each with the reason, and those in the
    bodies of loops that are not native. Nothing is made."""
    cut = prepared(graph)
    inside = [each for node in cut.nodes for body in bodies_of(node).values() for each in left_to_numpy(body)]
    return [*foreign_nodes(cut), *inside]


def compile_llvm(
    graph: Program, example_types: Any = None, *, fresh: Collection[int] | None = None, fastmath: bool = False,
    portable: bool = False, threads: int | None = None, effort: int | None = None,
) -> NativeGraph:  # fmt: skip
    """Native code for a graph, called as what `compile_numpy` returns is.

    `portable` uses neither glibc's vector functions nor a C entry; `fastmath` lets LLVM reorder and contract. With
    `effort=0` LLVM takes no time to make code good, with 2 it does; otherwise it does when a function was called often.
    """
    return NativeGraph(graph, Options(fastmath, portable, threads, effort), fresh)
