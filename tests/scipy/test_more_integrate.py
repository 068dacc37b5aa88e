"""Boundary value problems and integrals by other rules: SciPy's values, and derivatives against closed forms."""

import numpy as np
import pytest
import scipy.integrate

import pullback as pb
from pullback.autograd import gradcheck
from pullback.func import grad, jacrev

integrate, optimize = pb.scipy.integrate, pb.scipy.optimize


def test_a_boundary_value_problem_by_its_parameter():
    def middle(p):
        return integrate.solve_bvp(
            lambda x, y: [y[1], -(p**2) * y[0]], lambda a, b: [a[0], b[0] - 1.0],
            np.linspace(0, 1, 5), np.zeros((2, 5)), tol=1e-6,
        ).sol(0.5)[0]  # fmt: skip

    p = pb.tensor(1.0)
    assert middle(p).item() == pytest.approx(0.569746964, rel=1e-6)
    assert grad(middle)(p).item() == pytest.approx(0.155627092, rel=1e-5)


def test_a_boundary_value_problem_that_fails_has_no_derivative():
    p = pb.tensor(1.0, requires_grad=True)
    result = integrate.solve_bvp(
        lambda x, y: [y[1], -p * pb.exp(8 * y[0])], lambda a, b: [a[0], b[0]], np.linspace(0, 1, 5), np.zeros((2, 5)),
        max_nodes=20,
    )  # fmt: skip
    assert result.status != 0
    with pytest.raises(pb.AutogradError) as caught:
        result.y.sum().backward()
    assert caught.value.code == "SCIPY_NOT_CONVERGED"


def test_tanhsinh_by_parameters_and_limits():
    def value(p, b):
        return integrate.tanhsinh(lambda t: pb.exp(-p * t * t), 0, b).integral

    by_p, by_b = grad(value, argnums=(0, 1))(pb.tensor(1.3), pb.tensor(2.0))
    assert [by_p.item(), by_b.item()] == pytest.approx([-0.294330700, 0.005516564], rel=1e-6)
    many = jacrev(lambda p: integrate.tanhsinh(lambda t, q: pb.exp(-q * t), 0, 1.0, args=(p,)).integral)
    expected = [2 / np.e - 1, (3 * np.exp(-2) - 1) / 4]
    np.testing.assert_allclose(many(pb.tensor([1.0, 2.0])), np.diag(expected), atol=1e-9)


def test_cubature_by_parameters_and_limits():
    def value(p, b):
        return integrate.cubature(lambda x: pb.exp(-p * x[:, 0] * x[:, 1]), [0, 0], b).estimate

    p, b = pb.tensor(1.3, requires_grad=True), pb.tensor([1.0, 2.0], requires_grad=True)
    plain = scipy.integrate.cubature(lambda x: np.exp(-1.3 * x[:, 0] * x[:, 1]), [0, 0], [1.0, 2.0]).estimate
    assert value(p, b).item() == plain
    assert gradcheck(value, (p, b))


@pytest.mark.parametrize("options", [{"x": True}, {"dx": 0.5}, {"x": True, "initial": 0.5}])
@pytest.mark.parametrize("count", [5, 6])
def test_cumulative_simpson(options, count):
    x = np.array([0, 0.3, 1.0, 1.2, 2.0, 2.5])[:count]
    y = np.sin(x)
    given = dict(options)
    if "x" in given:
        given["x"] = x
    found = integrate.cumulative_simpson(y, **given).numpy()
    np.testing.assert_allclose(found, scipy.integrate.cumulative_simpson(y, **given), rtol=1e-12)
    leaves = [pb.tensor(y, requires_grad=True)]
    if "x" in given:
        leaves.append(pb.tensor(x, requires_grad=True))
        assert gradcheck(lambda y, x: integrate.cumulative_simpson(y, **(given | {"x": x})), leaves)
    else:
        assert gradcheck(lambda y: integrate.cumulative_simpson(y, **given), leaves)


def test_an_infinite_sum_by_its_terms():
    def zeta(p):
        return integrate.nsum(lambda k: 1 / k**p, 1, np.inf).sum

    p = pb.tensor(3.0)
    assert grad(zeta)(p).item() == pytest.approx(-0.19812624, rel=1e-6)
    assert grad(grad(zeta))(p).item() == pytest.approx(0.23974693, rel=1e-6)
    with pytest.raises(pb.AutogradError) as caught:
        grad(lambda p: integrate.nsum(lambda k: p / k, 1, np.inf).sum)(p)
    assert caught.value.code == "SCIPY_NOT_CONVERGED"


def test_many_roots_at_once():
    def roots(p):
        return optimize.elementwise.find_root(lambda y, q: y**3 - q, (0.0, 9.0), args=(p,)).x

    p = pb.tensor([8.0, 27.0])
    np.testing.assert_allclose(roots(p), [2, 3])
    np.testing.assert_allclose(jacrev(roots)(p), np.diag([1 / 12, 1 / 27]), atol=1e-12)
