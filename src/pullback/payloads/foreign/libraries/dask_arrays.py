"""dask: arrays that are computed later, in pieces. Nothing here computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

from pullback.payloads.foreign.array import Unspelled
from pullback.payloads.foreign.kinds import Kind

_DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "complex64", "complex128",
)  # fmt: skip
_RENAMED = {
    "acos": da.arccos, "acosh": da.arccosh, "asin": da.arcsin, "asinh": da.arcsinh, "atan": da.arctan,
    "atan2": da.arctan2, "atanh": da.arctanh, "bitwise_invert": da.invert, "pow": da.power, "concat": da.concatenate,
    "bitwise_left_shift": np.left_shift, "bitwise_right_shift": np.right_shift, "round": da.rint,
}  # fmt: skip


class DaskNames:
    """`dask.array` by the names of the array API standard."""

    def __getattr__(self, name: str) -> Any:
        found = _RENAMED.get(name)
        found = getattr(da, name, None) if found is None else found
        if found is None:
            raise Unspelled(name)
        return found

    def is_complex(self, x: Any) -> bool:
        """Are the elements complex numbers?"""
        return x.dtype.kind == "c"

    def is_floating(self, x: Any) -> bool:
        """Are the elements real floating point numbers?"""
        return x.dtype.kind == "f"

    def join_parts(self, real: Any, imag: Any) -> Any:
        """Complex numbers of their parts."""
        return da.core.elemwise(_joined, real, imag, dtype=np.result_type(real.dtype, np.complex64))

    def full(self, shape: Any, value: Any, dtype: Any = None, device: Any = None) -> Any:
        """An array full of one number."""
        return da.full(shape, value, dtype=dtype)

    def astype(self, x: Any, dtype: Any) -> Any:
        """Another dtype."""
        return x.astype(dtype)

    def permute_dims(self, x: Any, axes: Any) -> Any:
        """The axes in another order."""
        return da.transpose(x, axes)

    def reshape(self, x: Any, shape: Any) -> Any:
        """Another shape."""
        return da.reshape(x, shape)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        """A choice, element by element."""
        return da.where(condition, x, y)

    def flip(self, x: Any, axis: Any) -> Any:
        """The elements along axes in reverse order."""
        for each in (axis,) if isinstance(axis, int) else axis:
            x = da.flip(x, each)
        return x

    def take(self, x: Any, indices: Any, axis: int = 0) -> Any:
        """Elements along an axis."""
        return _chosen(x, indices, axis) if isinstance(indices, da.Array) else da.take(x, indices, axis=axis)

    def take_along_axis(self, x: Any, indices: Any, axis: int = -1) -> Any:
        """One element along an axis for each of the indices."""
        axis %= x.ndim
        rest = {k: c for k, c in enumerate(x.rechunk({axis: -1}).chunks) if k != axis}
        x, indices = x.rechunk({axis: -1}), indices.rechunk({axis: -1, **rest})
        out = da.map_blocks(
            np.take_along_axis, x, indices, axis=axis, dtype=x.dtype, chunks=indices.chunks, meta=np.empty(0, x.dtype)
        )
        return out

    @property
    def linalg(self) -> Any:
        """Decompositions of stacks of matrices, each of which lies in one piece."""
        return _MATRICES

    @property
    def fft(self) -> Any:
        """Transforms along axes that lie in one piece."""
        return _TRANSFORMS


def _joined(real: Any, imag: Any) -> Any:
    out = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    out.real, out.imag = real, imag
    return out


def _chosen(x: Any, indices: Any, axis: int) -> Any:
    """`take` where the indices are computed later: the axis lies in one piece then."""
    whole = _in_one_piece(x, (axis,))
    axes = tuple(range(x.ndim))
    new = x.ndim  # the number of the axis of places, in blockwise's counting
    result = tuple([new if k == axis else k for k in axes])
    return da.blockwise(
        _take, result, whole, axes, indices, (new,), axis=axis, dtype=x.dtype, concatenate=True, align_arrays=False,
        meta=np.empty((0,) * x.ndim, x.dtype),
    )  # fmt: skip


def _take(part: Any, indices: Any, axis: int) -> Any:
    return np.take(part, indices, axis=axis)


def _in_one_piece(x: Any, axes: tuple[int, ...]) -> Any:
    return x.rechunk({axis % x.ndim: -1 for axis in axes})


class _Matrices:
    """Functions of matrices, by NumPy, on each stack that is one piece."""

    def __getattr__(self, name: str) -> Any:
        function = getattr(np.linalg, name, None)
        if function is None:
            raise Unspelled(f"linalg.{name}")

        def call(*arrays: Any, **options: Any) -> Any:
            if any(0 in x.shape for x in arrays):
                raise Unspelled(f"linalg.{name} of empty arrays")
            whole = [_in_one_piece(x, (-2, -1)) for x in arrays]
            samples = [np.ones((1,) * (x.ndim - 2) + tuple(max(n, 1) for n in x.shape[-2:]), x.dtype) for x in whole]
            for sample in samples:
                if sample.shape[-1] == sample.shape[-2]:
                    sample[...] = np.eye(sample.shape[-1])
            shown = function(*samples, **options)
            several = isinstance(shown, tuple)
            outs = [_one(function, whole, options, k if several else None, part)
                    for k, part in enumerate(shown if several else (shown,))]
            return tuple(outs) if several else outs[0]

        return call


def _one(function: Any, arrays: list[Any], options: dict[str, Any], number: int | None, shown: Any) -> Any:
    """One result of a function of matrices; those of one call share the work when they are computed together."""
    lead = arrays[0].ndim - 2
    core = shown.ndim - lead
    batch = arrays[0].chunks[:lead]
    chunks = (*batch, *((n,) for n in shown.shape[lead:]))
    others = [x if x.chunks[:lead] == batch else x.rechunk(dict(enumerate(batch))) for x in arrays[1:]]
    arrays = [arrays[0], *others]
    new = list(range(lead, lead + core))
    drop = list(range(lead, lead + 2))
    return da.map_blocks(
        _part_of, *arrays, function=function, options=options, number=number, dtype=shown.dtype, chunks=chunks,
        drop_axis=drop, new_axis=new, meta=np.empty((0,) * shown.ndim, shown.dtype),
    )  # fmt: skip


def _part_of(*arrays: Any, function: Any, options: dict[str, Any], number: int | None) -> Any:
    out = function(*arrays, **options)
    return out if number is None else out[number]


class _Transforms:
    """Fourier transforms, by NumPy, along axes that are one piece."""

    def __getattr__(self, name: str) -> Any:
        wrapped = da.fft.fft_wrap(getattr(np.fft, name))

        def call(x: Any, *, norm: Any, **options: Any) -> Any:
            axes = options.get("axes", (options["axis"],) if "axis" in options else None)
            axes = tuple(range(x.ndim)) if axes is None else axes
            whole = _in_one_piece(x, tuple(axes))
            lengths = options.get("s", (options["n"],) if options.get("n") is not None else None)
            if name.endswith("n"):
                out = wrapped(whole, s=lengths, axes=tuple(axes))
            else:
                out = wrapped(whole, n=None if lengths is None else lengths[0], axis=axes[0])
            sizes = lengths if lengths is not None else tuple(whole.shape[k] for k in axes)
            if lengths is None and "irfft" in name:
                sizes = (*sizes[:-1], 2 * (sizes[-1] - 1))
            count = float(np.prod(sizes))
            inverse = name.startswith("i")
            if norm == "ortho":
                out = out * (count**0.5 if inverse else count**-0.5)
            elif norm == "forward":
                out = out * (count if inverse else 1 / count)
            return out

        return call


_MATRICES, _TRANSFORMS = _Matrices(), _Transforms()


class DaskKind(Kind):
    """Arrays of dask, which live nowhere until they are computed."""

    def dtype_of(self, array: Any) -> np.dtype[Any]:
        return array.dtype

    def raw_device(self, array: Any) -> Any:
        return None

    def device_text(self, raw: Any) -> str:
        return "dask"

    def parsed_device(self, text: str) -> Any:
        return None

    def upload(self, array: np.ndarray[Any, Any], raw: Any) -> Any:
        self.raw_dtype(array.dtype)
        return da.from_array(np.array(array), chunks=-1, name=False)

    def sent(self, array: Any, raw: Any) -> Any:
        return array

    def download(self, array: Any) -> np.ndarray[Any, Any]:
        return np.asarray(array.compute())

    def copied(self, array: Any) -> Any:
        return array

    def cast(self, array: Any, dtype: np.dtype[Any]) -> Any:
        return array.astype(self.raw_dtype(dtype))

    def write_item(self, array: Any, index: tuple[Any, ...], value: Any) -> Any:
        if 0 in value.shape:
            return array
        made = array.copy()
        made[index] = value
        return made

    def reduction(self, name: str) -> Callable[..., Any]:
        function = getattr(da, name)
        if name in ("sum", "prod"):
            return lambda x, axis, keepdims: function(x, axis=axis, dtype=x.dtype, keepdims=keepdims)
        return lambda x, axis, keepdims: function(x, axis=axis, keepdims=keepdims)

    def scan(self, ufunc: np.ufunc) -> Callable[..., Any] | None:
        function = {np.add: da.cumsum, np.multiply: da.cumprod}.get(ufunc)
        return None if function is None else lambda x, axis: function(x, axis=axis, dtype=x.dtype)

    def argsort(self, array: Any, axis: int) -> Any:
        whole = _in_one_piece(array, (axis,))
        return da.map_blocks(np.argsort, whole, axis=axis, kind="stable", dtype=np.dtype(np.intp))

    def first_extreme(self, name: str) -> Callable[[Any, int], Any]:
        return lambda array, axis: getattr(da, name)(array, axis=axis)

    def einsum(self, subscripts: str, operands: list[Any]) -> Any:
        return da.einsum(subscripts, *operands)

    def nonzero(self, array: Any) -> tuple[Any, ...]:
        # The lengths are not known, which `shape_of` says.
        return da.nonzero(array.array)

    def ufunc(self, ufunc: np.ufunc, name: str, dtype: np.dtype[Any]) -> Callable[..., Any] | None:
        return None if name == "round" or ufunc in (np.matmul, np.vecdot) else ufunc

    def function(self, name: str) -> Callable[..., Any] | None:
        return getattr(self.namespace, name)

    def shown(self, array: Any) -> str:
        return f"chunks={array.chunks}"


def make_kind() -> Kind:
    """The kind of dask's arrays."""
    return DaskKind("dask", (da.Array,), DaskNames(), {name: np.dtype(name) for name in _DTYPES}, lazy=True)
