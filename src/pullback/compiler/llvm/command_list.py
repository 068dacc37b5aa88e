"""A long plan as data: numbers that say which function is called with which pointers, and a loop that goes along them.

    commands    function, count, (place, offset) * count,    function, count, ...

A place is a number of the table of what is given, or one of those below 0 here. Text of LLVM is written for each
different command, so that the time it takes does not depend on how often a command is in the plan.
"""

from __future__ import annotations

from typing import Any

from pullback.compiler.llvm.build import Launch
from pullback.compiler.llvm.commands import Call, RoutineCall
from pullback.compiler.llvm.driver import Command, Plan, final
from pullback.compiler.llvm.kernel import STATUS
from pullback.compiler.llvm.schedule import ModuleWriter, Schedule

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
