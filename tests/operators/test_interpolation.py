"""Linear interpolation: values of NumPy, slopes at the knots."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

XP = np.array([0.0, 1.0, 2.5, 4.0])
FP = np.array([1.0, 3.0, -1.0, 0.5])
X = np.array([[-1.0, 0.0, 0.3, 1.0], [2.0, 2.5, 4.0, 5.0]])


def leaf(values):
    return pb.tensor(values, requires_grad=True)


def test_interp_equals_numpy():
    assert_close(pb.interp(X, XP, FP), np.interp(X, XP, FP), rtol=0, atol=1e-15)
    assert_close(pb.interp(X, XP, FP, left=-9.0, right=9.0), np.interp(X, XP, FP, left=-9.0, right=9.0))
    assert_close(pb.interp(X, [1.0], [5.0]), np.interp(X, [1.0], [5.0]))
    assert_close(pb.interp(0.3, XP, FP), np.interp(0.3, XP, FP))
    assert np.isnan(pb.interp(np.nan, XP, FP).item())


def test_a_period_repeats_the_knots():
    x = np.array([-180.0, -170.0, -185.0, 185.0, -10.0, -5.0, 0.0, 365.0])
    xp, fp = [190.0, -190.0, 350.0, -350.0], [5.0, 10.0, 3.0, 4.0]
    assert_close(pb.interp(x, xp, fp, period=360), np.interp(x, xp, fp, period=360))
    with pytest.raises(ValueError, match="period"):
        pb.interp(x, xp, fp, period=0)


def test_the_slope_at_a_knot_is_that_of_the_segment_to_its_right():
    x = leaf([-1.0, 0.0, 1.0, 2.5, 3.0, 5.0])
    pb.interp(x, XP, FP).sum().backward()
    assert_close(x.grad, [0.0, 2.0, -4.0 / 1.5, 1.0, 1.0, 0.0])


def test_interp_is_differentiable_in_points_and_knots():
    x = np.array([-1.0, 0.4, 1.7, 3.3, 5.0])
    assert gradcheck(pb.interp, (leaf(x), leaf(XP), leaf(FP)))
    assert gradgradcheck(pb.interp, (leaf(x), leaf(XP), leaf(FP)))
    assert gradcheck(lambda x, f: pb.interp(x, XP, f, period=4.5), (leaf(x), leaf(FP)))
    ends = leaf([7.0, 8.0])
    pb.interp(x, XP, FP, ends[0], ends[1]).sum().backward()
    assert_close(ends.grad, [1.0, 1.0])


def test_knots_must_be_vectors_of_one_length():
    with pytest.raises(ValueError, match="knots"):
        pb.interp(0.5, [0.0, 1.0], [1.0])


@pytest.mark.parametrize("xp, fp", [
    ([-np.inf, 0.0, 1.0, np.inf], [-np.inf, 0.0, 1.0, np.inf]), ([0.0, 1.0, np.inf], [2.0, 2.0, 2.0]),
    ([0.0, 1.0, 2.0], [np.inf, np.inf, -np.inf]), ([0.0, 1.0, 2.0], [0.0, np.inf, 5.0]), ([-np.inf, 1.0], [3.0, 4.0]),
])  # fmt: skip
def test_infinite_knots_are_those_of_numpy(xp, fp):
    x = np.array([-np.inf, -3.0, 0.0, 0.25, 1.0, 1.5, 2.0, 7.0, np.inf, np.nan])
    with np.errstate(all="ignore"):
        assert_close(pb.interp(x, xp, fp), np.interp(x, xp, fp), equal_nan=True)
