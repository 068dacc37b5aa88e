"""Linear systems and inverses: `solve`, `inv`, `solve_triangular`, and what is made of them.

A derivative of a solution is a solution with the same matrix, so the rules call the operators themselves. In a rule a
matrix that turns out to be singular must not raise: `singular="nan"` fills the answer for that matrix with NaN, while
users get NumPy's `LinAlgError`. Triangular systems are solved by halves, so that nearly all the work is in products.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.axes import normalize_axis_tuple
from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.loops import SINGULAR, SINGULAR_TRIANGLE, Loop
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.arrays.rearranging import tril, triu
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.comparison import where
from pullback.operators.linalg import inner
from pullback.tensors.tensor import Tensor

Array = np.ndarray[Any, Any]


def check_square(name: str, a: Any) -> None:
    """Raise unless the last two axes of `a` are matrices with as many rows as columns."""
    check_matrix(name, a)
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"{name}: the matrices must be square, and the shape is {list(a.shape)}")


def check_matrix(name: str, a: Any) -> None:
    """Raise unless `a` has the two axes of a matrix."""
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{name}: a matrix has two axes, and this array has {a.ndim}")


def regular(make: Maker, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
    """Sample matrices with a small condition number; they stay regular when their rows are rolled."""
    side = shape[-1]
    return (make(shape, dtype, -0.4, 0.4) + 2 * np.eye(side)).astype(dtype)


def one_by_one(kernel: Callable[..., Array], operands: tuple[Array, ...], failed: Array) -> Array:
    """Call `kernel` matrix by matrix on batches of one shape; where it finds a singular matrix, `failed` is the answer.

    `failed` has the shape of all the answers together.
    """
    out = np.array(failed)
    for index in np.ndindex(*operands[0].shape[:-2]):
        try:
            out[index] = kernel(*(x[index] for x in operands))
        except np.linalg.LinAlgError:
            continue
    return out


# solve ----------------------------------------------------------------------------------------------------------------


@gufunc(
    "(n,n),(n,k)->(n,k)", name="_linalg_solve", torch="linalg_solve",
    flops=lambda n, k: 2 / 3 * n**3 + 2 * n * n * k,
)  # fmt: skip
def solve_matrices(a, b, *, singular):
    """The matrices `x` with `a @ x == b`."""
    if singular == "raise":
        return np.linalg.solve(a, b)
    with np.errstate(all="ignore"):
        try:
            return np.linalg.solve(a, b)
        except np.linalg.LinAlgError:
            batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
            a, b = np.broadcast_to(a, (*batch, *a.shape[-2:])), np.broadcast_to(b, (*batch, *b.shape[-2:]))
            dtype = np.linalg.solve(np.eye(1, dtype=a.dtype), np.ones((1, 1), b.dtype)).dtype
            return one_by_one(np.linalg.solve, (a, b), np.full(b.shape, np.nan, dtype))


@solve_matrices.loop
def solve_loop(*, singular: str) -> list[Loop]:
    return [Loop("linalg.solve", SINGULAR if singular == "raise" else "", in_double=True)]


@solve_matrices.vjp
def solve_vjp(g, a, out, needs):
    to_b = solve_matrices(adjoint(a), g, singular="nan")
    return (-(to_b @ adjoint(out)) if needs[0] else None), to_b


@solve_matrices.kernel_on_arrays
def solve_quickly(a, b, *, singular):
    return inner.solve(a, b) if singular == "raise" else solve_matrices.kernel(a, b, singular=singular)


@solve_matrices.vjp_on_arrays
def solve_pulled(g, a, out, needs):
    if a.ndim != 2 or out.ndim != 2 or a.dtype.char != "d" or out.dtype.char != "d":
        return solve_vjp(g, a, out, needs)
    try:
        to_b = inner.solve(a.T, g)
    except np.linalg.LinAlgError:
        return solve_vjp(g, a, out, needs)
    return (-(to_b @ out.T) if needs[0] else None), to_b


@solve_matrices.jvp
def solve_jvp(t_a, t_b, a, out):
    moved = t_b if t_a is None else -(t_a @ out) if t_b is None else t_b - t_a @ out
    return solve_matrices(a, moved, singular="nan")


@solve_matrices.samples
def solve_samples(make: Maker) -> Iterator[Sample]:
    raising = {"singular": "raise"}
    shapes = [
        ("one", (1, 1), (1, 2)), ("matrix", (3, 3), (3, 2)), ("batches", (2, 3, 3), (2, 3, 1)),
        ("one-matrix", (3, 3), (2, 3, 2)), ("one-side", (2, 3, 3), (3, 2)), ("broadcast", (2, 1, 2, 2), (3, 2, 2)),
        ("empty", (0, 0), (0, 2)), ("no-columns", (2, 2), (2, 0)), ("no-batches", (0, 2, 2), (0, 2, 3)),
    ]  # fmt: skip
    for label, a, b in shapes:
        yield Sample((regular(make, a), make(b)), raising, label)
    for label, array in layouts(regular(make, (3, 3))):
        yield Sample((array, make((3, 2))), raising, label)
    yield Sample((regular(make, (3, 3), np.float32), make((3, 2), np.float32)), raising, "float32")
    yield Sample((regular(make, (2, 3, 3), np.complex128), make((3, 2), np.complex128)), raising, "complex")
    yield Sample((regular(make, (3, 3)), make((3, 2), np.complex128)), raising, "real-and-complex")
    yield Sample((regular(make, (3, 3)), make((3, 1))), {"singular": "nan"}, "quiet")


@composite(arrays=2, name="linalg.solve")
def solve(x1: Any, x2: Any, /) -> Any:
    """The solution `x` of `x1 @ x == x2`.

    `x2` is a vector only if it has one axis; otherwise its last two axes are matrices and the axes before broadcast.
    A singular matrix raises `numpy.linalg.LinAlgError`; the backward pass never does, its gradients are NaN then.
    """
    check_square("solve", x1)
    if x2.ndim == 1:
        return solve_matrices(x1, x2[:, None], singular="raise")[..., 0]
    return solve_matrices(x1, x2, singular="raise")


class SolveExResult(NamedTuple):
    """What `solve_ex` returns."""

    result: Tensor
    info: Tensor


class InvExResult(NamedTuple):
    """What `inv_ex` returns."""

    inverse: Tensor
    info: Tensor


@gufunc("(n,n)->()", name="_linalg_singular_info")
def singular_info(a):
    """0 for a regular matrix; for a singular one the number of the first pivot that is zero, counted from 1."""
    out = np.zeros(a.shape[:-2], np.int32)
    for index in np.ndindex(*out.shape):
        pivots = np.diagonal(eliminated(a[index])[1])
        zeros = np.flatnonzero(pivots == 0)
        out[index] = zeros[0] + 1 if len(zeros) else 0
    return out


singular_info.not_differentiable("an integer that says whether the matrix is singular")


@singular_info.samples
def singular_info_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((regular(make, (3, 3)),), label="regular")
    yield Sample((np.stack([np.eye(2), np.zeros((2, 2))]),), label="batches")
    yield Sample((np.zeros((0, 0)),), label="empty")
    yield Sample((regular(make, (2, 2), np.complex128),), label="complex")


def eliminated(a: Array) -> tuple[Array, Array]:
    """Row exchanges and packed factors of one matrix: Gaussian elimination with the largest pivot of each column.

    Step `k` exchanged row `k` with row `exchanges[k]`. Below the diagonal of the second result are the multipliers, on
    and above it the triangular factor.
    """
    rows, columns = a.shape
    packed = np.array(a, dtype=np.result_type(a.dtype, np.float32) if a.dtype.kind in "fc" else np.float64)
    exchanges = np.arange(min(rows, columns))
    for k in exchanges.tolist():
        column = packed[k:, k]
        # LAPACK's size of a complex number, so that the same rows are exchanged.
        pivot = k + int(np.argmax(np.abs(column.real) + np.abs(column.imag)))
        if pivot != k:
            packed[[k, pivot]] = packed[[pivot, k]]
            exchanges[k] = pivot
        if packed[k, k] != 0:
            packed[k + 1 :, k] /= packed[k, k]
            packed[k + 1 :, k + 1 :] -= packed[k + 1 :, k, None] * packed[k, k + 1 :]
    return exchanges, packed


@composite(arrays=2, name="linalg.solve_ex")
def solve_ex(x1: Any, x2: Any, /) -> SolveExResult:
    """`solve` that does not raise: `info` is 0 where the matrix is regular, elsewhere `result` is NaN."""
    check_square("solve_ex", x1)
    vector = x2.ndim == 1
    out = solve_matrices(x1, x2[:, None] if vector else x2, singular="nan")
    return SolveExResult(out[..., 0] if vector else out, singular_info(x1))


# inv ------------------------------------------------------------------------------------------------------------------


@gufunc("(n,n)->(n,n)", name="_linalg_inv", torch="linalg_inv", flops=lambda n: 2 * n**3)
def inverse(a, *, singular):
    """The inverse matrices."""
    if singular == "raise":
        return np.linalg.inv(a)
    with np.errstate(all="ignore"):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            dtype = np.linalg.inv(np.eye(1, dtype=a.dtype)).dtype
            return one_by_one(np.linalg.inv, (a,), np.full(a.shape, np.nan, dtype))


@inverse.loop
def inverse_loop(*, singular: str) -> list[Loop]:
    return [Loop("linalg.inv", SINGULAR if singular == "raise" else "", in_double=True)]


@inverse.vjp
def inverse_vjp(g, out):
    transposed = adjoint(out)
    return -(transposed @ g @ transposed)


@inverse.kernel_on_arrays
def inverse_quickly(a, *, singular):
    return inner.inv(a) if singular == "raise" else inverse.kernel(a, singular=singular)


@inverse.vjp_on_arrays
def inverse_pulled(g, out):
    transposed = out.conj().swapaxes(-1, -2)
    return -(transposed @ g @ transposed)


@inverse.jvp
def inverse_jvp(t_a, out):
    return -(out @ t_a @ out)


@inverse.samples
def inverse_samples(make: Maker) -> Iterator[Sample]:
    yield from square_samples(make, {"singular": "raise"})
    yield Sample((regular(make, (2, 2)),), {"singular": "nan"}, "quiet")


def square_samples(make: Maker, params: dict[str, Any]) -> Iterator[Sample]:
    """Well conditioned square matrices of every size, layout and dtype."""
    for label, shape in [
        ("empty", (0, 0)), ("one", (1, 1)), ("two", (2, 2)), ("five", (5, 5)), ("batches", (2, 3, 3)),
        ("no-batches", (0, 2, 2)), ("more-batches", (2, 1, 2, 2)),
    ]:  # fmt: skip
        yield Sample((regular(make, shape),), params, label)
    for label, array in layouts(regular(make, (3, 3))):
        yield Sample((array,), params, label)
    yield Sample((regular(make, (3, 3), np.float32),), params, "float32")
    yield Sample((regular(make, (3, 3), np.complex64),), params, "complex64")
    yield Sample((regular(make, (2, 3, 3), np.complex128),), params, "complex")


@composite(name="linalg.inv")
def inv(x: Any, /) -> Any:
    """The inverse of square matrices. A singular one raises `numpy.linalg.LinAlgError`; taking gradients never does."""
    check_square("inv", x)
    return inverse(x, singular="raise")


@composite(name="linalg.inv_ex")
def inv_ex(x: Any, /) -> InvExResult:
    """`inv` that does not raise: `info` is 0 where the matrix is regular, elsewhere the inverse is NaN."""
    check_square("inv_ex", x)
    return InvExResult(inverse(x, singular="nan"), singular_info(x))


# Triangular systems ---------------------------------------------------------------------------------------------------

_SMALL = 32  # rows up to which substitution goes row by row
_FEW = 96  # rows up to which the arithmetic with zeros of a general solver costs less than steps in Python


def substitute(a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """Solve a triangular system by halves, reading one triangle of `a`. `b` is overwritten."""
    side = a.shape[-1]
    if side <= _SMALL:
        for row in reversed(range(side)) if upper else range(side):
            known = slice(row + 1, side) if upper else slice(0, row)
            if known.stop > known.start:
                b[..., row, :] -= (a[..., row, None, known] @ b[..., known, :])[..., 0, :]
            if not unit:
                b[..., row, :] /= a[..., row, row, None]
        return b
    half = side // 2
    first, second = slice(0, half), slice(half, side)
    if upper:
        first, second = second, first
    substitute(a[..., first, first], b[..., first, :], upper, unit)
    b[..., second, :] -= a[..., second, first] @ b[..., first, :]
    substitute(a[..., second, second], b[..., second, :], upper, unit)
    return b


@gufunc(
    "(n,n),(n,k)->(n,k)", name="_linalg_solve_triangular", torch="linalg_solve_triangular",
    flops=lambda n, k: 2 * n * n * k,
)  # fmt: skip
def solve_triangles(a, b, *, upper, unit, singular):
    """The matrices `x` with `triangle(a) @ x == b`; the other triangle of `a` is not read."""
    out = solved_as_general(a, b, upper, unit)
    if out is not None:
        return out
    diagonals = np.diagonal(a, axis1=-2, axis2=-1)
    if singular in SINGULAR_TRIANGLE and not unit and not np.all(diagonals):
        raise np.linalg.LinAlgError(SINGULAR_TRIANGLE[singular])
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    out = np.empty((*batch, *b.shape[-2:]), solution_dtype(a, b))
    out[...] = b
    with np.errstate(all="ignore"):
        return substitute(a, out, upper, unit)


def solution_dtype(a: Any, b: Any) -> np.dtype[Any]:
    """The dtype of a quotient of the two."""
    dtype = np.result_type(a.dtype, b.dtype)
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def triangle_of(x: Any, upper: bool, unit: bool) -> Any:
    """The triangle that a triangular system reads, zeros elsewhere."""
    return triu(x, k=int(unit)) if upper else tril(x, k=-int(unit))


def solved_as_general(a: Array, b: Array, upper: bool, unit: bool) -> Any:
    """The solution for one real matrix of few rows by the solver for all; None where it is not finite, and for others.

    That finds nothing to eliminate in an upper triangle, so it does what substitution does; a lower triangle is an
    upper one when rows and columns are counted from their ends.
    """
    rows = a.shape[-1]
    if a.ndim != 2 or b.ndim != 2 or a.dtype.char != "d" or b.dtype.char != "d" or rows > _FEW or rows != len(b):
        return None
    lower = np.tri(rows, k=-int(unit), dtype=bool)
    triangle = np.where(lower.T if upper else lower, a, 0.0)
    if unit:
        triangle.reshape(-1)[:: rows + 1] = 1.0
    turn = slice(None, None, 1 if upper else -1)
    try:
        with np.errstate(all="ignore"):
            out = np.linalg.solve(triangle[turn, turn], b[turn])[turn].copy()
    except np.linalg.LinAlgError:
        return None
    return out if np.isfinite(out).all() else None


@solve_triangles.kernel_on_arrays
def solve_triangles_quickly(a, b, *, upper, unit, singular):
    out = inner.solve_triangular(a, b, upper, unit) if len(a) <= _FEW else None
    return solve_triangles.kernel(a, b, upper=upper, unit=unit, singular=singular) if out is None else out


@solve_triangles.vjp
def solve_triangles_vjp(g, a, out, upper, unit, needs):
    to_b = solve_triangles(adjoint(a), g, upper=not upper, unit=unit, singular="ieee")
    return (-triangle_of(to_b @ adjoint(out), upper, unit) if needs[0] else None), to_b


@solve_triangles.vjp_on_arrays
def solve_triangles_pulled(g, a, out, upper, unit, needs):
    to_b = inner.solve_triangular(a.T, g, not upper, unit) if out.ndim == 2 and len(out) <= _FEW else None
    if to_b is None:
        return solve_triangles_vjp(g, a, out, upper, unit, needs)
    return (-inner.triangle_of(to_b @ out.T, upper, unit) if needs[0] else None), to_b


@solve_triangles.jvp
def solve_triangles_jvp(t_a, t_b, a, out, upper, unit):
    moved = None if t_a is None else triangle_of(t_a, upper, unit) @ out
    moved = t_b if moved is None else -moved if t_b is None else t_b - moved
    return solve_triangles(a, moved, upper=upper, unit=unit, singular="ieee")


@solve_triangles.samples
def solve_triangles_samples(make: Maker) -> Iterator[Sample]:
    def sample(
        label: str, a: tuple[int, ...], b: tuple[int, ...], upper: bool, unit: bool = False, dtype: Any = np.float64
    ) -> Sample:
        params = {"upper": upper, "unit": unit, "singular": "raise"}
        return Sample((make(a, dtype, 0.6, 1.5), make(b, dtype)), params, label)

    yield sample("lower", (3, 3), (3, 2), False)
    yield sample("upper", (3, 3), (3, 2), True)
    yield sample("unit", (3, 3), (3, 2), False, True)
    yield sample("unit-upper", (2, 3, 3), (3, 2), True, True)
    yield sample("one", (1, 1), (1, 1), True)
    yield sample("empty", (0, 0), (0, 2), False)
    yield sample("no-batches", (0, 2, 2), (0, 2, 1), False)
    yield sample("broadcast", (2, 1, 2, 2), (3, 2, 2), True)
    yield sample("complex", (3, 3), (3, 2), False, False, np.complex128)
    yield sample("float32", (3, 3), (3, 2), True, False, np.float32)
    for label, array in layouts(make((3, 3), np.float64, 0.6, 1.5)):
        yield Sample((array, make((3, 2))), {"upper": True, "unit": False, "singular": "raise"}, label)


def solve_left(a: Any, b: Any, *, upper: bool) -> Any:
    """`inverse(a) @ b` for a triangular `a`, for rules: zeros on the diagonal divide as IEEE says."""
    return solve_triangles(a, b, upper=upper, unit=False, singular="ieee")


def solve_right(b: Any, a: Any, *, upper: bool) -> Any:
    """`b @ inverse(a)` for a triangular `a`, for rules."""
    return adjoint(solve_left(adjoint(a), adjoint(b), upper=not upper))


@composite(arrays=2, name="linalg.solve_triangular")
def solve_triangular(
    a: Any, b: Any, /, *, upper: bool, left: bool = True, unitriangular: bool = False, trans: int | str = 0
) -> Any:
    """The solution `x` of `a @ x == b` (of `x @ a == b` with `left=False`), where `a` is triangular.

    Only the triangle that `upper` names is read and gets a gradient; as in torch, `upper` must be given. With
    `unitriangular` the diagonal counts as ones and is not read either. `trans` solves with the transpose (1 or "T") or
    the conjugate transpose (2 or "C") of `a`. A vector `b` has one axis. A zero on the diagonal raises
    `numpy.linalg.LinAlgError`.
    """
    check_square("solve_triangular", a)
    if trans in (1, "T", 2, "C"):
        a, upper = (adjoint(a) if trans in (2, "C") else a.swapaxes(-1, -2)), not upper
    elif trans not in (0, "N"):
        raise ValueError(f"solve_triangular: trans is 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    vector = b.ndim == 1
    if not left:
        a, upper = a.swapaxes(-1, -2), not upper
        b = b if vector else b.swapaxes(-1, -2)
    out = solve_triangles(a, b[:, None] if vector else b, upper=bool(upper), unit=bool(unitriangular), singular="raise")
    if vector:
        return out[..., 0]
    return out if left else out.swapaxes(-1, -2)


# Made of these --------------------------------------------------------------------------------------------------------


@composite(name="linalg.matrix_power")
def matrix_power(x: Any, n: int, /) -> Any:
    """The `n`-th power of square matrices; a negative `n` inverts first, and 0 gives identity matrices."""
    check_square("matrix_power", x)
    n = operator.index(n)
    if n == 0:
        # The result does not depend on x, but it is still one of its functions: the gradient is zero, not absent.
        return where(np.zeros(x.shape, bool), x, np.eye(x.shape[-1], dtype=x.dtype))
    base, exponent = (inv(x), -n) if n < 0 else (x, n)
    power = None
    while exponent:
        if exponent & 1:
            power = base if power is None else power @ base
        exponent >>= 1
        if exponent:
            base = base @ base
    return power


@composite(name="linalg.tensorinv")
def tensorinv(x: Any, /, ind: int = 2) -> Any:
    """The inverse of `tensordot` with `x`, whose first `ind` axes hold as many elements as its other axes."""
    if ind <= 0:
        raise ValueError(f"tensorinv: ind must be positive, got {ind}")
    rows, columns = x.shape[:ind], x.shape[ind:]
    if math.prod(rows) != math.prod(columns):
        raise np.linalg.LinAlgError(f"tensorinv: the axes {list(rows)} and {list(columns)} do not make a square matrix")
    return inv(x.reshape((math.prod(rows), math.prod(columns)))).reshape((*columns, *rows))


@composite(arrays=2, name="linalg.tensorsolve")
def tensorsolve(x1: Any, x2: Any, /, axes: Any = None) -> Any:
    """The `x` with `tensordot(x1, x, x.ndim) == x2`; `axes` of `x1` are moved to its end first."""
    if axes is not None:
        chosen = normalize_axis_tuple(axes, x1.ndim)
        x1 = moveaxis(x1, chosen, tuple(range(x1.ndim - len(chosen), x1.ndim)))
    # As many axes of `x1` as there are behind those of `x2`; if there is none, NumPy takes them all.
    unknown = x1.shape[x2.ndim - x1.ndim :]
    if math.prod(unknown) != x2.size:
        raise np.linalg.LinAlgError(f"tensorsolve: {list(x2.shape)} gives {x2.size} equations for {list(unknown)}")
    return solve(x1.reshape((x2.size, x2.size)), x2.reshape((x2.size,))).reshape(unknown)
