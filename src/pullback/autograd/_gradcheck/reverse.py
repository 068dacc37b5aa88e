"""The stages of gradcheck that look at reverse mode.

All of them run `grad` on the graph of one recorded call and keep that graph. `check_undefined_gradients` alone calls
the function again, since it has to append nodes to fresh outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pullback.autograd._gradcheck.problem import (
    IMAGINARY,
    REAL,
    InputDerivative,
    InputProbe,
    Part,
    Probe,
    Problem,
    beside,
    check_outputs,
    is_complex,
    numerical_derivative,
    payload_of,
)
from pullback.autograd._gradcheck.report import Comparison, are_equal_up_to_rounding, largest_difference
from pullback.autograd.function import Function
from pullback.core.frames import warn
from pullback.errors import GradcheckError
from pullback.tape.backward import grad
from pullback.tape.forward.duals import jvp_of_tuple
from pullback.tape.input_metadata import SparseGrad
from pullback.tensors.tensor import Tensor

__all__ = [
    "check_backward",
    "check_batched_gradients",
    "check_linear_in_output_gradient",
    "check_undefined_gradients",
    "gradient_function",
    "random_gradients",
    "random_tangents",
    "stored_elements",
    "tangent_function",
]


def check_backward(problem: Problem, numerical: Sequence[InputDerivative], fast: bool) -> None:
    """Compare the gradients of every output with `numerical`, whose entries belong to the varied inputs in order.

    A complex output is two real functions. The imaginary parts of all outputs come first, then the real parts; the
    gradient of the imaginary part of `s` is what the output gradient `i` pulls back.
    """
    for part in (IMAGINARY, REAL):
        for output_index, output in problem.recorded:
            if part is REAL or is_complex(output):
                check_backward_of_output(problem, output_index, part, numerical, fast)


def check_backward_of_output(
    problem: Problem, output_index: int, part: Part, numerical: Sequence[InputDerivative], fast: bool
) -> None:
    input_probes, output_probes = problem.probe(fast)
    output_probe = output_probes[output_index]
    columns = repeatable_gradients(problem, output_index, part, output_probe)
    remark = f"the {part.name} part of complex outputs only" if is_complex(problem.outputs[output_index]) else ""
    for slot, (position, x) in enumerate(problem.varied):

        def whole_jacobians(slot: int = slot) -> tuple[np.ndarray, np.ndarray]:
            return full_jacobians(problem, output_index, slot, part)

        comparison = Comparison(
            "backward", output_index, position, remark=remark, full=whole_jacobians if fast else None,
            dtype=str(x.dtype), shape=tuple(x.shape),
        )  # fmt: skip
        comparison.check(
            input_probes[slot].rows_of(columns[slot]),
            output_probe.columns_of(numerical[slot].of_part(output_index, part)),
            problem.rtol,
            problem.atol,
            weight=input_probes[slot].weight * output_probe.weight,
        )


def full_jacobians(problem: Problem, output_index: int, slot: int, part: Part) -> tuple[np.ndarray, np.ndarray]:
    """The whole analytical and numerical Jacobian of one output with respect to one varied input."""
    input_probes, output_probes = problem.probe(fast=False)
    probe: InputProbe = input_probes[slot]
    analytical = probe.rows_of(gradient_columns(problem, output_index, part, output_probes[output_index])[slot])
    derivative = numerical_derivative(problem, problem.varied[slot][0], probe)
    return analytical, derivative.of_part(output_index, part)


def repeatable_gradients(problem: Problem, output_index: int, part: Part, probe: Probe) -> list[np.ndarray]:
    """`gradient_columns`, computed twice: raises GradcheckError if the two runs differ by more than `nondet_tol`."""
    first = gradient_columns(problem, output_index, part, probe)
    second = gradient_columns(problem, output_index, part, probe)
    for (position, _), one, other in zip(problem.varied, first, second, strict=True):
        difference, _ = largest_difference(one, other, equal_nan=True)
        if not difference <= problem.nondet_tol:
            raise GradcheckError(
                f"Backward is not reentrant: the gradient of output {output_index} with respect to input {position} "
                f"was computed twice from the same graph and the same output gradient, and the results differ by "
                f"{difference:.6g} (nondet_tol={problem.nondet_tol:g}).\n"
                "  Either the derivative uses random numbers or changes something it reads, or it is known to be "
                "nondeterministic; then pass nondet_tol."
            )
    return first


def gradient_columns(problem: Problem, output_index: int, part: Part, probe: Probe) -> list[np.ndarray]:
    """Per varied input a matrix whose columns are its gradients for each output gradient of `probe`."""
    output = problem.outputs[output_index]
    tensors = [x for _, x in problem.varied]
    columns = [np.zeros((x.size, probe.num_directions), x.dtype) for x in tensors]
    for k, direction in enumerate(probe.arrays(output.dtype, part.unit)):
        for matrix, (position, x), gradient in zip(
            columns, problem.varied, pull_back([output], tensors, [direction]), strict=True
        ):
            if gradient is not None:
                check_gradient_kind(gradient, x, position, x.dtype if problem.check_grad_dtypes else None)
                matrix[:, k] = gradient_values(gradient).reshape(-1)
    return columns


def pull_back(
    outputs: Sequence[Tensor], inputs: Sequence[Tensor], gradients: Iterable[np.ndarray]
) -> Sequence[Tensor | SparseGrad | None]:
    """The gradients of `inputs` for the given output gradients; the graph is kept."""
    constants = [beside(output, gradient) for output, gradient in zip(outputs, gradients, strict=True)]
    return grad(outputs, inputs, constants, retain_graph=True, allow_unused=True)


def gradient_values(gradient: Tensor | SparseGrad) -> np.ndarray:
    """The values of a gradient as an array; what a sparse gradient does not store is zero."""
    return gradient.to_dense() if isinstance(gradient, SparseGrad) else payload_of(gradient)


def stored_elements(outputs: Sequence[Tensor], inputs: Mapping[int, Tensor]) -> dict[int, np.ndarray]:
    """The flat positions of the elements that sparse gradients store, for the inputs that have a sparse gradient."""
    recorded = [y for y in outputs if y.requires_grad]
    if not recorded:
        return {}
    gradients = pull_back(recorded, list(inputs.values()), [np.ones(y.shape, y.dtype) for y in recorded])
    stored = {}
    for position, gradient in zip(inputs, gradients, strict=True):
        if isinstance(gradient, SparseGrad):
            elements = np.arange(math.prod(gradient.shape)).reshape(gradient.shape)
            stored[position] = elements[np.unique(gradient.indices)].reshape(-1)
    return stored


def check_gradient_kind(gradient: Tensor | SparseGrad, x: Tensor, position: int, dtype: Any) -> None:
    """Raise GradcheckError unless `gradient` has the shape of the input `x` and this dtype; None means any dtype."""
    if gradient.shape != x.shape:
        raise GradcheckError(
            f"the gradient of input {position} has shape {gradient.shape}, and the input has shape {x.shape}"
        )
    if dtype is not None and gradient.dtype != dtype:
        raise GradcheckError(f"the gradient of input {position} has dtype {gradient.dtype}, and should have {dtype}")


def check_batched_gradients(problem: Problem) -> None:
    """Raise GradcheckError unless two output gradients in one batched pass give what two passes give."""
    rng = np.random.default_rng(2147483647)
    tensors = [x for _, x in problem.varied]
    for output_index, output in problem.recorded:
        batch = random_batch(rng, output)
        single = [pull_back([output], tensors, [gradient]) for gradient in batch.copy()]
        try:
            batched = grad(
                [output], tensors, [beside(output, batch)], retain_graph=True, allow_unused=True, is_grads_batched=True
            )
        except Exception as error:
            raise GradcheckError(
                f"the gradients of output {output_index} could not be computed for a batch of output gradients "
                f"(check_batched_grad=True): {error}\n  Pass check_batched_grad=False if batches are not supported."
            ) from error
        for (position, x), together, *one_by_one in zip(problem.varied, batched, *single, strict=True):
            expected = np.stack([values_or_zeros(gradient, x) for gradient in one_by_one])
            found = np.zeros_like(expected) if together is None else gradient_values(together)
            if found.shape != expected.shape or not are_equal_up_to_rounding(found, expected):
                raise GradcheckError(
                    f"the gradient of output {output_index} with respect to input {position} differs between a batch "
                    f"of two output gradients and one pass for each (check_batched_grad=True):\n"
                    f"  batched:\n{found}\n  one by one:\n{expected}"
                )


def random_batch(rng: np.random.Generator, like: Tensor) -> np.ndarray:
    """Two random arrays of the kind of `like`, stacked along a new first axis."""
    shape = (2, *like.shape)
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if is_complex(like) else values).astype(like.dtype)


def values_or_zeros(gradient: Tensor | SparseGrad | None, x: Tensor) -> np.ndarray:
    """The values of a gradient of `x`, of which None means zeros."""
    return np.zeros(x.shape, x.dtype) if gradient is None else gradient_values(gradient)


def check_linear_in_output_gradient(problem: Problem) -> None:
    """Raise GradcheckError unless zero output gradients give gradients that are zero, of the right shape and dtype."""
    outputs = [y for _, y in problem.recorded]
    if not outputs:
        return
    zeros = [np.zeros(y.shape, y.dtype) for y in outputs]
    gradients = pull_back(outputs, [x for _, x in problem.varied], zeros)
    for (position, x), gradient in zip(problem.varied, gradients, strict=True):
        if gradient is None:
            continue
        values = gradient_values(gradient)
        if np.any(values != 0):
            raise GradcheckError(
                f"backward not multiplied by grad_output: with output gradients of zero, input {position} got the "
                f"gradient\n{values}\n  A backward formula is linear in the gradients it receives."
            )
        # A leaf may ask for gradients of another dtype than its own.
        check_gradient_kind(gradient, x, position, x.grad_dtype if x.is_leaf else x.dtype)


class Undefined(Function):
    """The identity, except that it passes no gradient back: what lies before it sees an undefined gradient."""

    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return None


def check_undefined_gradients(problem: Problem) -> None:
    """Raise GradcheckError (and warn) unless backward copes with undefined gradients, all at once and one by one."""
    count = len(problem.recorded)
    subsets = [range(count)] if count else []
    if count > 1:
        subsets += [range(i, i + 1) for i in range(count)]
    for subset in subsets:
        recorded = [y for y in problem.call() if y.requires_grad]
        outputs = [Undefined.apply(y) if i in subset else y for i, y in enumerate(recorded)]
        zeros = [np.zeros(y.shape, y.dtype) for y in outputs]
        named = "all outputs" if len(subset) == count else f"output {problem.recorded[subset[0]][0]}"
        try:
            gradients = pull_back(outputs, [x for _, x in problem.varied], zeros)
        except Exception as error:
            what = f"with undefined gradients for {named}, backward raised {type(error).__name__}: {error}"
            raise undefined_gradient_error(what) from error
        for (position, _), gradient in zip(problem.varied, gradients, strict=True):
            if gradient is not None and np.any(gradient_values(gradient) != 0):
                raise undefined_gradient_error(
                    f"with undefined gradients for {named} and zeros elsewhere, input {position} got a gradient "
                    f"that is not zero:\n{gradient_values(gradient)}"
                )


def undefined_gradient_error(problem_text: str) -> GradcheckError:
    """Warn about the missing support, and return the error to raise."""
    text = (
        f"backward does not support undefined output gradients: {problem_text}\n"
        "  None stands for a gradient of zero. A Function that calls set_materialize_grads(False) has to accept it; "
        "pass check_undefined_grad=False if that is never needed."
    )
    warn(text, UserWarning)
    return GradcheckError(text)


# The functions whose first derivatives are the second derivatives of another function.
#
# `gradgradcheck` is `gradcheck` of these. Both take the arguments of the original function followed by the vectors that
# its derivative is applied to, and both drop results that are None, which means a derivative of zero.

def positions_requiring_grad(values: tuple[Any, ...]) -> list[int]:
    return [i for i, value in enumerate(values) if isinstance(value, Tensor) and value.requires_grad]


def gradient_function(
    func: Callable[..., Any], inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]
) -> Callable[..., tuple[Tensor, ...]]:
    """The function `(*inputs, *grad_outputs) -> gradients of func`, itself differentiable."""
    varied = positions_requiring_grad(inputs)
    tracked = varied + [len(inputs) + i for i in positions_requiring_grad(grad_outputs)]

    def gradients(*arguments: Any) -> tuple[Tensor, ...]:
        given = list(arguments)
        for i in tracked:
            if not given[i].requires_grad:
                # Forward mode passes duals of detached tensors, whose gradient is wanted as well. A leaf that is made
                # here may have it: the flag of a copy does not outlive the forward pass.
                given[i] = given[i].clone().requires_grad_()
        outputs = [y for y in check_outputs(func(*given[: len(inputs)])) if y.requires_grad]
        found = grad(
            outputs,
            [given[i] for i in varied],
            given[len(inputs) :],
            create_graph=True,
            allow_unused=True,
        )
        return tuple(gradient for gradient in found if gradient is not None)

    return gradients


def tangent_function(func: Callable[..., Any], inputs: tuple[Any, ...]) -> Callable[..., tuple[Tensor, ...]]:
    """The function `(*inputs, *tangents) -> tangents of func`, with a tangent for each input that requires grad."""
    varied = positions_requiring_grad(inputs)

    def tangents(*arguments: Any) -> tuple[Tensor, ...]:
        given: list[Tensor | None] = [None] * len(inputs)
        for i, tangent in zip(varied, arguments[len(inputs) :], strict=True):
            given[i] = tangent
        found = jvp_of_tuple(lambda *primals: check_outputs(func(*primals)), arguments[: len(inputs)], given)
        return tuple(tangent for tangent in found if tangent is not None)

    return tangents


def random_gradients(func: Callable[..., Any], inputs: tuple[Any, ...], strided: bool) -> tuple[Tensor, ...]:
    """A random gradient that requires grad for every output of `func` that does, in strided memory if asked."""
    recorded = [y for y in check_outputs(func(*inputs)) if y.requires_grad]
    if not recorded:
        raise ValueError("gradgradcheck expects a function with an output that requires grad, and none of them does")
    return random_vectors(recorded, strided)


def random_tangents(inputs: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """A random tangent that requires grad for every input that does."""
    return random_vectors([inputs[i] for i in positions_requiring_grad(inputs)], strided=False)


def random_vectors(like: list[Tensor], strided: bool) -> tuple[Tensor, ...]:
    """For each tensor a leaf of its shape and dtype with values between -1 and 1, the same on every call."""
    rng = np.random.default_rng(2147483647)
    vectors = []
    for tensor in like:
        shape, dtype = tensor.shape, tensor.dtype
        # Every second element of a larger array, or all elements of one of the right size.
        values = np.zeros((*shape, 2), dtype)[..., 0] if strided else np.zeros(shape, dtype)
        values[...] = rng.uniform(-1, 1, shape)
        if dtype.kind == "c":
            values.imag = rng.uniform(-1, 1, shape)
        vectors.append(beside(tensor, values).requires_grad_())
    return tuple(vectors)
