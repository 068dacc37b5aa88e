"""Boundary value problems: the values on SciPy's mesh and the unknown parameters satisfy collocation equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.func._implicit import Equation
from pullback.func._implicit.lift import Lifted, example_of, is_plain, lift
from pullback.func._implicit.linear import Array
from pullback.scipy._surface import Call, Rule, declare, joined, no_rule, numbers
from pullback.scipy.interpolate._piecewise import CubicHermiteSpline
from pullback.scipy.optimize._problem import start
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, made_here


@declare("integrate.solve_bvp", kind="I", by="what callbacks take from anywhere")
def solve_bvp(call: Call) -> Any:
    fun, bc = call["fun"], call["bc"]
    with no_grad():
        x, y = (numbers(example_of(start(call[name])).detach()) for name in ("x", "y"))
        p = None if call["p"] is None else np.atleast_1d(numbers(example_of(start(call["p"])).detach()))

    def right(x: Any, y: Any, p: Any) -> Any:
        return joined(fun(x, y) if p is None else fun(x, y, p))

    def ends(a: Any, b: Any, p: Any) -> Any:
        return joined(bc(a, b) if p is None else bc(a, b, p)).reshape(-1)

    def both(x: Any, y: Any, *p: Any) -> Any:
        own = p[0] if p else None
        return right(x, y, own), ends(y[:, 0], y[:, -1], own)

    unknown = [] if p is None else [made_here(p)]
    whole = lift(call.name, both, made_here(x), made_here(y), *unknown)
    if call["S"] is not None and whole.tensors:
        raise no_rule(Rule(call.name, "I", reason="the singular term S is not part of the equations here"), "fun")
    results: list[Any] = []

    def solver(values: list[Tensor]) -> tuple[Array, str]:
        result = _run(call, whole.of(right), whole.of(ends), values, x, y, p)
        results.append(result)
        unknowns = [result.y.reshape(-1), *([] if p is None else [result.p])]
        return np.concatenate(unknowns), "" if result.status == 0 else str(result.message)

    known: list[tuple[Array, str]] = []
    if is_plain(*whole.tensors):  # solved once, where the mesh is known before the equations are
        known.append(solver(whole.tensors))

    def residual(values: Sequence[Any], flat: Tensor) -> Tensor:
        mesh = results[-1].x
        size = y.shape[0] * len(mesh)
        states, own = flat[:size].reshape(y.shape[0], len(mesh)), None if p is None else flat[size:]
        return _collocated(whole.of(right), whole.of(ends), values, mesh, states, own)

    equation = Equation(call.name, residual, lambda values: known.pop() if known else solver(values), call.diff)
    flat = equation(*whole.tensors)
    result = results[-1]
    size = y.shape[0] * len(result.x)
    states = flat[:size].reshape(y.shape[0], len(result.x))
    if p is not None:
        result["p"] = flat[size:]
    slopes = whole.of(right)(whole.tensors, made_here(result.x), states, result["p"])
    result["x"], result["y"], result["yp"] = made_here(result.x), states, slopes
    result["sol"] = CubicHermiteSpline(result["x"], states, slopes, axis=1)
    return result


def _run(
    call: Call, right: Lifted, ends: Lifted, values: Sequence[Tensor], x: Array, y: Array, p: Array | None
) -> Any:
    def plainly(function: Lifted) -> Any:
        def called(one: Any, other: Any, p: Any = None) -> Array:
            given = [made_here(np.array(each)) for each in (one, other)]
            out = function(values, *given, None if p is None else made_here(np.array(p)))
            found: Array = numbers(joined(out).detach())
            return found

        if p is None:
            return lambda one, other: called(one, other)
        return called

    changes: dict[str, Any] = {"fun": plainly(right), "bc": plainly(ends), "x": x, "y": y}
    if p is not None:
        changes["p"] = p
    for name in ("fun_jac", "bc_jac"):
        if call[name] is not None:
            changes[name] = None  # SciPy takes differences: the search is hers
    if call.given("S"):
        changes["S"] = numbers(call["S"])
    with no_grad():
        return call.run(**changes)


def _collocated(
    right: Lifted, ends: Lifted, values: Sequence[Any], mesh: Array, y: Tensor, p: Tensor | None
) -> Tensor:
    """What SciPy makes zero: a cubic with slopes `right` at the points of the mesh has its slope in between as well."""
    h = np.diff(mesh)
    slopes = joined(right(values, made_here(mesh), y, p))
    middle = (y[:, 1:] + y[:, :-1]) / 2 - (slopes[:, 1:] - slopes[:, :-1]) * (h / 8)
    between = joined(right(values, made_here(mesh[:-1] + h / 2), middle, p))
    off = y[:, 1:] - y[:, :-1] - (slopes[:, 1:] + slopes[:, :-1] + 4 * between) * (h / 6)
    return pb.concat([off.reshape(-1), joined(ends(values, y[:, 0], y[:, -1], p)).reshape(-1)])
