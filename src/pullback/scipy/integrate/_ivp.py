"""Initial value problems: SciPy solves, and the steps that it accepted are differentiated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.core.state import forgive
from pullback.errors import AutogradError
from pullback.func._implicit import Equation
from pullback.func._implicit.lift import Lifted, alone, example_of, is_plain, lift
from pullback.func._implicit.linear import Array, Diff
from pullback.func._vmap import vmap
from pullback.scipy._compiled import Fast, value_of
from pullback.scipy._opaque import is_traced, opaque
from pullback.scipy._surface import Call, declare, joined, numbers, scipy_module
from pullback.scipy.integrate._mesh import UNFIT, Mesh, SolveIvp, plainly
from pullback.scipy.integrate._steps import EXPLICIT, exactly
from pullback.scipy.optimize._problem import mapped, one_tensor, refuse_traced, start, traced_outcome
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, made_here


class Trajectory:
    """A solution on the mesh of SciPy's steps: `y` at its points, and between them by a step of another length."""

    def __init__(self, steps: Mesh, begin: Tensor, end: Tensor, y0: Tensor, values: Sequence[Tensor]) -> None:
        self.values = list(values)
        self.dense = steps.dense
        self.mesh = steps.mesh
        self._step = steps.step
        self._is_explicit = steps._method in EXPLICIT
        self._times = steps.times(begin, end)
        self.states = SolveIvp.apply(steps, begin, end, y0, *values)

    def state(self, k: int) -> Tensor:
        """`y` at point `k` of the mesh."""
        return self.states[k]

    def rows(self, times: Any) -> Tensor:
        """`y` at these times, as columns."""
        count = times.shape[0]
        is_moving = isinstance(times, Tensor) and (times.requires_grad or times._extra is not None)
        values = np.asarray(numbers(times.detach() if isinstance(times, Tensor) else times), dtype=float)
        order = np.argsort(self.mesh)
        places = order[np.clip(np.searchsorted(self.mesh[order], values), 0, len(order) - 1)]
        if not is_moving and np.array_equal(self.mesh[places], values):
            return self.states[places].T
        if self._is_explicit and count > 1:
            try:
                return self._together(times, values)
            except UNFIT as error:
                forgive(error)  # the right-hand side decides by values: one after the other
        return pb.stack([self.at(times[k]) for k in range(count)], axis=1)

    def _together(self, times: Any, values: Array) -> Tensor:
        before = np.array([self.before(t) for t in values])
        inner = [t if isinstance(t, Tensor) else made_here(np.array(t)) for t in self._times]
        first = pb.stack([inner[n] for n in before])
        times = times if isinstance(times, Tensor) else made_here(values)
        moved = vmap(lambda t, y, h: self._step(t, y, h, self.values))(first, self.states[before], times - first)
        return exactly(moved, self.dense(values).T).T

    def before(self, t: float) -> int:
        """The point of the mesh from which `t` is reached."""
        forward = self.mesh[-1] >= self.mesh[0]
        place = np.searchsorted(self.mesh if forward else -self.mesh, t if forward else -t, side="left") - 1
        return int(np.clip(place, 0, max(len(self.mesh) - 2, 0)))

    def at(self, t: Any) -> Tensor:
        """`y` at a time, a number or a tensor."""
        value = float(numbers(t.detach() if isinstance(t, Tensor) else t))
        n = self.before(value)
        if not isinstance(t, Tensor) or not (t.requires_grad or t._extra is not None):
            at = np.flatnonzero(self.mesh == value)
            if at.size:
                return self.state(int(at[0]))
        moved = self._step(self._times[n], self.state(n), t - self._times[n], self.values)
        return exactly(moved, self.dense(value))

    def event(self, function: Callable[[Sequence[Any], Any, Any], Any], t: float, diff: Diff) -> tuple[Tensor, Tensor]:
        """When and where an event happened that SciPy found at `t`."""
        n = self.before(t)
        first, state = self._times[n], self.state(n)
        first = first if isinstance(first, Tensor) else made_here(np.array(float(first)))
        own = Diff(check=True, on_degenerate=diff.on_degenerate, on_failure=diff.on_failure)

        def residual(given: Sequence[Any], later: Tensor) -> Any:
            begin, y, *values = given
            return function(values, begin + later, self._step(begin, y, later, values))

        equation = _Crossing("integrate.event", residual, lambda given: (np.array(t - self.mesh[n]), ""), own)
        later = equation(first, state, *self.values)
        return first + later, exactly(self._step(first, state, later, self.values), self.dense(t))


class _Crossing(Equation):
    """The equation of an event. An event that is only touched has no derivative."""

    def trust(self, solution: Any) -> bool:
        try:
            return super().trust(solution)
        except AutogradError as error:
            if error.code != "SCIPY_SINGULAR":
                raise
            raise AutogradError(
                "SCIPY_EVENT_GRAZING",
                "the time of an event has no derivative: the event function only touches zero",
                why="its speed is zero there, so that a small change makes the event vanish, or moves it at any speed",
                fix="use another event function, one that crosses zero",
            ) from error


class Dense:
    """`sol`: the solution as a function of time, with derivatives by time and parameters."""

    def __init__(self, plain: Any, trajectory: Trajectory) -> None:
        self._plain = plain
        self._trajectory = trajectory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)

    def __call__(self, t: Any) -> Tensor:
        if not isinstance(t, Tensor):
            t = np.asarray(t, dtype=float)
        if t.ndim == 0:
            return self._trajectory.at(t if isinstance(t, Tensor) else float(t))
        return self._trajectory.rows(t)


@declare("integrate.solve_ivp", kind="A", by="t_span, y0, t_eval, what callbacks take from anywhere, args")
def solve_ivp(call: Call) -> Any:
    args = call["args"] if isinstance(call["args"], tuple) else () if call["args"] is None else (call["args"],)
    begin, end = (start(t) for t in call["t_span"])
    y0, times = start(call["y0"]), one_tensor(call["t_eval"])
    events = call["events"]
    several = list(events) if isinstance(events, list | tuple) else [] if events is None else [events]
    fun = call["fun"]

    def right(t: Any, y: Any) -> Any:
        return joined(fun(t, y, *args))

    with no_grad():
        example = (example_of(begin).detach().reshape(()), example_of(y0).detach().clone())
    whole = lift(call.name, lambda t, y: (right(t, y), *(event(t, y, *args) for event in several)), *example)
    problem = _Problem(call, right, several, args, whole)
    moving = [times] if isinstance(times, Tensor) else []
    given = (begin, end, y0, *moving, *whole.tensors)
    if times is None or several or call["dense_output"]:
        refuse_traced(call.name, *given)
    if is_plain(begin, end, y0, *moving, *whole.tensors):
        return problem.solved(begin, end, y0, times, whole.tensors)
    if times is None or several or call["dense_output"]:
        raise _not_mapped(call.name)
    result: Any = None
    rows = len(times)

    def one(begin: Tensor, end: Tensor, y0: Tensor, *rest: Tensor) -> Tensor:
        nonlocal result
        own, values = (rest[0], rest[1:]) if moving else (times, rest)
        if not is_plain(begin, end, y0, *rest):
            return mapped(call.name, one, begin, end, y0, *rest)
        result = problem.solved(begin, end, y0, own, values)
        return _whole_rows(call, result, rows)

    t = times if isinstance(times, Tensor) else made_here(np.array(times, dtype=float))
    if is_traced(*given):
        kind = np.result_type(y0.dtype, np.float64)
        return traced_outcome(call.name, {"t": t, "y": opaque(call.name, one, (y0.shape[0], rows), kind, *given)})
    y = mapped(call.name, one, *given)
    result["y"], result["t"] = y, t
    return result


def _whole_rows(call: Call, result: Any, count: int) -> Tensor:
    """The columns of one example, as many as there are times."""
    y: Tensor = result.y if result.y.ndim == 2 else made_here(np.zeros((len(call["y0"]), 0)))
    missing = count - y.shape[1]
    if not missing:
        return y
    if call.diff.on_failure != "nan":
        raise AutogradError(
            "SCIPY_NOT_CONVERGED",
            f"{call.name} did not reach all times for one of the examples: {result.message}",
            why="inside of vmap all examples have as many results",
            fix="shorten the time, or pb.scipy.Diff(on_failure='nan'), which fills what is missing with NaN",
        )
    return pb.concat([y, made_here(np.full((y.shape[0], missing), np.nan))], axis=1)


class _Problem:
    """An initial value problem whose callbacks are lifted."""

    def __init__(
        self, call: Call, right: Callable[..., Any], several: list[Any], args: tuple[Any, ...], whole: Lifted
    ) -> None:
        self.call = call
        self.whole = whole
        self.lifted = whole.of(right)
        self.several = several
        self.args = args

    def solved(self, begin: Tensor, end: Tensor, y0: Tensor, times: Any, values: Sequence[Tensor]) -> Any:
        """What SciPy returns, for plain numbers, with tensors in it."""
        call, args = self.call, self.args
        fast = Fast(self.lifted, values) if call.diff.compile else None

        def fun(t: Any, y: Any) -> Array:
            found = None if fast is None else fast("value", value_of, t, y)
            return plainly(self.lifted, values, t, y) if found is None else found

        def plain_event(event: Any) -> Any:
            own = self.whole.of(lambda t, y: event(t, y, *args))

            def called(t: Any, y: Any) -> Any:
                return np.asarray(plainly(own, values, t, y)).reshape(())[()]

            for name in ("terminal", "direction"):
                if hasattr(event, name):
                    setattr(called, name, getattr(event, name))
            return called

        changes: dict[str, Any] = {"fun": fun, "args": None, "dense_output": True, "y0": numbers(y0.detach())}
        changes["t_span"] = [float(numbers(t.detach())) for t in (begin, end)]
        if self.several:
            made = [plain_event(event) for event in self.several]
            changes["events"] = made if isinstance(call["events"], list | tuple) else made[0]
        if times is not None:
            changes["t_eval"] = numbers(times.detach() if isinstance(times, Tensor) else times)
        changes.update(_plain_options(call, args))
        with alone():
            result = call.run(**changes)
        mesh = Mesh(
            self.lifted, np.asarray(result.sol.ts), result.y.T if times is None else None, result.status == 0,
            call["method"], result.sol, call.diff, fast,
        )  # fmt: skip
        trajectory = Trajectory(mesh, begin, end, y0, values)
        _finish(call, result, trajectory, self.whole, self.several, args, begin, end, times)
        if result.status < 0 and isinstance(result.y, Tensor):
            result["y"] = _Unreached.apply(result.y, end, str(result.message))
        return result


class _Unreached(Function):
    """States of a solution that ended before its last time: by that time they have no derivative."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(y: Tensor, end: Tensor, message: str) -> Tensor:
        return y.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.message = inputs[2]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        if ctx.needs_input_grad[1]:
            raise _not_reached(ctx.message)
        return gradient, None, None

    @staticmethod
    def jvp(ctx: Any, y_dot: Any, end_dot: Any, _: Any) -> Any:
        if end_dot is not None:
            raise _not_reached(ctx.message)
        return y_dot


def _not_reached(message: str) -> AutogradError:
    return AutogradError(
        "SCIPY_NOT_CONVERGED",
        f"integrate.solve_ivp did not reach its last time, and a derivative by that is asked for: {message}",
        why="the states that were reached do not depend on it, and those that were meant do not exist",
        fix="end earlier, or differentiate the rows that there are by other things",
    )


def _plain_options(call: Call, args: tuple[Any, ...]) -> dict[str, Any]:
    given = dict(call["options"]) if call.given("options") else {}
    jac = given.get("jac")
    if callable(jac):
        given["jac"] = lambda t, y: numbers(joined(jac(made_here(np.array(t)), made_here(np.array(y)), *args)))
    return {"options": numbers(given)} if given else {}


def _finish(
    call: Call, result: Any, trajectory: Trajectory, whole: Lifted, several: list[Any], args: tuple[Any, ...],
    begin: Tensor, end: Tensor, times: Any,
) -> None:  # fmt: skip
    """Put tensors into the result."""
    plain, mesh = result.sol, trajectory.mesh
    terminal = None
    event_times: list[Any] = []
    event_states: list[Any] = []
    if result.t_events is not None:
        for k, (event, found) in enumerate(zip(several, result.t_events, strict=True)):
            function = _event_of(whole, event, args)
            pairs = [trajectory.event(function, float(t), call.diff) for t in found]
            event_times.append(pb.stack([t for t, _ in pairs]) if pairs else made_here(np.array(found)))
            event_states.append(pb.stack([y for _, y in pairs]) if pairs else made_here(np.array(result.y_events[k])))
            if pairs and result.status == 1 and found[-1] == mesh[-1]:
                terminal = pairs[-1]
        result["t_events"], result["y_events"] = event_times, event_states
    if times is None:
        y = trajectory.states.T
        if terminal is not None:
            y = pb.concat([y[:, :-1], terminal[1][:, None]], axis=1)
        result["y"] = y
        result["t"] = _times(result.t, begin, end if result.status == 0 else None, terminal)
    else:
        given = times if isinstance(times, Tensor) else np.asarray(times, dtype=float)
        count = len(result.t)
        result["y"] = trajectory.rows(given[:count]) if count else made_here(np.array(result.y))
        result["t"] = given[:count] if isinstance(given, Tensor) else made_here(np.array(result.t))
    result["sol"] = Dense(plain, trajectory) if call["dense_output"] else None


def _event_of(whole: Lifted, event: Any, args: tuple[Any, ...]) -> Callable[[Sequence[Any], Any, Any], Any]:
    own = whole.of(lambda t, y: joined(event(t, y, *args)).reshape(()))
    return lambda values, t, y: own(values, t, y)


def _times(found: Array, begin: Tensor, end: Tensor | None, terminal: Any) -> Tensor:
    first = begin.reshape(1) * 1.0
    if len(found) < 2:
        return first
    last = terminal[0] if terminal is not None else end
    middle = made_here(np.array(found[1:-1] if last is not None else found[1:]))
    return pb.concat([first, middle] if last is None else [first, middle, last.reshape(1) * 1.0])


def _not_mapped(name: str) -> AutogradError:
    return AutogradError(
        "SCIPY_DYNAMIC_SHAPE",
        f"{name} cannot run like this inside of vmap",
        why="every example takes steps of its own, and how many results there are is only known when it has run",
        fix="give t_eval, and neither events nor dense_output, inside of vmap; or stack the results of single calls",
    )


@declare("integrate.odeint", kind="A", by="y0, t, what the callback takes from anywhere, args")
def odeint(call: Call) -> Any:
    args = call.further
    y0, t = start(call["y0"]).reshape(-1), one_tensor(call["t"])
    times = t if isinstance(t, Tensor) else np.asarray(numbers(t), dtype=float)
    func, is_time_first = call["func"], call["tfirst"]

    def right(s: Any, y: Any) -> Any:
        return joined(func(s, y, *args) if is_time_first else func(y, s, *args)).reshape(-1)

    moving = [times] if isinstance(times, Tensor) else []
    with no_grad():
        first = example_of(moving[0])[0].detach().clone() if moving else made_here(np.array(times[0]))
        state = example_of(y0).detach().clone()
    lifted = lift(call.name, right, first, state)
    info: Any = None

    def one(y0: Tensor, *rest: Tensor) -> Tensor:
        nonlocal info
        own, values = (rest[0], rest[1:]) if moving else (times, rest)
        if not is_plain(y0, *rest):
            return mapped(call.name, one, y0, *rest)
        result, info = _odeint(call, lifted, y0, own, values)
        return result

    if is_traced(y0, *moving, *lifted.tensors):
        if call["full_output"]:
            refuse_traced(call.name, y0, *moving, *lifted.tensors)
        return opaque(call.name, one, (len(times), y0.shape[0]), y0.dtype, y0, *moving, *lifted.tensors)
    result = one(y0, *moving, *lifted.tensors)
    return (result, info) if call["full_output"] else result


def _odeint(call: Call, lifted: Lifted, y0: Tensor, times: Any, values: Sequence[Tensor]) -> tuple[Tensor, Any]:
    at = np.asarray(numbers(times.detach() if isinstance(times, Tensor) else times), dtype=float)
    fast = Fast(lifted, values) if call.diff.compile else None
    args = call.further

    def plain(y: Any, s: Any) -> Array:
        found = None if fast is None else fast("value", value_of, s, y)
        return plainly(lifted, values, s, y) if found is None else found

    changes: dict[str, Any] = {"func": plain, "y0": numbers(y0.detach()), "t": at, "args": (), "tfirst": False}
    changes["full_output"] = True
    if callable(call["Dfun"]):
        changes["Dfun"] = lambda y, s: numbers(joined(call["Dfun"](*((s, y) if call["tfirst"] else (y, s)), *args)))
    rtol, atol = call["rtol"] or 1.49012e-8, call["atol"] or 1.49012e-8
    with alone():
        found, info = call.run(**changes)
        dense = scipy_module("integrate").solve_ivp(  # the same solution once more, for what is between the points
            lambda s, y: plain(y, s), (at[0], at[-1]), changes["y0"], method="LSODA", rtol=rtol, atol=atol,
            dense_output=True,
        ).sol  # fmt: skip
    begin, end = (start(times[k]) for k in (0, -1))
    mesh = Mesh(lifted, np.asarray(dense.ts), None, True, "LSODA", dense, call.diff, fast)
    trajectory = Trajectory(mesh, begin, end, y0, values)
    return exactly(trajectory.rows(times).T, found), info
