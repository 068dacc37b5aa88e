"""Counting in bins, with gradients in the weights."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck
from pullback.testing import assert_close

DATA = np.random.default_rng(2).normal(size=40)
WEIGHTS = np.random.default_rng(3).random(40)
POINTS = np.random.default_rng(4).normal(size=(30, 3))


def leaf(values):
    return pb.tensor(values, requires_grad=True)


EDGES = [-2.0, -0.5, 0.0, 1.0, 3.0]


@pytest.mark.parametrize("bins, weights", [(5, None), ("auto", None), (EDGES, None), (5, WEIGHTS), (EDGES, WEIGHTS)])
@pytest.mark.parametrize("density", [False, True])
def test_histogram_equals_numpy(bins, density, weights):
    got = pb.histogram(DATA, bins, density=density, weights=weights)
    wanted = np.histogram(DATA, bins, density=density, weights=weights)
    assert_close(got[0], wanted[0])
    assert_close(got[1], wanted[1])


def test_elements_on_edges_and_outside_equal_numpy():
    data = [0.0, 0.5, 1.0, 1.5, 2.0, -1.0, 3.0, np.nan]
    edges = [0.0, 1.0, 2.0]
    assert_close(pb.histogram(data, edges)[0], np.histogram(data, edges)[0])
    assert_close(pb.histogram([1, 2, 2], 3, (0, 3))[0], np.histogram([1, 2, 2], 3, (0, 3))[0])


@pytest.mark.parametrize("density", [False, True])
def test_histogram_is_differentiable_in_the_weights(density):
    assert gradcheck(lambda w: pb.histogram(DATA[:9], 3, density=density, weights=w)[0], (leaf(WEIGHTS[:9]),))


def test_a_weight_outside_all_bins_has_gradient_zero():
    w = leaf([1.0, 2.0])
    pb.histogram([0.5, 9.0], [0.0, 1.0], weights=w)[0].sum().backward()
    assert_close(w.grad, [1.0, 0.0])


@pytest.mark.parametrize("weights", [None, WEIGHTS[:30]])
def test_histograms_of_points_equal_numpy(weights):
    for bins in (3, [2, 3, 4]):
        got, edges = pb.histogramdd(POINTS, bins, weights=weights)
        wanted, wanted_edges = np.histogramdd(POINTS, bins, weights=weights)
        assert_close(got, wanted)
        for each, other in zip(edges, wanted_edges, strict=True):
            assert_close(each, other)
    got2 = pb.histogram2d(POINTS[:, 0], POINTS[:, 1], 4, density=True, weights=weights)
    wanted2 = np.histogram2d(POINTS[:, 0], POINTS[:, 1], 4, density=True, weights=weights)
    for each, other in zip(got2, wanted2, strict=True):
        assert_close(each, other)


def test_bincount_equals_numpy_and_is_differentiable_in_the_weights():
    x = np.array([0, 1, 1, 4])
    assert_close(pb.bincount(x), np.bincount(x))
    assert_close(pb.bincount(x, minlength=8), np.bincount(x, minlength=8))
    w = leaf([1.0, 2.0, 3.0, 4.0])
    out = pb.bincount(x, w, 6)
    assert_close(out, np.bincount(x, [1.0, 2.0, 3.0, 4.0], 6))
    (out * pb.arange(6)).sum().backward()
    assert_close(w.grad, [0.0, 1.0, 1.0, 4.0])
    with pytest.raises(ValueError, match="negative"):
        pb.bincount([-1, 2], [1.0, 1.0])
    with pytest.raises(TypeError, match="integers"):
        pb.bincount([0.5])


@pytest.mark.parametrize("right", [False, True])
def test_numbers_of_bins_equal_numpy(right):
    x, bins = [0.2, 1.0, 6.4, 3.0], np.array([0.0, 1.0, 2.5, 4.0])
    assert_close(pb.digitize(x, bins, right), np.digitize(x, bins, right))
    assert_close(pb.digitize(x, bins[::-1], right), np.digitize(x, bins[::-1], right))
    assert_close(pb.bucketize(x, bins, right=right), np.searchsorted(bins, x, "right" if right else "left"))
    assert pb.bucketize(x, bins, out_int32=True).dtype == np.int32


def test_bin_edges_and_histc():
    assert_close(pb.histogram_bin_edges(DATA, 7), np.histogram_bin_edges(DATA, 7))
    assert_close(pb.histc([1.0, 2.0, 1.0], 4, 0, 3), [0.0, 2.0, 1.0, 0.0])


def test_bins_without_a_width_are_those_of_the_elements():
    x = pb.tensor([1.0, 2.0, 1.0])
    assert pb.histc(x, bins=4, min=5, max=5).tolist() == pb.histc(x, bins=4).tolist() == [2.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize("weights", [None, [0.5, 0.5]])
def test_a_number_of_counts_is_not_negative(weights):
    with pytest.raises(ValueError, match="minlength"):
        pb.bincount(pb.tensor([1, 3]), weights, minlength=-1)
