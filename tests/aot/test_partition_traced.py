"""Functions that view, write and return aliases: the halves of their joint graphs compute what the joint graphs do."""

import numpy as np
import pytest

import pullback as pb
from pullback.aot import joint_graph, partition
from pullback.aot._partition import partition as split
from pullback.graph.descriptors import InputMutationAOTOutput
from pullback.graph.graph import Graph

WAYS = [{"method": "default"}] + [{"method": "min_cut", "memory_budget": b} for b in (1.0, 0.6, 0.2, 0.0)]


def writes_a_row(x, b):
    y = x * b
    y[0] = pb.sin(x[1])
    return (y * y).sum()


def writes_an_input(x, b):
    y = pb.sin(b) * x
    b.mul_(2)
    return pb.exp(y) * pb.cos(b)


def writes_an_input_through_a_view(x, b):
    y = pb.tanh(x @ b.mT)
    b.mT[0].add_(1)
    return y @ b, y.mT


def returns_views_of_an_intermediate(x, b):
    h = pb.exp(x) @ b
    return h.reshape(-1), h, h[0]


def returns_its_input(x, b):
    return x, x.mT, pb.sin(x) * b


def has_two_paths(x, b):
    left, right = pb.sin(x), pb.cos(x)
    return (left @ right) * left + (right @ left) * b


def normalises(x, b):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / pb.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) @ b


def sorts(x, b):
    return (pb.sort(x, axis=1) * b).sum(axis=0)


def solves(x, b):
    return pb.linalg.solve(x @ x.mT + 3 * pb.eye(3), b).sum() + pb.linalg.det(x)


def detaches(x, b):
    h = pb.sin(x)
    return (h.detach() * h * b).sum(), h.detach()


def decomposes(x, b):
    values, vectors = pb.linalg.eigh(x + x.mT)
    return (values * b[0]).sum() + (vectors * vectors * b).sum()


def concatenates(x, b):
    parts = pb.split(pb.concat([x, b * x], axis=0), 2, axis=0)
    return pb.stack([part.sum() for part in parts]) * pb.amax(x)


def gathers(x, b):
    return pb.take_along_axis(x, pb.argsort(b, axis=1), axis=1).cumsum(axis=0)


FUNCTIONS = [
    writes_a_row, writes_an_input, writes_an_input_through_a_view, returns_views_of_an_intermediate, returns_its_input,
    has_two_paths, normalises, sorts, solves, detaches, decomposes, concatenates, gathers,
]  # fmt: skip


def capture(function, keep=True):
    numbers = np.random.default_rng(1)
    arrays = [numbers.standard_normal((3, 3)), numbers.standard_normal((3, 3))]
    tensors = [pb.tensor(arrays[0], requires_grad=True), pb.tensor(arrays[1])]
    joint = joint_graph(function, *tensors, keep_input_mutations=keep)
    tangents = [numbers.standard_normal(value.type.shape) for value in joint.graph.inputs[2:]]
    return joint, arrays, tangents


def copies(arrays):
    return [None if array is None else array.copy() for array in arrays]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_forward_then_backward_is_the_joint_graph(function, keep):
    joint, arrays, tangents = capture(function, keep)
    count = joint.num_forward_outputs
    for way in WAYS:
        expected_inputs = copies(arrays)
        expected = copies(joint.graph.eval(*expected_inputs, *copies(tangents)))
        parts = partition(joint, **way)
        parts.forward.verify()
        parts.backward.verify()
        primals = copies(arrays)
        results = parts.forward.eval(*primals)
        outputs = copies(results[:count])
        for array, desc in zip(outputs, parts.forward.output_descs, strict=False):
            if isinstance(desc, InputMutationAOTOutput):
                primals[desc.of.index][...] = array
                expected_inputs[desc.of.index][...] = array
        gradients = parts.backward.eval(*results[count:], *copies(tangents))
        for got, wanted in zip([*outputs, *gradients, *primals], [*expected, *expected_inputs], strict=True):
            assert (got is None) == (wanted is None)
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_text_in_text_out(function):
    joint, _, _ = capture(function)
    read = Graph.from_text(joint.graph.to_text())
    for way in WAYS:
        direct = split(joint.graph, joint.num_forward_outputs, **way)
        through_text = split(read, joint.num_forward_outputs, **way)
        assert direct.forward.to_text() == through_text.forward.to_text()
        assert direct.backward.to_text() == through_text.backward.to_text()
        assert Graph.from_text(direct.backward.to_text()) == direct.backward


def test_the_noise_of_forward_is_the_noise_of_backward():
    def dropout(x):
        kept = pb.random.uniform(size=(50,)) > 0.5
        return (pb.sin(x) * kept).sum()

    joint = joint_graph(dropout, pb.ones(50, requires_grad=True))
    for way in WAYS:
        parts = partition(joint, **way)
        draws = [sum(node.effect == "random" for node in half.nodes) for half in (parts.forward, parts.backward)]
        assert draws == [1, 0]
        value, *saved = parts.forward.eval(np.ones(50))
        (gradient,) = parts.backward.eval(*saved, np.ones(()))
        kept = gradient != 0
        assert 0 < kept.sum() < 50
        np.testing.assert_allclose(value, np.sin(1.0) * kept.sum())


@pytest.mark.parametrize("method", ["default", "min_cut"])
def test_a_loss_that_seeds_itself(method):
    joint = joint_graph(lambda x: pb.sin(pb.exp(x)).sum(), pb.ones(4, requires_grad=True), loss_index=0)
    parts = partition(joint, method)
    assert all(not desc.is_tangent for desc in parts.backward.input_descs)
    _, *saved = parts.forward.eval(np.ones(4))
    (gradient,) = parts.backward.eval(*saved)
    np.testing.assert_allclose(gradient, np.full(4, np.cos(np.e) * np.e))
