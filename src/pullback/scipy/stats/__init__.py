"""`scipy.stats` with derivatives: distributions by argument and parameters, statistics and tests by their data."""

from pullback.scipy import _replay, _surface
from pullback.scipy.stats import _continuous, _discrete, _kernels, _multivariate, _variables


def _stand_in(value: object) -> object:
    """What stands for a distribution of SciPy's; None for other things."""
    kind = type(value).__name__
    if kind in ("rv_continuous_frozen", "rv_discrete_frozen"):
        made = _continuous.Distribution if kind == "rv_continuous_frozen" else _discrete.DiscreteDistribution
        return made(value.dist, value.args, value.kwds)  # type: ignore[attr-defined]
    if hasattr(value, "_get_support") and hasattr(value, "shapes"):
        return (_continuous.Distribution if hasattr(value, "_logpdf") else _discrete.DiscreteDistribution)(value)
    name = kind.removesuffix("_gen")
    if name in _multivariate.ACCEPTED and kind.endswith("_gen"):
        return _multivariate.Multivariate(value, name)
    return _kernels.from_scipy(value) if kind == "gaussian_kde" else None


for _name in _surface.public_names("stats"):
    _made = _stand_in(getattr(_surface.scipy_module("stats"), _name, None))
    if _made is not None:
        _by = "parameters" if isinstance(_made, _discrete.DiscreteDistribution) else "argument, shapes, loc, scale"
        _surface.declare_as(f"stats.{_name}", _made, kind="C", by=_by)  # type: ignore[arg-type]
_surface.declare_as("stats.gaussian_kde", _kernels.gaussian_kde, kind="C", by="points, dataset, weights, bw_method")

for _name in _variables.KNOWN:
    _theirs = getattr(_surface.scipy_module("stats"), _name.removeprefix("stats."), None)
    if _theirs is not None:  # an older SciPy has neither these nor what follows
        _surface.declare_as(_name, _variables.of_class(_name, _theirs), kind="C", by="argument, parameters")
        _surface.declare_as(
            "stats.make_distribution", _variables.make_distribution, kind="C", by="argument, shapes of what it makes"
        )

_replay.declare_replayed(
    "stats",
    "bartlett bayes_mvs binned_statistic boxcox_llf chi2_contingency chisquare circmean circstd circvar "
    "combine_pvalues describe differential_entropy energy_distance entropy epps_singleton_2samp expectile f_oneway "
    "false_discovery_control gmean gstd gzscore hmean iqr jarque_bera kstat kstatvar kurtosis kurtosistest levene "
    "linregress lmoment "
    "median_abs_deviation moment normaltest obrientransform pearsonr pmean pointbiserialr power_divergence probplot "
    "quantile scoreatpercentile sem sigmaclip skew skewtest theilslopes tmax tmean tmin trim1 trim_mean trimboth tsem "
    "tstd ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel tvar variation wasserstein_distance yeojohnson_llf zmap "
    "zscore boxcox yeojohnson cumfreq relfreq ecdf",
    by="data, weights",
)
_surface.constant(*(f"stats.{_name}" for _name in (
    "anderson_ksamp", "ansari", "brunnermunzel", "bws_test", "chatterjeexi", "cramervonmises_2samp", "fligner",
    "friedmanchisquare", "kendalltau", "kruskal", "ks_2samp", "mannwhitneyu", "median_test", "mode", "mood",
    "page_trend_test", "percentileofscore", "rankdata", "ranksums", "somersd", "spearmanr", "spearmanrho", "tiecorrect",
    "weightedtau", "wilcoxon",
)))  # fmt: skip
_surface.refuse("it draws samples again and again, and counts", *(f"stats.{_name}" for _name in (
    "bootstrap", "goodness_of_fit", "monte_carlo_test", "multiscale_graphcorr", "permutation_test",
)))  # fmt: skip
_surface.refuse("its statistic moves with the data, but the distribution of that has no derivative here", *(
    f"stats.{_name}" for _name in ("anderson", "cramervonmises", "ks_1samp", "kstest")
))  # fmt: skip
_surface.refuse("it counts", *(f"stats.{_name}" for _name in (
    "barnard_exact", "binomtest", "boschloo_exact", "fisher_exact", "logrank", "poisson_means_test", "quantile_test",
)))  # fmt: skip

__getattr__, __dir__ = _surface.attach(globals())

# `Uniform` and `Logistic` would have the pages of `uniform` and `logistic` on systems that ignore case.
__all__ = [_name for _name in _surface.declared_names("stats") if _name not in ("Uniform", "Logistic")]
