"""Products of batches, all levels at once. An operand that is the same for all examples is used once, not repeated.

`x @ w` with a batch of vectors `x` and one matrix `w` is then one product of matrices, and in `einsum` every level is
one more letter, which only the operands have that depend on it.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.declare.op import Op
from pullback.payloads.alignment import Array, Levels, aligned
from pullback.payloads.batched_array import BatchedArray, parts_of
from pullback.payloads.evaluate import evaluate

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def matmul(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> BatchedArray:
    """`a @ b` as NumPy means it for one example."""
    (a, a_levels), (b, b_levels) = map(parts_of, operands)
    a_rank, b_rank = a.ndim - len(a_levels), b.ndim - len(b_levels)
    if 0 in (a_rank, b_rank):
        raise ValueError("matmul: an operand has no axes")
    if not b_levels and b_rank == 2 and a.shape[-1] == b.shape[0]:
        return _rows_times(op, a, a_levels, b)
    if not a_levels and a_rank == 2 and b_rank == 1 and a.shape[1] == b.shape[-1]:
        return _rows_times(op, b, b_levels, a.T)
    # Vectors as matrices with one row or one column; the other leading axes broadcast as batches do.
    a = a[..., None, :] if a_rank == 1 else a
    b = b[..., None] if b_rank == 1 else b
    rank = max(a_rank, b_rank, 2)
    out = evaluate(op, (aligned(a, a_levels, levels, rank), aligned(b, b_levels, levels, rank)), {})
    out = out[..., 0, :] if a_rank == 1 else out
    return BatchedArray(out[..., 0] if b_rank == 1 else out, levels)


def _rows_times(op: Op, rows: Array, levels: Levels, matrix: Array) -> BatchedArray:
    """The product of all rows of all examples with one matrix."""
    lead = rows.shape[:-1]
    out = evaluate(op, (rows.reshape((math.prod(lead), rows.shape[-1])), matrix), {})
    return BatchedArray(out.reshape((*lead, matrix.shape[1])), levels)


def einsum(op: Op, operands: Any, params: dict[str, Any], levels: Levels) -> Any:
    """A contraction with a letter for each level. None if there are not enough letters."""
    inputs, output = params["subscripts"].split("->")
    unused = [letter for letter in _LETTERS if letter not in params["subscripts"]]
    if len(unused) < len(levels):
        return None
    letters = dict(zip(levels, unused, strict=False))
    parts = [parts_of(x) for x in operands]
    terms = [
        "".join(letters[level] for level in own) + term
        for (_, own), term in zip(parts, inputs.split(","), strict=True)
    ]
    subscripts = f"{','.join(terms)}->{''.join(letters[level] for level in levels)}{output}"
    return BatchedArray(evaluate(op, [data for data, _ in parts], {**params, "subscripts": subscripts}), levels)
