"""The module of a segment: its kernels, and `run`, which calls them one after the other.

    define void @NAME_run(ptr %table, ptr %arena)

The table has a pointer for every input, constant and result, in this order. Everything else lies in the arena, at
places that are planned from the launches between which it is needed. Equal kernels are written once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pullback.compiler.access import own_strides
from pullback.compiler.fusion import Element, Group, fuse
from pullback.compiler.inlining import inlined
from pullback.compiler.llvm import blas
from pullback.compiler.llvm.build import Launch, launches_of
from pullback.compiler.llvm.items import Assembly
from pullback.compiler.llvm.kernel import Compute, Kernel, Reduce, Scratch
from pullback.compiler.llvm.loops import write_kernel
from pullback.compiler.llvm.scalars import EXPENSIVE
from pullback.compiler.llvm.segments import Segment
from pullback.compiler.llvm.text import width_of
from pullback.compiler.planning import Lifetime, arena_offsets
from pullback.graph.ir import Value

PARALLEL_FROM = 20_000
"""Estimated nanoseconds of work from which on threads share a kernel."""


class Call(NamedTuple):
    """A product of matrices: two operands with their offsets in bytes, and the result."""

    product: blas.Product
    left: Element
    right: Element
    out: Value

    @property
    def buffers(self) -> tuple[Any, ...]:
        """The buffers it reads and writes."""
        return (self.left.root, self.right.root, self.out)


Command = Launch | Call


@dataclass(frozen=True)
class Plan:
    """The commands of a segment and where buffers lie in the arena."""

    segment: Segment
    commands: tuple[Command, ...]
    offsets: dict[Any, int]
    arena_bytes: int
    overwritten: dict[Any, Any]  # values that an update writes over, with its result

    @cached_property
    def work(self) -> float:
        """Estimated nanoseconds."""
        return sum(work_of(command) for command in self.commands)

    @cached_property
    def given(self) -> list[Value]:
        """The values that the table has pointers to."""
        return [*self.segment.inputs, *self.segment.constants, *self.segment.results]

    @cached_property
    def names(self) -> dict[Any, str]:
        """What `run` calls the pointer to each buffer."""
        names: dict[Any, str] = {buffer: f"%a{number}" for number, buffer in enumerate(self.offsets)}
        names.update({value: f"%b{number}" for number, value in enumerate(self.given)})
        names.update({value: names[final(value, self.overwritten)] for value in self.overwritten})
        return names


def work_of(command: Command) -> float:
    """Estimated nanoseconds of a command, on one thread."""
    if isinstance(command, Call):
        product = command.product
        return 2.0 * product.rows * product.columns * product.terms / (40 if product.kind == "f8" else 80)
    kernel = command.kernel
    per_point = 0.1 * sum(width_of(ref.kind) / 8 for ref in kernel.references)
    for step in kernel.steps:
        if type(step) is Compute:
            per_point += 1.5 if step.name in EXPENSIVE else 0.5 if step.name in ("div", "sqrt") else 0.1
    return kernel.size * per_point


def plan_segment(segment: Segment) -> Plan:
    """Fuse, and give every buffer its place."""
    groups = fuse(inlined(segment.items, segment.results))
    wanted = _wanted(groups, segment)
    overwritten = _overwritten(groups, segment)
    commands: list[Command] = []
    for group in groups:
        what = group.items[0].what
        if isinstance(what, blas.Product):
            left, right = group.items[0].reads
            commands.append(Call(what, left, right, group.items[0].result))
        else:
            commands += launches_of(group, wanted)
    offsets, size = _arena(commands, segment, overwritten)
    return Plan(segment, tuple(commands), offsets, size, overwritten)


def final(buffer: Any, overwritten: dict[Any, Any]) -> Any:
    """The value in whose memory a buffer lies in the end."""
    while buffer in overwritten:
        buffer = overwritten[buffer]
    return buffer


def _overwritten(groups: list[Group], segment: Segment) -> dict[Any, Any]:
    """The bases of updates that nobody reads afterwards: they are written over, and not copied."""
    own = {item.result for group in groups for item in group.items} - set(segment.results)
    last_read: dict[Value, int] = {}
    for position, group in enumerate(groups):
        for item in group.items:
            last_read.update(dict.fromkeys(item.roots, position))
    found: dict[Any, Any] = {}
    for position, group in enumerate(groups):
        item = group.items[0]
        if item.node.op != "update" or not isinstance(item.what, Assembly):
            continue
        base = item.reads[0]
        if not isinstance(base, Element) or base.root not in own or item.roots.count(base.root) != 1:
            continue
        is_whole = not base.offset and base.root.type == item.result.type == item.node.operands[0].type
        if is_whole and last_read[base.root] == position and base.strides == own_strides(base.root.type):
            found[base.root] = item.result
            item.what = Assembly(item.what.parts[1:])
    return found


def _wanted(groups: list[Group], segment: Segment) -> set[Value]:
    """The values that are read outside of their group."""
    wanted = set(segment.results)
    for group in groups:
        own = {item.result for item in group.items}
        wanted.update(root for item in group.items for root in item.roots if root not in own)
    return wanted


def _arena(commands: list[Command], segment: Segment, overwritten: dict[Any, Any]) -> tuple[dict[Any, int], int]:
    given = {*segment.inputs, *segment.constants, *segment.results}
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for position, command in enumerate(commands):
        for each in command.buffers:
            buffer = final(each, overwritten)
            if buffer not in given:
                first.setdefault(buffer, position)
                last[buffer] = position
    lifetimes = [Lifetime(first[b], last[b], b.nbytes if isinstance(b, Scratch) else b.type.nbytes) for b in first]
    offsets, size = (arena_offsets if len(lifetimes) <= _FEW_BUFFERS else quick_offsets)(lifetimes)
    return dict(zip(first, offsets, strict=True)), size


_FEW_BUFFERS = 200


def quick_offsets(lifetimes: list[Lifetime]) -> tuple[list[int], int]:
    """Places in an arena for very many pieces: memory is used again for pieces of the same size alone."""
    free: dict[int, list[int]] = defaultdict(list)
    ending: dict[int, list[tuple[int, int]]] = defaultdict(list)
    offsets, total, now = [0] * len(lifetimes), 0, -1
    for number in sorted(range(len(lifetimes)), key=lambda k: lifetimes[k].start):
        own = lifetimes[number]
        while now < own.start:
            for size, offset in ending.pop(now, ()):
                free[size].append(offset)
            now += 1
        size = -(-own.nbytes // 64) * 64
        if free[size]:
            offsets[number] = free[size].pop()
        else:
            offsets[number], total = total, total + size
        ending[own.stop].append((size, offsets[number]))
    return offsets, total


class ModuleText(NamedTuple):
    """The parts of a module's text, in which `NAME` stands for a name that is found out from them."""

    functions: list[str]
    externals: dict[str, str]


def write_driver(plan: Plan, has_libmvec: bool, fastmath: bool, threads: bool) -> ModuleText:
    """Kernels and `run`."""
    names: dict[Kernel, str] = {}
    shared: set[Kernel] = set()
    functions: list[str] = []
    externals: dict[str, str] = {}
    lines = _pointers(plan)
    for number, command in enumerate(plan.commands):
        if isinstance(command, Call):
            written, declared = _call_text(command, plan, number)
            lines += written
            externals.update(declared)
            continue
        kernel = command.kernel
        if kernel not in names:
            names[kernel] = f"NAME_k{len(names)}"
            text, declared = write_kernel(kernel, names[kernel], has_libmvec, fastmath)
            functions.append(text)
            externals.update(declared)
        lines += _launch_text(command, names[kernel], plan, number, threads)
        if threads and is_parallel(command) and kernel not in shared:
            shared.add(kernel)
            functions.append(_thunk(kernel, names[kernel]))
    body = "\n".join(f"  {line}" for line in lines)
    functions.append(f"define void @NAME_run(ptr %table, ptr %arena) nounwind {{\n{body}\n  ret void\n}}")
    if shared:
        externals["pullback_parallel"] = "declare void @pullback_parallel(ptr, ptr, i64, i64)"
    return ModuleText(functions, externals)


def is_parallel(command: Command) -> bool:
    """Is a command worth sharing among threads?"""
    return isinstance(command, Launch) and command.kernel.units > 1 and work_of(command) > PARALLEL_FROM


def _pointers(plan: Plan) -> list[str]:
    lines = []
    for number in range(len(plan.given)):
        lines.append(f"%g{number} = getelementptr ptr, ptr %table, i64 {number}")
        lines.append(f"%b{number} = load ptr, ptr %g{number}")
    for number, offset in enumerate(plan.offsets.values()):
        lines.append(f"%a{number} = getelementptr i8, ptr %arena, i64 {offset}")
    return lines


def _launch_text(launch: Launch, name: str, plan: Plan, number: int, threads: bool) -> list[str]:
    names = plan.names
    lines, pointers = [], []
    for place, (buffer, offset) in enumerate(zip(launch.buffers, launch.offsets, strict=True)):
        pointers.append(names[buffer])
        if offset:
            lines.append(f"%o{number}_{place} = getelementptr i8, ptr {names[buffer]}, i64 {offset}")
            pointers[-1] = f"%o{number}_{place}"
    units = launch.kernel.units
    if not (threads and is_parallel(launch)):
        args = ", ".join([*(f"ptr {pointer}" for pointer in pointers), "i64 0", f"i64 {units}"])
        return [*lines, f"call void @{name}({args})"]
    lines.append(f"%t{number} = alloca [{len(pointers)} x ptr]")
    for place, pointer in enumerate(pointers):
        lines.append(f"%t{number}_{place} = getelementptr ptr, ptr %t{number}, i64 {place}")
        lines.append(f"store ptr {pointer}, ptr %t{number}_{place}")
    grain = max(1, math.ceil(units * PARALLEL_FROM / 2 / work_of(launch)))
    lines.append(f"call void @pullback_parallel(ptr @{name}_t, ptr %t{number}, i64 {units}, i64 {grain})")
    return lines


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


def _call_text(call: Call, plan: Plan, number: int) -> tuple[list[str], dict[str, str]]:
    names = plan.names
    lines, pointers = [], []
    for side, element in (("l", call.left), ("r", call.right)):
        pointer = names[element.root]
        if element.offset:
            lines.append(f"%{side}{number} = getelementptr i8, ptr {pointer}, i64 {element.offset}")
            pointer = f"%{side}{number}"
        pointers.append(pointer)
    written, declared = blas.write_call(call.product, pointers[0], pointers[1], names[call.out])
    return [*lines, *written], declared


def summary(kernel: Kernel) -> dict[str, int]:
    """Bytes that a kernel moves and operations that it does."""
    moved = sum(
        width_of(ref.kind) * math.prod(n for n, s in zip(kernel.lengths, ref.strides, strict=True) if s)
        for ref in kernel.references
    )
    operations = sum(type(step) in (Compute, Reduce) for step in kernel.steps)
    return {"bytes": moved, "flops": operations * kernel.size}
