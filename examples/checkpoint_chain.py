"""Trade time for memory by checkpointing
=========================================

Trade time for memory: a deep chain whose intermediate values are recomputed in backward.

200 layers are run in 10 segments. Without checkpointing the tape keeps arrays of every layer; with it, only what enters
each segment. The gradients are the same, bit for bit.
"""

import tracemalloc

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback.utils.checkpoint import checkpoint

SEGMENTS, LAYERS, SIZE = 10, 20, 50_000

calls = 0


def segment(h, scale):
    """Twenty layers."""
    global calls
    calls += 1
    for _ in range(LAYERS):
        h = pb.tanh(h * scale) + 0.1
    return h


def plain(h, scale):
    """All segments, keeping everything."""
    for _ in range(SEGMENTS):
        h = segment(h, scale)
    return h.sum()


def checkpointed(h, scale):
    """All segments, keeping what enters them."""
    for _ in range(SEGMENTS):
        h = checkpoint(segment, h, scale)
    return h.sum()


def run(program):
    """Gradients, megabytes kept by the tape after forward, and how often a segment ran."""
    global calls
    calls = 0
    x = pb.tensor(np.linspace(-1.0, 1.0, SIZE), requires_grad=True)
    scale = pb.tensor(np.full(SIZE, 0.9), requires_grad=True)
    tracemalloc.start()
    loss = program(x, scale)
    kept = tracemalloc.get_traced_memory()[0] / 1e6
    loss.backward()
    tracemalloc.stop()
    return x.grad.numpy(), scale.grad.numpy(), kept, calls


def main():
    """Run both and compare."""
    *gradients, kept, runs = run(plain)
    *gradients_again, kept_again, runs_again = run(checkpointed)
    print(f"plain          {kept:7.1f} MB kept for backward, {runs} segment runs")
    print(f"checkpointed   {kept_again:7.1f} MB kept for backward, {runs_again} segment runs")
    for first, second in zip(gradients, gradients_again, strict=True):
        assert np.array_equal(first, second)
    print("the gradients are identical")
    assert kept_again < kept / 10
    assert runs_again == 2 * runs

    plt.barh(["plain", "checkpointed"], [kept, kept_again])
    plt.xlabel("MB kept for backward")
    plt.show()


if __name__ == "__main__":
    main()
