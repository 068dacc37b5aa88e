"""Gaussian elimination as an operator: `lu`, `lu_factor`, `lu_solve`.

The exchanges of rows are an integer output without derivative; near a matrix they do not change, so the factors are
differentiated as if they were fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import gufunc, primitive
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import every_value
from pullback.operators.arrays.joining import join
from pullback.operators.arrays.movement import diagonal
from pullback.operators.arrays.rearranging import tril, triu
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.comparison import equal, where
from pullback.operators.linalg.decompose import as_values
from pullback.operators.linalg.solve import (
    Array,
    check_matrix,
    check_square,
    eliminated,
    solve_left,
    solve_right,
    solve_triangles,
)
from pullback.operators.reductions.extremes import argmax
from pullback.tensors.tensor import Tensor

adjoint_of = adjoint


@gufunc(
    "(m,n)->(m,n)", name="_linalg_lu", outputs=("pivots", "lower", "upper"), torch="linalg_lu",
    flops=lambda m, n: 2 / 3 * m * n * min(m, n),
)  # fmt: skip
def lower_upper(a):
    """`a` with its rows exchanged is `lower @ upper`; step `k` exchanged row `k` with row `pivots[k]`."""
    *batch, rows, columns = a.shape
    rank = min(rows, columns)
    packed = np.empty(a.shape, a.dtype if a.dtype.kind in "fc" else np.float64)
    pivots = np.empty((*batch, rank), np.int64)
    for index in np.ndindex(*batch):
        pivots[index], packed[index] = eliminated(a[index])
    lower = np.tril(packed[..., :rank], -1) + np.eye(rows, rank, dtype=packed.dtype)
    return pivots, lower, np.triu(packed[..., :rank, :])


@lower_upper.spec
def lu_spec(a: Spec) -> tuple[Spec, ...]:
    *batch, rows, columns = a.shape
    dtype = a.dtype if a.is_differentiable else np.dtype(np.float64)
    rank = min(rows, columns)
    return (
        spec_for((*batch, rank), np.dtype(np.int64)),
        spec_for((*batch, rows, rank), dtype),
        spec_for((*batch, rank, columns), dtype),
    )


@primitive(name="_linalg_permutation")
def permutation(pivots, *, rows, dtype):
    """The matrices `p` with `p @ exchanged == x`, where `exchanged` has the rows of `x` exchanged as `pivots` say."""
    out = np.empty((*pivots.shape[:-1], rows, rows), dtype)
    for index in np.ndindex(*pivots.shape[:-1]):
        order = np.arange(rows)
        for k, pivot in enumerate(pivots[index].tolist()):
            order[[k, pivot]] = order[[pivot, k]]
        out[index] = np.eye(rows)[:, order]
    return out


permutation.not_differentiable("zeros and ones")
permutation.batch(lambda pivots, *, rows, dtype: permutation(pivots, rows=rows, dtype=dtype))


@permutation.spec
def permutation_spec(pivots: Spec, *, rows: int, dtype: Any) -> Spec:
    return spec_for((*pivots.shape[:-1], rows, rows), np.dtype(dtype))


@permutation.samples
def permutation_samples(make: Maker) -> Iterator[Sample]:
    params = {"rows": 3, "dtype": np.dtype(np.float64)}
    yield Sample((np.array([2, 2, 2]),), params, "three")
    yield Sample((np.array([[1, 2], [0, 1]]),), params, "batches")
    yield Sample((np.zeros((2, 0), int),), params, "empty")


@lower_upper.vjp
def lu_vjp(g_lower, g_upper, pivots, lower, upper):
    rows, columns = lower.shape[-2], upper.shape[-1]
    rank = min(rows, columns)
    g_lower = np.zeros(lower.shape, lower.dtype) if g_lower is None else g_lower
    g_upper = np.zeros(upper.shape, upper.dtype) if g_upper is None else g_upper
    first_lower, first_upper = lower[..., :rank, :], upper[..., :rank]
    to_lower, to_upper = g_lower[..., :rank, :], g_upper[..., :rank]
    rest = None
    if rows > rank:
        rest = solve_right(g_lower[..., rank:, :], adjoint(first_upper), upper=False)
        to_upper = to_upper - triu(adjoint(lower[..., rank:, :]) @ rest)
    elif columns > rank:
        rest = solve_left(adjoint(first_lower), g_upper[..., rank:], upper=True)
        to_lower = to_lower - tril(rest @ adjoint(upper[..., rank:]), k=-1)
    inner = tril(adjoint(first_lower) @ to_lower, k=-1) + triu(to_upper @ adjoint(first_upper))
    total = solve_left(adjoint(first_lower), solve_right(inner, adjoint(first_upper), upper=False), upper=True)
    if rest is not None:
        total = join(total, rest, axis=total.ndim - (2 if rows > rank else 1))
    return permutation(pivots, rows=rows, dtype=lower.dtype) @ total


@lower_upper.jvp
def lu_jvp(t_a, pivots, lower, upper):
    rows, columns = lower.shape[-2], upper.shape[-1]
    rank = min(rows, columns)
    t_a = permutation(pivots, rows=rows, dtype=lower.dtype).swapaxes(-1, -2) @ t_a
    first_lower, first_upper = lower[..., :rank, :], upper[..., :rank]
    inner = solve_right(solve_left(first_lower, t_a[..., :rank, :rank], upper=False), first_upper, upper=True)
    t_lower, t_upper = first_lower @ tril(inner, k=-1), triu(inner) @ first_upper
    if rows > rank:
        rest = solve_right(t_a[..., rank:, :] - lower[..., rank:, :] @ t_upper, first_upper, upper=True)
        t_lower = join(t_lower, rest, axis=t_lower.ndim - 2)
    elif columns > rank:
        rest = solve_left(first_lower, t_a[..., rank:] - t_lower @ upper[..., rank:], upper=False)
        t_upper = join(t_upper, rest, axis=t_upper.ndim - 1)
    return None, t_lower, t_upper


@lower_upper.samples
def lu_samples(make: Maker) -> Iterator[Sample]:
    def matrix(shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        # Large entries off the diagonal, so that rows are exchanged.
        return (make(shape, dtype, -0.5, 0.5) + 2 * np.eye(shape[-2], shape[-1])[::-1]).astype(dtype)

    shapes = [("empty", (0, 0)), ("one", (1, 1)), ("square", (3, 3)), ("tall", (4, 2)), ("wide", (2, 4))]
    for label, shape in [*shapes, ("batches", (2, 3, 2)), ("none", (0, 2, 2))]:
        yield Sample((matrix(shape),), label=label)
    yield Sample((matrix((3, 3), np.complex128),), label="complex")
    yield Sample((matrix((3, 2), np.float32),), label="float32")


class LUResult(NamedTuple):
    """What `lu` returns."""

    P: Tensor
    L: Tensor
    U: Tensor


class LUFactorResult(NamedTuple):
    """What `lu_factor` returns."""

    LU: Tensor
    pivots: Tensor


class LUFactorExResult(NamedTuple):
    """What `lu_factor_ex` returns."""

    LU: Tensor
    pivots: Tensor
    info: Tensor


def _check_pivot(name: str, pivot: bool) -> None:
    if not pivot:
        raise ValueError(f"{name}: elimination without exchanges of rows loses digits, and is not offered; drop pivot=")


@composite(name="linalg.lu")
def lu(x: Any, /, *, pivot: bool = True) -> LUResult:
    """A permutation matrix `P`, a unit lower triangular `L` and an upper triangular `U` with `P @ L @ U == x`."""
    check_matrix("lu", x)
    _check_pivot("lu", pivot)
    pivots, lower, upper = lower_upper(x)
    return LUResult(permutation(pivots, rows=x.shape[-2], dtype=lower.dtype), lower, upper)


@composite(name="linalg.lu_factor")
def lu_factor(x: Any, /, *, pivot: bool = True) -> LUFactorResult:
    """Both triangular factors of matrices in one matrix, and the exchanges of rows, for `lu_solve`.

    As in SciPy, `pivots` counts from 0: step `k` exchanged row `k` with row `pivots[k]`.
    """
    check_matrix("lu_factor", x)
    _check_pivot("lu_factor", pivot)
    pivots, lower, upper = lower_upper(x)
    rows, columns = x.shape[-2:]
    below = tril(lower, k=-1)
    if rows > columns:
        missing = np.zeros((*x.shape[:-2], rows - columns, columns), upper.dtype)
        return LUFactorResult(below + join(upper, missing, axis=x.ndim - 2), pivots)
    if rows < columns:
        missing = np.zeros((*x.shape[:-2], rows, columns - rows), lower.dtype)
        return LUFactorResult(join(below, missing, axis=x.ndim - 1) + upper, pivots)
    return LUFactorResult(below + upper, pivots)


@composite(name="linalg.lu_factor_ex")
def lu_factor_ex(x: Any, /, *, pivot: bool = True, check_errors: bool = False) -> LUFactorExResult:
    """`lu_factor`, and for every matrix 0 or the number, from 1 on, of the first pivot that is 0."""
    packed, pivots = lu_factor(x, pivot=pivot)
    zero = equal(diagonal(packed, axis1=-2, axis2=-1), 0)
    first = argmax(zero, -1) + 1 if zero.shape[-1] else zero.sum(axis=-1)
    info = where(zero.any(axis=-1), first, 0)
    if check_errors and every_value(info).any():
        raise np.linalg.LinAlgError("lu_factor_ex: a pivot is 0, so the matrix is singular")
    return LUFactorExResult(packed, pivots, info)


@composite(name="linalg.lu_unpack", arrays=2, method=False)
def lu_unpack(LU: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> LUResult:
    """`P`, `L` and `U` as `lu` gives them, from what `lu_factor` returned; None for what is not wanted."""
    check_matrix("lu_unpack", LU)
    rows, columns = LU.shape[-2:]
    rank = min(rows, columns)
    lower: Any = None
    upper: Any = None
    permuted: Any = None
    if unpack_data:
        lower = tril(LU[..., :rank], k=-1) + np.eye(rows, rank, dtype=LU.dtype)
        upper = triu(LU[..., :rank, :])
    if unpack_pivots:
        permuted = permutation(pivots, rows=rows, dtype=LU.dtype)
    return LUResult(permuted, lower, upper)


@composite(arrays=0, name="linalg.lu_solve")
def lu_solve(
    factor: Any, b: Any, /, B: Any = None, *, left: bool = True, adjoint: bool = False
) -> Any:  # fmt: skip
    """The solution of `a @ x == b` from what `lu_factor(a)` returned, as a pair or as two arguments before `b`.

    `left=False` is for `x @ a == b`, `adjoint` for the adjoint of `a`.
    """
    packed, pivots = (as_values(x) for x in (factor if B is None else (factor, b)))
    check_square("lu_solve", packed)
    b = as_values(b if B is None else B)
    if not left:
        turned = adjoint_of(lu_solve((packed, pivots), adjoint_of(b), adjoint=not adjoint))
        return turned
    vector = b.ndim == 1
    b = b[:, None] if vector else b
    permuted = permutation(pivots, rows=packed.shape[-1], dtype=packed.dtype)
    if adjoint:
        turned = adjoint_of(packed)
        unit = adjoint_of(tril(packed, k=-1)) + np.eye(packed.shape[-1], dtype=packed.dtype)
        forward = solve_triangles(turned, b, upper=False, unit=False, singular="raise")
        out = permuted @ solve_triangles(unit, forward, upper=True, unit=False, singular="raise")
    else:
        ordered = permuted.swapaxes(-1, -2) @ b
        forward = solve_triangles(packed, ordered, upper=False, unit=True, singular="raise")
        out = solve_triangles(packed, forward, upper=True, unit=False, singular="raise")
    return out[..., 0] if vector else out
