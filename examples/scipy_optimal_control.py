"""Steer a pendulum up
======================

Find the torque that swings a pendulum from hanging to standing in three seconds, with as little effort as it takes.

The torque is a cubic spline through a few values. The state comes from `solve_ivp`, the values from `minimize`, with the
end state as a constraint: both derivatives go through the differential equation and the spline.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.scipy import integrate, interpolate, optimize

END = 3.0
KNOTS = np.linspace(0.0, END, 7)


def states(values, times):
    """Angle and speed at these times, for the values of the torque at the knots."""
    torque = interpolate.CubicSpline(KNOTS, values)

    def motion(t, y):
        return pb.stack([y[1], -9.81 * pb.sin(y[0]) - 0.2 * y[1] + torque(t)])

    return integrate.solve_ivp(motion, (0.0, END), [0.0, 0.0], t_eval=times, rtol=1e-6).y


def main():
    """Minimise the effort, subject to the end state."""
    weights = np.full(7, END / 6)
    weights[[0, -1]] /= 2  # of the trapezoidal rule
    found = optimize.minimize(
        lambda u: (weights * u * u).sum(), np.full(7, 1.0), method="SLSQP", options={"maxiter": 60, "ftol": 1e-4},
        constraints={"type": "eq", "fun": lambda u: states(u, [END])[:, -1] - np.array([np.pi, 0.0])},
    )  # fmt: skip
    torque = found.x.detach().numpy()
    times = np.linspace(0.0, END, 60)
    angle, speed = states(pb.asarray(torque), times).numpy()
    print(f"effort {found.fun.item():.2f} in {found.nit} steps; at the end: {angle[-1]:.4f} rad, {speed[-1]:.4f} rad/s")
    assert abs(angle[-1] - np.pi) < 1e-3 and abs(speed[-1]) < 1e-3

    plt.plot(times, angle, label="angle")
    plt.plot(times, interpolate.CubicSpline(KNOTS, torque)(times).numpy(), label="torque")
    plt.axhline(np.pi, color="grey", linewidth=0.5)
    plt.xlabel("time (s)")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
