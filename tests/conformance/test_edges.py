"""Cases 34 to 53: gradient edges, the accumulator of a leaf, and how gradients are accumulated."""

import numpy as np

import pullback as pb

from .shorthand import C, Fn, L, array, bw, edge, g, it, raises, shares_memory


def test_034_a_constant_argument_occupies_an_invalid_edge():
    y = L([1.0]) * C([2.0])
    assert len(y.grad_fn.next_functions) == 2
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_035_live_graphs_share_the_accumulator():
    x = L([1.0])
    y, z = x * 2, x.exp()
    assert y.grad_fn.next_functions[0][0] is z.grad_fn.next_functions[0][0]


def test_036_hooks_on_an_accumulator_die_with_its_graph():
    x, calls = L([1.0]), []
    y = x * 2
    y.grad_fn.next_functions[0][0].register_hook(lambda gi, go: calls.append(1))
    del y
    (x * 2).backward()
    assert calls == []
    node = (x * 2).grad_fn.next_functions[0][0]
    node.register_hook(lambda gi, go: calls.append(2))
    (x * 2).backward()
    assert calls == [2]


def test_037_the_stored_gradient_does_not_alias_the_one_passed_in():
    x, go = L([0.0, 0.0]), C([1.0, 1.0])
    x.backward(go)
    assert x.grad is not go
    assert not shares_memory(x.grad, go)
    assert it(x.grad) == [1.0, 1.0]


def test_038_two_leaves_get_disjoint_gradients():
    a, b, ones = L([0.0, 0.0]), L([0.0, 0.0]), C([1.0, 1.0])
    (a + b).backward(ones)
    assert not shares_memory(a.grad, b.grad)
    assert not shares_memory(a.grad, ones) and not shares_memory(b.grad, ones)


def test_039_a_second_backward_adds_into_the_same_gradient():
    x = L([0.0, 0.0])
    (x * 2).sum().backward()
    keep, version = x.grad, x.grad._version
    (x * 2).sum().backward()
    assert x.grad is keep
    assert keep._version == version + 1
    assert it(keep) == [4.0, 4.0]


def test_040_accumulation_under_create_graph_makes_a_new_gradient():
    x = L([1.0, 2.0])
    (x * 2).sum().backward()
    keep, version = x.grad, x.grad._version
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not keep
    assert it(keep) == [2.0, 2.0] and keep._version == version
    assert it(x.grad) == [4.0, 6.0]


def test_041_a_gradient_made_under_create_graph_requires_grad():
    x = L([1.0, 2.0])
    (x * x).sum().backward(create_graph=True)
    assert x.grad.requires_grad is True


def test_042_the_gradient_has_the_strides_of_the_leaf():
    x = pb.from_numpy(np.zeros((3, 4)).T).requires_grad_()
    (x * C(np.ones((4, 3)))).sum().backward()
    assert array(x.grad).strides == array(x).strides


def test_043_the_gradient_of_a_sum_is_contiguous_and_writable():
    x = L(np.zeros((3, 4)))
    x.sum().backward()
    assert array(x.grad).flags.c_contiguous and array(x.grad).flags.writeable
    x.grad.add_(1)
    assert it(x.grad) == [[2.0] * 4] * 3


def test_044_a_leaf_that_was_turned_off_gets_no_gradient():
    x = L([1.0])
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_045_a_leaf_that_became_interior_is_an_error():
    x = L([1.0])
    y = x * 2
    x.requires_grad_(False)
    x.mul_(L([3.0]))
    with raises("LEAF_MOVED"):
        y.backward()


def test_046_an_undefined_gradient_leaves_grad_none():
    x = L([1.0])
    Fn(lambda c, x: x * 1, lambda c, q: None)(x).backward()
    assert x.grad is None


def test_047_accumulating_into_a_broadcast_gradient_replaces_it():
    x = L([0.0, 0.0, 0.0])
    source = C([1.0])
    x.grad = source.expand(3)
    (x * 2).sum().backward()
    assert it(x.grad) == [3.0, 3.0, 3.0]
    assert it(source) == [1.0]


def test_048_a_constant_has_no_gradient_edge():
    with raises("NO_EDGE"):
        edge(C([1.0]))


def test_049_an_edge_denotes_the_value_before_an_in_place_write():
    x = L([1.0, 2.0]) * 1
    before = edge(x)
    x *= 2
    of_old, of_new = g(x.sum(), (before, x))
    assert it(of_old) == [2.0, 2.0]
    assert it(of_new) == [1.0, 1.0]


def test_050_two_steps_through_an_edge_equal_one():
    x = L([1.0, 2.0])
    t = x.exp()
    o = (t * t).sum()
    e = edge(t)
    (middle,) = g(o, e, retain_graph=True)
    (in_two,) = g(e, x, middle, retain_graph=True)
    (in_one,) = g(o, x)
    assert it(in_two) == it(in_one)


def test_051_an_edge_of_two_elements_has_no_implicit_gradient():
    with raises("IMPLICIT_NONSCALAR"):
        bw(edge(L([1.0, 2.0]) * 2))


def test_052_an_unused_edge_cannot_be_materialized():
    x, unused = L([1.0]), L([1.0])
    with raises("EDGE_MATERIALIZE"):
        g(x * 2, edge(unused), materialize_grads=True)


def test_053_a_graph_keeps_its_leaves_alive():
    x = L([1.0])
    y = x * 2
    node = y.grad_fn.next_functions[0][0]
    del x
    y.backward()
    assert it(node.variable.grad) == [2.0]
