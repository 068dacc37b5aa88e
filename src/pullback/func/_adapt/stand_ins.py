"""Modules, types, built-in functions, `math` and `cmath` as adapted code sees them.

A type stays usable as a dtype and in `isinstance`, where a tensor counts as the array or number it stands for, and
calling it does not take a number out of the graph: `float(x)` is a tensor without axes. Functions of `math` and
`cmath` are Pullback's for tensors, and their own for numbers.
"""

from __future__ import annotations

import builtins
import cmath
import functools
import math
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from pullback.func._adapt.arrays import holds_tensors, inside
from pullback.operators import functions
from pullback.operators.loading import from_family
from pullback.tensors.tensor import Tensor


class Proxy(ModuleType):
    """A module whose attributes are replaced by what adapted code should see in their place."""

    def __init__(self, module: ModuleType, see: Callable[[Any], Any]) -> None:
        super().__init__(module.__name__, module.__doc__)

        def look_up(name: str) -> Any:
            value = self.__dict__[name] = see(getattr(module, name))
            return value

        # Not as a method of the class, which would be asked for in vain whenever an attribute is read.
        self.__dict__.update(_module=module, __getattr__=look_up)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__.pop(name, None)
        setattr(self._module, name, value)

    def __dir__(self) -> list[str]:
        return dir(self._module)


def _kind_of(tensor: Tensor) -> type:
    """What a tensor stands for: an array, or one of NumPy's numbers."""
    return np.ndarray if tensor.ndim else tensor.dtype.type


class StandIn(type):
    """The type of types that take tensors for what they stand for. They equal the type they stand in for."""

    _real: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(arg, Tensor) for arg in args):
            return _as_number(args[0] if len(args) == 1 else args[0] + 1j * args[1], cls)
        return inside(cls._real(*args, **kwargs))

    def __instancecheck__(cls, value: Any) -> bool:
        if not isinstance(value, Tensor):
            return isinstance(value, cls._real)
        return issubclass(_kind_of(value), cls._real)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other._real if type(other) is StandIn else other, cls._real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._real, name)

    def __eq__(cls, other: Any) -> bool:
        if other is Tensor:
            return cls._real is np.ndarray  # `type(x) == np.ndarray`
        return cls._real == (other._real if type(other) is StandIn else other)

    def __hash__(cls) -> int:
        return hash(cls._real)

    def __repr__(cls) -> str:
        return repr(cls._real)


def _as_number(x: Tensor, kind: Any) -> Tensor:
    """`float(x)` and `np.float32(x)`: still differentiable."""
    if kind._real in (float, complex) and x.size != 1:
        raise TypeError(f"only an array with one element becomes a {kind._real.__name__}, not one of shape {x.shape}")
    if kind._real is float and x.dtype.kind == "c":
        raise TypeError("a complex number cannot become a float; take x.real or abs(x)")
    x = x.reshape(()) if kind._real in (float, complex) else x
    return x.astype(kind.dtype, copy=False)


def _stand_in(real: type) -> StandIn:
    members: dict[str, Any] = {"_real": real, "__doc__": real.__doc__}
    if real in (float, complex) or (issubclass(real, np.inexact) and real not in (np.inexact, np.floating)):
        members["dtype"] = np.dtype(real)
    return StandIn(real.__name__, (), members)


_NUMPY_TYPES = (
    np.ndarray, np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128, np.floating, np.inexact,
    np.number, np.generic,
)  # fmt: skip

TYPES = {real: _stand_in(real) for real in _NUMPY_TYPES}
"""What adapted code sees in place of NumPy's types."""


def rounded(number: Any, ndigits: int | None = None) -> Any:
    """As the built-in `round`."""
    if isinstance(number, Tensor):
        return functions["round"](number, ndigits or 0)
    return builtins.round(number, ndigits)


_NUMBERS = {"float": _stand_in(float), "complex": _stand_in(complex)}


class _Type:
    """The built-in `type`. What it says is what adapted code calls that type, so that `type(x) is float` is true; of a
    tensor, the type of the array or of NumPy's number that it stands for."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return builtins.type(*args, **kwargs)
        kind = builtins.type(args[0])
        if kind is Tensor:
            kind = _kind_of(args[0])
        return _KNOWN.get(kind, kind)

    def __instancecheck__(self, value: Any) -> bool:
        return isinstance(value, type) or value is self

    def __subclasscheck__(self, other: Any) -> bool:
        return other is self or issubclass(other, type)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (type,)  # `class Meta(type)`

    def __getitem__(self, kind: Any) -> Any:
        return type[kind]

    def __getattr__(self, name: str) -> Any:
        return getattr(type, name)

    def __eq__(self, other: Any) -> bool:
        return other is self or other is type

    def __hash__(self) -> int:
        return hash(type)

    def __repr__(self) -> str:
        return repr(type)


_AN_ARRAY = np.empty(0)


def is_instance(value: Any, kinds: Any, /) -> bool:
    """As the built-in `isinstance`, also for classes that only ask for methods: a number is not iterable."""
    if type(value) is not Tensor or kinds is Tensor:
        return isinstance(value, kinds)
    if isinstance(kinds, tuple):
        return any(is_instance(value, kind) for kind in kinds)
    return issubclass(_kind_of(value), kinds)


def has_attribute(value: Any, name: str, /) -> bool:
    """As the built-in `hasattr`: does the array or number have it that a tensor stands for?"""
    if type(value) is Tensor:
        value = _AN_ARRAY if value.ndim else value.dtype.type()
    return hasattr(value, name)


def attribute(value: Any, name: str, /, *default: Any) -> Any:
    """As the built-in `getattr`."""
    if default and type(value) is Tensor and not has_attribute(value, name):
        return default[0]
    return getattr(value, name, *default)


BUILTINS: dict[str, Any] = {
    **_NUMBERS, "round": rounded, "type": _Type(), "isinstance": is_instance, "hasattr": has_attribute,
    "getattr": attribute,
}  # fmt: skip
"""Built-in names that would take a number out of the graph, or that ask for the type of one."""

_KNOWN: dict[Any, Any] = {
    **TYPES, float: BUILTINS["float"], complex: BUILTINS["complex"],
    **dict.fromkeys((type, StandIn, _Type), BUILTINS["type"]),
}  # fmt: skip


# The modules `math` and `cmath` ---------------------------------------------------------------------------------------

_MATH = {
    **{name: name for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log2", "log10", "log1p", "sqrt", "cbrt",
        "pow", "copysign", "fmod", "hypot", "ldexp", "modf",
    )},
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "fabs": "abs", "phase": "angle",
}  # fmt: skip
_SPECIAL = {"erf": "erf", "erfc": "erfc", "gamma": "gamma", "lgamma": "gammaln"}
# They give whole numbers or truth values, so there is no gradient to lose.
_WITHOUT_GRADIENT = frozenset(("ceil", "floor", "trunc", "isclose", "isfinite", "isinf", "isnan"))
_COMPOSED: dict[str, Callable[..., Any]] = {
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "log": lambda x, *base: functions["log"](x) if not base else functions["log"](x) / functions["log"](*base),
    "fsum": lambda items: builtins.sum(items, 0.0),
    "prod": lambda items, start=1: functools.reduce(lambda x, y: x * y, items, start),
    "sumprod": lambda p, q: builtins.sum(x * y for x, y in zip(p, q, strict=True)),
    "dist": lambda p, q: builtins.sum((x - y) ** 2 for x, y in zip(p, q, strict=True)) ** 0.5,
    "remainder": lambda x, y: x - y * functions["rint"](x / y),
    "fma": lambda x, y, z: x * y + z,
    "polar": lambda z: (functions["abs"](z), functions["angle"](z)),
    "rect": lambda r, phi: r * functions["exp"](1j * phi),
}


def _twin_of(name: str) -> Callable[..., Any] | None:
    if name in _SPECIAL:
        found: Callable[..., Any] = from_family("special", _SPECIAL[name])
        return found
    return _COMPOSED.get(name) or functions.get(_MATH.get(name, ""))


@functools.cache
def math_value(value: Any) -> Any:
    """What adapted code sees in place of `math`, `cmath` or one of their functions."""
    if isinstance(value, ModuleType):
        return Proxy(value, lambda attribute: math_value(attribute) if callable(attribute) else attribute)
    name, is_complex = value.__name__, value.__self__ is cmath

    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(list(arg) if isinstance(arg, Iterator) else arg for arg in args)
        if not any(map(holds_tensors, args)):
            return value(*args, **kwargs)
        if name in _WITHOUT_GRADIENT:
            return value(*(x.item() if isinstance(x, Tensor) else x for x in args), **kwargs)
        twin = _twin_of(name)
        if twin is None:
            raise TypeError(
                f"{value.__module__}.{name} of a tensor cannot be differentiated: use NumPy's or Pullback's functions"
            )
        if all(isinstance(x, Tensor) and type(x._data) is np.ndarray and x.size == 1 for x in args):
            value(*(x.item() for x in args))  # programs catch the errors for what is not in the domain, or too large
        if is_complex and name not in ("polar", "rect", "phase"):
            args = tuple(x.astype(complex, copy=False) if isinstance(x, Tensor) else x for x in args)
        return functools.reduce(twin, args) if name == "hypot" else twin(*args, **kwargs)

    return functools.wraps(value)(call)


def is_math(value: Any) -> bool:
    """Is this `math` or `cmath`, or one of their functions?"""
    return value is math or value is cmath or (
        isinstance(value, BuiltinFunctionType) and (value.__self__ is math or value.__self__ is cmath)
    )  # fmt: skip
