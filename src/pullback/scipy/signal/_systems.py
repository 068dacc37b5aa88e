"""Linear systems by their matrices, coefficients or zeros and poles, by inputs and initial states: what SciPy computes
from them step by step, and their frequency responses."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import register
from pullback.scipy._composed import as_scipy, real_or_complex, watches
from pullback.scipy._surface import Call, declare, declare_class, joined, numbers, tensors
from pullback.tensors.tensor import Tensor

_BY = "what the system is made of, inputs, times, initial state"


_NAMES = {"TransferFunction": "num den", "ZerosPolesGain": "zeros poles gain", "StateSpace": "A B C D"}


class TensorSystem(tuple[Any, ...]):
    """A linear system whose parts are tensors: a tuple of these, and of the sampling time if it is discrete, which all
    functions take, with the methods of SciPy's systems."""

    dt: Any

    def __new__(cls, parts: Any, dt: Any = None) -> TensorSystem:
        made = super().__new__(cls, parts if dt is None else (*parts, dt))
        made.dt = dt
        return made

    def __getattr__(self, name: str) -> Any:
        kind = _KIND_BY_COUNT[len(self) - (self.dt is not None)]
        if name in _NAMES[kind].split():
            return self[_NAMES[kind].split().index(name)]
        raise AttributeError(f"a {kind} of tensors has no {name!r}")

    def step(self, *args: Any, **kwargs: Any) -> Any:
        """The response to a step."""
        return self._function("step")(self, *args, **kwargs)

    def impulse(self, *args: Any, **kwargs: Any) -> Any:
        """The response to an impulse."""
        return self._function("impulse")(self, *args, **kwargs)

    def output(self, *args: Any, **kwargs: Any) -> Any:
        """The response to an input."""
        return self._function("lsim")(self, *args, **kwargs)

    def freqresp(self, *args: Any, **kwargs: Any) -> Any:
        """The frequency response."""
        return self._function("freqresp")(self, *args, **kwargs)

    def bode(self, *args: Any, **kwargs: Any) -> Any:
        """Magnitude and phase."""
        return self._function("bode")(self, *args, **kwargs)

    def to_ss(self) -> TensorSystem:
        """The same by its matrices."""
        return TensorSystem(System(self, self.dt is not None).matrices(), self.dt)

    def to_tf(self) -> TensorSystem:
        """The same by its coefficients."""
        parts = tuple(self) if self.dt is None else tuple(self)[:-1]
        names = {3: "zpk2tf", 4: "ss2tf"}
        return TensorSystem(parts if len(parts) == 2 else getattr(pb.scipy.signal, names[len(parts)])(*parts), self.dt)

    def _function(self, name: str) -> Any:
        return getattr(pb.scipy.signal, name if self.dt is None else f"d{name}")


def _rebuilt(is_discrete: bool, parts: Any) -> TensorSystem:
    return TensorSystem(parts[:-1], parts[-1]) if is_discrete else TensorSystem(parts)


register(TensorSystem, lambda system: (tuple(system), system.dt is not None), _rebuilt)
_KIND_BY_COUNT = {len(names.split()): kind for kind, names in _NAMES.items()}


@declare_class("signal.lti", "signal.dlti", *(f"signal.{kind}" for kind in _NAMES))
def of_tensors(theirs: type) -> type:
    """A class of SciPy's that makes a `TensorSystem` of parts that are differentiated, and its own of others."""
    count = len(_NAMES.get(theirs.__name__, "").split())
    is_discrete = theirs.__name__ == "dlti"

    def new(cls: type, *system: Any, **kwargs: Any) -> Any:
        if not watches((system, kwargs)):
            return theirs(*map(numbers, system), **numbers(kwargs))
        if len(system) != (count or len(system)) or len(system) not in _KIND_BY_COUNT:
            raise NotImplementedError("a system of tensors is made of its parts, not of another system")
        dt = kwargs.get("dt", True if is_discrete else None)
        parts = [real_or_complex(joined(part)) for part in system]
        if len(parts) == 2:
            parts = list(pb.scipy.signal.normalize(*parts))
        return TensorSystem(map(pb.atleast_2d, parts) if len(parts) == 4 else parts, dt)

    known = {"__new__": new, "__doc__": theirs.__doc__, "__signature__": signature(theirs)}
    return type(theirs.__name__, (theirs,), known)


class System:
    """A system of SciPy's, with tensors: coefficients, or zeros, poles and gain, or matrices."""

    def __init__(self, given: Any, is_discrete: bool) -> None:
        self.dt: Any = None
        if isinstance(given, list | tuple):
            parts = list(given)
            if is_discrete:
                self.dt = parts.pop()
        else:  # one of SciPy's own, which holds numbers
            self.dt = given.dt
            kind = type(given).__name__.removesuffix("Continuous").removesuffix("Discrete")
            parts = [getattr(given, name) for name in _NAMES[kind].split()]
        self.parts = [real_or_complex(joined(part)) for part in parts]
        self.is_matrices = len(parts) == 4

    def matrices(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """A, B, C and D."""
        if self.is_matrices:
            return tuple(map(pb.atleast_2d, self.parts))  # type: ignore[return-value]
        name = "tf2ss" if len(self.parts) == 2 else "zpk2ss"
        return getattr(pb.scipy.signal, name)(*self.parts)

    def response(self, at: Tensor) -> Tensor:
        """The transfer function at these complex numbers."""
        if len(self.parts) == 2:
            num, den = (pb.atleast_1d(part).reshape(-1) for part in self.parts)
            return pb.polyval(num, at) / pb.polyval(den, at)
        if len(self.parts) == 3:
            zeros, poles, gain = self.parts
            over, under = (pb.prod(at[:, None] - part.reshape(-1), axis=1) for part in (zeros, poles))
            return gain * over / under
        a, b, c, d = self.matrices()
        inside = pb.linalg.solve(at[:, None, None] * np.eye(a.shape[0]) - a, pb.stack([b + 0j] * at.shape[0]))
        return (c @ inside + d)[:, 0, 0]


def _numbers(given: Any) -> Any:
    return tuple(map(numbers, given)) if isinstance(given, list | tuple) else given


def _steps(x: Tensor, inputs: list[Any], transposed: Tensor) -> Tensor:
    """The states from one on, each the one before times a matrix, and an input."""
    states = [x]
    for each in inputs:
        x = x @ transposed if each is None else x @ transposed + each
        states.append(x)
    return pb.stack(states)


def _squeezed(x: Tensor) -> Tensor:
    return x.reshape(tuple(length for length in x.shape if length != 1))


def _simulated(call: Call, system: System, inputs: Any, times: Any, initial: Any, interp: bool) -> Any:
    """As `scipy.signal.lsim`: exact for inputs that are constant or linear between the times."""
    a, b, c, d = system.matrices()
    count, width = a.shape[0], b.shape[1]
    at = np.ravel(numbers(times.detach() if isinstance(times, Tensor) else times))
    times = real_or_complex(joined(times)).reshape(-1)
    x = pb.zeros(count, dtype=a.dtype) if initial is None else real_or_complex(joined(initial)).reshape(-1)
    x = x + pb.zeros(count, dtype=a.dtype)
    if at[0] < 0:
        raise ValueError("Initial time must be nonnegative")
    if at[0] > 0:
        x = x @ pb.linalg.expm(a.T * times[0])
    has_input = watches(inputs) or (inputs is not None and bool(np.any(numbers(inputs))))
    u = pb.atleast_1d(real_or_complex(joined(inputs))) if has_input else None
    if u is not None:
        u = u.reshape((u.shape[0], -1)) if u.shape[0] == len(at) else pb.broadcast_to(u, (len(at), width))
    if len(at) > 1:
        if not np.allclose(np.diff(at), at[1] - at[0]):
            raise ValueError("Time steps are not equally spaced.")
        dt = times[1] - times[0]
        if u is None:
            states = _steps(x, [None] * (len(at) - 1), pb.linalg.expm(a.T * dt))
        else:
            side = pb.zeros((width, count))
            blocks = [[a * dt, b * dt], [side, pb.zeros((width, width))]]
            if interp:
                blocks = [
                    [*blocks[0], pb.zeros((count, width))],
                    [*blocks[1], pb.asarray(np.eye(width))],
                    [side, pb.zeros((width, 2 * width)), pb.zeros((width, 0))],
                ]
            moved = pb.linalg.expm(pb.concat([pb.concat(row, axis=1) for row in blocks]).T)
            later = moved[count + width :, :count] if interp else 0.0
            pushes = u[:-1] @ (moved[count : count + width, :count] - later)
            pushes = pushes + u[1:] @ later if interp else pushes
            states = _steps(x, list(pushes), moved[:count, :count])
    else:
        states = x[None]
    out = states @ c.T
    return times, _squeezed(out if u is None else out + u @ d.T), _squeezed(states)


@declare("signal.lsim", kind="C", by=_BY)
def lsim(call: Call) -> Any:
    if not watches(dict(call.bound.arguments)):
        return as_scipy(call)
    return _simulated(call, System(call["system"], False), call["U"], call["T"], call["X0"], bool(call["interp"]))


@declare("signal.step", "signal.impulse", kind="C", by=_BY)
def responses(call: Call) -> Any:
    """To a step, and to an impulse, which is an initial state. Times that SciPy chooses are constants."""
    if not watches(dict(call.bound.arguments)):
        return as_scipy(call)
    system = System(call["system"], False)
    times = call["T"]
    if times is None or np.ndim(numbers(times)) == 0:
        times = call.run(system=_numbers(call["system"]), T=numbers(times), X0=None)[0]
    if call.name.endswith("step"):
        ones = np.ones(np.shape(numbers(times)))
        return _simulated(call, system, ones, times, call["X0"], False)[:2]
    b = system.matrices()[1]
    start = b if call["X0"] is None else b + pb.atleast_1d(joined(call["X0"])).reshape(-1, 1)
    return _simulated(call, system, None, times, start[:, 0], False)[:2]


@declare("signal.freqresp", "signal.dfreqresp", kind="C", by="what the system is made of, w")
def frequency_response(call: Call) -> Any:
    if not watches(dict(call.bound.arguments)):
        return as_scipy(call)
    is_discrete = "whole" in call
    plain = call.run(system=_numbers(call["system"]), w=numbers(call["w"]))[0]  # also says what is wrong
    w = real_or_complex(joined(call["w"])) if watches(call["w"]) else tensors(plain)
    at = pb.exp(1j * w) if is_discrete else 1j * w
    return w, System(call["system"], is_discrete).response(at)


@declare("signal.bode", "signal.dbode", kind="C", by="what the system is made of, w")
def bode(call: Call) -> Any:
    if not watches(dict(call.bound.arguments)):
        return as_scipy(call)
    is_discrete = call.name.endswith("dbode")
    find = pb.scipy.signal.dfreqresp if is_discrete else pb.scipy.signal.freqresp
    w, y = find(call["system"], w=call["w"], n=call["n"])
    phase = pb.unwrap(pb.angle(y)) * (180.0 / np.pi)
    return w / System(call["system"], True).dt if is_discrete else w, 20.0 * pb.log10(pb.abs(y)), phase


def _discrete(system: System, u: Any, times: Any, initial: Any) -> tuple[Tensor, Tensor, Tensor]:
    """As `scipy.signal.dlsim`: one step after the other."""
    a, b, c, d = system.matrices()
    dt = float(numbers(joined(system.dt)))
    u = pb.atleast_1d(real_or_complex(joined(u)))
    u = u[:, None] if u.ndim == 1 else u
    if times is None:
        steps = np.linspace(0.0, (u.shape[0] - 1) * dt, u.shape[0])
    else:
        stop = float(numbers(times)[-1])
        steps = np.linspace(0.0, stop, int(np.floor(stop / dt)) + 1)
        u = pb.scipy.interpolate.make_interp_spline(numbers(times), u, k=1)(steps)
    x = pb.zeros(a.shape[0], dtype=a.dtype)
    x = x if initial is None else x + real_or_complex(joined(initial)).reshape(-1)
    states = _steps(x, list(u[:-1] @ b.T), a.T)
    return tensors(steps), states @ c.T + u @ d.T, states


@declare("signal.dlsim", kind="C", by=_BY)
def dlsim(call: Call) -> Any:
    if not watches(dict(call.bound.arguments)):
        return as_scipy(call)
    system = System(call["system"], True)
    found = _discrete(system, call["u"], call["t"], call["x0"])
    return found if system.is_matrices else found[:2]


@declare("signal.dstep", "signal.dimpulse", kind="C", by=_BY)
def discrete_responses(call: Call) -> Any:
    """The outputs for a step or an impulse at each of the inputs."""
    if not watches(dict(call.bound.arguments)):
        return as_scipy(call)
    system = System(call["system"], True)
    count = 100 if call["n"] is None else int(call["n"])
    times = np.linspace(0, count * float(numbers(joined(system.dt))), count, endpoint=False)
    times = times if call["t"] is None else np.atleast_1d(numbers(call["t"]))
    outs = []
    for k in range(system.matrices()[1].shape[1]):
        u = np.zeros((len(times), system.matrices()[1].shape[1]))
        u[: len(times) if call.name.endswith("dstep") else 1, k] = 1.0
        found = _discrete(system, u, times, call["x0"])
        outs.append(found[1])
    return found[0], tuple(outs)


