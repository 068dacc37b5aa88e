"""`run`, the function of a segment: its commands one after the other, or the loop over a long list of them.

    define i64 @NAME_run(ptr %table, ptr %arena)

It returns 0, or what is known about an index that was out of bounds. The table has a pointer for every input, constant
and result, in this order.
"""

from __future__ import annotations

from pullback.compiler.llvm import blas_blocks, blas_guard
from pullback.compiler.llvm.command_list import write_list
from pullback.compiler.llvm.commands import Call
from pullback.compiler.llvm.driver import Plan, all_commands
from pullback.compiler.llvm.schedule import ModuleText, ModuleWriter, Schedule, numbered

_LONGEST_FUNCTION = 64
"""Commands that `run` has itself. LLVM takes more than twice the time for a function twice as long, in which all
pointers are alive from the beginning to the end."""


def write_run(writer: ModuleWriter, plan: Plan) -> ModuleText:
    """Kernels, loops and `run`."""
    schedule = Schedule(writer)
    schedule.entry += ["%status = alloca i64, align 8", "store i64 0, ptr %status"]
    is_guarded = _uses_blas_threads(plan) and blas_guard.can_guard()
    if is_guarded:
        schedule.lines.append(f"call void @{blas_guard.ENTER}()")
    if len(plan.commands) <= _LONGEST_FUNCTION:
        schedule.run(plan, plan.names(numbered("g", plan.given)))
        schedule.entry[:0] = _pointers(plan)
    else:
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
    return any(map(blas_blocks.may_use_threads, products))
