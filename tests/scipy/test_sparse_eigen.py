"""Eigenvalues, singular values, exponentials, least squares and paths of sparse matrices, by their values."""

import numpy as np
import pytest
import scipy.sparse as ss
import scipy.sparse.csgraph
import scipy.sparse.linalg as sl

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck

sparse, linalg, csgraph = pb.scipy.sparse, pb.scipy.sparse.linalg, pb.scipy.sparse.csgraph
A5 = np.diag(np.arange(1.0, 6.0)) + 0.1
RNG = np.random.default_rng(1)


def leaf(value):
    return pb.tensor(value, requires_grad=True)


def full(values, size):
    rows, columns = np.indices((size, size)).reshape(2, -1)
    return sparse.csr_array((values, (rows, columns)), shape=(size, size))


def test_the_largest_eigenvalue():
    data = leaf(A5.reshape(-1))
    (value,) = linalg.eigsh(full(data, 5), 1, which="LA", return_eigenvectors=False)
    value.backward()
    assert value.item() == pytest.approx(5.123812863)
    assert data.grad[0].item() == pytest.approx(0.000885487, rel=1e-5)


@pytest.mark.parametrize(
    "options", [{"which": "SA"}, {"sigma": 2.5}, {"which": "LA", "M": ss.diags_array(1 + 0.1 * np.arange(5))}]
)
def test_pairs_of_a_symmetric_matrix(options):
    base = A5 + 0.05 * np.add.outer(np.arange(5.0), np.arange(5.0))

    def observed(values):
        matrix = full((values.reshape(5, 5) + values.reshape(5, 5).T).reshape(-1) / 2, 5)
        w, v = linalg.eigsh(matrix, 2, v0=np.ones(5), **options)
        return w, v**2

    expected = sl.eigsh(ss.csr_array(base), 2, v0=np.ones(5), **options)
    found = observed(pb.tensor(base.reshape(-1)))
    np.testing.assert_allclose(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1] ** 2, atol=1e-10)
    assert gradcheck(observed, (leaf(base.reshape(-1)),), check_forward_ad=True, fast_mode=True)


def test_second_derivatives_of_an_eigenvalue():
    def observed(values):
        matrix = full((values.reshape(5, 5) + values.reshape(5, 5).T).reshape(-1) / 2, 5)
        return linalg.eigsh(matrix, 1, which="LA", v0=np.ones(5), return_eigenvectors=False)

    assert gradgradcheck(observed, (leaf(A5.reshape(-1)),), fast_mode=True)


def test_eigenvalues_without_symmetry_are_those_of_the_dense_matrix():
    base = RNG.random((6, 6)) + np.diag(np.arange(6.0))
    data = leaf(base.reshape(-1))
    values = linalg.eigs(full(data, 6), 1, which="LR", v0=np.ones(6), return_eigenvectors=False)
    values.real.sum().backward()
    dense = leaf(base)
    w = pb.linalg.eigvals(dense).real
    w[int(np.argmax(w.detach().numpy()))].backward()
    np.testing.assert_allclose(data.grad.numpy().reshape(6, 6), dense.grad.numpy(), rtol=1e-7)


def test_singular_values_and_vectors():
    base = RNG.random((6, 4))
    rows, columns = np.indices((6, 4)).reshape(2, -1)

    def observed(values):
        u, s, vh = linalg.svds(sparse.coo_array((values, (rows, columns)), shape=(6, 4)), 2, v0=np.ones(4))
        return s, u[:, :, None] * vh[None]

    _, s, _ = sl.svds(base, 2, v0=np.ones(4))
    np.testing.assert_allclose(observed(pb.tensor(base.reshape(-1)))[0], s)
    assert gradcheck(observed, (leaf(base.reshape(-1)),), atol=1e-4, fast_mode=True)


def test_an_eigenvalue_that_is_there_twice_is_refused():
    data = leaf(np.diag([1.0, 2.0, 3.0, 5.0, 5.0]).reshape(-1))
    for count in (1, 2):
        with pytest.raises(pb.AutogradError) as caught:
            linalg.eigsh(full(data, 5), count, which="LA", v0=np.arange(1.0, 6.0))
        assert caught.value.code == "SCIPY_DEGENERATE"


def test_exponentials():
    turn = leaf([0.0, 1.0, -1.0, 0.0])
    v = leaf([1.0, 2.0])
    found = linalg.expm_multiply(full(turn, 2), v)
    np.testing.assert_allclose(found.detach(), [[np.cos(1), np.sin(1)], [-np.sin(1), np.cos(1)]] @ np.array([1.0, 2.0]))
    assert gradcheck(lambda d, v: linalg.expm_multiply(full(d, 2), v), (turn, v), check_forward_ad=True, fast_mode=True)
    by_angle = pb.func.grad(pb.func.grad(lambda a: linalg.expm_multiply(full(a * turn.detach(), 2), v.detach())[0]))
    assert by_angle(pb.tensor(1.0)).item() == pytest.approx(-found[0].item())
    path = linalg.expm_multiply(full(turn, 2), v, start=0.0, stop=2.0, num=5)
    plain = sl.expm_multiply(ss.csr_array([[0.0, 1.0], [-1.0, 0.0]]), np.array([1.0, 2.0]), start=0, stop=2, num=5)
    np.testing.assert_allclose(path.detach(), plain, atol=1e-12)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_least_squares(name):
    base, b = RNG.random((6, 3)), RNG.random(6)
    rows, columns = np.indices((6, 3)).reshape(2, -1)

    def solved(values, b, damp):
        matrix = sparse.csr_array((values, (rows, columns)), shape=(6, 3))
        return getattr(linalg, name)(matrix, b, damp, atol=1e-14, btol=1e-14)[0]

    assert gradcheck(solved, (leaf(base.reshape(-1)), leaf(b), leaf(0.3)))
    by_b = pb.func.jacrev(lambda b: solved(pb.tensor(base.reshape(-1)), b, 0.0))(pb.tensor(b))
    np.testing.assert_allclose(by_b, np.linalg.pinv(base), rtol=1e-6)


def test_a_factorisation_solves_with_the_transpose_too():
    values = leaf((A5 + np.triu(np.ones((5, 5)))).reshape(-1))
    b = leaf(np.arange(5.0))
    for trans in "NT":
        assert gradcheck(lambda d, b, trans=trans: linalg.splu(full(d, 5)).solve(b, trans), (values, b))
    assert gradcheck(lambda d, b: linalg.spsolve_triangular(full(d, 5), b), (values, b))


def test_a_shortest_path_has_the_gradient_of_its_edges():
    rows, columns = np.array([0, 0, 1, 2, 2]), np.array([1, 2, 3, 1, 3])
    weights = leaf([5.0, 1.0, 1.0, 2.0, 7.0])
    graph = sparse.csr_array((weights, (rows, columns)), shape=(4, 4))
    lengths = csgraph.dijkstra(graph, indices=0)
    np.testing.assert_allclose(lengths.detach(), [0, 3, 1, 4])
    lengths[3].backward()
    np.testing.assert_allclose(weights.grad, [0, 1, 1, 1, 0])
    every = csgraph.shortest_path(graph)
    np.testing.assert_allclose(every.detach(), scipy.sparse.csgraph.shortest_path(graph.detach().to_scipy()))


def test_a_spanning_tree_has_the_gradient_of_its_edges():
    weights = leaf([[0.0, 8.0, 0.0, 3.0], [0.0, 0.0, 2.0, 5.0], [0.0, 0.0, 0.0, 6.0], [0.0, 0.0, 0.0, 0.0]])
    csgraph.minimum_spanning_tree(weights).sum().backward()
    np.testing.assert_allclose(weights.grad, [[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
