"""Triangular decompositions: `cholesky` and its solvers, `qr`; `lu` is in `lu.py`.

Every rule has the same form: the derivative of the factors is what keeps their structure (triangular, unitary) while
their product moves as the matrix does. A projection onto a triangle picks it out.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.spec import Spec, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import gufunc, primitive
from pullback.declare.loops import NOT_POSITIVE, Loop
from pullback.declare.samples import Maker, Sample
from pullback.errors import AutogradError
from pullback.operators.arrays.joining import join
from pullback.operators.arrays.rearranging import tril, triu
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.comparison import choose, where
from pullback.operators.linalg import inner
from pullback.operators.linalg.solve import (
    Array,
    check_matrix,
    check_square,
    solve_left,
    solve_right,
    solve_triangles,
)
from pullback.tensors.tensor import Tensor, as_constant


def hermitian_part(x: Any) -> Any:
    """`(x + adjoint(x)) / 2`."""
    return (x + adjoint(x)) / 2


def halved_diagonal(x: Any) -> Any:
    """Square matrices with half of their diagonal."""
    return where(np.eye(x.shape[-1], dtype=bool), x / 2, x)


def of_triangle(x: Any, triangle: str = "L") -> Any:
    """The Hermitian matrix that one triangle of `x` stands for: what LAPACK sees of `x`."""
    half = halved_diagonal(tril(x) if triangle == "L" else triu(x))
    return half + adjoint(half)


def onto_triangle(g: Any, triangle: str = "L") -> Any:
    """The gradient by `x` where `g` is that by `of_triangle(x)`. The elements that nobody read get 0."""
    total = g + adjoint(g)
    return halved_diagonal(tril(total) if triangle == "L" else triu(total))


# Columns without a derivative -----------------------------------------------------------------------------------------


@primitive(name="_linalg_refused")
def refused(x, *, function):
    """`x` itself, a gradient that must be zero: the columns it belongs to are not determined by the matrix."""
    if np.any(x):
        raise AutogradError(
            "LINALG_EXTRA_COLUMNS",
            f"{function}: the loss depends on the columns that only complete a basis",
            why="any other orthonormal completion is as good, so these columns have no derivative",
            fix="use the reduced form, or only the columns that belong to it",
        )
    return x.copy()


@primitive(name="_linalg_completion")
def completion(x, *, function):
    """Columns that complete a basis: a copy that refuses gradients other than zero and has NaN as tangent."""
    return x.copy()


@completion.vjp
def completion_vjp(g, function):
    return refused(g, function=function)


@completion.jvp
def completion_jvp(t_x):
    return np.full(t_x.shape, np.nan, t_x.dtype)


@refused.vjp
def refused_vjp(g):
    return g


@refused.jvp
def refused_jvp(t_x):
    return t_x


for _identity in (completion, refused):
    _identity.spec(lambda x, *, function: x)
    # Integers have values and no derivative, which is all there is to sample; what is refused must be zero.
    _identity.samples(
        lambda make: (
            Sample((np.zeros(shape, np.int64),), {"function": "qr"}, label)
            for label, shape in [("integers", (2, 3)), ("empty", (2, 0))]
        )
    )

completion.batch(lambda x, *, function: completion(x, function=function))
refused.batch(lambda x, *, function: refused(x, function=function))


# cholesky -------------------------------------------------------------------------------------------------------------


@gufunc("(n,n)->(n,n)", name="_linalg_cholesky", torch="linalg_cholesky", flops=lambda n: n**3 / 3)
def lower_cholesky(a):
    """The lower triangular `out` with `out @ adjoint(out) == a`, from the lower triangle of `a`."""
    return np.linalg.cholesky(a)


@lower_cholesky.loop
def cholesky_loop() -> list[Loop]:
    return [Loop("linalg.cholesky_lo", NOT_POSITIVE, in_double=True)]


lower_cholesky.inner_kernel = inner.cholesky


# Up to this size a general solver is faster than a recursion in Python, although it does more arithmetic.
_SMALL = 96


@lower_cholesky.vjp
def cholesky_vjp(g, out):
    if type(g) is type(out) is np.ndarray and out.shape[-1] <= _SMALL and out.size and np.isfinite(g).all():
        return _cholesky_pulled(g, out)
    inner = halved_diagonal(tril(adjoint(out) @ g))
    return onto_triangle(solve_right(solve_left(adjoint(out), inner, upper=True), out, upper=False))


@lower_cholesky.vjp_on_arrays
def cholesky_pulled(g, out):
    if out.ndim != 2 or out.dtype.char != "d" or len(out) > _SMALL or not np.logical_and.reduce(np.isfinite(g), None):
        return cholesky_vjp(g, out)
    is_below, halves = _triangle(len(out))
    upper = out.T
    half = inner.solve(upper, inner.solve(upper, choose(is_below, upper @ g, 0) * halves).T)
    return choose(is_below, half + half.T, 0) * halves


@functools.lru_cache(64)
def _triangle(n: int) -> tuple[Any, Any]:
    """The lower triangle of a square matrix, and what halves the diagonal."""
    return np.tri(n, dtype=bool), np.where(np.eye(n, dtype=bool), 0.5, 1.0)


def _cholesky_pulled(g: Any, out: Any) -> Any:
    """The same on plain arrays; a factor has no zero on its diagonal."""
    upper = adjoint(out)
    inner = np.tril(upper @ g)
    np.einsum("...ii->...i", inner)[...] *= 0.5
    half = np.linalg.solve(upper, adjoint(np.linalg.solve(upper, inner)))
    half = np.tril(half + adjoint(half))
    np.einsum("...ii->...i", half)[...] *= 0.5
    return half


@lower_cholesky.jvp
def cholesky_jvp(t_a, out):
    inner = solve_left(out, of_triangle(t_a), upper=False)
    return out @ halved_diagonal(tril(solve_right(inner, adjoint(out), upper=True)))


def positive(make: Maker, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Hermitian positive definite sample matrices."""
    free = make(shape, dtype, -1.0, 1.0)
    return (free @ adjoint(free) + np.eye(shape[-1])).astype(dtype)


@lower_cholesky.samples
def cholesky_samples(make: Maker) -> Iterator[Sample]:
    # A single matrix is given as a batch of one: tests roll the first axis, and rolled rows are not Hermitian.
    shapes = [("empty", (0, 0)), ("one", (1, 1)), ("batch", (1, 4, 4)), ("batches", (2, 3, 3)), ("none", (0, 2, 2))]
    for label, shape in shapes:
        yield Sample((positive(make, shape),), label=label)
    yield Sample((positive(make, (2, 3, 3), np.complex128),), label="complex")
    yield Sample((positive(make, (2, 3, 3), np.float32),), label="float32")


@composite(name="linalg.cholesky")
def cholesky(x: Any, /, *, upper: bool = False) -> Any:
    """The triangular `L` with `L @ adjoint(L) == x` of Hermitian positive definite matrices.

    Only the lower triangle of `x` is read. With `upper=True` it is `U` with `adjoint(U) @ U == x`, from the upper
    triangle. The elements that are not read get gradient 0. A matrix that is not positive definite raises
    `numpy.linalg.LinAlgError`.
    """
    check_square("cholesky", x)
    return adjoint(lower_cholesky(adjoint(x))) if upper else lower_cholesky(x)


class CholeskyExResult(NamedTuple):
    """What `cholesky_ex` returns."""

    L: Tensor
    info: Tensor


@gufunc("(n,n)->()", name="_linalg_cholesky_info")
def cholesky_info(a):
    """0 for a positive definite matrix, else the size of the first leading block that is not."""
    out = np.zeros(a.shape[:-2], np.int32)
    for index in np.ndindex(*out.shape):
        if not is_positive_definite(a[index]):
            sizes = range(1, a.shape[-1] + 1)
            out[index] = next(size for size in sizes if not is_positive_definite(a[index][:size, :size]))
    return out


@cholesky_info.spelling("lazy")
def cholesky_info_later(np_there, a):
    raise NotImplementedError("whether there is a factor is known only when the matrix is computed")


def is_positive_definite(a: Array) -> bool:
    """Whether the lower triangle of one matrix has a Cholesky factor."""
    try:
        np.linalg.cholesky(a)
    except np.linalg.LinAlgError:
        return False
    return True


cholesky_info.not_differentiable("an integer that says whether the matrix is positive definite")


@cholesky_info.samples
def cholesky_info_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((positive(make, (2, 3, 3)),), label="definite")
    yield Sample((np.diag([1.0, -1.0, 1.0]),), label="indefinite")
    yield Sample((positive(make, (3, 3), np.complex128),), label="complex")
    yield Sample((np.zeros((0, 0)),), label="empty")


@composite(name="linalg.cholesky_ex")
def cholesky_ex(x: Any, /, *, upper: bool = False) -> CholeskyExResult:
    """`cholesky` that does not raise: where `info` is not 0 the matrix is not positive definite and `L` is NaN.

    `info` is the size of the first leading block that is not positive definite.
    """
    check_square("cholesky_ex", x)
    source = adjoint(x) if upper else x
    info = cholesky_info(source)
    fine = (info == 0)[..., None, None]
    factor = lower_cholesky(where(fine, source, np.eye(x.shape[-1], dtype=x.dtype)))
    factor = where(fine, factor, np.nan)
    return CholeskyExResult(adjoint(factor) if upper else factor, info)


@composite(arrays=2, name="linalg.cholesky_solve")
def cholesky_solve(b: Any, factor: Any, /, upper: bool = False) -> Any:
    """The solution of `a @ x == b` from the Cholesky factor of `a`."""
    check_square("cholesky_solve", factor)
    vector = b.ndim == 1
    lower = adjoint(factor) if upper else factor
    forward = solve_triangles(lower, b[:, None] if vector else b, upper=False, unit=False, singular="raise")
    out = solve_triangles(adjoint(lower), forward, upper=True, unit=False, singular="raise")
    return out[..., 0] if vector else out


@composite(name="linalg.cholesky_inverse")
def cholesky_inverse(factor: Any, /, upper: bool = False) -> Any:
    """The inverse of the matrix with this Cholesky factor."""
    check_square("cholesky_inverse", factor)
    return cholesky_solve(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


@composite(name="linalg.cho_factor")
def cho_factor(a: Any, /, lower: bool = False) -> tuple[Any, bool]:
    """SciPy's `cho_factor`: the Cholesky factor and whether it is the lower one. The other triangle is zero."""
    return cholesky(a, upper=not lower), bool(lower)


@composite(arrays=0, name="linalg.cho_solve")
def cho_solve(factor_and_lower: tuple[Any, bool], b: Any, /) -> Any:
    """SciPy's `cho_solve`: the solution of `a @ x == b` from what `cho_factor(a)` returned."""
    factor, lower = factor_and_lower
    return cholesky_solve(as_values(b), as_values(factor), upper=not lower)


def as_values(x: Any) -> Any:
    """What users hand over inside a tuple, as a Tensor."""
    return x if isinstance(x, Tensor) else as_constant(np.asarray(x))


# qr -------------------------------------------------------------------------------------------------------------------


@gufunc(
    "(m,n)->(m,n)", name="_linalg_qr", outputs=("q", "r", "more"), torch="linalg_qr",
    flops=lambda m, n: 2 * m * n * min(m, n),
)  # fmt: skip
def orthogonal_triangular(a, *, complete):
    """The reduced factors `q` and `r`, and the columns that complete `q` if they are asked for."""
    rows, columns = a.shape[-2:]
    if not complete or rows <= columns:
        q, r = np.linalg.qr(a)
        return q, r, np.zeros((*a.shape[:-1], 0), q.dtype)
    q, r = np.linalg.qr(a, mode="complete")
    return q[..., :columns].copy(), r[..., :columns, :].copy(), q[..., columns:].copy()


@orthogonal_triangular.spec
def qr_spec(a: Spec, *, complete: bool) -> tuple[Spec, ...]:
    *batch, rows, columns = a.shape
    dtype = a.dtype if a.is_differentiable else np.dtype(np.float64)
    rank = min(rows, columns)
    extra = rows - rank if complete else 0
    return tuple(spec_for((*batch, *core), dtype) for core in [(rows, rank), (rank, columns), (rows, extra)])


@orthogonal_triangular.vjp
def qr_vjp(g_q, g_r, q, r):
    if g_q is None and g_r is None:
        return np.zeros((*q.shape[:-1], r.shape[-1]), q.dtype)
    rows, columns = q.shape[-2], r.shape[-1]
    middle = 0
    if g_r is not None:
        middle = g_r @ adjoint(r)
    if g_q is not None:
        middle = middle - adjoint(q) @ g_q
    if rows >= columns:
        # The triangle that g_r does not touch is what keeps q unitary.
        symmetric = triu(middle, k=1) + real_diagonal_of(middle) + adjoint(triu(middle, k=1))
        total = q @ symmetric
        return solve_right(total if g_q is None else total + g_q, adjoint(r), upper=False)
    turning = halved_diagonal(tril(adjoint(middle) - middle))
    lead = r[..., :rows]
    first = q @ solve_right(turning, adjoint(lead), upper=False)
    padded = join(first, np.zeros((*first.shape[:-1], columns - rows), q.dtype), axis=first.ndim - 1)
    return padded if g_r is None else padded + q @ g_r


def real_diagonal_of(x: Any) -> Any:
    """The real part of the diagonal, with zeros elsewhere."""
    return where(np.eye(x.shape[-1], dtype=bool), x.real, 0)


@orthogonal_triangular.jvp
def qr_jvp(t_a, q, r, more):
    rows, columns = q.shape[-2], r.shape[-1]
    still = np.zeros(more.shape, q.dtype)
    if rows >= columns:
        moved = solve_right(t_a, r, upper=True)
        inner = adjoint(q) @ moved
        upper = halved_diagonal(triu(inner + adjoint(inner)))
        return moved - q @ upper, upper @ r, still
    moved = adjoint(q) @ t_a
    inner = solve_right(moved[..., :rows], r[..., :rows], upper=True)
    below = tril(inner, k=-1)
    turning = below - adjoint(below)
    if is_complex_dtype(inner.dtype):
        turning = turning + where(np.eye(rows, dtype=bool), inner.imag, 0) * 1j
    return q @ turning, moved - turning @ r, still


@orthogonal_triangular.samples
def qr_samples(make: Maker) -> Iterator[Sample]:
    def matrix(rows: int, columns: int, batch: tuple[int, ...] = (), dtype: Any = np.float64) -> Array:
        return (make((*batch, rows, columns), dtype, -0.6, 0.6) + 2 * np.eye(rows, columns)).astype(dtype)

    shapes = [
        ("empty", 0, 0, ()), ("no-rows", 0, 2, ()), ("no-columns", 2, 0, ()), ("one", 1, 1, ()), ("square", 3, 3, ()),
        ("tall", 4, 2, ()), ("wide", 2, 4, ()), ("batches", 3, 2, (2,)), ("none", 2, 2, (0,)), ("more", 2, 3, (2, 1)),
    ]  # fmt: skip
    for label, rows, columns, batch in shapes:
        yield Sample((matrix(rows, columns, batch),), {"complete": False}, label)
    for label, rows, columns in [("square", 3, 3), ("tall", 4, 2), ("wide", 2, 4)]:
        yield Sample((matrix(rows, columns, (), np.complex128),), {"complete": False}, f"complex-{label}")
    yield Sample((matrix(3, 2, (), np.float32),), {"complete": False}, "float32")
    yield Sample((np.asfortranarray(matrix(4, 3)),), {"complete": False}, "fortran")
    yield Sample((matrix(4, 3)[::-1, ::-1],), {"complete": False}, "reversed")
    yield Sample((matrix(4, 2),), {"complete": True}, "complete", observe=lambda q, r, more: (q, r))


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Tensor
    R: Tensor


@composite(name="linalg.qr")
def qr(x: Any, /, mode: str = "reduced") -> Any:
    """Orthonormal `Q` and upper triangular `R` with `Q @ R == x`.

    `mode` is "reduced", "complete" (`Q` is square) or "r" (only `R`, as a Tensor). The columns that complete `Q` have
    no derivative: a loss that depends on them raises in the backward pass.
    """
    check_matrix("qr", x)
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"qr: mode is 'reduced', 'complete' or 'r', got {mode!r}")
    q, r, more = orthogonal_triangular(x, complete=mode == "complete")
    if mode == "r":
        return r
    if more.shape[-1]:
        q = join(q, completion(more, function="qr"), axis=q.ndim - 1)
        below = np.zeros((*r.shape[:-2], more.shape[-1], r.shape[-1]), r.dtype)
        r = join(r, below, axis=r.ndim - 2)
    return QRResult(q, r)
