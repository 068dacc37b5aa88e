"""The operators behind `x[index]` and `x[index] = value`.

A basic index (ints, slices, None, Ellipsis) is a view. An index with arrays copies; it reaches the operators as a
`template`, which says what stands in each place, and the integer arrays for the places marked ARRAY. `distinct`
promises that no element is addressed twice. Results are laid out as in NumPy, where an int next to arrays counts as
one of them: adjacent arrays leave their axes in their place, separated ones move them to the front.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.spec import Spec, is_complex_dtype, spec_for
from pullback.core.state import current
from pullback.declare.families import primitive, view
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.elementwise.comparison import where
from pullback.payloads.evaluate import is_traced
from pullback.tensors.tensor import Tensor

ARRAY = "array"
"""Marks the place of an array in a template."""

Template = tuple[Any, ...]
ROWS: Template = (ARRAY,)


# Basic indices.


def stands_for_array(x: Tensor) -> bool:
    """Does eager code have an array of NumPy's in place of this tensor of a trace?"""
    trace = current().trace
    return trace is not None and is_traced(x._data) and bool(trace.stands_for_array(x))


@view(name="_basic_index", torch="slice", group="index")
def basic_view(x, *, index):
    """`x[index]`, sharing memory."""
    return x[index]


@primitive(name="_place_slice", torch="slice_backward", flow="moves", price="add", spec="shape", group="index")
def place_slice(x, *, index, shape):
    """Zeros of `shape` with `x` at `[index]`."""
    out = np.zeros(shape, x.dtype)
    out[index] = x
    return out


basic_view.shows_each_once = True


@basic_view.transpose
def basic_view_transpose(g, x: Spec, index):
    return place_slice(g, index=index, shape=x.shape)


@basic_view.vjp_on_arrays
def basic_view_pulled(g, x: Spec, index):
    out = np.zeros(x.shape, g.dtype)
    out[index] = g
    return out


@place_slice.transpose
def place_slice_transpose(g, index):
    return basic_view(g, index=index)


@basic_view.batch
def basic_view_batch(x, *, index):
    return basic_view(x, index=(slice(None), *index))


@place_slice.batch
def place_slice_batch(x, *, index, shape):
    return place_slice(x, index=(slice(None), *index), shape=(x.shape[0], *shape))


@basic_view.samples
def basic_view_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"index": (1, ...)}, "int")
    yield Sample((make((3, 4)),), {"index": (-1, 2, ...)}, "element")
    yield Sample((make((5, 4)),), {"index": (slice(4, None, -2), None, slice(1, 3), ...)}, "slices")
    yield Sample((make((2, 3, 4)),), {"index": (..., 0)}, "last")
    yield Sample((make(()),), {"index": (None, ...)}, "scalar")
    yield Sample((make((3,)),), {"index": (slice(3, None), ...)}, "empty")
    yield Sample((make((0, 3)),), {"index": (slice(None), 1, ...)}, "of-empty")
    yield Sample((make((3,), np.complex128),), {"index": (slice(0, 2), ...)}, "complex")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"index": (slice(1, None), slice(None, None, 2), ...)}, label)


@place_slice.samples
def place_slice_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((4,)),), {"index": (1, ...), "shape": (3, 4)}, "int")
    index = (slice(None, None, 2), None, slice(1, 3), ...)
    yield Sample((make((3, 1, 2)),), {"index": index, "shape": (5, 4)}, "slices")
    yield Sample((make((0,)),), {"index": (slice(3, None), ...), "shape": (3,)}, "empty")
    yield Sample((make(()),), {"index": (1, 2, ...), "shape": (2, 3)}, "scalar")


# Indices with arrays.


@primitive(name="_index", torch="index", flow="gathers", layout="kernel")
def index_arrays(x, *arrays, template, distinct):
    """`x[index]` for an index with arrays: a copy."""
    axis = _only_axis(template)
    if axis is not None:
        # Two to three times faster than the general way.
        return x.take(arrays[0] if arrays[0].dtype.kind == "i" else arrays[0].astype(np.int64), axis)
    cells = _cells(x, arrays, template)
    if cells is not None:
        return x.reshape(-1).take(cells)
    out = x[index_key(template, arrays)]
    return out if any(array.ndim for array in arrays) else np.array(out)


def _saved_indices(node: Any) -> tuple[Any, ...]:
    """The arrays of an index by axis, None for an axis that another kind of index takes: torch's name for them."""
    kept = zip(node.saved_operands[1:], node.statics[1:] or (None,) * len(node.saved_operands), strict=False)
    arrays = iter([static if handle is None else handle for handle, static in kept])
    template = node.params["template"]
    taken = sum(part is not None and part is not Ellipsis for part in template)
    indices: list[Any] = []
    for part in template:
        if part is Ellipsis:
            indices += [None] * (node.operand_specs[0].ndim - taken)
        elif part is not None:
            indices.append(next(arrays) if type(part) is str else None if type(part) is slice else part)
    return tuple(indices)


index_arrays.saved_aliases["indices"] = _saved_indices


@primitive(name="_index_add", torch="index_backward", flow="collects", fresh=True, spec="shape", group="index")
def index_add_to_zeros(x, *arrays, template, shape, distinct):
    """Zeros of `shape` to which `x` is added at an index with arrays: the adjoint of reading there."""
    out = np.zeros(shape, x.dtype)
    if not distinct:
        if len(arrays) == len(template) and x.size < _FEW:
            np.add.at(out, arrays, x)  # `_add_at` without its questions
        else:
            _add_at(out, arrays, template, x)
        return out
    cells = _cells(out, arrays, template)
    if cells is not None:
        out.reshape(-1)[cells] = x
    else:
        out[index_key(template, arrays)] = x
    return out


def _add_to_places(total: Any, g: Any, arrays: tuple[Any, ...], template: Template, distinct: bool) -> None:
    if distinct:
        total[index_key(template, arrays)] += g
    elif g.size < _FEW:
        np.add.at(total, index_key(template, arrays), g)
    else:
        _add_at(total, arrays, template, g)


index_arrays.add_at = _add_to_places


@primitive(name="_index_put", torch="index_put", flow="puts", complex="each", fresh=True, spec="same")
def index_put_arrays(x, v, *arrays, template, accumulate, distinct):
    """`x` with `v` stored at an index with arrays, or added there; of several values for one element the last stays."""
    out = x.copy()
    _store(out, v, *arrays, template=template, accumulate=accumulate, distinct=distinct)
    return out


@primitive(name="_last_writers", recompute="bearable")
def last_writers(*arrays, template, shape):
    """True for each value of a write to an array of `shape` that no later value of the same write replaces."""
    key = index_key(template, arrays)
    numbers = np.empty(shape, np.int64)
    written = indexed_shape(shape, arrays, template)
    own = np.arange(math.prod(written)).reshape(written)
    numbers[key] = own
    return numbers[key] == own


last_writers.not_differentiable("returns truth values")


@index_put_arrays.inplace
def _store(x: Any, v: Any, *arrays: Any, template: Template, accumulate: bool, distinct: bool) -> None:
    if accumulate:
        _add_at(x, arrays, template, v)
        return
    key = index_key(template, arrays)
    if not distinct and np.ndim(v):
        # NumPy writes in the order of memory. In row-major order the last value is the last one written.
        shape = indexed_shape(x.shape, arrays, template)
        if v.shape != shape or not v.flags.c_contiguous:
            v = np.ascontiguousarray(np.broadcast_to(v, shape))
    x[key] = v


def index_key(template: Template, arrays: tuple[Any, ...]) -> Any:
    """The index that NumPy understands. An array alone, and not in a tuple, takes it half the time."""
    if len(arrays) == len(template):
        return arrays[0] if len(arrays) == 1 else tuple(arrays)
    rest = iter(arrays)
    return tuple([next(rest) if type(part) is str else part for part in template])


def _only_axis(template: Template) -> int | None:
    """The axis of the only array, if the rest of the template takes everything as it is."""
    if len(template) == 1:
        return 0 if type(template[0]) is str else None
    axis = None
    for position, part in enumerate(template):
        if type(part) is str:
            if axis is not None or any(before is Ellipsis for before in template[:position]):
                return None
            axis = position
        elif not (part is Ellipsis or (type(part) is slice and part == slice(None))):
            return None
    return axis


# Below this size, finding out about an index takes longer than what is gained.
_LARGE = 1 << 10
# Fewer elements than this are added one by one, by NumPy's general loop.
_FEW = 1 << 8
# Rows that are read more often than this are not added in rounds.
_ROUNDS = 8


def _cells(x: Any, arrays: tuple[Any, ...], template: Template) -> Any:
    """Where an index of one array for each axis points in the flat `x`; None if there is no gain, or an error to raise.

    One flat index is read and written two to three times faster than several.
    """
    if len(arrays) < 2 or len(arrays) != x.ndim or len(template) != x.ndim or not x.flags.c_contiguous:
        return None
    if all(array.size < _LARGE for array in arrays) or not x.size:
        return None
    cells: Any = 0
    step = x.size
    for array, length in zip(arrays, x.shape, strict=True):
        step //= length
        if array.dtype.kind != "i" or not array.size or array.max() >= length or (lowest := array.min()) < -length:
            return None
        array = array if lowest >= 0 else np.where(array < 0, array + length, array)
        cells = cells + (array if step == 1 else array * step)
    return cells


def take_from_rows(x: Any, places: Any) -> Any:
    """`x[i, places[i, j]]` for matrices."""
    return x.ravel().take(places + (np.arange(len(x)) * x.shape[1])[:, None])


def _add_at(out: Any, arrays: tuple[Any, ...], template: Template, values: Any) -> None:
    if out.ndim == 1 or not isinstance(out, np.ndarray) or not out.flags.c_contiguous or np.size(values) < _FEW:
        np.add.at(out, index_key(template, arrays), values)
        return
    if _only_axis(template) == 0 and arrays[0].size and _add_rows(out, arrays[0], values):
        return
    # On flat arrays NumPy has a loop of its own for this, four to six times faster.
    cells = _cells(out, arrays, template)
    if cells is None:
        cells = np.arange(out.size).reshape(out.shape)[index_key(template, arrays)]
    np.add.at(out.reshape(-1), cells.reshape(-1), np.broadcast_to(values, cells.shape).reshape(-1))


def _add_rows(out: Any, rows: Any, values: Any) -> bool:
    """Add rows to rows: first all that come first in their row, then all that come second, and so on.

    Says whether it did. Few rounds of whole rows are several times faster than additions one by one; where a row comes
    up very often, or rows are short, there are too many.
    """
    width = out[0].size if len(out) else 0
    if width < 8 or rows.dtype.kind != "i" or rows.size * width < _LARGE:
        return False
    wanted = (*rows.shape, *out.shape[1:])
    rows = rows.reshape(-1)
    if rows.min() < -len(out) or rows.max() >= len(out):
        return False
    rows = rows % len(out)
    order = rows.argsort(kind="stable")
    ordered = rows[order]
    is_first = np.empty(len(rows), bool)
    is_first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    starts = is_first.nonzero()[0]
    number = np.arange(len(rows)) - np.repeat(starts, np.diff(starts, append=len(rows)))
    if number.max() >= _ROUNDS:
        return False
    values = np.broadcast_to(values, wanted).reshape((len(rows), *out.shape[1:]))
    for turn in range(number.max() + 1):
        chosen = number == turn
        target = ordered[chosen]
        out[target] += values.take(order[chosen], axis=0)
    return True


def is_advanced(part: Any) -> bool:
    """Does this part of a template count as an array? Next to arrays an int does."""
    return type(part) is str or type(part) is int


def axes_before(template: Template, ndim: int) -> int:
    """How many axes of the result come before those of the arrays."""
    places = [place for place, part in enumerate(template) if is_advanced(part)]
    if places[-1] - places[0] + 1 != len(places):
        return 0
    return sum(_spanned(template, ndim) if part is Ellipsis else 1 for part in template[: places[0]])


def _spanned(template: Template, ndim: int) -> int:
    """How many axes the Ellipsis of a template stands for."""
    return ndim - sum(part is not None and part is not Ellipsis for part in template)


def indexed_shape(shape: tuple[int, ...], arrays: Any, template: Template) -> tuple[int, ...]:
    """The shape of `x[index]`."""
    if template == ROWS:
        return (*arrays[0].shape, *shape[1:])
    ndim, axis = len(shape), 0
    lengths: list[int] = []
    for part in template:
        if part is None:
            lengths.append(1)
        elif part is Ellipsis:
            span = _spanned(template, ndim)
            lengths.extend(shape[axis : axis + span])
            axis += span
        else:
            if type(part) is slice:
                lengths.append(len(range(*part.indices(shape[axis]))))
            axis += 1
    before = axes_before(template, ndim)
    common = np.broadcast_shapes(*(array.shape for array in arrays))
    return (*lengths[:before], *common, *lengths[before:], *shape[axis:])


@index_arrays.spec
def index_arrays_spec(x, *arrays, template, distinct):
    return spec_for(indexed_shape(x.shape, arrays, template), x.dtype)


@last_writers.spec
def last_writers_spec(*arrays, template, shape):
    return spec_for(indexed_shape(shape, arrays, template), np.dtype(bool))


@index_arrays.transpose_of("x")
def index_transpose(g, x: Spec, arrays, template, distinct):
    if type(g) is np.ndarray and all(type(array) is np.ndarray for array in arrays):
        return index_add_to_zeros.kernel(g, *arrays, template=template, shape=x.shape, distinct=distinct)
    return index_add_to_zeros(g, *arrays, template=template, shape=x.shape, distinct=distinct)


@index_add_to_zeros.transpose_of("x")
def index_add_transpose(g, arrays, template, distinct):
    return index_arrays(g, *arrays, template=template, distinct=distinct)


@index_put_arrays.vjp
def index_put_vjp(g, arrays, template, accumulate, distinct, needs):
    g_x = g_v = None
    if needs[0]:
        g_x = g if accumulate else index_put_arrays(
            g, 0, *arrays, template=template, accumulate=False, distinct=distinct
        )  # fmt: skip
    if needs[1]:
        g_v = index_arrays(g, *arrays, template=template, distinct=distinct)
        if not distinct and not accumulate:
            g_v = where(last_writers(*arrays, template=template, shape=g.shape), g_v, 0)
    return (g_x, g_v, *(None for _ in arrays))


@index_put_arrays.vjp_on_arrays
def index_put_pulled(g, arrays, template, accumulate, distinct, needs):
    g_x = g if accumulate else g.copy()
    g_v = _take_out(g_x, arrays, template, accumulate, distinct)
    return (g_x if needs[0] else None, g_v if needs[1] else None, *(None for _ in arrays))


def _take_out(g: Any, arrays: tuple[Any, ...], template: Template, accumulate: bool, distinct: bool) -> Any:
    """The gradient of the values, of which `g` loses what they have written over."""
    key = index_key(template, arrays)
    g_v = g[key]
    if accumulate:
        return g_v
    if not distinct and not _are_distinct(arrays):
        g_v = np.where(last_writers.kernel(*arrays, template=template, shape=g.shape), g_v, 0)
    g[key] = 0
    return g_v


def _are_distinct(arrays: tuple[Any, ...]) -> bool:
    """Does one array of few integers name no place twice? False if that takes longer to find out than it gains."""
    if len(arrays) != 1 or arrays[0].size >= _FEW:
        return False
    places = arrays[0].ravel().tolist()
    return len(set(places)) == len(places) and (not places or min(places) >= 0)


index_put_arrays.take_out = _take_out


@index_put_arrays.jvp
def index_put_jvp(t_x, t_v, x, arrays, template, accumulate, distinct):
    t_x = np.zeros(x.shape, x.dtype) if t_x is None else t_x
    t_v = 0 if t_v is None else t_v.real if is_complex_dtype(t_v.dtype) and not is_complex_dtype(x.dtype) else t_v
    return index_put_arrays(t_x, t_v, *arrays, template=template, accumulate=accumulate, distinct=distinct)


# Batching: the number of the example becomes one more array in front, which puts all arrays' axes to the front.


def _batched(arrays: tuple[Any, ...], template: Template) -> tuple[list[Any], Template, int]:
    """The arrays with the example's number, their template, and how many axes they have in one example."""
    rank = max(array.ndim for array in arrays) - 1
    size = arrays[0].shape[0]
    aligned = [array.reshape((size,) + (1,) * (rank + 1 - array.ndim) + array.shape[1:]) for array in arrays]
    return [np.arange(size).reshape((size,) + (1,) * rank), *aligned], (ARRAY, *template), rank


def _arrays_first(x: Any, before: int, rank: int) -> Any:
    return moveaxis(x, range(1 + before, 1 + before + rank), range(1, 1 + rank))


def _arrays_in_place(x: Any, before: int, rank: int) -> Any:
    return moveaxis(x, range(1, 1 + rank), range(1 + before, 1 + before + rank))


@index_arrays.batch
def index_batch(x, *arrays, template, distinct):
    parts, longer, rank = _batched(arrays, template)
    out = index_arrays(x, *parts, template=longer, distinct=distinct)
    return _arrays_in_place(out, axes_before(template, x.ndim - 1), rank)


@index_add_to_zeros.batch
def index_add_batch(x, *arrays, template, shape, distinct):
    parts, longer, rank = _batched(arrays, template)
    x = _arrays_first(x, axes_before(template, len(shape)), rank)
    return index_add_to_zeros(x, *parts, template=longer, shape=(x.shape[0], *shape), distinct=distinct)


@index_put_arrays.batch
def index_put_batch(x, v, *arrays, template, accumulate, distinct):
    parts, longer, rank = _batched(arrays, template)
    if hasattr(v, "ndim"):
        one = spec_for(x.shape[1:], x.dtype)
        ndim = len(indexed_shape(one.shape, [spec_for(array.shape[1:], array.dtype) for array in arrays], template))
        v = v.reshape(v.shape[:1] + (1,) * (ndim + 1 - v.ndim) + v.shape[1:])
        v = _arrays_first(v, axes_before(template, one.ndim), rank)
    return index_put_arrays(x, v, *parts, template=longer, accumulate=accumulate, distinct=distinct)


@last_writers.batch
def last_writers_batch(*arrays, template, shape):
    parts, longer, rank = _batched(arrays, template)
    out = last_writers(*parts, template=longer, shape=(arrays[0].shape[0], *shape))
    return _arrays_in_place(out, axes_before(template, len(shape)), rank)


def _index_cases(make: Maker) -> Iterator[tuple[str, tuple[int, ...], tuple[Any, ...], Template]]:
    """Label, shape of the array, index arrays, template."""
    rows, columns = np.array([0, 2, 0]), np.array([1, -1, 1])
    yield "rows", (3, 4), (rows,), (ARRAY,)
    yield "columns", (2, 3), (np.array([[0, 2], [2, 1]]),), (slice(None), ARRAY)
    yield "pairs", (3, 4), (rows, columns), (ARRAY, ARRAY)
    yield "mesh", (3, 4), (rows[:, None], columns[None, :]), (ARRAY, ARRAY)
    yield "apart", (3, 2, 4), (rows, columns), (ARRAY, slice(None, None, -1), ARRAY)
    yield "inside", (2, 3, 4), (rows, columns), (slice(1, None), None, ARRAY, ARRAY)
    yield "with-int", (2, 3, 4), (rows,), (slice(None), ARRAY, 1)
    yield "int-apart", (2, 3, 4), (columns,), (0, ..., ARRAY)
    yield "nothing", (3, 2), (np.zeros(0, int),), (ARRAY,)


@index_arrays.samples
def index_samples(make: Maker) -> Iterator[Sample]:
    for label, shape, arrays, template in _index_cases(make):
        yield Sample((make(shape), *arrays), {"template": template, "distinct": False}, label)
    params = {"template": (ARRAY,), "distinct": True}
    yield Sample((make((4,), np.complex128), np.array([3, 0])), params, "distinct")
    yield Sample((make((4, 2), np.float32), np.array(3)), {**params, "distinct": False}, "lone")


@index_add_to_zeros.samples
def index_add_samples(make: Maker) -> Iterator[Sample]:
    for label, shape, arrays, template in _index_cases(make):
        values = make(indexed_shape(shape, arrays, template))
        yield Sample((values, *arrays), {"template": template, "shape": shape, "distinct": False}, label)
    yield Sample((make((2,)), np.array([3, 0])), {"template": (ARRAY,), "shape": (4,), "distinct": True}, "distinct")


@index_put_arrays.samples
def index_put_samples(make: Maker) -> Iterator[Sample]:
    for label, shape, arrays, template in _index_cases(make):
        params = {"template": template, "accumulate": False, "distinct": False}
        values = make(indexed_shape(shape, arrays, template))
        yield Sample((make(shape), values, *arrays), params, label)
        yield Sample((make(shape), make(()), *arrays), params, f"{label}-scalar")
        yield Sample((make(shape), values, *arrays), {**params, "accumulate": True}, f"{label}-added")
    params = {"template": (ARRAY,), "accumulate": False, "distinct": True}
    yield Sample((make((4, 2)), make((2,)), np.array([3, 0])), params, "distinct")
    yield Sample((make((4,)), 1.5, np.array([3, 3])), {**params, "distinct": False}, "number")
    yield Sample((make((4,), np.complex128), make((2,)), np.array([3, 3])), {**params, "distinct": False}, "complex")


@last_writers.samples
def last_writers_samples(make: Maker) -> Iterator[Sample]:
    for label, shape, arrays, template in _index_cases(make):
        yield Sample(arrays, {"template": template, "shape": shape}, label)
