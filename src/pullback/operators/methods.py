"""The methods of `Tensor`, from the declarations, in one table.

Their names are known when the package is imported; a method is made when it is first looked up
(docs/design/import-time.md).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from pullback.core.doors import door, leave
from pullback.declare.composite import Composite, composite, composites
from pullback.declare.op import Op, registry
from pullback.eager.build import inplace_twin
from pullback.eager.fast import fast_function
from pullback.eager.forward import Duals
from pullback.operators import keywords
from pullback.operators.arguments import plain, tensor_from
from pullback.operators.arrays.creation import asarray
from pullback.operators.arrays.indexing import setitem
from pullback.operators.arrays.reshaping import ravel
from pullback.operators.arrays.scatter import put, put_along_axis, take
from pullback.operators.contraction import matmul
from pullback.operators.elementwise.arithmetic import float_power, logit
from pullback.operators.elementwise.casting import in_place, store
from pullback.operators.elementwise.comparison import clamp_max, clamp_min
from pullback.operators.elementwise.elementary import unwrap
from pullback.operators.names import METHODS
from pullback.operators.public import functions, public_composite
from pullback.operators.sparse_constants import sparse_product
from pullback.tensors.tensor import Tensor

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
_OF_SPARSE = ("matmul", "multiply", "add", "subtract", "divide")
_TABLES = ("members", "inplace_methods")  # what a module may list by itself


class Later:
    """A method of `Tensor` that is made when it is first looked up, and then takes the place of this object."""

    __slots__ = ("arguments", "make", "name")

    def __init__(self, name: str, make: Callable[..., Callable[..., Any]], *arguments: Any) -> None:
        self.name = name
        self.make = make
        self.arguments = arguments

    def __get__(self, instance: Tensor | None, owner: type[Tensor]) -> Any:
        method: Any = self.make(*self.arguments)
        setattr(Tensor, self.name, method)
        return method.__get__(instance, owner)


def bind_methods(modules: Iterable[Any]) -> None:
    """Give `Tensor` its methods, operators and in-place twins, and what modules list as `members`."""
    members: dict[str, Any] = {}
    for module in modules:
        for table in _TABLES:
            for name, member in getattr(module, table, {}).items():
                members[name] = Later(name, door, member) if _wants_door(name, member) else member
    for family, names in METHODS.items():
        members.update({name: Later(name, _loaded, family, name) for name in names})
    own = set(dir(Tensor))

    def offer(name: str, make: Callable[..., Any], *arguments: Any) -> None:
        if name not in members and name not in own:
            members[name] = Later(name, make, *arguments)

    for op in registry.values():
        if "." in op.name:
            continue
        for name in (op.name, *op.aliases):
            if op.is_public and op.operands and not op.operands[0].startswith("*"):
                offer(name, _function_of, op)
            if op.has_inplace_twin:
                offer(f"{name}_", _twin_of, op)
    for item in composites.values():
        if item.is_method and "." not in item.name:
            for name in (item.name, *item.aliases):
                offer(name, _method_of, item)
    for name, member in (members | python_operators()).items():
        setattr(Tensor, name, member)
    # Comparison is elementwise, and a tensor is found in sets and dictionaries by identity.
    Tensor.__hash__ = object.__hash__  # type: ignore[method-assign]


def python_operators() -> dict[str, Later]:
    """The methods behind the operators of the language."""
    found = {method: Later(method, _behind, name) for method, name in _OF_ONE_OPERAND.items()}
    found |= {method: Later(method, _operator, name) for method, name in _OPERATORS.items()}
    for short in _REFLECTED:
        name = _OPERATORS[f"__{short}__"]
        found[f"__r{short}__"] = Later(f"__r{short}__", _reflected, name)
        if name in registry and registry[name].has_inplace_twin:
            found[f"__i{short}__"] = Later(f"__i{short}__", _twin_of, registry[name], True)
    return found


def _loaded(family: str, name: str) -> Callable[..., Any]:
    """A method of a family that is loaded when it is first used."""
    module = functions.load(family)
    for table in _TABLES:
        if name in getattr(module, table, {}):
            member: Callable[..., Any] = getattr(module, table)[name]
            return door(member) if _wants_door(name, member) else member
    declared = functions.declaration(name)
    return declared.function if isinstance(declared, Op) else _method_of(declared)


def _wants_door(name: str, member: Any) -> bool:
    """Is this a method that nobody behind it names the user's line for? Members of the language are called too often
    for a door, and operators that take keywords have it at their operator."""
    return isinstance(member, FunctionType) and name[:2] != "__" and member.__module__ != keywords.__name__


def _function_of(op: Op) -> Callable[..., Any]:
    return op.function


@functools.cache
def _twin_of(op: Op, is_operator: bool = False) -> Callable[..., Any]:
    return inplace_twin(op, is_operator)


def _method_of(item: Composite) -> Callable[..., Any]:
    # A method's first argument is a Tensor already, so it can do without the wrapper.
    return door(item.function) if item.arrays <= 1 else public_composite(item)


def _behind(name: str) -> Callable[..., Any]:
    """What an operator of one operand computes, without a door: `x[i]` is too frequent, and looks who asks."""
    return composites[name].function if name in composites else functions[name]


def _behind_operator(name: str) -> Callable[..., Any]:
    """What Python's operator computes: the op itself, without the keywords that its public function may take."""
    op = registry.get(name)
    return op.function if op is not None and op.is_public else functions[name]


def _operator(name: str) -> Callable[..., Any]:
    """The method behind one of Python's operators, which leaves operands it does not know to their own type.

    So `x == None` is False, and `x + thing` asks `thing` before it fails. Of an op with a fast path the question comes
    after it, and common operands pay nothing.
    """
    function = _behind_operator(name)
    has_sparse = name in _OF_SPARSE

    def method(self: Tensor, other: Any) -> Any:
        try:
            if type(other) is Tensor or is_operand(other):
                return function(self, other)
            return sparse_product(name, self, other) if has_sparse else NotImplemented
        except Exception as error:
            leave(error, function)
            raise

    method.__name__, method.__doc__ = name, function.__doc__
    op = registry.get(name)
    return fast_function(op, Duals(op, method), "wrapped") if op is not None and op.fast_rules is not None else method


def is_operand(x: Any) -> bool:
    """Can this stand on the other side of an operator: a tensor, a number, or something that becomes an array?"""
    if isinstance(x, (Tensor, int, float, complex)):
        return True
    kind = type(x)
    if isinstance(x, (str, bytes)) or getattr(kind, "__array_ufunc__", True) is None:
        return False
    return isinstance(x, (np.generic, list, tuple)) or hasattr(kind, "__array__") or hasattr(kind, "evaluate_op")


def _reflected(name: str) -> Callable[..., Any]:
    function = _behind_operator(name)
    has_sparse = name in _OF_SPARSE

    def reflected(self: Tensor, other: Any) -> Any:
        if is_operand(other):
            return function(other, self)
        return sparse_product(name, other, self) if has_sparse else NotImplemented

    return reflected


# Members that tensors have because arrays have them: `flat`, `fill`, `x @= y`.
#
# With them, twins of functions that are made of several operators: in place, or for `put` out of place.


class Flat:
    """The elements of a tensor in row-major order, whatever its shape: `x.flat[3]`, `x.flat[::2] = 0`, `list(x.flat)`.

    Reading is differentiable and makes a copy where the elements do not lie in a row; writing changes the tensor.
    """

    __slots__ = ("base",)

    def __init__(self, base: Tensor) -> None:
        self.base = base

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Tensor]:
        return iter(ravel(self.base))

    def __getitem__(self, key: Any) -> Tensor:
        return ravel(self.base)[key]

    def __setitem__(self, key: Any, values: Any) -> None:
        """Write values; those that are too few are repeated, as in NumPy."""
        key = plain("flat", key) if isinstance(key, Tensor) else key
        places = np.asarray(np.arange(self.base.size)[key])
        values = ravel(asarray(values))
        if places.ndim == 0 or values.size == 1:
            values = values[0]
        elif values.size != places.size:
            values = take(values, np.arange(places.size) % values.size)
        if self.base.ndim:
            setitem(self.base, np.unravel_index(places.reshape(-1) if values.ndim else places, self.base.shape), values)
        elif places.size:
            setitem(self.base, ..., values if values.ndim == 0 else values[-1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return ravel(self.base).__array__(dtype, copy)

    def copy(self) -> Tensor:
        """The elements in a row, as a new tensor."""
        return ravel(self.base).copy()


def _assign_flat(self: Tensor, values: Any) -> None:
    Flat(self)[...] = values


def fill(self: Tensor, value: Any) -> None:
    """Write one number to every element. As in NumPy nothing is returned; `fill_` returns the tensor."""
    self.fill_(value)


def imatmul(self: Tensor, other: Any) -> Any:
    """`x @= y`: the product is written into `x`, so it must have the shape of `x`."""
    if not is_operand(other):
        return NotImplemented
    # Of a copy, since the gradient of the other factor is computed from the former elements.
    product = matmul(self.clone(), tensor_from(other))
    return store("@=", self, product)


@composite(method=False)
def put_copy(x: Any, indices: Any, values: Any, *, accumulate: bool = False) -> Any:
    """What `x` is after `put(x, ...)`, which stays as it is."""
    out = x.copy()
    put(out, indices, values, accumulate=accumulate)
    return out


@composite(method=False)
def put_along_axis_copy(x: Any, indices: Any, values: Any, axis: int | None = -1) -> Any:
    """What `x` is after `put_along_axis(x, ...)`, which stays as it is."""
    out = x.copy()
    put_along_axis(out, indices, values, axis)
    return out


members: dict[str, Any] = {
    "__imatmul__": imatmul,
    "clamp_max_": in_place(clamp_max, "clamp_max"),
    "clamp_min_": in_place(clamp_min, "clamp_min"),
    "fill": fill,
    "float_power_": in_place(float_power, "float_power"),
    "flat": property(Flat, _assign_flat, doc="The elements in row-major order, to be read and written by position."),
    "logit_": in_place(logit, "logit"),
    "unwrap_": in_place(unwrap, "unwrap"),
}
"""Members of `Tensor`."""
