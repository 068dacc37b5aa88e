"""Two spirals and a small network
===============================

Which of two spirals a point belongs to, learned by a small network.

A dataclass holds the layers, one compiled step has the loss, the gradient and the update, batches come in an order that
depends on the seed alone, and the parameters go to a file and back.
"""

import tempfile
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


@pb.dataclass
class Linear:
    """A layer: `x @ w + b`."""

    w: pb.Tensor
    b: pb.Tensor

    def __call__(self, x):
        """The layer's value for rows of inputs."""
        return x @ self.w + self.b


def spirals(count, rng):
    """Points on two arms with some noise, and the number of the arm, 0 or 1."""
    arm = np.arange(count) % 2
    turn = np.sqrt(rng.uniform(size=count)) * 3 * np.pi
    points = np.stack([np.cos(turn + np.pi * arm), np.sin(turn + np.pi * arm)], axis=1) * turn[:, None] / (3 * np.pi)
    return points + rng.normal(scale=0.01, size=(count, 2)), arm.astype(float)


def make(sizes, rng):
    """Layers between these sizes."""
    return [
        Linear(pb.init.kaiming_normal(pair, mode="fan_out", rng=rng), pb.init.zeros(pair[1], rng=rng))
        for pair in pairwise(sizes)
    ]


def score(layers, x):
    """One number for each point: positive for the second arm."""
    for layer in layers[:-1]:
        x = pb.relu(layer(x))
    return layers[-1](x)[:, 0]


def loss(layers, x, y):
    """The mean of `-log p` of the right arm."""
    s = score(layers, x)
    return (pb.logaddexp(0.0, s) - y * s).mean()


def accuracy(layers, x, y):
    """The share of points that are on the right side."""
    return float(((score(layers, x).numpy() > 0) == y).mean())


def main():
    """Train, save, load, and say how well it went."""
    rng = np.random.default_rng(0)
    x, y = spirals(600, rng)
    x_new, y_new = spirals(400, rng)
    layers = make((2, 32, 32, 1), pb.random.default_rng(1))
    print(pb.tree.summary(layers))

    steps = 900
    opt = pb.optim.AdamW(pb.optim.warmup(50, then=pb.optim.cosine(0.02, steps)), weight_decay=1e-4)
    state = opt.init(layers)
    step = opt.compiled_step(loss, clip=lambda gradients: pb.optim.clip_by_norm(gradients, 1.0))
    data = pb.data.batches(x, y, size=100, seed=0, epochs=steps // 6)
    print(f"\nbefore: loss {loss(layers, x, y).item():.3f}, right {accuracy(layers, x_new, y_new):.1%}")
    for number, batch in enumerate(data, 1):
        layers, state, value = step(layers, state, *batch)
        if number % 300 == 0:
            print(f"step {number}: loss {value.item():.4f}")
    assert step.compiled.cache_info().misses == 1

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/spirals.npz"
        pb.save(path, {"layers": layers, "state": state})
        layers = pb.load(path)["layers"]
    print(f"new points on the right arm: {(right := accuracy(layers, x_new, y_new)):.1%}")

    sides = np.stack(np.meshgrid(*[np.linspace(-1.2, 1.2, 80)] * 2), -1).reshape(-1, 2) * np.abs(x).max()
    plt.figure(figsize=(4.5, 4.5))
    plt.scatter(*sides.T, c=np.sign(score(layers, sides).numpy().ravel()), s=6, cmap="coolwarm", alpha=0.25, marker="s")
    plt.scatter(*x_new.T, c=y_new.ravel(), s=8, cmap="coolwarm")
    plt.show()
    assert right > 0.95


if __name__ == "__main__":
    main()
