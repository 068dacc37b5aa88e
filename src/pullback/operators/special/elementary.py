"""Special functions of elementary kind: error functions, the normal distribution, entropies, power transformations.

Names and argument orders are SciPy's. Derivatives at removable singularities are the limits. Other parts of the
family: `gamma.py`, `incomplete.py`, `bessel.py` and `integrals.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.declare.op import Op
from pullback.operators.arguments import tensor_from
from pullback.operators.elementwise.arithmetic import add, exp, hypot, log, log1p, sin
from pullback.operators.elementwise.comparison import clip, equal, where
from pullback.operators.elementwise.complex_numbers import sign
from pullback.operators.nn.erf import erf as erf_of_many
from pullback.operators.pieces import PIECE, are_contiguous, fill_in_pieces
from pullback.operators.reductions.exponentials import log_softmax, logsumexp, softmax
from pullback.operators.reductions.extremes import max
from pullback.operators.reductions.reduction import sum
from pullback.operators.special import written_out
from pullback.operators.special.rows import near_zero, row, scipy_function

_SQRT_PI = math.sqrt(math.pi)
_KAPPA = 2 / _SQRT_PI
_SQRT_TAU = math.sqrt(2 * math.pi)
_LN10 = math.log(10.0)
_MANY = 1 << 13  # elements, from which on two dozen passes over them are faster than a function called for each


def _density(x: Any) -> Any:
    """The density of the standard normal distribution."""
    return exp(-0.5 * x * x) / _SQRT_TAU


def _by_element(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A kernel that calls a function of Python's `math` for every element."""

    def kernel(x: Any) -> Any:
        x = np.asarray(x)
        dtype = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
        if x.dtype.kind == "c":
            raise ImportError("special.erf and special.erfc of complex numbers need SciPy: install pullback[scipy]")
        return np.array([function(value) for value in x.ravel().tolist()], dtype).reshape(x.shape)

    return kernel


# Error functions


def _erf_slope(x: Any) -> Any:
    if type(x) is not np.ndarray or x.size < PIECE or not are_contiguous(x) or x.dtype.char not in "fd":
        return _KAPPA * exp(-x * x)
    out = np.empty(x.shape, x.dtype)
    fill_in_pieces(_fill_erf_slope, (out,), x)
    return out


def _fill_erf_slope(outs: tuple[Any], x: Any) -> None:
    (out,) = outs
    np.multiply(x, x, out)
    np.negative(out, out)
    np.exp(out, out)
    out *= _KAPPA


_erf_one_by_one = scipy_function("erf", _by_element(math.erf))


def _erf(x: Any) -> Any:
    if type(x) is np.ndarray and x.dtype == np.float64 and x.size >= _MANY and x.flags.c_contiguous:
        return erf_of_many(x)
    return _erf_one_by_one(x)


erf: Op = row(
    "erf", ("x",), (lambda x: _erf_slope(x),), holomorphic=True, kernel=_erf, scalar="erf",
    doc="The error function, `2 / sqrt(pi)` times the integral of `exp(-t * t)` from 0 to `x`.",
)  # fmt: skip
erfc: Op = row(
    "erfc", ("x",), (lambda x: -_erf_slope(x),), holomorphic=True, without_scipy=_by_element(math.erfc), scalar="erfc",
    doc="`1 - erf(x)`, accurate where it is small.",
)  # fmt: skip
erfcx: Op = row(
    "erfcx", ("x",), (lambda x, out: 2 * x * out - _KAPPA,), holomorphic=True, domain=(-1.0, 2.0),
    doc="`exp(x * x) * erfc(x)`, which does not underflow.",
)  # fmt: skip
erfi: Op = row(
    "erfi", ("x",), (lambda x: _KAPPA * exp(x * x),), holomorphic=True, domain=(-1.2, 1.2),
    doc="The imaginary error function `-i * erf(i * x)`.",
)  # fmt: skip
erfinv: Op = row(
    "erfinv", ("x",), (lambda out: exp(out * out) / _KAPPA,), domain=(-0.9, 0.9),
    expand=lambda x: written_out.erfinv(x, erf, erfc),
    doc="The inverse of `erf`. The derivative at -1 and 1 is infinite.",
)  # fmt: skip
erfcinv: Op = row(
    "erfcinv", ("x",), (lambda out: -exp(out * out) / _KAPPA,), domain=(0.1, 1.9), doc="The inverse of `erfc`."
)
dawsn: Op = row(
    "dawsn", ("x",), (lambda x, out: 1 - 2 * x * out,), holomorphic=True, domain=(-1.5, 1.5),
    doc="Dawson's integral, `exp(-x * x)` times the integral of `exp(t * t)` from 0 to `x`.",
)  # fmt: skip
wofz: Op = row(
    "wofz", ("z",), (lambda z, out: 2j / _SQRT_PI - 2 * z * out,), holomorphic=True, domain=(-1.0, 1.5),
    doc="The Faddeeva function `exp(-z * z) * erfc(-i * z)`; always complex.",
)  # fmt: skip

# The normal distribution

ndtr: Op = row(
    "ndtr", ("x",), (lambda x: _density(x),), holomorphic=True,
    without_scipy=lambda x: 0.5 * _by_element(math.erfc)(np.asarray(x) * -math.sqrt(0.5)),
    expand=lambda x: 0.5 * erfc(x * -math.sqrt(0.5)),
    doc="The probability that a standard normal variable is at most `x`.",
)  # fmt: skip
log_ndtr: Op = row(
    "log_ndtr", ("x",), (lambda x: math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5)),), domain=(-6.0, 3.0),
    holomorphic=True,
    doc="`log(ndtr(x))`, accurate far in the lower tail, as is its derivative.",
)  # fmt: skip
ndtri: Op = row(
    "ndtri", ("y",), (lambda out: _SQRT_TAU * exp(0.5 * out * out),), domain=(0.1, 0.9),
    doc="The inverse of `ndtr`. The derivative at 0 and 1 is infinite.",
)  # fmt: skip
ndtri_exp: Op = row(
    "ndtri_exp", ("y",), (lambda y, out: _SQRT_TAU * exp(y + 0.5 * out * out),), domain=(-6.0, -0.2),
    doc="The inverse of `log_ndtr`.",
)  # fmt: skip

# Quotients with a removable singularity at 0

# Power series of the derivatives, cut where the next term is below rounding within the radius they are used in.
_EXPREL_SLOPE = tuple((k + 1) / math.factorial(k + 2) for k in range(18))
_LOG_SLOPE = tuple((-1) ** (k + 1) * (k + 1) / (k + 2) for k in range(18))


def _exprel(x: Any) -> Any:
    with np.errstate(all="ignore"):
        value = np.where(x == 0, 1, np.expm1(x) / np.where(x == 0, 1, x))
        return np.where(x == np.inf, np.inf, value).astype(np.result_type(x, np.float16))


def exprel_slope(x: Any) -> Any:
    """The derivative of `exprel`: `(exp(x) - exprel(x)) / x`, one half at 0."""
    return near_zero(x, 0.5, _EXPREL_SLOPE, lambda far: (exp(far) - exprel(far)) / far)


exprel: Op = row(
    "exprel", ("x",), (lambda x: exprel_slope(x),), without_scipy=_exprel,
    doc="`(exp(x) - 1) / x`, and 1 at 0. The derivative at 0 is 1/2.",
)  # fmt: skip


def _log1prel(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.where(x == 0, 1, np.log1p(x) / np.where(x == 0, 1, x)).astype(np.result_type(x, np.float16))


log1prel: Op = row(
    "_log1prel", ("x",),
    (lambda x: near_zero(x, 0.05, _LOG_SLOPE, lambda far: (1 / (1 + far) - log1prel(far)) / far),),
    kernel=_log1prel, without_scipy=_log1prel, domain=(-0.8, 2.0), holomorphic=True,
    doc="`log(1 + x) / x`, and 1 at 0.",
)  # fmt: skip
cosm1: Op = row(
    "cosm1", ("x",), (lambda x: -sin(x),), without_scipy=lambda x: -2 * np.square(np.sin(np.asarray(x) / 2)),
    doc="`cos(x) - 1`, accurate near 0.",
)  # fmt: skip
exp10: Op = row(
    "exp10", ("x",), (lambda out: out * _LN10,), without_scipy=lambda x: np.power(10.0, x), doc="`10 ** x`."
)


# Entropies


def _entr(x: Any) -> Any:
    x = np.asarray(x)
    value = -x * np.log(np.where(x > 0, x, 1))
    return np.where(x < 0, -np.inf, np.where(x == 0, 0, value)).astype(value.dtype)


def _rel_entr(x: Any, y: Any) -> Any:
    x, y = np.asarray(x), np.asarray(y)
    with np.errstate(all="ignore"):
        positive, unused = (x > 0) & (y > 0), (x == 0) & (y >= 0)
        value = np.where(positive, x * np.log(np.where(positive, x / y, 1)), np.where(unused, 0, np.inf))
        return np.where(np.isnan(x) | np.isnan(y), np.nan, value).astype(np.result_type(x, y, np.float16))


def _kl_div(x: Any, y: Any) -> Any:
    value = _rel_entr(x, y)
    with np.errstate(invalid="ignore"):
        is_outside = (value == np.inf) & ((np.asarray(x) <= 0) | (np.asarray(y) <= 0))
        return np.where(is_outside, np.inf, value - x + y).astype(value.dtype)


entr: Op = row(
    "entr", ("x",), (lambda x: -log(x) - 1,), without_scipy=_entr, domain=(0.2, 2.0),
    doc="`-x * log(x)`, 0 at 0, and minus infinity below.",
)  # fmt: skip
rel_entr: Op = row(
    "rel_entr", ("x", "y"),
    (
        lambda x, y: where(x == 0, 0, log(where(x == 0, 1, x) / where(x == 0, 1, y)) + 1),
        lambda x, y: where((x == 0) & (y == 0), 0, -x / where((x == 0) & (y == 0), 1, y)),
    ),
    without_scipy=_rel_entr, domain=(0.2, 2.0),
    doc="`x * log(x / y)`, and 0 where `x` is 0, with derivatives 0 there.",
)  # fmt: skip
kl_div: Op = row(
    "kl_div", ("x", "y"), (lambda x, y: log(x / y), lambda x, y: 1 - x / y), without_scipy=_kl_div, domain=(0.2, 2.0),
    doc="`x * log(x / y) - x + y`.",
)  # fmt: skip

# Robust losses


def _huber(delta: Any, r: Any) -> Any:
    size = np.abs(r)
    value = np.where(size <= delta, 0.5 * np.square(r), delta * (size - 0.5 * np.asarray(delta)))
    return np.where(np.asarray(delta) < 0, np.inf, value).astype(value.dtype)


def _pseudo_huber(delta: Any, r: Any) -> Any:
    with np.errstate(all="ignore"):
        value = np.square(r) / (1 + np.hypot(1, np.divide(r, delta)))
    value = np.where((np.asarray(delta) == 0) | (np.asarray(r) == 0), 0, np.where(np.isinf(r), np.inf, value))
    return np.where(np.asarray(delta) < 0, np.inf, value).astype(np.result_type(delta, r, np.float16))


def _steepness(delta: Any, r: Any) -> Any:
    """`sqrt(1 + (r / delta) ** 2)`."""
    return hypot(1.0, r / where(delta == 0, 1, delta))


def _pseudo_huber_by_delta(delta: Any, r: Any) -> Any:
    steep = _steepness(delta, r)
    slope = r * r / where(delta == 0, 1, delta) * (steep - 1) / (steep * (1 + steep))
    return where(delta == 0, 0, slope)


huber: Op = row(
    "huber", ("delta", "r"),
    (lambda delta, r: where(abs(r) > delta, abs(r) - delta, 0), lambda delta, r: clip(r, -delta, delta)),
    without_scipy=_huber, domain=[(0.4, 0.9), (-2.0, 2.0)],
    doc="`r * r / 2` where `abs(r)` is at most `delta`, and `delta * (abs(r) - delta / 2)` beyond.",
)  # fmt: skip
pseudo_huber: Op = row(
    "pseudo_huber", ("delta", "r"),
    (_pseudo_huber_by_delta, lambda delta, r: where(delta == 0, 0, r / _steepness(delta, r))),
    without_scipy=_pseudo_huber, domain=[(0.4, 1.5), (-2.0, 2.0)],
    doc="`delta ** 2 * (sqrt(1 + (r / delta) ** 2) - 1)`, a smooth `huber`.",
)  # fmt: skip

# Power transformations


def _boxcox_by_power(logarithm: Any, lmbda: Any) -> Any:
    """The derivative of `(exp(lmbda * logarithm) - 1) / lmbda` by lmbda; `1 / lmbda ** 2` for the logarithm of zero."""
    is_zero = logarithm == -math.inf
    u = where(is_zero, 0, logarithm)
    return where(is_zero, 1 / where(is_zero, lmbda * lmbda, 1), u * u * exprel_slope(lmbda * u))


def _boxcox(logarithm: Any, lmbda: Any) -> Any:
    with np.errstate(all="ignore"):
        lmbda = np.asarray(lmbda)
        dtype = np.result_type(logarithm, lmbda)
        value = np.expm1(lmbda * logarithm) / np.where(lmbda == 0, 1, lmbda)
        return np.where(lmbda == 0, logarithm, value).astype(dtype)


def _log(x: Any) -> Any:
    with np.errstate(divide="ignore"):
        return np.log(x)


boxcox: Op = row(
    "boxcox", ("x", "lmbda"),
    (lambda x, lmbda: x ** (lmbda - 1), lambda x, lmbda: _boxcox_by_power(log(x), lmbda)),
    without_scipy=lambda x, lmbda: _boxcox(_log(x), lmbda), domain=[(0.3, 3.0), (-1.5, 1.5)],
    doc="`(x ** lmbda - 1) / lmbda`, and `log(x)` for lmbda 0, where the derivative by lmbda is `log(x) ** 2 / 2`.",
)  # fmt: skip
boxcox1p: Op = row(  # `add`, as powers of NumPy's numbers and of its arrays differ in the last digit
    "boxcox1p", ("x", "lmbda"),
    (lambda x, lmbda: add(x, 1) ** (lmbda - 1), lambda x, lmbda: _boxcox_by_power(log1p(x), lmbda)),
    without_scipy=lambda x, lmbda: _boxcox(np.log1p(x), lmbda), domain=[(-0.5, 2.0), (-1.5, 1.5)],
    doc="`boxcox(1 + x, lmbda)`, accurate near 0.",
)  # fmt: skip


@composite(name="special.inv_boxcox", arrays=2)
def inv_boxcox(y: Any, lmbda: Any) -> Any:
    """The inverse of `boxcox` in its first argument: `(1 + lmbda * y) ** (1 / lmbda)`, and `exp(y)` for lmbda 0."""
    return exp(y * log1prel(lmbda * y))


@composite(name="special.inv_boxcox1p", arrays=2)
def inv_boxcox1p(y: Any, lmbda: Any) -> Any:
    """The inverse of `boxcox1p` in its first argument."""
    power = y * log1prel(lmbda * y)
    return power * exprel(power)


# Reductions, with SciPy's default of all axes


@composite(name="special.logsumexp")
def logsumexp_weighted(
    a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False
) -> Any:
    """`log(sum(b * exp(a)))` over `axis`, by default all axes, computed without overflow.

    With `return_sign=True`, the logarithm of the absolute value of the sum, and its sign.
    """
    if b is None and not return_sign:
        return logsumexp(a, axis, keepdims)
    # What has weight 0 does not count for the scale, however large; its derivative by the weight needs its exponential.
    unused = False if b is None else equal(tensor_from(b), 0)
    peak = max(where(unused, -math.inf, a.real), axis, True)
    scale = where(abs(peak) == math.inf, 0, peak)
    shifted = a - scale
    shifted = where(unused & (shifted.real > 700), 700, shifted)
    total = sum(exp(shifted) * (1 if b is None else b), axis, True)
    value = log(abs(total) if return_sign else total) + scale
    parts = [part if keepdims else part.reshape(sum(peak, axis).shape) for part in (value, sign(total))]
    return tuple(parts) if return_sign else parts[0]


@composite(name="special.softmax")
def softmax_over(x: Any, axis: Any = None) -> Any:
    """`exp(x)` divided by its sum over `axis`, by default over all axes."""
    return softmax(x, axis)


@composite(name="special.log_softmax")
def log_softmax_over(x: Any, axis: Any = None) -> Any:
    """`log(softmax(x))` over `axis`, by default over all axes."""
    return log_softmax(x, axis)


shared = (
    "cbrt", "exp2", "expit", "expm1", "log1p", "log_expit", "logit", "round", "sinc", "softplus", "xlog1py", "xlogy",
)  # fmt: skip
"""Functions of `pullback` that SciPy or torch has in `special`."""
