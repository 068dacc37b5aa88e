"""`Size`: the length of an axis that varies, as a traced function sees it.

A function may look at a size and decide (`if x.shape[0] > 8`). Sizes that it sees in a trace with varying sizes are
integers that write down what they were compared with. Those comparisons are guards of the capture, see `template.py`.
A length that equals a varying size counts as that size, which may make a guard too many, and never one too few for the
sizes themselves; decisions on numbers computed from sizes are followed through `+ - * // %`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

Numbers = tuple[int, ...]
Guard = Callable[[Numbers], bool]


class Size(int):
    """The length of an axis that varies, as the traced function sees it. Comparing it makes a guard."""

    _value: Callable[[Numbers], Any]
    _watcher: Any

    @classmethod
    def made(cls, number: int, value: Callable[[Numbers], Any], watcher: Any) -> Size:
        """A size that is `number` now, and `value(sizes)` in general."""
        size = cls(number)
        size._value = value
        size._watcher = watcher
        return size

    __hash__ = int.__hash__

    def __int__(self) -> int:
        return self._pinned()

    def __float__(self) -> float:
        return float(self._pinned())

    def __truediv__(self, other: Any) -> Any:
        return self._pinned() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self._pinned()

    def _pinned(self) -> int:
        """This very number is used: the capture is for it alone."""
        number = int.__index__(self)
        value = self._value
        self._watcher.guards.append(lambda sizes: value(sizes) == number)
        return number


def _arithmetic(name: str, reflected: bool) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def method(self: Size, other: Any) -> Any:
        if not issubclass(type(other), int) or type(other) is bool:
            return NotImplemented
        mine, theirs = self._value, getattr(other, "_value", None)
        there = theirs if theirs is not None else lambda sizes: other
        first, second = (there, mine) if reflected else (mine, there)
        here = (int.__index__(other), int.__index__(self)) if reflected else (int.__index__(self), int.__index__(other))
        return Size.made(function(*here), lambda sizes: function(first(sizes), second(sizes)), self._watcher)

    return method


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def method(self: Size, other: Any) -> Any:
        if not issubclass(type(other), (int, float)):
            return NotImplemented
        mine, theirs = self._value, getattr(other, "_value", None)
        answer = function(int.__index__(self), int.__index__(other) if isinstance(other, int) else other)
        self._watcher.guards.append(
            lambda sizes: function(mine(sizes), other if theirs is None else theirs(sizes)) == answer
        )
        return answer

    return method


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Size, f"__{_name}__", _arithmetic(_name, False))
    setattr(Size, f"__r{_name}__", _arithmetic(_name, True))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Size, f"__{_name}__", _comparison(_name))


class Watcher:
    """The sizes that vary in one trace, and what the function has asked about them."""

    def __init__(self, sizes: Numbers) -> None:
        self.sizes = sizes
        self.guards: list[Guard] = []

    def shown(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape as the traced function sees it: a length that equals a varying size counts as that size."""
        return tuple(
            [
                Size.made(length, _component(self.sizes.index(length)), self) if length in self.sizes else length
                for length in shape
            ]
        )


def _component(number: int) -> Callable[[Numbers], int]:
    return lambda sizes: sizes[number]
