"""The module of a segment, and the functions in it that run commands one after the other.

Equal kernels are written once, and so are equal loops, which are functions of their own (`flow.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from pullback.compiler.emit.loops import write_kernel
from pullback.compiler.emit.tiles import TileText
from pullback.compiler.items import blas
from pullback.compiler.items import blas as blas_blocks
from pullback.compiler.items.loops import Routine
from pullback.compiler.loops.kernel import STATUS, Kernel
from pullback.compiler.loops.text import ALIGNED
from pullback.compiler.plan.commands import Call, RoutineCall
from pullback.compiler.plan.launches import Launch
from pullback.compiler.plan.plan import PARALLEL_FROM, FlowCall, Plan, final, is_parallel, work_of
from pullback.compiler.plan.tiles import Tiled

_INSIDE, _MOST_STEPS_INSIDE = 1000, 300
"""Estimated nanoseconds up to which a kernel becomes a part of the loop that launches it, and how many steps a loop may
have then in all: LLVM takes much longer for one long function than for several short ones."""


class ModuleText(NamedTuple):
    """The parts of a module's text, in which `NAME` stands for a name that is found out from them."""

    functions: list[str]
    externals: dict[str, str]


class Settings(NamedTuple):
    """How kernels are written."""

    has_libmvec: bool
    fastmath: bool
    threads: bool


class ModuleWriter:
    """Collects the functions of a module."""

    def __init__(self, settings: Settings, write_flow: Callable[[ModuleWriter, FlowCall, str], str]) -> None:
        self.settings = settings
        self.functions: list[str] = []
        self.externals: dict[str, str] = {}
        self._write_flow = write_flow
        self._kernels: dict[Kernel, str] = {}
        self._inside: dict[Kernel, str] = {}
        self._shared: set[Kernel] = set()
        self._products: dict[blas.Product, str] = {}
        self._routines: dict[Routine, str] = {}
        self._flows: dict[str, str] = {}

    def kernel(self, kernel: Kernel) -> str:
        """The name of a kernel's function."""
        if kernel not in self._kernels:
            name = self._kernels[kernel] = f"NAME_k{len(self._kernels)}"
            settings = self.settings
            text, declared = write_kernel(kernel, name, settings.has_libmvec, settings.fastmath)
            self.functions.append(text)
            self.externals.update(declared)
        return self._kernels[kernel]

    def kernel_inside(self, kernel: Kernel) -> str:
        """The name of the function that a kernel is where it becomes a part of the function that calls it."""
        if kernel not in self._inside:
            name = self._inside[kernel] = f"NAME_i{len(self._inside)}"
            settings = self.settings
            text, declared = write_kernel(kernel, name, settings.has_libmvec, settings.fastmath, is_inside=True)
            self.functions.append(text)
            self.externals.update(declared)
        return self._inside[kernel]

    def shared_kernel(self, kernel: Kernel) -> str:
        """The name of the function that threads call."""
        name = self.kernel(kernel)
        if kernel not in self._shared:
            self._shared.add(kernel)
            self.functions.append(_thunk(kernel, name))
        return f"{name}_t"

    def product(self, product: blas.Product) -> str:
        """The name of the function of a product that is cut into blocks."""
        if product not in self._products:
            name = self._products[product] = f"NAME_p{len(self._products)}"
            text, declared = blas_blocks.write_blocks(product, name)
            self.functions.append(text)
            self.externals.update(declared)
        return self._products[product]

    def routine(self, routine: Routine) -> str:
        """The name of the function that calls a routine."""
        if routine not in self._routines:
            name = self._routines[routine] = f"NAME_r{len(self._routines)}"
            text, declared = routine.write(name)
            self.functions.append(text)
            self.externals.update(declared)
        return self._routines[routine]

    def tiles(self, tiled: Tiled, final: Callable[[Any], Any]) -> str:
        """The name of the function of tiles; equal ones are one."""
        text = TileText(tiled, self.kernel, final)
        written = text.function("TILES")
        self.externals.update(text.externals)
        if written not in self._flows:
            self._flows[written] = f"NAME_t{len(self._flows)}"
            self.functions.append(written.replace("TILES", self._flows[written]))
        return self._flows[written]

    def flow(self, call: FlowCall) -> str:
        """The name of the function of a loop or a branch."""
        text = self._write_flow(self, call, "FLOW")
        if text not in self._flows:
            name = self._flows[text] = f"NAME_f{len(self._flows)}"
            self.functions.append(text.replace("FLOW", name))
        return self._flows[text]


class Schedule:
    """The lines of one function that runs commands. `entry` are those at its beginning.

    In a loop, kernels that take hardly longer than to call them become parts of the function.
    """

    def __init__(self, writer: ModuleWriter, is_loop: bool = False) -> None:
        self.writer = writer
        self.is_loop = is_loop
        self._steps = 0  # of the kernels so far
        self.entry: list[str] = []
        self.lines: list[str] = []
        self._count = 0

    def value(self, expression: str, is_at_entry: bool = False) -> str:
        """A new value."""
        self._count += 1
        (self.entry if is_at_entry else self.lines).append(f"%v{self._count} = {expression}")
        return f"%v{self._count}"

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")

    def at(self, pointer: str, offset: int, is_at_entry: bool = False) -> str:
        """A pointer so many bytes further."""
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}", is_at_entry) if offset else pointer

    def arena(self, plan: Plan, pointer: str, name: str = "%a") -> None:
        """The pointers into the arena."""
        for number, offset in enumerate(plan.offsets.values()):
            self.entry.append(f"{name}{number} = getelementptr i8, ptr {pointer}, i64 {offset}")

    def run(self, plan: Plan, names: dict[Any, str]) -> None:
        """The commands of a plan, one after the other."""
        for command in plan.commands:
            self.command(command, names, plan)

    def command(self, command: Any, names: dict[Any, str], plan: Plan) -> None:
        """One command of a plan."""
        if isinstance(command, Call):
            self._call(command, names)
        elif isinstance(command, RoutineCall):
            self._routine(command, names)
        elif isinstance(command, FlowCall):
            self._flow(command, names)
        elif isinstance(command, Tiled):
            self._tiles(command, names, plan)
        else:
            self._launch(command, names)

    def _call(self, call: Call, names: dict[Any, str]) -> None:
        left, right = (self.at(names[x.root], x.offset) for x in (call.left, call.right))
        blocks = blas_blocks.cut_of(call.product).blocks
        if blocks > 1:
            # path: BLAS in blocks
            name, grain = self.writer.product(call.product), _grain(blocks, work_of(call))
            self._share(name, [left, right, names[call.out]], blocks, grain, is_parallel(call))
            return
        # path: BLAS
        lines, declared = blas.write_call(call.product, left, right, names[call.out])
        self.lines += lines
        self.writer.externals.update(declared)

    def _routine(self, call: RoutineCall, names: dict[Any, str]) -> None:
        name = self.writer.routine(call.routine)
        operands = [self.at(names[x.root], x.offset) for x in call.reads[call.routine.writes_over :]]
        results = [names[value] for value in call.results]
        self.lines.append(f"call void @{name}({pointers_in([*operands, *results, names[STATUS]])})")

    def _flow(self, call: FlowCall, names: dict[Any, str]) -> None:
        name = self.writer.flow(call)
        pointers = [names[buffer] for buffer in (*call.buffers, STATUS)]
        self.lines.append(f"call void @{name}({', '.join(f'ptr {pointer}' for pointer in pointers)})")

    def _tiles(self, tiled: Tiled, names: dict[Any, str], plan: Plan) -> None:
        name = self.writer.tiles(tiled, lambda buffer: final(buffer, plan.overwritten))
        self._share(name, [names[buffer] for buffer in tiled.buffers], tiled.chunks, 1, is_parallel(tiled))

    def _launch(self, launch: Launch, names: dict[Any, str]) -> None:
        kernel = launch.kernel
        pointers = [self.at(names[b], offset) for b, offset in zip(launch.buffers, launch.offsets, strict=True)]
        if self.writer.settings.threads and is_parallel(launch):
            self._parallel(launch, pointers)
            return
        self._steps += len(kernel.steps)
        if self.is_loop and work_of(launch) < _INSIDE and self._steps <= _MOST_STEPS_INSIDE:
            # path: kernel inside of a loop
            self.lines.append(f"call void @{self.writer.kernel_inside(kernel)}({pointers_in(pointers)})")
            return
        args = ", ".join([*(f"ptr {pointer}" for pointer in pointers), "i64 0", f"i64 {kernel.units}"])
        self.lines.append(f"call void @{self.writer.kernel(kernel)}({args})")

    def _parallel(self, launch: Launch, pointers: list[str]) -> None:
        units = launch.kernel.units
        grain = _grain(units, work_of(launch))
        self._share(self.writer.shared_kernel(launch.kernel), pointers, units, grain, True)

    def _share(self, name: str, pointers: list[str], units: int, grain: int, is_parallel: bool) -> None:
        """Call a function that finds its pointers in a table, for all of its units."""
        table = self.value(f"alloca [{len(pointers)} x ptr]", is_at_entry=True)
        for place, pointer in enumerate(pointers):
            slot = self.value(f"getelementptr ptr, ptr {table}, i64 {place}", is_at_entry=True)
            self.lines.append(f"store ptr {pointer}, ptr {slot}")
        if not (is_parallel and self.writer.settings.threads):
            self.lines.append(f"call void @{name}(ptr {table}, i64 0, i64 {units})")
            return
        # path: threads
        self.writer.externals["pullback_parallel"] = "declare void @pullback_parallel(ptr, ptr, i64, i64)"
        self.lines.append(f"call void @pullback_parallel(ptr @{name}, ptr {table}, i64 {units}, i64 {grain})")

    def function(self, head: str, ending: str = "ret void") -> str:
        """The text of the function."""
        lines = [line if line.endswith(":") else f"  {line}" for line in (*self.entry, *self.lines)]
        return "\n".join([f"{head} nounwind {ALIGNED} {{", "entry:", *lines, f"  {ending}", "}"])


def _grain(units: int, work: float) -> int:
    """How many units a thread takes at a time."""
    return max(1, math.ceil(units * PARALLEL_FROM / 2 / work))


def pointers_in(parameters: Iterable[str]) -> str:
    """Parameters of a function that are pointers."""
    return ", ".join(f"ptr {name}" for name in parameters)


def numbered(name: str, values: Sequence[Any]) -> list[str]:
    """A name for each."""
    return [f"%{name}{number}" for number in range(len(values))]


def _thunk(kernel: Kernel, name: str) -> str:
    """The kernel as a function that finds its pointers in a table, which is how threads call it."""
    lines, args = [], []
    for number in range(kernel.parameters):
        lines.append(f"  %g{number} = getelementptr ptr, ptr %table, i64 {number}")
        lines.append(f"  %b{number} = load ptr, ptr %g{number}")
        args.append(f"ptr %b{number}")
    lines.append(f"  call void @{name}({', '.join([*args, 'i64 %begin', 'i64 %end'])})")
    head = f"define internal void @{name}_t(ptr %table, i64 %begin, i64 %end) nounwind {{"
    return "\n".join([head, *lines, "  ret void", "}"])
