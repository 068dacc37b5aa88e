"""Positions, coordinate grids, windows, and tensors from memory and functions."""

import numpy as np
import pytest

import pullback as pb
from pullback.testing import assert_close

DATA = np.arange(12.0).reshape(3, 4)


def assert_all_close(got, wanted):
    for each, other in zip(got, wanted, strict=True):
        assert_close(each, other)


def test_positions_equal_numpy():
    assert_all_close(pb.ix_([0, 2], [1, 3]), np.ix_([0, 2], [1, 3]))
    assert_close(pb.tensor(DATA)[pb.ix_([0, 2], [True, False, True, False])], DATA[np.ix_([0, 2], [0, 2])])
    assert_all_close(pb.tril_indices_from(DATA, 1), np.tril_indices_from(DATA, 1))
    assert_all_close(pb.triu_indices_from(DATA), np.triu_indices_from(DATA))
    assert_all_close(pb.diag_indices_from(DATA[:, :3]), np.diag_indices_from(DATA[:, :3]))
    assert_all_close(pb.mask_indices(3, pb.triu, 1), np.mask_indices(3, np.triu, 1))
    assert_all_close(pb.unravel_index([1, 7], (3, 4)), np.unravel_index([1, 7], (3, 4)))
    assert_close(pb.ravel_multi_index(([0, 2], [1, 3]), (3, 4)), np.ravel_multi_index(([0, 2], [1, 3]), (3, 4)))
    with pytest.raises(TypeError, match="positions"):
        pb.ix_([0.5])
    with pytest.raises(ValueError, match="one length"):
        pb.diag_indices_from(DATA)


def test_grids_by_subscripts_equal_numpy():
    assert_close(pb.mgrid[0:3, 0:1:5j], np.mgrid[0:3, 0:1:5j])
    assert_all_close(pb.ogrid[0:3, 0:2], np.ogrid[0:3, 0:2])
    assert isinstance(pb.mgrid[0:2], pb.Tensor)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
@pytest.mark.parametrize("points", [0, 1, 2, 7])
def test_windows_equal_numpy(name, points):
    assert_close(getattr(pb, name)(points), getattr(np, name)(points))
    assert_close(pb.kaiser(points, 8.6), np.kaiser(points, 8.6))


def test_a_closed_range_includes_its_end():
    assert_close(pb.range(1, 4), [1.0, 2.0, 3.0, 4.0])
    assert_close(pb.range(0, 1, 0.25), [0.0, 0.25, 0.5, 0.75, 1.0])
    assert_close(pb.range(3, 1, -1), [3.0, 2.0, 1.0])
    assert pb.range(2, dtype=pb.int64).dtype == np.int64


def test_memory_layouts():
    x = pb.empty_permuted((2, 3, 4), (0, 2, 1))
    assert x.shape == (2, 3, 4) and x.stride() == (12, 1, 3)
    y = pb.empty_strided((2, 3), (1, 2), dtype=pb.float32)
    assert y.shape == (2, 3) and y.stride() == (1, 2) and y.dtype == np.float32
    assert pb.empty_strided((0, 3), (3, 1)).shape == (0, 3)
    with pytest.raises(ValueError, match="order"):
        pb.empty_permuted((2, 3), (0, 0))


def test_requirements_on_memory():
    x = pb.tensor(DATA)
    assert pb.require(x, requirements=["C"]) is x
    assert pb.isfortran(pb.require(x, requirements="F"))
    assert pb.require(x, pb.float32).dtype == np.float32
    assert not pb.shares_memory(pb.require(x[1:], requirements=["OWNDATA"]), x)
    with pytest.raises(ValueError, match="all of"):
        pb.require(x, requirements=["C", "F"])


def test_only_finite_numbers():
    assert_close(pb.asarray_chkfinite([1.0]), [1.0])
    with pytest.raises(ValueError, match="infinities"):
        pb.asarray_chkfinite([np.nan])


def test_vectors_from_functions_iterators_and_memory(tmp_path):
    assert_close(pb.fromfunction(lambda i, j: i + 2 * j, (2, 3)), np.fromfunction(lambda i, j: i + 2 * j, (2, 3)))
    assert_close(pb.fromiter((k * k for k in range(4)), float), [0.0, 1.0, 4.0, 9.0])
    assert_close(pb.frombuffer(DATA.tobytes(), count=2, offset=8), [1.0, 2.0])
    assert_close(pb.fromstring("1, 2", sep=","), [1.0, 2.0])
    DATA.tofile(tmp_path / "numbers")
    assert_close(pb.fromfile(tmp_path / "numbers"), DATA.ravel())
