"""Descriptors: what an input or output of a graph means to the caller.

An input's descriptor says how to obtain it from the caller's arguments, an output's how to find it in the caller's
results. They nest, and `expr()` writes them as graphs print them:

    PlainAOTInput(0)                                   args[0]
    TangentAOTInput(PlainAOTOutput(1))                 tangent(output[1])
    GradAOTOutput(ViewBaseAOTInput(PlainAOTInput(0)))  grad(base_of(args[0]))
    SubclassGetAttrAOTInput(PlainAOTInput(0), "data")  args[0].data

The order of construction is fixed: plain, then alias or mutation, then autograd, then subclass. Random numbers come
from their generators and effects happen in the order of nodes, so there are no descriptors of seeds and tokens.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from pullback.errors import InternalError


class Descriptor:
    """What all descriptors answer. The predicates look through the attributes of a wrapper subclass."""

    __slots__ = ()
    form: ClassVar[str]

    def expr(self) -> str:
        """The descriptor as graphs print it."""
        parts = [getattr(self, name) for name in self.__match_args__]  # type: ignore[attr-defined]
        return self.form.format(*parts)

    @property
    def plain(self) -> Descriptor:
        """The descriptor without the attributes of wrapper subclasses around it."""
        return self.of.plain if isinstance(self, _SUBCLASS) else self

    @property
    def is_param(self) -> bool:
        """Is it a parameter of a module?"""
        return isinstance(self.plain, ParamAOTInput)

    @property
    def is_buffer(self) -> bool:
        """Is it a buffer of a module?"""
        return isinstance(self.plain, BufferAOTInput)

    @property
    def is_tangent(self) -> bool:
        """Is it the gradient of an output, which the backward pass starts from?"""
        return isinstance(self.plain, TangentAOTInput)

    @property
    def is_grad(self) -> bool:
        """Is it the gradient of an input?"""
        return isinstance(self.plain, GradAOTOutput)

    @property
    def is_differentiable(self) -> bool:
        """May it have a gradient, or be one?"""
        return isinstance(self, _DIFFERENTIABLE)

    def __str__(self) -> str:
        return self.expr()


class AOTInput(Descriptor):
    """What an input of a graph is."""

    __slots__ = ()


class AOTOutput(Descriptor):
    """What an output of a graph is."""

    __slots__ = ()


# Inputs ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlainAOTInput(AOTInput):
    """The leaf array in slot `index` of the arguments."""

    form: ClassVar[str] = "args[{}]"
    index: int


@dataclass(frozen=True, slots=True)
class ParamAOTInput(AOTInput):
    """The parameter of this name."""

    form: ClassVar[str] = "param({!r})"
    name: str


@dataclass(frozen=True, slots=True)
class BufferAOTInput(AOTInput):
    """The buffer of this name."""

    form: ClassVar[str] = "buffer({!r})"
    name: str


@dataclass(frozen=True, slots=True)
class CapturedAOTInput(AOTInput):
    """A tensor that the function reads without being given it."""

    form: ClassVar[str] = "captured[{}]"
    index: int


@dataclass(frozen=True, slots=True)
class ViewBaseAOTInput(AOTInput):
    """The tensor that an argument is a view of."""

    form: ClassVar[str] = "base_of({})"
    of: AOTInput


@dataclass(frozen=True, slots=True)
class SyntheticBaseAOTInput(AOTInput):
    """The stretch of memory that an argument shares with others."""

    form: ClassVar[str] = "synthetic_base_of({})"
    of: AOTInput


@dataclass(frozen=True, slots=True)
class TangentAOTInput(AOTInput):
    """The gradient of an output, with which the backward pass starts."""

    form: ClassVar[str] = "tangent({})"
    of: AOTOutput

    def __post_init__(self) -> None:
        _check_order(self, self.of)


@dataclass(frozen=True, slots=True)
class SubclassGetAttrAOTInput(AOTInput):
    """The array that a wrapper subclass holds as its attribute `name`."""

    form: ClassVar[str] = "{}.{}"
    of: AOTInput
    name: str


@dataclass(frozen=True, slots=True)
class DummyAOTInput(AOTInput):
    """An input without a meaning for the caller, such as one of the body of a loop."""

    form: ClassVar[str] = "input[{}]"
    index: int


# Outputs --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlainAOTOutput(AOTOutput):
    """Leaf `index` of what the function returns."""

    form: ClassVar[str] = "output[{}]"
    index: int


@dataclass(frozen=True, slots=True)
class InputMutationAOTOutput(AOTOutput):
    """What an input holds after the call."""

    form: ClassVar[str] = "mutated({})"
    of: AOTInput


@dataclass(frozen=True, slots=True)
class IntermediateBaseAOTOutput(AOTOutput):
    """The value that an output, and perhaps further ones, are views of."""

    form: ClassVar[str] = "ibase({})"
    of: AOTOutput


@dataclass(frozen=True, slots=True)
class MetadataMutationAOTOutput(AOTOutput):
    """An input whose shape or strides were changed, but not its elements."""

    form: ClassVar[str] = "metadata_mutated[{}]"
    index: int


@dataclass(frozen=True, slots=True)
class GradAOTOutput(AOTOutput):
    """The gradient of an input."""

    form: ClassVar[str] = "grad({})"
    of: AOTInput

    def __post_init__(self) -> None:
        _check_order(self, self.of)


@dataclass(frozen=True, slots=True)
class SubclassGetAttrAOTOutput(AOTOutput):
    """The array that goes into attribute `name` of a wrapper subclass."""

    form: ClassVar[str] = "{}.{}"
    of: AOTOutput
    name: str


@dataclass(frozen=True, slots=True)
class SavedForBackwardsAOTOutput(AOTOutput):
    """A value that the backward graph reads; whether it was overwritten is checked."""

    form: ClassVar[str] = "saved[{}]"
    index: int


@dataclass(frozen=True, slots=True)
class SavedForBackwardsNoVcCheckAOTOutput(AOTOutput):
    """A value that the backward graph reads, and that nobody else can have overwritten."""

    form: ClassVar[str] = "saved_no_vc[{}]"
    index: int


@dataclass(frozen=True, slots=True)
class DummyAOTOutput(AOTOutput):
    """An output without a meaning for the caller."""

    form: ClassVar[str] = "result[{}]"
    index: int


_DIFFERENTIABLE = (
    PlainAOTInput, ParamAOTInput, BufferAOTInput, CapturedAOTInput, ViewBaseAOTInput, SyntheticBaseAOTInput,
    PlainAOTOutput, InputMutationAOTOutput, IntermediateBaseAOTOutput, MetadataMutationAOTOutput, GradAOTOutput,
)  # fmt: skip
_SUBCLASS = (SubclassGetAttrAOTInput, SubclassGetAttrAOTOutput)


def _check_order(outer: Descriptor, inner: Descriptor) -> None:
    """Gradients are those of whole tensors: a subclass is taken apart after differentiation."""
    if isinstance(inner, _SUBCLASS):
        raise InternalError(f"{type(outer).__name__} of {inner.expr()}: take the attribute of the gradient instead")


# Queries. They look in a graph, or in anything else that has descriptors of inputs and outputs. -----------------------


def grad_of(graph: Any, desc: AOTInput) -> Any:
    """The output that is the gradient of this input, or None where there is no such output or no gradient."""
    return _value_of(graph.output_descs, graph.outputs, GradAOTOutput(desc))


def tangent_of(graph: Any, desc: AOTOutput) -> Any:
    """The input that is the gradient of this output, or None."""
    return _value_of(graph.input_descs, graph.inputs, TangentAOTInput(desc))


def params(graph: Any) -> dict[str, Any]:
    """The inputs that are parameters, by name."""
    return _named(graph, ParamAOTInput)


def buffers(graph: Any) -> dict[str, Any]:
    """The inputs that are buffers, by name."""
    return _named(graph, BufferAOTInput)


def _value_of(descs: Iterable[Any], values: Iterable[Any], wanted: Descriptor) -> Any:
    return next((value for desc, value in zip(descs, values, strict=True) if desc == wanted), None)


def _named(graph: Any, kind: type) -> dict[str, Any]:
    pairs = zip(graph.input_descs, graph.inputs, strict=True)
    return {desc.name: value for desc, value in pairs if isinstance(desc, kind)}  # type: ignore[attr-defined]


# Reading expressions --------------------------------------------------------------------------------------------------

_BY_INDEX: dict[str, Any] = {
    "args": PlainAOTInput, "captured": CapturedAOTInput, "input": DummyAOTInput, "output": PlainAOTOutput,
    "metadata_mutated": MetadataMutationAOTOutput, "saved": SavedForBackwardsAOTOutput,
    "saved_no_vc": SavedForBackwardsNoVcCheckAOTOutput, "result": DummyAOTOutput,
}  # fmt: skip
_BY_NAME: dict[str, Any] = {"param": ParamAOTInput, "buffer": BufferAOTInput}
_OF_ANOTHER: dict[str, Any] = {
    "base_of": ViewBaseAOTInput, "synthetic_base_of": SyntheticBaseAOTInput, "tangent": TangentAOTInput,
    "mutated": InputMutationAOTOutput, "ibase": IntermediateBaseAOTOutput, "grad": GradAOTOutput,
}  # fmt: skip

_INDEXED = re.compile(r"(\w+)\[(\d+)\]")
_NAMED = re.compile(r"(param|buffer)\(('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")\)")
_OPENED = re.compile(r"(\w+)\(")
_ATTRIBUTE = re.compile(r"\.(\w+)")


def parse_descriptor(text: str) -> Descriptor:
    """The descriptor with this expression."""
    found, end = parse_prefix(text, 0)
    if end != len(text):
        raise ValueError(f"descriptor {text!r}: nothing may follow after column {end}")
    return found


def parse_prefix(text: str, start: int) -> tuple[Descriptor, int]:
    """The descriptor whose expression begins at `start`, and where it ends."""
    found: Descriptor
    if (match := _INDEXED.match(text, start)) and match[1] in _BY_INDEX:
        found, end = _BY_INDEX[match[1]](int(match[2])), match.end()
    elif match := _NAMED.match(text, start):
        found, end = _BY_NAME[match[1]](ast.literal_eval(match[2])), match.end()
    elif (match := _OPENED.match(text, start)) and match[1] in _OF_ANOTHER:
        inner, end = parse_prefix(text, match.end())
        if text[end : end + 1] != ")":
            raise ValueError(f"descriptor {text[start:]!r}: `)` is missing after {inner.expr()}")
        found, end = _OF_ANOTHER[match[1]](inner), end + 1
    else:
        raise ValueError(f"{text[start : start + 40]!r} is not the beginning of a descriptor")
    while match := _ATTRIBUTE.match(text, end):
        kind: Any = SubclassGetAttrAOTInput if isinstance(found, AOTInput) else SubclassGetAttrAOTOutput
        found, end = kind(found, match[1]), match.end()
    return found, end

