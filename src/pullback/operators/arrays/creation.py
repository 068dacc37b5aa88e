"""Tensors made from data, shapes and numbers.

Every function takes `dtype`, `device` (which can only be "cpu") and `requires_grad`. The flag is honoured whatever the
grad mode, since a new tensor is a leaf; in inference mode a new tensor is an inference tensor. Where a function is
given Tensors (`tensor` and `asarray` of them or of lists of them, `full`, `linspace`), the result is differentiable in
them, unless `requires_grad` is given: that asks for a new leaf, which starts without a history.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.axes import normalize_axis_index, normalize_shape
from pullback.core.outside import as_numbers, number_dtype, what_is_no_number
from pullback.core.spec import NUMBERS_ONLY, is_complex_dtype, is_differentiable_dtype
from pullback.core.state import current, open_levels
from pullback.declare.composite import composite
from pullback.eager.record import new_tensor
from pullback.operators.arguments import ANY_NUMBER, as_array, called_as, common_dtype
from pullback.operators.arrays.joining import concat, stack
from pullback.operators.arrays.movement import broadcast_arrays, broadcast_to, expand_dims, moveaxis
from pullback.operators.arrays.reshaping import reshape
from pullback.operators.elementwise.arithmetic import floor
from pullback.operators.elementwise.casting import check_device, on_device
from pullback.payloads.batched import levels_of, own_copies
from pullback.payloads.devices import CPU, device_of, is_foreign, moved, on_host, resolve
from pullback.payloads.devices import Defaults as DeviceDefaults
from pullback.payloads.kinds import filled, has_kind
from pullback.tape.forward.levels import live_levels
from pullback.tape.history import requires_grad as is_recorded
from pullback.tape.tensor_members import requires_grad_
from pullback.tensors.tensor import Tensor, as_constant, from_outside, meta_of

Array = np.ndarray[Any, Any]


class Defaults:
    """The dtype of new real numbers, for the whole process."""

    real = np.dtype(np.float64)


@composite(arrays=0)
def get_default_dtype() -> np.dtype[Any]:
    """The dtype of real numbers that come without one."""
    return Defaults.real


@composite(arrays=0)
def set_default_dtype(dtype: Any) -> None:
    """Set the dtype of real numbers that come without one."""
    dtype = np.dtype(dtype)
    if not is_differentiable_dtype(dtype) or is_complex_dtype(dtype):
        raise TypeError(f"set_default_dtype: expected a real floating point dtype, got {dtype}")
    Defaults.real = dtype


def default_dtype_for(array: Array) -> np.dtype[Any]:
    """The dtype of an array that was made of Python numbers."""
    if array.dtype == np.float64:
        return Defaults.real
    return np.result_type(Defaults.real, np.complex64) if array.dtype == np.complex128 else array.dtype


def finished(payload: Array, device: Any = None, requires_grad: bool = False, name: str | None = None) -> Tensor:
    """A new leaf on `payload`."""
    if device is not None or DeviceDefaults.were_set:
        place = resolve("device=", device)
        if type(payload) is np.ndarray and place != CPU:
            payload = moved(payload, place)
    tensor = new_tensor(payload, current())
    if requires_grad is not False:
        requires_grad_(tensor, requires_grad)
    if name is not None:
        meta_of(tensor).name = name
    return tensor


# From data.


def _has_tensors(data: Any) -> bool:
    return isinstance(data, Tensor) or (isinstance(data, (list, tuple)) and any(map(_has_tensors, data)))


def _as_ndarray(data: Any, dtype: Any, copy: bool | None) -> Array:
    """Data without Tensors as an ndarray, numbers in the default dtype."""
    given = data
    if is_foreign(data):
        data = on_host(data)
    has_dtype = hasattr(data, "dtype") or hasattr(data, "__array__") or hasattr(data, "__array_interface__")
    dtype = None if dtype is None else number_dtype(dtype)
    if has_dtype and type(data) is not np.ndarray and not isinstance(data, np.generic):
        data = as_numbers(data)
    try:
        array = np.array(data, dtype, copy=True) if copy else np.asarray(data, dtype)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise told(
            ValueError("the rows have different lengths, and an array has one length for each axis"),
            fix="fill the rows up, or pb.nested.nested([...]) for rows of different lengths",
        ) from None
    if array.dtype.kind not in "biufc":
        raise told(
            TypeError(f"{NUMBERS_ONLY} {what_is_no_number(given)}"),
            fix="convert it to numbers first; a tree of tensors is pb.tree.map(pb.tensor, tree)",
        )
    if copy is False and array is not data and not np.may_share_memory(array, data):
        raise ValueError(f"asarray: {type(given).__name__} cannot become an array of {array.dtype} without a copy")
    return array if has_dtype or dtype is not None else array.astype(default_dtype_for(array), copy=False)


def _asked(made: Tensor, requires_grad: bool | None) -> Tensor:
    """What was made of Tensors: differentiable in them, or a new leaf if the flag was given."""
    return made if requires_grad is None else requires_grad_(made.detach(), requires_grad)


@composite(arrays=0)
def tensor(
    data: Any, dtype: Any = None, *, device: str | None = None, requires_grad: bool | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """A copy of `data`: numbers, nested lists, arrays, Tensors. With `requires_grad=True` gradients are stored in it.

    Of Tensors, alone or in lists, it is a differentiable function, as `stack` is. With `requires_grad` given it is a
    new leaf instead, and no gradient flows back through it.

    >>> pb.tensor([1.0, 2.0], requires_grad=True)
    tensor([1., 2.], requires_grad=True)
    """
    if not _has_tensors(data):
        return finished(_as_ndarray(data, dtype, True), device, requires_grad or False, name)
    out = asarray(data, dtype, device=device, copy=True, requires_grad=requires_grad)
    if name is not None:
        meta_of(out).name = name
    return out


@composite(arrays=0, aliases=("as_tensor", "asanyarray"))
def asarray(
    data: Any, dtype: Any = None, *, device: str | None = None, copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """`data` as a Tensor: a Tensor itself, an ndarray's memory shared, a list of Tensors stacked differentiably.

    `copy=True` always copies, and `copy=False` raises where a copy would be needed. With `requires_grad` given, what
    is made of Tensors is a new leaf without their history, on the same memory if nothing had to be copied.
    """
    if not _has_tensors(data):
        made = finished(_as_ndarray(data, dtype, copy), device, requires_grad or False)
        return made if copy else from_outside(made)
    if device is not None and isinstance(data, Tensor):
        data = on_device(data, resolve("asarray", device), copy)
    if not isinstance(data, Tensor):
        if copy is False:
            raise ValueError("asarray: a list of Tensors cannot become one Tensor without a copy")
        data, copy = _stacked(data, np.result_type(*_number_types(data))), None
    if dtype is not None and np.dtype(dtype) != data.dtype:
        if copy is False:
            raise ValueError(f"asarray: {data.dtype} cannot become {np.dtype(dtype)} without a copy")
        data, copy = data.astype(dtype), None
    return _asked(data.clone() if copy else data, requires_grad)


def _number_types(data: Any) -> list[Any]:
    """What decides the dtype of nested lists: the dtypes in them, and Python numbers, which give way to those."""
    if isinstance(data, (list, tuple)):
        return [kind for part in data for kind in _number_types(part)]
    return [data.dtype if hasattr(data, "dtype") else data]


def _stacked(data: Any, dtype: np.dtype[Any]) -> Tensor:
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (list, tuple)) and _has_tensors(data):
        return stack([_stacked(part, dtype) for part in data])
    return as_constant(np.asarray(data, dtype))


@composite(arrays=0)
def array(
    data: Any, dtype: Any = None, *, device: str | None = None, copy: bool | None = True,
    requires_grad: bool | None = None,
) -> Tensor:  # fmt: skip
    """As `asarray`, but a copy unless `copy` says otherwise; of Tensors a differentiable one."""
    return asarray(data, dtype, device=device, copy=copy, requires_grad=requires_grad)


@composite(arrays=0)
def from_numpy(ndarray: Array) -> Tensor:
    """A constant Tensor on the memory of an ndarray. A read-only array gives a tensor that cannot be written."""
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"from_numpy: expected an ndarray, got {type(ndarray).__name__}")
    return from_outside(finished(ndarray.view(np.ndarray) if type(ndarray) is not np.ndarray else ndarray))


# From a shape.


def _shape_and_dtype(
    name: str, parts: tuple[Any, ...], shape: Any, dtype: Any
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read `zeros(3)`, `zeros(2, 3)`, `zeros((2, 3))`, `zeros(shape=(2, 3))` and NumPy's `zeros((2, 3), dtype)`."""
    if len(parts) > 1 and isinstance(parts[-1], (np.dtype, type, str)):
        parts, dtype = parts[:-1], parts[-1]
    if shape is not None:
        if parts:
            raise TypeError(f"{name}: the shape was given twice")
        parts = (shape,)
    lengths = normalize_shape(parts[0] if len(parts) == 1 else parts)
    if min(lengths, default=0) < 0:
        raise ValueError(f"{name}: lengths cannot be negative, got {lengths}")
    return lengths, Defaults.real if dtype is None else number_dtype(dtype)


def _factories(name: str, fill: Callable[..., Array], doc: str) -> tuple[Callable[..., Any], ...]:
    """The functions `name`, `name_like` and `new_name`."""

    @called_as(lambda shape, *, dtype=None, device=None, requires_grad=False: None)
    def factory(
        *lengths: Any, shape: Any = None, dtype: Any = None, device: str | None = None, requires_grad: bool = False
    ) -> Tensor:
        lengths, dtype = _shape_and_dtype(name, lengths, shape, dtype)
        return finished(fill(lengths, dtype), device, requires_grad)

    def like(x: Any, dtype: Any = None, *, device: str | None = None, requires_grad: bool = False) -> Any:
        return _like(x, fill, dtype, device, requires_grad)

    def new(
        x: Any, *lengths: Any, shape: Any = None, dtype: Any = None, device: str | None = None,
        requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        lengths, dtype = _shape_and_dtype(f"new_{name}", lengths, shape, x.dtype if dtype is None else dtype)
        return finished(_beside(x._data, fill(lengths, dtype), device), device, requires_grad)

    factory.__doc__ = f"A tensor of this shape {doc}."
    like.__doc__ = f"A tensor of the shape and dtype of `x` {doc}; it never inherits requires_grad."
    new.__doc__ = f"A tensor of the dtype of `x` {doc}."
    for function, public in ((factory, name), (like, f"{name}_like"), (new, f"new_{name}")):
        function.__name__ = function.__qualname__ = public
    return composite(factory, arrays=0), composite(like, method=False), composite(new)


def _like(x: Any, fill: Callable[..., Array], dtype: Any, device: Any, requires_grad: bool) -> Any:
    """An array like `x` in the same memory order: a Tensor like a Tensor, a plain array like a plain array."""
    payload = x._data if isinstance(x, Tensor) else x
    dtype = x.dtype if dtype is None else number_dtype(dtype)
    made: Any
    if has_kind(payload):
        number = fill((), dtype).item()
        made = filled(payload, 1 if number else 0, is_gradient=False)
        made = made if number in (0, 1) else made * number
        made = made if made.dtype == dtype else made.astype(dtype)
        return finished(made, device, requires_grad) if isinstance(x, Tensor) else made
    # A payload without data has a shadow, an array that lies in memory as the data would.
    pattern = payload if type(payload) is np.ndarray else getattr(payload, "shadow", None)
    if pattern is not None and not pattern.flags.c_contiguous and 0 not in pattern.strides:
        made = np.empty_like(pattern, dtype)
        made[...] = fill((), dtype)
    else:
        made = _beside(payload, fill(x.shape, dtype), device)
    return finished(made, device, requires_grad) if isinstance(x, Tensor) else made


def _beside(payload: Any, array: Array, device: Any) -> Any:
    """A new array where a payload lies, unless a device is asked for, and for every example that it has."""
    place = device_of(payload)
    here = array if device is not None or place is CPU else moved(array, place)
    return own_copies(here, levels_of(payload))


zeros, zeros_like, new_zeros = _factories("zeros", np.zeros, "full of zeros")
ones, ones_like, new_ones = _factories("ones", np.ones, "full of ones")
empty, empty_like, new_empty = _factories("empty", np.empty, "with whatever was in memory")


@composite(arrays=0)
def full(
    shape: Any, fill_value: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool | None = None
) -> Tensor:
    """A tensor of this shape full of one value. Of a Tensor `fill_value` it is a differentiable function."""
    shape = normalize_shape(shape)
    if _has_tensors(fill_value):
        check_device("full", device)
        value = asarray(fill_value, dtype)
        return _asked(broadcast_to(value, shape).copy(order="C"), requires_grad)
    filling = _as_ndarray(fill_value, dtype, None)
    return finished(np.full(shape, filling, filling.dtype), device, requires_grad or False)


@composite(method=False)
def full_like(
    x: Any, fill_value: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool | None = None
) -> Any:
    """A tensor of the shape and dtype of `x` full of one value."""
    dtype = x.dtype if dtype is None else dtype
    if _has_tensors(fill_value):
        return full(x.shape, fill_value, dtype=dtype, device=device, requires_grad=requires_grad)
    return _like(x, lambda shape, dtype: np.full(shape, fill_value, dtype), dtype, device, requires_grad or False)


@composite
def new_full(
    x: Any, size: Any, fill_value: Any, *, dtype: Any = None, device: str | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """A tensor of the dtype of `x` full of one value."""
    dtype = x.dtype if dtype is None else dtype
    return full(size, fill_value, dtype=dtype, device=device, requires_grad=requires_grad)


@composite(name="new_tensor")
def tensor_with_dtype_of(
    x: Any, data: Any, *, dtype: Any = None, device: str | None = None, requires_grad: bool | None = None
) -> Tensor:
    """A copy of `data` in the dtype of `x`, made as by `tensor`."""
    return tensor(data, x.dtype if dtype is None else dtype, device=device, requires_grad=requires_grad)


# From numbers.


def as_number(name: str, value: Any) -> Any:
    """A number, also one in a Tensor. A function of integers of it has no derivative, so it must not ask for one."""
    if isinstance(value, Tensor):
        if (current().grad and is_recorded(value)) or (open_levels and live_levels((value,))):
            raise TypeError(f"{name}: a bound that requires grad; its result has no derivative. Use bound.item()")
        return value._data.item()
    return int.__index__(value) if issubclass(type(value), int) else value


@composite(arrays=0)
def arange(
    start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The numbers from `start` up to and excluding `stop`, `step` apart; of one number, from 0 up to it."""
    start, stop, step = (as_number("arange", bound) for bound in (start, stop, step))
    values = np.arange(start, step=step, dtype=dtype) if stop is None else np.arange(start, stop, step, dtype=dtype)
    if dtype is None:
        values = values.astype(default_dtype_for(values), copy=False)
    return finished(values, device, requires_grad)


@composite(arrays=0)
def linspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, retstep: bool = False, *, dtype: Any = None,
    axis: int = 0, device: str | None = None, requires_grad: bool | None = None, steps: int | None = None,
) -> Any:  # fmt: skip
    """`num` numbers at equal distances from `start` to `stop`, with or without the latter: differentiable in both.

    `retstep=True` gives the distance as well.
    """
    count = operator.index(num if steps is None else steps)
    if retstep:
        out = linspace(
            start, stop, count, endpoint, dtype=dtype, axis=axis, device=device, requires_grad=requires_grad
        )
        parts = count - 1 if endpoint else count
        start, stop = _bounds(start, stop)
        step = (as_array(stop) - as_array(start)) / parts if parts > 0 else as_constant(np.array(np.nan))
        return out, step
    if not (_has_tensors(start) or _has_tensors(stop)):
        values = np.linspace(start, stop, count, endpoint, dtype=dtype, axis=axis)
        dtype = default_dtype_for(values) if dtype is None else dtype
        return finished(values.astype(dtype, copy=False), device, requires_grad or False)
    check_device("linspace", device)
    start, stop = _bounds(start, stop)
    shape = np.broadcast_shapes(start.shape, stop.shape)
    numbers = np.arange(count, dtype=start.real.dtype.type).reshape((count,) + (1,) * len(shape))
    out = numbers * ((stop - start) / max(count - 1 if endpoint else count, 1)) + start
    if endpoint and count > 1:
        out = concat([out[:-1], reshape(broadcast_to(stop, shape), (1, *shape))], 0)
    out = moveaxis(out, 0, normalize_axis_index(axis, out.ndim)) if axis else out
    if dtype is not None:
        out = (floor(out) if np.dtype(dtype).kind in "iu" else out).astype(dtype)
    return _asked(out, requires_grad)


def _bounds(start: Any, stop: Any) -> tuple[Any, Any]:
    """Both as arrays of one floating dtype, in which Python's numbers give way."""
    start, stop = (asarray(bound) if isinstance(bound, (list, tuple)) else bound for bound in (start, stop))
    kind = common_dtype(start, stop)
    kind = kind if kind.kind in "fc" else np.dtype(np.float64)
    return as_array(start).astype(kind, copy=False), as_array(stop).astype(kind, copy=False)


@composite(arrays=0)
def logspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, base: Any = 10.0, *, dtype: Any = None, axis: int = 0
) -> Tensor:
    """Powers of `base` whose exponents go from `start` to `stop` at equal distances."""
    if np.ndim(base):  # it belongs to the bounds
        start, stop, base = broadcast_arrays(*map(as_array, (start, stop, base)))
        base = expand_dims(base, normalize_axis_index(axis, base.ndim + 1))
    out = base ** linspace(start, stop, num, endpoint, axis=axis)
    return out if dtype is None else out.astype(dtype)


@composite(arrays=0)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, *, dtype: Any = None, axis: int = 0
) -> Tensor:
    """`num` numbers from `start` to `stop` with equal quotients."""
    if not (_has_tensors(start) or _has_tensors(stop)):
        values = np.geomspace(start, stop, num, endpoint, dtype=dtype, axis=axis)
        return finished(values.astype(default_dtype_for(values) if dtype is None else dtype, copy=False))
    start, stop = as_array(start), as_array(stop)
    exponents = linspace(0.0, 1.0, num, endpoint)
    out = start * (stop / start) ** reshape(exponents, (-1,) + (1,) * max(start.ndim, stop.ndim))
    out = moveaxis(out, 0, normalize_axis_index(axis, out.ndim)) if axis else out
    return out if dtype is None else out.astype(dtype)


@composite(arrays=0)
def eye(
    n: int, m: int | None = None, k: int = 0, *, dtype: Any = None, device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A matrix with ones on its `k`-th diagonal and zeros elsewhere."""
    values = np.eye(n, m, k, dtype=Defaults.real if dtype is None else dtype)
    return finished(values, device, requires_grad)


@composite(arrays=0)
def identity(n: int, dtype: Any = None) -> Tensor:
    """The identity matrix."""
    return eye(n, dtype=dtype)


@composite(arrays=0)
def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = None, *, requires_grad: bool = False) -> Tensor:
    """A matrix with ones on and below its `k`-th diagonal and zeros above."""
    return finished(np.tri(n, m, k, dtype=Defaults.real if dtype is None else dtype), None, requires_grad)


@composite(arrays=0)
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The positions on and below the `k`-th diagonal of a matrix."""
    return tuple(finished(part) for part in np.tril_indices(n, k, m))


@composite(arrays=0)
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The positions on and above the `k`-th diagonal of a matrix."""
    return tuple(finished(part) for part in np.triu_indices(n, k, m))


@composite(arrays=0)
def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The positions on the main diagonal of an array with `ndim` axes of length `n`."""
    return tuple(finished(part) for part in np.diag_indices(n, ndim))


@composite(arrays=0)
def indices(dimensions: Any, dtype: Any = np.int64) -> Tensor:
    """The positions in an array of this shape, by axis."""
    return finished(np.indices(normalize_shape(dimensions), dtype))


@composite(arrays=ANY_NUMBER, method=False)
def meshgrid(*xs: Any, indexing: str = "xy", sparse: bool = False) -> tuple[Any, ...]:
    """Coordinate matrices of coordinate vectors: expanded views. `indexing="ij"` keeps the order of the axes."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    count = len(xs)
    axes = list(range(count))
    if indexing == "xy" and count > 1:
        axes[:2] = [1, 0]
    arrays = map(as_array, xs)
    spread = [reshape(x, (1,) * axis + (-1,) + (1,) * (count - axis - 1)) for x, axis in zip(arrays, axes, strict=True)]
    if sparse or not spread:
        return tuple(spread)
    shape = np.broadcast_shapes(*(x.shape for x in spread))
    return tuple(broadcast_to(x, shape) for x in spread)
