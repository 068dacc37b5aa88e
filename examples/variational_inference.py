"""Variational inference with the reparametrisation trick
======================================================

A normal distribution is pulled towards a posterior that is none.

Draws are written as mean plus factor times standard normal numbers, so that the expectation has a gradient by mean and
factor. `vmap` evaluates the posterior at all draws, whose random numbers stay the same from step to step.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize


def log_density(x):
    """A bent distribution of two variables, up to a constant."""
    return -0.5 * (x[0] ** 2 / 2.0 + (x[1] - 0.5 * x[0] ** 2) ** 2 / 0.5)


def main():
    """Fit mean and factor; compare the bound with the integral on a grid."""
    draws = np.random.default_rng(0).standard_normal((200, 2))
    draws = pb.asarray(np.concatenate([draws, -draws]))

    def parts(parameters):
        factor = pb.stack([pb.exp(parameters[2]), pb.tensor(0.0), parameters[3], pb.exp(parameters[4])]).reshape((2, 2))
        return parameters[:2], factor

    def minus_bound(parameters):
        mean, factor = parts(parameters)
        heights = pb.vmap(log_density)(mean + draws @ factor.T)
        entropy = parameters[2] + parameters[4] + np.log(2 * np.pi * np.e)
        return -(heights.mean() + entropy)

    assert pb.autograd.gradcheck(minus_bound, (pb.tensor([0.1, 0.2, 0.0, 0.3, -0.2], requires_grad=True),))
    found = optimize.minimize(minus_bound, np.zeros(5), method="BFGS")
    mean, factor = (each.detach().numpy() for each in parts(found.x))
    side = np.linspace(-5, 5, 200)
    up = np.linspace(-3, 8, 220)
    grid = np.stack(np.meshgrid(side, up, indexing="ij"), axis=-1)
    density = np.exp(pb.vmap(log_density)(pb.asarray(grid.reshape(-1, 2))).numpy().reshape(200, 220))
    evidence = np.log(density.sum() * (side[1] - side[0]) * (up[1] - up[0]))
    print(f"lower bound {-found.fun.item():.3f}, logarithm of the integral {evidence:.3f}, mean {np.round(mean, 2)}")
    assert evidence - 1.5 < -found.fun.item() < evidence

    circle = np.stack([np.cos(np.linspace(0, 7, 200)), np.sin(np.linspace(0, 7, 200))])
    plt.contourf(side, up, density.T, levels=15, cmap="Blues")
    for size in (1, 2):
        plt.plot(*(mean[:, None] + size * factor @ circle), "r")
    plt.title("posterior, and one and two deviations of its approximation")
    plt.show()


if __name__ == "__main__":
    main()
