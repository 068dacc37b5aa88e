"""SciPy's newer distributions: values are SciPy's, derivatives by argument and parameters those of differences."""

import numpy as np
import pytest
import scipy.stats

import pullback as pb

stats = pb.scipy.stats
pytestmark = pytest.mark.skipif(not hasattr(scipy.stats, "Normal"), reason="an older SciPy has no such distributions")

AT = ("pdf", "logpdf", "cdf", "logcdf", "ccdf", "logccdf", "icdf", "iccdf")
OF = ("mean", "variance", "standard_deviation", "median", "entropy")
MADE = {
    "Normal": (lambda m, p: m.Normal(mu=p[1], sigma=p[2]), [0.4, 0.3, 1.2]),
    "Uniform": (lambda m, p: m.Uniform(a=p[1], b=p[2]), [0.4, -0.3, 1.2]),
    "gamma": (lambda m, p: m.make_distribution(m.gamma)(a=p[1]), [0.4, 2.3]),
    "moved": (lambda m, p: 2.0 * (m.Logistic() * p[1]) / 1.5 + p[2] - 0.1, [0.4, 1.3, 0.2]),
}


def check(call, at):
    at = np.array(at)
    p = pb.tensor(at, requires_grad=True)
    out = call(stats, p)
    assert out.item() == pytest.approx(float(call(scipy.stats, at)), rel=1e-9)
    slopes = [(call(scipy.stats, at + e) - call(scipy.stats, at - e)) / 2e-6 for e in 1e-6 * np.eye(len(at))]
    np.testing.assert_allclose(pb.autograd.grad(out, p)[0].numpy(), slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", MADE)
def test_members_by_argument_and_parameters(name):
    made, at = MADE[name]
    for member in AT:
        check(lambda m, p, member=member: getattr(made(m, p), member)(p[0]), at)
    for member in OF if name != "moved" else ():
        check(lambda m, p, member=member: getattr(made(m, p), member)() + 0 * p[0], at)


def test_between_two_places():
    check(lambda m, p: m.Normal(mu=p[0], sigma=p[1]).cdf(p[2], p[3]), [0.3, 1.2, -0.4, 0.9])
    check(lambda m, p: m.Normal(mu=p[0], sigma=p[1]).ccdf(p[2], p[3]), [0.3, 1.2, -0.4, 0.9])


def test_numbers_are_scipys_and_the_rest_is_refused():
    draws = stats.Normal(mu=1.0).sample(3, rng=np.random.default_rng(0)).numpy()
    np.testing.assert_array_equal(draws, scipy.stats.Normal(mu=1.0).sample(3, rng=np.random.default_rng(0)))
    variable = stats.Normal(mu=pb.tensor(1.0, requires_grad=True))
    for refused in (variable.skewness, lambda: variable * -1.0, lambda: variable.logcdf(0.1, 0.2)):
        with pytest.raises(pb.AutogradError) as caught:
            refused()
        assert caught.value.code == "SCIPY_NO_RULE"
    with pytest.raises(AttributeError):
        variable.nothing()


def test_in_every_mode():
    function = lambda mu: stats.Normal(mu=mu, sigma=2.0).logcdf(0.3)
    mu = pb.tensor(1.0, requires_grad=True)
    assert pb.autograd.gradgradcheck(function, [mu])
    np.testing.assert_allclose(pb.func.vmap(function)(pb.tensor([1.0, 2.0])).numpy()[0], function(mu).item())
    assert pb.compile(function)(mu).item() == pytest.approx(function(mu).item())
