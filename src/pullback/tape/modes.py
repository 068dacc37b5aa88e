"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`, as context managers and decorators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, overload

from pullback._sites import told
from pullback.core.state import change, change_grad, current, here, last_entered, note_entered

__all__ = [
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_grad_enabled",
]

F = TypeVar("F", bound=Callable[..., Any])
_M = TypeVar("_M")


class _Mode:
    """A change of modes that can be entered repeatedly and nested, or put on a function."""

    _changes: dict[str, Any]

    def __init__(self) -> None:
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        note_entered(self._entered, change(**self._changes))

    def __exit__(self, *exc: object) -> None:
        change(**last_entered(self._entered, self))

    def __call__(self, function: F) -> F:
        decorated: F = _decorate(function, lambda: dict(self._changes))
        return decorated


def _put(changes: dict[str, Any]) -> dict[str, Any]:
    return change(**changes)


def _decorate(function: Any, changes: Callable[[], Any], put: Callable[[Any], Any] = _put) -> Any:
    """`function` running under changed modes; generators and coroutines only while their own body runs. `put` puts
    something in force and returns what was before: modes, unless it is said."""
    if inspect.isclass(function):
        raise TypeError(
            f"a grad mode cannot decorate the class {function.__name__}: decorate its methods, or use it in a `with`"
        )
    if inspect.isasyncgenfunction(function):
        return _decorate_async_generator(function, changes, put)
    if inspect.iscoroutinefunction(function):
        return _decorate_coroutine(function, changes, put)
    if inspect.isgeneratorfunction(function):
        return _decorate_generator(function, changes, put)

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        previous = put(changes())
        try:
            return function(*args, **kwargs)
        finally:
            put(previous)

    return wrapper


def _step(changes: Any, put: Callable[[Any], Any], advance: Callable[..., Any], *args: Any) -> Any:
    previous = put(changes)
    try:
        return advance(*args)
    finally:
        put(previous)


def _drive(generator: Any, changes: Callable[[], Any], put: Callable[[Any], Any]) -> Any:
    """Run a generator or coroutine step by step under changed modes, passing everything through."""
    advance: Callable[..., Any] = generator.send
    argument: Any = None
    try:
        while True:
            try:
                produced = _step(changes(), put, advance, argument)
            except StopIteration as stop:
                return stop.value
            try:
                argument = yield produced
                advance = generator.send
            except GeneratorExit:
                _step(changes(), put, generator.close)
                raise
            except BaseException as error:
                argument, advance = error, generator.throw
    finally:
        del argument


def _decorate_generator(function: Any, changes: Callable[[], Any], put: Callable[[Any], Any]) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (yield from _drive(function(*args, **kwargs), changes, put))

    return wrapper


class _Awaitable:
    def __init__(self, coroutine: Any, changes: Callable[[], Any], put: Callable[[Any], Any]) -> None:
        self._coroutine = coroutine
        self._changes = changes
        self._put = put

    def __await__(self) -> Any:
        return (yield from _drive(self._coroutine, self._changes, self._put))


def _decorate_coroutine(function: Any, changes: Callable[[], Any], put: Callable[[Any], Any]) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        return await _Awaitable(function(*args, **kwargs), changes, put)

    return wrapper


def _decorate_async_generator(function: Any, changes: Callable[[], Any], put: Callable[[Any], Any]) -> Any:
    @functools.wraps(function)
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        generator = function(*args, **kwargs)
        advance, argument = generator.asend, None
        try:
            while True:
                try:
                    produced = await _Awaitable(advance(argument).__await__(), changes, put)
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
            await _Awaitable(generator.aclose().__await__(), changes, put)

    return wrapper


class _BareDecorator(type):
    """Lets `@no_grad` stand for `@no_grad()`, and a function stand in the place of the mode."""

    @overload
    def __call__(cls: type[_M]) -> _M: ...
    @overload
    def __call__(cls, function: F, /) -> F: ...
    @overload
    def __call__(cls: type[_M], mode: bool) -> _M: ...

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        if len(given) == 1 and callable(given[0]) and set(kwargs) <= cls._places_of_function:
            return super().__call__()(given[0])
        return super().__call__(*args, **kwargs)

    _places_of_function: frozenset[str] = frozenset()

    def __enter__(cls) -> None:
        wrong = TypeError(f"pb.{cls.__name__} is a class, and `with` wants an instance of it")
        raise told(wrong, fix=f"with pb.{cls.__name__}():")

    def __exit__(cls, *exc: object) -> None: ...


class _GradMode(_Mode):
    """A change of the grad mode alone, which is entered often enough to have a short way."""

    def __init__(self) -> None:
        self._previous: list[bool] = []

    def __enter__(self) -> None:
        previous = self._previous
        previous.append(change_grad(self._changes["grad"]))
        here.entered.append(previous)  # as `note_entered` does

    def __exit__(self, *exc: object) -> None:
        previous, entered = self._previous, here.entered
        if entered and entered[-1] is previous:
            entered.pop()
            change_grad(previous.pop())
        else:
            change_grad(last_entered(previous, self))


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
    """Operations are recorded inside, also within `no_grad`.

    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.no_grad(), pb.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    def __init__(self) -> None:
        super().__init__()
        self._changes = {"grad": True}


class set_grad_enabled(_Mode):
    """Switch recording on or off from now on; as a context manager or decorator only for its extent.

    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._changes = {"grad": bool(mode)}
        self._before = change(**self._changes)

    def __enter__(self) -> None:
        note_entered(self._entered, self._before)
        change(**self._changes)

    def __call__(self, function: F) -> F:
        """Decorate `function`; the effect of the construction is undone."""
        change(**self._before)
        return super().__call__(function)


class inference_mode(_Mode, metaclass=_BareDecorator):
    """Nothing is recorded and results carry no version counter; `inference_mode(False)` goes back to normal.

    >>> x = pb.ones(2, requires_grad=True)
    >>> with pb.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference()
    (False, True)
    """

    _places_of_function = frozenset({"mode"})

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._changes = {"inference": bool(mode), "grad": not mode}


def is_grad_enabled() -> bool:
    """True if operations are recorded here.

    >>> with pb.no_grad():
    ...     pb.is_grad_enabled()
    False
    """
    return current().grad


def is_inference_mode_enabled() -> bool:
    """True inside `inference_mode`.

    >>> with pb.inference_mode():
    ...     pb.is_inference_mode_enabled()
    True
    """
    return current().inference


# Switches of the running thread that are called, or used in a `with` for the extent of a block.

class _Switch:
    """A change of modes that takes effect at once; as a context manager or decorator only for its extent."""

    def __init__(self, **changes: Any) -> None:
        self._changes = changes
        self._before = change(**changes)
        self._entered: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        previous = change(**self._changes)
        note_entered(self._entered, previous if self._entered else self._before)

    def __exit__(self, *exc: object) -> None:
        change(**last_entered(self._entered, self))

    def __call__(self, function: F) -> F:
        change(**self._before)
        decorated: F = _decorate(function, lambda: dict(self._changes))
        return decorated


class enforce_grad_layout_policy(_Switch):
    """Whether a leaf's first `.grad` gets the leaf's own strides; False keeps the layout that the pass produced.

    >>> with pb.autograd.enforce_grad_layout_policy(False):
    ...     x = pb.ones(2, requires_grad=True)
    ...     (x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    def __init__(self, enforce: bool) -> None:
        super().__init__(layout_policy=bool(enforce))


class set_multithreading_enabled(_Switch):
    """Accepted for compatibility: a backward pass runs on the thread that calls it, so results do not change.

    >>> with pb.autograd.set_multithreading_enabled(False):
    ...     x = pb.ones(2, requires_grad=True)
    ...     (x * 3).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(multithreading=bool(mode))
