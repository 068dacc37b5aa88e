"""A gradient for every example
===============================

A gradient for every example of a batch, in one sweep: `vmap` of `grad`.

Training needs the mean of the gradients of a batch only, but each of them tells something about its example. Here a
small network learns to tell two spirals apart while a few labels are wrong. Gradients are clipped example by example
before they are averaged, as private training does it, and in the end the longest ones point at the wrong labels.
"""

import time
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.utils.pytree import flatten, map_leaves

CLIP = 0.5


def spirals(rng, count=160, wrong=6):
    """Points, labels of which some are wrong, and which ones."""
    label = np.arange(count) % 2
    turn = np.sqrt(rng.uniform(0.1, 1.0, count)) * 1.9 * np.pi
    points = np.stack([np.cos(turn + np.pi * label), np.sin(turn + np.pi * label)], axis=1) * turn[:, None]
    points = points / 3.0 + 0.03 * rng.standard_normal((count, 2))
    flipped = np.sort(rng.choice(count, wrong, replace=False))
    label[flipped] = 1 - label[flipped]
    return pb.asarray(points), pb.asarray(label), flipped


def network(rng, sizes=(2, 24, 24, 2)):
    """Weights and biases, a dictionary for each layer: gradients will have the same structure."""
    return [
        {"weight": pb.asarray(rng.standard_normal((n, m)) / np.sqrt(n)), "bias": pb.zeros(m)}
        for n, m in pairwise(sizes)
    ]


def loss(layers, h, label):
    """Cross entropy for ONE point; nothing in here knows of batches."""
    for layer in layers[:-1]:
        h = pb.tanh(h @ layer["weight"] + layer["bias"])
    scores = h @ layers[-1]["weight"] + layers[-1]["bias"]
    return pb.logsumexp(scores) - scores[label]


per_sample = pb.func.vmap(pb.func.grad(loss), in_dims=(None, 0, 0))


def lengths(gradients):
    """The Euclidean length of each example's gradient over all parameters."""
    return pb.sqrt(sum((leaf.reshape((leaf.shape[0], -1)) ** 2).sum(axis=1) for leaf in flatten(gradients)[0]))


def compare(layers, points, labels):
    """The same numbers as a loop over the examples, and how long each takes."""
    per_sample(layers, points, labels)  # once before the clock runs
    clock = time.perf_counter()
    together = per_sample(layers, points, labels)
    halfway = time.perf_counter()
    singly = [pb.func.grad(loss)(layers, points[i], labels[i]) for i in range(len(points))]
    end = time.perf_counter()
    for i, one in enumerate(singly):
        assert np.allclose(together[0]["weight"][i].numpy(), one[0]["weight"].numpy())
    print(f"{len(points)} gradients: {1e3 * (halfway - clock):.1f} ms by vmap, {1e3 * (end - halfway):.1f} in a loop")


def main():
    """Compare, train with clipped gradients, look at the longest."""
    rng = np.random.default_rng(0)
    points, labels, flipped = spirals(rng)
    layers = network(rng)
    compare(layers, points, labels)

    for epoch in range(240):
        gradients = per_sample(layers, points, labels)
        scale = pb.clip(CLIP / lengths(gradients), max=1.0)
        step = map_leaves(lambda g, s=scale: pb.tensordot(s, g, 1) / len(s), gradients)
        layers = map_leaves(lambda p, g: p - 3.0 * g, layers, step)
        if epoch % 60 == 0:
            mean = pb.func.vmap(loss, in_dims=(None, 0, 0))(layers, points, labels).mean().item()
            print(f"epoch {epoch:3d}   mean loss {mean:.3f}   clipped {(scale < 1).sum().item()} of {len(points)}")

    longest = np.argsort(-lengths(per_sample(layers, points, labels)).numpy())[: len(flipped)]
    found = len(set(longest.tolist()) & set(flipped.tolist()))
    print(f"wrong labels {flipped.tolist()}, longest gradients {np.sort(longest).tolist()}, {found} of them wrong")
    assert found >= len(flipped) - 2

    plt.scatter(*points.numpy().T, c=labels.numpy(), cmap="coolwarm", s=18)
    plt.scatter(*points.numpy()[longest].T, s=140, facecolor="none", edgecolor="k", label="longest gradients")
    plt.scatter(*points.numpy()[flipped].T, marker="x", color="k", label="wrong labels")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
