"""Continuous distributions: derivatives by argument, shapes, place and scale."""

import numpy as np
import pytest
import scipy.stats
from scipy.stats import norm, weibull_min

import pullback as pb
from pullback.func import grad
from pullback.scipy.stats import _continuous

stats = pb.scipy.stats
SHAPES = {
    "alpha": (3.6,), "argus": (1.0,), "beta": (2.3, 0.6), "betaprime": (5.0, 6.0), "bradford": (0.3,),
    "burr": (10.5, 4.3), "burr12": (10.0, 4.0), "chi": (78.0,), "chi2": (5.0,), "crystalball": (2.0, 3.0),
    "erlang": (2.0,),
    "exponnorm": (1.5,), "exponpow": (2.7,), "exponweib": (2.9, 1.95), "f": (29.0, 18.0), "fatiguelife": (29.0,),
    "fisk": (3.1,), "foldcauchy": (4.7,), "foldnorm": (1.95,), "gamma": (2.0,), "genexpon": (9.1, 16.2, 3.3),
    "genextreme": (-0.1,), "gengamma": (4.4, 3.1), "genlogistic": (0.4,), "gennorm": (1.3,), "genpareto": (0.1,),
    "gompertz": (0.95,), "halfgennorm": (0.7,), "invgamma": (4.1,), "invgauss": (0.15,), "invweibull": (10.6,),
    "jf_skew_t": (8.0, 4.0), "johnsonsb": (4.3, 3.2), "johnsonsu": (2.6, 2.3), "kappa3": (1.0,), "loggamma": (0.4,),
    "lognorm": (0.95,), "loguniform": (0.01, 1.25), "lomax": (1.9,), "mielke": (10.4, 4.6), "nakagami": (5.0,),
    "norminvgauss": (1.25, 0.5), "pareto": (2.6,), "powerlaw": (1.7,), "powerlognorm": (2.1, 0.4), "powernorm": (4.5,),
    "rdist": (1.6,), "recipinvgauss": (0.6,), "reciprocal": (0.01, 1.25), "rel_breitwigner": (36.5,), "rice": (0.8,),
    "skewcauchy": (0.5,), "skewnorm": (4.0,), "t": (2.7,), "truncexpon": (4.7,), "truncweibull_min": (2.5, 0.25, 1.75),
    "vonmises": (4.0,), "vonmises_line": (4.0,), "weibull_max": (2.9,), "weibull_min": (1.8,), "wrapcauchy": (0.03,),
    "truncnorm": (-1.0, 2.0), "triang": (0.4,), "laplace_asymmetric": (2.0,), "dweibull": (2.1,), "dgamma": (1.1,),
    "dpareto_lognorm": (3.0, 1.2, 1.5, 2.0), "genhalflogistic": (0.77,), "loglaplace": (3.25,), "trapezoid": (0.2, 0.8),
    "truncpareto": (1.8, 5.3),
}  # fmt: skip
KNOWN = _continuous.ACCEPTED | _continuous.REPLAYED | _continuous.OWN.keys()


def leaf(value):
    return pb.tensor(value, requires_grad=True)


@pytest.mark.filterwarnings("ignore:The shape parameter of the erlang")
@pytest.mark.parametrize("name", sorted(KNOWN))
def test_densities_by_argument_and_all_parameters(name):
    plain, ours = getattr(scipy.stats, name), getattr(stats, name)
    shapes = SHAPES.get(name, ())
    for q in (0.23, 0.61, 0.84):
        at = [float(plain.ppf(q, *shapes, loc=0.2, scale=1.3)), *shapes, 0.2, 1.3]
        inputs = [leaf(value) for value in at]
        out = ours.logpdf(*inputs)
        np.testing.assert_allclose(out.item(), plain.logpdf(*at), rtol=1e-9, atol=1e-10)
        found = pb.autograd.grad(out, inputs, allow_unused=True) if out.requires_grad else [None] * len(at)
        for k, value in enumerate(at):
            step = 1e-6 * max(1.0, abs(value))
            ends = [plain.logpdf(*(v + sign * step * (j == k) for j, v in enumerate(at))) for sign in (1, -1)]
            numerical = (ends[0] - ends[1]) / (2 * step)
            if np.isfinite(numerical):
                slope = 0.0 if found[k] is None else found[k].item()
                np.testing.assert_allclose(slope, numerical, rtol=3e-4, atol=2e-5)


def test_every_continuous_distribution_is_right_or_refused():
    for name in dir(scipy.stats):
        value = getattr(scipy.stats, name)
        if isinstance(value, scipy.stats.rv_continuous) and name not in KNOWN:
            shapes = [1.5] * value.numargs
            with pytest.raises(pb.AutogradError) as raised:
                getattr(stats, name).logpdf(leaf(0.5), *shapes)
            assert raised.value.code == "SCIPY_NO_RULE"


@pytest.mark.parametrize(
    "function, at, expected",
    [
        (lambda a: stats.gamma.logpdf(1.5, a), 2.0, -0.017319227),
        (lambda df: stats.t.cdf(0.7, df), 3.0, 0.007706673),
        (lambda a: stats.beta.cdf(0.3, a, 3.0), 2.0, -0.246093728),
        (lambda kappa: stats.vonmises.cdf(0.5, kappa), 2.0, 0.062809700),
        (lambda a: stats.skewnorm.cdf(0.5, a), 2.0, -0.034075801),
        (lambda a: stats.gamma.ppf(0.3, a), 2.0, 0.790805643),
        (lambda b: stats.beta.ppf(0.3, 2.0, b), 3.0, -0.067992570),
        (lambda a: stats.truncnorm.logpdf(0.3, a, 2.0), -1.0, 0.295592862),
        (lambda x: stats.norm.logcdf(x), -40.0, 40.024968847),
        (lambda x: stats.dgamma.cdf(x, 1.1), -0.5, 0.297426109),
        (lambda q: stats.norm.ppf(q), 0.3, 2.876103659),
        (lambda q: stats.norm.isf(q), 0.3, -2.876103659),
        (lambda x: stats.uniform.logpdf(x), 3.0, 0.0),
    ],
)
def test_known_derivatives(function, at, expected):
    assert grad(function)(pb.tensor(at)).item() == pytest.approx(expected, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("truncnorm", (0.1, 2.0)), ("loguniform", (0.2, 1.25)), ("truncexpon", (4.7,)),
     ("truncweibull_min", (2.5, 0.25, 1.75)), ("foldcauchy", (4.7,)), ("invweibull", (10.6,)),
     ("genpareto", (-0.3,)), ("genextreme", (0.2,))],
)  # fmt: skip
@pytest.mark.parametrize("q", [0.2, 0.7])
@pytest.mark.parametrize("member", ["cdf", "logsf", "ppf"])
def test_probabilities_by_shapes_with_ends_that_move_and_long_tails(name, shapes, q, member):
    real, ours = getattr(scipy.stats, name), getattr(stats, name)
    at = np.array([q if member == "ppf" else real.ppf(q, *shapes), *shapes])
    found = grad(lambda p: getattr(ours, member)(*p))(pb.tensor(at)).numpy()
    value = lambda p: float(getattr(real, member)(*p))
    slopes = [(value(at + step) - value(at - step)) / 2e-5 for step in 1e-5 * np.eye(len(at))]
    np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-8)


SECOND = {  # ends that move, places where the density has a kink, formulas with poles at the ends of the support
    "t": (3.0,), "genextreme": (-0.1,), "johnsonsb": (4.3, 3.2), "triang": (0.16,), "truncnorm": (-1.1, 2.7),
    "loguniform": (0.01, 1.25), "crystalball": (2.0, 3.0), "invweibull": (10.6,), "truncweibull_min": (2.5, 0.25, 1.75),
}  # fmt: skip


# Shapes at which a factor or an exponent of the density is 0, and those for which SciPy has a case of its own.
SPECIAL = {
    "gamma": (1.0,), "beta": (1.0, 1.0), "weibull_min": (1.0,), "chi2": (2.0,), "exponweib": (1.0, 1.0),
    "loglaplace": (1.0,), "genextreme": (0.0,), "genpareto": (0.0,), "skewnorm": (0.0,), "gennorm": (2.0,),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_derivatives_at_shapes_that_are_special(name):
    real, ours = getattr(scipy.stats, name), getattr(stats, name)
    at = np.array([real.ppf(0.37, *SPECIAL[name]), *SPECIAL[name]])
    for member in ("logpdf", "cdf") if name not in ("beta", "skewnorm") else ("logpdf",):
        function = lambda p, member=member: getattr(ours, member)(*p)
        values = lambda p, member=member: float(getattr(real, member)(*p))
        steps = 1e-3 * np.eye(len(at))

        def slopes(f, steps=steps):
            return np.array([(f(at - 2 * e) - 8 * f(at - e) + 8 * f(at + e) - f(at + 2 * e)) / 12e-3 for e in steps])

        np.testing.assert_allclose(grad(function)(pb.tensor(at)).numpy(), slopes(values), rtol=1e-6, atol=1e-6)
        second = slopes(lambda p, function=function: grad(function)(pb.tensor(p)).numpy())
        np.testing.assert_allclose(pb.func.jacrev(grad(function))(pb.tensor(at)).numpy(), second, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("member", ["logpdf", "cdf", "logsf", "ppf"])
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_by_argument_and_shapes(name, member):
    shapes = SECOND[name]
    real, ours = getattr(scipy.stats, name), getattr(stats, name)
    function = lambda p: getattr(ours, member)(*p)
    at = np.array([0.3 if member == "ppf" else real.ppf(0.3, *shapes), *shapes])
    steps = 1e-5 * np.diag(np.abs(at))
    rows = [(grad(function)(pb.tensor(at + e)) - grad(function)(pb.tensor(at - e))).numpy() / (2 * e.max())
            for e in steps]  # fmt: skip
    assert np.abs(rows).max() > 1e-3
    tolerance = {"rtol": 1e-4, "atol": 1e-5 * (1 + np.abs(rows).max())}
    np.testing.assert_allclose(pb.func.jacrev(grad(function))(pb.tensor(at)).numpy(), rows, **tolerance)
    np.testing.assert_allclose(pb.func.jacfwd(grad(function))(pb.tensor(at)).numpy(), rows, **tolerance)


def test_place_and_scale_in_both_modes_and_second_order():
    inputs = leaf([0.3, -1.2]), leaf(0.1), leaf(1.5)
    for name in ("logpdf", "cdf", "logsf"):
        function = lambda x, loc, scale, name=name: getattr(stats.norm, name)(x, loc=loc, scale=scale)
        assert pb.autograd.gradcheck(function, inputs, check_forward_ad=True)
        assert pb.autograd.gradgradcheck(function, inputs)
    frozen = lambda x, loc, scale: stats.norm(loc, scale).sf(x)
    assert pb.autograd.gradcheck(frozen, inputs)


def test_outside_of_the_support_and_illegal_parameters():
    x = leaf(-1.0)
    out = stats.expon.logpdf(x)
    out.backward()
    assert (out.item(), x.grad.item()) == (-np.inf, 0.0)
    assert np.isnan(stats.norm.logpdf(leaf(1.0), 0.0, -1.0).item())
    assert np.isnan(stats.gamma.pdf(leaf(1.0), -2.0).item())


def test_the_rest_is_scipys_and_refuses_derivatives():
    assert stats.norm.rvs(loc=0.5, random_state=0) == scipy.stats.norm.rvs(loc=0.5, random_state=0)
    with pytest.raises(pb.AutogradError) as raised:
        stats.norm.stats(loc=leaf(0.5))
    assert raised.value.code == "SCIPY_NO_RULE"
    with pytest.raises(TypeError, match="missing"):
        stats.gamma.logpdf(leaf(1.0))


LOG_DENSITY = weibull_min.logpdf
FROZEN = weibull_min(1.7, scale=2.0)


def likelihood(c):
    data = np.array([0.5, 1.2, 2.3])
    return weibull_min.logpdf(data, c).sum() + LOG_DENSITY(0.7, c) + FROZEN.cdf(c) + norm.cdf(c)


def test_an_adapted_program():
    step = 1e-5
    numerical = (likelihood(1.3 + step) - likelihood(1.3 - step)) / (2 * step)
    assert grad(pb.func.adapt(likelihood))(pb.tensor(1.3)).item() == pytest.approx(numerical, rel=1e-6)
