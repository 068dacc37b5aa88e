"""Optimisers with two faces: pure functions of trees, and steps in place on leaves.

Without leaves an optimiser is a pair of pure functions, `init` and `update`, which work under every transform and in
compiled code. With leaves it reads their `.grad` and writes to them. Both use the same formula (`_rules.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

import pullback as pb
from pullback._sites import told
from pullback.core.doors import door
from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.core.reports import WARNING, report
from pullback.errors import AutogradError
from pullback.optim import _rules
from pullback.tensors.tensor import Tensor
from pullback.tree._dataclasses import dataclass
from pullback.tree._paths import path_texts

ON_NONFINITE = ("error", "skip", "ignore")


@dataclass(frozen=True)
class State:
    """What an optimiser keeps: the number of steps `t`, and for every slot, by name, a tree like the parameters."""

    t: Any
    slots: dict[str, Any]


State.__module__ = "pullback.optim"  # the name in files


class Optimizer:
    """What all optimisers have in common.

    The first argument is the learning rate (a number, a tensor without axes that does not require grad, or a schedule)
    for the functional face, or the leaves to train: tensors that require grad, a tree of them, or a list of dicts with
    a tree under "params" and settings of its own beside it. `lr=` by name is always the learning rate.

    `weight_decay` may be a function of the path and the leaf. `on_nonfinite` says what happens if a gradient, or a loss
    that the optimiser sees, is not finite: "error" raises and names the leaf, "skip" leaves parameters and state as
    they are, "ignore" goes on. `update` does not raise inside of transforms and traces, where there are no values.
    """

    _rule: ClassVar[Callable[..., Any]]
    _default_lr: ClassVar[float]

    def __init__(self, params: Any, lr: Any, on_nonfinite: str, **hyper: Any) -> None:
        if on_nonfinite not in ON_NONFINITE:
            raise ValueError(f"on_nonfinite must be one of {ON_NONFINITE}, got {on_nonfinite!r}")
        if _is_rate(params):
            if lr is not None:
                raise TypeError(f"pb.optim.{type(self).__name__} was given two learning rates, {params} and lr={lr}")
            params, lr = None, params
        self.lr = self._default_lr if lr is None else lr
        self.on_nonfinite = on_nonfinite
        self.hyper = hyper
        self.param_groups: list[dict[str, Any]] = []
        self._steps = 0
        self._states: list[list[State]] = []
        if params is not None:
            for group in _groups_of(params):
                self._add(group)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in {"lr": self.lr, **self.hyper}.items())
        return f"{type(self).__name__}({settings})"

    def _slot_names(self, hyper: dict[str, Any]) -> tuple[str, ...]:
        raise NotImplementedError

    def _start(self, p: Any, hyper: dict[str, Any]) -> tuple[Any, ...]:
        """What the slots of a parameter begin with."""
        return tuple(pb.zeros_like(_parts(p)) for _ in self._slot_names(hyper))

    def _next(self, path: str, p: Any, g: Any, slots: Any, t: Any, lr: Any, hyper: dict[str, Any]) -> Any:
        """One parameter and its slots behind a step."""
        if tuple(p.shape) != tuple(g.shape):
            raise ValueError(f"the gradient of {path or 'the parameter'} has shape {g.shape}, and it has {p.shape}")
        decay = hyper["weight_decay"]
        if callable(decay):
            hyper = {**hyper, "weight_decay": decay(path, p)}
        new, slots = type(self)._rule(_parts(p), _parts(g), slots, t, lr=lr, **hyper)
        return (pb.view_as_complex(new) if p.dtype.kind == "c" else new), slots

    # Trees.

    @door
    def init(self, tree: Any) -> State:
        """The state before the first step of a tree of parameters.

        >>> pb.optim.SGD(0.1, momentum=0.9).init({"w": pb.ones(2)})
        State(t=tensor(0), slots={'velocity': {'w': tensor([0., 0.])}})
        """
        names = self._slot_names(self.hyper)
        leaves, structure = flatten(tree)
        starts = [self._start(_as_parameter(leaf, tree), self.hyper) for leaf in leaves]
        slots = {name: unflatten(structure, [start[i] for start in starts]) for i, name in enumerate(names)}
        return State(pb.asarray(0), slots)

    @door
    def update(self, tree: Any, gradients: Any, state: State) -> tuple[Any, State]:
        """The tree and the state behind one step, made from a tree of gradients. Nothing is written to.

        >>> sgd = pb.optim.SGD(0.1)
        >>> tree = {"w": pb.tensor([1.0, 2.0])}
        >>> sgd.update(tree, {"w": pb.tensor([1.0, -1.0])}, sgd.init(tree))[0]
        {'w': tensor([0.9, 2.1])}
        """
        if self.on_nonfinite == "error":
            check_finite(None, zip(path_texts(gradients), flatten(gradients)[0], strict=True), state.t, "error")
        return self._updated(tree, gradients, state)

    def _updated(self, tree: Any, gradients: Any, state: State) -> tuple[Any, State]:
        """`update` without an error for what is not finite."""
        leaves, structure = flatten(tree)
        slopes: list[Any] = []
        map_leaves(lambda p, g: slopes.append(pb.asarray(g)), tree, gradients)
        slots = [flatten(state.slots[name])[0] for name in self._slot_names(self.hyper)]
        lr = self.lr(state.t) if callable(self.lr) else self.lr
        t = state.t + 1
        moved = [
            self._next(path, _as_parameter(p, tree), g, kept, t, lr, self.hyper)
            for path, p, g, *kept in zip(path_texts(tree), leaves, slopes, *slots, strict=True)
        ]
        new = unflatten(structure, [p for p, _ in moved])
        kept_trees = zip(*(kept for _, kept in moved), strict=True) if slots and moved else ([] for _ in slots)
        named = zip(state.slots, kept_trees, strict=True)
        after = State(t, {name: unflatten(structure, list(kept)) for name, kept in named})
        if self.on_nonfinite == "skip" and slopes:
            is_fine = pb.stack([pb.isfinite(g).all() for g in slopes]).all()
            return map_leaves(lambda now, old: pb.where(is_fine, now, old), (new, after), (tree, state))
        return new, after

    @door
    def compiled_step(
        self, loss: Callable[..., Any], *, clip: Callable[[Any], Any] | None = None, has_aux: bool = False,
        **options: Any,
    ) -> Callable[..., Any]:  # fmt: skip
        """A whole step as one compiled function: loss, gradient, clipping and update.

        `loss(tree, *batch)` returns a number, or with `has_aux` a number and something else. The step is
        `tree, state, value = step(tree, state, *batch)`; it compiles once for batches of one shape, whatever the
        schedule says. `clip` is a function of the tree of gradients, and `options` are those of `pb.compile`.
        `step.compiled` is the compiled function.

        >>> adam = pb.optim.Adam(0.1)
        >>> step = adam.compiled_step(lambda tree, x: ((tree["w"] - x) ** 2).sum())
        >>> tree = {"w": pb.zeros(2)}
        >>> tree, state, value = step(tree, adam.init(tree), pb.tensor([1.0, 2.0]))
        >>> tree["w"], value
        (tensor([0.1, 0.1]), tensor(5.))
        """
        with_gradients = pb.func.value_and_grad(loss, has_aux=has_aux)
        is_strict = self.on_nonfinite == "error"

        def step(tree: Any, state: State, *batch: Any) -> tuple[Any, State, Any, Any]:
            value, gradients = with_gradients(tree, *batch)
            if clip is not None:
                gradients = clip(gradients)
            numbers = [value[0] if has_aux else value, *flatten(gradients)[0]] if is_strict else []
            fine = pb.stack([pb.isfinite(x).all() for x in numbers]) if is_strict else None
            return *self._updated(tree, gradients, state), value, fine

        compiled = pb.compile(step, **options)

        def run(tree: Any, state: State, *batch: Any) -> tuple[Any, State, Any]:
            new, after, value, fine = compiled(tree, state, *batch)
            if is_strict and not fine.numpy().all():
                first = int(np.argmin(fine.numpy()))
                raise nonfinite(gradient_of(path_texts(tree)[first - 1]) if first else "the loss", state.t)
            return new, after, value

        run.compiled = compiled  # type: ignore[attr-defined]
        return run

    # Leaves.

    def _add(self, group: dict[str, Any]) -> None:
        tree = group["params"]
        unknown = sorted(group.keys() - {"params", "lr", *self.hyper})
        if unknown:
            raise TypeError(f"pb.optim.{type(self).__name__} has no setting {unknown[0]!r}")
        leaves: list[Tensor] = []
        paths: list[str] = []
        for path, leaf in zip(path_texts(tree), flatten(tree)[0], strict=True):
            if not isinstance(leaf, Tensor):
                continue
            if not (leaf.is_leaf and leaf.requires_grad):
                reason = "requires no grad" if leaf.is_leaf else "is no leaf, but the result of a computation"
                raise ValueError(
                    f"pb.optim.{type(self).__name__} trains leaves that require grad, and {path or 'the tensor'} "
                    f"{reason}; see pb.tree.requires_grad_, or use opt.init and opt.update"
                )
            if any(leaf is other for known in [*self.param_groups, {"params": leaves}] for other in known["params"]):
                raise ValueError(f"pb.optim.{type(self).__name__}: {path or 'a leaf'} was given twice")
            leaves.append(leaf)
            paths.append(path)
        if not leaves:
            raise told(
                ValueError(f"pb.optim.{type(self).__name__} was given no tensors to train"),
                why="a step writes to the leaves that it was given, and only a tensor can be one",
                fix="make them first: pb.tensor([1.0, 2.0], requires_grad=True); or use opt.init and opt.update",
            )
        settings = {"lr": self.lr, **self.hyper, **group, "params": leaves, "paths": paths}
        self.param_groups.append(settings)
        names = self._slot_names(settings)
        with pb.no_grad():
            states = [State(0, dict(zip(names, self._start(p, settings), strict=True))) for p in leaves]
        self._states.append(states)

    @property
    def state(self) -> dict[str, Any]:
        """What has to be kept to go on later, as a tree: save it, and assign it to an optimiser of the same leaves."""
        return {"steps": self._steps, "groups": [list(states) for states in self._states]}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        def own(mine: Any, given: Any) -> Any:
            if not isinstance(mine, Tensor):
                return int(given)
            if mine.shape != given.shape:
                raise ValueError(f"a slot of the state has shape {given.shape}, and the leaf {mine.shape}")
            return pb.tensor(given, dtype=mine.dtype)

        taken = map_leaves(own, self.state, state)
        self._steps, self._states = taken["steps"], taken["groups"]

    @door
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all leaves, or fill them with zeros.

        >>> x = pb.tensor(3.0, requires_grad=True)
        >>> (x * x).backward()
        >>> pb.optim.SGD(x, lr=0.1).zero_grad()
        >>> x.grad is None
        True
        """
        for group in self._bound():
            for p in group["params"]:
                if set_to_none or p.grad is None:
                    p.grad = None
                else:
                    p.grad = pb.zeros_like(p.grad)

    @door
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Write the next values into the leaves, made from their `.grad`; a leaf without one stays as it is.

        With a `closure`, which computes the gradients and returns the loss, that is called first, and the loss is
        returned.

        >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
        >>> sgd = pb.optim.SGD(x, lr=0.1)
        >>> (x * x).sum().backward()
        >>> sgd.step()
        >>> x
        tensor([0.8, 1.6], requires_grad=True)
        """
        groups = self._bound()
        value = None
        if closure is not None:
            with pb.enable_grad():
                value = closure()
        slopes = [(path, p.grad) for group in groups for path, p in zip(group["paths"], group["params"], strict=True)]
        if not check_finite(value, slopes, self._steps, self.on_nonfinite):
            return value
        with pb.no_grad():
            for group, states in zip(groups, self._states, strict=True):
                lr = float(group["lr"](self._steps)) if callable(group["lr"]) else group["lr"]
                hyper = {name: group[name] for name in self.hyper}
                for i, (p, path) in enumerate(zip(group["params"], group["paths"], strict=True)):
                    if p.grad is None:
                        continue
                    t, slots = states[i].t + 1, states[i].slots
                    new, kept = self._next(path, p, p.grad, tuple(slots.values()), t, lr, hyper)
                    p.copy_(new)
                    states[i] = State(t, dict(zip(slots, kept, strict=True)))
        self._steps += 1
        return value

    def _bound(self) -> list[dict[str, Any]]:
        if not self.param_groups:
            raise TypeError(
                f"this pb.optim.{type(self).__name__} was made without leaves; give them as first argument, or use "
                "tree, state = opt.update(tree, gradients, state)"
            )
        return self.param_groups


# What was given.


def _is_rate(given: Any) -> bool:
    """Is the first argument of an optimiser a learning rate?"""
    if isinstance(given, Tensor):
        return given.ndim == 0 and not given.requires_grad
    return isinstance(given, int | float | np.number) or callable(given)


def _groups_of(params: Any) -> Iterable[dict[str, Any]]:
    if isinstance(params, list | tuple) and params and all(isinstance(x, dict) and "params" in x for x in params):
        return params
    return [{"params": params if flatten(params)[1].type is not None else list(_iterated(params))}]


def _iterated(params: Any) -> Iterable[Any]:
    """A single leaf, or what a generator gives."""
    return [params] if isinstance(params, Tensor) or not hasattr(params, "__iter__") else params


def _as_parameter(leaf: Any, tree: Any) -> Tensor:
    p = leaf if isinstance(leaf, Tensor) else pb.asarray(leaf)
    if p.dtype.kind not in "fc":
        raise TypeError(
            f"an optimiser moves floating-point numbers, and a leaf of the tree is {p.dtype}; part it with "
            "pb.tree.partition, or make it static"
        )
    return p


def _parts(x: Any) -> Any:
    """Complex numbers as pairs: their two parts are parameters of their own, as in torch."""
    return pb.view_as_real(x) if x.dtype.kind == "c" else x


# What is not finite.


def check_finite(loss: Any, gradients: Iterable[tuple[str, Any]], steps: Any, on_nonfinite: str) -> bool:
    """Are the loss and all gradients finite, or is that not to be looked at? Raises if they are not, and should be."""
    if on_nonfinite == "ignore":
        return True
    named = [("the loss", loss), *((gradient_of(path), g) for path, g in gradients)]
    wrong = next((name for name, value in named if not _is_finite(value)), None)
    if wrong is not None and on_nonfinite == "error":
        raise nonfinite(wrong, steps)
    if wrong is not None:
        report(f"step {int(steps) + 1} was left out: {wrong} is not finite", "optim", WARNING)
    return wrong is None


def _is_finite(x: Any) -> bool:
    """False only if there are values to look at, and some are not finite."""
    values = x._data if isinstance(x, Tensor) else x
    return not isinstance(values, np.ndarray | np.number | float | complex) or bool(np.isfinite(values).all())


def gradient_of(path: str) -> str:
    """The gradient of a leaf in words."""
    return f"the gradient of {path}" if path else "the gradient"


def nonfinite(what: str, steps: Any) -> AutogradError:
    """The error for a step from something that is not finite."""
    done = steps._data if isinstance(steps, Tensor) else steps
    return AutogradError(
        "NONFINITE",
        f"{what} is not finite" + (f" in step {int(done) + 1}" if isinstance(done, int | np.ndarray) else ""),
        why="the parameters would become NaN or infinite, and stay so",
        fix="lower the learning rate, clip gradients (pb.optim.clip_by_norm), find the operator with "
        'pb.autograd.detect_anomaly(), or pass on_nonfinite="skip"',
    )


# The optimisers.


class SGD(Optimizer):
    """Gradient descent, with momentum if it is not 0. The default learning rate is 0.001.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> sgd = pb.optim.SGD(x, lr=0.1, momentum=0.9)
    >>> for _ in range(3):
    ...     sgd.zero_grad()
    ...     (x * x).sum().backward()
    ...     sgd.step()
    >>> x
    tensor([0.062, 0.124], requires_grad=True)
    """

    _rule = staticmethod(_rules.sgd)
    _default_lr = 1e-3

    @door
    def __init__(
        self, params: Any = None, lr: Any = None, *, momentum: Any = 0.0, weight_decay: Any = 0.0,
        nesterov: bool = False, on_nonfinite: str = "error",
    ) -> None:  # fmt: skip
        if nesterov and isinstance(momentum, int | float) and momentum <= 0:
            raise ValueError("pb.optim.SGD: nesterov=True needs a momentum above 0")
        super().__init__(params, lr, on_nonfinite, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)

    def _slot_names(self, hyper: dict[str, Any]) -> tuple[str, ...]:
        return () if isinstance(hyper["momentum"], int | float) and hyper["momentum"] == 0 else ("velocity",)


class Adam(Optimizer):
    """By averages of the gradient and of its square (Kingma and Ba). The default learning rate is 0.001.

    >>> adam = pb.optim.Adam(0.1)
    >>> tree = {"w": pb.tensor([1.0, -1.0])}
    >>> adam.update(tree, {"w": pb.tensor([2.0, -3.0])}, adam.init(tree))[0]
    {'w': tensor([ 0.9, -0.9])}
    """

    _rule = staticmethod(_rules.adam)
    _default_lr = 1e-3
    _default_decay = 0.0

    @door
    def __init__(
        self, params: Any = None, lr: Any = None, *, betas: tuple[Any, Any] = (0.9, 0.999), eps: Any = 1e-8,
        weight_decay: Any = None, on_nonfinite: str = "error",
    ) -> None:  # fmt: skip
        decay = self._default_decay if weight_decay is None else weight_decay
        super().__init__(params, lr, on_nonfinite, betas=betas, eps=eps, weight_decay=decay)

    def _slot_names(self, hyper: dict[str, Any]) -> tuple[str, ...]:
        return ("mean", "square")


class AdamW(Adam):
    """Adam whose weights shrink beside the step and not through the gradient (Loshchilov and Hutter).

    The default learning rate is 0.001, and `weight_decay` 0.01.

    >>> adamw = pb.optim.AdamW(0.1, weight_decay=lambda path, leaf: 0.5 if leaf.ndim > 0 else 0.0)
    >>> tree = {"w": pb.tensor([1.0]), "b": pb.tensor(1.0)}
    >>> adamw.update(tree, {"w": pb.tensor([0.0]), "b": pb.tensor(0.0)}, adamw.init(tree))[0]
    {'w': tensor([0.95]), 'b': tensor(1.)}
    """

    _rule = staticmethod(_rules.adamw)

    _default_decay = 1e-2


class RMSprop(Optimizer):
    """By the root of an average of the square of the gradient (Hinton). The default learning rate is 0.01.

    >>> rmsprop = pb.optim.RMSprop(0.01)
    >>> tree = {"w": pb.tensor(1.0)}
    >>> rmsprop.update(tree, {"w": pb.tensor(5.0)}, rmsprop.init(tree))[0]
    {'w': tensor(0.9)}
    """

    _rule = staticmethod(_rules.rmsprop)
    _default_lr = 1e-2

    @door
    def __init__(
        self, params: Any = None, lr: Any = None, *, alpha: Any = 0.99, eps: Any = 1e-8, weight_decay: Any = 0.0,
        momentum: Any = 0.0, centered: bool = False, on_nonfinite: str = "error",
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, on_nonfinite, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
            centered=centered,
        )  # fmt: skip

    def _slot_names(self, hyper: dict[str, Any]) -> tuple[str, ...]:
        has_momentum = not isinstance(hyper["momentum"], int | float) or hyper["momentum"] > 0
        return ("square", *(["mean"] if hyper["centered"] else []), *(["velocity"] if has_momentum else []))


class Adagrad(Optimizer):
    """By the root of the sum of all squares of the gradient (Duchi, Hazan, Singer). The default learning rate is 0.01.

    >>> adagrad = pb.optim.Adagrad(0.5)
    >>> tree = {"w": pb.tensor(1.0)}
    >>> adagrad.update(tree, {"w": pb.tensor(5.0)}, adagrad.init(tree))[0]
    {'w': tensor(0.5)}
    """

    _rule = staticmethod(_rules.adagrad)
    _default_lr = 1e-2

    @door
    def __init__(
        self, params: Any = None, lr: Any = None, *, lr_decay: Any = 0.0, weight_decay: Any = 0.0,
        initial_accumulator_value: float = 0.0, eps: Any = 1e-10, on_nonfinite: str = "error",
    ) -> None:  # fmt: skip
        self._initial = initial_accumulator_value
        super().__init__(params, lr, on_nonfinite, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay)

    def _slot_names(self, hyper: dict[str, Any]) -> tuple[str, ...]:
        return ("total",)

    def _start(self, p: Any, hyper: dict[str, Any]) -> tuple[Any, ...]:
        return (pb.full_like(_parts(p), self._initial),)
