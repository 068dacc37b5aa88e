"""Defining operators: `custom_op`, `define` and `primitive`."""

from __future__ import annotations

import contextlib
import inspect
import keyword
import re
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from pullback.core.frames import warn
from pullback.library._call import converter
from pullback.library._errors import SchemaError
from pullback.library._operator import CustomOpDef, find, lock, operators
from pullback.library._schema import NO_DEFAULT, Argument, Schema
from pullback.library._schema.infer import argument_type, inferred, mutated_names, tags_of
from pullback.library._schema.text import parse_schema
from pullback.library._slots import registered_at

RESERVED = frozenset({"prim", "prims", "aten", "at", "torch", "pytorch", "pb", "pullback"})
TAGS = frozenset({
    "inplace", "out", "pointwise", "nondeterministic", "recomputable", "threadsafe", "writable_inputs",
    "autograd_hidden",
})  # fmt: skip
FALLBACKS = ("backward", "forward", "nondiff")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Iterable[str] | str,
    device_types: str | Iterable[str] | None = None,
    schema: str | None = None,
    tags: str | Iterable[str] = (),
    autograd_fallback: str = "backward",
) -> Any:
    """Make a function an operator, which Pullback differentiates, maps and traces without looking into it.

    The schema comes from the annotations, or is given as text. `mutates_args` names the arguments that `fn` writes.
    Arguments annotated `numpy.ndarray` reach the function as arrays. Serves as a decorator.

    >>> @pb.library.custom_op("mine::cube", mutates_args=())
    ... def cube(x: np.ndarray) -> np.ndarray:
    ...     return x**3
    >>> cube.register_autograd(
    ...     lambda ctx, g: 3 * ctx.saved_tensors[0] ** 2 * g,
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    ... )
    >>> pb.func.grad(cube)(pb.tensor(2.0))
    tensor(12.)
    """
    mutated = mutates_args if isinstance(mutates_args, str) else tuple(mutates_args)
    if fn is None:
        return lambda function: custom_op(
            name, function, mutates_args=mutated, device_types=device_types, schema=schema, tags=tags,
            autograd_fallback=autograd_fallback,
        )  # fmt: skip
    if not callable(fn):
        raise TypeError(f"custom_op: {fn!r} is not callable")
    check_name(name)
    given = checked_tags(tags)
    if schema is None:
        found = inferred(fn, mutated, given)
    else:
        found = parse_schema(schema)
        names = mutated_names(mutated)
        if names is not None and set(names) != set(found.written):
            raise ValueError(
                f"{name}: mutates_args is {tuple(names)}, but by its schema the op mutates {found.written}: {schema}"
            )
        _check_matches(name, fn, found)
    _check_tags(name, found, given)
    return _defined(name, found, fn, given, autograd_fallback, device_types)


def define(
    name: str,
    schema_or_prototype: str | Callable[..., Any],
    *,
    tags: str | Iterable[str] = (),
    autograd_fallback: str = "forward",
) -> CustomOpDef:
    """An operator that has no kernel yet, from a schema or from an annotated function of the same name.

    >>> twice = pb.library.define("mine::twice", "(Tensor x) -> Tensor")
    >>> _ = twice.register_kernel("cpu", lambda x: x * 2)
    >>> twice(pb.tensor(2.0))
    tensor(4.)
    """
    check_name(name)
    given = checked_tags(tags)
    if isinstance(schema_or_prototype, str):
        found = parse_schema(schema_or_prototype)
        prototype = None
    else:
        prototype = schema_or_prototype
        operator = name.partition("::")[2]
        if not isinstance(prototype, types.FunctionType):
            raise ValueError(f"define: the prototype of {name} must be a plain function, got {prototype!r}")
        if "." in operator:
            raise ValueError(f"define: {name} has an overload, which a prototype cannot have; give a schema")
        if prototype.__name__ != operator:
            raise ValueError(f"define: expected the prototype of {name} to have name {operator}, got "
                             f"{prototype.__name__}")  # fmt: skip
        found = inferred(prototype, (), given)
    _check_tags(name, found, given)
    return _defined(name, found, None, given, autograd_fallback, None)


def primitive(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    elementwise: bool = False,
    autograd_fallback: str = "backward",
) -> Any:
    """Make a NumPy function an operator with the least of ceremony; give it a derivative with `defvjp`, `defjvp`,
    `defpartials` or `defvjp_all`. Serves as a decorator.

    Arrays and Tensors given by position are its inputs, whatever else it is given are constants.

    >>> @pb.library.primitive(elementwise=True)
    ... def hermite(n, x):
    ...     return np.polynomial.hermite.hermval(x, [0.0] * n + [1.0])
    >>> _ = hermite.defpartials(None, lambda ans, n, x: 2 * n * hermite(n - 1, x))
    >>> pb.func.grad(lambda x: hermite(3, x))(pb.tensor(1.0))
    tensor(12.)
    """
    if fn is None:
        return lambda function: primitive(
            function, name=name, elementwise=elementwise, autograd_fallback=autograd_fallback
        )
    if not callable(fn):
        raise TypeError(f"primitive: {fn!r} is not callable")
    if name is None:
        name = _name_of(fn)
    check_name(name)
    schema = Schema((), (), False, is_dynamic=True, text="(Any *args, **kwargs) -> Any")
    tags = frozenset({"pointwise"}) if elementwise else frozenset()
    made = _defined(name, schema, fn, tags, autograd_fallback, None)
    made.annotated = _annotated(made.signature)
    return made


def _name_of(fn: Any) -> str:
    qualname = getattr(fn, "__qualname__", getattr(fn, "__name__", ""))
    if not qualname or "<lambda>" in qualname:
        raise ValueError("primitive: a function without a name needs name='namespace::operator'")
    module = (getattr(fn, "__module__", None) or "main").partition(".")[0]
    module = {"__main__": "main"}.get(module, module)
    return f"{module}::{re.sub(r'[^A-Za-z0-9_]+', '_', qualname)}"


def _annotated(signature: inspect.Signature | None) -> list[Any]:
    """For each positional parameter what its annotation asks for; None if it asks for nothing that schemas know."""
    found: list[Any] = []
    for parameter in () if signature is None else signature.parameters.values():
        kind = argument_type(parameter.annotation)
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            break
        found.append(
            None if kind is None else (Argument(parameter.name, kind, NO_DEFAULT), converter(kind))
        )
    return found


def check_name(name: str) -> None:
    """Raise unless this is `namespace::operator` or `namespace::operator.overload`."""
    if not isinstance(name, str) or name.count("::") != 1:
        raise ValueError(f"{name!r} is not the name of an operator: expected 'namespace::operator', with an optional "
                         "'.overload'")  # fmt: skip
    namespace, _, rest = name.partition("::")
    operator, dot, overload = rest.partition(".")
    for part in (namespace, operator, *([overload] if dot else [])):
        if not _WORD.match(part) or keyword.iskeyword(part):
            raise SchemaError(f"{name!r} is not the name of an operator: {part!r} is not an identifier")
    if overload == "default":
        raise SchemaError(f"{name!r}: 'default' is what the overload without a name is called")
    if namespace in RESERVED:
        raise ValueError(f"{name!r}: {namespace!r} is a reserved namespace; choose one of your own")


def checked_tags(tags: str | Iterable[str]) -> frozenset[str]:
    """The tags as a set; an unknown one is an error."""
    given = tags_of(tags)
    unknown = given - TAGS
    if unknown:
        raise ValueError(f"unknown tags {sorted(unknown)}: known are {sorted(TAGS)}")
    return given


def _check_tags(name: str, schema: Schema, tags: frozenset[str]) -> None:
    if {"inplace", "out"} <= tags:
        raise ValueError(f"{name}: the tags inplace and out exclude each other")
    written = [argument for argument in schema.arguments if argument.type.writes]
    if "autograd_hidden" in tags and not written:
        raise ValueError(f"{name}: autograd_hidden is about writes, and the schema declares none")
    if "inplace" in tags:
        first = schema.positional[0] if schema.positional else None
        if len(written) != 1 or written[0] is not first or len(schema.returns) != 1 or not schema.returns[0].is_tensor:
            raise ValueError(f"{name}: an inplace operator writes its first positional argument only, and returns it")
    if "out" in tags and (
        not written
        or any(not argument.is_keyword_only or argument.type.is_list or argument.type.is_optional
               for argument in written)
        or len(schema.returns) != len(written)
    ):  # fmt: skip
        raise ValueError(
            f"{name}: an out operator writes keyword-only plain Tensors, and returns them in the order of declaration"
        )


def _check_matches(name: str, fn: Any, schema: Schema) -> None:
    if isinstance(fn, np.ufunc):
        return
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return  # a callable written in C may not tell its parameters
    shown = [(parameter.name, parameter.kind is parameter.KEYWORD_ONLY) for parameter in parameters]
    if shown != [(argument.name, argument.is_keyword_only) for argument in schema.arguments]:
        raise ValueError(f"{name}: expected the function's signature to match the schema {schema}, got "
                         f"{inspect.signature(fn)}")  # fmt: skip


def _defined(
    name: str, schema: Schema, fn: Any, tags: frozenset[str], autograd_fallback: str, device_types: Any
) -> CustomOpDef:
    if autograd_fallback not in FALLBACKS:
        raise ValueError(f"autograd_fallback is one of {FALLBACKS}, got {autograd_fallback!r}")
    made = CustomOpDef(name, schema, fn, tags, autograd_fallback, registered_at())
    if fn is not None:
        made.register_kernel(device_types, fn)
    if isinstance(fn, np.ufunc) and fn.signature is not None:
        with contextlib.suppress(ValueError):  # one with optional axes, or with more outputs, is mapped by a loop
            made.register_vmap(fn.signature)
    with lock:
        old = operators.pop(name, None)
        operators[name] = made
    if old is not None and _identity(old.function) != _identity(fn):
        warn(
            f"{name} is defined again at {made.defined_at}; it was defined at {old.defined_at}", UserWarning,
        )  # fmt: skip
    return made


def _identity(fn: Any) -> tuple[Any, Any]:
    return getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)


# The registrations as functions of an operator or its qualified name.

def _resolved(op: Any) -> CustomOpDef:
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, str):
        return find(op)
    raise ValueError(f"unexpected type for op: expected a CustomOpDef or its qualified name, got {type(op).__name__}")


def register_autograd(
    op: CustomOpDef | str, backward: Callable[..., Any] | None, /, *, setup_context: Callable[..., Any] | None = None
) -> None:
    """Give an operator a reverse formula; see `CustomOpDef.register_autograd`.

    >>> op = pb.library.define("mine::square_a", "(Tensor x) -> Tensor")
    >>> _ = pb.library.register_kernel(op, "cpu", lambda x: x * x)
    >>> pb.library.register_autograd(
    ...     op, lambda ctx, g: 2 * g * ctx.saved_tensors[0],
    ...     setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    ... )
    >>> pb.grad(op)(pb.tensor(3.0))
    tensor(6.)
    """
    _resolved(op).register_autograd(backward, setup_context=setup_context)


def register_jvp(op: CustomOpDef | str, fn: Callable[..., Any] | None = None, /, *, linear: Any = None) -> Any:
    """Give an operator a forward formula; see `CustomOpDef.register_jvp`."""
    return _resolved(op).register_jvp(fn, linear=linear)


def register_fake(op: CustomOpDef | str, fn: Callable[..., Any] | None = None, /) -> Any:
    """Say what an operator's results look like; see `CustomOpDef.register_fake`.

    >>> op = pb.library.define("mine::square_f", "(Tensor x) -> Tensor")
    >>> _ = pb.library.register_kernel(op, "cpu", lambda x: x * x)
    >>> _ = pb.library.register_fake(op, lambda x: x.new_empty(x.shape))
    >>> pb.compile(op)(pb.tensor([1.0, 2.0]))
    tensor([1., 4.])
    """
    return _resolved(op).register_fake(fn)


def register_kernel(
    op: CustomOpDef | str, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
) -> Any:
    """Give an operator a kernel; see `CustomOpDef.register_kernel`.

    >>> op = pb.library.define("mine::square", "(Tensor x) -> Tensor")
    >>> _ = pb.library.register_kernel(op, "cpu", lambda x: x * x)
    >>> op(pb.tensor(3.0))
    tensor(9.)
    """
    return _resolved(op).register_kernel(device_types, fn)


def register_vmap(op: CustomOpDef | str, rule: Any = None, /) -> Any:
    """Say how an operator is batched; see `CustomOpDef.register_vmap`."""
    return _resolved(op).register_vmap(rule)


def register_effect(op: CustomOpDef | str, effect: str | None, /) -> None:
    """Say that an operator has effects; see `CustomOpDef.register_effect`."""
    _resolved(op).register_effect(effect)


def impl_save_for_backward(op: CustomOpDef | str, /) -> Callable[..., Any]:
    """A decorator for the first half of the pair; see `CustomOpDef.impl_save_for_backward`."""
    return _resolved(op).impl_save_for_backward


def impl_backward(op: CustomOpDef | str, /, output_differentiability: list[bool] | None = None) -> Any:
    """A decorator for the second half of the pair; see `CustomOpDef.impl_backward`."""
    return _resolved(op).impl_backward(output_differentiability=output_differentiability)
