"""The user's functions, classes and objects with NumPy replaced: what one call of an adapted function runs.

A `Rewriter` lives for one call. It makes new function objects from the same code, with copies of the globals in which
NumPy is its proxy and every visible function is its rewritten self; closures, defaults and bound objects likewise. The
user's own module is only read, so threads and nested calls do not meet, and there is nothing to undo when a call fails.
Replacing names in the module itself for the time of the call was rejected for that reason.

Visible is what the home modules define (those of the adapted function) and the modules that were named. An object of a
visible class is seen through a *mirror*: a subclass with rewritten methods whose instance shares the object's
`__dict__`, so that attributes written in the call are the object's own.
"""

from __future__ import annotations

import functools
import weakref
from abc import ABCMeta
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.func._math_proxy import is_math, math_value
from pullback.func._mirrors import AbstractMirror, Mirror, can_be_mirrored
from pullback.func._numpy_proxy import Drawing, Vectorize, is_numpy, numpy_value
from pullback.func._places import CONTAINERS, MISSING, PLAIN, Cell, Container, Space, is_plain, names_in
from pullback.func._stand_ins import Proxy
from pullback.func._values import MARK, inside, outside

_LruCache = type(functools.lru_cache(lambda: None))


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
            function = _method_of(type(function), "__call__")
            if function is None:
                return None
    return function


def _method_of(cls: type, name: str) -> FunctionType | None:
    """A method that was written in Python; None if there is none of this name."""
    method = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    return method if isinstance(method, FunctionType) else None


class Rewriter:
    """What one call of an adapted function sees in place of the user's functions, modules, objects and arrays."""

    def __init__(self, home: FunctionType, named: frozenset[str]) -> None:
        self._home = home.__globals__
        self._home_name = home.__globals__.get("__name__", "")
        self._named = named
        self._spaces: dict[int, Space] = {}
        self._cells: dict[int, Cell] = {}
        self._places: list[Space | Cell | Container] = []
        self._made: list[weakref.ref[Any]] = []
        # By identity, with both kept alive so that the identity stays theirs.
        self._seen: dict[int, tuple[Any, Any]] = {}
        self._originals: dict[int, tuple[Any, Any]] = {}

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

    def finish(self) -> None:
        """Store what was assigned to globals, variables of closures and items, and give objects their own class."""
        for place in self._places:
            place.store_assigned(self.back)
        for made in self._made:
            value = made()
            if value is not None and isinstance(type(value), Mirror):
                object.__setattr__(value, "__class__", type(value)._pullback_original)

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
        if type(value) not in (tuple, list):
            return value
        parts = [self.result(part) for part in value]
        return value if all(new is old for new, old in zip(parts, value, strict=True)) else type(value)(parts)

    def _remember(self, value: Any, seen: Any) -> None:
        self._seen[id(value)] = (value, seen)
        if seen is value:
            return
        # A tensor on the memory of an array may have got a history, and is not the array any more.
        if not isinstance(value, np.ndarray):
            self._originals[id(seen)] = (seen, value)

    def is_visible(self, item: Any) -> bool:
        """Was this function, class or module defined where the rewriter may look?"""
        if isinstance(item, FunctionType):
            return item.__globals__ is self._home or self.is_visible_module(item.__globals__.get("__name__", ""))
        return self.is_visible_module(item.__name__ if isinstance(item, ModuleType) else item.__module__)

    def is_visible_module(self, name: str | None) -> bool:
        """Is this the home module, or a named one, or in a named package?"""
        parts = (name or "").split(".")
        return name == self._home_name or any(".".join(parts[:n]) in self._named for n in range(1, len(parts) + 1))

    def _look(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return inside(value)
        if isinstance(value, FunctionType):
            return self._look_at_function(value)
        if isinstance(value, (ModuleType, BuiltinFunctionType, np.ufunc)) or is_numpy(value):
            return self._look_at_library(value)
        if isinstance(value, MethodType):
            return MethodType(self.see(value.__func__), self.see(value.__self__))
        if isinstance(value, functools.partial):
            arguments = {name: self.see(item) for name, item in value.keywords.items()}
            return functools.partial(self.see(value.func), *map(self.see, value.args), **arguments)
        if isinstance(value, _LruCache):
            return self.see(value.__wrapped__)  # a cache would keep graphs alive
        if isinstance(value, np.vectorize) and not value.excluded and value.signature is None:
            return Vectorize(self.see(value.pyfunc), value.otypes)
        if isinstance(value, (np.random.Generator, np.random.RandomState)):
            return Drawing(value)
        if type(value) in CONTAINERS:
            return self._look_at_container(value)
        if isinstance(value, type):
            return self._mirror(value)
        return self._view(value)

    def _look_at_library(self, value: Any) -> Any:
        if is_numpy(value):
            return numpy_value(value)
        if is_math(value):
            return math_value(value)
        return Proxy(value, self.see) if isinstance(value, ModuleType) and self.is_visible(value) else value

    def _look_at_container(self, value: Any) -> Any:
        """A container with its items replaced; one whose items all look the same is itself."""
        if is_plain(value):
            return value
        if type(value) is tuple:
            seen = tuple(map(self.see, value))
            return value if all(new is old for new, old in zip(seen, value, strict=True)) else seen
        container = Container(value, self.see)
        # Known before it is filled: a table of functions is read by those functions.
        self._remember(value, container.copy)
        if not container.fill():
            return value
        self._places.append(container)
        return container.copy

    # Functions.

    def _look_at_function(self, function: FunctionType) -> Any:
        if MARK in function.__globals__:
            return function
        if self.is_visible(function):
            return self._rewrite(function, self._space_of(function))
        if function.__globals__.get("__name__", "").partition(".")[0] == "pullback":
            return function  # among them adapted functions, which may be called by adapted functions
        if is_numpy(function):
            return numpy_value(function)
        # What a decorator of another module made: its own names stay, the function in its closure is seen.
        return self._rewrite(function, None) if self._encloses_visible(function) else function

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

    def _space_of(self, function: FunctionType) -> Space:
        space = self._spaces.get(id(function.__globals__))
        if space is None:
            space = self._spaces[id(function.__globals__)] = Space(function.__globals__, self.see)
            self._places.append(space)
        return space

    def _rewrite(self, function: FunctionType, space: Space | None) -> FunctionType:
        cells = tuple(self._cell(cell) for cell in function.__closure__ or ())
        globals_ = function.__globals__ if space is None else space.copy
        twin = FunctionType(function.__code__, globals_, function.__name__, None, cells)
        # Known from here on: functions may call each other in a circle.
        self._remember(function, twin)
        twin.__defaults__ = None if function.__defaults__ is None else tuple(map(self.see, function.__defaults__))
        if function.__kwdefaults__ is not None:
            twin.__kwdefaults__ = {name: self.see(value) for name, value in function.__kwdefaults__.items()}
        twin.__dict__ = function.__dict__  # shared: attributes of functions serve as static variables
        twin.__qualname__, twin.__module__, twin.__doc__ = function.__qualname__, function.__module__, function.__doc__
        for cell in function.__closure__ or ():
            self._fill_cell(cell)
        if space is not None:
            self._fill(space, function.__code__)
        return twin

    def _cell(self, cell: CellType) -> CellType:
        """The same cell if what it holds looks the same in adapted code; otherwise one that stands for it."""
        known = self._cells.get(id(cell))
        if known is not None:
            return known.copy
        try:
            value = cell.cell_contents
        except ValueError:
            return cell
        # What may lead back to the function that is being rewritten is not looked at yet.
        may_lead_back = isinstance(value, (FunctionType, MethodType, functools.partial, *CONTAINERS))
        if is_plain(value) or (not may_lead_back and self.see(value) is value):
            return cell
        known = self._cells[id(cell)] = Cell(cell)
        self._places.append(known)
        return known.copy

    def _fill_cell(self, cell: CellType) -> None:
        known = self._cells.get(id(cell))
        if known is not None and known.before is MISSING:
            known.before = cell.cell_contents  # not filled twice on the way through a circle
            known.before = known.copy.cell_contents = self.see(known.before)

    def _fill(self, space: Space, code: CodeType) -> None:
        read, written = names_in(code)
        for name in read - space.seen:
            space.seen.add(name)
            if name in space.original:
                space.copy[name] = self.see(space.original[name])
        for name in written - space.written.keys():
            space.written[name] = space.copy.get(name, MISSING)

    # Classes and objects.

    def _mirror(self, cls: type) -> type:
        """A subclass with rewritten methods that takes instances of `cls` for its own; `cls` where that can not be."""
        if not self.is_visible(cls) or not can_be_mirrored(cls):
            return cls
        bases = [base for base in map(self.see, cls.__bases__) if isinstance(base, Mirror)]
        make = Mirror if type(cls) is type else AbstractMirror
        mirror = make(cls.__name__, (*bases, cls), {"_pullback_original": cls, "_pullback_made": self._made})
        self._remember(cls, mirror)
        set_member = functools.partial(type.__setattr__, mirror)
        set_member("__module__", cls.__module__)
        set_member("__qualname__", cls.__qualname__)
        set_member("__getattribute__", self._attribute_reader(cls))
        set_member("__setattr__", self._attribute_writer(cls))
        if isinstance(cls, ABCMeta):
            set_member("__abstractmethods__", frozenset(getattr(cls, "__abstractmethods__", ())))
        # The mirrors of the bases come before `cls` in the order of resolution, so what they have is overridden here.
        inherited = {name for base in mirror.__mro__[1:] if isinstance(base, Mirror) for name in vars(base)}
        for name, member in vars(cls).items():
            seen = self._member(member)
            if name not in _OWN_MEMBERS and (seen is not member or name in inherited):
                set_member(name, seen)
        set_member("_pullback_is_made", True)
        return mirror

    def _member(self, member: Any) -> Any:
        if isinstance(member, (staticmethod, classmethod)):
            return type(member)(self.see(member.__func__))
        if isinstance(member, property):
            return property(self.see(member.fget), self.see(member.fset), self.see(member.fdel), member.__doc__)
        return self.see(member) if isinstance(member, (FunctionType, functools.partial, _LruCache)) else member

    def _attribute_reader(self, cls: type) -> Callable[[Any, str], Any]:
        read: Any = cls.__getattribute__
        see = self.see

        def __getattribute__(self: Any, name: str) -> Any:
            value = read(self, name)
            if name.startswith("__") or (isinstance(value, MethodType) and value.__self__ is self):
                return value  # a method read through a view is bound to the view already
            return see(value)

        return __getattribute__

    def _attribute_writer(self, cls: type) -> Callable[[Any, str, Any], None]:
        write: Any = cls.__setattr__
        back = self.back

        def __setattr__(self: Any, name: str, value: Any) -> None:
            write(self, name, back(value))

        return __setattr__

    def _view(self, value: Any) -> Any:
        """`value` through the mirror of its class."""
        cls = type(value)
        mirror = self.see(cls) if hasattr(value, "__dict__") else cls
        if mirror is cls:
            return value
        view = object.__new__(mirror)
        object.__setattr__(view, "__dict__", value.__dict__)
        self._made.append(weakref.ref(view))
        return view


# What a mirror has of its own.
_OWN_MEMBERS = frozenset((
    "__abstractmethods__", "__dict__", "__doc__", "__getattribute__", "__module__", "__qualname__", "__weakref__",
    "_abc_impl",
))  # fmt: skip
