"""Hooks: conformance cases 124 to 151. The rules which no case states are in `test_hook_rules.py`."""

import pytest

import pullback as pb

from .shorthand import C, Fn, L, accumulator, bw, g, it, raises

multi_grad_hook = pb.autograd.graph.register_multi_grad_hook


def test_124_a_tensor_hook_needs_a_tensor_that_requires_grad():
    with raises("HOOK_NO_GRAD"):
        C([1.0]).register_hook(lambda q: q)


def test_125_hooks_of_one_tensor_chain():
    x, seen = L([1.0]), []
    x.register_hook(lambda q: (seen.append(q.item()), q * 10)[1])
    x.register_hook(lambda q: (seen.append(q.item()), q + 1)[1])
    x.register_hook(lambda q: seen.append(q.item()))
    (x * 1).backward()
    assert seen == [1.0, 10.0, 11.0]
    assert it(x.grad) == [11.0]


@pytest.mark.parametrize("kind", ["leaf", "interior"])
def test_126_a_replacement_of_another_shape_dtype_or_type_is_refused(kind):
    def run(hook):
        x = L([1.0, 2.0])
        y = x * 1
        (x if kind == "leaf" else y).register_hook(hook)
        y.sum().backward()

    with raises("HOOK_SHAPE"):
        run(lambda q: q.sum())
    with raises("HOOK_DTYPE"):
        run(lambda q: q.astype(pb.float32))
    with pytest.raises(TypeError):
        run(lambda q: 3)
    with pytest.raises(TypeError):
        run(lambda q: (q,))


def test_127_a_leaf_used_three_times_calls_its_hook_once_with_the_total():
    x, seen = L([2.0]), []
    x.register_hook(lambda q: seen.append(it(q)))
    (x * 2 + x * 3 + x * 4).backward()
    assert seen == [[9.0]]


def test_128_order_at_a_leaf_is_tensor_then_node_pre_then_post_accumulate_then_node_post():
    x, log = L([1.0]), []
    y = x.view_as(x)
    node = y.grad_fn.next_functions[0][0]
    x.register_hook(lambda q: (log.append(("tensor", q.item())), q * 3)[1])
    node.register_prehook(lambda qs: (log.append(("pre", qs[0].item())), (qs[0] * 2,))[1])
    x.register_post_accumulate_grad_hook(lambda p: log.append(("acc", p.grad.item())))
    node.register_hook(lambda gi, go: log.append(("post", gi, go[0].item())))
    (y * 1).backward()
    assert log == [("tensor", 1.0), ("pre", 3.0), ("acc", 6.0), ("post", (), 6.0)]
    assert it(x.grad) == [6.0]


def test_129_retain_grad_holds_the_value_after_tensor_hooks_and_before_node_prehooks():
    x = L([1.0])
    y = x * 1
    y.retain_grad()
    y.register_hook(lambda q: q * 3)
    y.grad_fn.register_prehook(lambda qs: (qs[0] * 2,))
    (y * 1).backward()
    assert it(y.grad) == [3.0]
    assert it(x.grad) == [6.0]


def test_130_retain_grad_is_repeatable_and_accumulates_out_of_place():
    x = L([1.0])
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    z = y * 3
    z.backward(retain_graph=True)
    first = y.grad
    assert it(first) == [3.0]
    z.backward()
    assert y.grad is not first
    assert it(y.grad) == [6.0]
    assert it(first) == [3.0]


def test_131_retain_grad_needs_grad_and_does_nothing_on_a_leaf():
    with raises("RETAIN_NO_GRAD"):
        C([1.0]).retain_grad()
    x = L([1.0])
    x.retain_grad()
    assert x.retains_grad is False
    (x * 2).backward()
    assert it(x.grad) == [2.0]


def test_132_the_captured_gradient_includes_tensor_hooks():
    x, calls = L([1.0]), []
    y = x * 2
    y.register_hook(lambda q: (calls.append(1), q * 5)[1])
    assert it(g(y * 1, y)[0]) == [5.0]
    assert len(calls) == 1
    y_grad, x_grad = g(y * 1, (y, x))
    assert (it(y_grad), it(x_grad)) == ([5.0], [10.0])
    assert len(calls) == 2


def test_133_grad_on_a_leaf_applies_its_tensor_hook_and_no_other():
    x, log = L([1.0]), []
    y = x * 2
    node = accumulator(x)
    x.register_hook(lambda q: q * 7)
    x.register_post_accumulate_grad_hook(lambda p: log.append("post accumulate"))
    node.register_prehook(lambda qs: log.append("pre"))
    node.register_hook(lambda gi, go: log.append("post"))
    assert it(g(y, x)[0]) == [14.0]
    assert log == []
    assert x.grad is None


def test_134_hooks_of_leaves_that_were_not_requested_stay_silent():
    x, w, log = L([2.0]), L([3.0]), []
    x.register_hook(lambda q: log.append("tensor x"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("post accumulate x"))
    w.register_hook(lambda q: log.append("tensor w"))
    w.register_post_accumulate_grad_hook(lambda p: log.append("post accumulate w"))
    y = x * w
    x_node, w_node = accumulator(x), accumulator(w)
    x_node.register_hook(lambda gi, go: log.append("node x"))
    w_node.register_hook(lambda gi, go: log.append("node w"))
    bw(y, inputs=w)
    assert log == ["tensor w", "post accumulate w", "node w"]
    assert x.grad is None
    assert it(w.grad) == [2.0]


def test_135_tensor_hooks_are_not_called_for_undefined_gradients():
    x, calls = L([1.0, 2.0, 3.0, 4.0]), []
    a, b = x.split(2)
    b.register_hook(lambda q: (calls.append(1), q * 2)[1])
    a.sum().backward()
    assert calls == []
    assert it(x.grad) == [1.0, 1.0, 0.0, 0.0]


def test_136_a_node_prehook_returns_a_tuple_whose_none_drops_the_gradient():
    def run(result):
        x = L([1.0])
        y = x * 2
        y.grad_fn.register_prehook(lambda qs: result)
        (y * 1).backward()
        return x.grad

    with pytest.raises(TypeError):
        run([C([1.0])])
    with pytest.raises(TypeError):
        run(C([1.0]))
    assert run((None,)) is None


def test_137_a_node_post_hook_keeps_the_length_and_the_holes():
    def run(hook):
        x = L([1.0])
        y = x * C([2.0])
        y.grad_fn.register_hook(hook)
        y.backward()

    with raises("HOOK_COUNT"):
        run(lambda gi, go: gi[:1])
    with raises("HOOK_COUNT"):
        run(lambda gi, go: (*gi, None))
    with raises("HOOK_FILL_NONE"):
        run(lambda gi, go: (gi[0], C([1.0])))


def test_138_a_handle_removes_twice_and_works_as_a_context():
    x, calls = L([1.0]), []
    handle = x.register_hook(lambda q: calls.append("removed"))
    handle.remove()
    handle.remove()
    with x.register_hook(lambda q: calls.append("inside")):
        (x * 1).backward()
    (x * 1).backward()
    assert calls == ["inside"]


def test_139_the_hook_list_of_a_visit_is_a_snapshot():
    x, log = L([1.0]), []

    def adding(q):
        log.append("first")
        if len(log) == 1:
            x.register_hook(lambda q: log.append("added"))

    x.register_hook(adding)
    (x * 1).backward()
    assert log == ["first"]
    (x * 1).backward()
    assert log == ["first", "first", "added"]

    y, log = L([1.0]), []
    y.register_hook(lambda q: (log.append("remover"), handle.remove())[0])
    handle = y.register_hook(lambda q: log.append("removed"))
    (y * 1).backward()
    assert log == ["remover", "removed"]
    (y * 1).backward()
    assert log == ["remover", "removed", "remover"]


def test_140_post_accumulate_hooks_belong_to_leaves_and_return_none():
    with raises("POST_ACC_NONLEAF"):
        (L([1.0]) * 2).register_post_accumulate_grad_hook(lambda p: None)
    x = L([1.0])
    x.register_post_accumulate_grad_hook(lambda p: p.grad)
    with raises("POST_ACC_RETURN"):
        (x * 2).backward()


def test_141_a_post_accumulate_hook_may_clear_grad_and_fires_once_for_two_roots():
    x, seen = L([1.0]), []

    def clear(p):
        seen.append(it(p.grad))
        p.grad = None

    x.register_post_accumulate_grad_hook(clear)
    bw([x * 2, x * 3])
    assert seen == [[5.0]]
    assert x.grad is None


def test_142_an_undefined_gradient_fires_no_post_accumulate_hook():
    x, calls = L([1.0]), []
    x.register_post_accumulate_grad_hook(lambda p: calls.append(p))
    Fn(lambda c, x: x * 1, lambda c, q: None)(x).backward()
    assert calls == []
    assert x.grad is None


def test_143_gradients_handed_to_hooks_are_read_only():
    x, gradient = L([1.0, 2.0]), C([3.0, 4.0])
    y = x * 1
    y.register_hook(lambda q: (q.mul_(2), None)[1])
    with raises("READONLY_GRAD"):
        y.backward(gradient)
    assert it(gradient) == [3.0, 4.0]
    assert gradient._version == 0
    assert x.grad is None


def test_144_a_hook_from_before_an_in_place_product_sees_the_old_value_one_from_after_the_new():
    x, log = L([1.0]), []
    b = x.clone()
    b.register_hook(lambda q: log.append(("before", q.item())))
    b *= 3
    b.register_hook(lambda q: log.append(("after", q.item())))
    b.sum().backward()
    assert log == [("after", 1.0), ("before", 3.0)]


def test_145_retain_grad_moves_to_the_new_value_of_an_in_place_product():
    b = L([1.0]).clone()
    b.retain_grad()
    b *= 3
    b.sum().backward()
    assert it(b.grad) == [1.0]


def test_146_a_hook_on_the_base_keeps_seeing_the_value_from_before_a_write_through_a_view():
    seen = []
    b = L([1.0, 1.0]).clone()
    b.register_hook(lambda q: seen.append(it(q)))
    b[:1] *= 3
    b.sum().backward()
    assert seen == [[3.0, 1.0]]


def test_147_a_hook_on_a_stale_view_sees_the_gradient_of_its_new_value():
    x, seen = L([1.0, 1.0]), []
    b = x.clone()
    v = b[:1]
    b *= 3
    v.register_hook(lambda q: seen.append(it(q)))
    (v * 5).sum().backward()
    assert seen == [[5.0]]
    assert it(x.grad) == [15.0, 0.0]


def numbers(gradients):
    return [None if gradient is None else gradient.item() for gradient in gradients]


def test_148_a_multi_grad_hook_for_all_is_called_once_with_none_for_the_unvisited():
    a, b, d, calls = L([1.0]), L([1.0]), L([1.0]), []
    c = a * b
    multi_grad_hook((a, b, c, d), lambda gradients: calls.append(numbers(gradients)), mode="all")
    c.sum().backward()
    assert calls == [[1.0, 1.0, 1.0, None]]


def test_149_a_multi_grad_hook_counts_roots_and_targets():
    a, b, d, calls = L([1.0]), L([1.0]), L([1.0]), []
    c = a * b
    multi_grad_hook((a, b, c, d), lambda gradients: calls.append(numbers(gradients)), mode="all")
    c.backward(retain_graph=True)
    assert calls == [[1.0, 1.0, 1.0, None]]
    calls.clear()
    g(c, a)
    assert calls == [[1.0, None, 1.0, None]]


def test_150_a_multi_grad_hook_for_any_is_called_once_per_pass_with_the_first_gradient():
    a, b, calls = L([2.0]), L([3.0]), []
    c = a * b
    multi_grad_hook((a, c, b), lambda q: calls.append(q.item()), mode="any")
    (c * 7).backward(retain_graph=True)
    assert calls == [7.0]
    (c * 8).backward()
    assert calls == [7.0, 8.0]
    with pytest.raises(ValueError):
        multi_grad_hook((a, b), lambda q: None, mode="some")


def test_151_an_interior_hook_survives_the_tensor_it_was_registered_on():
    x, calls = L([1.0]), []
    y = x * 2
    y.register_hook(lambda q: calls.append(q.item()))
    z = y * 3
    del y
    z.backward()
    assert calls == [3.0]
