"""`Schema`: the arguments and returns of an operator, with types, defaults, writes and aliases.

A schema is inferred from annotations (`_schema_infer`), or read from a string (`_schema_text`); printing gives the
string back. It says what a call may look like (`_bind`), what a kernel must return (`_kernel`), and which arguments
have gradients.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from pullback.core.records import Record, field
from pullback.payloads.devices import DEVICES, device

BASES = ("Tensor", "SymInt", "int", "float", "bool", "str", "complex", "Scalar", "ScalarType", "Device", "Any")
NO_DEFAULT: Any = type("NoDefault", (), {"__repr__": lambda self: "no default"})()

__all__ = ["BASES", "DEVICES", "NO_DEFAULT", "Number", "device"]

Number = int | float | bool
"""The annotation of an argument that takes any real Python number: `Scalar` in a schema."""


class Type(Record, frozen=True):
    """The type of an argument or return."""

    base: str
    is_list: bool = False
    length: int | None = None  # of a list that a single number may be given for
    is_optional: bool = False
    has_optional_elements: bool = False
    alias: tuple[str, ...] = ()
    writes: bool = False
    as_array: bool = False  # the kernel sees or returns ndarrays in place of Tensors; not part of the text

    @property
    def is_tensor(self) -> bool:
        """Is it a Tensor, or a list of them?"""
        return self.base == "Tensor"

    def __str__(self) -> str:
        text = self.base
        if self.alias:
            text += f"({'|'.join(self.alias)}{'!' * self.writes})"
        if not self.is_list:
            return text + "?" * self.is_optional
        length = "" if self.length is None else str(self.length)
        return f"{text}{'?' * self.has_optional_elements}[{length}]{'?' * self.is_optional}"


class Argument(Record, frozen=True):
    """One parameter of an operator."""

    name: str
    type: Type
    default: Any = NO_DEFAULT
    is_keyword_only: bool = False

    def __str__(self) -> str:
        default = "" if self.default is NO_DEFAULT else f"={literal(self.default)}"
        return f"{self.type} {self.name}{default}"


class Schema(Record, frozen=True):
    """What an operator takes and returns. Prints as its text; equal and hashed by that text."""

    arguments: tuple[Argument, ...]
    returns: tuple[Type, ...]
    returns_tuple: bool  # several results, or a tuple of one
    is_dynamic: bool = False  # of a primitive: any arguments, and results as they come
    text: str = field(default_factory=str, compare=False)

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that have a position."""
        return tuple(argument for argument in self.arguments if not argument.is_keyword_only)

    @property
    def keyword_only(self) -> tuple[Argument, ...]:
        """The arguments that are given by keyword."""
        return tuple(argument for argument in self.arguments if argument.is_keyword_only)

    @property
    def written(self) -> tuple[str, ...]:
        """The names of the arguments that the operator writes."""
        return tuple(argument.name for argument in self.arguments if argument.type.writes)

    @property
    def returns_views(self) -> bool:
        """Does a result share memory with an argument that is not written?"""
        written = {name for argument in self.arguments if argument.type.writes for name in argument.type.alias}
        return any(set(kind.alias) - written for kind in self.returns)

    @property
    def is_functional(self) -> bool:
        """Nothing is written, something is returned, and it shares no memory with the arguments."""
        return not self.written and bool(self.returns) and not any(kind.alias for kind in self.returns)

    def __str__(self) -> str:
        if self.text:
            return self.text
        parts = [str(argument) for argument in self.positional]
        if self.keyword_only:
            parts += ["*", *(str(argument) for argument in self.keyword_only)]
        if not self.returns_tuple:
            returned = str(self.returns[0]) if self.returns else "()"
        elif len(self.returns) == 1:
            returned = f"(({self.returns[0]}))"
        else:
            returned = f"({', '.join(map(str, self.returns))})"
        return f"({', '.join(parts)}) -> {returned}"

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and str(self) == str(other)


def literal(value: Any) -> str:
    """A default as schemas write it."""
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, str):
        return json.dumps(str(value))
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, np.dtype):
        return str(value)
    return repr(value)


def fits(value: Any, kind: Type) -> bool:
    """May this value be the default of an argument of this type?"""
    if value is None:
        return kind.is_optional or kind.base == "Any"
    if kind.is_list:
        if isinstance(value, (list, tuple)):
            element = Type(kind.base, is_optional=kind.has_optional_elements)
            return not kind.is_tensor and all(fits(each, element) for each in value)
        return kind.length is not None and fits(value, Type(kind.base))
    is_int = isinstance(value, int) and not isinstance(value, bool)
    allowed = {
        "SymInt": is_int,
        "int": is_int,
        "float": isinstance(value, float) or is_int,
        "bool": isinstance(value, bool),
        "str": type(value) is str,
        "complex": isinstance(value, (int, float, complex)),
        "Scalar": isinstance(value, (int, float)),
        "ScalarType": isinstance(value, np.dtype),
        "Device": isinstance(value, str),
        "Any": True,
    }
    return allowed.get(kind.base, False)
