"""Toeplitz, Hankel and circulant matrices."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

scipy_linalg = pytest.importorskip("scipy.linalg", reason="SciPy is what the values are compared with")

C, R = np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0, 9.0, 10.0])


@pytest.mark.parametrize("name", ["toeplitz", "hankel"])
def test_values_are_those_of_scipy(name):
    ours, theirs = getattr(pb.linalg, name), getattr(scipy_linalg, name)
    np.testing.assert_array_equal(ours(C, R), theirs(C, R))
    np.testing.assert_array_equal(ours(C), theirs(C))
    np.testing.assert_array_equal(ours(C + 1j), theirs(C + 1j))
    np.testing.assert_array_equal(ours([2.0]), theirs([2.0]))


def test_a_circulant_moves_its_column_down():
    np.testing.assert_array_equal(pb.linalg.circulant(C), scipy_linalg.circulant(C))
    assert pb.linalg.circulant(pb.zeros(0)).shape == (0, 0)


def test_batches_are_made_one_by_one():
    c, r = np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 4)
    for make in (pb.linalg.toeplitz, pb.linalg.hankel):
        np.testing.assert_array_equal(make(c, r), np.stack([make(c[k], r[k]) for k in range(2)]))
        np.testing.assert_array_equal(make(c, r[0]), np.stack([make(c[k], r[0]) for k in range(2)]))


def test_the_gradient_of_a_vector_is_the_sum_along_its_diagonal():
    c, r = pb.tensor(C, requires_grad=True), pb.tensor(R, requires_grad=True)
    pb.linalg.toeplitz(c, r).sum().backward()
    assert_close(c.grad, [3.0, 2.0, 1.0])
    assert_close(r.grad, [0.0, 3.0, 2.0, 1.0])


def test_derivatives():
    c, r = pb.tensor(C, requires_grad=True), pb.tensor(R, requires_grad=True)
    for make in (pb.linalg.toeplitz, pb.linalg.hankel):
        assert gradcheck(lambda c, r, make=make: make(c, r) ** 2, (c, r))
    z = pb.tensor(C + 1j * R[:3], requires_grad=True)
    assert gradcheck(pb.linalg.toeplitz, (z,))
    assert gradcheck(pb.linalg.circulant, (z,))


def test_a_number_is_not_a_vector():
    with pytest.raises(ValueError, match="expected a vector"):
        pb.linalg.toeplitz(1.0)
