"""Descriptors: expressions, predicates and queries."""

import pytest

from pullback.errors import InternalError
from pullback.graph.descriptors import (
    BufferAOTInput,
    CapturedAOTInput,
    DummyAOTInput,
    DummyAOTOutput,
    GradAOTOutput,
    InputMutationAOTOutput,
    IntermediateBaseAOTOutput,
    MetadataMutationAOTOutput,
    NumberAOTInput,
    ParamAOTInput,
    PlainAOTInput,
    PlainAOTOutput,
    SavedForBackwardsAOTOutput,
    SavedForBackwardsNoVcCheckAOTOutput,
    SubclassGetAttrAOTInput,
    SubclassGetAttrAOTOutput,
    SyntheticBaseAOTInput,
    TangentAOTInput,
    ViewBaseAOTInput,
    buffers,
    grad_of,
    params,
    tangent_of,
)
from pullback.graph.text.literals import parse_descriptor
from tests.graph.building import Builder

EXPRESSIONS = [
    (PlainAOTInput(3), "args[3]"),
    (ParamAOTInput("layer.0.weight"), "param('layer.0.weight')"),
    (ParamAOTInput("it's \"odd\"\n"), "param('it\\'s \"odd\"\\n')"),
    (BufferAOTInput("mean"), "buffer('mean')"),
    (CapturedAOTInput(1), "captured[1]"),
    (NumberAOTInput(2), "number[2]"),
    (ViewBaseAOTInput(PlainAOTInput(0)), "base_of(args[0])"),
    (SyntheticBaseAOTInput(PlainAOTInput(2)), "synthetic_base_of(args[2])"),
    (TangentAOTInput(PlainAOTOutput(0)), "tangent(output[0])"),
    (TangentAOTInput(InputMutationAOTOutput(PlainAOTInput(0))), "tangent(mutated(args[0]))"),
    (TangentAOTInput(GradAOTOutput(PlainAOTInput(0))), "tangent(grad(args[0]))"),
    (SubclassGetAttrAOTInput(PlainAOTInput(0), "data"), "args[0].data"),
    (SubclassGetAttrAOTInput(TangentAOTInput(PlainAOTOutput(1)), "scale"), "tangent(output[1]).scale"),
    (SubclassGetAttrAOTInput(SubclassGetAttrAOTInput(ParamAOTInput("w"), "a"), "b"), "param('w').a.b"),
    (DummyAOTInput(0), "input[0]"),
    (PlainAOTOutput(1), "output[1]"),
    (InputMutationAOTOutput(PlainAOTInput(0)), "mutated(args[0])"),
    (IntermediateBaseAOTOutput(PlainAOTOutput(2)), "ibase(output[2])"),
    (MetadataMutationAOTOutput(4), "metadata_mutated[4]"),
    (GradAOTOutput(ViewBaseAOTInput(PlainAOTInput(0))), "grad(base_of(args[0]))"),
    (SubclassGetAttrAOTOutput(GradAOTOutput(PlainAOTInput(0)), "data"), "grad(args[0]).data"),
    (SavedForBackwardsAOTOutput(0), "saved[0]"),
    (SavedForBackwardsNoVcCheckAOTOutput(5), "saved_no_vc[5]"),
    (DummyAOTOutput(7), "result[7]"),
]


@pytest.mark.parametrize("desc, text", EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions_are_written_and_read(desc, text):
    assert desc.expr() == str(desc) == text
    assert parse_descriptor(text) == desc


@pytest.mark.parametrize("text", ["args", "args[0", "args[0]]", "grad(args[0]", "nothing[0]", "", "grad(x)"])
def test_what_is_no_descriptor_is_refused(text):
    with pytest.raises(ValueError):
        parse_descriptor(text)


def test_descriptors_are_values():
    assert len({PlainAOTInput(0), PlainAOTInput(0), PlainAOTInput(1), PlainAOTOutput(0)}) == 3
    with pytest.raises(AttributeError):
        PlainAOTInput(0).index = 1


def test_a_gradient_is_that_of_a_whole_tensor():
    part = SubclassGetAttrAOTInput(PlainAOTInput(0), "data")
    with pytest.raises(InternalError):
        GradAOTOutput(part)
    with pytest.raises(InternalError):
        TangentAOTInput(SubclassGetAttrAOTOutput(PlainAOTOutput(0), "data"))


def test_predicates_look_through_wrapper_subclasses():
    assert SubclassGetAttrAOTInput(ParamAOTInput("w"), "data").is_param
    assert SubclassGetAttrAOTInput(TangentAOTInput(PlainAOTOutput(0)), "data").is_tangent
    assert SubclassGetAttrAOTOutput(GradAOTOutput(PlainAOTInput(0)), "data").is_grad
    assert BufferAOTInput("mean").is_buffer and not BufferAOTInput("mean").is_param
    assert not PlainAOTInput(0).is_tangent and not PlainAOTOutput(0).is_grad


def test_only_some_descriptors_are_differentiable():
    assert PlainAOTInput(0).is_differentiable and GradAOTOutput(PlainAOTInput(0)).is_differentiable
    assert not TangentAOTInput(PlainAOTOutput(0)).is_differentiable
    assert not SavedForBackwardsAOTOutput(0).is_differentiable
    assert not SubclassGetAttrAOTInput(PlainAOTInput(0), "data").is_differentiable


def test_queries_find_values_by_descriptor():
    b = Builder("joint")
    w, mean = b.input([1.0], ParamAOTInput("w")), b.input([2.0], BufferAOTInput("mean"))
    tangent = b.input([3.0], TangentAOTInput(PlainAOTOutput(0)))
    graph = b.returns(w, tangent, None, descs=[
        PlainAOTOutput(0), GradAOTOutput(ParamAOTInput("w")), GradAOTOutput(BufferAOTInput("mean")),
    ])  # fmt: skip
    assert grad_of(graph, ParamAOTInput("w")) is tangent
    assert grad_of(graph, BufferAOTInput("mean")) is None
    assert tangent_of(graph, PlainAOTOutput(0)) is tangent
    assert tangent_of(graph, PlainAOTOutput(1)) is None
    assert params(graph) == {"w": w} and buffers(graph) == {"mean": mean}
