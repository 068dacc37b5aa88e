"""`checkpoint(use_reentrant=True)`: one node for the whole call. Its backward runs the function and a pass of its own.

It is here for code that was written for it. Its limits are those of the design: the inner pass adds gradients of
captured leaves to their `.grad`, so a pass that wants something else (`autograd.grad`, `inputs=`) is refused; arguments
that require grad are found only if they are Tensors themselves, not in containers; and there is no second derivative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.autograd.function import Function, once_differentiable
from pullback.core.frames import warn
from pullback.tape.backward import backward
from pullback.tape.modes import enable_grad
from pullback.tape.task import running_task
from pullback.tensors.tensor import Tensor
from pullback.utils._checkpoint_frame import RandomState, drawing_again_from, first_draws_of


class CheckpointFunction(Function):
    """The call of a checkpointed function as a node."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], random_state: RandomState | None, *args: Any) -> Any:
        """What the function returns, without a graph; the Tensors among its arguments are saved."""
        ctx.function, ctx.random_state = function, random_state
        ctx.others = [None if isinstance(value, Tensor) else value for value in args]
        ctx.places = [place for place, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.save_for_backward(*(args[place] for place in ctx.places))
        with first_draws_of(random_state):
            return function(*args)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The gradients of the arguments, by running the function again and a pass over the graph that this makes."""
        task = running_task("checkpoint")
        if task.execute is not None:
            raise RuntimeError(
                "checkpoint with use_reentrant=True is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(): the pass that it starts itself reaches every leaf; use use_reentrant=False"
            )
        args = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[place] = tensor.detach()
            if tensor.requires_grad:
                args[place].requires_grad_()
        with enable_grad(), drawing_again_from(ctx.random_state):
            result = ctx.function(*args)
        outputs = result if isinstance(result, tuple) else (result,)
        roots = [
            (out, g) for out, g in zip(outputs, gradients, strict=True) if isinstance(out, Tensor) and out.requires_grad
        ]
        if not roots:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in roots], [g for _, g in roots])
        return None, None, *(value.grad if isinstance(value, Tensor) else None for value in args)


def run_reentrant(function: Callable[..., Any], args: tuple[Any, ...], preserve_rng_state: bool) -> Any:
    """The function's result, with a history that is one node."""
    if not any(isinstance(value, Tensor) and value.requires_grad for value in args):
        warn("None of the inputs have requires_grad=True. Gradients will be None", UserWarning)
    return CheckpointFunction.apply(function, RandomState() if preserve_rng_state else None, *args)
