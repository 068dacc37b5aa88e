"""Choose a penalty by its gradient
===================================

Choose the penalty of a fit by its error on other data: a derivative through a whole minimisation.

The inner problem is a logistic regression, solved by SciPy. Its solution satisfies an equation, and by that the error
on held-out data has an exact gradient by the logarithm of the penalty, for which SciPy searches in turn.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize


def data(rng, count, truth):
    """Features, and outcomes with noise."""
    x = rng.standard_normal((count, len(truth)))
    return pb.asarray(x), pb.asarray((rng.uniform(size=count) < 1 / (1 + np.exp(-x @ truth))).astype(float))


def loss(weights, x, y):
    """Minus the mean log-likelihood."""
    z = x @ weights
    return (pb.logaddexp(0.0, z) - y * z).mean()


def main():
    """Search for the penalty."""
    rng = np.random.default_rng(3)
    truth = np.concatenate([[1.5, -1.0], np.zeros(8)])
    train, validation = data(rng, 60, truth), data(rng, 400, truth)

    def fitted(log_penalty):
        penalty = pb.exp(log_penalty)
        return optimize.minimize(
            lambda w: loss(w, *train) + penalty * (w * w).sum(), np.zeros(10), method="Newton-CG", tol=1e-10
        ).x

    def error(log_penalty):
        return loss(fitted(log_penalty), *validation)

    step = 1e-4
    at = pb.tensor(-4.0)
    slope = pb.func.grad(error)(at).item()
    numerical = (error(at + step) - error(at - step)).item() / (2 * step)
    print(f"the slope of the validation error at exp(-4) is {slope:.6f}, by differences {numerical:.6f}")
    assert abs(slope - numerical) < 1e-6
    best = optimize.minimize(lambda t: error(t[0]), [-4.0], method="BFGS", tol=1e-6)
    print(f"the best penalty is {np.exp(best.x.item()):.4f}: error {float(error(at)):.4f} -> {float(best.fun):.4f}")
    assert best.fun < error(at)

    grid = np.linspace(-7.0, -1.0, 13)
    plt.plot(np.exp(grid), [error(pb.tensor(each)).item() for each in grid], "o-")
    plt.axvline(np.exp(best.x.item()), ls=":", color="k", label="found by its gradient")
    plt.xscale("log")
    plt.xlabel("penalty")
    plt.ylabel("error on held-out data")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
