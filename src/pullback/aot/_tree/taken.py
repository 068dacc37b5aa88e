"""Numbers that a traced function takes out of tensors: `t.item()`, and in the user's code `float(t)` and `int(t)`.

Such a number stays one of the graph. What the function computes of it with Python's operators, `math` or NumPy's ufuncs
is computed in the graph as well, in float64 or int64, without a gradient; a comparison is an event, and so is whatever
else needs the value, of which the path is then for that one (`live.py`). So `err = float(norm(r)); if err < tol` asks
once, and `x * err` asks nothing.

Python's numbers differ from NumPy's: a division by zero raises, whole numbers have no end. Where it could matter, that
it does not is an event, too: a call in which it does leaves the path, and Python itself says what happens.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.aot._numbers.stand_in import is_special_power, is_stand_in, payload_of, pinned, stand_in
from pullback.aot._tree.live import Live, truth_of
from pullback.core.frames import warn
from pullback.core.state import current
from pullback.declare.op import registry
from pullback.errors import DetachedScalarWarning
from pullback.graph.ir import BACKWARD
from pullback.payloads.evaluate import evaluate
from pullback.payloads.traced import TracedArray
from pullback.tape.history import requires_grad
from pullback.tape.tensor_members import here
from pullback.tape.transform.interception import number_taken
from pullback.tensors.tensor import Tensor

_FLOAT, _INT = np.dtype(np.float64), np.dtype(np.int64)
_EXACT = 2.0**53  # whole numbers up to here are float64

# Python's functions and the ufuncs that compute the same. Of some Python raises where those give NaN or infinity.
_SAME: dict[Any, np.ufunc] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply, operator.neg: np.negative,
    operator.pos: np.positive, operator.abs: np.absolute, math.fabs: np.absolute, math.atan: np.arctan,
    math.atan2: np.arctan2,
}  # fmt: skip
_RAISING: dict[Any, np.ufunc] = {
    operator.truediv: np.divide, operator.pow: np.power, math.asin: np.arcsin, math.acos: np.arccos, math.log: np.log,
    math.sqrt: np.sqrt, math.exp: np.exp, math.expm1: np.expm1, math.log1p: np.log1p, math.log2: np.log2,
    math.log10: np.log10, math.sin: np.sin, math.cos: np.cos, math.tan: np.tan, math.sinh: np.sinh,
    math.cosh: np.cosh, math.tanh: np.tanh,
}  # fmt: skip
_QUESTIONS: dict[Any, np.ufunc] = {
    operator.lt: np.less, operator.le: np.less_equal, operator.gt: np.greater, operator.ge: np.greater_equal,
    operator.eq: np.equal, operator.ne: np.not_equal, math.isnan: np.isnan, math.isinf: np.isinf,
    math.isfinite: np.isfinite,
}  # fmt: skip
_OUR_NAMES = {"absolute": "abs", "power": "pow"}  # of ufuncs that are called otherwise here
_WHOLE = {operator.add, operator.sub, operator.mul}  # of whole numbers is a whole number


class Taker:
    """Has for the numbers that are taken out of tensors what a `Host` has for those among the arguments."""

    is_live = True

    def __init__(self, live: Live, trace: Any) -> None:
        self._live = live
        self.trace = trace
        self.used: set[int] = set()

    @property
    def is_open(self) -> bool:
        """Is the function still running?"""
        return bool(self.trace.is_open)

    def number(self, array: TracedArray, value: Any, text: str) -> Any:
        """A number that is the only element of an array, or a truth value."""
        if isinstance(value, (bool, np.bool_)):
            return type(value)(self._live.decided(truth_of(array), text))
        return stand_in(self, value, array, frozenset(), text)  # type: ignore[arg-type]

    # What `stand_in.py` asks of a host.

    def decided(self, name: TracedArray, text: str, answer: bool) -> None:
        """The function is told whether a number is not zero."""
        self._check(name, "a truth value")
        self._live.decided(truth_of(name), "a truth value")

    def pinned(self, name: TracedArray, value: Any, slots: Any, text: str, why: str) -> None:
        """The function looks at a number: the path is for this one."""
        self._check(name, why)
        if not self._live.fixed(name, np.asarray(value), why):
            raise name.refused(why)

    def _check(self, name: TracedArray, why: str) -> None:
        if current().trace is not self.trace:  # in the body of a loop or a branch, of which there are no values
            raise name.refused(why)

    def payload(self, number: Any, dtype: np.dtype[Any]) -> TracedArray | None:
        """The number as an operand in a graph, in this dtype."""
        array: TracedArray = number._name
        running = current().trace
        if running is not self.trace:
            outside = getattr(running, "outside", None)
            if outside is None or array.dtype != dtype:
                return None
            lifted: TracedArray = running.lifted(self.trace.tensor_of(array))._data
            return lifted
        return array if array.dtype == dtype else _made("_astype", array, dtype=dtype)

    def applied(self, function: Callable[..., Any], args: tuple[Any, ...], result: Any) -> Any:
        """What a function gives of numbers, some of which are of the graph; `result` is what it is in this call."""
        made = self._computed(function, args, result) if current().trace is self.trace else None
        if made is None:
            for number in args:
                if is_stand_in(number):
                    pinned(number, getattr(function, "__name__", "a function"))
            return result
        if isinstance(result, (bool, np.bool_)):
            return type(result)(self._live.decided(made, "a comparison"))
        return stand_in(self, result, made, frozenset(), getattr(function, "__name__", ""))  # type: ignore[arg-type]

    def better(self, is_better: np.ufunc, one: Any, other: Any) -> Any:
        """The first of two numbers of one type if it is better, otherwise the second; a number of the graph, unless
        both are constants."""
        values = _value(one), _value(other)
        is_here = current().trace is self.trace and any(map(is_stand_in, (one, other)))
        dtype = _FLOAT if type(values[0]) is float else _INT
        given = [payload_of(x, dtype) if is_here and is_stand_in(x) else _value(x) for x in (one, other)]
        if not is_here or any(x is None for x in given) or (dtype is _INT and max(map(abs, values)) >= _EXACT):
            return one if bool(is_better(one, other)) else other
        value = values[0] if is_better(*values) else values[1]
        chosen = _made("where", _made(_name_of(is_better), *given), *given)
        return stand_in(self, value, chosen, frozenset(), "one of two numbers")  # type: ignore[arg-type]

    def _computed(self, function: Any, args: tuple[Any, ...], result: Any) -> TracedArray | None:
        """The same of the graph; None if it has to be the very value."""
        if any(isinstance(_value(x), (complex, np.complexfloating)) for x in (*args, result)):
            return None
        if any(isinstance(_value(x), np.generic) and _value(x).dtype != _FLOAT for x in (*args, result)):
            return None
        is_whole = all(type(_value(x)) is int for x in args)
        if function is float:
            return self._real(args[0])
        if function is int and type(_value(args[0])) is float:
            return self._truncated(args[0])
        if function is is_special_power:
            return _any_of([_made("equal", self._real(args[0]), x) for x in (-2, -1, -0.5, 0, 0.5, 1, 2, 3)])
        if function in _QUESTIONS:
            given = args_of(args) if is_whole else list(map(self._real, args))
            return _made(_name_of(_QUESTIONS[function]), *given)
        if is_whole and function in _WHOLE:
            return self._exact(function, args)
        ufunc = function if isinstance(function, np.ufunc) else _SAME.get(function) or _RAISING.get(function)
        if ufunc is None or ufunc.nout != 1 or not isinstance(result, float):
            return None
        op = registry.get(_name_of(ufunc))
        if op is None or op.family != "elementwise":
            return None
        made = _made(op.name, *map(self._real, args))
        if function in _RAISING and not isinstance(result, np.generic):
            self._live.decided(_made("isfinite", made), "a number that is finite")
        return made if made.dtype == _FLOAT else None

    def _real(self, number: Any) -> Any:
        """A number as a float64 of the graph, or as it is if it is a constant."""
        value = _value(number)
        if not is_stand_in(number):
            return float(value)
        if type(value) is int:
            whole = payload_of(number, _INT)
            if whole is None:
                return float(pinned(number, "a whole number"))
            real = _made("_astype", whole, dtype=_FLOAT)
            self._within(real, _EXACT)
            return real
        found = payload_of(number, _FLOAT)
        return float(pinned(number, "a number")) if found is None else found

    def _truncated(self, number: Any) -> TracedArray | None:
        real = self._real(number)
        if type(real) is not TracedArray or not abs(_value(number)) < _EXACT:
            return None
        self._within(real, _EXACT)
        return _made("_astype", _made("trunc", real), dtype=_INT)

    def _exact(self, function: Any, args: tuple[Any, ...]) -> TracedArray | None:
        if self.trace.tag is BACKWARD or any(abs(_value(x)) >= _EXACT for x in args):
            return None
        whole = args_of(args)
        name = _name_of(_SAME[function])
        self._within(_made(name, *map(self._real, args)), _EXACT)
        return _made(name, *whole)

    def _within(self, real: TracedArray, bound: float) -> None:
        if self.trace.tag is not BACKWARD:  # where larger ones are rounded
            self._live.decided(_made("less", _made("abs", real), bound), "a whole number that is not too large")


def args_of(args: tuple[Any, ...]) -> list[Any]:
    """Whole numbers as those of the graph, or as they are if they are constants."""
    found = [payload_of(x, _INT) if is_stand_in(x) else x for x in args]
    return [pinned(x, "a whole number") if array is None else array for x, array in zip(args, found, strict=True)]


def _name_of(ufunc: np.ufunc) -> str:
    return _OUR_NAMES.get(ufunc.__name__) or ufunc.__name__.replace("arc", "a", 1)


def _value(number: Any) -> Any:
    return number._value if is_stand_in(number) else number


def _any_of(conditions: list[TracedArray]) -> TracedArray:
    found, *others = conditions
    for each in others:
        found = _made("logical_or", found, each)
    return found


def _made(name: str, *operands: Any, **params: Any) -> TracedArray:
    made: TracedArray = evaluate(registry[name], operands, params)
    return made


# The names `float` and `int` in the user's code.

class TypeView:
    """The class `float` or `int`, as a traced function sees it: called with a tensor of the trace it gives a number of
    the graph. The methods of the class itself would have to return the bits."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        self.dtype = np.dtype(kind)
        self.__name__ = self.__qualname__ = kind.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        if len(args) == 1 and not options:
            (x,) = args
            if isinstance(x, Tensor) and type(x._data) is TracedArray:
                return self._taken(x)
            if is_stand_in(x) and (x._host.is_live or type(x._value) is self._kind):
                if type(x._value) is self._kind:
                    return x
                return x.through(self._kind)
        return self._kind(*args, **options)

    def _taken(self, tensor: Tensor) -> Any:
        if tensor.size != 1 or tensor.dtype.kind not in "biuf":
            return self._kind(tensor)  # which raises
        number = here(tensor)._data.taken()
        if not is_stand_in(number):
            return self._kind(tensor if number is None else number)
        if self._kind is float and requires_grad(tensor) and current().grad:
            number_taken()
            warn(
                "a number was taken out of a tensor that requires grad or carries a tangent, and no derivative flows "
                "through it; write x.item() if that is intended, or use pb functions (pb.sin(x), not math.sin(x))",
                DetachedScalarWarning,
            )
        return number if type(number._value) is self._kind else number.through(self._kind)

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self._kind)

    def __subclasscheck__(self, subclass: Any) -> bool:
        return issubclass(subclass._kind if isinstance(subclass, TypeView) else subclass, self._kind)

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        return (self._kind,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kind, name)

    def __or__(self, other: Any) -> Any:
        return self._kind | (other._kind if isinstance(other, TypeView) else other)

    def __ror__(self, other: Any) -> Any:
        return other | self._kind

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._kind

    def __hash__(self) -> int:
        return hash(self._kind)

    def __repr__(self) -> str:
        return repr(self._kind)


class Extreme:
    """`min` or `max` in the user's code: of numbers of the graph it is one, and no event says which it was."""

    def __init__(self, function: Any, is_better: np.ufunc) -> None:
        self._function = function
        self._is_better = is_better
        self.__name__ = self.__qualname__ = function.__name__

    def __call__(self, *args: Any, **options: Any) -> Any:
        numbers = [x for x in args if is_stand_in(x) and x._host.is_live]
        if options or not numbers or len(args) < 2 or {type(_value(x)) for x in args} not in ({float}, {int}):
            return self._function(*args, **options)
        best, *others = args
        for other in others:  # as Python does: the first of equal ones, and of numbers that cannot be compared
            best = numbers[0]._host.better(self._is_better, other, best)
        return best


def views() -> dict[str, Any]:
    """What the names of classes and of some functions mean in the user's code."""
    extremes = {"min": Extreme(min, np.less), "max": Extreme(max, np.greater)}
    return {"float": TypeView(float), "int": TypeView(int), **extremes}
