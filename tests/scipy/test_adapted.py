"""Unmodified programs that call SciPy, adapted: their gradients against differences."""

import numpy as np
import pytest
import scipy
import scipy.integrate as si
import scipy.ndimage
import scipy.optimize as so
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import CubicSpline, interp1d
from scipy.optimize import brentq, curve_fit
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist, pdist
from scipy.spatial.transform import Rotation

import pullback as pb

XS = np.linspace(0, 3, 8)
SPLINE = CubicSpline(XS, np.sin(XS))
LINES = interp1d(XS, np.cos(XS))
TREE = KDTree(np.stack([XS, np.sin(XS)], axis=1))
TURN = Rotation.from_euler("xyz", [0.1, 0.2, 0.3])
SOLVERS = {"root": brentq}


def by_name(p):
    return brentq(lambda y: y * y - p, 0.0, 5.0)


def by_module(p):
    return scipy.optimize.brentq(lambda y: y * y - p, 0.0, 5.0)


def by_table(p):
    return SOLVERS["root"](lambda y: y * y - p, 0.0, 5.0)


def imported_inside(p):
    from scipy import optimize

    return optimize.newton(lambda y: y * y - p, 1.0)


def system(p):
    return so.root(lambda v: np.array([v[0] ** 3 - p, v[0] * v[1] - 3]), [1.0, 1.0]).x[1]


def minimum(p):
    return so.minimize(lambda x: np.sum((x - p) ** 2) + 0.1 * np.sin(x[0]), np.zeros(2), tol=1e-10).x[0]


def fit(p):
    x = np.linspace(0, 1, 9)
    y = np.exp(-p * x) + 0.01 * np.cos(20 * x)
    popt, pcov = curve_fit(lambda x, a, b: a * np.exp(-b * x), x, y, p0=[1.0, 1.0])
    return popt[1] + pcov[0, 0]


def integral(p):
    return quad(lambda t: np.exp(-p * t * t), 0, p)[0]


def decay(p):
    return solve_ivp(lambda t, y: -p * y, (0, 1.0), [1.0], rtol=1e-8, atol=1e-10).y[0, -1]


def pendulum(p):
    def right(t, y):
        d = np.zeros(2)
        d[0] = y[1]
        d[1] = -p * np.sin(y[0])
        return d

    times = np.linspace(0, 2, 5)
    return solve_ivp(right, (0, 2), [1.0, 0.0], t_eval=times, rtol=1e-8, atol=1e-10).y[0].sum()


def by_odeint(p):
    return si.odeint(lambda y, t: -p * y, 1.0, np.array([0.0, 1.0]))[-1, 0]


def splines_from_outside(p):
    return SPLINE(p) * 2 + LINES(p)


def spline_inside(p):
    return CubicSpline(XS, np.sin(p * XS))(1.3) + interp1d(XS, p * XS**2, kind="cubic")(np.array([0.5, 1.5])).sum()


PROGRAMS = [
    by_name, by_module, by_table, imported_inside, system, minimum, fit, integral, decay, pendulum, by_odeint,
    splines_from_outside, spline_inside,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_unmodified_program_differentiates(program):
    step = 1e-4
    numerical = (program(1.3 + step) - program(1.3 - step)) / (2 * step)
    adapted = pb.func.adapt(program)
    assert float(adapted(pb.tensor(1.3))) == pytest.approx(float(program(1.3)), rel=1e-7)
    assert pb.func.grad(adapted)(pb.tensor(1.3)).item() == pytest.approx(float(numerical), rel=2e-4)


def smoothed(p):
    image = np.outer(np.sin(p * XS), np.cos(XS))
    moved = scipy.ndimage.map_coordinates(image, np.array([[1.2, 3.4], [2.5, 0.7]]) * p, order=3, mode="mirror")
    largest = scipy.ndimage.maximum_filter(image, 3)[2, 3]
    return (scipy.ndimage.gaussian_filter(image, p) ** 2).sum() + moved.sum() + largest


def between_points(p):
    points = np.stack([XS * p, np.cos(XS)], axis=1)
    turned = Rotation.from_rotvec([0.1, p, 0.3]).apply(np.array([1.0, 2.0, 3.0])) + TURN.apply(np.array([p, 0.0, 1.0]))
    apart = cdist(points, points + 0.3).sum() + pdist(points, "cosine").sum()
    return apart + TREE.query(points)[0].sum() + turned.sum()


@pytest.mark.parametrize("program", [smoothed, between_points])
def test_unmodified_programs_with_images_and_points_differentiate(program):
    test_an_unmodified_program_differentiates(program)


@pytest.mark.parametrize("function", [
    lambda A: scipy.linalg.cho_solve(scipy.linalg.cho_factor(A), np.ones(2)),
    lambda A: scipy.linalg.inv(A.T),
    lambda A: scipy.linalg.expm(A[:, ::-1]),
    lambda A: scipy.fft.fft(A.reshape(4)[::2]).real,
    lambda A: scipy.integrate.simpson(A.ravel()),
    lambda A: scipy.special.gammaln(A.T),
], ids=["cho_solve", "inv", "expm", "fft", "simpson", "gammaln"])  # fmt: skip
def test_views_carry_their_tangent_to_scipy(function):
    given = np.array([[2.0, 0.3], [0.3, 1.5]])
    along = np.array([[0.4, 0.1], [0.2, -0.3]])
    along = (along + along.T) / 2

    def whole(A):
        return np.sum(function(A * 1.0))

    tangent = pb.func.jvp(pb.func.adapt(whole), (pb.tensor(given),), (pb.tensor(along),))[1].item()
    step = 1e-6
    expected = (whole(given + step * along) - whole(given - step * along)) / (2 * step)
    assert tangent == pytest.approx(expected, rel=1e-6)
