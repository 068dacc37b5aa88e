"""Functions of one array: a chain of tiny operators, Rosenbrock's valley, logistic regression, elementwise mathematics.

With few elements the calls are measured, with many the memory and the mathematics.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Program, everywhere

SMALL, LARGE = 0.5, 1.0  # goals
FEW = 100_000  # elements; below, the small goal counts


def chain(m: Any, x: Any) -> Any:
    """Forty operators."""
    for _ in range(10):
        x = m.tanh(m.sin(x) * 1.1 + 0.1)
    return x.sum()


def rosenbrock(m: Any, x: Any) -> Any:
    """The valley."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def logistic(m: Any, weights: Any, features: Any, labels: Any) -> Any:
    """The loss of logistic regression."""
    scores = features @ weights
    return (m.log1p(m.exp(-scores)) + (1 - labels) * scores).mean()


def elementwise(m: Any, x: Any) -> Any:
    """A few functions of every element, added up."""
    return m.tanh(m.log(m.exp(x) + 1.0) * x).sum()


def normal(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    """An array of every shape."""
    return lambda rng: [rng.standard_normal(shape) for shape in shapes]


def regression(examples: int, features: int) -> Callable[[np.random.Generator], Arrays]:
    """Weights, features and labels."""

    def make(rng: np.random.Generator) -> Arrays:
        labels = (rng.random(examples) > 0.5).astype(float)
        return [rng.standard_normal(features), rng.standard_normal((examples, features)), labels]

    return make


def positive(n: int, dtype: type) -> Callable[[np.random.Generator], Arrays]:
    """Numbers between 0.1 and 1."""
    return lambda rng: [rng.uniform(0.1, 1.0, n).astype(dtype)]


def rosenbrock_programs() -> list[Program]:
    """Gradients and products with the Hessian."""
    found = []
    for n in (2, 100, 10_000, 1_000_000):
        common: dict[str, Any] = {"goal": SMALL if n < FEW else LARGE, "small": n < FEW, "wanted": (0,)}
        valley = everywhere(rosenbrock)
        found.append(Program(f"Rosenbrock, n = {n}", valley, normal((n,)), **common))
        found.append(Program(f"Rosenbrock, n = {n}, hvp", valley, normal((n,), (n,)), asked="product", **common))
    return found


def logistic_programs() -> list[Program]:
    """Gradients and Hessians."""
    found = []
    for examples, features in ((100, 10), (1000, 50), (10_000, 100), (100_000, 100)):
        common: dict[str, Any] = {"goal": 0.6, "small": examples <= 1000, "wanted": (0,)}
        name, data = f"logistic regression, {examples} x {features}", regression(examples, features)
        found.append(Program(name, everywhere(logistic), data, **common))
        if examples <= 10_000:
            found.append(Program(f"{name}, Hessian", everywhere(logistic), data, asked="hessian", **common))
    return found


def elementwise_programs() -> list[Program]:
    """Both precisions."""
    found = []
    for dtype in (np.float64, np.float32):
        for n in (1_000, 100_000, 1_000_000, 10_000_000):
            name = f"elementwise chain, {n}, f{8 * np.dtype(dtype).itemsize}"
            tolerance = 1e-8 if dtype is np.float64 else 1e-3
            found.append(
                Program(name, everywhere(elementwise), positive(n, dtype), (0,), SMALL if n < FEW else LARGE,
                        small=n <= FEW, tolerance=tolerance)
            )  # fmt: skip
    return found


def programs() -> list[Program]:
    """All of them."""
    first = Program("chain of 40 operators on 8 elements", everywhere(chain), normal((8,)), (0,), 0.4)
    return [first, *rosenbrock_programs(), *logistic_programs(), *elementwise_programs()]
