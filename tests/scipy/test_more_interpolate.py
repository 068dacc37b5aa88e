"""Splines of FITPACK's family and scattered data: SciPy's values, and derivatives by data, knots and points."""

import numpy as np
import pytest
import scipy.interpolate

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck

theirs, ours = scipy.interpolate, pb.scipy.interpolate
RNG = np.random.default_rng(0)
X = np.array([0.0, 0.7, 1.5, 2.1, 3.0, 3.6, 4.4, 5.0])
Y = np.sin(X) + 0.1 * X
AT = np.array([0.3, 1.1, 2.6, 4.9])
PLANE = RNG.random((12, 2))
HEIGHT = np.sin(3 * PLANE[:, 0]) + PLANE[:, 1] ** 2
INSIDE = PLANE[:3] * 0.6 + PLANE[3:6] * 0.3 + PLANE[6:9] * 0.1

CASES = {
    **{
        f"periodic, degree {k}": lambda m, x, y, at, k=k: m.make_interp_spline(
            x, (pb if m is ours else np).concatenate([y[:-1], y[:1]]), k, bc_type="periodic"
        )(at)
        for k in (2, 3, 4, 5)
    },
    "natural": lambda m, x, y, at: m.make_interp_spline(x, y, bc_type="natural")(at),
    "slopes of degree 5": lambda m, x, y, at: m.make_interp_spline(
        x, y, 5, bc_type=([(1, 0.3), (2, 0.1)], [(1, 0.2), (3, 0.0)])
    )(at),
    "a knot more": lambda m, x, y, at: m.make_interp_spline(x, y).insert_knot(2.2, 2).c,
    "integral": lambda m, x, y, at: m.make_interp_spline(x, y).integrate(at[0], at[2]),
    "integral of an integral": lambda m, x, y, at: m.make_interp_spline(x, y).antiderivative(2)(at),
    "splantider, all of it": lambda m, x, y, at: m.splantider(m.splrep(x, y))[1],
    "a curve": lambda m, x, y, at: m.splev(at / 6, m.splprep([x + 0.1 * y, y], s=0)[0])[1],
    "roots": lambda m, x, y, at: m.InterpolatedUnivariateSpline(x, y - 0.4).roots(),
    "all derivatives": lambda m, x, y, at: m.InterpolatedUnivariateSpline(x, y).derivatives(at[1]),
    "one of the basis": lambda m, x, y, at: m.BSpline.basis_element(x[:5])(at[:3]),
    "the basis": lambda m, x, y, at: m.BSpline.design_matrix(at[2:3], x, 2).toarray(),
    "splrep": lambda m, x, y, at: m.splev(at, m.splrep(x, y)),
    "splrep of degree 2": lambda m, x, y, at: m.splev(at, m.splrep(x, y, k=2)),
    "derivative of splev": lambda m, x, y, at: m.splev(at, m.splrep(x, y), der=1),
    "splder": lambda m, x, y, at: m.splev(at, m.splder(m.splrep(x, y))),
    "splantider": lambda m, x, y, at: m.splev(at, m.splantider(m.splrep(x, y))),
    "splint": lambda m, x, y, at: m.splint(at[0], at[-1], m.splrep(x, y)),
    "make_splrep": lambda m, x, y, at: m.make_splrep(x, y, s=0)(at),
    "UnivariateSpline": lambda m, x, y, at: m.UnivariateSpline(x, y, s=0)(at),
    "its derivative": lambda m, x, y, at: m.UnivariateSpline(x, y, s=0).derivative()(at),
    "its integral": lambda m, x, y, at: m.UnivariateSpline(x, y, s=0).integral(at[0], at[-1]),
    "InterpolatedUnivariateSpline": lambda m, x, y, at: m.InterpolatedUnivariateSpline(x, y, k=4)(at),
    "LSQUnivariateSpline": lambda m, x, y, at: m.LSQUnivariateSpline(x, y, [1.9, 3.3])(at),
    "make_lsq_spline": lambda m, x, y, at: m.make_lsq_spline(x, y, np.array([0, 0, 0, 0, 2.5, 5, 5, 5, 5.0]))(at),
    "make_smoothing_spline": lambda m, x, y, at: m.make_smoothing_spline(x, y, lam=0.1)(at),
    "BarycentricInterpolator": lambda m, x, y, at: m.BarycentricInterpolator(x, y)(at),
    "KroghInterpolator": lambda m, x, y, at: m.KroghInterpolator(x, y)(at),
    "roots of a spline": lambda m, x, y, at: m.CubicSpline(x, y - 0.2).roots(),
    "solve": lambda m, x, y, at: m.CubicSpline(x, y).solve(0.5),
    "integral of a spline": lambda m, x, y, at: m.CubicSpline(x, y).integrate(at[0], at[1]),
    "antiderivative": lambda m, x, y, at: m.PchipInterpolator(x, y).antiderivative()(at),
}


@pytest.mark.parametrize("name", CASES)
def test_one_variable(name):
    f = CASES[name]
    found = f(ours, pb.tensor(X), pb.tensor(Y), pb.tensor(AT)).numpy()
    np.testing.assert_allclose(found, f(theirs, X, Y, AT), rtol=1e-8, atol=1e-10)
    leaves = [pb.tensor(each, requires_grad=True) for each in (X, Y, AT)]
    if name == "make_lsq_spline":
        leaves[0] = pb.tensor(X)  # the first point lies on a knot
    assert gradcheck(lambda x, y, at: f(ours, x, y, at), leaves, atol=1e-5)


def test_second_derivatives_of_roots():
    y = pb.tensor(Y, requires_grad=True)
    assert gradgradcheck(lambda y: ours.CubicSpline(X, y - 0.2).roots(), (y,), atol=1e-4)


def test_weights_and_the_smoothing_parameter():
    w, lam, y = (pb.tensor(each, requires_grad=True) for each in (1 + RNG.random(8), 0.3, Y))
    found = ours.make_smoothing_spline(X, y, w, lam)(AT)
    np.testing.assert_allclose(found.detach().numpy(), theirs.make_smoothing_spline(X, Y, w.detach().numpy(), 0.3)(AT))
    assert gradcheck(lambda y, w, lam: ours.make_smoothing_spline(X, y, w, lam)(AT), (y, w, lam))


def test_a_spline_that_chooses_its_knots_is_refused():
    y = pb.tensor(Y, requires_grad=True)
    for smoothed in (
        lambda: ours.splrep(X, y, s=0.5),
        lambda: ours.UnivariateSpline(X, y, s=0.5),
        lambda: ours.make_smoothing_spline(X, y),
    ):
        with pytest.raises(pb.AutogradError) as caught:
            smoothed()
        assert caught.value.code == "SCIPY_NO_RULE"
    np.testing.assert_allclose(ours.splrep(X, Y, s=0.5)[1].numpy(), theirs.splrep(X, Y, s=0.5)[1])


@pytest.mark.parametrize("ext", [0, 1, 3])
def test_outside_of_the_knots(ext):
    at = np.array([-0.5, 1.0, 6.0])
    found, expected = (module.splev(at, module.splrep(X, Y), ext=ext) for module in (ours, theirs))
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "thin_plate_spline", "cubic", "quintic", "multiquadric", "gaussian"])
def test_radial_functions(kernel):
    options = {"epsilon": 1.5} if kernel in ("multiquadric", "gaussian") else {}
    at = RNG.random((3, 2))
    found = ours.RBFInterpolator(PLANE, HEIGHT, kernel=kernel, **options)(at)
    np.testing.assert_allclose(found, theirs.RBFInterpolator(PLANE, HEIGHT, kernel=kernel, **options)(at), rtol=1e-7)
    leaves = [pb.tensor(each, requires_grad=True) for each in (PLANE, HEIGHT, at)]
    assert gradcheck(lambda p, h, at: ours.RBFInterpolator(p, h, kernel=kernel, **options)(at), leaves, atol=1e-4)


def test_radial_functions_by_their_width_and_with_neighbours():
    width = pb.tensor(1.5, requires_grad=True)
    at = RNG.random((4, 2))
    assert gradcheck(lambda e: ours.RBFInterpolator(PLANE, HEIGHT, kernel="gaussian", epsilon=e)(at), (width,))
    found = ours.RBFInterpolator(PLANE, HEIGHT, neighbors=5)(at)
    np.testing.assert_allclose(found, theirs.RBFInterpolator(PLANE, HEIGHT, neighbors=5)(at), rtol=1e-7)
    height = pb.tensor(HEIGHT, requires_grad=True)
    assert gradcheck(lambda h: ours.RBFInterpolator(PLANE, h, neighbors=5)(at), (height,))


def test_triangulations():
    at = np.concatenate([INSIDE, [[9.0, 9.0]]])
    found = ours.LinearNDInterpolator(PLANE, HEIGHT)(at)
    np.testing.assert_allclose(found, theirs.LinearNDInterpolator(PLANE, HEIGHT)(at))
    np.testing.assert_allclose(ours.griddata(PLANE, HEIGHT, at), theirs.griddata(PLANE, HEIGHT, at))
    leaves = [pb.tensor(each, requires_grad=True) for each in (PLANE, HEIGHT, INSIDE)]
    assert gradcheck(lambda p, h, at: ours.LinearNDInterpolator(p, h)(at), leaves)
    height = pb.tensor(HEIGHT, requires_grad=True)
    near = ours.NearestNDInterpolator(PLANE, height)(INSIDE)
    np.testing.assert_allclose(near.detach(), theirs.NearestNDInterpolator(PLANE, HEIGHT)(INSIDE))
    near.sum().backward()
    assert height.grad.sum().item() == 3.0


def test_splines_of_two_variables():
    x, y = np.linspace(0, 1, 5), np.linspace(0, 2, 6)
    z = np.sin(3 * x)[:, None] * np.cos(y) + x[:, None] * y
    a, b = np.array([0.1, 0.5, 0.93]), np.array([0.2, 1.4, 1.9])
    spline, real = ours.RectBivariateSpline(x, y, z), theirs.RectBivariateSpline(x, y, z)
    np.testing.assert_allclose(spline(a, b), real(a, b), rtol=1e-9)
    np.testing.assert_allclose(spline.ev(a, b, dx=1), real.ev(a, b, dx=1), rtol=1e-8)
    leaves = [pb.tensor(each, requires_grad=True) for each in (x, y, z, a, b)]
    assert gradcheck(lambda x, y, z, a, b: ours.RectBivariateSpline(x, y, z).ev(a, b), leaves, atol=1e-4)


@pytest.mark.parametrize("points", [(0.3, 1.1), ([0.3], [0.2, 1.1]), ([0.1, 0.5, 0.93], [0.2, 1.4])])
def test_bisplev_is_that_of_scipy_by_points_and_coefficients(points):
    x, y = (each.ravel() for each in np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 2, 8)))
    tx, ty, c, kx, ky = theirs.bisplrep(x, y, np.sin(3 * x) * np.cos(y) + x * y, s=0)
    for dx, dy in ((0, 0), (1, 2)):
        expected = theirs.bisplev(*points, (tx, ty, c, kx, ky), dx, dy)
        actual = ours.bisplev(*points, (tx, ty, c, kx, ky), dx, dy)
        assert actual.shape == np.shape(expected)
        np.testing.assert_allclose(actual, expected, rtol=1e-8, atol=1e-10)
    leaves = [pb.tensor(each, dtype=float, requires_grad=True) for each in (*points, c)]
    assert gradcheck(lambda a, b, c: ours.bisplev(a, b, (tx, ty, c, kx, ky)), leaves)
    with pytest.raises(ValueError, match="rank-1"):
        ours.bisplev(np.ones((2, 2)), 0.5, (tx, ty, c, kx, ky))


def test_bisplev_in_an_adapted_program():
    x, y = (each.ravel() for each in np.meshgrid(np.linspace(0, 1, 7), np.linspace(0, 2, 8)))
    surface = theirs.bisplrep(x, y, np.sin(3 * x) * y, s=0)
    at = pb.tensor(0.3, requires_grad=True)
    pb.func.adapt(lambda at: float(theirs.bisplev(at, 1.1, surface)))(at).backward()
    np.testing.assert_allclose(at.grad, theirs.bisplev(0.3, 1.1, surface, dx=1))


@pytest.mark.parametrize("moving", ["points", "values", "xi", "one of xi"])
def test_cubic_interpolation_of_scattered_data_is_refused(moving):
    """A point that is a tuple of coordinates was taken for numbers: the result had no gradient, without a word."""
    given = {"points": PLANE, "values": HEIGHT, "xi": INSIDE}
    if moving == "one of xi":
        given["xi"] = (pb.tensor(INSIDE[:, 0], requires_grad=True), INSIDE[:, 1])
    else:
        given[moving] = pb.tensor(given[moving], requires_grad=True)
    with pytest.raises(pb.AutogradError) as caught:
        ours.griddata(**given, method="cubic")
    assert caught.value.code == "SCIPY_NO_RULE"
