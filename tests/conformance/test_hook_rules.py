"""Rules about hooks (§6) that no numbered case states."""

import functools
import gc
import weakref

import pytest

import pullback as pb

from .shorthand import C, Fn, L, accumulator, bw, g, it, ng, raises

multi_grad_hook = pb.autograd.graph.register_multi_grad_hook


# Registration, handles and lifetime


def test_retain_grad_calls_for_no_gradient_of_a_finished_pass():
    y = L([1.0]) * 2
    z = y * 3
    z.backward(retain_graph=True)
    y.retain_grad()
    assert y.retains_grad is True
    assert y.grad is None
    z.backward()
    assert it(y.grad) == [3.0]


def test_retain_grad_also_fires_in_grad():
    x = L([1.0])
    y = x * 2
    y.retain_grad()
    g(y * 3, x)
    assert it(y.grad) == [3.0]
    assert x.grad is None


def test_retained_gradients_carry_history_under_create_graph():
    x = L([3.0])
    y = x * x
    y.retain_grad()
    (y * y).backward(create_graph=True)
    assert it(y.grad.detach()) == [18.0]
    assert it(g(y.grad.sum(), x)[0]) == [12.0]


def test_retain_grad_holds_its_tensor_weakly():
    gc.disable()
    try:
        y = L([1.0]) * 2
        y.retain_grad()
        gone = weakref.ref(y)
        z = y * 3
        del y
        assert gone() is None
        z.backward()
    finally:
        gc.enable()


def test_a_handle_is_valid_after_its_tensor_died():
    y = L([1.0]) * 2
    handle = y.register_hook(lambda q: q)
    del y
    handle.remove()
    handle.remove()


@pytest.mark.parametrize("kind", ["tensor", "post accumulate", "node pre", "node post"])
def test_every_kind_of_handle_removes_its_hook(kind):
    x, calls = L([1.0]), []
    y = x * 2
    node = accumulator(x)
    register = {
        "tensor": x.register_hook,
        "post accumulate": x.register_post_accumulate_grad_hook,
        "node pre": node.register_prehook,
        "node post": node.register_hook,
    }[kind]
    with register(lambda *received: calls.append(kind)):
        y.backward()
        assert calls == [kind]
    y.backward()
    assert calls == [kind]


def test_leaf_hooks_persist_and_fire_for_graphs_built_before():
    x, calls = L([1.0]), []
    older = x * 2
    x.register_hook(lambda q: calls.append(q.item()))
    older.backward()
    (x * 3).backward()
    assert calls == [2.0, 3.0]


def test_an_interior_hook_fires_once_per_pass():
    x, calls = L([1.0]), []
    y = x * 2
    y.register_hook(lambda q: calls.append(q.item()))
    z = y * 3 + y * 4
    z.backward(retain_graph=True)
    z.backward()
    assert calls == [7.0, 7.0]


def test_callables_without_a_name_are_hooks():
    x, seen = L([1.0]), []

    def log(label, q):
        seen.append((label, q.item()))

    x.register_hook(functools.partial(log, "partial"))
    (x * 2).backward()
    assert seen == [("partial", 2.0)]


def test_a_nameless_hook_with_a_bad_result_is_reported_all_the_same():
    x = L([1.0, 2.0])
    x.register_hook(functools.partial(lambda extra, q: q.sum(), 1))
    with raises("HOOK_SHAPE"):
        (x * 2).sum().backward()


def test_returning_the_same_object_means_unchanged():
    x, seen = L([1.0]), []
    x.register_hook(lambda q: q)
    x.register_hook(lambda q: seen.append(q.item()))
    (x * 2).backward()
    assert seen == [2.0]
    assert it(x.grad) == [2.0]


def test_a_hook_list_of_a_node_is_a_snapshot_too():
    x, log = L([1.0]), []
    y = x * 2
    node = y.grad_fn

    def adding(qs):
        log.append("first")
        if len(log) == 1:
            node.register_prehook(lambda qs: log.append("added"))

    node.register_prehook(adding)
    y.backward()
    assert log == ["first"]
    y.backward()
    assert log == ["first", "first", "added"]


# Node hooks


def test_node_prehooks_and_post_hooks_chain():
    x, log = L([1.0]), []
    y = x * 2
    y.grad_fn.register_prehook(lambda qs: (qs[0] * 3,))
    y.grad_fn.register_prehook(lambda qs: log.append(("pre", qs[0].item())))
    y.grad_fn.register_hook(lambda gi, go: (log.append(("post", gi[0].item(), go[0].item())), (gi[0] + 1, *gi[1:]))[1])
    y.grad_fn.register_hook(lambda gi, go: log.append(("last", gi[0].item())))
    y.backward()
    assert log == [("pre", 3.0), ("post", 6.0, 3.0), ("last", 7.0)]
    assert it(x.grad) == [7.0]


def test_node_hooks_see_none_for_outputs_without_gradient():
    x, seen = L([1.0, 2.0, 3.0, 4.0]), []
    a, b = x.split(2)
    a.grad_fn.register_prehook(lambda qs: seen.append([q if q is None else it(q) for q in qs]))
    b.sum().backward()
    assert seen == [[None, [1.0, 1.0]]]


def test_a_prehook_may_not_fill_a_hole_nor_change_the_count():
    def run(hook):
        a, _ = L([1.0, 2.0, 3.0, 4.0]).split(2)
        a.grad_fn.register_prehook(hook)
        a.sum().backward()

    with raises("HOOK_FILL_NONE"):
        run(lambda qs: (qs[0], C([1.0, 1.0])))
    with raises("HOOK_COUNT"):
        run(lambda qs: qs[:1])


def test_a_post_hook_may_drop_a_gradient_and_must_return_a_tuple():
    def run(hook):
        x = L([1.0])
        y = x * 2
        y.grad_fn.register_hook(hook)
        y.backward()
        return x.grad

    assert run(lambda gi, go: (None,) * len(gi)) is None
    with pytest.raises(TypeError):
        run(lambda gi, go: list(gi))
    with pytest.raises(TypeError):
        run(lambda gi, go: gi[0])


def test_node_hook_replacements_keep_shape_and_dtype():
    def run(hook):
        y = L([1.0, 2.0]) * 2
        y.grad_fn.register_prehook(hook)
        y.sum().backward()

    with raises("HOOK_SHAPE"):
        run(lambda qs: (qs[0].sum(),))
    with raises("HOOK_DTYPE"):
        run(lambda qs: (qs[0].astype(pb.float32),))
    with pytest.raises(TypeError):
        run(lambda qs: (3.0,))


def test_node_hooks_fire_only_if_the_node_executes():
    x, log = L([1.0]), []
    y = x * 2
    y.grad_fn.register_prehook(lambda qs: log.append("pre"))
    y.grad_fn.register_hook(lambda gi, go: log.append("post"))
    y.register_hook(lambda q: log.append("tensor"))
    g(y * 3, y)
    assert log == ["tensor"]


def test_node_prehooks_never_affect_a_captured_gradient():
    x = L([1.0])
    y = x * 2
    y.grad_fn.register_prehook(lambda qs: (qs[0] * 100,))
    y_grad, x_grad = g(y * 3, (y, x))
    assert (it(y_grad), it(x_grad)) == ([3.0], [600.0])


# Post-accumulate hooks


def test_post_accumulate_hooks_need_grad():
    with raises("HOOK_NO_GRAD"):
        C([1.0]).register_post_accumulate_grad_hook(lambda p: None)


def test_post_accumulate_hooks_run_in_the_grad_mode_of_the_pass():
    x, modes = L([1.0]), []
    x.register_post_accumulate_grad_hook(lambda p: modes.append(pb.is_grad_enabled()))
    (x * x).backward()
    (x * x).backward(create_graph=True)
    assert modes == [False, True]
    x.grad = None


def test_post_accumulate_hooks_are_not_fired_by_grad():
    x, calls = L([1.0]), []
    x.register_post_accumulate_grad_hook(lambda p: calls.append(p))
    g(x * 2, x)
    assert calls == []


def test_a_post_accumulate_hook_receives_the_leaf_and_may_write_its_gradient():
    x, seen = L([1.0]), []

    def double(p):
        seen.append(p is x)
        p.grad.mul_(2)

    x.register_post_accumulate_grad_hook(double)
    (x * 3 + x * 4).backward()
    assert seen == [True]
    assert it(x.grad) == [14.0]


# Read-only gradients


def test_gradients_handed_to_a_function_backward_are_read_only():
    def backward(c, q):
        q += 1
        return q

    x, gradient = L([1.0]), C([5.0])
    y = Fn(lambda c, x: x * 1, backward)(x)
    with raises("READONLY_GRAD"):
        y.backward(gradient)
    assert it(gradient) == [5.0]


def test_gradients_handed_to_node_hooks_are_read_only():
    def run(register):
        y = L([1.0]) * 2
        register(y.grad_fn)
        y.backward()

    with raises("READONLY_GRAD"):
        run(lambda node: node.register_prehook(lambda qs: (qs[0].mul_(2), None)[1]))
    with raises("READONLY_GRAD"):
        run(lambda node: node.register_hook(lambda gi, go: (gi[0].mul_(2), None)[1]))


# Hooks as part of the computation


def test_a_hook_under_create_graph_is_differentiated():
    x = L([3.0])
    y = x * 2
    y.register_hook(lambda q: q * x)
    (first,) = g(y * 1, x, create_graph=True)
    assert it(first.detach()) == [6.0]
    assert it(g(first, x)[0]) == [2.0]


def test_requested_leaves_fire_all_their_hooks_in_backward():
    x, log = L([1.0]), []
    y = x * 2
    node = accumulator(x)
    x.register_hook(lambda q: log.append("tensor"))
    node.register_prehook(lambda qs: log.append("pre"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("post accumulate"))
    node.register_hook(lambda gi, go: log.append("post"))
    bw(y, inputs=x)
    assert log == ["tensor", "pre", "post accumulate", "post"]


# Multi-grad hooks


def test_a_multi_grad_hook_is_silent_when_none_is_visited_or_the_pass_fails():
    a, b, calls = L([1.0]), L([1.0]), []
    multi_grad_hook((a, b), lambda gradients: calls.append(gradients))
    (L([1.0]) * 2).backward()
    assert calls == []

    def fail(c, q):
        raise ValueError("no")

    bad = Fn(lambda c, x: x * 1, fail)(b)
    with pytest.raises(ValueError):
        (bad + a * 2).backward()
    assert calls == []


def test_a_multi_grad_hook_accepts_a_tensor_twice_and_its_handle_removes_every_part():
    a, b, calls = L([1.0]), L([1.0]), []
    handle = multi_grad_hook((a, b, a), lambda gradients: calls.append([q.item() for q in gradients]))
    (a * 2 + b * 3).backward()
    assert calls == [[2.0, 3.0, 2.0]]
    handle.remove()
    (a * 2 + b * 3).backward()
    assert len(calls) == 1


def test_a_multi_grad_hook_gets_none_for_an_undefined_gradient():
    a, b, calls = L([1.0]), L([1.0]), []
    multi_grad_hook((a, b), lambda gradients: calls.append([q if q is None else q.item() for q in gradients]))
    Fn(lambda c, x, y: x * y, lambda c, q: (q, None))(a, b).backward()
    assert calls == [[1.0, None]]


def test_non_rg_entries_are_an_error_for_all_and_ignored_for_any():
    a, calls = L([1.0]), []
    with raises("HOOK_NO_GRAD"):
        multi_grad_hook((a, C([1.0])), lambda gradients: None, mode="all")
    multi_grad_hook((a, C([1.0])), lambda q: calls.append(q.item()), mode="any")
    (a * 2).backward()
    assert calls == [2.0]


def test_multi_grad_state_is_per_pass_even_when_passes_nest():
    a, b, log = L([1.0]), L([1.0]), []
    multi_grad_hook((a, b), lambda gradients: log.append([q.item() for q in gradients]))
    y = a * 2
    inner = a * 10 + b * 20
    y.register_hook(lambda q: inner.backward())
    (y + b * 3).backward()
    assert log == [[10.0, 20.0], [2.0, 3.0]]


# Hooks and in-place writes


def write_itself(b, v):
    b.mul_(3)


def write_through_a_view(b, v):
    b[:2].mul_(3)


def write_the_view(b, v):
    v.mul_(3)


@pytest.mark.parametrize("write", [write_itself, write_through_a_view])
def test_on_a_written_tensor_hooks_stay_with_the_old_value_and_retain_grad_follows_the_new(write):
    seen = []
    b = L([1.0, 1.0]).clone()
    b.register_hook(lambda q: seen.append(it(q)))
    b.retain_grad()
    write(b, None)
    b.sum().backward()
    assert seen == [[3.0, 3.0]]
    assert it(b.grad) == [1.0, 1.0]


@pytest.mark.parametrize("write", [write_itself, write_through_a_view, write_the_view])
def test_on_a_view_of_a_written_base_hooks_stay_behind_and_retain_grad_follows(write):
    x, seen = L([1.0, 1.0, 1.0]), []
    b = x.clone()
    v = b[:2]
    v.register_hook(lambda q: seen.append(it(q)))
    v.retain_grad()
    write(b, v)
    (v * 5).sum().backward()
    assert seen == []
    assert it(v.grad) == [5.0, 5.0]
    assert it(x.grad) == [15.0, 15.0, 0.0]


def test_retain_grad_on_a_stale_view_refreshes_it():
    b = L([1.0, 1.0]).clone()
    v = b[:1]
    b *= 3
    v.retain_grad()
    (v * 5).sum().backward()
    assert it(v.grad) == [5.0]


def test_a_hook_on_a_leaf_is_kept_over_untracked_writes():
    x, seen = L([1.0]), []
    x.register_hook(lambda q: seen.append(q.item()))
    with ng():
        x.add_(1)
    (x * 2).backward()
    assert seen == [2.0]
