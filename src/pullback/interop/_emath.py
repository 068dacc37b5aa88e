"""`np.emath` on tensors: real arguments outside of a function's domain become complex, and then it is applied.

Whether they are outside depends on values, so these are for eager code only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.ops import functions
from pullback.ops.plain import plain, tensor_from


def _complex_where(name: str, x: Any, is_outside: Callable[[Any], Any]) -> Any:
    """`x`, as complex numbers if it is real and an element is outside of the domain."""
    x = tensor_from(x)
    if x.dtype.kind == "c" or not np.any(is_outside(plain(f"np.emath.{name}", x))):
        return x
    return functions["astype"](x, np.result_type(x.dtype, np.complex64))


def _is_negative(values: Any) -> Any:
    return values < 0


def _is_beyond_one(values: Any) -> Any:
    return np.abs(values) > 1


def _extended(name: str, is_outside: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        return functions[name](_complex_where(name, x, is_outside))

    function.__name__ = name
    return function


def logn(n: Any, x: Any) -> Any:
    """The logarithm of `x` to base `n`."""
    log = EMATH["log"]
    return log(x) / log(n)


def power(x: Any, p: Any) -> Any:
    """`x ** p`."""
    p = tensor_from(p)
    if p.dtype.kind in "iu" and bool((plain("np.emath.power", p) < 0).any()):
        p = functions["astype"](p, np.float64)
    return functions["power"](_complex_where("power", x, _is_negative), p)


EMATH: dict[str, Callable[..., Any]] = {
    **{name: _extended(name, _is_negative) for name in ("sqrt", "log", "log2", "log10")},
    **{name: _extended(name, _is_beyond_one) for name in ("arccos", "arcsin", "arctanh")},
    "logn": logn,
    "power": power,
}
"""The functions by their names in `np.emath`."""
