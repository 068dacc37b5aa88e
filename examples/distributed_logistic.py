"""Logistic regression with the data spread over ranks
===================================================

Fit a logistic regression whose rows are dealt to several ranks, with gradients averaged while backward runs.

Every rank sees its part of each batch; parameters stay equal, since all ranks take the same step. The same file runs
on one process and on several, and gives the same numbers up to rounding:

    python examples/distributed_logistic.py
    mpiexec -n 4 python examples/distributed_logistic.py
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback import distributed as dist

ROWS, BATCH, EPOCHS = 400, 40, 15


def loss(weights, bias, x, y):
    """The mean negative log-likelihood of labels 0 and 1."""
    score = x @ weights + bias
    return (pb.logaddexp(score, pb.zeros_like(score)) - y * score).mean()


def fit(x, y, comm):
    """Weights and bias, by gradient descent on averages over the ranks of `comm`."""
    weights = pb.zeros(x.shape[1], requires_grad=True)
    bias = pb.zeros((), requires_grad=True)
    averager = dist.GradientAverager([weights, bias], comm=comm)
    for epoch in range(EPOCHS):
        for rows in dist.sampler(len(x), BATCH, seed=1, epoch=epoch, comm=comm):
            averager.weight = len(rows)
            loss(weights, bias, pb.tensor(x[rows]), pb.tensor(y[rows])).backward()
            with pb.no_grad():
                for p in (weights, bias):
                    p -= 0.5 * p.grad
                    p.grad = None
    return np.append(weights.detach().numpy(), bias.item())


def main():
    """Fit on all ranks, and once more on this one alone."""
    comm = dist.init()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 3))
    truth = np.array([2.0, -1.0, 0.5, 0.3])
    y = (rng.uniform(size=ROWS) < 1 / (1 + np.exp(-(x @ truth[:3] + truth[3])))).astype(float)
    found = fit(x, y, comm)
    alone = fit(x, y, comm.split(comm.rank))  # a communicator of this rank only
    np.testing.assert_allclose(found, alone, rtol=1e-10)
    same = comm.gather_objects(found.tobytes())
    assert len(set(same)) == 1, "ranks have different parameters"
    if comm.rank == 0:
        print(f"{comm.size} ranks: {np.round(found, 3)}, the data were drawn with {truth}")
        score = x @ found[:3] + found[3]
        grid = np.linspace(score.min(), score.max(), 100)
        plt.plot(score, y, "|", color="gray", label="labels")
        plt.plot(grid, 1 / (1 + np.exp(-grid)), label="probability that was fitted")
        plt.xlabel("score")
        plt.legend()
        plt.show()


if __name__ == "__main__":
    main()
