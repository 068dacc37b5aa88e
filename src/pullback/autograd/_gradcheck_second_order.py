"""The functions whose first derivatives are the second derivatives of another function.

`gradgradcheck` is `gradcheck` of these. Both take the arguments of the original function followed by the vectors that
its derivative is applied to, and both drop results that are None, which means a derivative of zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd._api import grad
from pullback.autograd._duals import jvp_of_tuple
from pullback.autograd._gradcheck_problem import check_outputs
from pullback.tensors.tensor import Tensor, as_constant

__all__ = ["gradient_function", "random_gradients", "random_tangents", "tangent_function"]


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
        vectors.append(as_constant(values).requires_grad_())
    return tuple(vectors)
