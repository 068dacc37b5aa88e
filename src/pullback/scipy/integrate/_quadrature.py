"""Integrals: SciPy chooses the nodes, and the derivative of the integral is that of the sum on them.

`dI = (integral of df) + f(b) db - f(a) da`. The integral of `df` is an `Integral` of its own, with the same limits, so
derivatives of every order follow, mixed ones by limits and parameters too. It is computed on the partition that SciPy
ended with; where its own error estimate says that this is not enough, SciPy integrates it adaptively.
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

import pullback as pb
from pullback.autograd.function import Function
from pullback.compiler.scalar_source import RAISED
from pullback.core.frames import warn
from pullback.errors import TraceError
from pullback.func._grad import vjp
from pullback.func._implicit.lift import alone, array_of, changed_callback, constant_example, is_plain, is_settled, lift
from pullback.func._implicit.linear import Array
from pullback.func._implicit.node import applied
from pullback.func._jvp import jvp
from pullback.func._vmap import vmap
from pullback.scipy._arrays import is_differentiated
from pullback.scipy._compiled import Fast, flat_of, known_lift, value_of
from pullback.scipy._opaque import is_traced, opaque
from pullback.scipy._surface import Call, Rule, declare, joined, no_rule, numbers, scipy_module
from pullback.scipy.integrate._rules import AT_ONCE, Rules, inside
from pullback.scipy.optimize._problem import bound_to, start
from pullback.tape.modes import no_grad
from pullback.tensors.tensor import Tensor, made_here

_FEW = 210  # nodes that are evaluated one after the other, if there is code on numbers


class Integrand:
    """What is integrated: `function(t, values)`, a vector, and how. `first` is what SciPy is asked for at the start."""

    def __init__(
        self,
        name: str,
        function: Callable[[Tensor, Sequence[Any]], Any],
        rules: Rules | None = None,
        first: Callable[[float, float, Sequence[Tensor]], tuple[Array, Rules]] | None = None,
        fast: Callable[[Sequence[Tensor]], Fast] | None = None,
        origin: tuple[Integrand, int] | None = None,
    ) -> None:
        self.fast = fast
        self._origin = origin  # what this is a derivative of, and where its own values end
        self.name = name
        self.function = function
        self.rules = rules
        self.first = first
        self.probe: tuple[float, Array] | None = None

    def check(self, values: Sequence[Tensor], by_code: bool) -> None:
        """Raise if the function is not what it was when SciPy integrated. Compiled code that has all numbers for itself
        says nothing of the function as it is now, which is asked where it will be used."""
        if self._origin is not None:
            origin, end = self._origin
            origin.check(values[:end], False)
        if self.probe is None or not is_plain(*values):
            return
        at, before = self.probe
        fast = self.fast(values) if by_code and self.fast is not None else None
        if fast is not None and not fast.is_traced:
            fast = None
        computed = None if fast is None else fast.on_numbers("value")
        if computed is not None and before.size == 1:
            with suppress(*RAISED):
                if math.isclose(np.sum(computed(at)[0]), before.item(), rel_tol=1e-7, abs_tol=1e-12):
                    return
        found = None if fast is None else fast("value", value_of, at)
        if found is None:
            with alone():
                found = numbers(joined(self.function(made_here(np.array(at)), values)))
        if not np.allclose(found.reshape(-1), before.reshape(-1), rtol=1e-7, atol=1e-12, equal_nan=True):
            raise changed_callback(self.name)

    def value(self, a: Tensor, b: Tensor, values: Sequence[Tensor]) -> Array:
        """The integral, for plain limits and values."""
        low, high = float(numbers(a)), float(numbers(b))
        if self.first is not None:
            value, self.rules = self.first(low, high, values)
            self.probe = self.rules.probe
            return value
        assert self.rules is not None
        return self.rules.integrated(lambda t: self.function(t, values), low, high)

    def used(self) -> Integrand:
        """The integrand with the rules of the integral that was computed last."""
        used = Integrand(self.name, self.function, self.rules, fast=self.fast, origin=self._origin)
        used.probe = self.probe
        return used

    def pulled_by_rule(self, ends: Sequence[Tensor], values: Sequence[Tensor], gradient: Tensor) -> list[Array] | None:
        """The gradients of the values by compiled code, if that is accurate enough on the partition as it is."""
        rules = self.rules
        if self.fast is None or rules is None or rules.intervals is None or len(rules.intervals) > AT_ONCE:
            return None
        if not is_settled(gradient, *ends, *values):
            return None
        g = array_of(gradient)
        nodes, kronrod, gauss = rules.nodes()
        fast = self.fast(values)
        both = _pulled_by_numbers(fast, values, nodes, (kronrod, gauss), g) or []
        length = 1 << max(5, (nodes.size - 1).bit_length())
        nodes = np.concatenate([nodes, np.full(length - nodes.size, nodes[0])])
        for weights in (kronrod, gauss) if not both else ():
            arriving = np.zeros((length, g.size))
            arriving[: weights.size] = weights[:, None] * g
            found = fast.pulled(f"nodes {length}", _at_all, [nodes], arriving)
            if found is None:
                return None
            both.append([np.zeros(value.shape) if part is None else part for part, value in zip(found[:-1], values)])
        for value, other in zip(*both, strict=True):
            if not np.all(np.abs(value - other) <= 10 * np.maximum(rules.epsabs, rules.epsrel * np.abs(value))):
                return None
        return both[0]

    def pulled(self) -> Integrand:
        """The integrand of the gradients of the values. The gradient of the integral comes behind these."""

        def function(t: Tensor, given: Sequence[Any]) -> Any:
            *values, gradient = given
            _, pull = vjp(lambda *each: joined(self.function(t, each)).reshape(-1), *values)
            return pb.concat([part.reshape(-1) for part in pull(gradient)])

        return Integrand(self.name, function, self.rules, origin=(self, -1))

    def pushed(self, count: int) -> Integrand:
        """The integrand of the tangent of the integral. The tangents come behind the values."""

        def function(t: Tensor, given: Sequence[Any]) -> Any:
            values, tangents = given[:count], given[count:]
            return jvp(lambda *each: joined(self.function(t, each)).reshape(-1), tuple(values), tuple(tangents))[1]

        return Integrand(self.name, function, self.rules, origin=(self, count))

    def at(self, end: Tensor, values: Sequence[Any]) -> Tensor:
        """The integrand at an end: what the integral changes by if it moves."""
        return joined(self.function(end, values)).reshape(-1)


def integrated(integrand: Integrand, a: Tensor, b: Tensor, *values: Tensor) -> Tensor:
    """The integral of an `Integrand` from `a` to `b`, a vector."""

    def compute() -> tuple[Array, dict[str, Any], bool]:
        value = np.array(integrand.value(a, b, values)).reshape(-1)
        return value, {"integrand": integrand.used(), "moves": _moves(a, b)}, False

    return applied(Quad, integrand, (a, b, *values), compute)


def _moves(*ends: Tensor) -> list[bool]:
    """Infinite ends do not move."""
    return [math.isfinite(end._data) for end in ends]


class Quad(Function):
    """The integral of an `Integrand` from `a` to `b`, a vector."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(integrand: Integrand, a: Tensor, b: Tensor, *values: Tensor) -> Tensor:
        return made_here(np.array(integrand.value(a, b, values)).reshape(-1))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        integrand, a, b, *values = inputs
        ctx.integrand = integrand.used()
        ctx.moves = _moves(a, b)
        ctx.save_for_backward(a, b, *values)
        ctx.save_for_forward(a, b, *values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        a, b, *values = ctx.saved_tensors
        ends: list[Any] = [None, None]
        wanted = [moves and needed for moves, needed in zip(ctx.moves, ctx.needs_input_grad[1:3], strict=True)]
        ctx.integrand.check(values, not any(wanted))
        for k, (sign, end) in enumerate(((-1.0, a), (1.0, b))):
            if wanted[k]:
                ends[k] = sign * (ctx.integrand.at(end, values) * gradient).sum()
        parts: list[Any] = []
        found = ctx.integrand.pulled_by_rule((a, b), values, gradient) if values else None
        if found is not None:
            return (None, *ends, *map(made_here, found))
        if not any(wanted):
            ctx.integrand.check(values, False)
        if values:
            whole = integrated(ctx.integrand.pulled(), a, b, *values, gradient)
            first = 0
            for value in values:
                size = int(np.prod(value.shape))
                parts.append(whole[first : first + size].reshape(value.shape))
                first += size
        return (None, *ends, *parts)

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Tensor:
        a, b, *values = ctx.saved_tensors
        out: Any = 0.0
        for k, (sign, end) in enumerate(((-1.0, a), (1.0, b))):
            if ctx.moves[k] and tangents[k] is not None:
                out = out + sign * ctx.integrand.at(end, values) * tangents[k]
        if values:
            moves = [move if move is not None else value * 0 for move, value in zip(tangents[2:], values, strict=True)]
            out = out + integrated(ctx.integrand.pushed(len(values)), a, b, *values, *moves)
        return out


def _pulled_by_numbers(
    fast: Fast, values: Sequence[Tensor], nodes: Array, weights: Sequence[Array], g: Array
) -> list[list[Array]] | None:
    """For each of the weights of the nodes, the gradients of the values, by code on numbers, if there is some."""
    if len(nodes) > _FEW or g.dtype != np.float64:
        return None
    pull = fast.pull_on_numbers("integrand", flat_of, nodes[0], g)
    if pull is None:
        return None
    arriving = g.tolist()
    try:
        rows = [_together(pull(node, arriving)[:-1]) for node in nodes.tolist()]
    except RAISED:
        return None
    table = np.array(rows).reshape(len(rows), -1)
    sums = [weight @ table for weight in weights]
    ends = np.cumsum([0, *(int(np.prod(value.shape)) for value in values)]).tolist()
    return [[whole[low:high].reshape(value.shape) for value, low, high in zip(values, ends, ends[1:])]
            for whole in sums]  # fmt: skip


def _together(parts: Sequence[Any]) -> list[float]:
    """Numbers and lists of them as one list."""
    return [number for part in parts for number in (part if type(part) is list else (part,))]


def _at_all(function: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    return lambda nodes: vmap(lambda t: joined(function(t)).reshape(-1))(nodes)


def _example(end: Tensor, given: Any) -> float:
    """A limit as a number, to try the integrand beside it; one that has none while a function is traced is any."""
    if is_traced(end):
        return 0.5 if isinstance(given, Tensor) else float(given)
    return float(constant_example(end)._data)


def integral(
    call: Call,
    function: Callable[[Tensor], Any],
    ends: tuple[Any, Any],
    first: Callable[..., tuple[Array, Rules]],
    size: int = 1,
) -> Tensor:
    """The integral of a callback, as a function of its ends and of all that the callback takes from outside.

    `first(function, number, a, b)` asks SciPy for the value, a vector of this `size`, and says how derivatives are
    integrated; `number` is the function where that gives one number.
    """
    a, b = start(ends[0]), start(ends[1])
    with no_grad():
        low, high = (_example(end, given) for end, given in zip((a, b), ends, strict=True))
    lifted = (known_lift if call.diff.compile else lift)(call.name, function, made_here(np.array(inside(low, high))))

    kept: list[Fast] = []

    def fast_for(values: Sequence[Tensor]) -> Fast:
        """The callback for these values: those that SciPy integrated with, most often."""
        if not kept or len(values) != len(lifted.tensors) or any(map(operator.is_not, values, lifted.tensors)):
            return Fast(lifted, values)
        return kept[0]

    def computed(low: float, high: float, values: Sequence[Tensor]) -> tuple[Array, Rules]:
        fast = fast_for(values) if call.diff.compile else None
        if fast is not None and all(map(operator.is_, values, lifted.tensors)):
            kept[:] = [fast]

        def at(t: float) -> Array:
            found = None if fast is None else fast("value", value_of, t)
            if found is None:
                found = numbers(joined(lifted(values, made_here(np.array(t)))).detach())
            if not probe:
                probe[:] = [(float(t), found)]
            return found

        def number(t: float) -> float:
            return at(t).item()

        def number_by_code(t: float) -> float:
            try:
                return computed_at(t)[0]  # type: ignore[misc]
            except RAISED:
                return number(t)

        probe: list[tuple[float, Array]] = []
        computed_at = None if fast is None else fast.on_numbers("value")
        if computed_at is not None:
            middle = inside(low, high)
            with suppress(*RAISED):
                found = computed_at(middle)[0]
                if type(found) is float:
                    probe = [(middle, np.array(found))]
        value, rules = first(at, number_by_code if probe else number, low, high)
        rules.probe = probe[0] if probe else None
        return value, rules

    integrand = Integrand(
        call.name,
        lambda t, values: lifted(values, t),
        first=computed,
        fast=fast_for if call.diff.compile else None,
    )
    if is_traced(a, b, *lifted.tensors):

        def run(*given: Tensor) -> Tensor:
            own = Integrand(integrand.name, integrand.function, first=computed, fast=integrand.fast)
            return integrated(own, *given)

        return opaque(call.name, run, (size,), np.float64, a, b, *lifted.tensors)
    if is_plain(a, b, *lifted.tensors):  # nobody maps over anything
        with alone():
            known = [computed(low, high, lifted.tensors)]
        integrand.first = lambda low, high, values: known[0]
    return integrated(integrand, a, b, *lifted.tensors)


@declare("integrate.quad", kind="A", by="a, b, what the callback takes from anywhere, args")
def quad(call: Call) -> Any:
    function = bound_to(call["func"], call["args"])
    if call["complex_func"]:
        call.put("complex_func", False)
        parts = [_quad(call, lambda t: _real(function(t))), _quad(call, lambda t: _imag(function(t)))]
        value = parts[0][0] + 1j * parts[1][0]
        error = parts[0][1][0] + 1j * parts[1][1][0]
        if not call["full_output"]:
            return value, error
        return value, error, {"real": tuple(parts[0][1][1:]), "imag": tuple(parts[1][1][1:])}
    if is_differentiated(call["points"]):
        return _between_points(call)
    value, further = _quad(call, function)
    further = further or [_not_known(call.name)]  # nothing has run while a function is traced
    return (value, *further) if call["full_output"] else (value, further[0])


class _NotKnown:
    """What a trace has in the place of an error estimate: whoever computes with it ends the trace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _refuse(self, *_: Any) -> Any:
        raise TraceError(
            f"the error estimate of scipy.{self._name} is asked for inside of a compiled function",
            why="the integral is computed when the compiled function is called",
            fix="ask for it outside of the compiled function",
        )

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = __float__ = __lt__ = __gt__ = _refuse


def _not_known(name: str) -> Any:
    return _NotKnown(name)


def _between_points(call: Call) -> Any:
    """The integral as the sum of those between points that move. They end just before and begin just behind a point,
    so that a jump of the integrand there moves the integral with it."""
    if call["full_output"] or call["weight"] is not None:
        raise no_rule(Rule(call.name, "X", reason="with full_output or weight points are constants"), "points")
    points = joined(call["points"]).reshape(-1)
    order = np.argsort(numbers(points), kind="stable")
    ends: list[Any] = [call["a"]]
    for k in order:
        gap = 1e-13 * (1 + abs(float(numbers(points)[k])))
        ends += [points[k] - gap, points[k] + gap]
    ends.append(call["b"])
    value: Any = 0.0
    error = 0.0
    for low, high in zip(ends[::2], ends[1::2], strict=True):
        part = Call(call.name, call.plain, call.bound, call.diff)
        part.bound = inspect.BoundArguments(call.bound.signature, {**call.bound.arguments, "a": low, "b": high})
        part.put("points", None)
        own, further = _quad(part, bound_to(call["func"], call["args"]))
        value, error = value + own, error + further[0]
    return value, error


def _real(x: Any) -> Any:
    return pb.real(joined(x))


def _imag(x: Any) -> Any:
    return pb.imag(joined(x))


def _quad(call: Call, function: Callable[[Tensor], Any]) -> tuple[Tensor, list[Any]]:
    further: list[Any] = []
    more = {name: call[name] for name in ("wvar", "wopts", "maxp1", "limlst") if call.given(name)}

    def first(_: Any, number: Callable[[float], float], a: float, b: float) -> tuple[Array, Rules]:
        rules = Rules(call["epsabs"], call["epsrel"], call["limit"], call["points"], call["weight"], numbers(more))
        changes: dict[str, Any] = {"a": a, "b": b, "args": (), "full_output": 1, **numbers(more)}
        if call["points"] is not None:
            changes["points"] = numbers(call["points"])
        value, *rest = call.run(func=number, **changes)
        further[:] = rest
        info = rest[1]
        if call["weight"] is None and math.isfinite(b - a) and "alist" in info:
            rules.intervals = np.stack([info["alist"][: info["last"]], info["blist"][: info["last"]]], axis=1)
            if a == b:  # QUADPACK does not even look
                rules.intervals = np.array([[a, b]])
        if len(rest) > 2 and not call["full_output"]:
            warn(rest[2], scipy_module("integrate").IntegrationWarning)
        return np.array([value]), rules

    return integral(call, function, (call["a"], call["b"]), first)[0], further


@declare("integrate.quad_vec", kind="A", by="a, b, what the callback takes from anywhere, args")
def quad_vec(call: Call) -> Any:
    function = bound_to(call["f"], call["args"])
    further: list[Any] = []
    with no_grad():
        low, high = (_example(start(call[name]), call[name]) for name in ("a", "b"))
        shape = tuple(joined(function(made_here(np.array(inside(low, high))))).shape)

    def flat(t: Tensor) -> Any:
        return joined(function(t)).reshape(-1)

    def first(plain: Callable[[float], Array], _: Any, a: float, b: float) -> tuple[Array, Rules]:
        rules = Rules(call["epsabs"], call["epsrel"], call["limit"], call["points"], None, {})
        changes: dict[str, Any] = {"a": a, "b": b, "args": (), "full_output": True, "workers": 1}
        if call["points"] is not None:
            changes["points"] = numbers(call["points"])
        value, *rest = call.run(f=plain, **changes)
        further[:] = rest
        if np.isfinite([a, b]).all():
            rules.intervals = np.asarray(rest[1].intervals)
        return np.asarray(value).reshape(-1), rules

    value = integral(call, flat, (call["a"], call["b"]), first, int(np.prod(shape))).reshape(shape)
    further = further or [_not_known(call.name)]
    return (value, *further) if call["full_output"] else (value, further[0])


def _inner(call: Call, function: Callable[..., Any], low: Any, high: Any, *outer: Any) -> Any:
    """The inner of two integrals, whose limits may be functions of the outer variables."""
    ends = [end(*outer) if callable(end) else end for end in (low, high)]
    own = pb.scipy.integrate.quad
    return own(function, *ends, epsabs=call["epsabs"], epsrel=call["epsrel"], diff=call.diff)


@declare("integrate.dblquad", kind="A", by="limits, what callbacks take from anywhere, args")
def dblquad(call: Call) -> Any:
    args = call.further

    def outer(x: Tensor) -> Tensor:
        return _inner(call, lambda y: call["func"](y, x, *args), call["gfun"], call["hfun"], x)[0]

    return _inner(call, outer, call["a"], call["b"])


@declare("integrate.tplquad", kind="A", by="limits, what callbacks take from anywhere, args")
def tplquad(call: Call) -> Any:
    args = call.further

    def middle(x: Tensor, y: Tensor) -> Tensor:
        return _inner(call, lambda z: call["func"](z, y, x, *args), call["qfun"], call["rfun"], x, y)[0]

    def outer(x: Tensor) -> Tensor:
        return _inner(call, lambda y: middle(x, y), call["gfun"], call["hfun"], x)[0]

    return _inner(call, outer, call["a"], call["b"])


@declare("integrate.nquad", kind="A", by="ranges, what callbacks take from anywhere, args")
def nquad(call: Call) -> Any:
    args = () if call["args"] is None else call["args"] if isinstance(call["args"], tuple | list) else (call["args"],)
    ranges = call["ranges"]
    options: Any = call["opts"] if isinstance(call["opts"], list | tuple) else [call["opts"] or {}] * len(ranges)

    def integrate(depth: int, inner: tuple[Any, ...]) -> Any:
        """The integral over variable `depth` and those before it, the later ones given."""
        ends = ranges[depth](*inner, *args) if callable(ranges[depth]) else ranges[depth]
        own = options[depth](*inner, *args) if callable(options[depth]) else options[depth]

        def function(t: Tensor) -> Any:
            return call["func"](t, *inner, *args) if depth == 0 else integrate(depth - 1, (t, *inner))[0]

        return pb.scipy.integrate.quad(function, *ends, diff=call.diff, **own)

    value, error = integrate(len(ranges) - 1, ())[:2]
    return (value, error, {"neval": 0}) if call["full_output"] else (value, error)
