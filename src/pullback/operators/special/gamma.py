"""The gamma function and its relatives: factorials, binomial coefficients, beta functions, polygamma, zeta."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.op import Op
from pullback.operators.elementwise.arithmetic import cos, floor, sin
from pullback.operators.elementwise.comparison import where
from pullback.operators.special import written_out
from pullback.operators.special.rows import row, scipy_function


def _digamma_slope(x: Any) -> Any:
    if is_complex_dtype(x.dtype):
        raise NotImplementedError(
            "special.digamma has no derivative at complex numbers: SciPy's polygamma is real; use real numbers"
        )
    return _trigamma(x)


# SciPy goes up to 0 one by one: at -1e9 it takes seconds, and below -2**53 it never comes back.
_FARTHEST = -1000.0


def _trigamma_kernel(x: Any) -> Any:
    is_far = x < _FARTHEST
    out = scipy_function("polygamma")(1, np.where(is_far, 1.0, x))
    if np.any(is_far):
        with np.errstate(all="ignore"):
            out = np.where(is_far, written_out.trigamma(x.astype(np.float64)), out)
    return out.astype(np.float32) if x.dtype == np.float32 else out


_trigamma: Op = row(
    "_trigamma", ("x",), (lambda x: polygamma(2, x),), kernel=_trigamma_kernel, domain=(0.4, 4.0),
    expand=written_out.trigamma, doc="`polygamma(1, x)`.",
)  # fmt: skip
digamma: Op = row(
    "digamma", ("x",), (_digamma_slope,), domain=(0.4, 4.0), aliases=("psi",), expand=written_out.digamma,
    doc="The derivative of `gammaln`; complex numbers have no second derivative here.",
)  # fmt: skip
polygamma: Op = row(
    "polygamma", ("n", "x"), ("refused", lambda n, x: polygamma(n + 1, x)), domain=[range(4), (0.8, 4.0)],
    doc="The derivative of order `n` of `digamma`. There is no derivative by the order.",
)  # fmt: skip
gammaln: Op = row(
    "gammaln", ("x",), (lambda x: digamma(x),), domain=(0.4, 4.0), aliases=("lgamma",), expand=written_out.gammaln,
    doc="The logarithm of the absolute value of `gamma(x)`.",
)  # fmt: skip
loggamma: Op = row(
    "loggamma", ("z",), (lambda z: digamma(z),), domain=(0.4, 4.0),
    doc="The logarithm of `gamma(z)`, continuous in the complex plane without the negative real axis.",
)  # fmt: skip
gamma: Op = row("gamma", ("x",), (lambda x, out: out * digamma(x),), domain=(0.4, 3.0), doc="The gamma function.")


def _rgamma_slope(x: Any, out: Any) -> Any:
    """`-out * digamma(x)`. At 0, -1, -2, .. `out` is 0 and digamma infinite; their product is a signed factorial.

    There it is the derivative of `sin(pi * x) * gamma(1 - x) / pi`, with the sine written out for derivatives of it.
    """
    if is_complex_dtype(x.dtype):
        return -out * digamma(x)
    is_pole = (x <= 0) & (x == floor(x))
    here, away = where(is_pole, x, 0), where(is_pole, 1, x)
    turn = math.pi * here
    near = (cos(turn) - sin(turn) * digamma(1 - here) / math.pi) * gamma(1 - here)
    return where(is_pole, near, -rgamma(away) * digamma(away))


rgamma: Op = row("rgamma", ("x",), (_rgamma_slope,), domain=(0.4, 3.0), doc="`1 / gamma(x)`, which has no poles.")
for _op in (digamma, loggamma, gamma, rgamma):
    _op.refuses("complex numbers have no second derivative here: SciPy's polygamma is real", "complex derivative")
gammasgn: Op = row("gammasgn", ("x",), (0,), domain=(-0.9, -0.1), doc="The sign of `gamma(x)`. The derivative is 0.")


def _multigammaln(a: Any, *, d: int) -> Any:
    a = np.asarray(a)
    ln = scipy_function("gammaln")
    total = np.sum([ln(a - 0.5 * j) for j in range(d)], axis=0) + d * (d - 1) / 4 * math.log(math.pi)
    return np.where(a > (d - 1) / 2, total, math.nan).astype(total.dtype)


def _multigammaln_slope(a: Any, d: int) -> Any:
    total = digamma(a)
    for j in range(1, d):
        total = total + digamma(a - 0.5 * j)
    return total


multigammaln: Op = row(
    "multigammaln", ("a",), (_multigammaln_slope,), kernel=_multigammaln, domain=(1.3, 4.0), params={"d": 3},
    aliases=("mvlgamma",),
    doc="The logarithm of the gamma function of dimension `d`, defined for `a` above `(d - 1) / 2`, nan elsewhere.",
)  # fmt: skip


@multigammaln.door
def multigammaln_door(a: Any, d: int) -> Any:
    dimension = operator.index(d)
    if dimension < 1:
        raise ValueError(f"multigammaln: the dimension d is a positive integer, got {d}")
    return (a,), {"d": dimension}


# Quotients of gamma functions

poch: Op = row(
    "poch", ("z", "m"),
    (lambda z, m, out: out * (digamma(z + m) - digamma(z)), lambda z, m, out: out * digamma(z + m)),
    domain=[(0.5, 2.0), (0.3, 1.5)], doc="The rising factorial `gamma(z + m) / gamma(z)`.",
)  # fmt: skip
binom: Op = row(
    "binom", ("n", "k"),
    (
        lambda n, k, out: out * (digamma(n + 1) - digamma(n - k + 1)),
        lambda n, k, out: out * (digamma(n - k + 1) - digamma(k + 1)),
    ),
    domain=[(3.2, 5.0), (0.3, 2.0)], doc="The binomial coefficient as a function of two real numbers.",
)  # fmt: skip
betaln: Op = row(
    "betaln", ("a", "b"),
    (lambda a, b: digamma(a) - digamma(a + b), lambda a, b: digamma(b) - digamma(a + b)),
    domain=(0.5, 3.0), doc="The logarithm of the absolute value of `beta(a, b)`.",
)  # fmt: skip
beta: Op = row(
    "beta", ("a", "b"),
    (lambda a, b, out: out * (digamma(a) - digamma(a + b)), lambda a, b, out: out * (digamma(b) - digamma(a + b))),
    domain=(0.5, 3.0), doc="`gamma(a) * gamma(b) / gamma(a + b)`.",
)  # fmt: skip


@composite(name="special.factorial")
def factorial(n: Any) -> Any:
    """`gamma(n + 1)`, and 0 for negative numbers."""
    return where(n < 0, 0.0, gamma(where(n < 0, 0, n) + 1))


@composite(name="special.comb", arrays=2)
def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """The number of ways to choose `k` of `N` things, 0 where there is none; with `repetition`, things may repeat."""
    N = N + k - 1 if repetition else N
    is_possible = (k >= 0) & (k <= N) & (N >= 0)
    return where(is_possible, binom(where(is_possible, N, 1), where(is_possible, k, 1)), 0.0)


# Zeta

zeta: Op = row(
    "zeta", ("x", "q"), ("refused", lambda x, q: -x * zeta(x + 1, q)), domain=[range(2, 5), (0.8, 3.0)],
    doc="The Hurwitz zeta function, the sum of `(k + q) ** -x`; Riemann's for q = 1, the default. "
    "There is no derivative by `x`.",
)  # fmt: skip


@zeta.door
def zeta_door(x: Any, q: Any = None) -> Any:
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    if is_complex_dtype(dtype):  # SciPy's function of two arguments gives NaN for them
        raise TypeError("zeta: complex numbers have no derivative here; detach() them and use SciPy's")
    return (x, 1.0 if q is None else q), {}
