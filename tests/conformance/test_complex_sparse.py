"""Complex, sparse and undefined gradients: conformance cases 236 to 239, and what §13 says besides."""

import warnings

import numpy as np
import pytest

import pullback as pb

from .shorthand import C, Fn, L, array, bw, g, it

SparseGrad = pb.autograd.SparseGrad

Z = 3.0 + 4.0j


def gradient_at(function, value, output_gradient=None):
    z = L(value)
    return array(g(function(z), z, output_gradient)[0])


# Complex


@pytest.mark.parametrize(
    "function, output_gradient, expected",
    [
        pytest.param(lambda z: pb.abs(z), None, 0.6 + 0.8j, id="abs"),
        pytest.param(lambda z: pb.real(z * pb.conj(z)), None, 6 + 8j, id="squared modulus"),
        pytest.param(lambda z: pb.real(z), None, 1, id="real"),
        pytest.param(lambda z: pb.imag(z), None, 1j, id="imag"),
        pytest.param(lambda z: pb.real(z * z), None, 6 - 8j, id="real of square"),
        pytest.param(lambda z: z * z, 1 + 0j, 6 - 8j, id="square, gradient 1"),
        pytest.param(lambda z: z * z, 1j, 8 + 6j, id="square, gradient i"),
        pytest.param(lambda z: pb.conj(z), 1 + 2j, 1 - 2j, id="conj"),
        pytest.param(lambda z: pb.angle(z), None, -0.16 + 0.12j, id="angle"),
    ],
)
def test_236_the_table_of_complex_gradients(function, output_gradient, expected):
    gradient = gradient_at(function, Z, None if output_gradient is None else C(output_gradient))
    assert gradient.dtype == np.complex128
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)


def test_236_the_absolute_value_has_gradient_zero_at_zero():
    assert gradient_at(pb.abs, 0j) == 0


def test_237_real_inputs_get_real_gradients_and_complex_inputs_complex_ones():
    x, z = L([1.0, 2.0]), L([Z, 1j])
    x_grad, z_grad = g((x + z).abs().sum(), (x, z))
    assert (x_grad.dtype, z_grad.dtype) == (pb.float64, pb.complex128)
    total = array(x) + array(z)
    np.testing.assert_allclose(array(z_grad), total / np.abs(total))
    np.testing.assert_allclose(array(x_grad), (total / np.abs(total)).real)


def test_a_real_factor_of_a_complex_product_receives_the_real_part():
    x = L(2.0)
    (gradient,) = g(x * (1 + 2j), x, C(1 + 1j))
    assert gradient.dtype == pb.float64 and it(gradient) == 3.0


def test_a_cast_to_real_embeds_its_gradient_in_the_complex_numbers():
    z = L([Z])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the imaginary part is dropped on purpose
        y = z.astype(pb.float64)
    gradient = g(y, z, C([2.0]))[0]
    assert gradient.dtype == pb.complex128 and it(gradient) == [2.0 + 0.0j]


def test_a_cast_to_complex_returns_the_real_part():
    x = L([3.0])
    gradient = g(x.astype(pb.complex128), x, C([2.0 + 5.0j]))[0]
    assert gradient.dtype == pb.float64 and it(gradient) == [2.0]


@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "log", "tanh"])
def test_a_holomorphic_function_multiplies_by_the_conjugate_of_its_derivative(name):
    function, step = getattr(pb, name), 1e-6
    at = lambda value: array(function(C(value)))
    derivative = (at(Z + step) - at(Z - step)) / (2 * step)
    output_gradient = 0.5 - 2j
    np.testing.assert_allclose(
        gradient_at(function, Z, C(output_gradient)), output_gradient * np.conj(derivative), rtol=1e-6
    )


# Sparse


def sum_with_sparse_gradient(rows):
    """`x.sum()` for x of shape (3, 2) whose backward hands out ones in `rows` only."""

    def backward(c, q):
        return SparseGrad(np.array(rows), C(np.ones((len(rows), 2))), (3, 2))

    return Fn(lambda c, x: x.sum(), backward)


def dense(gradient):
    return np.asarray(gradient.to_dense()).tolist()


def test_238_sparse_added_to_sparse_keeps_the_object():
    x = L(np.zeros((3, 2)))
    sum_with_sparse_gradient([0, 2])(x).backward()
    first = x.grad
    assert isinstance(first, SparseGrad)
    assert dense(first) == [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    sum_with_sparse_gradient([2])(x).backward()
    assert x.grad is first and isinstance(x.grad, SparseGrad)
    assert dense(x.grad) == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]


def test_238_dense_added_to_sparse_gives_a_new_dense_object():
    x = L(np.zeros((3, 2)))
    sum_with_sparse_gradient([0])(x).backward()
    first = x.grad
    (x * 2).sum().backward()
    assert x.grad is not first and isinstance(x.grad, pb.Tensor)
    assert it(x.grad) == [[3.0, 3.0], [2.0, 2.0], [2.0, 2.0]]


def test_238_sparse_added_to_dense_keeps_the_dense_object():
    x = L(np.zeros((3, 2)))
    (x * 2).sum().backward()
    first = x.grad
    sum_with_sparse_gradient([1])(x).backward()
    assert x.grad is first
    assert it(x.grad) == [[2.0, 2.0], [3.0, 3.0], [2.0, 2.0]]


def test_sparse_gradients_of_one_pass_are_summed_without_becoming_dense():
    x = L(np.zeros((3, 2)))
    bw([sum_with_sparse_gradient([0, 1])(x), sum_with_sparse_gradient([1])(x)])
    assert isinstance(x.grad, SparseGrad)
    assert dense(x.grad) == [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]
    assert dense(x.grad.coalesce()) == [[1.0, 1.0], [2.0, 2.0], [0.0, 0.0]]
    assert sorted(np.asarray(x.grad.coalesce().indices).tolist()) == [0, 1]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_pass_that_mixes_sparse_and_dense_ends_dense(order):
    x = L(np.zeros((3, 2)))
    roots = [None, None]
    for position in order:
        roots[position] = sum_with_sparse_gradient([0])(x) if position == 0 else (x * 2).sum()
    bw(roots)
    assert isinstance(x.grad, pb.Tensor)
    assert it(x.grad) == [[3.0, 3.0], [2.0, 2.0], [2.0, 2.0]]


def test_grad_returns_and_hooks_receive_sparse_gradients():
    x, seen = L(np.zeros((3, 2))), []
    x.register_hook(lambda q: seen.append(isinstance(q, SparseGrad)))
    (gradient,) = g(sum_with_sparse_gradient([1])(x), x)
    assert isinstance(gradient, SparseGrad) and seen == [True]
    assert dense(gradient) == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_take_hands_out_a_sparse_gradient_on_request():
    x = L(np.arange(6.0).reshape(3, 2))
    pb.take(x, pb.tensor([2, 0, 2]), axis=0, sparse_grad=True).sum().backward()
    assert isinstance(x.grad, SparseGrad)
    assert dense(x.grad) == [[1.0, 1.0], [0.0, 0.0], [2.0, 2.0]]


# Undefined gradients (§13.4)


def test_unused_outputs_of_a_split_count_as_zeros():
    x = L([1.0, 2.0, 3.0, 4.0])
    _, b = x.split(2)
    assert it(g((b * 3).sum(), x)[0]) == [0.0, 0.0, 3.0, 3.0]


def test_a_primitive_hands_none_on():
    x, seen = L([1.0]), []
    h = x.sin()
    h.grad_fn.register_prehook(lambda qs: seen.append(qs))
    Fn(lambda c, x: x * 1, lambda c, q: None)(h).backward()
    assert seen == [(None,)]
    assert x.grad is None


def test_the_sum_with_none_is_the_other_operand():
    x = L([1.0])
    h = x * 3
    (Fn(lambda c, x: x * 1, lambda c, q: None)(h) + h * 2).backward()
    assert it(x.grad) == [6.0]


# Points without a derivative


def test_239_a_tie_of_a_full_maximum_is_split_evenly():
    x = L([1.0, 1.0, 0.0])
    pb.max(x).backward()
    assert it(x.grad) == [0.5, 0.5, 0.0]


def test_239_a_maximum_along_an_axis_picks_the_index_it_used():
    x = L([1.0, 1.0, 0.0])
    pb.max(x, axis=0).backward()
    assert it(x.grad) == [1.0, 0.0, 0.0]


def test_the_absolute_value_and_the_root_at_zero():
    assert gradient_at(lambda x: pb.abs(x), 0.0) == 0.0
    assert gradient_at(lambda x: pb.sqrt(x), 0.0) == np.inf


def test_relu_at_zero():
    assert gradient_at(lambda x: pb.relu(x), 0.0) == 0.0


def test_the_norm_at_zero():
    assert gradient_at(lambda x: pb.linalg.norm(x), [0.0, 0.0]).tolist() == [0.0, 0.0]


def test_powers_of_zero():
    y = L([-1.0, 0.0, 1.0])
    assert it(g((C([0.0, 0.0, 0.0]) ** y).sum(), y)[0]) == [-np.inf, 0.0, 0.0]


def test_a_tie_of_two_operands_gives_half_to_each():
    a, b = L([1.0]), L([1.0])
    assert [it(q) for q in g(pb.maximum(a, b), (a, b))] == [[0.5], [0.5]]


def test_a_masked_branch_still_propagates_nan():
    x = L([0.0])
    gradient = g(pb.where(x > 0, 1 / x, x).sum(), x)[0]
    assert np.isnan(array(gradient)).all()
