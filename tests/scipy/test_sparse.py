"""Sparse matrices: products and solves, with derivatives by the values on the pattern."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import pullback as pb
from pullback.func import grad, vmap
from pullback.scipy import sparse
from pullback.scipy.sparse import _tensor, linalg

RNG = np.random.default_rng(0)
N = 6
A = (scipy.sparse.random_array((N, N), density=0.3, rng=RNG, format="csr") + scipy.sparse.eye_array(N) * 4).tocsr()
S = (A + A.T).tocsr()
B = RNG.standard_normal(N)


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def matrix(data, like=A):
    return sparse.csr_array((data, like.indices, like.indptr), shape=like.shape)


@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 3)])
def test_products(shape):
    inputs = leaf(A.data.copy()), leaf(RNG.standard_normal(shape))
    np.testing.assert_allclose((matrix(inputs[0]) @ inputs[1]).detach().numpy(), A @ inputs[1].detach().numpy())
    assert pb.autograd.gradcheck(lambda d, x: matrix(d) @ x, inputs, check_forward_ad=True)
    assert pb.autograd.gradgradcheck(lambda d, x: matrix(d) @ x, inputs)
    assert pb.autograd.gradcheck(lambda d, x: pb.permute_dims(x, tuple(range(x.ndim))[::-1]) @ matrix(d), inputs)


def test_complex_products_and_solves():
    data = leaf(A.data * (1 + 0.3j))
    x = leaf(B + 1j * B[::-1])
    assert pb.autograd.gradcheck(lambda d, x: matrix(d) @ x, (data, x))
    assert pb.autograd.gradcheck(lambda d, x: linalg.spsolve(matrix(d), x), (data, x))


def test_a_gradient_by_values_forms_no_dense_matrix():
    n = 2000
    data, x = leaf(np.ones(n)), leaf(np.ones(n))
    wide = sparse.csr_array((data, np.arange(n), np.arange(n + 1)), shape=(n, n))
    tracemalloc.start()
    (wide @ x).sum().backward()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data.grad.shape == (n,)
    assert peak < 8 * n * 100


@pytest.mark.parametrize("right", [B, RNG.standard_normal((N, 2))], ids=["vector", "matrix"])
def test_direct_solves(right):
    inputs = leaf(A.data.copy()), leaf(right)
    np.testing.assert_allclose(
        linalg.spsolve(matrix(inputs[0]), inputs[1]).detach().numpy(), scipy.sparse.linalg.spsolve(A, right)
    )
    assert pb.autograd.gradcheck(lambda d, b: linalg.spsolve(matrix(d), b), inputs, check_forward_ad=True)
    assert pb.autograd.gradgradcheck(lambda d, b: linalg.spsolve(matrix(d), b), inputs)


def test_one_factorisation_serves_values_gradients_and_second_derivatives(monkeypatch):
    made = []
    plain = _tensor.Factors.__init__

    def counted(self, *args):
        made.append(self)
        plain(self, *args)

    monkeypatch.setattr(_tensor.Factors, "__init__", counted)
    data, b = leaf(A.data.copy()), leaf(B)
    x = linalg.spsolve(matrix(data), b)
    (first,) = pb.autograd.grad((x * x).sum(), b, create_graph=True)
    pb.autograd.grad(first.sum(), (data, b))
    assert len(made) == 1


def test_examples_of_a_batch_have_their_own_factors():
    data = pb.tensor(np.stack([A.data, 2 * A.data]))
    found = vmap(lambda d: linalg.spsolve(matrix(d), pb.tensor(B)))(data).numpy()
    expected = scipy.sparse.linalg.spsolve(A, B)
    np.testing.assert_allclose(found, [expected, expected / 2])
    slopes = vmap(grad(lambda d: linalg.spsolve(matrix(d), pb.tensor(B)).sum()))(data).numpy()
    np.testing.assert_allclose(slopes[1], slopes[0] / 4)


def test_constant_matrices_of_scipy():
    b = leaf(B)
    linalg.spsolve(A, b).sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), scipy.sparse.linalg.spsolve(A.T.tocsr(), np.ones(N)))
    solve = linalg.factorized(A.tocsc())
    np.testing.assert_allclose(solve(B).numpy(), scipy.sparse.linalg.spsolve(A, B))


@pytest.mark.parametrize(
    "name", ["cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "gcrotmk", "minres", "qmr", "tfqmr"]
)
def test_iterative_solves(name):
    data, b = leaf(S.data.copy()), leaf(B)
    x, info = getattr(linalg, name)(matrix(data, S), b, rtol=1e-12)
    assert info == 0
    found = pb.autograd.grad((x * x).sum(), (data, b))
    y = linalg.spsolve(matrix(data, S), b)
    for ours, expected in zip(found, pb.autograd.grad((y * y).sum(), (data, b)), strict=True):
        np.testing.assert_allclose(ours.numpy(), expected.numpy(), atol=1e-8)


def test_an_operator_that_closes_over_a_parameter():
    theta = leaf(2.0)
    diagonal = np.arange(1.0, 4)
    operator = scipy.sparse.linalg.LinearOperator((3, 3), matvec=lambda v: theta * v + diagonal * v, dtype=float)
    linalg.cg(operator, np.ones(3), rtol=1e-12)[0].sum().backward()
    assert theta.grad.item() == pytest.approx(-(1 / (2 + diagonal) ** 2).sum())


def test_an_iteration_that_did_not_converge_is_refused():
    b = leaf(B)
    x, info = linalg.cg(S * 1.0, b, maxiter=1, rtol=1e-14)
    assert info > 0
    with pytest.raises(pb.AutogradError) as raised:
        x.sum().backward()
    assert raised.value.code == "SCIPY_NOT_CONVERGED"


def test_construction_and_arithmetic():
    v = leaf([1.0, 2.0, 3.0])
    assert pb.autograd.gradcheck(lambda v: sparse.diags_array(v, offsets=1).toarray(), (v,))
    twice = sparse.coo_array((v, ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    assert twice.nnz == 2
    np.testing.assert_allclose(twice.toarray().detach().numpy(), [[0, 3, 0], [0, 0, 3], [0, 0, 0]])
    data = leaf(A.data.copy())
    assert pb.autograd.gradcheck(lambda d: (matrix(d) + A * 2.0).sum(0), (data,))
    assert pb.autograd.gradcheck(lambda d: (matrix(d) * 2.5 - matrix(d) / 3.0).diagonal(), (data,))
    assert pb.autograd.gradcheck(lambda d: (matrix(d) - np.ones((N, N))).sum(), (data,))
    assert pb.autograd.gradcheck(lambda d: matrix(d).multiply(np.arange(N)).T.toarray(), (data,))
    assert isinstance(sparse.csr_array(np.eye(2)), scipy.sparse.csr_array)


def test_values_that_are_differentiated_do_not_become_scipys():
    made = matrix(leaf(A.data.copy()))
    with pytest.raises(pb.AutogradError):
        made.to_scipy()
    assert (made.detach().to_scipy() != A).nnz == 0
    assert "13 values" in repr(made)


def heat(conductivity):
    n = 8
    k = np.full(n, conductivity)
    stiffness = scipy.sparse.diags_array([-k[1:], 2 * k, -k[1:]], offsets=[-1, 0, 1])
    return scipy.sparse.linalg.spsolve(stiffness.tocsr(), np.ones(n)).sum()


def test_an_adapted_program():
    step = 1e-4
    numerical = (heat(2 + step) - heat(2 - step)) / (2 * step)
    assert grad(pb.func.adapt(heat))(pb.tensor(2.0)).item() == pytest.approx(numerical, rel=1e-6)


@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_matrices_of_diagonals_that_are_a_tensor(shape):
    data, offsets = np.arange(1.0, 13.0).reshape(3, 4), [0, -1, 2]
    x = pb.tensor(data, requires_grad=True)
    found = pb.scipy.sparse.dia_array((x, offsets), shape=shape).toarray()
    np.testing.assert_array_equal(found.detach(), scipy.sparse.dia_array((data, offsets), shape=shape).toarray())
    found.sum().backward()
    np.testing.assert_array_equal(x.grad, np.isin(data, found.detach().numpy()))
    one = pb.scipy.sparse.diags_array([x[0, 0], 2.0, 3.0], offsets=1).toarray()
    np.testing.assert_array_equal(one.detach(), np.diag([1.0, 2.0, 3.0], 1))


@pytest.mark.parametrize("make", [scipy.sparse.csr_matrix, scipy.sparse.csr_array])
def test_a_matrix_times_a_number(make):
    """`*` is the product of matrices for SciPy's older ones, but not with a number."""
    matrix, x = make([[1.0, 2.0], [0.0, 3.0]]), pb.tensor(2.0, requires_grad=True)
    for found in (matrix * x, x * matrix):
        assert pb.autograd.grad(found.toarray().sum(), x)[0].item() == 6.0
