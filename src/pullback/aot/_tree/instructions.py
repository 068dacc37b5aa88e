"""Where a program stands: the instructions of a function, and the counters of its `for` loops."""

from __future__ import annotations

import bisect
import dis
import functools
import sys
from types import CodeType
from typing import Any


class Lost(BaseException):
    """A trace in which a loop was to be made went another way. Not an Exception, so that nobody catches it."""


class Code:
    """What is known of the instructions of one function."""

    def __init__(self, code: CodeType) -> None:
        self._listed = list(dis.get_instructions(code))
        self._offsets = [each.offset for each in self._listed]
        self._at = {each.offset: k for k, each in enumerate(self._listed)}
        self._depths = self._stack_depths()
        self._catches = bool(code.co_exceptiontable)
        self._lives: dict[int, frozenset[str]] | None = None
        # Of every `for`: where it begins and ends, and the variable that it assigns to.
        self.fors = {
            each.offset: (int(each.argval), self._listed[k + 1].argval if "STORE_FAST" in self._name(k + 1) else None)
            for k, each in enumerate(self._listed) if each.opname == "FOR_ITER"
        }  # fmt: skip

    def _name(self, k: int) -> str:
        return self._listed[k].opname if k < len(self._listed) else ""

    def _stack_depths(self) -> dict[int, int]:
        """What lies on the stack before each instruction that is reached without an exception."""
        depths, waiting = {0: 0}, [0]
        while waiting:
            at = waiting.pop()
            each, depth = self._listed[at], depths[at]
            for target in self._next(at):
                if target not in depths:
                    jumps = target != at + 1 or each.opname.startswith("JUMP_")
                    depths[target] = depth + dis.stack_effect(each.opcode, each.arg, jump=jumps)
                    waiting.append(target)
        return depths

    def decides(self, offset: int) -> bool:
        """Does a truth value at this instruction decide a jump, with nothing else on the stack but counters?"""
        at = self._at.get(offset)
        if at is None or at not in self._depths:
            return False
        below = self._depths[at] - len(self.around(offset))
        if self._name(at).startswith("POP_JUMP") or self._name(at) == "TO_BOOL":
            return below == 1
        return self._name(at) == "COMPARE_OP" and below == 2 and self._name(at + 1).startswith(("POP_JUMP", "TO_BOOL"))

    def live(self, offset: int) -> frozenset[str] | None:
        """The local variables that may be read from an instruction on, before they are assigned to; None for all of
        them, where exceptions are caught."""
        if self._lives is None:
            self._lives = self._live_variables()
        return self._lives.get(self._at[offset]) if self._lives else None

    def _live_variables(self) -> dict[int, frozenset[str]]:
        listed = self._listed
        if self._catches:
            return {}
        lives: dict[int, frozenset[str]] = dict.fromkeys(range(len(listed)), frozenset())
        is_new = True
        while is_new:
            is_new = False
            for at in reversed(range(len(listed))):
                each = listed[at]
                after = frozenset().union(*(lives.get(k, frozenset()) for k in self._next(at)))
                if "FAST" in each.opname:
                    names = frozenset(each.argval) if isinstance(each.argval, tuple) else frozenset((each.argval,))
                    after = after - names if each.opname == "STORE_FAST" else after | names
                if after != lives[at]:
                    lives[at], is_new = after, True
        return lives

    def _next(self, at: int) -> list[int]:
        """The instructions that may follow one."""
        each = self._listed[at]
        found = []
        if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
            found.append(self._at[each.argval])
        ends = each.opname in ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
        if not ends and not each.opname.startswith("JUMP_") and at + 1 < len(self._listed):
            found.append(at + 1)
        return found

    def around(self, offset: int) -> list[int]:
        """The `for` loops that an instruction is in, the innermost last."""
        return [begin for begin, (end, _) in self.fors.items() if begin <= offset < end]

    def loop_called(self, offset: int) -> int | None:
        """The `for` loop that goes over what the call at this instruction returns."""
        at = bisect.bisect_right(self._offsets, offset) - 1  # while Python code runs it is behind the call
        if self._name(at + 1) != "GET_ITER" or self._name(at + 2) != "FOR_ITER":
            return None
        return self._listed[at + 2].offset

    def reads(self, begin: int, name: str) -> bool:
        """Does the body of a `for` loop read a variable?"""
        end, _ = self.fors[begin]
        return any(
            each.argval == name and not each.opname.startswith("STORE_FAST") for each in self._listed
            if begin <= each.offset < end and each.opcode in (*dis.haslocal, *dis.hasfree)
        )  # fmt: skip


@functools.lru_cache(256)
def code_of(code: CodeType) -> Code:
    """What is known of a function's instructions."""
    return Code(code)


class Counter:
    """The iterator of a `for` over a range."""

    def __init__(self, numbers: range, begin: int) -> None:
        self.numbers, self.begin, self.position = numbers, begin, 0
        self.is_left = False  # how far it is depends on the steps of a loop of the graph

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> int:
        if self.is_left:
            raise Lost
        if self.position >= len(self.numbers):
            raise StopIteration
        self.position += 1
        return self.numbers[self.position - 1]


class Counters:
    """The counters of the `for` loops of one trace, by frame."""

    def __init__(self) -> None:
        self._known: dict[Any, dict[int, Counter]] = {}

    def range(self, *args: Any) -> Any:
        """What `range` is in the user's code."""
        numbers = range(*args)
        frame = sys._getframe(1)
        begin = code_of(frame.f_code).loop_called(frame.f_lasti)
        if begin is None:
            return numbers
        counter = self._known.setdefault(frame, {})[begin] = Counter(numbers, begin)
        return counter

    def at(self, frame: Any) -> list[Counter] | None:
        """Those of the loops that a frame is in, the innermost last; None if one of them is another iterator."""
        known = self._known.get(frame, {})
        found = [known.get(begin) for begin in code_of(frame.f_code).around(frame.f_lasti)]
        return None if None in found else found  # type: ignore[return-value]

    def close(self) -> None:
        """Let go of the frames."""
        self._known.clear()
