"""`Kernel`: one loop nest as data, without names. Two kernels that are equal are compiled once.

    axes        lengths, and which of them are reduced; loops over the others are outside
    references  (parameter, kind, offset, stride along each axis, bounds): where elements are read and written
    steps       a list in which a step names earlier ones by number:
                    Read(reference), Inside(reference), Constant(kind, value), Compute(name, kinds, operands),
                    Gather(reference, operands), Place(reference), Reduce(combine, operand),
                    Running(combine, operand, factor)
    stages      loops over the reduced axes, one after the other, for each point of the outer loops; between them
                results of reductions are at hand

A step belongs to the points of all axes, or only to those that are not reduced (`is_outer`). A kernel without reduced
axes has outer steps only.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

from pullback.compiler.loops.scalars import EXPENSIVE
from pullback.compiler.loops.text import width_of
from pullback.core.records import Record


class Scratch(Record, eq=False):
    """So many bytes that launches share."""

    nbytes: int


class Reference(NamedTuple):
    """A place in memory for every point of the loops."""

    parameter: int
    kind: str
    offset: int
    strides: tuple[int, ...]
    bounds: tuple[tuple[int, int, int], ...] = ()  # (axis, from, to): outside of them the element counts as 0


class Read(NamedTuple):
    """An element from memory."""

    reference: int
    is_outer: bool


class Inside(NamedTuple):
    """Is the point within the bounds of a reference? Nothing is read there."""

    reference: int
    is_outer: bool
    kind: str = "b1"


class Constant(NamedTuple):
    """A number. 0.0 and -0.0 are different ones, or kernels with them would be taken for the same."""

    kind: str
    value: Any
    is_outer: bool = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and repr(self) == repr(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(repr(self))


class Compute(NamedTuple):
    """An operation on earlier steps, each converted from its own kind to the one that is taken."""

    name: str
    takes: tuple[str, ...]
    kind: str
    operands: tuple[int, ...]
    is_outer: bool


class Gather(NamedTuple):
    """An element from memory, for each of `operands` so many of `steps` bytes behind where the reference points to."""

    reference: int
    operands: tuple[int, ...]
    steps: tuple[int, ...]
    kind: str
    is_outer: bool


class Place(NamedTuple):
    """A number that follows from the point of the loops: what would be the offset of a reference."""

    reference: int
    is_outer: bool
    kind: str = "i8"


class Reduce(NamedTuple):
    """All elements along the reduced axes made one."""

    combine: str
    kind: str
    operand: int
    stage: int
    is_outer: bool = True


class Running(NamedTuple):
    """What has been combined so far along the only reduced axis, at every point of it."""

    combine: str
    kind: str
    operand: int
    stage: int
    is_outer: bool = False
    factor: int | None = None  # what was combined before is multiplied by it; nothing at the first point


class Write(NamedTuple):
    """A step's value put into memory: in a loop of `stage`, or between loops, after that stage."""

    step: int
    reference: int
    stage: int
    is_outer: bool
    operands: tuple[int, ...] = ()  # as for `Gather`
    steps: tuple[int, ...] = ()
    adds: bool = False  # to what is there

    @property
    def is_plain(self) -> bool:
        """Does it put a value where the loops are, over what is there?"""
        return not self.operands and not self.adds


def operands_of(step: Any) -> tuple[int, ...]:
    """The earlier steps that a step is computed from at the same point."""
    if type(step) is Running:
        return (step.operand,) if step.factor is None else (step.operand, step.factor)
    return step.operands if type(step) in (Compute, Gather) else ()


NOWHERE = -1
"""The parameter of references that are not memory, but numbers."""


class Status:
    """A buffer that every function has: one number, which is not 0 when an index was out of bounds."""

    def __repr__(self) -> str:
        return "STATUS"


STATUS = Status()


class Kernel(NamedTuple):
    """See the top of the file."""

    lengths: tuple[int, ...]
    is_reduced: tuple[bool, ...]
    references: tuple[Reference, ...]
    steps: tuple[Any, ...]
    writes: tuple[Write, ...]
    kept: tuple[tuple[int, int, int], ...]  # (step, reference, stage): later stages read it instead of computing it
    stages: int
    vector_axis: int  # -1: none
    lanes: int
    parameters: int
    written: frozenset[int]  # parameters
    status: int = NOWHERE  # the parameter that is STATUS
    by_rows: bool = False  # the loop over vectors is the innermost, and accumulators lie where results go

    @property
    def size(self) -> int:
        """Points of all loops."""
        return math.prod(self.lengths)

    @property
    def units(self) -> int:
        """How many equal parts the outermost loop has, which threads may share."""
        axis = self.outermost
        if axis is None:
            return 1
        length = self.lengths[axis]
        return -(-length // self.lanes) if axis == self.vector_axis else length

    @property
    def outermost(self) -> int | None:
        """The axis of the outermost loop, if there is one that is not reduced."""
        return 0 if self.lengths and not self.is_reduced[0] else None


# Axes put in order, merged and given lanes.


@lru_cache(1024)
def arranged(kernel: Kernel) -> Kernel:
    """The same kernel with axes in the best order, merged where that can be done, and vectors along one of them. A long
    program asks for few kernels very often."""
    return _vectorised(merged_axes(kernel))


def in_given_order(kernel: Kernel, is_shared: bool) -> Kernel:
    """With the points in the order in which they are; an axis of length 1 in front lets one thread do everything."""
    if not is_shared:
        references = tuple([ref._replace(strides=(0, *ref.strides)) for ref in kernel.references])
        lengths, is_reduced = (1, *kernel.lengths), (False, *kernel.is_reduced)
        kernel = kernel._replace(lengths=lengths, is_reduced=is_reduced, references=references)
    return _vectorised(_with_neighbours_merged(kernel, 1))


def merged_axes(kernel: Kernel) -> Kernel:
    """With axes that are not reduced in front, neighbours merged where all references allow it."""
    return _with_neighbours_merged(_ordered(kernel), 0)


def _with_neighbours_merged(kernel: Kernel, axis: int) -> Kernel:
    """From this axis on."""
    while axis + 1 < len(kernel.lengths):
        if _can_merge(kernel, axis):
            kernel = _merged(kernel, axis)
        else:
            axis += 1
    return kernel


def _ordered(kernel: Kernel) -> Kernel:
    """Outer axes first; within each class those with the larger steps first."""
    guides = [kernel.references[write.reference] for write in kernel.writes if write.is_outer is False]
    guides += [kernel.references[write.reference] for write in kernel.writes]
    inner = [step for step in kernel.steps if type(step) is Read and not step.is_outer]
    guides = guides[:1] if not any(kernel.is_reduced) else [kernel.references[s.reference] for s in inner] or guides

    def key(axis: int) -> tuple[Any, ...]:
        steps = [abs(guide.strides[axis]) for guide in guides]
        return (kernel.is_reduced[axis], kernel.lengths[axis] != 1, -max(steps, default=0), axis)

    order = sorted(range(len(kernel.lengths)), key=key)
    places = {axis: place for place, axis in enumerate(order)}
    references = tuple([
        ref._replace(
            strides=tuple([ref.strides[axis] for axis in order]),
            bounds=tuple([(places[axis], low, high) for axis, low, high in ref.bounds]),
        )
        for ref in kernel.references
    ])  # fmt: skip
    return kernel._replace(
        lengths=tuple([kernel.lengths[axis] for axis in order]),
        is_reduced=tuple([kernel.is_reduced[axis] for axis in order]), references=references,
    )  # fmt: skip


def _can_merge(kernel: Kernel, axis: int) -> bool:
    if kernel.is_reduced[axis] != kernel.is_reduced[axis + 1]:
        return False
    length = kernel.lengths[axis + 1]
    return all(
        ref.strides[axis] == ref.strides[axis + 1] * length and not any(b[0] in (axis, axis + 1) for b in ref.bounds)
        for ref in kernel.references
    )


def _merged(kernel: Kernel, axis: int) -> Kernel:
    references = tuple([
        ref._replace(
            strides=ref.strides[:axis] + ref.strides[axis + 1 :],
            bounds=tuple([(b[0] - (b[0] > axis), b[1], b[2]) for b in ref.bounds]),
        )
        for ref in kernel.references
    ])  # fmt: skip
    lengths = (*kernel.lengths[:axis], kernel.lengths[axis] * kernel.lengths[axis + 1], *kernel.lengths[axis + 2 :])
    return kernel._replace(
        lengths=lengths, is_reduced=kernel.is_reduced[:axis] + kernel.is_reduced[axis + 1 :], references=references
    )


SHORT = 4
"""Terms of a reduction up to which they are not lanes of a vector, but one after the other, without a loop."""
_REGISTER = 32  # bytes
_MOST_STEPS = ((6, 4), (16, 2))  # up to so many computed steps, so many registers for each value
_MOST_APART = 256  # elements that are moved one by one in a turn of the loop, since they do not lie together
_STEPS_BESIDE = 64  # for each function: with more, the time goes there, and into values that do not fit in registers


def _vectorised(kernel: Kernel) -> Kernel:
    """With the axis that vectors lie along, and how many lanes they have."""
    axis = vector_axis(kernel)
    return kernel._replace(vector_axis=-1, lanes=1) if axis < 0 else vectorised(kernel, axis)


def vectorised(kernel: Kernel, axis: int, most: int = 1 << 16) -> Kernel:
    """With vectors along this axis, of at most so many lanes."""
    widest = max([width_of(ref.kind) for ref in kernel.references], default=8)
    computed = sum(type(step) in (Compute, Reduce) for step in kernel.steps)
    registers = next((n for limit, n in _MOST_STEPS if computed <= limit), 1)
    functions = sum(type(step) is Compute and step.name in EXPENSIVE for step in kernel.steps)
    if functions and computed <= _STEPS_BESIDE * functions:
        registers = _MOST_STEPS[0][1]  # a function takes long to give its result: several at once wait together
    apart = sum(ref.strides[axis] not in (0, width_of(ref.kind)) for ref in kernel.references)
    if apart and is_running(kernel):
        registers = 1  # lanes are rows, and the cache has few places for rows that are a power of two apart
    while registers > 1 and apart * _REGISTER // max(widest, 4) * registers > _MOST_APART:
        registers //= 2
    lanes = min(_REGISTER // max(widest, 4) * registers, 1 << (kernel.lengths[axis] - 1).bit_length(), most)
    return kernel._replace(vector_axis=axis, lanes=lanes)


def is_running(kernel: Kernel) -> bool:
    """Is every point along the reduced axis made of the one before? Lanes of a vector cannot lie along it."""
    return any(type(step) is Running for step in kernel.steps)


def vector_axis(kernel: Kernel) -> int:
    """The last axis of one of the two classes: the one along which more elements lie next to each other."""
    outer = [axis for axis, reduced in enumerate(kernel.is_reduced) if not reduced]
    inner = [axis for axis, reduced in enumerate(kernel.is_reduced) if reduced]
    if is_running(kernel):
        return outer[-1] if outer else -1
    candidates = [axes[-1] for axes in (inner, outer) if axes]
    if not candidates:
        return -1
    if inner and outer and math.prod(kernel.lengths[k] for k in inner) <= SHORT <= kernel.lengths[outer[-1]]:
        return outer[-1]  # so that results of reductions are in vectors too

    def score(axis: int) -> int:
        return sum(
            (abs(ref.strides[axis]) == width_of(ref.kind)) * 2 - (abs(ref.strides[axis]) > width_of(ref.kind))
            for ref in kernel.references
            if any(ref.strides[k] for k in inner) or not inner
        )

    return max(candidates, key=score)
