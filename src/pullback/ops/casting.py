"""Casts, copies, and writing other values into a tensor (`copy_`, `fill_`, `zero_`).

A cast is linear over the real numbers: dropping an imaginary part and adding a zero one are adjoint to each other.
Their rules hand the gradient on as it is, because the engine casts it to the operand's dtype anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.spec import describe, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.eager.build import as_operand
from pullback.eager.inplace import write
from pullback.tensors.tensor import Tensor


def _storable(value: Any, dtype: Any) -> Any:
    """A tangent that fits `dtype`: a real result has a real tangent."""
    return value.real if is_complex_dtype(value.dtype) and not is_complex_dtype(dtype) else value


@primitive(name="_astype", torch="to_copy")
def _astype(x, *, dtype):
    """`x` with elements of another dtype."""
    return x.astype(dtype)


@_astype.transpose
def astype_transpose(g):
    return g


@_astype.jvp
def astype_jvp(t_x, dtype):
    return _astype(_storable(t_x, dtype), dtype=dtype)


@_astype.spec
def astype_spec(x, *, dtype):
    return spec_for(x.shape, dtype)


@_astype.batch
def astype_batch(x, *, dtype):
    return _astype(x, dtype=dtype)


@_astype.samples
def astype_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"dtype": np.dtype(np.complex128)}, "to-complex")
    yield Sample((make((3, 4)),), {"dtype": np.dtype(np.int64)}, "to-integer")
    yield Sample((make.integers(0, 9, (3,)),), {"dtype": np.dtype(np.float64)}, "from-integer")
    yield Sample((make((), np.float32),), {"dtype": np.dtype(np.float64)}, "from-single")
    yield Sample((make((0, 2)),), {"dtype": np.dtype(np.float64)}, "empty")


@composite
def astype(x: Any, dtype: Any, *, copy: bool = True, device: str | None = None) -> Any:
    """`x` with elements of type `dtype`. With `copy=False`, `x` itself if it has that type already."""
    check_device("astype", device)
    dtype = np.dtype(dtype)
    if dtype.kind not in "biufc":
        raise TypeError(f"astype: {dtype} is not a number type, and tensors hold numbers only")
    return x if not copy and x.dtype == dtype else _astype(x, dtype=dtype)


def check_device(name: str, device: Any) -> None:
    """Raise unless the device is the only one there is."""
    if device is not None and str(device) != "cpu":
        raise ValueError(f"{name}: there is no device {device!r}; the only one is 'cpu'")


def to(x: Any, *wanted: Any, dtype: Any = None, device: str | None = None, copy: bool = False) -> Any:
    """`x` with the dtype and device asked for, or those of another tensor; `x` itself if it has them already."""
    for item in wanted:
        if isinstance(item, Tensor):
            dtype = item.dtype
        elif item == "cpu":
            device = item
        else:
            dtype = item
    return astype(x, x.dtype if dtype is None else dtype, copy=copy, device=device)


def _cast_method(dtype: Any) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return astype(self, dtype, copy=False)

    method.__doc__ = f"This tensor with elements of type {np.dtype(dtype)}; itself if it has that type already."
    return method


members: dict[str, Callable[..., Any]] = {
    "to": to,
    "half": _cast_method(np.float16),
    "float": _cast_method(np.float32),
    "double": _cast_method(np.float64),
    "cfloat": _cast_method(np.complex64),
    "cdouble": _cast_method(np.complex128),
    "int": _cast_method(np.int32),
    "long": _cast_method(np.int64),
    "bool": _cast_method(np.bool_),
}
"""Methods of `Tensor` that are no functions: as functions, most of these names are dtypes."""


@primitive(aliases=("clone",), torch="clone")
def copy(x, *, order):
    """A copy of `x` in memory order "C", "F", or "K" for the order that `x` has."""
    if order == "K" and 0 in x.strides:
        return _copy_of_a_broadcast(x)
    return x.copy(order)


def _copy_of_a_broadcast(x: Any) -> Any:
    """A copy in which repeated axes stay where they are; NumPy's own would move them to the end of the order."""
    iterator = np.nditer((x, None), ["zerosize_ok", "refs_ok"], [["readonly"], ["writeonly", "allocate"]], order="K")
    out = iterator.operands[1]
    out[...] = x
    return out


@copy.door
def copy_door(x: Any, order: str = "K") -> Any:
    if order not in ("K", "C", "F"):
        raise ValueError(f'copy: order must be "K", "C" or "F", got {order!r}')
    return (x,), {"order": order}


@copy.transpose
def copy_transpose(g):
    return g


@copy.spec
def copy_spec(x, *, order):
    return x


@copy.batch
def copy_batch(x, *, order):
    return copy(x, order=order)


@copy.samples
def copy_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make(()),), {"order": "K"}, "scalar")
    yield Sample((make((3, 4)),), {"order": "F"}, "to-fortran")
    yield Sample((make((0, 2)),), {"order": "C"}, "empty")
    yield Sample((make((3,), np.complex128),), {"order": "C"}, "complex")
    yield Sample((make.integers(0, 9, (3,)),), {"order": "K"}, "integers")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"order": "K"}, label)


@primitive(name="_assign", torch="copy")
def _assign(x, y):
    """The values of `y` in the shape and dtype of `x`: what `x` becomes when it is overwritten by `y`."""
    out = np.empty_like(x)
    np.copyto(out, y, casting="unsafe")
    return out


@_assign.inplace
def assign_inplace(x: Any, y: Any) -> None:
    if type(y) is np.ndarray and y.ndim and np.may_share_memory(x, y):
        y = y.copy()  # NumPy gets two overlapping vectors of different strides wrong: a[1] = a[:, 2]
    np.copyto(x, y, casting="unsafe")


@_assign.vjp
def assign_vjp(g):
    return None, g


@_assign.jvp
def assign_jvp(x, t_y):
    return np.zeros(x.shape, x.dtype) if t_y is None else _assign(x, _storable(t_y, x.dtype))


@_assign.spec
def assign_spec(x, y):
    return x


@_assign.batch
def assign_batch(x, y):
    if getattr(y, "ndim", 0) > 0 and y.ndim < x.ndim:
        y = y.reshape(y.shape[:1] + (1,) * (x.ndim - y.ndim) + y.shape[1:])
    return _assign(x, y)


@_assign.samples
def assign_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)), make((3, 4))), label="matrix")
    yield Sample((make((3, 4)), make((4,))), label="broadcast")
    yield Sample((make((2, 3)), make(())), label="scalar")
    yield Sample((make((3,)), 2.5), label="number")
    yield Sample((make((3,), np.complex128), make((3,))), label="real-into-complex")
    yield Sample((make((3,), np.float32), make((3,), np.float32)), label="float32")
    yield Sample((make((0, 2)), make((2,))), label="empty")


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite this tensor with `src`, broadcast to its shape and cast to its dtype."""
    return write(_assign, self, (as_operand(src),), {}, overwrites=True)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element of this tensor with `value`, a number or a tensor without axes."""
    value = as_operand(value)
    if getattr(value, "ndim", 0) != 0:
        raise ValueError(f"fill_: the value must be one number, got {describe(value.shape, value.dtype)}; use copy_")
    return write(_assign, self, (value,), {}, overwrites=True)


def zero_(self: Tensor) -> Tensor:
    """Overwrite every element of this tensor with 0."""
    return write(_assign, self, (0,), {}, overwrites=True)


inplace_methods: dict[str, Callable[..., Any]] = {"copy_": copy_, "fill_": fill_, "zero_": zero_}
