"""Random variables, as SciPy's newer distributions are: `Normal(mu=..., sigma=...)`, `make_distribution(gamma)(a=...)`.

Each is one of the older distributions at a place and a scale, which has the derivatives. What these do not have is
SciPy's, for numbers, and refuses others.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pullback.scipy._composed import refused, watches
from pullback.scipy._surface import joined, numbers, scipy_value, tensors
from pullback.scipy.stats._continuous import Distribution

_OLDER = {
    "pdf": "pdf", "logpdf": "logpdf", "cdf": "cdf", "logcdf": "logcdf", "ccdf": "sf", "logccdf": "logsf", "icdf": "ppf",
    "iccdf": "isf", "mean": "mean", "variance": "var", "standard_deviation": "std", "median": "median",
    "entropy": "entropy",
}  # fmt: skip


class Variable:
    """A variable with its parameters. `place` and `scale` are what it is shifted by and multiplied with."""

    _older: Any  # the distribution in its standard place
    _real: Callable[..., Any]  # SciPy's class

    def __init__(self, **parameters: Any) -> None:
        for name in ("tol", "validation_policy", "cache_policy"):  # which say how SciPy computes
            parameters.pop(name, None)
        self._parameters = parameters
        self._place: Any = 0.0
        self._scale: Any = 1.0

    def _standard(self) -> tuple[dict[str, Any], Any, Any]:
        """The shapes, place and scale of the older distribution."""
        return self._parameters, 0.0, 1.0

    def _computed(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not watches((args, kwargs, self._parameters, self._place, self._scale)):
            known = self._real(**{key: numbers(value) for key, value in self._parameters.items()})
            moved = known * float(numbers(self._scale)) + float(numbers(self._place))
            own = known if not (self._place or self._scale != 1.0) else moved
            return tensors(getattr(own, name)(*map(numbers, args), **{k: numbers(v) for k, v in kwargs.items()}))
        kwargs.pop("method", None)
        if name not in _OLDER or kwargs or len(args) > 2:
            raise refused(f"stats.{type(self).__name__}.{name}", "it has no derivative here")
        shapes, place, scale = self._standard()
        place, scale = self._place + self._scale * place, self._scale * scale
        if len(args) == 2:  # between two places
            if name not in ("cdf", "ccdf"):
                raise refused(f"stats.{type(self).__name__}.{name}", "with two places it has no derivative here")
            low, high = (self._computed("cdf", (each,), {}) for each in args)
            return high - low if name == "cdf" else 1 - (high - low)
        return getattr(self._older, _OLDER[name])(*args, loc=place, scale=scale, **shapes)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._parameters:
            return joined(self._parameters[name])
        getattr(self._real, name)  # which says if there is none
        return lambda *args, **kwargs: self._computed(name, args, kwargs)

    def _moved(self, place: Any, scale: Any) -> Variable:
        if not (numbers(joined(scale).detach()) > 0).all():
            raise refused(f"stats.{type(self).__name__}", "a variable is multiplied with positive numbers only, here")
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._place, made._scale = self._place * scale + place, self._scale * scale
        return made

    def __add__(self, other: Any) -> Variable:
        return self._moved(other, 1.0)

    def __sub__(self, other: Any) -> Variable:
        return self._moved(-other, 1.0)

    def __mul__(self, other: Any) -> Variable:
        return self._moved(0.0, other)

    def __truediv__(self, other: Any) -> Variable:
        return self._moved(0.0, 1 / joined(other))

    __radd__, __rmul__ = __add__, __mul__


class _Normal(Variable):
    def __init__(self, mu: Any = 0.0, sigma: Any = 1.0, **how: Any) -> None:
        super().__init__(mu=mu, sigma=sigma, **how)

    def _standard(self) -> tuple[dict[str, Any], Any, Any]:
        return {}, joined(self._parameters["mu"]) * 1.0, joined(self._parameters["sigma"]) * 1.0


class _Uniform(Variable):
    def __init__(self, *, a: Any, b: Any, **how: Any) -> None:
        super().__init__(a=a, b=b, **how)

    def _standard(self) -> tuple[dict[str, Any], Any, Any]:
        a, b = joined(self._parameters["a"]) * 1.0, joined(self._parameters["b"]) * 1.0
        return {}, a, b - a


KNOWN: dict[str, tuple[type[Variable], str]] = {
    "stats.Normal": (_Normal, "norm"), "stats.Uniform": (_Uniform, "uniform"), "stats.Logistic": (Variable, "logistic"),
}  # fmt: skip
"""By the names of SciPy's classes, which older ones do not have."""


def of_class(name: str, theirs: Any) -> type:
    """Ours for one of SciPy's classes."""
    base, older = KNOWN[name]
    return _made(base, theirs, Distribution(scipy_value(f"stats.{older}")))


def _made(base: type[Variable], theirs: Any, older: Distribution) -> type:
    """A class with the name and the signature of SciPy's."""
    text = f"`scipy.stats.{theirs.__name__}` with derivatives by argument and parameters."
    members = {"_older": older, "_real": staticmethod(theirs), "__doc__": text}
    return type(theirs.__name__, (base,), {**members, "__signature__": inspect.signature(theirs)})


def make_distribution(dist: Any) -> Any:
    """`scipy.stats.make_distribution` with derivatives by argument and shapes, of a continuous distribution."""
    real = dist._real if isinstance(dist, Distribution) else dist
    theirs = scipy_value("stats.make_distribution")(real)
    is_ours = hasattr(real, "_logpdf") and hasattr(real, "shapes")
    return _made(Variable, theirs, Distribution(real)) if is_ours else theirs
