"""The steps that SciPy accepted, and the derivative of the states at their ends.

SciPy has the states, so the derivatives of all steps are computed at once, as one batch: how the end of each step moves
with its beginning, and with everything else. What is left of the way from the first state to the last is a recurrence
of small matrices. Derivatives that are differentiated again, and right-hand sides that decide by values, go one step
after the other, which is what all others are compared with.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.core.state import current, forgive
from pullback.errors import AOTError, AutogradError
from pullback.func._grad import vjp
from pullback.func._implicit.lift import Lifted, alone, array_of, changed_callback, is_plain, is_settled
from pullback.func._implicit.linear import Array, Diff
from pullback.func._jacobian import jacfwd
from pullback.func._jvp import jvp
from pullback.func._vmap import vmap
from pullback.scipy._compiled import Fast, value_of
from pullback.scipy._surface import joined, numbers
from pullback.scipy.integrate._steps import EXPLICIT, exactly, linear_step, loop_of, stages_of, step_of
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, made_here

UNFIT = (AutogradError, AOTError, TypeError, ValueError, IndexError)
"""What a right-hand side that decides by values raises in a batch."""


def plainly(lifted: Lifted, values: Sequence[Tensor], t: Any, y: Any) -> Array:
    """A callback of time and state, for arrays."""
    out: Array = numbers(joined(lifted(values, made_here(np.array(t)), made_here(np.array(y)))).detach())
    return out


class Mesh:
    """The steps that SciPy accepted: their times, and a formula for each of them."""

    def __init__(
        self, lifted: Lifted, mesh: Array, states: Array | None, is_end: bool, method: Any,
        dense: Callable[[Any], Array], diff: Diff, fast: Fast | None,
    ) -> None:  # fmt: skip
        self.mesh = mesh
        self.dense = dense
        self.states = np.array(dense(mesh).T if states is None else states)
        self.is_end = is_end  # is the last time that which was asked for, and moves with it?
        right = lambda t, y, values: lifted(values, t, y)
        self.step = step_of(method, right, dense, diff)
        self._linear = linear_step(right, method)
        self._method = method
        self._fast = fast
        self.name = lifted.name
        self._right = lifted
        self._probe: Array | None = None

    def check(self, begin: Tensor, y0: Tensor, values: Sequence[Tensor]) -> None:
        """Raise if the right-hand side is not what it was when SciPy integrated."""
        if not is_plain(begin, y0, *values):
            return
        at = array_of(begin), array_of(y0)
        # Compiled code has numbers of its own. It says what SciPy integrated, but not what the function is now.
        found = None if self._fast is None or self._probe is not None else self._fast("value", value_of, *at)
        if found is None:
            with alone():
                found = plainly(self._right, values, *at)
        if self._probe is None:
            self._probe = np.array(found)
        elif not np.allclose(found, self._probe, rtol=1e-7, atol=1e-12, equal_nan=True):
            raise changed_callback(self.name)

    def times(self, begin: Any, end: Any) -> list[Any]:
        """The times of the steps. The first and the last may be tensors."""
        inner = [float(t) for t in self.mesh[1:-1]]
        last = [end if self.is_end else float(self.mesh[-1])] if len(self.mesh) > 1 else []
        return [begin, *inner, *last]

    def replayed(self, begin: Any, end: Any, y0: Any, *values: Any) -> Tensor:
        """The states at all times, as rows: one step after the other."""
        times, states = self.times(begin, end), [y0]
        for n in range(len(times) - 1):
            moved = self.step(times[n], states[n], times[n + 1] - times[n], values)
            states.append(exactly(moved, self.states[n + 1]))
        return pb.stack(states)

    @property
    def _is_small(self) -> bool:
        """Are there steps, and are the matrices of these small?"""
        return len(self.mesh) > 1 and self.states.dtype == np.float64 and self.states.shape[1] <= _WIDE

    def _stages(self) -> Array:
        if self._method in EXPLICIT:
            return np.zeros((len(self.mesh) - 1, 0))
        return stages_of(self.mesh, self.states, self.dense)

    def _together(self) -> tuple[Callable[..., Tensor], Callable[..., Array]]:
        """The ends of all steps, as rows, as a function of their times, lengths, and the values; and as one of the
        values how they move with the states that the steps begin at, as matrices."""
        states, stages = made_here(self.states[:-1].copy()), made_here(self._stages())

        def ends(times: Any, lengths: Any, *values: Any) -> Tensor:
            return vmap(lambda t, y, h, z: self._linear(t, y, h, z, values))(times, states, lengths, stages)

        def matrices(times: Any, lengths: Any, *values: Any) -> Array:
            with alone():
                moved = vmap(lambda t, y, h, z: jacfwd(lambda v: self._linear(t, v, h, z, values))(y))
                return moved(times, states, lengths, stages).numpy()

        return ends, matrices

    def pulled_together(self, gradient: Tensor, values: Sequence[Tensor]) -> list[Any] | None:
        """The gradients of `replayed`'s arguments by all steps at once; None if they do not run so."""
        if not self._is_small:
            return None
        ends, matrices = self._together()
        times, lengths = made_here(self.mesh[:-1].copy()), made_here(np.diff(self.mesh))
        try:
            slopes = matrices(times, lengths, *values)
            pull = vjp(ends, times, lengths, *values)[1]
        except UNFIT as error:
            forgive(error)
            return None
        plain = array_of(gradient)
        rows = gradient if plain is None else plain
        arriving: list[Any] = [rows[len(slopes)]]
        for k in range(len(slopes) - 1, -1, -1):
            matrix = slopes[k].T
            arriving.append((matrix if plain is not None else made_here(matrix)) @ arriving[-1] + rows[k])
        by_y0 = arriving.pop()
        arriving.reverse()
        together = pb.stack(arriving) if plain is None else made_here(np.stack(arriving))
        by_times, by_lengths, *by_values = pull(together)
        begin = by_times[0] - by_lengths[0]
        end = by_lengths[-1] if self.is_end else by_lengths[-1] * 0
        return [begin, end, by_y0 if plain is None else made_here(by_y0), *by_values]

    def pushed_together(self, moves: Sequence[Tensor], values: Sequence[Tensor]) -> Tensor | None:
        """The tangents of the states by all steps at once, for those of `replayed`'s arguments; None as above."""
        if not self._is_small:
            return None
        begin, end, y0, *further = moves
        ends, matrices = self._together()
        count = len(self.mesh) - 1
        first, last = np.eye(1, count)[0], np.eye(1, count, count - 1)[0]
        times, lengths = made_here(self.mesh[:-1].copy()), made_here(np.diff(self.mesh))
        stretched = begin * -first + end * last if self.is_end else begin * -first
        try:
            slopes = matrices(times, lengths, *values)
            by_others = jvp(ends, (times, lengths, *values), (begin * first, stretched, *further))[1]
        except UNFIT as error:
            forgive(error)
            return None
        is_array = is_plain(y0, by_others)
        rows: list[Any] = [array_of(y0) if is_array else y0]
        others = array_of(by_others) if is_array else by_others
        for k in range(count):
            rows.append((slopes[k] if is_array else made_here(slopes[k])) @ rows[k] + others[k])
        return made_here(np.stack(rows)) if is_array else pb.stack(rows)

    def pulled(self, gradient: Array) -> list[Any] | None:
        """The gradients of `replayed`'s arguments by one compiled loop over the steps, if there is one."""
        if self._fast is None or not self._is_small:
            return None
        count = len(self.mesh) - 1
        stages = self._stages()
        length = 1 << max(5, (count - 1).bit_length())  # one program for many numbers of steps
        behind = length - count
        times = np.concatenate([self.mesh[:-1], np.full(behind, self.mesh[-1])])
        steps = np.concatenate([np.diff(self.mesh), np.zeros(behind)])  # a step of length 0 changes nothing
        states = np.concatenate([self.states[1:], np.repeat(self.states[-1:], behind, axis=0)])
        arriving = np.concatenate([gradient[1:], np.zeros((behind, *gradient.shape[1:]))])
        kind = f"sweep {self._method} {length}"
        found = self._fast.pulled(
            kind, functools.partial(loop_of, self._method),
            [self.states[0], times, steps, states, np.concatenate([stages, np.zeros((behind, *stages.shape[1:]))])],
            arriving, SWEPT if self._method in EXPLICIT else SWEPT // 4,
        )  # fmt: skip
        if found is None:
            return None
        *by_values, by_y0, by_times, by_steps, _, _ = found
        zero = np.zeros(())
        begin = zero if by_times is None else by_times[0]
        end = zero
        if by_steps is not None:
            begin, end = begin - by_steps[0], by_steps[count - 1] if self.is_end else zero
        return [np.asarray(begin), np.asarray(end), gradient[0] + (0.0 if by_y0 is None else by_y0), *by_values]


SWEPT = 1500  # evaluations of a right-hand side before the loop over the steps is compiled
_WIDE = 40  # states of a problem whose steps are compiled to one loop


class SolveIvp(Function):
    """The states at the steps that SciPy accepted, as rows."""

    @staticmethod
    def forward(mesh: Mesh, begin: Tensor, end: Tensor, y0: Tensor, *values: Tensor) -> Tensor:
        mesh.check(begin, y0, values)
        return made_here(mesh.states.astype(y0.dtype))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.mesh, *rest = inputs
        ctx.save_for_backward(*rest)
        ctx.save_for_forward(*rest)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        rest = ctx.saved_tensors
        ctx.mesh.check(rest[0], rest[2], rest[3:])
        if is_settled(gradient, *rest):
            found = ctx.mesh.pulled(array_of(gradient))
            if found is not None:
                return (None, *(None if part is None else made_here(part) for part in found))
        if _is_first((gradient, *rest), rest):
            together = ctx.mesh.pulled_together(gradient, rest[3:])
            if together is not None:
                return (None, *together)
        return (None, *vjp(ctx.mesh.replayed, *rest)[1](gradient))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Tensor:
        rest = ctx.saved_tensors
        moves = [value * 0 if move is None else move for move, value in zip(tangents, rest, strict=True)]
        if _is_first((*rest, *moves), rest):
            together = ctx.mesh.pushed_together(moves, rest[3:])
            if together is not None:
                return together
        return jvp(ctx.mesh.replayed, tuple(rest), tuple(moves))[1]


def _is_first(given: Sequence[Tensor], values: Sequence[Tensor]) -> bool:
    """Does nobody differentiate what is computed from these, which are derivatives and plain values?"""
    is_recorded = current().grad and any(map(requires_grad, given))
    return not is_recorded and is_plain(*values) and not live_levels(given)


