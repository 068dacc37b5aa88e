"""Attention over sequences of different lengths
================================================

Attention over sequences of different lengths, trained without padding.

Every sequence has between 3 and 40 elements, each a number and a mark. The target is the sum of the two marked numbers.
One ragged tensor holds a whole batch; attention, the layers before it and the sum behind it are one call each for all
sequences, and one compiled step serves all lengths.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback import optim

FEATURES, STEPS, BATCH = 12, 250, 32


def batch(rng):
    """Sequences of numbers of which two are marked, and the sums of these two."""
    rows, targets = [], []
    for length in rng.integers(3, 41, BATCH):
        numbers = rng.uniform(0, 1, length)
        marks = np.zeros(length)
        marks[rng.choice(length, 2, replace=False)] = 1
        rows.append(np.stack([numbers, marks], axis=1))
        targets.append((numbers * marks).sum())
    return pb.nested.nested(rows), pb.asarray(np.array(targets))


def weights(rng):
    """The matrices of the model, by name."""
    shapes = {"embed": (2, FEATURES), "query": (FEATURES, FEATURES), "key": (FEATURES, FEATURES),
              "value": (FEATURES, FEATURES), "gate": (FEATURES, 1), "out": (FEATURES, 1)}  # fmt: skip
    return {name: pb.tensor(rng.standard_normal(shape) / np.sqrt(shape[0]), requires_grad=True)
            for name, shape in shapes.items()}  # fmt: skip


def predict(sequences, model):
    """One number for every sequence."""
    h = pb.tanh(sequences @ model["embed"])
    h = h + pb.nn.scaled_dot_product_attention(h @ model["query"], h @ model["key"], h @ model["value"])
    share = (h @ model["gate"]).softmax(1)  # how much every element of a sequence counts
    return ((h * share).sum(1) @ model["out"])[:, 0]


@pb.compile
def loss(sequences, targets, model):
    """The mean squared error of a batch."""
    return ((predict(sequences, model) - targets) ** 2).mean()


def main():
    """Train, and compare with the best constant."""
    rng = np.random.default_rng(0)
    model = weights(rng)
    optimizer = optim.Adam(model.values(), lr=0.02)
    errors = []
    for step in range(STEPS):
        sequences, targets = batch(rng)
        optimizer.zero_grad()
        error = loss(sequences, targets, model)
        error.backward()
        optimizer.step()
        errors.append(error.item())
        if step % 50 == 0:
            filled = sequences.shape[1].total / (BATCH * sequences.shape[1].max)
            print(f"step {step:3d}: error {errors[-1]:.4f}, {filled:.0%} of a padded array would be elements")
    found = np.mean(errors[-20:])
    print(f"mean squared error {found:.4f}; the best constant has {1 / 6:.4f}")
    assert found < 0.02

    plt.figure(figsize=(6, 3))
    plt.semilogy(errors)
    plt.xlabel("step")
    plt.ylabel("mean squared error")
    plt.tight_layout()
    plt.show()


if __name__ == "__main__":
    main()
