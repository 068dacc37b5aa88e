"""`write_kernel`: a `Kernel` as the text of an LLVM function with explicit vectors.

    define internal void @name(ptr %p0, ptr %p1, ..., i64 %begin, i64 %end)

`begin` and `end` are a range of units of the outermost loop. All lengths are known, so a vector loop is a number of
full vectors and perhaps one vector of which only the first lanes count; those lanes alone are read and written.
Counters and accumulators lie in slots, which a pass makes registers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.compiler.emit.memory import GatherWriter
from pullback.compiler.loops.kernel import (
    SHORT,
    Constant,
    Gather,
    Inside,
    Kernel,
    Place,
    Read,
    Reduce,
    Reference,
    Running,
    operands_of,
)
from pullback.compiler.loops.scalars import INSTRUCTIONS, emit
from pullback.compiler.loops.text import ALIGNED, FLOATS, Text, cast, in_register, vector

COMBINE = {"add": "add", "mul": "mul", "maximum": "maximum", "minimum": "minimum", "and": "mul", "or": "add"}


_ROWS_AT_ONCE = 4
_MOST_WRITTEN_OUT = 64  # steps of a reduction with lanes across it
_MOST_TURNS, _LONGEST_TEXT = 8, 400
"""Turns of a loop, and steps in all, up to which it is written out, in kernels that become parts of a loop."""


def _plus(text: Text, index: str, number: int) -> str:
    """An index and a number added."""
    if not index.startswith("%"):
        return str(int(index) + number)
    return text.value(f"add nsw i64 {index}, {number}") if number else index


def neutral(combine: str, kind: str) -> Any:
    """What a reduction begins with. As in NumPy, a sum of negative zeros is a positive one."""
    if combine in ("add", "mul"):
        return int(combine == "mul")
    if combine in ("and", "or"):
        return combine == "and"
    if kind in FLOATS:
        return -np.inf if combine == "maximum" else np.inf
    if kind == "b1":
        return combine == "minimum"
    limits = np.iinfo(np.dtype(kind))
    return limits.min if combine == "maximum" else limits.max


def write_kernel(
    kernel: Kernel, name: str, has_libmvec: bool, fastmath: bool, is_inside: bool = False
) -> tuple[str, dict[str, str]]:
    """The text of the function, and the declarations of what it calls.

    A kernel that becomes a part of the function that calls it (`is_inside`) does everything at once, and short loops
    are written out.
    """
    writer = _Writer(kernel, has_libmvec, fastmath)
    writer.is_inside = is_inside
    writer.outer_loops(0)
    text = writer.text
    if is_inside:
        parameters = [f"ptr %p{k}" for k in range(kernel.parameters)]
        head = f"define internal void @{name}({', '.join(parameters)}) nounwind alwaysinline {{"
        return "\n".join([head, "entry:", *text.slots, *text.lines, "  ret void", "}"]), text.externals
    parameters = [
        f"ptr noalias {'' if k in kernel.written else 'readonly '}%p{k}" for k in range(kernel.parameters)
    ]
    head = f"define internal void @{name}({', '.join([*parameters, 'i64 %begin', 'i64 %end'])}) nounwind {ALIGNED} {{"
    body = [head, "entry:", *text.slots, *text.lines, "  ret void", "}"]
    return "\n".join(body), text.externals


class _Writer(GatherWriter):
    def __init__(self, kernel: Kernel, has_libmvec: bool, fastmath: bool) -> None:
        super().__init__(kernel, Text("fast " if fastmath else ""))
        self.has_libmvec = has_libmvec
        self.outer: dict[int, str] = {}  # values of outer steps at this point
        self.inner: dict[int, str] = {}
        self.outer_axes = [k for k, reduced in enumerate(kernel.is_reduced) if not reduced]
        self.inner_axes = [k for k, reduced in enumerate(kernel.is_reduced) if reduced]
        self.is_vector_inner = kernel.vector_axis in self.inner_axes
        self.needs = [self._needed(stage) for stage in range(kernel.stages)]
        self._copies = 1  # how often what is written now is written

    # Loops.

    def outer_loops(self, position: int) -> None:
        """The loops over axes that are not reduced, from this one on."""
        if position == len(self.outer_axes) - self.kernel.by_rows:
            (self._rows if self.kernel.by_rows else self._point)()
            return
        axis = self.outer_axes[position]
        inside = lambda: self.outer_loops(position + 1)
        first = position == 0 and not self.is_inside
        if axis == self.kernel.vector_axis:
            self._vector_loop(axis, inside, is_ranged=first)
        else:
            self._loop(axis, "%begin" if first else 0, "%end" if first else self.kernel.lengths[axis], inside)

    def _inner_loops(self, position: int, inside: Callable[[], None]) -> None:
        if position == len(self.inner_axes):
            inside()
            return
        axis = self.inner_axes[position]
        further = lambda: self._inner_loops(position + 1, inside)
        if axis == self.kernel.vector_axis:
            self._vector_loop(axis, further, is_ranged=False)
        elif self._is_written_out():
            for number in range(self.kernel.lengths[axis]):
                self.index[axis] = str(number)
                further()
        else:
            self._loop(axis, 0, self.kernel.lengths[axis], further)

    def _is_written_out(self) -> bool:
        """Are the terms of a reduction few enough to be written one after the other, without a loop?"""
        terms = math.prod(self.kernel.lengths[k] for k in self.inner_axes)
        inner = sum(not step.is_outer for step in self.kernel.steps)
        return terms <= SHORT or (not self.is_vector_inner and terms * inner <= _MOST_WRITTEN_OUT)

    def _loop(self, axis: int, start: Any, stop: Any, inside: Callable[[], None], scale: int = 1) -> None:
        """`for index in range(start, stop)`, the index multiplied by `scale`."""
        text = self.text
        if type(start) is int and type(stop) is int and (stop - start == 1 or self._is_short(stop - start)):
            self._copies *= stop - start
            for number in range(start, stop):
                self.index[axis] = str(number * scale)
                inside()
            self._copies //= stop - start
            return
        slot, body, done = text.slot("i64"), text.name("body"), text.name("done")
        text.line(f"store i64 {start}, ptr {slot}")
        if type(stop) is int and type(start) is int:
            text.line(f"br label %{body}")
        else:
            text.line(f"br i1 {text.value(f'icmp slt i64 {start}, {stop}')}, label %{body}, label %{done}")
        text.label(body)
        counter = text.value(f"load i64, ptr {slot}")
        self.index[axis] = counter if scale == 1 else text.value(f"mul nsw i64 {counter}, {scale}")
        inside()
        following = text.value(f"add nsw i64 {counter}, 1")
        text.line(f"store i64 {following}, ptr {slot}")
        text.line(f"br i1 {text.value(f'icmp slt i64 {following}, {stop}')}, label %{body}, label %{done}")
        text.label(done)

    def _is_short(self, count: int) -> bool:
        """Is a loop of so many turns written out?"""
        in_all = self._copies * count * len(self.kernel.steps)
        return self.is_inside and count <= _MOST_TURNS and in_all <= _LONGEST_TEXT

    def _vector_loop(self, axis: int, inside: Callable[[], None], is_ranged: bool) -> None:
        text, lanes = self.text, self.kernel.lanes
        before = text.lanes
        text.lanes = lanes
        full, rest = divmod(self.kernel.lengths[axis], lanes)
        if full and is_ranged:
            is_less = text.value(f"icmp slt i64 %end, {full}")
            self._loop(axis, "%begin", text.value(f"select i1 {is_less}, i64 %end, i64 {full}"), inside, lanes)
        elif full:
            self._loop(axis, 0, full, inside, lanes)
        if rest:
            done = text.name("done")
            if is_ranged and full:
                tail = text.name("tail")
                text.line(f"br i1 {text.value(f'icmp sgt i64 %end, {full}')}, label %{tail}, label %{done}")
                text.label(tail)
            if not self.is_vector_inner:
                text.lanes = 1 << (rest - 1).bit_length()  # no more lanes than are of use
            self.active, self.index[axis] = None if rest == text.lanes else rest, str(full * lanes)
            inside()
            self.active = None
            if is_ranged and full:
                text.line(f"br label %{done}")
                text.label(done)
        text.lanes = before

    # Columns reduced row by row.

    def _rows(self) -> None:
        """Rows one after the other, each combined with what lies where the results go."""
        kernel, axis = self.kernel, self.kernel.vector_axis
        writes = [(kernel.steps[w.step], kernel.references[w.reference]) for w in kernel.writes if w.is_outer]

        def begin() -> None:
            for reduce, reference in writes:
                self.store(self.text.constant(neutral(reduce.combine, reduce.kind), reduce.kind), reference)

        self._vector_loop(axis, begin, is_ranged=False)
        *before, last = self.inner_axes
        several, rest = divmod(kernel.lengths[last], _ROWS_AT_ONCE)

        def rows(count: int) -> Callable[[], None]:
            return lambda: self._vector_loop(axis, lambda: self._add_rows(writes, last, count), is_ranged=False)

        def inside() -> None:
            if several:
                self._loop(last, 0, several, rows(_ROWS_AT_ONCE), _ROWS_AT_ONCE)
            for row in range(kernel.lengths[last] - rest, kernel.lengths[last]):
                self.index[last] = str(row)
                rows(1)()

        self._nested(before, inside)

    def _nested(self, axes: list[int], inside: Callable[[], None]) -> None:
        if not axes:
            inside()
            return
        self._loop(axes[0], 0, self.kernel.lengths[axes[0]], lambda: self._nested(axes[1:], inside))

    def _add_rows(self, writes: list[tuple[Any, Reference]], axis: int, count: int) -> None:
        """Combine some rows with the accumulators, which are read and written once."""
        totals = [self.load(reference, is_written=True) for _, reference in writes]
        first = self.index[axis]
        for row in range(count):
            if count > 1:
                self.index[axis] = _plus(self.text, first, row)
            self.inner, self.outer = {}, {}
            for place, (reduce, _) in enumerate(writes):
                value = self._inner_value(reduce.operand, 0)
                combine = INSTRUCTIONS[COMBINE[reduce.combine]]
                totals[place] = combine(self.text, reduce.kind, totals[place], value)
            for write in self.kernel.writes:
                if not write.is_outer:
                    self.store(self._inner_value(write.step, 0), self.kernel.references[write.reference])
        self.index[axis] = first
        for total, (_, reference) in zip(totals, writes, strict=True):
            self.store(total, reference)

    # A point of the outer loops.

    def _point(self) -> None:
        kernel = self.kernel
        self.outer = {}
        self._outer_writes(-1)
        for stage in range(kernel.stages):
            for step in sorted(self.needs[stage]):
                if kernel.steps[step].is_outer:
                    self._outer_value(step)
            self._stage(stage)
            self._outer_writes(stage)

    def _outer_writes(self, stage: int) -> None:
        for write in self.kernel.writes:
            if write.is_outer and write.stage == stage:
                value = self._outer_value(write.step)
                if write.is_plain:
                    self.store(value, self.kernel.references[write.reference])
                else:
                    self.scatter(write, value, self._numbers(write.operands, [*map(self._outer_value, write.operands)]))

    def _stage(self, stage: int) -> None:
        text, steps = self.text, self.kernel.steps
        reduces = [k for k, step in enumerate(steps) if type(step) in (Reduce, Running) and step.stage == stage]
        lanes = self.kernel.lanes if self.is_vector_inner else text.lanes
        slots, begun = {}, {}
        for k in reduces:
            type_ = vector(in_register(steps[k].kind), lanes)
            slots[k] = text.slot(type_)
            if type(steps[k]) is Running and steps[k].factor is not None:
                begun[k] = text.slot("i1")
                text.line(f"store i1 false, ptr {begun[k]}")
            before, text.lanes = text.lanes, lanes
            is_running = type(steps[k]) is Running and steps[k].combine == "add" and steps[k].kind in FLOATS
            begin = -0.0 if is_running else neutral(steps[k].combine, steps[k].kind)  # so that the first is as it is
            start = text.constant(begin, steps[k].kind)
            text.lanes = before
            text.line(f"store {type_} {start}, ptr {slots[k]}")
        writes = [w for w in self.kernel.writes if not w.is_outer and w.stage == stage]
        kept = [(step, reference) for step, reference, at in self.kernel.kept if at == stage]

        def inside() -> None:
            self.inner = {}
            for k in reduces:
                if k in begun:
                    self._multiply(steps[k], slots[k], begun[k], self._inner_value(steps[k].factor, stage))
                total = self._accumulate(steps[k], slots[k], self._inner_value(steps[k].operand, stage))
                if type(steps[k]) is Running:
                    self.inner[k] = total
            for write in writes:
                self.store(self._inner_value(write.step, stage), self.kernel.references[write.reference])
            for step, reference in kept:
                self.store(self._inner_value(step, stage), self.kernel.references[reference])

        self._inner_loops(0, inside)
        for k in reduces:
            if type(steps[k]) is Reduce:
                self.outer[k] = self._total(steps[k], slots[k], lanes)

    def _multiply(self, running: Running, slot: str, begun: str, factor: str) -> None:
        """Multiply what has been combined so far, unless that is nothing yet."""
        text = self.text
        type_ = text.type(running.kind)
        total = text.value(f"load {type_}, ptr {slot}")
        has_begun = text.value(f"load i1, ptr {begun}")
        product = text.two("fmul", running.kind, total, factor)
        made = text.value(f"select i1 {has_begun}, {type_} {product}, {type_} {total}")
        text.line(f"store {type_} {made}, ptr {slot}")
        text.line(f"store i1 true, ptr {begun}")

    def _accumulate(self, reduce: Reduce | Running, slot: str, value: str) -> str:
        """Combine a value with the accumulator."""
        text = self.text
        type_ = text.type(reduce.kind)
        total = text.value(f"load {type_}, ptr {slot}")
        combined = INSTRUCTIONS[COMBINE[reduce.combine]](text, reduce.kind, total, value)
        if self.active is not None and self.is_vector_inner:
            mask = ", ".join(f"i1 {'true' if k < self.active else 'false'}" for k in range(text.lanes))
            combined = text.select(f"<{mask}>", reduce.kind, combined, total)
        text.line(f"store {type_} {combined}, ptr {slot}")
        return combined

    def _total(self, reduce: Reduce, slot: str, lanes: int) -> str:
        """What the accumulator holds; lanes along a reduced axis are combined in halves."""
        text = self.text
        value = text.value(f"load {vector(in_register(reduce.kind), lanes)}, ptr {slot}")
        if not self.is_vector_inner:
            return value
        before = text.lanes
        while lanes > 1:
            low, high = (self._lanes(value, reduce.kind, lanes, range(s, s + lanes // 2)) for s in (0, lanes // 2))
            lanes //= 2
            text.lanes = lanes
            value = INSTRUCTIONS[COMBINE[reduce.combine]](text, reduce.kind, low, high)
        text.lanes = before
        return value

    def _lanes(self, value: str, kind: str, lanes: int, chosen: range) -> str:
        element = in_register(kind)
        if len(chosen) == 1:
            return self.text.value(f"extractelement <{lanes} x {element}> {value}, i32 {chosen[0]}")
        numbers = ", ".join(f"i32 {k}" for k in chosen)
        return self.text.value(
            f"shufflevector <{lanes} x {element}> {value}, <{lanes} x {element}> poison, "
            f"<{len(chosen)} x i32> <{numbers}>"
        )

    # Steps.

    def _needed(self, stage: int) -> set[int]:
        """All steps that the loop of a stage reads, and the outer steps that those are made of."""
        kernel = self.kernel
        wanted = [s.operand for s in kernel.steps if type(s) is Reduce and s.stage == stage]
        wanted += [w.step for w in kernel.writes if not w.is_outer and w.stage == stage]
        wanted += [step for step, _, at in kernel.kept if at == stage]
        found: set[int] = set()
        while wanted:
            number = wanted.pop()
            if number in found:
                continue
            found.add(number)
            step = kernel.steps[number]
            if self._kept(number, stage) is None:
                wanted += operands_of(step)
        return found

    def _kept(self, number: int, stage: int) -> int | None:
        """The reference under which an earlier stage left the value of a step."""
        for step, reference, at in self.kernel.kept:
            if step == number and at < stage:
                return reference
        return None

    def _outer_value(self, number: int) -> str:
        if number not in self.outer:
            step = self.kernel.steps[number]
            operands = [self._outer_value(k) for k in operands_of(step)]
            self.outer[number] = self._value(step, operands)
        return self.outer[number]

    def _inner_value(self, number: int, stage: int) -> str:
        if number not in self.inner:
            step = self.kernel.steps[number]
            kept = self._kept(number, stage)
            if step.is_outer:
                value = self._widened(number)
            elif kept is not None:
                value = self.load(self.kernel.references[kept], is_written=True)
            else:
                operands = [self._inner_value(k, stage) for k in operands_of(step)]
                value = self._value(step, operands)
            self.inner[number] = value
        return self.inner[number]

    def _widened(self, number: int) -> str:
        """An outer value inside of a loop over vectors."""
        step = self.kernel.steps[number]
        if type(step) is Constant:
            return self.text.constant(step.value, step.kind)
        value = self._outer_value(number)
        return self.text.splat(value, self._kind(step)) if self.is_vector_inner else value

    def _kind(self, step: Any) -> str:
        return self.kernel.references[step.reference].kind if type(step) is Read else step.kind

    def _value(self, step: Any, operands: list[str]) -> str:
        if type(step) is Constant:
            return self.text.constant(step.value, step.kind)
        if type(step) is Inside:
            return self.inside(self.kernel.references[step.reference])
        if type(step) is Read:
            reference = self.kernel.references[step.reference]
            return self.load(reference, reference.parameter in self.kernel.written)
        if type(step) is Place:
            return self.place(self.kernel.references[step.reference])
        if type(step) is Gather:
            return self.gathered(step, self._numbers(step.operands, operands))
        if step.name == "checked_index":
            length, axis = (self.kernel.steps[k].value for k in step.operands[1:])
            return self.checked_index(self._numbers(step.operands[:1], operands[:1])[0], length, axis)
        kinds = [self._kind(self.kernel.steps[k]) for k in step.operands]
        args = [cast(self.text, x, own, to) for x, own, to in zip(operands, kinds, step.takes, strict=True)]
        return emit(self.text, step.name, step.takes[-1], args, self.has_libmvec)

    def _numbers(self, steps: tuple[int, ...], values: list[str]) -> list[str]:
        """Values as integers of 64 bits."""
        return [
            cast(self.text, x, self._kind(self.kernel.steps[k]), "i8") for k, x in zip(steps, values, strict=True)
        ]
