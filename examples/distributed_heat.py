"""Recover a conductivity field on several ranks
=============================================

Find how well each cell of a plate conducts from how heat has spread, with the plate cut into blocks, one per rank.

Each rank has a block of the plate and exchanges rows with its neighbours in every step. The adjoint of that exchange is
an operator like any other, so the gradient of the misfit by both the initial temperatures and the conductivity needs
no code for messages. The same file runs on one process and on several:

    python examples/distributed_heat.py
    mpiexec -n 4 python examples/distributed_heat.py
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback import distributed as dist

N, STEPS, DT = 16, 20, 0.1


def blocks(grid):
    """The rows and columns of this rank's block of the plate."""
    parts = [np.array_split(np.arange(N), n)[c] for n, c in zip(grid.shape, grid.coords, strict=True)]
    return np.ix_(*parts)


def evolved(start, conductivity, neighbours):
    """The temperatures after all steps; `neighbours` puts one more row and column around a block."""
    k = neighbours(conductivity)

    def step(u, _):
        w = neighbours(u)

        def flow(there):
            return (k[there] + k[1:-1, 1:-1]) / 2 * (w[there] - u)

        inner, low, high = slice(1, -1), slice(None, -2), slice(2, None)
        spread = flow((low, inner)) + flow((high, inner)) + flow((inner, low)) + flow((inner, high))
        return u + DT * (spread + u * (1 - u)), None

    return pb.scan(step, start, None, length=STEPS)[0]


def wrapped(u):
    """The neighbours on one process: the plate is periodic."""
    u = pb.concat([u[-1:], u, u[:1]], axis=0)
    return pb.concat([u[:, -1:], u, u[:, :1]], axis=1)


def main():
    """Check the gradient against the serial program, then use it."""
    comm = dist.init()
    grid = dist.mesh((-1, 2) if comm.size > 1 else (1, 1), ("x", "y"))
    mine = blocks(grid)
    y, x = np.mgrid[0:N, 0:N] * 2 * np.pi / N
    start = 0.5 + 0.4 * np.sin(x) * np.cos(2 * y)
    truth = 0.6 + 0.4 * np.exp(-((x - 3) ** 2 + (y - 3) ** 2))
    measured = evolved(pb.tensor(start), pb.tensor(truth), wrapped).numpy()

    def neighbours(u):
        return dist.halo_exchange(u, (1, 1), (0, 1), mesh=grid, mesh_axis=("x", "y"))

    def misfit(u, k, seen, around):
        return ((evolved(u, k, around) - seen) ** 2).sum()

    def shared_misfit(u, k):
        # It counts once, although all ranks hold it.
        return dist.all_reduce(misfit(u, k, pb.tensor(measured[mine]), neighbours), replicated=True)

    gradient = pb.compile(pb.func.value_and_grad(shared_misfit, argnums=(0, 1)))
    guess = np.full((N, N), 0.6)
    value, found = gradient(pb.tensor(start[mine]), pb.tensor(guess[mine]))

    serial = pb.func.value_and_grad(lambda u, k: misfit(u, k, pb.tensor(measured), wrapped), argnums=(0, 1))
    expected, whole = serial(pb.tensor(start), pb.tensor(guess))
    np.testing.assert_allclose(value.item(), expected.item(), rtol=1e-12)
    for part, full in zip(found, whole, strict=True):
        np.testing.assert_allclose(part.numpy(), full.numpy()[mine], rtol=1e-11, atol=1e-13)

    # The dot test: forward and reverse mode agree across all ranks.
    rng = np.random.default_rng(comm.rank)
    t, g = rng.normal(size=(2, *found[0].shape))
    run = lambda u: evolved(u, pb.tensor(guess[mine]), neighbours)
    _, moved = pb.func.jvp(run, (pb.tensor(start[mine]),), (pb.tensor(t),))
    _, pull = pb.func.vjp(run, pb.tensor(start[mine]))
    sides = np.array([(g * moved.numpy()).sum(), (pull(pb.tensor(g))[0].numpy() * t).sum()])
    left, right = dist.all_reduce(sides).tolist()
    np.testing.assert_allclose(left, right, rtol=1e-12)

    k, first, second = guess[mine], 0.0, 0.0
    for count in range(1, 121):
        value, (_, slope) = gradient(pb.tensor(start[mine]), pb.tensor(k))
        first, second = 0.9 * first + 0.1 * slope.numpy(), 0.99 * second + 0.01 * slope.numpy() ** 2
        k = k - 0.02 * (first / (1 - 0.9**count)) / (np.sqrt(second / (1 - 0.99**count)) + 1e-12)
    parts = comm.gather_objects((mine, k))
    sums = [((k - truth[mine]) ** 2).sum(), ((guess - truth)[mine] ** 2).sum()]
    left, before = np.sqrt(dist.all_reduce(np.array(sums)).numpy() / N**2)
    assert left < before / 3, (left, before)
    if comm.rank == 0:
        print(f"{comm.size} ranks: misfit {expected.item():.4f} to {value.item():.2e}")
        print(f"error of the conductivity {before:.3f} to {left:.3f}; gradient and dot test as in one process")
        whole_k = np.empty((N, N))
        for block, values in parts:
            whole_k[block] = values
        for place, field, title in ((1, truth, "true"), (2, whole_k, "found")):
            plt.subplot(1, 2, place, title=f"conductivity, {title}")
            plt.imshow(field, vmin=0.6, vmax=1.0)
        plt.show()


if __name__ == "__main__":
    main()
