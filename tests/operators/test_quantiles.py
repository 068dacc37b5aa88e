"""Quantiles by all methods of NumPy, their gradients in the elements and in the fractions."""

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

METHODS = (
    "linear", "interpolated_inverted_cdf", "hazen", "weibull", "median_unbiased", "normal_unbiased", "inverted_cdf",
    "averaged_inverted_cdf", "closest_observation", "lower", "higher", "nearest", "midpoint",
)  # fmt: skip
FRACTIONS = np.array([0.0, 0.05, 0.1, 0.125, 0.25, 0.3, 0.5, 0.625, 0.75, 0.9, 1.0])
DATA = np.random.default_rng(1).normal(size=(4, 7))
HOLES = np.where(np.arange(28).reshape(4, 7) % 5 == 2, np.nan, DATA)


def leaf(values):
    return pb.tensor(values, requires_grad=True)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_every_method_equals_numpy(method, axis):
    assert_close(pb.quantile(DATA, FRACTIONS, axis, method=method), np.quantile(DATA, FRACTIONS, axis, method=method))
    got, wanted = (each.nanquantile(HOLES, FRACTIONS, axis, method=method) for each in (pb, np))
    assert_close(got, wanted)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_elements_equal_numpy(method, count):
    few = np.arange(count) ** 2.0
    assert_close(pb.quantile(few, FRACTIONS, method=method), np.quantile(few, FRACTIONS, method=method))


def test_shapes_are_those_of_numpy():
    for q in (0.3, [0.3], [[0.1, 0.2], [0.3, 0.4]]):
        for axis in (None, 1, (0, 2)):
            for keepdims in (False, True):
                data = np.arange(24.0).reshape(2, 3, 4)
                got = pb.quantile(data, q, axis, keepdims)
                wanted = np.quantile(data, q, axis, keepdims=keepdims)
                assert_close(got, wanted)


def test_percentiles_are_quantiles_in_percent():
    assert_close(pb.percentile(DATA, [10, 50], axis=1), np.percentile(DATA, [10, 50], axis=1))
    assert_close(pb.nanpercentile(HOLES, 30.0), np.nanpercentile(HOLES, 30.0))
    assert_close(pb.quantile([1, 2, 4], 0.5), 2.0)


def test_the_gradient_by_the_fraction_is_the_distance_of_the_neighbours():
    q = leaf(0.4)
    pb.quantile(pb.tensor([1.0, 4.0, 2.0]), q).backward()
    assert_close(q.grad, 2.0)  # 2 places per unit of q, neighbours 1 apart


@pytest.mark.parametrize("method", METHODS[:6])
def test_gradients_of_the_continuous_methods(method):
    x, q = leaf(DATA[:2, :5]), leaf([0.23, 0.61])
    assert gradcheck(lambda x, q: pb.quantile(x, q, 1, method=method), (x, q))


def test_second_derivatives():
    assert gradgradcheck(lambda x, q: pb.quantile(x, q) ** 2, (leaf(DATA[0, :4]), leaf([0.23])))


def test_discrete_methods_have_no_gradient_in_the_fraction():
    x, q = leaf([3.0, 1.0, 2.0]), leaf(0.4)
    pb.quantile(x, q, method="lower").backward()
    assert_close(x.grad, [0.0, 1.0, 0.0])
    assert q.grad is None


def test_a_nan_makes_the_quantile_nan_unless_it_is_left_out():
    assert np.isnan(pb.quantile([1.0, np.nan], 0.5).item())
    x = leaf([1.0, np.nan, 3.0])
    pb.nanquantile(x, 0.25).backward()
    assert_close(x.grad, [0.75, 0.0, 0.25])


def test_an_infinite_neighbour_matters_only_if_it_has_weight():
    assert_close(pb.quantile([1.0, 2.0, np.inf], [0.0, 0.5, 0.75, 1.0]), [1.0, 2.0, np.inf, np.inf])
    assert_close(pb.quantile([-np.inf, 0.0, 1.0], [0.0, 0.25, 0.5]), [-np.inf, -np.inf, 0.0])


def test_weighted_quantiles_equal_numpy():
    weights = np.array([0.5, 1.0, 0.0, 2.0, 1.0, 1.0, 3.0])
    got = pb.quantile(DATA, FRACTIONS, 1, weights=weights, method="inverted_cdf")
    assert_close(got, np.quantile(DATA, FRACTIONS, 1, weights=weights, method="inverted_cdf"))


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="between 0 and 1"):
        pb.quantile(DATA, 1.5)
    with pytest.raises(ValueError, match="no method"):
        pb.quantile(DATA, 0.5, method="cubic")
    with pytest.raises(ValueError, match="nothing"):
        pb.quantile(np.zeros((0,)), 0.5)
    with pytest.raises(TypeError, match="order"):
        pb.quantile([1j], 0.5)
    with pytest.raises(ValueError, match="inverted_cdf"):
        pb.quantile([1.0, 2.0], 0.5, weights=[1.0, 1.0])


def test_dtype_stays_single_precision():
    assert pb.quantile(DATA.astype(np.float32), 0.3).dtype == np.quantile(DATA.astype(np.float32), 0.3).dtype


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 1.0]], ids=["plain", "weighted"])
def test_a_nan_that_is_the_quantile_has_its_gradient(weights):
    """As in `max` and `median`: what makes the result NaN is found by following the gradient."""
    x = leaf([[1.0, np.nan, 2.0], [3.0, 5.0, 4.0]])
    method = "linear" if weights is None else "inverted_cdf"
    out = pb.quantile(x, 0.5, 1, method=method, weights=weights)
    out.sum().backward()
    assert_close(x.grad[0], [0.0, 1.0, 0.0])
    tangent = pb.tensor([[1.0, 10.0, 100.0]] * 2)
    assert pb.func.jvp(lambda v: pb.quantile(v, 0.5, 1), (x.detach(),), (tangent,))[1][0] == 10
