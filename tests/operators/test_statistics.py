"""Averages, covariances, ranges and reductions that leave NaN out."""

import math
import warnings

import numpy as np
import pytest

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.testing import assert_close

DATA = np.random.default_rng(0).normal(size=(3, 5))
HOLES = np.where(np.arange(15).reshape(3, 5) % 4 == 1, np.nan, DATA)
COMPLEX = DATA + 1j * DATA[::-1]


def leaf(values):
    return pb.tensor(values, requires_grad=True)


@pytest.mark.parametrize("name", ["nanmax", "nanmin", "nanvar", "nanstd", "nanmean", "nansum", "nanprod", "nanmedian"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions_that_leave_nan_out_equal_numpy(name, axis, keepdims):
    assert_close(getattr(pb, name)(HOLES, axis, keepdims), getattr(np, name)(HOLES, axis, keepdims=keepdims))


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_positions_that_leave_nan_out_equal_numpy(name, axis):
    assert_close(getattr(pb, name)(HOLES, axis), getattr(np, name)(HOLES, axis))


def test_positions_of_nothing_but_nan_are_an_error():
    with pytest.raises(ValueError, match="only NaN"):
        pb.nanargmax([math.nan, math.nan])


@pytest.mark.parametrize("name", ["nancumsum", "nancumprod"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_scans_that_leave_nan_out_equal_numpy(name, axis):
    assert_close(getattr(pb, name)(HOLES, axis), getattr(np, name)(HOLES, axis))


@pytest.mark.parametrize("name", ["nanmax", "nanmin", "nanvar", "nanstd", "nanmean", "nancumsum", "nanmedian"])
def test_nan_has_gradient_zero(name):
    x = leaf(HOLES)
    getattr(pb, name)(x).sum().backward()
    assert not np.isnan(x.grad.numpy()).any()
    assert (x.grad.numpy()[np.isnan(HOLES)] == 0).all()


def test_nothing_but_nan_has_value_nan_and_gradient_zero():
    for name in ("nanmax", "nanmin", "nanmedian"):
        x = leaf([math.nan, math.nan])
        out = getattr(pb, name)(x)
        out.backward()
        assert math.isnan(out.item())
        assert_close(x.grad, [0.0, 0.0])


def test_nanstd_of_equal_elements_has_gradient_zero():
    x = leaf([2.0, math.nan, 2.0])
    pb.nanstd(x).backward()
    assert_close(x.grad, [0.0, 0.0, 0.0])


def test_nanvar_takes_both_spellings_of_the_correction():
    assert_close(pb.nanvar(HOLES, ddof=1), np.nanvar(HOLES, ddof=1))
    assert_close(pb.nanvar(HOLES, correction=1), np.nanvar(HOLES, ddof=1))
    assert_close(pb.nanvar(COMPLEX), np.nanvar(COMPLEX))


def test_ptp_is_the_range_and_equal_extremes_share_the_gradient():
    assert_close(pb.ptp(DATA, 1), np.ptp(DATA, 1))
    x = leaf([1.0, 3.0, 3.0])
    pb.ptp(x).backward()
    assert_close(x.grad, [-1.0, 0.5, 0.5])
    low, high = pb.aminmax(DATA, axis=0, keepdims=True)
    assert_close(low, DATA.min(0, keepdims=True))
    assert_close(high, DATA.max(0, keepdims=True))


def test_logmeanexp_does_not_overflow():
    assert_close(pb.logmeanexp([1000.0, 1000.0]), 1000.0)
    assert_close(pb.logmeanexp(DATA, 1), np.log(np.exp(DATA).mean(1)))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_average_equals_numpy_and_is_differentiable_in_the_weights(axis):
    weights = np.abs(DATA) + 0.1
    assert_close(pb.average(DATA, axis, weights), np.average(DATA, axis, weights))
    assert gradcheck(lambda x, w: pb.average(x, axis, w), (leaf(DATA), leaf(weights)))


def test_average_takes_weights_of_one_axis_and_returns_their_sum():
    weights = np.array([1.0, 2.0, 3.0])
    got, total = pb.average(DATA, 0, weights, returned=True)
    wanted, wanted_total = np.average(DATA, 0, weights, returned=True)
    assert_close(got, wanted)
    assert_close(total, wanted_total)
    with pytest.raises(ValueError, match="weights"):
        pb.average(DATA, 0, np.ones(4))


def test_averages_of_integers_are_real():
    assert_close(pb.average([1, 2, 4], weights=[1, 1, 2]), np.average([1, 2, 4], weights=[1, 1, 2]))


@pytest.mark.parametrize(
    "options",
    [
        {}, {"bias": True}, {"ddof": 0}, {"rowvar": False}, {"fweights": [1, 2, 0, 3, 1]},
        {"aweights": [0.5, 1.0, 2.0, 0.1, 1.0]}, {"fweights": [1, 2, 1, 3, 1], "aweights": [0.5, 1.0, 2.0, 0.1, 1.0]},
    ],
)  # fmt: skip
def test_covariance_equals_numpy(options):
    for data in (DATA, COMPLEX, DATA[0]):
        if options.get("rowvar") is False or data.ndim == 2 or "fweights" not in options:
            assert_close(pb.cov(data, **options), np.cov(data, **options))


def test_covariance_of_two_and_of_weights_is_differentiable():
    assert_close(pb.cov(DATA[0], DATA[1]), np.cov(DATA[0], DATA[1]))
    weights = np.array([0.5, 1.0, 2.0, 0.1, 1.0])
    assert gradcheck(lambda x, w: pb.cov(x, aweights=w), (leaf(DATA), leaf(weights)))
    assert gradgradcheck(pb.cov, (leaf(DATA[:2, :3]),))
    assert gradcheck(pb.cov, (leaf(COMPLEX[:2]),))


def test_covariance_refuses_counts_that_are_none():
    with pytest.raises(ValueError, match="counts"):
        pb.cov(DATA, fweights=[0.5] * 5)


def test_corrcoef_equals_numpy_and_is_one_on_the_diagonal():
    assert_close(pb.corrcoef(DATA), np.corrcoef(DATA))
    assert_close(pb.corrcoef(COMPLEX), np.corrcoef(COMPLEX))
    assert gradcheck(pb.corrcoef, (leaf(DATA),))


def test_mode_is_the_smallest_of_the_most_frequent_values():
    values, places = pb.mode(pb.tensor([[3.0, 1.0, 3.0, 1.0], [2.0, 2.0, 5.0, 7.0]]))
    assert_close(values, [1.0, 2.0])
    assert_close(places, [3, 1])


def test_standardize_has_mean_zero_and_variance_one():
    out = pb.standardize(DATA, epsilon=0.0)
    assert_close(out.mean(-1), np.zeros(3), atol=1e-12)
    assert_close(out.var(-1), np.ones(3))


def test_numpy_functions_on_tensors_come_here():
    x = leaf(HOLES)
    np.nanmax(x, axis=0).sum().backward()
    assert x.grad is not None
    assert_close(np.cov(pb.tensor(DATA), ddof=0), np.cov(DATA, ddof=0))


def test_what_numpy_refuses_of_axes_and_weights_is_refused():
    for call in (
        lambda space: space.cov(np.arange(5.0), aweights=-np.ones(5)),
        lambda space: space.flipud(np.array(1.0)),
        lambda space: space.gradient(np.ones((3, 3)), 0.1, axis=(1, -1)),
    ):
        for namespace in (np, pb):
            with pytest.raises(ValueError):
                call(namespace)


@pytest.mark.parametrize("values", [[3, 5], [4, 4], [True, False]])
@pytest.mark.parametrize("function", [np.nanvar, np.nanstd])
def test_deviations_of_whole_numbers_without_freedom_are_what_numpy_gives(function, values):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(function(pb.tensor(values), ddof=2).numpy(), function(np.array(values), ddof=2))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ddof", [1, 3, 4, 6])
@pytest.mark.parametrize("weights", ["fweights", "aweights", "both"])
def test_a_weighted_covariance_never_has_negative_freedom(weights, ddof):
    x = np.random.default_rng(0).normal(size=(2, 3))
    given = {"fweights": np.array([1, 2, 1]), "aweights": np.array([1.0, 2.0, 0.5])}
    given = given if weights == "both" else {weights: given[weights]}
    assert_close(pb.cov(pb.tensor(x), ddof=ddof, **given), np.cov(x, ddof=ddof, **given))
