"""Ahead-of-time capture, inputs that are written: conformance cases 1 to 45."""

import numpy as np
import pytest

import pullback as pb
from pullback import aot

from .aot import (
    VARIANTS,
    agree,
    behind,
    check,
    inner,
    inputs_of,
    is_training,
    look,
    ops_of,
    plain,
    returned,
    rg,
    trace,
    unchanged_by_errors,
)
from .custom_ops import op
from .shorthand import raises


def test_001_a_product_has_one_new_output():
    check(lambda x: x * 2, lambda: (rg(),), I=["N"], O=["NA"], T=["out 0"])


def doubled_and_tripled(b):
    b.mul_(2)
    return b * 3


def test_002_a_written_constant_is_stored_in_the_graph():
    make = lambda: (plain(),)
    check(doubled_and_tripled, make, I=["IN"], O=["NA"], T=[])
    assert ops_of(trace(doubled_and_tripled, *make())).count("store") == 1
    assert not is_training(doubled_and_tripled, make)


def test_003_without_keeping_mutations_the_graph_returns_them():
    make = lambda: (plain(),)
    check(doubled_and_tripled, make, I=["OUT"], O=["NA"], T=[], keep_input_mutations=False)
    graph = trace(doubled_and_tripled, *make(), keep_input_mutations=False)
    assert returned(graph) == ["mutated(args[0])", "output[0]"]
    assert "store" not in ops_of(graph)


def test_004_a_tracked_write_needs_no_copy():
    make = lambda: (inner(),)
    check(doubled_and_tripled, make, I=["OUT*"], O=["NA"], T=["mut 0", "out 0"])
    joint = aot.joint_graph(doubled_and_tripled, *make())
    assert not {"copy", "clone"} & set(ops_of(joint.graph))


def test_005_writing_to_a_leaf_that_requires_grad_is_the_eager_error():
    def f(x):
        x.mul_(2)
        return x

    error = unchanged_by_errors(f, lambda: (rg(),), pb.autograd.AutogradError)
    assert error.code == "LEAF_INPLACE"


def written_without_grad(x):
    with pb.no_grad():
        x.mul_(2)
    return x + 3


def test_006_a_write_without_grad_to_a_leaf_is_stored():
    make = lambda: (rg(),)
    check(written_without_grad, make, I=["IN"], T=["out 0"])
    x = rg()
    VARIANTS["numpy"](written_without_grad)(x).sum().backward()
    assert x._version == 1
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_007_a_write_without_grad_is_not_tracked_outside_of_the_graph_either():
    meta = check(written_without_grad, lambda: (rg(),), I=["OUT"], T=["out 0"], keep_input_mutations=False)
    assert not meta.input_info[0].tracked


def test_008_a_write_through_a_detached_alias_is_not_tracked():
    def f(x):
        x.detach().mul_(2)
        return x + 3

    meta = check(f, lambda: (rg(),), I=["IN"], T=["out 0"])
    info = meta.input_info[0]
    assert not info.tracked and not info.mutations_hidden_from_autograd
    assert not info.mutations_under_no_grad_or_inference_mode


def test_009_a_write_without_grad_through_a_view_counts_for_the_input():
    def f(x):
        with pb.no_grad():
            x.reshape(-1).mul_(2)
        return x + 1

    meta = check(f, lambda: (rg(),), I=["IN"])
    assert meta.input_info[0].mutations_under_no_grad_or_inference_mode


def test_010_three_kinds_of_writes_to_one_input():
    def f(v):
        v.detach().mul_(2)
        v.mul_(3)
        with pb.no_grad():
            v.mul_(4)
        return v + 5

    meta = check(f, lambda: (inner(),), I=["OUT*"], T=["mut 0", "out 0"])
    assert meta.input_info[0].version_bumps == 3
    v = inner()
    VARIANTS["numpy"](f)(v).sum().backward()
    assert v.origins[0].grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_011_a_body_without_grad_is_an_inference_graph():
    def f(x):
        with pb.no_grad():
            x.mul_(2)
            return x + 3

    check(f, lambda: (rg(),), I=["IN"], T=[])
    assert not is_training(f, lambda: (rg(),))


def test_012_a_write_in_inference_mode():
    def f(b):
        return b.add_(1)

    with pb.inference_mode():
        meta = check(f, lambda: (plain(),), I=["IN"], O=["II(0)"])
    assert meta.input_info[0].mutations_under_no_grad_or_inference_mode
    b = plain()
    compiled = VARIANTS["numpy"](f)
    with pb.inference_mode():
        assert compiled(b) is b
    assert b._version == 1


def test_013_writes_that_change_nothing_are_writes():
    assert check(lambda b: b.add_(0), lambda: (plain(),)).input_info[0].mutates_data
    assert check(lambda b: b[0:0].fill_(1), lambda: (plain(),)).input_info[0].mutates_data


def test_014_a_copy_of_itself_is_counted_and_not_stored():
    def f(b):
        b.copy_(b)

    meta = check(f, lambda: (plain(),))
    assert meta.input_info[0].mutates_data and meta.input_info[0].version_bumps == 1
    assert "store" not in ops_of(trace(f, plain()))


def test_015_an_input_that_is_never_written():
    (info,) = check(lambda b: b * 2, lambda: (plain(),), I=["N"]).input_info
    assert info.mutations_hidden_from_autograd and not info.mutations_under_no_grad_or_inference_mode


def test_016_a_transposition_in_place_is_replayed():
    def f(v):
        v.t_()
        return v * 2

    meta = check(f, lambda: (inner((2, 3)),), I=["OUT"], T=["out 0"])
    assert meta.input_info[0].mutates_metadata and not meta.input_info[0].mutates_data
    v = inner((2, 3))
    VARIANTS["numpy"](f)(v)
    assert v.shape == (3, 2)


def test_017_changes_of_shape_that_cancel_out_are_none():
    def twice(v):
        v.t_()
        v.t_()
        return v * 2

    def there_and_back(v):
        v.unsqueeze_(0)
        v.squeeze_(0)
        return v * 2

    for make in (lambda: (inner((2, 3)),), lambda: (plain((2, 3)),)):
        check(twice, make, I=["N"])
        check(there_and_back, make, I=["N"])


def test_018_a_transposition_and_a_tracked_write():
    def f(v):
        v.t_()
        v.mul_(2)
        return v + 1

    meta = check(f, lambda: (inner((2, 3)),), I=["OUT*"], T=["mut 0", "out 0"])
    assert meta.input_info[0].mutates_data and meta.input_info[0].mutates_metadata
    assert meta.traced_tangents[0].type.shape == (3, 2)


def test_019_a_transposition_and_a_write_to_a_constant():
    def f(b):
        b.t_()
        b.mul_(2)

    meta = check(f, lambda: (plain((2, 3)),), I=["OUT"], T=[])
    assert meta.input_info[0].mutates_data and meta.input_info[0].mutates_metadata


def test_020_other_memory_for_an_input():
    def f(b, c):
        b.data = c * 3
        return b * 2

    (info, _) = check(f, lambda: (plain(), plain(start=5.0)), I=["OUT", "N"]).input_info
    assert info.mutates_storage_metadata and info.mutation_is_shallow_copy_data and not info.mutates_data
    b, c = plain(), plain(start=5.0)
    result = VARIANTS["numpy"](f)(b, c)
    assert np.array_equal(result.numpy(), 6 * c.numpy()) and np.array_equal(b.numpy(), 3 * c.numpy())


def test_021_two_changes_of_memory_that_cancel_out():
    def f(b, c):
        kept = b.data
        b.data = c
        b.data = kept
        return b * 2

    check(f, lambda: (plain(), plain(start=5.0)), I=["N", "N"])


def test_022_writing_through_an_alias_from_before_a_change_of_memory():
    def f(b, c):
        w = b.reshape(-1)
        b.data = c
        w.mul_(2)

    error = unchanged_by_errors(f, lambda: (plain(), plain()), aot.FunctionalizationError)
    assert "frozen" in str(error)


def test_023_other_memory_and_a_tracked_write_exclude_each_other():
    def f(v, u):
        with pb.no_grad():
            v.data = u
        v.mul_(2)

    make = lambda: (inner(), inner(start=3.0))
    unchanged_by_errors(f, make, aot.FunctionalizationError)
    assert unchanged_by_errors(lambda v, u: v.set_(u), make, pb.autograd.AutogradError).code == "SET_GRAD"


def test_023_other_memory_by_set():
    check(lambda b, c: b.set_(c * 3), lambda: (plain(), plain(start=5.0)), I=["OUT", "N"], O=["II(0)"])
    check(lambda b, c: b.set_(c), lambda: (plain(), plain(start=5.0)), I=["OUT", "N"], O=["II(0)"])


def test_024_growing_is_refused():
    unchanged_by_errors(lambda b: b.resize_(3, 3), lambda: (plain(),), aot.FunctionalizationError)


def test_025_writing_to_a_broadcast_view_is_refused():
    error = unchanged_by_errors(
        lambda b: pb.broadcast_to(b, (3, 2, 2)).add_(1), lambda: (plain(),), (ValueError, pb.autograd.AutogradError)
    )
    assert error.code == "OVERLAP_WRITE"


def test_026_writing_through_strides_of_a_view_is_refused():
    def f(b):
        b.as_strided((2, 2), (2, 1)).reshape(-1).as_strided((2,), (2,)).add_(1)

    unchanged_by_errors(f, lambda: (plain(),), aot.FunctionalizationError)


def test_027_writes_that_do_not_fit_are_the_eager_errors():
    agree(lambda b, m: b.add_(m), lambda: (plain((3,)), plain((2, 3))))
    agree(lambda k, m: k.add_(m), lambda: (plain((3,), dtype=int), plain((3,))))
    unchanged_by_errors(lambda b, m: b.add_(m), lambda: (plain((3,)), plain((2, 3))), ValueError)
    unchanged_by_errors(lambda k, m: k.add_(m), lambda: (plain((3,), dtype=int), plain((3,))), TypeError)


def test_028_a_read_only_array_is_refused_before_anything_runs():
    def make():
        array = np.ones(3)
        array.flags.writeable = False
        return plain((3,)), array

    def f(b, r):
        b.add_(1)
        r.add_(1)

    unchanged_by_errors(f, make, ValueError)


def test_029_an_input_that_is_made_to_require_grad():
    def f(b):
        b.requires_grad_()
        return b * 3

    meta = check(f, lambda: (plain(),), I=["N"], T=["out 0"])
    assert meta.input_info[0].sets_requires_grad is True
    b = plain()
    result = VARIANTS["numpy"](f)(b)
    assert b.requires_grad and b.is_leaf
    result.sum().backward()
    assert b.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_030_a_constant_that_gets_a_history_by_a_write():
    def f(b, y):
        b.add_(y)
        return b

    make = lambda: (plain(), rg())
    check(f, make, I=["OUT*", "N"], O=["II(0)"], T=["mut 0"])
    graph = aot.joint_graph(f, *make()).graph
    assert "grad(args[0])" not in returned(graph) and "grad(args[1])" in returned(graph)


def test_031_a_constant_written_without_grad():
    def f(b, y):
        with pb.no_grad():
            b.add_(y)
        return b * y

    make = lambda: (plain(), rg(start=3.0))
    check(f, make, I=["IN", "N"], T=["out 0"])
    assert "grad(args[0])" not in returned(aot.joint_graph(f, *make()).graph)


def test_032_two_inputs_that_are_written_with_each_other():
    def f(v, w):
        v.add_(w)
        w.add_(v)
        return v * w

    check(f, lambda: (inner(), inner(start=3.0)), I=["OUT*", "OUT*"], T=["mut 0", "mut 1", "out 0"])


def test_033_an_input_overwritten_with_a_function_of_another():
    def f(v, y):
        v.copy_(y * 2)
        return y

    check(f, lambda: (inner(), rg(start=3.0)), I=["OUT*", "N"], O=["II(1)"], T=["mut 0"])


def test_034_an_input_as_the_place_for_a_result():
    check(lambda b, c: pb.sin(b, out=c), lambda: (plain(), plain(start=3.0)), I=["N", "IN"], O=["II(1)"])


def test_035_a_function_without_results():
    def f(b):
        b.add_(1)
        return ()

    check(f, lambda: (plain(),), I=["IN"], O=[])
    graph = trace(f, plain())
    assert ops_of(graph).count("store") == 1 and returned(graph) == []


def test_036_versions_count_every_write_and_no_hidden_one():
    def twice(b):
        b.mul_(2)
        b.add_(1)

    assert check(twice, lambda: (plain(),), I=["IN"]).input_info[0].version_bumps == 2

    def hidden(b):
        with pb.autograd.graph._unsafe_preserve_version_counter(b):
            b.mul_(2)

    (info,) = check(hidden, lambda: (plain(),), I=["IN"]).input_info
    assert info.version_bumps == 0 and info.mutations_hidden_from_autograd


def view_of_inner(index):
    leaf = rg((4, 2))
    y = leaf * 1
    return behind(y[index], y, leaf)


def test_037_a_view_that_is_written_updates_its_base_and_its_history():
    def f(v):
        v.mul_(2)
        return v * 3

    check(f, lambda: (view_of_inner(slice(1, 3)),), I=["OUT*"], T=["mut 0", "out 0"])
    v = view_of_inner(slice(1, 3))
    y, leaf = v.origins
    VARIANTS["numpy"](f)(v)
    assert y.grad_fn.name() == "CopySlices" and np.array_equal(y.detach().numpy()[1:3], v.detach().numpy())
    y.sum().backward()
    assert leaf.grad.tolist() == [[1.0, 1.0], [2.0, 2.0], [2.0, 2.0], [1.0, 1.0]]


def test_038_a_piece_of_a_split_may_be_written_as_in_eager_code():
    def make():
        leaf = rg()
        y = leaf * 1
        return (behind(y.unbind(0)[0], y, leaf),)

    check(lambda v: v.mul_(2), make, I=["OUT*"], O=["II(0)"], T=["mut 0"])


def test_039_a_view_made_without_grad_is_refused_before_anything_runs():
    def make():
        leaf = rg()
        y = leaf * 1
        with pb.no_grad():
            v = y[0]
        return plain(), behind(v, y, leaf)

    def f(b, v):
        b.add_(1)
        v.mul_(2)

    error = unchanged_by_errors(f, make, pb.autograd.AutogradError)
    assert error.code == "VIEW_NO_GRAD"


def test_040_two_rows_written_one_after_the_other():
    def f(b):
        b[0].add_(1)
        b[1].mul_(2)
        return b.sum()

    check(f, lambda: (plain(),), I=["IN"])
    graph = trace(f, plain())
    updates = [node for node in graph.nodes if node.op == "update"]
    assert len(updates) == 2 and updates[1].operands[0] is updates[0].result


def test_041_overlapping_views_see_each_others_writes():
    def f(b):
        p, q = b[0], b[:, 0]
        p.add_(1)
        q.mul_(2)
        return p, q

    check(f, lambda: (plain(),), I=["IN"], O=["AI(0)", "AI(0)"])


def test_042_an_error_in_a_kernel_leaves_every_argument_as_it_was():
    def fail(x: np.ndarray) -> np.ndarray:
        raise FloatingPointError("no")

    broken = op(fail)
    broken.register_fake(lambda x: pb.empty_like(x))

    def f(b, v):
        b.add_(1)
        v.mul_(2)
        return broken(b)

    unchanged_by_errors(f, lambda: (plain(), inner()), FloatingPointError)


@pb.autograd.overwrite_policy("raise")
def test_043_writing_over_a_saved_result_is_an_error_of_the_backward_pass():
    def f(x):
        o = pb.exp(x)
        o.mul_(2)
        return o

    check(f, lambda: (rg(),))
    result = VARIANTS["numpy"](f)(rg())
    with raises("VERSION"):
        result.sum().backward()


@pb.autograd.overwrite_policy("raise")
def test_044_writing_over_a_saved_input_is_an_error_of_the_backward_pass():
    def f(x, b):
        o = x * b
        b.mul_(2)
        return o

    check(f, lambda: (rg(), plain()))
    b = plain()
    result = VARIANTS["numpy"](f)(rg(), b)
    assert b.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    with raises("VERSION"):
        result.sum().backward()


def test_045_writing_over_a_result_that_is_not_saved_is_none():
    def f(x):
        o = x * x
        o.mul_(2)
        return o

    check(f, lambda: (rg(),))
    x = rg()
    VARIANTS["numpy"](f)(x).sum().backward()
    assert np.array_equal(x.grad.numpy(), 4 * x.detach().numpy())


@pytest.mark.parametrize("make", [lambda: (plain(),), lambda: (inner(),)])
def test_words_for_inputs_are_those_of_the_metadata(make):
    assert inputs_of(aot.collect_metadata(lambda b: b * 2, *make())) == ["N"]
    assert look(make()[0])["version"] == 0
