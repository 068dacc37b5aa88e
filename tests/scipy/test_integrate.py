"""Integrals: derivatives by parameters and limits, against closed forms."""

import numpy as np
import pytest
import scipy.integrate

import pullback as pb
from pullback.func import grad, jacrev, vmap
from pullback.scipy.integrate import _rules

integrate = pb.scipy.integrate


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def gauss(p, a=0.0, b=2.0):
    return integrate.quad(lambda t: pb.exp(-p * t * t), a, b)[0]


def test_the_nodes_integrate_polynomials():
    for power in range(0, 32, 2):
        assert (_rules.KRONROD * _rules.NODES**power).sum() == pytest.approx(2 / (power + 1), rel=1e-14)
    for power in range(0, 20, 2):
        assert (_rules.GAUSS * _rules.NODES**power).sum() == pytest.approx(2 / (power + 1), rel=1e-14)


def test_the_value_is_scipys():
    value, error = integrate.quad(lambda t: pb.exp(-leaf(1.3) * t * t), 0, 2)
    plain = scipy.integrate.quad(lambda t: np.exp(-1.3 * t * t), 0, 2)
    assert (value.item(), error) == plain


def test_derivatives_by_parameter_and_limits():
    p = pb.tensor(1.3)
    assert grad(gauss)(p).item() == pytest.approx(-0.294330700, rel=1e-8)
    assert grad(lambda b: gauss(p, 0.0, b))(pb.tensor(2.0)).item() == pytest.approx(0.005516564, rel=1e-6)
    assert grad(lambda a: gauss(p, a))(pb.tensor(0.0)).item() == pytest.approx(-1)


def test_both_modes_and_mixed_second_derivatives():
    inputs = leaf(1.3), leaf(0.1), leaf(2.0)
    assert pb.autograd.gradcheck(gauss, inputs, check_forward_ad=True)
    assert pb.autograd.gradgradcheck(gauss, inputs)


def test_infinite_limits():
    def decay(p):
        return integrate.quad(lambda t: pb.exp(-p * t), 0, np.inf)[0]

    assert grad(decay)(pb.tensor(2.0)).item() == pytest.approx(-0.25)
    assert grad(grad(decay))(pb.tensor(2.0)).item() == pytest.approx(0.25)

    def bell(mean, width):
        return integrate.quad(lambda t: pb.exp(-0.5 * ((t - mean) / width) ** 2), -np.inf, np.inf)[0]

    mean, width = leaf(0.3), leaf(1.0)
    bell(mean, width).backward()
    assert mean.grad.item() == pytest.approx(0, abs=1e-8)
    assert width.grad.item() == pytest.approx(np.sqrt(2 * np.pi))


def test_a_peak_and_a_singular_derivative():
    slope = grad(lambda p: integrate.quad(lambda t: pb.atan((t - 0.4) / p), 0, 1)[0])(pb.tensor(1e-2))
    assert slope.item() == pytest.approx(-np.log((0.36 + 1e-4) / (0.16 + 1e-4)) / 2, rel=1e-6)
    options = {"points": [0.3], "epsabs": 1e-6, "epsrel": 1e-6}
    slope = grad(lambda p: integrate.quad(lambda t: pb.sqrt(pb.abs(t - p)), 0, 1, **options)[0])(pb.tensor(0.3))
    assert slope.item() == pytest.approx(-0.288937470, rel=1e-4)


@pytest.mark.parametrize(
    "options", [{"weight": "cos", "wvar": 3}, {"weight": "alg", "wvar": (-0.5, 0.0)}], ids=["cos", "alg"]
)
def test_weights(options):
    def value(p):
        return integrate.quad(lambda t: pb.exp(-p * t), 0, 1, **options)[0]

    step = 1e-4
    numerical = (value(pb.tensor(0.3 + step)) - value(pb.tensor(0.3 - step))).item() / (2 * step)
    assert grad(value)(pb.tensor(0.3)).item() == pytest.approx(numerical, rel=1e-6)


def test_complex_functions():
    value, _ = integrate.quad(lambda t: pb.exp(1j * leaf(2.0) * t), 0, 1, complex_func=True)
    assert value.item() == pytest.approx((np.exp(2j) - 1) / 2j)


def test_several_dimensions():
    one = pb.tensor(1.0)
    assert grad(lambda p: integrate.dblquad(lambda y, x: x * y * p, 0, 1, 0, 1)[0])(one).item() == pytest.approx(0.25)
    inner = grad(lambda p: integrate.dblquad(lambda y, x: 1.0, 0, 1, 0, lambda x: p * x)[0])(one)
    assert inner.item() == pytest.approx(0.5)
    assert grad(lambda p: integrate.tplquad(lambda z, y, x: p, 0, 1, 0, 1, 0, 1)[0])(one).item() == pytest.approx(1)
    slope = grad(lambda p: integrate.nquad(lambda x, y: x * y * p, [lambda y: [0, y], [0, 1]])[0])(one)
    assert slope.item() == pytest.approx(1 / 8)


def test_integrals_of_vectors():
    x = pb.tensor([0.5, 1.0])
    jacobian = jacrev(lambda x: integrate.quad_vec(lambda t: pb.exp(x * t), 0, 1)[0])(x).numpy()
    expected = [scipy.integrate.quad(lambda t, v=v: t * np.exp(v * t), 0, 1)[0] for v in (0.5, 1.0)]
    np.testing.assert_allclose(jacobian, np.diag(expected), rtol=1e-9)


def test_vmap_over_parameters_and_limits():
    p = pb.tensor([1.3, 2.0])
    expected = [grad(gauss)(pb.tensor(value)).item() for value in (1.3, 2.0)]
    np.testing.assert_allclose(vmap(grad(gauss))(p).numpy(), expected)
    found = vmap(lambda b: gauss(1.3, 0.0, b))(pb.tensor([1.0, 2.0])).numpy()
    np.testing.assert_allclose(found, [gauss(1.3, 0.0, 1.0).item(), gauss(1.3, 0.0, 2.0).item()])


def test_a_root_of_an_integral():
    def found(p):
        return pb.scipy.optimize.brentq(lambda y: integrate.quad(lambda t: p * t, 0, y)[0] - 1.0, 0.1, 10.0)

    # p y^2 / 2 = 1
    assert grad(found)(pb.tensor(2.0)).item() == pytest.approx(-0.25, rel=1e-7)


def test_fixed_rules_and_samples():
    y = leaf([1.0, 2.0, 4.0, 3.0, 1.5])
    x = leaf([0.0, 1.0, 2.5, 3.0, 4.0])
    for function in (integrate.trapezoid, integrate.simpson, integrate.cumulative_trapezoid):
        plain = getattr(scipy.integrate, function.__name__)
        np.testing.assert_allclose(
            function(y, x=x).detach().numpy(), plain(y.detach().numpy(), x=x.detach().numpy())
        )
        assert pb.autograd.gradcheck(lambda y, x, function=function: function(y, x=x), (y, x))
    (slope,) = pb.autograd.grad(integrate.romb(y), y)
    np.testing.assert_allclose(slope.numpy(), np.array([14, 64, 24, 64, 14]) / 45)
    value, nothing = integrate.fixed_quad(lambda t: pb.exp(-y[0] * t), 0.0, x[1], n=8)
    assert nothing is None
    assert value.item() == pytest.approx(1 - np.exp(-1))
    assert pb.autograd.grad(value, x)[0].numpy()[1] == pytest.approx(np.exp(-1))
