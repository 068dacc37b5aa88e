"""`Call`: one call of a custom operator, with its tensors taken out.

The tensors of a call, those in lists included, are the operands of the operator; everything else is in the layout.
So the tape, forward mode and vmap see a flat list of operands, as for any other operator, and the record of a call
keeps no tensor alive. `arguments` and `results` put values back into the form that the author's functions see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.records import Record
from pullback.graph.ir import ArrayType
from pullback.library._errors import BindError
from pullback.library._schema import NO_DEFAULT, Argument, Schema, Type, device
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor, wrap

TENSOR, LIST, STATIC = range(3)
Layout = tuple[tuple[int, Any], ...]


class Promise(Record, frozen=True):
    """What a trace took for granted of a call that is a node of a graph, and what every run of the node must keep."""

    schema: str
    results: tuple[ArrayType | complex | bool, ...]  # by flat output: the array it is, or the number
    written: tuple[int, ...] = ()  # operands of which the node returns the new value, behind the outputs
    same: tuple[int, ...] = ()  # by operand, the first one that is the same array; empty if all are different
    outs: tuple[str, ...] = ()  # keyword-only arguments that are written: the last operands of the node
    forward: tuple[Any, ...] | None = None  # `fwd` of `defvjp_all` runs: the residuals that are no arrays

    @property
    def arrays(self) -> tuple[ArrayType, ...]:
        """The outputs that are values of the graph."""
        return tuple([each for each in self.results if isinstance(each, ArrayType)])


class Call:
    """Where the operands of one call belong, and its other arguments."""

    __slots__ = ("counts", "definition", "forward", "keywords", "layout", "promise", "residuals", "written")

    def __init__(self, definition: Any, layout: Layout, keywords: dict[str, Any]) -> None:
        self.definition = definition
        self.layout = layout  # one entry per positional argument
        self.keywords = keywords
        self.counts: Any = None  # for each return, the number of tensors in a list, or None for a single value
        self.written: dict[int, Tensor] | None = None  # operands that the kernel writes, while it runs
        self.promise: Promise | None = None  # of a node in a graph
        self.forward: Any = None  # `fwd` of `defvjp_all`, if it runs in place of the kernel
        self.residuals: Any = None  # those of `fwd`, from when it has run until they are saved

    def arguments(self, operands: Sequence[Any]) -> list[Any]:
        """The positional arguments with these values in place of the operands."""
        return [
            operands[data] if kind == TENSOR
            else data if kind == STATIC
            else [None if index is None else operands[index] for index in data]
            for kind, data in self.layout
        ]  # fmt: skip

    def per_argument(self, operands: Sequence[Any], missing: Any = None) -> list[Any]:
        """Values that belong to operands, such as tangents, by argument; `missing` for arguments without tensors."""
        return [
            operands[data] if kind == TENSOR
            else missing if kind == STATIC
            else [missing if index is None else operands[index] for index in data]
            for kind, data in self.layout
        ]  # fmt: skip

    def results(self, flat: Sequence[Any]) -> Any:
        """Flat outputs in the structure that the schema, or the kernel of a primitive, gives them."""
        schema = self.definition.schema
        if schema.is_dynamic:
            return tuple(flat) if self.counts is not None else flat[0]
        if not schema.returns:
            return None
        nested = self.per_return(flat)
        return tuple(nested) if schema.returns_tuple else nested[0]

    def per_return(self, flat: Sequence[Any]) -> list[Any]:
        """Flat values, one per output, grouped by return: a list for a list."""
        if self.counts is None or not any(count is not None for count in self.counts):
            return list(flat)
        nested: list[Any] = []
        position = 0
        for count in self.counts:
            if count is None:
                nested.append(flat[position])
                position += 1
            else:
                nested.append(list(flat[position : position + count]))
                position += count
        return nested

    def flat_returns(self, nested: Sequence[Any]) -> list[Any]:
        """The opposite of `per_return`."""
        if self.counts is None:
            return list(nested)
        flat: list[Any] = []
        for count, value in zip(self.counts, nested, strict=True):
            if count is None:
                flat.append(value)
            else:
                flat += [None] * count if value is None else list(value)
        return flat


def laid_out(values: Sequence[Any]) -> tuple[Layout, list[Tensor]]:
    """The layout of positional arguments, and the tensors in them."""
    layout: list[tuple[int, Any]] = []
    operands: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            layout.append((TENSOR, len(operands)))
            operands.append(value)
        elif type(value) in (list, tuple) and any(isinstance(each, Tensor) for each in value):
            indices: list[int | None] = []
            for each in value:
                if isinstance(each, Tensor):
                    indices.append(len(operands))
                    operands.append(each)
                else:
                    indices.append(None)
            layout.append((LIST, tuple(indices)))
        else:
            layout.append((STATIC, value))
    return tuple(layout), operands


# Binding a call to a schema: every argument in its place, defaults filled in, values converted or refused.
#
# A converter takes a value and whether it may coerce, and returns the value as kernels see it, or raises `Refused`. The
# first pass of overload resolution does not coerce.

Converter = Callable[[Any, bool], Any]


class Refused(Exception):
    """A value that an argument does not take, with the reason."""


class Binder:
    """Binds calls to one schema."""

    def __init__(self, name: str, schema: Schema) -> None:
        self.name = name
        self.schema = schema
        self.positional = [(argument, converter(argument.type)) for argument in schema.positional]
        self.keyword_only = [(argument, converter(argument.type)) for argument in schema.keyword_only]
        self.known = {argument.name for argument in schema.arguments}
        # A call that gives exactly these Tensors needs no conversion at all.
        self.num_tensors = len(schema.arguments) if all(
            argument.type == Type("Tensor", alias=argument.type.alias, writes=argument.type.writes,
                                  as_array=argument.type.as_array) and not argument.is_keyword_only
            for argument in schema.arguments
        ) else -1  # fmt: skip

    def bind(self, args: Any, kwargs: dict[str, Any], coerce: bool = True) -> tuple[list[Any], dict[str, Any]]:
        """The values of all positional arguments, and of all keyword-only ones by name."""
        if len(args) > len(self.positional):
            raise self.error(f"takes {len(self.positional)} positional arguments, got {len(args)}")
        for name in kwargs:
            if name not in self.known:
                raise self.error(f"has no argument {name!r}")
        values = []
        for index, (argument, convert) in enumerate(self.positional):
            if index < len(args):
                if argument.name in kwargs:
                    raise self.error(f"got two values for the argument {argument.name!r}")
                values.append(self.converted(argument, convert, args[index], coerce))
            else:
                values.append(self._by_name(argument, convert, kwargs, coerce))
        keywords = {each.name: self._by_name(each, convert, kwargs, coerce) for each, convert in self.keyword_only}
        return values, keywords

    def _by_name(self, argument: Argument, convert: Converter, kwargs: dict[str, Any], coerce: bool) -> Any:
        if argument.name in kwargs:
            return self.converted(argument, convert, kwargs[argument.name], coerce)
        default = argument.default
        if default is NO_DEFAULT:
            raise self.error(f"is missing the argument {argument.name!r}")
        return list(default) if isinstance(default, (list, tuple)) else default

    def converted(self, argument: Argument, convert: Converter, value: Any, coerce: bool) -> Any:
        """One value as its argument takes it."""
        try:
            return convert(value, coerce)
        except Refused as refused:
            raise self.error(f"takes {argument.type} for {argument.name!r}: {refused}") from None

    def error(self, what: str) -> BindError:
        """The error for a call that does not fit."""
        return BindError(f"{self.name} {what}\n  schema  {self.name}{self.schema}")


def converter(kind: Type) -> Converter:
    """The converter of an argument type."""
    if kind.is_list:
        element = _ELEMENTS[kind.base]
        if kind.has_optional_elements:
            element = _optional(element)
        convert = _list_of(element, kind)
    else:
        convert = _ELEMENTS[kind.base]
    return _optional(convert) if kind.is_optional else convert


def _optional(convert: Converter) -> Converter:
    return lambda value, coerce: None if value is None else convert(value, coerce)


def _list_of(element: Converter, kind: Type) -> Converter:
    def convert(value: Any, coerce: bool) -> list[Any]:
        if kind.length is not None and isinstance(value, (int, float)) and not kind.is_tensor:
            return [element(value, coerce)] * kind.length
        is_vector = isinstance(value, np.ndarray) and value.ndim == 1 and not kind.is_tensor
        if not isinstance(value, (list, tuple, range)) and not is_vector:
            raise Refused(f"expected a list or tuple, got {_described(value)}")
        if kind.length is not None and len(value) != kind.length:
            raise Refused(f"expected {kind.length} values, got {len(value)}")
        return [element(each, coerce) for each in value]

    return convert


def _described(value: Any) -> str:
    return "None" if value is None else f"{type(value).__name__} {value!r}"[:80]


def _tensor(value: Any, coerce: bool) -> Any:
    if type(value) is Tensor or isinstance(value, Tensor):
        return value
    if coerce and isinstance(value, (np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    raise Refused(f"expected a Tensor, got {_described(value)}")


def _number_in(value: Tensor, what: str, kinds: str) -> Any:
    """The number in a Tensor without axes."""
    if requires_grad(value):
        raise Refused(f"a Tensor that requires grad would lose its gradient as {what}; declare it Tensor")
    if value.ndim or value.dtype.kind not in kinds:
        raise Refused(f"a Tensor {value.dtype}{list(value.shape)} is no {what}")
    return value.item()


def _int(value: Any, coerce: bool) -> int:
    if type(value) is int:
        return value
    if coerce and isinstance(value, (int, np.integer, np.bool_)):
        return int(value)
    if coerce and isinstance(value, Tensor):
        return int(_number_in(value, "int", "iub"))
    raise Refused(f"expected an int, got {_described(value)}")


def _float(value: Any, coerce: bool) -> float:
    if type(value) is float:
        return value
    if coerce and isinstance(value, (int, float, np.integer, np.floating, np.bool_)):
        return float(value)
    if coerce and isinstance(value, Tensor):
        return float(_number_in(value, "float", "iubf"))
    raise Refused(f"expected a float, got {_described(value)}")


def _bool(value: Any, coerce: bool) -> bool:
    if type(value) is bool:
        return value
    if coerce and isinstance(value, (int, np.bool_)):
        return bool(value)
    raise Refused(f"expected a bool, got {_described(value)}")


def _str(value: Any, coerce: bool) -> str:
    if isinstance(value, str):
        return value
    raise Refused(f"expected a str, got {_described(value)}")


def _complex(value: Any, coerce: bool) -> complex:
    if isinstance(value, (complex, float, int, np.number)):
        return complex(value)
    raise Refused(f"expected a complex number, got {_described(value)}")


def _scalar(value: Any, coerce: bool) -> Any:
    if isinstance(value, (int, float, complex)):
        return value
    if coerce and isinstance(value, np.generic):
        return value.item()
    raise Refused(f"expected a number, got {_described(value)}")


def _dtype(value: Any, coerce: bool) -> Any:
    if isinstance(value, np.dtype):
        return value
    if coerce and isinstance(value, (str, type)):
        try:
            return np.dtype(value)
        except TypeError:
            pass
    raise Refused(f"expected a dtype, got {_described(value)}")


def _device(value: Any, coerce: bool) -> device:
    if isinstance(value, str):
        try:
            return device(value)
        except RuntimeError as error:
            raise Refused(str(error)) from None
    raise Refused(f"expected a device, got {_described(value)}")


_ELEMENTS: dict[str, Converter] = {
    "Tensor": _tensor, "SymInt": _int, "int": _int, "float": _float, "bool": _bool, "str": _str, "complex": _complex,
    "Scalar": _scalar, "ScalarType": _dtype, "Device": _device, "Any": lambda value, coerce: value,
}  # fmt: skip
