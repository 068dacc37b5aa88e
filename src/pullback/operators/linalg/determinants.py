"""Determinants: `det`, `slogdet`, `logdet`.

The derivative of a determinant is the matrix of cofactors, which exists for singular matrices as well. It is an
operator of its own, so that `det` has exact first and second derivatives at matrices of any rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.core.spec import Spec, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import gufunc
from pullback.declare.loops import Loop
from pullback.declare.samples import Maker, Sample
from pullback.operators.contraction import adjoint
from pullback.operators.elementwise.arithmetic import log
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.linalg import inner
from pullback.operators.linalg.gauge import diagonal_of, on_diagonal
from pullback.operators.linalg.solve import Array, check_square, inverse, regular, square_samples
from pullback.operators.linalg.spectra import singular_system
from pullback.operators.reductions.reduction import prod
from pullback.tensors.tensor import Tensor


def _products_without(s: Array) -> Array:
    """At `[i]` the product of all of `s` but `s[i]`, without a division."""
    side = s.shape[-1]
    return np.prod(np.where(np.eye(side, dtype=bool), 1, s[..., None, :]), axis=-1)


_WELL_CONDITIONED = np.finfo(np.float64).eps ** (-1 / 3)


def _cofactors_of_any(a: Array) -> Array:
    u, s, vh = np.linalg.svd(a)
    phase = np.linalg.det(u) * np.linalg.det(vh)
    return phase[..., None, None] * ((u.conj() * _products_without(s)[..., None, :]) @ vh.conj())


@gufunc("(n,n)->(n,n)", name="_linalg_cofactors", torch="linalg_det", flops=lambda n: 2 * n**3)
def cofactors(a):
    """The derivatives of the determinant by every element: `det(a)` times the transposed inverse, where that exists."""
    if a.shape[-1] == 1:
        return np.ones(a.shape, a.dtype)
    with np.errstate(all="ignore"):
        inverted = inverse.kernel(a, singular="nan")
        largest = np.abs(a).sum(axis=-1).max(axis=-1, initial=0) * np.abs(inverted).sum(axis=-1).max(axis=-1, initial=0)
        out = np.linalg.det(a)[..., None, None] * inverted.swapaxes(-1, -2)
        # The inverse has lost a third of the digits at this condition number; singular values lose none.
        doubtful = ~(largest < np.finfo(out.dtype).eps ** (-1 / 3))  # `_WELL_CONDITIONED` in double precision
        finite = np.isfinite(a).all(axis=(-2, -1))
    if np.any(doubtful & finite):
        out[doubtful & finite] = _cofactors_of_any(a[doubtful & finite])
    return out


def _cofactor_derivative(x: Any, a: Any) -> Any:
    """The derivative of `cofactors` at `a` in the direction `x`.

    In the bases of singular vectors `a` is diagonal, and its minors are products of singular values without two. All
    these products at once take n**3 numbers and no division, so the rank does not matter.
    """
    u, s, vh, _ = singular_system(a, full=False, checked=False)
    side = s.shape[-1]
    same = np.eye(side, dtype=bool)
    outside = same[:, None, :] | same[None, :, :]  # at [i, j, k]: is k one of i and j?
    without_two = prod(where(outside, 1, s[..., None, None, :]), axis=-1)
    rotated = adjoint(u) @ x @ adjoint(vh)
    diagonals = (where(same, 0, without_two) * diagonal_of(rotated)[..., None, :]).sum(axis=-1)
    inner = on_diagonal(diagonals) - where(same, 0, without_two * rotated.swapaxes(-1, -2))
    phase = det_op(u) * det_op(vh)
    return phase[..., None, None] * (conjugated(u) @ inner @ conjugated(vh))


@cofactors.vjp
def cofactors_vjp(g, a):
    # The second derivative of a holomorphic function is symmetric.
    return conjugated(_cofactor_derivative(conjugated(g), a))


@cofactors.jvp
def cofactors_jvp(t_a, a):
    return _cofactor_derivative(t_a, a)


@cofactors.samples
def cofactors_samples(make: Maker) -> Iterator[Sample]:
    for label, shape in [("empty", (0, 0)), ("one", (1, 1)), ("two", (2, 2)), ("four", (4, 4)), ("batches", (2, 3, 3))]:
        yield Sample((make(shape),), label=label)
    yield Sample((make((3, 3), np.complex128),), label="complex")
    yield Sample((make((3, 3), np.float32),), label="float32")
    yield Sample((np.diag([3.0, 2.0, 0.0]),), label="singular")


@gufunc("(n,n)->()", name="_linalg_det", torch="linalg_det", flops=lambda n: 2 / 3 * n**3)
def det_op(a):
    """The determinant."""
    return np.linalg.det(a)


@det_op.loop
def det_loop() -> list[Loop]:
    return [Loop("linalg.det", in_double=True)]


@det_op.vjp
def det_vjp(g, a):
    return g[..., None, None] * conjugated(cofactors(a))


@det_op.vjp_on_arrays
def det_pulled(g, a):
    if a.ndim == 2 and a.dtype.char == "d" and len(a) > 1:
        try:
            inverted = inner.inv(a)
        except np.linalg.LinAlgError:
            return det_vjp(g, a)
        if _norm(a) * _norm(inverted) < _WELL_CONDITIONED:
            return g * (inner.det(a) * inverted.T)
    return det_vjp(g, a)


def _norm(a: Array) -> Any:
    return np.maximum.reduce(np.add.reduce(np.abs(a), -1))


@det_op.jvp
def det_jvp(t_a, a):
    return (cofactors(a) * t_a).sum(axis=(-2, -1))


@det_op.samples
def det_samples(make: Maker) -> Iterator[Sample]:
    yield from square_samples(make, {})
    yield Sample((np.diag([3.0, 2.0, 0.0]),), label="singular")
    yield Sample((np.diag([3.0, 0.0, 0.0]),), label="rank-one")


@composite(name="linalg.det")
def det(x: Any, /) -> Any:
    """The determinant of square matrices.

    The gradient is the matrix of cofactors: exact for singular matrices, and zero where the rank is less than n - 1.
    """
    check_square("det", x)
    return det_op(x)


# slogdet --------------------------------------------------------------------------------------------------------------


@gufunc(
    "(n,n)->(),()", name="_linalg_slogdet", outputs=("sign", "logabsdet"), torch="linalg_slogdet",
    flops=lambda n: 2 / 3 * n**3,
)  # fmt: skip
def sign_and_log(a):
    """The sign of the determinant and the logarithm of its absolute value."""
    return tuple(np.asarray(part) for part in np.linalg.slogdet(a))


@sign_and_log.loop
def slogdet_loop() -> list[Loop]:
    return [Loop("linalg.slogdet", in_double=True)]


@sign_and_log.spec
def slogdet_spec(a: Spec) -> tuple[Spec, Spec]:
    dtype = a.dtype if a.is_differentiable else np.dtype(np.float64)
    return spec_for(a.shape[:-2], dtype), spec_for(a.shape[:-2], np.zeros(0, dtype).real.dtype)


@sign_and_log.vjp
def slogdet_vjp(g_sign, g_logabsdet, a, sign):
    weight = g_logabsdet
    if g_sign is not None and is_complex_dtype(a.dtype):
        turned = (conjugated(g_sign) * sign).imag * -1j
        weight = turned if weight is None else weight + turned
    if weight is None:
        # The sign of a real determinant is a step.
        return np.zeros(a.shape, a.dtype)
    return weight[..., None, None] * adjoint(inverse(a, singular="nan"))


@sign_and_log.jvp
def slogdet_jvp(t_a, a, sign):
    change = (inverse(a, singular="nan").swapaxes(-1, -2) * t_a).sum(axis=(-2, -1))
    if is_complex_dtype(a.dtype):
        return change.imag * 1j * sign, change.real
    return np.zeros(sign.shape, sign.dtype), change


@sign_and_log.samples
def slogdet_samples(make: Maker) -> Iterator[Sample]:
    yield from square_samples(make, {})
    yield Sample((-regular(make, (3, 3)),), label="negative")


class SlogdetResult(NamedTuple):
    """What `slogdet` returns."""

    sign: Tensor
    logabsdet: Tensor


@composite(name="linalg.slogdet")
def slogdet(x: Any, /) -> SlogdetResult:
    """The sign of the determinant (a phase for complex matrices) and the logarithm of its absolute value.

    For a singular matrix they are 0 and -inf, and the gradient is NaN.
    """
    check_square("slogdet", x)
    return SlogdetResult(*sign_and_log(x))


@composite(name="linalg.logdet")
def logdet(x: Any, /) -> Any:
    """The logarithm of the determinant: NaN for a real matrix whose determinant is negative."""
    check_square("logdet", x)
    sign, logabsdet = sign_and_log(x)
    if is_complex_dtype(x.dtype):
        return logabsdet + log(sign)
    return where(sign < 0, np.nan, logabsdet)
