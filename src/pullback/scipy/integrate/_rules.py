"""How integrals are computed again: on SciPy's partition, with the nodes of Gauss and Kronrod, refined if need be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.state import forgive
from pullback.errors import AOTError, AutogradError
from pullback.func._implicit.linear import Array
from pullback.func._vmap import vmap
from pullback.scipy._surface import joined, numbers, scipy_module
from pullback.tensors.tensor import Tensor, made_here

# The nodes of Gauss and Kronrod on [-1, 1]: 21, every second of which is one of the 10 of Gauss.
_HALF = (
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720,
)  # fmt: skip
_KRONROD = (
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068,
)  # fmt: skip
_GAUSS = (
    0.066671344308688137593568809893332, 0.149451349150580593145863397657697, 0.219086362515982043995534934228163,
    0.269266719309996355091226921569469, 0.295524224714752870173815619188769,
)  # fmt: skip
NODES = np.array([*(-x for x in _HALF), 0.0, *reversed(_HALF)])
KRONROD = np.array([*_KRONROD, 0.149445554002916905664936468389821, *reversed(_KRONROD)])
GAUSS = np.zeros(21)
GAUSS[1:10:2] = _GAUSS
GAUSS[11:20:2] = _GAUSS[::-1]

AT_ONCE = 64  # intervals whose nodes are evaluated together


class Rules:
    """How an integral is computed again: tolerances, the partition that SciPy ended with, and its other options."""

    def __init__(
        self, epsabs: float, epsrel: float, limit: int, points: Any, weight: Any, more: dict[str, Any]
    ) -> None:
        self.epsabs = epsabs
        self.epsrel = epsrel
        self.limit = limit
        self.points = points
        self.weight = weight
        self.more = more
        self.intervals: Array | None = None
        self.probe: tuple[float, Array] | None = None  # a place, and the integrand there when SciPy integrated

    def integrated(self, function: Callable[[Tensor], Any], a: float, b: float) -> Array:
        """The integral of a function with vectors as values."""
        if self.intervals is not None and self.weight is None:
            value = self._refined(function, self.intervals)
            if value is not None:
                return value
        return self._adaptive(function, a, b)

    def _refined(self, function: Callable[[Tensor], Any], intervals: Array) -> Array | None:
        """The sum over these intervals, halved where the error is largest; None if that does not end."""
        done: list[tuple[Array, Array]] = []  # what is known of intervals that are small enough
        for _ in range(60):
            values, errors = self.summed(function, intervals)
            done.append((values, errors))
            value = sum(each[0].sum(0) for each in done)
            error = sum(each[1].sum(0) for each in done)
            limit = 10 * np.maximum(self.epsabs, self.epsrel * np.abs(value))
            if np.all(error <= limit):
                return np.asarray(value)
            is_large = (errors > limit / (2 * max(len(errors), self.limit / 2))).any(axis=1)
            count = sum(len(each[1]) for each in done)
            if not np.isfinite(errors).all() or not is_large.any() or count > 4 * self.limit:
                return None
            done[-1] = (values[~is_large], errors[~is_large])
            low, high = intervals[is_large].T
            middle = (low + high) / 2
            intervals = np.concatenate([np.stack([low, middle], axis=1), np.stack([middle, high], axis=1)])
        return None

    def summed(self, function: Callable[[Tensor], Any], intervals: Array) -> tuple[Array, Array]:
        """The integrals over intervals and estimates of their errors, as rows."""
        sums, errors = [], []
        for first in range(0, len(intervals), AT_ONCE):
            low, high = intervals[first : first + AT_ONCE].T[:, :, None]
            half = (high - low) / 2
            values = at_nodes(function, ((low + high) / 2 + half * NODES).reshape(-1))
            values = values.reshape(len(half), len(NODES), -1)
            kronrod = np.einsum("ikm,k,i->im", values, KRONROD, half[:, 0])
            gauss = np.einsum("ikm,k,i->im", values, GAUSS, half[:, 0])
            mean = kronrod / np.where(high == low, 1.0, high - low)
            spread = np.einsum("ikm,k,i->im", np.abs(values - mean[:, None]), KRONROD, half[:, 0])
            sums.append(kronrod)
            errors.append(_scaled(np.abs(kronrod - gauss), np.abs(spread)))
        return np.concatenate(sums), np.concatenate(errors)

    def nodes(self) -> tuple[Array, Array, Array]:
        """All nodes on the partition, and what the two rules weigh them with."""
        assert self.intervals is not None
        low, high = self.intervals.T[:, :, None]
        half = (high - low) / 2
        return ((low + high) / 2 + half * NODES).reshape(-1), (half * KRONROD).reshape(-1), (half * GAUSS).reshape(-1)

    def _adaptive(self, function: Callable[[Tensor], Any], a: float, b: float) -> Array:
        integrate = scipy_module("integrate")

        def at(t: float) -> Array:
            return numbers(joined(function(made_here(np.array(t))))).reshape(-1)

        points = None if self.points is None else [float(point) for point in np.ravel(numbers(self.points))]
        if self.weight is None:
            value, _, info = integrate.quad_vec(
                at, a, b, epsabs=self.epsabs, epsrel=self.epsrel, norm="max", points=points, full_output=True,
                limit=max(self.limit, 200),
            )  # fmt: skip
            if info.success and np.isfinite(value).all():
                return np.asarray(value)
        # One number after the other: `quad` knows weights, and extrapolates at singular points.
        options = {"epsabs": self.epsabs, "epsrel": self.epsrel, "limit": max(self.limit, 200), "points": points}
        if self.weight is not None:
            options |= {"weight": self.weight, **self.more}
        count = at(inside(a, b)).size
        return np.array([integrate.quad(_component(at, k), a, b, **options)[0] for k in range(count)])


def inside(a: float, b: float) -> float:
    """A number between two limits."""
    return (a + b) / 2 if np.isfinite([a, b]).all() else a + 1.0 if np.isfinite(a) else min(b, 1.0) - 1.0


def _component(function: Callable[[float], Array], k: int) -> Callable[[float], float]:
    return lambda t: float(function(t)[k])


def _scaled(difference: Array, spread: Array) -> Array:
    """The error estimate of QUADPACK: the difference of two rules, made small where the integrand is smooth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(spread > 0, 200 * difference / spread, 0.0)
    return np.where(difference > 0, spread * np.minimum(1.0, ratio**1.5), 0.0)


def at_nodes(function: Callable[[Tensor], Any], nodes: Array) -> Array:
    """The values of a function of one number at many, as rows."""
    try:
        return numbers(vmap(lambda t: joined(function(t)).reshape(-1))(made_here(nodes)))
    except (AutogradError, AOTError, TypeError, ValueError) as error:  # it decides by values: one after the other
        forgive(error)
        return np.stack([numbers(joined(function(made_here(np.array(node))))).reshape(-1) for node in nodes])
