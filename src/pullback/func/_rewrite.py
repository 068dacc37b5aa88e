"""The user's functions, classes and objects with NumPy replaced: what one call of an adapted function runs.

A `Rewriter` lives for one call. It makes new function objects from the same code, with copies of the globals in which
NumPy is its proxy and every visible function is its rewritten self; closures, defaults and bound objects likewise. The
user's own module is only read, so threads and nested calls do not meet, and there is nothing to undo when a call fails.
Replacing names in the module itself for the time of the call was rejected for that reason.

Visible is what the home module defines (that of the adapted function) and the modules that were named. Functions are
rewritten when a name is looked up, and objects when they are met, so a call pays for what it uses.
"""

from __future__ import annotations

import functools
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.core.state import current
from pullback.func._arrays import MARK, Array, Arrays, adopt, has_history, outside
from pullback.func._lent import LentArrays
from pullback.func._mirrors import Mirrors, can_be_mirrored
from pullback.func._numpy_proxy import Drawing, Vectorize, is_numpy, numpy_value
from pullback.func._overwrites import Overwrites
from pullback.func._places import PLAIN, Cell, Container, Space
from pullback.func._stand_ins import Proxy, is_math, math_value
from pullback.ops import functions
from pullback.tensors.tensor import Tensor

ADAPTED = "_pullback_is_adapted"
"""The attribute of functions that `adapt` made."""


def home_of(function: Any) -> FunctionType | None:
    """The Python function behind a method, partial, decorator or callable object; None if it is compiled."""
    while not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, np.vectorize):
            function = function.pyfunc
        else:
            call = next((vars(base)["__call__"] for base in type(function).__mro__ if "__call__" in vars(base)), None)
            if not isinstance(call, FunctionType):
                return None
            function = call
    return function


class Rewriter:
    """What one call of an adapted function sees in place of the user's functions, modules, objects and arrays."""

    def __init__(self, home: FunctionType, named: frozenset[str], outer: Arrays | None) -> None:
        self._home = home.__globals__
        self._home_name = home.__globals__.get("__name__", "")
        self._named = named
        # What is made in a call by adapted code stays an Array until that code ends.
        self._tensors = Arrays() if outer is None else outer
        self._tensors.begin(self)
        self._mirrors = Mirrors(self.see, self.back)
        self._spaces: dict[int, Space] = {}
        self._cells: dict[int, Cell] = {}
        self._containers: list[Container] = []
        self.overwrites = current().mutation_guard or Overwrites()
        self._lent = LentArrays()
        self._returned: set[int] = set()
        # By identity, with both kept alive so that the identity stays theirs.
        self._seen: dict[int, tuple[Any, Any]] = {}
        self._originals: dict[int, tuple[Any, Any]] = {}

    # Into adapted code.

    def see(self, value: Any) -> Any:
        """What adapted code sees in place of `value`: often `value` itself, and always the same for the same one."""
        if isinstance(value, PLAIN):
            return value
        known = self._seen.get(id(value))
        if known is not None:
            return known[1]
        seen = self._look(value)
        self._remember(value, seen)
        return seen

    def see_argument(self, value: Any) -> Any:
        """As `see`. A leaf that requires grad is handed over as a copy, so that the function may write to it."""
        if type(value) is Tensor and value.requires_grad and value.is_leaf and id(value) not in self._seen:
            self._seen[id(value)] = (value, adopt(functions["copy"](value), self._tensors))
        return self.see(value)

    def _remember(self, value: Any, seen: Any) -> None:
        self._seen[id(value)] = (value, seen)
        # A tensor on the memory of an array may have got a history, and is not the array any more.
        if seen is not value and not isinstance(value, np.ndarray):
            self._originals[id(seen)] = (seen, value)

    def _look(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            # A view, and not the tensor itself, which other threads may be using.
            return value if isinstance(value, Array) else adopt(value[...], self._tensors)
        if isinstance(value, np.ndarray):
            return adopt(self._lent.borrow(value), self._tensors)
        if isinstance(value, FunctionType):
            return self._look_at_function(value)
        if isinstance(value, (ModuleType, BuiltinFunctionType, np.ufunc)) or is_numpy(value):
            return self._look_at_library(value)
        if isinstance(value, MethodType):
            return MethodType(self.see(value.__func__), self.see(value.__self__))
        if isinstance(value, functools.partial):
            arguments = {name: self.see(item) for name, item in value.keywords.items()}
            return functools.partial(self.see(value.func), *map(self.see, value.args), **arguments)
        if isinstance(value, functools._lru_cache_wrapper):
            return self.see(value.__wrapped__)  # a cache would keep graphs alive
        if isinstance(value, np.vectorize) and not value.excluded and value.signature is None:
            return Vectorize(self.see(value.pyfunc), value.otypes)
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return Drawing(value)
        if isinstance(value, tuple):
            return _with_items(value, [self.see(item) for item in value])
        if type(value) in (list, dict):
            return self._look_at_container(value)
        if isinstance(value, type):
            visible = self.is_visible(value) and can_be_mirrored(value)
            return self._mirrors.of_class(value, self._remember) if visible else value
        return self._mirrors.of_object(value)

    def _look_at_library(self, value: Any) -> Any:
        if is_numpy(value):
            return numpy_value(value)
        if is_math(value):
            return math_value(value)
        if isinstance(value, ModuleType) and (self.is_visible(value) or _is_pullback(value.__name__)):
            return Proxy(value, self.see)
        return value

    def _look_at_container(self, value: Any) -> Any:
        """A list or dict with its items replaced; one whose items all look the same is itself."""
        container = Container(value, self.see)
        # Known before it is filled: a table of functions is read by those functions.
        self._remember(value, container.copy)
        if not container.fill():
            return value
        self._containers.append(container)
        return container.copy

    # Functions.

    def _look_at_function(self, function: FunctionType) -> Any:
        names = function.__globals__
        if MARK in names or hasattr(function, ADAPTED):
            return function
        if self.is_visible(function):
            space = self._spaces.get(id(names))
            if space is None:
                space = self._spaces[id(names)] = Space(names, self.see, self._tensors)
            return self._rewrite(function, space.copy)
        if _is_of_pullback(function):
            return self._through_pullback(function)
        if is_numpy(function):
            return numpy_value(function)
        # What a decorator of another module made: its own names stay, the function in its closure is seen.
        return self._rewrite(function, names) if self._encloses_visible(function) else function

    def _through_pullback(self, function: FunctionType) -> Any:
        """A function of Pullback's: what it is given to call is entered with Arrays, and its results are Arrays."""

        def call(*args: Any, **kwargs: Any) -> Any:
            given = {name: self._entered(value) for name, value in kwargs.items()}
            out = function(*map(self._entered, args), **given)
            if _is_of_pullback(out) and not hasattr(out, ADAPTED):
                return self._through_pullback(out)  # as `grad(f)`
            return adopt(out, self._tensors)

        return functools.update_wrapper(call, function)

    def _entered(self, value: Any) -> Any:
        """A function of adapted code for those who call it with ordinary tensors, as `grad` and `vmap` do."""
        function = value.func if isinstance(value, functools.partial) else getattr(value, "__func__", value)
        if not isinstance(function, FunctionType) or MARK not in function.__globals__:
            return value

        @functools.wraps(function)
        def enter(*args: Any, **kwargs: Any) -> Any:
            given = {name: self.see_argument(arg) for name, arg in kwargs.items()}
            return _plainly(value(*map(self.see_argument, args), **given))

        return enter

    def is_visible(self, item: Any) -> bool:
        """Was this function, class or module defined where the rewriter may look?"""
        if isinstance(item, FunctionType):
            return item.__globals__ is self._home or self.is_visible_module(item.__globals__.get("__name__", ""))
        return self.is_visible_module(item.__name__ if isinstance(item, ModuleType) else item.__module__)

    def is_visible_module(self, name: str | None) -> bool:
        """Is this the home module, or a named one, or in a named package?"""
        parts = (name or "").split(".")
        return name == self._home_name or any(".".join(parts[:n]) in self._named for n in range(1, len(parts) + 1))

    def _encloses_visible(self, function: FunctionType) -> bool:
        for cell in function.__closure__ or ():
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            home = home_of(value) if callable(value) else None
            if home is not None and self.is_visible(home):
                return True
        return False

    def _rewrite(self, function: FunctionType, names: dict[str, Any]) -> FunctionType:
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        twin = FunctionType(function.__code__, names, function.__name__, None, tuple(cell.copy for cell in cells))
        # Known from here on: functions may call each other in a circle.
        self._remember(function, twin)
        twin.__defaults__ = None if function.__defaults__ is None else tuple(map(self.see, function.__defaults__))
        if function.__kwdefaults__ is not None:
            twin.__kwdefaults__ = {name: self.see(value) for name, value in function.__kwdefaults__.items()}
        twin.__dict__ = function.__dict__  # shared: attributes of functions serve as static variables
        twin.__qualname__, twin.__module__, twin.__doc__ = function.__qualname__, function.__module__, function.__doc__
        for cell in cells:
            cell.fill()
        return twin

    def _cell(self, cell: CellType) -> Cell:
        known = self._cells.get(id(cell))
        if known is None:
            known = self._cells[id(cell)] = Cell(cell, self.see)
        return known

    # Out of adapted code.

    def back(self, value: Any) -> Any:
        """A value of adapted code as the rest of the program should have it."""
        if isinstance(value, Proxy):
            return value._module
        if isinstance(value, Drawing):
            return value._real
        known = self._originals.get(id(value))
        return outside(value) if known is None else known[1]

    def result(self, value: Any) -> Any:
        """What an adapted function returned, as its caller should have it."""
        value = self.back(value)
        if isinstance(value, Tensor):
            self._returned.add(id(value))
            # The memory is the user's, and what happens to it is not counted.
            return functions["copy"](value) if self._lent.is_borrowed(value) and has_history(value) else value
        if type(value) is dict:
            parts = {key: self.result(part) for key, part in value.items()}
            return value if all(parts[key] is value[key] for key in value) else parts
        if not isinstance(value, (tuple, list)):
            return value
        return _with_items(value, [self.result(part) for part in value])

    def finish(self) -> None:
        """Store what was assigned, and let objects and tensors be what they are outside."""
        places: list[Space | Cell | Container] = [*self._spaces.values(), *self._cells.values(), *self._containers]
        for place in places:
            place.store_assigned(self.back)
        self._mirrors.finish()
        self._tensors.end(self)
        self._lent.give_back(self.overwrites)

    def check(self, given: dict[Any, Any]) -> None:
        """Say where a gradient ended in an array of the user's. `given` are the arguments by position and name."""
        self._lent.check(given, self._returned)


def _is_pullback(module: str) -> bool:
    return module.partition(".")[0] == "pullback"


def _is_of_pullback(function: Any) -> bool:
    return isinstance(function, FunctionType) and _is_pullback(
        function.__globals__.get("__name__", function.__module__ or "")
    )


def _plainly(value: Any) -> Any:
    """What adapted code returned, for Pullback's own: tensors that are no Arrays."""
    if isinstance(value, Array):
        return Tensor.__getitem__(value, ...)
    if isinstance(value, (tuple, list)):
        return _with_items(value, [_plainly(part) for part in value])
    return {key: _plainly(part) for key, part in value.items()} if type(value) is dict else value


def _with_items(value: Any, items: list[Any]) -> Any:
    """A tuple or list with other items; `value` itself if they are the same ones, or its class is an unknown one."""
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    if hasattr(value, "_fields"):
        return type(value)(*items)
    return type(value)(items) if type(value) in (tuple, list) else value
