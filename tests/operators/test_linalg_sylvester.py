"""Sylvester and Lyapunov equations, and square roots of matrices."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.operators.linalg import functions as linalg_sylvester
from pullback.testing import assert_close

scipy_linalg = pytest.importorskip("scipy.linalg", reason="the functions need SciPy")

random = np.random.default_rng(3)
A, B, Q = random.standard_normal((3, 3)), random.standard_normal((2, 2)) + 4 * np.eye(2), random.standard_normal((3, 2))
POSITIVE = A @ A.T + np.eye(3)


def test_solutions_satisfy_the_equation():
    x = pb.linalg.solve_sylvester(A, B, Q)
    assert_close(A @ x + x @ B, Q)
    assert_close(x, scipy_linalg.solve_sylvester(A, B, Q))
    z = pb.linalg.solve_sylvester(A + 1j * A.T, B, Q)
    assert_close((A + 1j * A.T) @ z + z @ B, Q + 0j)


def test_lyapunov_keeps_symmetry():
    a = POSITIVE + np.triu(A)
    x = pb.linalg.solve_lyapunov(a, POSITIVE)
    assert_close(a @ x + x @ a.T, POSITIVE)
    assert_close(x, x.T)


def test_derivatives_of_solutions():
    a, b, q = (pb.tensor(x, requires_grad=True) for x in (A, B, Q))
    assert gradcheck(pb.linalg.solve_sylvester, (a, b, q))
    assert gradgradcheck(pb.linalg.solve_sylvester, (a, b, q))
    m = pb.tensor(POSITIVE, requires_grad=True)
    assert gradcheck(pb.linalg.solve_lyapunov, (m, m))


def test_an_equation_without_a_unique_solution_raises():
    with pytest.raises(np.linalg.LinAlgError, match="eigenvalue"):
        pb.linalg.solve_sylvester(np.eye(2), -np.eye(2), np.ones((2, 2)))
    with pytest.raises(ValueError, match="3 by 2"):
        pb.linalg.solve_sylvester(A, B, Q.T)


def test_a_root_squared_is_the_matrix():
    general = np.array([[4.0, 1.0, 0.0], [-1.0, 3.0, 2.0], [0.5, 0.0, 5.0]])
    defective = np.array([[2.0, 1.0], [0.0, 2.0]])
    for matrix in (POSITIVE, general, defective, np.zeros((2, 2)), np.diag([0.0, 4.0])):
        root = pb.linalg.sqrtm(matrix)
        assert root.dtype == np.float64
        assert_close(root @ root, matrix, rtol=1e-10, atol=1e-12)
    assert_close(pb.linalg.sqrtm(POSITIVE), pb.linalg.matrix_sqrth(POSITIVE))
    assert_close(pb.linalg.sqrtm(general + 1j), scipy_linalg.sqrtm(general + 1j))


def test_a_real_matrix_without_a_real_root_has_a_complex_one():
    for matrix in (np.diag([-4.0, 9.0]), np.array([[1.0, 2.0], [2.0, 1.0]]), -POSITIVE):
        assert_close(pb.linalg.sqrtm(matrix), scipy_linalg.sqrtm(matrix).astype(complex))
    assert pb.linalg.sqrtm(np.float32([[1, 2], [2, 1]])).dtype == np.complex64
    assert np.isnan(pb.linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))).all()


def test_the_derivative_of_a_complex_root_of_a_real_matrix_is_real():
    a = pb.tensor([[1.0, 2.0], [2.0, 1.0]], requires_grad=True)
    assert gradcheck(pb.linalg.sqrtm, (a,))
    pb.linalg.sqrtm(a).imag.sum().backward()
    assert a.grad.dtype == np.float64


def test_one_matrix_of_a_batch_without_a_root_does_not_spoil_the_others():
    root = pb.linalg.sqrtm(np.stack([np.eye(2), -np.eye(2), [[0.0, 1.0], [0.0, 0.0]]]))
    assert_close(root[:2], np.stack([np.eye(2), 1j * np.eye(2)]))
    assert np.isnan(root[2]).all()


def test_derivatives_of_roots():
    a = pb.tensor(POSITIVE, requires_grad=True)
    assert gradcheck(pb.linalg.sqrtm, (a,))
    assert gradgradcheck(pb.linalg.sqrtm, (a,))
    z = pb.tensor(POSITIVE + 0.5j * A, requires_grad=True)
    assert gradcheck(pb.linalg.sqrtm, (z,))


def test_the_gradient_at_a_singular_matrix_is_nan_and_does_not_raise():
    a = pb.tensor(np.zeros((2, 2)), requires_grad=True)
    pb.linalg.sqrtm(a).sum().backward()
    assert np.isnan(a.grad).all()


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr(linalg_sylvester, "import_module", fail)
    with pytest.raises(ImportError, match=r"pullback\[scipy\]"):
        pb.linalg.sqrtm(np.eye(2))
