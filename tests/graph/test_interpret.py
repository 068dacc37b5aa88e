"""Running graphs on arrays and on tensors."""

import gc
import weakref

import numpy as np
import pytest

import pullback as pb
from pullback.declare.op import registry
from pullback.errors import AutogradError, InternalError
from pullback.graph.graph import Graph
from pullback.graph.interpret import on_tensors
from tests.graph.building import Builder, body, every_sample, graph_of_call


def test_draws_give_what_the_kernel_gives():
    """All other operators are run by `test_text.py`, after their graphs were written and read."""
    draws = every_sample("random")
    assert len(draws) > 30
    for op, sample in draws:
        graph, arrays, outs = graph_of_call(op, sample)
        for got, expected in zip(graph.eval(*arrays), outs, strict=True):
            assert type(got) is np.ndarray
            np.testing.assert_array_equal(got, expected, err_msg=f"{op.name}-{sample.label}")


def test_every_sample_runs_on_tensors():
    for op, sample in every_sample():
        graph, arrays, outs = graph_of_call(op, sample)
        for got, expected in zip(graph.run_on(*map(pb.asarray, arrays)), outs, strict=True):
            np.testing.assert_array_equal(got.numpy(), expected, err_msg=f"{op.name}-{sample.label}")


def polynomial():
    b = Builder("forward", np.ones(3))
    (x,) = b.inputs
    return b.returns(b.add(b.multiply(x, x), b.multiply(x, 2.0)))


def test_a_graph_on_tensors_records_a_tape():
    x = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (out,) = polynomial().run_on(x)
    out.sum().backward()
    assert x.grad.tolist() == [4.0, 6.0, 8.0]


def test_a_graph_on_tensors_can_be_mapped_and_differentiated_forward():
    graph = polynomial()
    rows = pb.tensor(np.arange(6.0).reshape(2, 3))
    assert pb.vmap(lambda x: graph.run_on(x)[0])(rows).tolist() == [[0.0, 3.0, 8.0], [15.0, 24.0, 35.0]]
    _, tangent = pb.func.jvp(lambda x: graph.run_on(x)[0], (pb.ones(3),), (pb.ones(3),))
    assert tangent.tolist() == [4.0, 4.0, 4.0]


def test_the_number_of_inputs_is_checked():
    with pytest.raises(AutogradError, match="takes 1 inputs, and 2 were given") as caught:
        polynomial().eval(np.ones(3), np.ones(3))
    assert caught.value.code == "GRAPH_INPUTS"


def test_eval_boxed_clears_its_list_and_lets_inputs_go():
    b = Builder("forward", np.ones(3))
    alive = []

    def probe(*operands, **params):
        gc.collect()
        alive.append(reference() is not None)
        return operands[0] + 1

    node = b.sin(b.inputs[0]).node
    last = b.cos(node.result).node

    class Op:
        kernel, name, is_view, family = staticmethod(probe), "probe", False, "general"

    last.target = Op
    graph = b.returns(last.result)
    array = np.zeros(3)
    reference = weakref.ref(array)
    boxed = [array]
    del array
    assert graph.eval_boxed(boxed)[0].tolist() == [1.0, 1.0, 1.0]
    assert boxed == [] and alive == [False]


def test_an_operator_that_gives_another_number_of_results_is_found_out():
    b = Builder("forward", np.ones(2))
    graph = b.returns(b.sin(b.inputs[0]))
    graph.nodes[0].target = registry["_unbind"]
    graph.nodes[0].attrs = {"axis": 0}
    with pytest.raises(InternalError, match="gave 2 results where its graph has 1"):
        graph.eval(np.ones(2))


def test_an_absent_gradient_is_none():
    b = Builder("backward", np.ones(2))
    assert b.returns(None, b.sin(b.inputs[0])).eval(np.zeros(2))[0] is None


def test_constants_that_are_returned_are_copies_each_time():
    b = Builder()
    c = b.constant([1.0, 2.0, 3.0])
    graph = b.returns(c, b("_basic_index", c, index=(slice(1, None), ...)))
    whole, part = graph.eval()
    whole[:] = part[:] = 9
    assert graph.eval()[0].tolist() == [1.0, 2.0, 3.0]
    tensor = graph.run_on()[0]
    tensor.mul_(7)
    assert graph.run_on()[0].tolist() == [1.0, 2.0, 3.0]


STEPS = [
    ("_basic_index", {"index": (slice(1, None), ...)}),
    ("permute_dims", {"axes": (1, 0)}),
    ("_reshape", {"shape": (6,)}),
    ("diagonal", {"offset": 0, "axis1": 0, "axis2": 1}),
]


WAYS = [STEPS[:1], STEPS[1:2], STEPS[2:3], STEPS[3:], STEPS[:2], [], [*STEPS[:1], *STEPS[3:]]]


@pytest.mark.parametrize("steps", WAYS, ids=lambda steps: "-".join(name for name, _ in steps))
def test_an_update_writes_through_views_and_leaves_its_base_alone(steps):
    b = Builder("forward", np.arange(6.0).reshape(2, 3), np.array(9.0))
    x, v = b.inputs
    out = b.update(x, v, *steps)
    graph = b.returns(out)
    base = np.arange(6.0).reshape(2, 3)
    (got,) = graph.eval(base, np.array(9.0))
    np.testing.assert_array_equal(got, b.arrays[out])
    assert base.tolist() == np.arange(6.0).reshape(2, 3).tolist()
    np.testing.assert_array_equal(graph.run_on(pb.tensor(base), pb.tensor(9.0))[0].numpy(), b.arrays[out])


def test_an_update_is_differentiable_on_tensors():
    b = Builder("forward", np.zeros(3), np.array(1.0))
    x, v = b.inputs
    graph = b.returns(b.update(x, v, ("_basic_index", {"index": (1, ...)})))
    base, value = pb.zeros(3, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    (graph.run_on(base, value)[0] * pb.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert base.grad.tolist() == [1.0, 0.0, 3.0] and value.grad.item() == 2.0


def test_stores_write_the_inputs_after_everything_else():
    b = Builder("forward", np.zeros(2), np.zeros(2))
    x, y = b.inputs
    total = b.add(x, y)
    b.store(x, y)
    b.store(y, x)
    graph = b.returns(total, x)
    first, second = np.array([1.0, 2.0]), np.array([10.0, 20.0])
    out, same = graph.eval(first, second)
    assert first.tolist() == [10.0, 20.0] and second.tolist() == [1.0, 2.0]  # exchanged, not copied over each other
    assert out.tolist() == [11.0, 22.0] and same is first
    left, right = pb.tensor([1.0, 2.0]), pb.tensor([10.0, 20.0])
    assert graph.run_on(left, right)[1] is left
    assert left.tolist() == [10.0, 20.0] and right.tolist() == [1.0, 2.0] and left._version == 1


def test_draws_happen_in_order_and_each_time():
    generator = np.random.default_rng(3)
    b = Builder()
    params = {"kind": "standard_normal", "shape": (2,), "dtype": np.dtype(float), "generator": generator}
    graph = b.returns(b("_draw", **params), b("_draw", **params))
    generator.bit_generator.state = np.random.default_rng(5).bit_generator.state
    expected = np.random.default_rng(5).standard_normal(8).reshape(4, 2)
    np.testing.assert_array_equal(graph.eval() + graph.eval(), expected)


def branch_graph():
    b = Builder("forward", np.array(True), np.ones(2))
    p, x = b.inputs
    attrs = {
        "true": body("double", lambda inner, y: [inner.multiply(y, 2), y], np.ones(2)),
        "false": body("same", lambda inner, y: [y, y], np.ones(2)),
    }
    return b.returns(*b.control("cond", (p, x), attrs, [np.ones(2), np.ones(2)]))


def test_cond_runs_one_branch_and_gives_arrays_of_its_own():
    graph, x = branch_graph(), np.ones(2)
    assert [a.tolist() for a in graph.eval(np.array(True), x)] == [[2.0, 2.0], [1.0, 1.0]]
    first, second = graph.eval(np.array(False), x)
    assert not (np.shares_memory(first, x) or np.shares_memory(first, second))
    assert graph.run_on(pb.tensor(True), pb.ones(2))[0].tolist() == [2.0, 2.0]


def test_while_loop_runs_until_the_condition_is_false():
    b = Builder("forward", np.array(1.0), np.array(100.0))
    attrs = {
        "condition": body("below", lambda inner, c, end: [inner.less(c, end)], np.array(1.0), np.array(1.0)),
        "body": body("double", lambda inner, c, end: [inner.multiply(c, 2)], np.array(1.0), np.array(1.0)),
        "carried": 1,
    }
    graph = b.returns(b.control("while_loop", b.inputs, attrs, [np.array(1.0)])).verify()
    start = np.array(200.0)
    assert graph.eval(np.array(1.0), np.array(100.0))[0] == 128.0
    assert graph.eval(start, np.array(100.0))[0] is not start
    assert graph.run_on(pb.tensor(1.0), pb.tensor(100.0))[0].item() == 128.0


def scan_graph(length, reverse):
    b = Builder("forward", np.array(0.0), np.ones((length, 2)), np.array(3.0))

    def turn(inner, c, y, k):
        total = inner.add(c, inner.sum(y, axis=(0,), dtype=None, keepdims=False))
        return [total, inner.multiply(y, k), total]

    step = body("turn", turn, np.array(0.0), np.ones(2), np.array(1.0))
    attrs = {"body": step, "carried": 1, "scanned": 1, "length": length, "reverse": reverse}
    outs = [np.array(0.0), np.ones((length, 2)), np.ones(length)]
    return b.returns(*b.control("scan", b.inputs, attrs, outs)).verify()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("run", ["arrays", "tensors"])
def test_scan_carries_and_stacks(reverse, run):
    graph = scan_graph(3, reverse)
    xs = np.arange(6.0).reshape(3, 2)
    given = [np.array(0.0), xs, np.array(10.0)]
    total, scaled, sums = graph.eval(*given) if run == "arrays" else graph.run_on(*map(pb.tensor, given))
    rows = xs.sum(1)
    expected = np.cumsum(rows[::-1])[::-1] if reverse else np.cumsum(rows)
    assert total.item() == 15.0
    np.testing.assert_array_equal(np.asarray(scaled), 10 * xs)
    np.testing.assert_array_equal(np.asarray(sums), expected)


@pytest.mark.parametrize("run", ["arrays", "tensors"])
def test_scan_over_nothing_gives_empty_stacks(run):
    graph = scan_graph(0, False)
    given = [np.array(4.0), np.ones((0, 2)), np.array(1.0)]
    total, scaled, sums = graph.eval(*given) if run == "arrays" else graph.run_on(*map(pb.tensor, given))
    assert total.item() == 4.0 and scaled.shape == (0, 2) and sums.shape == (0,)


def test_other_packages_can_take_over_control_flow_on_tensors():
    seen = []

    def take_over(operands, attrs):
        seen.append(sorted(attrs))
        return [operands[1], operands[1]]

    on_tensors["cond"], before = take_over, on_tensors.get("cond")
    try:
        branch_graph().run_on(pb.tensor(True), pb.ones(2))
    finally:
        del on_tensors["cond"]
        if before is not None:
            on_tensors["cond"] = before
    assert seen == [["false", "true"]]


def test_a_graph_that_grew_is_planned_again():
    b = Builder("forward", np.ones(2))
    graph = b.returns(b.sin(b.inputs[0]))
    assert len(graph.eval(np.zeros(2))) == 1
    b.returns(b.cos(b.inputs[0]))
    assert graph.eval(np.zeros(2))[1].tolist() == [1.0, 1.0]
    assert isinstance(graph, Graph)
