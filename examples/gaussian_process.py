"""Hyperparameters of a Gaussian process
======================================

Length, height and noise of a Gaussian process by maximum likelihood.

The logarithm of the marginal likelihood goes through a Cholesky factor, and so does its gradient. SciPy searches, with
exact derivatives, and the fitted process is drawn with two standard deviations.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize


def covariance(a, b, parameters):
    """How values at `a` and `b` vary together; parameters are logarithms."""
    length, height = pb.exp(parameters[0]), pb.exp(parameters[1])
    return height**2 * pb.exp(-0.5 * ((a[:, None] - b[None, :]) / length) ** 2)


def factor(parameters, x):
    """The Cholesky factor of the covariance of the data."""
    noise = pb.exp(parameters[2]) ** 2 + 1e-10
    return pb.linalg.cholesky(covariance(x, x, parameters) + noise * pb.eye(len(x)))


def minus_log_likelihood(parameters, x, y):
    """Minus the logarithm of the density of the data."""
    lower = factor(parameters, x)
    white = pb.linalg.solve_triangular(lower, y[:, None], upper=False)
    return 0.5 * (white**2).sum() + pb.log(pb.diagonal(lower)).sum() + 0.5 * len(x) * np.log(2 * np.pi)


def main():
    """Fit, compare the gradient with differences, predict."""
    rng = np.random.default_rng(0)
    x = pb.asarray(np.sort(rng.uniform(0.0, 6.0, 40)))
    y = pb.sin(x) + 0.1 * pb.asarray(rng.standard_normal(40))
    loss = lambda parameters: minus_log_likelihood(parameters, x, y)
    start = pb.tensor([1.0, 1.0, -1.0])
    assert pb.autograd.gradcheck(loss, (start.clone().requires_grad_(),))

    found = optimize.minimize(loss, start, method="BFGS").x.detach()
    length, height, noise = pb.exp(found).tolist()
    print(f"length {length:.2f}, height {height:.2f}, noise {noise:.3f} (true: 0.1)")
    assert abs(noise - 0.1) < 0.03 and pb.abs(pb.func.grad(loss)(found)).max() < 1e-3

    grid = pb.linspace(-0.5, 6.5, 200)
    cross, lower = covariance(grid, x, found), factor(found, x)
    half = pb.linalg.solve_triangular(lower, cross.T, upper=False)
    mean = half.T @ pb.linalg.solve_triangular(lower, y[:, None], upper=False)[:, 0]
    deviation = pb.sqrt(height**2 - (half**2).sum(axis=0))
    t, mean, deviation = grid.numpy(), mean.numpy(), deviation.numpy()
    plt.fill_between(t, mean - 2 * deviation, mean + 2 * deviation, alpha=0.3)
    plt.plot(t, mean, label="fitted process")
    plt.plot(t, np.sin(t), "k:", label="truth")
    plt.plot(x.numpy(), y.numpy(), "o", ms=3, label="data")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
