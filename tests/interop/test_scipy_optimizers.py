"""Losses in the form that SciPy's optimizers want."""

import numpy as np
import pytest

import pullback as pb


def rosenbrock(x, scale=100.0):
    return (scale * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_a_float_and_an_array_of_derivatives():
    value, gradient = pb.scipy_value_and_grad(rosenbrock)(np.array([0.0, 1.0]))
    assert type(value) is float and value == 101.0
    assert type(gradient) is np.ndarray and gradient.tolist() == [-2.0, 200.0]
    assert pb.scipy_value_and_grad(rosenbrock)([0, 1], scale=1.0)[1].tolist() == [-2.0, 2.0]


def test_scipy_finds_the_minimum():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is the optimizer")
    for method in ("BFGS", "L-BFGS-B"):
        found = optimize.minimize(pb.scipy_value_and_grad(rosenbrock), np.zeros(4), jac=True, method=method)
        np.testing.assert_allclose(found.x, np.ones(4), atol=1e-4)


def test_it_differentiates_where_gradients_are_off_and_where_nothing_depends_on_x():
    with pb.no_grad():
        assert pb.scipy_value_and_grad(lambda x: (x * x).sum())([3.0])[1].tolist() == [6.0]
    assert pb.scipy_value_and_grad(lambda x: 2.0)([3.0])[1].tolist() == [0.0]
    weight = pb.tensor(2.0, requires_grad=True)
    assert pb.scipy_value_and_grad(lambda x: weight * 3)([3.0])[1].tolist() == [0.0]


def test_a_loss_is_one_real_number():
    for loss in (lambda x: x * 2, lambda x: (x * 1j).sum()):
        with pytest.raises(ValueError, match="one real number"):
            pb.scipy_value_and_grad(loss)([1.0, 2.0])
