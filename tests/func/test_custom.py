"""Derivatives stated by the author, `jacobian`, and Gauss-Newton products."""


import numpy as np
import pytest

import pullback as pb
from pullback.errors import AutogradError
from pullback.testing import assert_close


@pb.func.custom_jvp
def scaled_sine(tree, *, times=1.0):
    return {"value": times * pb.sin(tree["x"]) * tree["y"]}


@scaled_sine.defjvp
def scaled_sine_jvp(primals, tangents, *, times=1.0):
    (tree,), (t,) = primals, tangents
    slope = pb.cos(tree["x"]) * t["x"] * tree["y"] + pb.sin(tree["x"]) * t["y"]
    return scaled_sine(tree, times=times), {"value": 10 * times * slope}  # ten times too much, to be recognised


def plain(tree):
    return {"value": 2 * pb.sin(tree["x"]) * tree["y"]}


TREE = {"x": pb.tensor([0.3, 0.7]), "y": pb.tensor([2.0, 3.0])}


def test_a_forward_rule_serves_forward_mode():
    tangents = {"x": pb.ones(2), "y": pb.zeros(2)}
    out, slope = pb.func.jvp(lambda t: scaled_sine(t, times=2), (TREE,), (tangents,))
    expected, plain_slope = pb.func.jvp(plain, (TREE,), (tangents,))
    assert_close(out["value"], expected["value"])
    assert_close(slope["value"], 10 * plain_slope["value"])


def test_a_forward_rule_is_transposed_for_reverse_mode():
    found = pb.func.grad(lambda t: scaled_sine(t, times=2)["value"].sum())(TREE)
    expected = pb.func.grad(lambda t: plain(t)["value"].sum())(TREE)
    assert_close(found["x"], 10 * expected["x"])
    assert_close(found["y"], 10 * expected["y"])


def test_a_forward_rule_is_differentiated_again_and_mapped():
    @pb.func.custom_jvp
    def cube(x):
        return x**3

    @cube.defjvp
    def cube_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return cube(x), 3 * x * x * t

    x = pb.tensor([1.0, 2.0])
    assert_close(pb.func.hessian(lambda y: cube(y).sum())(x), np.diag([6.0, 12.0]))
    assert_close(pb.func.vmap(pb.func.grad(cube))(x), [3.0, 12.0])
    assert_close(pb.func.vmap(pb.func.grad(pb.func.grad(cube)))(x), [6.0, 12.0])
    y = x.clone().requires_grad_()
    cube(y).sum().backward()
    assert_close(y.grad, [3.0, 12.0])


def test_a_reverse_rule():
    @pb.func.custom_vjp
    def product(pair, factor):
        return pair[0] * pair[1] * factor

    product.defvjp(
        lambda pair, factor: (product(pair, factor), (pair, factor)),
        lambda kept, g: ((g * kept[0][1] * kept[1], g * kept[0][0] * 100), None),
    )
    a, b = pb.tensor(2.0), pb.tensor(3.0)
    found = pb.func.grad(lambda pair: product(pair, 5))((a, b))
    assert_close(found[0], 15.0)
    assert_close(found[1], 200.0)
    # The derivative of the stated gradient, not of the function's own.
    assert_close(pb.func.grad(lambda x: pb.func.grad(lambda y: product((x, y), 5))(b))(a), 100.0)
    assert_close(pb.func.vmap(lambda x: pb.func.grad(lambda y: product((y, b), 5))(x))(pb.ones(3)), [15.0] * 3)
    with pytest.raises(NotImplementedError):
        pb.func.jvp(lambda x: product((x, b), 5), (a,), (a,))


def test_rules_that_are_missing_or_return_too_little():
    with pytest.raises(RuntimeError, match="defjvp"):
        pb.func.custom_jvp(lambda x: x)(1.0)
    with pytest.raises(RuntimeError, match="defvjp"):
        pb.func.custom_vjp(lambda x: x)(1.0)
    wrong = pb.func.custom_vjp(lambda x, y: x * y)
    wrong.defvjp(lambda x, y: (x * y, None), lambda kept, g: (g,))
    with pytest.raises(ValueError, match="one gradient for each"):
        pb.func.grad(wrong)(pb.tensor(1.0), pb.tensor(2.0))


def test_stop_gradient_of_a_structure():
    gradient = pb.func.grad(lambda t: (t["x"] * pb.func.stop_gradient(t)["x"] * t["y"]).sum())(TREE)
    assert_close(gradient["x"], TREE["x"] * TREE["y"])


def test_jacobian_runs_the_cheaper_mode():
    x = pb.tensor([1.0, 2.0, 3.0])
    wide, tall = lambda y: (y * y).sum().reshape((1,)), lambda y: pb.concat([y, y * y])
    for function in (wide, tall):
        assert_close(pb.func.jacobian(function)(x), pb.func.jacrev(function)(x))
    rows = pb.func.jacobian(lambda a, b: a * b, argnums=(0, 1))(x, x)
    assert_close(rows[1], np.diag([1.0, 2.0, 3.0]))


def test_gauss_newton_products():
    def model(x):
        return pb.stack([x[0] * x[1], pb.sin(x[0]), x[1] ** 2])

    def loss(r):
        return (r**4).sum()

    x, t = pb.tensor([0.5, 1.5]), pb.tensor([1.0, -2.0])
    gradient, product = pb.func.gnvp(model, loss, (x,), (t,))
    jacobian = pb.func.jacrev(model)(x).numpy()
    curvature = pb.func.hessian(loss)(model(x)).numpy()
    assert_close(gradient, pb.func.grad(lambda y: loss(model(y)))(x))
    assert_close(product, jacobian.T @ curvature @ jacobian @ t.numpy())


def sine_by_rule(y, kind):
    """`x -> sin(x)` with the slope `y * x`, which the rule takes from around it."""
    if kind == "function":

        class Sine(pb.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return pb.sin(x)

            @staticmethod
            def backward(ctx, g):
                return y * ctx.saved_tensors[0] * g

        return Sine.apply
    if kind == "vjp":
        sine = pb.func.custom_vjp(pb.sin)
        sine.defvjp(lambda x: (sine(x), x), lambda x, g: (y * x * g,))
        return sine
    sine = pb.func.custom_jvp(pb.sin)
    sine.defjvp(lambda primals, tangents: (sine(*primals), y * primals[0] * tangents[0]))
    return sine


@pytest.mark.parametrize("kind", ["function", "vjp", "jvp"])
def test_a_rule_may_depend_on_tensors_around_it(kind):
    def slope(y):
        return pb.func.grad(sine_by_rule(y, kind))(pb.tensor(3.0))

    assert slope(pb.tensor(2.0)).item() == 6
    assert pb.func.grad(slope)(pb.tensor(2.0)).item() == 3
    assert pb.func.jvp(slope, (pb.tensor(2.0),), (pb.tensor(1.0),))[1].item() == 3
    assert pb.func.vmap(slope)(pb.arange(3.0)).tolist() == [0, 3, 6]
    y = pb.tensor(2.0, requires_grad=True)
    slope(y).backward()
    assert y.grad.item() == 3


def test_a_function_with_a_rule_must_be_given_what_is_differentiated():
    def product(y, rule):
        function = getattr(pb.func, rule)(lambda x: x * y)
        if rule == "custom_vjp":
            function.defvjp(lambda x: (function(x), None), lambda kept, g: (y * g,))
        else:
            function.defjvp(lambda primals, tangents: (function(*primals), y * tangents[0]))
        return function(pb.tensor(3.0))

    for rule in ("custom_vjp", "custom_jvp"):
        with pytest.raises(AutogradError, match="CUSTOM_RULE_CLOSURE"):
            pb.func.grad(lambda y, rule=rule: product(y, rule))(pb.tensor(2.0))
        with pytest.raises(AutogradError, match="CUSTOM_RULE_CLOSURE"):
            product(pb.tensor(2.0, requires_grad=True), rule)
        with pb.no_grad():
            assert product(pb.tensor(2.0, requires_grad=True), rule).item() == 6
    with pytest.raises(AutogradError, match="CUSTOM_RULE_CLOSURE"):
        pb.func.jvp(lambda y: product(y, "custom_jvp"), (pb.tensor(2.0),), (pb.tensor(1.0),))
