"""Least squares and fits: minima of a sum of squares, differentiated with its full Hessian."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.frames import warn
from pullback.errors import ImplicitAccuracyWarning
from pullback.func._implicit.lift import is_plain
from pullback.func._implicit.linear import Array
from pullback.scipy._composed import anchored
from pullback.scipy._surface import Call, declare, joined, numbers, tensors
from pullback.scipy.optimize._constraints import Row
from pullback.scipy.optimize._minima import Minimum
from pullback.scipy.optimize._problem import Callback, bound_to, flat_start, outcome, slopes
from pullback.tensors.tensor import Tensor

LOSSES: dict[str, Callable[[Tensor], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (pb.sqrt(1 + z) - 1),
    "huber": lambda z: pb.where(z <= 1, z, 2 * pb.sqrt(pb.where(z <= 1, 1.0, z)) - 1),
    "cauchy": lambda z: pb.log1p(z),
    "arctan": lambda z: pb.atan(z),
}


def half_squares(residuals: Tensor) -> Tensor:
    """Half of the sum of squares."""
    flat = residuals.reshape(-1)
    return 0.5 * (flat * flat).sum()


def _bound_rows(bounds: Any) -> list[Row]:
    if hasattr(bounds, "lb"):
        lower, upper = bounds.lb, bounds.ub
    else:
        lower, upper = bounds
    free = all(
        not isinstance(end, Tensor) and np.all(np.isinf(np.asarray(numbers(end), dtype=float)))
        for end in (lower, upper)
    )
    return [] if free else [Row(lambda x: x * 1.0, lower, upper, bounds)]


def _plain_bounds(minimum: Minimum, rows: Sequence[Row], x0: Any, values: Sequence[Tensor]) -> dict[str, Any]:
    if not rows:
        return {}
    return {"bounds": minimum.bounds(rows[0], x0, values)}


def gauss_newton(residuals: Callable[[Tensor], Any], x: Tensor) -> Any:
    """Half of the sum of squares, without the second derivatives of the residuals."""
    at = x.detach()
    slope = slopes(residuals, at)
    return half_squares(joined(residuals(at)).reshape(-1) + slope @ (x - at))


@declare("optimize.least_squares", kind="I", by="what the callback takes from anywhere, args, bounds, f_scale")
def least_squares(call: Call) -> Any:
    results: list[Any] = []
    function = bound_to(call["fun"], call["args"], call["kwargs"])
    rows = _bound_rows(call["bounds"])
    loss = call["loss"] if callable(call["loss"]) else LOSSES.get(call["loss"], LOSSES["linear"])
    args = call.further
    is_linear, is_own, f_scale = call["loss"] == "linear", callable(call["loss"]), call["f_scale"]
    is_gauss_newton = call.diff.hessian == "gn"

    def cost(x: Tensor) -> Any:
        if is_gauss_newton and is_linear:
            return gauss_newton(function, x)
        residuals = joined(function(x)).reshape(-1)
        if is_linear:
            return half_squares(residuals)
        scale = joined(f_scale) * 1.0
        rho = loss((residuals / scale) ** 2)
        return 0.5 * (scale**2 * (rho[0] if is_own else rho)).sum()

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        residuals = minimum.plain(lambda x: joined(function(x)), values)
        changes: dict[str, Any] = {"fun": residuals, "x0": x0, "args": (), "kwargs": {}}
        jac = callback.supplied(call["jac"])
        if callable(jac):
            changes["jac"] = lambda x: numbers(jac(tensors(x), *args, **(call["kwargs"] or {})))
        elif callable(call["jac"]) or (not call.given("jac") and call["jac_sparsity"] is None):
            changes["jac"] = residuals.jacobian
        if isinstance(call["f_scale"], Tensor):
            changes["f_scale"] = minimum.array(call["f_scale"], values).item()
        changes.update(_plain_bounds(minimum, rows, x0, values))
        result = call.run(**changes)
        results.append(result)
        return result.x, "" if result.success else str(result.message)

    minimum = Minimum(call, cost, rows, flat_start(call["x0"]), search)
    if call.diff.hessian == "gn":
        warn(
            "least_squares: hessian='gn' leaves out the second derivatives of the residuals, so derivatives are only "
            "right where the residuals are small",
            ImplicitAccuracyWarning,
        )
    x = minimum.x
    return outcome(
        call, results, x=x, cost=minimum.value(), fun=joined(function(x)).reshape(-1), jac=slopes(function, x)
    )


@declare("optimize.leastsq", kind="I", by="what the callback takes from anywhere, args")
def leastsq(call: Call) -> Any:
    further: list[Any] = []
    function = bound_to(call["func"], call["args"])
    args = call.further

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        residuals = minimum.plain(lambda x: joined(function(x)), values)
        changes: dict[str, Any] = {"func": residuals, "x0": x0, "args": (), "full_output": True}
        slope = callback.supplied(call["Dfun"])
        if slope is not None:
            changes["Dfun"] = lambda x: numbers(slope(tensors(x), *args))
        else:
            changes["Dfun"] = residuals.jacobian if not call["col_deriv"] else lambda x: residuals.jacobian(x).T
        x, *rest = call.run(**changes)
        further[:] = rest
        return np.atleast_1d(x), "" if rest[-1] in (1, 2, 3, 4) else str(rest[-2])

    minimum = Minimum(call, lambda x: half_squares(joined(function(x))), [], flat_start(call["x0"]), search)
    if not call["full_output"]:
        return minimum.x, further[-1]
    covariance = further[0]
    if covariance is not None:
        slope = slopes(function, minimum.x)
        covariance = pb.linalg.inv(slope.T @ slope)
    return (minimum.x, covariance, *further[1:])


@declare("optimize.curve_fit", kind="I", by="xdata, ydata, sigma, bounds, what the model takes from anywhere")
def curve_fit(call: Call) -> Any:
    model = call["f"]
    further: list[Any] = []
    rows = _bound_rows(call["bounds"])
    given = call["p0"]
    if given is None:
        count = len(inspect.signature(model).parameters) - 1
    else:
        given = joined(given) if not isinstance(given, Tensor) else given
        count = int(np.prod(given.shape)) if given.ndim else 1
    xdata = call["xdata"] if isinstance(call["xdata"], Tensor) else tensors(_as_data(call["xdata"]))
    ydata, sigma = call["ydata"], call["sigma"]

    def predicted(p: Tensor) -> Tensor:
        return joined(model(xdata, *(p[k] for k in range(count)))).reshape(-1)

    def residuals(p: Tensor) -> Tensor:
        off = predicted(p) - joined(ydata).reshape(-1)
        if sigma is None:
            return off
        spread = joined(sigma)
        if spread.ndim < 2:
            return off / spread
        return pb.linalg.solve_triangular(pb.linalg.cholesky(spread), off[:, None], upper=False)[:, 0]

    def search(minimum: Minimum, callback: Callback, x0: Array, values: Sequence[Tensor]) -> tuple[Any, str]:
        plain = minimum.plain(predicted, values)
        jac = callback.supplied(call["jac"])

        def at(x: Any, *parameters: Any) -> Any:
            return plain(np.array(parameters, dtype=float))

        def slope(x: Any, *parameters: Any) -> Any:
            return plain.jacobian(np.array(parameters, dtype=float))

        at.__signature__ = inspect.signature(model)  # type: ignore[attr-defined]
        changes: dict[str, Any] = {"f": at, "ydata": minimum.array(ydata, values), "full_output": True}
        changes["xdata"] = minimum.array(xdata, values) if isinstance(xdata, Tensor) else xdata
        if given is not None:
            changes["p0"] = x0
        if sigma is not None:
            changes["sigma"] = minimum.array(sigma, values)
        if callable(jac):
            changes["jac"] = lambda x, *p: numbers(jac(tensors(x), *map(tensors, p)))
        elif jac is None:
            changes["jac"] = slope
        changes.update(_plain_bounds(minimum, rows, x0, values))
        popt, pcov, *rest = call.run(**changes)
        further[:] = [pcov, *rest]
        return popt, ""

    first = given if given is not None else tensors(np.ones(count))
    minimum = Minimum(call, lambda p: half_squares(residuals(p)), rows, flat_start(first), search)
    popt = minimum.x
    covariance = _covariance(minimum, residuals, further[0] if further else None, bool(call["absolute_sigma"]))
    return (popt, covariance, *further[1:]) if call["full_output"] else (popt, covariance)


def _as_data(xdata: Any) -> Any:
    return np.asarray(numbers(xdata), dtype=float) if isinstance(xdata, list | tuple | np.ndarray) else xdata


def _covariance(minimum: Minimum, residuals: Callable[[Tensor], Tensor], known: Any, absolute: bool) -> Tensor:
    """SciPy's covariance, with the derivatives of its formula. Nobody computes that before they are asked for."""
    if known is not None and not np.isfinite(known).all():  # SciPy has warned
        return tensors(known)
    lifted = minimum.lifted(residuals)

    def formula(popt: Tensor, *values: Tensor) -> Tensor:
        off = lambda p: lifted(values, p)
        slope = slopes(off, popt)
        covariance = pb.linalg.inv(slope.T @ slope)
        if absolute:
            return covariance
        left = off(popt)
        return covariance * ((left * left).sum() / (left.shape[0] - popt.shape[0]))

    if known is not None and is_plain(minimum.x, *lifted.tensors):
        return anchored(lambda *_: known, formula, minimum.x, *lifted.tensors)
    return formula(minimum.x, *lifted.tensors)
