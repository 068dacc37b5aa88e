"""Mirrors: subclasses with rewritten methods, through which adapted code sees the objects of a class.

The mirror of an object shares its `__dict__`, so that attributes written in the call are the object's own. What is read
from it is seen on the way, and what is written to it is stored as the rest of the program should have it.
"""

from __future__ import annotations

import functools
import weakref
from abc import ABCMeta
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

See = Callable[[Any], Any]

_HEAP_TYPE = 1 << 9
_LruCache = type(functools.lru_cache(lambda: None))


def can_be_mirrored(cls: type) -> bool:
    """Is this a plain Python class, which does nothing when it is subclassed and keeps its attributes in a dict?"""
    return bool(cls.__dictoffset__ and cls.__weakrefoffset__) and all(
        type(base) in (type, ABCMeta)
        and base.__flags__ & _HEAP_TYPE
        and not {"__init_subclass__", "__new__"} & vars(base).keys()
        and not vars(base).get("__slots__")
        for base in cls.__mro__[:-1]
    )


class Mirror(type):
    """The type of mirrors. A mirror takes instances of its original for its own, and hands attributes on to it."""

    _pullback_original: type
    _pullback_made: list[weakref.ref[Any]]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        value = super().__call__(*args, **kwargs)
        cls._pullback_made.append(weakref.ref(value))
        return value

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls._pullback_original)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls._pullback_original)

    def __setattr__(cls, name: str, value: Any) -> None:
        # While a mirror is made, ABCMeta stores its own records.
        if "_pullback_is_made" in vars(cls):
            setattr(cls._pullback_original, name, value)
        super().__setattr__(name, value)


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
        bases = [base for base in map(self._see, cls.__bases__) if isinstance(base, Mirror)]
        make = Mirror if type(cls) is type else AbstractMirror
        mirror = make(cls.__name__, (*bases, cls), {"_pullback_original": cls, "_pullback_made": self._made})
        remember(cls, mirror)
        set_member = functools.partial(type.__setattr__, mirror)
        set_member("__module__", cls.__module__)
        set_member("__qualname__", cls.__qualname__)
        set_member("__getattribute__", _attribute_reader(cls, self._see))
        set_member("__setattr__", _attribute_writer(cls, self._back))
        if isinstance(cls, ABCMeta):
            set_member("__abstractmethods__", frozenset(getattr(cls, "__abstractmethods__", ())))
        # The mirrors of the bases come before `cls` in the order of resolution, so what they have is overridden here.
        inherited = {name for base in mirror.__mro__[1:] if isinstance(base, Mirror) for name in vars(base)}
        for name, member in vars(cls).items():
            seen = self._member(name, member)
            if name not in _OWN_MEMBERS and (seen is not member or name in inherited):
                set_member(name, seen)
        set_member("_pullback_is_made", True)
        return mirror

    def of_object(self, value: Any) -> Any:
        """`value` through the mirror of its class; `value` itself if there is none."""
        cls = type(value)
        mirror = self._see(cls) if hasattr(value, "__dict__") else cls
        if mirror is cls:
            return value
        view = object.__new__(mirror)
        object.__setattr__(view, "__dict__", value.__dict__)
        self._made.append(weakref.ref(view))
        return view

    def finish(self) -> None:
        """Give all objects that were made of mirrors their own class."""
        for made in self._made:
            value = made()
            if value is not None and isinstance(type(value), Mirror):
                object.__setattr__(value, "__class__", type(value)._pullback_original)

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


def _attribute_reader(cls: type, see: See) -> Callable[[Any, str], Any]:
    read: Any = cls.__getattribute__

    def __getattribute__(self: Any, name: str) -> Any:
        value = read(self, name)
        if name.startswith("__") or (isinstance(value, MethodType) and value.__self__ is self):
            return value  # a method read through a view is bound to the view already
        return see(value)

    return __getattribute__


def _attribute_writer(cls: type, back: See) -> Callable[[Any, str, Any], None]:
    write: Any = cls.__setattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        write(self, name, back(value))

    return __setattr__


# What a mirror has of its own.
_OWN_MEMBERS = frozenset((
    "__abstractmethods__", "__dict__", "__doc__", "__getattribute__", "__module__", "__qualname__", "__weakref__",
    "_abc_impl",
))  # fmt: skip
