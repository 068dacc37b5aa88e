"""The operators that the conformance cases of custom operators are written with."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import pullback as pb
from pullback.library import CustomOpDef, custom_op

_count = itertools.count()


def name() -> str:
    """A qualified name that nobody has used."""
    return f"case::op{next(_count)}"


def op(fn: Callable[..., Any], mutates_args: Any = (), **options: Any) -> CustomOpDef:
    """`fn` as a custom operator of a new name."""
    return custom_op(name(), fn, mutates_args=mutates_args, **options)


def T3() -> pb.Tensor:
    return pb.ones(3)


def P() -> pb.Tensor:
    return pb.ones(3).requires_grad_()


def save_input(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def like_first(x: Any, *others: Any) -> Any:
    return pb.empty_like(x)


def bare() -> CustomOpDef:
    """The square without a formula."""

    def sq(x: np.ndarray) -> np.ndarray:
        return x * x

    made = op(sq)
    made.register_fake(like_first)
    return made


def sq() -> CustomOpDef:
    made = bare()
    made.register_autograd(lambda ctx, g: 2 * ctx.saved_tensors[0] * g, setup_context=save_input)
    return made


def cube() -> CustomOpDef:
    def cube(x: np.ndarray) -> np.ndarray:
        return x**3

    made = op(cube)
    made.register_fake(like_first)
    made.register_autograd(lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g, setup_context=save_input)
    return made
