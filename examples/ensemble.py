"""Calibrate from many starts, on all cores
==========================================

Fit a damped oscillation from 24 starts on a pool of processes, and repeat the best fit on noisy copies of the data.

The sum of squares has a minimum for nearly every frequency, so where a fit ends depends on where it began.
`pb.distributed.multi_start` runs one fit per start on the workers of any executor and sorts what they reached;
`pb.distributed.ensemble` stacks results. Both give the same bits with any number of workers, or with none.
"""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb

TIMES = np.sort(np.random.default_rng(1).uniform(0.0, 6.0, 80))  # even ones would not tell some frequencies apart
TRUTH = np.array([1.5, 0.35, 4.2, 0.6])  # amplitude, damping, frequency, phase
DATA = TRUTH[0] * np.exp(-TRUTH[1] * TIMES) * np.cos(TRUTH[2] * TIMES + TRUTH[3])
DATA = DATA + 0.05 * np.random.default_rng(0).standard_normal(len(TIMES))


def model(p):
    """A damped oscillation."""
    return p[0] * pb.exp(-p[1] * TIMES) * pb.cos(p[2] * TIMES + p[3])


def fit(start, data=DATA):
    """Steps of Levenberg and Marquardt: the sum of squares that was reached, and where."""
    p, damping = np.array(start), 1.0
    residual = lambda p: model(p) - data
    value = float((residual(pb.tensor(p)) ** 2).sum())
    for _ in range(40):
        slope = pb.func.jacfwd(residual)(pb.tensor(p)).numpy()
        normal = slope.T @ slope
        step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-9), slope.T @ residual(p).numpy())
        reached = float((residual(pb.tensor(p - step)) ** 2).sum())
        if reached < value:
            p, value, damping = p - step, reached, damping / 3
        else:
            damping *= 4
    return value, p


def refit(start, rng=None):
    """A fit to the data with more noise on it, from a generator that belongs to this member."""
    return fit(start, DATA + 0.05 * rng.standard_normal(len(DATA)))[1]


def workers():
    """Two processes, which import this file; in a notebook or a gallery there is none to import, and threads do."""
    if __spec__ is None and "__file__" in globals():
        return ProcessPoolExecutor(2, mp_context=get_context("spawn"))
    return ThreadPoolExecutor(2)


def main():
    """Fit from all starts, show what they reached, and how sure the best is."""
    starts = [np.array([1.0, 0.1, frequency, 0.0]) for frequency in np.linspace(0.5, 12.0, 24)]
    # A step may go much too far, and is taken back then. Workers have the caller's `errstate`.
    with np.errstate(over="ignore", invalid="ignore"), workers() as pool:
        fits = pb.distributed.multi_start(fit, starts, pool)
        again = pb.distributed.ensemble(refit, [fits.best.result[1]] * 16, pool, seed=1)

    reached = [each.value for each in fits.results]
    print(f"{len(reached)} fits reached sums of squares from {reached[0]:.3f} to {reached[-1]:.3f}")
    good = sum(value < 1.01 * reached[0] for value in reached)
    print(f"{good} of them found the best one; the first was that of start {fits.best.number}")
    for name, value, spread, truth in zip(
        ("amplitude", "damping", "frequency", "phase"), fits.best.result[1], again.std(axis=0), TRUTH, strict=True
    ):
        print(f"{name:10s} {value:6.3f} +- {spread:.3f}   (true value {truth})")
        assert abs(value - truth) < 6 * spread

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    left.plot([each.result[1][2] for each in fits.results], reached, "o")
    left.set(xlabel="frequency that a fit ended with", ylabel="sum of squares")
    right.plot(TIMES, DATA, ".", label="data")
    right.plot(TIMES, model(pb.tensor(fits.best.result[1])).numpy(), label="best fit")
    right.legend()
    figure.tight_layout()
    plt.show()


if __name__ == "__main__":
    main()
