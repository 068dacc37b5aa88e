"""Groups of fusion as launches: a kernel, and the buffers that its parameters are.

A buffer is a value of the graph or a `Scratch`, memory that only launches know of: the partial results of blocks, and
values that a later stage reads again because computing them twice would be slower.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.items.common import Assembly, Fold, Part
from pullback.compiler.items.gather import Scattered
from pullback.compiler.items.positions import Cumulative, running_kernel
from pullback.compiler.loops.access import own_strides
from pullback.compiler.loops.fusion import Element, Expression, Gathered, Group, Item, Position, elements_of
from pullback.compiler.loops.kernel import (
    NOWHERE,
    STATUS,
    Compute,
    Constant,
    Gather,
    Inside,
    Kernel,
    Place,
    Read,
    Reduce,
    Reference,
    Scratch,
    Write,
    arranged,
    in_given_order,
)
from pullback.compiler.loops.scalars import Rule
from pullback.compiler.loops.text import kind_of, width_of
from pullback.compiler.plan.blocks import in_blocks
from pullback.graph.ir import Value, row_major

# `without_edges`: a kernel with bounds as kernels for the inside and the edges; inside, nobody has to ask where it is.
#
# An axis is cut where bounds begin and end, and only pieces that are long are pieces of their own: at an edge, which a
# stencil of thirteen points cuts into eight slivers, elements ask which bounds they are in. Large pieces are cut along
# the next axis.

SHORTEST = 16
_FEWEST_ELEMENTS = 1024
_MOST_PIECES = 16


def without_edges(kernel: Kernel) -> list[Kernel]:
    """The pieces of a kernel that has no reduction."""
    if kernel.stages or not any(ref.bounds for ref in kernel.references):
        return [kernel]
    pieces = [kernel]
    for axis in range(len(kernel.lengths)):
        pieces = [piece for each in pieces for piece in _cut_along(each, axis, _MOST_PIECES - len(pieces) + 1)]
    return pieces


def _cut_along(kernel: Kernel, axis: int, most: int) -> list[Kernel]:
    """At most so many pieces of a kernel, cut along an axis if that is long."""
    length = kernel.lengths[axis]
    cuts = {edge for ref in kernel.references for at, *edges in ref.bounds if at == axis for edge in edges}
    if not cuts or length < SHORTEST or (axis and kernel.size < _FEWEST_ELEMENTS):
        return [kernel]
    gaps = list(itertools.pairwise(sorted({0, length, *cuts})))
    long = [(start, stop) for start, stop in gaps if stop - start >= SHORTEST]
    places = sorted({0, length, *itertools.chain.from_iterable(long)})
    if len(places) - 1 > most:
        return [kernel]
    # path: cut at edges
    return [_piece(kernel, axis, *ends) for ends in itertools.pairwise(places)]


def _piece(kernel: Kernel, axis: int, start: int, stop: int) -> Kernel:
    """The kernel for indices of one axis from `start` to `stop`."""
    references, outside = [], set()
    for number, ref in enumerate(kernel.references):
        bounds = []
        for at, low, high in ref.bounds:
            if at != axis:
                bounds.append((at, low, high))
            elif stop <= low or high <= start:
                outside.add(number)
            elif start < low or high < stop:
                bounds.append((at, max(low, start) - start, min(high, stop) - start))
        references.append(ref._replace(offset=ref.offset + start * ref.strides[axis], bounds=tuple(bounds)))
    lengths = (*kernel.lengths[:axis], stop - start, *kernel.lengths[axis + 1 :])
    steps = tuple([_answered(step, references, outside) for step in kernel.steps])
    return kernel._replace(lengths=lengths, references=tuple(references), steps=steps)


def _answered(step: Any, references: list[Any], outside: set[int]) -> Any:
    """A step as a constant, if it is known in this piece."""
    if type(step) is Inside and (step.reference in outside or not references[step.reference].bounds):
        return Constant("b1", step.reference not in outside)
    if type(step) is Read and step.reference in outside:
        return Constant(references[step.reference].kind, 0)
    return step


class Launch(NamedTuple):
    """A kernel and its buffers, in the order of its parameters, each with the byte from which on it is used.

    So `f(x[0])` and `f(x[1])` are two launches of one kernel.
    """

    kernel: Kernel
    buffers: tuple[Any, ...]
    offsets: tuple[int, ...]
    nodes: tuple[str, ...]  # the operators in it, for people to read


def _launch(kernel: Kernel, buffers: tuple[Any, ...], nodes: tuple[str, ...]) -> Launch:
    """A launch of a kernel that does not know where in its buffers it works, and has those alone that it needs."""
    used = sorted({ref.parameter for ref in kernel.references} - {NOWHERE} | {kernel.status} - {NOWHERE})
    places = {parameter: place for place, parameter in enumerate(used)} | {NOWHERE: NOWHERE}
    offsets: dict[int, int] = {}
    for ref in kernel.references:
        if ref.parameter != NOWHERE:
            offsets[ref.parameter] = min(ref.offset, offsets.get(ref.parameter, ref.offset))
    references = tuple([
        ref._replace(parameter=places[ref.parameter], offset=ref.offset - offsets.get(ref.parameter, 0))
        for ref in kernel.references
    ])  # fmt: skip
    kernel = kernel._replace(
        references=references, parameters=len(used), status=places[kernel.status],
        written=frozenset(places[p] for p in kernel.written if p in places),
    )  # fmt: skip
    return Launch(kernel, tuple([buffers[p] for p in used]), tuple([offsets.get(p, 0) for p in used]), nodes)


def launches_of(group: Group, wanted: Collection[Value]) -> list[Launch]:
    """The launches of a group; `wanted` are the values that somebody else reads."""
    first = group.items[0]
    if isinstance(first.what, Assembly):
        return [_write_part(first, part) for part in first.what.parts]
    if isinstance(first.what, Cumulative):
        return [_launch(arranged(running_kernel(first, first.what)), (first.result, *first.roots), (first.node.op,))]
    builder = _Builder(group)
    for item in group.items:
        builder.add(item)
    for item in group.items:
        if item.result in wanted:
            builder.write(item.result)
    for value, part in group.placed:
        builder.write_part(value, part)
    names = tuple([item.node.op for item in group.items])
    kernel, buffers = builder.finish()
    if not group.is_blocked:
        return [_launch(arranged(piece), buffers, names) for piece in without_edges(kernel)]
    launches = []
    for part, partials in in_blocks(kernel):
        launches.append(_launch(part, (*buffers, *partials), names))
    return launches


class _Builder:
    """Writes the steps of one kernel."""

    def __init__(self, group: Group) -> None:
        assert group.shape is not None
        self.group = group
        self.lengths = group.shape
        self.is_flat = group.reduced is None  # no reduction: every step is an outer one
        self.steps: list[Any] = []
        self.references: list[Reference] = []
        self.writes: list[Write] = []
        self.kept: list[tuple[int, int, int]] = []
        self.buffers: dict[Any, int] = {}
        self.written: set[int] = set()
        self.status = NOWHERE
        self.number: dict[Any, int] = {}  # of the step that is a value, an element or a constant

    def add(self, item: Item) -> None:
        """The steps of one item."""
        group, result = self.group, item.result
        is_outer = self.is_flat or group.is_outer[result]
        what = item.what
        if isinstance(what, Fold):
            operand = self._operand(item.reads[0], what.kind, False)
            if len(item.reads) == 2:
                both = (operand, self._operand(item.reads[1], what.kind, False))
                operand = self._step(Compute("mul", (what.kind,) * 2, what.kind, both, False))
            elif self._kind(operand) != what.kind:
                operand = self._step(Compute("identity", (what.kind,), what.kind, (operand,), False))
            self.number[result] = self._step(Reduce(what.combine, what.kind, operand, group.stage[result]))
            return
        assert isinstance(what, Rule)
        operands = tuple([self._operand(x, kind, is_outer) for x, kind in zip(item.reads, what.takes, strict=True)])
        self.number[result] = self._step(Compute(what.name, what.takes, what.gives, operands, is_outer))
        if what.name == "checked_index":
            self.status = self.buffers.setdefault(STATUS, len(self.buffers))
            self.written.add(self.status)
        if not is_outer and item.is_expensive:
            self._keep(item)

    def write(self, value: Value) -> None:
        """Put a value into its buffer."""
        group = self.group
        is_outer = self.is_flat or group.is_outer[value]
        stage = -1 if self.is_flat else group.stage[value]
        strides = own_strides(value.type)
        if group.is_outer[value] and not self.is_flat:
            strides = self._spread(strides)
        reference = self._refer(value, _kind(value), 0, strides, is_written=True)
        self.writes.append(Write(self.number[value], reference, stage, is_outer))

    def write_part(self, value: Value, part: Part) -> None:
        """Put a part of a value into its place. There is no reduction here."""
        step = self._operand(part.source, _kind(value), True)
        reference = self._refer(value, _kind(value), part.offset, part.strides, is_written=True)
        self.writes.append(Write(step, reference, -1, True))

    def finish(self) -> tuple[Kernel, tuple[Any, ...]]:
        """The kernel and its buffers."""
        reduced = self.group.reduced or frozenset()
        kernel = Kernel(
            self.lengths, tuple([axis in reduced for axis in range(len(self.lengths))]), tuple(self.references),
            tuple(self.steps), tuple(self.writes), tuple(self.kept), self.group.stages if not self.is_flat else 0,
            -1, 1, len(self.buffers), frozenset(self.written), self.status,
        )  # fmt: skip
        return kernel, tuple(self.buffers)

    # Parts.

    def _step(self, step: Any) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _kind(self, number: int) -> str:
        step = self.steps[number]
        kind: str = self.references[step.reference].kind if type(step) is Read else step.kind
        return kind

    def _operand(self, x: Any, kind: str, is_outer: bool) -> int:
        if isinstance(x, Expression):
            return self._expression(x, is_outer)
        if isinstance(x, (Gathered, Position)):
            return self._placed(x, is_outer)
        if not isinstance(x, Element):
            key: Any = (kind, repr(x))
            if key not in self.number:
                self.number[key] = self._step(Constant(kind, x))
            return self.number[key]
        if x.root in self.group.stage and not x.bounds:
            return self.number[x.root]
        key = (x, is_outer)
        if key not in self.number:
            strides = self._spread(x.strides) if is_outer and not self.is_flat else x.strides
            self.number[key] = self._step(Read(self._refer(x.root, x.kind, x.offset, strides, x.bounds), is_outer))
        return self.number[key]

    def _expression(self, x: Expression, is_outer: bool) -> int:
        key = (x, is_outer)
        if key not in self.number:
            rule = x.what
            operands = tuple([self._operand(part, to, is_outer) for part, to in zip(x.reads, rule.takes, strict=True)])
            step = self._step(Compute(rule.name, rule.takes, rule.gives, operands, is_outer))
            if x.bounds:
                nowhere = self._refer(next(elements_of(x)).root, "b1", 0, (0,) * len(self.lengths), x.bounds)
                inside = self._step(Inside(nowhere, is_outer))
                chosen = (inside, step, self._operand(0, rule.gives, is_outer))
                step = self._step(Compute("select", ("b1", rule.gives, rule.gives), rule.gives, chosen, is_outer))
            self.number[key] = step
        return self.number[key]

    def _placed(self, x: Gathered | Position, is_outer: bool) -> int:
        key = (x, is_outer)
        if key in self.number:
            return self.number[key]
        strides = x.strides if isinstance(x, Position) else x.base.strides
        strides = self._spread(strides) if is_outer and not self.is_flat else strides
        if isinstance(x, Position):
            self.references.append(Reference(NOWHERE, "i8", x.offset, strides))
            self.number[key] = self._step(Place(len(self.references) - 1, is_outer))
        else:
            reference = self._refer(x.base.root, x.kind, x.base.offset, strides)
            operands = tuple([self._operand(index.read, "i8", is_outer) for index in x.indices])
            steps = tuple([index.step for index in x.indices])
            self.number[key] = self._step(Gather(reference, operands, steps, x.kind, is_outer))
        return self.number[key]

    def _spread(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Strides of the outer axes, with 0 for those that are reduced."""
        rest, reduced = iter(strides), self.group.reduced or ()
        return tuple([0 if axis in reduced else next(rest) for axis in range(len(self.lengths))])

    def _refer(
        self, buffer: Any, kind: str, offset: int, strides: tuple[int, ...], bounds: Any = (), is_written: bool = False
    ) -> int:
        parameter = self.buffers.setdefault(buffer, len(self.buffers))
        if is_written:
            self.written.add(parameter)
        self.references.append(Reference(parameter, kind, offset, strides, bounds))
        return len(self.references) - 1

    def _keep(self, item: Item) -> None:
        """Leave an expensive value in memory for later stages, if they need it."""
        stage = self.group.stage[item.result]
        if not any(self.group.stage[other.result] > stage and self._reads(other, item) for other in self.group.items):
            return
        kind = _kind(item.result)
        scratch = Scratch(math.prod(self.lengths) * width_of(kind))
        reference = self._refer(scratch, kind, 0, row_major(self.lengths, width_of(kind)), is_written=True)
        self.kept.append((self.number[item.result], reference, stage))

    def _reads(self, item: Item, source: Item) -> bool:
        """Does an inner item read another one, directly or through items that are computed again?"""
        found, wanted = set(), [item]
        makers = {each.result: each for each in self.group.items}
        while wanted:
            each = wanted.pop()
            if each is source:
                return True
            if each in found or (each is not item and self.group.is_outer[each.result]):
                continue
            found.add(each)
            wanted += [makers[root] for root in each.roots if root in makers]
        return False


def _kind(value: Value) -> str:
    """What loops write; complex numbers are written by their parts."""
    kind = kind_of(np.dtype(value.type.dtype.char.lower()) if value.type.dtype.kind == "c" else value.type.dtype)
    assert kind is not None
    return kind


def _write_region(item: Item, part: Part) -> Launch:
    """One region of a result: a loop that copies."""
    kind = _kind(item.result)
    references = [Reference(0, kind, part.offset, part.strides)]
    step: Any = Constant(kind, part.source)
    buffers: list[Any] = [item.result]
    if isinstance(part.source, Element):
        source = part.source
        buffers.append(source.root)
        references.append(Reference(1, source.kind, source.offset, source.strides))
        step = Read(1, True)
    kernel = Kernel(
        part.lengths, (False,) * len(part.lengths), tuple(references), (step,), (Write(0, 0, -1, True),), (), 0, -1, 1,
        len(buffers), frozenset({0}),
    )  # fmt: skip
    return _launch(arranged(kernel), tuple(buffers), (item.node.op,))


def _write_part(item: Item, part: Part | Scattered) -> Launch:
    return _write_region(item, part) if isinstance(part, Part) else _write_scattered(item, part)


def _write_scattered(item: Item, part: Scattered) -> Launch:
    """Values written to places that numbers say: a loop that keeps its order."""
    kind, is_shared = _kind(item.result), part.is_shared
    buffers: dict[Any, int] = {item.result: 0}
    references = [Reference(0, kind, part.offset, part.strides)]
    steps: list[Any] = []
    for read in part.reads:
        if isinstance(read, Element):
            parameter = buffers.setdefault(read.root, len(buffers))
            references.append(Reference(parameter, read.kind, read.offset, read.strides))
            steps.append(Read(len(references) - 1, True))
        else:
            steps.append(Constant(kind, read))
    indices = tuple(range(1, len(steps)))
    write = Write(0, 0, -1, True, indices, tuple([index.step for index in part.indices]), part.adds)
    kernel = Kernel(
        part.lengths, (False,) * len(part.lengths), tuple(references), tuple(steps), (write,), (), 0, -1, 1,
        len(buffers), frozenset({0}),
    )  # fmt: skip
    return _launch(in_given_order(kernel, is_shared), tuple(buffers), (item.node.op,))
