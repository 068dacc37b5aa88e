"""Cases 81 to 123: what `backward` and `grad` accept, return and promise about the run between them."""

import collections
import traceback
import types

import numpy as np
import pytest

import pullback as pb

from .shorthand import ID, C, Fn, L, bw, failing, g, it, logged, names_shapes, ng, raises, shares_memory

graph = pb.autograd.graph


def test_081_an_implicit_gradient_needs_one_element():
    with raises("IMPLICIT_NONSCALAR"):
        (L([1.0, 2.0]) * 2).backward()
    with raises("IMPLICIT_NONSCALAR"):
        (L(np.zeros(0)) * 2).backward()


def test_082_an_implicit_gradient_has_the_shape_of_the_output():
    x = L([[1.0]])
    (x * 2).backward()
    assert it(x.grad) == [[2.0]]


def test_083_a_complex_output_has_no_implicit_gradient():
    with raises("IMPLICIT_COMPLEX"):
        (L(1.0 + 1.0j) * 2).backward()


def test_084_a_gradient_has_exactly_the_shape_of_the_output():
    x = L(1.0)
    with raises("GRADOUT_SHAPE") as caught:
        (x * 2).backward(C([1.0]))
    assert names_shapes(caught.value, (1,), ())
    assert x.grad is None


def test_085_a_gradient_is_complex_exactly_if_the_output_is():
    x, z = L([1.0]), L([1.0 + 1.0j])
    with raises("GRADOUT_COMPLEX"):
        (x * 2).backward(C([1.0 + 1.0j]))
    with raises("GRADOUT_COMPLEX"):
        (z * 2).backward(C([1.0]))


def test_086_an_integer_gradient_is_cast():
    x = L([1.0])
    (x * 2).backward(pb.tensor([3]))
    assert it(x.grad) == [6.0] and x.grad.dtype == np.float64


def test_087_there_is_one_gradient_per_root():
    x, o = L([1.0]), C([1.0])
    with raises("GRADOUT_COUNT"):
        bw([x * 2, x * 3], [C([1.0])])
    with raises("GRADOUT_COUNT"):
        bw([x * 2], [o, o])
    assert x.grad is None


def test_088_a_gradient_is_a_tensor():
    x = L([1.0])
    with pytest.raises(TypeError):
        bw([x * 2], [3.0])


def test_089_a_constant_cannot_be_differentiated():
    with raises("ROOT_NO_GRAD"):
        C([1.0]).backward()


def test_090_a_leaf_may_be_a_root():
    x = L([1.0, 2.0])
    x.backward(C([3.0, 4.0]))
    assert it(x.grad) == [3.0, 4.0]


def test_091_a_root_given_twice_counts_twice():
    x = L([1.0])
    y = x * 2
    bw([y, y])
    assert it(x.grad) == [4.0]


def test_092_no_roots_are_no_work():
    assert bw(()) is None


def test_093_inputs_must_not_be_empty():
    x = L([1.0])
    with raises("INPUTS_EMPTY"):
        bw(x * 2, inputs=[])
    with raises("INPUTS_EMPTY"):
        g(x * 2, [])
    assert x.grad is None


def test_094_inputs_must_require_grad():
    x = L([1.0])
    with raises("INPUT_NO_GRAD"):
        bw(x * 2, inputs=[C([1.0])])
    with raises("INPUT_NO_GRAD"):
        g(x * 2, C([1.0]))
    assert x.grad is None


def test_095_backward_into_an_interior_input_retains_its_gradient():
    x = L([1.0])
    h = x * 3
    o = h * 2
    o.backward(inputs=h)
    assert it(h.grad) == [2.0]
    assert x.grad is None
    assert h.retains_grad is True


def test_096_unreachable_inputs_of_backward_are_ignored():
    x, unrelated = L([1.0]), L([1.0])
    assert bw(x * 2, inputs=unrelated) is None
    assert x.grad is None and unrelated.grad is None


def test_097_an_input_of_backward_given_twice_accumulates_once():
    x = L([1.0])
    bw(x * 2, inputs=(x, x))
    assert it(x.grad) == [2.0]


def test_098_an_input_of_grad_given_twice_gives_two_tensors():
    x = L([1.0])
    first, second = g(x * 2, (x, x))
    assert it(first) == it(second) == [2.0]
    assert first is not second and not shares_memory(first, second)


def test_099_interior_tensors_and_the_root_itself_may_be_inputs_of_grad():
    x = L([1.0])
    h = x * 3
    of_h, of_x = g(h * 2, (h, x))
    assert it(of_h) == [2.0] and it(of_x) == [6.0]
    assert it(g(h, h)[0]) == [1.0]


def test_100_an_unused_input_is_an_error_unless_allowed():
    x, z = L([1.0]), L([1.0])
    with raises("UNUSED_INPUT"):
        g(x * 2, z)
    assert g(x * 2, z, allow_unused=True) == (None,)


def test_101_an_unused_input_may_be_materialized():
    x, z = L([1.0]), L([1.0, 2.0])
    (zeros,) = g(x * 2, z, materialize_grads=True)
    assert it(zeros) == [0.0, 0.0] and zeros.requires_grad is False
    (zeros,) = g(x * 2, z, materialize_grads=True, create_graph=True)
    assert it(zeros) == [0.0, 0.0] and zeros.requires_grad is True


def test_102_materializing_contradicts_forbidding_unused_inputs():
    x = L([1.0])
    with pytest.raises(ValueError):
        g(x * 2, x, materialize_grads=True, allow_unused=False)


def test_103_a_mapping_of_inputs_gives_a_dict_of_gradients():
    x, w = L([1.0]), L([5.0])
    result = g(x * 2, {"a": x})
    assert type(result) is dict and list(result) == ["a"]
    assert it(result["a"]) == [2.0]
    for mapping in (collections.OrderedDict(w=w, x=x), types.MappingProxyType({"w": w, "x": x})):
        result = g(x * w, mapping)
        assert type(result) is dict and list(result) == ["w", "x"]
        assert it(result["w"]) == [1.0] and it(result["x"]) == [5.0]


def test_104_grad_returns_a_tuple_and_leaves_the_leaves_alone():
    x = L([1.0])
    assert type(g(x * 2, x)) is tuple
    assert x.grad is None


def test_105_create_graph_without_retain_graph_frees_the_forward_graph():
    x = L([2.0])
    y = x * x * x
    (r,) = g(y, x, create_graph=True, retain_graph=False)
    assert it(r) == [12.0]
    with raises("SECOND_BACKWARD"):
        g(r, x)


def test_106_create_graph_works_under_no_grad():
    x = L([1.0])
    y = x * x
    with ng():
        y.backward(create_graph=True)
    assert x.grad.requires_grad is True


def test_107_grad_mode_inside_a_pass_is_create_graph():
    modes, x = [], L([1.0])
    y = x * x
    y.register_hook(lambda q: modes.append(pb.is_grad_enabled()))
    y.backward(retain_graph=True)
    assert modes == [False] and pb.is_grad_enabled() is True
    with ng():
        y.backward(create_graph=True)
        assert pb.is_grad_enabled() is False
    assert modes == [False, True] and pb.is_grad_enabled() is True


def test_108_batched_gradients_give_batched_results():
    x = L([1.0, 1.0])
    (rows,) = g(x * C([2.0, 3.0]), x, C(np.eye(2)), is_grads_batched=True)
    assert it(rows) == [[2.0, 0.0], [0.0, 3.0]]


def test_109_batched_gradients_must_be_given_and_fit_the_output():
    x = L([1.0, 1.0])
    with raises("GRADOUT_SHAPE") as caught:
        g(x * C([2.0, 3.0]), x, C(np.eye(3)), is_grads_batched=True)
    assert names_shapes(caught.value, (3, 3), (2,))
    with raises("GRADOUT_NONE"):
        g(x * C([2.0, 3.0]), x, is_grads_batched=True)


def test_110_the_third_derivative_of_a_fourth_power():
    x = L(2.0)
    derivative = x**4
    for _ in range(3):
        (derivative,) = g(derivative, x, create_graph=True)
    assert derivative.item() == pytest.approx(48.0)


def test_111_the_most_recent_node_runs_first_and_leaves_at_once():
    a, b, log = L([1.0]), L([1.0]), []
    p = a * 2
    q = b * 3
    r = a * 4
    for label, tensor in zip("abpqr", (a, b, p, q, r), strict=True):
        tensor.register_hook(logged(log, label))
    (p + q + r).backward()
    assert log == ["r", "q", "b", "p", "a"]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_112_sibling_roots_are_visited_newest_first(order):
    x, log = L([1.0]), []
    siblings = [x * 2, x.exp(), x + 1, ID(x)]
    for label, sibling in zip("0123", siblings, strict=True):
        sibling.register_hook(logged(log, label))
    bw([siblings[i] for i in order])
    assert log == ["3", "2", "1", "0"]


def test_113_nodes_off_the_path_to_the_inputs_do_not_run():
    x, w, calls = L([1.0]), L([2.0]), []
    noted = Fn(lambda c, x: x * 1, lambda c, q: (calls.append(1), q)[1])
    out = noted(x) * w
    bw(out, inputs=w, retain_graph=True)
    g(out, w, retain_graph=True)
    assert calls == [] and x.grad is None
    assert it(w.grad) == [1.0]
    bw(out)
    assert calls == [1]


def test_114_grad_stops_at_its_inputs():
    calls = []
    noted = Fn(lambda c, x: x * 1, lambda c, q: (calls.append(1), q)[1])
    a = L([1.0])
    b = noted(a)
    c = b * 3
    assert it(g(c, b)[0]) == [3.0]
    assert calls == []


def test_115_an_error_is_raised_as_it_is_and_finished_leaves_keep_their_gradients():
    a, b = L([1.0]), L([1.0])
    error = ArithmeticError("broken branch")
    older = failing(error)(a)
    newer = b * 3
    with pytest.raises(ArithmeticError) as caught:
        (older + newer).backward()
    assert caught.value is error
    frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert frames[-1] == "raise_in_backward"
    assert it(b.grad) == [3.0]
    assert a.grad is None


def test_116_an_error_leaves_the_engine_usable():
    x = L([1.0])
    with pytest.raises(ArithmeticError):
        failing(ArithmeticError())(x).backward()
    assert graph.current_graph_task_id() == -1
    assert graph.current_node() is None
    assert pb.is_grad_enabled() is True
    assert it(g(x * 2, x)[0]) == [2.0]


def test_117_a_gradient_passed_to_two_roots_is_not_written():
    x, go = L([1.0, 2.0]), C([1.0, 1.0])
    bw([x * 2, x * 3], [go, go])
    assert it(go) == [1.0, 1.0] and go._version == 0
    assert it(x.grad) == [5.0, 5.0]
    y = x * 1
    bw([y, y, x], [go, go, go])
    assert it(go) == [1.0, 1.0] and go._version == 0


def test_118_a_nested_backward_finishes_before_the_outer_node_goes_on():
    x, other, log = L([1.0]), L([1.0]), []
    y = x * 2
    other.register_hook(logged(log, "inner leaf"))
    x.register_hook(logged(log, "outer leaf"))

    def nested(q):
        log.append("begin")
        with pb.enable_grad():
            inner = other * 5
        inner.backward()
        log.append(it(other.grad))

    y.register_hook(nested)
    y.backward()
    assert log == ["begin", "inner leaf", [5.0], "outer leaf"]
    assert it(other.grad) == [5.0] and it(x.grad) == [2.0]


def test_119_two_thousand_nested_passes_complete():
    runs = []

    class Nested(pb.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            with pb.enable_grad():
                ctx.inner = x.detach().requires_grad_() - 1
            return ctx.inner.detach()

        @staticmethod
        def backward(ctx, q):
            runs.append(1)
            if ctx.inner.item() > 0:
                with pb.enable_grad():
                    Nested.apply(ctx.inner).sum().backward()
            return q

    x = L(2000.0)
    Nested.apply(x).sum().backward()
    assert len(runs) == 2000
    assert it(x.grad) == 1.0


def test_120_callbacks_run_after_the_leaves_are_filled():
    with raises("CALLBACK_OUTSIDE"):
        graph.queue_callback(lambda: None)
    x, log = L([1.0]), []
    y = x * 2

    def first():
        log.append(("first", it(x.grad)))
        graph.queue_callback(lambda: log.append("second"))

    handle = y.register_hook(lambda q: graph.queue_callback(first))
    y.backward()
    assert log == [("first", [2.0]), "second"]
    handle.remove()

    def broken():
        raise ArithmeticError("in a callback")

    y.register_hook(lambda q: graph.queue_callback(broken))
    with pytest.raises(ArithmeticError, match="in a callback"):
        y.backward()
    assert graph.current_graph_task_id() == -1
    with raises("CALLBACK_OUTSIDE"):
        graph.queue_callback(lambda: None)


def test_121_inner_callbacks_run_before_the_rest_of_the_outer_node():
    x, other, log = L([1.0]), L([1.0]), []
    y = x * 2
    inner = other * 5
    inner.register_hook(lambda q: graph.queue_callback(lambda: log.append("inner callback")))

    def nested(q):
        graph.queue_callback(lambda: log.append("outer callback"))
        inner.backward()
        log.append("rest of hook")

    y.register_hook(nested)
    y.backward()
    assert log == ["inner callback", "rest of hook", "outer callback"]


def test_122_a_used_input_with_an_undefined_gradient_counts_as_unused():
    x = L([1.0])
    y = Fn(lambda c, x: x * 1, lambda c, q: None)(x)
    with raises("UNUSED_INPUT"):
        g(y, x)
    assert g(y, x, allow_unused=True) == (None,)
    assert it(g(y, x, materialize_grads=True)[0]) == [0.0]


def test_123_broadcasting_against_an_empty_dimension_gives_zeros():
    a, b = L(np.zeros((4, 0))), L(np.ones((4, 1)))
    (a + b).sum().backward()
    assert it(b.grad) == [[0.0]] * 4
    assert a.grad.shape == (4, 0)
