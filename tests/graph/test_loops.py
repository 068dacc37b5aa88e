"""Loops in graphs: what nobody reads goes, and two loops over the same become one."""

import numpy as np

import pullback as pb
from pullback.graph.graph import Graph


def graph_of(function, *shapes):
    return pb.aot.trace(function, *[pb.aot.spec(shape) for shape in shapes]).graph


def arrays_for(graph, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=value.type.shape) for value in graph.inputs]


def same_results(first, second):
    arrays = arrays_for(first)
    for a, b in zip(first.eval(*arrays), second.verify().eval(*arrays), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def loops(graph):
    return [node for node in graph.nodes if node.op == "scan"]


def raw(function, *shapes):
    """The graph before any pass has run, without its last output."""
    graph = graph_of(function, *shapes).copy()
    del graph.outputs[-1], graph.output_descs[-1]
    return graph


def several(x, w):
    def step(carry, row):
        a, b, unused = carry
        a = (a * row).sin()
        b = b + a.exp()
        return (a, b, unused * w), (a * 2, b * 3, unused + row)

    (a, b, _), (first, second, third) = pb.scan(step, (x[0], x[1], x[0]), x)
    return a + b, first, second, third


def test_collected_values_that_nobody_reads_go_with_what_they_needed():
    graph = raw(several, (4, 3), (3,))
    (before,), (after,) = loops(graph), loops(graph.dce())
    assert (len(before.results), before.attrs["carried"], len(before.operands)) == (6, 3, 5)
    assert (len(after.results), after.attrs["carried"], len(after.operands)) == (4, 2, 3)
    same_results(graph, graph.dce())


def test_a_carried_value_stays_if_another_needs_it():
    def function(x):
        (_, b), ys = pb.scan(lambda c, row: ((c[0] + row, c[1] * c[0]), row), (x[0], x[1]), x)
        return b, ys

    (after,) = loops(raw(function, (4, 3)).dce())
    assert after.attrs["carried"] == 2
    assert len(after.results) == 2


def test_branches_and_while_loops_are_narrowed_too():
    def branch(x, y):
        return pb.cond(x.sum() > 0, lambda x: (x.sin(), y), lambda x: (x, y * 2), x)

    graph = raw(branch, (3,), (3,))
    (node,) = [node for node in graph.dce().nodes if node.op == "cond"]
    assert len(node.results) == 1
    assert len(node.operands) == 2
    same_results(graph, graph.dce())

    def loop(x, y):
        return pb.while_loop(lambda c: c[0].sum() < 9, lambda c: (c[0] + 1, c[1] * c[2], c[2] + 1), (x, y, y))[::2]

    graph = raw(loop, (3,), (3,))
    (node,) = [node for node in graph.dce().nodes if node.op == "while_loop"]
    assert node.attrs["carried"] == len(node.operands) == 1
    same_results(graph, graph.dce())


def test_two_loops_that_carry_the_same_become_one():
    def function(x):
        a, first = pb.scan(lambda c, row: ((c * row).sin(), c.exp()), x[0], x)
        _, second = pb.scan(lambda c, row: ((c * row).sin(), (c * row).sin() * 2), x[0], x)
        return a, first, second

    graph = graph_of(function, (4, 3))
    assert len(loops(graph)) == 2
    (fused,) = loops(graph.cse().dce())
    assert len(fused.results) == 3
    assert sum(node.op == "sin" for node in fused.attrs["body"].nodes) == 1
    same_results(graph, graph.cse().dce())


def test_loops_that_carry_other_things_stay_apart():
    def function(x):
        a, _ = pb.scan(lambda c, row: ((c * row).sin(), None), x[0], x)
        b, _ = pb.scan(lambda c, row: ((c * row).cos(), None), x[0], x)
        return a + b

    assert len(loops(graph_of(function, (4, 3)).cse().dce())) == 2


def test_what_is_returned_twice_stays_two_arrays():
    def function(x):
        _, first = pb.scan(lambda c, row: (c, c * row), x[0], x)
        _, second = pb.scan(lambda c, row: (c, c * row), x[0], x)
        return first, second

    first, second = pb.compile(function, fallback="raise")(pb.ones((4, 3)))
    first += 1
    assert second.tolist() == np.ones((4, 3)).tolist()


def test_hessian_vector_products_need_two_loops():
    def function(w, x):
        return pb.scan(lambda c, row: ((w @ c + row).tanh(), None), x[0], x)[0].sum()

    def product(w, x, v):
        return pb.func.jvp(lambda w: pb.func.grad(function)(w, x), (w,), (v,))[1]

    graph = graph_of(product, (3, 3), (5, 3), (3, 3)).cse().dce()
    assert [node.attrs["reverse"] for node in loops(graph)] == [False, True]


def test_gradients_of_matrices_are_one_product_after_the_loop():
    def function(w, b, x):
        return pb.scan(lambda c, row: ((c @ w + row @ w.T + b).tanh(), None), x[0], x)[0].sum()

    for shape in [(5, 3), (5, 2, 3)]:
        graph = graph_of(lambda w, b, x: pb.func.grad(function, argnums=(0, 1))(w, b, x), (3, 3), (3,), shape)
        _, backward = loops(graph)
        assert backward.attrs["carried"] == 1
        assert all(value.type.shape != (3, 3) for value in backward.results)
        args = [pb.tensor(array) for array in arrays_for(graph)]
        expected = pb.func.grad(function, argnums=(0, 1))(*args)
        for found, wanted in zip(graph.eval(*[x.numpy() for x in args]), expected, strict=True):
            np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-10)


def test_a_large_batch_adds_its_products_step_by_step():
    def function(w, x):
        return pb.scan(lambda c, row: ((c @ w + row).tanh(), None), x[0], x)[0].sum()

    graph = graph_of(lambda w, x: pb.func.grad(function)(w, x), (3, 3), (5, 50, 3))
    _, backward = loops(graph)
    assert backward.attrs["carried"] == 2


def test_what_is_the_same_in_every_step_is_computed_once():
    def function(w, x):
        def step(c, row):
            inner, _ = pb.scan(lambda d, _: (d * w.exp(), None), c, None, length=2)
            return inner + (w * 2).T.sum() + (w @ w).sin(), row

        last, _ = pb.scan(step, x[0], x)
        return pb.while_loop(lambda c: c.sum() < 5, lambda c: c + w.cosh(), last)

    graph = graph_of(function, (3, 3), (4, 3, 3))
    assert {"exp", "sum", "sin", "cosh", "matmul"} <= {node.op for node in graph.nodes}
    (loop,) = loops(graph)
    assert [node.op for node in loop.attrs["body"].nodes if node.op != "scan"] == ["add", "add"]
    w, x = arrays_for(graph)
    np.testing.assert_allclose(graph.verify().eval(w, x)[0], function(pb.tensor(w), pb.tensor(x)).numpy())


def test_what_might_raise_stays_in_the_loop():
    def function(w, x):
        return pb.scan(lambda c, row: (pb.linalg.inv(w) @ c, None), x[0], x)[0]

    (loop,) = loops(graph_of(function, (3, 3), (4, 3)))
    assert any("inv" in node.op for node in loop.attrs["body"].nodes)


def test_loops_can_be_read_back():
    graph = graph_of(several, (4, 3), (3,))
    assert Graph.from_text(graph.to_text()) == graph
