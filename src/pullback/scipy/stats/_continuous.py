"""Continuous distributions: densities, probabilities and quantiles, by their argument and all parameters.

The value is SciPy's. The logarithm of a density is computed by SciPy's own formula, run on tensors, for those
distributions where a test compares its derivatives with differences; a few have a formula of ours. A probability has
the density as its derivative, by shapes that of SciPy's formula or of an integral; a quantile has the inverse.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.func._grad import vjp
from pullback.func._implicit.lift import is_watched
from pullback.func._implicit.linear import Array
from pullback.func._jvp import jvp
from pullback.operators.special.elementary import log1prel
from pullback.scipy._composed import for_each_example, refused, watches
from pullback.scipy._replay import replay
from pullback.scipy._surface import joined, numbers
from pullback.scipy.stats import _moments
from pullback.scipy.stats._frozen import Univariate
from pullback.tensors.tensor import Tensor, made_here

# Distributions whose own `_logpdf` runs on tensors and has the right derivatives (tests/scipy/test_stats.py).
ACCEPTED = frozenset((
    "alpha", "anglit", "arcsine", "argus", "beta", "betaprime", "bradford", "burr", "burr12", "cauchy", "chi", "chi2",
    "cosine", "crystalball", "erlang", "expon", "exponnorm", "exponpow", "exponweib", "f", "fatiguelife", "fisk",
    "foldcauchy", "foldnorm", "gamma", "genexpon", "genextreme", "gengamma", "genlogistic", "gennorm", "genpareto",
    "gibrat", "gompertz", "gumbel_l", "gumbel_r", "halfcauchy", "halfgennorm", "halflogistic", "halfnorm", "hypsecant",
    "invgamma", "invgauss", "invweibull", "jf_skew_t", "johnsonsb", "johnsonsu", "kappa3", "laplace", "levy", "levy_l",
    "loggamma", "logistic", "lognorm", "loguniform", "lomax", "maxwell", "mielke", "moyal", "nakagami", "norm",
    "norminvgauss", "pareto", "powerlaw", "powerlognorm", "powernorm", "rayleigh", "rdist", "recipinvgauss",
    "reciprocal", "rel_breitwigner", "rice", "semicircular", "skewcauchy", "skewnorm", "truncexpon",
    "truncweibull_min", "vonmises", "vonmises_line", "wald", "weibull_max", "weibull_min", "wrapcauchy",
))  # fmt: skip

# The same, with NumPy's functions replaced in SciPy's text; so does their `_cdf`.
REPLAYED = frozenset((
    "dpareto_lognorm", "genhalflogistic", "loglaplace", "trapezoid", "truncpareto",
))  # fmt: skip

# Distributions whose own `_cdf` does, by its argument and by all shapes, to second order.
CLOSED = frozenset((
    "alpha", "argus", "betaprime", "bradford", "burr", "burr12", "chi", "chi2", "crystalball", "dweibull", "erlang",
    "exponnorm", "exponpow", "exponweib", "f", "fatiguelife", "fisk", "foldcauchy", "foldnorm", "gamma", "genexpon",
    "genextreme", "gengamma", "genlogistic", "gennorm", "genpareto", "gompertz", "halfgennorm", "invgamma",
    "invgauss", "invweibull", "jf_skew_t", "johnsonsb", "johnsonsu", "kappa3", "laplace_asymmetric", "loggamma",
    "lognorm", "loguniform", "lomax", "mielke", "nakagami", "pareto", "powerlaw", "powerlognorm", "powernorm",
    "rdist", "recipinvgauss", "reciprocal", "rel_breitwigner", "rice", "skewcauchy", "t", "triang", "truncexpon",
    "truncnorm", "truncweibull_min", "weibull_max", "weibull_min", "wrapcauchy",
))  # fmt: skip
_TAIL = 1e-6  # a probability whose derivative is integrated from the end, where a formula has lost its digits


def _truncated_normal(x: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """With the mass between `a` and `b` taken in the tail where it is not rounded away."""
    flips = numbers(a.detach()) > 0
    low, high = pb.where(flips, -b, a), pb.where(flips, -a, b)
    logs = pb.special.log_ndtr(high), pb.special.log_ndtr(low)
    mass = logs[0] + pb.log1p(-pb.exp(logs[1] - logs[0]))
    return -0.5 * x * x - 0.5 * np.log(2 * np.pi) - mass


def _student(x: Tensor, df: Tensor) -> Tensor:
    is_normal = pb.isinf(df)
    safe = pb.where(is_normal, 1.0, df)
    scale = pb.special.gammaln((safe + 1) / 2) - pb.special.gammaln(safe / 2) - 0.5 * pb.log(safe * np.pi)
    normal = -0.5 * x * x - 0.5 * np.log(2 * np.pi)
    return pb.where(is_normal, normal, scale - (safe + 1) / 2 * pb.log1p(x * x / safe))


def _triangle(x: Tensor, c: Tensor) -> Tensor:
    """The height at `x` of a triangle that is 1 high at `c`, which may be at an end."""
    at, top = numbers(x.detach()), numbers(c.detach())
    return pb.where(at < top, x / pb.where(top == 0, 1.0, c), (1 - x) / pb.where(top == 1, 1.0, 1 - c))


def _extreme(x: Tensor, c: Tensor) -> Tensor:
    """What the logarithm of a probability of `genextreme` is the exponential of; smooth in `c`, at 0 too."""
    return -x * log1prel(-c * x)


OWN: dict[str, Callable[..., Any]] = {
    "genextreme": lambda x, c: _extreme(x, c) - pb.exp(_extreme(x, c)) - pb.log1p(-c * x),
    "genpareto": lambda x, c: -x * log1prel(c * x) - pb.log1p(c * x),
    "skewnorm": lambda x, a: np.log(2 / np.sqrt(2 * np.pi)) - x * x / 2 + pb.special.log_ndtr(a * x),
    "t": _student,
    "uniform": lambda x: x * 0,
    "truncnorm": _truncated_normal,
    "triang": lambda x, c: pb.log(2 * _triangle(x, c)),
    "laplace_asymmetric": lambda x, k: -x * pb.where(numbers((x >= 0).detach()), k, -1 / k) - pb.log(k + 1 / k),
    "dweibull": lambda x, c: pb.log(c) - np.log(2.0) + (c - 1) * pb.log(pb.abs(x)) - pb.abs(x) ** c,
    "dgamma": lambda x, a: (a - 1) * pb.log(pb.abs(x)) - np.log(2.0) - pb.special.gammaln(a) - pb.abs(x),
}


def _tail(z: Tensor) -> Tensor:
    return pb.maximum(z, 0)


# Probabilities with a formula: of what lies below, and of what lies above. They are compiled, and need no integral.
_SPECIAL: dict[str, dict[str, Callable[..., Any]]] = {
    "norm": {
        "cdf": lambda z: pb.special.ndtr(z), "sf": lambda z: pb.special.ndtr(-z),
        "logcdf": lambda z: pb.special.log_ndtr(z), "logsf": lambda z: pb.special.log_ndtr(-z),
        "ppf": lambda q: pb.special.ndtri(q),
    },
    "expon": {"cdf": lambda z: -pb.expm1(-_tail(z)), "sf": lambda z: pb.exp(-_tail(z)), "logsf": lambda z: -_tail(z)},
    "logistic": {"cdf": lambda z: pb.special.expit(z), "sf": lambda z: pb.special.expit(-z),
                 "logcdf": lambda z: pb.special.log_expit(z), "logsf": lambda z: pb.special.log_expit(-z)},
    "gamma": {"cdf": lambda z, a: pb.special.gammainc(a, _tail(z)),
              "sf": lambda z, a: pb.special.gammaincc(a, _tail(z))},
    "chi2": {"cdf": lambda z, df: pb.special.gammainc(df / 2, _tail(z) / 2),
             "sf": lambda z, df: pb.special.gammaincc(df / 2, _tail(z) / 2)},
    "beta": {"cdf": lambda z, a, b: pb.special.betainc(a, b, pb.clip(z, 0, 1)),
             "sf": lambda z, a, b: pb.special.betaincc(a, b, pb.clip(z, 0, 1))},
}  # fmt: skip

# Where SciPy's formula has a case for one number, beside which there is a slope.
_BELOW: dict[str, Callable[..., Any]] = {
    "genextreme": lambda x, c: pb.exp(-pb.exp(_extreme(x, c))),
    "genpareto": lambda x, c: -pb.expm1(-x * log1prel(c * x)),
}


class Member(Function):
    """`cdf`, `sf`, `logcdf` or `logsf` of a standard variable: SciPy's value, and the density as derivative."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(law: Law, name: str, z: Tensor, *shapes: Tensor) -> Tensor:
        return made_here(np.asarray(getattr(law.real, name)(*(numbers(x.detach()) for x in (z, *shapes)))))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.law, ctx.member, *rest = inputs
        ctx.save_for_backward(output, *rest)
        ctx.save_for_forward(output, *rest)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        out, z, *shapes = ctx.saved_tensors
        slope = _slope(ctx.member, out, ctx.law.log_density(z, shapes))
        by_z = pb.sum_to_size(gradient * slope, z.shape)
        by_shapes: list[Any] = [None] * len(shapes)
        if any(ctx.needs_input_grad[3:]):
            scaled = gradient * _slope(ctx.member, out, 0.0)
            by_shapes = list(vjp(lambda *each: ctx.law.below(z, each), *shapes)[1](scaled))
        return None, None, by_z, *by_shapes

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, z_dot: Any, *tangents: Any) -> Tensor:
        out, z, *shapes = ctx.saved_tensors
        moved: Any = 0.0
        if z_dot is not None:
            moved = moved + _slope(ctx.member, out, ctx.law.log_density(z, shapes)) * z_dot
        if any(each is not None for each in tangents):
            moves = tuple(t if t is not None else s * 0 for t, s in zip(tangents, shapes, strict=True))
            found = jvp(lambda *each: ctx.law.below(z, each), tuple(shapes), moves)[1]
            moved = moved + _slope(ctx.member, out, 0.0) * found
        return moved


def _slope(name: str, out: Tensor, log_density: Any) -> Tensor:
    """What a member changes by where the probability of what lies below changes by the exponential of something."""
    slope = pb.exp(log_density - out) if name.startswith("log") else pb.exp(log_density + out * 0)
    return -slope if name.endswith("sf") else slope


class Quantile(Function):
    """`ppf` of a standard variable: SciPy's value, and the inverse of the density as derivative."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(law: Law, q: Tensor, *shapes: Tensor) -> Tensor:
        return made_here(np.asarray(law.real.ppf(*(numbers(x.detach()) for x in (q, *shapes)))))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.law, q, *shapes = inputs
        ctx.save_for_backward(output, q, *shapes)
        ctx.save_for_forward(output, q, *shapes)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        z, q, *shapes = ctx.saved_tensors
        scaled = gradient / pb.exp(ctx.law.log_density(z, shapes))
        by_shapes: list[Any] = [None] * len(shapes)
        if any(ctx.needs_input_grad[2:]):
            by_shapes = list(vjp(lambda *each: ctx.law.below(z, each), *shapes)[1](-scaled))
        return None, pb.sum_to_size(scaled, q.shape), *by_shapes

    @staticmethod
    def jvp(ctx: Any, _: Any, q_dot: Any, *tangents: Any) -> Tensor:
        z, _, *shapes = ctx.saved_tensors
        moved: Any = 0.0 if q_dot is None else q_dot
        if any(each is not None for each in tangents):
            moves = tuple(t if t is not None else s * 0 for t, s in zip(tangents, shapes, strict=True))
            moved = moved - jvp(lambda *each: ctx.law.below(z, each), tuple(shapes), moves)[1]
        return moved / pb.exp(ctx.law.log_density(z, shapes))


class Law:
    """A distribution of SciPy's in its standard place and scale."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.name = real.name
        self._body = OWN.get(real.name) or (real._logpdf if real.name in ACCEPTED else None)
        if real.name in REPLAYED:
            self._body = functools.partial(replay, real._logpdf)
        members = [name for base in type(real).__mro__[:-1] if base.__name__.endswith("_gen") for name in vars(base)]
        self._is_simple = not {"_get_support", "_argcheck"} & set(members)
        self._moves = "_get_support" in members  # do the ends of the support depend on the shapes?
        self.special = _SPECIAL.get(real.name, {})

    @property
    def has_density(self) -> bool:
        return self._body is not None

    def log_density(self, z: Tensor, shapes: Any) -> Tensor:
        """The logarithm of the density: -inf outside of the support, with no derivative there."""
        assert self._body is not None
        if self._is_simple:
            return self._log_density_by_operators(z, [joined(s) for s in shapes])
        at, *given = np.broadcast_arrays(numbers(z.detach()), *(numbers(joined(s).detach()) for s in shapes))
        low, high = self.real._get_support(*given)
        is_good = np.broadcast_to(self.real._argcheck(*given), at.shape)
        is_inside = (at >= low) & (at <= high) & is_good
        safe = self._somewhere(given, is_good)
        out = self._body(pb.where(is_inside, z, safe), *(pb.where(is_good, s, 1.0) for s in map(joined, shapes)))
        return pb.where(is_inside, out, np.where(is_good & ~np.isnan(at), -np.inf, np.nan))

    def _log_density_by_operators(self, z: Tensor, shapes: list[Tensor]) -> Tensor:
        """As `log_density`, of a support that does not move, for any positive shapes: no number is looked at."""
        assert self._body is not None
        low, high = self.real.a, self.real.b
        is_good = pb.ones((), dtype=bool)
        for each in shapes:
            is_good = is_good & (each > 0)
        is_inside = (z >= low) & (z <= high) & is_good
        safe = (low + high) / 2 if np.isfinite(low + high) else low + 1 if np.isfinite(low) else min(high - 1, 0.5)
        out = self._body(pb.where(is_inside, z, safe), *(pb.where(each > 0, each, 1.0) for each in shapes))
        return pb.where(is_inside, out, pb.where(is_good & (z == z), -np.inf, np.nan))

    def _somewhere(self, shapes: list[Array], is_good: Array) -> Array:
        """A place inside of the support for each."""
        with np.errstate(all="ignore"):
            middle = np.asarray(self.real.ppf(0.4, *shapes))
        return np.where(is_good & np.isfinite(middle), middle, 0.5)

    def below(self, z: Tensor, shapes: Any) -> Tensor:
        """The probability of what lies below: by SciPy's formula, or as integrals, one after the other."""
        shape = np.broadcast_shapes(z.shape, *(joined(s).shape for s in shapes))
        places = pb.broadcast_to(z, shape).reshape(-1)
        many = [pb.broadcast_to(joined(s), shape).reshape(-1) for s in shapes]
        if self.name in CLOSED | REPLAYED:
            known = np.asarray(self.real.cdf(*(numbers(each.detach()) for each in (places, *many))))
            if ((known > _TAIL) & (known < 1 - _TAIL)).all():
                formula = _BELOW.get(self.name) or functools.partial(replay, self.real._cdf)
                return formula(places, *many).reshape(shape)
        out = [self._one(places[k], [s[k] for s in many]) for k in range(places.shape[0])]
        return pb.stack(out).reshape(shape)

    def _one(self, z: Tensor, shapes: list[Tensor]) -> Tensor:
        """An integral, from the nearer end."""
        given = [float(numbers(s.detach())) for s in shapes]
        low, high = (float(end) for end in self.real._get_support(*given))
        at = float(numbers(z.detach()))
        is_upper = bool(self.real.cdf(at, *given) > 0.5)
        support = high if is_upper else low
        far = float((self.real.isf if is_upper else self.real.ppf)(1e-12, *given))
        end = support if np.isfinite(support) else far
        ends = (at, end) if is_upper else (end, at)
        if not ends[0] < ends[1]:
            return z * 0
        value = self._between(ends, shapes, float((self.real.sf if is_upper else self.real.cdf)(at, *given)))
        if self._moves and np.isfinite(support):
            own = replay(self.real._get_support, *shapes)[1 if is_upper else 0]
            value = value + (1 if is_upper else -1) * self._moved(own, shapes)
        if is_watched(z):  # in a second derivative
            value = value + (-1 if is_upper else 1) * self._moved(z, shapes)
        return -value if is_upper else value

    def _between(self, ends: tuple[float, float], shapes: list[Tensor], expected: float) -> Tensor:
        (value,) = _moments.over_nodes(self, [lambda z, _: 1.0], shapes, ends)
        if abs(float(numbers(value.detach())) - expected) <= 1e-10 * expected:
            return value
        given = [float(numbers(s.detach())) for s in shapes]
        levels = [1e-9, 1e-6, 1e-4, 0.01, 0.2, 0.5]  # a heavy tail is long
        places = np.unique([*self.real.ppf(levels, *given), *self.real.isf(levels, *given)])
        if np.isfinite(self.real._get_support(*given)).all():
            places = self.real.ppf([0.5], *given)
        points = places[(places > ends[0]) & (places < ends[1])]
        options = {"epsabs": 1e-11, "epsrel": 1e-9, "points": points if points.size else None, "limit": 200}
        value = pb.scipy.integrate.quad(lambda t: pb.exp(self.log_density(t, shapes)), *ends, **options)[0]
        if not abs(float(numbers(value.detach())) - expected) <= 1e-6 * expected + 1e-11:
            raise refused(f"stats.{self.name}", "its density cannot be integrated well enough here", what="a shape")
        return value

    def _moved(self, place: Any, shapes: list[Tensor]) -> Tensor:
        """The integral from a place to itself, which is 0 and moves with the place."""
        density = lambda t: pb.exp(self.log_density(t, shapes))
        return pb.scipy.integrate.quad(density, joined(place).detach(), joined(place))[0]


class Distribution(Univariate):
    """One of SciPy's continuous distributions."""

    def __init__(self, real: Any, args: tuple[Any, ...] = (), kwds: dict[str, Any] | None = None) -> None:
        super().__init__(real, args, kwds)
        self._law = Law(real)

    def __getattr__(self, name: str) -> Any:
        if name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "median", "interval"):
            return lambda *args, **kwds: self._computed(name, args, kwds)
        return super().__getattr__(name)

    def _has_to_differentiate(self, name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> bool:
        return watches((args, kwds)) or (name == "expect" and self._law.has_density and bool(kwds.get("func", args)))

    def _differentiated(self, name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        if name == "fit":
            data, *starts = args or (kwds.pop("data"),)
            return _moments.fit(self, data, tuple(starts), kwds)
        if name not in ("rvs", "mean", "var", "std", "entropy", "moment", "expect") or not self._law.has_density:
            raise refused(f"stats.{self._real.name}.{name}", "it has no derivative here")
        if name == "rvs":
            count = len(self._real.shapes.split(", ") if self._real.shapes else []) + 2
            options = dict(zip(("size", "random_state"), args[count:], strict=False)) | kwds
            how = options.pop("size", None), options.pop("random_state", None)
            given = {key: value for key, value in kwds.items() if key in options}
            return _moments.draw(self._law, *self._parameters(args[:count], given), *how)
        if name == "expect":
            return self._expected(*args, **kwds)
        order = 1
        if name == "moment":
            order, *rest = args if "order" not in kwds else (kwds.pop("order"), *args)
            args = tuple(rest)
        shapes, loc, scale = self._parameters(args, kwds)
        return _moments.moment(self._law, name, shapes, loc, scale, order)

    def _expected(
        self, func: Any = None, args: tuple[Any, ...] = (), loc: Any = 0, scale: Any = 1, lb: Any = None,
        ub: Any = None, conditional: bool = False, **options: Any,
    ) -> Tensor:  # fmt: skip
        loc, scale = joined(loc), joined(scale)
        shapes = [joined(each) * 1.0 for each in args]
        ends = [None if end is None else (joined(end) - loc) / scale for end in (lb, ub)]
        out = _moments.expectation(self._law, lambda z: (func or pb.asarray)(loc + scale * z), shapes, ends)
        return out / _moments.expectation(self._law, lambda z: 1.0, shapes, ends) if conditional else out

    def _computed(self, name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        if name == "median":
            return self._computed("ppf", (0.5, *args), kwds)
        if name == "interval":
            level, *rest = args or (kwds.pop("confidence"),)
            tail = (1 - joined(level)) / 2
            return self._computed("ppf", (tail, *rest), kwds), self._computed("ppf", (1 - tail, *rest), kwds)
        x, *given = args if args else (kwds.pop("x" if name not in ("ppf", "isf") else "q"),)
        shapes, loc, scale = self._parameters((*given, *self._args), {**self._kwds, **kwds})
        everything = [joined(each) for each in (x, *shapes, loc, scale)]
        if not any(map(is_watched, everything)):
            plain = getattr(self._real, name)(*(numbers(each.detach()) for each in everything))
            return made_here(np.asarray(plain))
        if not self._law.has_density:
            raise refused(f"stats.{self._real.name}", "no formula of its density is known to be right")
        x, *shapes, loc, scale = [each if each.dtype.kind == "f" else each * 1.0 for each in everything]
        if name in ("ppf", "isf") and "ppf" in self._law.special:
            q = self._law.special["ppf"](x, *shapes)
            return loc + scale * (q if name == "ppf" else -q)
        if name in ("ppf", "isf"):
            return loc + scale * Quantile.apply(self._law, x if name == "ppf" else 1 - x, *shapes)
        z = (x - loc) / scale
        if name in ("pdf", "logpdf"):
            if self._law._is_simple:
                out = self._law.log_density(z, shapes)
            else:
                out = for_each_example(lambda z, *shapes: self._law.log_density(z, shapes), z, *shapes)
            out = out - pb.log(pb.where((scale > 0).detach(), scale, np.nan))
            return pb.exp(out) if name == "pdf" else out
        if name in self._law.special:
            return self._law.special[name](pb.where((scale > 0).detach(), z, np.nan), *shapes)
        return Member.apply(self._law, name, z, *shapes)

    def _parameters(self, given: tuple[Any, ...], kwds: dict[str, Any]) -> tuple[list[Any], Any, Any]:
        names = [*(self._real.shapes.split(", ") if self._real.shapes else []), "loc", "scale"]
        args = given
        if len(args) > len(names):
            raise TypeError(f"{self._real.name} takes {len(names)} parameters, and {len(args)} were given")
        known = dict(zip(names, args, strict=False)) | kwds
        unknown = known.keys() - set(names)
        missing = [name for name in names[:-2] if name not in known]
        if unknown or missing:
            raise TypeError(f"{self._real.name}: missing {missing}, unknown {sorted(unknown)}")
        return [known[name] for name in names[:-2]], known.get("loc", 0.0), known.get("scale", 1.0)
