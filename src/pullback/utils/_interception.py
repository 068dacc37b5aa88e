"""Seeing every primitive before it runs.

`core.state` keeps a tuple of interceptors, of which operators call the innermost only. An `Interception` puts one in
force for the extent of a `with` block and takes care of the chain: its `intercept` runs with the outer interceptors in
force, so operators it uses itself do not come back to it, and what it lets happen goes through them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from pullback.core.state import change, changed, current
from pullback.declare.op import Op

# Lets the operator happen: called with (op, operands, params), returns its result.
Proceed = Callable[..., Any]


class Interception(ABC):
    """A context in which `intercept` stands in for every primitive. It can be entered again, and nested."""

    def __init__(self) -> None:
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        outer = current().interceptors
        self._entered.append(change(interceptors=(*outer, _chained(self.intercept, outer))))

    def __exit__(self, *exc: object) -> None:
        change(**self._entered.pop())

    @abstractmethod
    def intercept(self, op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        """The result of a call; `proceed(op, operands, params)` lets it happen."""


def _chained(intercept: Callable[..., Any], outer: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    def interceptor(op: Op, operands: tuple[Any, ...], params: dict[str, Any], proceed: Proceed) -> Any:
        def go_on(op: Op, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
            return outer[-1](op, operands, params, proceed) if outer else proceed(op, operands, params)

        with changed(interceptors=outer):
            return intercept(op, operands, params, go_on)

    return interceptor
