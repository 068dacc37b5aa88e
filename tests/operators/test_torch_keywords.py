"""Keywords and argument shapes that PyTorch has beside NumPy's, against loops and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

RANDOM = np.random.default_rng(5)


def leaf(*shape):
    return pb.tensor(RANDOM.normal(size=shape), requires_grad=True)


def test_masked_fill_and_masked_scatter_broadcast_the_array_to_the_mask():
    mask = np.array([[True, False, True], [False, True, False]])
    x, value, source = leaf(3), leaf(), leaf(2, 3)
    assert_close(pb.masked_fill(x, mask, value), np.where(mask, value.detach(), x.detach()))
    assert gradcheck(lambda x, v: pb.masked_fill(x, mask, v), (x, value), check_forward_ad=True)
    assert gradcheck(lambda x, s: pb.masked_scatter(x, pb.tensor(mask), s), (x, source), check_forward_ad=True)
    with pytest.raises(ValueError):
        x.detach().masked_fill_(pb.tensor(mask), 0.0)


def test_put_adds_up_repeated_positions():
    x, values = pb.zeros(2, 3), leaf(3)
    pb.put(x, [0, 4, 0], values, accumulate=True)
    assert_close(x.reshape(-1)[[0, 4]], pb.stack([values[0] + values[2], values[1]]))
    x.sum().backward()
    assert values.grad.tolist() == [1, 1, 1]


def test_gather_with_a_sparse_gradient():
    x, index = leaf(5), pb.tensor([1, 1, 4])
    pb.gather(x, 0, index, sparse_grad=True).sum().backward()
    assert isinstance(x.grad, pb.autograd.SparseGrad)
    assert x.grad.to_dense().tolist() == [0, 2, 0, 0, 1]
    y = leaf(2, 3)
    pb.gather(y, 1, pb.tensor([[0, 2], [1, 1]]), sparse_grad=True).sum().backward()
    assert y.grad.tolist() == [[1, 0, 1], [0, 2, 0]]


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted_of_rows(right):
    rows, values = np.sort(RANDOM.integers(0, 9, (2, 3, 7)), -1), RANDOM.integers(0, 9, (2, 3, 4))
    out = pb.searchsorted(rows, values, right=right, out_int32=True)
    side = "right" if right else "left"
    expected = [[np.searchsorted(rows[i, j], values[i, j], side) for j in range(3)] for i in range(2)]
    assert out.dtype == np.int32 and (out.numpy() == expected).all()
    mapped = pb.func.vmap(lambda r, v: pb.searchsorted(r, v, right=right))(pb.tensor(rows), pb.tensor(values))
    assert (mapped.numpy() == expected).all()
    order = RANDOM.permuted(np.broadcast_to(np.arange(7), rows.shape), axis=-1)
    shuffled = np.empty_like(rows)
    np.put_along_axis(shuffled, order, rows, -1)
    assert (pb.searchsorted(shuffled, values, right=right, sorter=order).numpy() == expected).all()


def test_ranks_with_an_absolute_bound():
    a = np.diag([4.0, 1e-3, 1e-9])
    for atol, rtol, expected in [(1e-4, None, 2), (1e-4, 0.1, 1), (0.5, None, 1), (1e-12, 1e-12, 3), (0.0, None, 3)]:
        assert pb.linalg.matrix_rank(a, atol=atol, rtol=rtol).item() == expected
    assert pb.linalg.matrix_rank(np.stack([a, a]), atol=pb.tensor([1e-4, 10.0])).tolist() == [2, 0]


def test_vandermonde_matrices_of_batches():
    x = leaf(2, 3)
    out = pb.linalg.vander(x, N=4)
    assert_close(out, np.stack([np.vander(row, 4, increasing=True) for row in x.detach().numpy()]))
    assert gradcheck(pb.linalg.vander, (x,), check_forward_ad=True)
    assert pb.linalg.vander(pb.ones(0, 3), N=2).shape == (0, 3, 2)


def test_repeat_interleave_of_counts_alone():
    assert pb.repeat_interleave(pb.tensor([2, 0, 3])).tolist() == [0, 0, 2, 2, 2]
    assert pb.repeat_interleave(pb.tensor([[1.0], [2.0]]), pb.tensor([1, 2]), dim=0, output_size=3).shape == (3, 1)
    with pytest.raises(ValueError, match="shape"):
        pb.repeat_interleave(pb.ones(2), 2, output_size=5)


@pytest.mark.parametrize("name", ["var_mean", "std_mean"])
def test_spread_and_mean_are_one_node(name):
    x = leaf(3, 4)
    spread, mean = getattr(pb, name)(x, axis=1, correction=1)
    assert spread.grad_fn is mean.grad_fn and (spread.output_nr, mean.output_nr) == (0, 1)
    plain = getattr(pb, name.removesuffix("_mean"))
    assert_close(spread, plain(x, axis=1, unbiased=True))
    assert_close(mean, x.mean(axis=1))
    assert gradcheck(lambda x: getattr(pb, name)(x, dim=0, unbiased=True, keepdim=True), (x,), check_forward_ad=True)


def test_complex_logarithms_of_sums():
    z, w = (pb.tensor(RANDOM.normal(size=(3, 4)) + 3j * RANDOM.normal(size=(3, 4)), requires_grad=True) for _ in "zw")
    assert_close(pb.exp(pb.logaddexp(z, w)), pb.exp(z) + pb.exp(w))
    assert_close(pb.exp(pb.logcumsumexp(z, 1)), pb.cumsum(pb.exp(z), 1))
    assert gradcheck(pb.logaddexp, (z, w), check_forward_ad=True)
    assert gradcheck(lambda z: pb.logcumsumexp(z, 1), (z,), check_forward_ad=True)
    large = pb.logaddexp(pb.tensor(1000 + 1j), pb.tensor(1000 + 1j))
    assert_close(large, 1000 + 1j + np.log(2))
    assert pb.logaddexp(pb.tensor(-np.inf + 0j), pb.tensor(1 + 1j)).item() == 1 + 1j


def test_spacings_of_a_gradient_as_a_keyword():
    f = leaf(4, 5)
    squares = np.arange(4.0) ** 2
    for given, keyword in [((2.0,), 2.0), ((2.0, 3.0), [2.0, 3.0]), ((squares, 0.5), [squares, 0.5])]:
        for ours, theirs in zip(pb.gradient(f, spacing=keyword), pb.gradient(f, *given), strict=True):
            assert_close(ours, theirs)
    with pytest.raises(TypeError, match="spacing"):
        pb.gradient(f, 1.0, spacing=2.0)
