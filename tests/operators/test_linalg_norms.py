"""Norms and condition numbers: NumPy's values, and one subgradient at every kink."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

VECTOR_ORDERS = pytest.mark.parametrize("ord", [0, 0.5, 1, 2, 3, 2.5, -1, -2, np.inf, -np.inf])
MATRIX_ORDERS = pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])


def values(*shape, dtype=float, seed=5):
    random = np.random.default_rng(seed)
    out = random.uniform(0.3, 1.5, shape) * random.choice([-1, 1], shape)
    return out + 1j * random.uniform(0.3, 1.5, shape) if np.dtype(dtype).kind == "c" else out


def leaf(array):
    return pb.tensor(array, requires_grad=True)


def grad_of(function, array):
    x = leaf(array)
    return pb.autograd.grad(function(x), x)[0].numpy()


@pytest.mark.parametrize("dtype", [float, complex])
@VECTOR_ORDERS
def test_vector_norm_has_the_values_of_numpy(ord, dtype):
    x = values(3, 4, 2, dtype=dtype)
    for axis in (None, 1, (0, 2)):
        for keepdims in (False, True):
            expected = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
            assert_close(pb.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord), expected)


@pytest.mark.parametrize("dtype", [float, complex])
@VECTOR_ORDERS
def test_vector_norm_has_derivatives_of_two_orders(ord, dtype):
    x = leaf(values(3, 2, dtype=dtype))

    def function(x):
        return pb.linalg.vector_norm(x, ord=ord, axis=0)

    assert gradcheck(function, (x,), fast_mode=True) and gradgradcheck(function, (x,), fast_mode=True)


@VECTOR_ORDERS
def test_the_gradient_at_the_zero_vector_is_zero(ord):
    assert_close(grad_of(lambda x: pb.linalg.vector_norm(x, ord=ord), np.zeros(3)), np.zeros(3))


def test_zero_entries_and_ties():
    assert_close(grad_of(lambda x: pb.linalg.vector_norm(x, ord=0.5), np.array([0.0, 1.0])), [0.0, 1.0])
    assert_close(grad_of(lambda x: pb.linalg.vector_norm(x, ord=3), np.array([0.0, -2.0])), [0.0, -1.0])
    assert_close(grad_of(lambda x: pb.linalg.vector_norm(x, ord=np.inf), np.array([2.0, -2.0, 1.0])), [0.5, -0.5, 0.0])
    assert_close(grad_of(lambda x: pb.linalg.vector_norm(x, ord=-np.inf), np.array([0.0, 3.0])), [0.0, 0.0])


def test_the_second_derivative_at_a_zero_entry_is_finite():
    x = leaf(np.array([0.0, 2.0]))
    (first,) = pb.autograd.grad(pb.linalg.vector_norm(x, ord=3), x, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), x)
    assert np.isfinite(second.numpy()).all()


def test_vector_norm_accepts_other_spellings_integers_and_empty_arrays():
    x = values(3, 4)
    assert_close(pb.linalg.vector_norm(x, 2, dim=1, keepdim=True), np.linalg.vector_norm(x, axis=1, keepdims=True))
    with pytest.raises(TypeError, match="two spellings"):
        pb.linalg.vector_norm(x, axis=0, dim=1)
    with pytest.raises(ValueError, match="number"):
        pb.linalg.vector_norm(x, ord="fro")
    assert pb.linalg.vector_norm(np.array([3, 4])).item() == 5.0
    assert pb.linalg.vector_norm(np.zeros((0, 2)), axis=0).tolist() == [0.0, 0.0]
    assert pb.linalg.vector_norm(x, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("dtype", [float, complex])
@MATRIX_ORDERS
def test_matrix_norm_has_the_values_of_numpy_and_a_gradient(ord, dtype):
    x = values(2, 3, 4, dtype=dtype)
    assert_close(pb.linalg.matrix_norm(x, ord=ord), np.linalg.matrix_norm(x, ord=ord))
    expected = np.linalg.matrix_norm(x, ord=ord, keepdims=True)
    assert_close(pb.linalg.matrix_norm(x, ord=ord, keepdims=True), expected)
    for axis in [(0, 1), (2, 0), (-1, 0)]:
        for keepdims in (False, True):
            expected = np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)
            assert_close(pb.linalg.norm(x, ord, axis, keepdims), expected)
    assert gradcheck(lambda x: pb.linalg.matrix_norm(x, ord=ord), (leaf(x),), fast_mode=True)


def test_the_nuclear_norm_at_zero_has_a_subgradient():
    gradient = grad_of(lambda x: pb.linalg.matrix_norm(x, ord="nuc"), np.zeros((2, 2)))
    assert_close(gradient @ gradient.T, np.eye(2))


def test_norm_is_a_vector_norm_or_a_matrix_norm_by_the_number_of_axes():
    x = values(2, 3, 4)
    assert_close(pb.linalg.norm(x), np.linalg.norm(x))
    assert_close(pb.linalg.norm(x[0], 1), np.linalg.norm(x[0], 1))
    assert_close(pb.linalg.norm(x[0, 0], 1), np.linalg.norm(x[0, 0], 1))
    assert_close(pb.linalg.norm(x, 3, axis=1), np.linalg.norm(x, 3, axis=1))
    assert_close(pb.linalg.norm(x, dim=(1, 2), keepdim=True), np.linalg.norm(x, axis=(1, 2), keepdims=True))
    with pytest.raises(ValueError, match="one axis"):
        pb.linalg.norm(x, 2)
    with pytest.raises(ValueError, match="ord"):
        pb.linalg.matrix_norm(x, ord=3)
    with pytest.raises(ValueError, match="differ"):
        pb.linalg.matrix_norm(x, axis=(0, 0))


@pytest.mark.parametrize("p", [None, 2, -2, "fro", 1, np.inf, -1])
def test_cond_has_the_values_of_numpy_and_a_gradient(p):
    x = values(2, 3, 3) + 3 * np.eye(3)
    assert_close(pb.linalg.cond(x, p), np.linalg.cond(x, p))
    assert gradcheck(lambda x: pb.linalg.cond(x, p), (leaf(x),), fast_mode=True)


@pytest.mark.parametrize("p", [None, 1, "fro"])
def test_cond_of_a_singular_matrix_is_infinite(p):
    assert pb.linalg.cond(np.zeros((2, 2)) + np.eye(2) * [1.0, 0.0], p).item() == np.inf


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3)])
@pytest.mark.parametrize("ord", ["fro", "nuc", 1, 2, np.inf])
def test_norms_of_matrices_without_elements_are_zero(ord, shape):
    x = pb.zeros(shape, requires_grad=True)
    out = pb.linalg.norm(x, ord, axis=(-2, -1))
    assert_close(out, np.linalg.norm(np.zeros(shape), ord, axis=(-2, -1)))
    assert pb.autograd.grad(out.sum(), x)[0].shape == shape
