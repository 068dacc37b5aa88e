"""Products with few terms, whose result lies column by column, as loops: vectors of rows, and no sums across lanes.

BLAS copies both operands before it multiplies, which takes longer than ten multiplications for each element do. Here
only the rows are copied, column by column, unless they lie so already.
"""

from __future__ import annotations

from typing import Any

from pullback.compiler.llvm.build import Launch
from pullback.compiler.llvm.commands import Call
from pullback.compiler.llvm.kernel import Compute, Kernel, Read, Reduce, Reference, Scratch, Write
from pullback.compiler.llvm.text import width_of

_MOST_TERMS = 16


def is_thin(call: Call, rows: int) -> bool:
    """Is a product of so many rows, which lie one behind the other, better done in loops?"""
    product = call.product
    is_plain = product.function == "gemm" and not product.batch and not product.left.is_transposed
    return is_plain and product.rows == rows and product.terms <= _MOST_TERMS


def in_loops(call: Call, copies: bool) -> tuple[list[Launch], Scratch | None]:
    """The launches that multiply, if need be after they have copied the rows of the left operand, and to where."""
    product, width = call.product, width_of(call.product.kind)
    rows = Scratch(product.rows * product.terms * width) if copies else None
    step, made = product.left.leading * width, []
    source: tuple[Any, int] = (call.left.root, call.left.offset)
    if rows is not None:
        made.append(_copy(call, rows, step))
        step, source = product.terms * width, (rows, 0)
    down, along = width, product.right.leading * width
    if product.right.is_transposed:
        down, along = along, down
    references = (
        Reference(1, product.kind, 0, (step, 0, width)),
        Reference(2, product.kind, 0, (0, down, along)),
        Reference(0, product.kind, 0, (product.columns * width, width, 0)),
    )
    kinds = (product.kind, product.kind)
    steps = (
        Read(0, False), Read(1, False), Compute("mul", kinds, product.kind, (0, 1), False),
        Reduce("add", product.kind, 2, 0),
    )  # fmt: skip
    kernel = _kernel((product.rows, product.columns, product.terms), references, steps, Write(3, 2, 0, True), 3)
    buffers: tuple[Any, ...] = (call.out, source[0], call.right.root)
    return [*made, Launch(kernel, buffers, (0, source[1], call.right.offset), ("matmul",))], rows


def _copy(call: Call, rows: Scratch, step: int) -> Launch:
    product, width = call.product, width_of(call.product.kind)
    references = (
        Reference(1, product.kind, 0, (step, width)), Reference(0, product.kind, 0, (product.terms * width, width))
    )  # fmt: skip
    kernel = _kernel((product.rows, product.terms), references, (Read(0, True),), Write(0, 1, -1, True), 2)
    return Launch(kernel, (rows, call.left.root), (0, call.left.offset), ("copy",))


def _kernel(lengths: tuple[int, ...], references: Any, steps: Any, write: Write, parameters: int) -> Kernel:
    is_reduced = tuple([axis == 2 for axis in range(len(lengths))])
    stages = int(True in is_reduced)
    return Kernel(lengths, is_reduced, references, steps, (write,), (), stages, 0, 1, parameters, frozenset({0}))
