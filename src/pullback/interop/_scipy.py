"""For SciPy's optimizers, which want a number and an array of derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.autograd import grad
from pullback.autograd.grad_mode import enable_grad
from pullback.ops import functions
from pullback.tensors.tensor import Tensor


def scipy_value_and_grad(
    function: Callable[..., Any],
) -> Callable[..., tuple[float, np.ndarray[Any, np.dtype[np.float64]]]]:
    """A loss as `scipy.optimize.minimize(..., jac=True)` wants it: of an array, giving a float and the gradient.

        scipy.optimize.minimize(pb.scipy_value_and_grad(loss), x0, jac=True)

    `loss` gets a Tensor of float64 with the shape of the array, and returns one real number. Other arguments are passed
    on. Where the result does not depend on `x` the gradient is 0.
    """

    @functools.wraps(function)
    def value_and_grad(x: Any, /, *args: Any, **kwargs: Any) -> tuple[float, np.ndarray[Any, np.dtype[np.float64]]]:
        # A copy, because optimizers write the next point into the same array.
        with enable_grad():
            point = functions["tensor"](np.array(x, np.float64), requires_grad=True)
            value = function(point, *args, **kwargs)
            if not isinstance(value, Tensor) or not value.requires_grad:
                return float(value), np.zeros(point.shape)
            if value.size != 1 or value.dtype.kind == "c":
                raise ValueError(
                    f"scipy_value_and_grad: the function must return one real number, got {value.dtype} of shape "
                    f"{list(value.shape)}"
                )
            (gradient,) = grad(value.reshape(()), point, allow_unused=True)
        return value.item(), np.zeros(point.shape) if gradient is None else gradient.detach().numpy()

    return value_and_grad
