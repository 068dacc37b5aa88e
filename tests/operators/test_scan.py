"""Cumulative sums and products, and differences."""

import numpy as np
import pytest

import pullback as pb
from pullback.declare.derive import push
from pullback.declare.op import registry
from pullback.testing import assert_close

INF = np.inf


def leaf(values):
    return pb.tensor(np.array(values), requires_grad=True)


def gradient_of(function, values, weights=None):
    x = leaf(values)
    out = function(x)
    return pb.autograd.grad(out, x, pb.tensor(np.ones(out.shape) if weights is None else np.array(weights)))[0].numpy()


def test_without_an_axis_the_flat_array_is_scanned():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    assert pb.cumsum(x).tolist() == [1.0, 3.0, 6.0, 10.0]
    assert x.cumprod().tolist() == [1.0, 2.0, 6.0, 24.0]
    assert pb.autograd.grad(pb.cumsum(x).sum(), x)[0].tolist() == [[4.0, 3.0], [2.0, 1.0]]


def test_axes_dtypes_and_directions():
    x = pb.tensor(np.array([[1, 2], [3, 4]], np.int8))
    assert x.cumsum(axis=0).dtype == np.int64 and x.cumsum(dim=-1).tolist() == [[1, 3], [3, 7]]
    assert x.cumsum(axis=1, dtype=np.float32).dtype == np.float32
    assert x.cumsum(axis=1, reverse=True).tolist() == [[3, 2], [7, 4]]
    with pytest.raises(TypeError):
        x.cumsum(axis=0, dim=0)


def brute_force(x, g):
    """The gradient of the cumulative product from its definition."""
    terms = [[g[k] * np.prod([x[j] for j in range(k + 1) if j != i]) for k in range(i, len(x))] for i in range(len(x))]
    return [sum(row) for row in terms]


@pytest.mark.parametrize(
    "values", [[2.0, 0.0, 3.0], [0.0, 2.0, 3.0, 4.0], [1.0, 0.0, 2.0, 0.0, 3.0], [0.0, 0.0], [2.0, 3.0, 0.0]]
)
def test_cumulative_products_are_exact_with_zeros(values):
    g = np.arange(1.0, len(values) + 1)
    gradient = gradient_of(lambda x: pb.cumprod(x, axis=0), values, g)
    assert gradient.tolist() == brute_force(values, g)
    x, t = np.array(values), np.arange(2.0, len(values) + 2)
    pushed = push(registry["cumprod"], (x,), (t,), np.cumprod(x), {"axis": 0, "dtype": None, "reverse": False})
    assert_close(np.dot(pushed, g), np.dot(gradient, t))


def test_the_second_derivative_of_a_cumulative_product_with_a_zero():
    x = leaf([2.0, 0.0, 3.0])
    (first,) = pb.autograd.grad(pb.cumprod(x, axis=0)[2], x, create_graph=True)
    (second,) = pb.autograd.grad(first, x, pb.tensor([1.0, 0.0, 0.0]))
    assert second.tolist() == [0.0, 3.0, 0.0]


def test_a_long_recurrence_equals_a_loop():
    random = np.random.default_rng(3)
    a, b = random.uniform(-1, 1, (2, 1000))
    expected = np.zeros(1000)
    for k in range(1000):
        expected[k] = (a[k] * expected[k - 1] if k else 0.0) + b[k]
    assert_close(registry["_recurrence"](a, b, axis=0, reverse=False), expected)
    backwards = registry["_recurrence"](a[::-1].copy(), b[::-1].copy(), axis=0, reverse=True)
    assert_close(backwards[::-1], expected)


def test_log_sums_of_impossible_beginnings():
    out = pb.logcumsumexp(pb.tensor([-INF, 0.0, 0.0]), axis=0)
    assert_close(out, [-INF, 0.0, np.log(2)])
    gradient = gradient_of(lambda x: pb.logcumsumexp(x, axis=0), [-INF, 0.0, 0.0])
    assert gradient.tolist() == [0.0, 1.5, 0.5]
    assert gradient_of(lambda x: pb.logcumsumexp(x, axis=0), [-INF, -INF]).tolist() == [0.0, 0.0]


def test_log_sums_do_not_overflow():
    assert_close(pb.logcumsumexp(pb.tensor([1000.0, 1000.0]), axis=0), [1000.0, 1000.0 + np.log(2)])
    gradient = gradient_of(lambda x: pb.logcumsumexp(x, axis=0), [-1000.0, 1000.0])
    assert gradient.tolist() == [1.0, 1.0]


def test_differences():
    x = leaf([[1.0, 4.0, 9.0], [0.0, 1.0, 3.0]])
    assert pb.diff(x).tolist() == [[3.0, 5.0], [1.0, 2.0]]
    assert pb.diff(x, axis=0).tolist() == [[-1.0, -3.0, -6.0]]
    assert pb.diff(x, n=2).tolist() == [[2.0], [1.0]] and pb.diff(x, n=0).shape == (2, 3)
    assert pb.diff(pb.tensor([True, False, False])).tolist() == [True, False]
    assert_close(gradient_of(lambda t: pb.diff(t, n=2), [1.0, 4.0, 9.0]), [1.0, -2.0, 1.0])
    with pytest.raises(ValueError):
        pb.diff(x, n=-1)


def test_differences_with_ends():
    x, end = leaf([1.0, 4.0]), leaf(9.0)
    out = pb.diff(x, prepend=0.0, append=end)
    assert out.tolist() == [1.0, 3.0, 5.0]
    assert pb.autograd.grad(out[2], end)[0].item() == 1.0
    assert pb.diff(pb.tensor([[1.0], [2.0]]), axis=0, append=[[5.0]]).tolist() == [[1.0], [3.0]]


def test_cumulative_sums_of_the_array_standard():
    x = leaf([1.0, 2.0, 3.0])
    assert pb.cumulative_sum(x, include_initial=True).tolist() == [0.0, 1.0, 3.0, 6.0]
    assert pb.cumulative_prod(x, include_initial=True).tolist() == [1.0, 1.0, 2.0, 6.0]
    assert pb.cumulative_sum(pb.tensor(np.ones((2, 2))), axis=0).tolist() == [[1.0, 1.0], [2.0, 2.0]]
    with pytest.raises(ValueError):
        pb.cumulative_sum(pb.tensor(np.ones((2, 2))))


def test_running_extremes_point_at_the_last_of_equal_elements():
    x = leaf([1.0, 3.0, 3.0, 2.0])
    values, indices = pb.cummax(x, axis=0)
    assert values.tolist() == [1.0, 3.0, 3.0, 3.0] and indices.tolist() == [0, 1, 2, 2]
    assert pb.autograd.grad(values.sum(), x)[0].tolist() == [1.0, 1.0, 2.0, 0.0]
    assert pb.cummin(x, dim=0)[1].tolist() == [0, 0, 0, 0]
    values, indices = pb.cummax(pb.tensor([[1.0, np.nan, 5.0]]))
    assert indices.tolist() == [[0, 1, 1]] and np.isnan(values.numpy()[0, 1:]).all()
