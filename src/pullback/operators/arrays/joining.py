"""Joining arrays along an axis, and splitting them into views: each is the adjoint of the other.

The results of a split are views of one array and have one node. Writing to one of them is a write to the array, so
the others see it; no result is treated differently because it has siblings.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.axes import normalize_axis_index
from pullback.core.spec import Spec, spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive, view
from pullback.declare.samples import Maker, Sample
from pullback.eager.build import as_operand
from pullback.operators.arrays.index_operators import basic_view, place_slice, stands_for_array
from pullback.operators.arrays.masks import first_positions
from pullback.operators.arrays.reshaping import atleast_1d, atleast_2d, atleast_3d, ravel, reshape
from pullback.operators.elementwise.casting import copy
from pullback.tensors.tensor import Tensor, as_constant

Pieces = tuple[tuple[int, int], ...]
"""Where each part of a split begins and ends."""


def _along(axis: int, start: int, stop: int) -> tuple[Any, ...]:
    """The index of the elements from `start` to `stop` along an axis."""
    return (slice(None),) * axis + (slice(start, stop), ...)


# Operators: concatenating and splitting.


@primitive(name="_concat", torch="cat", flow="joins", layout="kernel", batch="shifted")
def join(*xs, axis):
    """Arrays one after the other along `axis`."""
    return np.concatenate(xs, axis)


def stack_payloads(parts: Iterable[Any]) -> Any:
    """Payloads along a new first axis, as a payload: what batching rules return, where `stack` makes a tensor."""
    return join(*[x.reshape((1, *x.shape)) for x in parts], axis=0)


@first_positions.batch
def first_positions_batch(x, *, count):
    rows = [first_positions(x[k], count=count) for k in range(x.shape[0])]
    return tuple([stack_payloads(parts) for parts in zip(*rows, strict=True)])


@view(name="_split", any_number_of_outputs=True, torch="split", batch="shifted")
def cut(x, *, pieces, axis):
    """The parts of `x` along `axis` that `pieces` names: views."""
    return tuple(x[_along(axis, start, stop)] for start, stop in pieces)


@join.spec
def join_spec(*xs, axis):
    first = xs[0].shape
    for x in xs[1:]:
        if x.ndim != len(first) or x.shape[:axis] != first[:axis] or x.shape[axis + 1 :] != first[axis + 1 :]:
            raise ValueError(f"concat: arrays of shapes {first} and {x.shape} differ in more than axis {axis}")
    total = sum(x.shape[axis] for x in xs)
    return spec_for((*first[:axis], total, *first[axis + 1 :]), np.result_type(*(x.dtype for x in xs)))


@cut.spec
def cut_spec(x, *, pieces, axis):
    return tuple(spec_for((*x.shape[:axis], stop - start, *x.shape[axis + 1 :]), x.dtype) for start, stop in pieces)


@join.transpose
def join_transpose(g, xs, axis, needs):
    stops = np.cumsum([x.shape[axis] for x in xs]).tolist()
    return tuple(
        basic_view(g, index=_along(axis, stop - x.shape[axis], stop)) if needed else None
        for x, stop, needed in zip(xs, stops, needs, strict=True)
    )


@join.vjp_on_arrays
def join_pulled(g, xs, axis, needs):
    places = _places(tuple([x.shape[axis] for x in xs]), axis)
    return [g[place] if needed else None for place, needed in zip(places, needs, strict=True)]


@functools.lru_cache(1024)
def _places(lengths: tuple[int, ...], axis: int) -> list[Any]:
    """Where arrays of these lengths along an axis lie in what they are joined to."""
    stops = itertools.accumulate(lengths)
    return [_along(axis, stop - length, stop) for length, stop in zip(lengths, stops, strict=True)]


@cut.transpose
def cut_transpose(gs, x: Spec, pieces, axis):
    borders = [0, *(stop for _, stop in pieces)]
    if borders[-1] == x.shape[axis] and borders[:-1] == [start for start, _ in pieces]:
        specs = cut_spec(x, pieces=pieces, axis=axis)
        parts = [np.zeros(spec.shape, spec.dtype) if g is None else g for g, spec in zip(gs, specs, strict=True)]
        return join(*parts, axis=axis)
    total = None  # parts that leave gaps or overlap, as the indices of a split may say
    for g, (start, stop) in zip(gs, pieces, strict=True):
        if g is not None:
            placed = place_slice(g, index=_along(axis, start, stop), shape=x.shape)
            total = placed if total is None else total + placed
    return total


@join.samples
def join_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((2, 3)), make((1, 3)), make((0, 3))), {"axis": 0}, "rows")
    yield Sample((make((2, 3)), make((2, 1))), {"axis": 1}, "columns")
    yield Sample((make((3,)),), {"axis": 0}, "one")
    yield Sample((make((3,)), make((2,), np.complex128)), {"axis": 0}, "promoted")


cut.refuses("there is no axis to take apart", "0-d")


@cut.samples
def cut_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((5, 2)),), {"pieces": ((0, 2), (2, 2), (2, 5)), "axis": 0}, "rows")
    yield Sample((make((2, 4)),), {"pieces": ((0, 1), (1, 4)), "axis": 1}, "columns")
    yield Sample((make((4,)),), {"pieces": ((0, 3), (1, 4)), "axis": 0}, "overlapping")
    yield Sample((make((0, 2)),), {"pieces": ((0, 0),), "axis": 0}, "empty")


# Operators: stacking and unbinding.


@primitive(name="_stack", torch="stack", flow="joins", layout="kernel", fresh=True, batch="shifted")
def pile(*xs, axis):
    """Arrays of one shape along the new axis `axis`."""
    return np.stack(xs, axis)


@view(name="_unbind", any_number_of_outputs=True, torch="unbind", batch="shifted")
def unpile(x, *, axis):
    """The elements of `x` along `axis`, which is gone in the results: views."""
    before = (slice(None),) * axis
    return tuple(x[(*before, position, ...)] for position in range(x.shape[axis]))


@pile.spec
def pile_spec(*xs, axis):
    shape = xs[0].shape
    return spec_for((*shape[:axis], len(xs), *shape[axis:]), np.result_type(*(x.dtype for x in xs)))


@unpile.spec
def unpile_spec(x, *, axis):
    return (spec_for(x.shape[:axis] + x.shape[axis + 1 :], x.dtype),) * x.shape[axis]


@pile.kernel_on_arrays
def pile_quickly(*xs, axis):
    first = xs[0]
    if axis or first.ndim > 1:
        return np.stack(xs, axis)
    dtype, shape = first.dtype, first.shape
    for x in xs:
        if x.dtype is not dtype or x.shape != shape:
            return np.stack(xs, axis)
    if not shape:
        return np.array(xs)
    out = np.empty((len(xs), *shape), dtype)
    for k, x in enumerate(xs):
        out[k] = x
    return out


@pile.transpose
def pile_transpose(g, axis):
    return unpile(g, axis=axis)


@pile.vjp_on_arrays
def pile_pulled(g, axis):
    if axis:
        return unpile.kernel(g, axis=axis)
    return [g[k, ...] for k in range(len(g))]


@unpile.transpose
def unpile_transpose(gs, x: Spec, axis):
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    return pile(*(np.zeros(shape, x.dtype) if g is None else g for g in gs), axis=axis)


@pile.samples
def pile_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((2, 3)), make((2, 3))), {"axis": 1}, "middle")
    yield Sample((make(()), make(()), make(())), {"axis": 0}, "scalars")
    yield Sample((make((2,)), make((2,), np.float32)), {"axis": 1}, "promoted")
    yield Sample((make((0, 2)), make((0, 2))), {"axis": 0}, "empty")


unpile.refuses("there is no axis to take apart", "0-d")


@unpile.samples
def unpile_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 2)),), {"axis": 0}, "rows")
    yield Sample((make((2, 3)),), {"axis": 1}, "columns")
    yield Sample((make((2, 0)),), {"axis": 0}, "empty")
    yield Sample((make((3,), np.complex128),), {"axis": 0}, "elements")


# Joining, as users call it.


def _tensors(arrays: Iterable[Any], name: str) -> tuple[Tensor, ...]:
    """What is to be joined, as Tensors; promotion is left to the operator."""
    tensors = tuple([x if type(x) is Tensor else as_constant(as_operand(x)) for x in arrays])
    if not tensors:
        raise ValueError(f"{name}: there is nothing to join")
    return tensors


@composite(arrays=0, aliases=("concatenate", "cat"))
def concat(arrays: Iterable[Any], /, axis: int | None = 0, *, dim: int | None = None) -> Tensor:
    """Arrays one after the other along an axis; with `axis=None`, their elements in row-major order."""
    tensors = _tensors(arrays, "concat")
    if dim is not None:
        axis = dim
    if axis is None:
        tensors, axis = tuple([ravel(x) for x in tensors]), 0
    elif isinstance(axis, Tensor) and axis._spec.ndim:
        raise told(
            TypeError("concat: axis is a whole number, and it was given a second array"),
            why="the first argument has all the parts",
            fix="put them into a list: pb.concat([a, b])",
        )
    for x in tensors:
        if not x._spec.ndim:
            raise ValueError("concat: an array without axes cannot be joined to others; use stack")
    return join.run(tensors, {"axis": normalize_axis_index(axis, tensors[0]._spec.ndim)})


@composite(arrays=0)
def stack(arrays: Iterable[Any], /, axis: int = 0, *, dim: int | None = None) -> Tensor:
    """Arrays of one shape along a new axis."""
    tensors = _tensors(arrays, "stack")
    axis = normalize_axis_index(axis if dim is None else dim, tensors[0]._spec.ndim + 1)
    return pile.run(tensors, {"axis": axis})


@composite(arrays=0, aliases=("row_stack",))
def vstack(arrays: Iterable[Any], /) -> Tensor:
    """Arrays on top of each other; a vector counts as a row."""
    return concat([atleast_2d(x) for x in _tensors(arrays, "vstack")], 0)


@composite(arrays=0)
def hstack(arrays: Iterable[Any], /) -> Tensor:
    """Arrays side by side: along the second axis, or the only one."""
    tensors = [atleast_1d(x) for x in _tensors(arrays, "hstack")]
    return concat(tensors, 0 if tensors[0].ndim == 1 else 1)


@composite(arrays=0)
def dstack(arrays: Iterable[Any], /) -> Tensor:
    """Arrays along a third axis."""
    return concat([atleast_3d(x) for x in _tensors(arrays, "dstack")], 2)


@composite(arrays=0)
def column_stack(arrays: Iterable[Any], /) -> Tensor:
    """Vectors and matrices side by side; a vector counts as a column."""
    tensors = _tensors(arrays, "column_stack")
    return concat([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in tensors], 1)


@composite(arrays=2, method=False)
def append(x: Any, values: Any, axis: int | None = None) -> Any:
    """`x` followed by `values` along an axis; without an axis, both in row-major order."""
    return concat([x, values], axis)


@composite(arrays=0)
def block(arrays: Any) -> Tensor:
    """One array from nested lists of blocks: the innermost lists are joined along the last axis, and so on outwards."""
    depth = _depth(arrays)
    ndim = max(depth, _most_axes(arrays))
    return _joined_blocks(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(part) for part in arrays}
    if len(depths) != 1:
        raise ValueError("block: lists must be nested to one depth everywhere, and not be empty")
    return 1 + depths.pop()


def _most_axes(arrays: Any) -> int:
    return max(map(_most_axes, arrays)) if isinstance(arrays, list) else as_constant(as_operand(arrays)).ndim


def _joined_blocks(arrays: Any, depth: int, ndim: int) -> Tensor:
    if not isinstance(arrays, list):
        x = as_constant(as_operand(arrays))
        return reshape(x, (1,) * (ndim - x.ndim) + x.shape)
    return concat([_joined_blocks(part, depth - 1, ndim) for part in arrays], -depth)


# Splitting, as users call it.


def _between(borders: list[int], length: int) -> Pieces:
    """The pieces that borders cut an axis into, which are read like the bounds of slices."""
    starts, stops = [0, *borders], [*borders, length]
    pieces = (slice(start, stop).indices(length) for start, stop in zip(starts, stops, strict=True))
    return tuple((start, max(start, stop)) for start, stop, _ in pieces)


def _borders(wanted: Any) -> list[int]:
    return [operator.index(border) for border in (wanted.tolist() if hasattr(wanted, "tolist") else wanted)]


def _is_number(wanted: Any) -> bool:
    return isinstance(wanted, (int, np.integer)) or getattr(wanted, "ndim", None) == 0


@composite
def split(x: Any, indices_or_sections: Any, axis: int = 0, *, dim: int | None = None) -> tuple[Any, ...]:
    """`x` in equal sections along an axis, or cut at the given indices: views."""
    if _is_number(indices_or_sections):
        axis = axis if dim is None else dim
        length = x.shape[normalize_axis_index(axis, x.ndim)]
        if indices_or_sections < 1 or length % int(indices_or_sections):
            raise ValueError(f"split: an axis of length {length} has no {indices_or_sections} equal sections")
        dim = None
    return array_split(x, indices_or_sections, axis, dim=dim)


@composite(aliases=("tensor_split",))
def array_split(x: Any, indices_or_sections: Any, axis: int = 0, *, dim: int | None = None) -> tuple[Any, ...]:
    """`x` in sections of nearly equal length along an axis, longer ones first, or cut at the given indices: views."""
    axis = normalize_axis_index(axis if dim is None else dim, x.ndim)
    length = x.shape[axis]
    if _is_number(indices_or_sections):
        sections = int(indices_or_sections)
        if sections < 1:
            raise ValueError(f"array_split: the number of sections must be positive, got {sections}")
        size, longer = divmod(length, sections)
        borders = np.cumsum([size + 1] * longer + [size] * (sections - longer)).tolist()[:-1]
    else:
        borders = _borders(indices_or_sections)
    return cut(x, pieces=_between(borders, length), axis=axis)


@composite
def split_with_sizes(x: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """`x` in sections of the given lengths, which must add up to the axis: views."""
    axis, sizes = normalize_axis_index(dim, x.ndim), _borders(split_sizes)
    if min(sizes, default=0) < 0 or sum(sizes) != x.shape[axis]:
        raise ValueError(f"split_with_sizes: {sizes} do not add up to the length {x.shape[axis]} of the axis")
    stops = np.cumsum(sizes).tolist()
    return cut(x, pieces=tuple((stop - size, stop) for stop, size in zip(stops, sizes, strict=True)), axis=axis)


@composite
def chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """`x` in sections of one length along an axis, the last one shorter; perhaps fewer than `chunks`: views."""
    axis = normalize_axis_index(dim, x.ndim)
    if chunks < 1:
        raise ValueError(f"chunk: the number of chunks must be positive, got {chunks}")
    length = x.shape[axis]
    size = -(-length // chunks)
    count = chunks if size == 0 else -(-length // size)
    return cut(x, pieces=tuple((k * size, min(k * size + size, length)) for k in range(count)), axis=axis)


@composite
def unsafe_split(x: Any, split_size: int, dim: int = 0) -> tuple[Any, ...]:
    """`x` in sections of length `split_size`, the last one shorter: copies, which may be written one by one."""
    length, size = x.shape[normalize_axis_index(dim, x.ndim)], operator.index(split_size)
    if size < 1:
        raise ValueError(f"unsafe_split: the length of a section must be positive, got {size}")
    starts = range(0, max(length, 1), size)
    return tuple(copy(part) for part in split_with_sizes(x, [min(size, length - start) for start in starts], dim))


@composite
def unsafe_chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """`chunk` with copies, which may be written one by one."""
    return tuple(copy(part) for part in chunk(x, chunks, dim))


@composite
def vsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the first axis of an array with at least two."""
    _check_axes("vsplit", x, 2)
    return split(x, indices_or_sections, 0)


@composite
def hsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the second axis, or the only one."""
    _check_axes("hsplit", x, 1)
    return split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


@composite
def dsplit(x: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`split` along the third axis."""
    _check_axes("dsplit", x, 3)
    return split(x, indices_or_sections, 2)


def _check_axes(name: str, x: Any, ndim: int) -> None:
    if x.ndim < ndim:
        raise ValueError(f"{name}: expected at least {ndim} axes, got {x.ndim}")


@composite(aliases=("unstack",))
def unbind(x: Any, axis: int = 0, *, dim: int | None = None) -> tuple[Any, ...]:
    """The elements of `x` along an axis, which is gone in the results: views."""
    axis = normalize_axis_index(axis if dim is None else dim, x.ndim)
    return unpile(x, axis=axis) if x.shape[axis] else ()


def iterate(x: Tensor) -> Iterator[Tensor]:
    """The elements along the first axis: views, and numbers of what stands for an array of NumPy's."""
    if x.ndim == 0:
        raise told(TypeError("a tensor without axes cannot be iterated over"), fix="pb.atleast_1d(x) has an axis")
    if x.ndim == 1 and stands_for_array(x):
        return (x[k] for k in range(x.shape[0]))
    return iter(unbind(x))


members: dict[str, Any] = {"__iter__": iterate}
"""Attributes of `Tensor` that are no functions of the same name."""
