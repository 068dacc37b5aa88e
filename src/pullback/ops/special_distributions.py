"""Distribution functions of statistics, as incomplete gamma and beta functions.

Counts are rounded down, as SciPy does, and have derivative 0; every other argument is differentiable.
"""

from __future__ import annotations

import math
from typing import Any

from pullback.declare.composite import composite
from pullback.declare.op import Op
from pullback.ops.comparison import where
from pullback.ops.complex_numbers import sign
from pullback.ops.elementwise import exp, floor, log, log1p
from pullback.ops.special_gamma import betaln, gammaln
from pullback.ops.special_incomplete import betainc, betainc_by, gammainc, gammaincc
from pullback.ops.special_rows import row


def _student_density(df: Any, t: Any) -> Any:
    scale = gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * log(math.pi * df)
    return exp(scale - 0.5 * (df + 1) * log1p(t * t / df))


def _student_by_freedom(df: Any, t: Any) -> Any:
    """For positive t the probability is `1 - betainc(df / 2, 1 / 2, x) / 2` with `x = df / (df + t * t)`."""
    at_center = t == 0
    t = where(at_center, 1, t)
    x = df / (df + t * t)
    by_shape = betainc_by(0.5 * df, 0.5, x, orders=(1, 0)) * 0.5
    density = exp((0.5 * df - 1) * log(x) - 0.5 * log1p(-x) - betaln(0.5 * df, 0.5))
    by_point = density * (t / (df + t * t)) ** 2
    return where(at_center, 0, sign(t) * (by_shape + by_point) * -0.5)


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
