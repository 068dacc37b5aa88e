"""Decompositions with SciPy's meanings.

Vectors of a basis are unique up to a sign or phase. They are given the one that SciPy's have, where there are numbers
to look at; while a function is traced or mapped over examples they keep that of our operators.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.errors import AutogradError
from pullback.operators.linalg.gauge import is_gauge_checked
from pullback.scipy._composed import composed, has_numbers, refused
from pullback.scipy._surface import numbers, scipy_module
from pullback.scipy.linalg._solve import dense_from_bands, from_triangle
from pullback.tensors.tensor import Tensor


def adjoint(a: Tensor) -> Tensor:
    """The transposed matrices, conjugated."""
    turned = pb.swapaxes(a, -1, -2)
    return turned.conj() if a.dtype.kind == "c" else turned


def phases(ours: Tensor, theirs: Any) -> Any:
    """What the columns of `ours` are multiplied by to be those of SciPy's."""
    inner = (np.conj(numbers(ours)) * np.asarray(theirs)).sum(axis=-2)
    size = np.abs(inner)
    return np.where(size > 0.1, inner / np.where(size > 0, size, 1), 1.0)


def _plain(name: str) -> Any:
    return getattr(scipy_module("linalg"), name)


@composed("linalg.lu", by="a")
def lu(a: Tensor, permute_l: bool, p_indices: bool) -> Any:
    p, lower, upper = pb.linalg.lu(a)
    if permute_l:
        return p @ lower, upper
    if p_indices:
        return pb.argmax(p, axis=-1), lower, upper
    return p, lower, upper


@composed("linalg.qr", by="a")
def qr(a: Tensor, mode: str, pivoting: bool) -> Any:
    if mode == "raw":
        return NotImplemented
    kind = "reduced" if mode == "economic" else "complete"
    if not pivoting:
        q, r = pb.linalg.qr(a, mode=kind)
        return (r,) if mode == "r" else (q, r)
    theirs = _plain("qr")(numbers(a), mode="economic" if mode == "economic" else "full", pivoting=True)
    q, r = pb.linalg.qr(a[..., theirs[2]] if a.ndim == 2 else _columns(a, theirs[2]), mode=kind)
    turn = phases(q, theirs[0])
    q, r = q * turn[..., None, :], r * np.conj(turn)[..., : r.shape[-2], None]
    order = pb.asarray(theirs[2])
    return (r, order) if mode == "r" else (q, r, order)


def _columns(a: Tensor, order: Any) -> Tensor:
    return pb.take_along_axis(a, np.broadcast_to(order[..., None, :], a.shape), axis=-1)


@composed("linalg.qr_multiply", by="a, c")
def qr_multiply(a: Tensor, c: Tensor, mode: str, pivoting: bool, conjugate: bool) -> Any:
    q, *rest = qr(a, "economic", pivoting)
    is_vector = c.ndim == 1
    c = (c[:, None] if mode == "left" else c[None]) if is_vector else c
    q = q.conj() if conjugate and q.dtype.kind == "c" else q
    out = q @ c if mode == "left" else c @ q
    return (out.reshape(-1) if is_vector else out), *rest


@composed("linalg.rq", by="a")
def rq(a: Tensor, mode: str) -> Any:
    if a.ndim != 2 or a.shape[0] > a.shape[1]:
        return NotImplemented
    theirs = _plain("rq")(numbers(a), mode="economic" if mode == "economic" else "full")
    q, r = pb.linalg.qr(adjoint(pb.flip(a, (0,))), mode="reduced" if mode == "economic" else "complete")
    q, r = pb.flip(adjoint(q), (0,)), pb.flip(adjoint(r), (0, 1))
    turn = np.conj(phases(adjoint(q), np.conj(theirs[1].T)))
    r, q = r * np.conj(turn), q * turn[:, None]
    return r if mode == "r" else (r, q)


@composed("linalg.polar", by="a")
def polar(a: Tensor, side: str) -> Any:
    unitary, positive = pb.linalg.polar(a, side=side)
    return unitary, positive


# Eigenvalues.


def _hermitian(a: Tensor, b: Tensor | None, kind: int) -> tuple[Tensor, Tensor]:
    """All eigenvalues and vectors of `a v = w b v` (1), `a b v = w v` (2), `b a v = w v` (3)."""
    if b is None:
        w, v = pb.linalg.eigh(a)
        return w, v
    root = pb.linalg.cholesky(b)
    if kind == 1:
        half = pb.linalg.solve_triangular(root, a, upper=False)
        inner = pb.linalg.solve_triangular(root, adjoint(half), upper=False)
    else:
        inner = adjoint(root) @ a @ root
    w, v = pb.linalg.eigh((inner + adjoint(inner)) / 2)
    if kind == 3:
        return w, root @ v
    return w, pb.linalg.solve_triangular(adjoint(root), v, upper=True)


def _selected(w: Tensor, by_index: Any, by_value: Any) -> slice:
    if by_index is not None:
        return slice(int(by_index[0]), int(by_index[1]) + 1)
    if by_value is not None:
        values, (low, high) = numbers(w.detach()), by_value
        return slice(int((values <= low).sum()), int((values <= high).sum()))
    return slice(None)


@composed("linalg.eigh", by="a, b")
def eigh(
    a: Tensor, b: Tensor | None, lower: bool, eigvals_only: bool, type: int, subset_by_index: Any,
    subset_by_value: Any, driver: Any,
) -> Any:  # fmt: skip
    full = from_triangle(a, lower), None if b is None else from_triangle(b, lower)
    w, v = _hermitian(*full, type)
    chosen = _selected(w, subset_by_index, subset_by_value)
    w = w[..., chosen]
    if eigvals_only:
        return w
    v = v[..., chosen]
    if has_numbers(a, b):
        options = {"subset_by_index": subset_by_index, "subset_by_value": subset_by_value, "driver": driver}
        given = numbers(a), None if b is None else numbers(b)
        v = v * phases(v, _plain("eigh")(*given, lower=lower, type=type, **options)[1])[..., None, :]
    return w, v


@composed("linalg.eigvalsh", by="a, b")
def eigvalsh(
    a: Tensor, b: Tensor | None, lower: bool, type: int, subset_by_index: Any, subset_by_value: Any, driver: Any
) -> Any:
    return eigh(a, b, lower, True, type, subset_by_index, subset_by_value, driver)


@composed("linalg.eigh_tridiagonal", by="d, e")
def eigh_tridiagonal(
    d: Tensor, e: Tensor, eigvals_only: bool, select: Any, select_range: Any, tol: float
) -> Any:
    matrix = pb.diag(d) + pb.diag(e, 1) + pb.diag(e, -1)
    theirs = None
    if has_numbers(d, e) and not eigvals_only:
        theirs = _plain("eigh_tridiagonal")(numbers(d), numbers(e), select=select, select_range=select_range)[1]
    return _of_dense(matrix, eigvals_only, select, select_range, theirs)


@composed("linalg.eigvalsh_tridiagonal", by="d, e")
def eigvalsh_tridiagonal(d: Tensor, e: Tensor, select: Any, select_range: Any, tol: float) -> Any:
    return eigh_tridiagonal(d, e, True, select, select_range, tol)


@composed("linalg.eig_banded", by="a_band")
def eig_banded(
    a_band: Tensor, lower: bool, eigvals_only: bool, select: Any, select_range: Any, max_ev: int
) -> Any:
    theirs = None
    if has_numbers(a_band) and not eigvals_only:
        options = {"lower": lower, "select": select, "select_range": select_range, "max_ev": max_ev}
        theirs = _plain("eig_banded")(numbers(a_band), **options)[1]
    return _of_dense(dense_from_bands(a_band, lower), eigvals_only, select, select_range, theirs)


@composed("linalg.eigvals_banded", by="a_band")
def eigvals_banded(a_band: Tensor, lower: bool, select: Any, select_range: Any) -> Any:
    return eig_banded(a_band, lower, True, select, select_range, 0)


def _of_dense(matrix: Tensor, eigvals_only: bool, select: Any, select_range: Any, theirs: Any) -> Any:
    by_index = select_range if select in (2, "i", "index") else None
    by_value = select_range if select in (1, "v", "value") else None
    w, v = pb.linalg.eigh(matrix)
    chosen = _selected(w, by_index, by_value)
    if eigvals_only:
        return w[chosen]
    v = v[:, chosen]
    return w[chosen], v if theirs is None else v * phases(v, theirs)


@composed("linalg.eig", by="a, b")
def eig(a: Tensor, b: Tensor | None, left: bool, right: bool, homogeneous_eigvals: bool) -> Any:
    if homogeneous_eigvals or a.ndim != 2:
        return NotImplemented
    w, v = pb.linalg.eig(a if b is None else pb.linalg.solve(b, a))
    if has_numbers(a, b):
        given = numbers(a), None if b is None else numbers(b)
        theirs = _plain("eig")(*given, left=left, right=True)
        order = _matched(numbers(w), theirs[0])
        w, v = w[order], v[:, order]
        v = v * phases(v, theirs[-1])
        v = v * (np.linalg.norm(theirs[-1], axis=0) / np.linalg.norm(numbers(v), axis=0))
    out = [w]
    if left:
        if b is not None:
            return NotImplemented
        turned = adjoint(pb.linalg.inv(v))
        turned = turned / pb.linalg.vector_norm(turned, axis=0)
        out.append(turned * phases(turned, theirs[1]) if has_numbers(a) else turned)
    if right:
        out.append(v)
    return tuple(out) if len(out) > 1 else w


@composed("linalg.eigvals", by="a, b")
def eigvals(a: Tensor, b: Tensor | None, homogeneous_eigvals: bool) -> Any:
    return eig(a, b, False, False, homogeneous_eigvals)


def _matched(ours: Any, theirs: Any) -> Any:
    """Which of our numbers is each of SciPy's."""
    distance = np.abs(np.asarray(theirs)[:, None] - ours)
    _, columns = scipy_module("optimize").linear_sum_assignment(distance)
    return columns


@composed("linalg.schur", by="a")
def schur(a: Tensor, output: str, sort: Any) -> Any:
    if a.ndim != 2:
        return NotImplemented
    theirs = _plain("schur")(numbers(a), output=output, sort=sort)
    upper, basis = theirs[0], theirs[1]
    side = a.shape[0]
    if np.abs(np.tril(upper, -1)).max(initial=0) > 1e-14 * np.abs(upper).max(initial=0):
        raise refused("linalg.schur", "a pair of complex eigenvalues is a block of the real form; ask for the complex")
    values = np.diagonal(upper)
    gaps = np.abs(values[:, None] - values) + np.where(np.eye(side), np.inf, 0)
    if side > 1 and gaps.min() <= 1e-10 * np.abs(values).max():
        raise refused("linalg.schur", "two eigenvalues are equal")
    w, v = pb.linalg.eig(a)
    v = v[:, _matched(numbers(w), values)]
    if not np.iscomplexobj(upper):
        v = (v * np.conj(phases(v, numbers(v).real))).real
    q, _ = pb.linalg.qr(v)
    q = q * phases(q, basis)
    form = pb.triu(adjoint(q) @ a @ q)
    return (form, q) if sort is None else (form, q, theirs[2])


@composed("linalg.hessenberg", by="a")
def hessenberg(a: Tensor, calc_q: bool) -> Any:
    """Reflections that make one column after the other zero, with the signs of SciPy's basis."""
    if a.ndim != 2 or a.dtype.kind == "c":
        return NotImplemented
    theirs = _plain("hessenberg")(numbers(a), calc_q=True)[1]
    side = a.shape[0]
    form, q = a, pb.asarray(np.eye(side, dtype=a.dtype))
    for k in range(side - 2):
        x = form[k + 1 :, k]
        if not np.abs(numbers(x[1:].detach())).any():
            continue  # no reflection, as LAPACK has it
        sign = -1.0 if numbers(x[0].detach()) < 0 else 1.0
        v = pb.concat([(x[0] + sign * pb.linalg.vector_norm(x)).reshape(1), x[1:]])
        v = v / pb.linalg.vector_norm(v)
        mirror = pb.concat([pb.zeros(k + 1), v])
        form = form - 2 * mirror[:, None] * (mirror @ form)
        form = form - 2 * (form @ mirror)[:, None] * mirror
        q = q - 2 * (q @ mirror)[:, None] * mirror
    turn = phases(q, theirs)
    form = pb.triu(form * turn * turn[:, None], -1)
    return (form, q * turn) if calc_q else form


@composed("linalg.ldl", by="A")
def ldl(A: Tensor, lower: bool, hermitian: bool) -> Any:
    """One block after the other, of the sizes and in the order that LAPACK chose."""
    _, middle, order = _plain("ldl")(numbers(A), lower=lower, hermitian=hermitian)
    turned = (lambda x: adjoint(x)) if hermitian else (lambda x: pb.swapaxes(x, -1, -2))
    rest = A if lower else turned(A)  # of the triangle that is read
    rest = pb.tril(rest) + turned(pb.tril(rest, -1))
    side = A.shape[0]
    rows = order if lower else order[::-1]
    rest = rest[rows][:, rows]
    beside = np.diagonal(middle, -1) if lower else np.diagonal(middle, -1)[::-1]
    columns, blocks = [], []
    first = 0
    while first < side:
        size = 2 if first + 1 < side and beside[first] != 0 else 1
        block = rest[:size, :size]
        low = turned(pb.linalg.solve(turned(block), turned(rest[size:, :size])))
        above = np.concatenate([np.zeros((first, size)), np.eye(size)]).astype(A.dtype)
        columns.append(pb.concat([pb.asarray(above), low]))
        blocks.append(block)
        rest = rest[size:, size:] - low @ block @ turned(low)
        first += size
    whole, parts = pb.concat(columns, axis=1), pb.scipy.linalg.block_diag(*blocks)
    if not lower:
        whole, parts = pb.flip(whole, (0, 1)), pb.flip(parts, (0, 1))
        parts = turned(parts)
    places = np.argsort(order)
    return whole[places], parts, order


class _WithoutTurns(Function):
    """A basis of a subspace, whose gradient must not look at how the basis lies in it."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(basis: Tensor) -> Tensor:
        return basis.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (basis,) = ctx.saved_tensors
        inner = np.conj(numbers(basis)).T @ numbers(gradient)
        size = np.linalg.norm(inner) + np.linalg.norm(numbers(gradient))
        if is_gauge_checked() and np.linalg.norm(inner - np.conj(inner).T) > 1e-6 * size:
            raise AutogradError(
                "LINALG_PHASE", "null_space: the loss depends on how the basis lies in the space",
                why="any other orthonormal basis is as good, so the loss is not well defined",
                fix="use a loss of the projector `n @ n.T`, or switch the check off: pb.linalg.check_gauge(False)",
            )  # fmt: skip
        return gradient

    @staticmethod
    def jvp(ctx: Any, tangent: Tensor) -> Tensor:
        return tangent.clone()


@composed("linalg.null_space", by="A")
def null_space(A: Tensor, rcond: Any) -> Any:
    """SciPy's basis, carried along with the space: orthonormal, and turned as little as can be."""
    basis = _plain("null_space")(numbers(A), rcond=rcond)
    kept = basis - pb.linalg.pinv(A) @ (A @ basis)
    moved, _ = pb.linalg.polar(kept)
    return _WithoutTurns.apply(moved)
