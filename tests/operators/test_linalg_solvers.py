"""Linear systems, inverses, determinants and least squares: values, conventions at edges, derivatives of two orders."""

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.operators.linalg import inner
from pullback.operators.linalg.solve import solved_as_general
from pullback.testing import assert_close

LinAlgError = np.linalg.LinAlgError


def random_matrix(*shape, dtype=float, seed=3):
    random = np.random.default_rng(seed)
    values = random.uniform(-0.4, 0.4, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.uniform(-0.4, 0.4, shape)
    return values + 2 * np.eye(shape[-2], shape[-1]) if len(shape) > 1 else values


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def grad_of(function, values):
    x = leaf(values)
    return pb.autograd.grad(function(x).sum(), x)[0].numpy()


DTYPES = pytest.mark.parametrize("dtype", [float, complex])


# solve and inv


@DTYPES
@pytest.mark.parametrize("b", [(3,), (3, 2), (4, 3, 2)])
def test_solve_has_the_values_of_numpy(b, dtype):
    a = random_matrix(4, 3, 3, dtype=dtype)
    right = np.random.default_rng(0).uniform(-1, 1, b)
    assert_close(pb.linalg.solve(a, right), np.linalg.solve(a, right))


@DTYPES
def test_solve_and_inv_have_derivatives_of_two_orders(dtype):
    a, b = leaf(random_matrix(2, 3, 3, dtype=dtype)), leaf(random_matrix(3, 2, dtype=dtype, seed=4))
    assert gradcheck(pb.linalg.solve, (a, b), fast_mode=True)
    assert gradgradcheck(pb.linalg.solve, (a, b), fast_mode=True)
    assert gradcheck(pb.linalg.inv, (a,), fast_mode=True)


def test_solve_with_a_vector_for_many_matrices_sums_the_vectors_gradient():
    a, b = leaf(random_matrix(4, 3, 3)), leaf([1.0, 2.0, 3.0])
    pb.linalg.solve(a, b).sum().backward()
    assert b.grad.shape == (3,)
    assert_close(b.grad, np.linalg.inv(a.detach().numpy()).sum(axis=(0, 1)))


def test_the_right_hand_side_alone_needs_no_gradient_of_the_matrix():
    a, b = pb.tensor(random_matrix(3, 3)), leaf(np.ones((3, 1)))
    pb.linalg.solve(a, b).sum().backward()
    assert a.grad is None and b.grad is not None


def test_a_singular_matrix_raises_and_the_variants_with_info_do_not():
    matrices = np.stack([np.eye(2), np.array([[1.0, 2.0], [2.0, 4.0]])])
    with pytest.raises(LinAlgError):
        pb.linalg.inv(matrices)
    with pytest.raises(LinAlgError):
        pb.linalg.solve(matrices, np.ones((2, 2, 1)))
    inverse, info = pb.linalg.inv_ex(matrices)
    assert info.tolist() == [0, 2]
    assert_close(inverse[0], np.eye(2))
    assert np.isnan(inverse[1].numpy()).all()
    result, info = pb.linalg.solve_ex(matrices, np.ones(2))
    assert info.tolist() == [0, 2]
    assert_close(result[0], [1.0, 1.0])


@pytest.mark.parametrize("name", ["solve", "inv", "det", "slogdet", "cholesky", "eigh", "eig", "matrix_exp"])
def test_a_matrix_that_is_not_square_is_an_error_that_says_so(name):
    arguments = (np.ones((2, 3)), np.ones(2)) if name == "solve" else (np.ones((2, 3)),)
    with pytest.raises(LinAlgError, match="square"):
        getattr(pb.linalg, name)(*arguments)
    with pytest.raises(LinAlgError, match="two axes"):
        getattr(pb.linalg, name)(np.ones(3), *arguments[1:])


# Triangular systems


@DTYPES
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("trans", [0, "T", "C"])
@pytest.mark.parametrize("unit", [False, True])
def test_solve_triangular_has_the_values_of_scipy(upper, trans, unit, dtype):
    a, b = random_matrix(40, 40, dtype=dtype), random_matrix(40, 3, dtype=dtype, seed=5)
    expected = scipy.linalg.solve_triangular(a, b, trans=trans, lower=not upper, unit_diagonal=unit)
    got = pb.linalg.solve_triangular(a, b, upper=upper, trans=trans, unitriangular=unit)
    assert_close(got, expected, rtol=1e-10, atol=1e-10)


def test_solving_from_the_right_multiplies_from_the_right():
    a, b = np.triu(random_matrix(3, 3)), random_matrix(2, 3)
    assert_close(pb.linalg.solve_triangular(a, b, upper=True, left=False) @ a, b)
    assert_close(pb.linalg.solve_triangular(a, b[0], upper=True, left=False) @ a, b[0])


@pytest.mark.parametrize("unit", [False, True])
def test_only_the_triangle_that_is_read_gets_a_gradient(unit):
    a, b = leaf(random_matrix(3, 3)), leaf(random_matrix(3, 2))

    def solved(a, b):
        return pb.linalg.solve_triangular(a, b, upper=True, unitriangular=unit)

    solved(a, b).sum().backward()
    assert (np.tril(a.grad.numpy(), 0 if unit else -1) == 0).all()
    assert (np.abs(a.grad.numpy()[np.triu_indices(3, 1)]) > 0).all()
    assert gradcheck(solved, (a, b), fast_mode=True) and gradgradcheck(solved, (a, b), fast_mode=True)


def test_a_zero_on_the_diagonal_is_singular_unless_the_diagonal_counts_as_ones():
    a = np.array([[0.0, 0.0], [1.0, 1.0]])
    with pytest.raises(LinAlgError):
        pb.linalg.solve_triangular(a, np.ones(2), upper=False)
    assert_close(pb.linalg.solve_triangular(a, np.ones(2), upper=False, unitriangular=True), [1.0, 0.0])
    with pytest.raises(ValueError, match="trans"):
        pb.linalg.solve_triangular(a, np.ones(2), upper=False, trans="H")


# Determinants


@DTYPES
def test_determinants_have_the_values_of_numpy(dtype):
    a = random_matrix(2, 3, 3, dtype=dtype)
    assert_close(pb.linalg.det(a), np.linalg.det(a))
    sign, log = pb.linalg.slogdet(a)
    assert_close((sign, log), tuple(np.linalg.slogdet(a)))
    assert_close(pb.linalg.logdet(a), np.log(np.linalg.det(a)))


def test_det_of_a_singular_matrix_has_the_cofactors_as_gradient():
    # torch 2.13 gives 0 here in first order.
    rank_two = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
    assert_close(grad_of(pb.linalg.det, rank_two), [[-3.0, 6, -3], [6, -12, 6], [-3, 6, -3]], rtol=1e-9, atol=1e-9)
    assert_close(grad_of(pb.linalg.det, np.ones((3, 3))), np.zeros((3, 3)), atol=1e-12)
    assert_close(grad_of(pb.linalg.det, np.zeros((1, 1))), [[1.0]])


@pytest.mark.parametrize(
    "values", [np.diag([2.0, 0, 0]), np.ones((3, 3)), np.diag([1.0, 2.0, 0.0]), random_matrix(3, 3)]
)
def test_det_has_exact_second_derivatives_at_any_rank(values):
    a = leaf(values)
    (first,) = pb.autograd.grad(pb.linalg.det(a), a, create_graph=True)
    direction = random_matrix(3, 3, seed=9)
    (second,) = pb.autograd.grad((first * direction).sum(), a)
    # The determinant of 3 by 3 matrices is a cubic: this difference of gradients is exact.
    step = 0.5
    expected = grad_of(pb.linalg.det, values + step * direction) - grad_of(pb.linalg.det, values - step * direction)
    assert_close(second, expected / (2 * step), rtol=1e-9, atol=1e-9)


def test_slogdet_of_a_singular_matrix_gives_nan_and_does_not_raise():
    a = leaf(np.zeros((2, 2)))
    sign, log = pb.linalg.slogdet(a)
    assert sign == 0 and log == -np.inf
    log.backward()
    assert np.isnan(a.grad.numpy()).all()


def test_the_sign_of_a_real_determinant_has_gradient_zero():
    a = leaf(random_matrix(3, 3))
    pb.linalg.slogdet(a).sign.backward()
    assert_close(a.grad, np.zeros((3, 3)))


def test_logdet_of_a_negative_determinant_is_nan():
    assert np.isnan(pb.linalg.logdet(np.diag([-1.0, 1.0])).item())
    assert gradcheck(pb.linalg.logdet, (leaf(random_matrix(2, 3, 3)),), fast_mode=True)
    assert gradgradcheck(pb.linalg.slogdet, (leaf(random_matrix(3, 3, dtype=complex)),), fast_mode=True)


# Pseudo-inverse and least squares


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
def test_pinv_has_the_values_of_numpy_and_derivatives_of_two_orders(shape, dtype):
    a = random_matrix(*shape, dtype=dtype)
    assert_close(pb.linalg.pinv(a), np.linalg.pinv(a))
    assert gradcheck(pb.linalg.pinv, (leaf(a),), fast_mode=True) and gradgradcheck(
        pb.linalg.pinv, (leaf(a),), fast_mode=True
    )


def test_the_gradient_of_pinv_is_right_along_matrices_of_one_rank():
    left, right = leaf(random_matrix(4, 2)), leaf(random_matrix(2, 3, seed=8))
    assert gradcheck(lambda left, right: pb.linalg.pinv(left @ right), (left, right), fast_mode=True)


def test_pinv_cuts_small_singular_values_and_takes_one_spelling():
    a = np.diag([1.0, 1e-3])
    assert_close(pb.linalg.pinv(a, rtol=1e-2), np.diag([1.0, 0.0]))
    assert_close(pb.linalg.pinv(a, 1e-2), np.diag([1.0, 0.0]))
    both = pb.linalg.pinv(np.stack([a, a]), rtol=pb.tensor([1e-2, 1e-6]))
    assert_close(both, np.stack([np.diag([1.0, 0.0]), np.diag([1.0, 1e3])]))
    with pytest.raises(TypeError, match="rcond"):
        pb.linalg.pinv(a, 1e-2, rtol=1e-2)


@DTYPES
@pytest.mark.parametrize("b", [(4,), (4, 3)])
def test_lstsq_returns_what_numpy_returns(b, dtype):
    a, right = random_matrix(4, 2, dtype=dtype), np.random.default_rng(1).uniform(-1, 1, b)
    solution, residuals, rank, values = pb.linalg.lstsq(a, right)
    expected = np.linalg.lstsq(a, right)
    assert_close((solution, residuals, values), (expected[0], expected[1], expected[3]))
    assert rank == 2


@DTYPES
def test_solution_and_residuals_of_lstsq_are_differentiable(dtype):
    a, b = leaf(random_matrix(4, 2, dtype=dtype)), leaf(random_matrix(4, 2, dtype=dtype, seed=6))

    def solved(a, b):
        return pb.linalg.lstsq(a, b)[:2]

    assert gradcheck(solved, (a, b), fast_mode=True) and gradgradcheck(solved, (a, b), fast_mode=True)
    assert gradcheck(lambda a: pb.linalg.lstsq(a, b.detach()).singular_values, (a,), fast_mode=True)


def test_lstsq_has_no_residuals_where_numpy_has_none_and_handles_batches():
    assert pb.linalg.lstsq(random_matrix(2, 3), np.ones(2)).residuals.shape == (0,)
    assert pb.linalg.lstsq(np.ones((3, 2)), np.ones(3)).residuals.shape == (0,)
    batch = pb.linalg.lstsq(random_matrix(5, 4, 2), np.ones((5, 4, 1)))
    assert batch.solution.shape == (5, 2, 1) and batch.residuals.shape == (5, 1) and batch.rank.tolist() == [2] * 5
    with pytest.raises(LinAlgError, match="equations"):
        pb.linalg.lstsq(random_matrix(2, 3), np.ones(3))


def test_matrix_rank_counts_and_has_no_derivative():
    a = leaf(np.stack([np.eye(3), np.ones((3, 3)), np.zeros((3, 3))]))
    assert pb.linalg.matrix_rank(a).tolist() == [3, 1, 0]
    assert not pb.linalg.matrix_rank(a).requires_grad
    assert pb.linalg.matrix_rank(np.diag([3.0, 1.0]), tol=2.0) == 1
    assert pb.linalg.matrix_rank(np.zeros(3)) == 0 and pb.linalg.matrix_rank(np.ones(3)) == 1


# Powers, exponentials, tensors


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 5])
def test_matrix_power_has_the_values_of_numpy_and_a_gradient(n):
    a = random_matrix(2, 3, 3)
    assert_close(pb.linalg.matrix_power(a, n), np.linalg.matrix_power(a, n))
    assert gradcheck(lambda x: pb.linalg.matrix_power(x, n), (leaf(a),), fast_mode=True)


def test_the_power_zero_has_gradient_zero_even_at_infinity():
    assert_close(grad_of(lambda x: pb.linalg.matrix_power(x, 0), np.full((2, 2), np.inf)), np.zeros((2, 2)))
    assert pb.linalg.matrix_power(np.eye(2, dtype=int), 0).dtype == np.int64


@DTYPES
@pytest.mark.parametrize("scale", [1e-3, 1.0, 8.0, 60.0])
def test_matrix_exp_has_the_values_of_scipy(scale, dtype):
    a = (random_matrix(2, 4, 4, dtype=dtype) - 2 * np.eye(4)) * scale
    expected = scipy.linalg.expm(a)
    assert_close(pb.linalg.matrix_exp(a), expected, rtol=1e-10, atol=1e-12 * np.abs(expected).max())


def test_matrix_exp_has_derivatives_of_two_orders_and_keeps_nan_in_its_matrix():
    a = leaf(random_matrix(2, 2, 2, dtype=complex))
    assert gradcheck(pb.linalg.expm, (a,), fast_mode=True) and gradgradcheck(pb.linalg.expm, (a,), fast_mode=True)
    out = pb.linalg.matrix_exp(np.stack([np.zeros((2, 2)), np.full((2, 2), np.nan)])).numpy()
    assert_close(out[0], np.eye(2))
    assert np.isnan(out[1]).all()


def test_tensorinv_and_tensorsolve_have_the_values_of_numpy_and_gradients():
    a = np.eye(6).reshape(2, 3, 3, 2) * 2 + np.random.default_rng(2).uniform(-0.2, 0.2, (2, 3, 3, 2))
    b = np.arange(6.0).reshape(2, 3)
    assert_close(pb.linalg.tensorinv(a), np.linalg.tensorinv(a))
    assert_close(pb.linalg.tensorsolve(a, b), np.linalg.tensorsolve(a, b))
    moved = np.moveaxis(a, (2, 3), (0, 2))
    assert_close(pb.linalg.tensorsolve(moved, b, axes=(0, 2)), np.linalg.tensorsolve(moved, b, axes=(0, 2)))
    assert gradcheck(pb.linalg.tensorsolve, (leaf(a), leaf(b)), fast_mode=True)
    with pytest.raises(LinAlgError, match="square"):
        pb.linalg.tensorinv(np.ones((2, 3, 4)))
    with pytest.raises(ValueError, match="positive"):
        pb.linalg.tensorinv(a, 0)


def test_multi_dot_chooses_an_order_and_accepts_vectors_at_the_ends():
    random = np.random.default_rng(4)
    arrays = [random.uniform(-1, 1, shape) for shape in [(10,), (10, 3), (3, 20), (20,)]]
    assert_close(pb.linalg.multi_dot(arrays), np.linalg.multi_dot(arrays))
    matrices = [leaf(random.uniform(-1, 1, shape)) for shape in [(2, 3), (3, 4), (4, 2)]]
    assert gradcheck(lambda *xs: pb.linalg.multi_dot(xs), tuple(matrices), fast_mode=True)
    with pytest.raises(ValueError, match="at least two"):
        pb.linalg.multi_dot(arrays[:1])


def test_least_squares_of_two_precisions_have_the_higher_one():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(9, 3)).astype(np.float32), rng.normal(size=9)
    for found, wanted in zip(np.linalg.lstsq(pb.tensor(a), pb.tensor(b)), np.linalg.lstsq(a, b), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def by_substitution(monkeypatch):
    monkeypatch.setattr(inner, "solve_triangular", lambda *_: None)
    monkeypatch.setattr("pullback.operators.linalg.solve.solved_as_general", lambda *_: None)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 7, 32, 96, 97])
def test_small_triangles_are_solved_as_by_substitution(rows, upper, unit, monkeypatch):
    rng = np.random.default_rng(rows)
    a, b = rng.standard_normal((rows, rows)) / rows + np.eye(rows), rng.standard_normal((rows, 3))

    def solved():
        x, y = pb.tensor(a, requires_grad=True), pb.tensor(b, requires_grad=True)
        out = pb.linalg.solve_triangular(x, y, upper=upper, unitriangular=unit)
        (out * pb.tensor(b) ** 2).sum().backward()
        return [out.detach().numpy(), x.grad.numpy(), y.grad.numpy()]

    found = solved()
    by_substitution(monkeypatch)
    for mine, plain in zip(found, solved(), strict=True):
        np.testing.assert_allclose(mine, plain, rtol=1e-10, atol=1e-12)
        assert mine.flags.c_contiguous == plain.flags.c_contiguous


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("rows", [1, 5, 96])
def test_the_quick_way_through_a_small_triangle_gives_the_same_bits(rows, upper, unit):
    rng = np.random.default_rng(rows)
    a, b = rng.standard_normal((rows, rows)) / rows + np.eye(rows), rng.standard_normal((rows, 2))
    quick = inner.solve_triangular(a, b, upper, unit)
    np.testing.assert_array_equal(quick, solved_as_general(a, b, upper, unit))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("place", [(0, 0), (1, 1), (2, 0), (0, 2)])
@pytest.mark.parametrize("value", [0.0, np.inf, np.nan])
def test_triangles_that_are_not_finite_are_left_to_substitution(value, place, upper, monkeypatch):
    a, b = np.tri(3) + np.tri(3).T, np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    a[place] = value

    def solved():
        try:
            return pb.linalg.solve_triangular(pb.tensor(a), pb.tensor(b), upper=upper).numpy()
        except np.linalg.LinAlgError as error:
            return str(error)

    found = solved()
    by_substitution(monkeypatch)
    np.testing.assert_array_equal(found, solved())
