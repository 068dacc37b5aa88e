"""Rules about views and in-place writes (§7) that neither a numbered case nor the table of §7.4 states."""

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, array, edge, g, it, ng, raises, shares_memory

ONES = [1.0, 1.0, 1.0, 1.0]


def interior(value):
    x = L(value)
    return x, x * 1


# View records (§7.1)

VIEWS = {
    "integer": lambda b: b[1],
    "slice": lambda b: b[1:],
    "negative step": lambda b: b[::-1],
    "new axis": lambda b: b[None],
    "ellipsis": lambda b: b[..., 0],
    "whole": lambda b: b[...],
    "reshape": lambda b: b.reshape(6),
    "same reshape": lambda b: b.reshape(2, 3),
    "ravel": lambda b: b.ravel(),
    "flatten": lambda b: pb.flatten(b),
    "transpose": lambda b: b.T,
    "permute_dims": lambda b: pb.permute_dims(b, (1, 0)),
    "swapaxes": lambda b: pb.swapaxes(b, 0, 1),
    "moveaxis": lambda b: pb.moveaxis(b, 0, 1),
    "expand_dims": lambda b: pb.expand_dims(b, 1),
    "squeeze": lambda b: pb.squeeze(b[:1], 0),
    "broadcast_to": lambda b: pb.broadcast_to(b, (4, 2, 3)),
    "expand": lambda b: b[:1].expand(2, 3),
    "diagonal": lambda b: pb.diagonal(b),
    "narrow": lambda b: b.narrow(1, 1, 2),
    "select": lambda b: b.select(1, 2),
    "as_strided": lambda b: pb.as_strided(b, (2, 2), (3, 1)),
    "sliding_window_view": lambda b: pb.sliding_window_view(b, 2, axis=1),
    "split": lambda b: b.split(3, axis=1)[2],
    "array_split": lambda b: pb.array_split(b, 2, axis=1)[1],
    "chunk": lambda b: b.chunk(2)[0],
    "unstack": lambda b: pb.unstack(b)[1],
    "unbind": lambda b: b.unbind()[1],
    "iteration": lambda b: next(iter(b)),
    "view_as": lambda b: b.view_as(b),
}


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in VIEWS.items()])
def test_a_view_operator_gives_a_new_tensor_that_records_its_base(make):
    b = L(np.ones((2, 3))) * 1
    v = make(b)
    assert v is not b
    assert v._is_view() and v._base is b
    assert shares_memory(v, b)
    assert v.requires_grad
    b.add_(1)
    assert v._version == b._version == 1


@pytest.mark.parametrize("part", [lambda z: z.real, lambda z: z.imag, pb.view_as_real], ids=["real", "imag", "as_real"])
def test_parts_of_a_complex_tensor_are_views(part):
    z = L([1 + 2j, 3 + 4j]) * 1
    v = part(z)
    assert v._base is z and shares_memory(v, z)


def test_view_as_complex_is_a_view():
    b = L(np.ones((3, 2))) * 1
    v = pb.view_as_complex(b)
    assert v._base is b and it(v) == [1 + 1j] * 3


def test_advanced_indexing_copies():
    b = L(ONES) * 1
    assert not b[[0, 1]]._is_view()
    assert not b[b > 0]._is_view()


def test_view_relations_are_recorded_without_grad_and_under_no_grad():
    base = pb.zeros(3)
    assert base[:2]._base is base
    with ng():
        assert base[:2]._base is base
    numbers = pb.tensor([1, 2, 3])
    v = numbers[1:]
    assert v._base is numbers
    v.add_(1)
    assert numbers._version == 1 and it(numbers) == [1, 3, 4]


def test_a_detached_tensor_is_no_view_but_a_base_of_views():
    _, b = interior(ONES)
    d = b.detach()
    assert not d._is_view() and d._base is None
    assert d[:2]._base is d


def test_a_view_follows_the_flag_of_its_base_dynamically():
    base = pb.ones(3)
    v = base[:2]
    assert v.requires_grad is False
    base.requires_grad_()
    assert v.requires_grad is True and v.is_leaf is False
    base.requires_grad_(False)
    assert v.requires_grad is True  # its grad_fn exists now


def test_requires_grad_on_a_view_of_a_constant_makes_a_leaf_of_its_own():
    base = pb.ones(3)
    v = base[:2].requires_grad_()
    assert v.is_leaf and v.requires_grad and base.requires_grad is False
    with raises("VIEW_OF_LEAF_INPLACE"):
        v.mul_(2)
    base.mul_(2)
    (v * 3).sum().backward()
    assert it(v.grad) == [3.0, 3.0]
    assert base.grad is None


# Creation meta of a view of a view (§7.2)


def plain(v):
    return v[:1]


def no_grad_slice(v):
    with ng():
        return v[:1]


def inference_slice(v):
    with pb.inference_mode():
        return v[:1]


def function_slice(v):
    # A second argument that requires grad records the Function even where the view itself is a constant.
    return Fn(lambda c, v, s: v[:1], lambda c, q: (None, None))(v, L(1.0))


PARENTS = {
    "DEFAULT": lambda b: b[:2],
    "NO_GRAD": lambda b: no_grad_slice(b),
    "INFERENCE": lambda b: inference_slice(b),
    "CUSTOM": lambda b: function_slice(b),
    "MULTI": lambda b: Fn(lambda c, x: (x[:2], x * 2), lambda c, q, r: (None,))(b)[0],
}


@pytest.mark.parametrize(
    "parent, child, code",
    [
        ("DEFAULT", no_grad_slice, "VIEW_NO_GRAD"),
        ("DEFAULT", inference_slice, "VIEW_INFERENCE"),
        ("DEFAULT", function_slice, "VIEW_CUSTOM"),
        ("NO_GRAD", plain, "VIEW_NO_GRAD"),
        ("NO_GRAD", no_grad_slice, "VIEW_NO_GRAD"),
        ("NO_GRAD", inference_slice, "VIEW_INFERENCE"),
        ("NO_GRAD", function_slice, "VIEW_CUSTOM"),
        ("INFERENCE", plain, "VIEW_INFERENCE"),
        ("INFERENCE", no_grad_slice, "VIEW_INFERENCE"),
        ("INFERENCE", inference_slice, "VIEW_INFERENCE"),
        ("CUSTOM", plain, "VIEW_CUSTOM"),
        ("CUSTOM", no_grad_slice, "VIEW_NO_GRAD"),
        ("CUSTOM", inference_slice, "VIEW_INFERENCE"),
        ("MULTI", plain, "VIEW_MULTI"),
        ("MULTI", no_grad_slice, "VIEW_NO_GRAD"),
        ("MULTI", inference_slice, "VIEW_INFERENCE"),
        ("MULTI", function_slice, "VIEW_CUSTOM"),
    ],
)
def test_the_creation_meta_of_a_view_of_a_view(parent, child, code):
    _, b = interior(ONES)
    v = child(PARENTS[parent](b))
    assert v._base is b
    with raises(code):
        v.mul_(2)


def test_a_pure_view_function_may_be_written_and_is_bypassed_by_replay():
    def forward(c, x):
        c._is_pure_view = True
        return x[:2]

    x, b = interior(ONES)
    v = Fn(forward, lambda c, q: pb.concat([q * 5, q * 5]))(b)
    v.mul_(3)
    assert it(g(b.sum(), x, retain_graph=True)[0]) == [3.0, 3.0, 1.0, 1.0]
    assert it(g(v.sum(), x)[0]) == [3.0, 3.0, 0.0, 0.0]


# Permission (§7.3)


def test_untracked_writes_to_rg_tensors_are_always_allowed():
    x = L([1.0, 2.0])
    with ng():
        x.mul_(L([2.0, 2.0]))
    assert it(x) == [2.0, 4.0]
    assert x.is_leaf and x.requires_grad and x._version == 1


def test_a_constant_written_under_no_grad_gets_no_history():
    c = C([1.0])
    with ng():
        c.mul_(L([2.0]))
    assert c.requires_grad is False and c.grad_fn is None and c._version == 1


def test_a_refused_write_to_a_view_leaves_everything_as_it_was():
    x = L([1.0, 2.0])
    v = x[:1]
    node = v.grad_fn
    with raises("VIEW_OF_LEAF_INPLACE"):
        v.mul_(2)
    assert it(x) == [1.0, 2.0] and x._version == 0
    assert v.grad_fn is node and x.is_leaf


# Rebuilding history (§7.5)


def test_the_node_of_an_unchanged_view_is_stable():
    _, b = interior(ONES)
    v = b[:2]
    node = v.grad_fn
    assert v.grad_fn is node
    b.mul_(2)
    rebuilt = v.grad_fn
    assert rebuilt is not node
    assert v.grad_fn is rebuilt


def test_a_rebuilt_view_points_at_the_current_edge_of_its_base_as_output_zero():
    _, b = interior(ONES)
    v = b.split(2)[1]
    assert v.output_nr == 1
    b.mul_(2)
    assert v.grad_fn.next_functions == ((b.grad_fn, b.output_nr),)
    assert v.output_nr == 0


def test_history_is_rebuilt_even_while_the_ambient_mode_is_off():
    x, b = interior(ONES)
    v = b[:2]
    b.mul_(3)
    with ng():
        node = v.grad_fn
    assert node is not None and v.grad_fn is node
    assert it(g(v.sum(), x)[0]) == [3.0, 3.0, 0.0, 0.0]


def test_history_is_rebuilt_after_untracked_writes():
    x, b = interior(ONES)
    v = b[:2]
    node = v.grad_fn
    with ng():
        b.mul_(3)
    assert v.grad_fn is not node
    assert it(g(v.sum(), x)[0]) == [1.0, 1.0, 0.0, 0.0]


def test_a_function_view_of_a_constant_stays_constant_when_only_the_flag_changes():
    base = pb.ones(3)
    v = Fn(lambda c, x: x.view_as(x), lambda c, q: q)(base)
    base.requires_grad_()
    assert (v * 2).requires_grad is False


def test_reading_requires_grad_never_raises():
    _, b = interior([1.0, 2.0])
    v = Fn(lambda c, x: x.view_as(x), lambda c, q: q)(b)
    b.mul_(2)
    assert v.requires_grad is True


# Rebasing (§7.6)


def test_an_in_place_write_keeps_the_object_and_replaces_its_node():
    _, y = interior([1.0])
    before, node = y, y.grad_fn
    y.mul_(2)
    assert y is before and y.grad_fn is not node and y.output_nr == 0
    assert y.grad_fn.next_functions[0] == (node, 0)


def test_the_first_edge_of_copy_slices_is_the_old_edge_of_the_base():
    _, b = interior(ONES)
    old = edge(b)
    s = L([2.0, 2.0])
    b[:2].mul_(s)
    following = b.grad_fn.next_functions
    assert b.grad_fn.name() == "CopySlices"
    assert following[0] == (old.node, old.output_nr)
    assert following[1][0] is edge(s).node


def test_overlapping_writes_compose():
    x, b = interior(ONES)
    b[:2].mul_(3)
    b[1:].mul_(3)
    assert it(g(b.sum(), x)[0]) == [3.0, 9.0, 3.0, 3.0]


def test_a_zero_dimensional_view_can_be_written():
    x, b = interior(ONES)
    b[0].mul_(4)
    assert it(g(b.sum(), x)[0]) == [4.0, 1.0, 1.0, 1.0]


def test_a_write_through_a_view_has_second_derivatives():
    x, s = L([1.0, 2.0, 3.0]), L([2.0, 5.0])
    b = x * x
    b[:2].mul_(s * s)
    (first,) = g((b * b).sum(), s, create_graph=True)  # sum x^4 s^4, so 4 x^4 s^3
    np.testing.assert_allclose(array(first), [4 * 1 * 8, 4 * 16 * 125])
    x_grad, s_grad = g(first.sum(), (x, s))
    np.testing.assert_allclose(array(s_grad), [12 * 1 * 4, 12 * 16 * 25])
    np.testing.assert_allclose(array(x_grad), [16 * 1 * 8, 16 * 8 * 125, 0])


def test_a_write_through_a_view_without_gradient_for_the_base_gives_the_operand_its_own():
    b, s = pb.ones(4), L([2.0, 5.0])
    b[1:3].mul_(s)
    assert it(g((b * C([1.0, 2.0, 3.0, 4.0])).sum(), s)[0]) == [2.0, 3.0]


# In-place semantics (§7.7)


def test_reading_flagging_and_detaching_do_not_bump_the_version():
    x = C([1.0, 2.0])
    _ = x + 1, x[0], x.sum(), x.tolist(), x.detach()
    x.requires_grad_()
    assert x._version == 0


def test_augmented_assignment_is_in_place():
    _, y = interior([1.0])
    before = y
    y += 1
    y -= 1
    y *= 4
    y /= 2
    y **= 2
    assert y is before and y._version == 5
    assert it(y) == [4.0]


def test_an_in_place_result_must_keep_the_shape_and_cast_within_its_kind():
    narrow = C([1.0])
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        narrow.add_(C([1.0, 2.0]))
    assert it(narrow) == [1.0] and narrow._version == 0
    single = C([1.0]).astype(pb.float32)
    single.add_(C([1.0]))
    assert single.dtype == pb.float32 and it(single) == [2.0]
    whole = pb.tensor([1])
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        whole.add_(C([0.5]))
    with pytest.raises((ValueError, RuntimeError, TypeError)):
        C([1.0]).add_(C([1.0j]))
    assert it(whole) == [1] and whole._version == 0


def test_gradients_are_cast_back_to_each_operand():
    x, s = C([1.0]).astype(pb.float32).requires_grad_(), L([2.0])
    y = x * 1
    y.mul_(s)
    x_grad, s_grad = g(y, (x, s))
    assert (x_grad.dtype, s_grad.dtype) == (pb.float32, pb.float64)


def test_overlapping_in_place_operands_have_the_gradient_of_the_copied_source():
    x, b = interior([1.0, 2.0, 3.0])
    b[1:] *= b[:-1]
    assert it(b) == [1.0, 2.0, 6.0]
    assert it(g(b.sum(), x)[0]) == [3.0, 4.0, 2.0]


def test_assigning_an_integer_indexed_item_records_an_index_put():
    x, b = interior([1.0, 2.0, 3.0])
    v = L([7.0, 8.0])
    b[[2, 0]] = v
    assert it(b) == [8.0, 2.0, 7.0]
    x_grad, v_grad = g((b * C([10.0, 20.0, 30.0])).sum(), (x, v))
    assert it(x_grad) == [0.0, 20.0, 0.0]
    assert it(v_grad) == [30.0, 10.0]


def test_assigning_a_broadcast_value_reduces_its_gradient():
    b, s = pb.zeros((3, 2)), L([2.0])
    b[1:] = s
    assert it(g(b.sum(), s)[0]) == [4.0]
    mask = pb.tensor([True, False, True])
    b, s = pb.zeros((3, 2)), L(2.0)
    b[mask] = s
    assert it(b) == [[2.0, 2.0], [0.0, 0.0], [2.0, 2.0]]
    assert it(g(b.sum(), s)[0]) == 4.0


def test_integer_and_mask_assignment_to_an_rg_leaf_need_no_grad():
    x = L([1.0, 2.0])
    with raises("LEAF_INPLACE"):
        x[[0]] = 5.0
    with raises("LEAF_INPLACE"):
        x[pb.tensor([True, False])] = 5.0
    assert it(x) == [1.0, 2.0] and x._version == 0
    with ng():
        x[[0]] = 5.0
    assert it(x) == [5.0, 2.0] and x.is_leaf


def test_copying_complex_into_real_keeps_the_real_part_and_warns():
    real, z = pb.zeros(1), L([3.0 + 4.0j])
    with pytest.warns(Warning):
        real.copy_(z)
    assert it(real) == [3.0]
    assert it(g(real, z)[0]) == [1.0 + 0.0j]


def test_copying_real_into_complex_gives_a_real_gradient():
    target, x = pb.zeros(1, dtype=pb.complex128), L([3.0])
    target.copy_(x)
    assert it(target) == [3.0 + 0.0j]
    (gradient,) = g(target, x, C([2.0 + 5.0j]))
    assert gradient.dtype == pb.float64 and it(gradient) == [2.0]


def test_resizing_an_rg_tensor_is_refused():
    for tensor in (L([1.0, 2.0]), L([1.0, 2.0]) * 1):
        with raises("RESIZE_GRAD"):
            tensor.resize_(3)
        assert it(tensor) == [1.0, 2.0]


def test_in_place_view_operators_bump_the_version_and_keep_the_gradient():
    x, y = interior([[1.0, 2.0, 3.0]])
    before = y
    y.swapaxes_(0, 1)
    assert y is before and y.shape == (3, 1) and y._version == 1
    y.squeeze_()
    assert y.shape == (3,) and y._version == 2
    assert it(g((y * C([1.0, 2.0, 3.0])).sum(), x)[0]) == [[1.0, 2.0, 3.0]]
    with raises("LEAF_INPLACE"):
        L([[1.0, 2.0]]).swapaxes_(0, 1)


def test_in_place_view_operators_on_a_view_update_its_replay():
    x, b = interior([[1.0, 2.0], [3.0, 4.0]])
    v = b[:, :1]
    v.swapaxes_(0, 1)
    assert v.shape == (1, 2) and v._base is b
    b.mul_(3)
    assert it(v) == [[3.0, 9.0]]
    assert it(g((v * C([[1.0, 10.0]])).sum(), x)[0]) == [[3.0, 0.0], [30.0, 0.0]]


# Overlapping memory (§7.8)


def test_every_in_place_kind_is_refused_on_broadcast_memory():
    wide = pb.broadcast_to(pb.zeros((1, 2)), (3, 2))
    with raises("OVERLAP_WRITE"):
        wide.add_(1)
    with raises("OVERLAP_WRITE"):
        wide.copy_(pb.ones((3, 2)))
    with raises("OVERLAP_WRITE"):
        wide[:2] = 1.0
    with raises("OVERLAP_WRITE"):
        wide[[0, 1]] = 1.0
    assert it(wide) == [[0.0, 0.0]] * 3


def test_an_empty_tensor_overlaps_nothing():
    x = L(np.zeros((0, 3)))  # NumPy gives all axes of an empty array the stride 0
    y = x * 1
    y.add_(1)
    y[:, 1:].mul_(2)
    y.sum().backward()
    assert x.grad.shape == (0, 3)


def test_tensors_over_one_ndarray_have_independent_counters():
    memory = np.zeros(2)
    first, second = pb.from_numpy(memory), pb.from_numpy(memory)
    first.add_(1)
    assert it(second) == [1.0, 1.0]
    assert (first._version, second._version) == (1, 0)
