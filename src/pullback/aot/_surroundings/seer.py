"""What a function that is being traced sees of the program around it, and a record of what it looked at.

The function runs as a twin: the same code, with copies of its globals, of the variables of its closure and of its
defaults; helper functions, methods and objects likewise, as they are met. In the copies tensors are replaced by the
stand-ins of the trace, so that a captured tensor is what an argument is: whatever is done with it, be it `item()`, an
in-place write or `is`, is done to a tensor of the trace. What is read is noted as a `Place`, and a later call that
finds something else there is another call. What is assigned stays in the copies: a function that leaves something
behind for others is not captured (`check`), since a compiled call would not leave it. Nobody else sees the copies.

Libraries are constant: functions and objects of Python's own modules, of NumPy and a few other packages are what they
are, apart from closures of theirs that hold functions of the user's. Objects whose class cannot have a mirror
(`mirrors.py`) are looked at as a whole, attribute by attribute.

Finding out what code reads by looking at its names was rejected: what is named is not what is read, and every guard
that is not needed is a reason to compile again. A profile function sees calls, but makes a trace seven times slower.
"""

from __future__ import annotations

import array
import dis
import functools
import logging
import os
import threading
import time
import warnings
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from contextvars import ContextVar
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from pullback.aot._numbers.program import Repeat
from pullback.aot._numbers.stand_in import MathView, is_of_math, math_function, names_type, value_of
from pullback.aot._surroundings.containers import Containers
from pullback.aot._surroundings.drawing import Draws, NumpyView, is_random, owner_of, state_of
from pullback.aot._surroundings.mirrors import Mirrors
from pullback.aot._surroundings.modules import ModuleView, is_other, left_behind
from pullback.aot._surroundings.places import (
    PLAIN,
    Place,
    Weak,
    contents_changed,
    contents_of,
    items_changed,
    items_of,
)
from pullback.aot._surroundings.refused import Asked, LibraryView, Refusing, is_clock, telling, tells
from pullback.aot._surroundings.watched import restored, watched
from pullback.aot._surroundings.writes import Growing, Unknown, Values, Write, items
from pullback.aot._surroundings.writes import cell as cell_write
from pullback.core.mirrors import Space, changed_names, is_library, rebuilt, store_names, twin_of
from pullback.errors import SideEffectError
from pullback.payloads.traced import user_location
from pullback.tensors.tensor import Tensor

_CONTAINERS = (list, dict, set, deque, OrderedDict, defaultdict, Counter, bytearray)
_GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_MANY_BYTES = 1 << 16
_NOTHING: Any = object()


class Seer(Containers):
    """What one trace shows to the function that it runs. `lift` gives the stand-in of a tensor, or of an array that is
    an argument, and `look_at` is told of other arrays."""

    def __init__(
        self, lift: Callable[[Any], Any], look_at: Callable[[Any], None], has_numbers: bool = False,
        built_ins: dict[str, Any] | None = None, takes_numbers: bool = False,
    ) -> None:  # fmt: skip
        self._has_numbers = has_numbers or takes_numbers  # there are stand-ins for numbers
        self._built_ins = built_ins or {}  # what some names of Python's own mean in the function
        self._lift = lift
        self._look_at = look_at
        self._places: dict[Any, Place] = {}
        self.texts: dict[int, str] = {}  # by id: what tensors are called
        self.arrays: list[tuple[Any, Any, str]] = []  # arrays of the user's, their copies, and what they are called
        self._spaces: dict[int, Space] = {}
        self._copies: set[int] = set()  # the globals of twins, by id
        self._cells: dict[int, CellType] = {}
        self._filled: set[int] = set()  # of their copies, by id
        # Each says what was left behind, stores that where the rest of the program finds it, and lists the writes.
        self._effects: list[tuple[Callable[[], str | None], Callable[[], None], Any]] = []
        self.growing: set[int] = set()  # lists that the function is known to append to, by id
        self._mirrors = Mirrors(self)
        self._generators: list[Callable[[], str | None]] = []
        self._watched: list[Place] = []  # in objects that are seen as they are
        self.returning: Any = None  # how functions are seen whose results somebody wants to see
        self.given: dict[Any, Any] = {}  # what is given as an argument instead of being found: `varying.py`
        self.effects: Any = None  # what every call tells again: `_tree/effects.py`
        self.catches = False  # was there a function that catches exceptions?
        self._kept: list[Any] = []  # so that ids stay those of the objects
        # By identity, with both kept alive.
        self._seen: dict[int, tuple[Any, Any]] = {}
        self._originals: dict[int, tuple[Any, Any]] = {}

    @property
    def places(self) -> list[Place]:
        """What was looked at."""
        return list(self._places.values())

    def note(self, kind: str, holder: Any, key: Any, value: Any, text: str) -> None:
        """A place was read."""
        place = (kind, id(holder), key)
        if place not in self._places:
            if not isinstance(value, (*PLAIN, type, FunctionType)) and self._is_weak(value):
                value = Weak(value)
            self._places[place] = Place(kind, holder, key, value, text)

    @property
    def num_places(self) -> int:
        """How many places were looked at."""
        return len(self._places)

    def note_all(self, places: list[Place]) -> None:
        """Places that were read in another trace count as read."""
        for place in places:
            self._places.setdefault(place.identity, place)

    def read(self, kind: str, holder: Any, key: Any, value: Any, text: str) -> Any:
        """What the function sees in a place that it reads: the stand-in of an argument if it varies, or else what is
        seen of the value, which is noted."""
        varying = self.given.get((kind, id(holder), key), _NOTHING) if self.given else _NOTHING
        if varying is not _NOTHING:
            return varying
        self.note(kind, holder, key, value, text)
        return self.see(value, text)

    def _is_weak(self, value: Any) -> bool:
        """Should a guard not keep this alive? An object may lead to the one whose method is compiled."""
        return not isinstance(value, Tensor) and hasattr(value, "__dict__") and hasattr(value, "__weakref__")

    def remember(self, value: Any, seen: Any) -> None:
        """From now on `value` is seen as this."""
        self._seen[id(value)] = (value, seen)
        if seen is not value:
            self._originals[id(seen)] = (seen, value)

    def is_constant(self, home: str | type | None) -> bool:
        """Is a module of this name a library, or the one that a class is of?"""
        return is_library(home)

    def watch(self, left: Callable[[], str | None], store: Callable[[], None], writes: Any = None) -> None:
        """Ask in the end what was left behind. `writes` says how every call can leave that, if there is a way."""
        self._effects.append((left, store, writes))

    # Into the traced function.

    def see(self, value: Any, text: str) -> Any:
        """What the function sees in place of `value`, which is called `text`; always the same for the same one."""
        if isinstance(value, PLAIN):
            return value
        known = self._seen.get(id(value))
        if known is not None:
            return known[1]
        if id(value) in self._originals:
            return value  # is what the function sees already
        seen = self._look(value, text)
        if id(value) not in self._seen:
            self.remember(value, seen)
        return seen

    def _look(self, value: Any, text: str) -> Any:
        if isinstance(value, Tensor):
            return self._look_at_tensor(value, text)
        if isinstance(value, np.ndarray):
            return self._look_at_array(value, text)
        if isinstance(value, FunctionType):
            return self._look_at_function(value, text)
        if self.effects is not None and owner_of(value) is not None:
            return getattr(self.see(owner_of(value), "the generator of numpy.random"), value.__name__)
        if isinstance(value, MethodType):
            return MethodType(self.see(value.__func__, text), self.see(value.__self__, "self"))
        if isinstance(value, BuiltinFunctionType) and type(value.__self__) in _CONTAINERS:
            return getattr(self.see(value.__self__, text), value.__name__)
        if isinstance(value, functools.partial) and not hasattr(value, "seen_by"):
            arguments = {name: self.see(item, name) for name, item in value.keywords.items()}
            self.note("items", value.keywords, None, items_of(value.keywords), f"the keywords of {text}")
            return functools.partial(
                self.see(value.func, text), *[self.see(item, f"{text}.args[{k}]") for k, item in enumerate(value.args)],
                **arguments,
            )  # fmt: skip
        if self._has_numbers and is_of_math(value):
            return MathView(value, self.see) if isinstance(value, ModuleType) else math_function(value, self._built_ins)
        if isinstance(value, ModuleType):
            if value in (time, os) or (self.effects is not None and value in (logging, warnings)):
                return LibraryView(value, self)
            if self.effects is not None and is_random(value):
                return NumpyView(self, value)
            return value if is_library(value.__name__) else ModuleView(value, self.space_of(value))
        if isinstance(value, tuple):
            return rebuilt(value, [self.see(item, f"{text}[{k}]") for k, item in enumerate(value)])
        if type(value) in _CONTAINERS:
            return self._look_at_container(value, text)
        if isinstance(value, _GENERATORS) or type(value).__module__ == "random":
            return self._look_at_generator(value, text)
        is_iterator = hasattr(value, "__next__") and not isinstance(value, type)
        if isinstance(value, GeneratorType) or (is_iterator and is_library(type(value))):
            raise SideEffectError(
                f"the function uses {text}, an iterator of type {type(value).__name__} from outside",
                location=user_location(),
                why="every call would take the next item from it, and a compiled call does not run the function",
                fix="pass what it gives as an argument",
            )
        if isinstance(value, (array.array, memoryview)):
            return self._look_at_bytes(value, text)
        if isinstance(value, MappingProxyType):
            self.note("items", value, None, items_of(value), text)
            return MappingProxyType({name: self.see(item, f"{text}[{name!r}]") for name, item in value.items()})
        if isinstance(value, (functools._lru_cache_wrapper, ContextVar, weakref.ref)):
            return Asked(value, text, self)
        if value is os.environ or value is os.getenv:
            names = os.environ._data  # type: ignore[attr-defined]
            before = items_of(names)
            self.note("items", names, None, before, "os.environ")
            self.watch(lambda: "changes os.environ" if items_changed(names, before) else None, _nothing)
            return value
        if self.effects is not None and tells(value):
            return telling(value, text, self)
        if isinstance(value, threading.local) or is_clock(value):
            return Refusing(value, text)
        if isinstance(value, type):
            return self._mirrors.of_class(value)
        return self._look_at_object(value, text)

    def _look_at_tensor(self, tensor: Tensor, text: str) -> Any:
        self.texts.setdefault(id(tensor), text)
        return self._lift(tensor)

    def _look_at_array(self, values: Any, text: str) -> Any:
        """A copy, which is compared with the array at every call. An argument is what it is as an argument."""
        given = self._lift(values)
        if given is not values:
            return given
        if not values.flags.writeable and values.base is None and values.nbytes > _MANY_BYTES:
            return values  # whose owner has said that nobody writes to it
        copy = values.copy("K")
        copy.flags.writeable = values.flags.writeable
        before = contents_of(values)
        self._look_at(values)
        self.note("contents", values, None, before, text)
        self.arrays.append((values, copy, text))
        self.watch(
            lambda: f"writes to the array {text}" if contents_changed(copy, before) else None,
            lambda: np.copyto(values, copy),
        )
        return copy

    def _look_at_bytes(self, value: Any, text: str) -> Any:
        before = bytes(value)
        copy = value[:] if isinstance(value, array.array) else memoryview(bytearray(before)).cast(value.format)
        self.note("bytes", value, None, before, text)
        self.watch(lambda: f"writes to {text}" if bytes(copy) != before else None, _nothing)
        return copy

    def _look_at_generator(self, generator: Any, text: str) -> Any:
        """A generator of random numbers: `pb.random` may draw from it, and those of NumPy draw at every call."""
        read, put_back = state_of(generator)
        before = read()
        found = repr(before)

        def left() -> str | None:
            if repr(read()) == found:
                return None
            put_back(before)
            return f"draws from {text}"

        self._generators.append(left)
        is_drawn = self.effects is not None and isinstance(generator, (np.random.Generator, np.random.RandomState))
        return Draws(generator, text) if is_drawn else generator

    def _look_at_object(self, value: Any, text: str) -> Any:
        if type(value).__module__.partition(".")[0] == "pullback":
            seen_as = getattr(value, "seen_by", None)
            return value if seen_as is None else seen_as(functools.partial(self.see, text=text))
        seen = self._mirrors.of_object(value, text)
        if seen is value and not (is_library(type(value)) and type(value) is not SimpleNamespace):
            for place in watched(value, text, is_library):
                self.note(*place)
                self._watched.append(Place(*place))
                for found in (place[3].values if place[0] == "items" else (place[3],)):
                    if isinstance(found, Tensor):
                        self.texts.setdefault(id(found), place[4])
                self.watch(functools.partial(_moved, place), _nothing)
        return seen

    # Functions.

    def _look_at_function(self, function: FunctionType, text: str) -> Any:
        names = function.__globals__
        if self._has_numbers and not is_library(names.get("__name__")) and names_type(function.__code__):
            raise Repeat(None, "the function asks for the type() of something")
        if id(names) in self._copies:
            return function  # was made by the traced function
        is_constant = is_library(names.get("__name__"))
        self.catches = self.catches or (not is_constant and catches(function.__code__))
        if is_constant:
            if not self._looks_different(function, set()):
                return function
        else:
            names = self._space(names).copy
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        twin = twin_of(function, names, cells)
        seen = twin if is_constant or self.returning is None or function.__dict__ else self.returning(twin)
        self.remember(function, seen)  # from here on: functions may call each other in a circle
        for name, cell, original in zip(function.__code__.co_freevars, cells, function.__closure__ or (), strict=True):
            self._fill(cell, original, name, is_constant)
        self._fill_defaults(twin, function, is_constant)
        for name, value in function.__dict__.items():
            if name != "__wrapped__":
                twin.__dict__[name] = self.read("item", function.__dict__, name, value, f"{text}.{name}")
        left = dict(twin.__dict__)
        self.watch(
            lambda: f"changes an attribute of {text}" if is_other(twin.__dict__, left) else None,
            lambda: store_names(function.__dict__, twin.__dict__, left, self.outside),
            lambda: list(items(function.__dict__, changed_names(twin.__dict__, left))),
        )
        return seen

    def _looks_different(self, function: FunctionType, known: set[int]) -> bool:
        """Is in the closure of a library's function something that is seen as something else?"""
        known.add(id(function))
        for cell in function.__closure__ or ():
            value = _contents(cell)
            if isinstance(value, (*PLAIN, type, ModuleType, CellType)):
                continue
            if type(value).__module__.partition(".")[0] == "pullback" and not isinstance(value, Tensor):
                if hasattr(value, "seen_by"):
                    return True
            elif isinstance(value, FunctionType) and is_library(value.__globals__.get("__name__")):
                if id(value) not in known and self._looks_different(value, known):
                    return True
            else:
                return True
        return False

    def _cell(self, cell: CellType) -> CellType:
        if id(cell) not in self._cells:
            self._kept.append(cell)
            self._cells[id(cell)] = CellType()
        return self._cells[id(cell)]

    def _fill(self, copy: CellType, cell: CellType, name: str, is_constant: bool) -> None:
        try:
            value = cell.cell_contents
        except ValueError:
            return  # not assigned yet
        if id(copy) in self._filled:
            return
        self._filled.add(id(copy))
        seen = self.see(value, name) if is_constant else self.read("cell", cell, None, value, name)
        copy.cell_contents = seen
        self.watch(
            lambda: f"assigns to the variable {name}" if _contents(copy) is not seen else None,
            lambda: setattr(cell, "cell_contents", self.outside(_contents(copy))),
            lambda: None if _contents(copy) is copy else list(cell_write(cell, _contents(copy))),
        )

    def _fill_defaults(self, twin: FunctionType, function: FunctionType, is_constant: bool) -> None:
        code, given = function.__code__, function.__defaults__ or ()
        names = code.co_varnames[code.co_argcount - len(given) : code.co_argcount]

        def read(kind: str, key: Any, value: Any, name: str) -> Any:
            return self.see(value, name) if is_constant else self.read(kind, function, key, value, name)

        pairs = enumerate(zip(names, given, strict=True))
        twin.__defaults__ = tuple([read("default", index, value, name) for index, (name, value) in pairs]) or None
        for name, value in (function.__kwdefaults__ or {}).items():
            twin.__kwdefaults__ = {**(twin.__kwdefaults__ or {}), name: read("keyword default", name, value, name)}

    def _space(self, names: dict[str, Any]) -> Space:
        if id(names) not in self._spaces:
            see = functools.partial(self._see_name, names)
            space = self._spaces[id(names)] = Space(names, see, self._see_import, self._built_ins, {})
            self._copies.add(id(space.copy))
            self.watch(
                lambda: left_behind(space),
                lambda: space.store_assigned(self.outside),
                lambda: list(items(names, changed_names(space.copy, space.before))),
            )
        return self._spaces[id(names)]

    def _see_name(self, names: dict[str, Any], name: str, value: Any, text: str = "") -> Any:
        return self.read("item", names, name, value, text or name)

    def _see_import(self, module: ModuleType) -> Any:
        return self.see(module, module.__name__)

    def space_of(self, module: ModuleType) -> Space:
        """The names of a module."""
        return self._space(vars(module))

    # Out of it.

    def with_own_containers(self, tree: Any) -> Any:
        """A result in which lists and dicts that the function has found are leaves: the user's own come back."""
        kind = type(tree)
        if kind in _CONTAINERS or kind is Growing:
            known = self._originals.get(id(tree))
            if known is not None:
                return _Own(known[1])
        if kind is dict:
            return {key: self.with_own_containers(item) for key, item in tree.items()}
        return rebuilt(tree, [self.with_own_containers(item) for item in tree]) if kind in (list, tuple) else tree

    def back(self, value: Any) -> Any:
        """A result, as the caller should have it."""
        if type(value) is _Own:
            return value.container
        known = self._originals.get(id(value))
        if known is not None and not isinstance(value, Tensor):
            return known[1]
        if isinstance(value, FunctionType) and id(value.__globals__) in self._copies:
            raise SideEffectError(
                f"the function returns a function, {value.__qualname__}, that it has made",
                why="a compiled call would return the one that was made while tracing",
                fix="make the function outside of what is compiled",
            )
        if isinstance(value, np.ndarray) and any(np.may_share_memory(value, copy) for _, copy, _ in self.arrays):
            raise SideEffectError(
                "the function returns a view of an array that it was not given",
                why="a compiled call would return the view that was taken while tracing",
                fix="pass the array as an argument, or return a copy",
            )
        return value

    def outside(self, value: Any) -> Any:
        """What the rest of the program has in place of what the function sees."""
        known = self._originals.get(id(value))
        return value_of(value) if known is None else known[1]

    def outward(self, function: Any) -> Any:
        """A function that the traced one hands over to be called later, with the user's own variables."""
        known = self._originals.get(id(function))
        if known is not None:
            return known[1]
        if isinstance(function, MethodType):
            return MethodType(self.outward(function.__func__), self.outside(function.__self__))
        if isinstance(function, functools.partial):
            return functools.partial(
                self.outward(function.func), *map(self.outside, function.args),
                **{name: self.outside(value) for name, value in function.keywords.items()},
            )  # fmt: skip
        names = next((s.original for s in self._spaces.values() if s.copy is getattr(function, "__globals__", s)), None)
        if not isinstance(function, FunctionType) or names is None:
            return function
        twin = twin_of(function, names, [self._cell_outward(cell) for cell in function.__closure__ or ()])
        twin.__defaults__ = function.__defaults__ and tuple(map(self.outside, function.__defaults__))
        twin.__kwdefaults__ = function.__kwdefaults__
        return twin

    def _cell_outward(self, cell: CellType) -> CellType:
        for original in self._kept:
            if self._cells.get(id(original)) is cell:
                return original
        value = _contents(cell)
        return cell if value is cell else CellType(self.outward(value) if callable(value) else self.outside(value))

    def is_twin(self, names: dict[str, Any]) -> bool:
        """Are these the names that functions which are traced see?"""
        return id(names) in self._copies

    def is_untouched(self) -> bool:
        """Has the function left nothing behind so far?"""
        return not self._generators and all(left() is None for left, _, _ in (*self._effects, *self._mirrors.effects()))

    def is_found(self, generator: Any) -> bool:
        """Is a generator of NumPy's not one that the function has made?"""
        return id(generator) in self._seen or generator is np.random.mtrand._rand

    def finish(self) -> None:
        """Give objects that were made by the function their own classes."""
        self._mirrors.finish()

    def check_draws(self) -> None:
        """Raise if the function has drawn from a generator of the user's."""
        generators, self._generators = self._generators, []
        for left in generators:
            found = left()
            if found is not None:
                raise _refused(found)

    def writes(self, result: Any) -> list[Write]:
        """What the function has left behind, as writes that every call can make; raise if there is something else."""
        values = Values(self._originals, result, [copy for _, copy, _ in self.arrays])
        found: list[Write] = []
        for left, _, writes in (*self._effects, *self._mirrors.effects()):
            words = left()
            if words is None:
                continue
            made = None if writes is None else writes()
            try:
                if made is None:
                    raise Unknown
                kept = [(action, values.of(value)) for action, value in made]
            except Unknown:
                raise _refused(words) from None
            found += [(action.of(value), value) for action, value in kept]
        return found

    def store(self) -> None:
        """Store what the function has left behind where the rest of the program finds it."""
        self._generators = []
        for left, store, _ in (*self._effects, *self._mirrors.effects()):
            if left() is not None:
                store()
        self._watched.clear()
        # What the function itself changes while it is traced, and only then, is nothing to be traced again for.
        self._places = {key: place for key, place in self._places.items() if not place.has_moved()}

    def close(self) -> None:
        """Let go of what is the user's. Twins and mirrors refer to each other, and live until the garbage collector
        finds them. What the function has written to objects that are seen as they are is undone."""
        for left in self._generators:
            left()
        for place in self._watched:
            if place.has_moved():
                restored(place)
        for each in (self._places, self._seen, self._originals, self._effects, self._cells, self._spaces, self._kept):
            each.clear()
        self.arrays.clear()
        self._mirrors.close()


class _Own:
    """A container of the user's as a result."""

    is_literal_argument = True

    def __init__(self, container: Any) -> None:
        self.container = container


def _refused(found: str) -> SideEffectError:
    return SideEffectError(
        f"the function {found}",
        why="a compiled call does not run the function, so this would happen once only",
        fix="return the new value and assign it outside of what is compiled",
    )


@functools.lru_cache(1024)
def catches(code: CodeType) -> bool:
    """Does code go on behind an exception? What `with` does about exceptions does not count."""
    names = [each.opname for each in dis.get_instructions(code)] if code.co_exceptiontable else []
    return names.count("PUSH_EXC_INFO") > names.count("WITH_EXCEPT_START") or any(
        isinstance(part, CodeType) and catches(part) for part in code.co_consts
    )


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return cell


def _nothing() -> None:
    """What is seen as it is was written where it is."""


def _moved(place: tuple[Any, ...]) -> str | None:
    return f"changes {place[-1]}" if Place(*place).has_moved() else None
