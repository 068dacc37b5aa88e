"""The plan of a segment: its commands, which are launches of kernels, calls of BLAS, and loops of commands.

What is neither an input nor a constant nor a result lies in the arena, at places that are planned from the commands
between which it is needed. `schedule.py` writes the functions that run the commands.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from pullback.compiler.access import own_strides
from pullback.compiler.fusion import Element, Group, Item, fuse
from pullback.compiler.inlining import inlined
from pullback.compiler.llvm import blas
from pullback.compiler.llvm.blas_blocks import cut_of
from pullback.compiler.llvm.bodies import Flow, Segment
from pullback.compiler.llvm.build import Launch, launches_of
from pullback.compiler.llvm.columns import in_columns
from pullback.compiler.llvm.commands import Call, RoutineCall
from pullback.compiler.llvm.destinations import write_in_place
from pullback.compiler.llvm.items import Assembly
from pullback.compiler.llvm.kernel import STATUS, Compute, Kernel, Reduce, Scratch
from pullback.compiler.llvm.routines import Routine
from pullback.compiler.llvm.scalars import EXPENSIVE
from pullback.compiler.llvm.text import width_of
from pullback.compiler.llvm.tile_parts import Tiled
from pullback.compiler.llvm.tiles import tiled
from pullback.compiler.planning import Lifetime, arena_offsets
from pullback.graph.ir import Value

PARALLEL_FROM = 20_000
"""Estimated nanoseconds of work from which on threads share a kernel."""


class Carried(NamedTuple):
    """Where the values that a loop carries lie in its scratch memory, in bytes from the beginning.

    Small ones lie together, once to be read and once to be written, so that two pointers lead to all of them. A large
    one that a scan carries has a single buffer here; the other one is the result.
    """

    blocks: tuple[int, int] = (0, 0)
    together: Mapping[int, int] = {}  # by its number, where in a block a value begins
    alone: Mapping[int, int] = {}
    truth: int = 0  # what the condition of a `while_loop` gives


class FlowCall(NamedTuple):
    """A loop or a branch with the plans of its bodies, and memory that nobody else uses in the meantime.

    The arena of the bodies lies at the beginning of the scratch memory.
    """

    flow: Flow
    plans: tuple[Plan, ...]
    known: tuple[Element, ...]  # constants of the bodies
    scratch: Scratch
    carried: Carried

    @property
    def buffers(self) -> tuple[Any, ...]:
        """The buffers it reads and writes."""
        given = (*self.flow.operands, *self.known, *self.flow.results)
        return (*dict.fromkeys([x.root for x in given]), self.scratch)


Command = Launch | Call | RoutineCall | FlowCall | Tiled


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

    def names(self, given: Sequence[str], arena: str = "%a") -> dict[Any, str]:
        """The pointer to each buffer, if those to what is given have these names."""
        names: dict[Any, str] = {buffer: f"{arena}{number}" for number, buffer in enumerate(self.offsets)}
        names[STATUS] = "%status"
        names.update(zip(self.given, given, strict=True))
        names.update({value: names[final(value, self.overwritten)] for value in self.overwritten})
        return names


_STEPS = 100  # of a `while_loop`, for want of knowledge


def work_of(command: Command) -> float:
    """Estimated nanoseconds of a command, on one thread."""
    if isinstance(command, Call):
        product = command.product
        return 2.0 * product.size / (40 if product.kind == "f8" else 80)
    if isinstance(command, RoutineCall):
        return command.routine.work
    if isinstance(command, Tiled):
        return sum(work_of(part.command) for part in command.parts)
    if isinstance(command, FlowCall):
        steps = command.flow.length if command.flow.op == "scan" else _STEPS if command.flow.op == "while_loop" else 1
        return steps * max(plan.work for plan in command.plans)
    kernel = command.kernel
    per_point = 0.1 * sum(width_of(ref.kind) / 8 for ref in kernel.references)
    for step in kernel.steps:
        if type(step) is Compute:
            per_point += 1.5 if step.name in EXPENSIVE else 0.5 if step.name in ("div", "sqrt") else 0.1
    return kernel.size * per_point


def plan_segment(segment: Segment) -> Plan:
    """Fuse, and give every buffer its place."""
    groups = fuse(inlined(segment.items, segment.results))
    overwritten = _overwritten(groups, segment)
    write_in_place(groups, overwritten)
    overwritten = _with_last(overwritten)
    wanted = _wanted(groups, segment)
    commands: list[Command] = []
    for group in groups:
        what = group.items[0].what
        if isinstance(what, blas.Product):
            left, right = group.items[0].reads
            commands.append(Call(what, left, right, group.items[0].result))
        elif isinstance(what, Routine):
            commands.append(RoutineCall(what, group.items[0].reads, group.items[0].results[: what.results]))
        elif isinstance(what, Flow):
            commands.append(_flow_call(what, group.items[0]))
        else:
            commands += launches_of(group, wanted)
    commands = tiled(commands, segment.results, lambda buffer: final(buffer, overwritten))
    given = {*segment.inputs, *segment.constants, *segment.results, STATUS}
    commands = in_columns(commands, given, lambda buffer: final(buffer, overwritten))
    offsets, size = _arena(commands, segment, overwritten)
    return Plan(segment, tuple(commands), offsets, size, overwritten)


_LARGE_CARRY = 4096


def _flow_call(flow: Flow, item: Item) -> FlowCall:
    plans = tuple([plan_segment(body) for body in flow.bodies])
    together: dict[int, int] = {}
    alone: dict[int, int] = {}
    block, end = 0, _aligned(max(plan.arena_bytes for plan in plans))
    for number, where in enumerate(flow.results[: flow.carried]):
        nbytes = where.root.type.nbytes
        if flow.op == "scan" and nbytes > _LARGE_CARRY:
            alone[number], end = end, _aligned(end + nbytes)
        else:
            together[number], block = block, block + -(-nbytes // 32) * 32
    block = _aligned(block)
    carried = Carried((end, end + block), together, alone, end + 2 * block)
    return FlowCall(flow, plans, item.reads[len(flow.operands) :], Scratch(carried.truth + 64), carried)


def _aligned(nbytes: int) -> int:
    return -(-nbytes // 64) * 64


def final(buffer: Any, overwritten: dict[Any, Any]) -> Any:
    """The value in whose memory a buffer lies in the end."""
    while buffer in overwritten:
        buffer = overwritten[buffer]
    return buffer


def _with_last(overwritten: dict[Any, Any]) -> dict[Any, Any]:
    """With the last result of each chain: of a thousand updates in a row everybody would go along all."""
    found: dict[Any, Any] = {}
    for buffer, result in reversed(overwritten.items()):
        found[buffer] = found.get(result, result)
    return found


def _overwritten(groups: list[Group], segment: Segment) -> dict[Any, Any]:
    """The bases of updates that nobody reads afterwards: they are written over, and not copied."""
    own = {value for group in groups for item in group.items for value in item.results} - set(segment.results)
    last_read: dict[Value, int] = {}
    for position, group in enumerate(groups):
        for item in group.items:
            last_read.update(dict.fromkeys(item.roots, position))
    found: dict[Any, Any] = {}
    for position, group in enumerate(groups):
        item = group.items[0]
        if isinstance(item.what, Routine) and item.what.writes_over:
            found[item.reads[0].root] = item.result  # a copy that was made for this
        if item.node.op not in ("update", "_index_put") or not isinstance(item.what, Assembly):
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
        own = {value for item in group.items for value in item.results}
        placed = [part.source.root for _, part in group.placed if isinstance(part.source, Element)]
        wanted.update({*placed, *(root for item in group.items for root in item.roots)} - own)
    return wanted


def _arena(commands: list[Command], segment: Segment, overwritten: dict[Any, Any]) -> tuple[dict[Any, int], int]:
    given = {*segment.inputs, *segment.constants, *segment.results, STATUS}
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for position, command in enumerate(commands):
        for each in command.buffers:
            buffer = final(each, overwritten)
            if buffer not in given:
                first.setdefault(buffer, position)
                last[buffer] = position
    lifetimes = [Lifetime(first[b], last[b], _room(b.nbytes)) for b in first]
    offsets, size = (arena_offsets if len(lifetimes) <= _FEW_BUFFERS else quick_offsets)(lifetimes)
    return dict(zip(first, offsets, strict=True)), size


_FEW_BUFFERS = 200
_LARGE, _PAGE, _APART = 1 << 14, 4096, 320


def _room(nbytes: int) -> int:
    """Bytes for a buffer. Large ones do not begin at the same place of a page: where a loop goes along many of them,
    their elements would all contend for the same few places of the cache."""
    return nbytes if nbytes < _LARGE else nbytes + (_APART - nbytes) % _PAGE


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


def is_parallel(command: Command) -> bool:
    """Is a command worth sharing among threads?"""
    if isinstance(command, Call):
        return cut_of(command.product).blocks > 1 and work_of(command) > PARALLEL_FROM
    if isinstance(command, Tiled):
        return command.chunks > 1 and work_of(command) > PARALLEL_FROM
    return isinstance(command, Launch) and command.kernel.units > 1 and work_of(command) > PARALLEL_FROM


def all_commands(plan: Plan) -> Iterator[Command]:
    """The commands of a plan, and those in the bodies of its loops."""
    for command in plan.commands:
        yield command
        if isinstance(command, Tiled):
            yield from (part.command for part in command.parts)
        if isinstance(command, FlowCall):
            for body in command.plans:
                yield from all_commands(body)


def summary(kernel: Kernel) -> dict[str, int]:
    """Bytes that a kernel moves and operations that it does."""
    moved = sum(
        width_of(ref.kind) * math.prod(n for n, s in zip(kernel.lengths, ref.strides, strict=True) if s)
        for ref in kernel.references
    )
    operations = sum(type(step) in (Compute, Reduce) for step in kernel.steps)
    return {"bytes": moved, "flops": operations * kernel.size}
