"""Arrays that are not there: `ShapeDtype`, as users see them, and `Outline`, a payload without data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core.spec import spec_for
from pullback.payloads.tracing import laid_out


class ShapeDtype:
    """The shape and dtype of an array that is not there.

    >>> pb.ShapeDtype((2, 3), pb.float32)
    ShapeDtype((2, 3), float32)
    """

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any, dtype: Any = "float64") -> None:
        self.shape = (int(shape),) if isinstance(shape, int) else tuple(int(length) for length in shape)
        self.dtype = np.dtype(dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtype) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        return f"ShapeDtype({self.shape}, {self.dtype})"


class Outline:
    """A payload without data."""

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None = None) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.strides = contiguous(shape, self.dtype.itemsize) if strides is None else strides

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))

    @property
    def shadow(self) -> np.ndarray[Any, Any]:
        """An array of this form, whose elements mean nothing."""
        reach = [stride * (length - 1) for stride, length in zip(self.strides, self.shape, strict=True) if length]
        low, high = sum(step for step in reach if step < 0), sum(step for step in reach if step > 0)
        return np.ndarray(
            self.shape, self.dtype, np.empty(high - low + self.dtype.itemsize, np.uint8), -low, self.strides
        )

    @classmethod
    def evaluate_op(cls, op: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """The outlines of an operator's results."""
        specs = op.specs_of(*map(_spec, operands), **params)
        shadows = [x.shadow if type(x) is cls else x for x in operands]
        if op.is_view:
            views = op.kernel(shadows[0], **params)
            return tuple(map(cls.of, views)) if isinstance(views, (tuple, list)) else cls.of(views)
        if isinstance(specs, (tuple, list)):
            return tuple(cls.of(laid_out(op, shadows, params, spec)) if hasattr(spec, "shape") else spec
                         for spec in specs)  # fmt: skip
        return cls.of(laid_out(op, shadows, params, specs))

    @classmethod
    def of(cls, array: np.ndarray[Any, Any]) -> Outline:
        """The outline of an array."""
        return cls(array.shape, array.dtype, array.strides)

    def aliases_payload(self, source: Any) -> bool:
        """Without data there is nothing to share; a view is taken for one."""
        return True

    def _no_data(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "a fake reads values, but its arguments have none: results may depend on shapes and dtypes only. A "
            "data-dependent size is made with pb.library.get_ctx().new_dynamic_size()"
        )

    __array__ = __bool__ = __int__ = __float__ = __index__ = __complex__ = item = tolist = __iter__ = _no_data


def contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array in row-major order."""
    strides = []
    step = itemsize
    for length in reversed(shape):
        strides.append(step)
        step *= max(length, 1)
    return tuple(reversed(strides))


def _spec(x: Any) -> Any:
    return spec_for(tuple(x.shape), x.dtype) if hasattr(x, "shape") else x
