"""Mirrors: how a function that is traced sees classes and objects of the user's.

The mirror of a class is a subclass of it whose members are looked up by need, and seen as `Seer.see` shows them. An
object is seen as an object of the mirror with a copy of its attributes, each of which is noted when it is read. What is
assigned to the copy is left behind by the function, which is then not captured.
"""

from __future__ import annotations

import functools
from abc import ABCMeta
from collections.abc import Callable, Iterator
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, SimpleNamespace
from typing import Any

from pullback.aot._surroundings.writes import Write, attributes, items
from pullback.core.mirrors import HEAP_TYPE, MISSING, MirrorType, give_back_classes
from pullback.core.pytree import is_registered

# What a mirror has of its own, or may not have.
_OWN_MEMBERS = frozenset((
    "__abstractmethods__", "__dict__", "__doc__", "__getattribute__", "__module__", "__qualname__", "__slots__",
    "__weakref__", "_abc_impl", "__init_subclass__", "__class_getitem__", "__annotations__", "__new__",
    "__firstlineno__", "__static_attributes__", "__parameters__", "__orig_bases__", "__hash__",
    "_node_class", "_plan", "__dataclass_fields__", "__dataclass_params__", "__match_args__",
))  # fmt: skip


class Mirror(MirrorType):
    """The type of mirrors in a trace, which note what is assigned to them."""

    _pullback_assigned: list[tuple[Any, str]]

    def __setattr__(cls, name: str, value: Any) -> None:
        if "_pullback_is_made" in vars(cls) and name != "_plan":  # which Pullback's own Functions keep there
            cls._pullback_assigned.append((cls, name))
        super().__setattr__(name, value)

    def __delattr__(cls, name: str) -> None:
        cls._pullback_assigned.append((cls, name))
        super().__delattr__(name)


Mirror.kind = Mirror


class AbstractMirror(Mirror, ABCMeta):
    """The type of mirrors of abstract classes and those derived from them."""


def is_mirror(cls: type) -> bool:
    """Is this the mirror of a class?"""
    return isinstance(cls, Mirror)


class _View:
    """An object and its copy: the attributes that were not read yet, and those that were, as they were shown."""

    def __init__(self, original: Any, copy: Any, text: str, slots: dict[str, Any]) -> None:
        self.copy, self.text, self.slots = copy, text, slots
        self.attributes: dict[str, Any] = getattr(original, "__dict__", {})
        self.unread = dict(self.attributes)
        self.shown: dict[str, Any] = {}
        self.holder = original
        self.has_dict = hasattr(original, "__dict__")


class Mirrors:
    """The mirrors of one trace."""

    def __init__(self, seer: Any) -> None:
        self._seer = seer
        self._made: list[Any] = []
        self._assigned: list[tuple[Any, str]] = []
        self._views: dict[int, _View] = {}

    # Classes.

    def of_class(self, cls: type) -> type:
        """The mirror of a class; the class itself if it has none."""
        if not self._can_be_mirrored(cls):
            return cls
        bases = [base for base in (self._seer.see(each, each.__name__) for each in cls.__bases__) if is_mirror(base)]
        make = Mirror if type(cls) is type else AbstractMirror
        members: dict[str, Any] = {
            "_pullback_original": cls, "_pullback_made": self._made, "_pullback_assigned": self._assigned,
            "__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__,
            "__getattribute__": self._attribute_reader(cls),
            "_pullback_member": staticmethod(functools.partial(self._seen_member, cls)),
        }  # fmt: skip
        if not cls.__dictoffset__:
            members["__slots__"] = ()
        if "__eq__" in vars(cls) or "__hash__" in vars(cls):
            members["__hash__"] = cls.__hash__
        own = {name: member for name, member in vars(cls).items() if name not in _OWN_MEMBERS}
        members.update((name, self._member(cls, name, member)) for name, member in own.items())
        if cls is not SimpleNamespace:
            members = {name: member for name, member in members.items() if member is not MISSING}
        # The original is first: objects change over to it, and so its layout in memory has to be that of the mirror.
        mirror = make(cls.__name__, (cls, *bases), members)
        self._seer.remember(cls, mirror)
        if isinstance(cls, ABCMeta):
            type.__setattr__(mirror, "__abstractmethods__", frozenset(getattr(cls, "__abstractmethods__", ())))
        type.__setattr__(mirror, "_pullback_is_made", True)
        return mirror

    def _can_be_mirrored(self, cls: type) -> bool:
        """Is this a Python class of the user's that does nothing when it is subclassed?"""
        if cls is SimpleNamespace:
            return True
        is_constant: Callable[[type], bool] = self._seer.is_constant
        return (
            (not is_constant(cls) or cls.__module__ in ("argparse", "collections"))
            and not is_registered(cls)
            and all(
                type(base) in (type, ABCMeta)
                and base.__flags__ & HEAP_TYPE
                and (is_constant(base) or not {"__init_subclass__", "__new__"} & vars(base).keys())
                for base in cls.__mro__[:-1]
            )
        )

    def _member(self, cls: type, name: str, member: Any) -> Any:
        see = functools.partial(self._class_member, cls, name)
        if isinstance(member, (MemberDescriptorType, GetSetDescriptorType)):
            return MISSING
        if isinstance(member, property):
            get, assign, delete = [
                None if part is None else _later(self._seer, part, f"{cls.__name__}.{name}")
                for part in (member.fget, member.fset, member.fdel)
            ]
            return property(get, assign, delete, member.__doc__)
        if isinstance(member, functools.cached_property):
            twin = functools.cached_property(_later(self._seer, member.func, f"{cls.__name__}.{name}"))
            twin.__set_name__(cls, name)
            return twin
        return _Member(member, see, self)

    def _class_member(self, cls: type, name: str, member: Any, owner: Any) -> Any:
        """What is seen of a member of a class, which is noted where it was asked for."""
        asked = getattr(owner, "_pullback_original", cls)
        if next((base for base in asked.__mro__ if name in vars(base)), None) is not cls:
            asked = cls  # by super()
        text = f"{asked.__name__}.{name}"
        function = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if name.startswith("__"):
            return self._seer.see(function, text)
        is_bound = hasattr(type(function), "__get__") and not isinstance(function, FunctionType)
        kind = "method" if isinstance(member, classmethod) else "member" if is_bound else "attribute"
        return self._seer.read(kind, cls if is_bound else asked, name, function, text)

    def _seen_member(self, cls: type, name: str) -> Any:
        """A member of a class with its functions as they are seen: for `adapt`, which makes mirrors of its own."""
        member = vars(cls)[name]
        text = f"{cls.__name__}.{name}"
        if isinstance(member, (MemberDescriptorType, GetSetDescriptorType)):
            return member
        if isinstance(member, property):
            parts = (member.fget, member.fset, member.fdel)
            get, put, remove = (None if part is None else self._seer.see(part, text) for part in parts)
            return property(get, put, remove, member.__doc__)
        if isinstance(member, functools.cached_property):
            return functools.cached_property(self._seer.see(member.func, text))
        seen = self._class_member(cls, name, member, cls)
        return type(member)(seen) if isinstance(member, (staticmethod, classmethod)) else seen

    def note_absent(self, copy: Any, name: str) -> None:
        """An attribute of an object was looked for, and found in its class or nowhere."""
        view = self._views.get(id(copy))
        if view is not None and view.copy is copy and not name.startswith("__"):
            kind, holder = ("absent", view.attributes) if view.has_dict else ("missing", view.holder)
            if kind == "absent" or not hasattr(view.holder, name):
                self._seer.note(kind, holder, name, name, f"{view.text}.{name}")

    # Objects.

    def of_object(self, value: Any, text: str) -> Any:
        """An object of the mirror of its class; the object itself if there is none."""
        cls = type(value)
        mirror = self._seer.see(cls, cls.__name__)
        if mirror is cls:
            return value
        copy = SimpleNamespace.__new__(mirror) if cls is SimpleNamespace else object.__new__(mirror)
        slots = _slots_of(value)
        view = self._views[id(copy)] = _View(value, copy, text, slots)
        if view.unread:
            object.__getattribute__(copy, "__dict__").update(view.unread)
        for name, (descriptor, slot) in slots.items():
            seen = self._seer.read("attribute", value, name, slot, f"{text}.{name}")
            descriptor.__set__(copy, seen)
            view.shown[name] = seen
        self._seer.remember(value, copy)
        own_ways: Any = (object.__getattribute__, SimpleNamespace.__getattribute__)
        if cls.__getattribute__ not in own_ways:
            _ = copy.__dict__  # its own way to read attributes goes around the mirror, so that all of them are read
        return copy

    def _attribute_reader(self, cls: type) -> Callable[[Any, str], Any]:
        read: Any = cls.__getattribute__
        views, see = self._views, self._seer.read

        def __getattribute__(self: Any, name: str) -> Any:
            view = views.get(id(self))
            if view is not None and view.copy is self:
                if name in view.unread:
                    reveal(view, name)
                elif name == "__dict__":
                    for each in list(view.unread):
                        reveal(view, each)
            try:
                return read(self, name)
            except AttributeError:
                mirrors.note_absent(self, name)
                raise

        def reveal(view: _View, name: str) -> None:
            value = view.unread.pop(name)
            copied = object.__getattribute__(view.copy, "__dict__")
            if copied.get(name, MISSING) is value:
                view.shown[name] = copied[name] = see("item", view.attributes, name, value, f"{view.text}.{name}")
            else:
                view.shown[name] = value  # was assigned before it was read

        mirrors = self
        return __getattribute__

    # When the function has returned.

    def finish(self) -> None:
        """Give all objects that were made of mirrors their own class."""
        give_back_classes(self._made, Mirror)

    def close(self) -> None:
        """Let go of the objects."""
        self._views.clear()
        self._made.clear()
        self._assigned.clear()

    def effects(self) -> Iterator[Effect]:
        """For every object and class: a function that says what was assigned, and one that stores it."""
        for mirror, name in self._assigned:
            original = mirror._pullback_original
            yield (
                functools.partial("assigns to {}.{}".format, original.__name__, name),
                functools.partial(setattr, original, name, vars(mirror).get(name)),
                None if name not in vars(mirror) else functools.partial(_assigned, original, mirror, name),
            )  # fmt: skip
        for view in self._views.values():
            yield (
                functools.partial(_left_behind, view),
                functools.partial(_store, view, self._seer.outside),
                functools.partial(_writes, view),
            )


Effect = tuple[Callable[[], str | None], Callable[[], None], Any]


def _assigned(cls: type, mirror: type, name: str) -> list[Write]:
    return list(attributes(cls, {name: vars(mirror)[name]}))


def _writes(view: _View) -> list[Write]:
    """What was assigned, as writes that every call can make."""
    changes = _changes(view)
    in_slots = {name: value for name, value in changes.items() if name in view.slots or not view.has_dict}
    others = {name: value for name, value in changes.items() if name not in in_slots}
    return [*attributes(view.holder, in_slots), *items(view.attributes, others)]


def _changes(view: _View) -> dict[str, Any]:
    """The attributes that are others than before."""
    now = dict(object.__getattribute__(view.copy, "__dict__")) if view.has_dict else {}
    now.update({name: _slot(descriptor, view.copy) for name, (descriptor, _) in view.slots.items()})
    before = {**view.unread, **view.shown}
    return {
        name: now.get(name, MISSING) for name in {*now, *before}
        if now.get(name, MISSING) is not before.get(name, MISSING)
    }  # fmt: skip


def _left_behind(view: _View) -> str | None:
    found = sorted(_changes(view))
    return f"assigns to {view.text}.{found[0]}" if found else None


def _store(view: _View, outside: Callable[[Any], Any]) -> None:
    for name, value in _changes(view).items():
        if value is MISSING:
            object.__delattr__(view.holder, name)
        else:
            object.__setattr__(view.holder, name, outside(value))


class _Member:
    """A member of a mirror: what is seen of a member of the class, found out when it is asked for."""

    def __init__(self, member: Any, see: Callable[[Any, Any], Any], mirrors: Mirrors) -> None:
        self._member, self._see, self._mirrors = member, see, mirrors

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is not None:
            self._mirrors.note_absent(instance, self._see.args[1])  # type: ignore[attr-defined]
        member, seen = self._member, self._see(self._member, owner)
        if isinstance(member, staticmethod):
            return seen
        if isinstance(member, classmethod):
            return MethodType(seen, owner if owner is not None else type(instance))
        if isinstance(member, FunctionType):
            return seen if instance is None else MethodType(seen, instance)
        bind = getattr(type(seen), "__get__", None)
        return seen if bind is None else bind(seen, instance, owner)


def _later(seer: Any, function: Any, text: str) -> Callable[..., Any]:
    """A function that is seen when it is called."""

    def call(*args: Any) -> Any:
        return seer.see(function, text)(*args)

    return call


def _slots_of(value: Any) -> dict[str, tuple[Any, Any]]:
    """The attributes of an object that have places of their own, with what they are read by."""
    found: dict[str, tuple[Any, Any]] = {}
    for base in type(value).__mro__:
        for name, member in vars(base).items():
            if isinstance(member, MemberDescriptorType) and name not in found and base is not SimpleNamespace:
                slot = _slot(member, value)
                if slot is not MISSING:
                    found[name] = (member, slot)
    return found


def _slot(descriptor: Any, value: Any) -> Any:
    try:
        return descriptor.__get__(value)
    except AttributeError:
        return MISSING
