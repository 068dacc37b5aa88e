"""Inputs that a call overwrites: backward never reads what is there afterwards."""

import numpy as np
import pytest

import pullback as pb
from pullback.aot import joint_graph, partition
from pullback.aot._partition import partition as split
from pullback.graph.descriptors import InputMutationAOTOutput
from pullback.graph.graph import Graph

WAYS = [{"method": "default"}] + [{"method": "min_cut", "memory_budget": b} for b in (1.0, 0.5, 0.0)]


def run(parts, primals, tangents):
    """Forward, the writes of the epilogue, backward."""
    results = parts.forward.eval(*primals)
    count = parts.num_forward_outputs
    for array, desc in zip(results[:count], parts.forward.output_descs, strict=False):
        if isinstance(desc, InputMutationAOTOutput):
            primals[desc.of.index][...] = array
    return results[:count], parts.backward.eval(*results[count:], *tangents)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_nothing_is_recomputed_from_the_new_contents(way, keep):
    def f(x, b):
        o = pb.exp(x * pb.sin(b))
        b.mul_(2)
        return o.sum()

    joint = joint_graph(f, pb.tensor(0.5, requires_grad=True), pb.tensor(0.5), keep_input_mutations=keep)
    parts = partition(joint, **way)
    primals = [np.array(0.5), np.array(0.5)]
    _, gradients = run(parts, primals, [np.array(1.0)])
    np.testing.assert_allclose(gradients[0], np.exp(0.5 * np.sin(0.5)) * np.sin(0.5))
    assert primals[1] == 1.0


TEXT = """graph joint(%0: f64[2,2] = args[0], %1: f64[2,2] = args[1], %2: f64[2,2] = tangent(output[0])) {
  %3: f64[2,2]{1,2} = permute_dims(%1, axes=(1, 0)) # fw
  %4: f64[2,2] = matmul(%0, %3) # fw
  %5: f64[2,2] = multiply(%1, 2.0) # fw
  store %1 <- %5 # fw
  %6: f64[2,2] = matmul(%2, READ) # bw
  return (output[0]=%4, grad(args[0])=%6, grad(args[1])=None)
}"""
X, B, T = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]]), np.array([[1.0, 0.0], [2.0, 1.0]])


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("read, expected", [("%1", T @ B), ("%3", T @ B.T)])
def test_the_old_contents_cross_as_a_copy_also_through_a_view(way, read, expected):
    parts = split(Graph.from_text(TEXT.replace("READ", read)), 1, **way)
    copies = [saved for saved in parts.saved if saved.is_copy]
    assert len(copies) == 1 and not copies[0].is_input and not copies[0].is_checked
    assert copies[0].nbytes == 32 and parts.stats["activation_bytes"] == 32
    assert [node.op for node in parts.forward.nodes][-2:] == ["copy", "store"]
    primals = [X.copy(), B.copy()]
    _, gradients = run(parts, primals, [T.copy()])
    np.testing.assert_array_equal(gradients[0], expected)
    np.testing.assert_array_equal(primals[1], 2 * B)


def test_a_copy_of_a_view_keeps_the_order_of_its_axes():
    parts = split(Graph.from_text(TEXT.replace("READ", "%3")), 1, method="default")
    (saved,) = parts.saved
    assert saved.name == "copy(permute_dims)"
    assert saved.value.type.byte_strides == (8, 16)
    assert parts.backward.inputs[0].type == saved.value.type


def test_the_caller_can_say_that_an_input_will_be_written():
    graph = Graph.from_text(TEXT.replace("READ", "%1").replace("  store %1 <- %5 # fw\n", ""))
    assert [saved.is_copy for saved in split(graph, 1).saved] == [False]
    assert [saved.is_copy for saved in split(graph, 1, overwritten=(1,)).saved] == [True]


BOTH = """graph joint(%0: f64[] = args[0], %1: f64[] = args[1], %2: f64[] = tangent(output[0])) {
  %3: f64[] = add(%1, 1.0) # fw
  %4: f64[] = multiply(%0, 2.0) # fw
  store %1 <- %3 # fw
  %5: f64[] = multiply(%2, 2.0) # bw
  %6: f64[] = add(%3, 10.0) # bw
  store %1 <- %6 # bw
  return (output[0]=%4, grad(args[0])=%5, grad(args[1])=None)
}"""


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_buffer_written_in_forward_and_in_backward(way):
    parts = split(Graph.from_text(BOTH), 1, **way)
    assert [(saved.name, saved.is_target, saved.is_checked) for saved in parts.saved] == [
        ("add", False, False), ("args[1]", True, False),
    ]  # fmt: skip
    buffer = np.array(0.0)
    outputs = parts.forward.eval(np.array(3.0), buffer)
    assert buffer == 1.0
    parts.backward.eval(*outputs[1:], np.array(1.0))
    assert buffer == 11.0


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_buffer_written_in_backward_alone_crosses_once(way):
    text = BOTH.replace("  store %1 <- %3 # fw\n", "").replace("add(%3, 10.0)", "add(%1, 10.0)")
    parts = split(Graph.from_text(text), 1, **way)
    assert [(saved.name, saved.is_checked) for saved in parts.saved] == [("args[1]", True)]
    buffer = np.array(5.0)
    outputs = parts.forward.eval(np.array(3.0), buffer)
    parts.backward.eval(*outputs[1:], np.array(1.0))
    assert buffer == 15.0


def test_an_input_that_is_returned_changed_is_overwritten():
    text = TEXT.replace("READ", "%1").replace("  store %1 <- %5 # fw\n", "")
    graph = Graph.from_text(text.replace("return (", "return (mutated(args[1])=%5, "))
    parts = split(graph, 2, method="default")
    assert [saved.name for saved in parts.saved] == ["copy(args[1])"]
    primals = [X.copy(), B.copy()]
    _, gradients = run(parts, primals, [T])
    np.testing.assert_array_equal(gradients[0], T @ B)


BRANCHES = """graph joint(%0: b1[] = args[0], %1: f64[3] = args[1], %2: f64[3] = tangent(output[0])) {
  %3: f64[3] = cond(%0, %1) # fw
    true: graph branch(%0: f64[3] = input[0]) {
      return (result[0]=%0)
    }
    false: graph branch(%0: f64[3] = input[0]) {
      %1: f64[3] = sin(%0) # fw
      return (result[0]=%1)
    }
  %4: f64[3] = exp(%3) # fw
  %5: f64[3] = multiply(%1, 2.0) # fw
  store %1 <- %5 # fw
  %6: f64[3] = multiply(%2, %3) # bw
  return (output[0]=%4, grad(args[0])=None, grad(args[1])=%6)
}"""


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_branch_that_hands_on_an_overwritten_input(way):
    parts = split(Graph.from_text(BRANCHES), 1, **way)
    old = np.array([1.0, 2.0, 3.0])
    for taken, expected in ((True, old), (False, np.sin(old))):
        _, gradients = run(parts, [np.array(taken), old.copy()], [np.full(3, 10.0)])
        np.testing.assert_array_equal(gradients[1], 10 * expected)
