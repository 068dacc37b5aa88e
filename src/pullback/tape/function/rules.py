"""What a custom Function may define, and which of its methods applies when.

`Statics` carries the methods that authors override, each with a default that says what is missing. The functions
below it choose: two styles of `forward`, two names for `backward`, and for transforms the batching rule. They are the
place where forward mode and vmap ask; neither looks into the class itself.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pullback.errors import AutogradError


class Statics:
    """The static methods and flags of a custom Function."""

    generate_vmap_rule: bool | str = False
    """True: under vmap the methods run as written on batched tensors. Excludes a `vmap` method."""
    clear_saved_tensors_on_access: bool = False
    """True: `ctx.saved_tensors` can be read once and is freed by reading."""
    boxed_grads_call: bool = False
    """True: `backward` gets one list with all gradients, which it may empty to free them early."""

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: `forward(ctx, *args)`, or `forward(*args)` beside `setup_context`."""
        raise NotImplementedError("a Function must define a static method `forward`")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save for backward what a `forward` without `ctx` could not."""
        raise NotImplementedError("this Function defines no `setup_context`")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the arguments from gradients of the outputs. `vjp` is another name for it."""
        raise NotImplementedError("a Function must define a static method `backward` to be differentiated")

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Tangents of the outputs from tangents of the arguments."""
        raise NotImplementedError("a Function must implement the jvp static method to be used in forward mode")

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        """`(output, out_dims)` for arguments with a batch axis; `info` has `batch_size` and `randomness`."""
        raise NotImplementedError("this Function defines no `vmap`")


class CallPlan:
    """How `apply` calls one `forward`: its style, and its signature without `ctx`."""

    __slots__ = ("forward", "is_split", "num_leading", "num_positions", "parameters", "signature")

    def __init__(self, cls: type[Statics]) -> None:
        self.forward: Callable[..., Any] = cls.forward
        self.is_split = cls.setup_context is not Statics.setup_context
        self.signature: inspect.Signature | None = None
        self.parameters: list[inspect.Parameter] = []
        # The number of arguments that fills every position; None if it can vary.
        self.num_positions: int | None = None
        # ... or the number of those in front, if all that follows is taken as it comes.
        self.num_leading: int | None = None
        try:
            signature = inspect.signature(self.forward)
        except (TypeError, ValueError):
            return  # a callable written in C may not tell its parameters
        parameters = list(signature.parameters.values())
        if not self.is_split and parameters and parameters[0].kind in _POSITIONAL:
            parameters = parameters[1:]
        self.signature = signature.replace(parameters=parameters)
        self.parameters = parameters
        if all(parameter.kind in _POSITIONAL for parameter in parameters):
            self.num_positions = len(parameters)
        elif [each.kind for each in parameters if each.kind not in _POSITIONAL] == [inspect.Parameter.VAR_POSITIONAL]:
            self.num_leading = len(parameters) - 1

    def positions(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments by position. The split style also gets the defaults of what was left out."""
        if not kwargs and (not self.is_split or len(args) == self.num_positions):
            return args
        if not kwargs and self.num_leading is not None and len(args) >= self.num_leading:
            return args
        if self.signature is None:
            if kwargs:
                raise TypeError(f"{name}.apply: forward does not tell its parameters, so it takes no keyword arguments")
            return args
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{name}.apply: {error}") from None
        given = set(bound.arguments)
        bound.apply_defaults()
        values: list[Any] = []
        last_given = 0
        for parameter in self.parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                values.extend(bound.arguments[parameter.name])
            elif parameter.kind in _POSITIONAL:
                values.append(bound.arguments[parameter.name])
            elif parameter.name in given:
                raise TypeError(f"{name}.apply: {parameter.name!r} has no position, forward takes it by keyword only")
            if parameter.name in given:
                last_given = len(values)
        # The combined style answers for the arguments it was called with, so defaults only fill gaps between them.
        return tuple(values if self.is_split else values[:last_given])


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def plan_of(cls: type[Statics]) -> CallPlan:
    """The call plan of a Function, made again if its methods were replaced."""
    plan: CallPlan | None = cls.__dict__.get("_plan")
    if (
        plan is None
        or plan.forward is not cls.forward
        or plan.is_split is not (cls.setup_context is not Statics.setup_context)
    ):
        plan = CallPlan(cls)
        cls._plan = plan  # type: ignore[attr-defined]
    return plan


def backward_of(cls: type[Statics]) -> Callable[..., Any]:
    """The reverse formula of a Function, under whichever of its two names."""
    check_one_backward(cls)
    formula = cls.backward if cls.backward is not Statics.backward else cls.vjp
    if formula is Statics.backward:
        raise NotImplementedError(f"{cls.__name__} must define a static method `backward` to be differentiated")
    return formula


def check_one_backward(cls: type[Statics]) -> None:
    """Raise if a Function defines both `backward` and `vjp`."""
    if cls.backward is not Statics.backward and cls.vjp is not Statics.backward:
        raise AutogradError(
            "FN_BOTH",
            f"the Function {cls.__name__} defines both backward and vjp",
            where=cls.__name__,
            why="they are two names for one method, and only one of them would be called",
            fix="keep one of the two",
        )


def batching_rule(cls: type[Statics]) -> Callable[..., Any] | None:
    """The `vmap` method of a Function, or None if its methods are to be run on batched tensors as they are."""
    has_method = cls.vmap is not Statics.vmap
    if has_method and cls.generate_vmap_rule:
        raise AutogradError(
            "FN_VMAP_AMBIGUOUS",
            f"the Function {cls.__name__} has a vmap method and generate_vmap_rule={cls.generate_vmap_rule!r}",
            where=cls.__name__,
            why="both say how to batch it, and they may disagree",
            fix="remove one of the two",
        )
    if has_method:
        return cls.vmap
    if cls.generate_vmap_rule:
        return None
    raise AutogradError(
        "FN_NO_VMAP",
        f"the Function {cls.__name__} does not have vmap support",
        where=cls.__name__,
        why="Pullback does not look into a custom forward, so it cannot know what a batch axis means there",
        fix="set generate_vmap_rule = True, or define a static method `vmap(info, in_dims, *args)`",
    )


def check_batched_result(cls: type[Statics], result: Any) -> None:
    """Raise unless a `vmap` method returned its two parts."""
    if not (isinstance(result, tuple) and len(result) == 2):
        got = f"{len(result)} values" if isinstance(result, tuple) else type(result).__name__
        raise AutogradError(
            "FN_VMAP_RETURN",
            f"expected the vmap method of the Function {cls.__name__} to have two returns, got {got}",
            where=cls.__name__,
            why="the position of the batch axis in the output cannot be guessed",
            fix="return (output, out_dims)",
        )
