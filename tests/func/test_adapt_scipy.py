"""SciPy's functions in adapted code: the values are SciPy's, and the gradients those of central differences."""

import numpy as np
import pytest
import scipy.fft
import scipy.fftpack
import scipy.integrate
import scipy.linalg
import scipy.linalg as la
import scipy.signal
import scipy.sparse
from scipy import special, stats
from scipy.linalg import cholesky, expm
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

import pullback as pb
from pullback.func import adapt

FROZEN = stats.norm(0.5, 2.0)
WEIGHTS = np.cos(np.arange(81.0))


def matrix(x):
    return np.diag(np.full(3, 4.0)) + x.reshape(3, 3)


def symmetric(x):
    return matrix(x) + matrix(x).T


def weighed(*arrays):
    """One number of which all elements are parts."""
    return sum(np.sum(np.abs(part.reshape(-1) + 0.1) ** 2 * WEIGHTS[: part.size]) for part in arrays)


PROGRAMS = {
    "logsumexp": lambda x: logsumexp(x) + weighed(special.logsumexp(x.reshape(3, 3), axis=1, keepdims=True)),
    "weighed logsumexp": lambda x: weighed(special.logsumexp(x.reshape(3, 3), 0, np.arange(1.0, 4.0))),
    "signed logsumexp": lambda x: special.logsumexp(x, b=-np.exp(x), return_sign=True)[0],
    "softmax": lambda x: weighed(special.softmax(x), special.log_softmax(x.reshape(3, 3), axis=0)),
    "polygamma": lambda x: weighed(special.polygamma(1, x**2 + 1), special.multigammaln(x[:2] ** 2 + 3, 2)),
    "factorial": lambda x: weighed(special.factorial(x**2), special.comb(x[:2] ** 2 + 5, 2)),
    "zeta by its place": lambda x: weighed(special.zeta(3.0, x**2 + 1)),
    "bessel": lambda x: weighed(special.spherical_jn(1, x**2 + 1), special.spherical_kn(2, x**2 + 1)),
    "integrals": lambda x: scipy.integrate.trapezoid(x, dx=0.5) + scipy.integrate.simpson(x**2, x=np.arange(9.0)),
    "running integral": lambda x: weighed(scipy.integrate.cumulative_trapezoid(x**2, initial=0)),
    "spectrum": lambda x: weighed(scipy.signal.periodogram(x)[1], scipy.signal.welch(x, nperseg=6)[1]),
    "resample": lambda x: weighed(scipy.signal.resample(x, 6)),
    "inv": lambda x: weighed(la.inv(matrix(x), overwrite_a=True, check_finite=False)),
    "det": lambda x: scipy.linalg.det(matrix(x)),
    "expm": lambda x: weighed(expm(x.reshape(3, 3))),
    "expm of a list": lambda x: weighed(expm(np.array([[0.0, x[0]], [x[1], x[2]]]))),
    "sqrtm": lambda x: weighed(la.sqrtm(symmetric(x))),
    "norm": lambda x: la.norm(matrix(x)) + la.norm(matrix(x), 1) + la.norm(x, ord=3),
    "pinv": lambda x: weighed(la.pinv(x[:8].reshape(4, 2))),
    "cholesky": lambda x: weighed(cholesky(matrix(x))),
    "lower cholesky": lambda x: weighed(cholesky(matrix(x), lower=True), la.cholesky(x[0] + 2, lower=True)),
    "cho_solve": lambda x: weighed(la.cho_solve(la.cho_factor(symmetric(x)), x[:3])),
    "lu_solve": lambda x: weighed(la.lu_solve(la.lu_factor(matrix(x)), x[:3])),
    "solve": lambda x: weighed(la.solve(matrix(x), x[:3]), la.solve(matrix(x), x.reshape(3, 3), transposed=True)),
    "solve_triangular": lambda x: weighed(
        la.solve_triangular(matrix(x), x[:3]), la.solve_triangular(matrix(x), x.reshape(3, 3), lower=True),
        la.solve_triangular(matrix(x), x[:3], trans=1, unit_diagonal=True),
    ),
    "eigh": lambda x: weighed(la.eigh(matrix(x))[0], la.eigh(matrix(x), lower=False, eigvals_only=True)),
    "eigvalsh": lambda x: weighed(la.eigvalsh(matrix(x), lower=False)),
    "eigvals": lambda x: np.sum(np.real(la.eigvals(matrix(x)) ** 2)),
    "svd": lambda x: weighed(la.svd(matrix(x))[1], la.svdvals(matrix(x)), la.svd(matrix(x), compute_uv=False)),
    "qr": lambda x: weighed(*la.qr(matrix(x)), *la.qr(matrix(x), mode="r")),
    "narrow qr": lambda x: weighed(*la.qr(x[:8].reshape(4, 2), mode="economic")),
    "block_diag": lambda x: weighed(la.block_diag(matrix(x), x[0], x[:4].reshape(2, 2))),
    "toeplitz": lambda x: weighed(la.toeplitz(x[:3]), la.toeplitz(x[:3], x[3:6]), la.circulant(x)),
    "solve_banded": lambda x: weighed(la.solve_banded((1, 1), np.vstack([x[:4], x[:4] + 5, x[4:8]]), x[:4])),
    "sylvester": lambda x: weighed(la.solve_sylvester(matrix(x), np.eye(3), x.reshape(3, 3))),
    "fft": lambda x: weighed(scipy.fft.fft(x), scipy.fft.ifft(x, n=12, norm="ortho"), scipy.fft.rfft(x, workers=1)),
    "fft2": lambda x: weighed(scipy.fft.fft2(x.reshape(3, 3)), scipy.fft.irfft(x), scipy.fft.fftshift(x)),
    "dct": lambda x: weighed(scipy.fft.dct(x), scipy.fft.idct(x, norm="ortho"), scipy.fft.dst(x, type=1)),
    "fftpack": lambda x: weighed(scipy.fftpack.fft(x), scipy.fftpack.dct(x, norm="ortho"), scipy.fftpack.ifft(x)),
    "convolve": lambda x: weighed(scipy.signal.convolve(x, x[:3]), scipy.signal.fftconvolve(x, [1.0, 2.0], "same")),
    "lfilter": lambda x: weighed(scipy.signal.lfilter(x[:2], [1.0, x[3]], x), scipy.signal.detrend(x)),
    "norm density": lambda x: np.sum(norm.logpdf(x, 0.5, x[0] ** 2 + 1)) + np.sum(stats.norm.pdf(x, scale=2.0)),
    "norm tails": lambda x: np.sum(norm.cdf(x) + norm.sf(x, loc=x[1]) + norm.logcdf(x) + norm.logsf(x, 1.0, 3.0)),
    "frozen norm": lambda x: np.sum(FROZEN.logpdf(x)) + np.sum(norm(x[0], 2.0).logpdf(x) + norm(loc=x[1]).cdf(0.3)),
    "expon": lambda x: np.sum(stats.expon.logpdf(x + 3, scale=x[0] ** 2 + 1) + stats.expon.cdf(x) + stats.expon.sf(x)),
    "gamma": lambda x: np.sum(stats.gamma.logpdf(x + 4, 2 + x[0] ** 2, 0.5, scale=2.0) + stats.gamma.pdf(3.0, a=x + 4)),
    "beta": lambda x: np.sum(stats.beta.logpdf(1 / (1 + np.exp(-x)), 2 + x[0] ** 2, b=2.5)),
    "t": lambda x: np.sum(stats.t.logpdf(x, 3 + x[1] ** 2, loc=0.2) + stats.t(4.0).pdf(x)),
    "multivariate_normal": lambda x: multivariate_normal.logpdf(x[:3], x[3:6], matrix(x))
    + np.sum(multivariate_normal.pdf(x.reshape(3, 3), cov=matrix(x)))
    + multivariate_normal(x[:3], matrix(x)).logpdf(np.zeros(3)) + np.sum(multivariate_normal.logpdf(x, 0.3, x[0] ** 2)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.filterwarnings("ignore:.*without being compiled")
def test_values_and_gradients(name, compiled):
    program = PROGRAMS[name]
    start = 0.8 * np.random.default_rng(5).standard_normal(9)
    x = pb.tensor(start, requires_grad=True)
    adapted = adapt(program)
    fallback = "eager" if name == "sqrtm" else "raise"  # it looks at the eigenvalues first
    y = (pb.compile(adapted, fallback=fallback) if compiled else adapted)(x)
    np.testing.assert_allclose(y.item(), program(start), rtol=1e-9)
    steps = 1e-6 * np.eye(9)
    slopes = [(program(start + step) - program(start - step)) / 2e-6 for step in steps]
    found = pb.autograd.grad(y, x)[0].numpy()
    np.testing.assert_allclose(found, slopes, rtol=1e-5, atol=1e-6 * max(1, np.abs(slopes).max()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_of_tensors_that_nobody_differentiates(name):
    start = 0.8 * np.random.default_rng(5).standard_normal(9)
    found = adapt(PROGRAMS[name])(pb.tensor(start))
    np.testing.assert_allclose(np.asarray(found), PROGRAMS[name](start), rtol=1e-9)


@pytest.mark.parametrize("program", [
    lambda x: la.expm_cond(symmetric(x)),
    lambda x: la.qr(matrix(x), mode="raw")[1],
    lambda x: scipy.signal.remez(9, x[:4], [1, 0]),
    lambda x: stats.tukeylambda.ppf(x, 0.3),
])  # fmt: skip
def test_what_has_no_derivative_is_refused(program):
    with pytest.raises(pb.AutogradError, match=r"SCIPY_NO_RULE|ADAPT_UNSEEN"):
        adapt(lambda x: np.sum(program(x)))(pb.tensor(np.linspace(0.1, 0.9, 9), requires_grad=True))


def test_what_has_no_history_is_given_to_scipy_and_comes_back_as_an_array_of_the_call():
    def f(x):
        start = la.inv(np.eye(2) * 2)
        start[0, 1] = x
        return np.sum(start @ start) + norm.cdf(0.0) + multivariate_normal(np.zeros(2)).logpdf(np.zeros(2))

    x = pb.tensor(3.0, requires_grad=True)
    assert pb.autograd.grad(adapt(f)(x), x)[0].item() == 1.0


def test_a_distribution_that_is_kept_is_scipys_own():
    class Prior:
        def __init__(self):
            self.law = norm

    def f(x, prior):
        return prior.law.logpdf(x) + norm.mean() + norm.a * 0 if np.isfinite(norm.a) else prior.law.logpdf(x)

    prior = Prior()
    adapt(f)(pb.tensor(1.0, requires_grad=True), prior)
    assert prior.law is norm


DENSITY = stats.norm.logpdf


@pytest.mark.parametrize("method", ["logpdf", "pdf", "cdf", "logcdf", "sf"])
@pytest.mark.parametrize("owner", [stats.norm, FROZEN], ids=["free", "frozen"])
def test_a_method_of_a_distribution_is_known_wherever_it_was_put(owner, method):
    function = getattr(owner, method)
    x = pb.tensor([0.3, 1.2], requires_grad=True)
    by_closure = adapt(lambda x: function(x))
    np.testing.assert_allclose(by_closure(x).detach().numpy(), function([0.3, 1.2]))
    assert pb.autograd.gradcheck(by_closure, x)
    by_default = adapt(lambda x, f=function: f(x))
    np.testing.assert_allclose(by_default(x).detach().numpy(), function([0.3, 1.2]))


def test_a_method_of_a_distribution_is_known_as_a_global():
    x = pb.tensor([0.3, 1.2], requires_grad=True)
    (gradient,) = pb.autograd.grad(adapt(lambda x: np.sum(DENSITY(x)))(x), x)
    np.testing.assert_allclose(gradient.numpy(), [-0.3, -1.2])


def draws_everywhere(x, rng):
    halton = scipy.stats.qmc.Halton(d=2, rng=rng).random(3)
    values = stats.norm.rvs(size=2, random_state=rng)
    turned = stats.ortho_group.rvs(3, random_state=rng)
    pattern = scipy.sparse.random_array((3, 3), density=0.5, rng=rng).toarray()
    return (x * rng.standard_normal(2)).sum() + (values * x).sum() + halton.sum() + turned.sum() + pattern.sum()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_scipy_draws_with_a_generator_of_adapted_code(make):
    """SciPy was given what stands for the generator, and said that it cannot be used as a seed."""
    program = draws_everywhere if make is np.random.default_rng else lambda x, rng: x * stats.norm.rvs(random_state=rng)
    x = pb.tensor(2.0, requires_grad=True)
    out = adapt(program)(x, make(3))
    np.testing.assert_allclose(out.item(), program(2.0, make(3)), rtol=1e-12)
    out.backward()
    np.testing.assert_allclose(x.grad.item(), program(3.0, make(3)) - program(2.0, make(3)), rtol=1e-9)
