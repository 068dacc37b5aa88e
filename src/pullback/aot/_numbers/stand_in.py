"""`Number`: what a traced function gets in place of a number among its arguments.

It says that it is a float (`isinstance(n, float)` holds), but is none: a subclass of float would be read by C code
without anybody being asked. So every way to its value goes through a method, which notes what the function does:
arithmetic is done again at every call, comparisons are guards, an operand of a tensor is an input of the graph, and
whatever else needs the value makes it one that the capture is for (`program.py`).
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Any

import numpy as np

from pullback.aot._numbers.program import Host, Repeat
from pullback.core.pytree import flatten, unflatten
from pullback.core.spec import spec_for, spec_of
from pullback.core.state import current
from pullback.declare.op import Op
from pullback.graph.descriptors import NumberAOTInput
from pullback.graph.ir import BACKWARD, type_of
from pullback.payloads.evaluate import evaluate
from pullback.payloads.traced import TracedArray, fresh
from pullback.tensors.tensor import Tensor, wrap

_PLAIN = frozenset((int, float, complex, bool))
_MOST_INPUTS = 256
_DESCRIPTION = frozenset(("dtype", "shape", "ndim", "size", "itemsize", "nbytes", "strides"))
_METHODS = frozenset(("item", "astype"))  # of NumPy's scalars, that give numbers again


def _is_plain(x: Any) -> bool:
    return type(x) in _PLAIN or isinstance(x, (np.generic, Number))


class Number:
    """A number of the call that is being traced."""

    __slots__ = ("_host", "_name", "_slots", "_text", "_value")

    _host: Host
    _name: str  # in the program
    _slots: frozenset[int]  # the arguments that it is computed from
    _text: str
    _value: Any

    def __new__(cls, *args: Any) -> Any:
        raise TypeError("numbers of a trace are made by the trace")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self._value).__name__!r} object has no attribute {name!r}")

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._value)

    def __getattr__(self, name: str) -> Any:
        value = self._value
        if name in ("real", "imag"):
            return applied(operator.attrgetter(name), self)
        if name in ("conjugate", "conj") and hasattr(value, name):
            return lambda: applied(operator.methodcaller(name), self) if np.iscomplexobj(value) else self
        if name in _DESCRIPTION and isinstance(value, np.generic):
            return getattr(value, name)
        if name == "item" and isinstance(value, (np.floating, np.integer)):  # which is Python's number
            return lambda *args: applied(float if isinstance(value, np.floating) else int, self)
        if name in _METHODS and isinstance(value, np.generic):
            return lambda *args: applied(operator.methodcaller(name, *args), self)
        if not hasattr(type(value), name):
            raise AttributeError(f"{type(value).__name__!r} object has no attribute {name!r}")
        return getattr(pinned(self, f".{name}"), name)

    # What asks for the value.

    def __bool__(self) -> bool:
        value = self._value
        if self._host.is_open:
            self._host.decided(self._name, self._text, bool(value))
            self._host.used |= self._slots
        return bool(value)

    def __hash__(self) -> int:
        if self._host.is_live:
            return hash(pinned(self, "hash()"))
        if self._host.is_open:
            raise Repeat(self._slots, "it is hashed, as a key of a dict or a member of a set is")
        return hash(self._value)

    def __float__(self) -> float:
        return float(pinned(self, "float()"))

    def __int__(self) -> int:
        return int(pinned(self, "int()"))

    def __complex__(self) -> complex:
        return complex(pinned(self, "complex()"))

    def __repr__(self) -> str:
        return repr(pinned(self, "repr()"))

    def __str__(self) -> str:
        return str(pinned(self, "str()"))

    def __format__(self, spec: str) -> str:
        trace: Any = current().trace
        told = None if trace is None else trace.formatted(self, spec)
        return format(pinned(self, "formatting"), spec) if told is None else told

    def __reduce_ex__(self, protocol: Any) -> Any:
        return pinned(self, "pickling").__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(pinned(self, "an array of it"), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        for x in (*inputs, *options.values()):
            if not isinstance(x, (np.ndarray, np.generic, Number)) and hasattr(type(x), "__array_ufunc__"):
                return NotImplemented
        if method == "__call__" and not options and all(map(_is_plain, inputs)):
            # What a scalar of NumPy's on the left calls for Python's operators is these operators again.
            is_operator = len(inputs) == 2 and not is_stand_in(inputs[0]) and isinstance(inputs[0], np.generic)
            return applied(_OPERATORS.get(ufunc, ufunc) if is_operator else ufunc, *inputs)
        made = NotImplemented if method != "__call__" else _of_graph(ufunc, inputs, options)
        if made is not NotImplemented:
            return made
        given = [_seen_through(x, f"np.{ufunc.__name__}") for x in inputs]
        return getattr(ufunc, method)(*given, **{k: _seen_through(x, "NumPy") for k, x in options.items()})

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if not all(issubclass(kind, (Number, np.ndarray)) for kind in types):
            return NotImplemented
        why = f"np.{function.__name__}"
        made = _of_graph(function, args, kwargs)
        if made is not NotImplemented:
            return made
        return function(*_seen_through(args, why), **_seen_through(kwargs, why))

    # Rounding, which gives numbers again.

    def __round__(self, digits: Any = None) -> Any:
        return applied(round, self) if digits is None else applied(round, self, digits)

    def __trunc__(self) -> Any:
        return applied(math.trunc, self)

    def __floor__(self) -> Any:
        return applied(math.floor, self)

    def __ceil__(self) -> Any:
        return applied(math.ceil, self)

    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            return applied(pow, self, other, modulus)
        return applied(operator.pow, self, other) if _is_plain(other) else NotImplemented

    def __rpow__(self, other: Any) -> Any:
        return applied(operator.pow, other, self) if _is_plain(other) else NotImplemented

    # An operand of operators on tensors.

    @staticmethod
    def evaluate_op(op: Op, operands: Any, params: dict[str, Any]) -> Any:
        """The results of an operator, with inputs of the graph in place of numbers."""
        return evaluate(op, as_operands(op, operands, params), params)

    def through(self, function: Any) -> Any:
        """What a function of Python's own gives of it."""
        return applied(function, self)

    def settle(self, why: str) -> None:
        """Let the capture be for this value."""
        pinned(self, why)

    def as_tensor(self) -> Any:
        """A tensor of this value, as `np.asarray` makes one of a number."""
        dtype = np.asarray(self._value).dtype
        payload = payload_of(self, dtype) if dtype.kind in "iufc" else None
        if payload is None:
            return wrap(np.asarray(pinned(self, "a tensor of it")))
        return wrap(fresh(current().trace, payload.value, np.empty((), dtype)))


class WholeNumber(Number):
    """One that may be an index or a length."""

    __slots__ = ()

    def __index__(self) -> int:
        return operator.index(pinned(self, "an index, a length or an axis"))


# The same methods for all of Python's operators.

def _binary(function: Callable[..., Any], reflected: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not _is_plain(other):
            return NotImplemented
        return applied(function, other, self) if reflected else applied(function, self, other)

    return method


def _unary(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda self: applied(function, self)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod"):
    setattr(Number, f"__{_name}__", _binary(getattr(operator, _name), False))
    setattr(Number, f"__r{_name}__", _binary(getattr(operator, _name), True))
setattr(Number, "__divmod__", _binary(divmod, False))  # noqa: B010
setattr(Number, "__rdivmod__", _binary(divmod, True))  # noqa: B010
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Number, f"__{_name}__", _binary(getattr(operator, _name), False))
for _name in ("neg", "pos", "abs"):
    setattr(Number, f"__{_name}__", _unary(getattr(operator, _name)))
for _name in ("and_", "or_", "xor", "lshift", "rshift"):
    setattr(WholeNumber, f"__{_name.strip('_')}__", _binary(getattr(operator, _name), False))
    setattr(WholeNumber, f"__r{_name.strip('_')}__", _binary(getattr(operator, _name), True))
setattr(WholeNumber, "__invert__", _unary(operator.invert))  # noqa: B010

_OPERATORS: dict[Any, Any] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow, np.less: operator.lt,
    np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge, np.equal: operator.eq,
    np.not_equal: operator.ne,
}  # fmt: skip


def stand_in(host: Host, value: Any, name: str, slots: frozenset[int], text: str) -> Any:
    """A number of a trace."""
    kind = WholeNumber if isinstance(value, (int, np.integer)) else Number
    number = object.__new__(kind)
    for field, part in (("_host", host), ("_value", value), ("_name", name), ("_slots", slots), ("_text", text)):
        object.__setattr__(number, field, part)
    return number


def given_numbers(host: Host, leaves: list[Any], slots: Any) -> None:
    """Make stand-ins for the arguments in these slots."""
    for slot in slots:
        host.given[slot] = stand_in(host, leaves[slot], f"a{slot}", frozenset((slot,)), f"args[{slot}]")


def remade(host: Host, recipe: Any) -> Any:
    """A number that another trace has computed, computed again."""
    kind, which, *rest = recipe
    if kind == "constant":
        return rest[-1]
    if kind == "slot":
        return host.given[which]
    return applied(which, *[remade(host, part) for part in rest[0]])


def is_stand_in(x: Any) -> bool:
    """Is this a number of a trace?"""
    return type(x) is Number or type(x) is WholeNumber


def value_of(x: Any) -> Any:
    """The value of a stand-in, without anybody noticing; other things as they are."""
    return x._value if is_stand_in(x) else x


def name_of(number: Any) -> tuple[str, frozenset[int]]:
    """What a number is called in the program, and the arguments that it is computed from."""
    return number._name, number._slots


def pinned(number: Any, why: str) -> Any:
    """The value of a number, which the capture is for from now on."""
    host = number._host
    if host.is_open:
        host.pinned(number._name, number._value, number._slots, number._text, why)
        host.used |= number._slots
    return number._value


def _seen_through(tree: Any, why: str) -> Any:
    """The same with the values of numbers in their place."""
    if is_stand_in(tree):
        return pinned(tree, why)
    if type(tree) in (list, tuple):
        return type(tree)(_seen_through(part, why) for part in tree)
    return {key: _seen_through(part, why) for key, part in tree.items()} if type(tree) is dict else tree


def _of_graph(function: Callable[..., Any], args: Any, options: Any) -> Any:
    """What a function of NumPy gives of numbers and arrays, as tensors of the trace: another array in every call.
    NotImplemented if the numbers have to be constants."""
    trace: Any = current().trace
    leaves, structure = flatten((args, options))
    numbers = [x for x in leaves if is_stand_in(x)]
    arrays = [x for x in leaves if isinstance(x, np.ndarray)]
    if trace is None or trace.tag is BACKWARD or not arrays or "out" in options:
        return NotImplemented
    if any(x._host.trace is not trace or not x._host.is_open for x in numbers):
        return NotImplemented
    if any(type(x) is not np.ndarray or x.dtype.kind not in "biufc" for x in arrays):
        return NotImplemented
    given = [trace.tensor_of(trace.home(x)) if isinstance(x, np.ndarray) else x for x in leaves]
    args, options = unflatten(structure, given)
    return made_of_arrays(numbers, function(*args, **options))


def made_of_arrays(numbers: list[Any], made: Any) -> Any:
    """What was made of numbers and is an array in eager code: the trace may have to do without that."""
    slots = frozenset().union(*(x._slots for x in numbers))
    for part in flatten(made)[0]:
        if type(part) is Tensor and type(part._data) is TracedArray:
            current().trace.met_arrays[part._data.value] = slots
    return made


def without_stand_ins(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of an operator, which are part of the graph: numbers among them are what the capture is for."""
    if not any(map(_holds_stand_ins, params.values())):
        return params
    return {name: _seen_through(each, f"the parameter {name!r}") for name, each in params.items()}


def _holds_stand_ins(value: Any) -> bool:
    return is_stand_in(value) or (type(value) in (tuple, list) and any(map(_holds_stand_ins, value)))


def applied(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives of numbers, some of them of the trace; the same is computed again at every call."""
    numbers = [x for x in args if is_stand_in(x)]
    host = numbers[0]._host
    values = [value_of(x) for x in args]
    if not host.is_open:
        return function(*values)
    try:
        result = function(*values)
    except Exception:
        for number in numbers:
            pinned(number, "an exception")
        raise
    taker: Any = next((number._host for number in numbers if number._host.is_live), None)
    if taker is not None:
        return taker.applied(function, args, result)
    outcomes = result if type(result) is tuple else (result,)
    if result is NotImplemented or not all(
        type(x) in _PLAIN or isinstance(x, (np.number, np.bool_)) for x in (*values, *outcomes)
    ):
        for number in numbers:
            pinned(number, getattr(function, "__name__", "a function"))
        return result
    slots = frozenset().union(*(number._slots for number in numbers))
    host.used |= slots
    parts = [(x._name, x._text) if is_stand_in(x) else host.constant(x) for x in args]
    name, text = host.computed(function, parts)
    if type(result) is not tuple:
        return _outcome(host, result, name, slots, text)
    return tuple([_outcome(host, x, *_swapped(host.part(name, text, k), slots)) for k, x in enumerate(result)])


def _swapped(named: tuple[str, str], slots: frozenset[int]) -> tuple[str, frozenset[int], str]:
    return named[0], slots, named[1]


def _outcome(host: Host, result: Any, name: str, slots: frozenset[int], text: str) -> Any:
    if isinstance(result, (bool, np.bool_)):
        host.decided(name, text, bool(result))
        return result
    return stand_in(host, result, name, slots, text)


# Operands of the graph.

def payload_of(number: Any, dtype: np.dtype[Any]) -> TracedArray | None:
    """The value of a number as an input of the graph, in the trace that is running; None if it has to be a constant."""
    host, running = number._host, current().trace
    if host.is_live and host.is_open:
        found: TracedArray | None = host.payload(number, dtype)
        return found
    if not host.is_open or running is None:
        return None
    value = number._value
    natural = value.dtype if isinstance(value, np.generic) else np.float64 if type(value) is float else None
    own = None if natural is not None and natural == dtype else dtype  # None is float64 for NumPy
    key = (number._name, dtype)
    known = host.tensors.get(key)
    is_outermost = running is host.trace
    if not is_outermost:
        outside = getattr(running, "outside", None)  # of the body of a loop or a branch
        if outside is None or (running.tag is BACKWARD and (known is None or id(known) not in outside)):
            return None  # the inputs of a body are known when its backward half begins
    if known is None:
        if len(host.program.inputs) >= _MOST_INPUTS:
            raise Repeat(frozenset(host.given), f"more than {_MOST_INPUTS} different values are computed of numbers")
        array = _converted(value, own)
        if array is None:
            return None
        shadow = np.empty((), dtype)
        position = host.taken(number._name, own)
        added = host.trace.graph.add_input(type_of(shadow), NumberAOTInput(position))
        host.inputs.append(added)
        host.arrays.append(array)
        known = host.tensors[key] = wrap(fresh(host.trace, added, shadow))
    host.used |= number._slots
    payload: TracedArray = (known if is_outermost else running.lifted(known))._data
    return payload


def _converted(value: Any, dtype: np.dtype[Any] | None) -> Any:
    try:
        return np.array(value, dtype)
    except (OverflowError, ValueError, TypeError):
        return None


def is_special_power(exponent: Any) -> bool:
    """Does NumPy compute this power in a way of its own, as it does squares?"""
    return exponent in (-2, -1, -0.5, 0, 0.5, 1, 2, 3)


def as_operands(op: Op, operands: Any, params: dict[str, Any]) -> list[Any]:
    """The operands with inputs of the graph in place of numbers; with their values, where it has to be those."""
    wanted = [k for k, x in enumerate(operands) if is_stand_in(x)]
    given = list(operands)
    if op.family == "elementwise" and not params:
        for k in wanted:
            is_exponent = op.takes_numbers and k == 1
            if is_exponent and (type(operands[k]) is WholeNumber or applied(is_special_power, operands[k])):
                given[k] = pinned(operands[k], f"the exponent of {op.name}")
        if op.name == "clip" and any(operands[k] == 0 for k in wanted):  # of numbers NumPy's clip has other signs of 0
            given = [pinned(x, "a bound that is 0") if is_stand_in(x) else x for x in given]
        given = _weakly_typed(op, given)
    elif op.name == "_assign" and wanted == [1]:
        payload = payload_of(given[1], given[0].dtype) if given[0].dtype.kind in "iufc" else None
        given[1] = given[1] if payload is None else payload
    return [pinned(x, f"an operand of {op.name.lstrip('_')}") if is_stand_in(x) else x for x in given]


def _weakly_typed(op: Op, operands: list[Any]) -> list[Any]:
    """Numbers converted as NumPy converts them: Python's give way to arrays."""
    strong = [x.dtype for x in operands if hasattr(x, "dtype")]
    weak = [type(value_of(x))() for x in operands if type(value_of(x)) in _PLAIN]
    dtype = np.result_type(*strong, *weak)
    dtypes = [x._value.dtype if isinstance(x._value, np.generic) else dtype for x in operands if is_stand_in(x)]
    values = [spec_of(x) if hasattr(x, "dtype") and not is_stand_in(x) else value_of(x) for x in operands]
    own = iter(dtypes)
    arrays = [spec_for((), next(own)) if is_stand_in(x) else known for x, known in zip(operands, values, strict=True)]
    try:
        is_same = op.specs_of(*map(_spec_of_scalar, values)) == op.specs_of(*arrays)
    except Exception:
        is_same = False
    if not is_same or any(each.kind not in "iufc" for each in dtypes):
        return operands
    own = iter(dtypes)
    made = [payload_of(x, next(own)) if is_stand_in(x) else x for x in operands]
    return [x if payload is None else payload for x, payload in zip(operands, made, strict=True)]


def _spec_of_scalar(x: Any) -> Any:
    return spec_of(x) if isinstance(x, np.generic) else x


# The functions of `math`, which read the bits of a float, as they are seen in a trace.

def _is_traced(x: Any) -> bool:
    return isinstance(x, Tensor) and type(x._data) is TracedArray and x.size == 1 and x.dtype.kind in "fiu"


class MathView(ModuleType):
    """The module `math` or `cmath`."""

    def __init__(self, module: ModuleType, see: Callable[[Any, str], Any]) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update(_module=module, _see=see)

    def __getattr__(self, name: str) -> Any:
        return self.__dict__["_see"](getattr(self.__dict__["_module"], name), f"{self.__name__}.{name}")


def is_of_math(value: Any) -> bool:
    """Is this one of those modules, or a function of theirs?"""
    return value is math or value is cmath or (
        isinstance(value, BuiltinFunctionType) and value.__module__ in ("math", "cmath")
    )


def math_function(function: Any, names: dict[str, Any]) -> Callable[..., Any]:
    """A function of `math` that takes numbers of a trace, and tensors as numbers, if `float` and `int` are among the
    names that mean something else in the function."""

    def called(*args: Any, **options: Any) -> Any:
        if "float" in names:
            args = tuple([names["float" if x.dtype.kind == "f" else "int"](x) if _is_traced(x) else x for x in args])
        if any(map(is_stand_in, args)) and not options and all(map(_is_plain, args)):
            return applied(function, *args)
        return function(*args, **options)

    return called


def names_type(code: CodeType | None) -> bool:
    """Does code ask for the type() of things, where stand-ins would be found out?"""
    if code is None:
        return False
    return "type" in code.co_names or any(isinstance(part, CodeType) and names_type(part) for part in code.co_consts)
