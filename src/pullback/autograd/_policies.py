"""Switches of the running thread that are called, or used in a `with` for the extent of a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pullback.autograd.grad_mode import _decorate
from pullback.core.state import change


class _Switch:
    """A change of modes that takes effect at once; as a context manager or decorator only for its extent."""

    def __init__(self, **changes: Any) -> None:
        self._changes = changes
        self._before = change(**changes)
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        previous = change(**self._changes)
        self._entered.append(previous if self._entered else self._before)

    def __exit__(self, *exc: object) -> None:
        change(**self._entered.pop())

    def __call__(self, function: Callable[..., Any]) -> Any:
        change(**self._before)
        return _decorate(function, lambda: dict(self._changes))


class enforce_grad_layout_policy(_Switch):
    """Whether a leaf's first `.grad` gets the leaf's own strides; False keeps the layout that the pass produced."""

    def __init__(self, enforce: bool) -> None:
        super().__init__(layout_policy=bool(enforce))


class set_multithreading_enabled(_Switch):
    """Accepted for compatibility: a backward pass runs on the thread that calls it, so results do not change."""

    def __init__(self, mode: bool) -> None:
        super().__init__(multithreading=bool(mode))
