"""Bounds and constraints of a minimum, and the equation that a minimum under them satisfies.

All are rows `lower <= c(x) <= upper`, one for each number, with a multiplier each. At a minimum the gradient of
`f - multipliers @ c` is zero. A row is active, `c(x)` stays at its bound and the multiplier is unknown, or it is not,
and the multiplier stays zero. So `(x, multipliers)` solves a square system; which rows are active is read off the
solution and kept beside it, as `sides`: 1 at the lower bound, -1 at the upper one, 0 for neither.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.errors import AutogradError
from pullback.func._grad import grad
from pullback.func._implicit.lift import constant_example
from pullback.func._implicit.linear import Array, Diff
from pullback.scipy._surface import declare_class, joined
from pullback.scipy.optimize._problem import Callback, bound_to, one_tensor
from pullback.tensors.tensor import Tensor


@declare_class("optimize.Bounds", "optimize.LinearConstraint", "optimize.NonlinearConstraint")
def holding(theirs: type) -> type:
    """A class of SciPy's whose objects hold tensors: a list with some in it becomes one."""

    @functools.wraps(theirs.__init__)  # type: ignore[misc]
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        given = signature.bind(self, *args, **kwargs)
        given.arguments = {name: one_tensor(value) for name, value in given.arguments.items()}
        theirs.__init__(*given.args, **given.kwargs)  # type: ignore[misc]
        if isinstance(self.keep_feasible, Tensor):  # made as long as the bounds, by functions of ours
            self.keep_feasible = np.asarray(given.arguments.get("keep_feasible", False))

    signature = inspect.signature(theirs.__init__)  # type: ignore[misc]

    return type(theirs.__name__, (theirs,), {"__init__": init, "__doc__": theirs.__doc__})


CLOSE = 1e-6  # relative: a slack or a multiplier as small as this is none
WIDE = 1e-2  # ... a slack, where an interior-point method stopped inside of what binds


Rows = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]


class Row:
    """One constraint of the user's: `c`, its bounds, and the same for SciPy once values are known."""

    def __init__(self, function: Callable[[Tensor], Any], lower: Any, upper: Any, given: Any = None) -> None:
        self.function = function
        self.lower = lower
        self.upper = upper
        self.given = given

    def __call__(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """`c(x)`, lower and upper bounds, as vectors."""
        c = joined(self.function(x)).reshape(-1)
        return c, _vector(self.lower, c), _vector(self.upper, c)

    @staticmethod
    def together(rows: Sequence[Row]) -> Rows:
        """All rows as one."""

        def all_rows(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            c, lower, upper = (pb.concat(parts) for parts in zip(*(row(x) for row in rows), strict=True))
            return c, lower, upper

        return all_rows


def _vector(bound: Any, like: Tensor) -> Tensor:
    own = dense(bound)
    return pb.broadcast_to(own.reshape(-1) if own.ndim else own, like.shape)


def rows_of(bounds: Any, constraints: Any, args: Any) -> list[Row]:
    """The bounds and constraints that `minimize` was given, as rows. The bounds come first."""
    rows = [] if bounds is None else [bounds_row(bounds)]
    for given in constraints if isinstance(constraints, list | tuple) else (constraints,):
        if isinstance(given, dict):
            further = given.get("args", ())
            upper = 0.0 if given["type"].lower() == "eq" else np.inf
            rows.append(Row(bound_to(given["fun"], further), 0.0, upper, given))
        elif hasattr(given, "A"):
            rows.append(Row(functools.partial(product, given.A), given.lb, given.ub, given))
        else:
            rows.append(Row(bound_to(given.fun), given.lb, given.ub, given))
    return rows


def product(matrix: Any, x: Tensor) -> Any:
    """A matrix of the user's times `x`."""
    return dense(matrix) @ x


def dense(value: Any) -> Tensor:
    """An argument as a tensor that an operator has made, so that one that is differentiated is seen."""
    return joined(value.toarray() if hasattr(value, "toarray") else value) * 1.0


def bounds_row(bounds: Any) -> Row:
    """`Bounds`, a pair of arrays or a list of pairs as one row for each variable."""
    if hasattr(bounds, "lb"):
        return Row(lambda x: x * 1.0, bounds.lb, bounds.ub, bounds)
    pairs = [tuple(pair) for pair in bounds]
    lower = [-np.inf if low is None else low for low, _ in pairs]
    upper = [np.inf if high is None else high for _, high in pairs]
    return Row(lambda x: x * 1.0, lower, upper, bounds)


def stationary(function: Callable[[Tensor], Any], rows: Rows, y: Tensor, size: int) -> Tensor:
    """What is zero at `y`: the gradient of the Lagrangian; active rows; multipliers of the others."""
    x, multipliers, sides = parts_of(y, size)
    slope = grad(lambda v: lagrangian(function, rows, v, multipliers, sides))(x)
    c, lower, upper = rows(x)
    held = pb.where(abs(sides) > 0, c - pb.where(sides > 0, lower, upper), multipliers)
    return pb.concat([slope, held, y[size + c.shape[0] :] - sides])


def parts_of(y: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor]:
    """`x`, multipliers and sides. The sides are constants: which rows are active does not move."""
    count = (y.shape[0] - size) // 2
    return y[:size], y[size : size + count], y[size + count :].detach()


def lagrangian(
    function: Callable[[Tensor], Any],
    rows: Rows,
    x: Tensor,
    multipliers: Tensor,
    sides: Tensor,
) -> Tensor:
    """`f` less what the active rows contribute: at the minimum its derivatives are those of the minimum."""
    c, lower, upper = rows(x)
    off = pb.where(abs(sides) > 0, c - pb.where(sides > 0, lower, upper), 0.0)
    return joined(function(x)).reshape(()) - (multipliers * off).sum()


def found(
    name: str, x: Array, gradient: Array, c: Array, jacobian: Array, lower: Array, upper: Array, options: Diff
) -> tuple[Array, AutogradError | str]:
    """The solution with its multipliers and sides, and what is wrong with it."""
    is_equality = lower == upper
    sides, multipliers, force = _pushing(gradient, c, jacobian, lower, upper, CLOSE)
    limit = CLOSE * (1 + np.abs(gradient).max(initial=0.0))
    if force > limit:
        wider = _pushing(gradient, c, jacobian, lower, upper, WIDE)
        if wider[2] < 0.1 * force:
            sides, multipliers, _ = wider
    near = abs(sides) > 0
    is_held = is_equality | (sides * multipliers > limit)
    is_weak = near & ~is_equality & (np.abs(multipliers) <= limit)
    failure: AutogradError | str = ""
    if is_weak.any():
        if options.on_degenerate == "active":
            is_held |= is_weak
        elif options.on_degenerate != "inactive":
            failure = degenerate(name, int(np.flatnonzero(is_weak)[0]))
    held = jacobian[is_held]
    is_crowded = len(held) and not is_equality[is_held].all() and np.linalg.matrix_rank(held) < len(held)
    if not failure and is_crowded and options.on_degenerate != "lstsq":
        failure = crowded(name)
    sides = np.where(is_held, sides, 0.0)
    return np.concatenate([x, _multipliers(jacobian, gradient, is_held), sides]), failure


def _pushing(
    gradient: Array, c: Array, jacobian: Array, lower: Array, upper: Array, close: float
) -> tuple[Array, Array, float]:
    """Which rows are close to which of their bounds, their multipliers, and what is left of the gradient."""
    at_lower = np.isfinite(lower) & (c - lower <= close * (1 + np.abs(lower)))
    at_upper = np.isfinite(upper) & (upper - c <= close * (1 + np.abs(upper)))
    is_equality = lower == upper
    sides = np.where(is_equality | at_lower, 1.0, np.where(at_upper, -1.0, 0.0))
    multipliers = _multipliers(jacobian, gradient, abs(sides) > 0)
    pushed = np.where(is_equality | (sides * multipliers > 0), multipliers, 0.0) @ jacobian
    return sides, multipliers, float(np.abs(gradient - pushed).max(initial=0.0))


def _multipliers(jacobian: Array, gradient: Array, chosen: Array) -> Array:
    multipliers = np.zeros(len(jacobian))
    if chosen.any():
        multipliers[chosen] = np.linalg.lstsq(jacobian[chosen].T, gradient)[0]
    return multipliers


def degenerate(name: str, row: int) -> AutogradError:
    """A constraint that holds without pushing: the solution has a kink there."""
    return AutogradError(
        "SCIPY_DEGENERATE",
        f"the solution of {name} has no derivative: constraint {row} holds exactly, and its multiplier is zero",
        why="on one side of these parameters it would bind, on the other not, and the solution moves differently",
        fix='choose a side with pb.scipy.Diff(on_degenerate="active") or "inactive", or move the constraint',
    )


def crowded(name: str) -> AutogradError:
    """More constraints hold than can push independently: a degenerate vertex."""
    return AutogradError(
        "SCIPY_DEGENERATE",
        f"the solution of {name} has no derivative: more constraints hold there than are independent",
        why="which of them bind depends on the direction that the parameters move in",
        fix='remove one of the constraints, or take the smallest solution with pb.scipy.Diff(on_degenerate="lstsq")',
    )


def plain_constraints(
    rows: Sequence[Row],
    plain: Callable[[Callable[[Tensor], Any]], Callback],
    bounds: Callable[[Row], tuple[Array, Array]],
    x0: Array,
) -> list[Any]:
    """The constraints as SciPy takes them: functions of arrays, with Jacobians, and bounds as numbers."""
    import scipy.optimize as optimize

    made: list[Any] = []
    for row in rows:
        lower, upper = bounds(row)
        c = plain(row.function)
        if isinstance(row.given, dict):
            own = {key: value for key, value in row.given.items() if key not in ("args", "jac")}
            made.append({**own, "fun": c, "jac": c.jacobian})
            continue
        keep = {"keep_feasible": row.given.keep_feasible}
        if hasattr(row.given, "A"):
            made.append(optimize.LinearConstraint(c.jacobian(x0), lower, upper, **keep))
        else:
            more = {} if callable(row.given.hess) else {"hess": row.given.hess}
            made.append(optimize.NonlinearConstraint(c, lower, upper, jac=c.jacobian, **keep, **more))
    return made


def in_order(rows: Sequence[Row], x: Tensor, multipliers: Tensor, sides: Tensor) -> Tensor:
    """Multipliers in the order of SLSQP: those of equalities, then of each constraint the lower and the upper ends."""
    equal, ends, first = [], [], 0
    for row in rows:
        c, lower, upper = (constant_example(each).numpy() for each in row(x.detach()))
        own, side = (each[first : first + c.size] for each in (multipliers, sides))
        first += c.size
        is_equal = lower == upper
        equal.append(own[is_equal])
        ends.append(pb.where(side > 0, own, 0.0)[np.isfinite(lower) & ~is_equal])
        ends.append(pb.where(side < 0, -own, 0.0)[np.isfinite(upper) & ~is_equal])
    return pb.concat([*equal, *ends])


def plain_bounds(lower: Array, upper: Array, given: Any) -> Any:
    """The bounds as SciPy takes them."""
    import scipy.optimize as optimize

    return optimize.Bounds(lower, upper, keep_feasible=getattr(given, "keep_feasible", False))
