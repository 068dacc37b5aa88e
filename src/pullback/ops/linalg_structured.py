"""Matrices with constant diagonals, made of vectors: Toeplitz, Hankel and circulant matrices. All are gathers.

Vectors are in the last axis; axes before it are batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.ops.complex_numbers import conjugated
from pullback.ops.index_operators import ARRAY, index_arrays
from pullback.ops.joining import concat
from pullback.ops.movement import broadcast_to
from pullback.ops.plain import tensor_from


def _vectors(name: str, *arrays: Any) -> list[Any]:
    """The arguments as tensors with the same batches."""
    arrays = tuple(tensor_from(x) for x in arrays)
    for x in arrays:
        if x.ndim == 0:
            raise ValueError(f"linalg.{name}: expected a vector, got a number")
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    return [x if x.shape[:-1] == batch else broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]


def _gathered(values: Any, places: Any) -> Any:
    """The elements at `places` along the last axis, whose axes take its place."""
    return index_arrays(values, places, template=(..., ARRAY), distinct=False)


def _offsets(rows: int, columns: int) -> Any:
    return np.arange(columns) - np.arange(rows)[:, None]


@composite(name="linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with first column `c` and first row `r`, constant along every diagonal.

    Without `r` the row is the conjugate of `c`, so that the matrix is Hermitian if `c[0]` is real. `r[0]` is not read.
    """
    c, r = _vectors("toeplitz", c, conjugated(tensor_from(c)) if r is None else r)
    values = concat([c[..., ::-1], r[..., 1:]], -1)
    return _gathered(values, c.shape[-1] - 1 + _offsets(c.shape[-1], r.shape[-1]))


@composite(name="linalg.hankel")
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with first column `c` and last row `r`, constant along every antidiagonal.

    Without `r` what is below the antidiagonal is 0. `r[0]` is not read.
    """
    c = tensor_from(c)
    c, r = _vectors("hankel", c, np.zeros(c.shape, c.dtype) if r is None else r)
    rows, columns = c.shape[-1], r.shape[-1]
    return _gathered(concat([c, r[..., 1:]], -1), np.arange(rows)[:, None] + np.arange(columns))


@composite(name="linalg.circulant")
def circulant(c: Any) -> Any:
    """The square matrix with first column `c` whose every column is the one before it, moved down by one."""
    (c,) = _vectors("circulant", c)
    side = c.shape[-1]
    return _gathered(c, -_offsets(side, side) % max(side, 1))
