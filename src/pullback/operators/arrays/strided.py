"""Views by strides: other dtypes on the same memory, windows, `as_strided`.

`as_strided` alone depends on where its operand's elements lie in memory. It takes that as a parameter, `layout`, when
it is called, so that its derivative is a function of values like any other: with every element of `x` at its place in
a row of cells, the result reads cells at regular distances. On an operand with that very layout it is a NumPy view.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from pullback.core.axes import normalize_axis_index, normalize_axis_tuple, normalize_shape
from pullback.core.spec import Spec, is_complex_dtype, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive, view
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arguments import along_axis, as_array
from pullback.operators.arrays.complex_parts import view_as_complex, view_as_real
from pullback.operators.arrays.movement import broadcast_to
from pullback.operators.arrays.reshaping import reshape
from pullback.tape.history import requires_grad
from pullback.tensors.tensor import Tensor

# Other dtypes on the same memory.


@view(name="_bitcast", torch="view", batch="shifted", reads_memory=True)
def bitcast(x, *, dtype):
    """The memory of `x` read as numbers of another dtype."""
    return x.view(dtype)


bitcast.not_differentiable("it reads the bits of numbers")


@bitcast.spec
def bitcast_spec(x, *, dtype):
    if x.dtype.itemsize == dtype.itemsize:
        return spec_for(x.shape, dtype)
    return spec_for((*x.shape[:-1], x.shape[-1] * x.dtype.itemsize // dtype.itemsize), dtype)


@bitcast.samples
def bitcast_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make.integers(0, 9, (3,)),), {"dtype": np.dtype(np.uint64)}, "same-size")
    yield Sample((make.integers(0, 9, (2, 3)),), {"dtype": np.dtype(np.int32)}, "smaller")
    yield Sample((make.integers(0, 9, (0, 3)),), {"dtype": np.dtype(np.int32)}, "empty")
    yield Sample((make(()),), {"dtype": np.dtype(np.int64)}, "scalar")
    yield Sample((make((2, 3), np.float32),), {"dtype": np.dtype(np.int32)}, "float32")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"dtype": np.dtype(np.int64)}, label)
    yield Sample((make((3,), np.complex128),), {"dtype": np.dtype(np.float64)}, "complex")
    yield Sample((make((3,), np.complex64),), {"dtype": np.dtype(np.int64)}, "complex64")


@composite(name="view")
def view_method(x: Any, *shape_or_dtype: Any, dtype: Any = None) -> Any:
    """The memory of `x` in another shape, or read as another dtype; never a copy.

    `x.view(2, 3)` is an error where the strides do not allow it. `x.view(pb.int64)` reinterprets bits and has no
    derivative, except between real and complex numbers.
    """
    if dtype is None and len(shape_or_dtype) == 1 and _is_dtype(shape_or_dtype[0]):
        (dtype,) = shape_or_dtype
    if dtype is None:
        return reshape(x, *shape_or_dtype, copy=False)
    dtype = np.dtype(dtype)
    if dtype == x.dtype:
        return reshape(x, x.shape, copy=False)
    if is_complex_dtype(dtype) and x.ndim and _part_of(dtype) == x.dtype:
        return view_as_complex(reshape(x, (*x.shape[:-1], -1, 2), copy=False))
    if is_complex_dtype(x.dtype) and x.ndim and _part_of(x.dtype) == dtype:
        return reshape(view_as_real(x), (*x.shape[:-1], -1), copy=False)
    # Integers on the memory of a tensor that requires grad are no part of its history.
    return bitcast(x.detach() if isinstance(x, Tensor) and requires_grad(x) else x, dtype=dtype)


def _part_of(dtype: Any) -> Any:
    """The dtype of the parts of such complex numbers."""
    return np.empty(0, dtype).real.dtype


def _is_dtype(value: Any) -> bool:
    return isinstance(value, (np.dtype, type, str))


# Windows.


@view(name="_windows", torch="sliding_window_view", batch="shifted", reads_memory=True)
def windows_view(x, *, window, axis):
    """Every window of the lengths `window` along the axes `axis`, its elements in new last axes."""
    shape, strides = list(x.shape), list(x.strides)
    for length, k in zip(window, axis, strict=True):
        shape[k] -= length - 1
        strides.append(x.strides[k])
    return strided_view(x, (*shape, *window), strides)


@windows_view.spelling("array_api")
def windows_spelling(np_there, x, *, window, axis):
    return np_there.sliding_window_view(x, window, axis)


@primitive(name="_overlap_add", flow="collects", batch="shifted")
def overlap_add(x, *, window, axis):
    """Windows added up where they overlap: the adjoint of taking them."""
    ndim = x.ndim - len(window)
    out = np.zeros(_length_before(x.shape[:ndim], window, axis), x.dtype)
    for offsets in np.ndindex(*window):
        place = [slice(None)] * ndim
        for k in range(ndim):
            moved = sum(offset for offset, own in zip(offsets, axis, strict=True) if own == k)
            place[k] = slice(moved, moved + x.shape[k])
        out[tuple(place)] += x[(..., *offsets)]
    return out


def _length_before(shape: tuple[int, ...], window: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    lengths = list(shape)
    for length, k in zip(window, axis, strict=True):
        lengths[k] += length - 1
    return tuple(lengths)


@overlap_add.spec
def overlap_add_spec(x, *, window, axis):
    return spec_for(_length_before(x.shape[: x.ndim - len(window)], window, axis), x.dtype)


@windows_view.transpose
def windows_transpose(g, window, axis):
    return overlap_add(g, window=window, axis=axis)


@overlap_add.transpose
def overlap_add_transpose(g, window, axis):
    return windows_view(g, window=window, axis=axis)


windows_view.refuses("a window slides along an axis", "0-d")


@windows_view.samples
def windows_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((5,)),), {"window": (3,), "axis": (0,)}, "vector")
    yield Sample((make((3, 4)),), {"window": (2, 3), "axis": (0, 1)}, "matrix")
    yield Sample((make((3, 6))[:, ::2],), {"window": (2,), "axis": (0,)}, "strided")
    yield Sample((make((6,)),), {"window": (2, 3), "axis": (0, 0)}, "same-axis")
    yield Sample((make((3, 0)),), {"window": (2,), "axis": (0,)}, "empty")


@overlap_add.samples
def overlap_add_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 2)),), {"window": (2,), "axis": (0,)}, "vector")
    yield Sample((make((2, 3, 2, 2)),), {"window": (2, 2), "axis": (1, 0)}, "matrix")
    yield Sample((make((2, 0, 2)),), {"window": (2,), "axis": (0,)}, "empty")


@composite(method=False)
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """Every window of `x` as a view: positions in the axes of `x`, the window in new last axes."""
    window = normalize_shape(window_shape)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    if len(window) != len(axes):
        raise ValueError(f"sliding_window_view: {len(window)} window lengths were given for {len(axes)} axes")
    left = list(x.shape)
    for length, k in zip(window, axes, strict=True):
        left[k] -= length - 1
        if length < 0 or left[k] < 1:
            raise ValueError(f"sliding_window_view: a window of length {length} does not fit into shape {x.shape}")
    return windows_view(x, window=window, axis=axes)


@composite
@along_axis
def unfold(x: Any, dimension: int, size: int, step: int = 1) -> Any:
    """Windows of length `size`, `step` apart along an axis, their elements in a new last axis: a view."""
    axis = normalize_axis_index(dimension, x.ndim)
    if step < 1:
        raise ValueError(f"unfold: step is {step} but must be > 0")
    return sliding_window_view(x, size, axis)[(slice(None),) * axis + (slice(None, None, step),)]


# Arbitrary strides, counted in elements.


@view(complex="whole", spec="shape", reads_memory=True)
def as_strided(x, *, shape, strides, offset, layout):
    """Elements of the memory of `x` at regular distances, which may repeat."""
    if 0 in shape:
        return strided_view(x, shape, (0,) * len(shape))
    wanted = tuple(stride * x.itemsize for stride in layout)
    if all(own == want or n == 1 for own, want, n in zip(x.strides, wanted, x.shape, strict=True)):
        return strided_view(_corner(x, offset, layout), shape, tuple(stride * x.itemsize for stride in strides))
    return _translated(x, shape, strides, offset, layout)


@primitive(name="_add_strided", flow="collects", complex="whole")
def add_strided(x, *, shape, source, strides, offset, layout):
    """`x` added up where `as_strided` would read it: its adjoint. `source` is the shape of what it reads."""
    lowest, extent = _extent(source, layout)
    cells = np.zeros(extent, x.dtype)
    if x.size:
        np.add.at(cells, _places(shape, strides, offset - lowest), x)
    places = _places(source, layout, -lowest)
    return cells[places] / _multiplicity(places, extent) if _may_overlap(source, layout) else cells[places]


def _places(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """The cell of every element."""
    places = np.full((1,) * len(shape), offset)
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        places = places + (np.arange(length) * stride).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return places


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int]:
    """The lowest cell of an array relative to its first element, and the number of cells from there to the highest."""
    if 0 in shape:
        return 0, 0
    reach = [(length - 1) * stride for length, stride in zip(shape, strides, strict=True)]
    lowest = sum(end for end in reach if end < 0)
    return lowest, sum(end for end in reach if end > 0) - lowest + 1


def _may_overlap(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """False if every axis steps over all that the axes with smaller strides reach."""
    reach = 0
    for stride, length in sorted((abs(stride), length) for stride, length in zip(strides, shape, strict=True)):
        if length > 1:
            if stride <= reach:
                return True
            reach += stride * (length - 1)
    return False


def _multiplicity(places: Any, extent: int) -> Any:
    return np.bincount(places.ravel(), minlength=extent)[places]


def _corner(x: Any, offset: int, layout: tuple[int, ...]) -> Any:
    """The element of `x` in cell `offset`, as a view without axes."""
    index, rest = [0] * x.ndim, offset
    for axis in sorted(range(x.ndim), key=lambda k: -abs(layout[k])):
        if layout[axis]:
            index[axis] = min(max(rest // layout[axis], 0), x.shape[axis] - 1)
            rest -= index[axis] * layout[axis]
    if rest:
        index = np.argwhere(_places(x.shape, layout, 0) == offset)[0].tolist()
    return x[(*index, ...)]


def _translated(x: Any, shape: Any, strides: Any, offset: int, layout: Any) -> Any:
    """The elements that `as_strided` reads from values in `layout`, of an `x` that lies in memory in another way."""
    lowest, extent = _extent(x.shape, layout)
    places = _places(x.shape, layout, -lowest)
    read = _places(shape, strides, offset - lowest)
    if not _may_overlap(x.shape, layout):
        addresses = np.zeros(extent, np.int64)
        addresses[places] = _places(x.shape, x.strides, 0)
        read = addresses[read]
        start = read.flat[0]
        steps = tuple(int(read.take(1, k).flat[0] - start) if n > 1 else 0 for k, n in enumerate(shape))
        if np.array_equal(read, _places(shape, steps, start)):
            # Regular here as well: a view again, which a write to a replayed view relies on.
            first = np.argwhere(_places(x.shape, x.strides, 0) == start)[0].tolist()
            return strided_view(x[(*first, ...)], shape, steps)
        read = _places(shape, strides, offset - lowest)
    cells = np.zeros(extent, x.dtype)
    np.add.at(cells, places, x / _multiplicity(places, extent) if _may_overlap(x.shape, layout) else x)
    return cells[read]


@as_strided.door
def as_strided_door(
    x: Any, size: Any = None, stride: Any = None, storage_offset: int | None = None, *, shape: Any = None,
    strides: Any = None, offset: int = 0, layout: Any = None,
) -> Any:  # fmt: skip
    """A view of `size` whose axes step by `stride` elements, beginning `storage_offset` after the first of `x`."""
    x = as_array(x)
    shape = normalize_shape(size if shape is None else shape)
    strides = normalize_shape(stride if strides is None else strides)
    offset = offset if storage_offset is None else operator.index(storage_offset)
    if len(shape) != len(strides):
        raise ValueError(f"as_strided: {len(strides)} strides were given for shape {shape}")
    if layout is None:
        layout = _layout_of(x)
        _check_inside(x.shape, layout, shape, strides, offset)
    return (x,), {"shape": shape, "strides": strides, "offset": offset, "layout": layout}


def _layout_of(x: Any) -> tuple[int, ...]:
    """The strides of `x` in elements."""
    size = x.dtype.itemsize
    try:
        return tuple(stride // size for stride in x.strides)
    except AttributeError:  # a payload that is not in memory yet counts as contiguous
        return tuple(math.prod(x.shape[axis + 1 :]) for axis in range(x.ndim))


def _check_inside(own: Any, layout: Any, shape: Any, strides: Any, offset: int) -> None:
    """Raise unless every element that is read is one of `x`; others may belong to anybody."""
    if 0 in shape:
        return
    lowest, extent = _extent(own, layout)
    first, count = _extent(shape, strides)
    first += offset - lowest
    inside = first >= 0 and first + count <= extent
    if inside and math.prod(own) < extent:
        present = np.zeros(extent, bool)
        present[_places(own, layout, -lowest)] = True
        inside = bool(present[_places(shape, strides, offset - lowest)].all())
    if not inside:
        raise ValueError(
            f"as_strided: shape {shape} with strides {strides} and offset {offset} reaches outside of the elements "
            f"of an array of shape {own} with strides {layout}"
        )


@add_strided.spec
def add_strided_spec(x, *, shape, source, strides, offset, layout):
    return spec_for(source, x.dtype)


@as_strided.transpose
def as_strided_transpose(g, x: Spec, shape, strides, offset, layout):
    return add_strided(g, shape=shape, source=x.shape, strides=strides, offset=offset, layout=layout)


@add_strided.transpose
def add_strided_transpose(g, shape, strides, offset, layout):
    return as_strided(g, shape=shape, strides=strides, offset=offset, layout=layout)


@as_strided.batch
def as_strided_batch(x, *, shape, strides, offset, layout):
    _, extent = _extent(x.shape[1:], layout)
    return as_strided(
        x, shape=(x.shape[0], *shape), strides=(extent, *strides), offset=offset, layout=(extent, *layout)
    )


@add_strided.batch
def add_strided_batch(x, *, shape, source, strides, offset, layout):
    _, extent = _extent(source, layout)
    return add_strided(
        x, shape=(x.shape[0], *shape), source=(x.shape[0], *source), strides=(extent, *strides), offset=offset,
        layout=(extent, *layout),
    )  # fmt: skip


def _strided_cases() -> Iterator[tuple[str, tuple[int, ...], dict[str, Any]]]:
    """Label, shape of what is read, parameters."""
    yield "rows", (3, 4), {"shape": (2, 4), "strides": (4, 1), "offset": 4, "layout": (4, 1)}
    yield "overlap", (6,), {"shape": (4, 3), "strides": (1, 1), "offset": 0, "layout": (1,)}
    yield "diagonal", (3, 3), {"shape": (3,), "strides": (4,), "offset": 0, "layout": (3, 1)}
    yield "backwards", (5,), {"shape": (3,), "strides": (-2,), "offset": 4, "layout": (1,)}
    yield "empty", (3,), {"shape": (0, 2), "strides": (1, 1), "offset": 0, "layout": (1,)}
    yield "of-empty", (0, 2), {"shape": (0, 3), "strides": (1, 1), "offset": 0, "layout": (2, 1)}
    yield "scalar", (), {"shape": (1, 1), "strides": (1, 1), "offset": 0, "layout": ()}


@as_strided.samples
def as_strided_samples(make: Maker) -> Iterator[Sample]:
    for label, own, params in _strided_cases():
        yield Sample((make(own),), params, label)


@add_strided.samples
def add_strided_samples(make: Maker) -> Iterator[Sample]:
    for label, own, params in _strided_cases():
        yield Sample((make(params["shape"]),), {**params, "source": own}, label)


@primitive(flow="moves", complex="whole", spec="same")
def as_strided_scatter(x, src, *, shape, strides, offset, layout):
    """A copy of `x` with `src` in place of the elements that `as_strided` would read."""
    out = np.array(x, order="C")
    if src.size:
        lowest, extent = _extent(x.shape, layout)
        numbers = np.zeros(extent, np.int64)
        numbers[_places(x.shape, layout, -lowest)] = np.arange(x.size).reshape(x.shape)
        out.reshape(-1)[numbers[_places(shape, strides, offset - lowest)]] = src
    return out


@as_strided_scatter.door
def as_strided_scatter_door(
    x: Any, src: Any, size: Any = None, stride: Any = None, storage_offset: int | None = None, *, shape: Any = None,
    strides: Any = None, offset: int = 0, layout: Any = None,
) -> Any:  # fmt: skip
    """A copy of `x` in which `as_strided(x, size, stride, storage_offset)` is `src`; it must not repeat elements."""
    (x,), params = as_strided_door(
        x, size, stride, storage_offset, shape=shape, strides=strides, offset=offset, layout=layout
    )
    src = as_array(src)
    if _repeats(params["shape"], params["strides"]) or _repeats(x.shape, params["layout"]):
        raise ValueError("as_strided_scatter: it would write an element of `x` more than once; copy() an expanded `x`")
    if not np.can_cast(src.dtype, x.dtype, "same_kind"):
        raise TypeError(f"as_strided_scatter: {src.dtype} cannot be written into {x.dtype}")
    return (x, src if src.shape == params["shape"] else broadcast_to(src, params["shape"])), params


def _repeats(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """True if two elements of this geometry lie in one cell."""
    if 0 in shape or not _may_overlap(shape, strides):
        return False
    lowest, extent = _extent(shape, strides)
    return int(np.bincount(_places(shape, strides, -lowest).ravel(), minlength=extent).max()) > 1


@as_strided_scatter.transpose
def as_strided_scatter_transpose(g, shape, strides, offset, layout, needs):
    where = {"shape": shape, "strides": strides, "offset": offset, "layout": layout}
    rest = as_strided_scatter(g, np.broadcast_to(np.zeros((), g.dtype), shape), **where) if needs[0] else None
    return rest, as_strided(g, **where) if needs[1] else None


@as_strided_scatter.batch
def as_strided_scatter_batch(x, src, *, shape, strides, offset, layout):
    _, extent = _extent(x.shape[1:], layout)
    return as_strided_scatter(
        x, src, shape=(x.shape[0], *shape), strides=(extent, *strides), offset=offset, layout=(extent, *layout)
    )


@as_strided_scatter.samples
def as_strided_scatter_samples(make: Maker) -> Iterator[Sample]:
    for label, own, params in _strided_cases():
        if label != "overlap":
            yield Sample((make(own), make(params["shape"])), params, label)
    rows = {"shape": (2, 3), "strides": (1, 2), "offset": 0, "layout": (1, 2)}
    yield Sample((make((2, 3), np.complex128), make((2, 3), np.complex128)), rows, "complex")
    yield Sample((make((2, 3), np.float32), make((2, 3), np.float32)), rows, "float32")
    gaps = {"shape": (2,), "strides": (-4,), "offset": 0, "layout": (-4, 2)}
    yield Sample((make((3, 4))[::-1, ::2], make((2,))), gaps, "gaps")
