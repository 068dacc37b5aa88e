"""Eigenvalues and singular values: `eigh`, `eig`, `svd`, and the functions that return the values alone.

Derivatives of vectors divide by gaps between values, those of the values do not. The functions that return values
alone therefore have operators of their own, which compute vectors only when a derivative asks for them. What is left
open by the definition of the vectors, a basis inside an eigenspace and a phase, is the subject of `gauge.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.spec import Spec, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.loops import NO_EIGENVALUES, NO_SINGULAR_VALUES, Loop
from pullback.declare.samples import Maker, Sample
from pullback.operators.arrays.joining import join
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.linalg.decompose import completion, hermitian_part, of_triangle, onto_triangle
from pullback.operators.linalg.gauge import (
    diagonal_of,
    gaps,
    is_gauge_checked,
    on_diagonal,
    over,
    phase_free,
    skew_over,
)
from pullback.operators.linalg.solve import Array, check_matrix, check_square, solve_matrices
from pullback.tensors.tensor import Tensor

# eigh -----------------------------------------------------------------------------------------------------------------


@gufunc("(n,n)->(n),(n,n)", name="_linalg_eigh", outputs=("w", "v"), torch="linalg_eigh", flops=lambda n: 9 * n**3)
def hermitian_eigen(a, *, triangle, checked):
    """Ascending eigenvalues and orthonormal eigenvectors, reading one triangle of `a`."""
    return tuple(np.linalg.eigh(a, UPLO=triangle))


@hermitian_eigen.loop
def eigh_loop(*, triangle: str, checked: bool) -> list[Loop]:
    return [Loop("linalg.eigh_lo" if triangle == "L" else "linalg.eigh_up", NO_EIGENVALUES, in_double=True)]


@hermitian_eigen.vjp
def eigh_vjp(g_w, g_v, w, v, triangle, checked):
    middle = 0
    if g_w is not None:
        middle = on_diagonal(g_w)
    if g_v is not None:
        g_v = phase_free(g_v, v, function="eigh") if checked and is_complex_dtype(v.dtype) else g_v
        inner = adjoint(v) @ g_v
        middle = middle + skew_over(inner / 2, gaps(w))
    return onto_triangle(v @ middle @ adjoint(v), triangle)


@hermitian_eigen.jvp
def eigh_jvp(t_a, w, v, triangle):
    rotated = adjoint(v) @ of_triangle(t_a, triangle) @ v
    return diagonal_of(rotated).real, v @ over(rotated, gaps(w))


def hermitian(make: Maker, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Hermitian sample matrices with gaps of about one between the eigenvalues."""
    free = make(shape, dtype, -0.4, 0.4)
    return (hermitian_part(free) + np.diag(np.arange(shape[-1]) * 1.5)).astype(dtype)


LOWER = {"triangle": "L", "checked": False}


def without_phases(w: Any, v: Any) -> Any:
    """Eigenvalues and the projectors on the eigenvectors. Phases of the vectors jump from one matrix to the next."""
    return w, v[..., :, None, :] * v.conj()[..., None, :, :]


@hermitian_eigen.samples
def eigh_samples(make: Maker) -> Iterator[Sample]:
    for label, shape in [
        ("empty", (0, 0)), ("one", (1, 1)), ("two", (2, 2)), ("five", (5, 5)), ("batches", (2, 3, 3)),
        ("none", (0, 2, 2)),
    ]:  # fmt: skip
        yield Sample((hermitian(make, shape),), LOWER, label)
    yield Sample((hermitian(make, (3, 3)),), {"triangle": "U", "checked": False}, "upper")
    yield Sample((np.asfortranarray(hermitian(make, (3, 3))),), LOWER, "fortran")
    yield Sample((hermitian(make, (3, 3), np.float32),), LOWER, "float32")
    for label, shape in [("complex", (2, 3, 3)), ("complex-one", (1, 1)), ("complex-five", (5, 5))]:
        values = hermitian(make, shape, np.complex128)
        yield Sample((values,), LOWER, label, observe=without_phases)


@gufunc("(n,n)->(n)", name="_linalg_eigvalsh", torch="linalg_eigvalsh", flops=lambda n: 4 / 3 * n**3)
def hermitian_values(a, *, triangle):
    """Ascending eigenvalues, without the vectors; these are computed when a derivative asks for them."""
    return np.linalg.eigvalsh(a, UPLO=triangle)


@hermitian_values.loop
def eigvalsh_loop(*, triangle: str) -> list[Loop]:
    name = "linalg.eigvalsh_lo" if triangle == "L" else "linalg.eigvalsh_up"
    return [Loop(name, NO_EIGENVALUES, in_double=True)]


@hermitian_values.vjp
def eigvalsh_vjp(g, a, triangle):
    _, v = hermitian_eigen(a, triangle=triangle, checked=False)
    return onto_triangle((v * g[..., None, :]) @ adjoint(v), triangle)


@hermitian_values.jvp
def eigvalsh_jvp(t_a, a, triangle):
    _, v = hermitian_eigen(a, triangle=triangle, checked=False)
    return (conjugated(v) * (of_triangle(t_a, triangle) @ v)).sum(axis=-2).real


@hermitian_values.samples
def eigvalsh_samples(make: Maker) -> Iterator[Sample]:
    for sample in eigh_samples(make):
        triangle = {"triangle": sample.params["triangle"]}
        yield Sample(sample.operands, triangle, sample.label)


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


def triangle_name(name: str, letter: str) -> str:
    """The letter of a triangle, L or U, in capitals."""
    if letter.upper() not in ("L", "U"):
        raise ValueError(f"{name}: UPLO is 'L' or 'U', got {letter!r}")
    return letter.upper()


@composite(name="linalg.eigh")
def eigh(x: Any, /, UPLO: str = "L") -> EighResult:
    """Ascending eigenvalues and orthonormal eigenvectors (as columns) of Hermitian matrices.

    One triangle of `x` is read, the lower one unless `UPLO="U"`; the other one gets gradient 0. The
    gradient of a loss that depends on the vectors of equal eigenvalues is inf or nan. A loss that depends on the phase
    of complex vectors raises; see `check_gauge`.
    """
    check_square("eigh", x)
    triangle = triangle_name("eigh", UPLO)
    return EighResult(*hermitian_eigen(x, triangle=triangle, checked=is_gauge_checked()))


@composite(name="linalg.eigvalsh")
def eigvalsh(x: Any, /, UPLO: str = "L") -> Any:
    """Ascending eigenvalues of Hermitian matrices. The gradient is finite for equal eigenvalues too.

    One triangle of `x` is read, the lower one unless `UPLO="U"`; the other one gets gradient 0.
    """
    check_square("eigvalsh", x)
    return hermitian_values(x, triangle=triangle_name("eigvalsh", UPLO))


# eig ------------------------------------------------------------------------------------------------------------------


def as_complex(x: Array) -> Array:
    """`x` in the complex dtype of its precision."""
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


@gufunc("(n,n)->(n),(n,n)", name="_linalg_eig", outputs=("w", "v"), torch="linalg_eig", flops=lambda n: 25 * n**3)
def general_eigen(a, *, checked):
    """Eigenvalues and eigenvectors of length one, always complex."""
    w, v = np.linalg.eig(a)
    return as_complex(w), as_complex(v)


@general_eigen.vjp
def eig_vjp(g_w, g_v, w, v, checked):
    middle = 0
    if g_w is not None:
        middle = on_diagonal(g_w)
    if g_v is not None:
        g_v = phase_free(g_v, v, function="eig") if checked else g_v
        inner = adjoint(v) @ g_v
        inner = inner - (adjoint(v) @ v) * diagonal_of(inner).real[..., None, :]
        middle = middle + over(inner, conjugated(gaps(w)))
    return solve_matrices(adjoint(v), middle @ adjoint(v), singular="nan")


@general_eigen.jvp
def eig_jvp(t_a, w, v):
    rotated = solve_matrices(v, t_a @ v, singular="nan")
    moved = v @ over(rotated, gaps(w))
    along = (conjugated(v) * moved).sum(axis=-2).real
    return diagonal_of(rotated), moved - v * along[..., None, :]


def with_real_spectrum(make: Maker, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Sample matrices with well separated eigenvalues, real ones unless the dtype is complex."""
    return (make(shape, dtype, -0.3, 0.3) + np.diag(np.arange(shape[-1]) * 2.0)).astype(dtype)


@general_eigen.samples
def eig_samples(make: Maker) -> Iterator[Sample]:
    shapes = [("empty", (0, 0)), ("one", (1, 1)), ("two", (2, 2)), ("four", (4, 4)), ("batches", (2, 3, 3))]
    for label, shape in [*shapes, ("none", (0, 2, 2))]:
        yield Sample((with_real_spectrum(make, shape),), {"checked": False}, label)
    yield Sample((with_real_spectrum(make, (3, 3), np.float32),), {"checked": False}, "float32")
    rotation = np.array([[0.0, -1, 0.2], [1, 0, 0.1], [0.3, 0, 2]])
    for label, values in [
        ("rotation", rotation), ("rotations", np.stack([rotation, rotation.T])),
        ("complex", with_real_spectrum(make, (2, 3, 3), np.complex128)),
        ("complex-one", with_real_spectrum(make, (1, 1), np.complex128)),
        ("complex-four", with_real_spectrum(make, (4, 4), np.complex128)),
    ]:  # fmt: skip
        yield Sample((values,), {"checked": False}, label, observe=without_phases)


@gufunc("(n,n)->(n)", name="_linalg_eigvals", torch="linalg_eigvals", flops=lambda n: 10 * n**3)
def general_values(a):
    """Eigenvalues without the vectors, always complex."""
    return as_complex(np.linalg.eigvals(a))


@general_values.vjp
def eigvals_vjp(g, a):
    _, v = general_eigen(a, checked=False)
    return solve_matrices(adjoint(v), g[..., :, None] * adjoint(v), singular="nan")


@general_values.jvp
def eigvals_jvp(t_a, a):
    _, v = general_eigen(a, checked=False)
    return diagonal_of(solve_matrices(v, t_a @ v, singular="nan"))


@general_values.samples
def eigvals_samples(make: Maker) -> Iterator[Sample]:
    for sample in eig_samples(make):
        yield Sample(sample.operands, label=sample.label)


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


@composite(name="linalg.eig")
def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors (columns of length one) of square matrices, always complex.

    A loss that depends on the phase of the vectors has no derivative, and raises in the backward pass; see
    `check_gauge`. At equal eigenvalues the gradient through the vectors is right if the loss does not depend on the
    choice between them, and NaN or infinite otherwise.
    """
    check_square("eig", x)
    return EigResult(*general_eigen(x, checked=is_gauge_checked()))


@composite(name="linalg.eigvals")
def eigvals(x: Any, /) -> Any:
    """Eigenvalues of square matrices, always complex, in no particular order."""
    check_square("eigvals", x)
    return general_values(x)


# svd ------------------------------------------------------------------------------------------------------------------


@gufunc(
    "(m,n)->(m,n)", name="_linalg_svd", outputs=("u", "s", "vh", "more"), torch="linalg_svd",
    flops=lambda m, n: 22 * m * n * min(m, n),
)  # fmt: skip
def singular_system(a, *, full, checked):
    """`u`, descending `s` and `vh` with `(u * s) @ vh == a`, and what completes `u` or `vh` if it is asked for."""
    rows, columns = a.shape[-2:]
    rank = min(rows, columns)
    u, s, vh = np.linalg.svd(a, full_matrices=full)
    if not full or rows == columns:
        return u, s, vh, np.zeros((*a.shape[:-2], rows, 0), u.dtype)
    if rows > columns:
        return u[..., :rank].copy(), s, vh, u[..., rank:].copy()
    return u, s, vh[..., :rank, :].copy(), vh[..., rank:, :].copy()


@singular_system.loop
def svd_loop(*, full: bool, checked: bool) -> list[Loop]:
    return [Loop("linalg.svd_f" if full else "linalg.svd_s", NO_SINGULAR_VALUES, in_double=True)]


@singular_system.spec
def svd_spec(a: Spec, *, full: bool, checked: bool = False) -> tuple[Spec, ...]:
    *batch, rows, columns = a.shape
    rank = min(rows, columns)
    dtype = a.dtype if a.is_differentiable else np.dtype(np.float64)
    more = (rows, 0)
    if full and rows != columns:
        more = (rows, rows - rank) if rows > rank else (columns - rank, columns)
    cores = [((rows, rank), dtype), ((rank,), np.zeros(0, dtype).real.dtype), ((rank, columns), dtype), (more, dtype)]
    return tuple(spec_for((*batch, *core), kind) for core, kind in cores)


def square_gaps(s: Any) -> Any:
    """`s[j] ** 2 - s[i] ** 2`, factored so that nearby values lose no digits."""
    return gaps(s) * (s[..., None, :] + s[..., :, None])


def without(q: Any, x: Any) -> Any:
    """What of the columns of `x` is orthogonal to the orthonormal columns of `q`."""
    return x - q @ (adjoint(q) @ x)


def phase_free_pair(g_u: Any, g_vh: Any, u: Any, vh: Any) -> tuple[Any, Any]:
    """The gradients, checked as one: a phase turns a column of u together with a column of v."""
    g_u = np.zeros(u.shape, u.dtype) if g_u is None else g_u
    g_vh = np.zeros(vh.shape, vh.dtype) if g_vh is None else g_vh
    rows, axis = u.shape[-2], u.ndim - 2
    both = phase_free(join(g_u, adjoint(g_vh), axis=axis), join(u, adjoint(vh), axis=axis), function="svd")
    return both[..., :rows, :], adjoint(both[..., rows:, :])


@singular_system.vjp
def svd_vjp(g_u, g_s, g_vh, u, s, vh, checked):
    if g_u is None and g_vh is None:
        return np.zeros((*u.shape[:-1], vh.shape[-1]), u.dtype) if g_s is None else (u * g_s[..., None, :]) @ vh
    if checked and is_complex_dtype(u.dtype):
        g_u, g_vh = phase_free_pair(g_u, g_vh, u, vh)
    rows, columns = u.shape[-2], vh.shape[-1]
    gap = square_gaps(s)
    middle = 0 if g_s is None else on_diagonal(g_s)
    turned = 0
    total = 0
    if g_u is not None:
        inner = adjoint(u) @ g_u
        middle = middle + skew_over(inner, gap) * s[..., None, :]
        turned = diagonal_of(inner)
        if rows > columns:
            total = without(u, g_u / s[..., None, :]) @ vh
    if g_vh is not None:
        inner = vh @ adjoint(g_vh)
        middle = middle + s[..., :, None] * skew_over(inner, gap)
        turned = turned - diagonal_of(inner)
        if rows < columns:
            total = u @ adjoint(without(adjoint(vh), adjoint(g_vh) / s[..., None, :]))
    if is_complex_dtype(u.dtype):
        middle = middle + on_diagonal(turned.imag / (2 * s)) * 1j
    return total + u @ middle @ vh


@singular_system.jvp
def svd_jvp(t_a, u, s, vh, more):
    rows, columns = u.shape[-2], vh.shape[-1]
    rotated = adjoint(u) @ t_a @ adjoint(vh)
    gap = square_gaps(s)
    row, column = s[..., None, :], s[..., :, None]
    left = over(rotated * row + column * adjoint(rotated), gap)
    right = over(column * rotated + adjoint(rotated) * row, gap)
    if is_complex_dtype(u.dtype):
        phase = on_diagonal(diagonal_of(rotated).imag / (2 * s)) * 1j
        left, right = left + phase, right - phase
    t_u, t_v = u @ left, adjoint(vh) @ right
    if rows > columns:
        t_u = t_u + without(u, t_a @ adjoint(vh)) / row
    if rows < columns:
        t_v = t_v + without(adjoint(vh), adjoint(t_a) @ u) / row
    return t_u, diagonal_of(rotated).real, adjoint(t_v), np.zeros(more.shape, u.dtype)


def spread(make: Maker, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Sample matrices with well separated singular values, none near zero."""
    rows, columns = shape[-2:]
    return (make(shape, dtype, -0.3, 0.3) + np.eye(rows, columns) * (1 + 1.5 * np.arange(columns))).astype(dtype)


@singular_system.samples
def svd_samples(make: Maker) -> Iterator[Sample]:
    thin = {"full": False, "checked": False}
    for label, shape in [
        ("empty", (0, 0)), ("no-rows", (0, 2)), ("no-columns", (2, 0)), ("one", (1, 1)), ("square", (3, 3)),
        ("tall", (4, 2)), ("wide", (2, 4)), ("batches", (2, 3, 2)), ("none", (0, 2, 2)),
    ]:  # fmt: skip
        yield Sample((spread(make, shape),), thin, label)
    yield Sample((spread(make, (3, 4))[::-1, ::-1],), thin, "reversed")
    yield Sample((spread(make, (3, 2), np.float32),), thin, "float32")
    # A pair of vectors has a phase of its own, which jumps from one matrix to the next; their product has none.
    for label, shape in [("square", (3, 3)), ("tall", (4, 2)), ("wide", (2, 4)), ("batches", (2, 3, 2))]:
        yield Sample(
            (spread(make, shape, np.complex128),), thin, f"complex-{label}",
            observe=lambda u, s, vh, more: (s, u[..., :, :, None] * vh[..., None, :, :]),
        )  # fmt: skip
    for label, shape in [("tall", (4, 2)), ("wide", (2, 4)), ("square", (2, 2))]:
        full = {"full": True, "checked": False}
        yield Sample((spread(make, shape),), full, f"full-{label}", observe=lambda u, s, vh, more: (u, s, vh))


@gufunc("(m,n)->(m)", name="_linalg_svdvals", torch="linalg_svdvals", flops=lambda m, n: 8 / 3 * m * n * min(m, n))
def singular_values(a):
    """Descending singular values, without the vectors; these are computed when a derivative asks for them."""
    return np.linalg.svd(a, compute_uv=False)


@singular_values.loop
def svdvals_loop() -> list[Loop]:
    return [Loop("linalg.svd", NO_SINGULAR_VALUES, in_double=True)]


@singular_values.spec
def svdvals_spec(a: Spec) -> Spec:
    return svd_spec(a, full=False)[1]


@singular_values.vjp
def svdvals_vjp(g, a):
    u, _, vh, _ = singular_system(a, full=False, checked=False)
    return (u * g[..., None, :]) @ vh


@singular_values.jvp
def svdvals_jvp(t_a, a):
    u, _, vh, _ = singular_system(a, full=False, checked=False)
    return (conjugated(u) * (t_a @ adjoint(vh))).sum(axis=-2).real


@singular_values.samples
def svdvals_samples(make: Maker) -> Iterator[Sample]:
    for sample in svd_samples(make):
        if not sample.params["full"]:
            yield Sample(sample.operands, label=sample.label)


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Tensor
    S: Tensor
    Vh: Tensor


@composite(name="linalg.svd")
def svd(x: Any, /, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Orthonormal `U` and `Vh` and descending singular values `S` with `(U * S) @ Vh == x`.

    With `full_matrices` (the default) `U` and `Vh` are square; the columns of `U` or rows of `Vh` that only complete
    them have no derivative, and a loss that depends on them raises in the backward pass. `compute_uv=False` gives `S`
    alone, as `svdvals` does. With `hermitian=True` only the lower triangle of `x` is read. A loss that depends on the
    phase of complex vectors raises; see `check_gauge`.
    """
    check_matrix("svd", x)
    x = of_triangle(x) if hermitian else x
    if not compute_uv:
        return singular_values(x)
    u, s, vh, more = singular_system(x, full=bool(full_matrices), checked=is_gauge_checked())
    if more.shape[-1] and more.shape[-2]:
        rest = completion(more, function="svd")
        if x.shape[-2] > x.shape[-1]:
            u = join(u, rest, axis=u.ndim - 1)
        else:
            vh = join(vh, rest, axis=vh.ndim - 2)
    return SVDResult(u, s, vh)


@composite(name="linalg.svdvals")
def svdvals(x: Any, /) -> Any:
    """Descending singular values. The gradient is finite for equal and for zero singular values too."""
    check_matrix("svdvals", x)
    return singular_values(x)
