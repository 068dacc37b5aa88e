"""`custom_jvp`, `custom_vjp` and `stop_gradient`: functions whose derivative is stated by their author."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from pullback.autograd.function import Function
from pullback.core.pytree import flatten, map_leaves, unflatten
from pullback.core.state import changed, current
from pullback.errors import AutogradError
from pullback.func._grad import vjp
from pullback.func._made import reduced
from pullback.tape.forward.levels import handle, live_levels
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, made_here

P = ParamSpec("P")
R = TypeVar("R")
Tree = TypeVar("Tree")


def stop_gradient(tree: Tree) -> Tree:
    """The same tensors as constants: `detach()` of every tensor in a structure.

    >>> pb.func.grad(lambda x: x * pb.func.stop_gradient(x))(pb.tensor(3.0))
    tensor(3.)
    """
    return map_leaves(lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, tree)


class custom_jvp(Generic[P, R]):
    """A function with a forward rule of its own. Reverse mode follows from it: the rule is linear and is transposed.

    The rule, attached by `defjvp`, gets the tuples of arguments and of their tangents, and returns the value and its
    tangent. Arguments and results may be nested structures; keyword arguments are passed on and not differentiated.

    >>> @pb.func.custom_jvp
    ... def log1pexp(x):
    ...     return pb.log(1 + pb.exp(x))
    >>> @log1pexp.defjvp
    ... def log1pexp_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1 - 1 / (1 + pb.exp(x)))
    >>> pb.func.grad(log1pexp)(pb.tensor(0.0))
    tensor(0.5)
    """

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.rule: Callable[..., Any] | None = None

    def __reduce__(self) -> Any:
        return reduced(self)

    def defjvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Attach the rule `(primals, tangents) -> (value, tangent)`."""
        self.rule = rule
        return rule

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.rule is None:
            raise RuntimeError(f"custom_jvp: {_name(self)} has no rule; attach one with @{_name(self)}.defjvp")
        call = _Call(self.function, args, kwargs, self.rule)
        return call.finished(_WithForwardRule.apply(call, *call.tensors))


class custom_vjp(Generic[P, R]):
    """A function with a reverse rule of its own, in two parts that `defvjp` attaches.

    `forward(*args)` returns the value and whatever `backward(kept, g)` needs; that returns a tuple with the gradient
    of every argument, or None. Both run when a gradient is asked for, with operations that can be differentiated
    again. There is no forward mode.

    >>> @pb.func.custom_vjp
    ... def clip_gradient(x):
    ...     return x
    >>> clip_gradient.defvjp(lambda x: (x, None), lambda kept, g: (pb.clip(g, -1, 1),))
    >>> pb.func.grad(lambda x: clip_gradient(x) * 5)(pb.tensor(1.0))
    tensor(1.)
    """

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.rules: tuple[Callable[..., Any], Callable[..., Any]] | None = None

    def __reduce__(self) -> Any:
        return reduced(self)

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Attach `forward(*args) -> (value, kept)` and `backward(kept, g) -> gradients`."""
        self.rules = (forward, backward)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.rules is None:
            raise RuntimeError(f"custom_vjp: {_name(self)} has no rules; attach them with {_name(self)}.defvjp")
        call = _Call(self.function, args, kwargs, self.rules)
        return call.finished(_WithReverseRule.apply(call, *call.tensors))


def _constant(x: Tensor) -> Tensor:
    """The value alone, without history and without tangents."""
    return handle(x.detach())


def _name(wrapper: Any) -> str:
    return getattr(wrapper, "__name__", "the function")


class _Call:
    """One call: its arguments as differentiable tensors and the rest, and the structure of what it returned."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rules: Any) -> None:
        self.function, self.kwargs, self.rules = function, kwargs, rules
        self.leaves, self.structure = flatten(args)
        self.places = [
            place for place, leaf in enumerate(self.leaves) if isinstance(leaf, Tensor) and leaf._spec.is_differentiable
        ]
        self.tensors = [self.leaves[place] for place in self.places]
        self.out_structure: Any = None
        modes = current()
        self.modes = {"grad": modes.grad, "forward_mask": modes.forward_mask}
        for transform in modes.transforms:
            transform.has_rules = True

    def arguments(self, tensors: Any) -> Any:
        """The arguments with these tensors in their places."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        return unflatten(self.structure, leaves)

    def tangents(self, tensors: Any) -> Any:
        """Tangents in the structure of the arguments; what is not differentiated has None."""
        leaves: list[Any] = [None] * len(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        return unflatten(self.structure, leaves)

    def run(self, tensors: Any) -> tuple[Any, ...]:
        """The results of the function as a tuple."""
        with changed(**self.modes):  # so that what depends on more than the arguments shows it
            given = [_constant(x) for x in tensors]
            results, self.out_structure = flatten(self.function(*self.arguments(given), **self.kwargs))
            if live_levels(results) or any(isinstance(x, Tensor) and requires_grad(x) for x in results):
                raise AutogradError(
                    "CUSTOM_RULE_CLOSURE",
                    f"{_name(self.function)} reads a tensor that is being differentiated and is none of its arguments",
                    why="its rule gives derivatives by the arguments, so the gradient of that tensor would be lost",
                    fix="pass the tensor as an argument, or its detach() if it is meant as a constant",
                )
        # An argument that is returned as it is would be input and output at once.
        return tuple([x.clone() if any(x is tensor for tensor in given) else x for x in results])

    def slopes(self, tensors: Any, tangents: Any) -> tuple[Any, ...]:
        """The tangents of the results."""
        _, slopes = self.rules(self.arguments(tensors), self.tangents(tangents), **self.kwargs)
        return tuple(flatten(slopes)[0])

    def finished(self, results: Any) -> Any:
        """Results in the structure that the function returned."""
        return unflatten(self.out_structure, results if isinstance(results, tuple) else (results,))


class _Stated(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(call: _Call, *tensors: Any) -> Any:
        return call.run(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.call, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)


class _WithForwardRule(_Stated):
    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        return ctx.call.slopes(ctx.saved_tensors, tangents)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        at = ctx.saved_tensors
        zeros = [made_here(np.zeros(x.shape, x.dtype)) for x in at]
        # Linear in the tangents, so its gradient is the same wherever they are.
        _, pull = vjp(lambda *tangents: ctx.call.slopes(at, tangents), *zeros)
        return (None, *pull(gradients))


class _WithReverseRule(_Stated):
    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        call = ctx.call
        forward, backward = call.rules
        _, kept = forward(*call.arguments(ctx.saved_tensors), **call.kwargs)
        found = backward(kept, unflatten(call.out_structure, gradients))
        if not isinstance(found, tuple) or len(found) != call.structure.num_children:
            raise ValueError(
                f"custom_vjp: the backward rule must return a tuple with one gradient for each of "
                f"{call.structure.num_children} arguments, got {found!r}"
            )
        return (None, *_gradients(call, found))


def _gradients(call: _Call, found: tuple[Any, ...]) -> list[Any]:
    """The gradients of the differentiable tensors among the arguments, from one structure or None per argument."""
    leaves: list[Any] = []
    for given, part in zip(found, call.structure.children(), strict=True):
        if given is None:
            leaves += [None] * part.num_leaves
            continue
        flat = flatten(given)[0]
        if len(flat) != part.num_leaves:
            raise ValueError(f"custom_vjp: a gradient has {len(flat)} leaves for an argument with {part.num_leaves}")
        leaves += flat
    return [leaves[place] for place in call.places]
