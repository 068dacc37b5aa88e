"""Products with a summand, products of several matrices, and distances between points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index
from pullback.declare.composite import composite
from pullback.operators.arguments import ANY_NUMBER, along_axis, tensor_from
from pullback.operators.arrays.movement import broadcast_arrays, swapaxes
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.arrays.scatter import take
from pullback.operators.contraction import check_axes, einsum, matmul
from pullback.operators.elementwise.comparison import maximum, where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.linalg.norms import lengths
from pullback.operators.reductions.reduction import sum


def _scaled(x: Any, factor: Any) -> Any:
    return x if factor.__class__ is int and factor == 1 else x * factor


def _plus(beta: Any, x: Any, alpha: Any, product: Any) -> Any:
    # With beta = 0 the summand is not read, so that infinities in it do no harm.
    if beta.__class__ in (int, float) and beta == 0:
        return _scaled(product, alpha)
    return _scaled(x, beta) + _scaled(product, alpha)


@composite(arrays=3)
def addmm(x: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * x + alpha * (mat1 @ mat2)` for matrices."""
    check_axes("addmm", (mat1, 2), (mat2, 2))
    return _plus(beta, x, alpha, matmul(mat1, mat2))


@composite(arrays=3)
def addmv(x: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * x + alpha * (mat @ vec)` for a matrix and a vector."""
    check_axes("addmv", (mat, 2), (vec, 1))
    return _plus(beta, x, alpha, matmul(mat, vec))


@composite(arrays=3)
def addr(x: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * x + alpha * outer(vec1, vec2)`."""
    check_axes("addr", (vec1, 1), (vec2, 1))
    return _plus(beta, x, alpha, reshape(vec1, (-1, 1)) * vec2)


@composite(arrays=3)
def baddbmm(x: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * x + alpha * (batch1 @ batch2)` for batches of matrices."""
    check_axes("baddbmm", (batch1, 3), (batch2, 3))
    return _plus(beta, x, alpha, matmul(batch1, batch2))


@composite(arrays=3)
def addbmm(x: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`beta * x + alpha * sum(batch1 @ batch2)`, with the sum over the batch."""
    check_axes("addbmm", (batch1, 3), (batch2, 3))
    return _plus(beta, x, alpha, sum(matmul(batch1, batch2), 0))


@composite(arrays=2, method=False)
def linear(x: Any, weight: Any, bias: Any = None) -> Any:
    """`x @ weight.T + bias`: a layer with one row of weights per output."""
    out = matmul(x, swapaxes(weight, -1, -2) if weight.ndim > 1 else weight)
    return out if bias is None else out + bias


@composite(arrays=3, method=False)
def bilinear(x1: Any, x2: Any, weight: Any, bias: Any = None) -> Any:
    """`x1 @ weight[k] @ x2` for every output `k`, over the last axes, plus `bias`."""
    out = einsum("...i,kij,...j->...k", x1, weight, x2)
    return out if bias is None else out + bias


@composite(arrays=ANY_NUMBER, method=False)
def chain_matmul(*matrices: Any) -> Any:
    """The product of matrices in the cheapest order."""
    if not matrices:
        raise ValueError("chain_matmul: there are no matrices")
    check_axes("chain_matmul", *((matrix, 2) for matrix in matrices))
    order = _cheapest([matrices[0].shape[0], *(matrix.shape[1] for matrix in matrices)])
    return _multiplied(matrices, order, 0, len(matrices) - 1)


def _cheapest(lengths: list[int]) -> dict[tuple[int, int], int]:
    """For every stretch of matrices, after which of them to split it."""
    count = len(lengths) - 1
    cost: dict[tuple[int, int], int] = {(k, k): 0 for k in range(count)}
    split: dict[tuple[int, int], int] = {}
    for extent in range(1, count):
        for first in range(count - extent):
            last = first + extent
            costs = [
                cost[first, k] + cost[k + 1, last] + lengths[first] * lengths[k + 1] * lengths[last + 1]
                for k in range(first, last)
            ]
            cost[first, last] = min(costs)
            split[first, last] = first + costs.index(min(costs))
    return split


def _multiplied(matrices: Sequence[Any], split: dict[tuple[int, int], int], first: int, last: int) -> Any:
    if first == last:
        return matrices[first]
    k = split[first, last]
    return matmul(_multiplied(matrices, split, first, k), _multiplied(matrices, split, k + 1, last))


# Distances. The derivative at coincident points is 0.


def _length(difference: Any, p: float, keepdims: bool = False) -> Any:
    """The p-norm over the last axis; that of no elements is 0."""
    if not difference.shape[-1]:
        return sum(abs(difference), -1, keepdims)
    return lengths(difference, axis=-1, keepdims=keepdims, ord=float(p))


@composite(arrays=2)
def dist(x: Any, y: Any, p: float = 2) -> Any:
    """The p-norm of `x - y`, as one number. Its derivative is 0 where the two are equal."""
    return _length(reshape(tensor_from(x - y), (-1,)), p)


@composite(arrays=2)
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """The p-norm distances between all points in the rows of `x1` and of `x2`; axes before are paired.

    Points that coincide get the gradient 0. `compute_mode` is torch's choice of an algorithm; here there is one, which
    subtracts points.
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"cdist: expected points of one dimension in rows, got {x1.shape} and {x2.shape}")
    return _length(x1[..., :, None, :] - x2[..., None, :, :], p)


@composite
def pdist(x: Any, p: float = 2.0) -> Any:
    """The p-norm distances between all pairs of rows of a matrix, in the order (0, 1), (0, 2), ..., (1, 2), ..."""
    check_axes("pdist", (x, 2))
    first, second = np.triu_indices(x.shape[0], 1)
    return _length(take(x, first, 0) - take(x, second, 0), p)


@composite(arrays=2, method=False)
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm distances between paired rows; `eps` is added to the differences, for the gradient at equal rows."""
    return _length(x1 - x2 + eps, p, keepdim)


@composite(arrays=2, method=False)
@along_axis
def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8, *, dim: int | None = None) -> Any:
    """The cosines of the angles between vectors along an axis; lengths below `eps` count as `eps`.

    The gradient by a vector that is 0 is therefore as large as `1 / eps`.
    """
    if eps < 0:
        raise ValueError(f"cosine_similarity: eps must not be negative, got {eps}")
    x1, x2 = broadcast_arrays(x1, x2)
    along = normalize_axis_index(axis if dim is None else dim, x1.ndim)
    first, second = (lengths(x, axis=along, ord=2.0) for x in (x1, x2))
    return sum(x1 * conjugated(x2), along) / (maximum(first, eps) * maximum(second, eps))


@composite
def renorm(x: Any, p: float, axis: int, maxnorm: float) -> Any:
    """`x` with the slices along `axis` whose p-norm is above `maxnorm` scaled down to it."""
    along = normalize_axis_index(axis, x.ndim)
    norms = lengths(x, axis=tuple(k for k in range(x.ndim) if k != along), keepdims=True, ord=float(p))
    is_long = norms > maxnorm
    return where(is_long, x * (maxnorm / where(is_long, norms, 1)), x)
