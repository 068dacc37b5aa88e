"""Checkpoints and policies: what has to be saved or recomputed."""

import numpy as np
import pytest

from pullback.aot import PartitionError
from pullback.aot._partition import partition
from pullback.graph.graph import Graph
from pullback.utils.checkpoint import CheckpointPolicy

WAYS = [{"method": "default"}, {"method": "min_cut"}, {"memory_budget": 0.5}]

# x -> sin -> [exp -> matmul] -> [tanh -> cos] -> sum, with the two regions in brackets
TEXT = """graph joint(%0: f64[3,3] = args[0], %1: f64[] = tangent(output[0])) {
  %2: f64[3,3] = sin(%0) # fw
  %3: f64[3,3] = exp(%2) # fw recompute=PREFER_RECOMPUTE region=1
  %4: f64[3,3] = matmul(%3, %3) # fw recompute=PREFER_RECOMPUTE region=1
  %5: f64[3,3] = tanh(%4) # fw recompute=PREFER_RECOMPUTE region=2
  %6: f64[3,3] = cos(%5) # fw recompute=PREFER_RECOMPUTE region=2
  %7: f64[] = sum(%6, axis=(0, 1)) # fw
  %8: f64[3,3]{0,0} = broadcast_to(%1, shape=(3, 3)) # bw
  %9: f64[3,3] = multiply(%8, %6) # bw
  %10: f64[3,3] = multiply(%9, %5) # bw
  %11: f64[3,3] = multiply(%10, %4) # bw
  %12: f64[3,3] = multiply(%11, %3) # bw
  return (output[0]=%7, grad(args[0])=%12)
}"""


def names(parts):
    return [saved.name for saved in parts.saved]


def ops(nodes):
    return [node.op for node in nodes]


def agrees(text, parts):
    x, t = np.random.default_rng(0).standard_normal((3, 3)), np.array(1.0)
    outputs = parts.forward.eval(x)
    count = parts.num_forward_outputs
    halves = [*outputs[:count], *parts.backward.eval(*outputs[count:], t)]
    for got, wanted in zip(halves, Graph.from_text(text).eval(x, t), strict=True):
        np.testing.assert_array_equal(got, wanted)
    return True


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_nodes_of_a_checkpoint_are_recomputed_and_the_value_between_two_is_saved(way):
    parts = partition(Graph.from_text(TEXT), 1, **way)
    assert "exp" not in names(parts) and "tanh" not in names(parts) and "cos" not in names(parts)
    assert "matmul" in names(parts)
    assert {"tanh", "cos", "exp"} <= set(ops(parts.recomputed))
    assert "matmul" not in ops(parts.recomputed)
    assert agrees(TEXT, parts)


def test_default_saves_the_untagged_inputs_of_a_region():
    assert names(partition(Graph.from_text(TEXT), 1, method="default")) == ["sin", "matmul"]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_one_region_recomputes_even_a_product(way):
    text = TEXT.replace("region=2", "region=1")
    parts = partition(Graph.from_text(text), 1, **way)
    assert "matmul" in ops(parts.recomputed) and "matmul" not in names(parts)
    assert agrees(text, parts)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_what_must_be_saved_is_saved_inside_of_a_region(way):
    text = TEXT.replace("exp(%2) # fw recompute=PREFER_RECOMPUTE", "exp(%2) # fw recompute=MUST_SAVE")
    parts = partition(Graph.from_text(text), 1, **way)
    assert "exp" in names(parts) and "exp" not in ops(parts.recomputed)
    assert agrees(text, parts)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_draw_inside_of_a_region_happens_once_and_is_saved(way):
    text = TEXT.replace("tanh(%4) # fw", "tanh(%4) # fw random")
    parts = partition(Graph.from_text(text), 1, **way)
    assert "tanh" in names(parts)
    assert ops(parts.forward.nodes).count("tanh") == 1 and "tanh" not in ops(parts.backward.nodes)
    assert agrees(text, parts)


def test_default_refuses_checkpoints_beside_ordered_effects():
    text = TEXT.replace("sin(%0) # fw", "sin(%0) # fw ordered")
    with pytest.raises(PartitionError, match="sin has an effect"):
        partition(Graph.from_text(text), 1, method="default")
    parts = partition(Graph.from_text(text), 1, method="min_cut")
    assert "sin" not in ops(parts.recomputed) and agrees(text, parts)


def test_saving_is_preferred_until_memory_is_short():
    plain = TEXT.replace(" recompute=PREFER_RECOMPUTE region=1", "").replace(" recompute=PREFER_RECOMPUTE region=2", "")
    text = plain.replace("cos(%5) # fw", "cos(%5) # fw recompute=PREFER_SAVE")
    assert "cos" not in names(partition(Graph.from_text(plain), 1, method="min_cut"))
    assert "cos" in names(partition(Graph.from_text(text), 1, method="min_cut"))
    assert "cos" not in names(partition(Graph.from_text(text), 1, method="min_cut", memory_budget=0.9))


@pytest.mark.parametrize("said", [False, "MUST_RECOMPUTE", "prefer_recompute", CheckpointPolicy.MUST_RECOMPUTE])
def test_a_policy_counts_more_than_tags(said):
    graph = Graph.from_text(TEXT)
    parts = partition(graph, 1, method="default", policy=lambda node: said if node.op == "sin" else None)
    assert names(parts) == ["args[0]", "matmul"]
    parts = partition(graph, 1, method="default", policy=lambda node: True)
    assert names(parts) == ["exp", "matmul", "tanh", "cos"]


def test_a_policy_says_what_is_known():
    with pytest.raises(PartitionError, match="'maybe' of sin"):
        partition(Graph.from_text(TEXT), 1, policy=lambda node: "maybe")


def test_the_graph_that_was_given_is_not_changed():
    graph = Graph.from_text(TEXT)
    for way in WAYS:
        partition(graph, 1, policy=lambda node: True, **way)
    assert graph.to_text() == Graph.from_text(TEXT).to_text()
