"""Compile a training step
==========================

Compile a training step: one trace, then NumPy calls only. Look at what it does, and take the source with you.

A logistic model is fitted by gradient descent. The step writes to its arguments, as training steps do: the weights are
updated in place under `no_grad`, and a counter counts. The compiled step does the same to the caller's tensors.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb


def data(count, rng):
    """Points of two classes, which a line separates for the most part."""
    points = rng.normal(size=(count, 3))
    labels = (points @ np.array([1.5, -2.0, 0.5]) + 0.3 * rng.normal(size=count) > 0).astype(float)
    return pb.asarray(points), pb.asarray(labels)


def step(weights, points, labels, count):
    """One step of gradient descent, in place. Returns the loss before it."""
    scores = points @ weights
    loss = (pb.log1p(pb.exp(-scores)) + (1 - labels) * scores).mean()
    (gradient,) = pb.autograd.grad(loss, weights)
    with pb.no_grad():
        weights.sub_(0.5 * gradient)
        count.add_(1)
    return loss.detach()


def fit(function, points, labels, steps):
    """The weights after some steps, the last loss, and the seconds per step."""
    weights, count = pb.zeros(3, requires_grad=True), pb.tensor(0)
    function(weights, points, labels, count)               # the first call traces
    begin = time.perf_counter()
    for _ in range(steps - 1):
        loss = function(weights, points, labels, count)
    seconds = (time.perf_counter() - begin) / (steps - 1)
    assert count.item() == steps
    return weights.detach(), loss.item(), seconds


def main():
    """Fit twice, and compare."""
    points, labels = data(200, np.random.default_rng(0))
    compiled = pb.compile(step, fallback="raise")
    plain, loss, slow = fit(step, points, labels, 100)
    fast_weights, fast_loss, fast = fit(compiled, points, labels, 100)
    print(f"weights {np.round(plain.numpy(), 3)}, loss {loss:.4f}")
    print(f"a step takes {slow * 1e6:.0f} µs, and {fast * 1e6:.0f} µs compiled")
    np.testing.assert_allclose([*fast_weights.numpy(), fast_loss], [*plain.numpy(), loss], rtol=1e-12)

    arguments = pb.zeros(3, requires_grad=True), points, labels, pb.tensor(0)
    print("\nWhat a call does, without running it:\n")
    print(compiled.explain(*arguments))

    print("\nThe graph:\n")
    print(pb.aot.trace(step, *arguments).graph)

    lengths = pb.compile(step, fallback="raise", dynamic=True)
    for count in (50, 120, 77):
        fit(lengths, *data(count, np.random.default_rng(count)), 3)
    print(f"\nbatches of three lengths, traced {lengths.cache_info().misses} time")

    plt.barh(["as it is", "compiled"], [slow * 1e6, fast * 1e6])
    plt.xlabel("µs for a step")
    plt.show()


if __name__ == "__main__":
    main()
