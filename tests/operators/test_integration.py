"""Differences and integrals of samples."""

import numpy as np
import pytest
import scipy.integrate

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

RANDOM = np.random.default_rng(5)
Y = RANDOM.normal(size=(4, 6))
X = np.cumsum(RANDOM.uniform(0.5, 1.5, 6))


def leaf(values):
    return pb.tensor(values, requires_grad=True)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("axis", [None, 0, 1, (1, 0)])
def test_gradient_equals_numpy(edge_order, axis):
    for spacing in ((), (0.5,)):
        got = pb.gradient(Y, *spacing, axis=axis, edge_order=edge_order)
        wanted = np.gradient(Y, *spacing, axis=axis, edge_order=edge_order)
        for each, other in zip(got, wanted, strict=True):
            assert_close(each, other)


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_at_coordinates_equals_numpy_and_is_differentiable_in_them(edge_order):
    got = pb.gradient(Y, X, axis=1, edge_order=edge_order)
    assert_close(got, np.gradient(Y, X, axis=1, edge_order=edge_order))
    assert gradcheck(lambda y, x: pb.gradient(y, x, axis=1, edge_order=edge_order), (leaf(Y[:2]), leaf(X)))
    assert gradcheck(lambda y, h: pb.gradient(y, h, axis=1, edge_order=edge_order), (leaf(Y[:2]), leaf(0.7)))


def test_gradient_takes_one_spacing_per_axis():
    for got, wanted in zip(pb.gradient(Y, 2.0, X), np.gradient(Y, 2.0, X), strict=True):
        assert_close(got, wanted)
    assert_close(pb.gradient([1, 4, 9, 16]), np.gradient([1, 4, 9, 16]))
    with pytest.raises(ValueError, match="samples or more"):
        pb.gradient([1.0])
    with pytest.raises(TypeError, match="spacings"):
        pb.gradient(Y, 1.0, 2.0, 3.0)


@pytest.mark.parametrize("axis", [0, 1])
def test_trapezoid_equals_numpy(axis):
    x = X[: Y.shape[axis]]
    assert_close(pb.trapezoid(Y, axis=axis, dx=0.3), np.trapezoid(Y, axis=axis, dx=0.3))
    assert_close(pb.trapezoid(Y, x, axis=axis), np.trapezoid(Y, x, axis=axis))
    assert_close(pb.trapz(Y, x, axis=axis), np.trapezoid(Y, x, axis=axis))
    got = pb.cumulative_trapezoid(Y, x, axis=axis, initial=0)
    assert_close(got, scipy.integrate.cumulative_trapezoid(Y, x, axis=axis, initial=0))


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_simpson_equals_scipy(count):
    y, x = Y[:, :count], X[:count]
    assert_close(pb.simpson(y, x), scipy.integrate.simpson(y, x=x))
    assert_close(pb.simpson(y, dx=0.4), scipy.integrate.simpson(y, dx=0.4))
    assert_close(pb.simpson(y.T, x, axis=0), scipy.integrate.simpson(y.T, x=x, axis=0))


@pytest.mark.parametrize("name", ["trapezoid", "cumulative_trapezoid", "simpson"])
def test_integrals_are_differentiable_in_samples_and_coordinates(name):
    integrate = getattr(pb, name)
    assert gradcheck(integrate, (leaf(Y[0]), leaf(X)))
    assert gradgradcheck(integrate, (leaf(Y[0, :4]), leaf(X[:4])))
    assert gradcheck(lambda y, dx: integrate(y, dx=dx), (leaf(Y[0]), leaf(0.4)))


def test_ediff1d_equals_numpy():
    assert_close(pb.ediff1d(Y), np.ediff1d(Y))
    assert_close(pb.ediff1d(Y, 1.0, [2.0, 3.0]), np.ediff1d(Y, 1.0, [2.0, 3.0]))
    end = leaf(2.0)
    pb.ediff1d([1.0, 2.0], end).sum().backward()
    assert_close(end.grad, 1.0)
