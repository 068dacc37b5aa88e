"""Polynomials: values of NumPy, derivatives by coefficients, points and roots."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

P = np.array([2.0, -3.0, 0.5, 1.0])
Q = np.array([1.5, 4.0])
X = np.array([[-1.0, 0.0], [0.5, 2.0]])


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def test_polyval_equals_numpy_and_is_differentiable_in_both():
    assert_close(pb.polyval(P, X), np.polyval(P, X))
    assert_close(pb.polyval(P, 0.5), np.polyval(P, 0.5))
    assert gradcheck(pb.polyval, (leaf(P), leaf(X)))
    assert gradgradcheck(pb.polyval, (leaf(P), leaf(X[0])))


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
def test_arithmetic_equals_numpy(name):
    ours, theirs = getattr(pb, name), getattr(np, name)
    assert_close(ours(P, Q), theirs(P, Q))
    assert_close(ours(Q, P), theirs(Q, P))
    assert gradcheck(ours, (leaf(P), leaf(Q)))


@pytest.mark.parametrize("u, v", [(P, Q), (Q, P), ([1.0, 0.0, -1.0], [1.0, 1.0]), ([2, 4], [2]), (P, [3.0])])
def test_division_equals_numpy(u, v):
    got, wanted = pb.polydiv(u, v), np.polydiv(u, v)
    assert_close(got[0], wanted[0])
    assert_close(got[1], wanted[1])


def test_quotients_are_differentiable():
    assert gradcheck(lambda u, v: pb.polydiv(u, v)[0], (leaf(P), leaf(Q)))


@pytest.mark.parametrize("m", [0, 1, 2, 3, 4])
def test_derivatives_and_integrals_equal_numpy(m):
    assert_close(pb.polyder(P, m), np.polyder(P, m))
    assert_close(pb.polyint(P, m), np.polyint(P, m))
    with pytest.raises(ValueError, match="negative"):
        pb.polyder(P, -1)


def test_constants_of_integration():
    assert_close(pb.polyint(P, 2, [3.0, 4.0]), np.polyint(P, 2, [3.0, 4.0]))
    k = leaf([3.0, 4.0])
    pb.polyint(P, 2, k)[-2:].sum().backward()
    assert_close(k.grad, [1.0, 1.0])


def test_vander_equals_numpy_and_zero_to_the_zero_has_derivative_zero():
    x = np.array([0.0, 1.0, 2.0])
    assert_close(pb.vander(x), np.vander(x))
    assert_close(pb.vander(x, 4, increasing=True), np.vander(x, 4, increasing=True))
    assert pb.vander(x, 0).shape == (3, 0)
    point = leaf(x)
    pb.vander(point, 3).sum().backward()
    assert_close(point.grad, 1 + 2 * x)


def test_poly_has_the_given_roots():
    assert_close(pb.poly([1.0, -2.0, 3.0]), np.poly([1.0, -2.0, 3.0]))
    assert_close(pb.poly([1 + 2j, 1 - 2j]), [1.0, -2.0, 5.0])
    assert pb.poly([1 + 2j, 1 - 2j]).dtype == np.float64
    assert_close(pb.poly([]), [1.0])
    assert gradcheck(pb.poly, (leaf([1.0, -2.0, 3.0]),))
    matrix = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert_close(pb.poly(matrix), np.poly(matrix))


def test_roots_equal_numpy_and_simple_ones_are_differentiable():
    for p in ([1.0, -6.0, 11.0, -6.0], [1.0, 0.0, 1.0], [0.0, 2.0, -4.0, 0.0], [3.0], [0.0]):
        assert_close(np.sort_complex(pb.roots(p).numpy()), np.sort_complex(np.roots(p)), atol=1e-9)
    p = leaf([1.0, -3.0, 2.0])  # roots 1 and 2; d root / d constant = -1 / p'(root)
    pb.roots(p).real.max().backward()
    assert_close(p.grad, [-4.0, -2.0, -1.0])


def test_polyfit_equals_numpy():
    x = np.linspace(-1.0, 2.0, 7)
    y = np.sin(x)
    w = np.linspace(0.5, 2.0, 7)
    assert_close(pb.polyfit(x, y, 3), np.polyfit(x, y, 3))
    assert_close(pb.polyfit(x, y, 2, w=w), np.polyfit(x, y, 2, w=w))
    assert_close(pb.polyfit(x, np.stack([y, y * y], 1), 2), np.polyfit(x, np.stack([y, y * y], 1), 2))
    got, wanted = pb.polyfit(x, y, 2, cov=True), np.polyfit(x, y, 2, cov=True)
    assert_close(got[0], wanted[0])
    assert_close(got[1], wanted[1])
    assert_close(pb.polyfit(x, y, 2, cov="unscaled")[1], np.polyfit(x, y, 2, cov="unscaled")[1])
    full = pb.polyfit(x, y, 2, full=True)
    for each, other in zip(full, np.polyfit(x, y, 2, full=True), strict=True):
        assert_close(each, other)


def test_polyfit_is_differentiable_in_points_and_weights():
    x, y = np.linspace(-1.0, 2.0, 5), np.array([1.0, -0.5, 0.3, 2.0, 1.0])
    weights = np.linspace(0.5, 2.0, 5)
    assert gradcheck(lambda x, y, w: pb.polyfit(x, y, 2, w=w), (leaf(x), leaf(y), leaf(weights)))


def test_polyval_takes_a_polynomial_per_column():
    p, x = np.random.default_rng(0).normal(size=(2, 3, 4))
    assert_close(pb.polyval(p, x[0]), np.polyval(p, x[0]))


def test_a_number_of_powers_is_not_negative():
    with pytest.raises(ValueError, match="non-negative"):
        pb.vander(pb.tensor([1.0, 2.0]), -1)
