"""Softmax cross-entropy and layer norm in float32, as the frameworks offer them: fused reductions over rows.

HIPS autograd has neither and gets the formulas.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Function, Program, of_module

GOAL = 0.8
BATCHES = (64, 512, 4096)
CLASSES, FEATURES = 1000, 512
EPSILON = 1e-5

_jax_log_softmax = of_module("jax.nn", "log_softmax")
_autograd_logsumexp = of_module("autograd.scipy.special", "logsumexp")


def cross_entropy_jax(m: Any, scores: Any, labels: Any) -> Any:
    """JAX has the logarithm of softmax."""
    return -m.take_along_axis(_jax_log_softmax(scores), labels[:, None], 1).mean()


def cross_entropy_autograd(m: Any, scores: Any, labels: Any) -> Any:
    """The formula; labels are read by advanced indexing, since `take_along_axis` has no gradient there."""
    return m.mean(_autograd_logsumexp(scores, 1) - scores[np.arange(len(labels)), labels])


CROSS_ENTROPY: Mapping[str, Mapping[str, Function]] = {
    "pullback": {"": lambda m, scores, labels: m.nn.cross_entropy(scores, labels)},
    "torch": {"": lambda m, scores, labels: m.nn.functional.cross_entropy(scores, labels)},
    "jax": {"": cross_entropy_jax},
    "autograd": {"": cross_entropy_autograd},
}


def normalised_by_formula(m: Any, x: Any, gain: Any, bias: Any) -> Any:
    """Rows of mean 0 and variance 1, scaled and shifted."""
    centred = x - m.mean(x, 1, keepdims=True)
    return centred / m.sqrt(m.mean(centred * centred, 1, keepdims=True) + EPSILON) * gain + bias


def loss_of(normalised: Function, m: Any, x: Any, gain: Any, bias: Any, direction: Any) -> Any:
    """A sum with random weights, so that the gradient is a general one."""
    return (normalised(m, x, gain, bias) * direction).sum()


LAYER_NORM = {
    "pullback": {"": partial(loss_of, lambda m, x, g, b: m.nn.layer_norm(x, (FEATURES,), g, b, EPSILON))},
    "torch": {"": partial(loss_of, lambda m, x, g, b: m.nn.functional.layer_norm(x, (FEATURES,), g, b, EPSILON))},
    "jax": {"": partial(loss_of, normalised_by_formula)},
    "autograd": {"": partial(loss_of, normalised_by_formula)},
}


def scores(batch: int) -> Callable[[np.random.Generator], Arrays]:
    """Scores of every class, and labels."""

    def make(rng: np.random.Generator) -> Arrays:
        return [rng.standard_normal((batch, CLASSES), dtype=np.float32), rng.integers(0, CLASSES, batch)]

    return make


def activations(batch: int) -> Callable[[np.random.Generator], Arrays]:
    """Rows, gain, bias, and the direction in which the result is read."""

    def make(rng: np.random.Generator) -> Arrays:
        shapes = ((batch, FEATURES), (FEATURES,), (FEATURES,), (batch, FEATURES))
        return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]

    return make


def programs() -> list[Program]:
    """The sizes."""
    found = []
    for batch in BATCHES:
        common: dict[str, Any] = {"goal": GOAL, "tolerance": 1e-4, "small": batch < 4096}
        name = f"softmax cross-entropy, {batch} x {CLASSES} f32"
        found.append(Program(name, CROSS_ENTROPY, scores(batch), (0,), **common))
    for batch in BATCHES:
        common = {"goal": GOAL, "tolerance": 1e-4, "small": batch < 4096}
        name = f"layer norm, {batch} x {FEATURES} f32"
        found.append(Program(name, LAYER_NORM, activations(batch), (0, 1, 2), **common))
    return found
