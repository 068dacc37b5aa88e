"""L-BFGS with a line search by the strong Wolfe conditions (Nocedal and Wright, chapters 3 and 7).

The numbers of all leaves are one vector, and everything here is NumPy: which way the search goes depends on values, so
there is nothing to compile but the loss. Constants and rules for stopping are torch's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import pullback as pb
from pullback.core.doors import door
from pullback.optim._optimizers import Optimizer, check_finite
from pullback.tree import ravel
from pullback.tree._dataclasses import dataclass

Array = np.ndarray[Any, Any]
Evaluate = Callable[[Array], tuple[float, Array]]

ENOUGH, FLAT = 1e-4, 0.9  # the two constants of Wolfe's conditions


@dataclass(frozen=True)
class LBFGSState:
    """What L-BFGS remembers: iterations, the last step and gradient, and pairs of steps and changes of the gradient."""

    t: Any
    step: Any
    gradient: Any
    steps: tuple[Any, ...]
    changes: tuple[Any, ...]


LBFGSState.__module__ = "pullback.optim"  # the name in files


class Trial(NamedTuple):
    """A point on the line: how far, and value, slope along the line and gradient there."""

    far: float
    value: float
    slope: float
    gradient: Array


def direction_of(gradient: Array, steps: list[Array], changes: list[Array]) -> Array:
    """Minus the gradient, times the inverse Hessian that the pairs tell of (the recursion in two loops)."""
    q = -gradient
    if not steps:
        return q
    weights = []
    for s, y in zip(reversed(steps), reversed(changes), strict=True):
        weights.append((s @ q) / (y @ s))
        q = q - weights[-1] * y
    q = q * ((changes[-1] @ steps[-1]) / (changes[-1] @ changes[-1]))
    for s, y, weight in zip(steps, changes, reversed(weights), strict=True):
        q = q + s * (weight - (y @ q) / (y @ s))
    return q


def cubic_minimum(a: Trial, b: Trial, low: float, high: float) -> float:
    """Where the cubic through two trials has its minimum, within bounds; the middle if that is nowhere."""
    if a.far > b.far:
        a, b = b, a
    with np.errstate(all="ignore"):
        d = a.slope + b.slope - 3 * (a.value - b.value) / (a.far - b.far)
        under_root = d * d - a.slope * b.slope
        if under_root >= 0:
            root = math.sqrt(under_root)
            found = b.far - (b.far - a.far) * ((b.slope + root - d) / (b.slope - a.slope + 2 * root))
            if math.isfinite(found):
                return min(max(found, low), high)
    return (low + high) / 2


def line_search(
    evaluate: Callable[[float], Trial], start: Trial, far: float, width: float, tolerance: float, most: int
) -> Trial:
    """A trial that satisfies the strong Wolfe conditions, or the best of `most` and one. `width` is the largest
    component of the direction: brackets that are shorter than `tolerance` are not divided."""

    def is_too_high(trial: Trial) -> bool:
        return not trial.value <= start.value + ENOUGH * trial.far * start.slope

    def is_flat(trial: Trial) -> bool:
        return abs(trial.slope) <= -FLAT * start.slope

    before, now, trials = start, evaluate(far), 0
    while trials < most:  # go on until there is a minimum in between
        if is_too_high(now) or (trials > 1 and now.value >= before.value):
            break
        if is_flat(now):
            return now
        if now.slope >= 0:
            break
        low, high = now.far + 0.01 * (now.far - before.far), now.far * 10
        before, now = now, evaluate(cubic_minimum(before, now, low, high))
        trials += 1
    else:
        before = start
    best, other = (before, now) if before.value <= now.value else (now, before)
    is_stuck = False
    while trials < most:  # make the bracket smaller
        low, high = sorted((best.far, other.far))
        if (high - low) * width < tolerance:
            break
        far = cubic_minimum(best, other, low, high)
        margin = 0.1 * (high - low)
        if min(high - far, far - low) < margin:  # twice near an end: the bracket would not get smaller
            if is_stuck or far >= high or far <= low:
                far = high - margin if abs(far - high) < abs(far - low) else low + margin
                is_stuck = False
            else:
                is_stuck = True
        else:
            is_stuck = False
        now = evaluate(far)
        trials += 1
        if is_too_high(now) or now.value >= best.value:
            other = now
            if other.value < best.value:
                best, other = other, best
            continue
        if is_flat(now):
            return now
        if now.slope * (other.far - best.far) >= 0:
            other = best
        best = now
    return best


class LBFGS(Optimizer):
    """Quasi-Newton steps with a line search: for smooth losses of all the data, without noise.

    `step(closure)` makes up to `max_iter` iterations; the closure computes gradients and returns the loss, and is
    called up to `max_eval` times (5/4 of `max_iter`). The functional face takes a function in the place of gradients:
    `tree, state = opt.update(tree, pb.value_and_grad(loss), state)`. `lr` is the first length that is tried, 1.

    >>> x = pb.tensor([-1.2, 1.0], requires_grad=True)
    >>> lbfgs = pb.optim.LBFGS(x, max_iter=100)
    >>> def closure():
    ...     lbfgs.zero_grad()
    ...     loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> lbfgs.step(closure)
    tensor(24.2, grad_fn=<AddBackward0>)
    >>> x.detach().round(decimals=4)
    tensor([1., 1.])
    """

    _default_lr = 1.0

    @door
    def __init__(
        self, params: Any = None, lr: Any = None, *, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        on_nonfinite: str = "error",
    ) -> None:  # fmt: skip
        self.max_iter, self.max_eval, self.history_size = max_iter, max_eval, history_size
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        super().__init__(params, lr, on_nonfinite)
        if len(self.param_groups) > 1:
            raise ValueError("pb.optim.LBFGS has one learning rate for all leaves: give no groups")
        self._state = self.init(self.param_groups[0]["params"]) if self.param_groups else None

    def _slot_names(self, hyper: dict[str, Any]) -> tuple[str, ...]:
        return ()

    def init(self, tree: Any) -> Any:
        """The state before the first step of a tree of parameters."""
        vector = _numbers(tree)
        return LBFGSState(0, np.zeros_like(vector), np.zeros_like(vector), (), ())

    def compiled_step(self, loss: Any, **options: Any) -> Any:
        """There is none: how often the loss is evaluated depends on its values."""
        raise TypeError(
            "pb.optim.LBFGS has no compiled step: a line search evaluates the loss as often as its values say; use "
            "update(tree, pb.compile(pb.value_and_grad(loss)), state), or pb.optim.minimize(loss, tree)"
        )

    def update(self, tree: Any, gradients: Any, state: Any) -> tuple[Any, Any]:
        """The tree and the state behind up to `max_iter` iterations. `gradients` is a function of a tree that returns
        a value and the gradients, such as `pb.value_and_grad(loss)`. Nothing is written to."""
        if not callable(gradients):
            raise TypeError("pb.optim.LBFGS.update takes a function, pb.value_and_grad(loss), in place of gradients")
        _, unravel = ravel(pb.tree.detach(tree))

        def evaluate(x: Array) -> tuple[float, Array]:
            value, slopes = gradients(unravel(pb.tensor(x)))
            return float(value.detach()), _numbers(slopes)

        x, state = self._minimized(evaluate, _numbers(tree), state)
        return unravel(pb.tensor(x)), state

    @property
    def state(self) -> Any:
        """What has to be kept to go on later, as a tree: save it, and assign it to an optimiser of the same leaves."""
        return self._state

    @state.setter
    def state(self, state: Any) -> None:
        self._state = state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Write the values behind up to `max_iter` iterations into the leaves; the result is the loss before."""
        leaves = self._bound()[0]["params"]
        if closure is None:
            raise TypeError("pb.optim.LBFGS.step needs a closure that computes gradients and returns the loss")
        _, unravel = ravel(pb.tree.detach(leaves))
        losses: list[Any] = []

        def write(x: Array) -> None:
            with pb.no_grad():
                for leaf, new in zip(leaves, unravel(pb.tensor(x)), strict=True):
                    leaf.copy_(new)

        def evaluate(x: Array) -> tuple[float, Array]:
            if losses:
                write(x)
            with pb.enable_grad():
                losses.append(closure())
            slopes = [pb.zeros_like(leaf) if leaf.grad is None else leaf.grad for leaf in leaves]
            return float(losses[-1].detach()), _numbers(slopes)

        x, self._state = self._minimized(evaluate, _numbers(leaves), self._state)
        write(x)
        return losses[0]

    def _minimized(self, evaluate: Evaluate, x: Array, state: Any) -> tuple[Array, LBFGSState]:
        t = int(state.t)
        step, before = np.asarray(state.step), np.asarray(state.gradient)
        steps, changes = [np.asarray(s) for s in state.steps], [np.asarray(y) for y in state.changes]
        rate = float(self.lr(t) if callable(self.lr) else self.lr)
        value, gradient = evaluate(x)
        if not check_finite(value, [("", gradient)], t, self.on_nonfinite):
            return x, state
        evaluations, most = 1, self.max_iter * 5 // 4 if self.max_eval is None else self.max_eval
        for iteration in range(1, self.max_iter + 1):
            if np.abs(gradient).max(initial=0.0) <= self.tolerance_grad:
                break
            t += 1
            if t > 1 and (gradient - before) @ step > 1e-10:
                steps = [*steps, step][-self.history_size :]
                changes = [*changes, gradient - before][-self.history_size :]
            direction = direction_of(gradient, steps, changes)
            slope = float(gradient @ direction)
            step, before = np.zeros_like(x), gradient
            if slope > -self.tolerance_change:
                break
            seen: list[int] = []

            def trial(far: float, x: Array = x, direction: Array = direction, seen: list[int] = seen) -> Trial:
                seen.append(1)
                value, gradient = evaluate(x + far * direction)
                value = math.inf if math.isnan(value) else value  # too high: the bracket is divided
                return Trial(far, value, float(gradient @ direction), gradient)

            first = min(1.0, 1.0 / float(np.abs(gradient).sum())) * rate if t == 1 else rate
            start, width = Trial(0.0, value, slope, gradient), float(np.abs(direction).max())
            found = line_search(trial, start, first, width, self.tolerance_change, most - evaluations)
            step = found.far * direction
            x = x + step
            change, value, gradient = abs(found.value - value), found.value, found.gradient
            evaluations += len(seen)
            is_small = np.abs(step).max() <= self.tolerance_change or change < self.tolerance_change
            if iteration == self.max_iter or evaluations >= most or is_small:
                break
        return x, LBFGSState(t, step, before, tuple(steps), tuple(changes))


def _numbers(tree: Any) -> Array:
    """All numbers of a tree in an array of its own."""
    with pb.no_grad():
        vector = ravel(pb.tree.detach(tree))[0]
    if vector.dtype.kind != "f":
        raise TypeError(f"pb.optim.LBFGS moves real numbers, and the parameters are {vector.dtype}")
    return np.array(vector.numpy())
