"""A hierarchical model by Laplace's method
==========================================

How much do hospitals differ? The deviation between them by maximum marginal likelihood.

Every hospital has an effect of its own, normally distributed with an unknown deviation. Laplace's method puts a normal
distribution in the place of the integral over the effects: `minimize` finds their mode for a deviation, and the
marginal likelihood is differentiated through that mode, its Hessian included.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize, stats

RNG = np.random.default_rng(4)
CASES = RNG.integers(30, 120, 8)
EFFECTS = 0.6 * RNG.standard_normal(8)
DEATHS = RNG.binomial(CASES, 1 / (1 + np.exp(1.5 - EFFECTS)))


def energy(effects, mean, deviation):
    """The negative logarithm of the joint density of effects and counts."""
    chance = pb.special.expit(mean + effects)
    counts = stats.binom.logpmf(DEATHS, CASES, chance).sum()
    return -counts - stats.norm.logpdf(effects, 0.0, deviation).sum()


def mode(parameters):
    """The most probable effects."""
    mean, deviation = parameters[0], pb.exp(parameters[1])
    found = optimize.minimize(lambda e: energy(e, mean, deviation), np.zeros(8), method="Newton-CG", tol=1e-10)
    return found.x


def loss(parameters):
    """The negative logarithm of the marginal likelihood, by Laplace's method."""
    mean, deviation = parameters[0], pb.exp(parameters[1])
    effects = mode(parameters)
    hessian = pb.func.hessian(energy)(effects, mean, deviation)
    return energy(effects, mean, deviation) + 0.5 * pb.linalg.slogdet(hessian)[1]


def main():
    """Maximise the marginal likelihood, and draw the effects."""
    gradient = pb.func.grad(loss)
    found = optimize.minimize(loss, [-1.0, -0.5], method="BFGS", options={"maxiter": 8, "gtol": 1e-3}).x.detach()
    mean, deviation = found[0].item(), np.exp(found[1].item())
    print(f"mean {mean:.3f}, deviation between hospitals {deviation:.3f}   (true: -1.5, 0.6)")
    assert np.abs(gradient(found).numpy()).max() < 1e-2
    assert 0.2 < deviation < 1.2

    plt.plot(EFFECTS, np.log(DEATHS / (CASES - DEATHS)) - mean, "o", label="each alone")
    plt.plot(EFFECTS, mode(found).detach().numpy(), "o", label="together")
    plt.plot([-1.2, 1.2], [-1.2, 1.2], color="grey", linewidth=0.5)
    plt.xlabel("true effect")
    plt.ylabel("estimated")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
