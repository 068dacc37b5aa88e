"""`math` as adapted code sees it: the functions of tensors are Pullback's, those of numbers are `math`'s own."""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType
from typing import Any

from pullback.func._stand_ins import Proxy
from pullback.func._values import holds_tensors
from pullback.ops import functions
from pullback.tensors.tensor import Tensor

_MATH = {
    **{name: name for name in (
        "sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log2", "log10", "log1p", "sqrt", "cbrt",
        "pow", "copysign", "fmod", "hypot",
    )},
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "asinh": "arcsinh", "acosh": "arccosh",
    "atanh": "arctanh", "fabs": "abs",
}  # fmt: skip
# They give whole numbers or truth values, so there is no gradient to lose.
_WITHOUT_GRADIENT = frozenset(("ceil", "floor", "trunc", "isclose", "isfinite", "isinf", "isnan"))
_COMPOSED: dict[str, Callable[..., Any]] = {
    "degrees": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "log": lambda x, *base: functions["log"](x) if not base else functions["log"](x) / functions["log"](*base),
    "fsum": lambda items: builtins.sum(items, 0.0),
    "prod": lambda items, start=1: functools.reduce(lambda x, y: x * y, items, start),
    "dist": lambda p, q: builtins.sum((x - y) ** 2 for x, y in zip(p, q, strict=True)) ** 0.5,
}


@functools.cache
def math_value(value: Any) -> Any:
    """What adapted code sees in place of `math` or one of its functions."""
    if value is math:
        return Proxy(math, lambda attribute: math_value(attribute) if callable(attribute) else attribute)
    name = value.__name__
    twin = _COMPOSED.get(name) or functions.get(_MATH.get(name, ""))

    @functools.wraps(value)
    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(list(arg) if isinstance(arg, Iterator) else arg for arg in args)
        if not any(map(holds_tensors, args)):
            return value(*args, **kwargs)
        if name in _WITHOUT_GRADIENT:
            return value(*(x.item() if isinstance(x, Tensor) else x for x in args), **kwargs)
        if twin is None:
            raise TypeError(f"math.{name} of a tensor can not be differentiated: use NumPy's or Pullback's functions")
        return functools.reduce(twin, args) if name == "hypot" else twin(*args, **kwargs)

    return call


def is_math(value: Any) -> bool:
    """Is this `math` or one of its functions?"""
    return value is math or (isinstance(value, BuiltinFunctionType) and value.__self__ is math)
