"""Casts, copies, and writing other values into a tensor (`copy_`, `fill_`, `zero_`).

A cast is linear over the real numbers: dropping an imaginary part and adding a zero one are adjoint to each other.
Their rules hand the gradient on as it is, because the engine casts it to the operand's dtype anyway.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.outside import number_dtype
from pullback.core.spec import describe, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.samples import Maker, Sample, layouts
from pullback.eager.build import as_operand
from pullback.eager.inplace import write
from pullback.operators.arrays.movement import broadcast_to
from pullback.payloads.devices import CPU, Defaults, device_of, moved, resolve
from pullback.tensors.tensor import Tensor, as_constant


def _storable(value: Any, dtype: Any) -> Any:
    """A tangent that fits `dtype`: a real result has a real tangent."""
    return value.real if is_complex_dtype(value.dtype) and not is_complex_dtype(dtype) else value


@primitive(name="_astype", torch="to_copy", flow="casts", scalar="identity", layout="first", batch="shifted")
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
    if device is not None:
        x = on_device(x, resolve("astype", device))
    dtype = number_dtype(dtype)
    if dtype.kind not in "biufcV":
        raise TypeError(f"astype: {dtype} is not a number type, and tensors hold numbers only")
    return x if not copy and x.dtype == dtype else _astype(x, dtype=dtype)


def check_device(name: str, device: Any) -> None:
    """Raise unless the device is NumPy's."""
    if device is not None and resolve(name, device) != CPU:
        raise ValueError(f"{name}: the result is on 'cpu'; use .to({str(device)!r}) on it")


@primitive(name="_to_device", torch="to_device", flow="moves", spec="same")
def _to_device(x, *, device, source, copy):
    """`x` in the memory of another device, or as an array of another library."""
    return moved(x, device, copy)


_to_device.takes_payloads = True


@_to_device.transpose
def to_device_transpose(g, device, source):
    return _to_device(g, device=source, source=device, copy=None)


@_to_device.jvp
def to_device_jvp(t_x, device, source):
    return _to_device(t_x, device=device, source=source, copy=None)


# It has no samples: they are NumPy's arrays, and another device needs another library (tests/foreign).


@_to_device.batch
def to_device_batch(x, *, device, source, copy):
    return _to_device(x, device=device, source=source, copy=copy)


def on_device(x: Any, place: Any, copy: bool | None = None) -> Any:
    """`x` on a device; itself if it is there."""
    found = x.device if isinstance(x, Tensor) else device_of(x)
    if place is found:
        return x
    return _to_device(x, device=place, source=found, copy=copy)


def placed(x: Any, place: Any) -> Any:
    """Something new, which was made with NumPy, on the device that was asked for."""
    return x if place is None and not Defaults.were_set else on_device(x, resolve("device=", place))


def place_like(x: Any, place: Any) -> Any:
    """The device of something new that is like `x`, unless another one is asked for."""
    return x.device if place is None and isinstance(x, Tensor) else place


def to(x: Any, *wanted: Any, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """`x` with the dtype and device asked for, or those of another tensor; `x` itself if it has them already.

    A move to another device is a copy, through which gradients flow back. With `copy=False` memory is shared, where
    both libraries can, and it is an error elsewhere.
    """
    for item in wanted:
        if isinstance(item, Tensor):
            dtype, device = item.dtype, item.device
        elif _is_device(item):
            device = item
        else:
            dtype = item
    place = None if device is None else resolve("to", device)
    is_copied = place is not None and place is not x.device
    out = x if place is None else on_device(x, place, copy)
    return astype(out, out.dtype if dtype is None else dtype, copy=bool(copy) and not is_copied)


def _is_device(item: Any) -> bool:
    """Does an argument of `to` name a device, and not a dtype?"""
    if isinstance(item, (np.dtype, type)) or type(item).__name__.lower() == "dtype":  # that of another library
        return False
    if not isinstance(item, str):
        return not hasattr(item, "kind") or hasattr(item, "raw") or hasattr(item, "type")
    if item == "cpu" or ":" in item or type(item) is not str:
        return True
    try:
        np.dtype(item)
    except TypeError:
        return True
    return False


def cpu(self: Tensor) -> Tensor:
    """This tensor in NumPy's memory; itself if it is there.

    >>> x = pb.ones(2)
    >>> x.cpu() is x
    True
    """
    moved_there: Tensor = on_device(self, CPU)
    return moved_there


def _cast_method(dtype: Any) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return astype(self, dtype, copy=False)

    method.__doc__ = f"This tensor with elements of type {np.dtype(dtype)}; itself if it has that type already."
    return method


def type_as(self: Tensor, other: Any) -> Tensor:
    """This tensor with elements of the type of `other`; itself if it has that type already."""
    return astype(self, other.dtype, copy=False)


def _elsewhere(device: str) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return on_device(self, resolve(f"x.{device}()", device))

    method.__name__ = method.__qualname__ = device
    method.__doc__ = f"Refused: devices belong to libraries, and {device!r} names none; see `to`."
    return method


members: dict[str, Callable[..., Any]] = {
    "to": to,
    "cpu": cpu,
    "cuda": _elsewhere("cuda"),
    "mps": _elsewhere("mps"),
    "type_as": type_as,
    "byte": _cast_method(np.uint8),
    "char": _cast_method(np.int8),
    "short": _cast_method(np.int16),
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


@primitive(
    aliases=("clone",), torch="clone", flow="moves", scalar="identity", layout="order", batch="shifted", spec="same",
    group="copy",
)
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


@copy.spelling("array_api")
def copy_spelling(np_there, x, *, order):
    return x.copy()  # how it lies there is the library's business


@copy.door
def copy_door(x: Any, order: str = "K") -> Any:
    if order not in ("K", "C", "F"):
        raise ValueError(f'copy: order must be "K", "C" or "F", got {order!r}')
    return (x,), {"order": order}


@copy.transpose
def copy_transpose(g):
    return g


@copy.samples
def copy_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make(()),), {"order": "K"}, "scalar")
    yield Sample((make((3, 4)),), {"order": "F"}, "to-fortran")
    yield Sample((make((0, 2)),), {"order": "C"}, "empty")
    yield Sample((make((3,), np.complex128),), {"order": "C"}, "complex")
    yield Sample((make.integers(0, 9, (3,)),), {"order": "K"}, "integers")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"order": "K"}, label)


@primitive(name="_assign", torch="copy", flow="assigns", complex="each", spec="same")
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


@_assign.expand(in_rows=True)
def assign_parts(x, y):
    return copy(broadcast_to(y, shape=x.shape), order="C")


@_assign.vjp
def assign_vjp(g):
    return None, g


@_assign.jvp
def assign_jvp(x, t_y):
    return x * 0 if t_y is None else _assign(x, _storable(t_y, x.dtype))


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


def without_leading_ones(value: Any, ndim: int) -> Any:
    """A value that has more axes than its target, as NumPy assigns it: without axes of length 1 in front."""
    extra = getattr(value, "ndim", 0) - ndim
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        return value.reshape(value.shape[extra:])
    return value


def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite this tensor with `src`, broadcast to its shape and cast to its dtype."""
    return write(_assign, self, (without_leading_ones(as_operand(src), self.ndim),), {}, overwrites=True)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element of this tensor with `value`, a number or a tensor without axes."""
    value = as_operand(value)
    if getattr(value, "ndim", 0) != 0:
        shown = describe(value.shape, value.dtype)
        raise told(ValueError(f"fill_: the value must be one number, got {shown}"), fix="use copy_")
    return write(_assign, self, (value,), {}, overwrites=True)


def zero_(self: Tensor) -> Tensor:
    """Overwrite every element of this tensor with 0."""
    return write(_assign, self, (0,), {}, overwrites=True)


def in_place(function: Callable[..., Any], name: str) -> Callable[..., Tensor]:
    """The in-place twin of a function that is no operator: its result is written into the first argument, if the shape
    is the same and the dtype can hold it."""

    @functools.wraps(function)
    def twin(self: Tensor, *args: Any, **options: Any) -> Tensor:
        former = self.clone()  # the derivative may read it
        arrays = [as_constant(as_operand(arg)) if isinstance(arg, (np.ndarray, list)) else arg for arg in args]
        out = function(former, *arrays, **options)
        return self if out is former else store(f"{name}_", self, out)

    twin.__name__ = twin.__qualname__ = f"{name}_"
    twin.__doc__ = f"In-place version of `{name}`."
    return twin


def store(name: str, target: Tensor, out: Any) -> Tensor:
    """Write the result of an in-place function: neither broadcast nor cut off to whole numbers."""
    if not np.can_cast(out.dtype, target.dtype, "same_kind"):
        raise TypeError(f"{name}: a result of type {out.dtype} cannot be cast to the {target.dtype} of the tensor")
    if out.shape != target.shape:
        raise ValueError(f"{name}: a result of shape {out.shape} does not fit a tensor of shape {target.shape}")
    return copy_(target, out)


inplace_methods: dict[str, Callable[..., Any]] = {"copy_": copy_, "fill_": fill_, "zero_": zero_}


# Questions about dtypes: limits, kinds, and which one holds the values of several.
#
# A dtype is a NumPy dtype object, and promotion is NumPy's: Python numbers give way to arrays, NumPy scalars and
# tensors without axes do not. Wherever a dtype is asked for, a Tensor may stand for its own.

Dtype = np.dtype[Any]
_NUMBERS = (bool, int, float, complex)


class _Limits:
    """Numbers under names, which never change. (A dataclass takes a millisecond to define, at every import.)"""

    __slots__: tuple[str, ...] = ()

    def __init__(self, **numbers: Any) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, numbers[name])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed: it describes a dtype")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted: it describes a dtype")

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__annotations__)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (finfo if isinstance(self, FloatLimits) else iinfo), (self.dtype,)  # type: ignore[attr-defined]

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)


class FloatLimits(_Limits):
    """What a floating point dtype can hold, as Python numbers; of a complex dtype, what its parts can."""

    __slots__ = (
        "bits", "dtype", "eps", "max", "min", "precision", "resolution", "smallest_normal", "smallest_subnormal",
    )  # fmt: skip
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float
    resolution: float
    precision: int
    dtype: Dtype

    @property
    def tiny(self) -> float:
        """The smallest positive number of full precision: another name of `smallest_normal`."""
        return self.smallest_normal


class IntegerLimits(_Limits):
    """What an integer dtype can hold, as Python numbers."""

    __slots__ = ("bits", "dtype", "max", "min")
    bits: int
    max: int
    min: int
    dtype: Dtype


def _dtype_of(kind: Any) -> Dtype:
    """The dtype that an argument is or has."""
    if isinstance(kind, (Tensor, np.ndarray, np.generic)):
        return kind.dtype
    return np.dtype(kind)


def _for_promotion(kind: Any) -> Any:
    """What NumPy's promotion is told about an argument: a Python number as it is, of an array only the dtype."""
    return kind.__class__() if kind.__class__ in _NUMBERS else _dtype_of(kind)


@composite(arrays=0)
def finfo(kind: Any, /) -> FloatLimits:
    """The limits of a floating point dtype, or of the dtype of a tensor."""
    limits = np.finfo(_dtype_of(kind))
    names = ("eps", "max", "min", "smallest_normal", "smallest_subnormal", "resolution")
    numbers = {name: float(getattr(limits, name)) for name in names}
    return FloatLimits(bits=int(limits.bits), precision=int(limits.precision), dtype=limits.dtype, **numbers)


@composite(arrays=0)
def iinfo(kind: Any, /) -> IntegerLimits:
    """The limits of an integer dtype, or of the dtype of a tensor."""
    limits = np.iinfo(_dtype_of(kind))
    return IntegerLimits(bits=int(limits.bits), max=int(limits.max), min=int(limits.min), dtype=limits.dtype)


@composite(arrays=0)
def result_type(*arrays_and_dtypes: Any) -> Dtype:
    """The dtype that an operation on these has. Python numbers count by their kind, and not alone."""
    if not arrays_and_dtypes or all(kind.__class__ in _NUMBERS for kind in arrays_and_dtypes):
        raise TypeError("result_type: at least one argument must be an array or a dtype")
    return np.result_type(*map(_for_promotion, arrays_and_dtypes))


@composite(arrays=0)
def promote_types(first: Any, second: Any, /) -> Dtype:
    """The smallest dtype to which both can be cast without loss."""
    return np.promote_types(_dtype_of(first), _dtype_of(second))


@composite(arrays=0)
def can_cast(from_: Any, to: Any, /, casting: Any = "safe") -> bool:
    """Whether values of one dtype, or of the dtype of a tensor, can be cast to another under a rule of NumPy's."""
    return np.can_cast(_dtype_of(from_), _dtype_of(to), casting)


@composite(arrays=0)
def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind of the array API ("integral", "real floating", ...), is a dtype, or one of several.

    `pb.isdtype(pb.float32, ("integral", "real floating"))` is True.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return np.isdtype(np.dtype(dtype), tuple(each if isinstance(each, str) else np.dtype(each) for each in kinds))


@composite(arrays=0)
def issubdtype(first: Any, second: Any, /) -> bool:
    """Whether a dtype lies at or below another, or below an abstract type such as `np.floating`."""
    return np.issubdtype(*(kind.dtype if isinstance(kind, Tensor) else kind for kind in (first, second)))


@composite(arrays=0)
def min_scalar_type(value: Any, /) -> Dtype:
    """The smallest dtype that holds a number; of a tensor with axes, its dtype."""
    return np.min_scalar_type(value._data if isinstance(value, Tensor) and value.ndim == 0 else _scalar(value))


def _scalar(value: Any) -> Any:
    return np.empty((0,), value.dtype) if isinstance(value, Tensor) else value


@composite(arrays=0)
def common_type(*arrays: Any) -> Dtype:
    """The floating point or complex dtype that all of these arrays can be computed with; integers count as float64."""
    return np.dtype(np.common_type(*(np.empty(0, _dtype_of(x)) for x in arrays)))


@composite(arrays=0)
def mintypecode(typechars: Any, typeset: str = "GDFgdf", default: str = "d") -> str:
    """The character of the smallest dtype in `typeset` to which all of `typechars` can be cast."""
    chars = [kind if isinstance(kind, str) else _dtype_of(kind).char for kind in typechars]
    return np.mintypecode(chars, typeset, default)


# Kinds of tensors.


@composite
def is_floating_point(x: Any) -> bool:
    """Whether the elements are real floating point numbers."""
    return bool(x.dtype.kind == "f")


@composite
def is_complex(x: Any) -> bool:
    """Whether the elements are complex numbers."""
    return bool(x.dtype.kind == "c")


@composite(method=False)
def iscomplexobj(x: Any) -> bool:
    """Whether the elements are complex numbers, even if all imaginary parts are zero."""
    return bool(x.dtype.kind == "c")


@composite(method=False)
def isrealobj(x: Any) -> bool:
    """Whether the elements are not complex numbers."""
    return bool(x.dtype.kind != "c")


def type_or_cast(self: Tensor, dtype: Any = None) -> Any:
    """This tensor with elements of another dtype; without one, the name of its own."""
    return str(self.dtype) if dtype is None else self.astype(dtype, copy=False)


members |= {"type": type_or_cast}
"""A method of `Tensor` that is no function."""
