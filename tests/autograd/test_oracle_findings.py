"""What the comparison with torch on random programs (`tests/oracle`) has found and the specification decided.

Each test is the smallest program that showed a fault, named after what is true now.
"""

from __future__ import annotations

import copy
import gc
import weakref

import numpy as np
import pytest

import pullback as pb

grad = pb.autograd.grad


def leaf(values, dtype=pb.float64):
    return pb.tensor(values, dtype=dtype, requires_grad=True)


def constant(values):
    return pb.tensor(values, dtype=pb.float64)


def raises(code):
    return pytest.raises(pb.autograd.AutogradError, match=rf"^\[{code}\]")


# ---- passes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["shape", "root"])
def test_a_refused_backward_leaves_no_tensor_that_retains_its_gradient(wrong):
    x = leaf([1.0, 2.0])
    h = x * 2.0
    with raises("GRADOUT_SHAPE" if wrong == "shape" else "ROOT_NO_GRAD"):
        if wrong == "shape":
            h.backward(constant([1.0, 1.0, 1.0]), inputs=[h])
        else:
            constant(1.0).backward(inputs=[h])
    assert not h.retains_grad


def test_the_hooks_of_a_root_see_its_gradient_though_it_leads_to_no_target():
    x, unrelated, seen = leaf([1.0]), leaf([1.0]), []
    y = x * 2.0
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()
    assert grad(y, [unrelated], constant([3.0]), allow_unused=True) == (None,)
    assert seen == [[3.0]] and y.grad.tolist() == [3.0]


def test_a_leaf_that_is_the_root_does_not_accumulate_when_others_are_asked_for():
    x, other = leaf([1.0]), leaf([1.0])
    grad(x, [other], constant([3.0]), allow_unused=True)
    assert x.grad is None
    x.backward(constant([3.0]), inputs=[other])
    assert x.grad is None


def test_backward_into_an_interior_tensor_does_not_run_its_node():
    x, calls = leaf([2.0]), []
    h = x * x
    h.grad_fn.register_prehook(lambda gs: calls.append(gs))
    (h * 3.0).backward(inputs=[h])
    assert h.grad.tolist() == [3.0] and not calls
    h.backward()  # what the node saved is still there
    assert x.grad.tolist() == [4.0]


@pb.autograd.overwrite_policy("raise")
def test_a_value_that_serves_no_wanted_gradient_may_be_overwritten():
    x, y = leaf([2.0]), leaf([5.0])
    a, b = x * 1.0, y * 1.0
    product, quotient = a * b, a / b
    with pb.no_grad():
        a.fill_(7.0)
    assert grad(product, x, retain_graph=True)[0].tolist() == [5.0]
    with raises("VERSION"):
        grad(product, y)
    quotient.add_(1.0)
    assert grad(quotient, x)[0].tolist() == [0.2]


def test_gradients_without_axes_add_up_to_something_that_can_be_written():
    x = leaf([1.0, 2.0])
    total = x.sum()
    v, w = total.unsqueeze(0), total.unsqueeze(0)
    v.square_()
    w[0:1] = w
    assert grad(w.sum(), x)[0].tolist() == [6.0, 6.0]


def test_a_write_through_one_element_of_a_broadcast_differentiates():
    x = leaf(2.0)
    repeated = (x * 3.0).expand((2,))
    repeated[-1] = x
    assert repeated.tolist() == [2.0, 2.0]
    assert grad(repeated, x, constant([1.0, 2.0]))[0].item() == 3.0


# ---- results of grad -----------------------------------------------------------------------------------------------


def test_recorded_gradients_are_no_views_and_can_be_written():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    (g,) = grad(x.sum(), x, create_graph=True)
    assert not g._is_view()
    g.add_(1.0)
    assert g.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_a_recorded_gradient_leads_to_the_gradients_it_was_made_from():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    h = x * x
    total = h.sum(axis=1)
    over_h, over_total = grad(total.exp(), [h, total], constant([1.0, 1.0]), create_graph=True)
    assert over_h.tolist() == [[v, v] for v in over_total.tolist()]
    assert grad(over_h.sum(), over_total)[0].tolist() == [2.0, 2.0]


def test_copies_of_recorded_gradients_are_recorded_under_no_grad():
    x = leaf([2.0])
    with pb.no_grad():
        first, second = grad(x, [x, x], x, create_graph=True)
    assert first.requires_grad and second.requires_grad and first is not second


def test_gradients_made_in_inference_mode_are_inference_tensors():
    x = leaf(2.0)
    y = x * constant([1.0, 2.0])
    y.retain_grad()
    with pb.inference_mode():
        y.backward(constant([1.0, 1.0]))
    assert x.grad.is_inference() and y.grad.is_inference()


def test_zeros_for_unused_inputs_made_in_inference_mode_are_inference_tensors():
    x, unused = leaf([2.0]), leaf([1.0])
    y = x * 3.0
    with pb.inference_mode():
        (zeros,) = grad(y, unused, constant([1.0]), materialize_grads=True)
    assert zeros.is_inference() and zeros.tolist() == [0.0]


# ---- accumulation --------------------------------------------------------------------------------------------------


def test_an_empty_gradient_is_accumulated_in_place():
    x = pb.tensor([], dtype=pb.float64, requires_grad=True)
    x.sum().backward()
    first = x.grad
    x.sum().backward()
    assert x.grad is first


def test_a_gradient_made_in_inference_mode_is_replaced_outside_of_it():
    x = leaf([1.0])
    y = x.clone()
    with pb.inference_mode():
        y.backward(constant([2.0]), retain_graph=True)
    first = x.grad
    y.backward(constant([3.0]))
    assert first.tolist() == [2.0] and x.grad.tolist() == [5.0]
    assert x.grad is not first and not x.grad.is_inference()


# ---- leaves and flags ----------------------------------------------------------------------------------------------


def test_a_shallow_copy_of_an_interior_tensor_is_a_leaf_on_the_same_memory():
    x = leaf([1.0, 2.0])
    y = x * 2.0
    twin = copy.copy(y)
    assert twin.is_leaf and twin.requires_grad and not twin._is_view()
    with raises("LEAF_INPLACE"):
        twin.mul_(2.0)
    with pb.no_grad():
        twin.mul_(2.0)
    assert y.tolist() == [4.0, 8.0] and y._version == twin._version == 1


def test_a_leaf_that_was_detached_goes_back_to_its_accumulator():
    x = leaf([2.0])
    y = x * x
    x.detach_()
    x.requires_grad_()
    assert grad(y, x)[0].tolist() == [4.0]


def test_a_detached_tensor_retains_no_gradient_and_can_get_a_history_again():
    x = leaf([2.0])
    y = x * 1.0
    y.retain_grad()
    y.detach_()
    assert not y.retains_grad
    y.mul_(x)
    assert grad(y, x)[0].tolist() == [2.0]


def test_a_view_that_was_a_leaf_can_not_accumulate_once_its_base_has_a_history():
    b = constant([1.0, 2.0])
    v = b[:1]
    v.requires_grad_()
    b[1:] = v * 3.0
    with raises("LEAF_MOVED"):
        b.sum().backward()


def test_the_data_of_an_inference_tensor_is_an_inference_tensor():
    with pb.inference_mode():
        x = pb.ones(2)
    with raises("INFERENCE_INPLACE"):
        x.data.add_(1.0)


# ---- views and writes ----------------------------------------------------------------------------------------------


def test_overwriting_drops_the_old_history():
    x, source = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    y = x.tanh()
    made_from = weakref.ref(y.grad_fn)
    y.copy_(source)
    gc.collect()
    assert made_from() is None
    assert grad(y, [x, source], constant([1.0, 2.0]), allow_unused=True)[0] is None
    y.sum().backward()  # the result of tanh is gone, and nobody needs it
    assert source.grad.tolist() == [1.0, 1.0] and x.grad is None


@pytest.mark.parametrize("overwrite", [lambda y: y.zero_(), lambda y: y.fill_(2.0), lambda y: y.copy_(constant([0.0]))])
def test_overwriting_with_constants_leaves_a_tensor_that_requires_grad_and_leads_nowhere(overwrite):
    x = leaf([1.0])
    y = x.exp()
    overwrite(y)
    assert y.requires_grad and y.grad_fn.next_functions[0] == (None, 0)
    y.backward()
    assert x.grad is None


def test_overwriting_through_a_view_gives_zeros():
    x = leaf([1.0, 2.0])
    b = x * 1.0
    b[:1].copy_(constant([5.0]))
    assert grad(b.sum(), x)[0].tolist() == [0.0, 1.0]


def test_a_view_of_a_detached_base_that_has_a_history_can_not_be_written():
    x = leaf([1.0, 2.0])
    b = x * 1.0
    v = b[:1]
    b.detach_()
    with raises("VIEW_OF_LEAF_INPLACE"):
        v.mul_(2.0)


def test_a_view_that_was_written_keeps_its_history_when_the_base_is_detached():
    x = leaf([1.0, 2.0])
    b = x * 1.0
    v = b[:1]
    v.mul_(5.0)
    b.detach_()
    assert grad(v, x, constant([1.0]))[0].tolist() == [5.0, 0.0]


def test_a_view_whose_base_was_written_and_detached_still_requires_grad_and_leads_nowhere():
    x = leaf([1.0, 2.0])
    v = x[:1]
    with pb.no_grad():
        x.mul_(2.0)
    x.detach_()
    y = v * 3.0
    assert v.requires_grad and y.requires_grad and v.grad_fn.next_functions == ((None, 0),)
    y.backward()
    assert x.grad is None


def test_a_view_that_is_a_leaf_joins_the_graph_when_its_base_gets_a_history():
    b = constant([1.0, 2.0])
    v = b[1]
    v.requires_grad_()
    b[0] = 7.0
    assert v.is_leaf
    source = leaf(3.0)
    b[1] = source * 2.0
    v.mul_(5.0)
    assert not v.is_leaf
    assert grad(v, source)[0].item() == 10.0


def test_retain_grad_moves_at_once_when_the_view_itself_is_written():
    x = leaf([1.0, 2.0])
    b = x * 1.0
    v = b[:1]
    v.retain_grad()
    older = v * 4.0
    v.mul_(3.0)
    older.backward()
    assert v.grad is None
    v.sum().backward()
    assert v.grad.tolist() == [1.0]


@pb.autograd.overwrite_policy("raise")
def test_interleaved_operands_are_checked_and_not_copied():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    b = x * 1.0
    left, right = b[:, 0], b[:, 1]
    left.mul_(right)
    right.mul_(2.0)
    with raises("VERSION"):
        b.sum().backward()


# ---- what NumPy gets wrong -----------------------------------------------------------------------------------------


def test_a_row_can_be_assigned_from_a_column_that_crosses_it():
    x = pb.tensor(np.arange(9.0).reshape(3, 3))
    x[1] = x[:, 2]
    assert x.tolist() == [[0.0, 1.0, 2.0], [2.0, 5.0, 8.0], [6.0, 7.0, 8.0]]


@pytest.mark.parametrize("dtype, step", [(np.float32, 4), (np.float64, 8), (np.int64, 8)])
def test_negating_in_place_with_steps_touches_the_right_elements(dtype, step):
    x = pb.tensor(np.arange(1, 5 * step + 1).astype(dtype))
    x[::step].neg_()
    expected = np.arange(1, 5 * step + 1).astype(dtype)
    expected[::step] = -expected[::step].copy()
    assert x.tolist() == expected.tolist()


def test_the_copy_of_a_broadcast_lies_in_the_order_of_its_axes():
    x = pb.tensor([[1.0], [2.0]]).expand((2, 2, 1))
    assert x.clone().reshape((4,))._is_view()


def test_a_reshape_of_an_inference_tensor_that_has_to_copy_is_an_ordinary_tensor():
    with pb.inference_mode():
        x = pb.ones(4)
    rows = x.expand((2, 4))
    assert rows.is_inference() and x.reshape((2, 2)).is_inference()
    copied = rows.reshape((8,))
    assert not copied.is_inference() and copied._version == 0
    with pb.inference_mode():
        assert rows.reshape((8,)).is_inference()


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("view", [lambda x: x.unsqueeze(0), lambda x: x[None, ...], lambda x: x.reshape(1)])
def test_gradients_of_an_inference_leaf_have_a_history_if_one_is_made(view, count):
    """However often the leaf is named: a view's gradient is a part of what the caller gave, which requires grad."""
    with pb.inference_mode():
        x = pb.tensor(-0.17, requires_grad=True)
    y = view(x)
    firsts = pb.autograd.grad(y, [x] * count, y, create_graph=True)
    assert [g.requires_grad for g in firsts] == [True] * count
    assert not any(g.is_inference() for g in firsts)
    (second,) = pb.autograd.grad(sum(firsts), x)
    assert second.item() == count


@pytest.mark.parametrize("f", [lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a @ b])
@pytest.mark.parametrize("moved", [False, True])
def test_a_saved_leaf_that_does_not_require_grad_any_more_gives_gradients_no_history(f, moved):
    a, b = leaf([1.0, 2.0]), leaf([2.0, 3.0])
    y = f(a, b)
    if moved:
        b.data = constant([5.0, 6.0])
    b.requires_grad_(False)
    y.backward(pb.ones_like(y), create_graph=True)
    assert not a.grad.requires_grad and b.grad is None
    assert a.grad.tolist() == grad(f(a, constant([2.0, 3.0])).sum(), a)[0].tolist()


@pytest.mark.parametrize("made", [lambda x: x, lambda x: x[:1], lambda x: x.reshape(3, 1)])
def test_an_inference_tensor_takes_no_flag_outside_of_inference_mode_also_if_it_has_it(made):
    with pb.inference_mode():
        x = pb.ones(3).requires_grad_()
    y = made(x)
    assert y.is_inference() and y.requires_grad
    with raises("INFERENCE_FLAG"):
        y.requires_grad_()
