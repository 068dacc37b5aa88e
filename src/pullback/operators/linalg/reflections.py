"""Products of Householder reflections, and decompositions of low rank.

Reflections are applied one by one with ordinary operators, so that everything here but the factorization itself is
differentiated by theirs. `lobpcg` is for large sparse matrices elsewhere; here matrices are arrays: `eigh` is exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.declare.composite import composite
from pullback.operators.arguments import computed
from pullback.operators.arrays.creation import full
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.arrays.rearranging import flip, tril
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.linalg.decompose import as_values, cholesky, qr
from pullback.operators.linalg.solve import check_matrix, check_square, solve_triangular
from pullback.operators.linalg.spectra import eigh, svd
from pullback.operators.random.family import randn
from pullback.operators.reductions.reduction import mean
from pullback.tensors.tensor import Tensor


class GeqrfResult(NamedTuple):
    """What `geqrf` returns."""

    a: Tensor
    tau: Tensor


def _reflected(a: Any) -> tuple[Any, Any]:
    packed, tau = np.linalg.qr(a, mode="raw")
    return np.swapaxes(packed, -1, -2).copy(), tau


@composite(name="linalg.geqrf", method=False)
def geqrf(x: Any, /) -> GeqrfResult:
    """The `R` of `qr` above, and the reflections whose product is its `Q` below the diagonal, with their factors `tau`.

    `householder_product` and `ormqr` take them. It has no derivative: `qr` has one.
    """
    check_matrix("geqrf", x)
    return GeqrfResult(*computed("geqrf", _reflected, x))


def _reflections(name: str, a: Any, tau: Any) -> tuple[Any, int]:
    """The vectors of reflections as the columns of a matrix, and how many there are."""
    check_matrix(name, a)
    count = tau.shape[-1] if tau.ndim else -1
    if a.shape[-2] < count or a.shape[-1] < count or a.shape[:-2] != tau.shape[:-1]:
        raise ValueError(f"{name}: reflections of shape {a.shape} and factors of shape {tau.shape} do not fit")
    a = a[..., :count]
    return tril(a, k=-1) + np.eye(a.shape[-2], count, dtype=a.dtype), count


def _apply(vectors: Any, tau: Any, x: Any, order: Any) -> Any:
    """The reflections of `x` in turn, each `1 - tau * v @ adjoint(v)`."""
    for k in order:
        v = vectors[..., k : k + 1]
        x = x - tau[..., k, None, None] * (v @ (adjoint(v) @ x))
    return x


@composite(name="linalg.householder_product", arrays=2, aliases=("linalg.orgqr",), method=False)
def householder_product(x: Any, tau: Any, /) -> Any:
    """The first columns of the product of reflections that `geqrf` returned: the `Q` of `qr`."""
    vectors, count = _reflections("householder_product", x, tau)
    rows, columns = x.shape[-2:]
    if rows < columns:
        raise ValueError(f"householder_product: a matrix needs as many rows as columns, got shape {x.shape}")
    start = broadcast_to(astype(full((), 0.0), x.dtype) + np.eye(rows, columns, dtype=x.dtype), x.shape)
    return _apply(vectors, tau, start, reversed(range(count)))


@composite(name="linalg.ormqr", arrays=3, method=False)
def ormqr(x: Any, tau: Any, other: Any, left: bool = True, transpose: bool = False) -> Any:
    """`Q @ other`, or `other @ Q`, with the whole product Q of the reflections of `geqrf`, or its adjoint."""
    vectors, count = _reflections("ormqr", x, tau)
    if not left:
        return adjoint(ormqr(x, tau, adjoint(other), True, not transpose))
    factors = conjugated(tau) if transpose else tau
    return _apply(vectors, factors, other, range(count) if transpose else reversed(range(count)))


class LowRank(NamedTuple):
    """What `svd_lowrank` and `pca_lowrank` return: `(U * S) @ adjoint(V)` is nearly the matrix."""

    U: Tensor
    S: Tensor
    V: Tensor


@composite(name="linalg.svd_lowrank", method=False)
def svd_lowrank(x: Any, q: int = 6, niter: int = 2, M: Any = None) -> LowRank:
    """About the `q` largest singular values and their vectors, of `x - M`, by random projections.

    For matrices of rank `q` or below they are exact. `niter` steps of iteration make the subspace better.
    """
    check_matrix("svd_lowrank", x)
    x = x if M is None else x - as_values(M)
    rows, columns = x.shape[-2:]
    q = min(q, rows, columns)
    wide = rows < columns
    a = adjoint(x) if wide else x
    start = astype(randn(a.shape[-1], q), x.dtype)
    basis = qr(a @ start)[0]
    for _ in range(niter):
        basis = qr(a @ qr(adjoint(a) @ basis)[0])[0]
    u, s, vh = svd(adjoint(basis) @ a, full_matrices=False)
    u, v = basis @ u, adjoint(vh)
    return LowRank(v, s, u) if wide else LowRank(u, s, v)


@composite(name="linalg.pca_lowrank", method=False)
def pca_lowrank(x: Any, q: int | None = None, center: bool = True, niter: int = 2) -> LowRank:
    """`svd_lowrank` of `x`, whose rows are examples, after their mean was subtracted: principal components in `V`."""
    check_matrix("pca_lowrank", x)
    if center:
        x = x - mean(x, axis=-2, keepdims=True)
    return svd_lowrank(x, min(6, *x.shape[-2:]) if q is None else q, niter)


class EigenPairs(NamedTuple):
    """What `lobpcg` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@composite(name="linalg.lobpcg", method=False)
def lobpcg(
    A: Any, k: int | None = None, B: Any = None, X: Any = None, n: int | None = None, iK: Any = None,
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, **options: Any,
) -> EigenPairs:  # fmt: skip
    """The `k` largest, or smallest, eigenvalues of Hermitian matrices and their vectors; with `B`, of `B^-1 @ A`.

    Torch's function iterates. Here matrices are arrays, so all pairs are computed, exactly, and some are returned; what
    steers the iteration (`X`, `iK`, `niter`, `tol`, ...) is not needed, and `X` only says how many if `k` does not.
    """
    check_square("lobpcg", A)
    count = k if k is not None else n if n is not None else 1 if X is None else X.shape[-1]
    if not 0 < count <= A.shape[-1]:
        raise ValueError(f"lobpcg: a matrix of shape {A.shape} has no {count} eigenvalues")
    lower = None if B is None else cholesky(as_values(B))
    if lower is not None:
        A = solve_triangular(lower, adjoint(solve_triangular(lower, A, upper=False)), upper=False)
    values, vectors = eigh(A)
    if lower is not None:
        vectors = solve_triangular(adjoint(lower), vectors, upper=True)
    if largest is None or largest:
        values, vectors = flip(values, -1), flip(vectors, -1)
    return EigenPairs(values[..., :count], vectors[..., :count])
