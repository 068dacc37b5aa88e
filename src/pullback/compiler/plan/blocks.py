"""`in_blocks`: a kernel whose reduction has many terms as kernels that reduce blocks, and one that adds up their sums.

The longest reduced axis is cut into pieces of fixed length, whatever the number of threads. What is left over at the
end is a kernel of its own, so that all lengths stay known.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from pullback.compiler.loops.kernel import (
    Kernel,
    Read,
    Reduce,
    Reference,
    Scratch,
    Write,
    arranged,
    merged_axes,
    vector_axis,
)
from pullback.compiler.loops.text import width_of
from pullback.graph.ir import row_major

TERMS_IN_BLOCK = 1024
"""Terms that are added up one after the other, in every lane."""
ELEMENTS_IN_BLOCK = 1 << 14
"""Elements of a block when columns are added up."""


class _Cut(NamedTuple):
    """Where an axis is cut."""

    axis: int
    length: int  # of a block
    whole: int  # how many blocks have this length
    rest: int

    @property
    def blocks(self) -> int:
        """How many there are, the last of which may be shorter."""
        return self.whole + (self.rest > 0)


def in_blocks(kernel: Kernel) -> list[tuple[Kernel, tuple[Any, ...]]]:
    """Kernels in the order in which they run, each with the buffers that it has besides those of `kernel`."""
    kernel = merged_axes(kernel)
    cut = _cut(kernel)
    outer = math.prod(n for n, reduced in zip(kernel.lengths, kernel.is_reduced, strict=True) if not reduced)
    writes = [write for write in kernel.writes if write.is_outer]
    scratches = tuple([Scratch(cut.blocks * outer * width_of(_kind(kernel, write))) for write in writes])
    # path: sums in blocks
    made = [_of_blocks(kernel, cut, writes)]
    if cut.rest:
        made.append(_of_rest(kernel, cut, writes, outer))
    made.append(_of_sums(kernel, cut, writes, outer))
    return [(_by_rows(arranged(each)) if each is not made[-1] else arranged(each), scratches) for each in made]


def _by_rows(kernel: Kernel) -> Kernel:
    """Columns are added up row by row, as they lie in memory."""
    along = kernel.vector_axis
    is_outer = along > 0 and not kernel.is_reduced[along]
    partial = [kernel.references[write.reference] for write in kernel.writes if write.is_outer]
    return kernel._replace(by_rows=is_outer and all(ref.strides[along] == width_of(ref.kind) for ref in partial))


def _cut(kernel: Kernel) -> _Cut:
    reduced = [axis for axis, is_reduced in enumerate(kernel.is_reduced) if is_reduced]
    axis = max(reduced, key=lambda k: kernel.lengths[k])
    terms = math.prod(kernel.lengths[k] for k in reduced)
    others = terms // kernel.lengths[axis]
    if vector_axis(kernel) not in reduced:
        wanted = ELEMENTS_IN_BLOCK // (kernel.size // kernel.lengths[axis])
    else:
        wanted = TERMS_IN_BLOCK // others
    length = max(1, min(wanted, kernel.lengths[axis]))
    if length < kernel.lengths[axis]:
        length = 1 << (length.bit_length() - 1)  # so that a tile can have whole blocks of several kernels
    return _Cut(axis, length, *divmod(kernel.lengths[axis], length))


def _kind(kernel: Kernel, write: Write) -> str:
    return kernel.references[write.reference].kind


def _outer_strides(kernel: Kernel, kind: str) -> tuple[int, ...]:
    """Row-major strides over the outer axes, 0 along the others."""
    lengths = [n for n, reduced in zip(kernel.lengths, kernel.is_reduced, strict=True) if not reduced]
    steps = iter(row_major(tuple(lengths), width_of(kind)))
    return tuple([0 if reduced else next(steps) for reduced in kernel.is_reduced])


def _partial(kernel: Kernel, number: int, kind: str, offset: int) -> Reference:
    """Where the partial results of write `number` go, `offset` bytes behind the beginning."""
    return Reference(kernel.parameters + number, kind, offset, _outer_strides(kernel, kind))


def _with_partials(kernel: Kernel, writes: list[Write], references: list[Reference]) -> Kernel:
    parameters = kernel.parameters + len(writes)
    partial = {kernel.parameters + number for number in range(len(writes))}
    inner = {kernel.references[w.reference].parameter for w in kernel.writes if not w.is_outer}
    return kernel._replace(
        references=tuple(references), parameters=parameters, written=frozenset(partial | inner)
    )


def _of_blocks(kernel: Kernel, cut: _Cut, writes: list[Write]) -> Kernel:
    """All whole blocks; which one it is becomes the first axis."""
    references = []
    places = {write.reference: number for number, write in enumerate(writes)}
    outer = math.prod(n for n, reduced in zip(kernel.lengths, kernel.is_reduced, strict=True) if not reduced)
    for position, ref in enumerate(kernel.references):
        if position in places:
            partial = _partial(kernel, places[position], ref.kind, 0)
            references.append(partial._replace(strides=(outer * width_of(ref.kind), *partial.strides)))
        else:
            references.append(ref._replace(strides=(ref.strides[cut.axis] * cut.length, *ref.strides)))
    lengths = (*kernel.lengths[: cut.axis], cut.length, *kernel.lengths[cut.axis + 1 :])
    made = _with_partials(kernel, writes, references)
    return made._replace(lengths=(cut.whole, *lengths), is_reduced=(False, *kernel.is_reduced))


def _of_rest(kernel: Kernel, cut: _Cut, writes: list[Write], outer: int) -> Kernel:
    """The shorter block at the end."""
    references = []
    places = {write.reference: number for number, write in enumerate(writes)}
    for position, ref in enumerate(kernel.references):
        if position in places:
            offset = cut.whole * outer * width_of(ref.kind)
            partial = _partial(kernel, places[position], ref.kind, offset)
            references.append(partial._replace(strides=(0, *partial.strides)))
        else:
            offset = ref.offset + cut.whole * cut.length * ref.strides[cut.axis]
            references.append(ref._replace(offset=offset, strides=(0, *ref.strides)))
    lengths = (*kernel.lengths[: cut.axis], cut.rest, *kernel.lengths[cut.axis + 1 :])
    made = _with_partials(kernel, writes, references)
    return made._replace(lengths=(1, *lengths), is_reduced=(False, *kernel.is_reduced))


def _of_sums(kernel: Kernel, cut: _Cut, writes: list[Write], outer: int) -> Kernel:
    """The partial results combined."""
    outer_axes = [axis for axis, reduced in enumerate(kernel.is_reduced) if not reduced]
    references: list[Reference] = []
    steps: list[Any] = []
    made: list[Write] = []
    for number, write in enumerate(writes):
        target, reduce = kernel.references[write.reference], kernel.steps[write.step]
        assert type(reduce) is Reduce
        partial = _partial(kernel, number, target.kind, 0)
        steps_of_partial = tuple([partial.strides[axis] for axis in outer_axes])
        references.append(partial._replace(strides=(*steps_of_partial, outer * width_of(target.kind))))
        references.append(target._replace(strides=(*(target.strides[axis] for axis in outer_axes), 0)))
        steps += [Read(2 * number, False), Reduce(reduce.combine, reduce.kind, 2 * number, 0)]
        made.append(Write(2 * number + 1, 2 * number + 1, 0, True))
    return Kernel(
        (*(kernel.lengths[axis] for axis in outer_axes), cut.blocks), (*(False for _ in outer_axes), True),
        tuple(references), tuple(steps), tuple(made), (), 1, -1, 1, kernel.parameters + len(writes),
        frozenset(references[2 * k + 1].parameter for k in range(len(writes))),
    )  # fmt: skip
