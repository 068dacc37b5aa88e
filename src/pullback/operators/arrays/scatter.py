"""Reading and writing along an axis by position: `take`, `gather`, `scatter`, `index_add` and their relatives.

All of them are an index with arrays: `take` puts one array in one place of the template, `gather` and `scatter` put
their array at one axis and counting arrays at the others. So they need no operators of their own, except for reading
rows of a large table, whose gradient is better left sparse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axis_index
from pullback.core.spec import Spec, spec_for
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.declare.families import primitive
from pullback.declare.op import registry
from pullback.declare.samples import Maker, Sample
from pullback.eager.build import as_operand
from pullback.eager.inplace import write
from pullback.eager.record import new_tensor
from pullback.operators.arguments import along_axis, constant, every_value, plain
from pullback.operators.arrays.index_operators import (
    ARRAY,
    Template,
    basic_view,
    index_add_to_zeros,
    index_arrays,
    index_put_arrays,
)
from pullback.operators.arrays.indexing import getitem, resolve, setitem
from pullback.operators.arrays.masks import positions
from pullback.operators.arrays.movement import broadcast_arrays, broadcast_to, diagonal
from pullback.operators.arrays.reshaping import ravel, reshape
from pullback.tape.input_metadata import SparseGrad
from pullback.tensors.tensor import Tensor, as_constant

_FIRST: Template = (ARRAY,)
_FEW = 1 << 8  # positions, for which NumPy's own way is as good as any


def _as_positions(name: str, index: Any) -> Any:
    """An argument that holds positions, as an array of integers; a copy of one that might be changed unnoticed."""
    index = index if hasattr(index, "ndim") and not isinstance(index, np.ndarray) else np.array(index)
    if index.dtype.kind not in "iu":
        if index.size == 0:
            return registry["_astype"].call(index, dtype=np.dtype(np.int64))
        raise TypeError(f"{name}: positions are integers, got {index.dtype}")
    return index


def _at(axis: int) -> Template:
    """The template of an array at one axis, everything else as it is."""
    return (slice(None),) * axis + (ARRAY,) if axis else _FIRST


def _counting(shape: tuple[int, ...], axis: int, index: Any) -> list[Any]:
    """Arrays that address, for each element of an index of `shape`, its own place in all axes but `axis`."""
    last = len(shape) - 1
    return [index if k == axis else _upwards(length, last - k) for k, length in enumerate(shape)]


def _upwards(length: int, axes: int) -> Any:
    return _few_upwards(length, axes) if length < 1024 else np.arange(length).reshape(-1, *(1,) * axes)


@lru_cache(maxsize=256)
def _few_upwards(length: int, axes: int) -> Any:
    """The numbers from 0 to `length`, with `axes` axes of length 1 behind them."""
    numbers = np.arange(length).reshape(-1, *(1,) * axes)
    numbers.flags.writeable = False
    return numbers


# Reading.


@primitive(name="_take_rows", torch="embedding", flow="gathers", fresh=True)
def take_rows(x, indices):
    """The rows of `x` at `indices`. The gradient names these rows and holds nothing for the others."""
    return np.take(x, indices, axis=0)


@take_rows.spec
def take_rows_spec(x, indices):
    return spec_for((*indices.shape, *x.shape[1:]), x.dtype)


@take_rows.transpose_of("x")
def take_rows_transpose(g, x: Spec, indices):
    if type(g) is np.ndarray:
        # Equal rows must have equal positions, or they would not be merged.
        rows = np.where(indices < 0, indices + x.shape[0], indices)
        return SparseGrad(rows, g.reshape((-1, *x.shape[1:])) if x.ndim > 1 else g.reshape(-1), x.shape)
    return index_add_to_zeros(g, indices, template=_at(0), shape=x.shape, distinct=False)


@take_rows.batch
def take_rows_batch(x, indices):
    count, rows = x.shape[:2]
    first = np.arange(count).reshape((count,) + (1,) * (indices.ndim - 1)) * rows
    return take_rows(x.reshape((count * rows, *x.shape[2:])), indices % max(rows, 1) + first)


@take_rows.samples
def take_rows_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((4, 2)), np.array([2, 0, 2, -1])), label="repeated")
    yield Sample((make((4,)), np.array([[1, 3], [3, 0]])), label="vector")
    yield Sample((make((3, 2, 2)), np.array(1)), label="one row")
    yield Sample((make((3, 2)), np.zeros((0,), int)), label="empty")
    yield Sample((make((3, 2), np.float32), np.array([0, 0])), label="float32")
    yield Sample((make((2, 4)).T, np.array([3, 1])), label="fortran")
    yield Sample((make((3, 2), np.complex128), np.array([1, 1])), label="complex")


@composite
def take(
    x: Any, indices: Any, axis: int | None = None, *, mode: str = "raise", sparse_grad: bool = False
) -> Any:  # fmt: skip
    """The elements of `x` at `indices` along an axis; without an axis, in row-major order.

    Positions beyond the end raise, or with `mode` "wrap" begin anew, or with "clip" mean the last one. With
    `sparse_grad` the gradient is a `SparseGrad` of the rows that were read; this needs `axis` 0. A gradient that is to
    be differentiated again is dense all the same.
    """
    if axis is None:
        x, axis = ravel(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    indices = _as_positions("take", indices)
    if mode != "raise":
        if mode not in ("wrap", "clip"):
            raise ValueError(f"take: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
        indices = indices % x.shape[axis] if mode == "wrap" else indices.clip(0, x.shape[axis] - 1)
    if sparse_grad:
        if axis != 0:
            raise ValueError(f"take: a sparse gradient consists of rows, so axis must be 0, got {axis}")
        return take_rows(x, indices)
    return index_arrays(x, indices, template=_at(axis), distinct=False)


@composite
@along_axis
def index_select(x: Any, dim: int, index: Any) -> Any:
    """The elements of `x` at `index` along axis `dim`, which stays an axis for a single position, too."""
    index = _as_positions("index_select", index)
    if index.ndim > 1:
        raise ValueError(f"index_select: the index is a vector, got shape {index.shape}; take() has any")
    return take(x, index.reshape(-1) if x.ndim else index, dim)


@composite
def take_along_axis(x: Any, indices: Any, axis: int | None = -1) -> Any:
    """For each place in `indices`, the element of `x` in that place with its position along `axis` replaced.

    Axes of length 1 broadcast; without an axis both are taken in row-major order.
    """
    indices = _as_positions("take_along_axis", indices)
    if axis is None:
        x, indices, axis = ravel(x), indices.reshape(-1), 0
    axis = normalize_axis_index(axis, x.ndim)
    if indices.ndim != x.ndim:
        raise ValueError(f"take_along_axis: the indices have {indices.ndim} axes, and the array has {x.ndim}")
    # One position for each row reads no element twice, so that its gradient can be stored instead of added.
    distinct = indices.shape[axis] == 1 and all(
        own != 1 or length == 1 for own, length in zip(x.shape, indices.shape, strict=True)
    )
    return gather_along(x, indices, axis, distinct)


def gather_along(x: Any, indices: Any, axis: int, distinct: bool = False) -> Any:
    """`take_along_axis` with canonical arguments."""
    return gather_elements(x, indices, axis=axis, distinct=distinct)


@primitive(name="_gather", torch="gather", flow="gathers", batch="shifted")
def gather_elements(x, indices, *, axis, distinct):
    """The elements of `x` at `indices` along `axis`, every other position being that of the index; axes broadcast."""
    if x.ndim == 1:
        return x.take(indices if indices.dtype.kind == "i" else indices.astype(np.int64))
    arrays = _counting(x.shape, axis, indices)
    if indices.size < _FEW:
        return x[tuple(arrays)]
    return index_arrays.kernel(x, *arrays, template=(ARRAY,) * x.ndim, distinct=distinct)


@primitive(
    name="_gather_add", torch="gather_backward", flow="collects", fresh=True, batch="shifted", spec="shape",
    group="index",
)
def add_elements(x, indices, *, axis, distinct, shape):
    """Zeros of `shape` to which `x` is added where `gather` reads: its adjoint."""
    arrays = _counting(shape, axis, indices)
    if indices.size < _FEW:
        out = np.zeros(shape, x.dtype)
        if distinct:
            out[tuple(arrays)] = x
        else:
            np.add.at(out, tuple(arrays), x)
        return out
    return index_add_to_zeros.kernel(x, *arrays, template=(ARRAY,) * len(shape), shape=shape, distinct=distinct)


@gather_elements.spec
def gather_elements_spec(x, indices, *, axis, distinct):
    others = tuple(1 if k == axis else length for k, length in enumerate(x.shape))
    return spec_for(np.broadcast_shapes(others, indices.shape), x.dtype)


@gather_elements.transpose_of("x")
def gather_elements_transpose(g, x: Spec, indices, axis, distinct):
    if type(g) is type(indices) is np.ndarray:
        return add_elements.kernel(g, indices, axis=axis, distinct=distinct, shape=x.shape)
    return add_elements(g, indices, axis=axis, distinct=distinct, shape=x.shape)


@add_elements.transpose_of("x")
def add_elements_transpose(g, indices, axis, distinct):
    return gather_elements(g, indices, axis=axis, distinct=distinct)


def _gather_cases() -> Iterator[tuple[str, tuple[int, ...], Any, int]]:
    """Label, shape of what is read, positions, axis."""
    yield "rows", (2, 3), np.array([[0, 2, 2, -1], [1, 1, 0, 0]]), 1
    yield "columns", (3, 2), np.array([[2, 0]]), 0
    yield "broadcast", (2, 3), np.array([[0, 2]]), 1
    yield "vector", (4,), np.array([3, 3, -4]), 0
    yield "middle", (2, 3, 2), np.array([[[0, 1]], [[2, 0]]]), 1
    yield "nothing", (2, 3), np.zeros((2, 0), int), 1


@gather_elements.samples
def gather_elements_samples(make: Maker) -> Iterator[Sample]:
    for label, shape, indices, axis in _gather_cases():
        yield Sample((make(shape), indices), {"axis": axis, "distinct": False}, label)
    yield Sample((make((2, 3), np.complex128), np.array([[1], [2]])), {"axis": 1, "distinct": True}, "complex")
    yield Sample((make((2, 3), np.float32), np.array([[1], [2]])), {"axis": 1, "distinct": True}, "float32")


@add_elements.samples
def add_elements_samples(make: Maker) -> Iterator[Sample]:
    for label, shape, indices, axis in _gather_cases():
        result = gather_elements.kernel(np.zeros(shape), indices, axis=axis, distinct=False)
        params = {"axis": axis, "distinct": False, "shape": shape}
        yield Sample((make(result.shape), indices), params, label)


@composite
def take_along_dim(x: Any, indices: Any, dim: int | None = None) -> Any:
    """`take_along_axis`, which without an axis takes both in row-major order."""
    return take_along_axis(x, indices, dim)


@composite
def gather(x: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """`out[i, j] = x[index[i, j], j]` for `dim` 0, and so on; `index` may be shorter than `x` along other axes.

    With `sparse_grad` the gradient of a vector is a `SparseGrad`. That of more axes would not consist of rows: it is
    dense all the same.
    """
    index = _as_positions("gather", index)
    if sparse_grad and x.ndim == 1 == index.ndim:
        return take(x, index, dim, sparse_grad=True)
    if x.ndim == 0 or (index.ndim == 0 and x.ndim == 1):  # an array without axes is as good as one of length 1
        return reshape(take(reshape(x, -1), index.reshape(-1), dim), index.shape)
    axis = normalize_axis_index(dim, x.ndim)
    return gather_along(_cropped("gather", x, index.shape, axis), index, axis)


def _cropped(name: str, x: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    """The part of `x` that an index of `shape` reaches along all axes but `axis`."""
    if len(shape) != x.ndim or any(n > own for k, (n, own) in enumerate(zip(shape, x.shape, strict=True)) if k != axis):
        raise ValueError(f"{name}: an index of shape {shape} does not fit into an array of shape {x.shape}")
    if all(n == own for k, (n, own) in enumerate(zip(shape, x.shape, strict=True)) if k != axis):
        return x
    return basic_view(x, index=(*(slice(None) if k == axis else slice(0, n) for k, n in enumerate(shape)), ...))


@composite(arrays=2)
def masked_select(x: Any, mask: Any) -> Any:
    """The elements of `x` where `mask` is True, in row-major order; the two broadcast."""
    x, mask = broadcast_arrays(x, mask)
    return getitem(x, mask)


@composite
def nonzero(x: Any, *, as_tuple: bool = True) -> Any:
    """The positions of the elements that are not 0: one array of integers per axis, or one with a row for each."""
    if not as_tuple:
        return argwhere(x)
    if x.ndim == 0:
        raise ValueError("nonzero: an array without axes has no positions; use atleast_1d(x)")
    return positions(x)


@composite
def argwhere(x: Any) -> Any:
    """The positions of the elements that are not 0, one row each."""
    return constant(np.argwhere(plain("argwhere", x)))


@composite
def flatnonzero(x: Any) -> Any:
    """The positions of the elements that are not 0, in row-major order."""
    return nonzero(ravel(x))[0]


def _payload(x: Any) -> Any:
    return x._data if isinstance(x, Tensor) else x


@composite
def one_hot(x: Any, num_classes: int = -1, *, dtype: Any = np.int64) -> Any:
    """For every integer of `x` a row of `num_classes` zeros with a one in its position; -1 means as many as needed."""
    classes = _as_positions("one_hot", _payload(x))
    every = every_value(x)
    count = int(plain("one_hot", x).max(initial=-1)) + 1 if num_classes == -1 else num_classes
    if every.size and (every.min() < 0 or every.max() >= count):
        raise ValueError(f"one_hot: classes must lie between 0 and {count - 1}")
    return new_tensor((classes[..., None] == np.arange(count)).astype(dtype), current())


# Writing: each function in two forms, of which one returns a changed copy and the other writes in place.

_Put = Callable[..., Any]


def _put(x: Any, value: Any, arrays: Any, template: Template, accumulate: bool = False, distinct: bool = False) -> Any:
    """A copy of `x` with values stored or added."""
    return index_put_arrays(x, value, *arrays, template=template, accumulate=accumulate, distinct=distinct)


def _put_in_place(
    x: Tensor, value: Any, arrays: Any, template: Template, accumulate: bool = False, distinct: bool = False
) -> Tensor:
    """The same, written into `x`."""
    params = {"template": template, "accumulate": accumulate, "distinct": distinct}
    return write(index_put_arrays, x, (value, *arrays), params)


def _scatter(put: _Put, name: str, x: Any, dim: int, index: Any, src: Any, accumulate: bool) -> Any:
    axis, index = normalize_axis_index(dim, x.ndim), _as_positions(name, index)
    if index.ndim == 0 and x.ndim == 1:
        index = index.reshape(-1)
    _cropped(name, x, index.shape, axis)  # raises where the index does not fit
    src = as_operand(src)
    value = src if getattr(src, "ndim", 0) == 0 else _cropped(name, src, index.shape, None)
    return put(x, value, _counting(index.shape, axis, index), (ARRAY,) * x.ndim, accumulate)


def _index_write(put: _Put, name: str, x: Any, dim: int, index: Any, source: Any, accumulate: bool) -> Any:
    axis, index = normalize_axis_index(dim, x.ndim), _as_positions(name, index).reshape(-1)
    source = as_operand(source)
    wanted = (*x.shape[:axis], index.shape[0], *x.shape[axis + 1 :])
    if getattr(source, "ndim", 0) and source.shape != wanted:
        raise ValueError(f"{name}: the source has shape {source.shape}, and {wanted} is needed")
    return put(x, source, [index], _at(axis), accumulate)


def _index_put(put: _Put, x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    seen, arrays, template, distinct = resolve(x, tuple(indices))
    if seen is not x:
        raise IndexError("index_put: a truth value without axes is not an index here")
    return put(x, as_operand(values), arrays, template, accumulate, distinct)


def _declare_writes(put: _Put, suffix: str) -> dict[str, Callable[..., Any]]:
    """The functions that write by position: with a suffix, those that do it in place."""

    def scatter(x: Any, dim: int, index: Any, src: Any = None, *, value: Any = None) -> Any:
        """`x` with `x[index[i, j], j] = src[i, j]` for `dim` 0, and so on; of repeated positions the last one stays."""
        src = merge_spellings("scatter: src/value", src, value)
        return _scatter(put, "scatter", x, dim, index, src, False)

    def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
        """`x` with `x[index[i, j], j] += src[i, j]` for `dim` 0, and so on; repeated positions add up."""
        return _scatter(put, "scatter_add", x, dim, index, src, True)

    def index_add(x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        """`x` with `alpha * source` added at `index` along axis `dim`; repeated positions add up."""
        source = source if alpha.__class__ is int and alpha == 1 else alpha * as_constant(source)
        return _index_write(put, "index_add", x, dim, index, source, True)

    def index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
        """`x` with `source` stored at `index` along axis `dim`; of repeated positions the last one stays."""
        return _index_write(put, "index_copy", x, dim, index, source, False)

    def index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
        """`x` with one value stored at `index` along axis `dim`."""
        if getattr(as_operand(value), "size", 1) != 1:
            raise ValueError("index_fill: the value must be one number; index_copy stores several")
        return _index_write(put, "index_fill", x, dim, index, value, False)

    def index_put(x: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
        """`x` with `values` stored at `x[indices]`, or added there; of repeated positions the last one stays.

    Only values that stay get a gradient; added ones all do.
    """
        return _index_put(put, x, indices, values, accumulate)

    def masked_scatter(x: Any, mask: Any, source: Any) -> Any:
        """`x` with the first elements of `source` where `mask` is True; not in place the two may broadcast."""
        mask = as_constant(mask)
        if put is _put and mask.shape != x.shape:
            x = broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape))
        _, arrays, template, _ = resolve(x, broadcast_to(mask, x.shape))
        return put(
            x,
            basic_view(ravel(as_constant(source)), index=(slice(0, arrays[0].size), ...)),
            arrays,
            template,
            False,
            True,
        )

    table = {}
    for function in (scatter, scatter_add, index_add, index_copy, index_fill, index_put, masked_scatter):
        function.__name__ = function.__qualname__ = f"{function.__name__}{suffix}"
        table[function.__name__] = along_axis(function)
    return table


for _function in _declare_writes(_put, "").values():
    composite(_function)


def put_along_axis(x: Tensor, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Store `values` in `x`, in place, where `take_along_axis` with the same indices would read."""
    indices = _as_positions("put_along_axis", indices)
    if axis is None:
        x, indices, axis = reshape(x, -1, copy=False), indices.reshape(-1), 0
    axis = normalize_axis_index(axis, x.ndim)
    _put_in_place(x, as_operand(values), _counting(x.shape, axis, indices), (ARRAY,) * x.ndim)


composite(put_along_axis)


def put(x: Tensor, indices: Any, values: Any, *, accumulate: bool = False) -> None:
    """Store `values` in `x`, in place, at positions counted in row-major order, or add them there."""
    row, positions = reshape(x, -1, copy=False), _as_positions("put", indices)
    if accumulate:
        _put_in_place(row, as_operand(values), [positions], (ARRAY,), accumulate=True)
    else:
        setitem(row, positions, values)


composite(put)


@composite(arrays=2)
def slice_scatter(
    x: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    """A copy of `x` with `src` in place of `x[start:end:step]` along axis `dim`."""
    return _with_part(x, (slice(None),) * normalize_axis_index(dim, x.ndim) + (slice(start, end, step),), src)


@composite(arrays=2)
def select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    """A copy of `x` with `src` in place of the elements at `index` of axis `dim`."""
    return _with_part(x, (slice(None),) * normalize_axis_index(dim, x.ndim) + (index,), src)


@composite(arrays=2)
def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A copy of `x` with `src` in place of its diagonal."""
    out = x.copy()
    setitem(diagonal(out, offset, dim1, dim2), ..., src)
    return out


def _with_part(x: Any, index: tuple[Any, ...], src: Any) -> Any:
    out = x.copy()
    setitem(out, index, src)
    return out


inplace_methods: dict[str, Callable[..., Any]] = _declare_writes(_put_in_place, "_")
"""Methods of `Tensor` that write by position."""
