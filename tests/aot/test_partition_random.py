"""Random joint graphs: forward then backward is the joint graph, whatever is saved, recomputed and overwritten."""

import numpy as np
import pytest

from pullback.aot._partition import partition
from pullback.errors import PartitionError
from tests.aot.random_joint import RandomJoint, reference, run_halves

WAYS = [{"method": "default"}] + [{"method": "min_cut", "memory_budget": b} for b in (1.0, 0.7, 0.3, 0.05, 0.0)]
SEEDS = range(60)


def check(joint: RandomJoint, split) -> None:
    split.forward.verify()
    split.backward.verify()
    with np.errstate(all="ignore"):
        expected, expected_inputs = reference(joint)
        outputs, inputs = run_halves(joint, split)
    for got, wanted in zip(outputs, expected, strict=True):
        assert (got is None) == (wanted is None)
        if wanted is not None:
            np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)
    for got, wanted in zip(inputs, expected_inputs, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_forward_then_backward_is_the_joint_graph(way):
    for seed in SEEDS:
        joint = RandomJoint(seed)
        check(joint, partition(joint.graph, joint.num_forward_outputs, **way))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_also_with_checkpoint_tags_and_effects(way):
    for seed in SEEDS:
        joint = RandomJoint(1000 + seed, with_tags=True, with_effects=True)
        check(joint, partition(joint.graph, joint.num_forward_outputs, static_inputs=(0,), **way))


@pytest.mark.parametrize("solver", ["dp", "greedy", "exact"])
def test_also_with_every_solver_and_a_cost_of_the_caller(solver):
    for seed in SEEDS[:40]:
        joint = RandomJoint(2000 + seed)
        options = {"method": "min_cut", "memory_budget": 0.4, "solver": solver, "cost": lambda node: len(node.op)}
        check(joint, partition(joint.graph, joint.num_forward_outputs, **options))


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_same_text_gives_the_same_texts(way):
    for seed in SEEDS[:30]:
        first, second = (RandomJoint(seed, with_tags=True) for _ in range(2))
        splits = [partition(joint.graph, joint.num_forward_outputs, **way) for joint in (first, second)]
        assert splits[0].forward.to_text() == splits[1].forward.to_text()
        assert splits[0].backward.to_text() == splits[1].backward.to_text()
        assert splits[0].stats == splits[1].stats


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_effects_happen_once_in_their_half(way):
    for seed in SEEDS[:40]:
        joint = RandomJoint(3000 + seed, with_effects=True)
        split = partition(joint.graph, joint.num_forward_outputs, **way)
        for half, tag in ((split.forward, "fw"), (split.backward, "bw")):
            wanted = [node.op for node in joint.graph.nodes if node.effect and node.tag == tag]
            assert [node.op for node in half.nodes if node.effect] == wanted


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_an_overwritten_input_crosses_as_a_copy_or_as_the_target_of_a_store(way):
    for seed in SEEDS:
        joint = RandomJoint(seed)
        split = partition(joint.graph, joint.num_forward_outputs, **way)
        overwritten = {joint.primals.index(p) for p in joint.overwritten}
        for saved in split.saved:
            if saved.input_index in overwritten:
                assert saved.is_target
                value = split.backward.inputs[split.saved.index(saved)]
                assert all(value is node.operands[0] for node in split.backward.nodes if value in node.inputs)


def test_between_a_recomputed_value_and_its_first_use_nothing_runs_that_needs_a_tangent():
    for seed in SEEDS:
        joint = RandomJoint(seed)
        split = partition(joint.graph, joint.num_forward_outputs, method="min_cut", memory_budget=0.0)
        nodes = split.backward.nodes
        late = set(split.backward.inputs[len(split.saved) :])
        needs_tangent = []
        for node in nodes:
            needs_tangent.append(not late.isdisjoint(node.inputs))
            late.update(node.results if needs_tangent[-1] else ())
        for node in split.recomputed:
            place = nodes.index(node)
            uses = [k for k, user in enumerate(nodes) if not set(node.results).isdisjoint(user.inputs)]
            if uses and not all(nodes[k].op == "store" for k in uses):
                assert not any(needs_tangent[place : uses[0]])


def test_default_computes_nothing_twice():
    for seed in SEEDS:
        joint = RandomJoint(seed)
        assert not partition(joint.graph, joint.num_forward_outputs, method="default").recomputed


def test_a_backward_without_tangents_is_what_is_tagged():
    """A loss that is seeded with one has no tangent as an input."""
    for seed in SEEDS[:20]:
        joint = RandomJoint(seed, is_seeded=True)
        for way in WAYS:
            split = partition(joint.graph, joint.num_forward_outputs, **way)
            check(joint, split)
            late = [node for node in split.forward.nodes if node.op == "constant"]
            early = [node for node in joint.graph.nodes if node.op == "constant" and node.tag == "fw"]
            assert len(late) <= len(early)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_forward_output_that_needs_a_tangent_is_refused(way):
    for seed in SEEDS[:10]:
        joint = RandomJoint(seed)
        joint.graph.add_output(joint.graph.outputs[0], joint.graph.output_descs[0])  # there is a gradient in any case
        joint.graph.outputs[0] = joint.graph.outputs[-1] = joint._plain("sin", "bw").result
        joint.graph.nodes[-1].operands = (joint.tangents[0],)
        with pytest.raises(PartitionError, match=r"forward needs the result of sin|sin needs a tangent"):
            partition(joint.graph, joint.num_forward_outputs, **way)
