"""n-body: the energy at the end of a simulation, differentiated through all of its steps.

By `scan`, and by a plain loop that writes positions and velocities in place where the framework lets one.
"""

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.frameworks import Arrays
from bench.programs import Function, Program, loops

GOAL = 0.25
STEP, SOFTENING = 1e-3, 1e-2

# (bodies, steps)
SIZES = ((5, 20), (5, 1000), (100, 100), (100, 1000))
# A plain loop of 1000 steps takes `jax.jit` minutes to compile.
LONGEST_LOOP = {"jax": 100, "torch": 1000, "autograd": 20, "pullback": 1000}


def distances(positions: Any) -> tuple[Any, Any]:
    """From every body to every other, and squared; softened, so that a body does not pull on itself infinitely."""
    apart = positions[None, :, :] - positions[:, None, :]
    return apart, (apart * apart).sum(2) + SOFTENING


def acceleration(m: Any, positions: Any, masses: Any) -> Any:
    """Gravity."""
    apart, squared = distances(positions)
    pull = masses / (squared * m.sqrt(squared))
    return (pull[:, :, None] * apart).sum(1)


def energy(m: Any, positions: Any, velocities: Any, masses: Any) -> Any:
    """Kinetic and potential; a body's own potential is a constant."""
    _, squared = distances(positions)
    kinetic = (masses * (velocities * velocities).sum(1)).sum()
    return 0.5 * kinetic - 0.5 * (masses[:, None] * masses / m.sqrt(squared)).sum()


def by_scan(steps: int, m: Any, positions: Any, velocities: Any, masses: Any) -> Any:
    """The framework's loop."""
    scan = m.scan if hasattr(m, "scan") else importlib.import_module("jax").lax.scan

    def step(carry: Any, _: Any) -> tuple[Any, None]:
        positions, velocities = carry
        velocities = velocities + STEP * acceleration(m, positions, masses)
        return (positions + STEP * velocities, velocities), None

    (positions, velocities), _ = scan(step, (positions, velocities), None, length=steps)
    return energy(m, positions, velocities, masses)


def by_writing(steps: int, m: Any, positions: Any, velocities: Any, masses: Any) -> Any:
    """Python's own loop, with two arrays that are written in every step."""
    positions, velocities = positions.clone(), velocities.clone()
    for _ in range(steps):
        velocities += STEP * acceleration(m, positions, masses)
        positions += STEP * velocities
    return energy(m, positions, velocities, masses)


def by_loop(steps: int, m: Any, positions: Any, velocities: Any, masses: Any) -> Any:
    """Python's own loop where arrays cannot be written."""
    for _ in range(steps):
        velocities = velocities + STEP * acceleration(m, positions, masses)
        positions = positions + STEP * velocities
    return energy(m, positions, velocities, masses)


PLAIN: dict[str, Function] = {"pullback": by_writing, "torch": by_writing, "jax": by_loop, "autograd": by_loop}


def operands(bodies: int) -> Callable[[np.random.Generator], Arrays]:
    """Positions, velocities and masses."""

    def make(rng: np.random.Generator) -> Arrays:
        positions, velocities = rng.standard_normal((bodies, 3)), 0.1 * rng.standard_normal((bodies, 3))
        return [positions, velocities, rng.uniform(0.5, 1.5, bodies) / bodies]

    return make


def programs() -> list[Program]:
    """The sizes."""
    found = []
    for bodies, steps in SIZES:
        plain = {name: partial(function, steps) for name, function in PLAIN.items()}
        versions, remarks = loops(partial(by_scan, steps), plain, LONGEST_LOOP, steps)
        name = f"n-body, {bodies} bodies, {steps} steps"
        is_short = steps == 20
        program = Program(
            name, versions, operands(bodies), (0, 1, 2), GOAL, small=is_short, unrolled=not is_short, remarks=remarks
        )
        found.append(program)
    return found
