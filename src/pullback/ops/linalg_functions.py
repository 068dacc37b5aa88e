"""Functions of matrices: the exponential, and the square root of Hermitian matrices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.samples import Maker, Sample
from pullback.ops.contraction import adjoint
from pullback.ops.elementwise import sqrt
from pullback.ops.joining import join
from pullback.ops.linalg_solvers import Array, check_square, square_samples
from pullback.ops.linalg_spectra import hermitian_eigen

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


@gufunc("(n,n)->(n,n)", name="_linalg_matrix_exp", torch="linalg_matrix_exp")
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
