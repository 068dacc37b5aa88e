"""Reflections, packed factors, decompositions of low rank, banded systems."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

RANDOM = np.random.default_rng(11)
DTYPES = [np.float64, np.complex128]


def matrix(*shape, dtype=np.float64):
    values = RANDOM.normal(size=shape)
    return (values + 1j * RANDOM.normal(size=shape)) if dtype == np.complex128 else values


def leaf(array):
    return pb.tensor(array, requires_grad=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (3, 3), (2, 4, 2), (3, 0), (2, 0, 0)])
def test_reflections_make_the_q_of_qr(shape, dtype):
    a = matrix(*shape, dtype=dtype)
    packed, tau = pb.geqrf(a)
    assert not packed.requires_grad
    assert_close(pb.linalg.householder_product(packed, tau), pb.linalg.qr(a)[0])
    whole = pb.linalg.qr(a, mode="complete")[0]
    other = matrix(*shape[:-1], 2, dtype=dtype)
    assert_close(pb.ormqr(packed, tau, other), whole @ other)
    assert_close(pb.ormqr(packed, tau, other, transpose=True), whole.mH @ other)
    assert_close(pb.ormqr(packed, tau, np.swapaxes(other, -1, -2), left=False), np.swapaxes(other, -1, -2) @ whole)


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivatives_of_products_of_reflections(dtype):
    packed, tau = (leaf(x.numpy()) for x in pb.geqrf(matrix(4, 3, dtype=dtype)))
    other = leaf(matrix(4, 2, dtype=dtype))
    assert gradcheck(pb.linalg.householder_product, (packed, tau), check_forward_ad=True)
    for transpose in (False, True):
        assert gradcheck(lambda a, t, o, tr=transpose: pb.ormqr(a, t, o, True, tr), (packed, tau, other))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (3, 3), (2, 4, 2), (0, 2)])
def test_packed_factors_of_any_shape(shape, dtype):
    a = leaf(matrix(*shape, dtype=dtype))
    factors = pb.linalg.lu_factor(a)
    p, lower, upper = pb.lu_unpack(*factors)
    assert_close(p @ lower @ upper, a)
    for ours, theirs in zip((p, lower, upper), pb.linalg.lu(a, pivot=True), strict=True):
        assert_close(ours, theirs)
    assert pb.lu_unpack(*factors, unpack_data=False).L is None
    if 0 not in shape:
        assert gradcheck(lambda a: pb.linalg.lu_factor(a)[0], (a,), check_forward_ad=True)


def test_the_first_pivot_that_is_zero_is_told():
    a = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.zeros((3, 3))])
    assert pb.linalg.lu_factor_ex(a).info.tolist() == [0, 2, 1]
    with pytest.raises(np.linalg.LinAlgError):
        pb.linalg.lu_factor_ex(a, check_errors=True)
    with pytest.raises(ValueError, match="pivot"):
        pb.linalg.lu_factor(a, pivot=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_solutions_from_packed_factors(dtype, left, adjoint):
    a, b = leaf(matrix(2, 3, 3, dtype=dtype)), leaf(matrix(2, 3, 2, dtype=dtype))
    b = leaf(np.swapaxes(b.detach().numpy(), -1, -2)) if not left else b

    def solved(a, b):
        return pb.linalg.lu_solve(*pb.linalg.lu_factor(a), b, left=left, adjoint=adjoint)

    x, turned = solved(a, b), a.mH if adjoint else a
    assert_close(turned @ x if left else x @ turned, b)
    assert gradcheck(solved, (a, b))


def test_matrices_of_low_rank_are_found_exactly():
    low = matrix(8, 3) @ matrix(3, 5)
    for a in (low, low.T):
        u, s, v = pb.svd_lowrank(pb.tensor(a), 4)
        assert_close((u * s) @ v.mH, a)
        u, s, v = pb.pca_lowrank(pb.tensor(a), 4)
        assert_close((u * s) @ v.mH, a - a.mean(0))
        assert_close(pb.svd_lowrank(pb.tensor(a), 3, M=pb.tensor(a / 2))[1], pb.linalg.svdvals(a)[:3] / 2)
    x = leaf(matrix(5, 2))
    assert gradcheck(lambda x: pb.svd_lowrank(x @ x.mT, 2)[1], (x,))


@pytest.mark.parametrize("largest", [True, False])
def test_some_eigenvalues(largest):
    a, b = matrix(5, 5), matrix(5, 5)
    a, b = a + a.T, b @ b.T + np.eye(5)
    values, vectors = pb.lobpcg(a, 2, largest=largest)
    assert_close(pb.tensor(a) @ vectors, vectors * values)
    values, vectors = pb.lobpcg(a, 3, b, largest=largest)
    assert_close(pb.tensor(a) @ vectors, pb.tensor(b) @ vectors * values)
    expected = scipy.linalg.eigh(a, b)[0]
    assert_close(values, expected[::-1][:3] if largest else expected[:3])
    symmetric = lambda x: pb.lobpcg(x + x.mT, 2, largest=largest)[0]
    assert gradcheck(symmetric, (leaf(a),), check_forward_ad=True)


@pytest.mark.parametrize("below, above", [(1, 1), (2, 0), (0, 3), (3, 2), (0, 0)])
def test_banded_systems(below, above):
    bands, b = matrix(below + above + 1, 6), matrix(6)
    bands[above] += 6
    solve = lambda ab, b: pb.linalg.solve_banded((below, above), ab, b)
    assert_close(solve(bands, b), scipy.linalg.solve_banded((below, above), bands, b))
    assert gradcheck(solve, (leaf(bands), leaf(b)), check_forward_ad=True)
    assert pb.autograd.gradgradcheck(solve, (leaf(bands), leaf(matrix(6, 2))))
    with pytest.raises(ValueError, match="diagonals"):
        solve(bands[:-1], b)


def test_batches_of_banded_systems_do_not_see_each_other():
    bands, b = matrix(3, 4, 5), matrix(3, 5)
    bands[:, 2] += 6
    solve = lambda ab, b: pb.linalg.solve_banded((1, 2), ab, b)
    each = [scipy.linalg.solve_banded((1, 2), ab, right) for ab, right in zip(bands, b, strict=True)]
    assert_close(pb.func.vmap(solve)(pb.tensor(bands), pb.tensor(b)), np.stack(each))
