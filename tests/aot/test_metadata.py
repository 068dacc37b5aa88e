"""What metadata derives from its records, and its forms for people and programs."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

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


def lengths_of(*args, **options):
    meta = pb.aot.collect_metadata(lambda x: (x * 2, x.sum(), x.T @ x, 3), *args, **options)
    return [info.dynamic_dims for info in meta.output_info], meta.dynamic_outputs


def test_collected_metadata_says_which_axes_of_outputs_vary():
    none = frozenset()
    assert lengths_of(pb.ones((4, 3))) == ([none, none, none, None], False)
    assert lengths_of(pb.ones((4, 3)), dynamic=True) == ([frozenset({0}), none, none, None], True)
    marked = pb.aot.mark_dynamic(pb.ones((4, 3)), 1)
    assert lengths_of(marked) == ([frozenset({1}), none, frozenset({0, 1}), None], True)


def test_an_axis_that_the_function_looks_at_does_not_vary():
    def unrolled(x):
        return x * sum(k * k for k in range(int(x.shape[0])))

    meta = pb.aot.collect_metadata(unrolled, pb.ones(4), dynamic=True)
    assert not meta.dynamic_outputs


def product(x, w):
    return pb.exp(x) * pb.sin(x) @ w


@pytest.mark.parametrize("dynamic", [False, True])
def test_saved_values_have_their_places_behind_the_results(dynamic):
    compiled = pb.compile(product, fallback="raise", dynamic=dynamic, backend="numpy")
    compiled(pb.ones((4, 3), requires_grad=True), pb.ones((3, 5), requires_grad=True))
    (entry,) = compiled.entries()
    meta, descs = entry.meta, [desc.expr() for desc in entry.forward_graph.output_descs]
    assert meta.num_forward == meta.num_forward_returns == 1
    checked = descs[meta.tensors_saved_for_backwards_with_vc_check_slice]
    unchecked = descs[meta.tensors_saved_for_backwards_no_vc_check_slice]
    assert checked and all(text.startswith("saved[") for text in checked)
    assert unchecked and all(text.startswith("saved_no_vc[") for text in unchecked)
    assert descs[meta.tensors_saved_for_backwards_slice] == checked + unchecked == descs[meta.num_forward :]
    for empty in (meta.opaque_objects_saved_for_backwards_slice, meta.symints_saved_for_backwards_slice):
        assert descs[empty] == []
    assert meta.num_opaque_objects_saved_for_bw == meta.num_symints_saved_for_bw == 0
    values = entry.partition.backward.inputs[: meta.num_saved]
    by_x = {k: frozenset({0}) for k, value in enumerate(values) if value.type.shape == (4, 3)}
    assert meta.dynamic_saved_tensors_idxs == (by_x if dynamic else {})


def test_what_graphs_never_have_is_said():
    meta = collected()
    assert meta.tokens == () and meta.num_backward_tokens == 0
    assert meta.deterministic and not meta.is_rng_op_functionalized and meta.num_outputs_rng_offset == 0


def test_each_tangent_knows_the_line_of_what_it_is_the_gradient_of():
    meta = collected()
    assert len(meta.tangent_source_stack_traces) == len(meta.traced_tangents)
    for text in meta.tangent_source_stack_traces:
        assert "test_metadata.py, line" in text and text.endswith("function")


VIEWS = {
    "view": lambda x: x.view(4),
    "view dtype": lambda x: x.view(np.int64),
    "reshape": lambda x: x.reshape(4),
    "transpose": lambda x: x.T,
    "index": lambda x: x[0],
    "expand": lambda x: x.expand(3, 2, 2),
    "diagonal": lambda x: x.diagonal(),
    "split": lambda x: x.split(1)[0],
    "unbind": lambda x: x.unbind(0)[1],
    "as_strided": lambda x: x.as_strided((2,), (1,)),
    "unfold": lambda x: x.unfold(0, 2, 1),
    "flip": lambda x: x.flip(0),
    "of a result": lambda x: (lambda y: (y.view(4), y[0]))(x * 2),
    "changed in place": lambda x: (x.t_(), x * 2)[1],
}


@pytest.mark.parametrize("function", VIEWS.values(), ids=VIEWS.keys())
def test_safe_metadata_can_be_pickled_whatever_view_it_has(function):
    safe = pb.aot.collect_metadata(function, pb.ones((2, 2), requires_grad=True) * 1).make_runtime_safe()
    assert pickle.loads(pickle.dumps(safe)) == safe


def test_an_operator_is_found_by_name_in_another_process():
    meta = pb.aot.collect_metadata(lambda x: x.unfold(0, 2, 1), pb.ones((2, 2))).make_runtime_safe()
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer).output_info[0].view_meta_sequence[0].op.name)"
    done = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(meta), capture_output=True, check=True)
    assert done.stdout.decode().strip() == meta.output_info[0].view_meta_sequence[0].op.name
