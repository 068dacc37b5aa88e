"""The stages of gradcheck that look at forward mode."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pullback.autograd._gradcheck.problem import (
    IMAGINARY,
    REAL,
    InputDerivative,
    Part,
    Probe,
    Problem,
    beside,
    check_outputs,
    is_complex,
    numerical_derivative,
    payload_of,
)
from pullback.autograd._gradcheck.report import Comparison, are_equal_up_to_rounding
from pullback.autograd._gradcheck.reverse import random_batch
from pullback.core.frames import warn
from pullback.core.spec import describe
from pullback.errors import GradcheckError
from pullback.tape.forward.duals import jvp_of_tuple
from pullback.tape.transform.body import map_over
from pullback.tensors.tensor import Tensor

__all__ = ["check_batched_tangents", "check_forward", "check_undefined_tangents"]


def check_forward(problem: Problem, numerical: Sequence[InputDerivative], fast: bool) -> None:
    """Compare the tangents of every output with `numerical`, whose entries belong to the varied inputs in order.

    A complex input is moved along its imaginary axis and along its real axis as if these were two real inputs; of a
    complex output both parts are compared. An output without tangent counts as zero.
    """
    for axis in (IMAGINARY, REAL):
        for slot, (_, x) in enumerate(problem.varied):
            if axis is REAL or is_complex(x):
                check_forward_of_input(problem, slot, axis, numerical[slot], fast)


def check_forward_of_input(
    problem: Problem, slot: int, axis: Part, numerical: InputDerivative, fast: bool
) -> None:
    input_probes, output_probes = problem.probe(fast)
    position, x = problem.varied[slot]
    probe = dict(input_probes[slot].axes())[axis]
    rows = tangent_rows(problem, position, axis, probe)
    for output_index, output in enumerate(problem.outputs):
        for part in (IMAGINARY, REAL) if is_complex(output) else (REAL,):

            def whole_jacobians(output_index: int = output_index, part: Part = part) -> tuple[np.ndarray, np.ndarray]:
                return full_jacobians(problem, output_index, slot, axis, part)

            comparison = Comparison(
                "forward",
                output_index,
                position,
                remark=remark_on(x, axis, output, part),
                full=whole_jacobians if fast else None,
                dtype=str(x.dtype),
                shape=tuple(x.shape),
            )
            output_probe = output_probes[output_index]
            comparison.check(
                output_probe.columns_of(part.of(rows[output_index])),
                output_probe.columns_of(part.of(numerical.along(axis)[output_index])),
                problem.rtol,
                problem.atol,
                weight=probe.weight * output_probe.weight,
            )


def remark_on(x: Tensor, axis: Part, output: Tensor, part: Part) -> str:
    remarks = [f"the {axis.name} part of complex inputs only"] if is_complex(x) else []
    if is_complex(output):
        remarks.append(f"the {part.name} part of complex outputs only")
    return " and ".join(remarks)


def full_jacobians(
    problem: Problem, output_index: int, slot: int, axis: Part, part: Part
) -> tuple[np.ndarray, np.ndarray]:
    """The whole analytical and numerical Jacobian of one part of one output along one axis of one varied input."""
    probe = problem.probe(fast=False)[0][slot]
    position, _ = problem.varied[slot]
    rows = tangent_rows(problem, position, axis, dict(probe.axes())[axis])
    derivative = numerical_derivative(problem, position, probe)
    return part.of(rows[output_index]), part.of(derivative.along(axis)[output_index])


def tangent_rows(problem: Problem, position: int, axis: Part, probe: Probe) -> list[np.ndarray]:
    """Per output a matrix whose rows are its tangents for each direction of `probe` in the argument at `position`."""
    rows = [np.zeros((probe.num_directions, y.size), y.dtype) for y in problem.outputs]
    for row, direction in enumerate(probe.arrays(problem.inputs[position].dtype, axis.unit)):
        for i, tangent in enumerate(push_forward(problem, {position: beside(problem.inputs[position], direction)})):
            if tangent is not None:
                check_tangent_kind(tangent, problem.outputs[i], i, position)
                rows[i][row] = payload_of(tangent).reshape(-1)
    return rows


def push_forward(problem: Problem, tangents: dict[int, Tensor]) -> Sequence[Tensor | None]:
    """The tangents of the outputs, for tangents of the arguments at some positions; no argument requires grad."""
    if not tangents:
        return [None] * len(problem.outputs)
    primals = [x.detach() if isinstance(x, Tensor) and x.requires_grad else x for x in problem.inputs]
    slots = [tangents.get(position) for position in range(len(primals))]
    return jvp_of_tuple(lambda *inputs: check_outputs(problem.func(*inputs)), primals, slots)


def check_tangent_kind(tangent: Tensor, output: Tensor, output_index: int, position: int) -> None:
    """Raise GradcheckError unless `tangent` has the shape and the dtype of `output`."""
    if tangent.shape != output.shape or tangent.dtype != output.dtype:
        raise GradcheckError(
            f"the forward-mode tangent of output {output_index} for a tangent of input {position} is "
            f"{describe(tangent.shape, tangent.dtype)}, and the output is {describe(output.shape, output.dtype)}"
        )


def check_undefined_tangents(problem: Problem) -> None:
    """Raise GradcheckError (and warn) unless an input without tangent gives what an input with tangent zero gives."""
    rng = np.random.default_rng(2147483647)
    random = {p: beside(x, random_batch(rng, x)[0]) for p, x in problem.varied}
    for position, x in problem.varied:
        others = {p: tangent for p, tangent in random.items() if p != position}
        expected = push_forward(problem, {**others, position: beside(x, np.zeros(x.shape, x.dtype))})
        try:
            found = push_forward(problem, others)
        except Exception as error:
            message = f"forward mode raised {type(error).__name__}: {error}"
            raise undefined_tangent_error(position, message) from error
        for i, (output, without, with_zero) in enumerate(zip(problem.outputs, found, expected, strict=True)):
            plain, zero = tangent_values(without, output), tangent_values(with_zero, output)
            if not are_equal_up_to_rounding(plain, zero):
                message = f"output {i} got the tangent\n{plain}\n  and with a tangent of zero\n{zero}"
                raise undefined_tangent_error(position, message)


def undefined_tangent_error(position: int, problem_text: str) -> GradcheckError:
    """Warn about the missing support, and return the error to raise."""
    text = (
        f"forward mode does not support undefined tangents: without a tangent for input {position}, {problem_text}\n"
        "  None stands for a tangent of zero; pass check_undefined_grad=False if that is never needed."
    )
    warn(text, UserWarning)
    return GradcheckError(text)


def tangent_values(tangent: Tensor | None, output: Tensor) -> np.ndarray:
    """The values of a tangent of `output`, of which None means zeros."""
    if tangent is not None:
        return payload_of(tangent)
    return np.zeros(output.shape, output.dtype if output.dtype.kind in "fc" else np.float64)


def check_batched_tangents(problem: Problem) -> None:
    """Raise GradcheckError unless two tangents in one mapped pass give what two passes give, for every input."""
    rng = np.random.default_rng(2147483647)
    for position, x in problem.varied:
        batch = random_batch(rng, x)
        single = [push_forward(problem, {position: beside(x, tangent)}) for tangent in batch.copy()]

        def tangents_of(tangent: Tensor, position: int = position) -> Sequence[Tensor | None]:
            return push_forward(problem, {position: tangent})

        try:
            together = map_over(tangents_of, [beside(problem.inputs[position], batch)])
        except Exception as error:
            raise GradcheckError(
                f"the tangents for input {position} could not be computed for a batch "
                f"(check_batched_forward_grad=True): {error}\n"
                "  Pass check_batched_forward_grad=False if batches are not supported."
            ) from error
        for i, output in enumerate(problem.outputs):
            expected = np.stack([tangent_values(tangents[i], output) for tangents in single])
            found = np.zeros_like(expected) if together[i] is None else payload_of(together[i])
            if found.shape != expected.shape or not are_equal_up_to_rounding(found, expected):
                raise GradcheckError(
                    f"the tangent of output {i} for tangents of input {position} differs between a batch of two and "
                    f"one pass for each (check_batched_forward_grad=True):\n"
                    f"  batched:\n{found}\n  one by one:\n{expected}"
                )
