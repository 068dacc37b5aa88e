"""Watching what runs: observers of every forward primitive and of every executed node."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from pullback.core import state

__all__ = ["observers", "record_function"]


class _Observers:
    """The process-wide observers, called as `observer(kind, name, sequence_nr, thread_id)`.

    `kind` is "forward" for a primitive or a custom Function, "backward" for an executed node; the two of one operation
    share `sequence_nr`, which is -1 for what was not recorded. `record_function` adds "begin" and "end". Nothing is
    paid for while there are none.
    """

    def append(self, observer: state.Observer) -> None:
        """Start calling `observer`."""
        state.add_observer(observer)

    def remove(self, observer: state.Observer) -> None:
        """Stop calling `observer`; ValueError if it is not among them."""
        state.remove_observer(observer)

    def clear(self) -> None:
        """Remove all observers."""
        for observer in tuple(state.observers):
            state.remove_observer(observer)

    def __iter__(self) -> Iterator[state.Observer]:
        return iter(tuple(state.observers))

    def __len__(self) -> int:
        return len(state.observers)

    def __contains__(self, observer: object) -> bool:
        return observer in state.observers

    def __repr__(self) -> str:
        return f"observers({list(state.observers)!r})"


observers = _Observers()


class record_function:
    """Tell observers that a stretch of the program begins and ends. A context manager or a decorator.

    >>> x = pb.tensor([1.0, 2.0], requires_grad=True)
    >>> with pb.autograd.profiler.record_function("loss"):
    ...     loss = ((pb.sin(x) - 1) ** 2).sum()
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._marks: list[Any] = []

    def __enter__(self) -> record_function:
        self._tell("begin")
        watch = state.watching.get()
        self._marks.append((watch, None if watch is None else watch.begin("user", self.name)))
        return self

    def __exit__(self, *exc: object) -> None:
        watch, mark = self._marks.pop()
        if watch is not None:
            watch.end(mark, None)
        self._tell("end")

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` with every call recorded under this name."""

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return recorded

    def _tell(self, kind: str) -> None:
        for observer in tuple(state.observers):
            observer(kind, self.name, -1, threading.get_ident())
