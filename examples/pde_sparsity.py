"""The sparse Jacobian of a reaction and diffusion
================================================

A nonlinear system of 800 unknowns, of which each knows only its neighbours.

`sparse_jacobian` finds the pattern by looking at the program, colours its columns and computes all entries from few
directional derivatives. Implicit steps solve with the matrix, so they may be large.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import spsolve

import pullback as pb

N, DT = 20, 2.0


def spread(field):
    """The discrete Laplacian on a square whose edges let nothing through."""
    padded = pb.pad(field, ((1, 1), (1, 1)), mode="edge")
    return padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2] - 4 * field


def rates(state):
    """How two substances change: they spread, react, and are fed and removed."""
    a, b = state.reshape((2, N, N))
    reaction = a * b**2
    return pb.stack([0.16 * spread(a) - reaction + 0.05 * (1 - a), 0.08 * spread(b) + reaction - 0.11 * b]).reshape(-1)


def main():
    """Implicit Euler steps with Newton's method."""
    start = np.stack([np.ones((N, N)), np.zeros((N, N))])
    start[:, 8:12, 8:12] = [[[0.5]], [[0.4]]]
    state = pb.asarray(start.reshape(-1))
    jacobian = pb.func.sparse_jacobian(rates)
    dense = pb.func.jacfwd(rates)(state).numpy()
    matrix = jacobian(state)
    assert np.allclose(matrix.toarray(), dense)
    print(f"{matrix.nnz} of {dense.size} entries, {100 * matrix.nnz / dense.size:.1f} %")

    for _ in range(20):
        new = state
        while np.abs(residual := (new - state - DT * rates(new)).numpy()).max() > 1e-9:
            system = -DT * jacobian(new)
            system.setdiag(system.diagonal() + 1.0)
            new = new - pb.asarray(spsolve(system.tocsc(), residual))
        state = new

    _, (left, right) = plt.subplots(1, 2, figsize=(9, 4))
    left.spy(matrix, markersize=1)
    left.set_title("the Jacobian")
    right.imshow(state.numpy().reshape((2, N, N))[1], cmap="magma")
    right.set_title("the second substance, at time 40")
    plt.show()


if __name__ == "__main__":
    main()
