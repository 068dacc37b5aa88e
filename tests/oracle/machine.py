"""The interpreter both sides share: run a program statement by statement and observe every tensor after each.

An observation must not disturb what it looks at. Reading `is_leaf` or `grad_fn` of a view rebuilds its history, so
those are read only by `observe` statements, for fresh results, and for tensors that are no views; everything else
here is passive. States are reported when they change, which is what keeps a run of 20 000 programs short.
"""

from __future__ import annotations

import collections
import copy
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from .statements import Program, Statement, compiled

Array = tuple[tuple[int, ...], str, bytes]


@dataclass(frozen=True, slots=True)
class Gradient:
    """A `.grad`: which object it is (numbered as they appear), its contents and whether it carries history."""

    token: int
    array: Array
    requires_grad: bool
    inference: bool


@dataclass(frozen=True, slots=True)
class State:
    """What can be seen of one tensor without disturbing it."""

    array: Array
    requires_grad: bool
    version: int | str
    is_view: bool
    base: str | None
    retains_grad: bool
    inference: bool
    is_leaf: bool | None
    grad: Gradient | None


@dataclass(slots=True)
class Observation:
    """One statement's outcome: an error code or None, what it returned that is no tensor, and the states that changed.

    `either` lists error codes that are as good as the outcome reported, for what the specification leaves open.
    """

    error: str | None = None
    detail: str = ""
    value: Any = None
    states: dict[str, State] = field(default_factory=dict)
    log: list[tuple[Any, ...]] = field(default_factory=list)
    grad_mode: bool = True
    either: tuple[str, ...] = ()
    fired: dict[str, int] = field(default_factory=dict)


class Machine:
    """Runs programs on one framework. Subclasses say how the framework spells what the specification names."""

    namespace: Any

    def __init__(self) -> None:
        self.environment: dict[str, Any] = {}
        self.states: dict[str, State] = {}
        self.log: list[tuple[Any, ...]] = []
        self.handles: dict[str, Any] = {}
        self.gradients: dict[int, tuple[int, Any]] = {}
        self.first_versions: dict[str, int] = {}
        self.observation = Observation()
        self.helpers = (self.hook, self.prehook, self.accumulated, self.handles, copy, types, collections)

    # ---- what a framework answers ----------------------------------------------------------------------------

    def array(self, x: Any) -> Array:
        """Shape, dtype name and bytes of a tensor."""
        raise NotImplementedError

    def error_code(self, error: BaseException) -> str:
        raise NotImplementedError

    def mode(self, name: str) -> Any:
        """A new context manager for the mode `name`."""
        raise NotImplementedError

    def narrower(self, g: Any) -> Any:
        """`g` with another floating dtype."""
        raise NotImplementedError

    # ---- running ---------------------------------------------------------------------------------------------

    def run(self, program: Program) -> list[Observation]:
        """One observation per statement. The last one sees every tensor, whatever its kind."""
        observations = [self.step(statement) for statement in program]
        if observations:
            self.observe(observations[-1], set())
        return observations

    def step(self, statement: Statement) -> Observation:
        self.observation = observation = Observation()
        self.log = observation.log
        if not all(name in self.environment for name in statement.args):
            observation.error = "SKIPPED"
            return observation
        results: tuple[Any, ...] = ()
        try:
            with self.modes(statement.modes):
                results = self.results(statement, self.execute(statement))
        except Exception as error:
            observation.error = self.error_code(error)
            observation.detail = f"{type(error).__name__}: {error}"
        self.bind(statement, results)
        observation.grad_mode = self.namespace.is_grad_enabled()
        if statement.kind != "observe":
            self.observe(observation, set(statement.out))
        return observation

    @contextmanager
    def modes(self, names: tuple[str, ...]) -> Iterator[None]:
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(self.mode(name))
            yield

    def execute(self, statement: Statement) -> Any:
        """Run the statement's text on its operands."""
        run = compiled(self.text(statement), len(statement.args))
        return run(self.namespace, self.helpers, *(self.environment[name] for name in statement.args))

    def text(self, statement: Statement) -> str:
        return statement.text

    def results(self, statement: Statement, value: Any) -> tuple[Any, ...]:
        """The tensors a statement names. What it returns besides is part of the observation."""
        if statement.kind == "observe":
            self.observation.value = value
        elif statement.kind == "grad":
            self.observation.value = tuple(part is None for part in value)
            return tuple(value)
        elif statement.out:
            return (value,) if len(statement.out) == 1 and not statement.facts.get("unpack") else tuple(value)
        return ()

    def bind(self, statement: Statement, results: tuple[Any, ...]) -> None:
        for name, result in zip(statement.out, results, strict=False):
            if result is None:
                continue
            self.environment[name] = result
            self.first_versions[name] = self.born_at(statement, result)
            if self.shares_counter(statement, name, result):
                self.first_versions[name] = self.first_versions.get(statement.args[0], 0)

    def born_at(self, statement: Statement, result: Any) -> int:
        """The version from which a new name counts: not 0 for gradients, which the engine may have written."""
        if statement.kind not in ("grad", "get_grad"):
            return 0
        # How often the engine wrote a gradient before handing it out is its own business.
        known = [other for other, tensor in self.environment.items() if tensor is result and other not in statement.out]
        return self.first_versions.get(known[0], 0) if known else self.raw_version(result)

    def shares_counter(self, statement: Statement, name: str, result: Any) -> bool:
        """Whether a new name counts versions together with the statement's operand."""
        if statement.kind in ("view", "views"):
            return self.view_of(name, result)[0]  # a reshape may have had to copy
        return statement.kind == "copy" or statement.text == "{0}.detach()"

    # ---- observing -------------------------------------------------------------------------------------------

    def observe(self, observation: Observation, fresh: set[str]) -> None:
        names = {id(tensor): name for name, tensor in self.environment.items()}
        for name, tensor in self.environment.items():
            state = self.state(name, tensor, names, name in fresh)
            known = self.states.get(name)
            if state != known:
                self.states[name] = state
                observation.states[name] = state

    def state(self, name: str, tensor: Any, names: dict[int, str], fresh: bool) -> State:
        is_view, base = self.view_of(name, tensor)
        return State(
            self.array(tensor),
            tensor.requires_grad,
            self.version(name, tensor),
            is_view,
            None if base is None else names.get(id(base), "unnamed"),
            tensor.retains_grad,
            tensor.is_inference(),
            None if is_view and not fresh else tensor.is_leaf,
            self.gradient(tensor.grad),
        )

    def view_of(self, name: str, tensor: Any) -> tuple[bool, Any]:
        return tensor._is_view(), tensor._base

    def raw_version(self, tensor: Any) -> int:
        return 0 if tensor.is_inference() else tensor._version

    def version(self, name: str, tensor: Any) -> int | str:
        try:
            version: int = tensor._version
        except RuntimeError as error:
            return self.error_code(error)
        return version - self.first_versions.get(name, 0)

    def gradient(self, grad: Any) -> Gradient | None:
        if grad is None:
            return None
        # Kept alive, so that an address is never reused for another gradient of the same program.
        token, _ = self.gradients.setdefault(id(grad), (len(self.gradients), grad))
        return Gradient(token, self.array(grad), grad.requires_grad, grad.is_inference())

    # ---- hooks -----------------------------------------------------------------------------------------------

    def hook(self, name: str, does: str) -> Callable[[Any], Any]:
        def run(g: Any) -> Any:
            self.log.append((name, self.array(g), g.requires_grad, self.namespace.is_grad_enabled()))
            return self.effect(does, g)

        return run

    def effect(self, does: str, g: Any) -> Any:
        """What a tensor hook returns, by the name of what it does."""
        if does == "scale":
            return g * 3.0
        if does == "same":
            return g
        if does == "sum":
            return g.sum()
        if does == "narrow":
            return self.narrower(g)
        if does == "write":
            g.mul_(2.0)
        return None

    def prehook(self, name: str, position: int) -> Callable[[tuple[Any, ...]], None]:
        def run(gs: tuple[Any, ...]) -> None:
            g = gs[position]
            self.log.append((name, None if g is None else self.array(g)))

        return run

    def accumulated(self, name: str) -> Callable[[Any], None]:
        def run(leaf: Any) -> None:
            self.log.append((name, self.array(leaf.grad)))

        return run
