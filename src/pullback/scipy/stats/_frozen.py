"""Calls of distributions with parameters, as calls of those without."""

from __future__ import annotations

from typing import Any

from pullback.scipy._examples import by_example
from pullback.scipy._replay import replay
from pullback.scipy._surface import numbers, tensors

_FIRST = {"rvs": ("size", "random_state"), "stats": ("moments",), "expect": ("func", "lb", "ub", "conditional")}
"""What methods of a distribution with parameters take where others take parameters."""


def base_call(
    distribution: Any, name: str, args: tuple[Any, ...], kwds: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with the parameters in their places."""
    held, named = distribution._args, distribution._kwds
    if not distribution._is_frozen:
        return args, kwds
    if name not in _FIRST:
        return (*args, *held), {**named, **kwds}
    kwds = {**dict(zip(_FIRST[name], args, strict=False)), **kwds}
    if name != "expect":
        return held, {**named, **kwds}
    names = [*(distribution._real.shapes.split(", ") if distribution._real.shapes else []), "loc", "scale"]
    known = dict(zip(names, held, strict=False)) | named
    places = {key: known.pop(key) for key in ("loc", "scale") if key in known}
    return (), {"args": tuple(known[key] for key in names[:-2]), **places, **kwds}


class Univariate:
    """One of SciPy's distributions of one number, with parameters given or not; a subclass has the derivatives."""

    def __init__(self, real: Any, args: tuple[Any, ...] = (), kwds: dict[str, Any] | None = None) -> None:
        self._real = real
        self._is_frozen = kwds is not None
        self._args = args
        self._kwds = kwds or {}
        self.__doc__ = f"`scipy.stats.{real.name}` with derivatives."

    def __call__(self, *args: Any, **kwds: Any) -> Univariate:
        return type(self)(self._real, args, kwds)

    freeze = __call__

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._real, name)
        if not callable(real):
            return real

        def call(own: Univariate, *args: Any, **kwds: Any) -> Any:
            if name.startswith("_"):  # SciPy's own text asks
                return replay(real, *args, **kwds)
            given = base_call(own, name, args, kwds)
            if own._has_to_differentiate(name, *given):
                return own._differentiated(name, *given)
            return tensors(real(*map(numbers, given[0]), **{key: numbers(value) for key, value in given[1].items()}))

        return lambda *args, **kwds: by_example(name, call, args, kwds, self)
