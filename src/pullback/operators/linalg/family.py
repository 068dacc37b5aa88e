"""Linear algebra, gathered: the files beside it declare it, and products come from `vector_products.py`.

What the array API standard wants under `linalg` although it is elementary (`matmul`, `diagonal`, ...) is listed here,
with the standard's meaning: `diagonal` and `trace` act on the last two axes, `outer` on vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.operators import polynomial
from pullback.operators import vector_products as products
from pullback.operators.arrays.movement import diagonal as any_diagonal
from pullback.operators.arrays.movement import matrix_transpose
from pullback.operators.contraction import matmul as any_matmul
from pullback.operators.linalg import (
    banded,
    decompose,
    determinants,
    functions,
    gauge,
    least_squares,
    logarithms,
    lu,
    norms,
    reflections,
    solve,
    spectra,
)
from pullback.operators.linalg.decompose import as_values

parts = (
    banded, decompose, determinants, functions, gauge, least_squares, logarithms,
    lu, norms, reflections, solve, spectra, polynomial,
)  # fmt: skip
"""The modules that declare the family."""

composite(products.tensordot, arrays=2, name="linalg.tensordot")
composite(products.vecdot, arrays=2, name="linalg.vecdot")
composite(matrix_transpose, name="linalg.matrix_transpose")


@composite(arrays=2, name="linalg.matmul")
def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product `x1 @ x2`; axes before the last two are batches and broadcast."""
    return any_matmul(x1, x2)


@composite(arrays=2, name="linalg.cross")
def cross(x1: Any, x2: Any, /, *, axis: int = -1, dim: int | None = None) -> Any:
    """The vector product of vectors of length 3 along `axis`; the other axes broadcast."""
    return products.cross(x1, x2, axis=axis if dim is None else dim)


@composite(arrays=2, name="linalg.outer")
def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of one vector with an element of another."""
    for x in (x1, x2):
        if x.ndim != 1:
            raise ValueError(f"linalg.outer: expected vectors, got an array with {x.ndim} axes; pb.outer flattens")
    return products.outer(x1, x2)


@composite(name="linalg.diagonal")
def diagonal(x: Any, /, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """A view of a diagonal of the matrices in the last or two other axes, `offset` places above the main one."""
    return any_diagonal(x, offset=offset, axis1=dim1, axis2=dim2)


@composite(name="linalg.trace")
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of the matrices in the last two axes."""
    return products.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


@composite(arrays=0, name="linalg.multi_dot")
def multi_dot(arrays: Any, /) -> Any:
    """The product of several matrices, in the order of multiplications that costs least.

    The first and the last may be vectors, which count as a row and as a column.
    """
    matrices = [as_values(x) for x in arrays]
    if len(matrices) < 2:
        raise ValueError(f"multi_dot: at least two arrays are needed, got {len(matrices)}")
    row, column = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if row:
        matrices[0] = matrices[0][None, :]
    if column:
        matrices[-1] = matrices[-1][:, None]
    for x in matrices:
        if x.ndim != 2:
            raise np.linalg.LinAlgError(f"multi_dot: expected matrices, got an array with {x.ndim} axes")
    sizes = [matrices[0].shape[0], *(x.shape[1] for x in matrices)]
    out = _multiplied(matrices, _cheapest_splits(sizes), 0, len(matrices) - 1)
    out = out[0] if row else out
    return out[..., 0] if column else out


def _cheapest_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of the matrices `i` to `j`, each of `sizes[i]` by `sizes[i + 1]`, to save work."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    splits: dict[tuple[int, int], int] = {}
    for span in range(1, count):
        for i in range(count - span):
            j = i + span
            costs = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            splits[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[splits[i, j]]
    return splits


def _multiplied(matrices: list[Any], splits: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return matrices[i]
    k = splits[i, j]
    return _multiplied(matrices, splits, i, k) @ _multiplied(matrices, splits, k + 1, j)
