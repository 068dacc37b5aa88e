"""`Host` writes down what a traced function does with the numbers that it is given; `Program` does it at every call.

A number is not part of a graph: what the function computes from numbers alone is computed again in Python, exactly as
it was written, before the graph runs. Where a number meets a tensor, its value is an input of the graph. What the
function asks about a number (`if n > 0.1`) is asked again, and a call that gets another answer is another call.

    f(x, n)   ->   x * (n + 1) if n > 0.1 else x

    if not (a1 > h0): return ...        the capture is not for this call
    v0 = a1 + h1
    return (array(v0),)                 %1: f64[] = number[0]
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.records import Record, field
from pullback.payloads.traced import user_location

_EXACT = frozenset((int, float, complex))


def is_number(leaf: Any) -> bool:
    """Is this argument a number whose value is no part of the key of a call? Truth values are, and so are numbers of
    classes that somebody has derived."""
    kind = type(leaf)
    return kind in _EXACT or (isinstance(leaf, np.number) and leaf.dtype.kind in "iufc" and leaf.dtype.isbuiltin == 1)


class Repeat(BaseException):
    """The function does something with a number that stand-ins cannot do: it is traced again, with the numbers in these
    slots as they are, or with all of them. Not an Exception, so that the traced function does not catch it."""

    def __init__(self, slots: frozenset[int] | None, why: str) -> None:
        super().__init__(why)
        self.slots = slots
        self.why = why


RAISES = "an exception in what is computed of numbers"
"""What `Program.misfit` says if the function itself raises, or would have to be asked."""

_INFIX: dict[Any, str] = {
    operator.add: "{} + {}", operator.sub: "{} - {}", operator.mul: "{} * {}", operator.truediv: "{} / {}",
    operator.floordiv: "{} // {}", operator.mod: "{} % {}", operator.pow: "{} ** {}", operator.neg: "-{}",
    operator.lt: "{} < {}", operator.le: "{} <= {}", operator.gt: "{} > {}", operator.ge: "{} >= {}",
    operator.eq: "{} == {}", operator.ne: "{} != {}",
}  # fmt: skip


class Pin(Record, frozen=True):
    """A number that a capture is for, with where it became one."""

    slots: frozenset[int]
    text: str
    why: str


class Step(Record, frozen=True):
    """One line of a program: a value, or a condition under which the capture is not for the call."""

    source: str
    words: str = ""  # of a condition: what is not as it was


class Program(Record):
    """What is done with the numbers of a call before the graph runs."""

    slots: tuple[int, ...] = ()  # the arguments that are read
    steps: list[Step] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    inputs: list[tuple[str, np.dtype[Any] | None]] = field(default_factory=list)  # what the graph is given, and as what
    outputs: dict[int, str] = field(default_factory=dict)  # results that are numbers, by position
    pins: list[Pin] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)  # what values are made of, in words

    def __post_init__(self) -> None:
        self._run: Callable[..., Any] | None = None

    def array_source(self, number: int) -> str:
        """Python that makes an input of the graph."""
        name, dtype = self.inputs[number]
        return f"new_array({name})" if dtype is None else f"new_array({name}, h_dtype{number})"

    def names(self) -> dict[str, Any]:
        """What the lines refer to."""
        dtypes = {f"h_dtype{k}": dtype for k, (_, dtype) in enumerate(self.inputs)}
        return {**self.scope, **dtypes, "new_array": np.array, "has_other_bits": has_other_bits}

    def at(self, leaves: Sequence[Any]) -> Any:
        """The inputs of the graph and the results that are numbers; a text if the capture is not for this call."""
        if self._run is None:
            self._run = self._compiled()
        return self._run(leaves)

    def misfit(self, leaves: Sequence[Any]) -> str | None:
        """Why the capture is not for this call; None if it is."""
        if not self.steps and not self.inputs:
            return None
        try:
            found = self.at(leaves)
        except Exception:
            return RAISES
        return found if type(found) is str else None

    def _compiled(self) -> Callable[..., Any]:
        lines = [f"a{slot} = leaves[{slot}]" for slot in self.slots]
        scope = self.names()
        for number, step in enumerate(self.steps):
            if step.words:
                scope[f"words{number}"] = step.words
                lines.append(f"if {step.source}: return words{number}")
            else:
                lines.append(step.source)
        results = [*map(self.array_source, range(len(self.inputs))), *self.outputs.values()]
        lines.append(f"return ({''.join(f'{each}, ' for each in results)})")
        body = "\n    ".join(lines)
        exec(compile(f"def run(leaves):\n    {body}\n", "<pull of numbers>", "exec"), scope)
        run: Callable[..., Any] = scope["run"]
        return run

    def signature(self) -> Any:
        """What two programs have in common if they do the same."""
        scope = {name: repr(value) for name, value in self.scope.items()}
        return self.slots, [step.source for step in self.steps], scope, repr(self.inputs), self.outputs


def has_other_bits(new: Any, old: Any) -> bool:
    """Are these two values? NaN is NaN, and 0.0 is not -0.0."""
    return type(new) is not type(old) or repr(new) != repr(old)


def fixed_numbers(leaves: Sequence[Any], why: str) -> Program:
    """What a capture asks that is for these very numbers."""
    return Host(leaves, (), {slot: why for slot, leaf in enumerate(leaves) if is_number(leaf)}, None).closed()


class Host:
    """What a trace knows of the numbers that its function was given."""

    is_live = False  # they are known before the graph runs: see aot/_tree/taken.py for others

    def __init__(self, leaves: Sequence[Any], slots: Sequence[int], fixed: dict[int, str], trace: Any) -> None:
        self.is_open = True
        self.program = Program(tuple(sorted({*slots, *fixed})))
        self.given: dict[int, Any] = {}  # stand-ins by slot
        self.used: set[int] = set()  # slots that something depends on
        self.trace = trace  # the outermost one
        self.tensors: dict[Any, Any] = {}  # by name and dtype: inputs of the graph
        self.inputs: list[Any] = []  # their values there
        self.arrays: list[Any] = []  # and what they are in the call that is traced
        self._known: dict[Any, str] = {}  # by what they are made of: values that were computed before
        self._names: dict[Any, str] = {}  # of constants
        self._pinned: set[str] = set()
        self._recipes: dict[str, tuple[Any, ...]] = {}  # how values are computed, by name
        for slot, why in fixed.items():
            self._pin(f"a{slot}", leaves[slot], frozenset((slot,)), f"args[{slot}]", why)

    def closed(self) -> Program:
        """The program, when the trace has ended: stand-ins that somebody kept are numbers from now on."""
        self.is_open = False
        return self.program

    # Values.

    def computed(self, function: Callable[..., Any], parts: Sequence[tuple[str, str]]) -> tuple[str, str]:
        """A value that is computed of others, given what these are called: its name and what it is made of."""
        names = [name for name, _ in parts]
        pattern = _INFIX.get(function)
        called = pattern or f"{self._constant(function)}({', '.join(['{}'] * len(names))})"
        source = called.format(*names)
        text = (pattern or f"{getattr(function, '__name__', 'f')}({', '.join(['{}'] * len(names))})").format(
            *[f"({text})" if pattern and " " in text else text for _, text in parts]
        )
        known = self._known.get(source)
        if known is None:
            known = self._known[source] = f"v{len(self._known)}"
            self._recipes[known] = (function, *names)
            self.program.steps.append(Step(f"{known} = {source}"))
        return known, text

    def recipe(self, name: str) -> Any:
        """How a value is computed, told without names, for another trace of the same function; None if that is not
        known."""
        if name in self.program.scope:
            value = self.program.scope[name]
            return "constant", type(value), repr(value), value
        if name[:1] == "a" and name[1:].isdigit():
            return "slot", int(name[1:])
        if name not in self._recipes:
            return None
        function, *names = self._recipes[name]
        parts = tuple(map(self.recipe, names))
        return None if None in parts else ("computed", function, parts)

    def part(self, name: str, text: str, index: int) -> tuple[str, str]:
        """One of several values that a function has returned."""
        source = f"{name}[{index}]"
        if source not in self._known:
            self._known[source] = f"v{len(self._known)}"
            self.program.steps.append(Step(f"{self._known[source]} = {source}"))
        return self._known[source], f"{text}[{index}]"

    def constant(self, value: Any) -> tuple[str, str]:
        """A number that the function has by itself."""
        return self._constant(value), repr(value)

    def _constant(self, value: Any) -> str:
        # By bits: 1, 1.0 and True are three, and so are zeros of different signs.
        key = (type(value), repr(value)) if isinstance(value, (int, float, complex, np.generic)) else id(value)
        if key not in self._names:
            self._names[key] = f"h{len(self._names)}"
            self.program.scope[self._names[key]] = value
        return self._names[key]

    # What a capture depends on.

    def decided(self, name: str, text: str, answer: bool) -> None:
        """The function was told whether something holds."""
        if (name, answer) not in self._known:
            self._known[name, answer] = name
            words = f"{text} is {not answer}, and was {answer} before"
            self.program.steps.append(Step(f"not {name}" if answer else name, words))

    def pinned(self, name: str, value: Any, slots: frozenset[int], text: str, why: str) -> None:
        """The function has looked at a value: the capture is for this one."""
        if name not in self._pinned:
            place = user_location()
            self._pin(name, value, slots, text, why if not place else f"{why}, {place}")

    def _pin(self, name: str, value: Any, slots: frozenset[int], text: str, why: str) -> None:
        self._pinned.add(name)
        constant = self._constant(value)
        is_plain = type(value) is int or (type(value) is float and value == value and value != 0)
        source = f"{name} != {constant}" if is_plain else f"has_other_bits({name}, {constant})"
        self.program.steps.append(Step(source, f"{text} was {value!r} before ({why})"))
        self.program.pins.append(Pin(slots, text, why))

    def taken(self, name: str, dtype: np.dtype[Any] | None) -> int:
        """A value becomes an input of the graph; its number among those."""
        self.program.inputs.append((name, dtype))
        return len(self.program.inputs) - 1
