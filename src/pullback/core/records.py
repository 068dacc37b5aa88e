"""`Record`: what `dataclass` does, without the source that it writes and compiles for every class.

    class Point(Record, frozen=True):
        x: float
        y: float = 0.0
        notes: list[str] = field(default_factory=list)

Making a dataclass takes longer than importing the module that it is in, and a capture needs a dozen of them. Making
an object of a record takes a microsecond more, so this is for what is made a few times and not in every call.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import get_annotations
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

_R = TypeVar("_R", bound="Record")


class _Field(NamedTuple):
    default_factory: Callable[[], Any] | None
    repr: bool
    compare: bool


def field(*, default_factory: Callable[[], Any] | None = None, repr: bool = True, compare: bool = True) -> Any:
    """How a field is filled in if it is not given, and whether texts and comparisons have it."""
    return _Field(default_factory, repr, compare)


@dataclass_transform(field_specifiers=(field,))
class Record:
    """What classes of records are made from. `frozen` ones cannot be assigned to, and have a hash unless `eq` is
    False: then objects are equal to themselves only."""

    fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[dict[str, Any]] = {}
    _special: ClassVar[dict[str, _Field]] = {}  # of those fields that have one
    _compared: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, frozen: bool = False, eq: bool = True) -> None:
        own = [name for name, text in get_annotations(cls).items() if "ClassVar" not in str(text)]
        given = {name: cls.__dict__[name] for name in own if name in cls.__dict__}
        special = {name: value for name, value in given.items() if type(value) is _Field}
        for name in special:
            delattr(cls, name)
        cls.fields = (*cls.fields, *own)
        cls._names = frozenset(cls.fields)
        cls._defaults = cls._defaults | {name: value for name, value in given.items() if name not in special}
        cls._special = cls._special | special
        cls._compared = tuple(name for name in cls.fields if name not in cls._special or cls._special[name].compare)
        if frozen:
            cls.__setattr__ = cls.__delattr__ = _refuse  # type: ignore[assignment, method-assign]
        if not eq:
            for name in ("__eq__", "__hash__"):
                setattr(cls, name, getattr(object, name))
        elif not frozen and "__hash__" not in cls.__dict__:
            cls.__hash__ = None  # type: ignore[assignment]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        values = self.__dict__
        values.update(self._defaults)
        values.update(zip(self.fields, args))
        values.update(kwargs)
        for name, each in self._special.items():
            if name not in values and each.default_factory is not None:
                values[name] = each.default_factory()
        twice = not kwargs.keys().isdisjoint(self.fields[: len(args)])
        if twice or len(args) > len(self.fields) or values.keys() != self._names:
            fields = ", ".join(self.fields)
            raise TypeError(f"{type(self).__name__} has the fields {fields}, and {[*values]} were given")
        self.__post_init__()

    def __post_init__(self) -> None:
        """For classes that check what they are given."""

    def __repr__(self) -> str:
        shown = [name for name in self.fields if name not in self._special or self._special[name].repr]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._compared])


def _refuse(record: Record, name: str, value: Any = None) -> None:
    raise AttributeError(f"{type(record).__name__} cannot be changed, and {name} was assigned to or deleted")


def replace(record: _R, **changes: Any) -> _R:
    """The same record with other values of these fields."""
    return type(record)(**({name: getattr(record, name) for name in record.fields} | changes))
