"""The user's functions, classes and objects with NumPy replaced: what one call of an adapted function runs.

A `Rewriter` lives for one call. It makes new function objects from the same code, with copies of the globals in which
NumPy is its proxy and every visible function is its rewritten self; closures, defaults and bound objects likewise. The
user's own module is only read, so threads and nested calls do not meet, and there is nothing to undo when a call fails.
Replacing names in the module itself for the time of the call was rejected for that reason.

Visible is what the home module defines (that of the adapted function), other modules that are no libraries
(`core/mirrors.py` has the list, which compiled functions go by too), and the modules that were named. Functions are
rewritten when a name is looked up, and objects when they are met, so a call pays for what it uses.
"""

from __future__ import annotations

import functools
import weakref
from abc import ABCMeta
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from pullback.core.frames import MARK
from pullback.core.mirrors import HEAP_TYPE, MirrorType, Space, give_back_classes, is_library, rebuilt, twin_of
from pullback.func._adapt.arrays import Call, has_history, outside
from pullback.func._adapt.copies import PLAIN, Cell, Container, LentArrays
from pullback.func._adapt.numpy_proxy import Drawing, OldDrawing, Vectorize, is_numpy, numpy_value
from pullback.func._adapt.scipy_callbacks import is_scipy, stand_in, through_scipy, with_derivatives
from pullback.func._adapt.scipy_twins import scipy_twin, with_twin
from pullback.func._adapt.stand_ins import BUILTINS, Proxy, is_math, math_value
from pullback.func._made import Transformed
from pullback.operators import functions
from pullback.tensors.tensor import Tensor

# Mirrors: subclasses with rewritten methods, through which adapted code sees the objects of a class.
#
# The mirror of an object shares its `__dict__`, so that attributes written in the call are the object's own. What is
# read from it is seen on the way, and what is written to it is stored as the rest of the program should have it.
#
# While `compile` traces, classes are met as mirrors of its own already. A mirror of such a mirror stands beside it:
# both are subclasses of the user's class, and the members are those that the other one shows.

See = Callable[[Any], Any]

_LruCache = type(functools.lru_cache(lambda: None))


def original_of(cls: type) -> type:
    """The user's class behind a mirror of the trace that is running; any other class is itself."""
    return cls._pullback_original if "_pullback_member" in vars(cls) else cls  # type: ignore[attr-defined]


def can_be_mirrored(cls: type) -> bool:
    """Is this a plain Python class, which does nothing when it is subclassed and keeps its attributes in a dict?"""
    cls = original_of(cls)
    return bool(cls.__dictoffset__ and cls.__weakrefoffset__) and all(
        type(base) in (type, ABCMeta)
        and base.__flags__ & HEAP_TYPE
        and not {"__init_subclass__", "__new__"} & vars(base).keys()
        and not vars(base).get("__slots__")
        for base in cls.__mro__[:-1]
    )


class Mirror(MirrorType):
    """The type of mirrors in adapted code. A mirror hands attributes on to its original."""

    _pullback_shown: type  # the original, or its mirror of a trace

    def __setattr__(cls, name: str, value: Any) -> None:
        # While a mirror is made, ABCMeta stores its own records.
        if "_pullback_is_made" in vars(cls):
            setattr(cls._pullback_shown, name, value)
        super().__setattr__(name, value)


Mirror.kind = Mirror


class AbstractMirror(Mirror, ABCMeta):
    """The type of mirrors of abstract classes and those derived from them."""


class Mirrors:
    """The mirrors of one call. `see` and `back` translate values into adapted code and out of it."""

    def __init__(self, see: See, back: See) -> None:
        self._see = see
        self._back = back
        self._made: list[weakref.ref[Any]] = []

    def of_class(self, cls: type, remember: Callable[[Any, Any], None]) -> type:
        """The mirror of a class, told to `remember` before its methods, which may mention the class, are seen."""
        original = original_of(cls)
        shown = [base for base in cls.__bases__ if base is not original]
        bases = [base for base in map(self._see, shown) if isinstance(base, Mirror)]
        make = Mirror if type(original) is type else AbstractMirror
        # The original is first: objects change over to it, and so its layout in memory has to be that of the mirror.
        mirror = make(cls.__name__, (original, *bases), {
            "_pullback_original": original, "_pullback_shown": cls, "_pullback_made": self._made,
        })  # fmt: skip
        remember(cls, mirror)
        set_member = functools.partial(type.__setattr__, mirror)
        set_member("__module__", cls.__module__)
        set_member("__qualname__", cls.__qualname__)
        for name, made in (("__getattribute__", _attribute_reader), ("__setattr__", _attribute_writer)):
            access = self._access(mirror, name)
            if access is not None:
                set_member(name, made(access, self._see, self._back))
        if isinstance(cls, ABCMeta):
            set_member("__abstractmethods__", frozenset(getattr(cls, "__abstractmethods__", ())))
        # The bases come before `original` in the order of resolution, so what they have is overridden here.
        inherited = {name for base in mirror.__mro__[1 : len(original.__mro__)] for name in vars(base)}
        for name, member in vars(original).items():
            if name in _OWN_MEMBERS:
                continue
            met: Any = member if cls is original else cls._pullback_member(name)  # type: ignore[attr-defined]
            seen = self._member(name, met)
            if seen is not member or name in inherited:
                set_member(name, seen)
        set_member("_pullback_is_made", True)
        return mirror

    def _access(self, mirror: Any, name: str) -> Any:
        """How objects of a class read or write attributes; None if a base class says so, whose mirror does it."""
        original = mirror._pullback_original
        definer = next(base for base in original.__mro__ if name in vars(base))
        if definer is original:
            return self._see(vars(original)[name])
        is_mirrored = any(getattr(base, "_pullback_original", None) is definer for base in mirror.__mro__)
        return None if is_mirrored else getattr(original, name)

    def of_object(self, value: Any) -> Any:
        """`value` through the mirror of its class; `value` itself if there is none."""
        cls = type(value)
        mirror = self._see(cls) if hasattr(value, "__dict__") else cls
        if mirror is cls or not isinstance(mirror, type):
            return value
        view: Any = object.__new__(mirror)
        object.__setattr__(view, "__dict__", value.__dict__)
        self._made.append(weakref.ref(view))
        return view

    def finish(self) -> None:
        """Give all objects that were made of mirrors their own class."""
        give_back_classes(self._made, Mirror)

    def _member(self, name: str, member: Any) -> Any:
        see = self._see
        if isinstance(member, functools.cached_property):
            twin = functools.cached_property(see(member.func))
            twin.__set_name__(member, name)  # type: ignore[arg-type]
            return twin
        if isinstance(member, functools.partialmethod):
            arguments = {key: see(value) for key, value in member.keywords.items()}
            return functools.partialmethod(see(member.func), *map(see, member.args), **arguments)
        if isinstance(member, (staticmethod, classmethod)):
            return type(member)(see(member.__func__))
        if isinstance(member, property):
            return property(see(member.fget), see(member.fset), see(member.fdel), member.__doc__)
        return see(member) if isinstance(member, (FunctionType, functools.partial, _LruCache)) else member


def _attribute_reader(read: Any, see: See, back: See) -> Callable[[Any, str], Any]:
    def __getattribute__(self: Any, name: str) -> Any:
        value = read(self, name)
        if name.startswith("__") or (isinstance(value, MethodType) and value.__self__ is self):
            return value  # a method read through a view is bound to the view already
        return see(value)

    return __getattribute__


def _attribute_writer(write: Any, see: See, back: See) -> Callable[[Any, str, Any], None]:
    def __setattr__(self: Any, name: str, value: Any) -> None:
        write(self, name, back(value))

    return __setattr__


# What a mirror has of its own.
_OWN_MEMBERS = frozenset((
    "__abstractmethods__", "__dict__", "__doc__", "__getattribute__", "__module__", "__qualname__", "__setattr__",
    "__weakref__", "_abc_impl",
))  # fmt: skip


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


_AS_THEY_ARE = (Tensor, *PLAIN)
_LIBRARIES: dict[int, tuple[Any, Any]] = {}
"""Modules of NumPy and `math`, which look the same to every call, by identity."""


class Rewriter:
    """What one call of an adapted function sees in place of the user's functions, modules, objects and arrays."""

    builtins = BUILTINS

    def __init__(self, home: FunctionType, named: frozenset[str], outer: Call | None) -> None:
        self._home = home.__globals__
        self._home_name = home.__globals__.get("__name__", "")
        self._named = named
        # What a call by adapted code returns is adapted code until the outer one ends.
        self._call = Call() if outer is None else outer
        self._call.begin(self)
        self._mirrors = Mirrors(self.see, self.back)
        self._spaces: dict[int, Space] = {}
        self._cells: dict[int, Cell] = {}
        self._containers: list[Container] = []
        self._lent = LentArrays()
        self._returned: set[int] = set()
        # By identity, with both kept alive so that the identity stays theirs.
        self._seen: dict[int, tuple[Any, Any]] = {}
        self._originals: dict[int, tuple[Any, Any]] = {}

    # Into adapted code.

    def see(self, value: Any) -> Any:
        """What adapted code sees in place of `value`: often `value` itself, and always the same for the same one."""
        known = self._seen.get(id(value))
        if known is not None:
            return known[1]
        if isinstance(value, _AS_THEY_ARE):
            return value
        known = _LIBRARIES.get(id(value))
        if known is not None:
            return known[1]
        seen = self._look(value)
        self._remember(value, seen)
        return seen

    def see_argument(self, value: Any) -> Any:
        """As `see`. Leaves that require grad are handed over as copies, so that the function may write to them."""
        self._copy_leaves(value, set())
        return self.see(value)

    def _copy_leaves(self, value: Any, met: set[int]) -> None:
        if type(value) is Tensor:
            if value.requires_grad and value.is_leaf and id(value) not in self._seen:
                self._seen[id(value)] = (value, functions["copy"](value))
        elif isinstance(value, (tuple, list, dict)) and id(value) not in met:  # a list may hold itself
            met.add(id(value))
            for part in value.values() if isinstance(value, dict) else value:
                self._copy_leaves(part, met)

    def _remember(self, value: Any, seen: Any) -> None:
        self._seen[id(value)] = (value, seen)
        # A tensor on the memory of an array may have got a history, and is not the array any more.
        if seen is not value and not isinstance(value, np.ndarray):
            self._originals[id(seen)] = (seen, value)

    def _look(self, value: Any) -> Any:
        if type(value) is FunctionType and value.__globals__ is self._home:
            return self._look_at_function(value)
        if is_scipy(type(value).__module__) or is_scipy(getattr(value, "__module__", None)):
            seen = self._look_at_scipy(value)
            if seen is not None:
                return seen
        if isinstance(value, np.ndarray):
            return self._lent.borrow(value)
        if isinstance(value, FunctionType):
            return self._look_at_function(value)
        if isinstance(value, (ModuleType, BuiltinFunctionType, np.ufunc)) or is_numpy(value):
            return self._look_at_library(value)
        if isinstance(value, MethodType):
            return MethodType(self.see(value.__func__), self.see(value.__self__))
        if isinstance(value, Transformed):
            return value if hasattr(value, ADAPTED) else self._through_pullback(value)
        if isinstance(value, functools.partial):
            arguments = {name: self.see(item) for name, item in value.keywords.items()}
            return functools.partial(self.see(value.func), *map(self.see, value.args), **arguments)
        if isinstance(value, functools._lru_cache_wrapper):
            return self.see(value.__wrapped__)  # a cache would keep graphs alive
        if isinstance(value, np.vectorize) and not value.excluded and value.signature is None:
            return Vectorize(self.see(value.pyfunc), value.otypes)
        if isinstance(value, np.random.Generator):
            if type(value) is Drawing:
                return value
            # What stands for one in a trace says that it is one, and has no stream of its own.
            is_real = issubclass(type(value), np.random.Generator)
            return Drawing(value) if is_real else OldDrawing(value)  # type: ignore[arg-type]
        if isinstance(value, np.random.RandomState):
            return OldDrawing(value)
        if isinstance(value, tuple):
            return rebuilt(value, [self.see(item) for item in value])
        if type(value) in (list, dict):
            return self._look_at_container(value)
        if isinstance(value, type):
            visible = self.is_visible(value) and can_be_mirrored(value)
            return self._mirrors.of_class(value, self._remember) if visible else value
        return self._mirrors.of_object(value)

    def _look_at_library(self, value: Any) -> Any:
        if isinstance(value, ModuleType) and value.__name__ in ("math", "cmath", "numpy", "numpy.random"):
            value = vars(value).get("_module", value)  # a compiled function sees them in its own way
        if is_numpy(value) or is_math(value):
            seen = numpy_value(value) if is_numpy(value) else math_value(value)
            if isinstance(value, ModuleType):
                _LIBRARIES[id(value)] = (value, seen)
            return seen
        if isinstance(value, ModuleType) and (
            self.is_visible(value) or _is_pullback(value.__name__) or is_scipy(value.__name__)
        ):
            return Proxy(value, self.see)
        return value

    def _look_at_scipy(self, value: Any) -> Any:
        """A function or distribution of SciPy's, or a method of one, that keeps gradients; None for others."""
        if isinstance(value, MethodType):
            owner = stand_in(value.__self__)
            return None if owner is None else getattr(owner, value.__name__)
        if isinstance(value, type):
            return with_derivatives(value)
        find = scipy_twin(value)
        if find is not None:
            return with_twin(value, find)
        return stand_in(value)

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
                space = self._spaces[id(names)] = Space(
                    names, lambda _, value: self.see(value), self.see, self.builtins, {MARK: self._call}
                )
            return self._rewrite(function, space.copy)
        if hasattr(function, "around"):  # a trace is told what it returns
            return function.around(self.see(function.__wrapped__))  # type: ignore[attr-defined]
        if _is_of_pullback(function):
            return self._through_pullback(function)
        if is_numpy(function):
            return numpy_value(function)
        if is_scipy(names.get("__name__")):
            return through_scipy(function)
        # What a decorator of another module made: its own names stay, the function in its closure is seen.
        return self._rewrite(function, names) if self._encloses_visible(function) else function

    def _through_pullback(self, function: Callable[..., Any]) -> Any:
        """A function of Pullback's: what it is given to call may write to its arguments."""

        def call(*args: Any, **kwargs: Any) -> Any:
            given = {name: self._entered(value) for name, value in kwargs.items()}
            out = function(*map(self._entered, args), **given)
            if _is_of_pullback(out) and not hasattr(out, ADAPTED):
                return self._through_pullback(out)  # as `grad(f)`
            return out

        return functools.update_wrapper(call, function)

    def _entered(self, value: Any) -> Any:
        """A function of adapted code for those who call it with ordinary tensors, as `grad` and `vmap` do."""
        function = value.func if isinstance(value, functools.partial) else getattr(value, "__func__", value)
        if not isinstance(function, FunctionType) or MARK not in function.__globals__:
            return value

        @functools.wraps(function)
        def enter(*args: Any, **kwargs: Any) -> Any:
            given = {name: self.see_argument(arg) for name, arg in kwargs.items()}
            return value(*map(self.see_argument, args), **given)

        return enter

    def is_visible(self, item: Any) -> bool:
        """Was this function, class or module defined where the rewriter may look?"""
        if isinstance(item, FunctionType):
            if item.__globals__ is self._home:
                return True
            name = item.__globals__.get("__name__", item.__module__)
            return bool(name) and self.is_visible_module(name)  # generated functions may have none
        if isinstance(item, type) and not is_library(item):
            return True
        return self.is_visible_module(item.__name__ if isinstance(item, ModuleType) else item.__module__)

    def is_visible_module(self, name: str | None) -> bool:
        """Is this the home module, no library, or one that was named or is in a named package?"""
        if name == self._home_name or not is_library(name):
            return True
        parts = (name or "").split(".")
        return any(".".join(parts[:n]) in self._named for n in range(1, len(parts) + 1))

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
        twin = twin_of(function, names, [cell.copy for cell in cells])
        # Known from here on: functions may call each other in a circle.
        self._remember(function, twin)
        twin.__defaults__ = None if function.__defaults__ is None else tuple(map(self.see, function.__defaults__))
        if function.__kwdefaults__ is not None:
            twin.__kwdefaults__ = {name: self.see(value) for name, value in function.__kwdefaults__.items()}
        twin.__dict__ = function.__dict__  # shared: attributes of functions serve as static variables
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
        if isinstance(value, Drawing | OldDrawing):
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
        return rebuilt(value, [self.result(part) for part in value])

    def finish(self) -> None:
        """Store what was assigned, and let objects and tensors be what they are outside."""
        places: list[Space | Cell | Container] = [*self._spaces.values(), *self._cells.values(), *self._containers]
        for place in places:
            place.store_assigned(self.back)
        self._mirrors.finish()
        self._call.end(self)
        self._lent.give_back()

    def check(self, given: dict[Any, Any]) -> None:
        """Say where a gradient ended in an array of the user's. `given` are the arguments by position and name."""
        self._lent.check(given, self._returned)


def _is_pullback(module: str) -> bool:
    return module.partition(".")[0] == "pullback"


def _is_of_pullback(function: Any) -> bool:
    if not isinstance(function, FunctionType):
        return isinstance(function, Transformed)
    return _is_pullback(function.__globals__.get("__name__", function.__module__ or ""))
