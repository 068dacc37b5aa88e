"""Incomplete gamma and beta functions, differentiable to any order in all arguments.

The derivatives by the parameters are themselves operators: `_gammainc_by` is the derivative of `gammainc` of some
order in `a`, `_betainc_by` that of `betainc` of some orders in `a` and `b`. Differentiating them by a parameter only
raises an order, and by `x` gives the same derivative of the density, which is elementary. Their kernels sum a series
whose terms are exponentials of gamma functions; the derivatives of a term are the term times polynomials (Bell's) in
polygamma functions, and everything moves from one term to the next by recurrences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.declare.op import Op
from pullback.operators.elementwise.arithmetic import exp, floor, log, log1p
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import sign
from pullback.operators.special.gamma import betaln, digamma, gammaln, polygamma
from pullback.operators.special.rows import row, scipy_function

Array = np.ndarray[Any, Any]
Logarithm = Callable[[int, int], Any]
"""The derivative of a logarithm, of some orders in two parameters."""


def bell(first: int, second: int, logarithm: Logarithm) -> Any:
    """The derivative of `exp(L)`, divided by `exp(L)`, of orders `first` and `second` in two parameters."""
    if first == second == 0:
        return 1.0
    if first == 0:
        return bell(second, 0, lambda i, j: logarithm(j, i))
    total: Any = 0.0
    for i in range(first):
        for j in range(second + 1):
            ways = math.comb(first - 1, i) * math.comb(second, j)
            total = total + ways * logarithm(i + 1, j) * bell(first - 1 - i, second - j, logarithm)
    return total


def _psi(order: int, x: Any) -> Any:
    return digamma(x) if order == 0 else polygamma(order, x)


class _Polygammas:
    """Polygamma functions up to some order at a point that moves up by one."""

    def __init__(self, x: Array, highest: int) -> None:
        self.x = x
        self.values = [np.asarray(scipy_function("polygamma")(order, x)) for order in range(highest)]

    def step(self) -> None:
        inverse = 1 / self.x
        power = inverse
        for order in range(len(self.values)):
            self.values[order] = self.values[order] + (-1) ** order * math.factorial(order) * power
            power = power * inverse
        self.x = self.x + 1


# The incomplete gamma function


def _gamma_density(a: Any, x: Any) -> Any:
    return exp((a - 1) * log(x) - x - gammaln(a))


def _gammainc_by(a: Any, x: Any, *, order: int) -> Array:
    a, x = np.broadcast_arrays(a, x)
    dtype = np.result_type(a.dtype, x.dtype, np.float32)
    out = np.zeros(a.shape, np.float64)
    out[~((a > 0) & (x >= 0))] = math.nan
    # Further right of the mode the complement, and with it every derivative, is below 1e-80.
    is_needed = (a > 0) & (x > 0) & (x < a + 40 * np.sqrt(a) + 200)
    if is_needed.any():
        out[is_needed] = _gamma_series(a[is_needed].astype(np.float64), x[is_needed].astype(np.float64), order)
    return out.astype(dtype)


def _gamma_series(a: Array, x: Array, order: int) -> Array:
    """The sum of the derivatives of `x ** u * exp(-x) / gamma(u + 1)` for u = a, a + 1, .."""
    log_x = np.log(x)
    psi = _Polygammas(a + 1, order)
    term = np.exp(a * log_x - x - scipy_function("gammaln")(a + 1))
    total = np.zeros_like(x)
    # Terms are largest where u is about x, and have the width sqrt(x).
    for _ in range(int(np.max(np.maximum(x - a, 0) + 12 * np.sqrt(x + 1))) + 60):
        total += term * bell(order, 0, lambda i, _: (log_x if i == 1 else 0.0) - psi.values[i - 1])
        term = term * x / psi.x
        psi.step()
    return total


def _gamma_density_by(a: Any, x: Any, order: int) -> Any:
    """The derivative of the density by `a`; 0 at x = 0, as the function is."""
    at_zero = x == 0
    x = where(at_zero, 1, x)
    factor = bell(order, 0, lambda i, _: (log(x) if i == 1 else 0.0) - _psi(i - 1, a))
    return where(at_zero, 0, _gamma_density(a, x) * factor)


gammainc_by: Op = row(
    "_gammainc_by", ("a", "x"),
    (lambda a, x, order: gammainc_by(a, x, order=order + 1), _gamma_density_by),
    kernel=_gammainc_by, domain=[(0.5, 4.0), (0.3, 5.0)], params={"order": 1},
    doc="The derivative of `gammainc` of this order by `a`.",
)  # fmt: skip
gammainc: Op = row(
    "gammainc", ("a", "x"), (lambda a, x: gammainc_by(a, x, order=1), lambda a, x: _gamma_density(a, x)),
    domain=[(0.5, 4.0), (0.3, 5.0)], aliases=("igamma",),
    doc="""The regularized lower incomplete gamma function: the distribution function of a gamma variable of shape `a`.

    It has derivatives by both arguments.
    """,
)  # fmt: skip
gammaincc: Op = row(
    "gammaincc", ("a", "x"), (lambda a, x: -gammainc_by(a, x, order=1), lambda a, x: -_gamma_density(a, x)),
    domain=[(0.5, 4.0), (0.3, 5.0)], aliases=("igammac",), doc="`1 - gammainc(a, x)`, accurate where it is small.",
)  # fmt: skip
gammaincinv: Op = row(
    "gammaincinv", ("a", "y"),
    (
        lambda a, out: -gammainc_by(a, out, order=1) / _gamma_density(a, out),
        lambda a, out: 1 / _gamma_density(a, out),
    ),
    domain=[(0.8, 3.0), (0.2, 0.8)], doc="The inverse of `gammainc` in its second argument.",
)  # fmt: skip
gammainccinv: Op = row(
    "gammainccinv", ("a", "y"),
    (
        lambda a, out: -gammainc_by(a, out, order=1) / _gamma_density(a, out),
        lambda a, out: -1 / _gamma_density(a, out),
    ),
    domain=[(0.8, 3.0), (0.2, 0.8)], doc="The inverse of `gammaincc` in its second argument.",
)  # fmt: skip

# The incomplete beta function


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return exp((a - 1) * log(x) + (b - 1) * log1p(-x) - betaln(a, b))


def _betainc_by(a: Any, b: Any, x: Any, *, orders: tuple[int, int]) -> Array:
    a, b, x = np.broadcast_arrays(a, b, x)
    dtype = np.result_type(a.dtype, b.dtype, x.dtype, np.float32)
    a, b, x = (each.astype(np.float64) for each in (a, b, x))
    out = np.zeros(a.shape, np.float64)
    is_inside = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a + b)
    out[~(is_inside | (x == 0) | (x == 1))] = math.nan
    with np.errstate(all="ignore"):
        is_low = is_inside & (x <= (a + 1) / (a + b + 2))
    is_high = is_inside & ~is_low
    if is_low.any():
        out[is_low] = _beta_series(a[is_low], b[is_low], x[is_low], 1 - x[is_low], orders)
    if is_high.any():
        swapped = _beta_series(b[is_high], a[is_high], 1 - x[is_high], x[is_high], orders[::-1])
        out[is_high] = -swapped
    return out.astype(dtype)


def _beta_series(a: Array, b: Array, x: Array, rest: Array, orders: tuple[int, int]) -> Array:
    """The sum of the derivatives of `x**u * rest**b * gamma(u + b) / (gamma(b) * gamma(u + 1))`, u = a, a + 1, .."""
    highest = max(sum(orders), 1)
    log_x, log_rest = np.log(x), np.log(rest)
    of_sum, of_next, of_b = _Polygammas(a + b, highest), _Polygammas(a + 1, highest), _Polygammas(b, highest)
    ln = scipy_function("gammaln")
    term = np.exp(a * log_x + b * log_rest + ln(a + b) - ln(b) - ln(a + 1))

    def logarithm(i: int, j: int) -> Any:
        value = of_sum.values[i + j - 1]
        if j == 0:
            value = value - of_next.values[i - 1] + (log_x if i == 1 else 0.0)
        if i == 0:
            value = value - of_b.values[j - 1] + (log_rest if j == 1 else 0.0)
        return value

    total = np.zeros_like(x)
    for number in range(_MOST_TERMS):
        change = term * bell(*orders, logarithm)
        total += change
        # The terms fall by a factor that tends to x; what is left of the sum is about change / (1 - x).
        # A sum that is no number does not change any more, and a term below the normal numbers does not fall.
        is_changing = (np.abs(change) > 1e-17 * (np.abs(total) + 1e-290) * rest) & (term > _SMALLEST)
        if number >= 20 and not is_changing.any():
            break
        term = term * x * of_sum.x / of_next.x
        of_sum.step()
        of_next.step()
    return total


_MOST_TERMS = 200_000
_SMALLEST = float(np.finfo(np.float64).tiny)


def _beta_density_by(a: Any, b: Any, x: Any, orders: tuple[int, int]) -> Any:
    """The derivative of the density by `a` and `b`; 0 at the ends, as the function is."""
    at_end = (x <= 0) | (x >= 1)
    x = where(at_end, 0.5, x)

    def logarithm(i: int, j: int) -> Any:
        value = _psi(i + j - 1, a + b)
        if j == 0:
            value = value - _psi(i - 1, a) + (log(x) if i == 1 else 0.0)
        if i == 0:
            value = value - _psi(j - 1, b) + (log1p(-x) if j == 1 else 0.0)
        return value

    return where(at_end, 0, _beta_density(a, b, x) * bell(*orders, logarithm))


_BETA_DOMAIN = [(0.6, 3.0), (0.6, 3.0), (0.1, 0.9)]
betainc_by: Op = row(
    "_betainc_by", ("a", "b", "x"),
    (
        lambda a, b, x, orders: betainc_by(a, b, x, orders=(orders[0] + 1, orders[1])),
        lambda a, b, x, orders: betainc_by(a, b, x, orders=(orders[0], orders[1] + 1)),
        _beta_density_by,
    ),
    kernel=_betainc_by, domain=_BETA_DOMAIN, params={"orders": (1, 0)},
    doc="The derivative of `betainc` of these orders by `a` and `b`.",
)  # fmt: skip
for _op in (gammainc_by, betainc_by):
    _op.refuses("the incomplete functions are those of real numbers", "complex128")
betainc: Op = row(
    "betainc", ("a", "b", "x"),
    (
        lambda a, b, x: betainc_by(a, b, x, orders=(1, 0)),
        lambda a, b, x: betainc_by(a, b, x, orders=(0, 1)),
        _beta_density,
    ),
    domain=_BETA_DOMAIN,
    doc="""The regularized incomplete beta function: the distribution function of a beta variable.

    It has derivatives by all three arguments.
    """,
)  # fmt: skip
betaincc: Op = row(
    "betaincc", ("a", "b", "x"),
    (
        lambda a, b, x: -betainc_by(a, b, x, orders=(1, 0)),
        lambda a, b, x: -betainc_by(a, b, x, orders=(0, 1)),
        lambda a, b, x: -_beta_density(a, b, x),
    ),
    domain=_BETA_DOMAIN, doc="`1 - betainc(a, b, x)`, accurate where it is small.",
)  # fmt: skip


def _inverse_by(orders: tuple[int, int]) -> Callable[..., Any]:
    def partial(a: Any, b: Any, out: Any) -> Any:
        return -betainc_by(a, b, out, orders=orders) / _beta_density(a, b, out)

    return partial


betaincinv: Op = row(
    "betaincinv", ("a", "b", "y"),
    (_inverse_by((1, 0)), _inverse_by((0, 1)), lambda a, b, out: 1 / _beta_density(a, b, out)),
    domain=[(0.8, 3.0), (0.8, 3.0), (0.2, 0.8)], doc="The inverse of `betainc` in its third argument.",
)  # fmt: skip
betainccinv: Op = row(
    "betainccinv", ("a", "b", "y"),
    (_inverse_by((1, 0)), _inverse_by((0, 1)), lambda a, b, out: -1 / _beta_density(a, b, out)),
    domain=[(0.8, 3.0), (0.8, 3.0), (0.2, 0.8)], doc="The inverse of `betaincc` in its third argument.",
)  # fmt: skip


# Distribution functions of statistics, as incomplete gamma and beta functions.
#
# Counts are rounded down, as SciPy does, and have derivative 0; every other argument is differentiable.

def _student_density(df: Any, t: Any) -> Any:
    scale = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * log(math.pi * df)
    return exp(scale - 0.5 * (df + 1) * log1p(t * t / df))


def _student_by_freedom(df: Any, t: Any) -> Any:
    """For positive t the probability is `1 - betainc(df / 2, 1 / 2, x) / 2` with `x = df / (df + t * t)`."""
    at_center = t == 0
    # Near 0 the probability is 1/2 + t * density, in which derivatives by t see more than the 0.
    near = t * _student_density(df, 0.0) * 0.5 * (digamma(0.5 * (df + 1)) - digamma(0.5 * df) - 1 / df)
    t = where(at_center, 1, t)
    x = df / (df + t * t)
    by_shape = betainc_by(0.5 * df, 0.5, x, orders=(1, 0)) * 0.5
    density = exp((0.5 * df - 1) * log(x) - 0.5 * log1p(-x) - betaln(0.5 * df, 0.5))
    by_point = density * (t / (df + t * t)) ** 2
    return where(at_center, near, sign(t) * (by_shape + by_point) * -0.5)


stdtr: Op = row(
    "stdtr", ("df", "t"), (_student_by_freedom, _student_density), domain=[(1.5, 5.0), (-2.0, 2.0)],
    doc="The probability that Student's variable with `df` degrees of freedom is at most `t`.",
)  # fmt: skip


@composite(name="special.chdtr", arrays=2)
def chdtr(v: Any, x: Any) -> Any:
    """The probability that a chi square variable with `v` degrees of freedom is at most `x`."""
    return gammainc(0.5 * v, 0.5 * x)


@composite(name="special.chdtrc", arrays=2)
def chdtrc(v: Any, x: Any) -> Any:
    """The probability that a chi square variable with `v` degrees of freedom is more than `x`."""
    return gammaincc(0.5 * v, 0.5 * x)


@composite(name="special.fdtr", arrays=3)
def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    """The probability that an F variable with `dfn` and `dfd` degrees of freedom is at most `x`."""
    scaled = dfn * x
    return betainc(0.5 * dfn, 0.5 * dfd, scaled / (dfd + scaled))


@composite(name="special.gdtr", arrays=3)
def gdtr(a: Any, b: Any, x: Any) -> Any:
    """The probability that a gamma variable of rate `a` and shape `b` is at most `x`."""
    return gammainc(b, a * x)


@composite(name="special.pdtr", arrays=2)
def pdtr(k: Any, m: Any) -> Any:
    """The probability that a Poisson variable of mean `m` is at most `k`."""
    return gammaincc(floor(k) + 1, m)


@composite(name="special.bdtr", arrays=3)
def bdtr(k: Any, n: Any, p: Any) -> Any:
    """The probability of at most `k` successes in `n` independent trials that succeed with probability `p`."""
    count = floor(k)
    return betainc(n - count, count + 1, 1 - p)


@composite(name="special.nbdtr", arrays=3)
def nbdtr(k: Any, n: Any, p: Any) -> Any:
    """The probability of at most `k` failures before `n` successes, where trials succeed with probability `p`."""
    return betainc(n, floor(k) + 1, p)
