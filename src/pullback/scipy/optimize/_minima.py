"""Minima: the gradient is zero there, or that of the Lagrangian, and what this says of the minimum and its value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.core.records import Record
from pullback.func._grad import grad, vjp
from pullback.func._implicit import Equation
from pullback.func._implicit.lift import Lifted, constant_example, lift
from pullback.func._implicit.linear import Array
from pullback.func._jvp import jvp
from pullback.scipy._compiled import known_lift
from pullback.scipy._opaque import is_traced, opaque, solved
from pullback.scipy._surface import Call, declare, joined, numbers, tensors
from pullback.scipy.optimize._constraints import (
    Row,
    Rows,
    bounds_row,
    dense,
    found,
    in_order,
    lagrangian,
    parts_of,
    plain_bounds,
    plain_constraints,
    rows_of,
    stationary,
)
from pullback.scipy.optimize._problem import Callback, bound_to, flat_start, outcome, rule_of, start
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, made_here

_WITH_GRADIENT = (
    "cg", "bfgs", "newton-cg", "l-bfgs-b", "tnc", "slsqp", "trust-constr", "dogleg", "trust-ncg", "trust-exact",
    "trust-krylov",
)  # fmt: skip
_WITH_PRODUCTS = ("newton-cg", "trust-ncg", "trust-krylov", "trust-constr")
_WITH_HESSIAN = ("dogleg", "trust-exact")
_BY = "what callbacks take from anywhere, args, bounds, constraints"


class Minimum:
    """A minimum of a function, with rows that it is subject to, as a function of all that these depend on."""

    def __init__(
        self,
        call: Call,
        function: Callable[[Tensor], Any],
        rows: Sequence[Row],
        x0: Tensor,
        search: Callable[[Minimum, Callback, Array, Sequence[Tensor]], tuple[Any, str]],
    ) -> None:
        self.name = call.name
        self.call = call
        self.rows = rows
        self._search = search
        example = constant_example(x0)
        self.size = int(np.prod(example.shape))
        if rows or not call.diff.compile:
            self._whole = lift(call.name, lambda x: (function(x), *(row(x) for row in rows)), example)
        else:
            self._whole = known_lift(call.name, function, example)
        self._function = self._whole.of(function)
        self.parameters = [x0, *self._whole.tensors]

        self.equation = Equation(
            call.name,
            self._residual,
            self._solved,
            call.diff,
            is_symmetric=not rows,
            examine=None if rows else _saddle,
            rule=None
            if rows
            else rule_of(call, self._whole, lambda x: grad(lambda v: joined(function(v)).reshape(()))(x)),
        )
        y = solved(self.equation, lambda: self._like(example), *self.parameters)
        self.x = y[: self.size] if rows else y
        self._y = y

    def value(self) -> Tensor:
        """The function at the minimum. Its derivative needs that of the minimum only from the second order on."""
        given = (self._y, *self.parameters)
        if is_traced(*given):
            return opaque(self.name, lambda *each: Minimised.apply(self, *each), (), np.float64, *given)
        return Minimised.apply(self, *given)

    def multipliers(self, rows: Sequence[Row]) -> Tensor:
        """Those of the last rows, in the order that SciPy has them in."""
        x, multipliers, sides = parts_of(self._y, self.size)
        count = sum(row(x.detach())[0].shape[0] for row in rows)
        return in_order(rows, x, multipliers[multipliers.shape[0] - count :], sides[sides.shape[0] - count :])

    def _like(self, x: Tensor) -> Tensor:
        """A tensor as large as the solution with its multipliers and sides."""
        with no_grad():
            count = sum(row(x)[0].shape[0] for row in self.rows)
        return made_here(np.zeros(self.size + 2 * count) if self.rows else np.zeros(x.shape))

    def plain(self, function: Callable[[Tensor], Any], values: Sequence[Tensor]) -> Callback:
        """A part of what the minimum depends on, for arrays."""
        return Callback(self._whole.of(function), values, self.call.diff)

    def lifted(self, function: Callable[[Tensor], Any]) -> Lifted:
        """A part of what the minimum depends on, with the tensors that it takes from outside."""
        return self._whole.of(function)

    def bounds(self, row: Rows, x: Any, values: Sequence[Tensor]) -> tuple[Array, Array]:
        """The bounds of a row as arrays."""
        return self.plain(lambda v: row(v)[1], values)(x), self.plain(lambda v: row(v)[2], values)(x)

    def array(self, value: Any, values: Sequence[Tensor]) -> Array:
        """An argument that may be a tensor, as an array."""
        return self.plain(lambda _: dense(value), values)(0.0)

    def at_minimum(self, y: Tensor, values: Sequence[Any]) -> Tensor:
        """The Lagrangian at the minimum, as a function of everything else."""
        function, rows = self._parts(values)
        if not self.rows:
            return joined(function(y)).reshape(())
        return lagrangian(function, rows, *parts_of(y, self.size))

    def _parts(self, values: Sequence[Any]) -> tuple[Callable[[Tensor], Any], Callable[[Tensor], Any]]:
        rest = values[1:]
        rows = self._whole.of(Row.together(self.rows))
        return (lambda x: self._function(rest, x)), (lambda x: rows(rest, x))

    def _residual(self, values: Sequence[Any], y: Tensor) -> Tensor:
        function, rows = self._parts(values)
        if self.rows:
            return stationary(function, rows, y, self.size)
        return grad(lambda x: joined(function(x)).reshape(()))(y)

    def _solved(self, values: list[Tensor]) -> tuple[Any, Any]:
        callback = Callback(self._function, values[1:], self.call.diff)
        x, failure = self._search(self, callback, values[0].detach().numpy(), values[1:])
        x = np.asarray(x, dtype=float)
        if not self.rows and not callback.is_traced:
            callback(x)  # a search by gradients does not ask for values, whose trace says what `known_lift` has to know
        if not self.rows:
            return x, failure
        whole = Row.together(self.rows)
        c = self.plain(lambda v: whole(v)[0], values[1:])
        given = (callback.with_gradient(x)[1], c(x), c.jacobian(x))
        if failure and not all(np.isfinite(each).all() for each in given):
            return np.concatenate([x, np.zeros(2 * given[1].size)]), failure
        y, fault = found(self.name, x, *given, *self.bounds(whole, x, values[1:]), self.call.diff)
        return y, failure or fault


def _saddle(matrix: Array) -> str:
    if not np.isfinite(matrix).all():
        return ""
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    if values.size and values[0] < -1e-6 * max(np.abs(values).max(), 1e-300):
        return f"it is a saddle point, with curvature {values[0]:.1e} in one direction"
    return ""


class Minimised(Function):
    """The value at a minimum: `dF = dL`, the Lagrangian's derivative with the minimum held."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(minimum: Minimum, y: Tensor, *values: Tensor) -> Tensor:
        function, _ = minimum._parts(values)
        x = y[: minimum.size] if minimum.rows else y
        return made_here(np.array(joined(function(x)).detach().numpy(), dtype=float).reshape(()))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.minimum, y, *values = inputs
        ctx.solution = ctx.minimum.equation.solution_of(y)
        ctx.save_for_backward(y, *values)
        ctx.save_for_forward(y, *values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        y, *values = ctx.saved_tensors
        if not ctx.minimum.equation.trust(ctx.solution):
            return (None, None, *(value * np.nan for value in values))
        return (None, None, *vjp(lambda *each: ctx.minimum.at_minimum(y, each), *values)[1](gradient))

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, *tangents: Tensor) -> Tensor:
        y, *values = ctx.saved_tensors
        if not ctx.minimum.equation.trust(ctx.solution):
            return made_here(np.array(np.nan))
        moves = [tangent if tangent is not None else value * 0 for tangent, value in zip(tangents, values, strict=True)]
        return jvp(lambda *each: ctx.minimum.at_minimum(y, each), tuple(values), tuple(moves))[1]


@declare("optimize.minimize", kind="I", by=_BY)
def minimize(call: Call) -> Any:
    function = call["fun"]
    results: list[Any] = []
    if call["jac"] is True:
        pair = function
        function = lambda *args: pair(*args)[0]
    args = call.further
    rows = rows_of(call["bounds"], call["constraints"], args)
    own = rows[1:] if call["bounds"] is not None else rows
    method = call["method"]
    used = method.lower() if isinstance(method, str) else method
    if used is None:
        used = "slsqp" if call["constraints"] else "l-bfgs-b" if call["bounds"] is not None else "bfgs"

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        changes: dict[str, Any] = {"x0": x0, "args": (), "fun": callback.number}
        wants_gradient = used in _WITH_GRADIENT or not isinstance(used, str)
        jac, hess, hessp = (callback.supplied(call[name]) for name in ("jac", "hess", "hessp"))
        changes.update(jac=jac, hess=hess, hessp=hessp)
        if callable(jac):
            changes["jac"] = lambda x: numbers(jac(tensors(x), *args))
        elif wants_gradient and jac in (None, True, False):
            changes["fun"], changes["jac"] = callback.with_gradient, True
        if callable(hess):
            changes["hess"] = lambda x: numbers(hess(tensors(x), *args))
        elif callable(hessp):
            changes["hessp"] = lambda x, p: numbers(hessp(tensors(x), tensors(p), *args))
        elif hess is None and used in _WITH_HESSIAN:
            changes["hess"] = callback.hessian
        elif hess is None and used in _WITH_PRODUCTS:
            changes["hessp"] = callback.hessian_product
        if call["bounds"] is not None:
            changes["bounds"] = plain_bounds(*minimum.bounds(rows[0], x0, values), call["bounds"])
        if own:
            changes["constraints"] = plain_constraints(
                own, lambda f: minimum.plain(f, values), lambda row: minimum.bounds(row, x0, values), x0
            )
            if isinstance(call["constraints"], dict) or hasattr(call["constraints"], "lb"):
                changes["constraints"] = changes["constraints"][0]
        result = call.run(**changes)
        results.append(result)
        return result.x, "" if result.success else str(result.message)

    minimum = Minimum(call, bound_to(function, args), rows, flat_start(call["x0"]), search)
    result = outcome(call, results, x=minimum.x, fun=minimum.value())
    if own and "multipliers" in result:
        result["multipliers"] = minimum.multipliers(own)
    return result


@declare("optimize.minimize_scalar", kind="I", by=_BY)
def minimize_scalar(call: Call) -> Any:
    results: list[Any] = []
    bounds = call["bounds"]
    rows = [bounds_row([tuple(bounds)])] if bounds is not None else []
    first = call["bracket"][0] if call["bracket"] is not None else bounds[0] if bounds is not None else 0.0

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        changes: dict[str, Any] = {"fun": lambda x: callback.number([x]), "args": ()}
        if bounds is not None:
            low, high = (end.item() for end in minimum.bounds(rows[0], [0.0], values))
            changes["bounds"] = (low, high)
        if call["bracket"] is not None:
            changes["bracket"] = tuple(float(end) for end in numbers(list(call["bracket"])))
        result = call.run(**changes)
        results.append(result)
        return np.atleast_1d(result.x), "" if result.success else str(result.message)

    function = bound_to(call["fun"], call["args"])
    minimum = Minimum(call, lambda x: function(x[0]), rows, start(first).reshape(1), search)
    return outcome(call, results, x=minimum.x[0], fun=minimum.value())


class _Older(Record, frozen=True):
    """One of the functions from before `minimize`: the names of its arguments, and what it returns.

    `status` is the place of the flag in the full output, `good` the flags of success.
    """

    function: str = "func"
    gradient: str = ""
    status: int = 0
    good: tuple[int, ...] = (0,)
    full: bool = True


_OLDER = {
    "fmin": _Older(status=4),
    "fmin_powell": _Older(status=5),
    "fmin_cg": _Older("f", "fprime", 4),
    "fmin_bfgs": _Older("f", "fprime", 6),
    "fmin_ncg": _Older("f", "fprime", 5),
}


@declare(*(f"optimize.{name}" for name in _OLDER), kind="I", by=_BY)
def older(call: Call) -> Any:
    known = _OLDER[call.name.rpartition(".")[2]]
    further: list[Any] = []
    args = call.further

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        changes: dict[str, Any] = {"x0": x0, "args": (), "full_output": True, known.function: callback.number}
        if known.gradient:
            given = callback.supplied(call[known.gradient])
            is_given = callable(given)
            changes[known.gradient] = (
                (lambda x: numbers(given(tensors(x), *args))) if is_given else lambda x: callback.with_gradient(x)[1]
            )
        if "fhess" in call and callback.supplied(call["fhess_p"]) is None:
            hess = callback.supplied(call["fhess"])
            changes["fhess_p"] = None
            changes["fhess"] = callback.hessian if hess is None else lambda x: numbers(hess(tensors(x), *args))
        further[:] = call.run(**changes)
        status = further[known.status]
        return further[0], "" if status == 0 else f"it stopped with warnflag {status}"

    minimum = Minimum(call, bound_to(call[known.function], args), [], flat_start(call["x0"]), search)
    path = further[-1:] if call["retall"] else []
    if not call["full_output"]:
        return (minimum.x, *path) if path else minimum.x
    return (minimum.x, minimum.value(), *further[2 : known.status + 1], *path)


@declare("optimize.fmin_l_bfgs_b", "optimize.fmin_tnc", kind="I", by=_BY)
def older_with_bounds(call: Call) -> Any:
    further: list[Any] = []
    args = call.further
    rows = [bounds_row(call["bounds"])] if call["bounds"] is not None else []
    function = call["func"]
    if call["fprime"] is None and not call["approx_grad"]:  # SciPy's convention: it returns both
        pair = function
        function = lambda *given: _first(pair(*given))

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        changes: dict[str, Any] = {"x0": x0, "args": (), "func": callback.with_gradient}
        changes["fprime"], changes["approx_grad"] = None, False
        if rows:
            low, high = minimum.bounds(rows[0], x0, values)
            changes["bounds"] = list(zip(low, high))
        further[:] = call.run(**changes)
        if call.name.endswith("tnc"):
            return further[0], "" if further[2] in (0, 1, 2) else f"it stopped with return code {further[2]}"
        return further[0], "" if further[2]["warnflag"] == 0 else str(further[2]["task"])

    minimum = Minimum(call, bound_to(function, args), rows, flat_start(call["x0"]), search)
    if call.name.endswith("tnc"):
        return minimum.x, further[1], further[2]
    return minimum.x, minimum.value(), further[2]


@declare("optimize.fmin_slsqp", kind="I", by=f"{_BY}, what constraints take from anywhere")
def fmin_slsqp(call: Call) -> Any:
    """What SciPy makes of it: `minimize` with these constraints."""
    args = call.further
    constraints: list[dict[str, Any]] = []
    for kind, several, whole, slope in (
        ("eq", "eqcons", "f_eqcons", "fprime_eqcons"), ("ineq", "ieqcons", "f_ieqcons", "fprime_ieqcons"),
    ):  # fmt: skip
        constraints += [{"type": kind, "fun": each, "args": args} for each in call[several]]
        if call[whole]:
            constraints.append({"type": kind, "fun": call[whole], "args": args})
            if call[slope]:
                constraints[-1]["jac"] = call[slope]
    options = {"ftol": call["acc"], "maxiter": call["iter"], "eps": call["epsilon"]}
    found = pb.scipy.optimize.minimize(
        call["func"], call["x0"], args, "SLSQP", jac=call["fprime"], bounds=call["bounds"] or None,
        constraints=constraints, callback=call["callback"], options=options, diff=call.diff,
    )  # fmt: skip
    return (found.x, found.fun, found.nit, found.status, found.message) if call["full_output"] else found.x


@declare("optimize.fmin_cobyla", kind="I", by="what callbacks take from anywhere, args")
def fmin_cobyla(call: Call) -> Any:
    """The same, by another method."""
    cons = call["cons"]
    cons = [cons] if callable(cons) else list(cons)
    args = call.further
    further = args if call["consargs"] is None else tuple(call["consargs"])
    options = {"rhobeg": call["rhobeg"], "tol": call["rhoend"], "maxiter": call["maxfun"], "catol": call["catol"]}
    return pb.scipy.optimize.minimize(
        call["func"], call["x0"], args, "COBYLA", callback=call["callback"], options=options, diff=call.diff,
        constraints=[{"type": "ineq", "fun": each, "args": further} for each in cons],
    ).x  # fmt: skip


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, tuple) else value


@declare("optimize.fminbound", "optimize.brent", "optimize.golden", kind="I", by=_BY)
def older_of_one(call: Call) -> Any:
    further: list[Any] = []
    is_bounded = "x1" in call
    rows = [bounds_row([(call["x1"], call["x2"])])] if is_bounded else []
    bracket = None if is_bounded else call["brack"]
    first = call["x1"] if is_bounded else bracket[0] if bracket is not None else 0.0

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        changes: dict[str, Any] = {"func": lambda x: callback.number([x]), "args": (), "full_output": True}
        if is_bounded:
            low, high = (end.item() for end in minimum.bounds(rows[0], [0.0], values))
            changes.update(x1=low, x2=high)
        elif bracket is not None:
            changes["brack"] = tuple(float(end) for end in numbers(list(bracket)))
        further[:] = call.run(**changes)
        failed = is_bounded and further[2] != 0
        return np.atleast_1d(further[0]), "it needed too many evaluations" if failed else ""

    function = bound_to(call["func"], call["args"])
    minimum = Minimum(call, lambda x: function(x[0]), rows, start(first).reshape(1), search)
    return (minimum.x[0], minimum.value(), *further[2:]) if call["full_output"] else minimum.x[0]
