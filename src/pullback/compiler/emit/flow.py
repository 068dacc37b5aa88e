"""Loops and branches as functions of pointers: to what they read and write, and to scratch memory.

A value that a loop carries has two buffers, which take turns: a step reads where the one before it wrote. Small values
lie together, so that a loop has two pointers for all of them; they are copied there from the operands and from there to
the results. A large one that a scan carries is read from the operand itself at first, and since the number of steps is
known, the last one writes into the result.
"""

from __future__ import annotations

from typing import Any

from pullback.compiler.emit.module import ModuleText, ModuleWriter, Schedule, Settings, numbered, pointers_in
from pullback.compiler.items import blas
from pullback.compiler.loops.fusion import Element
from pullback.compiler.loops.kernel import STATUS
from pullback.compiler.loops.text import FLOATS, in_memory, kind_of
from pullback.compiler.machine import threads as blas_guard
from pullback.compiler.plan.commands import Call, RoutineCall
from pullback.compiler.plan.launches import Launch
from pullback.compiler.plan.plan import Command, FlowCall, Plan, all_commands, final

# A long plan as data: numbers that say which function is called with which pointers, and a loop that goes along them.
#
#     commands    function, count, (place, offset) * count,    function, count, ...
#
# A place is a number of the table of what is given, or one of those below 0 here. Text of LLVM is written for each
# different command, so that the time it takes does not depend on how often a command is in the plan.

_ARENA, _STATUS = -1, -2

_LOOP = """\
@NAME_functions = internal constant [{functions} x ptr] [{names}]
@NAME_commands = internal constant [{numbers} x i64] [{commands}]

define internal void @NAME_list(ptr %table, ptr %arena, ptr %status) nounwind {{
entry:
  %pointers = alloca [{most} x ptr]
  %end = getelementptr i64, ptr @NAME_commands, i64 {numbers}
  br label %command
command:
  %at = phi ptr [ @NAME_commands, %entry ], [ %following, %call ]
  %number = load i64, ptr %at
  %at_count = getelementptr i64, ptr %at, i64 1
  %count = load i64, ptr %at_count
  %first = getelementptr i64, ptr %at, i64 2
  br label %pointer
pointer:
  %k = phi i64 [ 0, %command ], [ %next, %known ]
  %at_place = phi ptr [ %first, %command ], [ %following, %known ]
  %place = load i64, ptr %at_place
  %at_offset = getelementptr i64, ptr %at_place, i64 1
  %offset = load i64, ptr %at_offset
  %following = getelementptr i64, ptr %at_place, i64 2
  %is_given = icmp sge i64 %place, 0
  br i1 %is_given, label %given, label %own
given:
  %at_given = getelementptr ptr, ptr %table, i64 %place
  %from_table = load ptr, ptr %at_given
  br label %known
own:
  %is_arena = icmp eq i64 %place, {arena}
  %from_here = select i1 %is_arena, ptr %arena, ptr %status
  br label %known
known:
  %base = phi ptr [ %from_table, %given ], [ %from_here, %own ]
  %pointer_itself = getelementptr i8, ptr %base, i64 %offset
  %room = getelementptr ptr, ptr %pointers, i64 %k
  store ptr %pointer_itself, ptr %room
  %next = add nsw i64 %k, 1
  %goes_on = icmp slt i64 %next, %count
  br i1 %goes_on, label %pointer, label %call
call:
  %at_function = getelementptr ptr, ptr @NAME_functions, i64 %number
  %function = load ptr, ptr %at_function
  call void %function(ptr %pointers)
  %is_last = icmp eq ptr %following, %end
  br i1 %is_last, label %done, label %command
done:
  ret void
}}"""


def write_list(writer: ModuleWriter, plan: Plan) -> str:
    """The call that runs all commands of a plan."""
    commands = _CommandList(writer, plan)
    for command in plan.commands:
        commands.add(command)
    writer.functions.append(commands.text())
    return "call void @NAME_list(ptr %table, ptr %arena, ptr %status)"


class _CommandList:
    """Collects the numbers, and a function for each different command."""

    def __init__(self, writer: ModuleWriter, plan: Plan) -> None:
        self.writer, self.plan = writer, plan
        self.places: dict[Any, tuple[int, int]] = {b: (_ARENA, offset) for b, offset in plan.offsets.items()}
        self.places.update({value: (number, 0) for number, value in enumerate(plan.given)})
        self.places[STATUS] = (_STATUS, 0)
        self.functions: dict[Any, int] = {}  # by what is different about them
        self.numbers: list[int] = []
        self.most = 0  # pointers of a command

    def add(self, command: Command) -> None:
        """One more command."""
        key, pointers, like = _taken_apart(command)
        if key not in self.functions:
            self._write(like, len(pointers))
            self.functions[key] = len(self.functions)
        self.most = max(self.most, len(pointers))
        self.numbers += (self.functions[key], len(pointers))
        for buffer, offset in pointers:
            place, start = self.places[final(buffer, self.plan.overwritten)]
            self.numbers += (place, start + offset)

    def _write(self, command: tuple[Any, dict[Any, str]], count: int) -> None:
        """The function that runs commands of one kind."""
        schedule = Schedule(self.writer)
        for k in range(count):
            at = schedule.value(f"getelementptr ptr, ptr %pointers, i64 {k}", is_at_entry=True)
            schedule.entry.append(f"%p{k} = load ptr, ptr {at}")
        schedule.command(*command, self.plan)
        name = f"NAME_c{len(self.functions)}"
        self.writer.functions.append(schedule.function(f"define internal void @{name}(ptr %pointers)"))

    def text(self) -> str:
        """The data and the loop."""
        return _LOOP.format(
            functions=len(self.functions), numbers=len(self.numbers), most=self.most, arena=_ARENA,
            names=", ".join([f"ptr @NAME_c{number}" for number in range(len(self.functions))]),
            commands=", ".join([f"i64 {number}" for number in self.numbers]),
        )  # fmt: skip


def _taken_apart(command: Command) -> tuple[Any, list[tuple[Any, int]], tuple[Any, dict[Any, str]]]:
    """What is different about a command, its pointers as buffers and offsets, and the same command for numbered
    pointers, with their names."""
    if isinstance(command, Launch):
        pointers = list(zip(command.buffers, command.offsets, strict=True))
        like: Any = command._replace(buffers=tuple(range(len(pointers))), offsets=(0,) * len(pointers))
        return command.kernel, pointers, (like, _names(range(len(pointers))))
    if isinstance(command, Call):
        pointers = [(command.left.root, command.left.offset), (command.right.root, command.right.offset)]
        left, right = (x._replace(root=k, offset=0) for k, x in enumerate((command.left, command.right)))  # type: ignore[arg-type]
        like = command._replace(left=left, right=right, out=2)  # type: ignore[arg-type]
        return command.product, [*pointers, (command.out, 0)], (like, _names(range(3)))
    if isinstance(command, RoutineCall):
        pointers = [(x.root, x.offset) for x in command.reads] + [(value, 0) for value in command.results]
        reads = tuple([x._replace(root=k, offset=0) for k, x in enumerate(command.reads)])  # type: ignore[arg-type]
        like = command._replace(reads=reads, results=tuple(range(len(reads), len(pointers))))  # type: ignore[arg-type]
        return command.routine, [*pointers, (STATUS, 0)], (like, _names([*range(len(pointers)), STATUS]))
    buffers = tuple(dict.fromkeys([*command.buffers, STATUS]))
    return id(command), [(buffer, 0) for buffer in buffers], (command, _names(buffers))


def _names(buffers: Any) -> dict[Any, str]:
    return {buffer: f"%p{k}" for k, buffer in enumerate(buffers)}


# `run`, the function of a segment: its commands one after the other, or the loop over a long list of them.
#
#     define i64 @NAME_run(ptr %table, ptr %arena)
#
# It returns 0, or what is known about an index that was out of bounds. The table has a pointer for every input,
# constant and result, in this order.

_LONGEST_FUNCTION = 64
"""Commands that `run` has itself. LLVM takes more than twice the time for a function twice as long, in which all
pointers are alive from the beginning to the end."""


def write_run(writer: ModuleWriter, plan: Plan) -> ModuleText:
    """Kernels, loops and `run`."""
    schedule = Schedule(writer)
    schedule.entry += ["%status = alloca i64, align 8", "store i64 0, ptr %status"]
    is_guarded = _uses_blas_threads(plan) and blas_guard.can_guard()
    if is_guarded:
        # path: BLAS alone
        schedule.lines.append(f"call void @{blas_guard.ENTER}()")
    if len(plan.commands) <= _LONGEST_FUNCTION:
        schedule.run(plan, plan.names(numbered("g", plan.given)))
        schedule.entry[:0] = _pointers(plan)
    else:
        # path: list of commands
        schedule.lines.append(write_list(writer, plan))
    if is_guarded:
        schedule.lines.append(f"call void @{blas_guard.LEAVE}()")
        writer.externals.update({name: f"declare void @{name}()" for name in (blas_guard.ENTER, blas_guard.LEAVE)})
    wrong = schedule.value("load atomic i64, ptr %status monotonic, align 8")
    head = "define i64 @NAME_run(ptr %table, ptr %arena)"
    writer.functions.append(schedule.function(head, f"ret i64 {wrong}"))
    return ModuleText(writer.functions, writer.externals)


def _pointers(plan: Plan) -> list[str]:
    """The pointers to what is given, and into the arena."""
    entry = []
    for number in range(len(plan.given)):
        entry.append(f"%at{number} = getelementptr ptr, ptr %table, i64 {number}")
        entry.append(f"%g{number} = load ptr, ptr %at{number}")
    for number, offset in enumerate(plan.offsets.values()):
        entry.append(f"%a{number} = getelementptr i8, ptr %arena, i64 {offset}")
    return entry


def _uses_blas_threads(plan: Plan) -> bool:
    """Are there products for which BLAS would use threads of its own?"""
    products = (command.product for command in all_commands(plan) if isinstance(command, Call))
    return any(map(blas.may_use_threads, products))


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
