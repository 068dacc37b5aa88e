"""Factorizations and spectra: what is unique of them has derivatives, and what is not says so."""

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.declare.derive import pull, push
from pullback.operators.linalg.spectra import general_eigen, hermitian_eigen, singular_system
from pullback.testing import assert_close

LinAlgError = np.linalg.LinAlgError
DTYPES = pytest.mark.parametrize("dtype", [float, complex])


def random_matrix(*shape, dtype=float, seed=3):
    """Matrices with singular values and eigenvalues well apart."""
    random = np.random.default_rng(seed)
    values = random.uniform(-0.3, 0.3, shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * random.uniform(-0.3, 0.3, shape)
    return values + np.eye(shape[-2], shape[-1]) * (1 + 1.5 * np.arange(shape[-1]))


def adjoint(x):
    return x.swapaxes(-1, -2).conj()


def hermitian(x):
    return (x + adjoint(x)) / 2


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def check_twice(function, *arguments):
    assert gradcheck(function, arguments, fast_mode=True)
    assert gradgradcheck(function, arguments, fast_mode=True)


# cholesky


@DTYPES
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_reads_one_triangle_and_the_other_gets_no_gradient(upper, dtype):
    a = hermitian(random_matrix(2, 3, 3, dtype=dtype))
    one_triangle = np.triu(a) if upper else np.tril(a)
    assert_close(pb.linalg.cholesky(one_triangle, upper=upper), np.linalg.cholesky(a, upper=upper))
    x = leaf(a)
    out = pb.linalg.cholesky(x, upper=upper)
    out.backward(pb.tensor(random_matrix(2, 3, 3, dtype=dtype, seed=8)))
    assert not (np.tril(x.grad.numpy(), -1) if upper else np.triu(x.grad.numpy(), 1)).any()
    check_twice(lambda x: pb.linalg.cholesky(hermitian(x), upper=upper), leaf(a))
    check_twice(lambda x: pb.linalg.cholesky(x, upper=upper), leaf(a))


def test_a_matrix_that_is_not_positive_definite_raises_or_is_reported():
    matrices = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])
    with pytest.raises(LinAlgError):
        pb.linalg.cholesky(matrices)
    x = leaf(matrices)
    factor, info = pb.linalg.cholesky_ex(x)
    assert info.tolist() == [0, 2]
    assert_close(factor[0], np.eye(3))
    assert np.isnan(factor[1].detach().numpy()).all()
    factor[0].sum().backward()
    assert np.isfinite(x.grad[0].numpy()).all()


@DTYPES
def test_solving_and_inverting_with_a_cholesky_factor(dtype):
    a = hermitian(random_matrix(3, 3, dtype=dtype))
    b = random_matrix(3, 2, dtype=dtype, seed=4)
    lower = np.linalg.cholesky(a)
    expected = np.linalg.solve(a, b)
    assert_close(pb.linalg.cholesky_solve(b, lower), expected)
    assert_close(pb.linalg.cholesky_solve(b[:, 0], adjoint(lower), upper=True), expected[:, 0])
    assert_close(pb.linalg.cholesky_inverse(lower), np.linalg.inv(a))
    for is_lower in (False, True):
        assert_close(pb.linalg.cho_solve(pb.linalg.cho_factor(a, lower=is_lower), b), expected)
    assert gradcheck(lambda a, b: pb.linalg.cho_solve(pb.linalg.cho_factor(hermitian(a)), b), (leaf(a), leaf(b)))


# qr


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr_has_the_values_of_numpy_in_every_mode(shape, mode, dtype):
    a = random_matrix(*shape, dtype=dtype)
    got, expected = pb.linalg.qr(a, mode=mode), np.linalg.qr(a, mode=mode)
    assert_close(got if mode == "r" else tuple(got), expected if mode == "r" else tuple(expected))


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_qr_has_derivatives_of_two_orders(shape, dtype):
    check_twice(lambda x: tuple(pb.linalg.qr(x)), leaf(random_matrix(*shape, dtype=dtype)))


def test_the_columns_that_complete_q_have_no_derivative():
    x = leaf(random_matrix(4, 2))
    q, r = pb.linalg.qr(x, mode="complete")
    (r.sum() + q[:, :2].sum()).backward(retain_graph=True)
    reduced = leaf(x.detach().numpy())
    sum(part.sum() for part in pb.linalg.qr(reduced)).backward()
    assert_close(x.grad, reduced.grad)
    with pytest.raises(pb.AutogradError) as error:
        (q * q).sum(axis=0)[3].backward()
    assert error.value.code == "LINALG_EXTRA_COLUMNS"


def test_qr_rejects_unknown_modes():
    with pytest.raises(ValueError, match="mode"):
        pb.linalg.qr(np.eye(2), mode="raw")


# lu


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_lu_has_the_values_of_scipy_and_derivatives_of_two_orders(shape, dtype):
    a = random_matrix(*shape, dtype=dtype)[..., ::-1, :].copy()
    assert_close(tuple(pb.linalg.lu(a)), scipy.linalg.lu(a))
    check_twice(lambda x: tuple(pb.linalg.lu(x)[1:]), leaf(a))


def test_lu_solve_solves_with_what_lu_factor_returned():
    a, b = random_matrix(2, 3, 3)[:, ::-1].copy(), random_matrix(3, 2, seed=4)
    for got, expected in zip(pb.linalg.lu_factor(a[0]), scipy.linalg.lu_factor(a[0])):
        assert_close(got, expected)
    assert_close(pb.linalg.lu_solve(pb.linalg.lu_factor(a), b), np.linalg.solve(a, b))
    assert_close(pb.linalg.lu_solve(pb.linalg.lu_factor(a), b[:, 0]), np.linalg.solve(a, b[:, 0]))
    assert gradcheck(lambda a, b: pb.linalg.lu_solve(pb.linalg.lu_factor(a), b), (leaf(a), leaf(b)))


# Results are named tuples, as the array API standard asks


def test_results_have_the_names_of_the_standard():
    a = random_matrix(3, 3)
    assert pb.linalg.eigh(a)._fields == ("eigenvalues", "eigenvectors")
    assert pb.linalg.eig(a)._fields == ("eigenvalues", "eigenvectors")
    assert pb.linalg.qr(a)._fields == ("Q", "R")
    assert pb.linalg.svd(a)._fields == ("U", "S", "Vh")
    assert pb.linalg.slogdet(a)._fields == ("sign", "logabsdet")


# eigh


@DTYPES
def test_eigh_has_the_values_of_numpy_and_reads_one_triangle(dtype):
    a = random_matrix(2, 3, 3, dtype=dtype)
    for letter in ("L", "U"):
        w, v = pb.linalg.eigh(a, UPLO=letter)
        assert_close((w, v), tuple(np.linalg.eigh(a, UPLO=letter)))
        assert_close(pb.linalg.eigvalsh(a, UPLO=letter), w)
    with pytest.raises(ValueError, match="UPLO"):
        pb.linalg.eigh(a, UPLO="X")


def projectors(v):
    """What is unique of complex eigenvectors: the projector onto each of them."""
    columns = v.swapaxes(-1, -2)
    return columns[..., :, None] * columns[..., None, :].conj()


@DTYPES
def test_eigenvalues_and_projectors_of_eigh_have_derivatives_of_two_orders(dtype):
    def unique(x):
        w, v = pb.linalg.eigh(hermitian(x))
        return w, projectors(v)

    check_twice(unique, leaf(random_matrix(3, 3, dtype=dtype)))
    check_twice(lambda x: pb.linalg.eigvalsh(hermitian(x)), leaf(random_matrix(2, 3, 3, dtype=dtype)))


@DTYPES
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_the_gradient_of_eigh_is_that_of_the_triangle_it_reads(triangle, dtype):
    a = random_matrix(3, 3, dtype=dtype)
    check_twice(lambda x: pb.linalg.eigvalsh(x, triangle), leaf(a))
    check_twice(lambda x: abs(pb.linalg.eigh(x, triangle).eigenvectors), leaf(a))
    x = leaf(a)
    pb.linalg.eigvalsh(x, triangle).prod().backward()
    unread = np.triu(x.grad.numpy(), 1) if triangle == "L" else np.tril(x.grad.numpy(), -1)
    assert not unread.any()


def test_matrices_that_are_said_to_be_hermitian_are_read_in_the_lower_triangle():
    a = random_matrix(3, 3) + 3 * np.eye(3)
    for name in ("svd", "pinv", "matrix_rank"):
        found, expected = (getattr(lib, name)(a, hermitian=True) for lib in (pb.linalg, np.linalg))
        assert_close(found.S if name == "svd" else found, expected.S if name == "svd" else expected)
    check_twice(lambda x: pb.linalg.pinv(x, hermitian=True), leaf(a))
    check_twice(lambda x: pb.linalg.svd(x, hermitian=True).S, leaf(a))


def test_values_are_differentiable_where_they_are_equal():
    for function in (pb.linalg.eigvalsh, lambda x: pb.linalg.eigh(x).eigenvalues, pb.linalg.svdvals):
        x = leaf(np.eye(3))
        function(x).sum().backward()
        assert_close(x.grad, np.eye(3))


def test_vectors_of_other_eigenvalues_are_differentiable_where_eigenvalues_are_equal():
    a = np.diag([1.0, 1.0, 4.0])
    weight = np.array([[1.0, 2.0, 3.0], [2.0, 5.0, 7.0], [3.0, 7.0, 11.0]])

    def weighted(x, lib):
        v = lib.eigh(x)[1][:, 2:]
        return ((v @ v.swapaxes(-1, -2)) * weight).sum()

    x = leaf(a)
    weighted(x, pb.linalg).backward()
    step = np.zeros((3, 3))
    step[0, 2] = step[2, 0] = 1e-6
    difference = (weighted(a + step, np.linalg) - weighted(a - step, np.linalg)) / 2e-6
    assert_close(np.sum(x.grad.numpy() * step) / 1e-6, difference, rtol=1e-5)


@pytest.mark.parametrize("a", [np.eye(3), np.diag([1.0, 1.0, 4.0]), np.diag([2.0, 5.0, 5.0])])
def test_what_is_made_of_all_vectors_has_no_finite_gradient_where_eigenvalues_are_equal(a):
    """The derivative of `exp` of a matrix is finite, but what arrives here would be the same if it were another."""

    def weighted(w, v, u=None):
        return ((v * pb.exp(w)) @ (v if u is None else u).swapaxes(-1, -2) * np.arange(9.0).reshape(3, 3)).sum()

    def by_eigh(x):
        return weighted(*pb.linalg.eigh(x))

    def by_svd(x):
        u, s, vh = pb.linalg.svd(x)
        return weighted(s, u, vh.swapaxes(-1, -2))

    for function in (by_eigh, by_svd):
        x = leaf(a)
        function(x).backward()
        assert np.isnan(x.grad.numpy()).any()
        _, tangent = pb.func.jvp(function, (leaf(a),), (pb.tensor(np.ones((3, 3))),))
        assert not np.isfinite(tangent.item())


def test_a_loss_that_looks_inside_an_eigenspace_is_not_finite():
    x = leaf(np.eye(2))
    pb.linalg.eigh(x).eigenvectors[0, 1].backward()
    assert not np.isfinite(x.grad.numpy()).all()


def test_forward_and_reverse_rules_of_complex_vectors_are_adjoint_for_every_tangent_and_gradient():
    random = np.random.default_rng(5)
    a = hermitian(random_matrix(3, 3, dtype=complex))
    params = {"triangle": "L", "checked": False}
    outs = hermitian_eigen(a, **params)
    check_adjoint(hermitian_eigen, a, outs, params, random)
    for shape in [(3, 3), (4, 2), (2, 4)]:
        a = random_matrix(*shape, dtype=complex)
        params = {"full": False, "checked": False}
        check_adjoint(singular_system, a, singular_system(a, **params), params, random)
    a = random_matrix(3, 3, dtype=complex)
    check_adjoint(general_eigen, a, general_eigen(a, checked=False), {"checked": False}, random)


def check_adjoint(op, a, outs, params, random):
    def free(like):
        return (random.normal(size=like.shape) + 1j * random.normal(size=like.shape)).astype(like.dtype)

    tangent = free(a)
    gradients = [random.normal(size=out.shape) if out.dtype.kind == "f" else free(out) for out in outs]
    pushed = push(op, (a,), (tangent,), outs, params)
    (pulled,) = pull(op, tuple(gradients), (True,), (a,).__getitem__, None, outs.__getitem__, params)
    forward = sum(np.sum(g.conj() * t).real for g, t in zip(gradients, pushed))
    assert_close(forward, np.sum(pulled.conj() * tangent).real, rtol=1e-9, atol=1e-9)


# eig


def test_eig_is_always_complex():
    w, v = pb.linalg.eig(np.diag([1.0, 2.0]))
    assert w.dtype == v.dtype == np.complex128
    assert pb.linalg.eigvals(np.eye(2, dtype=np.float32)).dtype == np.complex64


@pytest.mark.parametrize(
    "values", [random_matrix(3, 3), random_matrix(2, 3, 3, dtype=complex), [[0.0, -1.0], [2.0, 0.1]]]
)
def test_eigenvalues_and_projectors_of_eig_have_derivatives_of_two_orders(values):
    a = leaf(values)
    w, v = pb.linalg.eig(a)
    assert_close(a.astype(complex) @ v, v * w[..., None, :])

    def unique(x):
        w, v = pb.linalg.eig(x)
        return w, projectors(v)

    check_twice(unique, a)
    check_twice(pb.linalg.eigvals, a)


# svd


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4), (2, 3, 2)])
@pytest.mark.parametrize("full", [False, True])
def test_svd_has_the_values_of_numpy(shape, full, dtype):
    a = random_matrix(*shape, dtype=dtype)
    got, expected = pb.linalg.svd(a, full_matrices=full), np.linalg.svd(a, full_matrices=full)
    assert_close(tuple(got), tuple(expected))
    assert_close(pb.linalg.svdvals(a), expected.S)
    assert_close(pb.linalg.svd(a, compute_uv=False), expected.S)


@DTYPES
@pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])
def test_what_is_unique_of_an_svd_has_derivatives_of_two_orders(shape, dtype):
    def unique(x):
        u, s, vh = pb.linalg.svd(x, full_matrices=False)
        return s, u.swapaxes(-1, -2)[..., :, None] * vh[..., :, None, :], projectors(u)

    check_twice(unique, leaf(random_matrix(*shape, dtype=dtype)))
    check_twice(pb.linalg.svdvals, leaf(random_matrix(*shape, dtype=dtype)))


@pytest.mark.parametrize("shape", [(4, 2), (2, 4)])
def test_the_vectors_that_complete_an_svd_have_no_derivative(shape):
    x = leaf(random_matrix(*shape))
    u, s, vh = pb.linalg.svd(x)
    s.sum().backward(retain_graph=True)
    left, _, right = np.linalg.svd(x.detach().numpy(), full_matrices=False)
    assert_close(x.grad, left @ right)
    with pytest.raises(pb.AutogradError) as error:
        (u[:, 3] if shape == (4, 2) else vh[3]).sum().backward()
    assert error.value.code == "LINALG_EXTRA_COLUMNS"


@DTYPES
def test_the_polar_factors_are_unique_and_differentiable(dtype):
    a = random_matrix(3, 3, dtype=dtype)
    for side in ("left", "right"):
        assert_close(tuple(pb.linalg.polar(a, side)), scipy.linalg.polar(a, side), rtol=1e-9, atol=1e-9)
    check_twice(lambda x: tuple(pb.linalg.polar(x)), leaf(a))
    with pytest.raises(ValueError, match="side"):
        pb.linalg.polar(a, "up")


def test_the_hermitian_square_root_squares_to_the_matrix():
    a = hermitian(random_matrix(3, 3, dtype=complex))
    root = pb.linalg.matrix_sqrth(a)
    assert_close(root @ root, a)
    check_twice(lambda x: pb.linalg.matrix_sqrth(hermitian(x)), leaf(a))


# The phase of complex vectors


@pytest.mark.parametrize("name", ["eigh", "eig", "svd"])
def test_a_loss_that_depends_on_a_phase_raises_unless_the_check_is_off(name):
    a = random_matrix(3, 3, dtype=complex)
    vectors = {"eigh": 1, "eig": 1, "svd": 0}[name]

    def loss():
        x = leaf(hermitian(a) if name == "eigh" else a)
        return getattr(pb.linalg, name)(x)[vectors].imag.sum()

    with pytest.raises(pb.AutogradError) as error:
        loss().backward()
    assert error.value.code == "LINALG_PHASE"
    with pb.linalg.check_gauge(False):
        loss().backward()
    with pytest.raises(pb.AutogradError):
        loss().backward()
    switch = pb.linalg.check_gauge(False)
    loss().backward()
    switch.__exit__(None, None, None)
    with pytest.raises(pb.AutogradError):
        loss().backward()
