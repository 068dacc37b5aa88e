"""Determine an orbit from angles
================================

Where is a satellite that was only seen at angles? Fit an orbit to bearings from the ground.

Kepler's equation, solved by `newton`, gives the position at a time; `least_squares` fits the elements of the orbit to
the bearings. The derivative of the root is that of the equation, whatever Newton's method did on the way.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import optimize

TRUE = np.array([1.6, 0.3, 0.5, 0.4])  # semi-axis (earth radii), eccentricity, argument and anomaly at the start
TIMES = np.linspace(0.0, 9.0, 24)
NOISE = 1e-3


def positions(elements):
    """In the plane of the orbit, at the times of observation; the unit of time makes gravity 1."""
    axis, eccentricity, argument, start = (elements[k] for k in range(4))
    mean = start + TIMES / axis**1.5
    anomaly = optimize.newton(lambda E: E - eccentricity * pb.sin(E) - mean, mean.detach().numpy(), tol=1e-13)
    x = axis * (pb.cos(anomaly) - eccentricity)
    y = axis * pb.sqrt(1 - eccentricity**2) * pb.sin(anomaly)
    c, s = pb.cos(argument), pb.sin(argument)
    return pb.stack([c * x - s * y, s * x + c * y])


def bearings(elements):
    """The directions in which a station at (1, 0) sees the satellite, as unit vectors."""
    x, y = positions(elements)
    east = x - 1.0
    return pb.stack([east, y]) / pb.hypot(east, y)


def main():
    """Fit, with standard deviations."""
    noise = NOISE * np.random.default_rng(1).standard_normal((2, TIMES.size))
    seen = bearings(pb.asarray(TRUE)).numpy() + noise
    bounds = ([1, 0, -3, -3], [3, 0.9, 3, 3])
    start = [1.5, 0.2, 0.4, 0.5]
    fit = optimize.least_squares(lambda e: (bearings(e) - seen).reshape(-1) / NOISE, start, bounds=bounds)
    found, jacobian = fit.x.detach().numpy(), fit.jac.detach().numpy()
    deviations = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    names = ("semi-axis", "eccentricity", "argument", "anomaly")
    for name, value, deviation, true in zip(names, found, deviations, TRUE, strict=True):
        print(f"{name:<13} {value:.5f} ± {deviation:.5f}   (true: {true})")
        assert abs(value - true) < 5 * deviation

    path = positions(pb.asarray(found)).numpy()
    plt.plot(*path, "o-", markersize=3)
    for direction in seen.T[::4]:
        plt.plot([1.0, 1.0 + 2 * direction[0]], [0.0, 2 * direction[1]], color="grey", linewidth=0.5)
    plt.gca().set_aspect("equal")
    plt.show()


if __name__ == "__main__":
    main()
