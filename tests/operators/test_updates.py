"""Combining values at positions that may repeat, and in-place twins."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
INDEX = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 1]])
SOURCE = np.array([[0.5, -1.0, 2.0], [3.0, 4.0, -2.0], [1.5, 7.0, 0.25]])


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def looped(reduce, include_self):
    """`scatter_reduce` along axis 0, one element at a time."""
    combine = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min}[reduce]
    out = X.copy()
    for row, column in np.ndindex(X.shape):
        members = [SOURCE[k, column] for k in range(3) if INDEX[k, column] == row]
        if members:
            out[row, column] = combine([X[row, column], *members] if include_self else members)
    return out


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce_equals_a_loop_and_is_differentiable(reduce, include_self):
    def function(x, source):
        return pb.scatter_reduce(x, 0, INDEX, source, reduce, include_self=include_self)

    assert_close(function(X, SOURCE), looped(reduce, include_self))
    assert gradcheck(function, (leaf(X), leaf(SOURCE)))
    y = pb.tensor(X)
    assert y.scatter_reduce_(0, INDEX, SOURCE, reduce, include_self=include_self) is y
    assert_close(y, looped(reduce, include_self))


def test_second_derivatives_of_products():
    assert gradgradcheck(lambda x, s: pb.scatter_reduce(x, 0, INDEX, s, "prod"), (leaf(X), leaf(SOURCE)))


def test_equal_extremes_share_the_gradient_with_the_former_element():
    x, s = leaf([5.0, 0.0]), leaf([5.0, 5.0, 1.0])
    pb.scatter_reduce(x, 0, [0, 0, 1], s, "amax")[0].backward()
    assert_close(x.grad, [1 / 3, 0.0])
    assert_close(s.grad, [1 / 3, 1 / 3, 0.0])


def test_a_product_with_one_zero_gives_the_zero_the_product_of_the_rest():
    x, s = leaf([2.0]), leaf([0.0, 3.0])
    pb.scatter_reduce(x, 0, [0, 0], s, "prod").sum().backward()
    assert_close(x.grad, [0.0])
    assert_close(s.grad, [6.0, 0.0])


def test_index_reduce_combines_slices():
    source = np.array([[1.0, 9.0, 0.0], [7.0, 0.0, 1.0]])
    out = pb.index_reduce(X, 0, [1, 1], source, "amax")
    assert_close(out, [[1.0, 2.0, 3.0], [7.0, 9.0, 6.0]])
    assert gradcheck(lambda x, s: pb.index_reduce(x, 0, [1, 1], s, "mean"), (leaf(X), leaf(source)))
    assert pb.index_reduce(pb.tensor([1, 5]), 0, [0, 0], [3, 2], "amin", include_self=False).tolist() == [2, 5]


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no reduction"):
        pb.scatter_reduce(X, 0, INDEX, SOURCE, "median")
    with pytest.raises(IndexError, match="beyond"):
        pb.scatter_reduce(X, 0, [[5, 0, 0]], SOURCE, "sum")
    with pytest.raises(ValueError, match="does not fit"):
        pb.scatter_reduce(X, 0, [[0, 0, 0, 0]], SOURCE, "sum")


def test_functional_updates_count_repeated_places():
    x = pb.tensor([1.0, 2.0, 3.0])
    places = [0, 0, 2]
    assert_close(x.at[places].add([1.0, 2.0, 5.0]), [4.0, 2.0, 8.0])
    assert_close(x.at[places].subtract([1.0, 2.0, 5.0]), [-2.0, 2.0, -2.0])
    assert_close(x.at[places].multiply(2.0), [4.0, 2.0, 6.0])
    assert_close(x.at[places].divide([2.0, 2.0, 3.0]), [0.25, 2.0, 1.0])
    assert_close(x.at[1].power(3.0), [1.0, 8.0, 3.0])
    assert_close(x.at[places].max([0.0, 9.0, 1.0]), [9.0, 2.0, 3.0])
    assert_close(x.at[1:].min(2.5), [1.0, 2.0, 2.5])
    assert_close(x.at[1:].set([7.0, 8.0]), [1.0, 7.0, 8.0])
    assert_close(x.at[x > 1].apply(pb.negative), [1.0, -2.0, -3.0])
    assert_close(x.at[[2, 0]].get(), [3.0, 1.0])
    assert_close(x, [1.0, 2.0, 3.0])


def test_functional_updates_are_differentiable():
    x, v = leaf(X), leaf([2.0, 3.0, 4.0])
    for name in ("set", "add", "multiply", "divide", "power", "min", "max"):
        assert gradcheck(lambda x, v, name=name: getattr(x.at[[0, 1, 0], [2, 1, 0]], name)(v), (x, v))


def test_in_place_twins_write_and_keep_the_gradient():
    x, y = leaf([1.0, 2.0]), leaf([3.0, 5.0])
    out = x * 1
    assert out.lerp_(y, 0.5) is out
    out.addcmul_(y, y, value=2.0)
    out.addcdiv_(x, y)
    assert_close(out, [2 + 18 + 1 / 3, 3.5 + 50 + 0.4])
    out.sum().backward()
    assert_close(x.grad, [0.5 + 1 / 3, 0.5 + 0.2])
    matrix = pb.zeros((2, 2)).addmm_(pb.eye(2), pb.ones((2, 2)))
    assert_close(matrix, np.ones((2, 2)))
    assert_close(pb.tensor([np.nan, 1.0]).nan_to_num_(), [0.0, 1.0])


def test_put_writes_in_row_major_order():
    assert_close(pb.tensor(X).put_([0, -1], [9.0, 8.0]), [[9.0, 2.0, 3.0], [4.0, 5.0, 8.0]])
    assert_close(pb.tensor(X).put_([0, 0], [1.0, 1.0], accumulate=True), [[3.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_means_of_integers_are_rounded_down():
    out = pb.scatter_reduce(pb.tensor([-3, 2, 5]), 0, pb.tensor([0, 0, 1]), pb.tensor([-4, -4, 3]), "mean")
    assert out.tolist() == [-4, 2, 5]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float32"])
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["amax", "amin", "prod"])
def test_every_dtype_has_an_element_that_changes_no_extreme(reduce, include_self, dtype):
    rng = np.random.default_rng(0)
    x, src = (rng.integers(0, 2, shape).astype(dtype) for shape in ((4, 6), (4, 3)))
    index = rng.integers(0, 6, (4, 3))
    wanted = x.copy()
    combine = {"amax": np.maximum, "amin": np.minimum, "prod": np.multiply}[reduce]
    seen = set()
    for row, column in np.ndindex(index.shape):
        place = row, index[row, column]
        is_first = place not in seen and not include_self
        wanted[place] = src[row, column] if is_first else combine(wanted[place], src[row, column])
        seen.add(place)
    out = pb.tensor(x).scatter_reduce(1, pb.tensor(index), pb.tensor(src), reduce, include_self=include_self)
    assert out.dtype == x.dtype and np.array_equal(out.numpy(), wanted)
