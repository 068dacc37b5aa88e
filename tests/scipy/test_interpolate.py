"""Interpolants: SciPy's values, and derivatives by data, knots and points."""

import numpy as np
import pytest
import scipy.interpolate

import pullback as pb
from pullback.func import grad

interpolate = pb.scipy.interpolate
RNG = np.random.default_rng(0)
X = np.sort(RNG.random(7))
Y = RNG.standard_normal((7, 2))
AT = X[0] + (X[-1] - X[0]) * np.array([0.13, 0.37, 0.55, 0.71, 0.93])
ENDS = ((1, np.array([0.3, 0.2])), (2, np.array([0.1, 0.4])))


def leaf(value):
    return pb.tensor(value, requires_grad=True)


@pytest.mark.parametrize(
    "name, options",
    [
        *(("CubicSpline", {"bc_type": end}) for end in ("not-a-knot", "natural", "clamped", ENDS)),
        ("PchipInterpolator", {}),
        ("Akima1DInterpolator", {}),
        ("Akima1DInterpolator", {"method": "makima"}),
        *(("interp1d", {"kind": kind, "axis": 0}) for kind in ("linear", "nearest", "previous", "next", "cubic")),
        *(("make_interp_spline", {"k": k}) for k in (1, 2, 3, 4, 5)),
    ],
)
def test_values_are_scipys_and_derivatives_are_right(name, options):
    ours, theirs = getattr(interpolate, name), getattr(scipy.interpolate, name)
    np.testing.assert_allclose(
        ours(X, Y, **options)(AT).detach().numpy(), theirs(X, Y, **options)(AT), rtol=1e-12, atol=1e-12
    )
    inputs = leaf(X), leaf(Y), leaf(AT)
    assert pb.autograd.gradcheck(lambda x, y, at: ours(x, y, **options)(at), inputs, check_forward_ad=True)


def test_periodic_splines_and_extrapolation():
    y = np.append(Y[:-1], Y[:1], axis=0)
    ours, theirs = (module.CubicSpline(X, y, bc_type="periodic") for module in (interpolate, scipy.interpolate))
    beyond = np.append(AT, [X[-1] + 0.2, X[0] - 0.7])
    np.testing.assert_allclose(ours(beyond).numpy(), theirs(beyond), rtol=1e-10, atol=1e-12)
    ours, theirs = (module.CubicSpline(X, y, extrapolate=False) for module in (interpolate, scipy.interpolate))
    np.testing.assert_allclose(ours(beyond).numpy(), theirs(beyond))


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("ends", ["not-a-knot", "natural", "clamped"])
def test_few_knots(count, ends):
    x, y = X[:count], Y[:count]
    ours, theirs = (module.CubicSpline(x, y, bc_type=ends) for module in (interpolate, scipy.interpolate))
    at = np.linspace(x[0], x[-1], 5)
    np.testing.assert_allclose(ours(at).numpy(), theirs(at), rtol=1e-12, atol=1e-12)


def test_a_point_and_a_value():
    def at(v, point=1.5):
        values = pb.stack([pb.tensor(0.0), v, pb.tensor(4.0), pb.tensor(9.0)])
        return interpolate.CubicSpline(np.arange(4.0), values)(point)

    assert grad(at)(pb.tensor(1.0)).item() == pytest.approx(0.5625)
    assert grad(lambda point: at(pb.tensor(1.0), point))(pb.tensor(1.5)).item() == pytest.approx(3.0)


def test_derivatives_and_integrals_of_splines():
    ours, theirs = interpolate.CubicSpline(X, Y), scipy.interpolate.CubicSpline(X, Y)
    np.testing.assert_allclose(ours(AT, 2).numpy(), theirs(AT, 2), rtol=1e-9)
    np.testing.assert_allclose(ours.derivative()(AT).numpy(), theirs.derivative()(AT), rtol=1e-9)
    np.testing.assert_allclose(ours.antiderivative(2)(AT).numpy(), theirs.antiderivative(2)(AT), atol=1e-12)
    np.testing.assert_allclose(ours.integrate(0.2, 0.7).numpy(), theirs.integrate(0.2, 0.7), atol=1e-12)
    assert pb.autograd.gradcheck(lambda y, b: interpolate.CubicSpline(X, y).integrate(0.2, b), (leaf(Y), leaf(0.7)))
    ours, theirs = interpolate.make_interp_spline(X, Y), scipy.interpolate.make_interp_spline(X, Y)
    np.testing.assert_allclose(ours(AT, 1).numpy(), theirs(AT, 1), rtol=1e-9)


def test_fill_values_and_errors():
    fill = leaf(7.0)
    function = interpolate.interp1d(X, Y[:, 0], bounds_error=False, fill_value=fill)
    out = function(np.array([X[0] - 1, AT[0]]))
    out.sum().backward()
    assert (out[0].item(), fill.grad.item()) == (7.0, 1.0)
    with pytest.raises(ValueError, match="below the interpolation range"):
        interpolate.interp1d(X, Y[:, 0])(X[0] - 1)
    with pytest.raises(ValueError, match="strictly increasing"):
        interpolate.CubicSpline([0.0, 0.0, 1.0], [1.0, 2.0, 3.0])


def test_regular_grids():
    points = (np.arange(4.0), np.arange(5.0))
    values = np.add.outer(10 * points[0] ** 2, points[1])
    at = np.array([[1.2, 0.5], [2.3, 3.1]])
    for method in ("linear", "nearest"):
        ours = interpolate.RegularGridInterpolator(points, values, method)(at)
        np.testing.assert_allclose(ours.numpy(), scipy.interpolate.RegularGridInterpolator(points, values, method)(at))
    slope = grad(lambda at: interpolate.interpn(points, values, at)[0])(pb.tensor([[1.2, 0.5]]))
    assert slope.tolist() == [[30.0, 1.0]]
    assert pb.autograd.gradcheck(lambda v, at: interpolate.interpn(points, v, at), (leaf(values), leaf(at)))
    with pytest.raises(ValueError, match="out of bounds"):
        interpolate.interpn(points, values, [[9.0, 0.0]])
    with pytest.raises(pb.AutogradError) as raised:
        interpolate.RegularGridInterpolator(points, leaf(values), "pchip")(at)
    assert raised.value.code == "SCIPY_NO_RULE"
