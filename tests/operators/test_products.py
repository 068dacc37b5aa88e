"""Products with a summand, chains of products, and distances."""

import numpy as np
import pytest
import scipy.spatial.distance

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

RANDOM = np.random.default_rng(8)
A, B = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 2))
POINTS, OTHERS = RANDOM.normal(size=(4, 3)), RANDOM.normal(size=(2, 3))


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def test_products_with_a_summand():
    x = np.ones((3, 2))
    assert_close(pb.addmm(x, A, B, beta=2, alpha=0.5), 2 * x + 0.5 * A @ B)
    assert_close(pb.addmm(x * np.inf, A, B, beta=0), A @ B)
    assert_close(pb.addmv(np.ones(3), A, B[:, 0]), 1 + A @ B[:, 0])
    assert_close(pb.addr(x, A[:, 0], B[0]), x + np.outer(A[:, 0], B[0]))
    left, right = np.stack([A, A]), np.stack([B, 2 * B])
    assert_close(pb.baddbmm(x, left, right), x + left @ right)
    assert_close(pb.addbmm(x, left, right), x + (left @ right).sum(0))
    assert gradcheck(lambda x, a, b: pb.addmm(x, a, b, alpha=2.0), (leaf(x), leaf(A), leaf(B)))
    with pytest.raises(ValueError, match="axes"):
        pb.addmm(x, A, B[:, 0])


def test_layers():
    weight, bias = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=5)
    assert_close(pb.linear(A, weight, bias), A @ weight.T + bias)
    weight = RANDOM.normal(size=(2, 4, 3))
    second = RANDOM.normal(size=(3, 3))
    assert_close(pb.bilinear(A, second, weight), np.einsum("ni,kij,nj->nk", A, weight, second))


def test_a_chain_of_products_in_any_order():
    chain = [RANDOM.normal(size=shape) for shape in ((2, 30), (30, 3), (3, 40), (40, 1))]
    assert_close(pb.chain_matmul(*chain), np.linalg.multi_dot(chain))
    assert_close(pb.chain_matmul(A), A)
    with pytest.raises(ValueError, match="no matrices"):
        pb.chain_matmul()


@pytest.mark.parametrize("p, name", [(1, "cityblock"), (2, "euclidean"), (np.inf, "chebyshev"), (3, "minkowski")])
def test_distances_equal_scipy(p, name):
    options = {"p": 3} if name == "minkowski" else {}
    assert_close(pb.cdist(POINTS, OTHERS, p), scipy.spatial.distance.cdist(POINTS, OTHERS, name, **options))
    assert_close(pb.pdist(POINTS, p), scipy.spatial.distance.pdist(POINTS, name, **options))
    assert gradcheck(lambda x, y: pb.cdist(x, y, p), (leaf(POINTS[:2]), leaf(OTHERS)))


def test_the_number_of_different_coordinates_is_the_distance_for_p_zero():
    assert_close(pb.cdist([[0.0, 1.0]], [[0.0, 2.0]], 0), [[1.0]])


@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_coincident_points_have_gradient_zero(p):
    x = leaf(POINTS[:1])
    pb.cdist(x, POINTS[:1], p).sum().backward()
    assert_close(x.grad, np.zeros((1, 3)))
    x = leaf([1.0, 2.0])
    pb.dist(x, [1.0, 2.0], p).backward()
    assert_close(x.grad, [0.0, 0.0])


def test_paired_distances_and_cosines():
    x, y = POINTS[:2], OTHERS
    assert_close(pb.pairwise_distance(x, y), np.linalg.norm(x - y + 1e-6, axis=1))
    assert pb.pairwise_distance(x, y, keepdim=True).shape == (2, 1)
    cosines = (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    assert_close(pb.cosine_similarity(x, y), cosines)
    assert_close(pb.dist(x, y), np.linalg.norm(x - y))
    assert gradgradcheck(pb.cosine_similarity, (leaf(x), leaf(y)))
    zero = leaf(np.zeros((1, 3)))
    pb.cosine_similarity(zero, np.ones((1, 3))).sum().backward()
    assert_close(zero.grad, np.full((1, 3), 1e8 / np.sqrt(3)))


def test_a_cosine_is_that_of_the_vectors_after_broadcasting():
    x, y = np.arange(1.0, 7).reshape(1, 2, 3), np.arange(2.0, 8).reshape(2, 1, 3)
    wide = [np.broadcast_to(each, (2, 2, 3)) for each in (x, y)]
    expected = np.sum(wide[0] * wide[1], 1) / (np.linalg.norm(wide[0], axis=1) * np.linalg.norm(wide[1], axis=1))
    assert_close(pb.cosine_similarity(x, y, -2), expected)
    assert pb.nn.cosine_similarity is pb.cosine_similarity


def test_functions_of_families_that_are_loaded_when_needed():
    assert_close(pb.norm(A), np.linalg.norm(A))
    assert_close(pb.norm(A, 1, axis=0), np.linalg.norm(A, 1, axis=0))
    assert_close(pb.tensor(A).norm(dim=1), np.linalg.norm(A, axis=1))
    assert_close(pb.i0([0.0, 1.5]), np.i0([0.0, 1.5]))
    x = leaf([3.0, 4.0])
    pb.norm(x).backward()
    assert_close(x.grad, [0.6, 0.8])
