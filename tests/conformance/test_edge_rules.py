"""The rules about edges and accumulation beyond the numbered cases, in the order of their sections."""

import math
import threading
import weakref

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, accumulator, array, bw, edge, g, it, ng, raises, shares_memory

GradientEdge = pb.autograd.graph.GradientEdge


def transposed_leaf() -> pb.Tensor:
    """A leaf of shape (4, 3) in column order."""
    return pb.from_numpy(np.zeros((3, 4)).T).requires_grad_()


# --- 2.1 edges ---------------------------------------------------------------------------------------------------


def test_the_edge_of_a_leaf_names_its_accumulator_and_that_of_an_interior_tensor_its_node():
    x = L([1.0])
    first, second = Fn(lambda c, x: (x * 1, x * 2), lambda c, p, q: p + q)(x)
    assert edge(x).node is first.grad_fn.next_functions[0][0] and edge(x).output_nr == 0
    assert edge(second).node is second.grad_fn and edge(second).output_nr == 1


def test_edges_follow_the_order_of_the_arguments():
    x, y = L([1.0]), L([1.0])
    assert (C([2.0]) * x).grad_fn.next_functions == ((None, 0), (accumulator(x), 0))
    assert (y * x).grad_fn.next_functions == ((accumulator(y), 0), (accumulator(x), 0))


def test_an_edge_carries_the_output_number_of_its_tensor():
    first, second = Fn(lambda c, x: (x * 1, x * 2), lambda c, p, q: p + q)(L([1.0]))
    product = first * second
    assert product.grad_fn.next_functions == ((first.grad_fn, 0), (first.grad_fn, 1))


def test_nothing_is_recorded_without_grad_mode_or_without_a_tensor_that_requires_grad():
    x = L([1.0])
    with ng():
        y = x * 2
    assert y.grad_fn is None and y.requires_grad is False and y.is_leaf
    z = C([1.0]) * 2
    assert z.grad_fn is None and z.requires_grad is False


def test_results_of_other_dtypes_have_no_grad_fn():
    x = L([1.0, 2.0])
    for result in (x > 1, x.argmax(), x.astype(pb.int64)):
        assert result.grad_fn is None and result.requires_grad is False


# --- 2.2 the lifetime of an accumulator --------------------------------------------------------------------------


def test_an_accumulator_dies_with_its_last_graph():
    x = L([1.0])
    y, z = x * 2, x * 3
    node = weakref.ref(y.grad_fn.next_functions[0][0])
    del y
    assert node() is not None
    del z
    assert node() is None


def test_tensor_hooks_outlive_the_accumulator():
    x, calls = L([1.0]), []
    y = x * 2
    x.register_hook(lambda q: calls.append(it(q)))
    del y
    (x * 3).backward()
    assert calls == [[3.0]]


def test_the_accumulator_is_a_node_without_successors():
    x = L([1.0])
    node = accumulator(x)
    assert node.name() == "AccumulateGrad"
    assert node.next_functions == ()
    assert node.topological_nr == 0
    assert node.variable is x


def test_the_sequence_number_of_an_accumulator_exceeds_every_other():
    x = L([1.0])
    node = accumulator(x)
    later = x * 2
    assert node._sequence_nr() > later.grad_fn._sequence_nr()
    assert node._sequence_nr() == accumulator(L([1.0]))._sequence_nr()
    assert node._sequence_nr() in (math.inf, 2**63 - 1, 2**64 - 1)


# --- 2.3 accumulation --------------------------------------------------------------------------------------------


def test_the_example_of_the_accumulation_rules():
    x = L([0.0, 0.0])
    (x * 2).sum().backward()
    keep = x.grad
    (x * 2).sum().backward()
    assert x.grad is keep and it(keep) == [4.0, 4.0]
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not keep and it(keep) == [4.0, 4.0]


def test_a_plain_gradient_is_detached():
    x = L([1.0, 2.0])
    (x * x).sum().backward()
    assert x.grad.requires_grad is False and x.grad.grad_fn is None and x.grad._is_view() is False


def test_a_zero_dimensional_gradient_is_not_the_one_passed_in():
    x, go = L(0.0), C(1.0)
    x.backward(go)
    assert x.grad is not go and not shares_memory(x.grad, go)


def test_a_gradient_kept_by_a_hook_is_not_aliased():
    x, kept = L([1.0, 2.0]), []
    x.register_hook(kept.append)
    (x * C([2.0, 3.0])).backward(C([1.0, 1.0]))
    assert not shares_memory(x.grad, kept[0])
    x.grad.add_(10)
    assert it(kept[0]) == [2.0, 3.0]


def test_a_gradient_kept_by_a_custom_backward_is_not_aliased():
    x, kept = L([1.0, 2.0]), []

    def keep_and_double(c, q):
        kept.append(q * 2)
        return kept[-1]

    Fn(lambda c, x: x * 1, keep_and_double)(x).backward(C([1.0, 1.0]))
    assert not shares_memory(x.grad, kept[0])
    x.grad.add_(10)
    assert it(kept[0]) == [2.0, 2.0]


def test_one_gradient_returned_for_two_leaves_is_stored_twice():
    a, b = L([1.0]), L([1.0])
    Fn(lambda c, a, b: a + b, lambda c, q: (q, q))(a, b).backward()
    assert not shares_memory(a.grad, b.grad)
    a.grad.add_(1)
    assert it(b.grad) == [1.0]


def test_views_of_one_gradient_returned_for_two_leaves_are_stored_apart():
    a, b = L([1.0, 2.0]), L([1.0, 2.0])

    def two_halves(c, q):
        both = pb.concat([q, q])
        return both[:2], both[:2]

    Fn(lambda c, a, b: a + b, two_halves)(a, b).backward(C([1.0, 1.0]))
    assert not shares_memory(a.grad, b.grad)


def test_the_interior_gradient_kept_by_retain_grad_is_not_aliased_by_the_leaf():
    x = L([1.0, 2.0])
    y = x.view_as(x)
    y.retain_grad()
    y.backward(C([1.0, 1.0]))
    assert not shares_memory(x.grad, y.grad)


def test_a_linear_function_gives_a_constant_gradient_even_under_create_graph():
    x = L([1.0])
    (x * 2).backward(create_graph=True)
    assert x.grad.requires_grad is False


def test_a_create_graph_gradient_is_a_differentiable_sum_with_the_present_one():
    x = L([3.0])
    (x * x).backward(create_graph=True)
    (x * x * x).backward(create_graph=True)
    assert it(x.grad) == [6.0 + 27.0]
    (second,) = g(x.grad, x)
    assert it(second) == [2.0 + 18.0]


def test_a_read_only_gradient_is_replaced():
    frozen = np.ones(2)
    frozen.flags.writeable = False
    x = L([0.0, 0.0])
    x.grad = pb.asarray(frozen)
    (x * 2).sum().backward()
    assert it(x.grad) == [3.0, 3.0]
    assert frozen.tolist() == [1.0, 1.0]


def test_accumulation_ignores_the_history_of_a_gradient_that_is_a_leaf():
    x, leaf = L([1.0]), L([5.0])
    x.grad = leaf
    (x * 2).backward()
    assert x.grad is leaf and it(leaf) == [7.0]
    assert leaf.is_leaf and leaf.requires_grad and leaf.grad_fn is None


def test_accumulation_ignores_the_history_of_an_interior_gradient():
    x, interior = L([1.0]), L([1.0]) * 3
    node = interior.grad_fn
    x.grad = interior
    (x * 2).backward()
    assert x.grad is interior and it(interior) == [5.0]
    assert interior.grad_fn is node


def test_an_undefined_gradient_leaves_a_present_one_alone():
    x = L([1.0])
    present = C([4.0])
    x.grad = present
    Fn(lambda c, x: x * 1, lambda c, q: None)(x).backward()
    assert x.grad is present and it(present) == [4.0] and present._version == 0


def test_a_gradient_for_the_old_shape_cannot_be_added_to_one_of_the_new_shape():
    x = L([1.0, 2.0])
    old = (x * 2).sum()
    x.data = C([1.0, 1.0, 1.0])
    (x * 2).sum().backward()
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)broadcast"):
        old.backward()
    assert it(x.grad) == [2.0, 2.0, 2.0]


def test_gradients_of_several_paths_are_summed_before_they_are_accumulated():
    x = L([1.0])
    (x * 2 + x * 3 + x).backward()
    assert it(x.grad) == [6.0]
    version = x.grad._version
    (x * 2 + x * 3 + x).backward()
    assert it(x.grad) == [12.0] and x.grad._version == version + 1


# --- 2.4 layout --------------------------------------------------------------------------------------------------


def test_a_column_ordered_leaf_gets_a_column_ordered_gradient_for_any_formula():
    x = transposed_leaf()
    x.sum().backward()
    assert array(x.grad).strides == array(x).strides
    assert array(x.grad).flags.writeable


def test_dimensions_of_size_one_do_not_count_in_the_layout():
    x = pb.from_numpy(np.zeros((3, 1, 4)).transpose(2, 1, 0)).requires_grad_()
    (x * C(np.ones((4, 1, 3)))).sum().backward()
    assert array(x.grad)[:, 0, :].strides == array(x)[:, 0, :].strides
    assert 0 not in array(x.grad).strides


@pytest.mark.parametrize(
    "leaf",
    [lambda: C([1.0]).expand(3), lambda: C(np.zeros(6))[::2]],
    ids=["expanded", "with gaps"],
)
def test_a_leaf_without_dense_memory_gets_a_contiguous_gradient(leaf):
    x = leaf().detach().requires_grad_()
    (x * 2).sum().backward()
    assert array(x.grad).flags.c_contiguous and array(x.grad).flags.writeable
    assert it(x.grad) == [2.0, 2.0, 2.0]


def test_later_additions_keep_the_layout_that_is_there():
    x = transposed_leaf()
    present = C(np.ones((4, 3)))
    x.grad = present
    (x * 2).sum().backward()
    assert x.grad is present
    assert array(x.grad).flags.c_contiguous


def test_the_layout_policy_can_be_lifted_for_a_block_and_by_a_call():
    x = transposed_leaf()
    with pb.autograd.enforce_grad_layout_policy(False):
        (x * C(np.ones((4, 3)))).sum().backward()
    assert it(x.grad) == [[1.0] * 3] * 4
    x.grad = None
    (x * C(np.ones((4, 3)))).sum().backward()
    assert array(x.grad).strides == array(x).strides
    pb.autograd.enforce_grad_layout_policy(False)
    try:
        x.grad = None
        (x * C(np.ones((4, 3)))).sum().backward()
        assert it(x.grad) == [[1.0] * 3] * 4
    finally:
        pb.autograd.enforce_grad_layout_policy(True)
    x.grad = None
    (x * C(np.ones((4, 3)))).sum().backward()
    assert array(x.grad).strides == array(x).strides


def test_the_layout_policy_belongs_to_the_thread():
    strides = []

    def run():
        x = transposed_leaf()
        (x * C(np.ones((4, 3)))).sum().backward()
        strides.append(array(x.grad).strides)

    with pb.autograd.enforce_grad_layout_policy(False):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert strides == [array(transposed_leaf()).strides]


# --- 2.5 GradientEdge --------------------------------------------------------------------------------------------


def test_a_gradient_edge_is_a_named_tuple():
    y = L([1.0]) * 2
    made = GradientEdge(y.grad_fn, 0)
    assert isinstance(made, tuple)
    assert made._fields == ("node", "output_nr", "ownership_token")
    assert made.node is y.grad_fn and made.output_nr == 0 and made.ownership_token is None


def test_a_handmade_edge_works_like_the_tensor():
    x = L([1.0])
    y = x * 3
    assert it(g(GradientEdge(y.grad_fn, 0), x)[0]) == [3.0]


def test_the_edge_of_a_leaf_is_made_on_demand_and_stays_one():
    x = L([1.0])
    first = edge(x)
    assert first.node.name() == "AccumulateGrad"
    assert edge(x).node is first.node
    assert (x * 2).grad_fn.next_functions[0][0] is first.node


def test_holding_an_edge_keeps_the_graph_alive():
    x = L([1.0])
    y = (x * x) * 2
    held = edge(y)
    del y
    bw(held)
    assert it(x.grad) == [4.0]


def test_an_edge_may_replace_a_tensor_anywhere():
    x = L([1.0, 2.0])
    y = x * 3
    bw([edge(y)], [C([1.0, 2.0])])
    assert it(x.grad) == [3.0, 6.0]
    assert it(g((x * 2).sum(), edge(x))[0]) == [2.0, 2.0]
    assert it(g(edge(x * 2), edge(x), C([1.0, 1.0]))[0]) == [2.0, 2.0]


def test_an_edge_as_root_is_checked_like_its_tensor():
    x, z = L([1.0, 2.0]), L(1.0 + 1.0j)
    with raises("GRADOUT_SHAPE"):
        g(edge(x * 2), x, C([1.0]))
    with raises("IMPLICIT_COMPLEX"):
        bw(edge(z * 2))
    with raises("EDGE_BATCHED"):
        g(edge(x * 2), x, C(np.eye(2)), is_grads_batched=True)


def test_an_unused_edge_is_reported_like_an_unused_tensor():
    x, unused = L([1.0]), L([1.0])
    with raises("UNUSED_INPUT"):
        g(x * 2, edge(unused))
    assert g(x * 2, edge(unused), allow_unused=True) == (None,)


def test_a_leaf_edge_as_input_of_backward_accumulates():
    x, w = L([1.0]), L([2.0])
    bw(x * w, inputs=edge(x))
    assert it(x.grad) == [2.0]
    assert w.grad is None


def test_an_interior_edge_as_input_of_backward_stores_nothing():
    x = L([1.0])
    h = x * 3
    bw(h * 2, inputs=edge(h))
    assert x.grad is None
    assert h.retains_grad is False
    with pytest.warns(UserWarning):
        assert h.grad is None


@pytest.mark.parametrize("not_a_node", ["node", None, 3], ids=repr)
def test_an_edge_without_a_node_is_a_type_error(not_a_node):
    x = L([1.0])
    with pytest.raises(TypeError):
        g(x * 2, GradientEdge(not_a_node, 0))
    with pytest.raises(TypeError):
        bw(GradientEdge(not_a_node, 0))
