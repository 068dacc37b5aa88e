"""Forward mode: dual tensors, which carry a value and its tangent through every operation.

    with forward_ad.dual_level():
        x = forward_ad.make_dual(pb.tensor([1.0, 2.0]), pb.tensor([1.0, 0.0]))
        value, tangent = forward_ad.unpack_dual(pb.sin(x))

Levels nest: each `with` opens one of its own, and derivatives at different levels do not mix. Levels belong to the
thread or task that opened them; duals may be used anywhere. When a level ends its tangents are gone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from pullback.core.state import change, current, last_entered, next_stamp, restore_beside_modes
from pullback.errors import AutogradError
from pullback.tape.forward.duals import UnpackedDualTensor, dual_at, unpacked_at
from pullback.tape.forward.levels import ForwardLevel
from pullback.tensors.tensor import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_stack: ContextVar[tuple[ForwardLevel, ...]] = ContextVar("pullback_forward_levels", default=())


def _restore_levels(before: tuple[ForwardLevel, ...]) -> None:
    """Close the levels that were left open; one that was closed stays so."""
    for level in reversed(_stack.get()):
        if level not in before:
            level.close()
    _stack.set(tuple(level for level in before if level.is_open))


restore_beside_modes(_stack.get, _restore_levels)

Level = int | ForwardLevel | None


def enter_dual_level() -> int:
    """Open a level and return its index, which is its depth in this thread or task."""
    stack = _stack.get()
    _stack.set((*stack, ForwardLevel(len(stack))))
    return len(stack)


def exit_dual_level(*, level: int | None = None) -> None:
    """Close the innermost level: every tangent at it is dropped. `level` checks that it is the one you mean."""
    stack = _stack.get()
    if not stack:
        raise AutogradError(
            "FORWARD_NO_LEVEL",
            "exit_dual_level: no level is open here",
            why="levels are opened and closed in pairs, in one thread or task",
            fix="call enter_dual_level() first, or use `with dual_level():`",
        )
    if level is not None and level != stack[-1].index:
        raise AutogradError(
            "FORWARD_LEVEL_ORDER",
            f"exit_dual_level(level={level}): that level is not the last one that was created, which is "
            f"{stack[-1].index}",
            why="levels nest, and the inner one ends first",
            fix="close the inner levels before, or leave `level` out",
        )
    _stack.set(stack[:-1])
    stack[-1].close()


class dual_level:
    """A new level inside the block or the decorated function. Entering it gives the level's index."""

    def __init__(self) -> None:
        self._levels: list[int] = []

    def __enter__(self) -> int:
        self._levels.append(enter_dual_level())
        return self._levels[-1]

    def __exit__(self, *exc: object) -> None:
        exit_dual_level(level=last_entered(self._levels, self))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with dual_level():
                return function(*args, **kwargs)

        return wrapper


def _find_level(level: Level, who: str) -> ForwardLevel | None:
    """The level meant; None if the innermost one is meant and there is none."""
    stack = _stack.get()
    if level is None:
        return stack[-1] if stack else None
    if isinstance(level, ForwardLevel) and level.is_open:
        return level
    if isinstance(level, int) and 0 <= level < len(stack):
        return stack[level]
    raise AutogradError(
        "FORWARD_LEVEL_INVALID",
        f"{who}: the level {level!r} is invalid: it is not open here",
        why="a level exists from enter_dual_level() to exit_dual_level(), in the thread or task that opened it",
        fix="use an index that enter_dual_level() returned and that is still open, or leave `level` out",
    )


def make_dual(tensor: Tensor, tangent: Tensor, *, level: Level = None) -> Tensor:
    """A dual tensor: an alias of `tensor` that carries `tangent` at `level`, the innermost one if left out.

    >>> with pb.autograd.forward_ad.dual_level():
    ...     dual = pb.autograd.forward_ad.make_dual(pb.tensor(2.0), pb.tensor(1.0))
    ...     pb.autograd.forward_ad.unpack_dual(dual * dual).tangent
    tensor(4.)
    """
    found = _find_level(level, "make_dual")
    if found is None:
        raise AutogradError(
            "FORWARD_NO_LEVEL",
            "make_dual: no level exists here to make a dual at",
            why="a tangent belongs to a level, which ends it",
            fix="work inside `with pb.autograd.forward_ad.dual_level():`, or use pb.func.jvp",
        )
    return dual_at(found, tensor, tangent)


def unpack_dual(tensor: Tensor, *, level: Level = None) -> UnpackedDualTensor:
    """The value and the tangent at `level`, the innermost one if left out, as tensors without that level."""
    found = _find_level(level, "unpack_dual")
    if found is None:
        return UnpackedDualTensor(tensor, None)
    return unpacked_at(found, tensor)


class _set_fwd_grad_enabled:
    """Switch forward mode off for the levels that are open now, or on again; also as a context manager."""

    def __init__(self, mode: bool) -> None:
        self._previous = change(forward_mask=0 if mode else next_stamp())

    def __enter__(self) -> None:
        """The switch was made when this was constructed."""

    def __exit__(self, *exc: object) -> None:
        change(**self._previous)


def _is_fwd_grad_enabled() -> bool:
    """Do tangents of levels opened before now flow?"""
    return current().forward_mask == 0
