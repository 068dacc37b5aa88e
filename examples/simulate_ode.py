"""Differentiate a simulation
=============================

Differentiate through a simulation that fills a preallocated array.

A pendulum with friction is integrated by `h[i + 1] = h[i] + dt * f(h[i])`, the way one writes it in NumPy. Each step
reads one row and writes the next; Pullback knows that the rows do not overlap, so what a step saved stays valid. The
gradient of the final angle with respect to the initial state and the parameters is compared with finite differences.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

STEPS = 400
DT = 0.01


def velocity(state, gravity, friction):
    """The right-hand side: angle and angular velocity in, their time derivatives out."""
    angle, speed = state[0], state[1]
    return pb.stack([speed, -gravity * pb.sin(angle) - friction * speed])


def simulate(initial, gravity, friction):
    """All states, one per row."""
    h = pb.zeros((STEPS + 1, 2))
    h[0] = initial
    for i in range(STEPS):
        h[i + 1] = h[i] + DT * velocity(h[i], gravity, friction)
    return h


def final_angle(angle, speed, gravity, friction):
    """The same simulation in plain Python numbers, for the finite differences."""
    for _ in range(STEPS):
        angle, speed = angle + DT * speed, speed + DT * (-gravity * np.sin(angle) - friction * speed)
    return angle


def main():
    """Simulate, differentiate, compare."""
    initial = pb.tensor([1.2, 0.0], requires_grad=True)
    gravity = pb.tensor(9.81, requires_grad=True)
    friction = pb.tensor(0.3, requires_grad=True)

    trajectory = simulate(initial, gravity, friction)
    trajectory[-1, 0].backward()
    gradient = [*initial.grad.tolist(), gravity.grad.item(), friction.grad.item()]
    print(f"angle after {STEPS * DT:.0f} s: {trajectory[-1, 0].item():+.6f}")

    point = np.array([1.2, 0.0, 9.81, 0.3])
    for position, name in enumerate(["initial angle", "initial speed", "gravity", "friction"]):
        step = np.zeros(4)
        step[position] = 1e-6
        numeric = (final_angle(*(point + step)) - final_angle(*(point - step))) / 2e-6
        print(f"d angle / d {name:13s} {gradient[position]:+.8f}   (finite difference {numeric:+.8f})")
        assert abs(gradient[position] - numeric) < 1e-6

    path = trajectory.detach().numpy()
    plt.plot(DT * np.arange(STEPS + 1), path[:, 0], label="angle")
    plt.plot(DT * np.arange(STEPS + 1), path[:, 1], label="speed")
    plt.xlabel("s")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
