"""Linear systems with SciPy's meanings: one triangle read, structure assumed, banded and Toeplitz storage."""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._composed import composed, real_or_complex
from pullback.scipy._surface import joined
from pullback.tensors.tensor import Tensor


def from_triangle(a: Tensor, lower: bool, is_hermitian: bool = True) -> Tensor:
    """The matrix whose one triangle is that of `a`, and the other its mirror image."""
    kept = pb.tril(a) if lower else pb.triu(a)
    beside = pb.tril(a, -1) if lower else pb.triu(a, 1)
    mirror = pb.swapaxes(beside, -1, -2)
    if is_hermitian and a.dtype.kind == "c":
        side = pb.eye(a.shape[-1])
        return kept * (1 - side) + kept.real * side + mirror.conj()
    return kept + mirror


@composed("linalg.solve", by="a, b")
def solve(a: Tensor, b: Tensor, lower: bool, assume_a: str | None, transposed: bool) -> Any:
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    if assume_a in ("sym", "symmetric"):
        a = from_triangle(a, lower, is_hermitian=False)
    elif assume_a in ("pos", "positive definite", "her", "hermitian"):
        a = from_triangle(a, lower)
        if assume_a.startswith("pos"):
            pb.linalg.cholesky(a.detach())  # raises what SciPy raises if it is not
    elif assume_a == "diagonal":
        a = a * pb.eye(a.shape[-1])
    elif assume_a in ("lower triangular", "upper triangular"):
        a = pb.tril(a) if assume_a.startswith("lower") else pb.triu(a)
    elif assume_a == "tridiagonal":
        a = pb.triu(pb.tril(a, 1), -1)
    elif assume_a not in (None, "gen", "general", "banded"):
        return NotImplemented
    out = pb.linalg.solve(pb.swapaxes(a, -1, -2) if transposed else a, b)
    return out[..., 0] if is_vector else out


@composed("linalg.inv", by="a")
def inv(a: Tensor, assume_a: str | None, lower: bool) -> Any:
    return solve(a, pb.eye(a.shape[-1]), lower, assume_a, False)


@composed("linalg.lu_solve", by="b")
def lu_solve(lu_and_piv: Any, b: Tensor, trans: int) -> Any:
    """By triangles: LAPACK's exchanges of rows are `piv`, made one after the other."""
    factors, pivots = lu_and_piv
    factors = joined(factors)
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    order = np.arange(factors.shape[-1])
    for row, other in enumerate(np.asarray(pb.asarray(pivots).detach())):
        order[[row, other]] = order[[other, row]]
    if trans == 0:
        out = _triangular(factors, b[order], upper=False, unit=True)
        out = _triangular(factors, out, upper=True)
    else:
        kind = "C" if trans == 2 else "T"
        out = _triangular(factors, b, upper=True, trans=kind)
        out = _triangular(factors, out, upper=False, unit=True, trans=kind)[np.argsort(order)]
    return out[:, 0] if is_vector else out


def _triangular(a: Any, b: Any, *, upper: bool, unit: bool = False, trans: Any = 0) -> Any:
    return pb.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit, trans=trans)


# Banded matrices.


def _full_bands(ab: Tensor, lower: bool) -> tuple[int, Tensor]:
    """How many diagonals a Hermitian matrix has beside the main one, and all of them, from one half of them."""
    count = ab.shape[0] - 1
    size = ab.shape[1]
    below, above = [], []
    for k in range(1, count + 1):
        given = ab[k, : size - k] if lower else ab[count - k, k:]
        gap = pb.zeros(k, dtype=ab.dtype)
        other = given.conj() if ab.dtype.kind == "c" else given
        below.append(pb.concat([given if lower else other, gap]))
        above.append(pb.concat([gap, other if lower else given]))
    middle = ab[0] if lower else ab[count]
    if ab.dtype.kind == "c":
        middle = middle.real + 0j
    return count, pb.stack([*above[::-1], middle, *below])


@composed("linalg.solveh_banded", by="ab, b")
def solveh_banded(ab: Tensor, b: Tensor, lower: bool) -> Any:
    count, bands = _full_bands(ab, lower)
    return pb.linalg.solve_banded((count, count), bands, b)


def dense_from_bands(ab: Tensor, lower: bool) -> Tensor:
    """The Hermitian matrix with these diagonals on one side."""
    size = ab.shape[1]
    count, bands = _full_bands(ab, lower)
    rows, columns = np.indices((size, size))
    is_near = np.abs(rows - columns) <= count
    return pb.where(is_near, bands[np.where(is_near, count + rows - columns, 0), columns], 0)


@composed("linalg.cholesky_banded", by="ab")
def cholesky_banded(ab: Tensor, lower: bool) -> Any:
    count, size = ab.shape[0] - 1, ab.shape[1]
    factor = pb.linalg.cholesky(dense_from_bands(ab, lower), upper=not lower)
    rows = np.arange(count + 1)[:, None] - (0 if lower else count) + np.arange(size)
    is_inside = (rows >= 0) & (rows < size)
    return pb.where(is_inside, factor[np.where(is_inside, rows, 0), np.arange(size)], ab)


@composed("linalg.cho_solve_banded", by="b")
def cho_solve_banded(cb_and_lower: Any, b: Tensor) -> Any:
    bands, lower = cb_and_lower
    bands = real_or_complex(joined(bands))
    count, size = bands.shape[0] - 1, bands.shape[1]
    turned = []  # the diagonals of the adjoint
    for k in range(count + 1):
        diagonal = bands[k, : size - k] if lower else bands[count - k, k:]
        diagonal = diagonal.conj() if bands.dtype.kind == "c" else diagonal
        gap = pb.zeros(k, dtype=bands.dtype)
        turned.append(pb.concat([gap, diagonal] if lower else [diagonal, gap]))
    other = pb.stack(turned[::-1] if lower else turned)
    below, above = (bands, other) if lower else (other, bands)
    half = pb.linalg.solve_banded((count, 0), below, b)
    return pb.linalg.solve_banded((0, count), above, half)


# Matrices with constant diagonals.


@composed("linalg.solve_toeplitz", by="b")
def solve_toeplitz(c_or_cr: Any, b: Tensor) -> Any:
    pair = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr,)
    matrix = pb.linalg.toeplitz(*(real_or_complex(joined(each)).reshape(-1) for each in pair))
    return solve(matrix, b, False, None, False)


# Least squares.


@composed("linalg.lstsq", by="a, b")
def lstsq(a: Tensor, b: Tensor, cond: Any) -> Any:
    rows, columns = a.shape
    found = pb.linalg.lstsq(a, b, rcond=np.finfo(a.dtype).eps if cond is None else cond)
    missed = pb.zeros(0, dtype=found[0].dtype)
    if rows > columns and int(found[2]) == columns:
        missed = (pb.abs(b - a @ found[0]) ** 2).sum(axis=0)
    return found[0], missed, int(found[2]), pb.linalg.svdvals(a)


@composed("linalg.pinv", by="a")
def pinv(a: Tensor, atol: Any, rtol: Any, return_rank: bool) -> Any:
    return _pseudo(a, pb.linalg.svd(a, full_matrices=False), atol, rtol, max(a.shape[-2:]), return_rank)


@composed("linalg.pinvh", by="a")
def pinvh(a: Tensor, atol: Any, rtol: Any, lower: bool, return_rank: bool) -> Any:
    a = from_triangle(a, lower)
    return _pseudo(a, pb.linalg.svd(a, full_matrices=False), atol, rtol, max(a.shape[-2:]), return_rank)


def _pseudo(a: Tensor, parts: Any, atol: Any, rtol: Any, side: int, return_rank: bool) -> Any:
    values = np.asarray(parts[1].detach())
    rtol = side * np.finfo(a.dtype).eps if rtol is None else rtol
    bound = (0.0 if atol is None else atol) + rtol * values.max(initial=0.0)
    out = pb.linalg.pinv(a, rtol=bound / max(values.max(initial=0.0), np.finfo(float).tiny))
    return (out, int((values > bound).sum())) if return_rank else out
