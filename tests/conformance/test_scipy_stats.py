"""Conformance cases 142 to 155: distributions and statistics."""

import numpy as np
import pytest
import scipy.stats

import pullback as pb
from pullback.scipy import stats as st

from .scipy_cases import agrees, d, gc, gg, leaf, refused

DATA = np.array([0.4, 1.3, 0.8, 2.1, 1.7, 0.6, 1.1])


def test_142_the_normal_density():
    x, loc, scale = 0.7, 0.2, 1.3
    z = (x - loc) / scale
    np.testing.assert_allclose(d(st.norm.logpdf, x, loc, scale), [-z / scale, z / scale, (z * z - 1) / scale])
    assert d(lambda s: st.norm(loc, s).logpdf(x), scale) == pytest.approx((z * z - 1) / scale)
    gc(st.norm.logpdf, DATA, [[0.1], [0.2]], 1.3)
    gg(st.norm.logpdf, x, loc, scale)


def test_143_no_distribution_is_silent():
    for name in scipy.stats._continuous_distns._distn_names:
        law = getattr(scipy.stats, name)
        shapes = dict(scipy.stats._distr_params.distcont).get(name) if hasattr(scipy.stats, "_distr_params") else None
        if shapes is None:
            shapes = () if not law.numargs else None
        if shapes is None:
            continue
        x = leaf(float(law.median(*shapes)))
        try:
            out = getattr(st, name).logpdf(x, *shapes)
        except pb.AutogradError as error:
            assert error.code == "SCIPY_NO_RULE", name
            continue
        assert out.requires_grad or name in ("uniform", "trapezoid"), name  # which are constant there


@pytest.mark.parametrize("function, at, expected", [
    (lambda a: st.gamma.logpdf(1.5, a=a), 2.0, -0.017319227),
    (lambda df: st.t.cdf(0.7, df), 3.0, 0.007706673),
    (lambda a: st.beta.cdf(0.3, a, 3.0), 2.0, -0.246093728),
    (lambda k: st.vonmises.cdf(0.5, k), 2.0, 0.062809700),
    (lambda a: st.skewnorm.cdf(0.5, a), 2.0, -0.034075801),
    (lambda a: st.gamma.ppf(0.3, a), 2.0, 0.790805643),
    (lambda b: st.beta.ppf(0.3, 2.0, b), 3.0, -0.067992570),
    (lambda q: st.norm.ppf(q), 0.3, 1 / scipy.stats.norm.pdf(scipy.stats.norm.ppf(0.3))),
    (lambda q: st.norm.isf(q), 0.3, -1 / scipy.stats.norm.pdf(scipy.stats.norm.isf(0.3))),
    (lambda a: st.truncnorm.logpdf(0.3, a, 2.0), -1.0, 0.295592862),
    (lambda x: st.norm.logcdf(x), -40.0, 40.024968847),
    (lambda x: st.dgamma.cdf(x, 1.1), -0.5, scipy.stats.dgamma.pdf(-0.5, 1.1)),
    (lambda mu: st.poisson.cdf(3, mu), 2.0, -0.180447044),
    (lambda p: st.binom.logpmf(3, 10, p), 0.4, -25 / 6),
])  # fmt: skip
def test_144_to_148_known_derivatives(function, at, expected):
    assert d(function, at) == pytest.approx(expected, rel=1e-6)


def test_147_outside_and_illegal():
    out = st.uniform.logpdf(x := leaf(2.0))
    assert out.item() == -np.inf
    assert pb.autograd.grad(out, [x], allow_unused=True, materialize_grads=True)[0].item() == 0.0
    assert np.isnan(st.norm.logpdf(0.3, 0.0, leaf(-1.0)).item())


def test_148_outcomes_have_no_derivative():
    with refused("SCIPY_DISCRETE_ARG", "SCIPY_NO_RULE"):
        st.poisson.logpmf(leaf(3.0), 2.0)


def test_149_vectors():
    x, mean, cov = np.array([0.3, 0.9]), np.array([0.1, 0.2]), np.array([[2.0, 0.3], [0.3, 1.0]])
    gc(lambda x, m, c: st.multivariate_normal.logpdf(x, m, (c + c.T) / 2), x, mean, cov)
    gg(lambda x, m: st.multivariate_normal.logpdf(x, mean=m, cov=cov), x, mean)
    gc(lambda x, m: st.multivariate_t.logpdf(x, m, cov, df=3), x, mean)
    gc(lambda a: st.dirichlet.logpdf(np.array([0.2, 0.5, 0.3]), a), [1.5, 2.0, 3.0])


def test_150_draws():
    scale = leaf(1.3)
    drawn = st.norm.rvs(0.5, scale, size=4, random_state=0)
    np.testing.assert_allclose(drawn.detach().numpy(), scipy.stats.norm.rvs(0.5, 1.3, size=4, random_state=0))
    (found,) = pb.autograd.grad(drawn[0], [scale])
    assert found.item() == pytest.approx((drawn[0].item() - 0.5) / 1.3)


def test_151_fits():
    agrees(lambda x: pb.asarray(st.norm.fit(x)[1]), DATA, 1e-6)
    agrees(lambda x: pb.asarray(st.gamma.fit(x, floc=0)[0]), DATA, 1e-3, step=1e-3)


def test_152_kernel_estimates():
    gc(lambda x, p: st.gaussian_kde(x)(p), DATA, [0.5, 1.5])
    gc(lambda w: st.gaussian_kde(DATA, weights=w)([0.5]), np.linspace(1, 2, 7))


@pytest.mark.parametrize("name", ["skew", "kurtosis", "gmean", "hmean", "zscore", "sem", "iqr", "median_abs_deviation",
                                  "circmean", "entropy"])  # fmt: skip
def test_153_summaries(name):
    gc(getattr(st, name), DATA)


def test_153_tests_and_ranks():
    other = np.linspace(0, 1, 7) ** 2
    gc(lambda x: st.trim_mean(x, 0.2), DATA)
    gc(lambda x: st.pearsonr(x, other).statistic, DATA)
    gc(lambda x: st.linregress(other, x).slope, DATA)
    gc(lambda x: st.ttest_1samp(x, 0.5).pvalue, DATA)
    assert not st.rankdata(leaf(DATA)).requires_grad
    assert not st.spearmanr(leaf(DATA), other).statistic.requires_grad


def test_154_distances():
    assert d(lambda x: st.wasserstein_distance(pb.stack([0 * x, 0 * x + 1, x]), [5.0, 6.0, 8.0]), 3.0) == pytest.approx(
        -1 / 3
    )
    with refused("SCIPY_NO_RULE"):
        d(lambda x: st.boxcox(x)[1], DATA)
    gc(lambda x: st.boxcox(x, lmbda=0.3), DATA)


def test_155_resampling_is_refused():
    with refused("SCIPY_NO_RULE"):
        st.bootstrap((leaf(DATA),), np.mean)
