"""NumPy's reductions, scans and orders on the arrays of one device: a part of `NamesThere`."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axes, normalize_axis_index
from pullback.payloads.foreign.array import ForeignArray, Unspelled
from pullback.payloads.foreign.ufuncs import UfuncThere, elementwise


@functools.lru_cache(128)
def _reduced_dtype(ufunc: np.ufunc, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """That of NumPy's results."""
    return ufunc.reduce(np.zeros(1, dtype)).dtype


class ReductionsThere:
    """What makes axes disappear, or goes along one."""

    # Reductions.

    def reduced(
        self, ufunc: np.ufunc, x: ForeignArray, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
    ) -> ForeignArray:
        """`ufunc.reduce`."""
        axes = normalize_axes(axis, x.ndim)
        if where is not True:
            neutral = ufunc.identity if initial is None else initial
            x = self.where(where, x, self.full((), neutral, x.dtype))
        name = _REDUCTIONS.get(ufunc)
        if name is None:
            raise Unspelled(f"{ufunc.__name__}.reduce")
        if name in ("any", "all"):
            x = x if x.dtype == np.bool_ else x != 0
        elif name in ("sum", "prod"):
            x = x.astype(np.dtype(dtype) if dtype is not None else _reduced_dtype(ufunc, x.dtype), copy=False)
        elif initial is not None and not math.prod(x.shape[k] for k in axes):
            return self.full(_without(x.shape, axes, keepdims), initial, x.dtype)
        elif not math.prod(x.shape[k] for k in axes):
            ufunc.reduce(np.empty(x.shape, x.dtype), axis=axes, keepdims=keepdims)  # raises, or there is nothing
            return self.zeros(_without(x.shape, axes, keepdims), x.dtype)
        elif not x.size:  # there is nothing to find the largest of, nor a place for it
            return self.zeros(_without(x.shape, axes, keepdims), x.dtype)
        if name in ("max", "min") and x.dtype == np.bool_:
            name = "any" if name == "max" else "all"
        if not axes:
            out = x.copy()
        elif x.dtype.kind == "c" and name in ("max", "min"):
            out = self._complex_extreme(name, x, axes, keepdims)
        else:
            out = self.made(self.kind.reduction(name)(x.array, axis=axes, keepdims=bool(keepdims)), x.dtype)
        if initial is not None and name in ("max", "min", "sum", "prod"):
            out = elementwise(ufunc, (out, self.full((), initial, out.dtype)), self.device)
        return out

    def _complex_extreme(self, name: str, x: ForeignArray, axes: tuple[int, ...], keepdims: bool) -> ForeignArray:
        kept = tuple([k for k in range(x.ndim) if k not in axes])
        flat = self.transpose(x, (*kept, *axes)).reshape((*(x.shape[k] for k in kept), -1))
        ordered = self.sort(flat, -1)
        last = ordered[..., -1]  # where there is a NaN, it is here
        best = last if name == "max" else self.where(self.isnan(last), last, ordered[..., 0])
        return best.reshape(_without(x.shape, axes, keepdims))

    def accumulated(self, ufunc: np.ufunc, x: ForeignArray, axis: int, dtype: Any = None) -> ForeignArray:
        """`ufunc.accumulate`."""
        axis = normalize_axis_index(axis, x.ndim)
        wanted = np.dtype(dtype) if dtype is not None else ufunc.accumulate(np.zeros(1, x.dtype)).dtype
        x = x.astype(wanted, copy=False)
        own = self.kind.scan(ufunc)
        if own is not None and x.size:
            return self.made(own(x.array, axis), wanted)
        # In as many steps as its length has binary digits: every result takes in the one that lies twice as far back.
        step, length = 1, x.shape[axis]
        front = (slice(None),) * axis
        while step < length:
            head, tail = x[(*front, slice(0, step))], x[(*front, slice(step, None))]
            x = self.concatenate([head, UfuncThere(ufunc, self)(x[(*front, slice(0, length - step))], tail)], axis)
            step *= 2
        return x

    def sum(self, x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self.add.reduce(x, axis, dtype, out, keepdims)

    def prod(self, x: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self.multiply.reduce(x, axis, dtype, out, keepdims)

    def max(self, x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        return self.maximum.reduce(x, axis, None, out, keepdims, initial)

    def min(self, x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, initial: Any = None) -> Any:
        return self.minimum.reduce(x, axis, None, out, keepdims, initial)

    amax, amin = max, min

    def any(self, x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self.logical_or.reduce(x, axis, None, out, keepdims)

    def all(self, x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self.logical_and.reduce(x, axis, None, out, keepdims)

    def count_nonzero(self, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return self.sum(x != 0, axis, np.intp, keepdims=keepdims)

    def mean(self, x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        if type(x) is not ForeignArray:
            return np.mean(x, axis, dtype, keepdims=keepdims)
        if dtype is None and x.dtype.kind in "biu":
            dtype = np.dtype(np.float64)
        wide = np.float32 if dtype is None and x.dtype.char == "e" else dtype
        count = math.prod(x.shape[k] for k in normalize_axes(axis, x.ndim))
        mean = self.sum(x, axis, wide, keepdims=keepdims) / (count or np.float64(np.nan))
        return mean.astype(x.dtype if dtype is None else dtype, copy=False)

    def var(self, x: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: bool = False,
            correction: Any = None, mean: Any = None, out: Any = None) -> Any:  # fmt: skip
        ddof = ddof if correction is None else correction
        apart = x - (self.mean(x, axis, dtype, True) if mean is None else mean)
        squares = apart.real * apart.real + apart.imag * apart.imag if apart.dtype.kind == "c" else apart * apart
        count = math.prod(x.shape[k] for k in normalize_axes(axis, x.ndim))
        left = max(count - ddof, 0)
        total = self.sum(squares, axis, keepdims=keepdims)
        return (total / left if left else total / self.zeros((), total.dtype)).astype(squares.dtype, copy=False)

    def std(self, x: Any, axis: Any = None, **options: Any) -> Any:
        return self.sqrt(self.var(x, axis, **options))

    def cumsum(self, x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return self._scanned(np.add, x, axis, dtype, out)

    def cumprod(self, x: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        return self._scanned(np.multiply, x, axis, dtype, out)

    def _scanned(self, ufunc: np.ufunc, x: Any, axis: Any, dtype: Any, out: Any) -> Any:
        if axis is None:
            x, axis = x.reshape(-1), 0
        if dtype is None and x.dtype.kind in "biu" and x.dtype.itemsize < 8:
            dtype = np.uint64 if x.dtype.kind == "u" else np.int64
        return UfuncThere(ufunc, self).accumulate(x, axis, dtype, out)

    def diff(self, x: Any, n: int = 1, axis: int = -1) -> Any:
        if type(x) is not ForeignArray:
            return np.diff(x, n, axis)
        front = (slice(None),) * normalize_axis_index(axis, x.ndim)
        for _ in range(n):
            x = x[(*front, slice(1, None))] - x[(*front, slice(None, -1))]
        return x

    # Order.

    def sort(self, x: Any, axis: int = -1, kind: Any = None, stable: Any = None) -> Any:
        if type(x) is not ForeignArray:
            return np.sort(x, axis)
        return self.take_along_axis(x, self.argsort(x, axis), axis)

    def argsort(self, x: Any, axis: int = -1, kind: Any = None, stable: Any = None) -> Any:
        if type(x) is not ForeignArray:
            return np.argsort(x, axis, kind="stable")
        if not x.size:
            return self.zeros(x.shape, np.intp)
        axis = normalize_axis_index(axis, x.ndim)
        if x.dtype.kind == "c":
            return self._complex_order(x, axis)
        return self.made(self.kind.argsort(x.array, axis), np.dtype(np.intp))

    def _complex_order(self, x: ForeignArray, axis: int) -> ForeignArray:
        """By real parts, then imaginary parts; what has a NaN comes last, that of an imaginary part first."""
        order = self.argsort(x.imag, axis)
        undefined = self.isnan(x.real) * 2 + self.isnan(x.imag)
        for key in (x.real, undefined):
            order = self.take_along_axis(order, self.argsort(self.take_along_axis(key, order, axis), axis), axis)
        return order

    def argmax(self, x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._extreme("argmax", x, axis, keepdims)

    def argmin(self, x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._extreme("argmin", x, axis, keepdims)

    def _extreme(self, name: str, x: Any, axis: Any, keepdims: bool) -> Any:
        if type(x) is not ForeignArray:
            return getattr(np, name)(x, axis, keepdims=keepdims)
        if axis is None:
            shape: tuple[int, ...] = (1,) * x.ndim if keepdims else ()
            x, axis = x.reshape(-1), 0
        else:
            axis = normalize_axis_index(axis, x.ndim)
            shape = x.shape[:axis] + (1,) + x.shape[axis + 1 :]
            shape = shape if keepdims else x.shape[:axis] + x.shape[axis + 1 :]
        if not x.shape[axis]:
            getattr(np, name)(np.empty(x.shape), axis)
        if x.dtype.kind == "c":
            best = (self.maximum if name == "argmax" else self.minimum).reduce(x, axis, keepdims=True)
            x, name = (x == best) | (self.isnan(x) & self.isnan(best)), "argmax"
        x = x.astype(np.int8) if x.dtype == np.bool_ else x
        out = self.made(self.kind.first_extreme(name)(x.array, axis), np.dtype(np.intp))
        return out.reshape(shape)

    def partition(self, x: Any, kth: Any, axis: int = -1) -> Any:
        return self.sort(x, axis)

    def argpartition(self, x: Any, kth: Any, axis: int = -1) -> Any:
        return self.argsort(x, axis)

    def searchsorted(self, x: Any, values: Any, side: str = "left", sorter: Any = None) -> Any:
        if type(x) is not ForeignArray and type(values) is not ForeignArray:
            return np.searchsorted(x, values, side)  # type: ignore[call-overload]
        x, values = self.asarray_there(x), self.asarray_there(values)
        dtype = np.result_type(x.dtype, values.dtype)
        x, values = x.astype(dtype, copy=False), values.astype(dtype, copy=False)
        raw = self.xp.searchsorted(x.array, self.xp.reshape(values.array, (-1,)), side=side)
        return self.made(raw, np.dtype(np.intp)).reshape(values.shape)

    def nonzero(self, x: Any) -> Any:
        if type(x) is not ForeignArray:
            return np.nonzero(x)
        return tuple([self.made(raw, np.dtype(np.intp)) for raw in self.kind.nonzero(x)])

    def flatnonzero(self, x: Any) -> Any:
        return self.nonzero(x.reshape(-1))[0]

    def argwhere(self, x: Any) -> Any:
        return self.stack(self.nonzero(x), 1) if type(x) is ForeignArray else np.argwhere(x)

    def bincount(self, x: Any, weights: Any = None, minlength: int = 0) -> Any:
        if type(x) is not ForeignArray and type(weights) is not ForeignArray:
            return np.bincount(x, weights, minlength)
        weights = self.ones(np.shape(x), np.intp) if weights is None else self.asarray_there(weights)
        length = builtins_max(int(x.max()) + 1 if x.size else 0, minlength)
        places = x if type(x) is ForeignArray else np.asarray(x)
        return self.made(self.added(self.zeros(length, weights.dtype).array, places, weights.array))


builtins_max = max
_REDUCTIONS = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min", np.logical_or: "any",
    np.logical_and: "all",
}  # fmt: skip


def _without(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    return tuple([1 if k in axes else n for k, n in enumerate(shape) if keepdims or k not in axes])
