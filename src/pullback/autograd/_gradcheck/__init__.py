"""Check derivatives against finite differences: `gradcheck` for first, `gradgradcheck` for second derivatives.

    x = pb.tensor([0.3, 1.2], requires_grad=True)
    pb.autograd.gradcheck(lambda x: x.sin() * x, x)          # True
    pb.autograd.gradgradcheck(lambda x: x.sin() * x, x)      # True

The stages run in a fixed order and the first failure ends the check: options, inputs, outputs, numerical and
analytical derivatives, and then what a correct Jacobian alone does not show: batches of gradients, linearity in the
output gradient, undefined gradients. This module holds the order; the stages are in the `_gradcheck_*` modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._gradcheck.forward import check_batched_tangents, check_forward, check_undefined_tangents
from pullback.autograd._gradcheck.parts import by_parts
from pullback.autograd._gradcheck.problem import (
    InputDerivative,
    Problem,
    as_tuple,
    check_outputs,
    memory_of,
    numerical_derivative,
    on_values,
)
from pullback.autograd._gradcheck.reverse import (
    check_backward,
    check_batched_gradients,
    check_linear_in_output_gradient,
    check_undefined_gradients,
    gradient_function,
    random_gradients,
    random_tangents,
    stored_elements,
    tangent_function,
)
from pullback.core.doors import door
from pullback.core.frames import warn
from pullback.core.progress import Progress, TimeUp, labelled, shown
from pullback.core.state import current, put_back
from pullback.errors import GradcheckError
from pullback.tensors.tensor import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


@door
def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    progress: Progress = None,
    timeout: float | None = None,
) -> bool:
    """True if the derivatives of `func` at `inputs` agree with central differences; GradcheckError otherwise.

    `inputs` is a Tensor or a list or tuple of arguments, of which those that require grad are varied; they should be
    float64 or complex128. `func` returns one or several Tensors. The default tolerances are made for double precision.

    - `eps`: the step of the central difference; `atol`, `rtol`: `|analytical - numerical| <= atol + rtol |numerical|`.
    - `raise_exception=False`: return False where GradcheckError would be raised. Misuse still raises.
    - `nondet_tol`: by how much two backward passes over the same graph may differ.
    - `check_undefined_grad`: backward must accept outputs without gradient, forward mode inputs without tangent.
    - `check_grad_dtypes`: each gradient must have the dtype of its input.
    - `check_batched_grad`, `check_batched_forward_grad`: a batch of two must equal one pass for each.
    - `check_backward_ad`, `check_forward_ad`: which modes are checked.
    - `fast_mode`: compare `v^T J u` for one random `u` and `v` instead of every entry of the Jacobian J; much faster
      for many elements, and only as likely to notice an error as a random direction is.
    - `masked`: whether entries which a sparse gradient does not store are left out of the comparison; None means
      False. Dense gradients, which store every entry, do not depend on it.
    - `progress`: says how many differences are taken: True shows a bar, a function is called with
      `(done, total, label)`. After `timeout` seconds of these the check gives up: it warns, and returns False.

    A complex output is checked as two real functions, its imaginary part first; the gradient of a complex input is
    `d/d re + i d/d im`. The memory of the inputs is moved during the check and restored exactly; their versions and
    their `.grad` do not change.

    >>> x = pb.tensor([0.5, 1.5], requires_grad=True)
    >>> pb.autograd.gradcheck(lambda x: pb.sin(x) * x, (x,))
    True
    """
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("check_batched_grad=True needs check_backward_ad=True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("check_batched_forward_grad=True needs check_forward_ad=True")
    func, arguments = by_parts(*on_values(func, as_tuple(inputs)))
    _check_inputs(arguments)
    before = current()
    try:
        outputs = check_outputs(func(*arguments))
        stored = stored_elements(outputs, dict(_varied_inputs(arguments))) if masked else {}
        problem = Problem(func, arguments, outputs, eps, rtol, atol, nondet_tol, check_grad_dtypes, stored)
        numerical = _numerical_derivatives(problem, fast_mode, progress, timeout)
        if check_backward_ad:
            _check_constant_outputs(problem, numerical)
            check_backward(problem, numerical, fast_mode)
        if check_forward_ad:
            check_forward(problem, numerical, fast_mode)
            if check_undefined_grad:
                check_undefined_tangents(problem)
        if check_batched_forward_grad:
            check_batched_tangents(problem)
        if check_backward_ad:
            if check_batched_grad:
                check_batched_gradients(problem)
            check_linear_in_output_gradient(problem)
            if check_undefined_grad:
                check_undefined_gradients(problem)
    except TimeUp as error:
        warn(f"{error}; nothing was found wrong so far, and nothing is known of the rest")
        return False
    except GradcheckError:
        if raise_exception:
            raise
        return False
    except BaseException as error:
        put_back(error, before)
        raise
    return True


def _varied_inputs(inputs: tuple[Any, ...]) -> list[tuple[int, Tensor]]:
    """The inputs that require grad, with their positions; raises ValueError if there is none."""
    varied = [(i, x) for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not varied:
        raise ValueError("gradcheck expects at least one input Tensor that requires grad, and none of them does")
    return varied


def _check_inputs(inputs: tuple[Any, ...]) -> None:
    """Raise unless the inputs that require grad can be varied element by element; warn if they are too coarse."""
    for position, x in _varied_inputs(inputs):
        payload = memory_of(x)
        if np.finfo(payload.dtype).eps > np.finfo(np.float64).eps:
            warn(
                f"input {position} requires grad and is {payload.dtype}: central differences in less than double "
                "precision are too coarse for the default eps and tolerances, so the check will probably fail",
                UserWarning,
            )
        if _has_internal_overlap(payload):
            raise RuntimeError(
                f"input {position} has elements that share memory (strides {payload.strides} for shape "
                f"{payload.shape}; a dimension with stride 0 comes from expand or broadcast_to), so one element "
                "cannot be varied without the others: pass a copy, `x.clone()`"
            )
        if not payload.flags.writeable:
            raise RuntimeError(
                f"the memory of input {position} is read-only, and gradcheck varies its elements in place: "
                "pass a copy, `x.clone()`"
            )


def _has_internal_overlap(array: np.ndarray) -> bool:
    """Whether two elements of `array` lie at the same address."""
    if array.size <= 1 or array.flags.forc:
        return False
    addresses = np.zeros((), np.intp)
    for length, stride in zip(array.shape, array.strides, strict=True):
        addresses = addresses[..., None] + np.arange(length) * stride
    return bool(np.unique(addresses).size < array.size)


def _numerical_derivatives(
    problem: Problem, fast: bool, progress: Progress, timeout: float | None
) -> list[InputDerivative]:
    """The central differences of every varied input, along the probes of the mode."""
    probes, _ = problem.probe(fast)
    count = sum(axis.num_directions for probe in probes for _, axis in probe.axes())
    with shown(progress, count, "gradcheck", timeout) as bar:
        return [
            numerical_derivative(problem, position, probe, bar)
            for (position, _), probe in zip(problem.varied, probes, strict=True)
        ]


def _check_constant_outputs(problem: Problem, numerical: list[InputDerivative]) -> None:
    """Raise GradcheckError if an output that does not require grad moves with an input."""
    for output_index, output in enumerate(problem.outputs):
        if output.requires_grad:
            continue
        for (position, _), derivative in zip(problem.varied, numerical, strict=True):
            moved = [derivative.real[output_index]]
            moved += [derivative.imaginary[output_index]] if derivative.imaginary is not None else []
            if not all(np.allclose(matrix, 0, atol=problem.atol) for matrix in moved):
                raise GradcheckError(
                    f"the numerical derivative of output {output_index} with respect to input {position} was expected "
                    f"to be zero, since the output does not require grad:\n{moved[0]}\n"
                    "  It is computed under no_grad, or detached, or marked as non-differentiable; if that is meant, "
                    "check a function that does not return it."
                )


@door
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    check_fwd_over_fwd: bool = False,
    fast_mode: bool = False,
    masked: bool | None = None,
    progress: Progress = None,
    timeout: float | None = None,
) -> bool:
    """True if the second derivatives of `func` at `inputs` agree with central differences of the first ones.

    What is checked is `gradcheck` of the function that maps `inputs` and `grad_outputs` to the gradients of `func`,
    in reverse mode (`check_rev_over_rev`) and forward mode (`check_fwd_over_rev`). `check_fwd_over_fwd` checks the
    function that maps `inputs` and tangents to the tangents of the outputs, in forward mode.

    Without `grad_outputs` they are random numbers between -1 and 1 that require grad, non-contiguous in memory if
    `gen_non_contig_grad_outputs`. The other options are those of `gradcheck`.

    >>> x = pb.tensor([0.5, 1.5], requires_grad=True)
    >>> pb.autograd.gradgradcheck(lambda x: pb.sin(x) * x, (x,))
    True
    """
    if not (check_rev_over_rev or check_fwd_over_rev or check_fwd_over_fwd):
        raise AssertionError(
            "Expected at least one of check_rev_over_rev, check_fwd_over_rev and check_fwd_over_fwd to be True"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("check_batched_grad=True needs check_rev_over_rev=True")
    func, arguments = by_parts(*on_values(func, as_tuple(inputs)))
    _varied_inputs(arguments)

    def check(function: Callable[..., Any], vectors: tuple[Any, ...], *, backward: bool, forward: bool) -> bool:
        return gradcheck(
            function,
            arguments + vectors,
            eps=eps,
            atol=atol,
            rtol=rtol,
            raise_exception=raise_exception,
            nondet_tol=nondet_tol,
            check_undefined_grad=check_undefined_grad,
            check_grad_dtypes=check_grad_dtypes,
            check_batched_grad=check_batched_grad and backward,
            check_backward_ad=backward,
            check_forward_ad=forward,
            fast_mode=fast_mode,
            masked=masked,
            progress=labelled(progress, "gradgradcheck"),
            timeout=timeout,
        )

    passed = True
    if check_rev_over_rev or check_fwd_over_rev:
        if grad_outputs is None:
            gradients = random_gradients(func, arguments, strided=gen_non_contig_grad_outputs)
        else:
            gradients = as_tuple(grad_outputs)
        passed = check(
            gradient_function(func, arguments, gradients),
            gradients,
            backward=check_rev_over_rev,
            forward=check_fwd_over_rev,
        )
    if passed and check_fwd_over_fwd:
        passed = check(tangent_function(func, arguments), random_tangents(arguments), backward=False, forward=True)
    return passed
