"""Numerical derivatives: central differences, by moving the caller's own memory and putting it back.

The function is called with the very tensors the caller passed, since their history, hooks and flags are part of what
is being checked. Their memory is written through the ndarray: no version counter moves, and a value that some graph
has saved is valid again as soon as the element is restored, bit by bit, whatever the function raised.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.autograd._gradcheck_problem import InputProbe, Part, Probe, Problem, payload_of
from pullback.core.spec import describe

__all__ = ["InputDerivative", "numerical_derivative"]


class InputDerivative(NamedTuple):
    """How every output moves with one input: per output a matrix with a row per direction, for each axis.

    Matrices are complex where the output is. `imaginary` is None for a real input.
    """

    real: list[np.ndarray]
    imaginary: list[np.ndarray] | None

    def along(self, axis: Part) -> list[np.ndarray]:
        """The matrices for the real or the imaginary axis of the input."""
        return self.real if axis.name == "real" or self.imaginary is None else self.imaginary

    def of_part(self, output_index: int, part: Part) -> np.ndarray:
        """`d/d re + i d/d im` (`d/dx` for a real input) of one part of one output: what a gradient should be."""
        along_real = part.of(self.real[output_index])
        if self.imaginary is None:
            return along_real
        return along_real + 1j * part.of(self.imaginary[output_index])


def numerical_derivative(problem: Problem, position: int, probe: InputProbe) -> InputDerivative:
    """Central differences of all outputs with respect to the argument at `position`, along `probe`."""
    imaginary = None
    if probe.imaginary is not None:
        imaginary = central_differences(problem, position, probe.imaginary, 1j)
    return InputDerivative(central_differences(problem, position, probe.real, 1.0), imaginary)


def central_differences(problem: Problem, position: int, probe: Probe, unit: complex) -> list[np.ndarray]:
    """`(f(x + eps d) - f(x - eps d)) / (2 eps)` per output, with a row for each direction `d` of `probe`."""
    payload = payload_of(problem.inputs[position])
    rows = [np.zeros((probe.num_directions, y.size), np.result_type(y.dtype, np.float64)) for y in problem.outputs]
    for row, (where, amount) in enumerate(probe.moves()):
        above, below = evaluate_around(problem, payload, where, amount * unit * problem.eps)
        with np.errstate(invalid="ignore", over="ignore"):  # inf - inf is NaN, and the comparison says so
            for matrix, high, low in zip(rows, above, below, strict=True):
                matrix[row] = (high - low).reshape(-1) / (2 * problem.eps)
    return rows


def evaluate_around(
    problem: Problem, payload: np.ndarray, where: Any, step: Any
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The outputs with `payload[where]` moved up and down by `step`; the payload is as before afterwards."""
    original = payload[where].copy()
    try:
        payload[where] = original + step
        above = evaluate(problem)
        payload[where] = original - step
        return above, evaluate(problem)
    finally:
        payload[where] = original


def evaluate(problem: Problem) -> list[np.ndarray]:
    """Copies of the outputs, at least float64; raises AssertionError if they are not of the kind first seen."""
    outputs = problem.call()
    kinds = [describe(y.shape, y.dtype) for y in outputs]
    expected = [describe(y.shape, y.dtype) for y in problem.outputs]
    if kinds != expected:
        raise AssertionError(
            f"the outputs were {', '.join(expected)} at first and {', '.join(kinds)} for a slightly different input: "
            "gradcheck needs a function whose outputs keep their number, shapes and dtypes"
        )
    # Copies, since an output may be (a view of) the input that is about to be moved.
    return [np.array(payload_of(y), dtype=np.result_type(y.dtype, np.float64)) for y in outputs]
