"""Fit a spline, its knots included
==================================

Fit a cubic spline to noisy data, with the places of its knots as parameters: where the curve bends, knots gather.

The values at the knots solve a linear least-squares problem; the knots are found by `minimize`. The derivative goes
through `CubicSpline` by its knots and by its values.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import interpolate, optimize

RNG = np.random.default_rng(0)
X = np.linspace(0.0, 1.0, 80)
Y = np.tanh(30 * (X - 0.6)) + 0.03 * RNG.standard_normal(80)


def knots_of(shares):
    """Ascending knots between 0 and 1, from numbers without bounds."""
    widths = pb.exp(shares) / pb.exp(shares).sum()
    return pb.concat([pb.zeros(1), pb.cumsum(widths)])


def fitted(shares):
    """The spline on these knots that is closest to the data, and half of the sum of squares."""
    knots = knots_of(shares)
    design = interpolate.CubicSpline(knots, np.eye(knots.shape[0]), bc_type="natural")(X)
    values = pb.linalg.lstsq(design, pb.asarray(Y)[:, None])[0][:, 0]
    return knots, values, 0.5 * ((design @ values - Y) ** 2).sum()


def main():
    """Move the knots, and draw both splines."""
    start = np.zeros(7)
    even = fitted(pb.asarray(start))[2].item()
    found = optimize.minimize(lambda s: fitted(s)[2] + 1e-4 * (s * s).sum(), start, method="BFGS")
    knots, values, cost = fitted(found.x.detach())
    print(f"half of the sum of squares: {even:.4f} with even knots, {cost.item():.4f} with these:")
    print(np.round(knots.numpy(), 3))
    assert cost.item() < 0.5 * even

    plt.plot(X, Y, ".", color="grey")
    plt.plot(X, interpolate.CubicSpline(knots, values, bc_type="natural")(X).numpy())
    plt.plot(knots.numpy(), values.numpy(), "o")
    plt.show()


if __name__ == "__main__":
    main()
