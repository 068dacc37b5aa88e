"""Functions of SciPy's inside of callbacks: derivatives by what these take from outside, with the unknown held."""

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import pullback as pb
from pullback.func import grad, jacfwd
from pullback.scipy import fft, integrate, interpolate, linalg, ndimage, optimize, signal, spatial, special, stats

K = np.linspace(0.3, 2, 8)

BODIES = {
    "norm.logpdf": lambda p: stats.norm.logpdf(K, p, 1.3).sum(),
    "t.cdf": lambda p: stats.t.cdf(0.3, p),
    "gamma.ppf": lambda p: stats.gamma.ppf(0.3, p),
    "poisson.logpmf": lambda p: stats.poisson.logpmf(3, p),
    "multivariate_normal": lambda p: stats.multivariate_normal.logpdf(K[:2], p * np.ones(2), np.eye(2)),
    "Normal": lambda p: stats.Normal(mu=p, sigma=1.0).logpdf(0.3),
    "skew": lambda p: stats.skew(np.exp(K * p)),
    "pearsonr": lambda p: stats.pearsonr(K, np.sin(K * p))[0],
    "voigt_profile": lambda p: special.voigt_profile(p, 1.0, 0.5),
    "inv": lambda p: linalg.inv(np.eye(2) * p + 0.1)[0, 0],
    "logm": lambda p: linalg.logm(np.eye(2) * p + 0.1)[0, 0],
    "butter": lambda p: signal.butter(2, p / 4)[0][0],
    "welch": lambda p: signal.welch(np.sin(K * p), nperseg=8)[1].sum(),
    "sobel": lambda p: (ndimage.sobel(K * p) ** 2).sum(),
    "CubicSpline": lambda p: interpolate.CubicSpline(K, np.sin(K) * p)(1.0),
    "RegularGridInterpolator": lambda p: interpolate.RegularGridInterpolator((K,), np.sin(K))([[p]])[0],
    "cdist": lambda p: spatial.distance.cdist(np.ones((2, 2)) * p, np.zeros((1, 2))).sum(),
    "Rotation": lambda p: spatial.transform.Rotation.from_rotvec(p * np.array([1.0, 2.0, 3.0])).as_matrix()[0, 1],
    "simpson": lambda p: integrate.simpson(np.exp(-p * K), x=K),
    "quad": lambda p: integrate.quad(lambda t: np.exp(-p * t), 0, 1)[0],
    "dct": lambda p: fft.dct(K * p).sum(),
}


@pytest.mark.parametrize("name", BODIES)
def test_the_value_of_a_minimum(name):
    body, at = BODIES[name], pb.tensor(1.3)
    expected = grad(body)(at).item()

    def minimum(p):
        return optimize.minimize(lambda w: (w[0] - 1) ** 2 + body(p), [0.0]).fun

    assert grad(minimum)(at).item() == pytest.approx(expected, rel=1e-6)
    assert jacfwd(minimum)(at).item() == pytest.approx(expected, rel=1e-6)
    leaf = pb.tensor(1.3, requires_grad=True)
    minimum(leaf).backward()
    assert leaf.grad.item() == pytest.approx(expected, rel=1e-6)


def likelihood(p):
    data = K * p[0] + 0.1 * p[1]
    found = scipy.optimize.minimize(
        lambda at: -np.sum(scipy.stats.weibull_min.logpdf(data, np.exp(at[0]), scale=np.exp(at[1]))), [0.0, 0.0],
        options={"gtol": 1e-8},
    )  # fmt: skip
    return found.fun


def test_a_likelihood_of_an_adapted_program():
    adapted = pb.func.adapt(likelihood)
    at, step = np.array([2.0, 1.5]), 1e-5
    expected = [(likelihood(at + step * e) - likelihood(at - step * e)) / (2 * step) for e in np.eye(2)]
    np.testing.assert_allclose(grad(adapted)(pb.tensor(at)).numpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(jacfwd(adapted)(pb.tensor(at)).numpy(), expected, rtol=1e-5)
