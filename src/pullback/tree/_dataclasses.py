"""Dataclasses as trees: `pb.dataclass` makes one, `pb.register_dataclass` takes one that exists."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, dataclass_transform, overload

from pullback.core import pytree

__all__ = ["dataclass", "register_dataclass"]

Class = TypeVar("Class", bound=type)

_static: dict[type, frozenset[str]] = {}  # of every class that was registered here


@overload
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(cls: Class, /) -> Class: ...
@overload
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(*, static: Iterable[str] = (), **options: Any) -> Callable[[Class], Class]: ...
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(cls: Any = None, /, *, static: Iterable[str] = (), **options: Any) -> Any:
    """A dataclass that is a tree: `dataclasses.dataclass`, and `pb.register_dataclass` of what it makes.

    `options` are those of `dataclasses.dataclass`: `frozen`, `slots`, `kw_only` and so on.

    >>> @pb.dataclass
    ... class Line:
    ...     slope: pb.Tensor
    ...     offset: pb.Tensor
    ...     def __call__(self, x):
    ...         return self.slope * x + self.offset
    >>> pb.func.grad(lambda line: line(3.0))(Line(pb.tensor(2.0), pb.tensor(1.0)))
    Line(slope=tensor(3.), offset=tensor(1.))
    """
    if cls is None:
        return lambda made: dataclass_of(made, static, options)
    return dataclass_of(cls, static, options)


def dataclass_of(cls: type, static: Iterable[str], options: dict[str, Any]) -> type:
    """The class as a dataclass and a tree."""
    return register_dataclass(dataclasses.dataclass(**options)(cls), static=static)


def register_dataclass(cls: Class, *, static: Iterable[str] = ()) -> Class:
    """The class, whose objects are trees from now on: fields are children, and those named in `static` are structure.

    Takes dataclasses, attrs classes and pydantic models. A static field is part of what makes two trees alike, as the
    keys of a dict are: its value must be hashable, has no gradient, and compiled functions are compiled for each. What
    is static in a base class is so in the class. Trees are rebuilt without calling `__init__` or `__post_init__`,
    since what transforms put into fields need not be what these expect; attributes that are no fields are not kept.

    >>> import dataclasses
    >>> @dataclasses.dataclass
    ... class Power:
    ...     scale: pb.Tensor
    ...     degree: int
    >>> Power = pb.register_dataclass(Power, static=("degree",))
    >>> pb.func.grad(lambda p: p.scale * 2.0**p.degree)(Power(pb.tensor(1.0), 3))
    Power(scale=tensor(8.), degree=3)
    """
    names = _fields_of(cls)
    own = {static} if isinstance(static, str) else set(static)
    unknown = sorted(own - set(names))
    if unknown:
        raise ValueError(f"pb.register_dataclass: {cls.__name__} has no field {unknown[0]!r}; its fields are {names}")
    fixed = frozenset(own.union(*(_static.get(base, ()) for base in cls.__mro__)))
    children = tuple(name for name in names if name not in fixed)
    structural = tuple(name for name in names if name in fixed)

    def flatten(value: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        about = tuple([getattr(value, name) for name in structural])
        if structural:
            _check_hashable(cls, structural, about)
        return tuple([getattr(value, name) for name in children]), about

    is_model = hasattr(cls, "model_construct")  # pydantic's way to make one without looking at the values

    def unflatten(about: tuple[Any, ...], parts: Iterable[Any]) -> Any:
        fields = dict(zip(children, parts, strict=True)) | dict(zip(structural, about, strict=True))
        if is_model:
            return cls.model_construct(**fields)  # type: ignore[attr-defined]
        made: Any = object.__new__(cls)
        for name, part in fields.items():
            object.__setattr__(made, name, part)
        return made

    pytree.register(cls, flatten, unflatten, children)
    _static[cls] = fixed
    return cls


def _fields_of(cls: type) -> list[str]:
    if not isinstance(cls, type):
        raise TypeError(f"pb.register_dataclass takes a class, got {cls!r}")
    if dataclasses.is_dataclass(cls):
        return [field.name for field in dataclasses.fields(cls)]
    if hasattr(cls, "__attrs_attrs__"):
        return [field.name for field in cls.__attrs_attrs__]
    if hasattr(cls, "__pydantic_validator__"):
        return list(cls.model_fields)  # type: ignore[attr-defined]
    raise TypeError(
        f"pb.register_dataclass takes a dataclass, an attrs class or a pydantic model, and {cls.__name__} is none; "
        "write @pb.dataclass above it, or use pb.utils.pytree.register"
    )


def _check_hashable(cls: type, names: tuple[str, ...], values: tuple[Any, ...]) -> None:
    for name, value in zip(names, values, strict=True):
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(
                f"the static field {name!r} of {cls.__name__} is a {type(value).__name__}, which is not hashable; make "
                "it a tuple or a number, or take its name out of static="
            ) from error
