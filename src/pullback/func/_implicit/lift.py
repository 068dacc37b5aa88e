"""Functions that close over tensors, as functions of these tensors too.

A callback that is handed to a solver takes parameters from wherever Python finds names: closures, globals, attributes,
lists, partials. Nobody has to list them. One call inside an interception sees every operand of every primitive, and
those whose memory was not made during the call come from outside. In later calls others take their places.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.core.pytree import flatten, map_leaves
from pullback.core.state import changed, current, next_stamp, open_levels
from pullback.declare.op import Op
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray, levels_of, plain_array
from pullback.payloads.batched.crossing import leave_level
from pullback.payloads.traced.array import TracedArray
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad
from pullback.tape.modes import no_grad
from pullback.tape.transform.body import Transform, running
from pullback.tape.transform.interception import Interception, Interceptors, Proceed, as_seen
from pullback.tensors.tensor import Tensor, made_here

Function = Callable[..., Any]


def is_watched(tensor: Tensor) -> bool:
    """Does somebody differentiate, batch or trace this tensor, or what stands in its place in a callback?"""
    if _is_watched_itself(tensor):
        return True
    return bool(current().interceptors) and _is_watched_itself(as_seen(tensor))


def _is_watched_itself(tensor: Tensor) -> bool:
    if current().grad and requires_grad(tensor):
        return True
    if live_levels((tensor,)) or levels_of(tensor._data):
        return True
    payload = tensor._data.data if type(tensor._data) is BatchedArray else tensor._data
    return type(payload) is TracedArray


class _Finding(Interception):
    """Notes the watched tensors from outside, in the order of their first use."""

    def __init__(self, inside: Transform) -> None:
        super().__init__()
        self.inside = inside
        self.found: dict[int, Tensor] = {}
        self._made: dict[int, Tensor] = {}  # kept, so that no other tensor gets their identity

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        for operand in operands:
            if isinstance(operand, Tensor):
                self.seen(operand, current().interceptors)
        out = proceed(op, operands, params)
        for part in out if isinstance(out, tuple) else (out,):
            if isinstance(part, Tensor):  # a view of a tensor from outside is made here, its memory is not
                self._made[id(part)] = part
        return out

    def seen(self, tensor: Tensor, outer: Interceptors) -> Tensor:
        if id(tensor) not in self._made and not self.inside.made(tensor):
            value = as_seen(tensor, outer)
            if value is not tensor or _is_watched_itself(value):  # a stand-in is gone when derivatives are taken
                self.found.setdefault(id(tensor), tensor)
        return tensor

    def stand_in(self, tensors: Iterable[Tensor]) -> None:
        self._made.update((id(tensor), tensor) for tensor in tensors)

    def number_taken(self) -> None:
        raise AutogradError(
            "SCIPY_CALLBACK_DETACHED",
            f"the function given to {self.inside.name} takes a number out of a tensor that is being differentiated",
            why="no derivative flows through a Python number, so the result would be a constant of that tensor",
            fix="compute with pb functions and return the tensor; write x.item() if a constant is meant",
        )


class _Replacing(Interception):
    """Puts other tensors in the places of some."""

    def __init__(self, others: dict[int, Tensor]) -> None:
        super().__init__()
        self._others = others

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        given = [self._others.get(id(x), x) if isinstance(x, Tensor) else x for x in operands]
        return proceed(op, tuple(given), params)

    def seen(self, tensor: Tensor, outer: Interceptors) -> Tensor:
        return self._others.get(id(tensor), tensor)


class _Fixing(Interception):
    """Lets a capture be for the numbers of a trace that are operands, wherever they were found."""

    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        _fix_numbers(operands, set())
        return proceed(op, operands, params)


class Lifted:
    """A function of its arguments as one of what it takes from outside as well.

    `tensors` are what it takes, `lifted(values, *args)` calls it with `values` in their places. (Inside the function of
    another solver, `tensors` are what stands there for the `_names` that the function knows.)
    """

    __slots__ = ("_names", "function", "known", "name", "tensors")

    def __init__(self, function: Function, name: str, names: Sequence[Tensor] = (), known: Any = None) -> None:
        self.function = function
        self.name = name
        self.known = known  # compiled code that stands for the function
        self._names = list(names)
        self.tensors = [as_seen(tensor) for tensor in names]

    def __call__(self, values: Sequence[Any], *args: Any) -> Any:
        # What stands for a name inside of another callback does so only while that runs: derivatives come later.
        if all(value is name for value, name in zip(values, self._names, strict=True)):
            return self.function(*args)
        others = {id(own): value for own, value in zip(self._names, values, strict=True)}
        # An argument that is one of the tensors from outside as well, as the limit of an integral may be, stays itself.
        args = tuple([arg.clone() if id(arg) in others else arg for arg in args])
        with running(Transform(self.name)), _Replacing(others):
            out = self.function(*args)
        return map_leaves(lambda leaf: others.get(id(leaf), leaf), out)

    def at(self, *args: Any) -> Lifted:
        """The same with what the function takes from outside for these arguments as well."""
        names = {id(tensor): tensor for tensor in (*self._names, *lift(self.name, self.function, *args)._names)}
        return Lifted(self.function, self.name, list(names.values()))

    def check(self, values: Sequence[Any], *args: Any) -> None:
        """Raise if the function takes something from outside, for these arguments, that has no place here."""
        inside = Transform(self.name)
        finding = _Finding(inside)
        with changed(grad=True), running(inside), finding:
            self(values, *_own(args))
        known = {id(value) for value in values} | {id(name) for name in self._names}
        if any(key not in known for key in finding.found):
            raise AutogradError(
                "SCIPY_CALLBACK_CHANGED",
                f"the function given to {self.name} uses other tensors at the solution than at the start",
                why="derivatives by tensors that are met on the way cannot be found inside of vmap",
                fix="let the function use all its parameters in every call, as pb.where does",
            )

    def of(self, function: Function) -> Lifted:
        """Another function, with the same tensors from outside: it is a part of this one."""
        return Lifted(function, self.name, self._names)


def lift(name: str, function: Function, *args: Any) -> Lifted:
    """`function` with the tensors from outside that it uses when it is called with these arguments.

    `name` is the solver's, for messages. A number that is taken out of a tensor on the way ends its derivative, which
    is an error here: the solver would find nothing wrong.
    """
    if current().trace is not None:  # a trace makes inputs of arrays when they are first seen: see them before
        _fix_numbers(function, set())
        with running(Transform(name)), _Fixing():
            function(*_own(args))
    inside = Transform(name)
    finding = _Finding(inside)
    with running(inside), finding:
        out = function(*_own(args))
        for leaf in flatten(out)[0]:  # one that it returns as it is
            if isinstance(leaf, Tensor):
                as_seen(leaf)
    return Lifted(function, name, list(finding.found.values()))


def _fix_numbers(x: Any, met: set[int]) -> None:
    """Let a capture be for the numbers of a trace that a callback leads to: a node of the graph calls it, and has no
    operands for them."""
    if id(x) in met:
        return
    met.add(id(x))
    if hasattr(type(x), "settle"):
        x.settle("a solver's callback")
    inside: list[Any] = []
    if isinstance(x, FunctionType):
        inside = [*(cell.cell_contents for cell in x.__closure__ or () if cell != CellType()), x.__defaults__]
        inside += [x.__kwdefaults__, *(x.__globals__.get(name) for name in x.__code__.co_names)]
    elif isinstance(x, MethodType):
        inside = [x.__func__, x.__self__]
    elif isinstance(x, functools.partial):
        inside = [x.func, x.args, x.keywords]
    elif isinstance(x, (tuple, list)):
        inside = list(x)
    elif isinstance(x, dict):
        inside = list(x.values())
    elif not isinstance(x, (type, ModuleType, Tensor)):
        inside = list(getattr(x, "__dict__", {}).values())
    for each in inside:
        _fix_numbers(each, met)


def _own(args: Sequence[Any]) -> list[Any]:
    """Arguments whose memory is made where this is called."""
    return [arg.clone() if isinstance(arg, Tensor) else arg for arg in args]


def example_of(tensor: Tensor) -> Tensor:
    """A tensor as the first example of every vmap has it."""
    for level in reversed(levels_of(tensor._data)):
        tensor = leave_level(tensor, axis=0, level=level)[0]
    return tensor


def constant_example(tensor: Tensor) -> Tensor:
    """The same, as a constant."""
    if type(tensor._data) is np.ndarray:
        return made_here(tensor._data)
    with no_grad():
        return example_of(tensor).detach()


def is_plain(*tensors: Tensor) -> bool:
    """Are these arrays, neither batched nor traced, whatever history or tangents they have?"""
    return all(type(tensor._data) is np.ndarray or array_of(tensor) is not None for tensor in tensors)


def array_of(tensor: Tensor) -> Any:
    """The numbers of a tensor that is neither batched nor traced, otherwise None."""
    return plain_array(tensor._data)


def changed_callback(name: str) -> AutogradError:
    """What is raised where a callback gives other values in backward than it gave to the solver."""
    return AutogradError(
        "SCIPY_CALLBACK_CHANGED",
        f"the function given to {name} has other values now than when {name} called it",
        why="derivatives call it again, and something that it looks at was changed since: a global variable, an array, "
        "an attribute",
        fix="give it what changes as an argument, args=(k,), or take the gradient before it changes",
    )


def is_settled(*tensors: Tensor) -> bool:
    """Are these arrays, and does nobody ask for derivatives of what is computed from them now, in either mode?"""
    state = current()
    return not state.grad and not state.interceptors and is_plain(*tensors) and not live_levels(tensors)


def alone() -> AbstractContextManager[Any]:
    """A block that nobody differentiates: no history, no tangents."""
    return changed(grad=False, forward_mask=next_stamp()) if open_levels else no_grad()
