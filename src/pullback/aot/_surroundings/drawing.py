"""Draws from generators of NumPy's that a function finds around it, and from `np.random`: every call draws anew.

A method of a generator records a draw from that generator, like those of `pb.random`, which draws what NumPy's method
draws. What eager code has as an array is a tensor in a trace, and a single number is one of the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.aot._numbers.stand_in import is_stand_in, made_of_arrays, value_of
from pullback.aot._surroundings.refused import Refusing
from pullback.core.state import current
from pullback.errors import SideEffectError
from pullback.operators import functions
from pullback.operators.random.draws import draw
from pullback.payloads.traced import user_location
from pullback.tensors.tensor import Tensor

_MIDDLE = {"loc": 0.0, "scale": 1.0}
_REQUIRED: Any = object()
# The parameters of NumPy's methods, in order, before `size`.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "random": {}, "random_sample": {}, "standard_normal": {}, "standard_exponential": {}, "standard_cauchy": {},
    "normal": _MIDDLE, "laplace": _MIDDLE, "logistic": _MIDDLE, "gumbel": _MIDDLE, "uniform": {"low": 0.0, "high": 1.0},
    "exponential": {"scale": 1.0}, "rayleigh": {"scale": 1.0}, "lognormal": {"mean": 0.0, "sigma": 1.0},
    "poisson": {"lam": 1.0}, "gamma": {"shape": _REQUIRED, "scale": 1.0}, "beta": {"a": _REQUIRED, "b": _REQUIRED},
    "binomial": {"n": _REQUIRED, "p": _REQUIRED}, "chisquare": {"df": _REQUIRED}, "geometric": {"p": _REQUIRED},
    "weibull": {"a": _REQUIRED}, "pareto": {"a": _REQUIRED}, "power": {"a": _REQUIRED},
    "vonmises": {"mu": _REQUIRED, "kappa": _REQUIRED},
    "triangular": {"left": _REQUIRED, "mode": _REQUIRED, "right": _REQUIRED},
    "integers": {"low": _REQUIRED, "high": None}, "randint": {"low": _REQUIRED, "high": None},
}  # fmt: skip
_WHOLE = ("poisson", "binomial", "geometric", "integers", "randint")
_OF_DIMENSIONS = {"rand": "random_sample", "randn": "standard_normal"}


class Legacy:
    """A `RandomState` with the members of newer generators that draws ask for."""

    def __init__(self, state: np.random.RandomState) -> None:
        self._state = state

    @property
    def bit_generator(self) -> Legacy:
        """Itself, which has the state."""
        return self

    @property
    def state(self) -> Any:
        """What the next numbers depend on."""
        return self._state.get_state(legacy=False)

    @state.setter
    def state(self, value: Any) -> None:
        self._state.set_state(value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


class Draws:
    """A generator of NumPy's as a traced function sees it."""

    def __init__(self, generator: Any, text: str) -> None:
        self._generator, self._text = generator, text
        # What draws of `pb.random` take in place of this.
        self.drawn_from = Legacy(generator) if isinstance(generator, np.random.RandomState) else generator
        self._seeded: Any = None  # in place of the generator, once the function has started a stream

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._generator)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "seed" and isinstance(self._generator, np.random.RandomState):
            return self._start
        if name in _OF_DIMENSIONS or name in _PARAMETERS:
            getattr(self._generator, name)  # or there is no such method
            method: Any = functools.partial(self._called, name)
            method.__name__ = method.__qualname__ = name
            return method
        return getattr(Refusing(self._generator, self._text) if self._seeded is None else self._seeded, name)

    def _called(self, name: str, *args: Any, **options: Any) -> Any:
        if self._seeded is not None:
            return getattr(self._seeded, name)(*args, **options)
        if name in _OF_DIMENSIONS:
            return self._drawn(_OF_DIMENSIONS[name], (), {"size": args or None})
        return self._drawn(name, args, options)

    def _start(self, seed: Any = None) -> None:
        """Start a stream: what is drawn of it is the same in all calls, which leave the generator where it is then."""
        trace: Any = current().trace
        if seed is None or trace is None or trace.live is None:
            raise self._refused("seed")
        if self._seeded is None:
            self._seeded = np.random.RandomState()
            trace.live.effects.given.append((functools.partial(_continue, self._generator, self._seeded), []))
        self._seeded.seed(int(seed) if isinstance(seed, int) else seed)

    def _drawn(self, kind: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        trace: Any = current().trace
        names = _PARAMETERS[kind]
        given = {**names, **dict(zip((*names, "size", "dtype"), args, strict=False)), **options}
        size, dtype = given.pop("size", None), given.pop("dtype", None)
        extra = {"endpoint": bool(given.pop("endpoint"))} if "endpoint" in given and kind == "integers" else {}
        wanted = np.dtype(np.int64 if kind in _WHOLE else np.float64)
        parameters = [each for each in given.values() if each is not None]
        is_known = given.keys() == names.keys() and _REQUIRED not in parameters
        if trace is None or trace.live is None or not is_known or (dtype is not None and np.dtype(dtype) != wanted):
            raise self._refused(kind)
        if any(isinstance(each, Tensor) and each.requires_grad for each in parameters):
            raise self._refused(kind)
        if kind in ("integers", "randint"):
            parameters = [int(each) for each in parameters]
        shape = np.broadcast_shapes(*(np.shape(value_of(each)) for each in parameters))
        if size is not None:
            shape = tuple(int(each) for each in size) if isinstance(size, (tuple, list)) else (int(size),)
        made = draw(kind, shape, *parameters, dtype=wanted, generator=self.drawn_from, **extra)
        if shape or size is not None:
            return made
        number = None if trace.live.taker is None else trace.live.taken(made._data, kind == "integers")
        if number is None:
            raise self._refused(kind)
        return number

    def _refused(self, kind: str) -> SideEffectError:
        return SideEffectError(
            f"the function draws from {self._text} in a way that compiled calls do not: {kind}",
            location=user_location(),
            why="every call would draw other numbers, and a compiled call does not run the function",
            fix="draw with pb.random, or pass the numbers as an argument",
        )


def _continue(generator: np.random.RandomState, other: np.random.RandomState, _: Any) -> None:
    generator.set_state(other.get_state(legacy=False))


class NumpyView(ModuleType):
    """NumPy, whose generator is not constant."""

    def __init__(self, seer: Any, module: ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__.update(_seer=seer, _module=module)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_module"], name)
        found = value
        if value is np.random or owner_of(value) is not None:
            found = self.__dict__["_seer"].see(value, f"np.{name}")
        elif value is np.array or value is np.asarray:
            found = functools.partial(_array, value)
        elif value is np.full:
            found = _full
        self.__dict__[name] = found
        return found


def _array(function: Any, data: Any, *args: Any, **options: Any) -> Any:
    """`np.array` of lists: with numbers of the call among them it is a tensor, and no number is fixed for that."""
    numbers = _numbers_in(data) if isinstance(data, (list, tuple)) else []
    if not numbers:
        return function(data, *args, **options)
    return made_of_arrays(numbers, functions["array"](_with_tensors(data), *args, **options))


def _full(shape: Any, value: Any, *args: Any, **options: Any) -> Any:
    """`np.full` with a number of the call."""
    numbers = _numbers_in(value)
    if not numbers or args or options:
        return np.full(shape, value, *args, **options)
    return made_of_arrays(numbers, functions["broadcast_to"](value.as_tensor(), shape).copy())


def _numbers_in(data: Any) -> list[Any]:
    """The numbers of a trace in nested lists, if it can have others in their places."""
    if isinstance(data, (list, tuple)):
        return [number for each in data for number in _numbers_in(each)]
    return [data] if is_stand_in(data) and data._host.trace is current().trace and data._host.is_open else []


def _with_tensors(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return [_with_tensors(each) for each in data]
    return data.as_tensor() if is_stand_in(data) else data


def owner_of(value: Any) -> Any:
    """The generator that a function draws from, if it is a method of one of NumPy's, or was one once."""
    if value is np.random.seed:
        return np.random.mtrand._rand
    owner = value.__self__ if isinstance(value, (MethodType, BuiltinFunctionType)) else None
    return owner if isinstance(owner, (np.random.Generator, np.random.RandomState)) else None


def is_random(module: ModuleType) -> bool:
    """Is this NumPy, or its module of random numbers?"""
    return module is np or module is np.random


def state_of(generator: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """How to read the state of a generator, and to set it."""
    if isinstance(generator, np.random.Generator):
        generator = generator.bit_generator
    if isinstance(generator, np.random.BitGenerator):
        bits = generator
        return (lambda: bits.state), (lambda state: setattr(bits, "state", state))
    if isinstance(generator, np.random.RandomState):
        return functools.partial(generator.get_state, legacy=False), generator.set_state
    return generator.getstate, generator.setstate
