"""Functions of SciPy's that are computed from operators of ours, declared under SciPy's names.

What nobody differentiates goes to SciPy. Otherwise our function gets SciPy's arguments by name, with tensors in the
places of those that have derivatives; what only says how to compute is left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd.function import Function
from pullback.core.pytree import flatten
from pullback.errors import AutogradError
from pullback.func._adapt.scipy_twins import HOW
from pullback.func._grad import vjp
from pullback.func._implicit.lift import is_watched
from pullback.func._jvp import jvp
from pullback.scipy._surface import Call, Rule, declare, guarded, joined, no_rule, numbers
from pullback.tensors.tensor import Tensor, made_here


def watches(value: Any) -> bool:
    """Is something here differentiated, batched or traced?"""
    return any(isinstance(leaf, Tensor) and is_watched(leaf) for leaf in flatten(value)[0])


def composed(*names: str, by: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of ours under names of SciPy's. `by` are the arguments that it takes as tensors."""
    operands = by.replace(",", " ").split()

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(given: Call) -> Any:
            bound = given.bound
            if not watches(dict(bound.arguments)):
                return as_scipy(given)
            full = inspect.BoundArguments(bound.signature, dict(bound.arguments))
            full.apply_defaults()
            arguments = {name: value for name, value in full.arguments.items() if name not in HOW or name == "disp"}
            for name in operands:
                if arguments.get(name) is not None:
                    arguments[name] = real_or_complex(joined(arguments[name]))
            out = function(**arguments)
            if out is NotImplemented:
                raise no_rule(Rule(given.name, "X", reason="with these options it has no derivative here"), by)
            return out

        declare(*names, kind="C", by=", ".join(operands))(call)
        return function

    return decorate


def as_scipy(given: Call) -> Any:
    """What SciPy gives, for numbers."""
    return guarded(given.name, given.plain)(*given.bound.args, **given.bound.kwargs)


def real_or_complex(x: Tensor) -> Tensor:
    """`x` with elements that can have derivatives."""
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def refused(name: str, reason: str, code: str = "SCIPY_NO_RULE", what: str = "an argument") -> AutogradError:
    """The refusal of a function that has derivatives elsewhere, but not here."""
    if code == "SCIPY_NO_RULE":
        return no_rule(Rule(name, "X", reason=reason), what)
    return AutogradError(
        code, f"scipy.{name}: {reason}, and {what} is being differentiated",
        why="there is no derivative, or it is infinite", fix="detach() it, or move away from this place",
    )  # fmt: skip


class Anchored(Function):
    """The value that SciPy computes, with the derivatives of a formula for the same thing."""

    generate_vmap_rule = "loop"

    @staticmethod
    def forward(value: Callable[..., Any], formula: Callable[..., Tensor], *args: Tensor) -> Tensor:
        return made_here(np.asarray(value(*(numbers(x) for x in args))))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, ctx.formula, *args = inputs
        ctx.save_for_backward(*args)
        ctx.save_for_forward(*args)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        return None, None, *vjp(ctx.formula, *ctx.saved_tensors)[1](gradient)

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, *tangents: Any) -> Tensor:
        args = ctx.saved_tensors
        moves = tuple(t if t is not None else x * 0 for t, x in zip(tangents, args, strict=True))
        return jvp(ctx.formula, tuple(args), moves)[1]


def has_numbers(*arrays: Any) -> bool:
    """Are there numbers in these tensors to look at, not examples or a trace?"""
    return all(not isinstance(each, Tensor) or type(each._data) is np.ndarray for each in arrays)


def for_each_example(formula: Callable[..., Tensor], *args: Tensor) -> Tensor:
    """`formula(*args)`; of one example of `vmap` after the other, if it looks at numbers."""
    if has_numbers(*args):
        return formula(*args)
    return Anchored.apply(lambda *arrays: numbers(formula(*map(made_here, arrays))), formula, *args)


def anchored(value: Callable[..., Any], formula: Callable[..., Tensor], *args: Tensor) -> Tensor:
    """`value(*args)` of arrays, whose derivatives are those of `formula(*args)` of tensors."""
    return Anchored.apply(value, formula, *args)
