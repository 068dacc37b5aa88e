"""Conformance cases 126 to 141: linear algebra and interpolation."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg

import pullback as pb
from pullback.scipy import interpolate as P
from pullback.scipy import linalg as L

from .scipy_cases import adjoint, agrees, d, gc, gg, refused

A = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]])
M = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 1.5], [2.0, 0.4, 3.0]])
B = np.array([1.0, -2.0, 0.5])


def symmetric(a):
    return (a + a.T) / 2


def test_126_scipys_meanings():
    np.testing.assert_allclose(L.cholesky(pb.tensor(A)).numpy(), scipy.linalg.cholesky(A))
    assert len(L.lu(pb.tensor(M))) == 3
    gc(lambda a: L.cholesky(symmetric(a)), A)
    gc(lambda a: L.lu(a)[2], M)
    gc(lambda a: L.qr(a, mode="economic", pivoting=True)[1], M)
    gc(lambda a, b: L.solve(symmetric(a), b, assume_a="pos"), A, B)


def test_127_eigenvalues():
    other = np.diag([1.0, 2.0, 3.0])
    all_of_them = d(lambda a: L.eigh(symmetric(a), pb.tensor(other))[0][:2].sum(), A)
    some = d(lambda a: L.eigh(symmetric(a), pb.tensor(other), subset_by_index=[0, 1])[0].sum(), A)
    np.testing.assert_allclose(some, all_of_them, atol=1e-9)
    gc(lambda x, e: L.eigh_tridiagonal(x, e, eigvals_only=True), B, [0.5, 0.3])
    gc(lambda band: L.eig_banded(band, eigvals_only=True), np.array([[0.0, 0.5, 0.3], [1.0, -2.0, 0.5]]))


def test_128_bands():
    band = np.array([[0.0, 0.5, 0.3], [4.0, 3.0, 5.0], [0.2, 0.1, 0.0]])
    gc(lambda band, b: L.solve_banded((1, 1), band, b), band, B)
    gc(lambda band, b: L.solveh_banded(band[:2], b), band, B)
    gc(lambda band, b: L.cho_solve_banded((L.cholesky_banded(band[:2]), False), b), band, B)


def test_129_functions_of_matrices():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert d(lambda a: L.logm(a)[0, 0], a)[0, 0] == pytest.approx(0.572163577, rel=1e-7)
    gc(lambda a: L.fractional_matrix_power(a, 0.5), a)
    gc(L.cosm, a)
    gc(L.signm, np.array([[2.0, 1.0], [0.3, -3.0]]))
    gc(lambda a: L.expm_frechet(a, np.eye(2), compute_expm=False), a)


def test_130_riccati_and_lyapunov():
    a, b = np.array([[0.5, 0.2], [0.1, 0.7]]), np.array([[1.0], [0.5]])
    q, r = np.eye(2), np.eye(1)
    for name in ("solve_continuous_are", "solve_discrete_are"):
        agrees(lambda a, n=name: getattr(L, n)(a, b, q, r).sum(), a, 1e-6)
        agrees(lambda b, n=name: getattr(L, n)(a, b, q, r).sum(), b, 1e-6)
        agrees(lambda q, n=name: getattr(L, n)(a, b, symmetric(q), r).sum(), q, 1e-6)
        agrees(lambda r, n=name: getattr(L, n)(a, b, q, r).sum(), r, 1e-6)
    gc(lambda a, q: L.solve_discrete_lyapunov(a, symmetric(q)), a, q)
    gg(lambda r: L.solve_continuous_are(a, b, q, r)[0, 0], r)


def test_131_schur_and_null_spaces():
    gc(lambda a: L.schur(a)[0].diagonal(), np.array([[1.0, 2.0], [0.3, 4.0]]))
    with refused("SCIPY_NO_RULE"):
        d(lambda a: L.schur(a)[0].sum(), np.array([[0.0, 1.0], [-1.0, 0.0]]))

    def projector(a):
        basis = L.null_space(a)
        return basis @ basis.T

    gc(projector, np.array([[1.0, 2.0, 0.5]]))


def test_132_structured_matrices():
    gc(lambda c, b: L.solve_toeplitz(c, b), [3.0, 1.0, 0.5], B)
    gc(lambda c, b: L.matmul_toeplitz(c, b), [3.0, 1.0, 0.5], B)
    gc(lambda a: L.block_diag(a, a), M)
    gc(lambda a: L.companion(a), [2.0, 1.0, 3.0])


KNOTS = np.array([0.0, 1.0, 2.0, 3.0])
VALUES = np.array([0.0, 1.0, 4.0, 9.0])


def test_133_cubic_splines():
    def at(v, x):
        return P.CubicSpline(KNOTS, pb.stack([0 * v, v, 0 * v + 4, 0 * v + 9]))(x)

    found = d(at, 1.0, 1.5)
    np.testing.assert_allclose(found, [0.5625, 3.0], rtol=1e-6)
    points = np.array([0.3, 1.4, 2.7])
    for ends in ("natural", "clamped", "not-a-knot"):
        gc(lambda y, x, at, e=ends: P.CubicSpline(x, y, bc_type=e)(at), VALUES, KNOTS, points)
    gc(lambda y, at: P.CubicSpline(KNOTS, pb.concat([y[:3], y[:1]]), bc_type="periodic")(at), VALUES, points)
    gc(lambda y, s: P.CubicSpline(KNOTS, y, bc_type=((1, s), (1, 0.5)))(points), VALUES, 0.3)


def test_134_other_piecewise_polynomials():
    points = np.array([0.3, 1.5, 2.7])
    found = d(lambda v: P.PchipInterpolator(KNOTS, pb.stack([0 * v, v, 0 * v + 4, 0 * v + 9]))(1.5), 1.0)
    assert found == pytest.approx(0.72265625)
    gc(lambda y: P.Akima1DInterpolator(KNOTS, y)(points), np.array([0.0, 1.3, 2.0, 9.0]))
    gc(lambda y, s: P.CubicHermiteSpline(KNOTS, y, s)(points), VALUES, np.ones(4))
    gc(lambda y: P.CubicSpline(KNOTS, y).derivative()(points), VALUES)
    gc(lambda y, a, b: P.CubicSpline(KNOTS, y).integrate(a, b), VALUES, 0.4, 2.3)
    agrees(lambda y: P.CubicSpline(KNOTS, y).roots(extrapolate=False)[0], np.array([-1.0, 1.0, 4.0, 9.0]), 1e-5)


def test_135_interp1d():
    linear = P.interp1d(KNOTS, VALUES)
    assert d(lambda x: linear(x), 1.0) == pytest.approx(3.0)
    assert d(lambda x: linear(x), 3.0) == pytest.approx(5.0)
    assert d(lambda x: P.interp1d(KNOTS, VALUES, kind="nearest")(x) + 0 * x, 1.2) == pytest.approx(0.0)
    assert d(lambda f: P.interp1d(KNOTS, VALUES, fill_value=f, bounds_error=False)(5.0), 2.0) == pytest.approx(1.0)
    cubic = P.interp1d(KNOTS, VALUES, kind="cubic")(pb.tensor(1.3)).item()
    assert cubic == pytest.approx(scipy.interpolate.make_interp_spline(KNOTS, VALUES, k=3)(1.3).item())


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_136_b_splines(k):
    x, y = np.linspace(0, 3, 7), np.sin(np.linspace(0, 3, 7))
    gc(lambda y, at: P.make_interp_spline(x, y, k=k)(at), y, [0.4, 1.7])
    knots = np.concatenate([[0.0] * k, np.linspace(0, 3, 8 - k), [3.0] * k])
    gc(lambda c, at: P.BSpline(knots, c, k)(at), np.arange(7.0) ** 2, [0.4, 1.7])
    if k == 3:
        gc(lambda y, at: P.splev(at, P.splrep(x, y, s=0)), y, [0.4, 1.7])


def test_137_a_smoothing_spline_is_refused():
    x = np.linspace(0, 3, 9)
    with refused("SCIPY_NO_RULE"):
        d(lambda y: P.splev(1.2, P.splrep(x, y, s=0.1)).sum(), np.sin(x))


@pytest.mark.parametrize("method", ["linear", "cubic", "slinear", "quintic"])
def test_138_grids(method):
    x, y = np.arange(6.0), np.arange(6.0) / 2
    table = (x**2)[:, None] + y[None, :]
    points = np.array([[1.2, 0.6], [3.7, 1.1]])
    gc(lambda at: P.RegularGridInterpolator((x, y), table, method=method)(at).sum(), points)
    adjoint(lambda v: P.RegularGridInterpolator((x, y), v, method=method)(points), table, 1e-11)
    found = P.RegularGridInterpolator((x, y), pb.tensor(table, requires_grad=True), method=method)(points)
    plain = scipy.interpolate.RegularGridInterpolator((x, y), table, method=method)(points)
    np.testing.assert_allclose(found.detach().numpy(), plain, rtol=1e-10)
    with pytest.raises(ValueError, match="out of bounds"):
        P.RegularGridInterpolator((x, y), table)(pb.tensor([[9.0, 0.0]]))


def test_139_radial_functions():
    y, v = np.random.default_rng(0).standard_normal((8, 2)), np.arange(8.0)
    at = np.array([[0.1, 0.2]])
    gc(lambda y, v, at: P.RBFInterpolator(y, v)(at), y, v, at)
    gc(lambda e: P.RBFInterpolator(y, v, kernel="gaussian", epsilon=e)(at), 0.7)
    agrees(lambda v: P.RBFInterpolator(y, v, neighbors=5)(at).sum(), v, 1e-5)


def test_140_triangles():
    points, values = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([1.0, 2.0, 4.0])
    at = np.array([[0.2, 0.3]])
    np.testing.assert_allclose(d(lambda v: P.griddata(points, v, at).sum(), values), [0.5, 0.2, 0.3])
    gc(lambda p, at: P.griddata(p, values, at), points, at)
    outside = P.griddata(points, values, pb.tensor([[2.0, 2.0]]))
    assert np.isnan(outside.numpy()).all()


def test_141_others():
    x = np.linspace(0, 3, 6)
    gc(lambda y, at: P.UnivariateSpline(x, y, s=0)(at), np.sin(x), [0.4, 1.7])
    gc(lambda z: P.RectBivariateSpline(x, x, z)(0.4, 1.7), np.outer(np.sin(x), np.cos(x)))
    gc(lambda y, at: P.BarycentricInterpolator(x, y)(at), np.sin(x), [0.4, 1.7])
    gc(lambda y, at: P.KroghInterpolator(x, y)(at), np.sin(x), [0.4, 1.7])
    with refused("SCIPY_NO_RULE", "SCIPY_ON_GRAD"):
        d(lambda y: P.AAA(x, y)(0.3), np.sin(x))
