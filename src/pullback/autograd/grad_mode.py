"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`, as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from pullback.core.state import change, change_grad, current

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]


class _Mode:
    """A change of modes that can be entered repeatedly and nested, or put on a function."""

    _changes: dict[str, Any]

    def __init__(self) -> None:
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._entered.append(change(**self._changes))

    def __exit__(self, *exc: object) -> None:
        change(**self._entered.pop())

    def __call__(self, function: Callable[..., Any]) -> Any:
        return _decorate(function, lambda: dict(self._changes))


def _decorate(function: Any, changes: Callable[[], dict[str, Any]]) -> Any:
    """`function` running under changed modes; generators and coroutines only while their own body runs."""
    if inspect.isclass(function):
        raise TypeError(
            f"a grad mode can not decorate the class {function.__name__}: decorate its methods, or use it in a `with`"
        )
    if inspect.isasyncgenfunction(function):
        return _decorate_async_generator(function, changes)
    if inspect.iscoroutinefunction(function):
        return _decorate_coroutine(function, changes)
    if inspect.isgeneratorfunction(function):
        return _decorate_generator(function, changes)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        previous = change(**changes())
        try:
            return function(*args, **kwargs)
        finally:
            change(**previous)

    return wrapper


def _step(changes: dict[str, Any], advance: Callable[..., Any], *args: Any) -> Any:
    previous = change(**changes)
    try:
        return advance(*args)
    finally:
        change(**previous)


def _drive(generator: Any, changes: Callable[[], dict[str, Any]]) -> Any:
    """Run a generator or coroutine step by step under changed modes, passing everything through."""
    advance: Callable[..., Any] = generator.send
    argument: Any = None
    try:
        while True:
            try:
                produced = _step(changes(), advance, argument)
            except StopIteration as stop:
                return stop.value
            try:
                argument = yield produced
                advance = generator.send
            except GeneratorExit:
                _step(changes(), generator.close)
                raise
            except BaseException as error:
                argument, advance = error, generator.throw
    finally:
        del argument


def _decorate_generator(function: Any, changes: Callable[[], dict[str, Any]]) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (yield from _drive(function(*args, **kwargs), changes))

    return wrapper


class _Awaitable:
    def __init__(self, coroutine: Any, changes: Callable[[], dict[str, Any]]) -> None:
        self._coroutine = coroutine
        self._changes = changes

    def __await__(self) -> Any:
        return (yield from _drive(self._coroutine, self._changes))


def _decorate_coroutine(function: Any, changes: Callable[[], dict[str, Any]]) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await _Awaitable(function(*args, **kwargs), changes)

    return wrapper


def _decorate_async_generator(function: Any, changes: Callable[[], dict[str, Any]]) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        advance, argument = generator.asend, None
        try:
            while True:
                try:
                    produced = await _Awaitable(advance(argument).__await__(), changes)
                except StopAsyncIteration:
                    return
                try:
                    argument = yield produced
                    advance = generator.asend
                except GeneratorExit:
                    raise
                except BaseException as error:
                    argument, advance = error, generator.athrow
        finally:
            await _Awaitable(generator.aclose().__await__(), changes)

    return wrapper


class _BareDecorator(type):
    """Lets `@no_grad` stand for `@no_grad()`."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and callable(args[0]):
            return super().__call__()(args[0])
        return super().__call__(*args, **kwargs)


class _GradMode(_Mode):
    """A change of the grad mode alone, which is entered often enough to have a short way."""

    def __init__(self) -> None:
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        self._previous.append(change_grad(self._changes["grad"]))

    def __exit__(self, *exc: object) -> None:
        change_grad(self._previous.pop())


class no_grad(_GradMode, metaclass=_BareDecorator):
    """Nothing is recorded inside: results are constants, and leaves may be written in place.

    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.no_grad():
    ...     x -= 0.1
    """

    def __init__(self) -> None:
        super().__init__()
        self._changes = {"grad": False}


class enable_grad(_GradMode, metaclass=_BareDecorator):
    """Operations are recorded inside, also within `no_grad`."""

    def __init__(self) -> None:
        super().__init__()
        self._changes = {"grad": True}


class set_grad_enabled(_Mode):
    """Switch recording on or off from now on; as a context manager or decorator only for its extent."""

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._changes = {"grad": bool(mode)}
        self._before = change(**self._changes)

    def __enter__(self) -> None:
        self._entered.append(self._before)
        change(**self._changes)

    def __call__(self, function: Callable[..., Any]) -> Any:
        """Decorate `function`; the effect of the construction is undone."""
        change(**self._before)
        return super().__call__(function)


class inference_mode(_Mode, metaclass=_BareDecorator):
    """Nothing is recorded and results carry no version counter; `inference_mode(False)` goes back to normal."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._changes = {"inference": bool(mode), "grad": not mode}


def is_grad_enabled() -> bool:
    """True if operations are recorded here."""
    return current().grad


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode`."""
    return current().inference
