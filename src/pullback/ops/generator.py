"""The generator of random numbers: its seed, its state, and the default one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from pullback.declare.composite import composite


class Generator:
    """A stream of random numbers. Its methods are the functions of this namespace, drawing from this stream."""

    def __init__(self, seed: Any = None) -> None:
        self.manual_seed(seed)

    @functools.cached_property
    def numpy(self) -> np.random.Generator:
        """The NumPy generator that draws. It is made when it is needed: loading `numpy.random` takes a while."""
        return np.random.default_rng(self._seed)

    def manual_seed(self, seed: Any) -> Generator:
        """Start the stream of this seed, and return the generator; None means a seed that nobody knows."""
        self._seed = seed
        self.__dict__.pop("numpy", None)
        return self

    def get_state(self) -> dict[str, Any]:
        """What the next numbers depend on; `set_state` goes back to it."""
        return dict(self.numpy.bit_generator.state)

    def set_state(self, state: dict[str, Any]) -> None:
        """Continue as the generator did from which the state was taken."""
        self.numpy.bit_generator.state = state

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in draws:
            raise AttributeError(f"Generator has no attribute {name!r}")
        return functools.partial(draws[name], generator=self)

    def __repr__(self) -> str:
        return f"Generator({type(self.numpy.bit_generator).__name__})"


default_generator = Generator()
"""What functions draw from that are given no generator."""

draws: dict[str, Callable[..., Any]] = {}
"""The functions with a keyword `generator` that are methods of `Generator`."""


def drawing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function with a keyword `generator` a method of `Generator`."""
    draws[function.__name__] = function
    return function


def numpy_generator(generator: Generator | np.random.Generator | None) -> np.random.Generator:
    """The NumPy generator to draw from: the given one, or the default."""
    chosen = default_generator if generator is None else generator
    return chosen.numpy if isinstance(chosen, Generator) else chosen


def asked(generator: Generator | np.random.Generator | None) -> np.random.Generator:
    """The NumPy generator for a draw that is about to be made, rewound if this draw has to repeat an earlier one."""
    source = numpy_generator(generator)
    for repeats in _repeating.get():
        repeats.rewind(source)
    return source


class Repeats:
    """Turns in which the same numbers are drawn, whichever generators they are drawn from.

    A generator is rewound when a turn asks it for the first time, to where it was when an earlier turn did so.
    """

    def __init__(self) -> None:
        self._starts: dict[int, tuple[np.random.Generator, dict[str, Any]]] = {}
        self._met: set[int] = set()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One turn, which begins with the numbers that the other turns began with."""
        self._met.clear()
        token = _repeating.set((*_repeating.get(), self))
        try:
            yield
        finally:
            _repeating.reset(token)

    def rewind(self, source: np.random.Generator) -> None:
        """Prepare a generator for the draw of this turn that is about to be made."""
        key = id(source)
        if key in self._met:
            return
        self._met.add(key)
        if key in self._starts:
            source.bit_generator.state = self._starts[key][1]
        else:
            self._starts[key] = (source, dict(source.bit_generator.state))


_repeating: ContextVar[tuple[Repeats, ...]] = ContextVar("repeating", default=())


def default_rng(seed: Any = None) -> Generator:
    """A new generator with its own stream."""
    return Generator(seed)


@composite(arrays=0)
def manual_seed(seed: Any) -> Generator:
    """Start the default generator's stream of this seed."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start a stream of the default generator that nobody knows, and return its seed."""
    number = int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]
    default_generator.manual_seed(number)
    return number


def get_state() -> dict[str, Any]:
    """The state of the default generator."""
    return default_generator.get_state()


def set_state(state: dict[str, Any]) -> None:
    """Put the default generator into a state that `get_state` returned."""
    default_generator.set_state(state)


@contextmanager
def fork_rng() -> Iterator[None]:
    """Draws inside the block leave the default generator as it was before."""
    state = get_state()
    try:
        yield
    finally:
        set_state(state)
