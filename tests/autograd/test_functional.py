"""`pb.autograd.functional`: torch's functions for products with Jacobians and Hessians, cases 202 to 205."""

import itertools

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import functional
from pullback.func import grad, jacrev
from pullback.func import hessian as hessian_of
from pullback.testing import assert_close


def x3(**options):
    return pb.tensor([1.0, 2.0, 3.0], **options)


def cubes(x):
    return (x**3).sum()


def test_202_strict_notices_an_unused_input():
    for function, v in ((functional.vjp, x3()), (functional.jvp, (x3(), x3()))):
        with pytest.raises(RuntimeError, match="independent"):
            function(lambda a, b: a * 2, (x3(), x3()), v, strict=True)
    _, (by_a, by_b) = functional.vjp(lambda a, b: a * 2, (x3(), x3()), x3())
    assert_close(by_a, 2 * x3())
    assert_close(by_b, pb.zeros(3))


def test_203_products():
    v = pb.tensor([1.0, 0.0, 0.0])
    output, product = functional.jvp(lambda x: x**2, x3(), v)
    assert_close(output, [1.0, 4.0, 9.0])
    assert_close(product, [2.0, 0.0, 0.0])
    for function in (functional.hvp, functional.vhp):
        value, product = function(cubes, x3(), v)
        assert_close(value, 36.0)
        assert_close(product, [6.0, 0.0, 0.0])


def test_204_a_plain_input_leaves_no_history():
    for x in (x3(), x3(requires_grad=True)):
        results = [
            functional.vjp(lambda x: x**2, x, pb.ones(3), create_graph=True)[1],
            functional.jvp(lambda x: x**2, x, pb.ones(3), create_graph=True)[1],
            functional.jacobian(lambda x: x**2, x, create_graph=True),
            functional.hessian(cubes, x, create_graph=True),
            functional.hessian(cubes, x, create_graph=True, outer_jacobian_strategy="forward-mode"),
            functional.hvp(cubes, x, pb.ones(3), create_graph=True)[1],
            functional.vhp(cubes, x, pb.ones(3), create_graph=True)[1],
        ]
        assert [result.requires_grad for result in results] == [x.requires_grad] * len(results)


def test_205_forward_mode_without_vectorize():
    assert_close(functional.jacobian(lambda x: x**2, x3(), strategy="forward-mode"), pb.diag(2 * x3()))


def test_results_are_constants_without_create_graph():
    x, w = x3(requires_grad=True), x3(requires_grad=True)
    results = [
        *functional.vjp(lambda x: x * w, x, pb.ones(3)),
        *functional.jvp(lambda x: x * w, x, pb.ones(3)),
        functional.jacobian(lambda x: x * w, x),
        functional.hessian(cubes, x),
        *functional.hvp(cubes, x, pb.ones(3)),
        *functional.vhp(cubes, x, pb.ones(3)),
    ]
    assert not any(result.requires_grad for result in results)


def test_create_graph_connects_to_captures_and_vectors():
    w, v = x3(requires_grad=True), x3(requires_grad=True)
    for function in (functional.vjp, functional.jvp):
        _, product = function(lambda x: x * x * w, x3(), v, create_graph=True)
        by_w, by_v = pb.autograd.grad(product.sum(), (w, v))
        assert_close(by_w, 2 * x3() * v.detach())
        assert_close(by_v, 2 * x3() * w.detach())
    for function in (functional.hvp, functional.vhp):
        x = x3(requires_grad=True)
        value, product = function(cubes, x, v, create_graph=True)
        by_x, by_v = pb.autograd.grad(product.sum(), (x, v))
        assert_close(by_x, 6 * v.detach())
        assert_close(by_v, 6 * x3())
        assert_close(pb.autograd.grad(value, x)[0], 3 * x3() ** 2)


def test_grad_mode_of_the_caller_does_not_matter():
    with pb.no_grad():
        assert_close(functional.vjp(cubes, x3())[1], 3 * x3() ** 2)
        assert_close(functional.hvp(cubes, x3(), pb.ones(3))[1], 6 * x3())
        assert_close(functional.hessian(cubes, x3()), pb.diag(6 * x3()))


@pytest.mark.parametrize("function", [functional.vjp, functional.jvp, functional.vhp, functional.hvp])
def test_the_vector_may_only_be_left_out_for_one_element(function):
    assert_close(function(lambda x: x**3, pb.tensor(2.0))[1], 12.0)
    f = (lambda x: x * 2) if function is functional.vjp else cubes
    with pytest.raises(RuntimeError, match="v can only be None"):
        function(f, x3())
    wrong = [(pb.ones(3), pb.ones(3)), pb.ones(2)]
    for v in wrong:
        with pytest.raises(RuntimeError, match="v has"):
            function(f, x3(), v)


def test_inputs_and_outputs_are_tensors_or_tuples():
    for function in (functional.jacobian, functional.hessian, functional.vjp, functional.jvp):
        with pytest.raises(TypeError, match="Tensor or a tuple of Tensors"):
            function(lambda x: x, [x3()])
    with pytest.raises(TypeError, match="outputs of the user-provided function"):
        functional.vjp(lambda x: [x], x3())
    with pytest.raises(RuntimeError, match="single element"):
        functional.hessian(lambda x: x, x3())


def test_results_have_the_form_of_inputs_and_outputs():
    outputs, gradients = functional.vjp(lambda a, b: (a * b, a.sum()), (x3(), x3()), (pb.ones(3), pb.tensor(2.0)))
    assert isinstance(outputs, tuple) and isinstance(gradients, tuple)
    assert_close(gradients[0], x3() + 2)
    output, (gradient,) = functional.vjp(lambda a: a * 2, (x3(),), pb.ones(3))
    assert isinstance(output, pb.Tensor)
    assert_close(gradient, pb.full((3,), 2.0))
    (output,), (tangent,) = functional.jvp(lambda a, b: (a * b,), (x3(), x3()), (pb.ones(3), pb.zeros(3)))
    assert_close(tangent, x3())


@pytest.mark.parametrize(
    "strategy, vectorize, create_graph, strict",
    list(itertools.product(("forward-mode", "reverse-mode"), (False, True), (False, True), (False, True))),
)
def test_all_ways_to_a_jacobian(strategy, vectorize, create_graph, strict):
    options = {"create_graph": create_graph, "strict": strict, "vectorize": vectorize}

    def f(a, b):
        return pb.outer(pb.sin(a), b * b), (a**3).sum() * (b**3).sum()

    a, b = x3(), pb.tensor([0.5, -1.0])
    rows = functional.jacobian(f, (a, b), strategy=strategy, **options)
    for row, output in zip(rows, range(2), strict=True):
        expected = jacrev(lambda a, b, output=output: f(a, b)[output], argnums=(0, 1))(a, b)
        for found, part in zip(row, expected, strict=True):
            assert_close(found, part)

    def g(a, b):
        return (pb.outer(a, b) ** 3).sum()

    found = functional.hessian(g, (a, b), outer_jacobian_strategy=strategy, **options)
    expected = hessian_of(g, argnums=(0, 1))(a, b)
    for i, j in itertools.product(range(2), repeat=2):
        assert_close(found[i][j], expected[i][j])
    assert functional.jacobian(lambda x: x * x, x3(), strategy=strategy, **options).shape == (3, 3)
    assert functional.jacobian(lambda x: x.sum() ** 2, x3(), strategy=strategy, **options).shape == (3,)


@pytest.mark.parametrize("strategy", ["forward-mode", "reverse-mode"])
@pytest.mark.parametrize("vectorize", [False, True])
def test_empty_jacobians(strategy, vectorize):
    options = {"strategy": strategy, "vectorize": vectorize}
    assert functional.jacobian(lambda x: x[:0], x3(), **options).shape == (0, 3)
    assert functional.jacobian(lambda x: x.sum() + pb.zeros(2), pb.zeros((0, 4)), **options).shape == (2, 0, 4)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(ValueError, match="forward-mode"):
        functional.jacobian(cubes, x3(), strategy="sideways")
    with pytest.raises(ValueError, match="forward-mode"):
        functional.hessian(cubes, x3(), outer_jacobian_strategy="sideways")


@pytest.mark.parametrize("strategy", ["forward-mode", "reverse-mode"])
def test_strict_jacobians_look_at_every_pair(strategy):
    def f(a, b):
        return a * 2, a * b

    functional.jacobian(f, (x3(), x3()), strategy=strategy)
    with pytest.raises(RuntimeError, match=r"Output 0 .* independent of input 1"):
        functional.jacobian(f, (x3(), x3()), strict=True, strategy=strategy)
    with pytest.raises(RuntimeError, match="independent"):
        functional.jacobian(lambda x: pb.ones(3), x3(), strict=True, strategy=strategy)
    assert_close(functional.jacobian(lambda x: pb.ones(3), x3(), strategy=strategy), pb.zeros((3, 3)))


@pytest.mark.parametrize("strategy", ["forward-mode", "reverse-mode"])
def test_strict_with_create_graph_looks_at_the_derivative(strategy):
    linear = functional.jacobian(lambda x: x * 2, x3(), strict=True, strategy=strategy)
    assert_close(linear, 2 * pb.eye(3))
    with pytest.raises(RuntimeError, match="independent"):
        functional.jacobian(lambda x: x * 2, x3(), strict=True, create_graph=True, strategy=strategy)
    with pytest.raises(RuntimeError, match="independent"):
        functional.vjp(lambda x: x * 2, x3(), pb.ones(3), strict=True, create_graph=True)
    with pytest.raises(RuntimeError, match="independent"):
        functional.jvp(lambda x: x * 2, x3(), pb.ones(3), strict=True, create_graph=True)


def test_strict_second_derivatives():
    for function in (functional.hvp, functional.vhp):
        with pytest.raises(RuntimeError, match="independent"):
            function(lambda x: (x * 2).sum(), x3(), pb.ones(3), strict=True)
        assert_close(function(lambda x: (x * 2).sum(), x3(), pb.ones(3))[1], pb.zeros(3))
        assert_close(function(cubes, x3(), pb.ones(3), strict=True)[1], 6 * x3())
    with pytest.raises(RuntimeError, match="independent"):
        functional.hessian(lambda a, b: (a**2).sum() + (b**2).sum(), (x3(), x3()), strict=True)


def test_the_same_tensor_twice_is_two_inputs():
    x = x3()
    _, (first, second) = functional.vjp(lambda a, b: a * a * b, (x, x), pb.ones(3))
    assert_close(first, 2 * x * x)
    assert_close(second, x * x)


def test_inside_other_transforms():
    def f(x):
        return functional.jvp(lambda y: y**3, x, pb.ones(3), create_graph=True)[1].sum()

    assert_close(grad(f)(x3()), 6 * x3())
    x = x3(requires_grad=True)
    jacobian = functional.jacobian(lambda y: y**3, x, create_graph=True, vectorize=True)
    assert_close(pb.autograd.grad(jacobian.sum(), x)[0], 6 * x3())


def test_the_dtype_of_inputs_and_outputs_is_kept():
    x = x3().astype(pb.float32)
    assert functional.vjp(lambda v: v * 2, x, pb.ones(3))[1].dtype == np.float32
    assert functional.jvp(lambda v: v * 2, x, pb.ones(3, dtype=np.float32))[1].dtype == np.float32


LINEAR = {
    "hessian": lambda f, x: pb.autograd.functional.hessian(f, x, strict=True),
    "hvp": lambda f, x: pb.autograd.functional.hvp(f, x, pb.ones(2), strict=True),
    "vhp": lambda f, x: pb.autograd.functional.vhp(f, x, pb.ones(2), strict=True),
}


@pytest.mark.parametrize("call", LINEAR.values(), ids=LINEAR.keys())
def test_strict_says_that_the_slope_is_constant_and_not_the_function(call):
    with pytest.raises(RuntimeError, match="jacobian of the user-provided function with respect to input 0 is indep"):
        call(lambda x: (x * 2).sum(), pb.ones(2))
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradients"):
        call(lambda x: pb.tensor(1.0), pb.ones(2))


def test_strict_names_the_jacobian_that_does_not_depend_on_the_input():
    with pytest.raises(RuntimeError, match="The jacobian of the user-provided function is independent of input 0"):
        pb.autograd.functional.jacobian(lambda x: x * 2, pb.ones(2), strict=True, create_graph=True)
