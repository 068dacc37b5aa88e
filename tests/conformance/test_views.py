"""Views and in-place operations: conformance cases 152 to 191.

The table of §7.4 is in `test_view_table.py`, the remaining rules of §7 in `test_view_rules.py`.
"""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, array, g, it, ng, raises

ONES = [1.0, 1.0, 1.0, 1.0]


def interior(value):
    """A leaf and an interior tensor of the same values that depends on it."""
    x = L(value)
    return x, x * 1


def test_152_the_base_is_the_root_and_the_version_is_shared():
    b = L(np.ones((2, 3))) * 1
    v = b[0][1:]
    assert v._is_view() and v._base is b
    v.add_(1)
    assert b._version == v._version == 1
    b.add_(1)
    assert b._version == v._version == 2


def test_153_a_reshape_that_copies_is_no_view():
    _, b = interior(np.ones((2, 3)))
    copied = b.T.reshape(-1)
    assert not copied._is_view() and copied._base is None
    copied.add_(1)
    assert b._version == 0
    assert b.reshape(-1)._base is b


def test_154_writing_to_an_rg_leaf_is_refused_and_leaves_it_untouched():
    x = L([1.0, 1.0])
    with raises("LEAF_INPLACE"):
        x.add_(1)
    assert it(x) == [1.0, 1.0]
    assert x._version == 0


def test_155_assigning_to_an_item_of_an_rg_leaf_needs_no_grad():
    x = L([1.0, 2.0])
    with raises("VIEW_OF_LEAF_INPLACE"):
        x[0] = 5.0
    assert it(x) == [1.0, 2.0] and x._version == 0
    with ng():
        x[0] = 5.0
    assert it(x) == [5.0, 2.0]
    assert x.is_leaf and x.requires_grad and x._version == 1


def test_156_a_constant_written_with_an_rg_operand_becomes_interior():
    x, s = C([2.0]), L([3.0])
    x.mul_(s)
    assert x.requires_grad and not x.is_leaf
    x.backward()
    assert it(s.grad) == [2.0]


def test_157_writing_rg_values_into_integers_records_nothing():
    xi = pb.tensor([0, 0])
    xi.copy_(L([1.0, 2.0]) * 3)
    assert it(xi) == [3, 6]
    assert xi.requires_grad is False and xi.grad_fn is None


def test_158_a_value_assigned_to_an_item_receives_its_gradient():
    b, s = pb.zeros(3), L(2.0)
    b[1] = s
    assert it(b) == [0.0, 2.0, 0.0]
    b.sum().backward()
    assert it(s.grad) == 1.0


def test_159_a_write_through_a_slice_reaches_the_gradient_of_the_base():
    x, b = interior(ONES)
    b[:2].mul_(3)
    assert it(g((b * C([1.0, 2.0, 3.0, 4.0])).sum(), x)[0]) == [3.0, 6.0, 3.0, 4.0]


def test_160_a_write_through_a_slice_with_an_rg_factor_feeds_both():
    x, b = interior(ONES)
    s = L([2.0, 5.0])
    b[1:3].mul_(s)
    x_grad, s_grad = g((b * C([1.0, 2.0, 3.0, 4.0])).sum(), (x, s))
    assert it(x_grad) == [1.0, 4.0, 15.0, 4.0]
    assert it(s_grad) == [2.0, 3.0]


def test_161_a_view_follows_a_write_to_its_base():
    x, b = interior(ONES)
    v = b[:2]
    b.mul_(3)
    assert it(v) == [3.0, 3.0]
    assert it(g(v.sum(), x)[0]) == [3.0, 3.0, 0.0, 0.0]


def test_162_a_view_follows_a_write_to_its_sibling():
    x, b = interior(ONES)
    v, w = b[:2], b[1:3]
    v.mul_(3)
    assert b.grad_fn.name() == "CopySlices"
    assert it(g(w.sum(), x)[0]) == [0.0, 3.0, 1.0, 0.0]


def test_163_a_write_through_a_row_of_the_transpose_scales_a_column():
    x, b = interior(np.ones((2, 3)))
    b.T[1].mul_(5)
    assert it(b) == [[1.0, 5.0, 1.0], [1.0, 5.0, 1.0]]
    assert it(g(b.sum(), x)[0]) == [[1.0, 5.0, 1.0], [1.0, 5.0, 1.0]]


def test_164_a_view_of_a_constant_follows_when_the_constant_gets_history():
    b, s = pb.zeros(3), L([1.0, 2.0, 3.0])
    v = b[1]
    b.copy_(s)
    assert it(g(v * 2, s)[0]) == [0.0, 2.0, 0.0]


def test_165_a_view_keeps_its_base_alive():
    x = L(ONES)
    v = (x * 1)[:2]
    v.mul_(3)
    v.sum().backward()
    assert it(x.grad) == [3.0, 3.0, 0.0, 0.0]


def test_166_a_view_taken_before_requires_grad_reaches_its_base():
    b = pb.ones(4)
    v = b[:2]
    b.requires_grad_()
    assert v.requires_grad
    (v * 3).sum().backward()
    assert it(b.grad) == [3.0, 3.0, 0.0, 0.0]


def test_167_a_view_made_under_no_grad_is_a_constant():
    x = L(ONES)
    with ng():
        v = x[:2]
    assert v.requires_grad is False
    assert (v * 2).requires_grad is False


def test_168_a_no_grad_view_refuses_tracked_writes_and_stays_readable():
    _, b = interior(ONES)
    with ng():
        v = b[:2]
    with raises("VIEW_NO_GRAD"):
        v.mul_(2)
    assert it(b) == ONES and b._version == 0
    with ng():
        v.mul_(2)
    assert it(b) == [2.0, 2.0, 1.0, 1.0]
    product = v * 2
    assert it(product) == [4.0, 4.0]
    assert product.requires_grad is False


def test_169_a_no_grad_view_of_a_constant_takes_constants_only():
    with ng():
        v = pb.zeros(4)[:2]
    v.add_(1)
    assert it(v) == [1.0, 1.0]
    with raises("VIEW_NO_GRAD"):
        v.copy_(L([5.0, 6.0]))
    assert it(v) == [1.0, 1.0]


def test_170_a_view_of_a_no_grad_view_inherits_the_refusal():
    _, b = interior(ONES)
    with ng():
        v = b[:2]
    w = v[:1]
    with raises("VIEW_NO_GRAD"):
        w.mul_(2)


def test_171_a_view_made_in_inference_mode_refuses_tracked_writes_outside():
    _, b = interior(ONES)
    with pb.inference_mode():
        v = b[:2]
    with raises("VIEW_INFERENCE"):
        v.mul_(2)
    assert it(b) == ONES and b._version == 0


def test_172_rows_of_an_iteration_and_pieces_of_a_split_can_be_written():
    x, b = interior(np.ones((2, 2)))
    for row in b:
        row.add_(1)
    assert it(b) == [[2.0, 2.0], [2.0, 2.0]]
    assert it(g(b.sum(), x)[0]) == [[1.0, 1.0], [1.0, 1.0]]

    x, b = interior(ONES)
    b.split(2)[0].mul_(3)
    assert it(g(b.sum(), x)[0]) == [3.0, 3.0, 1.0, 1.0]


def test_173_a_view_returned_by_a_function_keeps_its_backward_and_refuses_writes():
    view_times_five = Fn(lambda c, x: x.view_as(x), lambda c, q: q * 5)
    leaf, x = interior([1.0, 2.0])
    out = view_times_five(x)
    assert it(g(out.sum(), leaf)[0]) == [5.0, 5.0]
    with raises("VIEW_CUSTOM"):
        out.add_(1)
    assert it(x) == [1.0, 2.0] and x._version == 0

    leaf, x = interior([1.0, 2.0])
    out = view_times_five(x)
    x.mul_(2)
    with raises("VIEW_CUSTOM"):
        _ = out.grad_fn


def test_174_a_view_among_two_outputs_of_a_function_refuses_writes():
    _, x = interior([1.0, 2.0])
    view, _ = Fn(lambda c, x: (x.view_as(x), x * 2), lambda c, q, r: q + 2 * r)(x)
    with raises("VIEW_MULTI"):
        view.add_(1)
    assert it(x) == [1.0, 2.0]


def test_175_a_view_taken_before_an_optimizer_step_keeps_working():
    x = L(ONES)
    v = x[:2]
    with ng():
        x.sub_(0.5)
    assert it(v) == [0.5, 0.5]
    assert it(g((v * 3).sum(), x)[0]) == [3.0, 3.0, 0.0, 0.0]


def test_176_writing_through_broadcast_memory_is_refused():
    narrow = pb.zeros(1)
    with raises("OVERLAP_WRITE"):
        narrow.expand(3).add_(1)
    assert it(narrow) == [0.0] and narrow._version == 0
    narrow.expand(1).add_(1)
    assert it(narrow) == [1.0]


def test_177_overlapping_operands_behave_as_in_numpy():
    x = pb.arange(5.0)
    x[1:] += x[:-1]
    assert it(x) == [0.0, 1.0, 3.0, 5.0, 7.0]


def test_178_out_is_refused_while_anything_requires_grad():
    x, o = L([2.0, 3.0]), pb.zeros(2)
    with raises("OUT_GRAD"):
        pb.multiply(x, x, out=o)
    with raises("OUT_GRAD"):
        pb.multiply(C([1.0, 1.0]), C([2.0, 2.0]), out=L([0.0, 0.0]))
    assert it(o) == [0.0, 0.0] and o._version == 0
    with ng():
        pb.multiply(x, x, out=o)
    assert it(o) == [4.0, 9.0]
    assert o._version == 1 and o.requires_grad is False


def test_179_a_tensor_multiplied_in_place_by_itself_has_the_right_gradient():
    x = L(3.0)
    y = x.clone()
    y *= y
    y.backward()
    assert it(x.grad) == 6.0


def test_180_a_clone_multiplied_in_place_by_its_source_has_the_right_gradient():
    x = L(3.0)
    y = x.clone()
    y.mul_(x)
    y.backward()
    assert it(x.grad) == 6.0


@pb.autograd.overwrite_policy("raise")
def test_181_an_in_place_result_is_saved_after_its_own_write_and_protected_from_the_next():
    x = L([1.0])
    y = x.clone()
    y.exp_()
    y.backward()
    np.testing.assert_allclose(array(x.grad), np.exp([1.0]))

    twice = L([1.0]).clone()
    twice.exp_().exp_()
    with raises("VERSION"):
        twice.backward()
    moved = L([1.0]).clone()
    moved.exp_()
    moved.add_(1)
    with raises("VERSION"):
        moved.backward()


def test_182_a_write_through_a_view_is_released_like_a_saved_value():
    _, b = interior([1.0, 1.0])
    b[0] = 2.0
    total = b.sum()
    total.backward()
    with raises("SECOND_BACKWARD"):
        total.backward()
    with raises("SECOND_BACKWARD"):
        b.sum().backward()


def test_183_a_mask_assignment_cuts_the_gradient_at_the_masked_places():
    x, b = interior([1.0, 2.0, 1.0, 3.0])
    b[b > 1.5] = 0.0
    assert it(b) == [1.0, 0.0, 1.0, 0.0]
    assert it(g(b.sum(), x)[0]) == [1.0, 0.0, 1.0, 0.0]


def test_184_of_repeated_indices_only_the_stored_value_receives_gradient():
    b, x = pb.zeros(3), L([1.0, 2.0])
    b[[0, 0]] = x
    assert it(b) == [2.0, 0.0, 0.0]
    b.sum().backward()
    assert it(x.grad) == [0.0, 1.0]


def test_185_every_kind_of_write_bumps_the_version_by_one():
    x = C([1.0, 2.0, 3.0])
    versions = [x._version]
    x.add_(1)
    versions.append(x._version)
    x[0] = 1
    versions.append(x._version)
    x[[0]] = 2.0
    versions.append(x._version)
    x[x > 1.5] = 0.0
    versions.append(x._version)
    x.zero_()
    versions.append(x._version)
    assert versions == [0, 1, 2, 3, 4, 5]


def test_186_an_in_place_function_on_a_view_that_returns_none_zeroes_only_the_slice():
    def forward(c, v):
        c.mark_dirty(v)
        return v.mul_(3)

    x, b = interior(ONES)
    Fn(forward, lambda c, q: None)(b[:2])
    assert it(b) == [3.0, 3.0, 1.0, 1.0]
    b.sum().backward()
    assert it(x.grad) == [0.0, 0.0, 1.0, 1.0]


def test_187_copying_one_row_over_another_moves_its_gradient():
    x, y = interior([[1.0, 2.0], [3.0, 4.0]])
    y[0] = y[1]
    assert it(y) == [[3.0, 4.0], [3.0, 4.0]]
    assert it(g(y.sum(), x)[0]) == [[0.0, 0.0], [2.0, 2.0]]


@pytest.mark.parametrize("read", [lambda item: item, lambda item: item.clone()], ids=["plain", "clone"])
def test_188_a_preallocated_buffer_filled_step_by_step_differentiates(read):
    w, h = L(2.0), pb.zeros(5)
    h[0] = 1.0
    for i in range(4):
        h[i + 1] = read(h[i]) * w
    assert it(h) == [1.0, 2.0, 4.0, 8.0, 16.0]
    h[4].backward()
    assert it(w.grad) == 32.0


def test_189_writes_through_views_of_a_fortran_ordered_base_reach_the_right_elements():
    x = pb.from_numpy(np.asfortranarray(np.ones((2, 3)))).requires_grad_()
    b = x.clone()
    v = b.T.reshape(-1)[:3]
    assert v._base is b
    v.mul_(5)
    expected = [[5.0, 5.0, 1.0], [5.0, 1.0, 1.0]]
    assert it(b) == expected
    assert it(g(b.sum(), x)[0]) == expected


def test_190_a_write_through_the_real_part_scales_the_real_part_of_the_gradient():
    x = L([3.0 + 4.0j])
    b = x * 1
    b.real.mul_(5)
    assert it(b) == [15.0 + 4.0j]
    (b.real + 2 * b.imag).sum().backward()
    assert it(x.grad) == [5.0 + 2.0j]


class Probe:
    """An object whose death tells that the node holding it has died."""


def test_191_the_graph_of_an_in_place_write_to_a_view_is_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        b = L(ONES) * 1
        v = b[:2]
        v.exp_()
        probes = []
        for node in (b.grad_fn, v.grad_fn):
            probe = Probe()
            node.metadata["probe"] = probe
            probes.append(weakref.ref(probe))
        tensors = [weakref.ref(b), weakref.ref(v)]
        del b, v, node, probe
        assert [probe() for probe in probes] == [None, None]
        assert [tensor() for tensor in tensors] == [None, None]
    finally:
        gc.enable()
