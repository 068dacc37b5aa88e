"""Sparse matrices of tensors mean what SciPy's mean: the older matrices a product by `*`, arrays element by element."""

import numpy as np
import pytest
import scipy.sparse

import pullback as pb
from pullback.scipy import sparse

VALUES = np.array([1.0, 2.0, 3.0, 4.0])
V = np.array([1.0, 2.0, 3.0])
PICK = np.array([True, False, True])

OPERATIONS = {
    "A * v": lambda A, C, m: A * V,
    "v * A": lambda A, C, m: V * A,
    "A * A": lambda A, C, m: A * A,
    "C * A": lambda A, C, m: C * A,
    "C @ A": lambda A, C, m: C @ A,
    "A @ matrix": lambda A, C, m: A @ np.ones((3, 2)),
    "matrix @ A": lambda A, C, m: np.ones((2, 3)) @ A,
    "A * 2": lambda A, C, m: A * 2.0,
    "2 * A": lambda A, C, m: 2.0 * A,
    "A / 2": lambda A, C, m: A / 2,
    "A ** 2": lambda A, C, m: A**2,
    "A + C": lambda A, C, m: A + C,
    "C + A": lambda A, C, m: C + A,
    "C - A": lambda A, C, m: C - A,
    "A + dense": lambda A, C, m: A + np.ones((3, 3)),
    "A[0]": lambda A, C, m: A[0],
    "A[:, 0]": lambda A, C, m: A[:, 0],
    "A[0, 2]": lambda A, C, m: A[0, 2],
    "A[mask]": lambda A, C, m: A[PICK],
    "A[rows][:, columns]": lambda A, C, m: A[[0, 2]][:, [0, 1]],
    "sum": lambda A, C, m: A.sum(),
    "sum over rows": lambda A, C, m: A.sum(axis=0),
    "sum over columns": lambda A, C, m: A.sum(axis=1),
    "mean": lambda A, C, m: A.mean(),
    "mean of rows": lambda A, C, m: A.mean(axis=1),
    "max": lambda A, C, m: A.max(),
    "min": lambda A, C, m: A.min(),
    "diagonal": lambda A, C, m: A.diagonal(),
    "upper diagonal": lambda A, C, m: A.diagonal(2),
    "lower diagonal": lambda A, C, m: A.diagonal(-2),
    "trace": lambda A, C, m: A.trace(),
    "A.T @ A": lambda A, C, m: A.T @ A,
    "abs": lambda A, C, m: abs(-A),
    "multiply": lambda A, C, m: A.multiply(V),
    "power": lambda A, C, m: A.power(3),
    "todense": lambda A, C, m: A.todense(),
    "kron": lambda A, C, m: m.kron(A, C),
    "kron with dense": lambda A, C, m: m.kron(A, np.eye(2)),
    "kronsum": lambda A, C, m: m.kronsum(A, C),
    "hstack": lambda A, C, m: m.hstack([A, C]),
    "block_diag": lambda A, C, m: m.block_diag([A, np.eye(2)]),
    "bmat": lambda A, C, m: m.bmat([[A, None], [None, A]]),
    "tril": lambda A, C, m: m.tril(A),
}


def compare(operation):
    """The same of SciPy's module with numbers and of ours with tensors; the gradient against differences."""
    theirs = operation(scipy.sparse, VALUES)
    values = pb.tensor(VALUES, requires_grad=True)
    ours = operation(sparse, values)
    np.testing.assert_allclose(dense(ours), dense(theirs))
    if hasattr(theirs, "tocsr") and theirs.ndim == 2:
        assert isinstance(ours, sparse.SparseMatrix) == scipy.sparse.isspmatrix(theirs)
    weights = np.cos(np.arange(dense(theirs).size)).reshape(dense(theirs).shape)
    whole = ours.toarray() if hasattr(ours, "toarray") else ours
    (gradient,) = pb.autograd.grad((whole * weights).sum(), values)
    step = 1e-6
    moves = [
        (dense(operation(scipy.sparse, VALUES + step * unit)) - dense(operation(scipy.sparse, VALUES - step * unit)))
        for unit in np.eye(4)
    ]
    expected = [np.sum(weights * move) / (2 * step) for move in moves]
    np.testing.assert_allclose(gradient.numpy(), expected, atol=1e-7)


def dense(result):
    result = result.toarray() if hasattr(result, "toarray") else result
    return np.asarray(result.detach().numpy() if isinstance(result, pb.Tensor) else result)


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, kind):
    def operation(module, values):
        make = f"csr_{kind}"
        A = getattr(module, make)((values, ([0, 0, 1, 2], [0, 2, 1, 0])), shape=(3, 3))
        return OPERATIONS[name](A, getattr(scipy.sparse, make)(np.arange(9.0).reshape(3, 3)), module)

    compare(operation)


@pytest.mark.parametrize("operation", [
    lambda m, x: m.diags([x, x[1:], 2 * x[:-1]], [0, 1, -1]),
    lambda m, x: m.diags(x),
    lambda m, x: m.diags(x, 1),
    lambda m, x: m.diags([x[0], -2.0, x[1]], [-1, 0, 1], shape=(4, 4), format="csc"),
    lambda m, x: m.diags((x, x[1:]), (0, -1)) * V.repeat(2)[:4],
    lambda m, x: m.spdiags(x, 0, 4, 4),
    lambda m, x: m.spdiags(x, 1, 4, 4),
    lambda m, x: m.dia_matrix((x[None], [1]), shape=(4, 4)),
    lambda m, x: m.diags_array(x) * x,
], ids=["three", "main", "upper", "numbers", "product", "spdiags", "spdiags upper", "dia_matrix", "array"])  # fmt: skip
def test_diagonals(operation):
    compare(operation)


def test_an_older_matrix_of_constants_keeps_its_product_with_tensors():
    compare(lambda m, x: scipy.sparse.csr_matrix(np.arange(16.0).reshape(4, 4)) * x)
    compare(lambda m, x: scipy.sparse.identity(3) * x[1])


def test_powers_that_are_not_sparse_are_refused():
    A = sparse.csr_array(pb.tensor(np.eye(2), requires_grad=True))
    with pytest.raises(ValueError, match="dense"):
        A.power(0)
    with pytest.raises(ValueError, match="whole number"):
        sparse.csr_matrix(pb.tensor(np.eye(2), requires_grad=True)) ** 0.5
