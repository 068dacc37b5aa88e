"""`cond`, `scan`, `while_loop`, `fori_loop`: compiled they are real loops, with the derivatives of the plain code."""

import numpy as np
import pytest

import pullback as pb
from tests.aot.control_programs import (
    BACKENDS,
    PROGRAMS,
    branch_of_outside_values,
    check_gradients,
    compiled,
    gradients,
    nodes_of,
    recurrent,
    same,
    tensors,
)

X = pb.tensor([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_the_plain_loop(name, backend):
    function, *shapes = PROGRAMS[name]
    check_gradients(function, tensors(*shapes), backend)


# What a graph looks like.


def test_one_node_forward_and_one_node_backward():
    graph = pb.aot.joint_graph(recurrent, *tensors((3, 3), (50, 3), (3,))).graph
    forward, backward = nodes_of(graph, "scan")
    assert (forward.tag, forward.attrs["reverse"], forward.attrs["length"]) == ("fw", False, 50)
    assert (backward.tag, backward.attrs["reverse"], backward.attrs["length"]) == ("bw", True, 50)
    assert len(graph.nodes) < 20
    assert pb.aot.Graph.from_text(graph.to_text()) == graph


def test_constants_and_slices_are_not_kept_for_every_step():
    weights, xs, state = tensors((3, 3), (50, 3), (3,))

    def function(weights, xs, state):
        def step(h, x):
            return (h @ weights.T * x).tanh(), None

        return pb.scan(step, state, xs)[0].sum()

    (forward, _) = nodes_of(pb.aot.joint_graph(function, weights, xs, state).graph, "scan")
    assert all(value.type.shape[1:] == (3,) for value in forward.results[1:])
    check_gradients(function, [weights, xs, state])


def test_a_branch_is_one_node_and_its_gradient_another():
    graph = pb.aot.joint_graph(branch_of_outside_values, *tensors((3,), (3,))).graph
    assert [node.tag for node in nodes_of(graph, "cond")] == ["fw", "bw"]


def test_the_numpy_backend_writes_a_loop():
    function = compiled(recurrent)
    args = tensors((3, 3), (5, 3), (3,))
    gradients(function, args)
    assert nodes_of(function.entries()[0].forward_graph, "scan")
    assert [node.attrs["reverse"] for node in nodes_of(function.entries()[0].partition.backward, "scan")] == [True]


def test_bodies_run_once():
    calls = []

    def function(x):
        def step(c, row):
            calls.append("step")
            return c * row, None

        return pb.scan(step, x[0], x)[0].sum()

    args = tensors((20, 3))
    gradients(compiled(function, side_effects="trace"), args)
    assert calls == ["step"]


# Structures.


def test_trees_everywhere():
    def function(w, xs):
        def step(carry, x):
            a = carry["a"] * x[0] + w
            return {"a": a, "n": None, "m": (carry["m"][0] + 1,)}, (a.sum(), None, [x[1]["b"] * a])

        last, ys = pb.scan(step, {"a": w, "n": None, "m": (pb.tensor(0),)}, (xs, {"b": xs * 2}))
        assert last["n"] is None and ys[1] is None
        return last["a"].sum() + ys[0].sum() + ys[2][0].sum() + last["m"][0]

    check_gradients(function, tensors((3,), (4, 3)))


def test_a_carry_that_is_not_differentiated_gets_no_gradient():
    def function(x, fixed):
        def step(c, row):
            return (c[0] * row + c[1], c[1] * 0.5), None

        return pb.scan(step, (x[0], fixed), x)[0][0].sum()

    (x,) = tensors((5, 3))
    fixed = pb.tensor([1.0, 2.0, 3.0])
    same(gradients(lambda x: function(x, fixed), [x]), gradients(compiled(lambda x: function(x, fixed)), [x]))
    joint = pb.aot.joint_graph(function, x, fixed).graph
    _, backward = nodes_of(joint, "scan")
    assert backward.attrs["carried"] == 1


def test_captured_tensors_get_gradients_in_both_modes():
    (captured,) = tensors((3,), seed=3)
    (x,) = tensors((5, 3))

    def function(x):
        return pb.scan(lambda c, row: ((c * captured + row).tanh(), None), x[0], x)[0].sum()

    def slope(x):
        return pb.func.jvp(function, (x,), (x.detach() * 2,))[1]

    for way in (function, slope):
        expected = pb.autograd.grad(way(x), (x, captured))
        same(expected, pb.autograd.grad(compiled(way)(x), (x, captured)))


def test_gradient_of_a_captured_tensor_inside_a_body():
    (captured,) = tensors((3,), seed=3)

    def function(state, xs):
        def step(c, x):
            return c - 0.1 * pb.func.grad(lambda z: (z.sin() * z * x * c).sum())(captured), c

        last, ys = pb.scan(step, state, xs)
        return (last * last).sum() + ys.sum()

    args = [*tensors((3,), (5, 3)), captured]
    expected = pb.autograd.grad(function(*args[:2]), args)
    same(expected, pb.autograd.grad(compiled(function)(*args[:2]), args))


def test_fori_loop():
    def function(x):
        return pb.fori_loop(0, 5, lambda i, c: c * x[i % 3] + i, x).sum()

    check_gradients(function, tensors((3,)))
    counted = lambda n: pb.fori_loop(2, n, lambda i, c: c + i, 0)
    assert counted(6).item() == counted(pb.tensor(6)).item() == compiled(counted)(pb.tensor(6)).item() == 14
    assert pb.fori_loop(3, 1, lambda i, c: c + 1, 7).item() == 7


def test_a_predicate_that_is_known_chooses_while_tracing():
    def function(x, training):
        return pb.cond(training, lambda x: x * 2, lambda x: x, x).sum()

    (x,) = tensors((3,))
    assert not nodes_of(pb.aot.trace(function, x, True).graph, "cond")
    same(compiled(function)(x, True), (x * 2).sum())


def test_two_layers_of_lstm():
    size, batch = 4, 2

    def cell(h, c, x, w, u, b):
        z = x @ w + h @ u + b
        i, f, o, g = (z[..., k * size : (k + 1) * size] for k in range(4))
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def function(xs, *weights):
        def step(states, x):
            new = []
            for k, (h, c) in enumerate(states):
                h, c = cell(h, c, x, *weights[3 * k : 3 * k + 3])
                new.append((h, c))
                x = h
            return new, x

        zero = pb.zeros((batch, size))
        _, ys = pb.scan(step, [(zero, zero), (zero, zero)], xs)
        return (ys * ys).sum()

    shapes = [(size, 4 * size), (size, 4 * size), (4 * size,)] * 2
    check_gradients(function, tensors((7, batch, size), *shapes))


def test_other_dtypes():
    def function(x):
        def step(c, row):
            return c * row + 1j * c, (c.abs() ** 2).sum()

        last, ys = pb.scan(step, x[0], x)
        return (last.abs() ** 2).sum() + ys.sum()

    x = pb.tensor(np.random.default_rng(0).normal(size=(4, 2)).astype(np.complex64), requires_grad=True)
    expected, found = gradients(function, [x]), gradients(compiled(function), [x])
    np.testing.assert_allclose(expected[0].numpy(), found[0].numpy(), rtol=1e-5)
    assert found[0].dtype == np.complex64


# While loops.


def test_a_while_loop_is_a_loop():
    def function(x):
        return pb.while_loop(lambda c: c.sum() < 100, lambda c: c * 1.5 + 1, x)

    (x,) = (x.detach() for x in tensors((3,)))
    same(function(x), compiled(function)(x))
    assert nodes_of(pb.aot.trace(function, x).graph, "while_loop")


def test_a_while_loop_goes_forward_and_refuses_to_go_back():
    def function(x):
        return pb.while_loop(lambda c: (c * c).sum() < 50, lambda c: c * 1.5 + c.sin(), x).sum()

    (x,) = tensors((3,), scale=2)

    def slope(x):
        return pb.func.jvp(function, (x,), (x,))[1]

    same(slope(x.detach()), compiled(slope)(x.detach()))
    out = compiled(function)(x)
    with pytest.raises(pb.AutogradError, match="max_steps") as caught:
        out.backward()
    assert caught.value.code == "WHILE_REVERSE"
    assert gradients(function, [x])[0].shape == (3,)  # plain Python loops have no such limit


def test_max_steps_ends_a_loop():
    def function(x):
        return pb.while_loop(lambda c: c < 1000, lambda c: c + 1, x, max_steps=7)

    assert function(pb.tensor(0.0)).item() == compiled(function)(pb.tensor(0.0)).item() == 7
    assert nodes_of(pb.aot.trace(function, pb.tensor(0.0)).graph, "while_loop")  # nobody wants its gradient
    assert nodes_of(pb.aot.trace(function, pb.tensor(0.0, requires_grad=True)).graph, "scan")


def test_examples_leave_a_loop_one_by_one():
    def collatz(n):
        def step(state):
            n, steps = state
            return pb.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

        return pb.while_loop(lambda state: state[0] > 1, step, (n, 0))[1]

    numbers = pb.tensor([1, 2, 3, 7, 27])
    for way in (pb.vmap(collatz), compiled(pb.vmap(collatz))):
        assert way(numbers).tolist() == [0, 1, 7, 16, 111]


def test_in_inference_mode():
    def function(x):
        return pb.scan(lambda c, row: (c * row, c), x[0], x)

    with pb.inference_mode():
        last, ys = compiled(function)(X)
    assert last.is_inference() and ys.is_inference()
    assert last.tolist() == [3, 16]


# Plain code.


def test_under_vmap_a_branch_chooses_per_example():
    def function(x):
        return pb.cond(x > 0, lambda x: x**3, lambda x: x * 2, x)

    for way in (pb.vmap(function), compiled(pb.vmap(function))):
        assert way(pb.tensor([3.0, -1.0])).tolist() == [27, -2]
    slopes = pb.vmap(pb.func.grad(function))(pb.tensor([2.0, -1.0]))
    assert slopes.tolist() == [12, 2]


def test_in_plain_code_a_body_owns_its_carry():
    start = pb.tensor([1.0, 1.0])

    def step(c, x):
        c += x
        return c, c

    last, ys = pb.scan(step, start, pb.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert start.tolist() == [1, 1]
    assert last.tolist() == [5, 7]
    assert ys.tolist() == [[2, 3], [5, 7]]


def test_plain_scan_without_steps_has_ys_of_the_right_shape():
    last, ys = pb.scan(lambda c, x: (c, (c, x[:, None])), pb.zeros(2), pb.zeros((0, 3), dtype="float32"))
    assert last.shape == (2,)
    assert [(y.shape, y.dtype) for y in ys] == [((0, 2), np.float64), ((0, 3, 1), np.float32)]


# Errors, the same in plain and compiled code.


def both(function, *args):
    return [lambda: function(*args), lambda: compiled(function)(*args)]


def refused(function, args, kind, *parts):
    for call in both(function, *args):
        with pytest.raises(kind) as caught:
            call()
        for part in parts:
            assert part in str(caught.value)


def test_a_carry_that_changes_is_named():
    refused(
        lambda x: pb.scan(lambda c, row: ({"h": c["h"].sum(), "n": c["n"]}, None), {"h": x[0], "n": 0}, x)[0]["h"],
        (X,), TypeError, "scan: carry['h'] is float64[2] in what the body is given and float64[] in what it returns",
    )  # fmt: skip
    refused(
        lambda x: pb.scan(lambda c, row: (c.astype("float32"), None), x[0], x)[0], (X,), TypeError,
        "float32[2] in what it returns", ".astype('float64')",
    )  # fmt: skip
    refused(lambda x: pb.scan(lambda c, row: ((c, c), None), x[0], x)[0][0], (X,), TypeError, "structure")
    refused(
        lambda x: pb.while_loop(lambda c: c.sum() < 9, lambda c: c[:1], x[0]), (X,), TypeError,
        "while_loop: carry is float64[2]",
    )  # fmt: skip


def test_a_body_returns_a_pair():
    refused(lambda x: pb.scan(lambda c, row: c, x[0], x)[0], (X,), TypeError, "pair (carry, y)", "a Tensor")
    refused(lambda x: pb.scan(lambda c, row: ("h", None), x[0], x)[0], (X,), TypeError, "carry is of type str")


def test_lengths_agree():
    refused(lambda x: pb.scan(lambda c, row: (c, None), x[0], x, length=3)[0], (X,), ValueError, "xs has 2 slices")
    refused(
        lambda x: pb.scan(lambda c, row: (c, None), x[0], {"a": x, "b": x.sum()})[0], (X,), ValueError,
        "xs['b'] has no axis",
    )  # fmt: skip
    refused(lambda x: pb.scan(lambda c, row: (c, None), x[0])[0], (X,), ValueError, "length=")
    refused(lambda x: pb.scan(lambda c, row: (c, None), x[0], None, length=-1)[0], (X,), ValueError, "negative")


def test_branches_agree():
    def function(x):
        return pb.cond(x.sum() > 0, lambda x: (x, x.sum()), lambda x: (x, x), x)[0]

    with pytest.raises(TypeError, match=r"result\[1\] is float64\[\] in what true_fn returns and float64\[2, 2\]"):
        compiled(function)(X)
    with pytest.raises(TypeError, match=r"result\[1\]"):
        pb.vmap(lambda x: pb.cond(x.sum() > 0, lambda x: (x, x.sum()), lambda x: (x, x), x)[0])(X)


def test_a_predicate_has_no_axes():
    refused(lambda x: pb.cond(x > 0, lambda x: x, lambda x: -x, x), (X,), TypeError, "[2, 2]", ".all()")


def test_writes_to_tensors_from_outside_are_refused_in_a_trace():
    def writes_outside(x):
        total = pb.zeros(2)

        def step(c, row):
            total.add_(row)
            return c, None

        pb.scan(step, x[0], x)
        return total

    assert writes_outside(X).tolist() == [4, 6]
    for function in (
        writes_outside,
        lambda x: pb.scan(lambda c, row: (c, row.add_(1)), x[0], x * 1)[1],
        lambda x: pb.cond(x.sum() > 0, lambda x: x.add_(1), lambda x: x, x * 1),
        lambda x: pb.while_loop(lambda c: c.add_(1).sum() < 9, lambda c: c * 2, x[0]),
    ):
        with pytest.raises(pb.aot.TraceError, match="does not own"):
            compiled(function)(X)


def test_a_value_is_asked_for_in_a_body():
    def function(x):
        return pb.scan(lambda c, row: (c * 2 if row.sum() > 0 else c, None), x[0], x)[0]

    assert function(X).tolist() == [4, 8]
    with pytest.raises(pb.aot.ConcretizationError, match=r"pb\.cond"):
        compiled(function)(X)


class Twice(pb.autograd.Function):
    """Says that its derivative is 3."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 3


def test_a_custom_function_keeps_its_derivative_and_refuses_further_ones():
    def function(x):
        return pb.scan(lambda c, row: (Twice.apply(c) * row, None), x[0], x)[0].sum()

    x = pb.tensor(X.numpy(), requires_grad=True)
    same(gradients(function, [x]), gradients(compiled(function), [x]))
    with pytest.raises(pb.aot.TraceError, match="Twice"):
        compiled(lambda x: pb.func.jvp(function, (x,), (x,))[1])(X)
    with pytest.raises(pb.aot.TraceError, match="Twice"):
        compiled(pb.func.hessian(function))(X)


def test_a_custom_operator_has_all_its_derivatives():
    @pb.library.custom_op("test_control_flow::cube", mutates_args=())
    def cube(x: pb.Tensor) -> pb.Tensor:
        return x**3

    cube.register_fake(pb.empty_like)
    cube.register_autograd(
        lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )

    def function(x):
        return pb.scan(lambda c, row: (cube(c * row) * 0.5 + c.sin(), cube(c)), x[0], x)[0].sum()

    for way in (pb.func.grad(function), pb.func.jacrev(pb.func.grad(function))):
        same(way(X), compiled(way)(X))


def test_effects_happen_in_every_step(capsys):
    def function(x):
        return pb.scan(lambda c, row: (pb.aot.debug_print("{}", c) * row, None), x[0], x)[0].sum()

    x = pb.tensor(X.numpy(), requires_grad=True)
    expected = gradients(function, [x])
    plain = capsys.readouterr().out
    assert plain.count("\n") == 2
    same(expected, gradients(compiled(function), [x]))
    assert capsys.readouterr().out == plain


def test_no_grad_in_a_body():
    def function(x):
        def step(c, row):
            with pb.no_grad():
                fixed = c * row
            return (c * fixed).sin(), None

        return pb.scan(step, x[0], x)[0].sum()

    x = pb.tensor(X.numpy(), requires_grad=True)
    same(gradients(function, [x]), gradients(compiled(function), [x]))

    def slope(x):
        return pb.func.jvp(function, (x,), (x,))[1]

    same(slope(X), compiled(slope)(X))
    same(pb.func.hessian(function)(X), compiled(pb.func.hessian(function))(X))


def test_random_numbers_in_bodies():
    def walk(x):
        return pb.scan(lambda c, _: (c * (1 + 0.1 * pb.random.normal(size=3)), c), x, None, length=4)[0].sum()

    (x,) = tensors((3,))
    function = compiled(walk)
    pb.random.manual_seed(1)
    expected = gradients(walk, [x])
    pb.random.manual_seed(1)
    same(expected, gradients(function, [x]))

    def chosen(x):
        return pb.cond(x.sum() > 0, lambda x: (x * pb.random.normal(size=3)).sum(), lambda x: x.sum(), x)

    with pytest.raises(pb.aot.TraceError, match="draw"):
        gradients(compiled(chosen), [x])
