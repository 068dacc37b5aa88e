"""Gaussian mixture: the log-likelihood of examples, with a Wishart prior (the objective of ADBench).

Parameters are the unnormalised log-weights of K components, their means, and the factor Q of every inverse covariance
Q'Q, lower triangular, with the logarithms of its diagonal first.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Function, Program, of_module

GOAL = 0.25
PRIOR_SCALE, PRIOR_FREEDOM = 1.0, 0

# (examples, dimensions, components)
SIZES = ((1000, 2, 5), (1000, 10, 25), (1000, 64, 50), (10_000, 10, 100))


def places(dimension: int) -> np.ndarray:
    """Where every element of Q stands among its parameters; the elements above the diagonal stand behind the last."""
    count = dimension * (dimension + 1) // 2
    place = np.full((dimension, dimension), count)
    place[np.arange(dimension), np.arange(dimension)] = np.arange(dimension)
    columns, rows = np.triu_indices(dimension, 1)  # below the diagonal, column by column
    place[rows, columns] = np.arange(dimension, count)
    return place


def log_gamma(half_freedom: float, dimension: int) -> float:
    """Logarithm of the multivariate gamma function."""
    start = 0.25 * dimension * (dimension - 1) * math.log(math.pi)
    return start + sum(math.lgamma(half_freedom - 0.5 * i) for i in range(dimension))


def constant(examples: int, dimension: int, components: int) -> float:
    """What does not depend on the parameters."""
    freedom = dimension + PRIOR_FREEDOM + 1
    scale = freedom * dimension * (math.log(PRIOR_SCALE) - 0.5 * math.log(2))
    prior = components * (scale - log_gamma(0.5 * freedom, dimension))
    return -0.5 * examples * dimension * math.log(2 * math.pi) - prior


def objective(
    concat: Function, logsumexp: Function, m: Any, weights: Any, means: Any, factors: Any, x: Any, place: Any
) -> Any:
    """The log-likelihood of the examples `x`, plus the prior."""
    (examples, dimension), components = x.shape, len(weights)
    logarithms, below = factors[:, :dimension], factors[:, dimension:]
    diagonal = m.exp(logarithms)
    nothing = 0 * factors[:, :1]
    q = concat([diagonal, below, nothing], 1)[:, place.reshape(-1)].reshape((components * dimension, dimension))
    # Q (x - mean) as Q x - Q mean: one product of matrices for all components.
    at_means = (q.reshape((components, dimension, dimension)) * means[:, None, :]).sum(2)
    offsets = (x @ q.T).reshape((examples, components, dimension)) - at_means
    log_determinants = logarithms.sum(1)
    inner = weights + log_determinants - 0.5 * (offsets * offsets).sum(2)
    likelihood = logsumexp(inner, 1).sum() - examples * logsumexp(weights, 0)
    prior = 0.5 * PRIOR_SCALE**2 * ((diagonal * diagonal).sum() + (below * below).sum())
    return likelihood + prior - PRIOR_FREEDOM * log_determinants.sum() + constant(examples, dimension, components)


CONCAT = {
    "pullback": of_module("pullback", "concat"),
    "jax": of_module("jax.numpy", "concatenate"),
    "torch": of_module("torch", "cat"),
    "autograd": of_module("autograd.numpy", "concatenate"),
}
LOGSUMEXP = {
    "pullback": of_module("pullback", "logsumexp"),
    "jax": of_module("jax.nn", "logsumexp"),
    "torch": of_module("torch", "logsumexp"),
    "autograd": of_module("autograd.scipy.special", "logsumexp"),
}
VERSIONS = {name: {"": partial(objective, CONCAT[name], LOGSUMEXP[name])} for name in CONCAT}


def operands(examples: int, dimension: int, components: int) -> Callable[[np.random.Generator], Arrays]:
    """Log-weights, means and factors; the examples; and where the elements of Q stand."""

    def make(rng: np.random.Generator) -> Arrays:
        count = dimension * (dimension + 1) // 2
        weights, means = rng.standard_normal(components), rng.uniform(size=(components, dimension))
        factors = rng.standard_normal((components, count)) / math.sqrt(dimension)
        return [weights, means, factors, rng.standard_normal((examples, dimension)), places(dimension)]

    return make


def programs() -> list[Program]:
    """The sizes."""
    return [
        Program(f"Gaussian mixture, n={n} d={d} K={k}", VERSIONS, operands(n, d, k), (0, 1, 2), GOAL, small=d * k < 300)
        for n, d, k in SIZES
    ]
