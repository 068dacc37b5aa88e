"""Derivatives of what solves an equation: `y` with `F(y, x) = 0`, found by whatever finds it.

With `A` the derivative of `F` by `y`, `A dy = -dF`: one linear system for a tangent, one with the transpose of `A` for
a gradient. Both are written with `y` as it was returned, so they have derivatives of their own, to every order.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from pullback.autograd.function import Function
from pullback.core.doors import door
from pullback.core.frames import warn
from pullback.core.records import replace
from pullback.errors import AutogradError, ImplicitAccuracyWarning
from pullback.func._grad import vjp
from pullback.func._implicit.lift import alone, array_of, changed_callback, example_of, is_settled, lift
from pullback.func._implicit.linear import Array, Diff, dense, is_dense, is_singular, iterated, singular
from pullback.func._implicit.node import applied
from pullback.func._jacobian import jacrev
from pullback.func._jvp import jvp
from pullback.operators.arrays.complex_parts import view_as_complex, view_as_real
from pullback.operators.arrays.creation import asarray
from pullback.operators.linalg.least_squares import lstsq
from pullback.operators.linalg.solve import solve as linalg_solve
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, made_here

FAR, NEAR = 1e-3, 1e-6  # relative distances: no solution at all, and one whose derivative has an error of that size


class Solution:
    """One result: where it was found, for which values, and what the solver says went wrong."""

    __slots__ = ("failure", "is_trusted", "matrix", "rule", "values", "y")

    def __init__(self, y: Array, values: list[Tensor], failure: str | AutogradError = "", rule: Any = None) -> None:
        self.y = y
        self.values = values
        self.failure = failure
        self.rule: CompiledRule | None = rule if y.dtype == np.float64 else None
        self.matrix: Array | None = None  # the Jacobian of the residual, if it was computed by the rule
        self.is_trusted = False

    def slopes(self, y: Array) -> tuple[Array, Array] | None:
        """The residual and its Jacobian by the compiled rule, if there is one."""
        return None if self.rule is None else self.rule.slopes(y)


class CompiledRule(Protocol):
    """The residual of one solution as compiled code. What it cannot compute is None."""

    def slopes(self, y: Array) -> tuple[Array, Array] | None:
        """The residual at `y` and its Jacobian, for `y` as a vector."""

    def pulled(self, y: Array, cotangent: Array) -> list[Array | None] | None:
        """The gradients of the values, for a cotangent of the residual."""


class Equation:
    """What `y` satisfies. `residual(values, y)` is as large as `y` and zero at the solution.

    `solver(values)` gives `(y, failure)`: an array, and what went wrong or nothing. `is_symmetric` says that the
    derivative of the residual is, as that of a gradient.
    """

    def __init__(
        self,
        name: str,
        residual: Callable[[Sequence[Any], Tensor], Any],
        solver: Callable[[list[Tensor]], tuple[Any, str | AutogradError]],
        options: Diff,
        is_symmetric: bool = False,
        examine: Callable[[Array], str] | None = None,
        rule: Callable[[list[Tensor]], CompiledRule] | None = None,
    ) -> None:
        self.name = name
        self._residual = residual
        self._solver = solver
        self.options = options
        self.is_symmetric = is_symmetric
        self._examine = examine  # what is wrong with a solution at which the residual has this Jacobian
        self._rule = rule  # how to compute faster, for these values, what the residual says
        self.latest: Solution | None = None
        self._recent: deque[Solution] = deque(maxlen=8)

    def solution_of(self, y: Tensor) -> Solution | None:
        """The solution whose result this is: the latest, unless a compiled function has solved for others since."""
        found = array_of(y)
        same = [each for each in self._recent if found is not None and np.array_equal(each.y, found, equal_nan=True)]
        return same[-1] if same else self.latest

    def solved(self, values: list[Tensor]) -> Tensor:
        """The solution for plain values."""
        y, failure = self._solver(values)
        y = np.array(y, dtype=np.result_type(np.asarray(y).dtype, np.float32), order="C")
        constants = [made_here(value._data) for value in values]  # no history, no tangents
        for _ in range(self.options.polish if not failure else 0):
            y = y + _unflat(self._step(Solution(y, constants)), y)
        self.latest = Solution(y, constants, failure, None if self._rule is None else self._rule(values))
        self._recent.append(self.latest)
        return made_here(y.copy())

    def residual(self, values: Sequence[Any], flat: Tensor, like: Tensor | Array) -> Tensor:
        """The residual as a vector of real numbers, of `y` as a vector of real numbers."""
        out = self._residual(values, _unflat(flat, like))
        return _flat(out if isinstance(out, Tensor) else asarray(out, dtype=like.dtype))

    def pushed(self, y: Tensor, values: list[Tensor], tangents: list[Tensor]) -> Tensor:
        """The tangent of the solution."""
        flat = _flat(y)
        _, moved = jvp(lambda *each: self.residual(each, flat, y), tuple(values), tuple(tangents))
        return _unflat(self.linear(y, values, -moved, is_transposed=False), y)

    def pulled(self, y: Tensor, values: list[Tensor], gradient: Tensor) -> tuple[Any, ...]:
        """The gradients of the values."""
        flat = _flat(y)
        cotangent = self.linear(y, values, -_flat(gradient), is_transposed=True)
        return vjp(lambda *each: self.residual(each, flat, y), *values)[1](cotangent)

    def pulled_by_rule(self, solution: Solution, gradient: Tensor, *given: Tensor) -> list[Array | None] | None:
        """The same by compiled code, where there is some: for gradients that nobody differentiates."""
        if solution.rule is None or not is_settled(gradient, *given):
            return None
        g = array_of(gradient)
        is_usual = g.dtype == np.float64 and self.options.on_degenerate != "lstsq"
        if not is_usual or not is_dense(g.size, self.options):
            return None
        if solution.matrix is None:
            found = solution.rule.slopes(solution.y)
            if found is None:
                return None
            solution.matrix = found[1]
        if g.size == 1:
            cotangent = -g.reshape(-1) / solution.matrix[0]
        else:
            try:
                cotangent = np.linalg.solve(solution.matrix.T, -g.reshape(-1))
            except np.linalg.LinAlgError:
                return None
        return solution.rule.pulled(solution.y, cotangent)

    def linear(self, y: Tensor, values: list[Tensor], b: Tensor, is_transposed: bool) -> Tensor:
        """`x` with `A x = b`, or with the transpose of `A`."""
        flat = _flat(y)
        if is_dense(flat.shape[0], self.options):
            matrix = jacrev(lambda v: self.residual(values, v, y))(flat)
            if is_transposed and not self.is_symmetric:
                matrix = matrix.T
            if self.options.on_degenerate == "lstsq":
                return lstsq(matrix, b[:, None])[0][:, 0]
            return linalg_solve(matrix, b)

        def product(given: Sequence[Any], x: Any) -> Any:
            at, *rest = given
            if is_transposed and not self.is_symmetric:
                return vjp(lambda v: self.residual(rest, v, y), at)[1](x)[0]
            return jvp(lambda v: self.residual(rest, v, y), (at,), (x,))[1]

        def solver(given: list[Tensor]) -> tuple[Array, str]:
            right, *rest = given

            def multiply(x: Array) -> Array:
                return product(rest, made_here(np.ascontiguousarray(x))).numpy()

            def multiply_transposed(x: Array) -> Array:
                return vjp(lambda v: product(rest, v), made_here(x))[1](made_here(np.ascontiguousarray(x)))[0].numpy()

            return iterated(
                self.name, multiply, multiply_transposed, right.numpy(), self.options, self.is_symmetric
            ), ""

        system = Equation(
            self.name,
            lambda given, x: product(given[1:], x) - given[0],
            solver,
            replace(self.options, check=False, polish=0),
            self.is_symmetric,
        )
        return system(b, flat, *values)

    def __call__(self, *values: Tensor) -> Tensor:
        """The solution as a function of these values."""

        def compute() -> tuple[Array, dict[str, Any], bool]:
            y = self.solved(list(values))
            return y._data, {"equation": self, "solution": self.latest}, True

        return applied(_rule(self.name), self, values, compute)

    # ---- trust -----------------------------------------------------------------------------------------------

    def trust(self, solution: Solution) -> bool:
        """Look once whether this is a solution. False says that derivatives are to be NaN."""
        if solution.is_trusted or not self.options.check:
            return True
        error = self._fault(solution)
        if error is not None:
            if self.options.on_failure == "nan":
                return False
            if self.options.on_failure == "raise":
                raise error
            warn(str(error), ImplicitAccuracyWarning)
        solution.is_trusted = True
        return True

    def _fault(self, solution: Solution) -> AutogradError | None:
        if isinstance(solution.failure, AutogradError):
            return solution.failure
        if not np.isfinite(solution.y).all():
            return self._unsolved(solution.failure or "the result is not finite")
        try:
            step = self._step(solution)
        except AutogradError as error:
            return self._unsolved(solution.failure) if solution.failure else error
        if step.size == 1:
            distance = abs(step.item()) / (1 + abs(solution.y.item()))
        else:
            distance = float(np.linalg.norm(step) / (1 + np.linalg.norm(solution.y)))
        if solution.failure and not distance <= NEAR:  # some solvers complain of the last digits
            return self._unsolved(solution.failure)
        if not distance <= FAR:
            if self._is_another(solution):
                return changed_callback(self.name)
            return not_a_solution(self.name, f"the next Newton step is {distance:.1e} of its size")
        if distance > NEAR:
            if self._is_spurious(solution, step):
                return singular(self.name)
            warn(
                f"{self.name}: the result is {distance:.1e} (relative) off the solution, and so are its derivatives; "
                "ask for a smaller tolerance, or pb.scipy.Diff(polish=2)",
                ImplicitAccuracyWarning,
            )
        return None

    def _is_another(self, solution: Solution) -> bool:
        """Would the solver find something else now, since what the equation looks at was written in the meantime?"""
        with alone():
            y = np.asarray(self._solver(solution.values)[0])
        return y.shape != solution.y.shape or not np.allclose(y, solution.y, rtol=1e-6, atol=1e-9, equal_nan=True)

    def _is_spurious(self, solution: Solution, step: Array) -> bool:
        """Is the Jacobian another one a step away: regular only because this is not quite the solution? Such is the
        Hessian of a fit with one parameter too many, whose flat direction is curved by what is left of the gradient."""
        if self.options.on_degenerate == "lstsq" or not is_dense(step.size, self.options):
            return False
        here = self._slopes(solution, solution.y)[1]
        change = self._slopes(solution, solution.y + _unflat(step, solution.y))[1] - here
        return bool(np.linalg.norm(np.linalg.solve(here, change), 2) > 0.5)

    def _is_flat(self, solution: Solution, matrix: Array) -> bool:
        """Is the slope of an equation with one unknown almost zero, compared with that close by: a multiple root?"""
        if matrix.size != 1:
            return False
        beside = self._slopes(solution, np.asarray(solution.y + 0.01 * (1 + np.abs(solution.y))))[1]
        return bool(np.abs(matrix).item() <= 1e-8 * np.abs(beside).item())

    def _unsolved(self, said: str) -> AutogradError:
        return AutogradError(
            "SCIPY_NOT_CONVERGED",
            f"{self.name} found no solution, and what it returned has no derivative: {said}",
            why="the derivative is that of the solution, not of the steps towards it",
            fix="start closer, allow more steps or a larger tolerance; or pb.scipy.Diff(on_failure='nan')",
        )

    def _step(self, solution: Solution) -> Array:
        """Newton's step from here, on plain arrays. Raises if there is none, or no solution of the kind asked for."""
        y = solution.y
        if not is_dense(y.size * (2 if y.dtype.kind == "c" else 1), self.options):
            with alone():
                at = made_here(y)
                off = self.residual(solution.values, _flat(at), at)
                return self.linear(at, solution.values, -off, is_transposed=False).numpy()
        residual, matrix = self._slopes(solution, y)
        b = -residual
        if solution.rule is not None:
            solution.matrix = matrix
        said = self._examine(matrix) if self._examine is not None else ""
        if said:
            raise not_a_solution(self.name, said)
        if self.options.on_degenerate == "lstsq":
            return dense(self.name, matrix, b, self.options)
        if is_singular(matrix) or self._is_flat(solution, matrix):
            raise singular(self.name)
        return b / matrix[0] if b.size == 1 else np.linalg.solve(matrix, b)

    def _slopes(self, solution: Solution, y: Array) -> tuple[Array, Array]:
        """The residual at `y` and its Jacobian, as a vector and a matrix of numbers."""
        found = solution.slopes(y)
        if found is not None:
            return found[0].reshape(-1), found[1]
        with alone():
            at = made_here(y)
            flat = _flat(at)
            residual = self.residual(solution.values, flat, at).numpy()
            return residual, jacrev(lambda v: self.residual(solution.values, v, at))(flat).numpy()


def not_a_solution(name: str, said: str) -> AutogradError:
    """What is raised where a solver stopped somewhere else."""
    return AutogradError(
        "SCIPY_NOT_A_SOLUTION",
        f"{name} says that it converged, but what it returned is not a solution: {said}",
        why="the derivative of a solution is computed from the equation that it satisfies, and this does not",
        fix="ask for a smaller tolerance, start elsewhere, or make Newton steps with pb.scipy.Diff(polish=2)",
    )


def _flat(x: Any) -> Tensor:
    return (view_as_real(x) if x.dtype.kind == "c" else x).reshape(-1)


def _unflat(flat: Any, like: Any) -> Any:
    if like.dtype.kind != "c":
        return flat.reshape(like.shape)
    if isinstance(flat, np.ndarray):
        return flat.view(like.dtype).reshape(like.shape)
    return view_as_complex(flat.reshape((*like.shape, 2)))


class _Implicit(Function):
    """The solution of an `Equation`, as a function of the values in it."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(equation: Equation, *values: Tensor) -> Tensor:
        return equation.solved(list(values))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.equation, *values = inputs
        ctx.solution = ctx.equation.latest
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(output, *values)
        ctx.save_for_forward(output, *values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Any, ...]:
        y, *values = ctx.saved_tensors
        if gradient is None:
            return (None, *(None for _ in values))
        if not ctx.equation.trust(ctx.solution):
            return (None, *(value * np.nan for value in values))
        found = ctx.equation.pulled_by_rule(ctx.solution, gradient, y, *values)
        if found is not None:
            return (None, *(_part(part, value) for part, value in zip(found, values, strict=True)))
        return (None, *ctx.equation.pulled(y, values, gradient))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Tensor) -> Tensor:
        y, *values = ctx.saved_tensors
        if not ctx.equation.trust(ctx.solution):
            return y * np.nan
        moves = [tangent if tangent is not None else value * 0 for tangent, value in zip(tangents, values, strict=True)]
        return ctx.equation.pushed(y, values, moves)


def _part(found: Array | None, value: Tensor) -> Tensor | None:
    """A gradient as a tensor. Without influence, as a start has none, it is zero."""
    if found is None:
        return made_here(np.zeros(value.shape, value.dtype)) if value.requires_grad else None
    return made_here(found)


@functools.cache
def _rule(name: str) -> type[Function]:
    """The Function of solutions by this name, which nodes have."""
    title = "".join(word.capitalize() for word in name.rpartition(".")[2].split("_"))
    return type(title, (_Implicit,), {})


@door
def implicit(
    solve: Callable[..., Any], residual: Callable[..., Any], *, diff: Diff | None = None
) -> Callable[..., Tensor]:
    """A function that solves an equation by any means, with all its derivatives.

    `solve(*args)` returns `y` and may do so with a bisection, an external optimiser, a simulator; it gets tensors
    without history. `residual(y, *args)` is what the result makes zero, as many numbers as `y` has, written with `pb`
    functions. Tensors that `residual` takes from outside have derivatives as well.

    >>> def solve(a):                                   # the cube root, by hand
    ...     y = 1.0
    ...     for _ in range(60):
    ...         y -= (y**3 - float(a)) / (3 * y**2)
    ...     return y
    >>> cube_root = pb.func.implicit(solve, lambda y, a: y**3 - a)
    >>> pb.func.grad(cube_root)(pb.tensor(8.0))
    tensor(0.08333333)
    """
    options = (diff or Diff()).checked()
    name = getattr(solve, "__name__", "solve")
    if name == "<lambda>":
        name = "implicit"

    def solved(*args: Any) -> Tensor:
        return _solved(name, options, solve, residual, args)

    return solved


def _solved(
    name: str, options: Diff, solve: Callable[..., Any], residual: Callable[..., Any], args: tuple[Any, ...]
) -> Tensor:
    places = [k for k, arg in enumerate(args) if isinstance(arg, Tensor)]

    def put(values: Sequence[Any]) -> list[Any]:
        together = list(args)
        for k, value in zip(places, values):
            together[k] = value
        return together

    def solver(values: Sequence[Tensor]) -> tuple[Any, str]:
        y = solve(*put([value.detach() for value in values[: len(places)]]))
        return (y.detach().numpy() if isinstance(y, Tensor) else y), ""

    given = [args[k] for k in places]
    with no_grad():
        first = [example_of(value) for value in given]
        y = np.array(solver(first)[0])
    lifted = lift(name, residual, made_here(y), *put(first))
    is_first = all(value is own for value, own in zip(first, given, strict=True))
    known = [(y, "")] if is_first else []  # nobody maps over the arguments: this was the solution already
    equation = Equation(
        name,
        lambda values, v: lifted(values[len(places) :], v, *put(values)),
        lambda values: known.pop() if known else solver(values),
        options,
    )
    return equation(*given, *lifted.tensors)
