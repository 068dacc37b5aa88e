"""The public functions and the methods of `Tensor`, from the declarations, in one table each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.declare.composite import Composite, composites
from pullback.declare.op import registry
from pullback.eager.build import as_operand, build_all, inplace_twin
from pullback.eager.fast import fast_function
from pullback.tensors.tensor import Tensor, as_constant

_OPERATORS = {
    "__add__": "add", "__sub__": "subtract", "__mul__": "multiply", "__truediv__": "divide", "__pow__": "pow",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__divmod__": "divmod", "__matmul__": "matmul",
    "__and__": "bitwise_and", "__or__": "bitwise_or", "__xor__": "bitwise_xor", "__lshift__": "bitwise_left_shift",
    "__rshift__": "bitwise_right_shift", "__lt__": "less", "__le__": "less_equal", "__gt__": "greater",
    "__ge__": "greater_equal", "__eq__": "equal", "__ne__": "not_equal",
}  # fmt: skip
_OF_ONE_OPERAND = {
    "__neg__": "negative", "__pos__": "positive", "__abs__": "abs", "__invert__": "bitwise_invert",
    "__getitem__": "getitem",
}  # fmt: skip
_REFLECTED = (
    "add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "divmod", "matmul", "and", "or", "xor", "lshift",
    "rshift",
)  # fmt: skip


def public_functions() -> dict[str, Callable[..., Any]]:
    """Every public function by each of its names."""
    functions: dict[str, Callable[..., Any]] = {}
    for op in registry.values():
        if op.is_public:
            for name in (op.name, *op.aliases):
                functions[name] = op.function
    for item in composites.values():
        function = _public_composite(item)
        for name in (item.name, *item.aliases):
            functions[name] = function
    return functions


def namespace(name: str) -> dict[str, Callable[..., Any]]:
    """The public functions of one namespace, such as "linalg", by their short names.

    Called by the module that is the namespace, once the operators of its family have been declared.
    """
    build_all()
    prefix = f"{name}."
    return {key.removeprefix(prefix): value for key, value in public_functions().items() if key.startswith(prefix)}


def _public_composite(item: Composite) -> Callable[..., Any]:
    inner, arrays = item.function, item.arrays
    if arrays == 0:
        return inner

    @functools.wraps(inner)
    def function(*args: Any, **kwargs: Any) -> Any:
        leading = [as_operand(x) for x in args[:arrays]]
        if leading and not any(isinstance(x, Tensor) for x in leading):
            leading[0] = as_constant(leading[0])
        return inner(*leading, *args[arrays:], **kwargs)

    return function


def bind_methods(functions: dict[str, Callable[..., Any]], modules: Iterable[Any]) -> None:
    """Give `Tensor` its methods, operators and in-place twins, and what modules list as `members`."""
    for module in modules:
        for table in ("members", "inplace_methods"):
            for name, member in getattr(module, table, {}).items():
                setattr(Tensor, name, member)
    twins: dict[str, Callable[..., Any]] = {}
    for op in registry.values():
        if "." in op.name:
            continue
        for name in (op.name, *op.aliases):
            if op.is_public and op.operands and not op.operands[0].startswith("*") and not hasattr(Tensor, name):
                setattr(Tensor, name, op.function)
        if op.has_inplace_twin:
            twin = twins[op.name] = inplace_twin(op)
            for name in (op.name, *op.aliases):
                if not hasattr(Tensor, f"{name}_"):
                    setattr(Tensor, f"{name}_", twin)
    for item in composites.values():
        if item.is_method and "." not in item.name:
            for name in (item.name, *item.aliases):
                if not hasattr(Tensor, name):
                    # A method's first argument is a Tensor already, so it can do without the wrapper.
                    setattr(Tensor, name, item.function if item.arrays == 1 else functions[name])
    for method, name in _OF_ONE_OPERAND.items():
        if name in functions:
            plain = name in composites and composites[name].arrays == 1
            setattr(Tensor, method, composites[name].function if plain else functions[name])
    for method, name in _OPERATORS.items():
        if name in functions:
            setattr(Tensor, method, _operator(name, functions[name]))
    for short in _REFLECTED:
        name = _OPERATORS[f"__{short}__"]
        if name in functions:
            setattr(Tensor, f"__r{short}__", _reflected(_behind_operator(name, functions[name])))
        if name in twins:
            setattr(Tensor, f"__i{short}__", twins[name])
    # Comparison is elementwise, and a tensor is found in sets and dictionaries by identity.
    Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def _behind_operator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """What Python's operator computes: the op itself, without the keywords that its public function may take."""
    op = registry.get(name)
    return op.function if op is not None and op.is_public else function


def _operator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The method behind one of Python's operators, which leaves operands it does not know to their own type.

    So `x == None` is False, and `x + thing` asks `thing` before it fails. Of an op with a fast path the question comes
    after it, and common operands pay nothing.
    """
    function = _behind_operator(name, function)

    def method(self: Tensor, other: Any) -> Any:
        return function(self, other) if type(other) is Tensor or is_operand(other) else NotImplemented

    method.__name__, method.__doc__ = name, function.__doc__
    op = registry.get(name)
    return fast_function(op, method, False) if op is not None and op.fast_rules is not None else method


def is_operand(x: Any) -> bool:
    """Can this stand on the other side of an operator: a tensor, a number, or something that becomes an array?"""
    if isinstance(x, (Tensor, int, float, complex)):
        return True
    kind = type(x)
    if isinstance(x, (str, bytes)) or getattr(kind, "__array_ufunc__", True) is None:
        return False
    return isinstance(x, (np.generic, list, tuple)) or hasattr(kind, "__array__") or hasattr(kind, "evaluate_op")


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    def reflected(self: Tensor, other: Any) -> Any:
        return function(other, self) if is_operand(other) else NotImplemented

    return reflected
