"""Gamma numbers: their implicit derivatives, and the distributions that are made of them."""

import math

import numpy as np
import pytest
from scipy import special, stats

import pullback as pb
from pullback.operators.random.gamma import gamma_path, polygamma
from pullback.testing import assert_close

random = pb.random
SHAPES = [0.02, 0.3, 0.9, 1.0, 1.7, 6.0, 45.0, 800.0]
PROBABILITIES = np.array([1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6])


def slope_of_distribution(distribution, a, step):
    """The derivative by a parameter, from differences of sixth order."""
    up = [distribution(a + k * step) - distribution(a - k * step) for k in (1, 2, 3)]
    return (45 * up[0] - 9 * up[1] + up[2]) / (60 * step)


def implicit_slope(a, z):
    """`-(dP/da) / density` from SciPy, on the side of the distribution where it is small."""
    step = 1e-3 * min(1.0, a) if a < 20 else 1e-2 * math.sqrt(a)
    below = slope_of_distribution(lambda s: special.gammainc(s, z), a, step)
    above = -slope_of_distribution(lambda s: special.gammaincc(s, z), a, step)
    derivative = np.where(special.gammainc(a, z) < 0.5, below, above)
    return -derivative / np.exp(special.xlogy(a - 1, z) - z - special.gammaln(a))


@pytest.mark.parametrize("a", SHAPES)
def test_the_path_is_minus_the_slope_of_the_distribution_over_the_density(a):
    z = special.gammaincinv(a, PROBABILITIES)
    z = z[z > 1e-280]
    slopes = np.asarray(gamma_path(np.full(z.shape, a), np.log(z), order=1)) * z
    assert_close(slopes, implicit_slope(a, z), rtol=2e-8, atol=0)


def test_the_path_of_a_tiny_number_is_that_of_a_power():
    a, w = np.array([1e-4, 0.01, 0.3]), np.array([-5000.0, -900.0, -200.0])
    assert_close(gamma_path(a, w, order=1), (special.digamma(a + 1) - w) / a, rtol=1e-13)


def test_polygamma_functions_are_scipys():
    x = np.geomspace(1e-3, 1e6, 60)
    assert_close(polygamma(x, order=-1), special.gammaln(x), rtol=1e-13, atol=1e-14)
    for order in range(4):
        assert_close(polygamma(x, order=order), special.polygamma(order, x), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["standard_gamma", "loggamma", "gamma", "chisquare"])
def test_gradients_are_those_of_quantiles(name):
    a = pb.tensor([0.3, 1.0, 2.5, 30.0], requires_grad=True)
    drawn = getattr(random, name)(a, generator=random.Generator(4))
    x = drawn.detach().numpy()
    (got,) = pb.autograd.grad(drawn.sum(), a)
    half = a.detach().numpy() / (2 if name == "chisquare" else 1)
    z = {"loggamma": np.exp(x), "chisquare": x / 2}.get(name, x)
    expected = np.array([implicit_slope(shape, number) for shape, number in zip(half, z, strict=True)])
    assert_close(got, expected / z if name == "loggamma" else expected, rtol=1e-7)


def test_gamma_numbers_scale():
    shape, scale = pb.tensor([1.5, 4.0], requires_grad=True), pb.tensor(3.0, requires_grad=True)
    drawn = random.gamma(shape, scale, generator=random.Generator(4))
    plain = random.standard_gamma(shape.detach(), generator=random.Generator(4))
    assert_close(drawn, 3 * plain.numpy())
    assert_close(pb.autograd.grad(drawn.sum(), scale)[0], plain.numpy().sum())


def test_the_derivative_of_the_derivative():
    """Along the path, `d2z/da2` is the derivative of the slope as a function of shape and number."""
    a = pb.tensor([0.4, 2.0, 9.0], requires_grad=True)
    z = random.standard_gamma(a, generator=random.Generator(8))
    (first,) = pb.autograd.grad(z.sum(), a, create_graph=True)
    (second,) = pb.autograd.grad(first.sum(), a)
    at, number, slope = a.detach().numpy(), z.detach().numpy(), first.detach().numpy()
    step = 1e-5

    def slopes(sign):
        moved = number + sign * step * slope + step**2 * second.numpy() / 2
        return np.asarray(gamma_path(at + sign * step, np.log(moved), order=1)) * moved

    assert_close(second, (slopes(1) - slopes(-1)) / (2 * step), rtol=1e-6)


def test_numbers_of_small_shapes_have_logarithms():
    a = pb.full((2000,), 1e-3, requires_grad=True)
    assert np.any(random.standard_gamma(a, generator=random.Generator(1)).detach().numpy() == 0)
    drawn = random.loggamma(a, generator=random.Generator(1))
    logs = drawn.detach().numpy()
    assert np.all(np.isfinite(logs)) and logs.min() < -2000
    # `number ** a` is nearly uniform.
    assert stats.kstest(np.exp(1e-3 * logs), "uniform").pvalue > 1e-3
    (gradient,) = pb.autograd.grad(drawn.sum(), a)
    small = logs < -20
    assert_close(gradient.numpy()[small], (special.digamma(1.001) - logs[small]) / 1e-3, rtol=1e-8)


def test_a_number_that_is_zero_does_not_move():
    a = pb.tensor([0.0, 1e-5, 2.0], requires_grad=True)
    drawn = random.standard_gamma(a, generator=random.Generator(0))
    assert drawn.tolist()[:2] == [0.0, 0.0]
    gradient = pb.autograd.grad(drawn.sum(), a)[0].tolist()
    assert gradient[:2] == [0.0, 0.0] and gradient[2] > 0


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("standard_gamma", (0.4,)), ("gamma", (2.5, 3.0)), ("chisquare", (3.0,)), ("beta", (2.0, 0.5)),
        ("f", (3.0, 4.0)), ("dirichlet", ([1.0, 2.0, 0.5],)), ("noncentral_chisquare", (3.0, 2.0)),
        ("noncentral_chisquare", (0.5, 2.0)), ("wald", (1.5, 2.0)),
    ],
)  # fmt: skip
def test_a_seed_gives_numpys_stream(name, parameters):
    generator, numpys = random.Generator(5), np.random.default_rng(5)
    drawn = getattr(generator, name)(*parameters, size=(3, 4))
    assert_close(drawn, getattr(numpys, name)(*parameters, size=(3, 4)), rtol=1e-14)
    assert generator.random().item() == numpys.random()
    single, other = random.Generator(7).standard_t(3.0), np.random.default_rng(7).standard_t(3.0)
    assert_close(single, other, rtol=1e-14)


@pytest.mark.parametrize(
    "name, parameters, distribution",
    [
        ("beta", (0.3, 0.6), stats.beta(0.3, 0.6)), ("beta", (3.0, 2.0), stats.beta(3.0, 2.0)),
        ("f", (3.0, 5.0), stats.f(3.0, 5.0)), ("standard_t", (2.5,), stats.t(2.5)),
        ("loggamma", (0.7,), stats.loggamma(0.7)),
    ],
)  # fmt: skip
def test_the_distributions_are_the_right_ones(name, parameters, distribution):
    drawn = getattr(random, name)(*parameters, size=20_000, generator=random.Generator(2)).numpy()
    assert stats.kstest(drawn, distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "name, parameters, moment, expected",
    [
        ("gamma", (0.3, 3.0), lambda x: x.log(), (special.polygamma(1, 0.3), 1 / 3)),
        ("beta", (2.0, 0.5), lambda x: x, (0.08, -0.32)),
        ("f", (3.0, 14.0), lambda x: x, (0.0, -2 / 144)),
        ("standard_t", (8.0,), lambda x: x * x, (-2 / 36,)),
        ("chisquare", (3.0,), lambda x: x * x, (8.0,)),
        ("noncentral_chisquare", (0.5, 2.0), lambda x: x, (1.0, 1.0)),
        ("wald", (1.5, 2.0), lambda x: x, (1.0, 0.0)),
        ("wald", (1.5, 2.0), lambda x: x * x, (6.375, -0.84375)),
    ],
)  # fmt: skip
def test_gradients_of_means_are_unbiased(name, parameters, moment, expected):
    leaves = [pb.full((5_000,), value, requires_grad=True) for value in parameters]
    sample = getattr(random, name)(*leaves, generator=random.Generator(3))
    for gradient, value in zip(pb.autograd.grad(moment(sample).sum(), leaves), expected, strict=True):
        each = gradient.numpy()
        assert abs(each.mean() - value) < 5 * each.std() / math.sqrt(each.size) + 1e-12


def test_dirichlet_probabilities_sum_to_one_and_so_their_gradient_is_zero():
    alpha = pb.tensor([[0.01, 0.02, 3.0], [1.0, 2.0, 3.0]], requires_grad=True)
    drawn = random.dirichlet(alpha, (4, 2), generator=random.Generator(1))
    assert drawn.shape == (4, 2, 3)
    assert_close(drawn.sum(axis=-1), np.ones((4, 2)))
    assert_close(pb.autograd.grad(drawn.sum(), alpha)[0], np.zeros((2, 3)), atol=1e-12)
    many = pb.full((20_000, 2), 1.5, requires_grad=True)
    (gradient,) = pb.autograd.grad(random.dirichlet(many, generator=random.Generator(1))[:, 0].sum(), many)
    assert_close(gradient.numpy().mean(axis=0), [1.5 / 9, -1.5 / 9], rtol=0.02)  # b / (a + b)**2


@pytest.mark.parametrize(
    "df, nonc, probability", [(0.5, 2.0, 0.3), (1.0, 50.0, 0.2), (3.0, 190.0, 0.9), (9.0, 0.0, 0.6)]
)
def test_noncentral_numbers_move_as_their_distribution_says(df, nonc, probability):
    x = stats.ncx2.ppf(probability, df, nonc) if nonc else stats.chi2.ppf(probability, df)

    class Fixed:
        def noncentral_chisquare(self, df, nonc, size):
            return np.full(size, x)

    leaves = pb.tensor(df, requires_grad=True), pb.tensor(nonc, requires_grad=True)
    by_df, by_nonc = pb.autograd.grad(random.noncentral_chisquare(*leaves, generator=Fixed()), leaves)
    density = stats.ncx2.pdf(x, df, nonc) if nonc else stats.chi2.pdf(x, df)
    expected = -slope_of_distribution(lambda d: special.chndtr(x, d, nonc), df, 2e-2 * min(df, 1)) / density
    assert_close(by_df, expected, rtol=1e-6)
    # The slope by nonc is known: minus the density of two more degrees of freedom.
    further = stats.ncx2.pdf(x, df + 2, nonc) if nonc else stats.chi2.pdf(x, df + 2)
    assert_close(by_nonc, further / density, rtol=1e-9)


def test_the_second_derivative_at_nonc_zero_is_finite():
    """x moves by `z / (df / 2)` times 2, and the chance of k = 1 begins to count."""

    class Fixed:
        def noncentral_chisquare(self, df, nonc, size):
            return np.full(size, 3.0)

    nonc = pb.tensor(0.0, requires_grad=True)
    x = random.noncentral_chisquare(4.0, nonc, generator=Fixed())
    (first,) = pb.autograd.grad(x, nonc, create_graph=True)
    (second,) = pb.autograd.grad(first, nonc)
    z, a = 1.5, 2.0
    assert_close(first, z / a)
    # d/dnonc of the mean over k: p(1)' * (z / (a + 1) - z / a), with p(1)' = z / (2 a), and dz/dnonc / a.
    assert_close(second, z / (2 * a) * (z / (a + 1) - z / a) + (z / a) / 2 / a, rtol=1e-12)


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("standard_gamma", (-1.0,)), ("gamma", (1.0, -1.0)), ("loggamma", (0.0,)), ("chisquare", (0.0,)),
        ("beta", (1.0, -2.0)), ("f", (0.0, 1.0)), ("standard_t", (-1.0,)), ("dirichlet", ([1.0, 0.0],)),
        ("noncentral_chisquare", (-1.0, 1.0)), ("noncentral_chisquare", (1.0, -1.0)), ("wald", (0.0, 1.0)),
    ],
)  # fmt: skip
def test_parameters_outside_the_domain_are_named(name, parameters):
    with pytest.raises(ValueError, match=rf"{name}: \w+ must .*, but it is .*: .*; "):
        getattr(random, name)(*parameters)


def test_single_precision_stays():
    a = pb.tensor([1.0, 2.0], dtype=pb.float32, requires_grad=True)
    for name in ("standard_gamma", "loggamma", "chisquare", "standard_t", "dirichlet"):
        drawn = getattr(random, name)(a, generator=random.Generator(1))
        assert drawn.dtype == pb.float32
        assert pb.autograd.grad(drawn.sum(), a)[0].dtype == pb.float32
    for name in ("gamma", "beta", "f", "wald", "noncentral_chisquare"):
        assert getattr(random, name)(a, 2.0, generator=random.Generator(1)).dtype == pb.float32
        assert getattr(random, name)(1.0, 2.0, 3, dtype=pb.float32).dtype == pb.float32
    numpys = np.random.default_rng(1).standard_gamma(2.0, 3, dtype=np.float32)
    assert random.Generator(1).standard_gamma(2.0, 3, dtype=pb.float32).tolist() == numpys.tolist()
