"""What happens during a pass, beyond the numbered cases: buffers, pruning, errors, modes, nesting, introspection."""

import pytest

import pullback as pb

from .shorthand import C, Fn, L, bw, edge, failing, g, it, logged, ng, raises

graph = pb.autograd.graph


# --- 5.2 the run: buffers, undefined gradients, pruning ----------------------------------------------------------


def test_summing_into_a_buffer_does_not_write_a_gradient_that_a_hook_kept():
    x, kept = L([1.0, 2.0]), []
    h = x * 1
    early, late = h.view_as(h), h.view_as(h)
    late.register_hook(kept.append)
    early.register_hook(kept.append)
    bw([early, late], [C([1.0, 1.0]), C([2.0, 2.0])])
    assert [it(q) for q in kept] == [[2.0, 2.0], [1.0, 1.0]]
    assert it(x.grad) == [3.0, 3.0]


def test_an_undefined_gradient_still_counts_as_arrived():
    log, x = [], L([1.0])
    h = x * 2
    h.register_hook(lambda q: log.append(it(q)))
    silent = Fn(lambda c, x: x * 1, lambda c, q: None)(h)
    (silent + h * 3).backward()
    assert log == [[3.0]]
    assert it(x.grad) == [6.0]


def test_a_node_reached_only_by_undefined_gradients_is_visited():
    seen, x = [], L([1.0])
    h = Fn(lambda c, x: x * 1, lambda c, q: (seen.append(it(q)), q)[1])(x)
    Fn(lambda c, x: x * 1, lambda c, q: None)(h).backward()
    assert seen == [[0.0]]
    assert it(x.grad) == [0.0]


def test_a_primitive_reached_only_by_undefined_gradients_passes_them_on():
    seen, x = [], L([1.0])
    h = x.exp()
    h.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
    Fn(lambda c, x: x * 1, lambda c, q: None)(h).backward()
    assert seen == [((None,), (None,))]
    assert x.grad is None


def test_a_leaf_that_is_not_an_input_gets_nothing():
    x, w = L([1.0]), L([2.0])
    bw(x * w, inputs=x)
    assert it(x.grad) == [2.0] and w.grad is None


def test_the_same_node_under_several_paths_runs_once():
    calls, x = [], L([1.0])
    h = Fn(lambda c, x: x * 1, lambda c, q: (calls.append(it(q)), q)[1])(x)
    (h * h + h * 2 + h.exp() * 0).backward()
    assert calls == [[4.0]]


def test_saved_values_are_released_while_the_pass_is_running():
    states, x = [], L([2.0])
    y = x * x
    z = y * y
    node = z.grad_fn

    def look(q):
        with raises("SECOND_BACKWARD"):
            _ = node._saved_self
        states.append("released")

    y.register_hook(look)
    z.backward()
    assert states == ["released"]


# --- 5.2 the run: errors and grad mode ---------------------------------------------------------------------------


@pytest.mark.parametrize("error", [KeyError("k"), StopIteration(), SystemExit(3), GeneratorExit()], ids=repr)
def test_every_exception_comes_back_unchanged(error):
    x = L([1.0])
    with pytest.raises(type(error)) as caught:
        failing(error)(x).backward()
    assert caught.value is error
    assert graph.current_graph_task_id() == -1


def test_executed_nodes_stay_freed_after_an_error():
    a, b = L([1.0]), L([3.0])
    older = failing(ArithmeticError())(a)
    newer = b * b
    with pytest.raises(ArithmeticError):
        (older + newer).backward()
    with raises("SECOND_BACKWARD"):
        newer.backward()
    assert it(b.grad) == [6.0]


def test_an_error_under_no_grad_or_create_graph_restores_the_mode():
    x = L([1.0])
    y = failing(ArithmeticError())(x)
    with pytest.raises(ArithmeticError):
        y.backward(retain_graph=True)
    assert pb.is_grad_enabled() is True
    with ng():
        with pytest.raises(ArithmeticError):
            y.backward(create_graph=True)
        assert pb.is_grad_enabled() is False


def test_a_hook_that_changes_the_grad_mode_changes_it_for_nobody_else():
    modes, x = [], L([1.0])
    y = x * 2

    def meddle(q):
        pb.set_grad_enabled(True)

    y.register_hook(meddle)
    x.register_hook(lambda q: modes.append(pb.is_grad_enabled()))
    with ng():
        y.backward(retain_graph=True)
        assert pb.is_grad_enabled() is False
    y.backward()
    assert pb.is_grad_enabled() is True
    assert modes == [False, False]


def test_create_graph_holds_for_every_node_of_the_pass():
    modes, x = [], L([1.0])
    y = x.exp()
    z = Fn(lambda c, x: x * 1, lambda c, q: (modes.append(pb.is_grad_enabled()), q)[1])(y)
    x.register_hook(lambda q: modes.append(pb.is_grad_enabled()))
    z.backward(create_graph=True)
    z.backward()
    assert modes == [True, True, False, False]


# --- 5.2 the run: nesting, callbacks, introspection --------------------------------------------------------------


def test_a_nested_pass_over_a_released_node_is_an_error():
    x = L([3.0])
    y = x * x

    def again(q):
        y.backward()

    x.register_hook(again)
    with raises("SECOND_BACKWARD"):
        y.backward()


def test_a_nested_pass_through_the_same_leaf_accumulates():
    x = L([1.0])
    y = x * 2
    other = x * 10
    y.register_hook(lambda q: other.backward())
    y.backward()
    assert it(x.grad) == [12.0]


def test_grad_may_be_called_inside_a_formula():
    x = L([3.0])

    def square(c, x):
        c.save_for_backward(x)
        return x * x

    def by_grad(c, q):
        with pb.enable_grad():
            inner = c.saved_tensors[0].detach().requires_grad_()
            out = inner * inner
        return g(out, inner, q)[0]

    Fn(square, by_grad)(x).backward()
    assert it(x.grad) == [6.0]


def test_an_error_in_a_nested_pass_unwinds_both():
    x, other = L([1.0]), L([1.0])
    y = x * 2
    bad = failing(ArithmeticError())(other)
    y.register_hook(lambda q: bad.backward())
    with pytest.raises(ArithmeticError):
        y.backward()
    assert graph.current_graph_task_id() == -1 and graph.current_node() is None
    assert x.grad is None


def test_callbacks_run_in_order_and_once():
    x, log = L([1.0]), []
    y = x * 2
    y.register_hook(lambda q: graph.queue_callback(lambda: log.append("first")))
    x.register_hook(lambda q: graph.queue_callback(lambda: log.append("second")))
    y.backward()
    assert log == ["first", "second"]
    handle = y.register_hook(lambda q: log.append("pass"))
    y.backward()
    assert log == ["first", "second", "pass", "first", "second"]
    handle.remove()


def test_callbacks_also_run_in_grad_passes():
    x, log = L([1.0]), []
    y = x * 2
    y.register_hook(lambda q: graph.queue_callback(lambda: log.append("done")))
    g(y, x)
    assert log == ["done"]


def test_the_task_id_counts_the_passes():
    x, ids = L([1.0]), []
    y = x * 2
    assert graph.current_graph_task_id() == -1
    y.register_hook(lambda q: ids.append(graph.current_graph_task_id()))
    y.backward()
    g(y, x)
    y.backward()
    assert ids == [ids[0], ids[0] + 1, ids[0] + 2]
    assert ids[0] >= 0
    assert graph.current_graph_task_id() == -1


def test_a_nested_pass_has_its_own_task_id():
    x, other, ids = L([1.0]), L([1.0]), []
    y, inner = x * 2, other * 2
    inner.register_hook(lambda q: ids.append(graph.current_graph_task_id()))

    def nested(q):
        ids.append(graph.current_graph_task_id())
        inner.backward()
        ids.append(graph.current_graph_task_id())

    y.register_hook(nested)
    y.backward()
    assert ids == [ids[0], ids[0] + 1, ids[0]]


def test_the_current_node_is_the_one_being_visited():
    x, seen = L([1.0]), []
    y = x * 2
    assert graph.current_node() is None
    y.register_hook(lambda q: seen.append(graph.current_node()))
    z = Fn(lambda c, x: x * 1, lambda c, q: (seen.append(graph.current_node()), q)[1])(y)
    z.backward()
    assert seen == [z.grad_fn, y.grad_fn]
    assert graph.current_node() is None


def test_the_parts_of_a_pass_that_will_run_are_known():
    x, w, answers = L([1.0]), L([2.0]), []
    y, z = x * 2, w.exp()
    out = y * z
    leaf_x, leaf_w = edge(x).node, edge(w).node
    nodes = [out.grad_fn, y.grad_fn, z.grad_fn, leaf_x, leaf_w]
    out.register_hook(lambda q: answers.append([graph.will_execute(node) for node in nodes]))
    out.backward(retain_graph=True)
    bw(out, inputs=x, retain_graph=True)
    g(out, x, retain_graph=True)
    g(out, (y, w))
    assert answers == [
        [True, True, True, True, True],
        [True, True, False, True, False],
        [True, True, False, True, False],
        [True, True, True, False, True],
    ]
    with pytest.raises(RuntimeError):
        graph.will_execute(out.grad_fn)


def test_a_node_of_another_graph_will_not_execute():
    answers = []
    other = L([1.0]) * 2
    y = L([1.0]) * 2
    y.register_hook(lambda q: answers.append(graph.will_execute(other.grad_fn)))
    y.backward()
    assert answers == [False]


def test_the_execution_order_is_known_in_advance():
    a, b, planned, visited = L([1.0]), L([1.0]), [], []
    p = a * 2
    q = b * 3
    r = a * 4
    total = p + q + r
    nodes = {"a": edge(a).node, "b": edge(b).node, "p": p.grad_fn, "q": q.grad_fn, "r": r.grad_fn}
    for label, tensor in zip("abpqr", (a, b, p, q, r), strict=True):
        tensor.register_hook(logged(visited, label))
    total.register_hook(lambda _: planned.extend(graph.execution_order()))
    total.backward()
    assert all(isinstance(node, graph.Node) for node in planned)
    labels = {node: label for label, node in nodes.items()}
    assert [labels[node] for node in planned if node in labels] == visited == ["r", "q", "b", "p", "a"]
