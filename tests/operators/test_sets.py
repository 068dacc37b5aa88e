"""Vectors as sets: values of NumPy, gradients to first appearances."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

A = np.array([3.0, 1.0, 2.0, 1.0, 7.0])
B = np.array([2.0, 7.0, 7.0, 9.0])


@pytest.mark.parametrize("name", ["union1d", "intersect1d", "setdiff1d", "setxor1d"])
def test_set_functions_equal_numpy(name):
    assert_close(getattr(pb, name)(A, B), getattr(np, name)(A, B))
    assert_close(getattr(pb, name)(A, B[:0]), getattr(np, name)(A, B[:0]))
    assert_close(getattr(pb, name)(A[:0], B[:0]), getattr(np, name)(A[:0], B[:0]))
    assert_close(getattr(pb, name)([1, 2], [2, 3]), getattr(np, name)([1, 2], [2, 3]))


def test_the_gradient_goes_to_the_first_of_equal_elements():
    a, b = (pb.tensor(values, requires_grad=True) for values in (A, B))
    (pb.union1d(a, b) * pb.tensor([1.0, 2.0, 3.0, 4.0, 5.0])).sum().backward()
    assert_close(a.grad, [3.0, 1.0, 2.0, 0.0, 4.0])
    assert_close(b.grad, [0.0, 0.0, 0.0, 5.0])


def test_intersect1d_says_where_the_elements_were():
    values, first, second = pb.intersect1d(A, B, return_indices=True)
    for got, wanted in zip((values, first, second), np.intersect1d(A, B, return_indices=True), strict=True):
        assert_close(got, wanted)


def test_setdiff1d_keeps_the_order_of_unique_elements():
    assert_close(pb.setdiff1d([5, 1, 4], [1], assume_unique=True), [5, 4])


def test_isin_and_in1d_equal_numpy():
    matrix = A[:4].reshape(2, 2)
    assert_close(pb.isin(matrix, B), np.isin(matrix, B))
    assert_close(pb.isin(matrix, [1.0], invert=True), np.isin(matrix, [1.0], invert=True))
    assert_close(pb.in1d(matrix, B), np.isin(matrix.ravel(), B))
    assert not pb.isin(pb.tensor(A, requires_grad=True), B).requires_grad


def test_unique_consecutive_drops_repetitions_only():
    x = pb.tensor([1.0, 1.0, 2.0, 2.0, 1.0], requires_grad=True)
    values, inverse, counts = pb.unique_consecutive(x, True, True)
    assert_close(values, [1.0, 2.0, 1.0])
    assert_close(inverse, [0, 0, 1, 1, 2])
    assert_close(counts, [2, 2, 1])
    values.sum().backward()
    assert_close(x.grad, [1.0, 0.0, 1.0, 0.0, 1.0])
    rows = pb.unique_consecutive(pb.tensor([[1, 2], [1, 2], [3, 2]]), dim=0)
    assert_close(rows, [[1, 2], [3, 2]])
    assert pb.unique_consecutive(pb.zeros(0)).shape == (0,)


@pytest.mark.parametrize("trim", ["f", "b", "fb"])
def test_trim_zeros_equals_numpy(trim):
    for values in ([0.0, 0.0, 1.0, 0.0, 2.0, 0.0], [0.0, 0.0], [1.0]):
        assert_close(pb.trim_zeros(values, trim), np.trim_zeros(np.array(values), trim))


def test_sorting_by_several_keys():
    first, second = [1, 5, 1, 4], [9, 4, 0, 4]
    assert_close(pb.lexsort((second, first)), np.lexsort((second, first)))
    assert_close(pb.lexsort(pb.tensor([first, second])), np.lexsort(np.array([first, second])))


def test_sort_complex_equals_numpy():
    assert_close(pb.sort_complex([3, 1, 2]), np.sort_complex([3, 1, 2]))
    assert_close(pb.sort_complex([1 + 2j, 1 - 1j, 0j]), np.sort_complex([1 + 2j, 1 - 1j, 0j]))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_distinct_slices_along_an_axis(axis):
    x = np.array([[3.0, 1.0, 3.0], [0.0, 1.0, 0.0], [3.0, 1.0, 3.0]])
    for ours, theirs in zip(pb.unique(x, True, True, True, axis), np.unique(x, True, True, True, axis), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(pb.unique(x, dim=axis), np.unique(x, axis=axis))


def test_the_gradient_of_distinct_slices_goes_to_the_first_of_equal_ones():
    x = pb.tensor([[3.0, 1.0], [0.0, 1.0], [3.0, 1.0]], requires_grad=True)
    values = pb.unique(x, axis=0)
    assert values.tolist() == [[0.0, 1.0], [3.0, 1.0]]
    values.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    with pytest.raises(TypeError, match="two spellings"):
        pb.unique(x, axis=0, dim=0)


@pytest.mark.parametrize("trim", ["f", "b", "fb"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)], ids=str)
def test_zeros_around_an_array_are_trimmed_along_axes(trim, axis):
    x = np.zeros((4, 5))
    x[1:3, 2:4] = [[1.0, 0.0], [0.0, 2.0]]
    assert_close(pb.trim_zeros(x, trim, axis), np.trim_zeros(x, trim, axis))
    assert pb.trim_zeros(np.zeros((2, 3)), trim, axis).size == np.trim_zeros(np.zeros((2, 3)), trim, axis).size


@pytest.mark.parametrize("among", [[], [2.0], [3, 1, 1], [True, False], [np.nan, 2.0, np.inf], [1j, 2.0]])
@pytest.mark.parametrize("x", [[], [2.0, np.nan, np.inf, -np.inf], [[1, 2], [3, 0]], [True, False], [1j, 2.0]])
def test_isin_is_numpys_for_types_that_differ_and_for_nan(x, among):
    x, among = np.array(x), np.array(among)
    for invert in (False, True):
        assert pb.isin(x, among, invert=invert).numpy().tolist() == np.isin(x, among, invert=invert).tolist()


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_lexsort_is_numpys_and_compiles_as_isin_does(axis):
    keys = np.random.default_rng(0).integers(0, 3, (3, 5, 4))
    found = pb.compile(lambda x: pb.lexsort(list(x), axis=axis), fallback="raise")(pb.tensor(keys))
    assert found.numpy().tolist() == np.lexsort(list(keys), axis).tolist()
    assert pb.vmap(lambda x: pb.isin(x, [0, 2]))(pb.tensor(keys)).numpy().tolist() == np.isin(keys, [0, 2]).tolist()


def test_numbers_of_consecutive_elements_have_the_shape_of_the_array():
    values, numbers = pb.unique_consecutive(pb.tensor([[1, 1], [2, 2]]), return_inverse=True)
    assert values.tolist() == [1, 2] and numbers.tolist() == [[0, 0], [1, 1]]
    _, numbers = pb.unique_consecutive(pb.tensor([[1, 1], [1, 1]]), return_inverse=True, dim=0)
    assert numbers.tolist() == [0, 0]
