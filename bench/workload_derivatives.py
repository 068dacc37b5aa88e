"""Derivatives other than one gradient: Jacobians, gradients of every example, products with Hessians; and programs of
finance, regression and chemistry: options, Gaussian processes, implicit steps of a stiff system."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Function, Program, everywhere, of_module
from bench.workload_functions import elementwise, logistic, normal, positive, regression

GOAL = 0.7
ERF = {
    "pullback": of_module("pullback.special", "erf"),
    "jax": of_module("jax.scipy.special", "erf"),
    "torch": of_module("torch", "erf"),
    "autograd": of_module("autograd.scipy.special", "erf"),
}


def reaction(m: Any, u: Any) -> Any:
    """The right-hand side of a reaction with diffusion on a ring."""
    return 40.0 * (m.roll(u, 1, 0) - 2 * u + m.roll(u, -1, 0)) + u * (1 - u * u) + m.sin(u) * m.roll(u, 1, 0)


def call_price(erf: Function) -> Function:
    """Prices of European calls after Black and Scholes, added up."""

    def price(m: Any, spot: Any, strike: Any, time: Any, volatility: Any, rate: Any) -> Any:
        width = volatility * m.sqrt(time)
        d1 = (m.log(spot / strike) + (rate + 0.5 * volatility * volatility) * time) / width
        normal = lambda d: 0.5 + 0.5 * erf(d / math.sqrt(2))
        return (spot * normal(d1) - strike * m.exp(-rate * time) * normal(d1 - width)).sum()

    return price


def process(m: Any, logarithms: Any, x: Any, y: Any, identity: Any) -> Any:
    """Minus the log-likelihood of a Gaussian process, by the logarithms of its length, its scale and its noise."""
    length, scale, noise = m.exp(logarithms[0]), m.exp(logarithms[1]), m.exp(logarithms[2])
    apart = (x[:, None] - x[None, :]) / length
    covariance = scale * m.exp(-0.5 * apart * apart) + (noise + 1e-6) * identity
    logarithm = m.linalg.slogdet(covariance)[1]
    return 0.5 * (y * m.linalg.solve(covariance, y[:, None])[:, 0]).sum() + 0.5 * logarithm


def implicit_steps(m: Any, rates: Any, start: Any, identity: Any) -> Any:
    """Ten implicit Euler steps of diffusion with decay, a linear system each."""
    n = start.shape[0]
    ring = m.roll(identity, 1, 0) + m.roll(identity, -1, 0) - 2 * identity
    system = identity - 0.1 * (rates[:, None] * ring - identity)
    u = start
    for _ in range(10):
        u = m.linalg.solve(system, u[:, None])[:, 0] + 0.01 * m.sin(u)
    return (u * u).sum() / n


def newton_steps(m: Any, rates: Any, start: Any, identity: Any) -> Any:
    """Four implicit Euler steps of a stiff reaction with diffusion, three iterations of Newton's method each."""
    ring = m.roll(identity, 1, 0) + m.roll(identity, -1, 0) - 2 * identity
    u = start
    for _ in range(4):
        before = u
        for _ in range(3):
            residual = u - before - 0.1 * (rates * (ring @ u) - 50.0 * u * u * u)
            jacobian = identity - 0.1 * (rates[:, None] * ring - 150.0 * (u * u)[:, None] * identity)
            u = u - m.linalg.solve(jacobian, residual[:, None])[:, 0]
    return (u * u).sum()


def seeds(n: int, colors: int) -> Callable[[np.random.Generator], Arrays]:
    """A point, and the sums of every `colors`-th direction: enough for a matrix with so few neighbouring diagonals."""
    return lambda rng: [rng.standard_normal(n), (np.arange(n) % colors == np.arange(colors)[:, None]).astype(float)]


def example_loss(m: Any, weights: Any, read_out: Any, x: Any, y: Any) -> Any:
    """The loss of a small network on one example."""
    return ((m.tanh(x @ weights) @ read_out - y) ** 2).sum()


def options(n: int) -> Callable[[np.random.Generator], Arrays]:
    """Spots, strikes, times, volatilities and rates."""
    ranges = ((80, 120), (80, 120), (0.2, 2), (0.1, 0.5), (0.0, 0.1))
    return lambda rng: [rng.uniform(low, high, n) for low, high in ranges]


def points(n: int) -> Callable[[np.random.Generator], Arrays]:
    """Parameters, places, values, and the identity."""
    return lambda rng: [np.array([0.1, 0.2, -1.0]), np.sort(rng.uniform(0, 10, n)), rng.standard_normal(n), np.eye(n)]


def chemistry(n: int) -> Callable[[np.random.Generator], Arrays]:
    """Rates, a start, and the identity."""
    return lambda rng: [rng.uniform(1, 100, n), rng.standard_normal(n), np.eye(n)]


def examples(count: int, width: int) -> Callable[[np.random.Generator], Arrays]:
    """Weights, and examples with labels."""
    return lambda rng: [
        rng.standard_normal((width, width)) / math.sqrt(width), rng.standard_normal((width, 1)),
        rng.standard_normal((count, width)), rng.standard_normal((count, 1)),
    ]  # fmt: skip


def followed_by_direction(make: Callable[[np.random.Generator], Arrays]) -> Callable[[np.random.Generator], Arrays]:
    """Operands, and a direction like the first of them."""

    def with_direction(rng: np.random.Generator) -> Arrays:
        arrays = make(rng)
        return [*arrays, rng.standard_normal(arrays[0].shape).astype(arrays[0].dtype)]

    return with_direction


def programs() -> list[Program]:
    """All of them."""
    prices = {name: {"": call_price(erf)} for name, erf in ERF.items()}
    found = []
    for n in (10, 100, 500):
        name = f"reaction on a ring, n = {n}, Jacobian"
        found.append(Program(name, everywhere(reaction), normal((n,)), (0,), GOAL, asked="jacobian", small=n < 500))
    for n in (1_000, 100_000, 1_000_000):
        found.append(Program(f"Black-Scholes, {n}", prices, options(n), (0, 1, 2, 3, 4), GOAL, small=n < 1e6))
    for n in (20, 100, 200):
        found.append(Program(f"Gaussian process, n = {n}", everywhere(process), points(n), (0,), GOAL))
    for n in (5, 50):
        found.append(Program(f"implicit steps, n = {n}", everywhere(implicit_steps), chemistry(n), (0, 1), GOAL))
        found.append(Program(f"stiff Newton steps, n = {n}", everywhere(newton_steps), chemistry(n), (0, 1), GOAL))
    for n in (30, 300, 30_000):
        name = f"reaction on a ring, n = {n}, sparse Jacobian"
        sparse = everywhere(reaction, without=("autograd",))
        found.append(Program(name, sparse, seeds(n, 3), (0,), GOAL, asked="directions", small=n < 30_000))
    for count, width in ((32, 8), (256, 16), (2048, 16)):
        found.append(
            Program(f"gradients of {count} examples, {width} wide", everywhere(example_loss, without=("autograd",)),
                    examples(count, width), (0, 1), GOAL, asked="examples")
        )  # fmt: skip
    for count, features in ((100, 10), (1000, 50), (10_000, 100)):
        made = followed_by_direction(regression(count, features))
        name = f"logistic regression, {count} x {features}, hvp"
        found.append(Program(name, everywhere(logistic), made, (0,), GOAL, asked="product", small=count < 10_000))
    for n in (1_000, 100_000):
        made = followed_by_direction(positive(n, np.float64))
        found.append(
            Program(f"elementwise chain, {n}, hvp", everywhere(elementwise), made, (0,), GOAL, asked="product")
        )
    for n in (20, 100):
        found.append(
            Program(f"Gaussian process, n = {n}, hvp", everywhere(process), followed_by_direction(points(n)), (0,),
                    GOAL, asked="product")
        )  # fmt: skip
    for n in (20, 100):
        name = f"Gaussian process, n = {n}, Hessian"
        found.append(Program(name, everywhere(process), points(n), (0,), GOAL, asked="hessian"))
    return found
