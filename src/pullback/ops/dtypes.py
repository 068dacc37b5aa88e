"""Questions about dtypes: limits, kinds, and which one holds the values of several.

A dtype is a NumPy dtype object, and promotion is NumPy's: Python numbers give way to arrays, NumPy scalars and tensors
without axes do not. Wherever a dtype is asked for, a Tensor may stand for its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.declare.composite import composite
from pullback.tensors.tensor import Tensor

Dtype = np.dtype[Any]
_NUMBERS = (bool, int, float, complex)


class _Limits:
    """Numbers under names, which never change. (A dataclass takes a millisecond to define, at every import.)"""

    __slots__: tuple[str, ...] = ()

    def __init__(self, **numbers: Any) -> None:
        for name in self.__slots__:
            object.__setattr__(self, name, numbers[name])

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} can not be changed: it describes a dtype")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} can not be deleted: it describes a dtype")

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
    return kind if type(kind) in _NUMBERS else _dtype_of(kind)


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
    if not arrays_and_dtypes or all(type(kind) in _NUMBERS for kind in arrays_and_dtypes):
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


members = {"type": type_or_cast}
"""A method of `Tensor` that is no function."""
