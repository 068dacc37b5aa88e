"""Gradients at ties, singular points and edges are what the documentation says, in reverse mode and in forward mode.

The table is in `conventions`. Forward mode here is the declared forward rules and nothing else (`forward`).
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close
from tests.operators.conventions import SECTIONS
from tests.operators.forward import jvp, listed

pytestmark = pytest.mark.filterwarnings("ignore:Degrees of freedom")

CASES = [
    pytest.param(row, id=f"{section.split()[0]} {row.name}") for section, rows in SECTIONS.items() for row in rows
]


def differentiated(row):
    return [k for k, gradient in enumerate(row.gradients) if gradient is not None]


def cotangents(outs, weight):
    return [np.broadcast_to(np.asarray(weight, out.dtype), out.shape) for out in outs]


def gradients_by_backward(function, operands, positions, weights):
    """The gradients of the operands at `positions`; `weights` makes the cotangents from the results."""
    inputs = [pb.tensor(np.array(x)) for x in operands]
    for k in positions:
        inputs[k].requires_grad_()
    with np.errstate(all="ignore"):
        outs = listed(function(*inputs))
        found = pb.autograd.grad(
            outs, [inputs[k] for k in positions], [pb.tensor(w.copy()) for w in weights(outs)], allow_unused=True
        )
    return [np.zeros(operands[k].shape) if g is None else g.numpy() for k, g in zip(positions, found)]


def pairing(left, right):
    """The real inner product in which forward and reverse mode are adjoint."""
    with np.errstate(invalid="ignore"):
        return sum(float(np.sum(a.real * b.real) + np.sum(a.imag * b.imag)) for a, b in zip(left, right))


def derivative_along(row, position, tangent):
    tangents = [tangent if k == position else None for k in range(len(row.operands))]
    outs, pushed = jvp(row.function, row.operands, tangents)
    return pairing(cotangents(outs, row.weight), pushed)


def unit(shape, index, dtype, value=1.0):
    array = np.zeros(shape, dtype)
    array[index] = value
    return array


@pytest.mark.parametrize("row", CASES)
def test_reverse_mode_keeps_the_convention(row):
    positions = differentiated(row)
    found = gradients_by_backward(row.function, row.operands, positions, lambda outs: cotangents(outs, row.weight))
    for k, gradient in zip(positions, found):
        assert_close(gradient, row.gradients[k], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("row", CASES)
def test_forward_mode_keeps_the_convention(row):
    """Along every unit vector; along ones where a derivative is not finite, since 0 times infinity is no number."""
    for k in differentiated(row):
        x, expected = row.operands[k], row.gradients[k]
        if not np.isfinite(expected).all():
            with np.errstate(invalid="ignore"):
                assert_close(derivative_along(row, k, np.ones_like(x)), float(np.sum(expected)))
            continue
        found = np.zeros_like(expected)
        for index in np.ndindex(x.shape):
            found[index] = derivative_along(row, k, unit(x.shape, index, x.dtype))
            if x.dtype.kind == "c":
                found[index] += 1j * derivative_along(row, k, unit(x.shape, index, x.dtype, 1j))
        assert_close(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(
    "row", [case for case in CASES if all(np.isfinite(g).all() for g in case.values[0].gradients if g is not None)]
)
def test_both_modes_describe_one_jacobian(row):
    random = np.random.default_rng(11)

    def drawn(x):
        values = random.uniform(-1, 1, x.shape)
        return values + 1j * random.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else values

    positions = differentiated(row)
    tangents = [drawn(x) if k in positions else None for k, x in enumerate(row.operands)]
    outs, pushed = jvp(row.function, row.operands, tangents)
    weights = [drawn(out) for out in outs]
    pulled = gradients_by_backward(row.function, row.operands, positions, lambda _: weights)
    assert_close(pairing(weights, pushed), pairing(pulled, [tangents[k] for k in positions]), rtol=1e-9, atol=1e-11)


# What is no number in a table: values, errors, and derivatives along particular directions.


def leaf(values):
    return pb.tensor(np.asarray(values), requires_grad=True)


def along(function, operands, tangents):
    """The derivative of a function with one result along the tangents."""
    return jvp(function, [np.asarray(x) for x in operands], [np.asarray(t) for t in tangents])[1][0]


def test_where_does_not_repair_an_infinite_derivative_on_the_other_side():
    x = leaf([0.0, 4.0])
    with np.errstate(divide="ignore", invalid="ignore"):
        pb.where(x > 0, pb.sqrt(x), 0.0).sum().backward()
    assert_close(x.grad, [np.nan, 0.25])


def test_cross_entropy_of_ignored_rows_is_nan():
    assert np.isnan(pb.nn.cross_entropy(leaf([[1.0, 2.0]]), np.array([-100])).item())


def test_a_cast_to_real_drops_the_imaginary_part_and_says_so():
    z = leaf([1 + 2j])
    with pytest.warns(np.exceptions.ComplexWarning):
        out = z.astype(pb.float64)
    out.backward(pb.tensor([3.0]))
    assert_close(z.grad, [3 + 0j])


def test_backward_of_a_complex_number_needs_a_gradient():
    z = leaf(1 + 2j)
    with pytest.raises(pb.autograd.AutogradError):
        (z * z).backward()


def test_the_derivative_of_a_complex_root_at_zero_is_what_division_gives():
    z = leaf([0j])
    with np.errstate(all="ignore"):
        pb.sqrt(z).backward(pb.tensor([1 + 0j]))
    pushed = along(pb.sqrt, [[0j]], [[1 + 0j]])
    for derivative in (z.grad.numpy(), pushed):
        assert np.isinf(derivative.real).all() and np.isnan(derivative.imag).all()


def test_complex_numbers_can_not_be_clipped():
    with pytest.raises(TypeError):
        pb.clip(leaf([1 + 1j]), 0, 1)


HERMITIAN = np.array([[3.0, 0.3 - 0.1j, 0.2j], [0.3 + 0.1j, 2.0, 0.4], [-0.2j, 0.4, 1.5]])


@pytest.mark.parametrize(
    "function",
    [pb.linalg.cholesky, pb.linalg.eigvalsh, lambda a: pb.linalg.eigh(a)[0], lambda a: abs(pb.linalg.eigh(a)[1])],
)
def test_gradients_of_hermitian_factorizations_belong_to_the_triangle_they_read(function):
    a = leaf(HERMITIAN)
    out = function(a)
    out.backward(pb.tensor(np.random.default_rng(1).uniform(-1, 1, out.shape).astype(out.dtype)))
    gradient = a.grad.numpy()
    np.testing.assert_array_equal(np.triu(gradient, 1), 0)
    np.testing.assert_array_equal(np.diag(gradient).imag, 0)


@pytest.mark.parametrize(
    "vectors", [lambda a: pb.linalg.eigh(a)[1], lambda a: pb.linalg.svd(a)[0], lambda a: pb.linalg.eig(a)[1]]
)
def test_a_loss_that_depends_on_the_phase_of_vectors_raises_unless_told_otherwise(vectors):
    def loss(a):
        v = vectors(a)
        return (v * np.arange(1.0, 10.0).reshape(3, 3)).imag.sum()

    with pytest.raises(pb.autograd.AutogradError):
        loss(leaf(HERMITIAN)).backward()
    with pb.linalg.check_gauge(False):
        a = leaf(HERMITIAN)
        loss(a).backward()
        assert np.isfinite(a.grad.numpy()).all()


@pytest.mark.parametrize("use", [lambda x: x[2], lambda x: x[[0, 5]], lambda x: pb.take(x, np.array([7]))])
def test_an_index_out_of_range_raises(use):
    with pytest.raises(IndexError):
        use(leaf([1.0, 2.0]))


def test_separated_advanced_indices_move_to_the_front():
    x = pb.zeros((2, 3, 4, 5))
    assert x[:, [0, 1], :, [0, 1]].shape == (2, 2, 4)
    assert x[0, :, [0, 1]].shape == (2, 3, 5)
    assert x[:, [0, 1], [0, 1]].shape == (2, 2, 5)


def test_reductions_of_nothing():
    assert pb.sum(pb.zeros((0,))).item() == 0
    with pytest.raises(ValueError):
        pb.max(pb.zeros((0,)))
    with np.errstate(invalid="ignore"):
        assert np.isnan(pb.mean(pb.zeros((0,))).item())


@pytest.mark.parametrize(
    "function", [pb.linalg.cholesky, pb.linalg.inv, lambda a: pb.linalg.solve(a, pb.ones((2, 1)))]
)
def test_a_matrix_that_has_no_such_factorization_raises(function):
    with pytest.raises(np.linalg.LinAlgError):
        function(leaf([[0.0, 0.0], [0.0, -1.0]]))


@pytest.mark.parametrize(
    "function",
    [pb.linalg.cholesky_ex, pb.linalg.inv_ex, lambda a: pb.linalg.solve_ex(a, pb.ones((2, 1)))],
)
def test_the_ex_functions_return_what_went_wrong(function):
    assert function(pb.tensor([[0.0, 0.0], [0.0, -1.0]]))[-1].item() != 0
    assert function(pb.tensor([[1.0, 0.0], [0.0, 1.0]]))[-1].item() == 0


def test_the_gradient_of_slogdet_at_a_singular_matrix_does_not_raise():
    a = leaf([[0.0, 0.0], [0.0, 0.0]])
    pb.linalg.slogdet(a)[1].backward()
    assert np.isnan(a.grad.numpy()).all()


DEGENERATE = np.diag([2.0, 2.0, 3.0])


def off_block(a):
    """An element of the projector on the eigenspace of the two smaller eigenvalues, whatever its basis."""
    v = pb.linalg.eigh(a)[1]
    return (v[:, :2] @ v[:, :2].mT)[0, 2]


def test_eigenvectors_at_a_degeneracy_serve_losses_that_do_not_see_the_basis():
    a = leaf(DEGENERATE)
    off_block(a).backward()
    assert_close(a.grad, [[0, 0, 0], [0, 0, 0], [-1.0, 0, 0]])
    tangent = np.zeros((3, 3))
    tangent[2, 0] = 1
    assert_close(along(off_block, [DEGENERATE], [tangent]), -1.0)


def test_eigenvectors_at_a_degeneracy_are_loud_for_losses_that_see_the_basis():
    a = leaf(DEGENERATE)
    with np.errstate(all="ignore"):
        pb.linalg.eigh(a)[1][0, 1].backward()
        tangent = np.zeros((3, 3))
        tangent[0, 1] = tangent[1, 0] = 1
        pushed = along(lambda a: pb.linalg.eigh(a)[1], [DEGENERATE], [tangent])
    assert not np.isfinite(a.grad.numpy()).all()
    assert not np.isfinite(pushed).all()


@pytest.mark.parametrize(
    "extra",
    [
        lambda a: pb.linalg.svd(a, full_matrices=True)[0][:, 1:],
        lambda a: pb.linalg.qr(a, mode="complete")[0][:, 1:],
    ],
)
def test_the_columns_that_complete_a_basis_have_no_derivative(extra):
    with pytest.raises(pb.autograd.AutogradError):
        extra(leaf([[3.0], [4.0]])).sum().backward()


def test_the_first_columns_of_a_complete_qr_are_differentiable():
    a = leaf([[3.0], [4.0]])
    pb.linalg.qr(a, mode="complete")[0][0, 0].backward()
    assert_close(a.grad, [[-0.128], [0.096]])


@pytest.mark.parametrize("function", [lambda a: pb.linalg.qr(a)[0], lambda a: pb.linalg.svd(a)[2][0]])
def test_rank_deficient_factorizations_divide_by_zero_without_raising(function):
    a = leaf([[0.0, 0.0], [0.0, 0.0]])
    with np.errstate(all="ignore"), pb.linalg.check_gauge(False):
        function(a).sum().backward()
    assert not np.isfinite(a.grad.numpy()).all()


def test_the_gradient_of_the_nuclear_norm_at_zero_is_made_of_the_singular_vectors():
    a = leaf(np.zeros((3, 2)))
    pb.linalg.matrix_norm(a, ord="nuc").backward()
    u, _, vh = np.linalg.svd(np.zeros((3, 2)), full_matrices=False)
    assert_close(a.grad, u @ vh)


# Types


@pytest.mark.parametrize("dtype", [pb.int64, pb.bool])
def test_integers_and_booleans_can_not_require_grad(dtype):
    with pytest.raises(RuntimeError):
        pb.zeros(2, dtype=dtype).requires_grad_()


def test_every_operand_gets_a_gradient_of_its_own_dtype():
    x, y = leaf(np.float32([1, 2])), leaf([3.0, 4.0])
    (x * y).sum().backward()
    assert x.grad.dtype == pb.float32 and y.grad.dtype == pb.float64


def test_a_cotangent_is_cast_to_the_result_and_a_complex_one_for_a_real_result_refused():
    x = leaf(np.float32([1, 2]))
    (x * 2).backward(pb.tensor([1.0, 2.0]))
    (x * 2).backward(pb.tensor([1, 2]))
    assert x.grad.dtype == pb.float32
    assert_close(x.grad, np.float32([4, 8]))
    with pytest.raises(RuntimeError):
        (x * 2).backward(pb.tensor([1j, 2j]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.astype(pb.int64), lambda x: x > 0, pb.argmax, pb.argsort, pb.count_nonzero, pb.isnan,
        lambda x: pb.searchsorted(pb.tensor([1.0]), x),
    ],
)  # fmt: skip
def test_results_that_are_no_function_of_real_numbers_do_not_require_grad(function):
    assert not function(leaf([1.0, 2.0])).requires_grad


@pytest.mark.parametrize("function", [pb.floor, pb.round, pb.sign, pb.trunc, pb.ceil, lambda x: x // 2])
def test_piecewise_constant_functions_have_a_gradient_of_zeros(function):
    x = leaf([0.3, 1.0])
    out = function(x)
    assert out.requires_grad
    out.sum().backward()
    assert_close(x.grad, [0.0, 0.0])
    assert_close(along(function, [[0.3, 1.0]], [[1.0, 1.0]]), [0.0, 0.0])


def test_draws_have_no_gradient_by_discrete_parameters():
    p = leaf([0.3, 0.7])
    assert not pb.random.bernoulli(p).requires_grad
    assert not pb.random.poisson(leaf([1.0, 2.0])).requires_grad


def test_normal_draws_are_differentiable_by_their_parameters():
    loc, scale = leaf([1.0, 2.0]), leaf([0.5, 2.0])
    out = pb.random.normal(loc, scale)
    out.sum().backward()
    assert_close(loc.grad, [1.0, 1.0])
    assert_close(scale.grad, (out.detach() - loc.detach()) / scale.detach())


# Where torch's two modes contradict each other, one test for each. Here they must agree.


def both_modes(function, *operands, weight=None):
    """The gradients by reverse mode and by forward mode, of the sum of the results or of their product with weights."""
    arrays = [np.asarray(x) for x in operands]
    positions = [k for k, x in enumerate(arrays) if x.dtype.kind in "fc"]
    weight = 1.0 if weight is None else weight
    backward = gradients_by_backward(function, arrays, positions, lambda outs: cotangents(outs, weight))
    forward = []
    for k in positions:
        found = np.zeros_like(arrays[k])
        for index in np.ndindex(found.shape):
            tangents = [unit(found.shape, index, found.dtype) if j == k else None for j in range(len(arrays))]
            outs, pushed = jvp(function, arrays, tangents)
            found[index] = pairing(cotangents(outs, weight), pushed)
        forward.append(found)
    return backward, forward


def assert_both(modes, expected):
    for found in modes:
        assert_close(found, [np.asarray(each, float) for each in expected])


def test_clamp_at_a_tensor_lower_bound():
    assert_both(both_modes(lambda x, low: pb.clamp(x, min=low), 2.0, 2.0), [1, 0])


def test_clamp_at_a_tensor_upper_bound():
    assert_both(both_modes(lambda x, high: pb.clamp(x, max=high), 2.0, 2.0), [1, 0])


def test_max_with_nan():
    assert_both(both_modes(pb.max, [1.0, np.nan, np.nan]), [[0, 0.5, 0.5]])


def test_fmax_of_equals():
    assert_both(both_modes(pb.fmax, 2.0, 2.0), [0.5, 0.5])


def test_atan2_at_the_origin():
    assert_both(both_modes(pb.atan2, 0.0, 0.0), [0, 0])


def test_prelu_at_zero():
    assert_both(both_modes(pb.nn.prelu, [[0.0]], [0.25]), [[[0.25]], [0]])


def test_pow_of_zero_to_minus_one():
    assert_both(both_modes(pb.pow, 0.0, -1.0), [-np.inf, -np.inf])


def test_pow_of_zero_to_one_half_in_the_exponent():
    assert_both(both_modes(lambda y: pb.pow(0.0, y), 0.5), [0])
    assert_both(both_modes(pb.pow, 0.0, 0.5), [np.inf, 0])


def test_xlogy_at_the_origin():
    assert_both(both_modes(pb.xlogy, 0.0, 0.0), [0, 0])


def test_det_of_a_singular_matrix():
    assert_both(both_modes(pb.linalg.det, [[1.0, 2.0], [2.0, 4.0]]), [[[4, -2], [-2, 1]]])


def test_scatter_with_repeated_indices():
    index = np.array([0, 0, 1])
    modes = both_modes(lambda x, s: pb.scatter(x, 0, index, s), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], weight=[1, 2, 4])
    assert_both(modes, [[0, 0, 4], [0, 1, 2]])


def test_index_put_with_repeated_indices():
    index = np.array([0, 0, 1])
    modes = both_modes(lambda x, v: pb.index_put(x, (index,), v), [1.0, 2.0, 3.0], [4.0, 5.0, 6.0], weight=[1, 2, 4])
    assert_both(modes, [[0, 0, 4], [0, 1, 2]])


def test_scatter_reduce_prod_with_a_zero():
    index = np.array([0, 0, 1])
    modes = both_modes(lambda x, s: pb.scatter_reduce(x, 0, index, s, "prod"), [2.0, 5.0], [0.0, 3.0, 7.0])
    assert_both(modes, [[0, 7], [6, 0, 5]])


ASYMMETRIC_TANGENT = np.array([[0.3, 0.7], [-0.4, 0.2]])


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_cholesky_with_an_asymmetric_tangent(dtype):
    matrix = np.array([[4.0, 2.0], [2.0, 5.0]], dtype)
    adjoint_along(pb.linalg.cholesky, matrix, ASYMMETRIC_TANGENT.astype(dtype))


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_eigh_vectors_with_an_asymmetric_tangent(dtype):
    matrix = np.array([[2.0, 1.0], [1.0, 3.0]], dtype)
    adjoint_along(lambda a: abs(pb.linalg.eigh(a)[1]), matrix, ASYMMETRIC_TANGENT.astype(dtype))


def adjoint_along(function, matrix, tangent):
    """Both modes agree along the tangent, and forward mode sees its lower triangle only."""
    if matrix.dtype.kind == "c":
        matrix, tangent = matrix + [[0, 0.5j], [-0.5j, 0]], tangent + [[0.1j, 0.6j], [0.2j, -0.3j]]
    pushed = along(function, [matrix], [tangent])
    weight = np.random.default_rng(3).uniform(-1, 1, pushed.shape).astype(pushed.dtype)
    (pulled,) = gradients_by_backward(function, [matrix], [0], lambda _: [weight])
    assert_close(pairing([weight], [pushed]), pairing([pulled], [tangent]))
    lower = np.tril(tangent, -1) + np.diag(np.diag(tangent).real)
    assert_close(pushed, along(function, [matrix], [lower]))
    step = 1e-6 * tangent
    up, down = (function(pb.tensor(matrix + sign * step)).numpy() for sign in (1, -1))
    assert_close(pushed, (up - down) / 2e-6, rtol=1e-6, atol=1e-8)
