"""What metadata derives from its records, and its forms for people and programs."""

from __future__ import annotations

import json

import numpy as np

import pullback as pb


def collected():
    """One input of every kind and outputs of most."""

    def function(x, written, tracked):
        written.add_(1)
        tracked.mul_(2)
        h = x * 3
        return h.reshape(-1), h, x[0], (x * 2).reshape(-1), x, 7

    tracked = pb.ones(2, requires_grad=True) * 1
    return pb.aot.collect_metadata(function, pb.ones((2, 2), requires_grad=True), pb.zeros(3), tracked)


def test_indices_and_counts_follow_from_the_records():
    meta = collected()
    assert meta.mutated_inp_runtime_indices == [2]
    assert meta.mutated_graph_handled_indices == meta.mutated_graph_handled_indices_seen_by_autograd == [1]
    assert meta.aliased_out_indices == [0, 2, 4]
    assert meta.unsafe_view_out_indices == [3]
    assert meta.num_unsafe_view_outputs == 1
    assert (meta.num_outputs, meta.num_outputs_aliased, meta.num_outputs_non_aliased) == (6, 3, 3)
    assert (meta.num_outputs_aliased_to_inputs, meta.num_outputs_aliased_to_intermediates) == (2, 1)
    assert meta.num_forward_returns == 1 + 6
    assert meta.output_types == [np.ndarray] * 3
    assert not meta.dynamic_outputs


def test_metadata_can_be_printed_and_sent():
    meta = collected()
    sent = json.loads(json.dumps(meta.to_dict()))
    assert [info["mutation_type"] for info in sent["inputs"]] == [
        "NOT_MUTATED", "MUTATED_IN_GRAPH", "MUTATED_OUT_GRAPH",
    ]  # fmt: skip
    assert sent["outputs"][0]["output_type"] == "alias_of_intermediate_base_is_user_output"
    assert sent["tangents"] == ["tangent(mutated(args[2]))", "tangent(output[1])", "tangent(output[3])"]
    assert "MUTATED_OUT_GRAPH" in str(meta)


def test_outputs_of_a_capture_for_all_lengths_say_which_axes_vary():
    compiled = pb.compile(lambda x: (x * 2, x.sum(), x.T @ x), fallback="raise", dynamic=True)
    compiled(pb.ones((4, 3)))
    (entry,) = compiled.entries()
    assert [info.dynamic_dims for info in entry.meta.output_info] == [frozenset({0}), frozenset(), frozenset()]
    assert entry.meta.dynamic_outputs
