"""Mirrors: subclasses with rewritten methods, through which adapted code sees the objects of a class."""

from __future__ import annotations

import weakref
from abc import ABCMeta
from typing import Any

_HEAP_TYPE = 1 << 9


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
