"""Arrays put together of others."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

X, Y, M = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.arange(6.0).reshape(3, 2)


def leaf(x):
    return pb.tensor(x, requires_grad=True)


def test_blocks_lie_along_the_diagonal():
    out = pb.block_diag([[1.0, 2.0], [3.0, 4.0]], [5.0, 6.0], 7.0, np.zeros((1, 0)))
    assert out.tolist() == [
        [1.0, 2.0, 0.0, 0.0, 0.0],
        [3.0, 4.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 5.0, 6.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 7.0],
        [0.0, 0.0, 0.0, 0.0, 0.0],
    ]
    assert pb.block_diag().shape == (1, 0)
    assert pb.block_diag(np.ones(2, int), np.ones((1, 1), complex)).dtype == np.complex128
    with pytest.raises(ValueError, match="3 axes"):
        pb.block_diag(np.ones((1, 1, 1)))


def test_the_gradient_of_a_block_is_its_part():
    m, v, s = leaf(M), leaf(X), leaf(2.0)
    assert gradcheck(lambda *xs: pb.block_diag(*xs) ** 2, (m, v, s))


def test_cartesian_products_count_the_last_vector_fastest():
    out = pb.cartesian_prod([1.0, 2.0], [3.0, 4.0, 5.0])
    assert out.tolist() == [[1.0, 3.0], [1.0, 4.0], [1.0, 5.0], [2.0, 3.0], [2.0, 4.0], [2.0, 5.0]]
    assert pb.cartesian_prod(X).tolist() == X.tolist()
    assert pb.cartesian_prod(X, np.zeros(0)).shape == (0, 2)
    x, y = leaf(X), leaf(Y[:2])
    pb.cartesian_prod(x, y).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0] and y.grad.tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="vectors"):
        pb.cartesian_prod(M)


def test_combinations_keep_the_order_of_the_vector():
    x = leaf(X)
    assert pb.combinations(x).tolist() == [[1.0, 2.0], [1.0, 3.0], [2.0, 3.0]]
    assert x.combinations(3).tolist() == [[1.0, 2.0, 3.0]]
    assert pb.combinations(x, 2, with_replacement=True).shape == (6, 2)
    assert pb.combinations(x, 4).shape == (0, 4) and pb.combinations(x, 0).shape == (1, 0)
    pb.combinations(x)[:, 0].sum().backward()
    assert x.grad.tolist() == [2.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "key",
    [
        (X, Y), (0, X, 1.5), (slice(3), X), (slice(1, 7, 2), slice(0, 1, 5j)), ("-1", M, M), ("0,2", X, Y),
        ("0,2,0", X, Y), ("1,2,0", X, Y), ("0,3,1", X, Y), ("0,3,-2", X, Y), ("1,3,0", M, M), X, (1, 2),
    ],
)  # fmt: skip
def test_r_and_c_join_as_numpys_do(key):
    for name in ("r_", "c_"):
        try:
            expected = getattr(np, name)[key]
        except ValueError:
            continue
        out = getattr(pb, name)[key]
        np.testing.assert_array_equal(out, expected)
        assert out.dtype == expected.dtype


def test_c_makes_columns_of_vectors():
    np.testing.assert_array_equal(pb.c_[X, M, Y], np.c_[X, M, Y])


def test_numbers_do_not_widen_the_dtype():
    assert pb.r_[pb.zeros(2, dtype="float32"), 1.0].dtype == np.float32
    assert pb.r_[pb.zeros(2, dtype="float32"), 1j].dtype == np.complex64


def test_gradients_reach_every_piece():
    x, t = leaf(X), leaf(3.0)
    out = pb.r_[x, t, 2 * x, 0:t:4j]
    assert out.shape == (11,)
    out.sum().backward()
    assert_close(x.grad, [3.0, 3.0, 3.0])
    assert_close(t.grad, 1.0 + 2.0)


def test_directives_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="no matrix type"):
        pb.r_["r", X]
    with pytest.raises(ValueError, match="only the first"):
        pb.r_[X, "0"]
