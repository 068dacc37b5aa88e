"""Swing up a pendulum on a cart
==============================

Which force brings a hanging pendulum upright in three seconds?

Sixty forces are the unknowns, the simulation is a plain loop, and the loss says where the pendulum should be at last.
The value and its gradient are compiled together, and SciPy's L-BFGS does the rest.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

import pullback as pb

STEPS, DT, LENGTH = 60, 0.05, 0.5


def simulate(forces):
    """Place, speed, angle (0 is upright) and angular speed after every step."""
    h = pb.zeros((STEPS + 1, 4))
    h[0, 2] = np.pi
    for i in range(STEPS):
        angle, turning = h[i, 2], h[i, 3]
        sine, cosine = pb.sin(angle), pb.cos(angle)
        push = (forces[i] + 0.2 * sine * (LENGTH * turning**2 - 9.81 * cosine)) / (1.0 + 0.2 * sine**2)
        turn = (9.81 * sine - push * cosine) / LENGTH
        h[i + 1, 1] = h[i, 1] + DT * push
        h[i + 1, 3] = turning + DT * turn
        h[i + 1, 0] = h[i, 0] + DT * h[i + 1, 1]
        h[i + 1, 2] = angle + DT * h[i + 1, 3]
    return h


def loss(forces):
    """Upright and at rest in the middle, with little force."""
    last = simulate(forces)[-1]
    return 10 * (1 - pb.cos(last[2])) + last[3] ** 2 + last[0] ** 2 + last[1] ** 2 + 1e-4 * (forces**2).sum()


def main():
    """Search, check, draw."""
    slope_and_value = pb.compile(pb.func.grad_and_value(loss))

    def value_and_slope(forces):
        slope, value = slope_and_value(pb.asarray(forces))
        return value.item(), slope.numpy()

    start = 2 * np.sin(np.linspace(0, 9, STEPS))
    assert pb.autograd.gradcheck(lambda f: loss(pb.concat([f, pb.asarray(start[4:])])), (pb.ones(4).requires_grad_(),))
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    path = simulate(pb.asarray(found.x)).numpy()
    print(f"{found.nfev} simulations: loss {found.fun:.3f}, angle in the end {np.cos(path[-1, 2]):.4f} (upright: 1)")
    assert np.cos(path[-1, 2]) > 0.98

    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    left.step(DT * np.arange(STEPS), found.x)
    left.set_title("force")
    right.plot(DT * np.arange(STEPS + 1), np.cos(path[:, 2]), label="cosine of the angle")
    right.plot(DT * np.arange(STEPS + 1), path[:, 0], label="place of the cart")
    right.legend()
    plt.show()


if __name__ == "__main__":
    main()
