"""Members that tensors have because arrays have them: `flat`, `fill`, `x @= y`.

With them, twins of functions that are made of several operators: in place, or for `put` out of place.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.ops.comparison import clamp_max, clamp_min
from pullback.ops.contraction import matmul
from pullback.ops.creation import asarray
from pullback.ops.elementary import unwrap
from pullback.ops.elementwise import float_power
from pullback.ops.indexing import setitem
from pullback.ops.methods import is_operand
from pullback.ops.plain import plain, tensor_from
from pullback.ops.reshaping import ravel
from pullback.ops.scatter import put, put_along_axis, take
from pullback.tensors.tensor import Tensor


class Flat:
    """The elements of a tensor in row-major order, whatever its shape: `x.flat[3]`, `x.flat[::2] = 0`, `list(x.flat)`.

    Reading is differentiable and makes a copy where the elements do not lie in a row; writing changes the tensor.
    """

    __slots__ = ("base",)

    def __init__(self, base: Tensor) -> None:
        self.base = base

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Tensor]:
        return iter(ravel(self.base))

    def __getitem__(self, key: Any) -> Tensor:
        return ravel(self.base)[key]

    def __setitem__(self, key: Any, values: Any) -> None:
        """Write values; those that are too few are repeated, as in NumPy."""
        key = plain("flat", key) if isinstance(key, Tensor) else key
        places = np.asarray(np.arange(self.base.size)[key])
        values = ravel(asarray(values))
        if places.ndim == 0 or values.size == 1:
            values = values[0]
        elif values.size != places.size:
            values = take(values, np.arange(places.size) % values.size)
        if self.base.ndim:
            setitem(self.base, np.unravel_index(places.reshape(-1) if values.ndim else places, self.base.shape), values)
        elif places.size:
            setitem(self.base, ..., values if values.ndim == 0 else values[-1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return ravel(self.base).__array__(dtype, copy)

    def copy(self) -> Tensor:
        """The elements in a row, as a new tensor."""
        return ravel(self.base).copy()


def _assign_flat(self: Tensor, values: Any) -> None:
    Flat(self)[...] = values


def fill(self: Tensor, value: Any) -> None:
    """Write one number to every element. As in NumPy nothing is returned; `fill_` returns the tensor."""
    self.fill_(value)


def imatmul(self: Tensor, other: Any) -> Any:
    """`x @= y`: the product is written into `x`, so it must have the shape of `x`."""
    if not is_operand(other):
        return NotImplemented
    # Of a copy, since the gradient of the other factor is computed from the former elements.
    product = matmul(self.clone(), tensor_from(other))
    if product.shape != self.shape:
        raise ValueError(f"@=: the product has shape {list(product.shape)} and does not fit {list(self.shape)}")
    return self.copy_(product)


def _written(function: Callable[..., Any]) -> Callable[..., Tensor]:
    @functools.wraps(function)
    def twin(self: Tensor, *args: Any, **options: Any) -> Tensor:
        # Of a copy, since the derivative may read the former elements.
        arrays = [tensor_from(arg) if isinstance(arg, (np.ndarray, list)) else arg for arg in args]
        return self.copy_(function(self.clone(), *arrays, **options))

    twin.__name__ = twin.__qualname__ = f"{function.__name__}_"
    twin.__doc__ = f"In-place version of `{function.__name__}`."
    return twin


@composite(method=False)
def put_copy(x: Any, indices: Any, values: Any) -> Any:
    """What `x` is after `put(x, ...)`, which stays as it is."""
    out = x.copy()
    put(out, indices, values)
    return out


@composite(method=False)
def put_along_axis_copy(x: Any, indices: Any, values: Any, axis: int | None = -1) -> Any:
    """What `x` is after `put_along_axis(x, ...)`, which stays as it is."""
    out = x.copy()
    put_along_axis(out, indices, values, axis)
    return out


members: dict[str, Any] = {
    "__imatmul__": imatmul,
    "clamp_max_": _written(clamp_max),
    "clamp_min_": _written(clamp_min),
    "fill": fill,
    "float_power_": _written(float_power),
    "flat": property(Flat, _assign_flat, doc="The elements in row-major order, to be read and written by position."),
    "unwrap_": _written(unwrap),
}
"""Members of `Tensor`."""
