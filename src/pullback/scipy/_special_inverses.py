"""Special functions with parameters: inverses, noncentral distributions, integrals, and solutions of equations."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._special_rules import _ours, _slope, along, composite, formula, partials
from pullback.scipy._surface import constant, joined, numbers, refuse
from pullback.tensors.tensor import Tensor

# ---- inverses: `x` with `direct(x, *args) = args[target]` ------------------------------------------------------


def inverse(name: str, direct: Callable[..., Any], target: int, counts: tuple[int, ...] = ()) -> None:
    """Declare the inverse of a function. `counts` are arguments that SciPy takes for whole numbers."""

    def by(place: int) -> Callable[..., Any]:
        def slope(*args: Any) -> Any:
            x = _ours(name)(*args)
            off = numbers((direct(x, *args) - args[target]).detach())
            x = pb.where(np.abs(off) < 1e-5, x, np.nan)  # SciPy's search ended elsewhere, at a limit of its own
            speed = along(lambda v: direct(v, *args), x)
            if place == target:
                return 1 / speed
            moved = along(lambda v: direct(x, *args[:place], v, *args[place + 1 :]), args[place])
            return -moved / speed

        return slope

    number = direct.__code__.co_argcount - 1
    partials(name, *(None if place in counts else by(place) for place in range(number)))


def _beta(a: Any, b: Any, x: Any) -> Any:
    return pb.special.betainc(a, b, x)


def _gamma(a: Any, x: Any) -> Any:
    return pb.special.gammainc(a, x)


def _fisher(n: Any, d: Any, x: Any) -> Any:
    return _beta(n / 2, d / 2, n * x / (n * x + d))


inverse("bdtri", lambda x, k, n, y: _beta(n - k, k + 1, 1 - x), 2, (0, 1))
inverse("bdtrik", lambda x, y, n, p: _beta(n - x, x + 1, 1 - p), 0)
inverse("bdtrin", lambda x, k, y, p: _beta(x - k, k + 1, 1 - p), 1)
inverse("btdtria", lambda x, p, b, at: _beta(x, b, at), 0)
inverse("btdtrib", lambda x, a, p, at: _beta(a, x, at), 1)
inverse("chdtriv", lambda x, p, at: _gamma(x / 2, at / 2), 0)
inverse("fdtri", lambda x, n, d, p: _fisher(n, d, x), 2)
inverse("fdtridfd", lambda x, n, p, at: _fisher(n, x, at), 1)
inverse("gdtria", lambda x, p, b, at: _gamma(b, x * at), 0)
inverse("gdtrib", lambda x, a, p, at: _gamma(x, a * at), 1)
inverse("gdtrix", lambda x, a, b, p: _gamma(b, a * x), 2)
inverse("nbdtri", lambda x, k, n, y: _beta(n, k + 1, x), 2, (0, 1))
inverse("nbdtrik", lambda x, y, n, p: _beta(n, x + 1, p), 0)
inverse("nbdtrin", lambda x, k, y, p: _beta(x, k + 1, p), 1)
inverse("pdtri", lambda x, k, y: 1 - _gamma(k + 1, x), 1, (0,))
inverse("pdtrik", lambda x, p, m: 1 - _gamma(x + 1, m), 0)
inverse("stdtridf", lambda x, p, t: pb.scipy.stats.t.cdf(t, x), 0)
formula("nrdtrimn", lambda p, std, x: x - std * pb.special.ndtri(p))
formula("nrdtrisd", lambda mn, p, x: (x - mn) / pb.special.ndtri(p))

# ---- noncentral distributions: sums over Poisson's probabilities -----------------------------------------------


def _counts(rate: Any) -> Any:
    """Counts that Poisson's distribution of these rates does not leave out, along an axis of their own."""
    most = float(np.max(numbers(joined(rate).detach()), initial=0.0))
    return np.arange(int(most + 12 * np.sqrt(most) + 40.0)).astype(float)


def _weights(j: Any, rate: Any) -> Any:
    """Poisson's probabilities; at the rate 0 all is at the count 0."""
    is_zero = numbers(rate.detach()) == 0
    safe = pb.where(is_zero, 1.0, rate)
    usual = pb.exp(j * pb.log(safe) - safe - pb.special.gammaln(j + 1))
    first = np.where(j == 0, 1.0, 0.0)
    return pb.where(is_zero, first + rate * (np.where(j == 1, 1.0, 0.0) - first), usual)


def _noncentral_chi(x: Any, df: Any, nc: Any) -> Any:
    j = _counts(nc / 2)
    x, df, nc = (joined(each)[..., None] for each in (x, df, nc))
    return (_weights(j, nc / 2) * _gamma(df / 2 + j, x / 2)).sum(axis=-1)


def _noncentral_fisher(n: Any, d: Any, nc: Any, x: Any) -> Any:
    j = _counts(nc / 2)
    n, d, nc, x = (joined(each)[..., None] for each in (n, d, nc, x))
    return (_weights(j, nc / 2) * _beta(n / 2 + j, d / 2, n * x / (n * x + d))).sum(axis=-1)


def _noncentral_student(df: Any, nc: Any, t: Any) -> Any:
    j = _counts(nc * nc / 2)
    df, nc, t = (joined(each)[..., None] for each in (df, nc, t))
    is_below = numbers(t.detach()) < 0
    nc, sign = pb.where(is_below, -nc, nc), np.where(is_below, -1.0, 1.0)
    y, rate = t * t / (df + t * t), nc * nc / 2
    odd = nc / np.sqrt(2.0) * pb.exp(pb.special.gammaln(j + 1) - pb.special.gammaln(j + 1.5))
    weights = _weights(j, rate)
    both = weights * _beta(j + 0.5, df / 2, y) + weights * odd * _beta(j + 1, df / 2, y)
    above = pb.special.ndtr(-nc)[..., 0] + both.sum(axis=-1) / 2
    return sign[..., 0] * above + (1 - sign[..., 0]) / 2


formula("chndtr", _noncentral_chi)
formula("ncfdtr", _noncentral_fisher)
formula("nctdtr", _noncentral_student)
inverse("chndtrix", lambda x, p, df, nc: _noncentral_chi(x, df, nc), 0)
inverse("chndtridf", lambda x, at, p, nc: _noncentral_chi(at, x, nc), 1)
inverse("chndtrinc", lambda x, at, df, p: _noncentral_chi(at, df, x), 2)
inverse("ncfdtri", lambda x, n, d, nc, p: _noncentral_fisher(n, d, nc, x), 3)
inverse("ncfdtridfd", lambda x, n, p, nc, at: _noncentral_fisher(n, x, nc, at), 1)
inverse("ncfdtridfn", lambda x, p, d, nc, at: _noncentral_fisher(x, d, nc, at), 0)
inverse("ncfdtrinc", lambda x, n, d, p, at: _noncentral_fisher(n, d, x, at), 2)
inverse("nctdtridf", lambda x, p, nc, t: _noncentral_student(x, nc, t), 0)
inverse("nctdtrinc", lambda x, df, p, t: _noncentral_student(df, x, t), 1)
inverse("nctdtrit", lambda x, df, nc, p: _noncentral_student(df, nc, x), 2)


# ---- Kolmogorov and Smirnov -------------------------------------------------------------------------------------


def _kolmogorov(y: Any) -> Any:
    """Jacobi's theta function by two series: one converges fast below 1, and one above."""
    k = np.arange(1.0, 9.0)
    is_small = numbers(y.detach()) < 1
    low, high = (pb.where(is_small == own, y, 1.0)[..., None] for own in (True, False))
    below = 1 - np.sqrt(2 * np.pi) / low[..., 0] * pb.exp(-((2 * k - 1) ** 2) * np.pi**2 / (8 * low * low)).sum(axis=-1)
    above = 2 * ((-1.0) ** (k - 1) * pb.exp(-2 * k * k * high * high)).sum(axis=-1)
    return pb.where(is_small, below, above)


def _smirnov(n: Any, d: Any) -> Any:
    """The sum that says how far `n` draws lie above their distribution; as a function of `d`."""
    n = np.asarray(numbers(n.detach()))[..., None]
    v = np.arange(float(np.max(n)) + 1)
    d = d[..., None]
    rest = 1 - d - v / n
    matters = (numbers(rest.detach()) > 0) & (v <= n)
    rest, up = pb.where(matters, rest, 0.5), pb.where(matters, d + v / n, 0.5)
    logs = pb.special.gammaln(n + 1) - pb.special.gammaln(v + 1) - pb.special.gammaln(np.maximum(n - v, 0) + 1)
    terms = pb.exp(logs + (v - 1) * pb.log(up) + (n - v) * pb.log(rest))
    return d[..., 0] * pb.where(matters, terms, 0.0).sum(axis=-1)


formula("kolmogorov", _kolmogorov)
partials("smirnov", None, lambda n, d: along(lambda v: _smirnov(n, v), d))
inverse("kolmogi", lambda x, p: _kolmogorov(x), 0)
inverse("smirnovi", lambda x, n, p: _smirnov(n, x), 1, (0,))

# ---- Carlson's integrals on nodes: smooth where arguments are equal ---------------------------------------------

_U = np.linspace(-4.6, 4.6, 185)
_T = np.exp(np.pi / 2 * np.sinh(_U))
_DT = _T * np.pi / 2 * np.cosh(_U) * (_U[1] - _U[0])


def _carlson(roots: list[Any], poles: list[Any]) -> Any:
    """The integral, over positive numbers, of one over square roots and one over factors."""
    product: Any = 1.0
    for x in roots:
        product = product * pb.sqrt(joined(x)[..., None] + _T)
    for p in poles:  # below 0 SciPy takes a principal value, which nodes do not
        product = product * (pb.where(numbers(joined(p).detach()) > 0, p, np.nan)[..., None] + _T)
    return (_DT / product).sum(axis=-1)


def _complete(x: Any, y: Any, z: Any) -> Any:
    largest = pb.maximum(pb.maximum(x, y), z)
    is_x, is_y = numbers((x == largest).detach()), numbers((y == largest).detach())
    z, x, y = pb.where(is_x, x, pb.where(is_y, y, z)), pb.where(is_x, z, x), pb.where(is_x | ~is_y, y, z)
    first, third = 0.5 * _carlson([x, y, z], []), 1.5 * _carlson([x, y, z], [z])
    return (z * first - (x - z) * (y - z) * third / 3 + pb.sqrt(x * y / z)) / 2


formula("elliprc", lambda x, y: 0.5 * _carlson([x], [y]))
formula("elliprd", lambda x, y, z: 1.5 * _carlson([x, y, z], [z]))
formula("elliprj", lambda x, y, z, p: 1.5 * _carlson([x, y, z], [p]))
formula("elliprg", _complete)

# ---- solutions of differential equations: pairs of a value and its derivative ------------------------------------


def pair(name: str, number: int, equation: Callable[..., Any], scale: float = 1.0) -> None:
    """Declare `(y, y')` by its last argument, `scale` of the variable of `y'`; `equation` gives `y''`."""

    def first(*args: Any) -> Any:
        return scale * _ours(name)(*args)[1]

    def second(*args: Any) -> Any:
        return scale * equation(*args, *_ours(name)(*args))

    partials(name, *([None] * (number - 1)), (first, second))


def _ordered(m: Any, c: Any, x: Any, y: Any, slope: Any, own: Any, sign: float) -> Any:
    """`y''` of a spheroidal angle: prolate for 1, oblate for -1."""
    return (2 * x * slope - (own - sign * c * c * x * x - m * m / (1 - x * x)) * y) / (1 - x * x)


def _radial(m: Any, c: Any, x: Any, y: Any, slope: Any, own: Any, sign: float) -> Any:
    width = x * x - sign
    return ((own - c * c * x * x + sign * m * m / width) * y - 2 * x * slope) / width


for _kind, _sign in (("pro", 1.0), ("obl", -1.0)):
    for _part, _rule in (("ang1", _ordered), ("rad1", _radial)):
        pair(f"{_kind}_{_part}", 4, lambda m, n, c, x, y, s, kind=_kind, sign=_sign, rule=_rule: rule(
            m, c, x, y, s, _ours(f"{kind}_cv")(m, n, c), sign))  # fmt: skip
        pair(f"{_kind}_{_part}_cv", 5, lambda m, n, c, own, x, y, s, sign=_sign, rule=_rule: rule(
            m, c, x, y, s, own, sign))  # fmt: skip

    def _by_c(m: Any, n: Any, c: Any, kind: str = _kind, sign: float = _sign) -> Any:
        """The characteristic value by `c`: the mean of `2 c x**2` where the function is large."""
        x, weights = np.polynomial.legendre.leggauss(60)
        y = _ours(f"{kind}_ang1")(m[..., None], n[..., None], c[..., None], pb.asarray(x))[0]
        return sign * 2 * c * (weights * x * x * y * y).sum(axis=-1) / (weights * y * y).sum(axis=-1)

    partials(f"{_kind}_cv", None, None, _by_c)

_DEGREE = np.pi / 180
for _name, _own in (("mathieu_cem", "mathieu_a"), ("mathieu_sem", "mathieu_b")):
    pair(_name, 3, lambda m, q, x, y, s, own=_own: (
        (2 * q * pb.cos(2 * x * _DEGREE) - _ours(own)(m, q)) * y), _DEGREE)  # fmt: skip
    for _kind in ("1", "2"):
        pair(f"mathieu_mod{_name[-3:]}{_kind}", 3, lambda m, q, x, y, s, own=_own: (
            (_ours(own)(m, q) - 2 * q * pb.cosh(2 * x)) * y))  # fmt: skip

    def _by_q(m: Any, q: Any, name: str = _name) -> Any:
        """The characteristic value by `q`: the mean of `2 cos(2 x)` where the function is large."""
        x = np.arange(0, 360, 2.0)
        y = _ours(name)(m[..., None], q[..., None], pb.asarray(x))[0]
        return (y * y * (4 * np.cos(2 * x * _DEGREE))).mean(axis=-1)

    partials(_own, None, _by_q)

# ---- others ------------------------------------------------------------------------------------------------------

partials("besselpoly", lambda a, l, v: _ours("besselpoly")(a, l + 1, v - 1) - _ours("besselpoly")(a, l + 1, v + 1),
         None, None)  # fmt: skip
partials("eval_sh_jacobi", None, None, None, lambda n, p, q, x: (
    2 * _slope("eval_jacobi", n, p - q, q - 1, 2 * x - 1) / pb.special.binom(2 * n + p - 1, n)))  # fmt: skip
partials("lpmv", None, None, lambda m, v, x: (
    (v * x * _ours("lpmv")(m, v, x) - (v + m) * _ours("lpmv")(m, v - 1, x)) / (x * x - 1)))  # fmt: skip
partials("wright_bessel", None, None, lambda a, b, x: _ours("wright_bessel")(a, a + b, x))
partials("log_wright_bessel", None, None, lambda a, b, x: (
    pb.exp(_ours("log_wright_bessel")(a, a + b, x) - _ours("log_wright_bessel")(a, b, x))))  # fmt: skip

for _name, _sign in (("modfresnelp", 1.0), ("modfresnelm", -1.0)):
    partials(_name, (
        lambda x, s=_sign: -pb.exp(1j * s * x * x),
        lambda x, s=_sign, n=_name: -2j * s * x * _ours(n)(x)[1] - np.exp(-0.25j * np.pi * s) / np.sqrt(np.pi),
    ))  # fmt: skip


def _root(x: Any) -> Any:
    """What scales Airy's functions of real numbers: nothing below 0."""
    is_above = numbers(x.detach()) > 0
    return pb.where(is_above, pb.sqrt(pb.where(is_above, x, 1.0)), 0.0)


partials("airye", (
    lambda x: _ours("airye")(x)[1] + _root(x) * _ours("airye")(x)[0],
    lambda x: x * _ours("airye")(x)[0] + _root(x) * _ours("airye")(x)[1],
    lambda x: _ours("airye")(x)[3] - _root(x) * _ours("airye")(x)[2],
    lambda x: x * _ours("airye")(x)[2] - _root(x) * _ours("airye")(x)[3],
), is_real=True)  # fmt: skip


def _tukey(place: int) -> Callable[..., Any]:
    def slope(x: Tensor, shape: Tensor) -> Any:
        p = _ours("tklmbda")(x, shape)
        is_inside = numbers((p * (1 - p)).detach()) > 0
        p = pb.where(is_inside, p, 0.5)
        speed = p ** (shape - 1) + (1 - p) ** (shape - 1)
        if place == 0:
            return pb.where(is_inside, 1 / speed, 0.0)
        is_zero = np.abs(numbers(shape.detach())) < 1e-5  # where the formula rounds everything away
        safe = pb.where(is_zero, 1.0, shape)
        up, down = pb.log(p), pb.log(1 - p)
        moved = (p**safe * (up - 1 / safe) - (1 - p) ** safe * (down - 1 / safe)) / safe
        moved = pb.where(is_zero, (up * up - down * down) / 2, moved)
        return pb.where(is_inside, -moved / speed, 0.0)

    return slope


partials("tklmbda", _tukey(0), _tukey(1))


def _bessel(kind: str, alternates: bool, sign: int) -> Callable[..., Any]:
    def derivative(v: Any, z: Any, n: int = 1) -> Any:
        """A derivative of a Bessel function, by the recurrence for it."""
        function = getattr(pb.special, kind)
        if n == 0:
            return function(v, z)
        parts = [(-1 if alternates and k % 2 else 1) * comb(n, k) * function(v - n + 2 * k, z) for k in range(n + 1)]
        return sign**n * sum(parts) / 2**n

    return derivative


for _name, _kind, _alternates, _whole in (
    ("jvp", "jv", True, 1), ("yvp", "yv", True, 1), ("h1vp", "hankel1", True, 1), ("h2vp", "hankel2", True, 1),
    ("ivp", "iv", False, 1), ("kvp", "kv", False, -1),
):  # fmt: skip
    composite(_name, _bessel(_kind, _alternates, _whole), "z")


def _dirichlet(x: Any, n: Any) -> Any:
    half = x / 2
    n = int(numbers(joined(n).detach()))
    turns = np.round(numbers(half.detach()) / np.pi)
    off = half - turns * np.pi
    is_peak = np.abs(numbers(off.detach())) < 1e-4
    safe = pb.where(is_peak, 1.0, off)
    peak = 1 - (n * n - 1) * off * off / 6 + (3 * n**4 - 10 * n * n + 7) * off**4 / 360
    return pb.where(is_peak, peak, pb.sin(n * safe) / (n * pb.sin(safe))) * (-1.0) ** (turns * (n - 1))


composite("diric", _dirichlet, "x")
def _permutations(**given: Any) -> Any:
    n, k = given["N"], numbers(given["k"])
    return pb.exp(pb.special.gammaln(n + 1) - pb.special.gammaln(n - k + 1))


composite("perm", _permutations, "N")
composite("softplus", lambda x, **_: pb.logaddexp(x * 0, x), "x")
composite("sinc", lambda x: pb.sinc(x), "x")
composite("assoc_laguerre", lambda x, n, k=0.0: pb.special.eval_genlaguerre(n, k, x), "x")
_PARTS = (("ber", "bei"), ("ker", "kei"), ("berp", "beip"), ("kerp", "keip"))
composite("kelvin", lambda x: tuple(_ours(even)(x) + 1j * _ours(odd)(x) for even, odd in _PARTS), "x")

constant(*(f"special.{name}" for name in (
    "bernoulli", "euler", "factorial2", "factorialk", "stirling2", "c_roots", "cg_roots", "h_roots", "he_roots",
    "l_roots", "p_roots", "ps_roots", "s_roots", "t_roots", "ts_roots", "u_roots", "us_roots", "chebyc", "chebys",
    "chebyt", "chebyu", "hermite", "hermitenorm", "laguerre", "legendre", "sh_chebyt", "sh_chebyu", "sh_legendre",
    "roots_chebyc", "roots_chebys", "roots_chebyt", "roots_chebyu", "roots_hermite", "roots_hermitenorm",
    "roots_laguerre", "roots_legendre", "roots_sh_chebyt", "roots_sh_chebyu", "roots_sh_legendre", "ai_zeros",
    "bi_zeros", "bei_zeros", "beip_zeros", "ber_zeros", "berp_zeros", "erf_zeros", "fresnel_zeros", "fresnelc_zeros",
    "fresnels_zeros", "jn_zeros", "jnjnp_zeros", "jnp_zeros", "jnyn_zeros", "kei_zeros", "keip_zeros", "kelvin_zeros",
    "ker_zeros", "kerp_zeros", "y0_zeros", "y1_zeros", "y1p_zeros", "yn_zeros", "ynp_zeros",
)))  # fmt: skip
refuse("it makes an object, or nodes, of parameters; evaluate the polynomial with eval_jacobi and its relatives", *(
    f"special.{name}" for name in (
        "gegenbauer", "genlaguerre", "jacobi", "sh_jacobi", "j_roots", "js_roots", "la_roots", "roots_gegenbauer",
        "roots_genlaguerre", "roots_jacobi", "roots_sh_jacobi")
))  # fmt: skip
refuse("it gives all orders up to one, of one number; the function of a single order has derivatives", *(
    f"special.{name}" for name in (
        "lmbda", "lqmn", "lqn", "pbdn_seq", "pbdv_seq", "pbvv_seq", "riccati_jn", "riccati_yn", "pro_cv_seq",
        "obl_cv_seq")
))  # fmt: skip
refuse("no formula for its derivative is known here", *(f"special.{name}" for name in (
    "ellip_harm", "ellip_harm_2", "ellip_normal", "mathieu_even_coef", "mathieu_odd_coef", "zetac")))  # fmt: skip
refuse("SciPy's value of it and of its derivative do not belong to one function", *(
    f"special.{name}" for name in ("pro_rad2", "pro_rad2_cv", "obl_rad2", "obl_rad2_cv")))  # fmt: skip
refuse("it sets how SciPy reports errors", "special.geterr", "special.seterr")
