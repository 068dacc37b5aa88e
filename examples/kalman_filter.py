"""The likelihood of a Kalman filter
==================================

Noise of a hidden walk and of its measurements, from the measurements alone.

The filter goes through the series by `pb.scan` and returns the likelihood of what it did not expect. One gradient goes
back through all steps, compiled, and an ascent finds the two variances.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

WALK, NOISE = 0.1, 0.5  # the true standard deviations


def filtered(log_deviations, series):
    """The filter's means, and minus the log-likelihood of the series."""
    walk, noise = pb.exp(2 * log_deviations[0]), pb.exp(2 * log_deviations[1])

    def step(state, seen):
        mean, variance = state
        variance = variance + walk
        surprise, spread = seen - mean, variance + noise
        gain = variance / spread
        cost = 0.5 * (surprise**2 / spread + pb.log(2 * np.pi * spread))
        mean = mean + gain * surprise
        return (mean, (1 - gain) * variance), (mean, cost)

    _, (means, costs) = pb.scan(step, (series[0], noise), series[1:])
    return costs.sum(), means


def main():
    """Make a series, find the deviations, compare the gradient with differences."""
    rng = np.random.default_rng(2)
    hidden = np.cumsum(WALK * rng.standard_normal(600))
    series = pb.asarray(hidden + NOISE * rng.standard_normal(600))
    slope_and_cost = pb.compile(pb.func.grad_and_value(lambda p: filtered(p, series)[0]))

    at, step = pb.tensor([0.0, 0.0]), 1e-5
    slope, cost = slope_and_cost(at)
    for number in range(2):
        move = pb.asarray(np.eye(2)[number] * step)
        numeric = (filtered(at + move, series)[0] - filtered(at - move, series)[0]).item() / (2 * step)
        assert abs(slope[number].item() - numeric) < 1e-4 * abs(numeric)
    for _ in range(400):
        slope, cost = slope_and_cost(at)
        at = at - 0.001 * slope
    walk, noise = pb.exp(at).tolist()
    print(f"the walk's steps {walk:.3f} (true: {WALK}), the noise {noise:.3f} (true: {NOISE}), cost {cost.item():.2f}")
    assert abs(walk - WALK) < 0.05 and abs(noise - NOISE) < 0.05

    plt.plot(series.numpy(), ".", ms=3, color="lightgray", label="measured")
    plt.plot(hidden, "k", lw=1, label="hidden walk")
    plt.plot(np.arange(1, 600), filtered(at, series)[1].numpy(), label="filter")
    plt.legend()
    plt.show()


if __name__ == "__main__":
    main()
