"""Least squares and curve fits, against closed forms and differences."""

import warnings

import numpy as np
import pytest
import scipy.optimize

import pullback as pb
from pullback.func import grad, jacrev

optimize = pb.scipy.optimize
Diff = pb.scipy.Diff
TIGHT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}
T = np.array([0.0, 1.0, 2.0])
X = np.linspace(0, 1, 7)
Y = 1 + 2 * X + 0.1 * np.sin(9 * X)


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def decay(y, **options):
    return optimize.least_squares(lambda b: pb.exp(-b[0] * T) - y, [0.5], **TIGHT, **options)


def test_the_full_hessian_is_used():
    y = leaf([1.0, 0.6, 0.5])
    result = decay(y)
    result.x.sum().backward()
    np.testing.assert_allclose(result.x.item(), 0.401324268, rtol=1e-7)
    np.testing.assert_allclose(y.grad.numpy()[1], -0.555555555, rtol=1e-7)


def test_gauss_newton_is_a_choice_with_a_warning():
    y = leaf([1.0, 0.6, 0.5])
    with pytest.warns(UserWarning, match="second derivatives"):
        decay(y, diff=Diff(hessian="gn")).x.sum().backward()
    np.testing.assert_allclose(y.grad.numpy()[1], -0.534921565, rtol=1e-6)


def test_cost_residuals_and_jacobian_have_derivatives():
    y = leaf([1.0, 0.6, 0.5])
    assert pb.autograd.gradcheck(lambda y: decay(y).cost, (y,), eps=1e-5)
    assert pb.autograd.gradcheck(lambda y: decay(y).fun, (y,), eps=1e-5)
    assert pb.autograd.gradcheck(lambda y: decay(y).jac, (y,), eps=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "soft_l1"},
        {"loss": "huber", "f_scale": 0.5},
        {"loss": "cauchy"},
        {"loss": "soft_l1", "method": "dogbox"},
    ],
    ids=["soft_l1", "huber", "cauchy", "dogbox"],
)
def test_robust_losses(options):
    def found(d):
        data = pb.concat([pb.tensor([0.0, 0.1]), d.reshape(1)])
        return optimize.least_squares(lambda m: m - data, [0.5], **TIGHT, **options).x[0]

    step = 1e-4
    numerical = (found(pb.tensor(3 + step)) - found(pb.tensor(3 - step))).item() / (2 * step)
    np.testing.assert_allclose(grad(found)(pb.tensor(3.0)).item(), numerical, rtol=1e-5, atol=1e-8)


def test_an_active_bound():
    def fit(y):
        return optimize.least_squares(
            lambda b: b[0] * pb.exp(-b[1] * T) - y, [0.5, 0.2], bounds=([0, 0], [3, 0.3]), **TIGHT
        ).x

    y = pb.tensor([1.0, 0.6, 0.5])
    np.testing.assert_allclose(fit(y).numpy()[1], 0.3, atol=1e-8)
    np.testing.assert_allclose(jacrev(fit)(y).numpy()[1], 0, atol=1e-8)


def test_leastsq_and_its_covariance():
    y = leaf(Y)

    def fit(y):
        return optimize.leastsq(lambda p: p[0] + p[1] * X - y, [0.0, 0.0], full_output=True)

    plain = scipy.optimize.leastsq(lambda p: p[0] + p[1] * X - Y, [0.0, 0.0], full_output=True)
    np.testing.assert_allclose(fit(y)[0].detach().numpy(), plain[0], rtol=1e-8)
    np.testing.assert_allclose(fit(y)[1].detach().numpy(), plain[1], rtol=1e-6)
    assert pb.autograd.gradcheck(lambda y: fit(y)[0], (y,))


def line(y, **options):
    return optimize.curve_fit(lambda x, a, b: a + b * x, X, y, **options)


def test_a_fitted_line():
    y = leaf(Y)
    design = np.stack([np.ones(7), X], axis=1)
    popt, pcov = line(y)
    plain = scipy.optimize.curve_fit(lambda x, a, b: a + b * x, X, Y)
    np.testing.assert_allclose(popt.detach().numpy(), plain[0], rtol=1e-8)
    np.testing.assert_allclose(pcov.detach().numpy(), plain[1], rtol=1e-5)
    np.testing.assert_allclose(jacrev(lambda y: line(y)[0])(y).detach().numpy(), np.linalg.pinv(design), atol=1e-10)
    assert pb.autograd.gradcheck(lambda y: line(y)[1], (y,))


def exponential(y, sigma, x):
    options = {"xtol": 1e-14, "ftol": 1e-14}
    return optimize.curve_fit(lambda x, a, b: a * pb.exp(-b * x), x, y, sigma=sigma, p0=[1.0, -1.0], **options)


def test_all_data_of_a_fit_have_derivatives():
    inputs = leaf(Y), leaf(np.linspace(0.5, 1, 7)), leaf(X)
    assert pb.autograd.gradcheck(lambda y, s, x: exponential(y, s, x)[0], inputs, eps=1e-4, atol=1e-4)
    matrix = leaf(np.eye(7) + 0.1)
    assert pb.autograd.gradcheck(lambda y: exponential(y, matrix, X)[0], (leaf(Y),), eps=1e-3, atol=1e-4)


def test_a_fit_that_fails_raises_what_scipy_raises():
    with pytest.raises(RuntimeError, match="Optimal parameters not found"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimize.curve_fit(lambda x, a, b: a * pb.exp(-b * x), X, leaf(Y), p0=[1.0, 30.0], maxfev=3)


def test_a_fit_with_one_parameter_too_many_has_no_derivative():
    """The Hessian is regular only because the minimum is not quite reached: derivatives were those of what is left."""
    x = np.linspace(0, 4, 50)
    y = leaf(2.5 * np.exp(-1.3 * x) + 0.5 + 0.2 * np.random.default_rng(0).normal(size=50))
    found, _ = optimize.curve_fit(lambda x, a, b, c, d: a * d * pb.exp(-b * x) + c, x, y)
    with pytest.raises(pb.AutogradError) as caught:
        pb.autograd.grad(found.sum(), y)
    assert caught.value.code == "SCIPY_SINGULAR"
