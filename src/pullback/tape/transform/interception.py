"""Seeing every primitive before it runs.

`core.state` keeps a tuple of interceptors, of which operators call the innermost only. An `Interception` puts one in
force for the extent of a `with` block and takes care of the chain: its `intercept` runs with the outer interceptors in
force, so operators it uses itself do not come back to it, and what it lets happen goes through them.

Custom Functions are no primitives. They ask `as_seen` for each of their arguments.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from pullback.core.state import change, changed, current, last_entered, note_entered
from pullback.declare.op import Op
from pullback.tensors.tensor import Tensor

# Lets the operator happen: called with (op, operands, params), returns its result.
Proceed = Callable[..., Any]
Interceptors = tuple[Callable[..., Any], ...]


class Interception(ABC):
    """A context in which `intercept` stands in for every primitive. It can be entered again, and nested."""

    def __init__(self) -> None:
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        outer = current().interceptors
        note_entered(self._entered, change(interceptors=(*outer, _chained(self, outer))))

    def __exit__(self, *exc: object) -> None:
        change(**last_entered(self._entered, self))

    @abstractmethod
    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        """The result of a call; `proceed(op, operands, params)` lets it happen."""

    def seen(self, tensor: Tensor, outer: Interceptors) -> Tensor:
        """What stands for `tensor` where no primitive takes it. `outer` are the interceptors around this one."""
        return tensor

    def stand_in(self, tensors: Iterable[Tensor]) -> None:  # noqa: B027  (most do not mind)
        """Rules are about to compute with these, which are tangents or twins of what was seen."""

    def number_taken(self) -> None:  # noqa: B027  (most do not mind)
        """A Python number is about to be taken out of a tensor that is being differentiated."""


def number_taken() -> None:
    """Tell the interceptions in force."""
    for interceptor in current().interceptors:
        interception = getattr(interceptor, "interception", None)
        if interception is not None:
            interception.number_taken()


def stand_in(tensors: Iterable[Tensor]) -> None:
    """Tell the interceptions in force that these come from nowhere else than what they have seen."""
    for interceptor in current().interceptors:
        interception = getattr(interceptor, "interception", None)
        if interception is not None:
            interception.stand_in(tensors)


def as_seen(value: Any, interceptors: Interceptors | None = None) -> Any:
    """What these interceptors, or those in force, put in the place of `value`, from the innermost on."""
    if isinstance(value, Tensor):
        remaining = current().interceptors if interceptors is None else interceptors
        while remaining:
            *outer, innermost = remaining
            remaining = tuple(outer)
            interception = getattr(innermost, "interception", None)
            if interception is not None:
                value = interception.seen(value, remaining)
    return value


def _chained(interception: Interception, outer: Interceptors) -> Callable[..., Any]:
    def interceptor(op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        def go_on(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
            return outer[-1](op, operands, params, proceed) if outer else proceed(op, operands, params)

        with changed(interceptors=outer):
            return interception.intercept(op, operands, params, go_on)

    interceptor.interception = interception  # type: ignore[attr-defined]
    return interceptor
