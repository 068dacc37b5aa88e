"""Distributions that are functions of noise, discrete ones, and what all of them do with their parameters."""

import math

import numpy as np
import pytest
from scipy import special, stats

import pullback as pb
from pullback.operators.random.normal_tail import mills, truncated
from pullback.testing import assert_close

random = pb.random


def same_numbers(name, **options):
    """The sampler as a function of its parameters alone: it draws from the same stream again and again."""
    return lambda *values: getattr(random, name)(*values, size=(6,), generator=random.Generator(2), **options)


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("half_normal", (1.5,)), ("kumaraswamy", (0.7, 2.5)), ("triangular", (-1.0, 0.5, 2.0)),
        ("truncated_normal", (0.5, 2.0, -1.0, 3.0)), ("truncated_normal", (0.0, 1.0, 3.0, 9.0)),
    ],
)  # fmt: skip
def test_gradients_are_those_of_common_random_numbers(name, parameters):
    sample = same_numbers(name)
    leaves = [pb.tensor(p, requires_grad=True) for p in parameters]
    assert pb.autograd.gradcheck(sample, leaves)
    assert pb.autograd.gradgradcheck(sample, leaves)


@pytest.mark.parametrize(
    "name, parameters, distribution",
    [
        ("half_normal", (1.5,), stats.halfnorm(scale=1.5)),
        ("kumaraswamy", (0.7, 2.5), None),
        ("triangular", (-1.0, 0.5, 2.0), stats.triang(0.5, -1.0, 3.0)),
        ("truncated_normal", (0.5, 2.0, -1.0, 3.0), stats.truncnorm(-0.75, 1.25, 0.5, 2.0)),
        ("truncated_normal", (0.0, 1.0, 4.0, math.inf), stats.truncnorm(4.0, math.inf)),
        ("wald", (1.5, 2.0), stats.invgauss(0.75, scale=2.0)),
    ],
)  # fmt: skip
def test_the_distributions_are_the_right_ones(name, parameters, distribution):
    cdf = (lambda x: 1 - (1 - x**0.7) ** 2.5) if distribution is None else distribution.cdf
    drawn = getattr(random, name)(*parameters, size=20_000, generator=random.Generator(4)).numpy()
    assert stats.kstest(drawn, cdf).pvalue > 1e-3


@pytest.mark.parametrize(
    "low, high",
    [(-2, 2), (-1, 3), (0, 1), (5, 6), (10, math.inf), (-math.inf, -20), (-30, -29.9), (-9, 0.5), (-math.inf, 99)],
)
def test_truncated_quantiles_are_right_in_both_tails(low, high):
    u = np.array([1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999])
    found = truncated(np.asarray(float(low)), np.asarray(float(high)), u)
    assert_close(found, stats.truncnorm.ppf(u, low, high), rtol=1e-9)


def test_mills_ratio_is_accurate_everywhere():
    x = np.linspace(-20, 60, 501)
    assert_close(mills(x), math.sqrt(math.pi / 2) * special.erfcx(x / math.sqrt(2)), rtol=1e-12)


def test_the_mills_ratio_of_complex_numbers_is_refused():
    with pytest.raises(TypeError, match="real"):
        mills(pb.tensor(1.0 + 2.0j))


def test_infinite_bounds_have_no_gradient_and_spoil_none():
    loc, scale = pb.tensor(0.5, requires_grad=True), pb.tensor(2.0, requires_grad=True)
    low, high = pb.tensor([-math.inf, -1.0], requires_grad=True), pb.tensor(math.inf, requires_grad=True)
    drawn = random.truncated_normal(loc, scale, low, high, generator=random.Generator(1))
    gradients = pb.autograd.grad(drawn.sum(), (loc, scale, low, high))
    assert all(np.all(np.isfinite(g.numpy())) for g in gradients)
    assert gradients[2].tolist()[0] == 0 and gradients[3].item() == 0
    plain = random.truncated_normal(0.5, 2.0, -math.inf, math.inf, 2, generator=random.Generator(1)).numpy()
    assert_close(drawn[0], plain[0])


def test_a_side_of_length_zero_has_finite_gradients():
    ends = [pb.tensor(v, requires_grad=True) for v in (0.0, 0.0, 1.0)]
    drawn = random.triangular(*ends, size=50, generator=random.Generator(1))
    assert all(math.isfinite(g.item()) for g in pb.autograd.grad(drawn.sum(), ends))


# Angles --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [0.0, 0.2, 1.5, 30.0, 800.0])
def test_angles_move_as_their_distribution_says(kappa):
    mu, leaf = pb.tensor(0.3, requires_grad=True), pb.tensor(kappa, requires_grad=True)
    drawn = random.vonmises(mu, leaf, size=3, generator=random.Generator(1))
    for out in drawn:
        by_mu, by_kappa = pb.autograd.grad(out, (mu, leaf), retain_graph=True)
        x = out.item() - 0.3
        x -= 2 * math.pi * round(x / (2 * math.pi))
        mean = special.i1e(kappa) / special.i0e(kappa)
        t, weights = special.roots_legendre(400)
        t = (t + 1) * x / 2
        expected = -np.sum(weights * (np.cos(t) - mean) * np.exp(kappa * (np.cos(t) - np.cos(x)))) * x / 2
        rounding = 1e-13 * math.exp(kappa * (1 - math.cos(x)))  # the reference cancels in the tail
        assert by_mu.item() == 1 and abs(by_kappa.item() - expected) < 1e-9 * abs(expected) + rounding


def test_angles_are_numpys_and_stay_within_a_turn():
    drawn = random.Generator(3).vonmises(2.5, 1.5, (40, 5))
    assert_close(drawn, np.random.default_rng(3).vonmises(2.5, 1.5, (40, 5)))
    assert np.abs(drawn.numpy()).max() <= math.pi and drawn.numpy().min() < 0
    kappa = pb.full((5_000,), 1.5, requires_grad=True)
    turned = random.vonmises(0.0, kappa, generator=random.Generator(3)).cos()
    gradient = pb.autograd.grad(turned.sum(), kappa)[0].numpy()
    ratio = special.i1(1.5) / special.i0(1.5)
    assert abs(gradient.mean() - (1 - ratio**2 - ratio / 1.5)) < 5 * gradient.std() / math.sqrt(5_000)


# Vectors -------------------------------------------------------------------------------------------------------------

COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_normal_vectors_are_numpys(method):
    drawn = random.Generator(5).multivariate_normal([1.0, 2.0], COVARIANCE, (2, 3), method=method)
    expected = np.random.default_rng(5).multivariate_normal([1.0, 2.0], COVARIANCE, (2, 3), method=method)
    assert_close(drawn, expected)


def test_normal_vectors_are_differentiable_in_mean_and_covariance():
    mean, cov = pb.tensor([1.0, 2.0], requires_grad=True), pb.tensor(COVARIANCE, requires_grad=True)

    def sample(mean, cov):
        return random.multivariate_normal(mean, (cov + cov.mT) / 2, 3, generator=random.Generator(1))

    assert pb.autograd.gradcheck(sample, (mean, cov))
    drawn = random.multivariate_normal(mean, cov, generator=random.Generator(1))
    gradient = pb.autograd.grad((drawn * drawn).sum(), cov)[0].numpy()
    assert gradient[0, 1] == 0  # only the lower triangle is read


def test_normal_vectors_broadcast_over_the_axes_in_front():
    means, covs = np.zeros((3, 1, 2)), np.stack([COVARIANCE, 4 * COVARIANCE])
    assert random.multivariate_normal(means, covs).shape == (3, 2, 2)
    assert random.multivariate_normal(means, covs, (5, 3, 2)).shape == (5, 3, 2, 2)


def test_what_normal_vectors_refuse():
    cov = pb.tensor(COVARIANCE, requires_grad=True)
    with pytest.raises(ValueError, match=r"no derivative by cov.*method='cholesky'"):
        random.multivariate_normal([0.0, 0.0], cov, method="svd")
    with pb.no_grad():
        assert random.multivariate_normal([0.0, 0.0], cov, method="svd").shape == (2,)
    with pytest.raises(ValueError, match=r"not positive definite.*method='eigh'"):
        random.multivariate_normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]])
    assert random.multivariate_normal([0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], method="eigh").shape == (2,)
    for wrong, message in ((np.eye(3), "do not fit"), (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric")):
        with pytest.raises(ValueError, match=message):
            random.multivariate_normal([0.0, 0.0], wrong)
    with pytest.raises(ValueError, match="none of cholesky"):
        random.multivariate_normal([0.0, 0.0], COVARIANCE, method="qr")
    with pytest.raises(ValueError, match="negative eigenvalue"):
        random.multivariate_normal([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], method="eigh")


# Relaxed and discrete ------------------------------------------------------------------------------------------------


def test_relaxed_categories_sum_to_one_and_harden():
    logits, tau = pb.tensor([[1.0, 2.0, 0.5]], requires_grad=True), pb.tensor(0.7, requires_grad=True)

    def sample(hard):
        return random.gumbel_softmax(logits, tau, hard, generator=random.Generator(3))

    soft, hard = sample(False), sample(True)
    assert_close(soft.sum(axis=-1), [1.0])
    assert hard.tolist()[0] == [float(k == soft.detach().numpy()[0].argmax()) for k in range(3)]
    weights = pb.tensor([[1.0, -2.0, 3.0]])
    for a, b in zip(*(pb.autograd.grad((s * weights).sum(), (logits, tau)) for s in (soft, hard)), strict=True):
        assert_close(a, b)
    assert pb.autograd.gradcheck(
        lambda x, t: random.gumbel_softmax(x, t, generator=random.Generator(3)), (logits, tau)
    )
    columns = random.gumbel_softmax(np.zeros((3, 4)), dim=0, size=(2, 3, 4), axis=-1)
    assert columns.shape == (2, 3, 4) and random.gumbel_softmax(np.zeros((3, 4)), dim=0).sum(axis=0).shape == (4,)


def test_relaxed_truth_values_lie_between_zero_and_one_and_harden():
    logits = pb.tensor([0.3, -1.0, 2.0], requires_grad=True)
    soft = random.relaxed_bernoulli(logits, 0.5, generator=random.Generator(3))
    hard = random.relaxed_bernoulli(logits, 0.5, hard=True, generator=random.Generator(3))
    assert hard.tolist() == [float(v > 0.5) for v in soft.tolist()]
    assert_close(*(pb.autograd.grad(s.sum(), logits)[0] for s in (soft, hard)))
    many = random.relaxed_bernoulli(logits.detach(), 0.1, True, size=(20_000, 3), generator=random.Generator(3))
    assert_close(many.numpy().mean(axis=0), special.expit([0.3, -1.0, 2.0]), atol=0.015)


def test_categories_come_with_their_probabilities():
    logits = pb.tensor([[0.0, math.log(3.0), -math.inf], [0.0, 0.0, 0.0]], requires_grad=True)
    drawn = random.categorical(logits, (20_000, 2), generator=random.Generator(3))
    assert drawn.dtype == pb.int64 and not drawn.requires_grad
    for column, expected in zip(drawn.numpy().T, ([0.25, 0.75, 0.0], [1 / 3] * 3), strict=True):
        assert_close(np.bincount(column, minlength=3) / len(column), expected, atol=0.015)
    assert random.categorical(np.zeros((5, 4)), axis=0).shape == (4,)
    with pytest.raises(ValueError, match="at least one outcome"):
        random.categorical([-math.inf, -math.inf])


def test_counts_and_bytes_are_numpys_and_have_no_gradient():
    generator, numpys = random.Generator(6), np.random.default_rng(6)
    p = pb.tensor([0.2, 0.8], requires_grad=True)
    drawn = generator.logseries(p, (3, 2))
    assert drawn.tolist() == numpys.logseries([0.2, 0.8], (3, 2)).tolist() and not drawn.requires_grad
    assert generator.zipf(2.5, 4).tolist() == numpys.zipf(2.5, 4).tolist()
    assert generator.bytes(7) == numpys.bytes(7)
    assert generator.multinomial(5, [0.2, 0.8], 3).tolist() == numpys.multinomial(5, [0.2, 0.8], 3).tolist()
    assert generator.integers(0, 9, 5, dtype=pb.int32).tolist() == numpys.integers(0, 9, 5, dtype=np.int32).tolist()
    assert generator.choice(7, 3).tolist() == numpys.choice(7, 3).tolist()
    chances = [0.1, 0.2, 0.7]
    assert generator.choice(3, 5, p=chances).tolist() == numpys.choice(3, 5, p=chances).tolist()
    assert generator.multinomial([5, 6], [[0.2, 0.8]]).sum(axis=-1).tolist() == [5, 6]


# Parameters ----------------------------------------------------------------------------------------------------------

ONE_PARAMETER = [
    "exponential", "rayleigh", "weibull", "pareto", "power", "half_normal", "standard_gamma", "loggamma", "chisquare",
    "standard_t",
]  # fmt: skip
TWO_PARAMETERS = [
    "normal", "laplace", "logistic", "gumbel", "cauchy", "lognormal", "kumaraswamy", "gamma", "beta", "f", "wald",
    "noncentral_chisquare", "vonmises",
]  # fmt: skip


@pytest.mark.parametrize("name", ONE_PARAMETER + TWO_PARAMETERS)
def test_parameters_broadcast_and_size_is_the_whole_shape(name):
    draw = getattr(random, name)
    others = (1.5,) if name in TWO_PARAMETERS else ()
    row = pb.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert draw(row, *others).shape == (3,) and draw(2.0, *others).shape == ()
    drawn = draw(row, *others, size=(4, 3))
    assert drawn.shape == (4, 3) and pb.autograd.grad(drawn.sum(), row)[0].shape == (3,)
    assert draw([1.0, 2.0], *others, size=2, dtype=pb.float32).dtype == pb.float32
    assert draw(np.float32([1.0, 2.0]), *others).dtype == pb.float32
    assert draw(row, *others, dtype=pb.float32).dtype == pb.float32
    assert draw(np.array([1, 2]), *others).dtype == pb.float64
    assert draw(row, *others, size=(0, 3)).shape == (0, 3)
    with pytest.raises(ValueError, match=rf"{name}: size=\(2,\) cannot hold parameters.*leave it out"):
        draw(row, *others, size=2)
    if others:
        assert draw(row, np.ones((2, 1))).shape == (2, 3)
        with pytest.raises(ValueError, match=rf"{name}: parameters of shapes .* do not broadcast"):
            draw(row, np.ones(2))
    with pytest.raises(TypeError, match="cannot hold continuous random numbers"):
        draw(row, *others, dtype=pb.int64)


@pytest.mark.parametrize(
    "name, parameters",
    [
        ("normal", (0.0, -1.0)), ("lognormal", (0.0, -1.0)), ("half_normal", (-1.0,)), ("exponential", (-1.0,)),
        ("rayleigh", (-1.0,)), ("weibull", (0.0,)), ("pareto", (0.0,)), ("power", (-1.0,)),
        ("kumaraswamy", (1.0, 0.0)), ("truncated_normal", (0.0, 0.0)), ("poisson", (-1.0,)), ("binomial", (3, 1.5)),
        ("geometric", (0.0,)), ("negative_binomial", (0, 0.5)), ("hypergeometric", (-1, 2, 1)),
        ("logseries", (1.0,)), ("zipf", (1.0,)), ("multinomial", (3, [1.5, -0.5])), ("bernoulli", (-0.1,)),
        ("gumbel_softmax", ([0.0, 1.0], 0.0)), ("vonmises", (0.0, -1.0)), ("relaxed_bernoulli", (0.0, -1.0)),
    ],
)  # fmt: skip
def test_a_parameter_outside_the_domain_is_named_with_its_value_and_a_way_out(name, parameters):
    with pytest.raises(ValueError, match=rf"{name}: \w+ must .*, but it is .*: .*; "):
        getattr(random, name)(*parameters)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: random.uniform(1.0, 0.0), "low must not be above high"),
        (lambda: random.integers(3, 3), "low must be below high"),
        (lambda: random.triangular(0.0, 2.0, 1.0), "left <= mode <= right"),
        (lambda: random.truncated_normal(low=1.0, high=1.0), "low must be below high"),
        (lambda: random.hypergeometric(1, 2, 4), "nsample must not be above"),
        (lambda: random.bytes(-1), "length must not be negative"),
        (lambda: random.dirichlet(1.0), "one positive number for each outcome"),
        (lambda: random.multinomial(3, 0.5), "axis of outcomes"),
        (lambda: random.categorical(0.5), "axis of outcomes"),
    ],
)
def test_parameters_that_do_not_fit_each_other(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_complex_noise_has_independent_parts():
    drawn = pb.randn(20_000, dtype=pb.complex128, generator=random.Generator(1)).numpy()
    assert_close(np.mean(np.abs(drawn) ** 2), 1.0, rtol=0.03)
    assert abs(np.mean(drawn.real * drawn.imag)) < 0.02 and pb.rand(3, dtype=pb.complex64).dtype == pb.complex64
    filled = pb.zeros(1000, dtype=pb.complex128).normal_(1.0, 2.0, generator=random.Generator(1)).numpy()
    assert abs(filled.mean() - 1) < 0.2 and filled.imag.std() > 1
    with pytest.raises(TypeError, match="cannot hold continuous"):
        pb.rand(3, dtype=pb.int64)
    with pytest.raises(TypeError, match="cannot hold continuous"):
        random.standard_exponential(3, dtype=pb.complex128)


def test_every_sampler_is_a_method_of_a_generator_and_leaves_the_default_alone():
    before = random.get_state()
    generator = random.Generator(3)
    for name in ONE_PARAMETER:
        assert getattr(generator, name)(2.0, 3).shape == (3,)
    for name in (*TWO_PARAMETERS, "uniform"):
        assert getattr(generator, name)(1.0, 2.0, 3).shape == (3,)
    generator.triangular(0.0, 1.0, 2.0), generator.truncated_normal(), generator.dirichlet([1.0, 2.0])
    generator.categorical([0.0, 1.0]), generator.gumbel_softmax([0.0, 1.0]), generator.relaxed_bernoulli(0.0)
    assert random.get_state() == before


@pytest.mark.parametrize("replacement", [True, False])
def test_positions_are_drawn_with_their_weights(replacement):
    weights = np.array([2.0, 0.0, 5.0, 3.0])
    pb.manual_seed(3)
    drawn = pb.multinomial(np.tile(weights, (4000, 1)), 2, replacement)
    assert drawn.shape == (4000, 2) and drawn.dtype == np.int64
    frequencies = np.bincount(drawn.numpy()[:, 0], minlength=4) / 4000
    np.testing.assert_allclose(frequencies, weights / 10, atol=0.04)
    assert replacement or (drawn.numpy()[:, 0] != drawn.numpy()[:, 1]).all()


def test_positions_that_can_not_be_drawn_are_refused():
    for weights, count in [([1.0, 0.0], 2), ([-1.0, 2.0], 1), ([0.0, 0.0], 1), ([np.nan, 1.0], 1), ([1.0, 1.0], 0)]:
        with pytest.raises(ValueError, match="multinomial"):
            pb.multinomial(pb.tensor(weights), count)
    assert pb.tensor([1.0, 1.0]).multinomial(1).shape == (1,)
