"""A small convolutional network in float32: two convolutions with max-pooling, and a linear layer.

The goal is to be no slower than the best peer. HIPS autograd has no such convolution.
"""

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Function, Program

GOAL = 1.0
BATCHES = (1, 32)
CLASSES, SIDE, FIRST, SECOND = 10, 32, 16, 32


def block(nn: Any, x: Any, weight: Any) -> Any:
    """Windows of 3 x 3 with zeros around the image, and the largest of 2 x 2 of what is positive."""
    return nn.max_pool2d(nn.relu(nn.conv2d(x, weight, padding=1)), 2)


def block_jax(x: Any, weight: Any) -> Any:
    """The same in JAX."""
    jax = importlib.import_module("jax")
    x = jax.nn.relu(jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME"))
    return jax.lax.reduce_window(x, x.dtype.type(-np.inf), jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def loss(block_of: Callable[[Any], Function], m: Any, first: Any, second: Any, weight: Any, images: Any) -> Any:
    """The mean square of the results."""
    layer = block_of(m)
    hidden = layer(layer(images, first), second)
    return ((hidden.reshape((len(images), -1)) @ weight) ** 2).mean()


VERSIONS: Mapping[str, Mapping[str, Function]] = {
    "pullback": {"": partial(loss, lambda m: partial(block, m.nn.functional))},
    "torch": {"": partial(loss, lambda m: partial(block, m.nn.functional))},
    "jax": {"": partial(loss, lambda m: block_jax)},
}


def operands(batch: int) -> Callable[[np.random.Generator], Arrays]:
    """Weights, and images."""

    def make(rng: np.random.Generator) -> Arrays:
        shapes = [(FIRST, 3, 3, 3), (SECOND, FIRST, 3, 3), (SECOND * (SIDE // 4) ** 2, CLASSES), (batch, 3, SIDE, SIDE)]
        scales = [0.2, 0.1, 0.02, 1.0]
        return [(s * rng.normal(size=shape)).astype(np.float32) for s, shape in zip(scales, shapes, strict=True)]

    return make


def programs() -> list[Program]:
    """The sizes."""
    return [
        Program(f"convolutional network, {batch} x 3 x {SIDE} x {SIDE} f32", VERSIONS, operands(batch), (0, 1, 2), GOAL,
                small=batch < 32, tolerance=2e-3)
        for batch in BATCHES
    ]  # fmt: skip
