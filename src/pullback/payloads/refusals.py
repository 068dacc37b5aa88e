"""What cannot be done with a value of which a transform computes many at once: the errors of data dependence."""

from __future__ import annotations

from typing import Any

from pullback.core.frames import is_own
from pullback.core.spec import describe
from pullback.core.state import VmapLevel, current, running_pass
from pullback.errors import AutogradError


def check_at_home(levels: tuple[VmapLevel, ...], name: str) -> None:
    """Raise if one of the levels has ended, unless a backward pass runs, in which all of them live again."""
    active = current().vmaps
    for level in levels:
        if level not in active and running_pass.get() is None:
            error = AutogradError(
                "VMAP_ESCAPED",
                f"{name}: a tensor escaped from inside a function being vmapped",
                why="it stands for one example of a batch, and the vmap that enumerated the examples has ended, or it "
                "runs in another thread",
                fix="return the tensor from the function, in its own thread; vmap gives it to you with the batch axis",
            )
            level.refusals.append(error)
            raise error


def noted(error: AutogradError) -> AutogradError:
    """An error of data dependence that is about to be raised, which vmap raises again if the function catches it."""
    for level in current().vmaps:
        level.refusals = [*filter(_is_caught_outside, level.refusals), error]
    return error


def check_refusals(level: VmapLevel) -> None:
    """Raise what a function was refused, if it has caught that and has gone on: for one example it would not have been
    refused. What Pullback's own code has caught was taken care of."""
    refusals, level.refusals = level.refusals, []
    for error in filter(_is_caught_outside, refusals):
        raise error


def _is_caught_outside(error: AutogradError) -> bool:
    """Did the last frame that this came to belong to others?"""
    return error.__traceback__ is not None and not is_own(error.__traceback__.tb_frame.f_code.co_filename)


def refuse_one_of_many(payload: Any, levels: tuple[VmapLevel, ...], into: str) -> AutogradError:
    """For whatever a payload of these levels, which stands for many, is asked to become."""
    check_at_home(levels, into)
    if into == "a truth value":
        return _refuse_truth(payload)
    is_number = into in ("a Python number", "a float", "a complex number", "an int", "an index")
    return _refuse_item(payload, into) if is_number else refuse_values(payload, into)


def _refuse_item(payload: Any, into: str) -> AutogradError:
    """For `item`, `int`, `float` and `__index__`."""
    return noted(AutogradError(
        "VMAP_DATA",
        f"{into} was asked for: item() on a Tensor {describe(payload.shape, payload.dtype)} inside vmap",
        why="the tensor stands for a whole batch of values, and there is no single number to return",
        fix="keep computing with the tensor, or use a loop in place of vmap",
    ))  # fmt: skip


def _refuse_truth(payload: Any) -> AutogradError:
    """For `bool`, and with it `if`, `while`, `and`, `or`, `not`."""
    return noted(AutogradError(
        "VMAP_DATA",
        f"data-dependent control flow on a tensor {describe(payload.shape, payload.dtype)} inside vmap",
        why="the answer may differ between the examples of the batch, and the code runs once for all of them",
        fix="write the choice as pb.where(condition, a, b), or use a loop in place of vmap",
    ))  # fmt: skip


def refuse_values(payload: Any, into: str) -> AutogradError:
    """For `numpy`, `tolist` and everything else that wants the numbers themselves."""
    return noted(AutogradError(
        "VMAP_DATA",
        f"{into} was asked of a tensor {describe(payload.shape, payload.dtype)} inside vmap",
        why="the tensor stands for a whole batch, and the values of one example do not exist singly",
        fix="use Pullback's own functions on it, or return it from the function and convert it outside of vmap",
    ))  # fmt: skip


def refuse_dynamic_shape(name: str) -> AutogradError:
    """For results whose shape depends on values."""
    return noted(AutogradError(
        "VMAP_DYNAMIC_SHAPE",
        f"{name} has a dynamic shape inside vmap: the shape of its result depends on the values of a batched tensor",
        why="the examples of a batch could have results of different shapes, which no array can hold",
        fix="use pb.where(condition, a, b) or a product with a mask, or use a loop in place of vmap",
    ))  # fmt: skip
