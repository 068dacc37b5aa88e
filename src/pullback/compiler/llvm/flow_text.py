"""Loops and branches as functions of pointers: to what they read and write, and to scratch memory.

A value that a loop carries has two buffers, which take turns: a step reads where the one before it wrote. Small values
lie together, so that a loop has two pointers for all of them; they are copied there from the operands and from there to
the results. A large one that a scan carries is read from the operand itself at first, and since the number of steps is
known, the last one writes into the result.
"""

from __future__ import annotations

from typing import Any

from pullback.compiler.fusion import Element
from pullback.compiler.llvm.driver import FlowCall, Plan
from pullback.compiler.llvm.run_text import write_run
from pullback.compiler.llvm.schedule import ModuleText, ModuleWriter, Schedule, Settings, numbered, pointers_in
from pullback.compiler.llvm.text import FLOATS, in_memory, kind_of

_MEMCPY = "llvm.memcpy.p0.p0.i64"


def write_driver(plan: Plan, settings: Settings) -> ModuleText:
    """The module of a segment."""
    return write_run(ModuleWriter(settings, _write_flow), plan)


def _write_flow(writer: ModuleWriter, call: FlowCall, name: str) -> str:
    return _Flow(writer, call).function(name)


class _Flow:
    """One function."""

    def __init__(self, writer: ModuleWriter, call: FlowCall) -> None:
        self.call = call
        self.flow = call.flow
        self.schedule = Schedule(writer, is_loop=call.flow.op != "cond")
        self.names: dict[Any, str] = dict(zip(call.buffers, numbered("p", call.buffers), strict=True))
        self.scratch = self.names[call.scratch]
        self._rows: dict[tuple[str, int], str] = {}

    def function(self, name: str) -> str:
        """Its text."""
        {"scan": self._scan, "while_loop": self._while_loop, "cond": self._cond}[self.flow.op]()
        parameters = pointers_in([*self.names.values(), "%status"])
        return self.schedule.function(f"define internal void @{name}({parameters})")

    def _line(self, text: str) -> None:
        self.schedule.lines.append(text)

    def _pointer(self, where: Element) -> str:
        return self.schedule.at(self.names[where.root], where.offset, is_at_entry=True)

    def _run(self, number: int, inputs: list[str], results: list[str]) -> None:
        """The commands of a body; the constants are known in the order of the bodies."""
        plan = self.call.plans[number]
        before = sum(len(body.constants) for body in self.flow.bodies[:number])
        known = [self._pointer(x) for x in self.call.known[before : before + len(plan.segment.constants)]]
        arena = f"%a{number}_"
        self.schedule.arena(plan, self.scratch, arena)
        self.schedule.run(plan, plan.names([*inputs, *known, *results], arena))

    # What is carried.

    def _copy(self, target: str, source: str, where: Element) -> None:
        self.schedule.writer.externals[_MEMCPY] = f"declare void @{_MEMCPY}(ptr, ptr, i64, i1)"
        self._line(f"call void @{_MEMCPY}(ptr {target}, ptr {source}, i64 {where.root.type.nbytes}, i1 false)")

    def _begin(self, block: str) -> None:
        """Go into the loop, with small values in their place."""
        first = self.call.carried.blocks[0]
        for number, offset in self.call.carried.together.items():
            target = self.schedule.at(self.scratch, first + offset)
            self._copy(target, self._pointer(self.flow.operands[number]), self.flow.results[number])
        self._line(f"br label %{block}")
        self.schedule.label(block)

    def _carried(self, block: str) -> tuple[list[str], list[str]]:
        """Where a step reads and where it writes what is carried; `block` leads to the next one."""
        schedule, carried = self.schedule, self.call.carried
        one, other = (schedule.at(self.scratch, offset, is_at_entry=True) for offset in carried.blocks)
        self._line(f"%read = phi ptr [ {one}, %entry ], [ %write, %{block} ]")
        self._line(f"%write = phi ptr [ {other}, %entry ], [ %read, %{block} ]")
        for number, offset in carried.alone.items():
            first = self._pointer(self.flow.results[number])
            second = schedule.at(self.scratch, offset, is_at_entry=True)
            if self.flow.length % 2 == 0:
                first, second = second, first
            start = self._pointer(self.flow.operands[number])
            self._line(f"%read{number} = phi ptr [ {start}, %entry ], [ %write{number}, %{block} ]")
            self._line(f"%write{number} = phi ptr [ {first}, %entry ], [ %spare{number}, %{block} ]")
            self._line(f"%spare{number} = phi ptr [ {second}, %entry ], [ %write{number}, %{block} ]")
        places = range(self.flow.carried)
        reads, writes = (
            [schedule.at(f"%{name}", carried.together[k]) if k in carried.together else f"%{name}{k}" for k in places]
            for name in ("read", "write")
        )
        return reads, writes

    def _end(self, block: str) -> None:
        """Small values become results."""
        for number, offset in self.call.carried.together.items():
            where = self.flow.results[number]
            self._copy(self._pointer(where), self.schedule.at(block, offset), where)

    # The kinds of control flow.

    def _scan(self) -> None:
        flow, schedule, carried = self.flow, self.schedule, self.flow.carried
        self._begin("step")
        self._line("%turn = phi i64 [ 0, %entry ], [ %following, %step ]")
        reads, writes = self._carried("step")
        if flow.is_reverse:
            self._line(f"%index = sub nsw i64 {flow.length - 1}, %turn")
        places = (*flow.operands, *flow.results)
        sliced = [self._slice(where, step) for where, step in zip(places, flow.strides, strict=True)]
        inputs, results = sliced[: len(flow.operands)], sliced[len(flow.operands) :]
        self._run(0, [*reads, *inputs[carried:]], [*writes, *results[carried:]])
        self._line("%following = add nsw i64 %turn, 1")
        self._line(f"%goes_on = icmp slt i64 %following, {flow.length}")
        self._line("br i1 %goes_on, label %step, label %done")
        schedule.label("done")
        self._end("%write")

    def _slice(self, where: Element, step: int) -> str:
        """A slice of an operand or of a result. Slices of what lies together begin at the same pointer."""
        root = self.names[where.root]
        if not step:
            return self._pointer(where)
        if (root, step) not in self._rows:
            offset = self.schedule.value(f"mul nsw i64 %{'index' if self.flow.is_reverse else 'turn'}, {step}")
            self._rows[root, step] = self.schedule.value(f"getelementptr i8, ptr {root}, i64 {offset}")
        return self.schedule.at(self._rows[root, step], where.offset)

    def _while_loop(self) -> None:
        schedule, carried = self.schedule, self.flow.carried
        truth = schedule.at(self.scratch, self.call.carried.truth, is_at_entry=True)
        self._begin("ask")
        reads, writes = self._carried("step")
        inputs = [*reads, *map(self._pointer, self.flow.operands[carried:])]
        self._run(0, inputs, [truth])
        self._branch(kind_of(self.flow.bodies[0].results[0].type.dtype), truth, "step", "done")
        schedule.label("step")
        self._run(1, inputs, writes)
        self._line("br label %ask")
        schedule.label("done")
        self._end("%read")

    def _branch(self, kind: str | None, pointer: str, when_true: str, when_false: str) -> None:
        """Go on here or there, as a number in memory says."""
        assert kind is not None
        number = self.schedule.value(f"load {in_memory(kind)}, ptr {pointer}")
        compare = "fcmp une" if kind in FLOATS else "icmp ne"
        zero = "0.0" if kind in FLOATS else "0"
        truth = self.schedule.value(f"{compare} {in_memory(kind)} {number}, {zero}")
        self._line(f"br i1 {truth}, label %{when_true}, label %{when_false}")

    def _cond(self) -> None:
        predicate, *inputs = self.flow.operands
        self._branch(predicate.kind, self._pointer(predicate), "when_true", "when_false")
        results = [self._pointer(where) for where in self.flow.results]
        for number, name in enumerate(("when_true", "when_false")):
            self.schedule.label(name)
            self._run(number, [self._pointer(where) for where in inputs], results)
            self._line("br label %done")
        self.schedule.label("done")
