"""Functions that are declared one by one: values are SciPy's, and slopes are those of differences."""

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import pullback as pb

rng = np.random.default_rng(1)
SQUARE = rng.standard_normal((5, 5))
SPARSE = (scipy.sparse.random_array((6, 6), density=0.4, rng=rng) + 4 * scipy.sparse.eye_array(6)).tocsr()
SPARSE.sort_indices()
SYMMETRIC = (SPARSE + SPARSE.T).tocsr()
SYMMETRIC.sort_indices()
CURVE = np.stack([np.cos(3 * np.linspace(0, 1, 8)), np.sin(4 * np.linspace(0, 1, 8)) + np.linspace(0, 1, 8)])


def weighted(out):
    """One number that depends on all elements."""
    out = out.toarray() if hasattr(out, "toarray") else out
    total = (out * np.cos(np.arange(out.size).reshape(out.shape) + 0.3)).sum()
    return total.real + 0.5 * total.imag if total.dtype.kind == "c" else total


def check(ours, plain, at, along):
    """Value and slope of a function of an array in one direction, backward and forward."""
    x = pb.tensor(at, requires_grad=True)
    y = weighted(ours(x))
    assert y.item() == pytest.approx(float(weighted(plain(at))), rel=1e-8)
    ends = [float(weighted(plain(at + step * along))) for step in (1e-6, -1e-6)]
    expected = pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-6)
    assert float((np.conj(pb.autograd.grad(y, x)[0].numpy()) * along).sum().real) == expected
    assert pb.func.jvp(lambda x: weighted(ours(x)), (x.detach(),), (pb.tensor(along),))[1].item() == expected


def direction(at):
    return np.sin(np.arange(at.size) + 1.0).reshape(at.shape)


@pytest.mark.parametrize("calc_q", [False, True])
def test_hessenberg_form_and_its_basis(calc_q):
    part = (lambda found: found[1]) if calc_q else (lambda found: found)
    forms = [lambda a, m=m: part(m.hessenberg(a, calc_q=calc_q)) for m in (pb.scipy.linalg, scipy.linalg)]
    check(*forms, SQUARE, direction(SQUARE))
    assert pb.autograd.gradgradcheck(forms[0], [pb.tensor(SQUARE[:3, :3], requires_grad=True)])


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("matrix", ["indefinite", "zero diagonal", "hermitian", "complex symmetric"])
def test_factors_of_indefinite_matrices(matrix, lower):
    """Blocks of both sizes; the triangle that is not read has no influence."""
    skew = SQUARE + 1j * SQUARE[::-1]
    at = {"indefinite": SQUARE + SQUARE.T, "zero diagonal": (SQUARE + SQUARE.T) * (1 - np.eye(5)),
          "hermitian": skew + skew.conj().T, "complex symmetric": skew + skew.T}[matrix]  # fmt: skip
    hermitian = matrix != "complex symmetric"
    move = direction(at) + (1j * direction(at).T if at.dtype.kind == "c" else 0)
    for k in (0, 1):
        forms = [lambda a, m=m, k=k: m.ldl(a, lower, hermitian)[k] for m in (pb.scipy.linalg, scipy.linalg)]
        check(*forms, at, move + (move.conj().T if hermitian else move.T))


def with_data(module, data, like):
    return module.csr_array((data, like.indices, like.indptr), shape=like.shape)


GRAPHS = {
    str(options): (lambda m, a, o=options: m.csgraph.laplacian(a, **o), SPARSE)
    for options in ({}, {"normed": True}, {"use_out_degree": True}, {"symmetrized": True, "normed": True})
}
START = np.eye(6)[:, :1] + 0.1
SPARSE_CALLS = {
    **GRAPHS,
    "degrees": (lambda m, a: m.csgraph.laplacian(a, normed=True, return_diag=True)[1], SPARSE),
    "inv": (lambda m, a: m.linalg.inv(a.tocsc()), SPARSE),
    "expm": (lambda m, a: m.linalg.expm(a.tocsc()), SPARSE),
    "matrix_power": (lambda m, a: m.linalg.matrix_power(a, 5), SPARSE),
    "lobpcg, values": (lambda m, a: m.linalg.lobpcg(a, START, tol=1e-12, maxiter=200)[0], SYMMETRIC),
    "lobpcg, vectors": (lambda m, a: m.linalg.lobpcg(a, START, tol=1e-12, maxiter=200)[1] ** 2, SYMMETRIC),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPARSE_CALLS)
def test_sparse_matrices_by_their_values(name):
    call, like = SPARSE_CALLS[name]
    move = with_data(scipy.sparse, direction(like.data), like)
    if like is SYMMETRIC:
        move = ((move + move.T) / 2).tocsr()
        move.sort_indices()
    forms = [lambda data, m=m: call(m, with_data(m, data, like)) for m in (pb.scipy.sparse, scipy.sparse)]
    check(*forms, like.data, move.data)


def test_the_laplacian_of_a_dense_graph_is_dense():
    for options in ({}, {"normed": True}):
        forms = [lambda a, m=m, o=options: m.csgraph.laplacian(a, **o) for m in (pb.scipy.sparse, scipy.sparse)]
        check(*forms, np.abs(SQUARE), direction(SQUARE))


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"u": np.linspace(0, 1, 8)}])
def test_curves_through_points(options):
    at = np.array([0.1, 0.35, 0.8])

    def by_splprep(m, x):
        tck, u = m.splprep([x[0], x[1]], s=0, **options)
        rows = [m.splev(at, (tck[0], c, tck[2])) for c in tck[1]]
        return (pb.stack if m is pb.scipy.interpolate else np.stack)([*rows, u[1:4]])

    modules = pb.scipy.interpolate, scipy.interpolate
    check(*[lambda x, m=m: by_splprep(m, x) for m in modules], CURVE, direction(CURVE))
    check(*[lambda x, m=m: m.make_splprep([x[0], x[1]], **options)[0](at) for m in modules], CURVE, direction(CURVE))


@pytest.mark.parametrize(
    "name, call",
    [("interpolate.splprep", lambda x: pb.scipy.interpolate.splprep([x, CURVE[1]], s=1.0)),
     ("interpolate.lagrange", lambda x: pb.scipy.interpolate.lagrange(np.arange(8.0), x)),
     ("interpolate.pade", lambda x: pb.scipy.interpolate.pade(x, 2)),
     ("linalg.hessenberg", lambda x: pb.scipy.linalg.hessenberg(x.reshape(2, 4)[:, :2] * 1j))],
)  # fmt: skip
def test_what_has_no_derivative_says_so(name, call):
    with pytest.raises(pb.AutogradError) as caught:
        call(pb.tensor(CURVE[0], requires_grad=True))
    assert caught.value.code == "SCIPY_NO_RULE" and name in str(caught.value)


def parabola(x, p):
    return (x[0] - p) ** 2 + (x[1] - 2 * p) ** 2


def below(x, p):
    return p - x[0] - x[1]


ZERO = [0.0, 0.0]
MINIMA = {
    "fmin_slsqp, equality": (lambda m, p: m.fmin_slsqp(parabola, ZERO, eqcons=[below], args=(p,), acc=1e-13), 1.0),
    "fmin_slsqp, bounds": (lambda m, p: m.fmin_slsqp(
        parabola, ZERO, ieqcons=[below], bounds=[(0, 10), (0, 1.2)], args=(p,), acc=1e-13), 1.0),
    "fmin_slsqp, free": (lambda m, p: m.fmin_slsqp(parabola, ZERO, args=(p,), acc=1e-13, full_output=True)[0], 3.0),
    "fmin_cobyla": (lambda m, p: m.fmin_cobyla(parabola, [0.1, 0.0], [below], args=(p,), rhoend=1e-7), 1.0),
    "brute": (lambda m, p: m.brute(parabola, [(0, 4), (0, 4)], args=(p,)), 3.0),
    "brute, slices": (lambda m, p: m.brute(parabola, (slice(0, 4, 0.5), slice(0, 4, 0.5)), args=(p,), full_output=1)[0],
                      3.0),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MINIMA)
def test_minima_by_older_names(name, capsys):
    call, slope = MINIMA[name]
    p = pb.tensor(1.5, requires_grad=True)
    x = call(pb.scipy.optimize, p)
    np.testing.assert_allclose(x.detach().numpy(), call(scipy.optimize, 1.5), atol=1e-3)
    assert pb.autograd.grad(x.sum(), p)[0].item() == pytest.approx(slope, rel=1e-3)


def test_a_point_of_a_grid_is_no_minimum():
    p = pb.tensor(1.53, requires_grad=True)
    x = pb.scipy.optimize.brute(parabola, [(0, 4), (0, 4)], args=(p,), finish=None)
    with pytest.raises(pb.AutogradError) as caught:
        x.sum().backward()
    assert caught.value.code == "SCIPY_NOT_A_SOLUTION"
