"""Conformance cases 108 to 125: sparse matrices, systems and eigenpairs."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import pullback as pb
from pullback.func import adapt, grad, jvp, vmap
from pullback.scipy import sparse as S
from pullback.scipy.sparse import linalg as SL

from .scipy_cases import agrees, d, gc, gg, leaf, refused

RNG = np.random.default_rng(0)
N = 5
DENSE = np.diag(np.arange(1.0, N + 1)) + 0.3 * np.eye(N, k=1) - 0.2 * np.eye(N, k=-1)
PLAIN = scipy.sparse.csr_array(DENSE)
DATA, INDICES, STARTS = PLAIN.data, PLAIN.indices, PLAIN.indptr
FORMATS = ["csr", "csc", "coo", "dia", "bsr", "dok", "lil"]
KINDS = [getattr(scipy.sparse, f"{name}_{kind}") for name in FORMATS for kind in ("array", "matrix")]
A5 = np.diag(np.arange(1.0, 6)) + 0.1


def ours(values, dense=DENSE):
    pattern = scipy.sparse.csr_array(dense)
    return S.csr_array((values, pattern.indices, pattern.indptr), shape=dense.shape)


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_108_products(make):
    matrix = make(DENSE)
    for shape in ((N,), (N, 1), (N, 3)):
        x, g = leaf(RNG.standard_normal(shape)), RNG.standard_normal(shape)
        out = matrix @ x
        np.testing.assert_allclose(out.detach().numpy(), DENSE @ x.detach().numpy())
        (found,) = pb.autograd.grad(out, [x], pb.tensor(g))
        np.testing.assert_allclose(found.numpy(), DENSE.T @ g)
    v = pb.tensor(RNG.standard_normal(N))
    np.testing.assert_allclose(jvp(lambda x: matrix @ x, (v,), (v,))[1].numpy(), DENSE @ v.numpy())
    (found,) = pb.autograd.grad((x.T @ matrix).sum(), [x])
    np.testing.assert_allclose(found.numpy(), np.tile(DENSE.sum(axis=1)[:, None], 3))


def test_108_products_batched_and_compiled():
    v = pb.tensor(RNG.standard_normal((3, N)))
    np.testing.assert_allclose(vmap(lambda x: PLAIN @ x)(v).numpy(), v.numpy() @ DENSE.T)
    assert pb.compile(lambda x: (PLAIN @ x).sum())(v[0]).item() == pytest.approx((DENSE @ v.numpy()[0]).sum())
    (found,) = pb.autograd.grad(PLAIN.dot(x := leaf(v.numpy()[0])).sum(), [x])
    np.testing.assert_allclose(found.numpy(), DENSE.sum(axis=0))


COO = scipy.sparse.coo_array(DENSE)


def dotted(x):
    return COO.dot(x).sum()


def test_108_the_method_of_a_coo_array():
    with pytest.raises((TypeError, pb.AutogradError)):
        COO.dot(leaf(np.ones(N)))
    np.testing.assert_allclose(grad(adapt(dotted))(pb.ones(N)).numpy(), DENSE.sum(axis=0))


def test_109_elementwise():
    x = leaf(RNG.standard_normal((N, N)))
    for out in (PLAIN * x, x * PLAIN):
        values = out.data if hasattr(out, "pattern") else out
        np.testing.assert_allclose(pb.autograd.grad(values.sum(), [x])[0].numpy(), DENSE)
    product = scipy.sparse.csr_matrix(DENSE) * x
    np.testing.assert_allclose(pb.autograd.grad(product.sum(), [x])[0].numpy(), np.tile(DENSE.sum(axis=0)[:, None], N))
    for out, expected in ((PLAIN + x, 1.0), (PLAIN - x, -1.0)):
        np.testing.assert_allclose(pb.autograd.grad(out.sum(), [x])[0].numpy(), expected)
    with refused("SCIPY_ON_GRAD", "NUMPY_ON_GRAD"):
        PLAIN.multiply(x)
    values = leaf(DATA)
    (found,) = pb.autograd.grad(ours(values).multiply(2.0).data.sum(), [values])
    np.testing.assert_allclose(found.numpy(), 2.0)


def test_110_without_derivatives_nothing_changes():
    assert (PLAIN @ pb.ones(N)).shape == (N,)


def test_111_gradients_by_values():
    values, x, g = leaf(DATA), RNG.standard_normal(N), RNG.standard_normal(N)
    (found,) = pb.autograd.grad(ours(values) @ x, [values], pb.tensor(g))
    rows = np.repeat(np.arange(N), np.diff(STARTS))
    np.testing.assert_allclose(found.numpy(), g[rows] * x[INDICES])
    count = 2000
    line = scipy.sparse.diags_array([np.ones(count)], offsets=[0]).tocsr()
    tracemalloc.start()
    values = leaf(line.data)
    (S.csr_array((values, line.indices, line.indptr), shape=line.shape) @ np.ones(count)).sum().backward()
    assert tracemalloc.get_traced_memory()[1] < 8 * count * 200
    tracemalloc.stop()


V = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("name, function", [
    ("diags_array", lambda v: S.diags_array([v, 2 * v[:2]], offsets=[0, 1]).toarray()),
    ("block_array", lambda v: S.block_array([[S.diags_array([v], offsets=[0]), None],
                                             [None, S.diags_array([2 * v], offsets=[0])]]).toarray()),
    ("kron", lambda v: S.kron(S.diags_array([v], offsets=[0]), np.ones((2, 2))).toarray()),
    ("hstack", lambda v: S.hstack([S.diags_array([v], offsets=[0]), S.diags_array([v * v], offsets=[0])]).toarray()),
    ("vstack", lambda v: S.vstack([S.diags_array([v], offsets=[0]), S.diags_array([v * v], offsets=[0])]).toarray()),
    ("block_diag", lambda v: S.block_diag([S.diags_array([v], offsets=[0]), np.ones((1, 2))]).toarray()),
    ("tril", lambda v: S.tril(S.diags_array([v, v[:2], v[:2]], offsets=[0, 1, -1])).toarray()),
    ("triu", lambda v: S.triu(S.diags_array([v, v[:2], v[:2]], offsets=[0, 1, -1]), k=1).toarray()),
    ("row", lambda v: S.diags_array([v, v[:2]], offsets=[0, 1])[[1]].toarray()),
    ("mask", lambda v: S.diags_array([v, v[:2]], offsets=[0, 1])[:, np.array([True, False, True])].toarray()),
    ("element", lambda v: S.diags_array([v, v[:2]], offsets=[0, 1])[1, 2]),
    ("T", lambda v: S.diags_array([v, v[:2]], offsets=[0, 1]).T.toarray()),
    ("sum", lambda v: S.diags_array([v, v[:2]], offsets=[0, 1]).sum(0)),
    ("diagonal", lambda v: S.diags_array([v, v[:2]], offsets=[0, 1]).diagonal()),
    ("product", lambda v: (S.diags_array([v, v[:2]], offsets=[0, 1]) @ S.diags_array([v], offsets=[0])).toarray()),
])  # fmt: skip
def test_112_construction_and_parts(name, function):
    gc(function, V)


def test_112_duplicates():
    values = leaf([1.0, 2.0, 3.0])
    dense = S.coo_array((values, ([0, 0, 1], [1, 1, 0])), shape=(2, 2)).toarray()
    (found,) = pb.autograd.grad(dense[0, 1], [values])
    np.testing.assert_allclose(found.numpy(), [1, 1, 0])


def test_113_gradients_by_a_sparse_argument():
    matrix = ours(pb.tensor(DATA))
    found = grad(lambda m: (m @ np.ones(N)).sum())(matrix)
    assert type(found) is type(matrix)
    np.testing.assert_allclose(found.data.numpy(), 1.0)
    assert found.nnz == matrix.nnz


def test_114_values_that_are_differentiated_do_not_become_scipys():
    with refused("NUMPY_ON_GRAD", "SCIPY_ON_GRAD"):
        ours(leaf(DATA)).to_scipy()
    np.testing.assert_allclose(ours(leaf(DATA)).detach().to_scipy().toarray(), DENSE)


def test_115_direct_solves(monkeypatch):
    b = RNG.standard_normal(N)
    gc(lambda v, b: SL.spsolve(ours(v), b), DATA, b)
    gg(lambda v, b: SL.spsolve(ours(v), b), DATA, b)
    gc(lambda b: SL.spsolve(ours(pb.tensor(DATA)), b), RNG.standard_normal((N, 2)))
    made = []
    plain = scipy.sparse.linalg.splu
    monkeypatch.setattr(scipy.sparse.linalg, "splu", lambda *args, **kw: made.append(1) or plain(*args, **kw))
    values = leaf(DATA)
    (first,) = pb.autograd.grad((SL.spsolve(ours(values), b) ** 2).sum(), [values], create_graph=True)
    pb.autograd.grad(first.sum(), [values])
    assert len(made) == 1


def test_116_factors():
    b = RNG.standard_normal(N)
    gc(lambda v, b: SL.factorized(ours(v))(b), DATA, b)
    gc(lambda v, b: SL.splu(ours(v)).solve(b, trans="T"), DATA, b)
    gc(lambda b: SL.spilu(PLAIN.tocsc()).solve(b), b)
    with refused("SCIPY_NO_RULE"):
        SL.spilu(ours(leaf(DATA))).solve(pb.tensor(b))


def test_117_a_singular_matrix():
    values = leaf(np.zeros(DATA.size))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = SL.spsolve(ours(values), np.ones(N))
    except RuntimeError:
        return  # SciPy's own error: exactly singular
    with refused("SCIPY_NOT_CONVERGED"):
        out.sum().backward()


@pytest.mark.parametrize(
    "name", ["cg", "cgs", "bicg", "bicgstab", "gmres", "lgmres", "gcrotmk", "minres", "qmr", "tfqmr"]
)
def test_118_iterations(name):
    symmetric = DENSE + DENSE.T + 5 * np.eye(N)
    data, b = scipy.sparse.csr_array(symmetric).data, RNG.standard_normal(N)
    solver = getattr(SL, name)

    def found(v, b):
        options = {"rtol": 1e-12} if name != "minres" else {"rtol": 1e-13}
        return (solver(ours(v, symmetric), b, **options)[0] * np.arange(N)).sum()

    expected = d(lambda v, b: (SL.spsolve(ours(v, symmetric), b) * np.arange(N)).sum(), data, b)
    for one, other in zip(d(found, data, b), expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    x, info = solver(ours(leaf(data), symmetric), b, rtol=1e-14, maxiter=1)
    if info > 0 and not np.allclose(symmetric @ x.detach().numpy(), b, atol=1e-5):
        with refused("SCIPY_NOT_CONVERGED", "SCIPY_NOT_A_SOLUTION"):
            x.sum().backward()


def test_119_an_operator():
    stiff = pb.tensor(DENSE + DENSE.T + 5 * np.eye(N))

    def found(theta):
        operator = SL.LinearOperator((N, N), matvec=lambda v: theta * v + stiff @ v, dtype=float)
        return SL.cg(operator, np.ones(N), rtol=1e-12)[0].sum()

    agrees(found, 0.7, 1e-6)


@pytest.mark.parametrize("name", ["lsqr", "lsmr"])
def test_120_least_squares(name):
    tall = np.vstack([DENSE, np.ones(N)])
    data, b = scipy.sparse.csr_array(tall).data, RNG.standard_normal(N + 1)
    options = {"atol": 1e-14, "btol": 1e-14, "conlim": 0}
    gc(lambda v, b: getattr(SL, name)(ours(v, tall), b, **options)[0], data, b)
    gc(lambda b: getattr(SL, name)(ours(pb.tensor(data), tall), b, damp=0.3, **options)[0], b)


def test_121_eigenpairs():
    data = scipy.sparse.csr_array(A5).data

    def largest(v, **options):
        return SL.eigsh(ours(v, A5), 1, **options)[0][0]

    assert largest(pb.tensor(data)).item() == pytest.approx(5.123812863, rel=1e-8)
    assert d(largest, data)[0] == pytest.approx(0.000885487, rel=1e-4)

    def projector(v):
        vector = SL.eigsh(ours(v, A5), 1)[1][:, 0]
        return (vector[:, None] * vector[None, :] * np.arange(25.0).reshape(5, 5)).sum()

    def symmetric(v):
        dense = ours(v, A5).toarray()
        dense = (dense + dense.T) / 2
        return dense.reshape(-1)

    agrees(lambda v: projector(symmetric(v)), data, 1e-5)
    for options in ({"which": "SA", "k": 2}, {"sigma": 2.2, "k": 1}):
        agrees(lambda v, o=options: SL.eigsh(ours(symmetric(v), A5), **o)[0].sum(), data, 1e-5)


def test_122_pairs_without_symmetry():
    data = DATA
    expected = d(lambda v: pb.linalg.eigvals(ours(v).toarray()).real[-1], data)
    values = np.linalg.eigvals(DENSE)
    if np.argmax(values.real) == N - 1:
        np.testing.assert_allclose(d(lambda v: SL.eigs(ours(v), 1, which="LR")[0].real[0], data), expected, atol=1e-7)
    agrees(lambda v: SL.svds(ours(v), k=2)[1].sum(), data, 1e-6)
    double = np.eye(4)
    with refused("SCIPY_DEGENERATE"):
        pb.autograd.grad(SL.eigsh(ours(v := leaf(np.ones(4)), double), 1)[1].sum(), [v])


def test_123_exponentials():
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    data, v = scipy.sparse.csr_array(turn).data, np.array([0.3, 0.9])
    rotation = np.array([[np.cos(1), np.sin(1)], [-np.sin(1), np.cos(1)]])
    x, g = leaf(v), np.array([1.0, -2.0])
    (found,) = pb.autograd.grad(SL.expm_multiply(ours(pb.tensor(data), turn), x), [x], pb.tensor(g))
    np.testing.assert_allclose(found.numpy(), rotation.T @ g, rtol=1e-9)
    gc(lambda d: SL.expm_multiply(ours(d, turn), v), data)


def test_124_sparse_jacobians_that_differentiate():
    def second(p):
        jacobian = pb.func.sparse_jacobian(lambda x: p * x**3, differentiable=True)(pb.tensor(V))
        return jacobian.data.sum()

    agrees(second, 1.3, 1e-6)


def test_125_graphs():
    weights = np.array([[0.0, 1.0, 4.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    data = scipy.sparse.csr_array(weights).data
    found = d(lambda v: S.csgraph.dijkstra(ours(v, weights), indices=0)[2], data)
    np.testing.assert_allclose(found, [1.0, 0.0, 1.0])

    def tree(v):
        made = S.csgraph.minimum_spanning_tree(ours(v, weights))
        return made.sum()

    np.testing.assert_allclose(d(tree, data), [1.0, 0.0, 1.0])
