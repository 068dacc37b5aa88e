"""What is saved and what is recomputed, for functions whose answer is known."""

import os
import subprocess
import sys

import numpy as np
import pytest

import pullback as pb
from pullback.aot import PartitionError, joint_graph, partition
from pullback.aot._partition import partition as split
from pullback.graph.graph import Graph


def ones(*shape):
    return pb.ones(shape, requires_grad=True)


def names(parts):
    return [saved.name for saved in parts.saved]


def ops(nodes):
    return [node.op for node in nodes]


def three_functions(x):
    return pb.exp(pb.cos(pb.sin(x))).sum()


def softmax_then_sin(x):
    raised = pb.exp(x - pb.amax(x, axis=1, keepdims=True))
    return pb.sin(raised / raised.sum(axis=1, keepdims=True))


# What the partitioners choose.


def test_default_saves_what_backward_reads():
    parts = partition(joint_graph(three_functions, ones(4)), "default")
    assert names(parts) == ["args[0]", "sin", "exp"]
    assert not parts.recomputed


def test_min_cut_recomputes_a_chain_of_elementwise_operators_from_the_input():
    parts = partition(joint_graph(three_functions, ones(4)), "min_cut")
    assert names(parts) == ["args[0]"]
    assert sorted(ops(parts.recomputed)) == ["cos", "exp", "sin"]
    assert parts.stats["saved_bytes"] == 32


def test_min_cut_saves_the_small_results_of_a_softmax():
    parts = partition(joint_graph(softmax_then_sin, ones(8, 16)), "min_cut")
    assert names(parts) == ["args[0]", "amax", "sum"]


def test_what_a_product_in_backward_reads_is_saved_and_a_budget_recomputes_it():
    joint = joint_graph(lambda x, w: (pb.sin(x) @ w).sum(), ones(2, 3), ones(3, 2))
    assert names(partition(joint, "min_cut")) == ["args[0]", "args[1]", "sin"]
    assert names(partition(joint, "min_cut", memory_budget=0.5)) == ["args[0]", "args[1]"]


def test_the_mask_of_a_relu_is_smaller_than_its_operand():
    joint = joint_graph(lambda x, w, v: pb.relu(pb.relu(x @ w) @ v).sum(), ones(6, 6), ones(6, 6), ones(6, 6))
    parts = partition(joint, "min_cut")
    assert names(parts) == ["args[0]", "args[1]", "args[2]", "relu", "less_equal"]
    assert not parts.recomputed  # a node of backward that needs no tangent has moved to forward
    assert "less_equal" in ops(parts.forward.nodes)
    assert ops(parts.backward.nodes).count("less_equal") == 1  # of the inner relu, which is saved


def test_auto_recomputes_only_if_that_is_free_or_memory_is_short():
    joint = joint_graph(three_functions, ones(4))
    graph, count = joint.graph, joint.num_forward_outputs
    assert split(graph, count).method == "default"
    assert split(graph, count, recompute_is_free=True).method == "min_cut"
    assert split(graph, count, memory_budget=0.9).method == "min_cut"


def test_a_long_chain_is_saved_every_hundred_nodes():
    def long(x):
        for _ in range(250):
            x = pb.sin(x)
        return x.sum()

    parts = partition(joint_graph(long, ones(4)), "min_cut")
    assert names(parts) == ["args[0]", "sin", "sin_1"]
    forward = parts.forward
    positions = [forward.nodes.index(saved.value.node) for saved in parts.saved[1:]]
    assert positions == [100, 201]


def test_a_value_used_again_beyond_a_product_is_not_recomputed_there():
    def far(x, w):
        shared = pb.sin(x)
        product = pb.cos(shared) @ w
        return (pb.exp(shared) * product).sum()  # exp(shared) comes after the loop around cos(shared) has ended

    joint = joint_graph(far, ones(8, 8), pb.ones((8, 8)))
    assert "exp" in names(partition(joint, "min_cut"))
    assert "exp" not in names(partition(joint, "min_cut", memory_budget=0.9))


def test_an_expensive_elementwise_function_is_recomputed_only_for_a_budget():
    gamma = pb.special.gamma
    joint = joint_graph(lambda x: pb.sin(gamma(x)).sum(), pb.full((50,), 1.5, requires_grad=True))
    assert "special.gamma" in names(partition(joint, "min_cut"))
    assert "special.gamma" not in names(partition(joint, "min_cut", memory_budget=0.5))


def test_static_inputs_are_free_unless_they_are_overwritten():
    text = """graph joint(%0: f64[10,10] = args[0], %1: f64[10,10] = args[1], %2: f64[10,10] = tangent(output[0])) {
      %3: f64[10,10] = sin(%1) # fw
      %4: f64[10,10] = matmul(%0, %3) # fw
      %5: f64[10,10] = multiply(%1, 2) # fw
      STORE
      %6: f64[10,10] = multiply(%2, %3) # bw
      return (output[0]=%4, grad(args[0])=%6, grad(args[1])=None)
    }"""
    free = Graph.from_text(text.replace("STORE", ""))
    written = Graph.from_text(text.replace("STORE", "store %1 <- %5 # fw"))
    assert names(split(free, 1, method="min_cut")) == ["sin"]
    assert names(split(free, 1, method="min_cut", static_inputs=(1,))) == ["args[1]"]
    assert names(split(written, 1, method="min_cut", static_inputs=(1,))) == ["sin"]


def test_results_are_saved_one_by_one():
    parts = partition(joint_graph(lambda x: pb.max_with_indices(x, axis=1)[0].sum(), ones(4, 50)), "min_cut")
    assert all(saved.name != "max_with_indices" for saved in parts.saved)
    assert "max_with_indices[1]" in names(parts)
    assert "max_with_indices[0]" not in names(parts)


def test_a_shape_is_no_reason_to_save():
    joint = joint_graph(lambda x: (pb.reshape(x * 3, -1) + 1).sum(), ones(4, 5))
    for way in ("default", "min_cut"):
        assert names(partition(joint, way)) == []


# The contract.


def test_forward_returns_outputs_then_saved_and_backward_takes_saved_then_tangents():
    joint = joint_graph(lambda x, n, w: (pb.sin(x) @ w, x * 2), ones(2, 3), pb.ones(3), ones(3, 2))
    parts = partition(joint, "default")
    descs = [desc.expr() for desc in parts.forward.output_descs]
    assert descs[:2] == ["output[0]", "output[1]"]
    assert descs[2:] == [saved.descriptor.expr() for saved in parts.saved]
    assert [desc.expr() for desc in parts.backward.input_descs] == [
        *descs[2:], "tangent(output[0])", "tangent(output[1])",
    ]  # fmt: skip
    gradients = [desc.expr() for desc in parts.backward.output_descs]
    assert gradients == ["grad(args[0])", "grad(args[1])", "grad(args[2])"]
    assert parts.backward.outputs[1] is None


def test_what_others_can_write_to_is_checked_and_comes_first():
    joint = joint_graph(lambda x: (pb.sin(x), pb.exp(pb.cos(x)).reshape(-1)), ones(2, 2))
    parts = partition(joint, "default")
    by_name = {saved.name: saved for saved in parts.saved}
    assert by_name["args[0]"].is_input and by_name["args[0]"].is_checked
    returned = by_name["exp"]  # the output is a view of it
    assert returned.is_checked and returned.output_index is not None and not returned.is_input
    checked = [saved.is_checked for saved in parts.saved]
    assert checked == sorted(checked, reverse=True)


def test_a_private_value_is_donated():
    parts = partition(joint_graph(three_functions, ones(4)), "default")
    assert [(saved.name, saved.is_donated) for saved in parts.saved] == [
        ("args[0]", False), ("sin", True), ("exp", True),
    ]  # fmt: skip


def test_two_saved_views_of_one_memory_are_not_donated():
    text = """graph joint(%0: f64[2,3] = args[0], %1: f64[2,3] = tangent(output[0])) {
      %2: f64[2,3] = sin(%0) # fw
      %3: f64[3,2]{1,3} = permute_dims(%2, axes=(1, 0)) # fw
      %4: f64[2,2] = matmul(%2, %3) # fw
      %5: f64[2,3] = multiply(%1, %2) # bw
      %6: f64[2,2] = matmul(%5, %3) # bw
      %7: f64[2,3] = matmul(%6, %5) # bw
      return (output[0]=%4, grad(args[0])=%7)
    }"""
    parts = split(Graph.from_text(text), 1, method="default")
    assert [(saved.name, saved.is_donated) for saved in parts.saved] == [("sin", False), ("permute_dims", False)]
    assert parts.stats["saved_bytes"] == 48  # one memory, counted once


@pytest.mark.parametrize("budget", [-0.1, 1.5, float("nan")])
def test_a_budget_is_a_share(budget):
    with pytest.raises(PartitionError, match="between 0 and 1"):
        partition(joint_graph(three_functions, ones(4)), memory_budget=budget)


@pytest.mark.parametrize(
    "options", [{"method": "best"}, {"method": "default", "memory_budget": 0.5}, {"cost": "joules"}]
)
def test_options_that_mean_nothing_are_refused(options):
    joint = joint_graph(three_functions, ones(4))
    with pytest.raises(PartitionError):
        partition(joint, **{"method": "min_cut", **options})


PROGRAM = """
import pullback as pb
from pullback.aot import joint_graph, partition
def f(x, w):
    h = pb.exp(x - pb.amax(x, axis=1, keepdims=True))
    return (pb.sin(h / h.sum(axis=1, keepdims=True)) @ w).sum()
joint = joint_graph(f, pb.ones((4, 5), requires_grad=True), pb.ones((5, 2), requires_grad=True))
for budget in (1.0, 0.5):
    parts = partition(joint, "min_cut", budget)
    print(parts.forward.to_text(), parts.backward.to_text())
"""


def test_other_processes_cut_in_the_same_place():
    texts = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1 and "graph backward" in texts.pop()


def test_numbers_of_a_partition():
    def step(x, w, n):
        n.add_(1)
        h = pb.sin(x) @ w
        return h.reshape(-1), h

    joint = joint_graph(step, ones(64, 32), ones(32, 16), pb.zeros((), dtype=pb.int64))
    stats = partition(joint, "default").stats
    assert (stats["saved_bytes"], stats["activation_bytes"]) == (36864, 16384)
    assert (stats["forward_flops"], stats["backward_flops"], stats["recompute_flops"]) == (67585, 135168, 0)


def test_the_most_memory_at_one_time():
    joint = joint_graph(lambda x: pb.sin(pb.sin(pb.sin(x))).sum(), ones(100))
    default, spare = partition(joint, "default").stats, partition(joint, "min_cut").stats
    # x and three results; the last one is let go of after the sum, which is 8 bytes
    assert default["forward_peak_bytes"] == 4 * 800 + 8 - 800 + 800
    # x, and two results at a time
    assert spare["forward_peak_bytes"] == 3 * 800
    assert default["peak_bytes"] == max(default["forward_peak_bytes"], default["backward_peak_bytes"])


@pytest.mark.parametrize("way", [{}, {"method": "default"}, {"method": "min_cut"}, {"memory_budget": 0.3}], ids=str)
def test_halves_of_a_traced_function_give_its_gradient(way):
    numbers = np.random.default_rng(0)
    x, w = numbers.standard_normal((4, 5)), numbers.standard_normal((5, 5))
    tensors = [pb.tensor(x, requires_grad=True), pb.tensor(w, requires_grad=True)]
    f = lambda x, w: pb.tanh(softmax_then_sin(x @ w) @ w.mT).sum()
    f(*tensors).backward()
    joint = joint_graph(f, *tensors)
    parts = partition(joint, **way)
    value, *saved = parts.forward.eval(x, w)
    gradients = parts.backward.eval(*saved, np.ones(()))
    np.testing.assert_array_equal(value, f(*tensors).detach().numpy())
    for got, tensor in zip(gradients, tensors, strict=True):
        np.testing.assert_array_equal(got, tensor.grad.numpy())


def test_backward_may_reuse_what_only_it_holds():
    def f(x, w):
        hidden = pb.sin(x * w)
        returned = pb.exp(hidden)
        return returned, pb.cos(hidden) * returned

    x, w = (pb.tensor(np.arange(1.0, 4.0), requires_grad=True) for _ in range(2))
    joint = pb.aot.joint_graph(f, x, w)
    split = pb.aot.partition(joint)
    held = {id(value) for value in (*split.forward.inputs, *split.forward.outputs[: joint.num_forward_outputs])}
    crossing = split.forward.outputs[len(split.forward.outputs) - len(split.saved) :]
    assert any(each.is_donated for each in split.saved)
    for each, value in zip(split.saved, crossing, strict=True):
        assert not (each.is_donated and id(value) in held)
