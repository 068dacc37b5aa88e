"""`without_edges`: a kernel with bounds as kernels for the inside and the edges, none of which has to ask where it is.

An axis is cut where bounds begin and end. In each piece a bounded element is either read like any other, or is 0. Short
axes are left alone: there the question costs less than more loops.
"""

from __future__ import annotations

import itertools
from typing import Any

from pullback.compiler.llvm.kernel import Constant, Inside, Kernel, Read

SHORTEST = 16
_MOST_PIECES = 9


def without_edges(kernel: Kernel) -> list[Kernel]:
    """The pieces of a kernel that has no reduction."""
    if kernel.stages or not any(ref.bounds for ref in kernel.references):
        return [kernel]
    pieces = [kernel]
    for axis, length in enumerate(kernel.lengths):
        cuts = {edge for ref in kernel.references for at, *edges in ref.bounds if at == axis for edge in edges}
        places = sorted({0, length, *cuts})
        if not cuts or length < SHORTEST or len(pieces) * (len(places) - 1) > _MOST_PIECES:
            continue
        pieces = [_piece(each, axis, *ends) for each in pieces for ends in itertools.pairwise(places)]
    return pieces


def _piece(kernel: Kernel, axis: int, start: int, stop: int) -> Kernel:
    """The kernel for indices of one axis from `start` to `stop`, which no bound lies between."""
    references, outside = [], set()
    for number, ref in enumerate(kernel.references):
        bounds = []
        for at, low, high in ref.bounds:
            if at != axis:
                bounds.append((at, low, high))
            elif stop <= low or high <= start:
                outside.add(number)
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
