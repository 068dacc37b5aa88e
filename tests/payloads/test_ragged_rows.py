"""Rows of different lengths, wherever the axis lies along which they differ."""

import numpy as np
import pytest

import pullback as pb

PARTS = [np.arange(12.0).reshape(2, 3, 2), np.arange(6.0).reshape(1, 3, 2), np.zeros((0, 3, 2))]


@pytest.mark.parametrize("axes", [(0, 1, 2, 3), (0, 2, 1, 3), (0, 2, 3, 1)])
def test_rows_are_the_parts_with_their_axes_moved(axes):
    moved = pb.nested.nested(PARTS).permute(*axes)
    expected = [np.transpose(part, [axis - 1 for axis in axes[1:]]) for part in PARTS]
    assert moved.tolist() == [part.tolist() for part in expected]
    for row, part in zip(moved.unbind(), expected, strict=True):
        np.testing.assert_array_equal(row.numpy(), part)
