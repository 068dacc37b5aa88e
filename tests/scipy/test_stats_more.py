"""Discrete and multivariate distributions, draws, moments, fits and kernel estimates."""

import numpy as np
import pytest
import scipy.stats

import pullback as pb
from pullback.autograd import gradcheck, gradgradcheck
from pullback.func import grad, jacrev
from pullback.scipy.stats import _discrete, _multivariate

stats = pb.scipy.stats


def leaf(value):
    return pb.tensor(np.array(value, dtype=float), requires_grad=True)


def difference(function, at, step=1e-6):
    return (function(at + step) - function(at - step)) / (2 * step)


# Discrete distributions: an outcome, and the parameters.
DISCRETE = {
    "bernoulli": (1, (0.3,)), "betabinom": (3, (10, 2.3, 0.63)), "betanbinom": (3, (5, 9.3, 1.0)),
    "binom": (3, (10, 0.4)), "boltzmann": (3, (1.4, 19)), "dlaplace": (2, (0.8,)), "geom": (3, (0.5,)),
    "logser": (3, (0.6,)), "nbinom": (3, (5.5, 0.5)), "nchypergeom_fisher": (12, (140, 80, 60, 0.5)),
    "planck": (2, (0.51,)), "poisson": (3, (2.6,)), "skellam": (2, (5.0, 3.0)), "yulesimon": (3, (11.0,)),
    "zipfian": (2, (1.25, 10)),
}  # fmt: skip


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_of_outcomes_by_parameters(name):
    k, shapes = DISCRETE[name]
    plain, ours = getattr(scipy.stats, name), getattr(stats, name)
    for place, value in enumerate(shapes):
        if not isinstance(value, float):
            continue
        for member in ("logpmf", "pmf", "cdf", "sf", "logcdf", "mean", "var"):
            at = () if member in ("mean", "var") else (k + 2,)
            rest = shapes[:place], shapes[place + 1 :]
            moved = lambda f, v, m=member, at=at, rest=rest: getattr(f, m)(*at, *rest[0], v, *rest[1], loc=2)
            out = moved(ours, x := leaf(value))
            assert out.item() == pytest.approx(float(moved(plain, value)), rel=1e-9)
            out.backward()
            expected = difference(lambda v, moved=moved: float(moved(plain, v)), value)
            assert x.grad.item() == pytest.approx(expected, rel=2e-5, abs=1e-8), member


def test_every_discrete_distribution_is_right_or_refused():
    assert set(DISCRETE) == _discrete.ACCEPTED | _discrete.OWN.keys()
    for name in dir(scipy.stats):
        if isinstance(getattr(scipy.stats, name), scipy.stats.rv_discrete) and name not in DISCRETE:
            count = getattr(scipy.stats, name).numargs
            with pytest.raises(pb.AutogradError) as raised:
                getattr(stats, name).pmf(3, *(leaf(4.0) for _ in range(count)))
            assert raised.value.code in ("SCIPY_NO_RULE", "SCIPY_DISCRETE_ARG"), name


@pytest.mark.parametrize(
    "function, at, expected",
    [
        (lambda mu: stats.poisson.cdf(3, mu=mu), 2.0, -0.180447044),
        (lambda p: stats.binom.logpmf(3, 10, p), 0.4, -25 / 6),
        (lambda mu: stats.poisson(mu).logpmf(-1), 2.0, 0.0),
        (lambda mu: stats.poisson.logsf(80, mu), 10.0, 7.113836527),
    ],
)
def test_known_derivatives_by_parameters(function, at, expected):
    assert grad(function)(pb.tensor(at)).item() == pytest.approx(expected, rel=2e-5, abs=1e-12)


@pytest.mark.parametrize("call", [
    lambda: stats.poisson.pmf(leaf(3.0), 2.0), lambda: stats.binom.cdf(3, leaf(10.0), 0.4),
    lambda: stats.geom.pmf(3, 0.3, loc=leaf(1.0)), lambda: stats.multinomial.logpmf(leaf([1.0, 2.0]), 3, [0.4, 0.6]),
])  # fmt: skip
def test_whole_numbers_have_no_derivative(call):
    with pytest.raises(pb.AutogradError) as raised:
        call()
    assert raised.value.code == "SCIPY_DISCRETE_ARG"


def test_discrete_draws_are_scipys_and_quantiles_are_constants():
    draws = [m.poisson(3.0).rvs(5, random_state=1).tolist() for m in (stats, scipy.stats)]
    assert draws[0] == draws[1]
    assert not stats.poisson.ppf(0.3, leaf(2.0)).requires_grad
    with pytest.raises(pb.AutogradError) as raised:
        stats.poisson.rvs(leaf(2.0))
    assert raised.value.code == "SCIPY_NO_RULE"


def test_second_derivatives_both_modes_and_examples():
    p = leaf([0.3, 0.6])
    for member in ("logpmf", "cdf"):
        function = lambda p, member=member: getattr(stats.binom, member)(np.array([3, 4]), 10, p)
        assert gradcheck(function, [p], check_forward_ad=True)
        assert gradgradcheck(function, [p])
    each = pb.vmap(grad(lambda p: stats.poisson.logpmf(3, p)))(pb.tensor([1.0, 2.0]))
    np.testing.assert_allclose(each, [2.0, 0.5])


# Draws.


def test_draws_are_scipys_numbers_and_move_with_place_and_scale():
    loc, scale = leaf(0.4), leaf([1.5, 2.0])
    x = stats.norm.rvs(loc, scale, size=(3, 2), random_state=0)
    np.testing.assert_array_equal(x.detach(), scipy.stats.norm.rvs(0.4, [1.5, 2.0], size=(3, 2), random_state=0))
    x.sum().backward()
    z = (x.detach() - 0.4) / np.array([1.5, 2.0])
    np.testing.assert_allclose(scale.grad, z.sum(axis=0), atol=1e-12)
    assert loc.grad.item() == 6


def test_draws_move_with_shapes_as_quantiles_do():
    a = leaf(2.0)
    x = stats.gamma(a, scale=1.5).rvs(3, random_state=0)
    q = scipy.stats.gamma.cdf(x.detach(), 2.0, scale=1.5)
    expected = difference(lambda a: scipy.stats.gamma.ppf(q, a, scale=1.5), 2.0, 1e-5)
    np.testing.assert_allclose(
        jacrev(lambda a: stats.gamma(a, scale=1.5).rvs(3, random_state=0))(a.detach()), expected, rtol=1e-6
    )


def test_normal_vectors_are_scipys_and_have_the_moments_of_their_parameters():
    cov = leaf([[2.0, 0.3], [0.3, 1.0]])
    mean = leaf([0.1, 0.2])
    x = stats.multivariate_normal.rvs(mean, cov, size=4, random_state=0)
    np.testing.assert_array_equal(
        x.detach(), scipy.stats.multivariate_normal.rvs([0.1, 0.2], cov.detach().numpy(), size=4, random_state=0)
    )
    rows = x.detach().numpy() - np.array([0.1, 0.2])
    (by,) = pb.autograd.grad((x**2).sum(), [mean])
    np.testing.assert_allclose(by, 2 * (rows + [0.1, 0.2]).sum(axis=0))
    assert pb.autograd.grad(stats.multivariate_normal.rvs(mean, cov, random_state=0).sum(), [cov])[0].shape == (2, 2)


# Moments and fits.


@pytest.mark.parametrize(
    "name, shapes", [("gamma", (2.0,)), ("weibull_min", (1.8,)), ("lognorm", (0.5,)), ("norm", ())]
)
@pytest.mark.parametrize("member", ["mean", "var", "std", "entropy"])
def test_moments_by_shapes_place_and_scale(name, shapes, member):
    inputs = [leaf(value) for value in (*shapes, 0.2, 1.3)]
    plain = getattr(getattr(scipy.stats, name), member)
    out = getattr(getattr(stats, name), member)(*inputs)
    values = [x.item() for x in inputs]
    assert out.item() == pytest.approx(float(plain(*values)), rel=1e-10)
    for k, slope in enumerate(pb.autograd.grad(out, inputs, allow_unused=True)):
        expected = difference(lambda v, k=k: float(plain(*values[:k], v, *values[k + 1 :])), values[k], 1e-5)
        assert (0.0 if slope is None else slope.item()) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_moments_of_any_order_and_expectations():
    a = leaf(2.0)
    (by,) = pb.autograd.grad(stats.gamma.moment(3, a, scale=1.5), [a])
    assert by.item() == pytest.approx(difference(lambda a: scipy.stats.gamma.moment(3, a, scale=1.5), 2.0), rel=1e-6)
    mean = leaf(0.7)
    (by,) = pb.autograd.grad(stats.norm(mean, 1.2).expect(lambda x: x**3), [mean])
    assert by.item() == pytest.approx(3 * (0.7**2 + 1.2**2), rel=1e-8)


def test_fitted_parameters_by_the_data():
    data = scipy.stats.gamma.rvs(2.5, scale=1.3, size=40, random_state=0)
    found = jacrev(lambda d: pb.stack(stats.gamma.fit(d, floc=0)[::2]))(pb.tensor(data))
    for k in (0, 7):
        moved = np.eye(40)[k] * 1e-4
        ends = [np.array(scipy.stats.gamma.fit(data + s * moved, floc=0))[::2] for s in (1, -1)]
        np.testing.assert_allclose(found[:, k], (ends[0] - ends[1]) / 2e-4, rtol=1e-4)
    by = jacrev(lambda d: pb.stack(stats.norm.fit(d)))(pb.tensor(data))
    np.testing.assert_allclose(by[1], (data - data.mean()) / (40 * data.std()), atol=1e-12)


# Vectors and matrices.

C = np.array([[2.0, 0.3, 0.1], [0.3, 1.5, 0.2], [0.1, 0.2, 1.0]])
X, M = np.array([0.3, -0.2, 0.5]), np.array([0.1, 0.2, 0.3])
sym = lambda c: (c + c.T) / 2
unit = lambda v: v / (v * v).sum() ** 0.5
VECTORS = {
    "normal": (lambda m, x, mean, c: m.multivariate_normal.logpdf(x, mean, sym(c)), X, M, C),
    "normal, pdf of rows": (lambda m, x, mean: m.multivariate_normal.pdf(x, mean=mean, cov=C), np.stack([X, M]), M),
    "normal, one variance": (lambda m, x, c: m.multivariate_normal.logpdf(x, M, c), X, 1.3),
    "normal, singular": (
        lambda m, x: m.multivariate_normal.logpdf(x, [0.0, 0.0], [[1.0, 1.0], [1.0, 1.0]], allow_singular=True),
        np.array([0.4, 0.4]),
    ),
    "normal, entropy": (lambda m, c: m.multivariate_normal.entropy(M, sym(c)), C),
    "normal, cdf": (
        lambda m, x, mean, c: m.multivariate_normal.cdf(x, mean, sym(c)),
        X[:2],
        M[:2],
        np.array([[2, 0.3], [0.3, 1]]),
    ),
    "t": (lambda m, x, loc, c, df: m.multivariate_t.logpdf(x, loc, sym(c), df), X, M, C, 3.0),
    "dirichlet": (lambda m, x, a: m.dirichlet.logpdf(x, a), np.array([0.2, 0.3]), np.array([1.0, 2, 3])),
    "dirichlet, moments": (lambda m, a: m.dirichlet.mean(a) + m.dirichlet.var(a), np.array([1.0, 2, 3])),
    "wishart": (lambda m, x, df, c: m.wishart.logpdf(sym(x), df, sym(c)), C * 1.3, 5.0, C),
    "invwishart": (lambda m, x, df, c: m.invwishart.logpdf(sym(x), df, sym(c)), C * 1.3, 5.0, C),
    "matrix_normal": (
        lambda m, x, mean, r: m.matrix_normal.logpdf(x, mean, sym(r), np.eye(2)),
        np.ones((3, 2)),
        np.zeros((3, 2)),
        C,
    ),
    "matrix_t": (
        lambda m, x, r, df: m.matrix_t.logpdf(x, np.zeros((3, 2)), sym(r), np.eye(2), df),
        np.ones((3, 2)),
        C,
        3.0,
    ),
    "multinomial": (lambda m, p: m.multinomial.logpmf([1, 2, 3], 6, p / p.sum()), np.array([0.2, 0.3, 0.5])),
    "dirichlet_multinomial": (lambda m, a: m.dirichlet_multinomial.logpmf([1, 2, 3], a, 6), np.array([0.2, 0.3, 0.5])),
    "vonmises_fisher": (lambda m, mu, k: m.vonmises_fisher.logpdf(X / np.linalg.norm(X), unit(mu), k), M, 1.3),
    "normal_inverse_gamma": (lambda m, v: m.normal_inverse_gamma.logpdf(*v), np.array([0.3, 0.7, 0.1, 1.2, 2.0, 3.0])),
    "frozen": (lambda m, x, c: m.multivariate_normal(M, sym(c)).logpdf(x), X, C),
}


@pytest.mark.parametrize("name", VECTORS)
def test_densities_of_vectors_by_all_arguments(name):
    call, *values = VECTORS[name]
    inputs = [leaf(value) for value in values]
    found = call(stats, *inputs)
    np.testing.assert_allclose(found.detach(), call(scipy.stats, *values), rtol=1e-5 if "cdf" in name else 1e-10)
    if name != "normal, singular":  # beside the line where it lives there is no density
        assert gradcheck(lambda *args: call(stats, *args), inputs, check_forward_ad=True, fast_mode=True)


def test_second_derivatives_of_the_normal_density():
    call, *values = VECTORS["normal"]
    assert gradgradcheck(lambda *args: call(stats, *args), [leaf(value) for value in values], fast_mode=True)


def test_what_no_test_has_seen_is_refused():
    for name in _multivariate.ACCEPTED:
        assert isinstance(getattr(stats, name), _multivariate.Multivariate)
    with pytest.raises(pb.AutogradError) as raised:
        stats.dirichlet.rvs(leaf([1.0, 2.0]))
    assert raised.value.code == "SCIPY_NO_RULE"


# Kernel estimates.


def test_kernel_estimates_by_points_data_weights_and_width():
    data, points = np.array([0.1, 0.5, 0.9, 2.0]), np.array([0.3, 1.0])
    inputs = leaf(data), leaf(points), leaf([1.0, 2.0, 1.0, 1.5]), leaf(0.4)
    plain = scipy.stats.gaussian_kde(data, 0.4, [1.0, 2.0, 1.0, 1.5])
    ours = lambda d, p, w, b: stats.gaussian_kde(d, b, w)(p)
    np.testing.assert_allclose(ours(*inputs).detach(), plain(points), rtol=1e-12)
    assert gradcheck(ours, inputs, check_forward_ad=True)
    default = lambda d, p, w: stats.gaussian_kde(d, weights=w).logpdf(p)
    assert gradcheck(default, inputs[:3], check_forward_ad=True)
    np.testing.assert_allclose(
        stats.gaussian_kde(inputs[0], 0.4).integrate_box_1d(0, 1).detach(),
        scipy.stats.gaussian_kde(data, 0.4).integrate_box_1d(0, 1),
    )
    flat = np.random.default_rng(0).random((2, 6))
    both = stats.gaussian_kde(leaf(flat), "silverman"), scipy.stats.gaussian_kde(flat, "silverman")
    np.testing.assert_allclose(both[0].logpdf([0.3, 0.2]).detach(), both[1].logpdf([0.3, 0.2]))
    got = both[0].integrate_gaussian([0.1, 0.2], np.eye(2)), both[0].integrate_kde(both[0])
    np.testing.assert_allclose(
        [x.item() for x in got], [both[1].integrate_gaussian([0.1, 0.2], np.eye(2)), both[1].integrate_kde(both[1])]
    )


@pytest.mark.parametrize("x, scale", [([0.5, 1.2], 1.0), (1.5, np.eye(2)), ([0.5, 1.2], [1.0, 2.0]),
                                      (np.stack([np.eye(2), 2 * np.eye(2) + 0.3], -1), np.eye(2) + 0.1)])  # fmt: skip
def test_an_inverse_wishart_distribution_of_numbers_diagonals_and_several_matrices(x, scale):
    x = np.asarray(x)
    leaf = pb.tensor(x, dtype=float, requires_grad=True)
    found = pb.scipy.stats.invwishart.logpdf(leaf, df=6, scale=scale)
    np.testing.assert_allclose(found.detach(), scipy.stats.invwishart.logpdf(x, df=6, scale=scale), rtol=1e-9)
    along = np.cos(np.arange(x.size)).reshape(x.shape)
    ends = [scipy.stats.invwishart.logpdf(x + h * along, df=6, scale=scale).sum() for h in (1e-6, -1e-6)]
    (slope,) = pb.autograd.grad(found.sum(), leaf)
    assert (slope.numpy() * along).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5)


@pytest.mark.parametrize("name, place", [("multivariate_t", "shape"), ("matrix_t", "col_spread")])
def test_a_matrix_with_equal_eigenvalues_is_refused_where_eigenvectors_are_used(name, place):
    """By numbers off the diagonal of a multiple of the identity, derivatives lacked what eigenvectors contribute."""
    law, x = getattr(pb.scipy.stats, name), np.array([[0.1, 0.2], [0.3, 0.5]])
    given = {} if name == "multivariate_t" else {"row_spread": np.diag([1.0, 2.0])}
    x = x[0] if name == "multivariate_t" else x
    with pytest.raises(pb.AutogradError) as caught:
        law.logpdf(x, **{place: pb.tensor(0.3 * np.eye(2), requires_grad=True)}, **given)
    assert caught.value.code == "SCIPY_NO_RULE"
    matrix = pb.tensor([[0.3, 0.1], [0.1, 0.4]], requires_grad=True)
    assert law.logpdf(x, **{place: matrix}, **given).requires_grad


def test_a_matrix_normal_distribution_whose_covariance_is_a_multiple_of_the_identity():
    x, along = np.array([[0.1, 0.2], [0.3, 0.5]]), np.array([[0.1, 0.7], [0.7, 0.2]])
    t = pb.tensor(0.0, requires_grad=True)

    def density(law, t):
        return law.matrix_normal.logpdf(x, rowcov=np.eye(2), colcov=0.3 * np.eye(2) + t * along)

    (slope,) = pb.autograd.grad(density(pb.scipy.stats, t), t)
    ends = [density(scipy.stats, step) for step in (1e-5, -1e-5)]
    assert slope.item() == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-6)
