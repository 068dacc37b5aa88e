"""Functions of matrices: the exponential, and the square root of Hermitian matrices."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from pullback._sites import not_installed
from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arguments import every_value, tensor_from
from pullback.operators.arrays.index_operators import ARRAY, index_arrays
from pullback.operators.arrays.joining import concat, join
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.arithmetic import sqrt
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.linalg.solve import Array, check_matrix, check_square, regular, square_samples
from pullback.operators.linalg.spectra import hermitian_eigen

# Coefficients of the diagonal Padé approximant of degree 13, and the 1-norm up to which it is accurate to double
# precision (Higham, SIAM J. Matrix Anal. Appl. 26, 2005).
_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0, 129060195264000.0,
    10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0, 40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
_RADIUS = 5.371920351148152


def exponential(a: Array) -> Array:
    """The exponential of finite matrices by scaling, a Padé approximant, and squaring."""
    size = np.abs(a).sum(axis=-2).max(axis=-1, initial=0)
    with np.errstate(divide="ignore"):
        halvings = np.maximum(0, np.ceil(np.log2(size / _RADIUS))).astype(int)
    a = a * (0.5**halvings)[..., None, None].astype(a.real.dtype)
    b = _PADE
    one = np.eye(a.shape[-1], dtype=a.dtype)
    a2 = a @ a
    a4 = a2 @ a2
    a6 = a4 @ a2
    odd = a @ (a6 @ (b[13] * a6 + b[11] * a4 + b[9] * a2) + b[7] * a6 + b[5] * a4 + b[3] * a2 + b[1] * one)
    even = a6 @ (b[12] * a6 + b[10] * a4 + b[8] * a2) + b[6] * a6 + b[4] * a4 + b[2] * a2 + b[0] * one
    out = np.linalg.solve(even - odd, even + odd)
    for step in range(int(halvings.max(initial=0))):
        out = np.where((halvings > step)[..., None, None], out @ out, out)
    return out


@gufunc("(n,n)->(n,n)", name="_linalg_matrix_exp", torch="linalg_matrix_exp", flops=lambda n: 30 * n**3)
def exponentials(a):
    """The exponential of matrices."""
    a = a if a.dtype.kind in "fc" else a.astype(np.float64)
    finite = np.isfinite(a).all(axis=(-2, -1))
    if finite.all():
        return exponential(a)
    out = np.full(a.shape, np.nan, a.dtype)
    out[finite] = exponential(a[finite])
    return out


def directional(a: Any, direction: Any) -> Any:
    """The derivative of the exponential at `a` in a direction: a block of the exponential of a block matrix."""
    side, last = a.shape[-1], a.ndim - 1
    top = join(a, direction, axis=last)
    bottom = join(np.zeros(a.shape, a.dtype), a, axis=last)
    return exponentials(join(top, bottom, axis=last - 1))[..., :side, side:]


@exponentials.vjp
def exponentials_vjp(g, a):
    return directional(adjoint(a), g)


@exponentials.jvp
def exponentials_jvp(t_a, a):
    return directional(a, t_a)


@exponentials.samples
def exponentials_samples(make: Maker) -> Iterator[Sample]:
    yield from square_samples(make, {})
    yield Sample((make((2, 3, 3), np.float64, -4.0, 4.0),), label="large")


@composite(name="linalg.matrix_exp", aliases=("linalg.expm",))
def matrix_exp(x: Any, /) -> Any:
    """The exponential of square matrices, the sum of `x**k / k!`. It is not elementwise."""
    check_square("matrix_exp", x)
    return exponentials(x)


@composite(name="linalg.matrix_sqrth")
def matrix_sqrth(x: Any, /) -> Any:
    """The Hermitian square root of Hermitian matrices without negative eigenvalues; others give NaN."""
    check_square("matrix_sqrth", x)
    w, v = hermitian_eigen(x, triangle="L", checked=False)
    return (v * sqrt(w)[..., None, :]) @ adjoint(v)


# Sylvester equations `a @ x + x @ b == q`, and what they differentiate: the square root of any matrix.
#
# Both go through the Schur form, which NumPy does not have, so both need SciPy when they are called. A derivative of a
# solution is a solution with the same matrices, so the rules call the operators themselves; there a singular equation
# gives NaN, while users get `LinAlgError`.

def _scipy_linalg() -> Any:
    try:
        return import_module("scipy.linalg")
    except ImportError:
        raise not_installed("linalg.sqrtm or solve_sylvester", "SciPy", "scipy") from None


def _has_scipy() -> bool:
    return find_spec("scipy") is not None


def _floating(*arrays: Array) -> np.dtype[Any]:
    """The dtype of a result: at least float32, since LAPACK knows nothing smaller; integers count as float64."""
    dtype = np.result_type(*arrays)
    return np.result_type(dtype, np.float32) if dtype.kind in "fc" else np.dtype(np.float64)


def _complex(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.result_type(dtype, np.complex64)


def _triangular_sylvester(a: Array, b: Array, q: Array) -> Array:
    """The solution for upper triangular `a` and `b`. Diagonals that cancel are moved apart by LAPACK."""
    if not q.size:
        return np.zeros_like(q)
    solver = _scipy_linalg().get_lapack_funcs("trsyl", (a, b, q))
    out, scale, _ = solver(a, b, q)
    return out / scale


def _sylvester(a: Array, b: Array, q: Array) -> Array:
    """The solution for one matrix of each, by Bartels and Stewart's method; a singular equation raises."""
    if not q.size:
        return q.copy()
    schur = _scipy_linalg().schur
    upper_a, left = schur(a, output="complex")
    upper_b, right = schur(b, output="complex")
    gaps = np.abs(np.diagonal(upper_a)[:, None] + np.diagonal(upper_b))
    size = max(np.abs(upper_a).max(), np.abs(upper_b).max())
    if gaps.min() <= np.finfo(gaps.dtype).eps * size:
        raise np.linalg.LinAlgError("solve_sylvester: an eigenvalue of `a` is the negative of one of `b`")
    inner = _triangular_sylvester(upper_a, upper_b, left.conj().T @ q @ right)
    return left @ inner @ right.conj().T


@gufunc(
    "(n,n),(m,m),(n,m)->(n,m)", name="_linalg_sylvester", torch="linalg_solve_sylvester",
    flops=lambda n, m: 50 * n**3 + 4 * n * n * m,
)  # fmt: skip
def sylvester(a, b, q, *, singular):
    """The matrices `x` with `a @ x + x @ b == q`."""
    dtype = _floating(a, b, q)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    a, b, q = (np.broadcast_to(x, (*batch, *x.shape[-2:])).astype(_complex(dtype)) for x in (a, b, q))
    out = np.empty(q.shape, dtype)
    for index in np.ndindex(*batch):
        parts = a[index], b[index], q[index]
        if singular == "nan" and not all(np.isfinite(part).all() for part in parts):
            out[index] = np.nan
            continue
        try:
            found = _sylvester(*parts)
            out[index] = found if dtype.kind == "c" else found.real
        except np.linalg.LinAlgError:
            if singular == "raise":
                raise
            out[index] = np.nan
    return out


@sylvester.spelling("array_api")
def sylvester_spelling(np_there, a, b, q, *, singular):
    # One system for all elements: (a x I + I x b.T) vec(x) = vec(q), in row-major order.
    n, m = a.shape[-1], b.shape[-1]
    batch = np_there.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    left = a[..., :, None, :, None] * np_there.eye(m, dtype=a.dtype)[:, None, :]
    right = np_there.eye(n, dtype=b.dtype)[:, None, :, None] * np_there.swapaxes(b, -1, -2)[..., None, :, None, :]
    system = np_there.broadcast_to(left + right, (*batch, n, m, n, m)).reshape((*batch, n * m, n * m))
    given = np_there.broadcast_to(q, (*batch, n, m)).reshape((*batch, n * m, 1))
    return np_there.linalg.solve(system, given).reshape((*batch, n, m))



@sylvester.vjp
def sylvester_vjp(g, a, b, out, needs):
    to_q = sylvester(adjoint(a), adjoint(b), g, singular="nan")
    to_a = -(to_q @ adjoint(out)) if needs[0] else None
    return to_a, -(adjoint(out) @ to_q) if needs[1] else None, to_q


@sylvester.jvp
def sylvester_jvp(t_a, t_b, t_q, a, b, out):
    moved = np.zeros(out.shape, out.dtype) if t_q is None else t_q
    moved = moved if t_a is None else moved - t_a @ out
    moved = moved if t_b is None else moved - out @ t_b
    return sylvester(a, b, moved, singular="nan")


@sylvester.samples
def sylvester_samples(make: Maker) -> Iterator[Sample]:
    if not _has_scipy():
        return
    raising = {"singular": "raise"}
    shapes = [
        ("one", (1, 1), (1, 1)), ("matrix", (3, 3), (2, 2)), ("batches", (2, 2, 2), (2, 3, 3)),
        ("broadcast", (2, 1, 2, 2), (3, 2, 2)), ("empty", (0, 0), (2, 2)), ("no-batches", (0, 2, 2), (0, 1, 1)),
    ]  # fmt: skip
    for label, a, b in shapes:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
        yield Sample((regular(make, a), regular(make, b), make((*batch, a[-1], b[-1]))), raising, label)
    for label, array in layouts(regular(make, (3, 3))):
        yield Sample((array, regular(make, (2, 2)), make((3, 2))), raising, label)
    small = (regular(make, (2, 2), np.float32), regular(make, (2, 2), np.float32), make((2, 2), np.float32))
    yield Sample(small, raising, "float32")
    mixed = (regular(make, (2, 2), np.complex128), regular(make, (2, 2)), make((2, 2), np.complex128))
    yield Sample(mixed, raising, "complex")


@composite(arrays=3, name="linalg.solve_sylvester")
def solve_sylvester(a: Any, b: Any, q: Any, /) -> Any:
    """The solution `x` of `a @ x + x @ b == q`, for square `a` and `b`; the axes before the last two broadcast.

    If an eigenvalue of `a` is the negative of one of `b` there is none, or many, and it raises
    `numpy.linalg.LinAlgError`; the backward pass never does and gives NaN instead.
    """
    check_square("solve_sylvester", a)
    check_square("solve_sylvester", b)
    check_matrix("solve_sylvester", q)
    if q.shape[-2:] != (a.shape[-1], b.shape[-1]):
        raise ValueError(
            f"solve_sylvester: `q` must be {a.shape[-1]} by {b.shape[-1]}, as many rows as `a` has and as many columns "
            f"as `b` has, got shape {list(q.shape)}"
        )
    return sylvester(a, b, q, singular="raise")


@composite(arrays=2, name="linalg.solve_lyapunov", aliases=("linalg.solve_continuous_lyapunov",))
def solve_lyapunov(a: Any, q: Any, /) -> Any:
    """The solution `x` of `a @ x + x @ adjoint(a) == q`; it is Hermitian if `q` is."""
    check_square("solve_lyapunov", a)
    return solve_sylvester(a, adjoint(a), q)


# Square roots ---------------------------------------------------------------------------------------------------------


def triangular_root(upper: Array) -> Array:
    """The upper triangular square root by halves; the block between them solves a Sylvester equation."""
    side = len(upper)
    if side <= 1:
        return np.sqrt(upper)
    half = side // 2
    out = np.zeros_like(upper)
    out[:half, :half] = first = triangular_root(upper[:half, :half])
    out[half:, half:] = second = triangular_root(upper[half:, half:])
    out[:half, half:] = _triangular_sylvester(first, second, upper[:half, half:])
    return out


def _root(a: Array) -> Array:
    """The principal square root of one complex matrix, NaN if there is none."""
    if not a.size or not np.isfinite(a).all():
        return np.full(a.shape, np.nan, a.dtype)
    upper, basis = _scipy_linalg().schur(a, output="complex")
    with np.errstate(all="ignore"):
        root = triangular_root(upper)
        missed = np.abs(root @ root - upper).max()
    if not missed <= np.sqrt(np.finfo(missed.dtype).eps) * np.abs(upper).max():
        return np.full(a.shape, np.nan, a.dtype)
    return basis @ root @ basis.conj().T


@gufunc("(n,n)->(n,n)", name="_linalg_sqrtm", torch="linalg_sqrtm", flops=lambda n: 28 * n**3)
def roots(a):
    """The principal square roots of matrices; of real ones the real roots, NaN where there is none."""
    dtype = _floating(a)
    # A zero eigenvalue of a real matrix may come out as -eps, and its root then as i * sqrt(eps).
    tolerance = float(np.finfo(dtype).eps) ** 0.375
    out = np.empty(a.shape, dtype)
    for index in np.ndindex(*a.shape[:-2]):
        root: Any = _root(a[index].astype(_complex(dtype)))
        if dtype.kind != "c":
            is_real = not root.size or np.abs(root.imag).max() <= tolerance * np.abs(root).max()
            root = root.real if is_real else np.nan
        out[index] = root
    return out


@roots.vjp
def roots_vjp(g, out):
    turned = adjoint(out)
    return sylvester(turned, turned, g, singular="nan")


@roots.jvp
def roots_jvp(t_a, out):
    return sylvester(out, out, t_a, singular="nan")


@roots.samples
def roots_samples(make: Maker) -> Iterator[Sample]:
    if _has_scipy():
        yield from square_samples(make, {})


@composite(name="linalg.sqrtm")
def sqrtm(x: Any, /) -> Any:
    """The principal square root of square matrices: the `y` with `y @ y == x` whose eigenvalues lie in the right half.

    Real matrices have a real root; if one of them has none, which means a negative eigenvalue, the result is complex.
    Which it is depends on the numbers, so that `compile` wants `x.astype(complex)`. NaN stands for a root that does not
    exist. A singular matrix may have a root, but its derivative is NaN. It is not elementwise.
    """
    check_square("sqrtm", x)
    out = roots(x)
    if is_complex_dtype(out.dtype) or not np.isnan(every_value(out)).any():
        return out
    return roots(astype(x, _complex(out.dtype)))


# Matrices with constant diagonals, made of vectors: Toeplitz, Hankel and circulant matrices. All are gathers.
#
# Vectors are in the last axis; axes before it are batches.

def _vectors(name: str, *arrays: Any) -> list[Any]:
    """The arguments as tensors with the same batches."""
    arrays = tuple(tensor_from(x) for x in arrays)
    for x in arrays:
        if x.ndim == 0:
            raise ValueError(f"linalg.{name}: expected a vector, got a number")
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    return [x if x.shape[:-1] == batch else broadcast_to(x, (*batch, x.shape[-1])) for x in arrays]


def _gathered(values: Any, places: Any) -> Any:
    """The elements at `places` along the last axis, whose axes take its place."""
    return index_arrays(values, places, template=(..., ARRAY), distinct=False)


def _offsets(rows: int, columns: int) -> Any:
    return np.arange(columns) - np.arange(rows)[:, None]


@composite(name="linalg.toeplitz")
def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with first column `c` and first row `r`, constant along every diagonal.

    Without `r` the row is the conjugate of `c`, so that the matrix is Hermitian if `c[0]` is real. `r[0]` is not read.
    """
    c, r = _vectors("toeplitz", c, conjugated(tensor_from(c)) if r is None else r)
    values = concat([c[..., ::-1], r[..., 1:]], -1)
    return _gathered(values, c.shape[-1] - 1 + _offsets(c.shape[-1], r.shape[-1]))


@composite(name="linalg.hankel")
def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with first column `c` and last row `r`, constant along every antidiagonal.

    Without `r` what is below the antidiagonal is 0. `r[0]` is not read.
    """
    c = tensor_from(c)
    c, r = _vectors("hankel", c, np.zeros(c.shape, c.dtype) if r is None else r)
    rows, columns = c.shape[-1], r.shape[-1]
    return _gathered(concat([c, r[..., 1:]], -1), np.arange(rows)[:, None] + np.arange(columns))


@composite(name="linalg.circulant")
def circulant(c: Any) -> Any:
    """The square matrix with first column `c` whose every column is the one before it, moved down by one."""
    (c,) = _vectors("circulant", c)
    side = c.shape[-1]
    return _gathered(c, -_offsets(side, side) % max(side, 1))
