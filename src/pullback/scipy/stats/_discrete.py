"""Discrete distributions: probabilities by their parameters. By an outcome, or a number of things, there is no slope.

The logarithm of a probability is SciPy's own formula, run on tensors; a few have one of ours. What lies below or above
is SciPy's value, and the sum of the probabilities there is what is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.scipy._composed import anchored, for_each_example, real_or_complex, refused, watches
from pullback.scipy._replay import replay
from pullback.scipy._surface import joined, numbers
from pullback.scipy.stats._frozen import Univariate
from pullback.tensors.tensor import Tensor

# Distributions whose own formula runs on tensors and has the right derivatives (tests/scipy/test_stats_more.py).
ACCEPTED = frozenset((
    "bernoulli", "betabinom", "betanbinom", "binom", "boltzmann", "dlaplace", "geom", "logser", "nbinom", "planck",
    "poisson", "yulesimon",
))  # fmt: skip

# Parameters that count things.
WHOLE = {
    "betabinom": {"n"}, "betanbinom": {"n"}, "binom": {"n"}, "boltzmann": {"N"}, "hypergeom": {"M", "n", "N"},
    "nchypergeom_fisher": {"M", "n", "N"}, "nchypergeom_wallenius": {"M", "n", "N"}, "nhypergeom": {"M", "n", "r"},
    "randint": {"low", "high"}, "zipfian": {"n"},
}  # fmt: skip

MEMBERS = frozenset(("pmf", "logpmf", "cdf", "logcdf", "sf", "logsf"))
MOMENTS = frozenset(("mean", "var", "std", "entropy"))


def _skellam(k: Any, mu1: Tensor, mu2: Tensor) -> Tensor:
    root = pb.sqrt(mu1 * mu2)
    bessel = pb.log(pb.special.ive(np.abs(k), 2 * root))
    return 2 * root - mu1 - mu2 + 0.5 * k * (pb.log(mu1) - pb.log(mu2)) + bessel


def _zipfian(k: Any, a: Tensor, n: Any) -> Tensor:
    count = numbers(joined(n))
    places = np.arange(1, int(count.max()) + 1)
    terms = pb.where(places <= count[..., None], -a[..., None] * np.log(places), -np.inf)
    return -a * np.log(k) - pb.logsumexp(terms, axis=-1)


def _fisher(k: Any, M: Any, n: Any, N: Any, odds: Tensor) -> Tensor:
    log_of = lambda j, M, n, N: -sum(_log_factorial(x) for x in (j, n - j, N - j, M - n - N + j))
    counts = [numbers(joined(each)) for each in (M, n, N)]
    places = np.arange(int(max(counts[1].max(), counts[2].max())) + 1)
    with np.errstate(invalid="ignore"):
        terms = log_of(places, *(each[..., None] for each in counts))
    is_legal = np.isfinite(terms)
    terms = pb.where(is_legal, places * pb.log(odds)[..., None] + np.where(is_legal, terms, 0), -np.inf)
    return k * pb.log(odds) + log_of(k, *counts) - pb.logsumexp(terms, axis=-1)


def _log_factorial(x: Any) -> Any:
    return np.where(np.asarray(x) < 0, np.inf, numbers(pb.special.gammaln(pb.asarray(np.maximum(x, 0) + 1.0))))


OWN: dict[str, Callable[..., Tensor]] = {"skellam": _skellam, "zipfian": _zipfian, "nchypergeom_fisher": _fisher}


class DiscreteDistribution(Univariate):
    """One of SciPy's discrete distributions."""

    def _has_to_differentiate(self, name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> bool:
        return watches((args, kwds)) and name not in ("ppf", "isf", "median", "interval", "support")

    @property
    def _body(self) -> Callable[..., Tensor] | None:
        real = self._real
        if real.name in OWN:
            return OWN[real.name]
        if real.name not in ACCEPTED:
            return None
        if "_logpmf" in vars(type(real)):
            return lambda *args: replay(real._logpmf, *args)
        return lambda *args: pb.log(replay(real._pmf, *args))

    def _differentiated(self, name: str, args: tuple[Any, ...], kwds: dict[str, Any]) -> Any:
        path = f"stats.{self._real.name}.{name}"
        if name not in MEMBERS | MOMENTS:
            reason = "what is drawn is a whole number" if name == "rvs" else "it has no derivative here"
            raise refused(path, reason)
        names = self._real.shapes.split(", ")
        if name in MEMBERS:
            names = ["k", *names]
        known = dict(zip([*names, "loc"], args, strict=False)) | kwds
        if known.keys() != set(names) | (known.keys() & {"loc"}):
            raise TypeError(f"{path} takes {', '.join(names)} and loc, got {', '.join(map(str, known))}")
        for each in {"k", "loc"} | WHOLE.get(self._real.name, set()):
            if each in known and watches(known[each]) and (name not in MOMENTS or each != "loc"):
                raise refused(path, f"`{each}` is a whole number", "SCIPY_DISCRETE_ARG", f"`{each}`")
        if self._body is None:
            raise refused(path, "no formula of its probabilities is known to be right")
        shapes = [real_or_complex(joined(known[each])) for each in self._real.shapes.split(", ")]
        loc = known.get("loc", 0)
        if name in MOMENTS:
            out = anchored(getattr(self._real, name), lambda *s: self._moment(name, s), *shapes)
            return out + loc if name == "mean" else out
        k = numbers(joined(known["k"])) - np.asarray(numbers(loc))
        if name in ("pmf", "logpmf"):
            out = for_each_example(lambda *s: self.log_probability(k, s), *shapes)
            return pb.exp(out) if name == "pmf" else out
        return anchored(lambda *s: getattr(self._real, name)(k, *s), lambda *s: self._sums(name, k, s), *shapes)

    def log_probability(self, k: Any, shapes: Any) -> Tensor:
        """Of outcomes: -inf where one cannot be, with no derivative there."""
        assert self._body is not None
        at, *given = np.broadcast_arrays(k, *(numbers(s.detach()) for s in shapes))
        low, high = self._real._get_support(*given)
        is_good = np.broadcast_to(self._real._argcheck(*given), at.shape)
        is_inside = (at >= low) & (at <= high) & (at == np.floor(at)) & is_good
        safe = np.where(is_inside, at, np.where(np.isfinite(low), low, 0)).astype(float)
        whole = self._real.shapes.split(", ")
        counts = WHOLE.get(self._real.name, set())
        moved = [
            np.broadcast_to(np.where(is_good, value, 1.0), at.shape) if name in counts
            else pb.where(is_good, pb.broadcast_to(s, at.shape), 0.5)
            for name, value, s in zip(whole, given, shapes, strict=True)
        ]  # fmt: skip
        out = self._body(safe, *moved)
        return pb.where(is_inside, out, np.where(is_good & ~np.isnan(at), -np.inf, np.nan))

    def _sums(self, name: str, k: Any, shapes: Any) -> Tensor:
        """What lies below or above, summed from the nearer end."""
        shape = np.broadcast_shapes(np.shape(k), *(s.shape for s in shapes))
        places = np.broadcast_to(np.floor(k), shape).reshape(-1)
        many = [pb.broadcast_to(s, shape).reshape(-1) for s in shapes]
        is_upper = name.endswith("sf")
        sums = pb.stack([self._sum(place, [s[i] for s in many], is_upper) for i, place in enumerate(places)])
        sums = sums.reshape(shape)
        return pb.log(sums) if name.startswith("log") else sums

    def _sum(self, k: float, shapes: list[Tensor], is_upper: bool) -> Tensor:
        given = [float(numbers(s.detach())) for s in shapes]
        low, high, first, last = self._ends(given)
        if k < low or k >= high or np.isnan(k):
            return shapes[0] * 0 + float((k >= high) != is_upper)
        sums_above = self._real.sf(k, *given) < 0.5 and last - k <= 1e6
        outcomes = np.arange(k + 1, max(last, k + 20) + 1) if sums_above else np.arange(first, k + 1)
        total = pb.exp(self.log_probability(outcomes, shapes)).sum()
        return total if sums_above == is_upper else 1 - total

    def _ends(self, given: list[float]) -> tuple[float, float, float, float]:
        """The ends of the support, and those of the part with all but 1e-17 of the whole."""
        low, high = (float(each) for each in self._real._get_support(*given))
        return low, high, self._end(low, given, self._real.logcdf, -1), self._end(high, given, self._real.logsf, 1)

    def _end(self, end: float, given: list[float], rest: Callable[..., Any], sign: int) -> float:
        middle = float(self._real.ppf(0.5, *given))
        steps = 32.0
        while not np.isfinite(end) and rest(middle + sign * steps, *given) > np.log(1e-18) and steps < 1e7:
            steps *= 2
        return end if np.isfinite(end) else middle + sign * steps

    def _moment(self, name: str, shapes: Any) -> Tensor:
        shape = np.broadcast_shapes(*(s.shape for s in shapes))
        many = [pb.broadcast_to(s, shape).reshape(-1) for s in shapes]
        out = [self._one_moment(name, [s[i] for s in many]) for i in range(many[0].shape[0])]
        return pb.stack(out).reshape(shape)

    def _one_moment(self, name: str, shapes: list[Tensor]) -> Tensor:
        _, _, first, last = self._ends([float(numbers(s.detach())) for s in shapes])
        if last - first > 1e6:
            raise refused(f"stats.{self._real.name}.{name}", "its sum has too many terms")
        k = np.arange(first, last + 1)
        logs = self.log_probability(k, shapes)
        weights = pb.exp(logs)
        if name == "entropy":
            return -(weights * pb.where(numbers(weights.detach()) > 0, logs, 0.0)).sum()
        if name == "mean":
            return (weights * k).sum()
        middle = float(numbers((weights.detach() * k).sum()))
        spread = (weights * (k - middle) ** 2).sum() - (weights * (k - middle)).sum() ** 2
        return pb.sqrt(spread) if name == "std" else spread
