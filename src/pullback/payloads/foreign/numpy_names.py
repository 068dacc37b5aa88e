"""NumPy's functions on the arrays of one device: what kernels that are written for NumPy call there.

A method here has the name and meaning of NumPy's function, for arguments as kernels use them, and is written with the
functions of the array API standard. Arguments that are host arrays stay on the host until they meet a foreign array;
new memory (`empty`, `zeros`) is on the device. What is not here is `Unspelled`, never a guess.
"""

from __future__ import annotations

import functools
import math
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axes, normalize_axis_index
from pullback.payloads.devices import device
from pullback.payloads.foreign.array import ForeignArray, Step, Unspelled, memory_error, put, wrapped
from pullback.payloads.foreign.einsum import einsum, explicit
from pullback.payloads.foreign.matrices import FourierThere, MatricesThere
from pullback.payloads.foreign.reductions import ReductionsThere
from pullback.payloads.foreign.ufuncs import UfuncThere, elementwise, there

# What NumPy's names stand for on the host as well: types, numbers, questions about shapes and dtypes.
_SAME = frozenset({
    "bool_", "broadcast_shapes", "can_cast", "complex128", "complex64", "complexfloating", "dtype", "e", "errstate",
    "euler_gamma", "finfo", "float16", "float32", "float64", "floating", "generic", "iinfo", "inexact", "inf",
    "int16", "int32", "int64", "int8", "integer", "intp", "isdtype", "issubdtype", "longdouble", "nan", "ndarray",
    "ndindex", "newaxis", "number", "pi", "promote_types", "signedinteger", "uint16", "uint32", "uint64", "uint8",
    "ufunc", "arange", "indices", "unravel_index", "bool", "linspace", "frombuffer", "exceptions",
})  # fmt: skip


@functools.lru_cache(64)
def _transposed(axes: tuple[int, ...]) -> Step:
    raw = lambda kind, array: kind.namespace.permute_dims(array, axes)
    return Step(lambda shadow: np.transpose(shadow, axes), raw)


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    return np.asarray(value).astype(dtype).item()


@functools.lru_cache(256)
def _number(cls: type, value: Any, dtype: np.dtype[Any]) -> Any:
    return _cast(value, dtype)


class NamesThere(ReductionsThere):
    """The functions of NumPy on one device."""

    def __init__(self, place: device) -> None:
        self.device = place
        self.kind = place.kind
        self.xp = place.kind.namespace
        self.linalg = MatricesThere(self)
        self.fft = FourierThere(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(np, name)
        if isinstance(found, np.ufunc):
            made = UfuncThere(found, self)
            setattr(self, name, made)
            return made
        if name not in _SAME:
            raise Unspelled(name)
        return found

    def made(self, raw: Any, dtype: Any = None) -> ForeignArray:
        """A result, of a dtype that the library may not have given it."""
        out = wrapped(raw, self.device)
        return out if dtype is None or out.dtype == dtype else out.astype(dtype)

    def asarray_there(self, x: Any) -> ForeignArray:
        """Any argument on the device."""
        return there(x, self.device)

    # New arrays.

    def full(self, shape: Any, value: Any, dtype: Any = None) -> ForeignArray:
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple([int(n) for n in shape])
        if type(value) is ForeignArray:
            return self.broadcast_to(value if dtype is None else value.astype(dtype), shape).copy()
        dtype = np.asarray(value).dtype if dtype is None else np.dtype(dtype)
        number = _number(type(value), value, dtype) if type(value) in (int, float) else _cast(value, dtype)
        raw = self.xp.full(shape, number, dtype=self.kind.raw_dtype(dtype), device=self.device.raw)
        return wrapped(raw, self.device, shape, dtype)

    def zeros(self, shape: Any, dtype: Any = np.float64, order: str = "C") -> ForeignArray:
        return self.full(shape, 0, dtype)

    empty = zeros

    def ones(self, shape: Any, dtype: Any = np.float64) -> ForeignArray:
        return self.full(shape, 1, dtype)

    def full_like(self, x: Any, value: Any, dtype: Any = None) -> ForeignArray:
        return self.full(x.shape, value, x.dtype if dtype is None else dtype)

    def zeros_like(self, x: Any, dtype: Any = None, order: str = "K") -> ForeignArray:
        return self.full_like(x, 0, dtype)

    empty_like = zeros_like

    def ones_like(self, x: Any, dtype: Any = None) -> ForeignArray:
        return self.full_like(x, 1, dtype)

    def eye(self, n: int, m: Any = None, k: int = 0, dtype: Any = np.float64) -> ForeignArray:
        return self.asarray_there(np.eye(n, m, k, dtype))

    def asarray(self, x: Any, dtype: Any = None, order: Any = None) -> Any:
        if type(x) is not ForeignArray:
            if isinstance(x, (list, tuple)) and any(type(each) is ForeignArray for each in x):
                return self.stack([self.asarray_there(each) for each in x])
            return np.asarray(x, dtype)
        return x if dtype is None or x.dtype == np.dtype(dtype) else x.astype(dtype)

    ascontiguousarray = asfortranarray = asanyarray = asarray

    def array(self, x: Any, dtype: Any = None, copy: Any = True, order: Any = None) -> Any:
        found = self.asarray(x, dtype)
        return found.copy() if found is x and type(x) is ForeignArray and copy else found

    def copy(self, x: Any, order: str = "K") -> Any:
        return x.copy()

    # Shapes.

    def result_type(self, *arrays: Any) -> np.dtype[Any]:
        return np.result_type(*(x.dtype if type(x) is ForeignArray else x for x in arrays))

    def shape(self, x: Any) -> tuple[int, ...]:
        return x.shape if hasattr(x, "shape") else np.shape(x)

    def ndim(self, x: Any) -> int:
        return len(self.shape(x))

    def size(self, x: Any, axis: int | None = None) -> int:
        return math.prod(self.shape(x)) if axis is None else self.shape(x)[axis]

    def reshape(self, x: Any, shape: Any, order: str = "C") -> Any:
        return x.reshape(shape)

    def ravel(self, x: Any) -> Any:
        return x.reshape(-1)

    def transpose(self, x: Any, axes: Any = None) -> Any:
        if type(x) is not ForeignArray:
            return np.transpose(x, axes)
        axes = tuple(range(x.ndim))[::-1] if axes is None else tuple([normalize_axis_index(k, x.ndim) for k in axes])
        return x.viewed(_transposed(axes))

    permute_dims = transpose

    def moveaxis(self, x: Any, source: Any, target: Any) -> Any:
        if type(x) is not ForeignArray:
            return np.moveaxis(x, source, target)
        order = np.moveaxis(np.broadcast_to(0, tuple(range(2, x.ndim + 2))), source, target).shape
        return self.transpose(x, tuple(n - 2 for n in order))

    def swapaxes(self, x: Any, first: int, second: int) -> Any:
        axes = list(range(x.ndim))
        axes[first], axes[second] = axes[second], axes[first]
        return self.transpose(x, tuple(axes))

    def squeeze(self, x: Any, axis: Any = None) -> Any:
        axes = [k for k, n in enumerate(x.shape) if n == 1] if axis is None else normalize_axes(axis, x.ndim)
        return x[tuple([0 if k in axes else slice(None) for k in range(x.ndim)]) + (...,)]

    def expand_dims(self, x: Any, axis: Any) -> Any:
        if type(x) is not ForeignArray:
            return np.expand_dims(x, axis)
        count = 1 if isinstance(axis, int) else len(axis)
        axes = normalize_axes(axis, x.ndim + count)
        return x[tuple([None if k in axes else slice(None) for k in range(x.ndim + count)]) + (...,)]

    def broadcast_to(self, x: Any, shape: Any, subok: bool = False) -> Any:
        if type(x) is not ForeignArray:
            return np.broadcast_to(x, shape)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        raw = lambda kind, array: kind.namespace.broadcast_to(array, shape)
        return x.viewed(Step(lambda shadow: np.broadcast_to(shadow, shape), raw, is_readonly=True))

    def broadcast_arrays(self, *arrays: Any) -> Any:
        shape = np.broadcast_shapes(*(np.shape(x) for x in arrays))
        return tuple([self.broadcast_to(x, shape) for x in arrays])

    def flip(self, x: Any, axis: Any = None) -> Any:
        axes = normalize_axes(axis, x.ndim)
        back = slice(None, None, -1)
        return x[tuple([back if k in axes else slice(None) for k in range(x.ndim)])]

    def diagonal(self, x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        if type(x) is not ForeignArray:
            return np.diagonal(x, offset, axis1, axis2)
        raw = self.kind.diagonal(offset, axis1, axis2)
        return x.viewed(Step(lambda shadow: np.diagonal(shadow, offset, axis1, axis2), raw))

    def real(self, x: Any) -> Any:
        return x.real

    def imag(self, x: Any) -> Any:
        return x.imag

    def may_share_memory(self, x: Any, y: Any) -> bool:
        if type(x) is not ForeignArray or type(y) is not ForeignArray:
            return np.may_share_memory(x, y) if type(x) is type(y) else False
        return x.root is y.root and np.may_share_memory(x.shadow, y.shadow)

    # Joining and choosing.

    def concatenate(self, arrays: Any, axis: Any = 0, out: Any = None) -> Any:
        arrays = list(arrays)
        if not any(type(x) is ForeignArray for x in arrays):
            return np.concatenate(arrays, axis)
        dtype = np.result_type(*(x.dtype for x in arrays))
        raws = [self.asarray_there(x).astype(dtype, copy=False).array for x in arrays]
        joined = self.made(self.xp.concat(raws, axis=axis))
        return joined if out is None else self.copyto(out, joined)

    concat = concatenate

    def append(self, x: Any, values: Any) -> Any:
        return self.concatenate([self.ravel(x), self.ravel(values)])

    def stack(self, arrays: Any, axis: int = 0, out: Any = None) -> Any:
        arrays = list(arrays)
        if not any(type(x) is ForeignArray for x in arrays):
            return np.stack(arrays, axis)
        dtype = np.result_type(*(x.dtype for x in arrays))
        raws = [self.asarray_there(x).astype(dtype, copy=False).array for x in arrays]
        return self.made(self.xp.stack(raws, axis=normalize_axis_index(axis, arrays[0].ndim + 1)))

    def where(self, condition: Any, *choices: Any) -> Any:
        if not choices:
            return self.nonzero(condition)
        if not any(type(x) is ForeignArray for x in (condition, *choices)):
            return np.where(condition, *choices)
        weak = (bool, int, float, complex)
        kinds = [x if type(x) in weak else x.dtype for x in choices]
        dtype = np.result_type(*kinds)
        choices = tuple([np.asarray(c, dtype) if type(c) in weak else c for c in choices])
        x, y = (self.asarray_there(c).astype(dtype, copy=False) for c in choices)
        mask = self.asarray_there(condition)
        mask = mask if mask.dtype == np.bool_ else mask != 0
        shape = np.broadcast_shapes(mask.shape, x.shape, y.shape)
        raws = [self.xp.broadcast_to(each.array, shape) if each.shape != shape else each.array for each in (mask, x, y)]
        return self.made(self.xp.where(*raws))

    def clip(self, x: Any, low: Any = None, high: Any = None, out: Any = None) -> Any:
        result = x
        if low is not None:
            result = self.maximum(result, low)
        if high is not None:
            result = self.minimum(result, high)
        result = result.copy() if result is x else result
        return result if out is None else self.copyto(out, result)

    def take(self, x: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        if type(x) is not ForeignArray and type(indices) is not ForeignArray:
            return np.take(x, indices, axis)
        x = self.asarray_there(x)
        if axis is None:
            x, axis = x.reshape(-1), 0
        axis = normalize_axis_index(axis, x.ndim)
        indices = self.positive_index(indices, x.shape[axis])
        raw = self.xp.take(x.array, self.xp.reshape(indices.array, (-1,)), axis=axis)
        return self.made(raw).reshape(x.shape[:axis] + indices.shape + x.shape[axis + 1 :])

    def positive_index(self, indices: Any, length: int) -> ForeignArray:
        """Places of an axis, counted from its beginning; checked where they are known."""
        if type(indices) is not ForeignArray:
            places = np.asarray(indices)
            if places.size and (places.max() >= length or places.min() < -length):
                worst = places[(places >= length) | (places < -length)].flat[0]
                raise IndexError(f"index {worst} is out of bounds for axis with size {length}")
            return self.asarray_there(np.where(places < 0, places + length, places).astype(np.int64))
        if not self.kind.lazy and indices.size:
            highest, lowest = int(indices.max()), int(indices.min())
            if highest >= length or lowest < -length:
                worst = highest if highest >= length else lowest
                raise IndexError(f"index {worst} is out of bounds for axis with size {length}")
            if lowest >= 0:
                return indices.astype(np.int64, copy=False)
        return self.where(indices < 0, indices + length, indices).astype(np.int64, copy=False)

    def take_along_axis(self, x: Any, indices: Any, axis: Any = -1) -> Any:
        if type(x) is not ForeignArray and type(indices) is not ForeignArray:
            return np.take_along_axis(x, indices, axis)
        x = self.asarray_there(x)
        axis = normalize_axis_index(axis, x.ndim)
        indices = self.positive_index(indices, x.shape[axis])
        lead = list(np.broadcast_shapes(
            (*x.shape[:axis], 1, *x.shape[axis + 1 :]), (*indices.shape[:axis], 1, *indices.shape[axis + 1 :])
        ))  # fmt: skip
        lead[axis] = x.shape[axis]
        x = self.broadcast_to(x, tuple(lead))
        lead[axis] = indices.shape[axis]
        return self.made(self.xp.take_along_axis(x.array, self.broadcast_to(indices, tuple(lead)).array, axis=axis))

    def repeat(self, x: Any, repeats: Any, axis: Any = None) -> Any:
        places = np.repeat(np.arange(x.size if axis is None else x.shape[axis]), self._on_host(repeats))
        return self.take(x, places, axis=axis)

    def roll(self, x: Any, shift: Any, axis: Any = None) -> Any:
        if axis is None:
            return self.roll(x.reshape(-1), shift, 0).reshape(x.shape)
        shifts, axes = np.broadcast_arrays(shift, axis)
        for by, along in zip(shifts.flat, axes.flat, strict=True):
            places = np.roll(np.arange(x.shape[int(along)]), int(by))
            x = self.take(x, places, axis=int(along))
        return x

    def pad(self, x: Any, widths: Any, mode: str = "constant", **options: Any) -> Any:
        if type(x) is not ForeignArray:
            return np.pad(x, widths, mode, **options)
        places = np.pad(np.arange(x.size).reshape(x.shape), widths, mode, **options) if mode != "constant" else None
        if places is not None:
            return self.take(x, places)
        widths = np.broadcast_to(np.asarray(widths), (x.ndim, 2))
        inside = tuple([slice(int(a), int(a) + n) for (a, _), n in zip(widths, x.shape, strict=True)])
        shape = tuple([int(a) + n + int(b) for (a, b), n in zip(widths, x.shape, strict=True)])
        out = self.full(shape, options.get("constant_values", 0), x.dtype)
        out[inside] = x
        return out

    def tril(self, x: Any, k: int = 0) -> Any:
        return self.where(np.tri(*x.shape[-2:], k, dtype=bool), x, self.zeros((), x.dtype))

    def triu(self, x: Any, k: int = 0) -> Any:
        return self.where(np.tri(*x.shape[-2:], k - 1, dtype=bool), self.zeros((), x.dtype), x)

    def copyto(self, target: Any, value: Any, casting: str = "same_kind", where: Any = True) -> Any:
        if where is not True:
            value = self.where(where, value, target)
        if type(target) is not ForeignArray:
            if type(value) is ForeignArray:
                raise Unspelled("way to write into a NumPy array")
            np.copyto(target, value, casting=casting)  # type: ignore[arg-type]
            return target
        target[...] = value
        return target

    def add_at(self, x: ForeignArray, index: Any, values: Any) -> None:
        """`np.add.at`."""
        places = x.positions_of(index)
        values = self.broadcast_to(self.asarray_there(values), places.shape).astype(x.dtype, copy=False)
        flat, added = self.xp.reshape(x.array, (-1,)), self.xp.reshape(values.array, (-1,))
        x.write(self.xp.reshape(self.added(flat, places.reshape(-1), added), x.shape))

    def added(self, flat: Any, places: Any, values: Any) -> Any:
        """A raw vector with raw values added at places, each as often as it appears."""
        raw = places.array if type(places) is ForeignArray else places
        found = self.kind.scattered(flat, raw, values, True)
        if found is not None:
            return found
        xp, count = self.xp, flat.shape[0]
        if type(places) is ForeignArray:
            hit = self._hits(raw, count)
            weights = xp.astype(hit, values.dtype)
            return flat + xp.sum(weights * xp.reshape(values, (-1, 1)), axis=0)
        # One round for each time that a place appears again.
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        first = np.r_[True, ordered[1:] != ordered[:-1]] if ordered.size else np.zeros(0, bool)
        turn = np.arange(ordered.size) - np.maximum.accumulate(np.where(first, np.arange(ordered.size), 0))
        for round_ in range(int(turn.max()) + 1 if turn.size else 0):
            chosen = order[turn == round_]
            part = xp.take(values, self.kind.upload(chosen, self.device.raw), axis=0)
            flat = flat + put(self.kind, xp.zeros_like(flat), places[chosen], part, self.device)
        return flat

    def placed(self, flat: Any, places: Any, values: Any) -> Any:
        """A raw vector with raw values at places, of which the last counts where several are equal."""
        if not values.shape[0]:
            return flat
        if type(places) is not ForeignArray:
            return put(self.kind, flat, places, values, self.device)
        found = self.kind.scattered(flat, places.array, values, False)
        if found is not None:
            return found
        xp = self.xp
        hit = self._hits(places.array, flat.shape[0])
        numbers = xp.reshape(self.kind.upload(np.arange(1, values.shape[0] + 1), self.device.raw), (-1, 1))
        last = xp.max(xp.where(hit, numbers, xp.zeros_like(numbers)), axis=0)
        taken = xp.take(values, xp.where(last > 0, last - 1, last), axis=0)
        return xp.where(last > 0, taken, flat)

    def _hits(self, places: Any, count: int) -> Any:
        every = self.kind.upload(np.arange(count), self.device.raw)
        return self.xp.reshape(places, (-1, 1)) == self.xp.reshape(every, (1, -1))

    def _on_host(self, x: Any) -> np.ndarray[Any, Any]:
        return x.plain_values("a list") if type(x) is ForeignArray else np.asarray(x)

    # Products.

    def matmul(self, x: Any, y: Any, out: Any = None) -> Any:
        if type(x) is not ForeignArray and type(y) is not ForeignArray:
            return np.matmul(x, y)
        x, y = self.asarray_there(x), self.asarray_there(y)
        if x.shape[-1:] != y.shape[-2:][:1]:  # not all libraries that compute later say so now
            raise ValueError(f"matmul: shapes {list(x.shape)} and {list(y.shape)} do not fit")
        dtype = x.dtype
        if dtype is not y.dtype or dtype.kind not in "fc":
            dtype = np.matmul.resolve_dtypes((x.dtype, y.dtype, None))[2]
            x, y = x.astype(dtype, copy=False), y.astype(dtype, copy=False)
        result = self.made(self.kind.matmul(x.array, y.array), dtype)
        return result if out is None else self.copyto(out, result)

    dot = matmul

    def tensordot(self, x: Any, y: Any, axes: Any = 2) -> Any:
        if isinstance(axes, int):
            axes = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
        axes = [(each,) if isinstance(each, int) else each for each in axes]
        first, second = ([k % array.ndim for k in each] for each, array in zip(axes, (x, y), strict=True))
        left = [k for k in range(x.ndim) if k not in first]
        right = [k for k in range(y.ndim) if k not in second]
        rows = self.transpose(x, (*left, *first)).reshape((math.prod(x.shape[k] for k in left), -1))
        columns = self.transpose(y, (*second, *right)).reshape((rows.shape[1], -1))
        return self.matmul(rows, columns).reshape((*(x.shape[k] for k in left), *(y.shape[k] for k in right)))

    def einsum(self, subscripts: str, *operands: Any, out: Any = None, optimize: Any = False) -> Any:
        arrays = [self.asarray_there(x) for x in operands]
        dtype = np.result_type(*(x.dtype for x in arrays))
        arrays = [x.astype(dtype, copy=False) for x in arrays]
        own = self.kind.einsum(explicit(subscripts, arrays), [x.array for x in arrays])
        result = einsum(self, subscripts, arrays) if own is None else self.made(own, dtype)
        return result if out is None else self.copyto(out, result)

    def convolve(self, x: Any, y: Any, mode: str = "full") -> Any:
        if type(x) is not ForeignArray and type(y) is not ForeignArray:
            return np.convolve(x, y, mode)  # type: ignore[arg-type]
        x, y = self.asarray_there(x), self.asarray_there(y)
        x, y = (y, x) if x.size < y.size else (x, y)
        out = self.zeros(x.size + y.size - 1, np.result_type(x.dtype, y.dtype))
        for k in range(y.size):
            out[k : k + x.size] += x * y[k]
        return out if mode == "full" else out[y.size - 1 : x.size].copy()

    def cross(self, x: Any, y: Any, axis: int = -1, **axes: Any) -> Any:
        x, y = self.moveaxis(x, axis, -1), self.moveaxis(y, axis, -1)
        (a, b, c), (d, e, f) = ([each[..., k] for k in range(3)] for each in (x, y))
        return self.moveaxis(self.stack([b * f - c * e, c * d - a * f, a * e - b * d], -1), -1, axis)

    def isclose(self, x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
        close = (self.abs(x - y) <= atol + rtol * self.abs(y)) & self.isfinite(y) | (x == y)
        return close | (self.isnan(x) & self.isnan(y)) if equal_nan else close

    def array_equal(self, x: Any, y: Any) -> bool:
        return x.shape == y.shape and bool(self.all(x == y))

    def allclose(self, x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
        return bool(self.all(self.isclose(x, y, rtol, atol)))

    def special(self, name: str, *operands: Any) -> Any:
        """A function of `scipy.special`, where the library has it."""
        return elementwise(getattr(import_module("scipy.special"), name), operands, self.device)

    def isposinf(self, x: Any) -> Any:
        return self.isinf(x) & (x > 0)

    def isneginf(self, x: Any) -> Any:
        return self.isinf(x) & (x < 0)

    def angle(self, x: Any) -> Any:
        if x.dtype.kind == "c":
            return self.arctan2(x.imag, x.real)
        return self.arctan2(self.zeros((), x.dtype), x)

    def isreal(self, x: Any) -> Any:
        return self.imag(x) == 0

    def iscomplex(self, x: Any) -> Any:
        return self.imag(x) != 0

    def iscomplexobj(self, x: Any) -> bool:
        return x.dtype.kind == "c"

    def round(self, x: Any, decimals: int = 0, out: Any = None) -> Any:
        if decimals and x.dtype.kind in "fc":
            power = 10.0 ** abs(decimals)
            return self.rint(x * power) / power if decimals > 0 else self.rint(x / power) * power
        return self.rint(x) if x.dtype.kind in "fc" else x.copy()

    around = round

    def sinc(self, x: Any) -> Any:
        y = self.where(x == 0, np.finfo(x.dtype).eps, x) * math.pi
        return self.sin(y) / y

    # Memory as NumPy would lay it out, to be read only.

    def as_strided(self, x: Any, shape: Any = None, strides: Any = None, writeable: bool = True) -> Any:
        if type(x) is not ForeignArray:
            return np.lib.stride_tricks.as_strided(x, shape, strides)
        shape, root = tuple(shape), x.root
        start, first = (each.shadow.__array_interface__["data"][0] for each in (root, x))
        if not root.shadow.flags.c_contiguous:
            raise memory_error("strides", x)
        places = np.asarray((first - start) // x.itemsize)
        for length, step in zip(shape, strides, strict=True):
            places = places[..., None] + np.arange(length) * (step // x.itemsize)
        if places.size and (places.min() < 0 or places.max() >= root.size):
            raise memory_error("strides that lead out of the array", x)
        shown = lambda shadow: np.lib.stride_tricks.as_strided(x.shadow, shape, strides)
        return root.viewed(Step(shown, is_readonly=True, places=places))

    def sliding_window_view(self, x: Any, window_shape: Any, axis: Any = None) -> Any:
        if type(x) is not ForeignArray:
            return np.lib.stride_tricks.sliding_window_view(x, window_shape, axis)
        shown = lambda shadow: np.lib.stride_tricks.sliding_window_view(shadow, window_shape, axis)
        return x.viewed(Step(shown, is_readonly=True))

    @property
    def lib(self) -> Any:
        return SimpleNamespace(stride_tricks=self)

    def view_as_real(self, x: ForeignArray) -> ForeignArray:
        """Complex numbers as pairs: a view."""
        xp = self.xp
        shown = lambda shadow: shadow.real[..., None] if not shadow.size else np.lib.stride_tricks.as_strided(
            shadow.real, (*shadow.shape, 2), (*shadow.strides, shadow.itemsize // 2)
        )  # fmt: skip
        return x.viewed(Step(
            lambda shadow: shown(shadow) if shadow.size else np.empty((*shadow.shape, 2), shadow.real.dtype),
            lambda kind, array: xp.stack([xp.real(array), xp.imag(array)], axis=len(array.shape)),
            put=lambda before, pairs: xp.join_parts(pairs[..., 0], pairs[..., 1]),
        ))  # fmt: skip

    def view_as_complex(self, x: ForeignArray) -> ForeignArray:
        """Pairs as complex numbers: a view."""
        xp = self.xp
        if x.size and x.strides[-1] != x.itemsize:
            raise ValueError("view_as_complex: the two parts of a number must be neighbours in memory; copy('C') helps")
        dtype = np.result_type(x.dtype, np.complex64)
        return x.viewed(Step(
            lambda shadow: shadow.view(dtype)[..., 0] if shadow.size else np.empty(shadow.shape[:-1], dtype),
            lambda kind, array: xp.join_parts(array[..., 0], array[..., 1]),
            put=lambda before, z: xp.stack([xp.real(z), xp.imag(z)], axis=len(z.shape)),
        ))  # fmt: skip


_names: dict[device, NamesThere] = {}


def names_on(place: device) -> NamesThere:
    """NumPy's functions on this device."""
    found = _names.get(place)
    if found is None or found.kind is not place.kind:
        found = _names[place] = NamesThere(place)
    return found
