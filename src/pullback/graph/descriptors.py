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

from collections.abc import Iterable
from typing import Any, ClassVar

from pullback.errors import InternalError


class Descriptor:
    """What all descriptors answer. The predicates look through the attributes of a wrapper subclass.

    They are values: equal if they are of one kind and of equal parts, and never changed. Dataclasses would do the same,
    and take a tenth of the time until the first compiled call.
    """

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]]
    form: ClassVar[str]

    def __init__(self, *parts: Any) -> None:
        for name, part in zip(self.__match_args__, parts, strict=True):
            object.__setattr__(self, name, part)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What it was made of."""
        return tuple([getattr(self, name) for name in self.__match_args__])

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((type(self), self.parts))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a descriptor does not change: {name} of {self!r}")

    def __reduce__(self) -> Any:
        return type(self), self.parts

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={part!r}" for name, part in zip(self.__match_args__, self.parts, strict=True))
        return f"{type(self).__name__}({shown})"

    def expr(self) -> str:
        """The descriptor as graphs print it."""
        return self.form.format(*self.parts)

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


class _Numbered(Descriptor):
    __slots__ = __match_args__ = ("index",)
    index: int


class _Named(Descriptor):
    __slots__ = __match_args__ = ("name",)
    name: str


class _OfInput(Descriptor):
    __slots__ = __match_args__ = ("of",)
    of: AOTInput


class _OfOutput(Descriptor):
    __slots__ = __match_args__ = ("of",)
    of: AOTOutput


class _Attribute(Descriptor):
    __slots__ = __match_args__ = ("of", "name")
    of: Any
    name: str


# Inputs ---------------------------------------------------------------------------------------------------------------


class PlainAOTInput(_Numbered, AOTInput):
    """The leaf array in slot `index` of the arguments."""

    __slots__ = ()
    form = "args[{}]"


class ParamAOTInput(_Named, AOTInput):
    """The parameter of this name."""

    __slots__ = ()
    form = "param({!r})"


class BufferAOTInput(_Named, AOTInput):
    """The buffer of this name."""

    __slots__ = ()
    form = "buffer({!r})"


class CapturedAOTInput(_Numbered, AOTInput):
    """A tensor that the function reads without being given it."""

    __slots__ = ()
    form = "captured[{}]"


class NumberAOTInput(_Numbered, AOTInput):
    """The value of a number that the function was given, or of what it computes from such."""

    __slots__ = ()
    form = "number[{}]"


class ViewBaseAOTInput(_OfInput, AOTInput):
    """The tensor that an argument is a view of."""

    __slots__ = ()
    form = "base_of({})"


class SyntheticBaseAOTInput(_OfInput, AOTInput):
    """The stretch of memory that an argument shares with others."""

    __slots__ = ()
    form = "synthetic_base_of({})"


class TangentAOTInput(_OfOutput, AOTInput):
    """The gradient of an output, with which the backward pass starts."""

    __slots__ = ()
    form = "tangent({})"

    def __init__(self, of: AOTOutput) -> None:
        _check_order(self, of)
        super().__init__(of)


class SubclassGetAttrAOTInput(_Attribute, AOTInput):
    """The array that a wrapper subclass holds as its attribute `name`."""

    __slots__ = ()
    form = "{}.{}"


class DummyAOTInput(_Numbered, AOTInput):
    """An input without a meaning for the caller, such as one of the body of a loop."""

    __slots__ = ()
    form = "input[{}]"


# Outputs --------------------------------------------------------------------------------------------------------------


class PlainAOTOutput(_Numbered, AOTOutput):
    """Leaf `index` of what the function returns."""

    __slots__ = ()
    form = "output[{}]"


class InputMutationAOTOutput(_OfInput, AOTOutput):
    """What an input holds after the call."""

    __slots__ = ()
    form = "mutated({})"


class IntermediateBaseAOTOutput(_OfOutput, AOTOutput):
    """The value that an output, and perhaps further ones, are views of."""

    __slots__ = ()
    form = "ibase({})"


class MetadataMutationAOTOutput(_Numbered, AOTOutput):
    """An input whose shape or strides were changed, but not its elements."""

    __slots__ = ()
    form = "metadata_mutated[{}]"


class GradAOTOutput(_OfInput, AOTOutput):
    """The gradient of an input."""

    __slots__ = ()
    form = "grad({})"

    def __init__(self, of: AOTInput) -> None:
        _check_order(self, of)
        super().__init__(of)


class SubclassGetAttrAOTOutput(_Attribute, AOTOutput):
    """The array that goes into attribute `name` of a wrapper subclass."""

    __slots__ = ()
    form = "{}.{}"


class SavedForBackwardsAOTOutput(_Numbered, AOTOutput):
    """A value that the backward graph reads; whether it was overwritten is checked."""

    __slots__ = ()
    form = "saved[{}]"


class SavedForBackwardsNoVcCheckAOTOutput(_Numbered, AOTOutput):
    """A value that the backward graph reads, and that nobody else can have overwritten."""

    __slots__ = ()
    form = "saved_no_vc[{}]"


class DummyAOTOutput(_Numbered, AOTOutput):
    """An output without a meaning for the caller."""

    __slots__ = ()
    form = "result[{}]"


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
    return _by_name(graph, ParamAOTInput)


def buffers(graph: Any) -> dict[str, Any]:
    """The inputs that are buffers, by name."""
    return _by_name(graph, BufferAOTInput)


def _value_of(descs: Iterable[Any], values: Iterable[Any], wanted: Descriptor) -> Any:
    return next((value for desc, value in zip(descs, values, strict=True) if desc == wanted), None)


def _by_name(graph: Any, kind: type) -> dict[str, Any]:
    pairs = zip(graph.input_descs, graph.inputs, strict=True)
    return {desc.name: value for desc, value in pairs if isinstance(desc, kind)}  # type: ignore[attr-defined]
