"""Constant sparse matrices of SciPy's times tensors."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

sparse = pytest.importorskip("scipy.sparse")

DENSE = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
FORMS = [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array, sparse.dia_array, sparse.lil_array]


def leaf(*shape, seed=0):
    return pb.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_a_sparse_matrix_multiplies_vectors_and_matrices_from_either_side(form):
    matrix = form(DENSE)
    for product, expected, x in [
        (lambda x: matrix @ x, lambda x: DENSE @ x, leaf(3)),
        (lambda x: matrix @ x, lambda x: DENSE @ x, leaf(3, 2)),
        (lambda x: matrix.dot(x), lambda x: DENSE @ x, leaf(3)),
        (lambda x: x @ matrix, lambda x: x @ DENSE, leaf(2)),
        (lambda x: x @ matrix, lambda x: x @ DENSE, leaf(4, 2)),
    ]:
        assert_close(product(x), expected(x.detach().numpy()))
        assert pb.autograd.gradcheck(product, (x,))


def test_a_matrix_multiplies_by_a_star_as_in_scipy():
    matrix, x = sparse.csr_matrix(DENSE), leaf(3)
    assert_close(matrix * x, DENSE @ x.detach().numpy())
    assert (matrix * x).requires_grad


def test_the_product_batches_has_second_derivatives_and_is_compiled():
    matrix, x = sparse.csr_array(DENSE), leaf(3).detach()

    def energy(x):
        return ((matrix @ x) ** 2).sum()

    assert_close(pb.func.hessian(energy)(x), 2 * DENSE.T @ DENSE)
    rows = leaf(4, 3).detach()
    assert_close(pb.func.vmap(lambda row: matrix @ row)(rows), rows.numpy() @ DENSE.T)
    assert_close(pb.func.jvp(energy, (x,), (x,))[1], 2 * energy(x))
    assert_close(pb.compile(energy)(x), energy(x))


def test_complex_entries_and_constants():
    matrix, x = sparse.csr_array(DENSE * 1j), leaf(3)
    assert pb.autograd.gradcheck(lambda x: matrix @ x, (x,))
    assert isinstance(matrix @ x.detach(), pb.Tensor)


def test_shapes_must_fit():
    with pytest.raises(ValueError, match="sparse matrix"):
        leaf(3) @ sparse.csr_array(DENSE)
