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


# Tensors that callbacks return


def residuals(x):
    return pb.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])


GRADIENT, HESSIAN = pb.func.grad(rosenbrock), pb.func.hessian(rosenbrock)
METHODS = [("CG", {}), ("BFGS", {}), ("L-BFGS-B", {}), ("TNC", {}), ("SLSQP", {})]
METHODS += [(name, {"hess": HESSIAN}) for name in ("Newton-CG", "trust-ncg", "trust-exact", "trust-constr")]


@pytest.mark.parametrize("method, options", METHODS, ids=lambda value: value if isinstance(value, str) else "")
def test_derivatives_may_be_tensors(method, options):
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is the optimizer")
    found = optimize.minimize(rosenbrock, np.array([0.9, 1.1]), jac=GRADIENT, method=method, **options)
    assert type(found.x) is np.ndarray
    np.testing.assert_allclose(found.x, np.ones(2), atol=1e-3)


def test_value_and_gradient_may_be_tensors():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is the optimizer")
    found = optimize.minimize(pb.func.value_and_grad(rosenbrock), np.zeros(2), jac=True, method="L-BFGS-B")
    np.testing.assert_allclose(found.x, np.ones(2), atol=1e-3)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_a_dense_jacobian_may_be_a_tensor(method):
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is the optimizer")
    found = optimize.least_squares(residuals, np.zeros(2), jac=pb.func.jacfwd(residuals), method=method)
    np.testing.assert_allclose(found.x, np.ones(2), atol=1e-4)


def test_constraints_roots_and_equations_take_tensors():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is the optimizer")
    integrate = pytest.importorskip("scipy.integrate")
    below = {"type": "ineq", "fun": lambda x: 0.5 - pb.asarray(x)[0], "jac": pb.func.grad(lambda x: 0.5 - x[0])}
    found = optimize.minimize(rosenbrock, np.zeros(2), jac=GRADIENT, method="SLSQP", constraints=below)
    np.testing.assert_allclose(found.x, [0.5, 0.25], atol=1e-3)
    np.testing.assert_allclose(optimize.root(residuals, np.zeros(2), jac=pb.func.jacfwd(residuals)).x, np.ones(2))
    np.testing.assert_allclose(optimize.brentq(lambda u: pb.asarray(u) ** 2 - 2, 0, 2), 2**0.5)
    solved = integrate.solve_ivp(
        lambda t, y: -pb.asarray(y), (0, 1), [1.0], method="Radau", jac=lambda t, y: -pb.eye(1)
    )
    np.testing.assert_allclose(solved.y[0, -1], np.exp(-1), rtol=1e-3)
