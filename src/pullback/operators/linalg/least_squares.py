"""Least squares: `pinv`, `lstsq`, `matrix_rank`, and the polar decomposition.

The derivative of a pseudo-inverse is that of matrices of one rank; it needs the matrix and its pseudo-inverse and no
singular vectors, so it is right for equal singular values and, along directions that keep the rank, for any rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.samples import Maker, Sample
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.comparison import where
from pullback.operators.linalg.decompose import hermitian_part, of_triangle
from pullback.operators.linalg.solve import check_matrix
from pullback.operators.linalg.spectra import hermitian, singular_values, spread, svd
from pullback.payloads.batched import plain_array
from pullback.tensors.tensor import Tensor


def relative_cut(a: Any, rtol: Any) -> Any:
    """The fraction of the largest singular value below which others count as zero: `max(m, n) * eps` if not given."""
    if rtol is not None:
        return rtol.detach().numpy() if hasattr(rtol, "detach") else rtol
    dtype = a.dtype if a.dtype.kind in "fc" else np.dtype(np.float64)
    return max(a.shape[-2:]) * float(np.finfo(dtype).eps)


@gufunc("(m,n)->(n,m)", name="_linalg_pinv", torch="linalg_pinv", flops=lambda m, n: 22 * m * n * min(m, n))
def pseudo_inverse(a, *, rtol, hermitian):
    """The Moore-Penrose inverse."""
    return np.linalg.pinv(a, rtol, hermitian)


@pseudo_inverse.vjp
def pinv_vjp(g, a, out):
    transposed, g_transposed = adjoint(out), adjoint(g)
    # Products with a projector, and not the projector itself: n by n would be large for a tall matrix.
    left, right = g_transposed @ out @ transposed, transposed @ out @ g_transposed
    return (left - a @ (out @ left)) + (right - (right @ out) @ a) - transposed @ g @ transposed


@pseudo_inverse.jvp
def pinv_jvp(t_a, a, out):
    transposed, t_transposed = adjoint(out), adjoint(t_a)
    left, right = out @ transposed @ t_transposed, t_transposed @ transposed @ out
    return (left - (left @ a) @ out) + (right - out @ (a @ right)) - out @ t_a @ out


@pseudo_inverse.samples
def pinv_samples(make: Maker) -> Iterator[Sample]:
    plain = {"rtol": 1e-12, "hermitian": False}
    for label, shape in [
        ("no-rows", (0, 2)), ("one", (1, 1)), ("square", (3, 3)), ("tall", (4, 2)), ("wide", (2, 4)),
        ("batches", (2, 3, 2)), ("none", (0, 2, 3)),
    ]:  # fmt: skip
        yield Sample((spread(make, shape),), plain, label)
    yield Sample((spread(make, (3, 2), np.complex128),), plain, "complex")
    yield Sample((spread(make, (2, 3), np.float32),), {"rtol": 1e-6, "hermitian": False}, "float32")
    yield Sample((spread(make, (3, 4))[::-1, ::-1],), plain, "reversed")
    # A single matrix as a batch of one: tests roll the first axis, and rolled rows are not Hermitian.
    symmetric = hermitian(make, (1, 3, 3)) + np.eye(3)
    yield Sample((symmetric,), {"rtol": 1e-12, "hermitian": True}, "hermitian", prepare=hermitian_part)


@composite(name="linalg.pinv")
def pinv(x: Any, /, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The Moore-Penrose inverse of matrices of any shape.

    Singular values up to `rtol` (or `rcond`) times the largest count as zero; the default is `max(m, n)` times the
    precision of the dtype. The gradient is that of a matrix whose rank does not change. With `hermitian=True` only the
    lower triangle of `x` is read.
    """
    check_matrix("pinv", x)
    x = of_triangle(x) if hermitian else x
    if rcond is not None and rtol is not None:
        raise TypeError("pinv: rcond and rtol are two spellings of one argument; keep one of them")
    return pseudo_inverse(x, rtol=relative_cut(x, rcond if rtol is None else rtol), hermitian=bool(hermitian))


def numerical_rank(s: Any, rtol: Any) -> Any:
    """How many singular values are larger than `rtol` times the largest. Without any it is 0."""
    if not s.shape[-1]:
        return (s != s).sum(axis=-1)
    return (s > np.asarray(rtol)[..., None] * s[..., :1]).sum(axis=-1)


@composite(name="linalg.matrix_rank")
def matrix_rank(
    x: Any, /, tol: Any = None, hermitian: bool = False, *, rtol: Any = None, atol: Any = None
) -> Any:  # fmt: skip
    """The number of singular values larger than `rtol` times the largest one, and than `atol`; it has no derivative.

    `tol` is an absolute bound instead. With `atol` alone `rtol` is 0. With `hermitian=True` only the lower
    triangle of `x` is read. Arrays with fewer than two axes have rank 0 if they are all zeros and 1 otherwise.
    """
    if x.ndim < 2:
        return (x != 0).any().astype(np.int64)
    s = singular_values(of_triangle(x) if hermitian else x)
    if tol is None and atol is None:
        return numerical_rank(s, relative_cut(x, rtol))
    bound = _as_bound(atol if tol is None else tol)
    if tol is None and rtol is not None:
        relative = _as_bound(rtol) * s[..., :1]
        bound = where(relative > bound, relative, bound)
    return (s > bound).sum(axis=-1)


def _as_bound(value: Any) -> Any:
    """A number, or one for each matrix, to compare singular values with."""
    return np.asarray(value.detach().numpy() if hasattr(value, "detach") else value)[..., None]


class LstsqResult(NamedTuple):
    """What `lstsq` returns."""

    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor


@composite(arrays=2, name="linalg.lstsq")
def lstsq(a: Any, b: Any, /, rcond: Any = None, *, driver: str | None = None) -> LstsqResult:
    """The shortest `x` that minimizes the length of `a @ x - b`, with batches before the matrices' axes.

    Returns the solution, the squared lengths of the residuals, the rank of `a` and its singular values. All but the
    rank are differentiable. As in NumPy there are no residuals (an empty Tensor) where `a` has no more rows than
    columns or a smaller rank than columns; of a batch only the shape decides. `driver` is torch's choice among LAPACK's
    methods; here it is always that of singular values, which serves every rank.
    """
    check_matrix("lstsq", a)
    vector = b.ndim == 1
    columns = b[:, None] if vector else b
    if a.shape[-2] != columns.shape[-2]:
        raise np.linalg.LinAlgError(f"lstsq: {a.shape[-2]} equations and {columns.shape[-2]} right-hand sides")
    if a.dtype != columns.dtype:  # the singular values and what is cut of them are of the precision of both together
        a = a.astype(np.result_type(a.dtype, columns.dtype))
    cut = relative_cut(a, rcond)
    x = pseudo_inverse(a, rtol=cut, hermitian=False) @ columns
    s = singular_values(a)
    rank = numerical_rank(s, cut)
    off = a @ x - columns
    residuals = (off.real * off.real + off.imag * off.imag if off.dtype.kind == "c" else off * off).sum(axis=-2)
    # Inside of `vmap` this is a batch, too.
    known = plain_array(rank._data) if a.ndim == 2 else None
    if a.shape[-2] <= a.shape[-1] or (known is not None and known < a.shape[-1]):
        residuals = residuals[..., :0]
    return LstsqResult(x[..., 0] if vector else x, residuals, rank, s)


class PolarResult(NamedTuple):
    """What `polar` returns."""

    U: Tensor
    P: Tensor


@composite(name="linalg.polar")
def polar(x: Any, /, side: str = "right") -> PolarResult:
    """A matrix `U` with orthonormal columns or rows and a Hermitian positive `P` with `U @ P == x`.

    With `side="left"` it is `P @ U == x`.
    """
    if side not in ("left", "right"):
        raise ValueError(f"polar: side is 'left' or 'right', got {side!r}")
    u, s, vh = svd(x, full_matrices=False)
    if side == "right":
        return PolarResult(u @ vh, (adjoint(vh) * s[..., None, :]) @ vh)
    return PolarResult(u @ vh, (u * s[..., None, :]) @ adjoint(u))
