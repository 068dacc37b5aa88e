"""The plan of a segment: its commands, which are launches of kernels, calls of BLAS, and loops of commands.

What is neither an input nor a constant nor a result lies in the arena, at places that are planned from the commands
between which it is needed. `emit/flow.py` writes the functions that run the commands.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from pullback.compiler.items import blas
from pullback.compiler.items.blas import cut_of
from pullback.compiler.items.common import Assembly, Part, frame
from pullback.compiler.items.flow import Flow, Segment
from pullback.compiler.items.loops import Routine
from pullback.compiler.loops.access import own_strides, squeezed
from pullback.compiler.loops.fusion import Element, Group, Item, fuse
from pullback.compiler.loops.inlining import inlined
from pullback.compiler.loops.kernel import STATUS, Compute, Kernel, Reduce, Scratch
from pullback.compiler.loops.planning import Lifetime, arena_offsets
from pullback.compiler.loops.scalars import EXPENSIVE
from pullback.compiler.loops.text import width_of
from pullback.compiler.plan.columns import in_columns
from pullback.compiler.plan.commands import Call, RoutineCall
from pullback.compiler.plan.launches import Launch, launches_of
from pullback.compiler.plan.tiles import Tiled, tiled
from pullback.core.records import Record, replace
from pullback.graph.ir import Value

PARALLEL_FROM = 20_000
"""Estimated nanoseconds of work from which on threads share a kernel."""


class Draft(Record, frozen=True, eq=False):
    """What is known of the plan of a segment. Each step of `PLAN` takes one, leaves it alone, and returns another."""

    segment: Segment
    items: Sequence[Item] = ()
    groups: tuple[Group, ...] = ()
    overwritten: Mapping[Any, Any] = {}  # values that are written over, with what is written there
    commands: tuple[Command, ...] = ()
    offsets: Mapping[Any, int] = {}  # where buffers lie in the arena
    arena_bytes: int = 0

    def final(self, buffer: Any) -> Any:
        """The value in whose memory a buffer lies in the end."""
        return final(buffer, self.overwritten)

    @property
    def given(self) -> set[Any]:
        """The buffers that are not in the arena."""
        return {*self.segment.inputs, *self.segment.constants, *self.segment.results, STATUS}


def inline_cheap(draft: Draft) -> Draft:
    """What is cheap is computed where it is read."""
    return replace(draft, items=inlined(draft.segment.items, draft.segment.results))


def fuse_items(draft: Draft) -> Draft:
    """Items share loops."""
    return replace(draft, groups=tuple(fuse(draft.items)))


# `frame_updates`: an update that cannot be made in the memory of its base copies what is around it, and not what it
# replaces.
#
#     out = u.copy(); out[1:-1] = new          out[0] = u[0]; out[-1] = u[-1]; out[1:-1] = new
#
# Its parts do not overlap then, so that whoever computes the new values can write them where they belong.


def frame_updates(draft: Draft) -> Draft:
    """Updates of boxes whose bases are kept, as assemblies of parts that are apart."""
    made = list(draft.groups)
    for place, group in enumerate(made):
        item = group.items[0]
        if item.node.op == "update" and isinstance(item.what, Assembly) and len(item.what.parts) == 2:
            whole, inside = item.what.parts
            around = frame(whole, inside) if isinstance(whole.source, Element) else None
            if around is not None:
                # path: frame of an update
                parts = (*around, inside)
                what = Assembly(parts, are_apart=True)
                made[place] = _with_first(group, replace(item, what=what, reads=tuple([part.source for part in parts])))
    return replace(draft, groups=tuple(made))


# `write_in_place`: what an array is put together from is written where it belongs by the loops that compute it.
#
#     concat([u[:, None], zeros, v[:, None]], axis=1)      for i:  out[i, 0] = ..., out[i, 1] = 0.0, out[i, 2] = ...
#
# An assembly copies every part into its place. A part that a group computes in loops of the same lengths need not get
# to memory before: the group writes it into the array. What is known besides, a number or an input, is written by the
# same loops, so that rows are written at once.

_LONG_ROW = 32
"""Elements from which on rows that lie apart from each other are as good as one long row."""


def write_in_place(draft: Draft) -> Draft:
    """Take from assemblies the parts that other groups can write. What writes over older values is left alone."""
    groups = draft.groups
    positions = {value: place for place, group in enumerate(groups) for item in group.items for value in item.results}
    older = set(draft.overwritten.values())
    changed: dict[int, Item] = {}
    placed: dict[int, list[tuple[Value, Part]]] = defaultdict(list)
    for place, group in enumerate(groups):
        item = group.items[0]
        if isinstance(item.what, Assembly) and item.what.are_apart and item.result not in older:
            hosts = _Hosts(groups[:place], positions, item.result, placed)
            left = [part for part in item.what.parts if not hosts.take(part)]
            left = [part for part in left if not hosts.take_along(part)]
            what = Assembly(tuple(left), are_apart=True)
            changed[place] = replace(item, what=what, reads=tuple([part.source for part in left]))
    made = [_with_first(group, changed.get(place)) for place, group in enumerate(groups)]
    for place, parts in placed.items():
        made[place] = replace(made[place], placed=tuple(parts))
    return replace(draft, groups=tuple(made), overwritten=_with_last(draft.overwritten))


def _with_first(group: Group, item: Item | None) -> Group:
    return group if item is None else replace(group, items=[item, *group.items[1:]])


class _Hosts:
    """The groups that run before an assembly, and those of them that write parts of its result."""

    def __init__(
        self, groups: Sequence[Group], positions: Mapping[Any, int], result: Value,
        placed: dict[int, list[tuple[Value, Part]]],
    ) -> None:  # fmt: skip
        self.groups = groups
        self.positions = positions
        self.result = result
        self.placed = placed  # by position of a group
        self.found: set[int] = set()

    def take(self, part: Part) -> bool:
        """Let the group that computes a part write it."""
        place = self._made(part)
        if place < 0 or not _computes(self.groups[place], part):
            return False
        # path: written in place
        self.placed[place].append((self.result, part))
        self.found.add(place)
        return True

    def take_along(self, part: Part) -> bool:
        """Let a group that writes another part write one that is there before it."""
        for place in sorted(self.found, reverse=True):
            if self._made(part) < place and self.groups[place].shape == part.lengths and _is_good(part):
                self.placed[place].append((self.result, part))
                return True
        return False

    def _made(self, part: Part) -> int:
        """The position of the group that makes what a part is, -1 if there is none."""
        return self.positions.get(part.source.root, -1) if isinstance(part.source, Element) else -1


def _computes(group: Group, part: Part) -> bool:
    """Does a group compute a part element by element, in loops that go well with its place?"""
    source = part.source
    own = source.root.type
    if group.shape != part.lengths or group.reduced is not None or squeezed(own.shape) != group.shape:
        return False
    return not source.offset and source.strides == own_strides(own) and _is_good(part)


def _is_good(part: Part) -> bool:
    """Is a place filled in one loop, or row by row with long rows?"""
    lengths, strides = part.lengths, part.strides
    is_even = all(strides[k] == strides[k + 1] * lengths[k + 1] for k in range(len(lengths) - 1))
    return is_even or lengths[-1] >= _LONG_ROW


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


class Plan(Record, frozen=True, eq=False):
    """The commands of a segment and where buffers lie in the arena."""

    segment: Segment
    commands: tuple[Command, ...]
    offsets: Mapping[Any, int]
    arena_bytes: int
    overwritten: Mapping[Any, Any]  # values that an update writes over, with its result

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


def launch(draft: Draft) -> Draft:
    """Groups become commands."""
    wanted = _wanted(draft)
    commands: list[Command] = []
    for group in draft.groups:
        item = group.items[0]
        if isinstance(item.what, blas.Product):
            left, right = item.reads
            commands.append(Call(item.what, left, right, item.result))
        elif isinstance(item.what, Routine):
            commands.append(RoutineCall(item.what, item.reads, item.results[: item.what.results]))
        elif isinstance(item.what, Flow):
            commands.append(_flow_call(item.what, item))
        else:
            commands += launches_of(group, wanted)
    return replace(draft, commands=tuple(commands))


def tile_rows(draft: Draft) -> Draft:
    """Commands that go along the same rows do so a few rows at a time."""
    return replace(draft, commands=tuple(tiled(draft.commands, draft.segment.results, draft.final)))


def column_layout(draft: Draft) -> Draft:
    """What nobody else sees lies column by column where that is better."""
    return replace(draft, commands=tuple(in_columns(draft.commands, draft.given, draft.final)))


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


def final(buffer: Any, overwritten: Mapping[Any, Any]) -> Any:
    """The value in whose memory a buffer lies in the end."""
    while buffer in overwritten:
        buffer = overwritten[buffer]
    return buffer


def _with_last(overwritten: Mapping[Any, Any]) -> dict[Any, Any]:
    """With the last result of each chain: of a thousand updates in a row everybody would go along all."""
    found: dict[Any, Any] = {}
    for buffer, result in reversed(list(overwritten.items())):
        found[buffer] = found.get(result, result)
    return found


def write_over(draft: Draft) -> Draft:
    """The bases of updates that nobody reads afterwards are written over, and not copied."""
    groups, segment = draft.groups, draft.segment
    own = {value for group in groups for item in group.items for value in item.results} - set(segment.results)
    last_read: dict[Value, int] = {}
    for position, group in enumerate(groups):
        for item in group.items:
            last_read.update(dict.fromkeys(item.roots, position))
    found: dict[Any, Any] = {}
    made = list(groups)
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
            # path: update in place
            found[base.root] = item.result
            made[position] = _with_first(group, replace(item, what=Assembly(item.what.parts[1:])))
    return replace(draft, groups=tuple(made), overwritten=found)


def _wanted(draft: Draft) -> set[Value]:
    """The values that are read outside of their group."""
    wanted = set(draft.segment.results)
    for group in draft.groups:
        own = {value for item in group.items for value in item.results}
        placed = [part.source.root for _, part in group.placed if isinstance(part.source, Element)]
        wanted.update({*placed, *(root for item in group.items for root in item.roots)} - own)
    return wanted


def place_in_arena(draft: Draft) -> Draft:
    """Every buffer gets its place, from the commands between which it is needed."""
    given = draft.given
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for position, command in enumerate(draft.commands):
        for each in command.buffers:
            buffer = draft.final(each)
            if buffer not in given:
                first.setdefault(buffer, position)
                last[buffer] = position
    lifetimes = [Lifetime(first[b], last[b], _room(b.nbytes)) for b in first]
    offsets, size = (arena_offsets if len(lifetimes) <= _FEW_BUFFERS else quick_offsets)(lifetimes)
    return replace(draft, offsets=dict(zip(first, offsets, strict=True)), arena_bytes=size)


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


PLAN: tuple[Callable[[Draft], Draft], ...] = (
    inline_cheap,    # what is cheap is computed where it is read
    fuse_items,      # loops are shared
    write_over,      # updates in the memory of what they update
    frame_updates,   # others copy what they do not replace
    write_in_place,  # parts are written where they belong
    launch,          # groups become commands
    tile_rows,       # a few rows at a time
    column_layout,   # columns where rows are short
    place_in_arena,  # memory for what is in between
)  # fmt: skip


def plan_segment(segment: Segment) -> Plan:
    """What becomes of a segment, behind all steps."""
    draft = Draft(segment)
    for step in PLAN:
        draft = step(draft)
    return Plan(segment, draft.commands, draft.offsets, draft.arena_bytes, draft.overwritten)


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
