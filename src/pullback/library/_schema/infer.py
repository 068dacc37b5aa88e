"""Schemas from annotations: `(x: Tensor, n: int = 3) -> Tensor` is `(Tensor x, SymInt n=3) -> Tensor`."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pullback.core.records import replace
from pullback.library._schema import NO_DEFAULT, Argument, Number, Schema, Type, device, fits
from pullback.tensors.tensor import Tensor

_PLAIN: dict[Any, str] = {
    Tensor: "Tensor", np.ndarray: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str",
    complex: "complex", np.dtype: "ScalarType", device: "Device",
}  # fmt: skip
_SEQUENCES = (list, collections.abc.Sequence)
_LISTS = ("Tensor", "SymInt", "float", "bool", "Scalar", "str")
_RETURNS = ("Tensor", "SymInt", "float", "bool", "Scalar")
_VALID = (
    "pb.Tensor, numpy.ndarray, int, float, bool, str, complex, pb.library.Number, numpy.dtype, pb.library.device, "
    "Optional of each of them, and lists of Tensor, Optional[Tensor], int, float, bool, Number and str"
)
_DEFAULTS = (bool, int, float, str, np.dtype, np.generic, type(None))


def infer_schema(
    fn: Callable[..., Any],
    /,
    *,
    mutates_args: Iterable[str] | str,
    op_name: str | None = None,
    tags: str | Iterable[str] = (),
) -> str:
    """The schema that the annotations of `fn` describe, as text.

    `mutates_args` names the arguments that `fn` writes, or is `"unknown"`, which counts every tensor as written.

    >>> def scaled(x: pb.Tensor, factor: float = 2.0) -> pb.Tensor: ...
    >>> pb.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, float factor=2.0) -> Tensor'
    """
    return f"{op_name or ''}{inferred(fn, mutates_args, tags_of(tags))}"


def tags_of(tags: str | Iterable[str]) -> frozenset[str]:
    """Tags as a set; a single one may be given as it is."""
    return frozenset((tags,) if isinstance(tags, str) else tags)


def inferred(fn: Callable[..., Any], mutates_args: Iterable[str] | str, tags: frozenset[str]) -> Schema:
    """The schema that the annotations of `fn` describe."""
    signature = inspect.signature(fn)
    arguments = [_argument(fn, parameter) for parameter in signature.parameters.values()]
    arguments = _with_writes(arguments, mutates_args)
    if "out" not in tags:
        for argument in arguments:
            if argument.is_keyword_only and argument.type.is_tensor:
                raise NotImplementedError(
                    f"kwarg-only Tensor args are not supported, and {argument.name} is one: give it a position"
                )
    if signature.return_annotation is inspect.Signature.empty:
        raise ValueError(f"No return type annotation was given for {_name(fn)}: add one")
    returns, returns_tuple = _returns(fn, _evaluated(fn, signature.return_annotation))
    if "inplace" in tags or "out" in tags:
        written = [argument.type for argument in arguments if argument.type.writes]
        returns = [replace(given, alias=kind.alias, writes=True)
                   for given, kind in zip(returns, written, strict=False)] + returns[len(written) :]  # fmt: skip
    return Schema(tuple(arguments), tuple(returns), returns_tuple)


def mutated_names(mutates_args: Iterable[str] | str) -> list[str] | None:
    """The names given as `mutates_args`; None for `"unknown"`."""
    if isinstance(mutates_args, str):
        if mutates_args == "unknown":
            return None
        raise ValueError(
            f'mutates_args is a collection of names or "unknown", not the string {mutates_args!r}: write '
            f"({mutates_args!r},)"
        )
    return list(mutates_args)


def _with_writes(arguments: list[Argument], mutates_args: Iterable[str] | str) -> list[Argument]:
    names = mutated_names(mutates_args)
    if names is None:
        names = [argument.name for argument in arguments if argument.type.is_tensor]
    known = {argument.name: argument for argument in arguments}
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"{missing} in mutates_args were not found among the arguments {list(known)}")
    for name in names:
        if not known[name].type.is_tensor:
            raise ValueError(f"only Tensors can be mutated, and {name} in mutates_args is a {known[name].type}")
    return [
        replace(argument, type=replace(argument.type, alias=(f"a{index}",), writes=True))
        if argument.name in names else argument
        for index, argument in enumerate(arguments)
    ]  # fmt: skip


def _name(fn: Any) -> str:
    return getattr(fn, "__name__", type(fn).__name__)


def _argument(fn: Any, parameter: inspect.Parameter) -> Argument:
    name = parameter.name
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise ValueError(
            f"{_name(fn)}: {parameter} is {parameter.kind.description}; arguments of operators are positional-or-"
            "keyword or keyword-only"
        )
    if parameter.annotation is inspect.Parameter.empty:
        raise ValueError(f"{_name(fn)}: the parameter {name} must have a type annotation")
    annotation = _evaluated(fn, parameter.annotation)
    kind = argument_type(annotation)
    if kind is None:
        raise ValueError(
            f"{_name(fn)}: the parameter {name} has unsupported type {annotation!r}{_list_hint(annotation)}. Valid "
            f"types: {_VALID}"
        )
    return Argument(name, kind, default_of(name, kind, parameter.default), parameter.kind is parameter.KEYWORD_ONLY)


def default_of(name: str, kind: Type, default: Any) -> Any:
    """A parameter's default in the form that schemas hold."""
    if default is inspect.Parameter.empty:
        return NO_DEFAULT
    if isinstance(default, (list, tuple)) and all(isinstance(each, _DEFAULTS) for each in default):
        default = [each.item() if isinstance(each, np.generic) else each for each in default]
    elif not isinstance(default, _DEFAULTS):
        raise ValueError(f"the parameter {name} has an unsupported default value type {type(default).__name__}")
    if isinstance(default, np.generic):
        default = default.item()
    if kind.base == "ScalarType" and isinstance(default, str):
        default = np.dtype(default)
    if not fits(default, kind):
        raise ValueError(f"the parameter {name} is a {kind}, and its default {default!r} is none")
    return float(default) if kind == Type("float") and isinstance(default, int) else default


def argument_type(annotation: Any) -> Type | None:
    """The schema type of an annotation; None if there is none."""
    if typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if annotation == Number:
        return Type("Scalar")
    parts = _without_none(annotation)
    if parts is not None:
        inner = argument_type(parts)
        return None if inner is None or inner.is_optional else replace(inner, is_optional=True)
    origin = typing.get_origin(annotation)
    if origin is np.ndarray or origin is np.dtype:
        annotation = origin
    if origin in _SEQUENCES:
        (element,) = typing.get_args(annotation)
        inner = argument_type(element)
        if inner is None or inner.is_list or inner.base not in _LISTS:
            return None
        if inner.is_optional and not inner.is_tensor:
            return None
        return Type(inner.base, True, has_optional_elements=inner.is_optional, as_array=inner.as_array)
    base = _PLAIN.get(annotation) if isinstance(annotation, type) else None
    return None if base is None else Type(base, as_array=annotation is np.ndarray)


def _without_none(annotation: Any) -> Any:
    """`X` for `X | None`; None for anything else."""
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return None
    parts = [part for part in typing.get_args(annotation) if part is not type(None)]
    if len(parts) == len(typing.get_args(annotation)):
        return None
    joined: Any = parts[0]
    for part in parts[1:]:
        joined = joined | part
    return joined


def _list_hint(annotation: Any) -> str:
    if typing.get_origin(annotation) is not tuple:
        return ""
    elements = {element for element in typing.get_args(annotation) if element is not ...}
    if len(elements) != 1:
        return ""
    (element,) = elements
    if argument_type(list.__class_getitem__(element)) is None:
        return ""
    return f"; use list[{getattr(element, '__name__', element)}] in its place"


def _returns(fn: Any, annotation: Any) -> tuple[list[Type], bool]:
    if annotation is None or annotation is type(None):
        return [], False
    if typing.get_origin(annotation) is tuple and typing.get_args(annotation):
        return [_returned(fn, element, annotation) for element in typing.get_args(annotation)], True
    return [_returned(fn, annotation, annotation)], False


def _returned(fn: Any, annotation: Any, whole: Any) -> Type:
    kind = argument_type(annotation) if annotation is not ... else None
    if (
        kind is None
        or kind.base not in _RETURNS
        or kind.is_optional
        or kind.has_optional_elements
        or typing.get_origin(annotation) is collections.abc.Sequence
        or (kind.is_list and not kind.is_tensor)
    ):
        raise ValueError(
            f"{_name(fn)}: the return has unsupported type {whole!r}. Valid types: None, pb.Tensor, numpy.ndarray, "
            "list[pb.Tensor], int, float, bool, pb.library.Number, and fixed tuples of those"
        )
    return kind


def _evaluated(fn: Any, annotation: Any) -> Any:
    """An annotation with the strings in it evaluated where the function was defined."""
    plain = inspect.unwrap(fn)
    while hasattr(plain, "func"):
        plain = plain.func
    if not hasattr(plain, "__globals__"):
        plain = type(plain).__call__
    names = dict(getattr(plain, "__globals__", {}))
    closure = getattr(plain, "__closure__", None) or ()
    for name, cell in zip(getattr(getattr(plain, "__code__", None), "co_freevars", ()), closure, strict=False):
        try:
            names.setdefault(name, cell.cell_contents)
        except ValueError:
            continue  # a cell that is still empty

    def read(value: Any) -> Any:
        if isinstance(value, typing.ForwardRef):
            value = value.__forward_arg__
        if isinstance(value, str):
            try:
                return read(eval(value, names))
            except Exception as error:
                raise ValueError(f"{_name(fn)}: the annotation {value!r} cannot be read. It is not a type") from error
        origin, inner = typing.get_origin(value), typing.get_args(value)
        if origin is None or origin in (typing.Literal, typing.Annotated) or not inner:
            return value
        parts = tuple(read(part) if isinstance(part, (str, typing.ForwardRef)) or typing.get_origin(part) else part
                      for part in inner)  # fmt: skip
        if parts == inner:
            return value
        if origin in (typing.Union, types.UnionType):
            return functools.reduce(operator.or_, parts)
        return origin[parts if len(parts) > 1 else parts[0]]

    return read(annotation)
