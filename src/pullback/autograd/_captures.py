"""What the body of a transform may write to: its own arrays and arguments, and captured ones only what it does not
differentiate or batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pullback.autograd._levels import live_levels
from pullback.autograd._tokens import Token, deps_of
from pullback.autograd._variable import requires_grad
from pullback.core.spec import describe
from pullback.core.state import Modes, next_stamp
from pullback.errors import AutogradError
from pullback.payloads.batched import BatchedArray, levels_of, widen_in_place
from pullback.tensors.tensor import Tensor, born_of, shared_counter


class Transform:
    """A function transform whose body is running. `arguments` are the counters of memory it was given to work on."""

    __slots__ = ("arguments", "level", "name", "stamp", "token")

    def __init__(self, name: str, level: Any = None) -> None:
        self.name = name
        self.level = level  # the forward level of a forward transform
        self.stamp = next_stamp() if level is None else level.stamp
        self.token = Token()
        self.arguments: set[Any] = set()

    def accept(self, tensor: Tensor) -> None:
        """Let the body write to this argument."""
        self.arguments.add(shared_counter(tensor))

    def made(self, tensor: Tensor) -> bool:
        """Was the memory of this tensor made by the body?"""
        return born_of(tensor) >= self.stamp


def check_capture(target: Tensor, values: Iterable[Any], modes: Modes) -> None:
    """Raise if a write to a captured tensor would let the perturbation of a running transform escape."""
    sources: list[Tensor] | None = None
    for transform in modes.transforms:
        if transform.made(target) or target._counter in transform.arguments:
            continue
        if sources is None:
            sources = [value for value in values if isinstance(value, Tensor)]
        level = transform.level
        if (level is not None and level in live_levels(sources)) or any(
            transform.token in (deps_of(source) or ()) for source in sources if requires_grad(source)
        ):
            raise AutogradError(
                "CAPTURE_MUTATED",
                f"the function given to {transform.name} tried to mutate a captured Tensor "
                f"{describe(target.shape, target.dtype)} with a value that depends on its arguments",
                why="the value is only meaningful inside the transform, and the tensor lives on outside",
                fix="return the value, pass the tensor as an argument, or write value.detach()",
            )


def make_room(target: Tensor, values: Iterable[Any], modes: Modes) -> None:
    """Give the target the batch dimensions of the values that are about to be written into it, if it may have them."""
    own = levels_of(target._data)
    missing = tuple(
        sorted({level for value in values for level in levels_of(value) if level not in own}, key=lambda v: v.stamp)
    )
    if not missing:
        return
    if born_of(target) < missing[-1].stamp:
        raise AutogradError(
            "VMAP_INPLACE",
            f"inplace arithmetic on a Tensor {describe(target.shape, target.dtype)} from outside of vmap with a value "
            "that is being vmapped over",
            why="every example would write its own value into the one tensor",
            fix="return the value from the function, or write into a tensor that is made inside or mapped over",
        )
    if type(target._data) is np.ndarray:
        target._data = BatchedArray(target._data, ())
    widen_in_place(target._data, missing)
    if target._counter is not None:
        target._counter.moved()
