"""A hierarchical model of groups of different sizes
===================================================

A hierarchical model of groups of different sizes, fitted by gradients: partial pooling without a loop over groups.

Schools have between 2 and 60 pupils. The mean of a small school is noisy, so each is drawn towards the mean of all, as
much as its size and the spread between schools say. The groups are the rows of one ragged tensor; with pandas it comes
from `frame.groupby("school")["score"]` by `pb.nested.from_groupby`.
"""

import matplotlib.pyplot as plt
import numpy as np

import pullback as pb
from pullback import optim

SCHOOLS = 40


def observed(rng):
    """True means of the schools, and the scores of their pupils, in groups."""
    means = 50 + 6 * rng.standard_normal(SCHOOLS)
    sizes = rng.integers(2, 61, SCHOOLS)
    scores = [mean + 12 * rng.standard_normal(size) for mean, size in zip(means, sizes, strict=True)]
    try:
        import pandas as pd
    except ImportError:
        return means, pb.nested.nested(scores)
    frame = pd.DataFrame({"school": np.repeat(np.arange(SCHOOLS), sizes), "score": np.concatenate(scores)})
    return means, pb.nested.from_groupby(frame.groupby("school")["score"])


def negative_log_posterior(scores, mean, spread, noise, schools):
    """Of the mean of all, the logarithms of both spreads, and the mean of every school."""
    residuals = (scores - schools[:, None]) / pb.exp(noise)
    inside = (0.5 * residuals**2 + noise).sum()
    between = (0.5 * ((schools - mean) / pb.exp(spread)) ** 2 + spread).sum()
    return inside + between + 0.5 * pb.exp(2 * spread) / 100  # a weak prior keeps the spread away from 0


def main():
    """Fit the model and compare its errors with those of plain means."""
    rng = np.random.default_rng(3)
    truth, scores = observed(rng)
    plain = scores.mean(1)
    leaves = [pb.tensor(value, requires_grad=True) for value in (50.0, 1.5, 2.5)]
    schools = plain.clone().requires_grad_()
    optimizer = optim.Adam([*leaves, schools], lr=0.1)
    for step in range(400):
        optimizer.zero_grad()
        value = negative_log_posterior(scores, *leaves, schools)
        value.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step:3d}: negative log posterior {value.item():.2f}")

    lengths = scores.lengths().numpy()
    pooled = schools.detach().numpy()
    error_plain, error_pooled = (np.sqrt(np.mean((found - truth) ** 2)) for found in (plain.numpy(), pooled))
    print(f"error of plain means {error_plain:.2f}, of pooled ones {error_pooled:.2f}")
    drawn = np.abs(pooled - plain.numpy())
    small, large = drawn[lengths < 10].mean(), drawn[lengths > 40].mean()
    print(f"drawn towards the others: small schools by {small:.2f} points, large ones by {large:.2f}")
    assert error_pooled < error_plain

    plt.figure(figsize=(6, 3.2))
    plt.scatter(lengths, plain.numpy() - truth, s=14, label="plain mean")
    plt.scatter(lengths, pooled - truth, s=14, label="pooled")
    plt.axhline(0, lw=0.8, color="k")
    plt.xlabel("pupils")
    plt.ylabel("error")
    plt.legend()
    plt.tight_layout()
    plt.show()


if __name__ == "__main__":
    main()
