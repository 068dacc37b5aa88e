"""LSTM with gates that look at their own cell only (the objective of ADBench), by `scan` and by a plain loop.

Weights are vectors as long as the state, 14, so a step is a few dozen tiny operators and the overhead of each shows.
"""

import importlib
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Function, Program, loops

WIDTH = 14
GOAL = 0.12

# (layers, steps). A plain loop is a program of `steps` times as many operators for those who compile. The time that
# `jax.jit` needs for it grows 2.7-fold with every doubling, to minutes for 64 steps, so it meets `scan` only.
# Pullback finds the loop again. Its first call for 4096 steps takes about 5 s, since 450 000 operators are traced; then
# it is as fast as `scan`.
SIZES = ((2, 64), (2, 1024), (4, 4096))
LONGEST_LOOP = {"jax": 0, "torch": 4096, "autograd": 64, "pullback": 4096}


def sigmoid_of(m: Any) -> Callable[[Any], Any]:
    """The framework's own logistic function, or the formula."""
    if m.__name__ == "jax.numpy":
        return importlib.import_module("jax").nn.sigmoid
    return m.sigmoid if hasattr(m, "sigmoid") else lambda x: 1 / (1 + m.exp(-x))


def cell(m: Any, sigmoid: Any, x: Any, weight: Any, bias: Any, hidden: Any, state: Any) -> tuple[Any, Any]:
    """One layer in one step: the next hidden and cell state."""
    forget = sigmoid(x * weight[0] + bias[0])
    let_in = sigmoid(hidden * weight[1] + bias[1])
    let_out = sigmoid(x * weight[2] + bias[2])
    change = m.tanh(hidden * weight[3] + bias[3])
    state = state * forget + let_in * change
    return let_out * m.tanh(state), state


def step_of(m: Any, weights: Any, layers: int) -> Callable[[Any, Any], tuple[Any, Any]]:
    """All layers in one step, in the form of the body of a `scan`."""
    sigmoid = sigmoid_of(m)

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
        after = []
        for layer in range(layers):
            hidden, state = carry[layer]
            x, state = cell(m, sigmoid, x, weights[layer, 0], weights[layer, 1], hidden, state)
            after.append((x, state))
        return tuple(after), x

    return step


def loss(m: Any, read_out: Any, hiddens: Any, targets: Any) -> Any:
    """Minus the mean log-likelihood of the next symbols; one more class has the constant weight 2."""
    scores = hiddens * read_out[1] + read_out[2]
    totals = m.log(m.exp(scores).sum(1) + 2.0)
    return -(targets * (scores - totals[:, None])).sum() / (len(targets) * WIDTH)


def forward(run: Function, m: Any, weights: Any, read_out: Any, states: Any, sequence: Any) -> Any:
    """The loss of predicting every symbol of the sequence from those before; `run` is the loop over the steps."""
    layers = len(states)
    carry = tuple((states[layer, 0], states[layer, 1]) for layer in range(layers))
    hiddens = run(m, step_of(m, weights, layers), carry, sequence[:-1] * read_out[0])
    return loss(m, read_out, hiddens, sequence[1:])


def by_loop(m: Any, step: Function, carry: Any, inputs: Any) -> Any:
    """Python's own loop."""
    hiddens = []
    for position in range(len(inputs)):
        carry, hidden = step(carry, inputs[position])
        hiddens.append(hidden)
    return m.stack(hiddens)


def by_scan(m: Any, step: Function, carry: Any, inputs: Any) -> Any:
    """The framework's loop."""
    scan = m.scan if hasattr(m, "scan") else importlib.import_module("jax").lax.scan
    return scan(step, carry, inputs)[1]


def operands(layers: int, steps: int) -> Callable[[np.random.Generator], Arrays]:
    """Weights and biases, read-out, first states, and a sequence of zeros and ones."""

    def make(rng: np.random.Generator) -> Arrays:
        weights = rng.standard_normal((layers, 2, 4, WIDTH)) / math.sqrt(2)
        states = 0.1 * rng.standard_normal((layers, 2, WIDTH))
        return [weights, rng.standard_normal((3, WIDTH)), states, rng.integers(0, 2, (steps + 1, WIDTH)).astype(float)]

    return make


def programs() -> list[Program]:
    """The sizes."""
    loop, scan = partial(forward, by_loop), partial(forward, by_scan)
    found = []
    for layers, steps in SIZES:
        versions, remarks = loops(scan, dict.fromkeys(LONGEST_LOOP, loop), LONGEST_LOOP, steps)
        name = f"LSTM, {layers} layers, {steps} steps"
        # The NumPy backend needs more than two minutes to write and compile the source of the longest loop.
        left_out = ("pullback numpy loop",) if steps > 1024 else ()
        program = Program(
            name, versions, operands(layers, steps), (0, 1), GOAL, small=steps == 64, unrolled=True, remarks=remarks,
            left_out=left_out,
        )  # fmt: skip
        found.append(program)
    return found
