"""Plain arrays in and out, for functions whose results have no derivative."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core.spec import describe
from pullback.core.state import current
from pullback.eager.build import as_operand
from pullback.eager.record import new_tensor
from pullback.tensors.tensor import Tensor, as_constant


def plain(name: str, x: Any) -> Any:
    """The values of `x` as an ndarray. The result must not reach a caller who could differentiate it."""
    if not isinstance(x, Tensor):
        return np.asarray(x)
    if type(x._data) is not np.ndarray:
        raise TypeError(
            f"{name}: its result depends on the values of {describe(x.shape, x.dtype)}, which a transform has not "
            "computed one by one; call it outside of the transform"
        )
    return x._data


def tensor_from(x: Any) -> Any:
    """`x` itself if it is a Tensor; arrays, numbers and lists of them as a constant one."""
    return x if isinstance(x, Tensor) else as_constant(as_operand(x))


def constant(array: Any) -> Tensor:
    """A new Tensor without history, made in the current mode."""
    return new_tensor(np.asarray(array), current())
