"""The operators and methods that derivative rules and the engine use on payloads, from the declarations.

Rules are written for arrays and tensors alike, so a payload that is neither must offer what both have. One table
serves every kind of payload; the functions behind it are looked up when they are called, long after this is imported.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.declare.composite import composites
from pullback.declare.op import Op, registry
from pullback.payloads.evaluate import evaluate

_BINARY = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow", "floordiv": "floor_divide",
    "mod": "remainder", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
_COMPARISONS = {
    "__lt__": "less", "__le__": "less_equal", "__gt__": "greater", "__ge__": "greater_equal", "__eq__": "equal",
    "__ne__": "not_equal",
}  # fmt: skip
_UNARY = {"__neg__": "negative", "__pos__": "positive", "__abs__": "abs", "__invert__": "bitwise_invert"}
_METHODS = (
    "sum", "mean", "prod", "var", "std", "max", "min", "any", "all", "argmax", "argmin", "argsort", "cumsum",
    "cumprod", "reshape", "ravel", "transpose", "swapaxes", "squeeze", "diagonal", "conj", "astype", "copy", "clip",
    "round", "take", "repeat", "nonzero", "trace",
)  # fmt: skip
_PLAIN = (int, float, np.ndarray)  # operands that need no door: operators of two operands have no parameters
_PROPERTIES = {"real": "_real", "imag": "_imag", "T": "transpose", "mT": "matrix_transpose"}


def function_called(name: str) -> Callable[..., Any]:
    """The function of this name as rules use it: an operator, or a composite of them."""
    op = registry.get(name)
    return op.call if op is not None else composites[name].function


def bind_operators(kind: Any, read: Callable[..., Any], store: Callable[..., Any]) -> None:
    """Give a kind of payload its operators, methods and properties; `read` and `store` are its subscripts."""
    kind.__getitem__, kind.__setitem__ = read, store
    kind.__array_ufunc__ = apply_ufunc
    for short, name in _BINARY.items():
        setattr(kind, f"__{short}__", _binary(name))
        setattr(kind, f"__r{short}__", _reflected(name))
    for method, name in _COMPARISONS.items():
        setattr(kind, method, _binary(name))
    for method, name in _UNARY.items():
        setattr(kind, method, _method(name))
    for name in _METHODS:
        setattr(kind, name, _method(name))
    for attribute, name in _PROPERTIES.items():
        setattr(kind, attribute, property(_method(name)))
    # Comparison is elementwise, so payloads are told apart by identity.
    kind.__hash__ = object.__hash__


def apply_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy calls for `array + payload` and `np.add(payload, 1)`: the operator of the ufunc's name."""
    op = _by_ufunc(len(registry)).get(ufunc)
    if op is None or method != "__call__" or options:
        return NotImplemented
    return op.call(*inputs)


@functools.cache
def _by_ufunc(declared: int) -> dict[np.ufunc, Op]:
    """The operators by NumPy's ufuncs of the same name, or whose kernel they are; some families are declared late."""
    named = {getattr(np, name, None): op for op in registry.values() for name in (op.name, *op.aliases)}
    kernels = {op.kernel: op for op in registry.values()}
    return {ufunc: op for ufunc, op in (named | kernels).items() if isinstance(ufunc, np.ufunc)}


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return function_called(name)(self, *args, **kwargs)

    return method


def _binary(name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) is type(self) or type(other) in _PLAIN:
            return evaluate(registry[name], (self, other), {})
        other = _operand(other)
        return NotImplemented if other is None else function_called(name)(self, other)

    return method


def _reflected(name: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) in _PLAIN:
            return evaluate(registry[name], (other, self), {})
        other = _operand(other)
        return NotImplemented if other is None else function_called(name)(other, self)

    return method


def _operand(x: Any) -> Any:
    """What stands on the other side of an operator, None if it cannot."""
    if isinstance(x, (list, tuple)):
        return np.asarray(x)
    return x if isinstance(x, (int, float, complex)) or hasattr(x, "dtype") else None
