"""`Size`: the length of an axis in a trace with lengths that vary, as the traced function sees it.

A function may look at a size and decide (`if x.shape[0] > 8`). So lengths, and numbers computed of them, are followed:
a comparison is a guard of the capture, see `template.py`, and what needs the number itself fixes it. Like the numbers
of `_numbers/stand_in.py` a size says that it is an int and is none, since C code would read an int without asking.

What a length is in general nobody knows while the function runs. Every capture for other sizes asks for the same
lengths in the same order, and the `Watcher` finds the formulas of all answers, as it is done with the graphs.

What other code than ours makes of a size as a length (`np.arange(n)`, `range(n)`) is not followed: that fixes it, too.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.frames import is_asked_by_user
from pullback.payloads.evaluate import evaluate
from pullback.payloads.traced import user_location

Numbers = tuple[int, ...]
Guard = Callable[[Numbers], bool]
_PLAIN = frozenset((int, float, bool))


def plain_number(x: Any) -> Any:
    """The number that a size is in this trace, without anybody noticing; other things as they are."""
    if type(x) is Size:
        return x._number
    if type(x) in (tuple, list):
        return type(x)([plain_number(part) for part in x])
    if type(x) is slice:
        return slice(*map(plain_number, (x.start, x.stop, x.step)))
    return x


class Size:
    """A number of one trace that depends on lengths. Comparing it makes a guard."""

    __slots__ = ("_number", "_text", "_value", "_watcher")

    _number: Any  # what it is now
    _value: Callable[[Numbers], Any]  # and for other sizes
    _text: Callable[[], str]

    def __init__(self, number: Any, value: Callable[[Numbers], Any], text: Callable[[], str], watcher: Watcher) -> None:
        self._number, self._value, self._text, self._watcher = number, value, text, watcher

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._number)

    @property
    def expression(self) -> str:
        """The formula of the sizes that vary, as far as it is known: when the capture is complete."""
        return self._text()

    def _pinned(self) -> Any:
        """This very number is used: the capture is for it alone."""
        number, value = self._number, self._value
        self._watcher.note(lambda sizes: value(sizes) == number, "used as a number")
        return number

    def _read(self) -> Any:
        """The number for C code: of ours, which keeps to it, or of others."""
        return self._pinned() if is_asked_by_user(2) else self._number

    def __bool__(self) -> bool:
        value, answer = self._value, bool(self._number)
        self._watcher.note(lambda sizes: bool(value(sizes)) == answer)
        return answer

    def __index__(self) -> int:
        return operator.index(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __complex__(self) -> complex:
        return complex(self._read())

    def __hash__(self) -> int:
        return hash(self._read())

    def __str__(self) -> str:
        return str(self._read())

    def __repr__(self) -> str:
        return repr(self._read())

    def __format__(self, spec: str) -> str:
        return format(self._read(), spec)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self._number), (self._read(),)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if not hasattr(int if type(self._number) is int else float, name):
            raise AttributeError(f"{type(self._number).__name__!r} object has no attribute {name!r}")
        return getattr(self._pinned(), name)

    def __round__(self, digits: Any = None) -> Any:
        return _followed(round, self) if digits is None else _followed(round, self, digits)

    def __trunc__(self) -> Any:
        return _followed(math.trunc, self)

    def __floor__(self) -> Any:
        return _followed(math.floor, self)

    def __ceil__(self) -> Any:
        return _followed(math.ceil, self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._read(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        for x in (*inputs, *options.values()):
            if not isinstance(x, (np.ndarray, np.generic)) and type(x) is not Size and hasattr(x, "__array_ufunc__"):
                return NotImplemented
        is_asked = is_asked_by_user(1)
        given = [x._pinned() if type(x) is Size and is_asked else plain_number(x) for x in inputs]
        return getattr(ufunc, method)(*given, **options)

    @staticmethod
    def evaluate_op(op: Any, operands: Any, params: dict[str, Any]) -> Any:
        """An operator, with the numbers that sizes are in this trace."""
        return evaluate(op, [plain_number(x) for x in operands], params)


def _followed(function: Callable[..., Any], *args: Any) -> Any:
    """What a function gives of numbers, some of which are sizes: a number that depends on the same sizes."""
    watcher = next(x._watcher for x in args if type(x) is Size)
    number = function(*[plain_number(x) for x in args])
    values = [x._value if type(x) is Size else (lambda sizes, x=x: x) for x in args]
    value = lambda sizes: function(*[each(sizes) for each in values])
    text = lambda: f"{function.__name__}({', '.join(_text_of(x) for x in args)})"
    symbol = _SYMBOLS.get(function)
    if symbol is not None and len(args) == 2:
        text = lambda: f"{_text_of(args[0])}{symbol}{_text_of(args[1])}"
    return Size(number, value, text, watcher)


def _text_of(x: Any) -> str:
    text = x.expression if type(x) is Size else repr(x)
    return text if text.isalnum() else f"({text})"


_SYMBOLS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.floordiv: "//", operator.mod: "%",
            operator.truediv: "/", operator.pow: "**"}  # fmt: skip


def _arithmetic(function: Callable[..., Any], reflected: bool) -> Callable[[Any, Any], Any]:
    def method(self: Size, other: Any) -> Any:
        if type(other) is not Size and type(other) not in _PLAIN:
            if not isinstance(other, (int, float, complex, np.number, np.bool_)):
                return NotImplemented  # what else is a number: NumPy's, and arguments that are followed
            return function(other, self._pinned()) if reflected else function(self._pinned(), other)
        return _followed(function, other, self) if reflected else _followed(function, self, other)

    return method


def _divmod(self: Size, other: Any) -> Any:
    return self // other, self % other


def _rdivmod(self: Size, other: Any) -> Any:
    return other // self, other % self


def _comparison(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Size, other: Any) -> Any:
        if type(other) is not Size and not isinstance(other, (int, float, np.number)):
            return NotImplemented
        mine, theirs = self._value, other._value if type(other) is Size else None
        answer = function(self._number, plain_number(other))
        self._watcher.note(lambda sizes: function(mine(sizes), other if theirs is None else theirs(sizes)) == answer)
        return answer

    return method


def _unary(function: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda self: _followed(function, self)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"):
    _function = getattr(operator, _name)
    setattr(Size, f"__{_name.strip('_')}__", _arithmetic(_function, False))
    setattr(Size, f"__r{_name.strip('_')}__", _arithmetic(_function, True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Size, f"__{_name}__", _comparison(getattr(operator, _name)))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Size, f"__{_name}__", _unary(getattr(operator, _name)))
setattr(Size, "__divmod__", _divmod)  # noqa: B010
setattr(Size, "__rdivmod__", _rdivmod)  # noqa: B010


class _Guess:
    """A length before its formula is known: one of the sizes, if it equals one."""

    def __init__(self, symbol: int | None, length: int) -> None:
        self.symbol, self.length = symbol, length

    def at(self, sizes: Numbers) -> int:
        return self.length if self.symbol is None else sizes[self.symbol]

    def __repr__(self) -> str:
        return str(self.length)


class Watcher:
    """The sizes that vary in one trace, the lengths that the function has asked for, and what it did with them."""

    def __init__(self, sizes: Numbers) -> None:
        self.sizes = sizes
        self.asked: list[int] = []
        self.guards: list[Guard] = []
        self._places: list[str] = []  # for each of them, for `explain`
        self._formulas: Sequence[Any] | None = None  # of what was asked for

    def note(self, guard: Guard, what: str = "decided on") -> None:
        """The function would go on otherwise for sizes that this is false for."""
        if self._formulas is None:
            self.guards.append(guard)
            self._places.append(f"a length is {what} at {user_location()}")

    def place(self, sizes: Numbers) -> str:
        """Where the function asked what is answered otherwise for these sizes."""
        found = (place for guard, place in zip(self.guards, self._places, strict=True) if not guard(sizes))
        return next(found, "the function asks so much of the sizes that there is nothing to compare with")

    def shown(self, lengths: tuple[int, ...]) -> tuple[Any, ...]:
        """Lengths as the traced function sees them."""
        return tuple([self._length(length) for length in lengths])

    def len(self, x: Any) -> Any:
        """What `len` is in the user's code."""
        payload: Any = getattr(x, "_data", None)
        if not getattr(payload, "shape", ()) or not hasattr(payload, "asked_shape"):
            return len(x)
        return payload.asked_shape[0]

    def _length(self, length: int) -> Size:
        number = len(self.asked)
        self.asked.append(length)
        value = lambda sizes: self._formula(number).at(sizes)  # guesses say what sizes are worth comparing with
        return Size(length, value, lambda: str(self._formula(number)), self)

    def _formula(self, number: int) -> Any:
        return self._guess(self.asked[number]) if self._formulas is None else self._formulas[number]

    def _guess(self, length: int) -> _Guess:
        return _Guess(self.sizes.index(length) if length in self.sizes else None, length)

    def solve(self, formulas: Sequence[Any]) -> None:
        """The formulas of all lengths that were asked for, when they are known. Nothing is noted any more."""
        self._formulas = formulas
