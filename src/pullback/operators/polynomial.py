"""Polynomials by their coefficients, from the highest power down to the constant, as in NumPy.

They are vectors; sums, products and quotients of them are differentiable in all coefficients. Fitting and finding
roots go through `pullback.linalg`, which is loaded when first needed.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.operators.arguments import constant, plain, tensor_from
from pullback.operators.arrays.creation import zeros
from pullback.operators.arrays.joining import concat, stack
from pullback.operators.arrays.movement import swapaxes
from pullback.operators.arrays.padding import pad
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.arrays.sorting import trim_zeros
from pullback.operators.contraction import matmul
from pullback.operators.elementwise.arithmetic import sqrt
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.complex_numbers import conjugated
from pullback.operators.loading import from_family
from pullback.operators.reductions.reduction import sum
from pullback.operators.signal.convolution import convolve


def _coefficients(name: str, p: Any) -> Any:
    p = tensor_from(p)
    if p.ndim > 1:
        raise ValueError(f"{name}: coefficients are a vector, got {p.ndim} axes")
    return p if p.ndim else reshape(p, (1,))


@composite
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """A matrix whose rows are the powers of the elements of a vector, from the highest down to 1."""
    if x.ndim != 1:
        raise ValueError(f"vander: expected a vector, got {x.ndim} axes")
    count = x.shape[0] if N is None else operator.index(N)
    if count < 0:
        raise ValueError(f"vander: N must be non-negative, got {N}")
    if x.dtype.kind == "b":
        x = astype(x, np.int64)
    if not count:
        return constant(np.empty((x.shape[0], 0), x.dtype))
    powers = [x**0, x, *(x**k for k in range(2, count))][:count]
    return stack(powers if increasing else powers[::-1], 1)



@composite(name="linalg.vander")
def batched_vander(x: Any, /, N: int | None = None) -> Any:
    """Matrices whose rows are the powers of the elements of the last axis, from 1 up to the power `N - 1`."""
    count = x.shape[-1] if N is None else operator.index(N)
    rows = vander(reshape(x, (-1,)), count, increasing=True)
    return reshape(rows, (*x.shape, count))



# Values and arithmetic.


@composite(arrays=2)
def polyval(p: Any, x: Any) -> Any:
    """The values at `x` of the polynomial with coefficients `p`, differentiable in both.

    Each row of a matrix `p` has the coefficients of one power, for as many polynomials as there are columns.
    """
    p, x = tensor_from(p), tensor_from(x)
    p = p if p.ndim else reshape(p, (1,))
    out = zeros(x.shape, dtype=np.result_type(p.dtype, x.dtype))
    for k in range(p.shape[0]):
        out = out * x + p[k]
    return out


def _aligned(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Both with as many coefficients, padded by zeros for the highest powers."""
    a, b = _coefficients(name, a), _coefficients(name, b)
    length = max(a.shape[0], b.shape[0])
    return pad(a, ((length - a.shape[0], 0),)), pad(b, ((length - b.shape[0], 0),))


@composite(arrays=2)
def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials."""
    first, second = _aligned("polyadd", a1, a2)
    return first + second


@composite(arrays=2)
def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials."""
    first, second = _aligned("polysub", a1, a2)
    return first - second


@composite(arrays=2)
def polymul(a1: Any, a2: Any) -> Any:
    """The product of two polynomials."""
    return convolve(_coefficients("polymul", a1), _coefficients("polymul", a2))


@composite(arrays=2)
def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
    """The quotient of two polynomials and what remains, of lower degree than `v`, without leading zeros."""
    u, v = _coefficients("polydiv", u), _coefficients("polydiv", v)
    kind = np.result_type(*(p.dtype if p.dtype.kind in "fc" else np.float64 for p in (u, v)))
    rest, v = astype(u, kind, copy=False), astype(v, kind, copy=False)
    degree, by = u.shape[0] - 1, v.shape[0] - 1
    if degree < by:
        return zeros((1,), dtype=kind), _without_leading_zeros(rest)
    factors, scale = [], 1.0 / v[0]
    for k in range(degree - by + 1):
        factors.append(scale * rest[k])
        rest = concat([rest[:k], rest[k : k + by + 1] - factors[k] * v, rest[k + by + 1 :]], 0)
    return stack(factors), _without_leading_zeros(rest)


def _without_leading_zeros(p: Any) -> Any:
    """The coefficients from the first on that is not negligible, as NumPy sees it; a lone zero if there is none."""
    values = plain("polydiv", p)
    (kept,) = np.nonzero(~np.isclose(values, 0, rtol=1e-14))
    if not kept.size:
        return p[-1:] if p.shape[0] else zeros((1,), dtype=p.dtype)
    return p[int(kept[0]) :]


# Derivatives and integrals of polynomials.


@composite
def polyder(p: Any, m: int = 1) -> Any:
    """The `m`-th derivative of a polynomial."""
    p = _coefficients("polyder", p)
    m = _order("polyder", m)
    degree = p.shape[0] - 1
    if m == 0:
        return p
    factors = [math.perm(k, m) for k in range(degree, m - 1, -1)]
    return p[: max(degree + 1 - m, 0)] * np.asarray(factors, np.int64)


@composite
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The `m`-th integral of a polynomial, with constants of integration `k`, the first integrated first."""
    p = _coefficients("polyint", p)
    m = _order("polyint", m)
    constants = tensor_from(0.0 if k is None else k)
    constants = reshape(constants, (-1,))
    if constants.shape[0] == 1 and m > 1:
        constants = constants * np.ones(m)
    if constants.shape[0] < m:
        raise ValueError(f"polyint: {m} integrals have {m} constants, got {constants.shape[0]}")
    for each in range(m):
        powers = np.arange(p.shape[0], 0, -1)
        p = concat([p / powers, constants[each : each + 1]], 0)
    return p


def _order(name: str, m: int) -> int:
    m = operator.index(m)
    if m < 0:
        raise ValueError(f"{name}: the order must not be negative, got {m}")
    return m


# Roots and fits.


@composite
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these roots and leading coefficient 1; of a matrix, with its eigenvalues.

    The result is real if the roots are real or come in conjugate pairs.
    """
    roots = seq_of_zeros
    if roots.ndim == 2 and roots.shape[0] == roots.shape[1] and roots.shape[0]:
        is_real = roots.dtype.kind != "c"
        out = poly(from_family("linalg", "eigvals")(roots))
        return out.real if is_real and out.dtype.kind == "c" else out
    if roots.ndim > 1:
        raise ValueError("poly: expected a vector of roots or a square matrix")
    kind = np.dtype(np.mintypecode(roots.dtype.char))  # half precision is doubled
    roots = astype(reshape(roots, (-1,)), kind, copy=False)
    out = constant(np.ones(1, kind))
    for k in range(roots.shape[0]):
        out = convolve(out, concat([constant(np.ones(1, kind)), -roots[k : k + 1]], 0))
    if kind.kind == "c":
        values = np.sort(plain("poly", roots))
        if bool((values == np.sort(values.conj())).all()):
            return out.real
    return out


@composite
def roots(p: Any) -> Any:
    """The complex roots of a polynomial, as the eigenvalues of its companion matrix. Simple ones are differentiable."""
    p = _coefficients("roots", p)
    trailing = p.shape[0] - trim_zeros(p, "b").shape[0]
    kept = trim_zeros(p)
    if kept.dtype.kind in "biu":
        kept = astype(kept, np.float64)
    degree = kept.shape[0] - 1
    if degree < 1:
        found = zeros((0,), dtype=np.complex128)
        trailing = trailing if kept.shape[0] else 0
    else:
        top = -kept[1:] / kept[0]
        below = np.eye(degree, dtype=kept.dtype)[: degree - 1]
        found = from_family("linalg", "eigvals")(concat([reshape(top, (1, -1)), constant(below)], 0))
    return concat([found, zeros((trailing,), dtype=found.dtype)], 0) if trailing else found


@composite(arrays=2, method=False)
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None, cov: Any = False
) -> Any:
    """The polynomial of degree `deg` closest to the points `(x, y)` by weighted squares; differentiable in all.

    With `full`, also residuals, rank, singular values and `rcond`; with `cov`, also the covariance of coefficients.
    """
    x, y = tensor_from(x), tensor_from(y)
    order = _order("polyfit", deg) + 1
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != x.shape[0] or not x.shape[0]:
        raise ValueError(f"polyfit: expected points, got abscissas {x.shape} and ordinates {y.shape}")
    precision = x.dtype if x.dtype.kind in "fc" else np.float64
    rcond = x.shape[0] * np.finfo(precision).eps if rcond is None else rcond
    x, y = (astype(part, np.promote_types(part.dtype, np.float64), copy=False) for part in (x, y))
    matrix, target = vander(x, order), y
    if w is not None:
        w = tensor_from(w)
        if w.shape != x.shape:
            raise ValueError(f"polyfit: expected a weight for each of {x.shape[0]} points, got shape {w.shape}")
        matrix = matrix * reshape(w, (-1, 1))
        target = target * (w if y.ndim == 1 else reshape(w, (-1, 1)))
    # Columns of length 1 make the problem as well conditioned as it can be by scaling.
    scale = sqrt(sum((matrix * conjugated(matrix)).real, 0))
    solution = from_family("linalg", "lstsq")(matrix / scale, target, rcond)
    fitted = solution[0] / (scale if y.ndim == 1 else reshape(scale, (-1, 1)))
    if full:
        return (fitted, *solution[1:4], rcond)
    if not cov:
        return fitted
    base = from_family("linalg", "inv")(matmul(conjugated(swapaxes(matrix, 0, 1)), matrix))
    if isinstance(cov, str) and cov == "unscaled":
        return fitted, base
    if x.shape[0] <= order:
        raise ValueError("polyfit: the covariance needs more points than coefficients")
    misfit = matmul(matrix, fitted) - target
    factor = sum((misfit * conjugated(misfit)).real, 0) / (x.shape[0] - order)
    return fitted, base * factor if y.ndim == 1 else reshape(base, (order, order, 1)) * factor
