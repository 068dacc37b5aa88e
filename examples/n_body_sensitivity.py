"""How bodies depend on where they began
======================================

Three bodies attract each other; how far apart do two paths get that begin almost together?

The simulation writes into one array, step by step. Forward mode gives the derivative of all final places by the first
ones, and its largest singular value says how much a small error grows.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

STEPS, DT = 300, 0.01
MASS = np.array([1.0, 0.8, 0.6])


def simulate(start):
    """Places of all bodies after every step; `start` has places and velocities."""
    places = pb.zeros((STEPS + 1, 3, 2))
    places[0] = start[0]
    velocity = start[1] * 1
    for i in range(STEPS):
        apart = places[i][None, :, :] - places[i][:, None, :]
        distance = pb.sqrt((apart**2).sum(axis=-1) + 0.01)
        velocity += DT * (MASS[None, :, None] * apart / distance[:, :, None] ** 3).sum(axis=1)
        places[i + 1] = places[i] + DT * velocity
    return places


def main():
    """Simulate, differentiate, compare with a second simulation."""
    start = pb.asarray(np.array([[[-1.0, 0.0], [1.0, 0.2], [0.1, 1.2]], [[0.2, -0.4], [-0.3, 0.5], [0.1, -0.1]]]))
    path = simulate(start)
    matrix = pb.func.jacfwd(lambda s: simulate(s)[-1])(start).reshape((6, 12))
    left, growth, right = pb.linalg.svd(matrix)
    print(f"an error grows by a factor of up to {growth[0].item():.1f} in {STEPS * DT:.0f} units of time")

    # A second simulation that begins a little off, in the direction that grows most.
    error = 1e-5 * right[0].reshape((2, 3, 2))
    grown = (simulate(start + error)[-1] - path[-1]).reshape(-1)
    expected = 1e-5 * growth[0] * left[:, 0]
    assert pb.abs(grown - expected).max() < 1e-3 * pb.abs(expected).max()

    far = simulate(start + 5e3 * error)
    for body in range(3):
        (line,) = plt.plot(*path[:, body].numpy().T, label=f"body {body + 1}")
        plt.plot(*far[:, body].numpy().T, ":", color=line.get_color())
    plt.axis("equal")
    plt.legend(title="dotted: begun a little off")
    plt.show()


if __name__ == "__main__":
    main()
