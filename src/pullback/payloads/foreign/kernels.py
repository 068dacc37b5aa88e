"""Kernels that are written for NumPy, for the arrays of one device.

A kernel is a function whose globals hold NumPy as `np`, and helpers of its module. The same code with other globals, in
which `np` is `NamesThere` of the device and helpers are treated alike, runs on foreign arrays: new memory is on the
device, and `out=` and assignments write as foreign arrays do.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np

from pullback.declare.op import Op
from pullback.payloads.foreign.array import memory_error

_OURS = ("operators", "declare")


class Translated:
    """The functions that were given other globals, for one device."""

    def __init__(self, names: Any) -> None:
        self._names = names
        self._known: dict[int, Any] = {}
        self._kept: list[Any] = []  # so that ids stay their own

    def function(self, value: Any) -> Any:
        """A kernel, or anything that one refers to, as it is there."""
        if value is np:
            return self._names
        if isinstance(value, np.ufunc):
            return getattr(self._names, value.__name__) if getattr(np, value.__name__, None) is value else value
        if isinstance(value, types.FunctionType):
            if (value.__module__ or "").startswith("numpy") and hasattr(type(self._names), value.__name__):
                return getattr(self._names, value.__name__)
            if not _is_ours(value.__module__ or ""):
                return value
            return self._known.get(id(value)) or self._translated(value)
        if type(value) is Op:
            return _OpThere(value, self)
        return value

    def kernel_of(self, op: Op) -> Any:
        """What computes an operator there: its spelling, or its kernel."""
        kind = self._names.kind
        own = op.spellings
        spelling = kind.spellings.get(op.name) or own.get(kind.name) or (own.get("lazy") if kind.lazy else None)
        spelling = spelling or own.get("array_api")
        if spelling is not None:
            return functools.partial(self.function(spelling), self._names)
        if op.reads_memory:
            return functools.partial(_no_memory, op)
        return self.function(op.kernel)

    def _translated(self, function: types.FunctionType) -> Any:
        scope: dict[str, Any] = {"__builtins__": function.__globals__.get("__builtins__", __builtins__)}
        closure = function.__closure__
        cells = None if closure is None else tuple([types.CellType() for _ in closure])
        made = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
        made.__kwdefaults__ = function.__kwdefaults__
        self._known[id(function)] = made
        self._kept.append(function)
        for name in _global_names(function.__code__):
            if name in function.__globals__:
                scope[name] = self.function(function.__globals__[name])
        for cell, before in zip(cells or (), closure or (), strict=True):
            try:
                cell.cell_contents = self.function(before.cell_contents)
            except ValueError:
                pass  # not filled
        return made


class _OpThere:
    """An operator as kernels of others use it, by `op.kernel` or by calling it."""

    def __init__(self, op: Op, there: Translated) -> None:
        self._op = op
        self._there = there

    def __getattr__(self, name: str) -> Any:
        return self._there.kernel_of(self._op) if name == "kernel" else getattr(self._op, name)

    def __call__(self, *operands: Any, **params: Any) -> Any:
        return self._op(*operands, **params)


def _is_ours(module: str) -> bool:
    """Is this a module of operators or of declarations?"""
    package, _, rest = module.partition(".")
    return package == __name__.partition(".")[0] and rest.partition(".")[0] in _OURS


def _no_memory(op: Op, *operands: Any, **params: Any) -> Any:
    raise memory_error(f"{op.name.lstrip('_')} reads memory as NumPy lays it out", operands[0])


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names
