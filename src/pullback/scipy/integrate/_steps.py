"""One step of an integrator as a formula: explicit Runge-Kutta, and collocation for all others.

SciPy chooses the steps and computes the values. A derivative is that of a formula for each step that SciPy accepted,
with the lengths of the steps held: for RK23, RK45 and DOP853 their own. Implicit and multi-step methods are
differentiated as three-stage collocation on the same mesh, whose accuracy is that of the solution itself: the stages
satisfy an equation, and have its derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.func._implicit import Equation
from pullback.func._implicit.linear import Array, Diff
from pullback.scipy._surface import joined, scipy_module
from pullback.tensors.tensor import Tensor, made_here

# `right(t, y, values)` is the right-hand side, with `values` in the places of the tensors that it takes from outside.
Right = Callable[[Any, Any, Sequence[Any]], Any]
Step = Callable[[Any, Any, Any, Sequence[Any]], Any]

EXPLICIT = ("RK23", "RK45", "DOP853")


class Exactly(Function):
    """`x` with other digits: the value that SciPy has, and the derivative of `x`."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return gradient, None

    @staticmethod
    def jvp(ctx: Any, moved: Tensor, _: Any) -> Tensor:
        return moved.clone()


def exactly(x: Tensor, value: Any) -> Tensor:
    """`x`, with this value."""
    return Exactly.apply(x, made_here(np.array(value, dtype=x.dtype)))


def explicit_step(right: Right, name: str) -> Step:
    """A step of one of the explicit methods: `(t, y, h, values) -> y` at the end of it."""
    method = getattr(scipy_module("integrate"), name)
    a, b, c = method.A, method.B, method.C

    def step(t: Any, y: Any, h: Any, values: Sequence[Any]) -> Any:
        stages = [joined(right(t, y, values))]
        for i in range(1, len(c)):
            moved = pb.asarray(a[i, :i]) @ pb.stack(stages)
            stages.append(joined(right(t + float(c[i]) * h, y + h * moved, values)))
        return y + h * (pb.asarray(b) @ pb.stack(stages))

    return step


_ROOT = 6**0.5
_C = np.array([(4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0])
_A = np.array(
    [
        [(88 - 7 * _ROOT) / 360, (296 - 169 * _ROOT) / 1800, (-2 + 3 * _ROOT) / 225],
        [(296 + 169 * _ROOT) / 1800, (88 + 7 * _ROOT) / 360, (-2 - 3 * _ROOT) / 225],
        [(16 - _ROOT) / 36, (16 + _ROOT) / 36, 1 / 9],
    ]
)


def collocation_step(right: Right, dense: Callable[[Any], Array], diff: Diff) -> Step:
    """A step through three stages, whose values are read off SciPy's solution."""
    options = Diff(solver=diff.solver, rtol=diff.rtol, maxiter=diff.maxiter, check=False)

    def residual(given: Sequence[Any], z: Tensor) -> Tensor:
        t, y, h, *values = given
        slopes = pb.stack([joined(right(t + float(_C[k]) * h, y + z[k], values)) for k in range(3)])
        return z - h * (pb.asarray(_A) @ slopes)

    def stages(given: list[Tensor]) -> tuple[Array, str]:
        t, y, h, *_ = (x.detach().numpy() for x in given)
        return np.stack([dense(float(t) + c * float(h)) for c in _C]) - y, ""

    def step(t: Any, y: Any, h: Any, values: Sequence[Any]) -> Any:
        equation = Equation("integrate.solve_ivp", residual, stages, options)
        given = [each if isinstance(each, Tensor) else made_here(np.array(each, dtype=float)) for each in (t, y, h)]
        return given[1] + equation(*given, *values)[2]

    return step


def step_of(method: Any, right: Right, dense: Callable[[Any], Array], diff: Diff) -> Step:
    """The formula for a step of this method."""
    if method in EXPLICIT:
        return explicit_step(right, method)
    return collocation_step(right, dense, diff)


def linear_step(right: Right, method: Any) -> Callable[..., Any]:
    """A step of this method, `(t, y, h, stages, values) -> y` at the end of it, of which only the value and the first
    derivative are right: `stages` are what collocation adds to the state, read off SciPy's solution."""
    if method in EXPLICIT:
        step = explicit_step(right, method)
        return lambda t, y, h, stages, values: step(t, y, h, values)

    def collocated(t: Any, y: Any, h: Any, stages: Any, values: Sequence[Any]) -> Any:
        def residual(z: Any, y: Any) -> Any:
            z = z.reshape(stages.shape)
            slopes = pb.stack([joined(right(t + float(_C[k]) * h, y + z[k], values)) for k in range(3)])
            return (z - h * (pb.asarray(_A) @ slopes)).reshape(-1)

        flat = stages.reshape(-1)
        slope = pb.func.jacfwd(lambda z: residual(z, y))(flat).detach()
        moved = flat - pb.linalg.solve(slope, residual(flat, y))  # a Newton step has the derivative of the solution
        return y + moved.reshape(stages.shape)[2]

    return collocated


def loop_of(method: Any, right: Callable[..., Any]) -> Callable[..., Any]:
    """All steps as one loop: the states at their ends, for the first state, the times, lengths, states and stages.

    Its first derivatives are those of the steps one by one. Each step starts at the state that SciPy has there.
    """
    step = linear_step(lambda t, y, _: right(t, y), method)

    def loop(y0: Tensor, times: Tensor, steps: Tensor, recorded: Tensor, stages: Tensor) -> Any:
        def body(y: Tensor, x: Any) -> tuple[Tensor, Tensor]:
            t, h, value, z = x
            moved = step(t, y, h, z, ())
            moved = moved + (value - moved).detach()
            return moved, moved

        return pb.scan(body, y0, (times, steps, recorded, stages))[1]

    return loop


def stages_of(mesh: Array, states: Array, dense: Callable[[Any], Array]) -> Array:
    """What collocation adds to the state of each step, read off SciPy's solution."""
    at = mesh[:-1, None] + _C * np.diff(mesh)[:, None]
    return dense(at.reshape(-1)).T.reshape(len(mesh) - 1, 3, -1) - states[:-1, None]
