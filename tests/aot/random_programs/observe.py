"""Run a program on one side, and write down everything that its caller can see."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pullback as pb
from pullback.core.pytree import flatten

from .program import MODES, Program


@dataclass(frozen=True)
class State:
    """One object as its holder sees it. `first` is the number of the first object that is the same."""

    name: str
    first: int
    kind: str
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    dtype: str = ""
    values: bytes = b""
    writeable: bool = True
    version: int = 0
    requires_grad: bool = False
    is_leaf: bool = True
    has_history: bool = False
    base: str = ""
    retains_grad: bool = False
    inference: bool = False


@dataclass(frozen=True)
class Picture:
    """All objects at one moment, and which of them share memory, and how far apart they begin."""

    states: tuple[State, ...]
    shared: frozenset[tuple[int, int, int]]
    grad_mode: bool
    structure: str = ""


@dataclass
class Run:
    """What happened, step by step: a name, an error or None, and what was seen afterwards."""

    steps: list[tuple[str, str | None, Any]] = field(default_factory=list)
    detail: dict[str, str] = field(default_factory=dict)

    def attempt(self, name: str, action: Callable[[], Any], seen: Callable[[], Any]) -> bool:
        """Do something, and note the error or what is seen then."""
        try:
            action()
        except Exception as error:
            self.steps.append((name, error_name(error), None))
            self.detail[name] = str(error)
            return False
        self.steps.append((name, None, seen()))
        return True


def error_name(error: BaseException) -> str:
    """What of an error the two sides must have in common."""
    code = getattr(error, "code", "")
    name = "TypeError" if isinstance(error, TypeError) else type(error).__name__  # NumPy has subclasses for casts
    return f"{name} {code}".strip()


class Side:
    """The arguments of one call, its results, and what is done with them."""

    def __init__(self, program: Program, function: Callable[..., Any]) -> None:
        self.program = program
        self.function = function
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.scope = program.scope()
        self.arguments = [self.scope[name] for name in program.parameters]
        self.objects: list[tuple[str, Any]] = list(self.scope.items())
        self.structure = ""
        self.run = Run()

    def observed(self) -> Run:
        """Call the function, differentiate, write to results, differentiate again."""
        grad_mode = pb.is_grad_enabled()
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                self._observe()
            finally:
                pb.set_grad_enabled(grad_mode)
        return self.run

    def _observe(self) -> None:
        run, before = self.run, self.picture()
        if not run.attempt("call", self.call, self.picture):
            run.steps.append(("arguments after the error", None, (before, self.picture())))
            return
        pb.set_grad_enabled(True)
        if self.program.order == 2:
            self.differentiate("backward of the backward", self.twice)
        self.differentiate("backward", lambda: self.backward(True))
        for number, statement in enumerate(self.program.later):
            text = statement.text
            if statement.modes:
                text = f"with {MODES[statement.modes[0]]}:\n    {text}"
            run.attempt(f"later {number}", lambda text=text: self.later(text), self.picture)  # type: ignore[misc]
        self.differentiate("backward again", lambda: self.backward(False))
        self.differentiate("backward once more", lambda: self.backward(False))

    def differentiate(self, name: str, action: Callable[[], None]) -> None:
        """Note the gradients. How many had arrived before an error is a matter of order, so then all are dropped."""
        if not self.run.attempt(name, action, self.gradients):
            for _, x in self.objects:
                if isinstance(x, pb.Tensor) and (is_leaf(x) or x.retains_grad):
                    x.grad = None

    def call(self) -> None:
        """Call the function, and remember its results."""
        pb.random.manual_seed(0)
        leaves, structure = flatten(self.function(*self.arguments))
        self.structure = str(structure)
        self.objects += [(f"out[{k}]", leaf) for k, leaf in enumerate(leaves)]

    def given(self) -> list[Any]:
        """Results and arguments: what the caller does something with."""
        made = [x for name, x in self.objects if name.startswith("out[")]
        return [x for x in (*made, *self.arguments) if isinstance(x, pb.Tensor)]

    def later(self, text: str) -> None:
        """A statement of the caller's."""
        given = self.given()
        if given:
            exec(compile(text, "<later>", "exec"), {"pb": pb, "np": np, "o": given})

    def backward(self, retain: bool) -> None:
        """Gradients of the results and arguments that the program selects."""
        roots = self.roots()
        if roots:
            weights = [pb.asarray(weight(x, k)) for k, x in enumerate(roots)]
            pb.autograd.backward(roots, weights, retain_graph=retain)

    def roots(self) -> list[Any]:
        """What gradients are taken of."""
        found: dict[int, Any] = {}
        for position, x in enumerate(self.given()):
            if self.program.roots >> position & 1 and x.requires_grad:
                found.setdefault(id(x), x)
        return list(found.values())

    def twice(self) -> None:
        """Gradients with a history, and the gradients of those."""
        roots = self.roots()
        leaves = [x for _, x in self.objects if isinstance(x, pb.Tensor) and x.requires_grad and is_leaf(x)]
        if not roots or not leaves:
            return
        weights = [pb.asarray(weight(x, k)) for k, x in enumerate(roots)]
        found = pb.autograd.grad(roots, leaves, weights, create_graph=True, allow_unused=True)
        # Whether a gradient that depends on nothing requires grad may differ, so weights do not depend on it.
        again = {k: g * g for k, g in enumerate(found) if g is not None and g.requires_grad}
        if again:
            weights = [pb.asarray(weight(g, k)) for k, g in again.items()]
            pb.autograd.backward(list(again.values()), weights, retain_graph=True)

    def gradients(self) -> dict[str, Any]:
        """The gradients of all tensors that have one."""
        found = {}
        for name, x in self.objects:
            if isinstance(x, pb.Tensor) and (is_leaf(x) or x.retains_grad):
                found[name] = None if x.grad is None else np.array(x.grad._data)
        return found

    def picture(self) -> Picture:
        """Everything that can be seen now."""
        first: dict[int, int] = {}
        for position, (_, x) in enumerate(self.objects):
            first.setdefault(id(x), position)
        states = [state(name, x, first) for name, x in self.objects]
        arrays = [(k, memory(x)) for k, (_, x) in enumerate(self.objects) if isinstance(x, (pb.Tensor, np.ndarray))]
        shared = frozenset(
            (i, j, address(b) - address(a))
            for i, a in arrays for j, b in arrays
            if i < j and np.may_share_memory(a, b) and np.shares_memory(a, b)
        )  # fmt: skip
        return Picture(tuple(states), shared, pb.is_grad_enabled(), self.structure)


def is_leaf(x: Any) -> bool:
    """Is this a leaf? What has lost its history is none."""
    try:
        return bool(x.is_leaf)
    except pb.autograd.AutogradError:
        return False


def memory(x: Any) -> Any:
    """The array behind a tensor or an array."""
    return x._data if isinstance(x, pb.Tensor) else x


def address(array: Any) -> int:
    """Where an array begins."""
    return int(array.__array_interface__["data"][0])


def weight(x: Any, number: int) -> Any:
    """A gradient for a root, so that no two elements have the same."""
    return (np.arange(x.size).reshape(x.shape) * 0.3 + 1.0 + number).astype(x.dtype)


def state(name: str, x: Any, first: dict[int, int]) -> State:
    """One object as it is now."""
    if not isinstance(x, (pb.Tensor, np.ndarray)):
        return State(name, -1, f"{type(x).__name__} {x!r}")
    array = memory(x)
    common = {
        "shape": array.shape, "strides": meant(array), "dtype": str(array.dtype), "values": array.tobytes(),
        "writeable": array.flags.writeable,
    }  # fmt: skip
    if isinstance(x, np.ndarray):
        return State(name, first[id(x)], "ndarray", **common)
    base = x._base
    if base is None:
        where = "none"
    elif id(base) in first:
        where = f"object {first[id(base)]}"
    else:
        where = "hidden"
    try:
        is_leaf, has_history = x.is_leaf, x.grad_fn is not None
    except pb.autograd.AutogradError as error:  # of a view that a custom Function made, if its base was written
        return State(name, first[id(x)], f"Tensor {error.code}", **common)
    return State(
        name, first[id(x)], "Tensor", **common, version=x._version if not x.is_inference() else -1,
        requires_grad=x.requires_grad, is_leaf=is_leaf, has_history=has_history, base=where,
        retains_grad=x.retains_grad, inference=x.is_inference(),
    )  # fmt: skip


def meant(array: Any) -> tuple[int, ...]:
    """Strides of the axes along which one can step."""
    if not array.size:
        return ()
    return tuple(stride if length > 1 else 0 for stride, length in zip(array.strides, array.shape, strict=True))
