"""Conformance cases 72 to 82: integrals."""

import warnings

import numpy as np
import pytest
import scipy.integrate

import pullback as pb
from pullback.func import grad, vmap
from pullback.scipy import integrate as I

from .scipy_cases import agrees, d, gc, gg


def bell(p, a=0.0, b=2.0):
    return I.quad(lambda t: pb.exp(-p * t * t), a, b)[0]


def test_72_by_parameter_and_limits():
    np.testing.assert_allclose(d(bell, 1.3, 0.0, 2.0), [-0.294330700, -1.0, 0.005516564], rtol=1e-6)
    gc(bell, 1.3, 0.0, 2.0)
    gg(bell, 1.3, 0.0, 2.0)


def test_73_infinite_limits():
    def laplace(p):
        return I.quad(lambda t: pb.exp(-p * t), 0, np.inf)[0]

    assert d(laplace, 2.0) == pytest.approx(-0.25)
    assert grad(grad(laplace))(pb.tensor(2.0)).item() == pytest.approx(0.25)

    def whole(mean, width):
        return I.quad(lambda t: pb.exp(-(((t - mean) / width) ** 2) / 2), -np.inf, np.inf)[0]

    by_mean, by_width = d(whole, 0.3, 1.2)
    assert by_mean == pytest.approx(0.0, abs=1e-7)
    assert by_width == pytest.approx(np.sqrt(2 * np.pi), rel=1e-7)


@pytest.mark.parametrize("options", [
    {"full_output": 1}, {"points": [0.3]}, {"weight": "cos", "wvar": 3}, {"weight": "alg", "wvar": (0.5, -0.5)},
])  # fmt: skip
def test_74_options(options):
    agrees(lambda p: I.quad(lambda t: pb.exp(-p * t), 0, 1, **options)[0], 1.1, 1e-6)


def test_75_a_peak_and_a_singular_derivative():
    assert d(lambda p: I.quad(lambda t: pb.atan((t - 0.4) / p), 0, 1)[0], 1e-3) == pytest.approx(-0.405463372, rel=1e-6)
    found = d(lambda p: I.quad(lambda t: pb.sqrt(pb.abs(t - p)), 0, 1, points=[0.3])[0], 0.3)
    assert found == pytest.approx(-0.288937470, rel=1e-5)


def test_76_several_variables():
    assert d(lambda p: I.dblquad(lambda y, x: x * y * p, 0, 1, 0, 1)[0], 2.0) == pytest.approx(0.25)
    assert d(lambda p: I.dblquad(lambda y, x: 1.0 + 0 * y, 0, 1, 0, lambda x: p * x)[0], 2.0) == pytest.approx(0.5)
    assert d(lambda p: I.tplquad(lambda z, y, x: p + 0 * z, 0, 1, 0, 1, 0, 1)[0], 2.0) == pytest.approx(1.0)
    found = d(lambda p: I.nquad(lambda x, y: x * p, [lambda y: (0, y), (0, 1)])[0], 2.0)
    assert found == pytest.approx(1 / 6)


def test_77_vectors_and_fixed_rules():
    x = np.array([0.3, 0.9])
    expected = np.array([scipy.integrate.quad(lambda t, each=each: t * np.exp(each * t), 0, 1)[0] for each in x])
    for workers in (1, 2):
        found = d(lambda x, w=workers: I.quad_vec(lambda t: pb.exp(x * t), 0, 1, workers=w)[0].sum(), x)
        np.testing.assert_allclose(found, expected, rtol=1e-7)
    gc(lambda p: I.fixed_quad(lambda t: pb.exp(p * t), 0, 1)[0], 0.4)
    gc(lambda p: I.cubature(lambda t: pb.exp(p * t[:, 0]), [0.0], [1.0]).estimate, 0.4)
    gc(lambda p: I.tanhsinh(lambda t: pb.exp(p * t), 0.0, 1.0).integral, 0.4)


def test_78_sampled_functions():
    y = np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    x = np.array([0.0, 0.7, 1.1, 2.0, 2.4])
    np.testing.assert_allclose(d(lambda y: I.simpson(y), y), np.array([1, 4, 2, 4, 1]) / 3)
    np.testing.assert_allclose(d(lambda y: I.romb(y), y), np.array([14, 64, 24, 64, 14]) / 45)
    for name in ("trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson"):
        gc(lambda y, x, name=name: getattr(I, name)(y, x=x), y, x)
        gc(lambda y, x, name=name: getattr(I, name)(y, x=x), y[:4], x[:4])


def test_79_an_infinite_sum():
    def zeta(p):
        return I.nsum(lambda k: 1 / k**p, 1, np.inf).sum

    assert zeta(pb.tensor(2.0)).item() == pytest.approx(np.pi**2 / 6, rel=1e-7)
    assert d(zeta, 2.0) == pytest.approx(-0.937548254, rel=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_80_a_jump_that_moves():
    def step(p, **options):
        return I.quad(lambda t: pb.where(t > p, 1.0, 0.0) + 0 * p * t, 0, 1, **options)[0]

    assert d(step, 0.3) == pytest.approx(0.0, abs=1e-9)
    assert d(lambda p: step(p, points=[p]), 0.3) == pytest.approx(-1.0)


def test_81_a_divergent_integral_warns_again():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            d(lambda p: I.quad(lambda t: p / t, 0, 1)[0], 1.0)
        except pb.AutogradError as error:
            assert error.code.startswith("SCIPY")
    assert any(issubclass(each.category, scipy.integrate.IntegrationWarning) for each in caught)


def test_82_examples_and_compiled_code():
    p = pb.tensor([0.5, 1.3])
    expected = [bell(each).item() for each in p]
    np.testing.assert_allclose(vmap(bell)(p).numpy(), expected)
    ends = vmap(grad(lambda b: bell(1.3, 0.0, b)))(p).numpy()
    np.testing.assert_allclose(ends, np.exp(-1.3 * p.numpy() ** 2), rtol=1e-7)
    assert pb.compile(bell)(p[1]).item() == pytest.approx(expected[1])
