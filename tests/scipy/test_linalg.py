"""Linear algebra with SciPy's meanings: values are SciPy's, derivatives agree with differences in both modes."""

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck

ours = pb.scipy.linalg
rng = np.random.default_rng(1)


def R(*shape):
    return rng.standard_normal(shape)


A = R(3, 3) + 3 * np.eye(3)
S, B = A @ A.T, np.diag([2.0, 3.0, 4.0]) + 0.2
TALL, WIDE, SQUARE, V3, V5, V4 = R(5, 3), R(3, 4), R(3, 3), R(3), R(5), R(4)
HALF = np.vstack([R(5), R(5) + 6])  # the upper diagonals of a banded matrix
BANDS = np.vstack([R(5), R(5) + 6, R(5)])
DISTINCT = np.array([[1.0, 2, 3], [0.1, 4, 5], [0.2, 0.1, 8]])
C2, C1 = np.array([[0.5, 0.2], [-0.1, 0.3]]), np.array([[1.0], [0.4]])

CALLS = {
    "lu": (lambda m, a: m.lu(a), A),
    "lu, rows exchanged": (lambda m, a: m.lu(a, permute_l=True), A),
    "qr with pivots": (lambda m, a: m.qr(a, mode="economic", pivoting=True), TALL),
    "qr of a wide matrix with pivots": (lambda m, a: m.qr(a, pivoting=True), WIDE),
    "qr, r alone": (lambda m, a: m.qr(a, mode="r"), SQUARE),
    "qr_multiply": (lambda m, a: m.qr_multiply(a, np.ones((2, 5))), TALL),
    "rq": (lambda m, a: m.rq(a), SQUARE),
    "rq, economic": (lambda m, a: m.rq(a, mode="economic"), R(2, 4)),
    "solve": (lambda m, a, b: m.solve(a, b, transposed=True), A, V3),
    "solve, positive definite": (lambda m, a, b: m.solve(a, b, assume_a="pos"), S, V3),
    "solve, symmetric": (lambda m, a, b: m.solve(a, b, assume_a="sym", lower=True), S, R(3, 2)),
    "solve, triangular": (lambda m, a, b: m.solve(a, b, assume_a="upper triangular"), A, V3),
    "solve, tridiagonal": (lambda m, a, b: m.solve(a, b, assume_a="tridiagonal"), A, V3),
    "inv": (lambda m, a: m.inv(a, assume_a="pos"), S),
    "cholesky": (lambda m, a: m.cholesky(a), S),
    "cho_solve": (lambda m, a, b: m.cho_solve(m.cho_factor(a), b), S, V3),
    "lu_solve": (lambda m, a, b: m.lu_solve(m.lu_factor(a), b), A, V3),
    "lu_solve, transposed": (lambda m, a, b: m.lu_solve(m.lu_factor(a), b, trans=1), A, R(3, 2)),
    "lstsq": (lambda m, a, b: m.lstsq(a, b), TALL, V5),
    "pinv": (lambda m, a: m.pinv(a), TALL),
    "pinvh": (lambda m, a: m.pinvh(a), S),
    "polar": (lambda m, a: m.polar(a, side="left"), A),
    "eigh, generalised": (lambda m, a, b: m.eigh(a, b), S, B),
    "eigh, second kind": (lambda m, a, b: m.eigh(a, b, type=2), S, B),
    "eigh, third kind": (lambda m, a, b: m.eigh(a, b, type=3), S, B),
    "eigh, some": (lambda m, a, b: m.eigh(a, b, subset_by_index=[0, 1]), S, B),
    "eigvalsh, by value": (lambda m, a, b: m.eigvalsh(a, b, subset_by_value=[0, 3.0]), S, B),
    "eigvals, generalised": (lambda m, a, b: m.eigvals(a, b), SQUARE, B),
    "eigh_tridiagonal": (lambda m, d, e: m.eigh_tridiagonal(d, e, select="i", select_range=(1, 2)), V5, V4),
    "eigvalsh_tridiagonal": (lambda m, d, e: m.eigvalsh_tridiagonal(d, e), V5, V4),
    "eig_banded": (lambda m, a: m.eig_banded(a), HALF),
    "eigvals_banded": (lambda m, a: m.eigvals_banded(a, lower=True), HALF[::-1]),
    "schur": (lambda m, a: m.schur(a), DISTINCT),
    "solve_banded": (lambda m, a, b: m.solve_banded((1, 1), a, b), BANDS, V5),
    "solveh_banded": (lambda m, a, b: m.solveh_banded(a, b), HALF, V5),
    "solveh_banded, lower": (lambda m, a, b: m.solveh_banded(a, b, lower=True), HALF[::-1], R(5, 2)),
    "cholesky_banded": (lambda m, a: m.cholesky_banded(a), HALF),
    "cholesky_banded, lower": (lambda m, a: m.cholesky_banded(a, lower=True), HALF[::-1]),
    "cho_solve_banded": (lambda m, a, b: m.cho_solve_banded((a, False), b), HALF, V5),
    "cho_solve_banded, lower": (lambda m, a, b: m.cho_solve_banded((a, True), b), HALF[::-1], V5),
    "solve_toeplitz": (lambda m, c, r, b: m.solve_toeplitz((c, r), b), [4.0, 1, 2], [4.0, 2, 0.2], V3),
    "matmul_toeplitz": (lambda m, c, x: m.matmul_toeplitz(c, x), V5, R(5)),
    "solve_circulant": (lambda m, c, b: m.solve_circulant(c, b), V5, R(5)),
    "block_diag": (lambda m, a, b: m.block_diag(a, b), A, R(2, 2)),
    "companion": (lambda m, a: m.companion(a), V5),
    "convolution_matrix": (lambda m, a: m.convolution_matrix(a, 4, mode="same"), V3),
    "diagsvd": (lambda m, s: m.diagsvd(s, 3, 4), V3),
    "fiedler": (lambda m, a: m.fiedler(a), V5),
    "fiedler_companion": (lambda m, a: m.fiedler_companion(a), V5),
    "leslie": (lambda m, f, s: m.leslie(f, s), V5, V4),
    "khatri_rao": (lambda m, a, b: m.khatri_rao(a, b), A, R(2, 3)),
    "logm": (lambda m, a: m.logm(a), A),
    "fractional_matrix_power": (lambda m, a: m.fractional_matrix_power(a, 0.3), S),
    "sqrtm": (lambda m, a: m.sqrtm(a), S),
    "cosm": (lambda m, a: m.cosm(a), A * 0.3),
    "sinm": (lambda m, a: m.sinm(a), A * 0.3),
    "tanm": (lambda m, a: m.tanm(a), A * 0.3),
    "coshm": (lambda m, a: m.coshm(a), A * 0.3),
    "sinhm": (lambda m, a: m.sinhm(a), A * 0.3),
    "tanhm": (lambda m, a: m.tanhm(a), A * 0.3),
    "signm": (lambda m, a: m.signm(a), A - 3 * np.eye(3)),
    "funm": (lambda m, a: m.funm(a, np.sin), A),
    "expm_frechet": (lambda m, a, e: m.expm_frechet(a, e), A * 0.3, SQUARE),
    "solve_continuous_are": (lambda m, a, b, q, r: m.solve_continuous_are(a, b, q + q.T, r), C2, C1, C2 + 1, [[2.0]]),
    "solve_discrete_are": (lambda m, a, b, q, r: m.solve_discrete_are(a, b, q + q.T, r), C2, C1, C2 + 1, [[2.0]]),
    "solve_discrete_are, all six": (
        lambda m, a, b, q, e, s: m.solve_discrete_are(a, b, q + q.T, [[2.0]], e, s, balanced=False),
        C2, C1, C2 + 1, np.eye(2) + 0.1 * C2, C1 * 0.1,
    ),
    "solve_discrete_lyapunov": (lambda m, a, q: m.solve_discrete_lyapunov(a, q), A * 0.2, SQUARE),
    "solve_discrete_lyapunov, bilinear": (
        lambda m, a, q: m.solve_discrete_lyapunov(a, q + q.T, method="bilinear"), A * 0.2, SQUARE,
    ),
    "solve_continuous_lyapunov": (lambda m, a, q: m.solve_continuous_lyapunov(a, q), A, SQUARE),
    "matrix_balance": (lambda m, a: m.matrix_balance(a), np.array([[1, 2000, 0.03], [1e-4, 4, 5], [0.2, 0.1, 8]])),
    "orthogonal_procrustes": (lambda m, a, b: m.orthogonal_procrustes(a, b), R(4, 3), R(4, 3)),
    "subspace_angles": (lambda m, a, b: m.subspace_angles(a, b), R(5, 2), R(5, 2)),
    "orth": (lambda m, a: (lambda q: q @ q.T)(m.orth(a)), R(4, 2)),
    "null_space": (lambda m, a: (lambda q: q @ q.T)(m.null_space(a)), R(2, 4)),
    "clarkson_woodruff_transform": (lambda m, a: m.clarkson_woodruff_transform(a, 3, rng=5), TALL),
}  # fmt: skip


def leaf(value):
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


def parts(out):
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("name", CALLS)
def test_values_are_scipys_and_derivatives_agree_with_differences(name):
    call, *values = CALLS[name]
    inputs = [leaf(value) for value in values]
    expected = parts(call(scipy.linalg, *(np.array(value) for value in values)))
    found = parts(call(ours, *inputs))
    assert len(found) == len(expected)
    for each, plain in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(each.detach() if isinstance(each, pb.Tensor) else each), plain, atol=1e-9)

    def real(*args):
        out = parts(call(ours, *args))
        return tuple(x for x in out if isinstance(x, pb.Tensor) and x.dtype.kind in "fc")

    assert gradcheck(real, inputs, check_forward_ad=True, fast_mode=True)


@pytest.mark.parametrize("name", ["lu", "solve, positive definite", "eigh, some", "solveh_banded", "logm",
                                  "solve_discrete_are", "qr with pivots"])  # fmt: skip
def test_second_derivatives(name):
    call, *values = CALLS[name]
    real = lambda *args: tuple(x for x in parts(call(ours, *args)) if x.dtype.kind == "f")
    assert gradgradcheck(real, [leaf(value) for value in values], fast_mode=True)


def test_cholesky_is_upper_and_lu_has_three_results_by_default():
    assert np.allclose(np.tril(ours.cholesky(leaf(S)).detach(), -1), 0)
    assert len(ours.lu(leaf(S))) == 3


def test_a_derivative_of_the_logarithm():
    a = leaf([[2.0, 1.0], [1.0, 3.0]])
    ours.logm(a)[0, 0].backward()
    assert a.grad[0, 0].item() == pytest.approx(0.572163577, rel=1e-8)


def test_derivatives_of_some_eigenvalues_are_those_of_all():
    by_all = pb.func.jacrev(lambda a: ours.eigvalsh(a, B))(pb.tensor(S))
    by_some = pb.func.jacrev(lambda a: ours.eigvalsh(a, B, subset_by_index=[0, 1]))(pb.tensor(S))
    np.testing.assert_allclose(by_some, by_all[:2], atol=1e-12)


def test_gradients_of_banded_matrices_are_banded_for_very_many_unknowns():
    size = 100_000
    bands = leaf(np.vstack([np.full(size, -1.0), np.full(size, 2.5)]))
    ours.solveh_banded(bands, np.ones(size)).sum().backward()
    assert bands.grad.shape == (2, size)
    assert bands.grad[1, size // 2].item() == pytest.approx(-4.0, rel=1e-9)  # x is 2, and so is what multiplies it


def test_powers_by_the_exponent():
    t = leaf(0.3)
    ours.fractional_matrix_power(pb.tensor(S), t).sum().backward()
    expected = (scipy.linalg.logm(S) @ scipy.linalg.fractional_matrix_power(S, 0.3)).sum()
    assert t.grad.item() == pytest.approx(expected, rel=1e-8)


def test_eigenvectors_of_a_general_matrix_in_a_loss_without_phase():
    def loss(a):
        w, left, right = ours.eig(a, left=True)
        return (pb.abs(right) ** 2 * w.real).sum() + (pb.abs(left) ** 3).sum()

    assert gradcheck(loss, [leaf(SQUARE)], check_forward_ad=True)


def test_what_has_no_derivative_is_refused():
    turning = leaf([[0.0, 1.0], [-1.0, 0.5]])
    with pytest.raises(pb.AutogradError) as raised:
        ours.schur(turning)
    assert raised.value.code == "SCIPY_NO_RULE"
    with pytest.raises(pb.AutogradError) as raised:
        ours.null_space(leaf(R(2, 4)))[0, 0].backward()
    assert raised.value.code == "LINALG_PHASE"
    for name in ("cossin", "expm_cond"):
        with pytest.raises(pb.AutogradError) as raised:
            getattr(ours, name)(leaf(S))
        assert raised.value.code == "SCIPY_NO_RULE"


@pytest.mark.parametrize("name", ["lu", "solve, symmetric", "eigvalsh, by value", "solve_toeplitz", "cosm", "logm"])
def test_examples_of_vmap_agree_with_a_loop(name):
    call, *values = CALLS["eigvals, generalised" if name == "eigvalsh, by value" else name]
    if name == "eigvalsh, by value":
        call, values = lambda m, a, b: m.eigvalsh(a, b), [S, B]
    many = [pb.tensor(np.stack([np.array(v, dtype=float), np.array(v) * 1.1])) for v in values]
    found = parts(pb.vmap(lambda *args: call(ours, *args))(*many))
    for k in range(2):
        alone = parts(call(ours, *(x[k] for x in many)))
        for one, both in zip(alone, found, strict=True):
            np.testing.assert_allclose(both[k], one, atol=1e-9)


def test_compiled_as_eager():
    def loss(a, b):
        _, lower, upper = ours.lu(a)
        return (lower * upper).sum() + ours.solve(a, b, assume_a="pos").sum() + ours.eigvalsh(a, b=B).sum()

    compiled = pb.compile(pb.func.grad(loss))
    np.testing.assert_allclose(compiled(pb.tensor(S), pb.tensor(V3)), pb.func.grad(loss)(pb.tensor(S), pb.tensor(V3)))


def test_a_riccati_equation_of_numbers():
    a = pb.tensor(4.0, requires_grad=True)
    x = pb.scipy.linalg.solve_continuous_are(a, 2.0, 2.0, 1.0)
    assert x.shape == (1, 1)
    ends = [scipy.linalg.solve_continuous_are(4 + h, 2, 2, 1).item() for h in (1e-5, -1e-5)]
    assert pb.autograd.grad(x.sum(), a)[0].item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
