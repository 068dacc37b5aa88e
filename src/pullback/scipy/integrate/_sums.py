"""Integrals of one or several variables by other rules than QUADPACK's, and infinite sums."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.errors import AutogradError
from pullback.func._implicit.lift import alone, is_plain, is_watched, lift
from pullback.func._implicit.linear import Array
from pullback.scipy._surface import Call, Rule, declare, joined, no_rule, numbers
from pullback.scipy.integrate._quadrature import integral
from pullback.scipy.integrate._rules import KRONROD, NODES, Rules, at_nodes
from pullback.scipy.integrate._steps import exactly
from pullback.scipy.optimize._problem import bound_to, mapped, start
from pullback.tensors.tensor import Tensor, made_here


def _elements(call: Call, *names: str) -> tuple[list[Tensor], tuple[int, ...], list[Any]]:
    """Limits and arguments, broadcast against each other, as vectors."""
    given = [start(call[name]) for name in names] + [joined(arg) for arg in call.further]
    together = pb.broadcast_arrays(*given) if len(given) > 1 else given
    shape = tuple(together[0].shape)
    flat = [each.reshape(-1) for each in together]
    return flat[: len(names)], shape, flat[len(names) :]


@declare("integrate.tanhsinh", kind="A", by="a, b, what the callback takes from anywhere, args")
def tanhsinh(call: Call) -> Any:
    if call["log"] or call["preserve_shape"]:
        raise NotImplementedError("tanhsinh: log and preserve_shape have no derivatives; use integrate.quad_vec")
    (lows, highs), shape, args = _elements(call, "a", "b")
    options = {name: call[name] for name in ("maxlevel", "minlevel", "atol", "rtol") if call.given(name)}
    results: list[Any] = []

    def first(_: Any, number: Callable[[float], float], a: float, b: float) -> tuple[Array, Rules]:
        def many(t: Any) -> Any:
            return np.array([number(float(each)) for each in np.ravel(t)]).reshape(np.shape(t))

        result = call.plain(many, a, b, **options)
        results.append(result)
        rules = Rules(call["atol"] or 1e-12, call["rtol"] or 1e-12, 200, None, None, {})
        return np.array([float(result.integral)]), rules

    values = []
    for k in range(lows.shape[0]):
        function = bound_to(call["f"], tuple(arg[k] for arg in args))
        values.append(integral(call, function, (lows[k], highs[k]), first)[0])
    result = results[-1]
    for name in ("success", "status", "error", "maxlevel", "nfev"):
        if name in result:
            result[name] = np.array([each[name] for each in results[-len(values) :]]).reshape(shape)[()]
    result["integral"] = pb.stack(values).reshape(shape)
    return result


_AT_MOST = 2_000_000  # nodes of all regions together


@declare("integrate.cubature", kind="A", by="a, b, what the callback takes from anywhere, args")
def cubature(call: Call) -> Any:
    """The sum over the regions that SciPy ended with, which move with the limits."""
    args = call.further
    a, b = start(call["a"]).reshape(-1), start(call["b"]).reshape(-1)
    lifted = lift(call.name, lambda x: joined(call["f"](x, *args)), made_here(np.ones((1, a.shape[0]))))
    results: list[Any] = []

    def one(a: Tensor, b: Tensor, *values: Tensor) -> Tensor:
        if not is_plain(a, b, *values):
            return mapped(call.name, one, a, b, *values)
        results.append(_cubature(call, lambda x: lifted(values, x), a, b))
        return results[-1].estimate

    estimate = one(a, b, *lifted.tensors)
    results[-1].estimate = estimate
    return results[-1]


def _cubature(call: Call, function: Callable[[Tensor], Tensor], a: Tensor, b: Tensor) -> Any:
    low, high = (np.asarray(numbers(end.detach())) for end in (a, b))

    def plain(x: Any, *_: Any) -> Any:
        return numbers(function(made_here(np.array(x))).detach())

    changes: dict[str, Any] = {"f": plain, "a": low, "b": high, "args": (), "workers": 1}
    if call["points"] is not None:
        changes["points"] = numbers(call["points"])
    with alone():
        result = call.run(**changes)
    count = 21 ** len(low) * len(result.regions)
    if not np.isfinite([low, high]).all() or count > _AT_MOST:
        if any(map(is_watched, (function(made_here(np.ones((1, len(low))))), a, b))):
            reason = "infinite limits, or more nodes than can be kept"
            raise no_rule(Rule(call.name, "A", reason=reason), "the integrand")
        result.estimate = made_here(np.asarray(result.estimate))
        return result
    nodes = np.array(list(itertools.product(NODES, repeat=len(low))))
    weights = np.prod(np.array(list(itertools.product(KRONROD, repeat=len(low)))), axis=1)
    total: Any = 0.0
    width = np.where(high > low, high - low, 1.0)
    for region in result.regions:
        begin, end = ((np.asarray(numbers(each)) - low) / width for each in (region.a, region.b))
        share = begin + (end - begin) * (nodes + 1) / 2
        scale = pb.prod((b - a) * (end - begin) / 2)
        values = function(a + (b - a) * share)
        heavy = made_here(weights.reshape((-1,) + (1,) * (values.ndim - 1)))
        total = total + scale * (heavy * values).sum(axis=0)
    result.estimate = exactly(total, result.estimate)
    return result


class _Terms(Rules):
    """An infinite sum in the place of an integral: that of a derivative is the sum of its terms."""

    def __init__(self, call: Call) -> None:
        super().__init__(0.0, 0.0, 0, None, None, {})
        self._call = call

    def integrated(self, function: Callable[[Tensor], Any], a: float, b: float) -> Array:
        rows: dict[bytes, Array] = {}  # SciPy asks for one component after the other

        def component(k: int, sign: float) -> Callable[[Any], Any]:
            def at(t: Any) -> Any:
                points = np.ravel(np.asarray(t, dtype=float))
                key = points.tobytes()
                if key not in rows:
                    rows[key] = at_nodes(function, points)
                return sign * rows[key][:, k].reshape(np.shape(t))

            return at

        count = at_nodes(function, np.array([a])).shape[1]
        results = []
        for k in range(count):
            sign = np.sign(at_nodes(function, np.array([a + 1.0]))[0, k]) or 1.0  # SciPy wants positive terms
            result = self._call.run(f=component(k, sign), a=a, b=b, args=())
            result["sum"] = sign * result.sum
            results.append(result)
        if not all(result.success for result in results):
            raise AutogradError(
                "SCIPY_NOT_CONVERGED",
                f"integrate.nsum does not converge for a derivative: status {[int(each.status) for each in results]}",
                why="the derivative of a sum is the sum of the derivatives of its terms",
                fix="sum a finite number of terms, or allow a larger tolerance",
            )
        return np.array([float(result.sum) for result in results])


@declare("integrate.nsum", kind="A", by="what the callback takes from anywhere, args")
def nsum(call: Call) -> Any:
    if call["log"]:
        raise NotImplementedError("nsum: log=True has no derivatives; sum the terms themselves")
    lows, highs = (np.asarray(numbers(call[name]), dtype=float) for name in ("a", "b"))
    if lows.ndim or highs.ndim or any(np.ndim(numbers(arg)) for arg in call.further):
        raise NotImplementedError("nsum: several sums at once have no derivatives; use one call for each, or pb.vmap")
    results: list[Any] = []

    def first(_: Any, number: Callable[[float], float], a: float, b: float) -> tuple[Array, Rules]:
        def many(t: Any) -> Any:
            return np.array([number(float(each)) for each in np.ravel(t)]).reshape(np.shape(t))

        result = call.run(f=many, a=a, b=b, args=())
        results.append(result)
        return np.array([float(result.sum)]), _Terms(call)

    value = integral(call, bound_to(call["f"], call["args"]), (lows, highs), first)[0]
    results[-1]["sum"] = value
    return results[-1]
