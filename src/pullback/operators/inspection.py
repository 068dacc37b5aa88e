"""Questions about tensors other than their values: size, memory, and how they are printed."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.operators.arguments import plain
from pullback.tensors.tensor import Tensor


def _asked(x: Any, name: str) -> Any:
    """The shape or the strides as the caller of these functions may see them, inside of a trace, too."""
    payload = getattr(x, "_data", None)
    return tuple(getattr(x, name)) if not hasattr(payload, "asked_shape") else getattr(payload, f"asked_{name}")


def _asked_size(x: Any) -> int:
    return math.prod(_asked(x, "shape")) if hasattr(getattr(x, "_data", None), "asked_shape") else int(x.size)


@composite(method=False)
def shape(x: Any) -> tuple[int, ...]:
    """The lengths of the axes."""
    return tuple(_asked(x, "shape"))


@composite(method=False)
def ndim(x: Any) -> int:
    """The number of axes."""
    return int(x.ndim)


@composite(method=False)
def size(x: Any, axis: int | tuple[int, ...] | None = None) -> int:
    """The number of elements, or the length of one axis, or how many elements there are along several."""
    if axis is None:
        return _asked_size(x)
    lengths = _asked(x, "shape")
    return math.prod([lengths[each] for each in axis]) if isinstance(axis, tuple) else lengths[operator.index(axis)]


@composite
def numel(x: Any) -> int:
    """The number of elements."""
    return _asked_size(x)


@composite(method=False)
def itemsize(x: Any) -> int:
    """The bytes of one element."""
    return int(x.dtype.itemsize)


@composite(method=False)
def nbytes(x: Any) -> int:
    """The bytes of all elements together."""
    return _asked_size(x) * int(x.dtype.itemsize)


@composite(method=False)
def strides(x: Any) -> tuple[int, ...]:
    """The bytes from one element to the next along every axis."""
    return tuple(_asked(x, "strides"))


@composite
def stride(x: Any, dim: int | None = None) -> Any:
    """The elements from one to the next in memory along every axis, or along one."""
    steps = tuple(step // x.dtype.itemsize for step in _asked(x, "strides"))
    return steps if dim is None else steps[operator.index(dim)]


@composite
def is_contiguous(x: Any, order: str = "C") -> bool:
    """Whether the elements lie in memory without gaps in row-major order ("C"), or in column-major order ("F").

    Inside `vmap` the answer is that for one example.
    """
    if order not in ("C", "F"):
        raise ValueError(f'is_contiguous: order must be "C" or "F", got {order!r}')
    flags = (x._data if isinstance(x, Tensor) else x).flags
    return bool(flags.c_contiguous if order == "C" else flags.f_contiguous)


@composite(arrays=0)
def is_tensor(x: Any) -> bool:
    """Whether `x` is a Tensor."""
    return isinstance(x, Tensor)


@composite(arrays=0)
def isscalar(x: Any) -> bool:
    """Whether `x` is a number that is no array: Python's or NumPy's. A tensor without axes is none."""
    return not isinstance(x, Tensor) and bool(np.isscalar(x))


@composite(arrays=0)
def iterable(x: Any) -> bool:
    """Whether `x` can be iterated over: a tensor can if it has axes."""
    return x.ndim > 0 if isinstance(x, Tensor) else np.iterable(x)


@composite(method=False)
def isfortran(x: Any) -> bool:
    """Whether the elements lie in memory in column-major order, and not in row-major order as well."""
    return bool(np.isfortran(plain("isfortran", x)))


@composite(arrays=2, method=False)
def may_share_memory(x: Any, y: Any) -> bool:
    """Whether two tensors reach into one stretch of memory; False means that a write to one cannot change the other."""
    return bool(np.may_share_memory(plain("may_share_memory", x), plain("may_share_memory", y)))


@composite(arrays=2, method=False)
def shares_memory(x: Any, y: Any) -> bool:
    """Whether two tensors have an element in common. May take long for unusual strides."""
    return bool(np.shares_memory(plain("shares_memory", x), plain("shares_memory", y)))


# Text.


@composite(method=False)
def array2string(x: Any, *args: Any, **options: Any) -> str:
    """The elements as text, with the options of NumPy's function."""
    return np.array2string(plain("array2string", x), *args, **options)


@composite(arrays=0)
def array_repr(x: Any) -> str:
    """`repr(x)`: the elements, and whether and how the tensor is differentiated."""
    return repr(x)


@composite(method=False)
def array_str(x: Any, max_line_width: int | None = None, precision: int | None = None) -> str:
    """The elements as text and nothing else."""
    return np.array_str(plain("array_str", x), max_line_width, precision)


@composite(arrays=0)
def set_printoptions(**options: Any) -> None:
    """Set how numbers are printed, in tensors and in NumPy's arrays alike: `precision`, `threshold` and the others."""
    np.set_printoptions(**options)


@composite(arrays=0)
def get_printoptions() -> dict[str, Any]:
    """How numbers are printed at present."""
    return dict(np.get_printoptions())


@composite(arrays=0)
@contextmanager
def printoptions(**options: Any) -> Iterator[dict[str, Any]]:
    """A context in which numbers are printed differently, with the options of `set_printoptions`."""
    with np.printoptions(**options) as present:
        yield dict(present)


def dim(self: Any) -> int:
    """The number of axes, as `ndim`."""
    return int(self.ndim)


def nelement(self: Any) -> int:
    """The number of elements, as `size`."""
    return int(self.size)


def element_size(self: Any) -> int:
    """The bytes that an element takes, as `itemsize`."""
    return int(self.dtype.itemsize)


members = {"dim": dim, "ndimension": dim, "nelement": nelement, "element_size": element_size}
"""Methods that torch has beside NumPy's properties."""
