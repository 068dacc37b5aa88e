"""Sorting, order statistics, largest elements, distinct values."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

RANDOM = np.random.default_rng(7)


def leaf(values):
    return pb.tensor(values, requires_grad=True)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("descending", [False, True])
def test_sorted_values_carry_their_gradient_back(axis, descending):
    x = leaf(RANDOM.permutation(np.arange(12.0)).reshape(3, 4))
    out = pb.sort(x, axis, descending=descending)
    expected = np.sort(x.detach().numpy(), axis=axis)
    expected = np.flip(expected, -1 if axis is None else axis) if descending else expected
    np.testing.assert_array_equal(out.detach().numpy(), expected)
    weight = RANDOM.uniform(-1, 1, expected.shape)
    (gradient,) = pb.autograd.grad((out * weight).sum(), x)
    sums = np.zeros(12)
    sums[expected.astype(int).ravel()] = weight.ravel()
    assert_close(gradient, sums[x.detach().numpy().astype(int)])


def test_equal_elements_keep_their_order_in_both_directions():
    x = pb.tensor([1.0, 0.0, 1.0, 0.0])
    assert pb.argsort(x).tolist() == [1, 3, 0, 2]
    assert pb.argsort(x, descending=True).tolist() == [0, 2, 1, 3]
    assert pb.argsort(pb.tensor([[1, 0], [0, 1]]), axis=None).tolist() == [1, 2, 0, 3]


def test_nan_counts_as_the_largest():
    x = pb.tensor([np.nan, 2.0, 1.0])
    assert pb.argsort(x).tolist() == [2, 1, 0]
    assert pb.argsort(x, descending=True).tolist() == [0, 1, 2]
    assert pb.topk(x, 1).indices.tolist() == [0]


def test_sort_with_indices_gives_both():
    values, indices = pb.sort_with_indices(leaf([[3.0, 1.0, 2.0]]), dim=1)
    assert values.tolist() == [[1.0, 2.0, 3.0]] and indices.tolist() == [[1, 2, 0]]
    assert values.requires_grad and not indices.requires_grad


def test_topk_gives_ties_to_the_first():
    x = leaf([2.0, 5.0, 5.0, 1.0])
    values, indices = x.topk(2)
    assert values.tolist() == [5.0, 5.0] and indices.tolist() == [1, 2]
    assert x.topk(1).indices.tolist() == [1]
    assert x.topk(2, largest=False).values.tolist() == [1.0, 2.0]
    assert pb.autograd.grad(values[0], x)[0].tolist() == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="no 5"):
        x.topk(5)


def test_kthvalue_counts_from_one():
    x = leaf([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])
    values, indices = x.kthvalue(2)
    assert values.tolist() == [2.0, 8.0] and indices.tolist() == [2, 1]
    assert x.kthvalue(1, dim=0, keepdim=True).values.tolist() == [[3.0, 1.0, 2.0]]
    assert pb.autograd.grad(values.sum(), x)[0].tolist() == [[0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("axis", [None, 0, (0, 2), -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_median_is_numpys(axis, keepdims):
    x = RANDOM.uniform(-1, 1, (3, 2, 4))
    assert_close(pb.median(leaf(x), axis, keepdims), np.median(x, axis=axis, keepdims=keepdims))


def test_the_gradient_of_the_median_goes_to_the_middle():
    assert pb.autograd.grad(pb.median(even := leaf([4.0, 1.0, 3.0, 2.0])), even)[0].tolist() == [0, 0, 0.5, 0.5]
    assert_close(pb.autograd.grad(pb.median(odd := leaf([2.0, 2.0, 2.0])), odd)[0], [1 / 3] * 3)
    (gradient,) = pb.autograd.grad(pb.median(missing := leaf([1.0, np.nan, 2.0])), missing)
    assert gradient.tolist() == [0, 1, 0]
    assert np.isnan(pb.median(missing).item())
    assert pb.median(pb.tensor([1, 2])).item() == 1.5


def test_searchsorted_is_numpys():
    row, wanted = np.array([1.0, 2.0, 2.0, 3.0]), np.array([[2.0, 0.0], [9.0, 3.0]])
    for side in ("left", "right"):
        assert pb.searchsorted(row, wanted, side=side).tolist() == np.searchsorted(row, wanted, side).tolist()
    assert pb.searchsorted(pb.tensor(row), 2.0).item() == 1
    assert pb.searchsorted(row, 2.0, right=True).item() == 3
    order = [3, 2, 1, 0]
    assert pb.searchsorted(row[::-1].copy(), wanted, sorter=order).tolist() == np.searchsorted(row, wanted).tolist()
    with pytest.raises(ValueError, match="rows"):
        pb.searchsorted(pb.ones((2, 2)), 1.0)


def test_distinct_values_send_their_gradient_to_the_first_of_each():
    x = leaf([[2.0, 1.0], [2.0, 3.0]])
    values, indices, inverse, counts = pb.unique_all(x)
    assert values.tolist() == [1, 2, 3] and indices.tolist() == [1, 0, 3]
    assert inverse.tolist() == [[1, 0], [1, 2]] and counts.tolist() == [1, 2, 1]
    (gradient,) = pb.autograd.grad((values * np.array([1.0, 10.0, 100.0])).sum(), x)
    assert gradient.tolist() == [[10.0, 1.0], [0.0, 100.0]]
    assert pb.unique_counts(x).counts.tolist() == [1, 2, 1]
    assert pb.unique_inverse(x).inverse_indices.tolist() == [[1, 0], [1, 2]]
    assert pb.unique_values(x).tolist() == [1, 2, 3]


def test_unique_returns_what_is_asked_for():
    x = pb.tensor([3, 1, 3])
    assert pb.unique(x).tolist() == [1, 3]
    values, counts = pb.unique(x, return_counts=True)
    assert (values.tolist(), counts.tolist()) == ([1, 3], [1, 2])
    missing = pb.tensor([np.nan, np.nan])
    assert pb.unique(missing).shape == (1,) and pb.unique_values(missing).shape == (2,)


def test_a_partition_puts_its_element_where_sorting_would():
    x = leaf([5.0, 1.0, 4.0, 2.0])
    out = pb.partition(x, 1)
    assert out[1].item() == 2.0 and max(out[:1].tolist()) <= 2.0 <= min(out[2:].tolist())
    assert x[pb.argpartition(x, 1)][1].item() == 2.0


def test_the_gradient_of_a_partition_goes_to_where_its_elements_were():
    x = leaf(RANDOM.permutation(np.arange(60.0)).reshape(3, 20) // 2)
    out = pb.partition(x, (4, 9), axis=1)
    assert (np.sort(out.detach().numpy()) == np.sort(x.detach().numpy())).all()
    weight = RANDOM.uniform(-1, 1, (3, 20))
    (gradient,) = pb.autograd.grad((out * weight).sum(), x)
    assert_close((gradient * x).sum(), (out * weight).sum())
    (counted,) = pb.autograd.grad(pb.partition(x, 4).sum(), x)
    assert (counted.numpy() == 1).all()


def orders(dtype, shape):
    """Arrays with ties, both zeros, infinities and NaN, and in all layouts."""
    x = RANDOM.integers(-9, 9, shape)
    x = (x - 300 * (x > 4)).astype(dtype) if dtype != "u8" else x.astype(dtype)
    if x.dtype.kind == "f":
        for start, step, value in ((0, 7, -0.0), (3, 11, 0.0), (1, 13, np.nan), (2, 29, np.inf), (5, 31, -np.nan)):
            x.flat[start::step] = value
    return [x, np.asfortranarray(x), x[::-1]]


@pytest.mark.parametrize("dtype", ["b1", "i1", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c16"])
@pytest.mark.parametrize("shape", [(700,), (9, 60), (60, 9)])
def test_orders_are_numpys_stable_ones(dtype, shape):
    for x in orders(dtype, shape):
        for axis in range(x.ndim):
            for descending in (False, True):
                order = np.argsort(x, axis, kind="stable")
                if descending:
                    order = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
                expected = np.take_along_axis(x, order, axis)
                np.testing.assert_array_equal(pb.argsort(pb.tensor(x), axis, descending=descending).numpy(), order)
                out = pb.sort(pb.tensor(x), axis, descending=descending).numpy()
                np.testing.assert_array_equal(out, expected)
                if x.dtype.kind == "f":
                    numbers = ~np.isnan(out)
                    assert (np.signbit(out) == np.signbit(expected))[numbers].all()  # equal zeros keep their order


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8"])
def test_ranks_of_many_different_numbers(dtype):
    wide = RANDOM.integers(-(2**62), 2**62, 5000)
    x = (wide // 2**32 if dtype == "i4" else wide).astype(dtype)
    np.testing.assert_array_equal(pb.argsort(pb.tensor(x)).numpy(), np.argsort(x, kind="stable"))
    np.testing.assert_array_equal(pb.sort(pb.tensor(x)).numpy(), np.sort(x))


def test_what_is_recorded_is_sorted_alike():
    for x in orders("f8", (5, 80)):
        for descending in (False, True):
            recorded = pb.sort(leaf(x), descending=descending).detach().numpy()
            np.testing.assert_array_equal(pb.sort(pb.tensor(x), descending=descending).numpy(), recorded)
            np.testing.assert_array_equal(pb.unique_values(pb.tensor(x)), pb.unique_values(leaf(x)).detach())


def test_the_kth_value_is_where_sorting_puts_it():
    for x in orders("f4", (8, 41)):
        order = np.argsort(x, axis=1, kind="stable")
        for k in (1, 7, 20, 38, 41):
            values, places = pb.kthvalue(pb.tensor(x), k, axis=1)
            np.testing.assert_array_equal(places, order[:, k - 1])
            np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1)[:, k - 1])


def test_sorted_values_have_derivatives_of_both_kinds():
    """Recorded calls gather; forward mode and vmap meet the operator itself."""
    x, t = RANDOM.standard_normal((4, 6)), RANDOM.standard_normal((4, 6))
    order = np.argsort(x, axis=1)
    _, pushed = pb.func.jvp(lambda z: pb.sort(z, axis=1), (pb.tensor(x),), (pb.tensor(t),))
    assert_close(pushed, np.take_along_axis(t, order, 1))
    np.testing.assert_array_equal(pb.func.vmap(pb.sort)(pb.tensor(x)), np.sort(x, axis=1))


def test_many_rows_are_sorted_in_pieces():
    x = orders("f4", (600, 500))[0]
    for descending in (False, True):
        recorded = pb.sort(leaf(x), descending=descending).detach().numpy()
        found = pb.sort(pb.tensor(x), descending=descending).numpy()
        np.testing.assert_array_equal(found, recorded)
        numbers = ~np.isnan(found)
        assert (np.signbit(found) == np.signbit(recorded))[numbers].all()
    np.testing.assert_array_equal(pb.median(pb.tensor(x), 1), pb.median(leaf(x), 1).detach())
    clean = np.abs(np.nan_to_num(x)) + np.arange(500, dtype=x.dtype)
    np.testing.assert_array_equal(pb.median(pb.tensor(clean), 1), np.median(clean, axis=1))


@pytest.mark.parametrize("function", [pb.median, pb.nanmedian])
def test_the_median_of_nothing_is_nan(function):
    x = pb.zeros((3, 0), requires_grad=True)
    out = function(x, axis=1, keepdims=True)
    assert out.shape == (3, 1) and np.isnan(out.detach().numpy()).all()
    out.sum().backward()
    assert x.grad.shape == (3, 0)
    assert function(pb.zeros((0, 3)), axis=1).shape == (0,)
    assert np.isnan(function(pb.zeros(0)).item())
