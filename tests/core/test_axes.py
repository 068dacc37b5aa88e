"""Axes, shapes and permutations in canonical form."""

import numpy as np
import pytest

from pullback.core.axes import inverse_permutation, merge_spellings, normalize_axes, normalize_shape, resolve_shape


def test_axes_become_sorted_and_non_negative():
    assert normalize_axes(None, 3) == (0, 1, 2)
    assert normalize_axes(-1, 3) == (2,)
    assert normalize_axes((2, 0), 3) == (0, 2) == normalize_axes([-1, -3], 3)
    assert normalize_axes((), 3) == ()


@pytest.mark.parametrize("axis", [3, -4, (0, 3)])
def test_an_axis_that_is_not_there_is_an_axis_error(axis):
    with pytest.raises(np.exceptions.AxisError):
        normalize_axes(axis, 3)


def test_an_axis_counts_once():
    with pytest.raises(ValueError, match="repeated"):
        normalize_axes((0, -3), 3)


def test_a_number_is_a_shape_of_one_axis():
    assert normalize_shape(3) == (3,) == normalize_shape(np.int64(3)) == normalize_shape([3])
    with pytest.raises(TypeError):
        normalize_shape((2.0, 3))


def test_one_length_may_be_left_open():
    assert resolve_shape((2, -1), 6) == (2, 3)
    assert resolve_shape(-1, 0) == (0,)
    for shape, size in [((-1, -1), 6), ((4, -1), 6), ((0, -1), 0)]:
        with pytest.raises(ValueError, match="reshape"):
            resolve_shape(shape, size)


def test_a_permutation_is_undone_by_its_inverse():
    axes = (2, 0, 3, 1)
    assert np.ones((2, 3, 4, 5)).transpose(axes).transpose(inverse_permutation(axes)).shape == (2, 3, 4, 5)


def test_an_argument_has_one_of_its_spellings():
    assert merge_spellings("f", 1, None) == 1 == merge_spellings("f", None, 1)
    with pytest.raises(TypeError, match="f: two spellings"):
        merge_spellings("f", 1, 1)
