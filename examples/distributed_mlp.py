"""A network on several ranks, by tensors that are in blocks
===========================================================

Two layers, of which every rank has some columns of the first and the same rows of the second: activations in between
are never sent, and a layer pair needs one reduction forward and none for its weights backward.

The program is that for one process. Run it with ``mpiexec -n 4 python distributed_mlp.py``; alone it takes threads.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback import distributed as dist
from pullback.distributed import Replicate, Shard

random = np.random.default_rng(0)
DATA, TARGET = random.standard_normal((32, 6)), random.standard_normal((32, 2))
FIRST, SECOND = 0.5 * random.standard_normal((6, 16)), 0.5 * random.standard_normal((16, 2))
STEPS, RATE = 40, 0.1


def loss(x, y, first, second):
    """The mean of the squared errors of a network with one hidden layer."""
    return ((pb.tanh(x @ first) @ second - y) ** 2).mean()


def train(x, y, first, second):
    """Gradient descent; the losses on the way."""
    losses = []
    for _ in range(STEPS):
        value = loss(x, y, first, second)
        value.backward()
        losses.append(value.detach())
        with pb.no_grad():
            for weights in (first, second):
                weights -= RATE * weights.grad
                weights.grad = None
    return losses


def on_ranks():
    """The training on blocks of the weights."""
    mesh = dist.mesh(dist.size(), "model")
    x, y = (dist.distribute(array, mesh, [Replicate()]) for array in (DATA, TARGET))
    first = dist.distribute(FIRST, mesh, [Shard(1)]).requires_grad_()
    second = dist.distribute(SECOND, mesh, [Shard(0)]).requires_grad_()
    losses = [float(dist.full_tensor(value)) for value in train(x, y, first, second)]
    return losses, dist.to_local(first.detach()).shape, dist.full_tensor(second.detach()).numpy()


if __name__ == "__main__":
    alone = [pb.tensor(array, requires_grad=True) for array in (FIRST, SECOND)]
    expected = [float(value) for value in train(pb.tensor(DATA), pb.tensor(TARGET), *alone)]
    dist.init()
    results = [on_ranks()] if dist.size() > 1 else dist.simulate(on_ranks, 4)
    for losses, _, weights in results:
        np.testing.assert_allclose(losses, expected, rtol=1e-10)
        np.testing.assert_allclose(weights, alone[1].detach().numpy(), rtol=1e-10)
    if dist.rank() == 0:
        losses, shape, _ = results[0]
        print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}, as on one process; a rank has {shape} of {FIRST.shape}")
        plt.plot(expected, "k", lw=3, alpha=0.3, label="one process")
        plt.plot(losses, label="in blocks")
        plt.xlabel("step")
        plt.ylabel("loss")
        plt.legend()
        plt.show()
