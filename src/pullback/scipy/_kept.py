"""Callbacks with the variables that they close over as these are when a solver is called.

Python looks at a variable when a function runs: `[quad(lambda t: p * t**k, 0, 1) for k in range(3)]` is right while
`quad` runs, and all three functions see the last `k` afterwards, when derivatives call them again. So solvers get twins
with variables of their own. A variable that one of the callbacks writes stays shared: counters and flags work.
"""

from __future__ import annotations

import dis
import functools
from types import CellType, CodeType, FunctionType
from typing import Any

from pullback.core.mirrors import twin_of


def kept(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, with twins in the places of functions."""
    functions = [function for value in arguments.values() for function in _functions_in(value)]
    if not any(function.__closure__ for function in functions):
        return arguments
    shared: set[int] = set()
    for function in functions:
        _note_written(function, shared, set())
    keeper = _Keeper(shared)
    return {name: keeper.value(value) for name, value in arguments.items()}


def _functions_in(value: Any) -> list[FunctionType]:
    if isinstance(value, FunctionType):
        return [value]
    if isinstance(value, functools.partial):
        return _functions_in(value.func)
    if type(value) in (list, tuple):
        return [function for part in value for function in _functions_in(part)]
    return [function for part in value.values() for function in _functions_in(part)] if type(value) is dict else []


class _Keeper:
    """Makes twins, one for each function."""

    def __init__(self, shared: set[int]) -> None:
        self._shared = shared
        self._twins: dict[int, FunctionType] = {}

    def value(self, value: Any) -> Any:
        """`value` with twins in it."""
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, functools.partial):
            return functools.partial(self.value(value.func), *value.args, **value.keywords)
        if type(value) in (list, tuple):
            return type(value)([self.value(part) for part in value]) if _functions_in(value) else value
        if type(value) is dict:
            return {key: self.value(part) for key, part in value.items()} if _functions_in(value) else value
        return value

    def _function(self, function: FunctionType) -> FunctionType:
        if not function.__closure__:
            return function
        if id(function) not in self._twins:
            cells = [cell if id(cell) in self._shared else CellType() for cell in function.__closure__]
            twin = twin_of(function, function.__globals__, cells)
            twin.__defaults__, twin.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
            twin.__dict__.update(function.__dict__)
            self._twins[id(function)] = twin
            for cell, own in zip(function.__closure__, cells, strict=True):
                if own is not cell:
                    try:
                        contents = cell.cell_contents
                    except ValueError:
                        continue  # a variable without a value yet
                    own.cell_contents = self._function(contents) if isinstance(contents, FunctionType) else contents
        return self._twins[id(function)]


def _note_written(function: FunctionType, shared: set[int], seen: set[int]) -> None:
    """Note the cells that a function, or one that it closes over, writes."""
    if not function.__closure__ or id(function) in seen:
        return
    seen.add(id(function))
    written = _written(function.__code__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True):
        if name in written:
            shared.add(id(cell))
        try:
            contents = cell.cell_contents
        except ValueError:
            shared.add(id(cell))  # it gets its value later
            continue
        if isinstance(contents, FunctionType):
            _note_written(contents, shared, seen)


@functools.lru_cache(maxsize=1024)
def _written(code: CodeType) -> frozenset[str]:
    """The variables from outside that this code, or code inside of it, writes."""
    names = {
        str(each.argval) for each in dis.get_instructions(code) if each.opname in ("STORE_DEREF", "DELETE_DEREF")
    }
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _written(constant)
    return frozenset(names.intersection(code.co_freevars))
