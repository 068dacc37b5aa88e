"""Roots and fixed points: `F(y) = 0`, and what it says of `dy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.scipy._surface import Call, declare, numbers, tensors
from pullback.scipy.optimize._problem import (
    Callback,
    bound_to,
    flat_start,
    outcome,
    refuse_traced,
    solution,
    start,
    zero,
)
from pullback.tensors.tensor import Tensor, made_here

_WITH_JACOBIAN = ("hybr", "lm")


@declare("optimize.root", kind="I", by="what the callback takes from anywhere, args")
def root(call: Call) -> Any:
    function = call["fun"]
    results: list[Any] = []
    if call["jac"] is True:  # the search gets both; the rule differentiates the function itself
        pair = function
        function = lambda *args: pair(*args)[0]

    def solver(callback: Callback, x0: Tensor) -> tuple[Any, str]:
        changes: dict[str, Any] = {"fun": callback, "x0": x0.detach().numpy()}
        jac = callback.supplied(call["jac"])
        if jac in (None, False, True):
            changes["jac"] = callback.jacobian if call["method"] in _WITH_JACOBIAN else jac
        elif callable(jac):
            changes["jac"] = lambda x, *args: numbers(jac(tensors(x), *args))
            changes["fun"] = lambda x, *args: callback(x)
            changes["args"] = call["args"]
        if "args" not in changes and call.given("args"):
            changes["args"] = ()
        result = call.run(**changes)
        results.append(result)
        return result.x, "" if result.success else str(result.message)

    x = solution(call, bound_to(function, call["args"]), flat_start(call["x0"]), zero, solver)
    return outcome(call, results, x=x)


@declare("optimize.fsolve", kind="I", by="what the callback takes from anywhere, args")
def fsolve(call: Call) -> Any:
    further: list[Any] = []

    def solver(callback: Callback, x0: Tensor) -> tuple[Any, str]:
        changes: dict[str, Any] = {"func": callback, "x0": x0.detach().numpy(), "args": (), "full_output": True}
        if callable(call["fprime"]):
            slope, args = callback.supplied(call["fprime"]), call.further
            changes["fprime"] = callback.jacobian
            if slope is not None:
                changes["fprime"] = lambda x: numbers(slope(tensors(x), *args))
        x, info, status, message = call.run(**changes)
        further[:] = [info, status, message]
        return x, "" if status == 1 else message

    x = solution(call, bound_to(call["func"], call["args"]), flat_start(call["x0"]), zero, solver)
    return (x, *further) if call["full_output"] else x


@declare(
    *(f"optimize.{name}" for name in (
        "newton_krylov", "broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing",
    )),
    kind="I", by="what the callback takes from anywhere",
)  # fmt: skip
def nonlinear(call: Call) -> Any:
    def solver(callback: Callback, x0: Tensor) -> tuple[Any, str]:
        return call.run(F=callback, xin=x0.detach().numpy()), ""

    return solution(call, bound_to(call["F"]), start(call["xin"]), zero, solver)


@declare(
    *(f"optimize.{name}" for name in ("brentq", "brenth", "bisect", "ridder", "toms748")),
    kind="I", by="what the callback takes from anywhere, args",
)  # fmt: skip
def bracketed(call: Call) -> Any:
    results: list[Any] = []
    upper = call["b"]
    if isinstance(upper, Tensor):
        refuse_traced(call.name, upper)

    def solver(callback: Callback, lower: Tensor) -> tuple[Any, str]:
        a, b = float(lower.detach().numpy()), float(numbers(upper))
        x, result = call.run(f=callback.of_numbers(), a=a, b=b, args=(), full_output=True)
        results.append(result)
        return float(x), "" if result.converged else str(result.flag)

    x = solution(call, bound_to(call["f"], call["args"]), start(call["a"]), zero, solver)
    return (x, _with_root(results[-1], x)) if call["full_output"] else x


def _with_root(result: Any, x: Any) -> Any:
    result.root = x
    result["root"] = x
    return result


@declare("optimize.newton", kind="I", by="what the callback takes from anywhere, args")
def newton(call: Call) -> Any:
    further: list[Any] = []
    args = call.further

    def solver(callback: Callback, x0: Tensor) -> tuple[Any, str]:
        value = x0.detach().numpy()
        is_number = value.ndim == 0
        function = callback.number if is_number else callback
        changes: dict[str, Any] = {"func": lambda x: function(x), "args": (), "full_output": True}
        changes["x0"] = value.item() if is_number else value
        for name in ("fprime", "fprime2"):
            slope = callback.supplied(call[name])
            if slope is not None:
                changes[name] = lambda x, given=slope: numbers(given(tensors(np.asarray(x)), *args))
            elif call[name] is not None:
                changes[name] = None if name == "fprime2" else lambda x: callback.slope(x)
        if call["x1"] is not None:
            changes["x1"] = numbers(call["x1"])
        x, *rest = call.run(**changes)
        further[:] = rest
        if is_number:
            return x, "" if rest[0].converged else str(rest[0].flag)
        return x, "" if np.all(rest[0]) else "some of the iterations did not converge"

    x = solution(call, bound_to(call["func"], call["args"]), start(call["x0"]), zero, solver)
    if not call["full_output"]:
        return x
    return (x, _with_root(further[0], x)) if len(further) == 1 else (x, *further)


@declare("optimize.root_scalar", kind="I", by="what the callback takes from anywhere, args")
def root_scalar(call: Call) -> Any:
    results: list[Any] = []
    args = call.further
    function, first = call["f"], call["x0"] if call["x0"] is not None else None
    if first is None:
        first = call["bracket"][0] if call["bracket"] is not None else 0.0
    if call["fprime"] is True or call["fprime2"] is True:
        several = function
        function = lambda *given: several(*given)[0]

    def solver(callback: Callback, x0: Tensor) -> tuple[Any, str]:
        changes: dict[str, Any] = {"f": callback.number, "args": ()}
        if call["x0"] is not None:
            changes["x0"] = x0.detach().numpy().item()
        if call["bracket"] is not None:
            changes["bracket"] = [float(end) for end in numbers(list(call["bracket"]))]
        if call["fprime"] is True or (call["fprime"] is None and call["method"] in ("newton", "halley")):
            changes["fprime"] = lambda x: callback.jacobian(x).item()
        if call["fprime2"] is True or (call["fprime2"] is None and call["method"] == "halley"):
            changes["fprime2"] = lambda x: callback.hessian(x).item()
        for name, own in (("fprime", callback.jacobian), ("fprime2", callback.hessian)):
            slope = callback.supplied(call[name])
            if callable(slope):
                changes[name] = lambda x, given=slope: numbers(given(tensors(np.asarray(x)), *args))
            elif callable(call[name]):
                changes[name] = lambda x, own=own: own(x).item()
        result = call.run(**changes)
        results.append(result)
        return result.root, "" if result.converged else str(result.flag)

    x = solution(call, bound_to(function, call["args"]), start(first), zero, solver)
    return _with_root(results[-1], x) if results else outcome(call, results, root=x)


@declare("optimize.elementwise.find_root", kind="I", by="what the callback takes from anywhere, args")
def find_root(call: Call) -> Any:
    lower, upper = call["init"]
    results: list[Any] = []
    args = call.further
    shape = np.broadcast_shapes(*(np.shape(each) for each in (numbers(lower), numbers(upper), *args)))

    def whole(y: Tensor) -> Any:
        return call["f"](y, *args)

    def solver(callback: Callback, _: Tensor) -> tuple[Any, str]:
        ends = [np.broadcast_to(np.asarray(numbers(end), dtype=float), shape) for end in (lower, upper)]
        base = np.array(ends[0])

        def function(x: Any, places: Any) -> Any:
            """SciPy asks for some of the elements: the others stay where they are."""
            where = np.asarray(places, dtype=np.intp)
            at = base.copy().reshape(-1)
            rows = np.asarray(x).reshape(len(where), -1) if np.ndim(x) else np.reshape(x, (1, 1))
            out = np.empty_like(rows)
            for k in range(rows.shape[1]):
                at[where.reshape(-1)] = rows[:, k]
                out[:, k] = callback(at.reshape(shape)).reshape(-1)[where.reshape(-1)]
            return out.reshape(np.shape(x))

        result = call.run(f=function, init=tuple(ends), args=(np.arange(base.size).reshape(shape),))
        results.append(result)
        return result.x, "" if np.all(result.success) else "some of the brackets gave no root"

    x = solution(call, whole, made_here(np.broadcast_to(np.asarray(numbers(lower), dtype=float), shape).copy()), zero,
                 solver)  # fmt: skip
    return outcome(call, results, x=x)


@declare("optimize.fixed_point", kind="I", by="what the callback takes from anywhere, args")
def fixed_point(call: Call) -> Any:
    def solver(callback: Callback, x0: Tensor) -> tuple[Any, str]:
        return call.run(func=callback, x0=x0.detach().numpy(), args=()), ""

    def moved(function: Callable[[Tensor], Any], y: Tensor) -> Any:
        return function(y) - y

    return solution(call, bound_to(call["func"], call["args"]), start(call["x0"]), moved, solver)
