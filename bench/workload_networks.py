"""One step of a network with two hidden layers, in float32: products of matrices, with little beside them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Program, everywhere

# (batch, width, goal)
SIZES = ((64, 32, 0.7), (64, 256, 0.8), (256, 512, 1.0), (1024, 1024, 1.0))
CLASSES = 10


def loss(m: Any, w1: Any, b1: Any, w2: Any, b2: Any, w3: Any, b3: Any, x: Any) -> Any:
    """The mean square of the results."""
    hidden = m.tanh(m.tanh(x @ w1 + b1) @ w2 + b2)
    return ((hidden @ w3 + b3) ** 2).mean()


def operands(batch: int, width: int) -> Callable[[np.random.Generator], Arrays]:
    """Weights and biases, and a batch."""

    def make(rng: np.random.Generator) -> Arrays:
        shapes = [(width, width), (width,), (width, width), (width,), (width, CLASSES), (CLASSES,)]
        weights = [(rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes]
        return [*weights, rng.standard_normal((batch, width), dtype=np.float32)]

    return make


def programs() -> list[Program]:
    """The sizes."""
    return [
        Program(f"MLP step, {batch} x {width} f32", everywhere(loss), operands(batch, width), tuple(range(6)), goal,
                small=width < 512, tolerance=2e-3)
        for batch, width, goal in SIZES
    ]  # fmt: skip
