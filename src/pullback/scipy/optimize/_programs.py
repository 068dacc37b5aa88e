"""Programs with linear or convex structure, and searches of a whole region: minima all the same."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.func._implicit.linear import Array
from pullback.scipy._composed import watches
from pullback.scipy._surface import Call, Rule, declare, joined, no_rule, numbers, tensors
from pullback.scipy.optimize._constraints import (
    Row,
    bounds_row,
    dense,
    plain_bounds,
    plain_constraints,
    product,
    rows_of,
)
from pullback.scipy.optimize._least_squares import half_squares
from pullback.scipy.optimize._minima import Minimum
from pullback.scipy.optimize._problem import Callback, bound_to, outcome, start
from pullback.tensors.tensor import Tensor, made_here


def _linear_fit(
    call: Call, rows: list[Row], search: Callable[[Minimum, Callback, Array, Sequence[Tensor]], tuple[Any, str]]
) -> Minimum:
    def cost(x: Tensor) -> Tensor:
        return half_squares(dense(call["A"]) @ x - joined(call["b"]))

    return Minimum(call, cost, rows, made_here(np.zeros(call["A"].shape[1])), search)


@declare("optimize.nnls", kind="I", by="A, b")
def nnls(call: Call) -> Any:
    call = _with_tensor(call, "A")

    def search(minimum: Minimum, _: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        return call.run(A=minimum.array(call["A"], values), b=minimum.array(call["b"], values))[0], ""

    x = _linear_fit(call, [Row(lambda x: x * 1.0, 0.0, np.inf)], search).x
    off = joined(call["A"]) @ x - joined(call["b"])
    return x, (off * off).sum() ** 0.5


def _with_tensor(call: Call, *names: str) -> Call:
    for name in names:
        if not isinstance(call[name], Tensor) and not hasattr(call[name], "shape"):
            call.put(name, joined(call[name]))
    return call


@declare("optimize.lsq_linear", kind="I", by="A, b, bounds")
def lsq_linear(call: Call) -> Any:
    call = _with_tensor(call, "A")
    results: list[Any] = []
    bounds = call["bounds"]
    lower, upper = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    rows = [Row(lambda x: x * 1.0, lower, upper)]

    def search(minimum: Minimum, _: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        matrix, b = minimum.array(call["A"], values), minimum.array(call["b"], values)
        result = call.run(A=matrix, b=b, bounds=minimum.bounds(rows[0], x0, values))
        results.append(result)
        return result.x, "" if result.success else str(result.message)

    minimum = _linear_fit(call, rows, search)
    off = dense(call["A"]) @ minimum.x - joined(call["b"])
    return outcome(call, results, x=minimum.x, cost=minimum.value(), fun=off)


@declare("optimize.linprog", kind="I", by="c, A_ub, b_ub, A_eq, b_eq, bounds")
def linprog(call: Call) -> Any:
    results: list[Any] = []
    c = joined(call["c"])
    size = c.shape[0]
    bounds = call["bounds"]
    if len(bounds) == 2 and not hasattr(bounds[0], "__len__"):
        bounds = [tuple(bounds)] * size
    rows = [bounds_row(bounds)]
    for matrix, right, lower in (("A_ub", "b_ub", -np.inf), ("A_eq", "b_eq", None)):
        if call[matrix] is not None:
            own = call[right] if lower is None else lower
            rows.append(Row(functools.partial(product, call[matrix]), own, call[right]))

    def search(minimum: Minimum, _: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        changes: dict[str, Any] = {"c": minimum.array(call["c"], values)}
        changes["bounds"] = np.stack(minimum.bounds(rows[0], x0, values), axis=1)
        for name in ("A_ub", "b_ub", "A_eq", "b_eq"):
            if call[name] is not None:
                changes[name] = minimum.array(call[name], values)
        result = call.run(**changes)
        results.append(result)
        return (result.x if result.x is not None else x0 * np.nan), "" if result.success else str(result.message)

    def cost(x: Tensor) -> Tensor:
        return (joined(call["c"]) * x).sum()

    minimum = Minimum(call, cost, rows, made_here(np.zeros(size)), search)
    if results and results[-1].x is None:
        return results[-1]
    return outcome(call, results, x=minimum.x, fun=minimum.value())


@declare("optimize.milp", kind="I", by="c (the value)")
def milp(call: Call) -> Any:
    changes = {"c": numbers(call["c"]), "integrality": numbers(call["integrality"])}
    for name in ("bounds", "constraints"):
        changes[name] = _with_numbers(call.name, call[name])
    result = call.run(**changes)
    if result.x is not None:
        result["x"] = tensors(result.x)
        result["fun"] = (joined(call["c"]) * result.x).sum()
    return result


def _with_numbers(name: str, given: Any) -> Any:
    """Bounds or constraints with numbers in them. Derivatives by them would be those of the variables that vary."""
    if isinstance(given, list | tuple) and any(hasattr(each, "lb") for each in given):
        return [_with_numbers(name, each) for each in given]
    if not hasattr(given, "lb"):
        return numbers(given)
    own = {key: getattr(given, key) for key in ("A", "lb", "ub", "keep_feasible") if hasattr(given, key)}
    if watches(own):
        reason = "it says nothing of how its solution moves with what it is subject to"
        raise no_rule(Rule(name, "X", reason=reason), "a bound or a constraint")
    theirs = next(each for each in type(given).__mro__ if each.__module__.startswith("scipy"))
    return theirs(**{key: numbers(value) for key, value in own.items()})


@declare("optimize.isotonic_regression", kind="C", by="y, weights")
def isotonic_regression(call: Call) -> Any:
    y = joined(call["y"]) * 1.0
    weights = call["weights"]
    result = call.run(y=numbers(y), weights=numbers(weights))
    heavy = joined(weights) * 1.0 if weights is not None else made_here(np.ones(y.shape[0]))
    ends = result.blocks
    means = [
        (heavy[a:b] * y[a:b]).sum() / heavy[a:b].sum() + made_here(np.zeros(b - a)) for a, b in itertools.pairwise(ends)
    ]
    result["x"] = pb.concat(means)
    result["weights"] = tensors(result.weights)
    return result


_BY = "what the callback takes from anywhere, args, bounds"


@declare(
    "optimize.differential_evolution", "optimize.dual_annealing", "optimize.shgo", "optimize.direct", kind="I", by=_BY
)
def in_a_box(call: Call) -> Any:
    results: list[Any] = []
    rows = rows_of(call["bounds"], (call["constraints"] or ()) if "constraints" in call else (), call.further)
    row, *own = rows
    first = row(made_here(np.zeros(len(getattr(call["bounds"], "lb", call["bounds"])))))

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        low, high = minimum.bounds(row, x0, values)
        changes: dict[str, Any] = {"func": callback.number, "bounds": plain_bounds(low, high, None)}
        if call.given("args"):
            changes["args"] = ()
        if own:
            changes["constraints"] = plain_constraints(
                own, lambda f: minimum.plain(f, values), lambda row: minimum.bounds(row, x0, values), x0
            )
        result = call.run(**changes)
        results.append(result)
        return result.x, "" if result.success else str(result.message)

    centre = made_here((numbers(first[1].detach()) + numbers(first[2].detach())) / 2)
    minimum = Minimum(call, bound_to(call["func"], call["args"]), rows, centre, search)
    return outcome(call, results, x=minimum.x, fun=minimum.value())


@declare("optimize.brute", kind="I", by="what the callback takes from anywhere, args")
def brute(call: Call) -> Any:
    """The grid has no influence on a minimum that the search behind it ends at."""
    further: list[Any] = []
    count = len(call["ranges"])

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        function = callback.number if count > 1 else lambda x: callback.number(np.reshape(x, 1))
        further[:] = call.run(func=function, args=(), full_output=True, workers=1)
        return np.reshape(further[0], count), ""

    middles = [float(np.mean([each.start, each.stop] if isinstance(each, slice) else each)) for each in call["ranges"]]
    minimum = Minimum(call, bound_to(call["func"], call["args"]), [], made_here(np.array(middles)), search)
    x = minimum.x if np.ndim(further[0]) else minimum.x[0]
    return (x, minimum.value(), *further[2:]) if call["full_output"] else x


@declare("optimize.basinhopping", kind="I", by="what the callback takes from anywhere")
def basinhopping(call: Call) -> Any:
    results: list[Any] = []
    options = dict(call["minimizer_kwargs"] or {})
    args = options.pop("args", ())
    function = call["func"]
    if options.get("jac") is True:
        function = lambda *given: call["func"](*given)[0]

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        own = dict(options)
        if callable(own.get("jac")):
            own["jac"] = lambda x: numbers(options["jac"](tensors(x), *further))
        elif options.get("method") not in ("Nelder-Mead", "Powell", "COBYLA", "COBYQA"):
            own.setdefault("jac", True)
        searched = callback.with_gradient if own.get("jac") is True else callback.number
        result = call.run(func=searched, x0=x0, minimizer_kwargs=own)
        results.append(result)
        return result.x, "" if result.lowest_optimization_result.success else str(result.message)

    further = args if isinstance(args, tuple) else (args,)
    minimum = Minimum(call, bound_to(function, further), [], start(call["x0"]).reshape(-1), search)
    return outcome(call, results, x=minimum.x, fun=minimum.value())
