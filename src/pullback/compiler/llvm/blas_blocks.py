"""Products of matrices shared among the threads of the pool: blocks of rows or columns, each a call of BLAS by itself.

Into which blocks a product is cut depends on its lengths alone, and so results do not depend on the number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from pullback.compiler.llvm import blas
from pullback.compiler.llvm.text import width_of

_WORK = {"f8": 1_000_000, "f4": 2_000_000}  # multiplications from twice as many of which on there are two blocks
_MORE_WORK = 8  # times as many in a block, if there are more blocks: each costs BLAS some copies
_MOST_BLOCKS = 8
_MULTIPLE = 16  # of rows or columns, to suit the kernels of BLAS
ALONE_FROM = 1 << 15
"""Multiplications from which on BLAS may think of using threads."""


class Cut(NamedTuple):
    """How a product is cut: along its rows or its columns, into so many blocks of this length; or by batches."""

    is_by_rows: bool
    length: int
    blocks: int


def cut_of(product: blas.Product) -> Cut:
    """The blocks of a product, one if it is small."""
    length = max(product.rows, product.columns)
    if product.batch:
        return Cut(True, product.rows, math.prod(axis.length for axis in product.batch))
    work = product.size // _WORK[product.kind]
    if product.function != "gemm" or work < 2:
        return Cut(True, length, 1)
    wanted = min(max(2, work // _MORE_WORK), _MOST_BLOCKS)
    of_block = -(-length // (wanted * _MULTIPLE)) * _MULTIPLE
    return Cut(product.rows >= product.columns, of_block, -(-length // of_block))


def may_use_threads(product: blas.Product) -> bool:
    """Could BLAS itself want threads for this?"""
    return product.rows * product.columns * product.terms >= ALONE_FROM


def write_blocks(product: blas.Product, name: str) -> tuple[str, dict[str, str]]:
    """A function that computes blocks `begin` to `end` of a product, from a table of three pointers."""
    cut, width = cut_of(product), width_of(product.kind)
    whole = product.rows if cut.is_by_rows else product.columns
    out_step = cut.length * width * (product.columns if cut.is_by_rows else 1)
    matrix = product.left if cut.is_by_rows else product.right
    along_rows = matrix.is_transposed == cut.is_by_rows  # then a block begins within a row as it lies in memory
    step = cut.length * width * (1 if along_rows else matrix.leading)
    steps = (step, 0, out_step) if cut.is_by_rows else (0, step, out_step)
    lines = [f"%o{k} = mul nsw i64 %block, {each}" for k, each in enumerate(steps)]
    lines = _of_batch(product) if product.batch else lines
    for number in range(3):
        lines.append(f"%g{number} = getelementptr ptr, ptr %table, i64 {number}")
        lines.append(f"%b{number} = load ptr, ptr %g{number}")
        lines.append(f"%p{number} = getelementptr i8, ptr %b{number}, i64 %o{number}")
    sizes = ("%size", str(product.columns)) if cut.is_by_rows else (str(product.rows), "%size")
    if product.batch:
        sizes = (str(product.rows), str(product.columns))
    call, declared = blas.write_gemm(product, "%p0", "%p1", "%p2", *sizes)
    body = "\n".join(f"  {line}" for line in lines)
    text = f"""define internal void @{name}(ptr %table, i64 %begin, i64 %end) nounwind {{
entry:
  %is.any = icmp slt i64 %begin, %end
  br i1 %is.any, label %body, label %done
body:
  %block = phi i64 [ %begin, %entry ], [ %following, %body ]
  %start = mul nsw i64 %block, {cut.length}
  %rest = sub nsw i64 {whole}, %start
  %is.last = icmp slt i64 %rest, {cut.length}
  %size = select i1 %is.last, i64 %rest, i64 {cut.length}
{body}
  {call}
  %following = add nsw i64 %block, 1
  %goes.on = icmp slt i64 %following, %end
  br i1 %goes.on, label %body, label %done
done:
  ret void
}}"""
    return text, declared


def _of_batch(product: blas.Product) -> list[str]:
    """How many bytes further the matrices of a batch lie; the last axis of batches is counted first."""
    lines, rest = [], "%block"
    totals = ["0", "0", "0"]
    for axis in reversed(range(len(product.batch))):
        each = product.batch[axis]
        lines.append(f"%index{axis} = urem i64 {rest}, {each.length}")
        lines.append(f"%rest{axis} = udiv i64 {rest}, {each.length}")
        rest = f"%rest{axis}"
        for k, step in enumerate((each.left, each.right, each.out)):
            lines.append(f"%m{k}_{axis} = mul nsw i64 %index{axis}, {step}")
            name = f"%o{k}" if axis == 0 else f"%s{k}_{axis}"
            lines.append(f"{name} = add nsw i64 {totals[k]}, %m{k}_{axis}")
            totals[k] = name
    return lines
