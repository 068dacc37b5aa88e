"""Axes permuted, inserted, dropped and broadcast, and diagonals: views.

What users call accepts every usual spelling: `x.permute(1, 0)`, `x.permute((1, 0))`, `pb.permute_dims(x, axes=(1, 0))`.
Operators see canonical parameters: axes are non-negative, shapes complete. A view is replayed with these parameters on
other values (a gradient, a rewritten base), so nothing may depend on the strides of the operand.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided as strided_view

from pullback._sites import told
from pullback.core.axes import (
    inverse_permutation,
    merge_spellings,
    normalize_axes,
    normalize_axis_index,
    normalize_axis_tuple,
    normalize_shape,
)
from pullback.core.frames import warn
from pullback.core.spec import Spec
from pullback.declare.composite import composite
from pullback.declare.families import primitive, view
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arguments import ANY_NUMBER, along_axis, as_array, called_as, one_sequence
from pullback.tensors.tensor import Tensor

# Permuting axes.


@view(aliases=("permute",), torch="permute")
def permute_dims(x, *, axes):
    """`x` with its axes in the order `axes`, sharing memory."""
    return x.transpose(axes)


@permute_dims.door
@called_as(lambda x, /, axes: None)
def permute_dims_door(x: Any, *order: Any, axes: Any = None, dims: Any = None) -> Any:
    x = as_array(x)
    order = one_sequence("permute_dims", order, merge_spellings("permute_dims: axes/dims", axes, dims))
    order = (order,) if isinstance(order, (int, np.integer)) else tuple(order)
    ndim = x.ndim
    if len(order) != ndim:
        raise ValueError(f"permute_dims: {len(order)} axes were given for an array of {ndim} axes")
    if sorted(order) != list(range(ndim)):
        order = normalize_axis_tuple(order, ndim)
    return (x,), {"axes": order}


permute_dims.shows_each_once = True
permute_dims.shows_all = "axes"


@permute_dims.transpose
def permute_dims_transpose(g, axes):
    return permute_dims(g, axes=inverse_permutation(axes))


@permute_dims.vjp_on_arrays
def permute_dims_pulled(g, axes):
    return g.transpose(_inverse(axes))


_inverse = functools.lru_cache(256)(inverse_permutation)


@permute_dims.batch
def permute_dims_batch(x, *, axes):
    return permute_dims(x, axes=(0, *(axis + 1 for axis in axes)))


@permute_dims.samples
def permute_dims_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((2, 3, 4)),), {"axes": (2, 0, 1)}, "cycle")
    yield Sample((make(()),), {"axes": ()}, "scalar")
    yield Sample((make((0, 3)),), {"axes": (1, 0)}, "empty")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"axes": (1, 0)}, label)


@composite(method=False)
def transpose(x: Any, *order: Any, axes: Any = None) -> Any:
    """`x` with its axes reversed, or in the order `axes`; `swapaxes` exchanges two."""
    if len(order) == 2:  # the order of all axes to one reader, and an exchange to another
        raise told(
            TypeError("transpose: two axes are either the order of all axes or those that are exchanged"),
            fix="swapaxes(x, 0, 1) exchanges two axes, transpose(x, (1, 0)) puts all of them in order",
        )
    return transpose_method(x, *order, axes=axes)


def transpose_method(self: Any, *order: Any, axes: Any = None) -> Any:
    """The axes reversed, or in the order `axes`, which may be given one by one as NumPy's method takes them."""
    order = one_sequence("transpose", order, axes)
    if order is None or (type(order) is tuple and not order):
        order = tuple(range(self.ndim))[::-1]
    return permute_dims(self, axes=order)


@composite(aliases=("swapdims",))
@along_axis
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """`x` with two axes exchanged: a view."""
    ndim = x.ndim
    order = list(range(ndim))
    first, second = normalize_axis_index(axis1, ndim), normalize_axis_index(axis2, ndim)
    order[first], order[second] = second, first
    return permute_dims(x, order)


@composite(aliases=("movedim",))
@along_axis
def moveaxis(x: Any, source: Any, destination: Any) -> Any:
    """`x` with the axes `source` at the places `destination`, the others in their order: a view."""
    sources = normalize_axis_tuple(source, x.ndim, "source")
    destinations = normalize_axis_tuple(destination, x.ndim, "destination")
    if len(sources) != len(destinations):
        raise ValueError("moveaxis: source and destination must have the same number of axes")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(place, axis)
    return permute_dims(x, order)


@composite
def rollaxis(x: Any, axis: int, start: int = 0) -> Any:
    """`x` with an axis moved in front of the one at `start`: a view; `moveaxis` is easier to read."""
    axis = normalize_axis_index(axis, x.ndim)
    start = x.ndim if start == x.ndim else normalize_axis_index(start, x.ndim)
    return moveaxis(x, axis, start - 1 if axis < start else start)


@composite
def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes exchanged: a view."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: a matrix has two axes, and this array has {x.ndim}")
    return swapaxes(x, -1, -2)


@composite
def adjoint(x: Any) -> Any:
    """The conjugate of the matrix transpose; for real `x` the transpose itself, a view."""
    out = matrix_transpose(x)
    return out.conj() if out.dtype.kind == "c" else out


@composite
def t(x: Any) -> Any:
    """The transpose of a matrix; a vector stays a vector."""
    if x.ndim > 2:
        raise ValueError(f"t: expected at most two axes, got {x.ndim}; use permute_dims or mT")
    return transpose(x)


_EXCHANGED = {"axes": (1, 0)}


def _reversed_axes(x: Any) -> Any:
    """The transpose of a matrix; for other numbers of axes all axes reversed, with a warning."""
    if type(x) is Tensor and x.ndim == 2:
        return permute_dims.run((x,), _EXCHANGED)
    if x.ndim != 2:
        warn(
            f".T of an array with {x.ndim} axes reverses all of them; write transpose(x) for that, or .mT for matrices",
            UserWarning,
        )
    return transpose(x)


# Inserting and dropping axes of length 1.


@view(torch="squeeze", batch="shifted")
def squeeze(x, *, axis):
    """`x` without the axes `axis`, which have length 1."""
    return x.squeeze(axis)


@squeeze.door
def squeeze_door(x: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x = as_array(x)
    axis = merge_spellings("squeeze: axis/dim", axis, dim)
    if axis is None:
        return (x,), {"axis": tuple([k for k, length in enumerate(x.shape) if length == 1])}
    axes = _as_axes(axis, x.ndim)
    longer = [x.shape[k] for k in axes if x.shape[k] != 1]
    if longer:
        raise ValueError(f"squeeze: an axis to be dropped has length {longer[0]}, not 1")
    return (x,), {"axis": axes}


@view(aliases=("unsqueeze",), torch="unsqueeze", batch="shifted")
def expand_dims(x, *, axis):
    """`x` with new axes of length 1, which get the numbers `axis` in the result."""
    return x.reshape(_with_ones(x.shape, axis))


def _with_ones(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    lengths = iter(shape)
    return tuple(1 if k in axis else next(lengths) for k in range(len(shape) + len(axis)))


@expand_dims.door
def expand_dims_door(x: Any, axis: Any = None, *, dim: Any = None) -> Any:
    x = as_array(x)
    axis = merge_spellings("expand_dims: axis/dim", axis, dim)
    if axis is None:
        raise TypeError("expand_dims: the position of the new axis is missing")
    count = 1 if isinstance(axis, (int, np.integer)) else len(axis)
    return (x,), {"axis": _as_axes(axis, x.ndim + count)}


def _as_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes in canonical form; one axis that is so already is not worth a call."""
    return (axis,) if type(axis) is int and 0 <= axis < ndim else normalize_axes(axis, ndim)


squeeze.shows_each_once = True
squeeze.shows_all = "in order"


@squeeze.transpose
def squeeze_transpose(g, axis):
    return expand_dims(g, axis=axis)


@squeeze.vjp_on_arrays
def squeeze_pulled(g, x):
    return g.reshape(x.shape)


expand_dims.shows_each_once = True
expand_dims.shows_all = "in order"


@expand_dims.transpose
def expand_dims_transpose(g, axis):
    return squeeze(g, axis=axis)


@expand_dims.vjp_on_arrays
def expand_dims_pulled(g, x):
    return g.reshape(x.shape)


@squeeze.samples
def squeeze_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((1, 3, 1)),), {"axis": (0, 2)}, "two")
    yield Sample((make((2, 3)),), {"axis": ()}, "none")
    yield Sample((make((1, 0)),), {"axis": (0,)}, "empty")
    yield Sample((make((4, 6))[::2, None, ::-1],), {"axis": (1,)}, "strided")
    yield Sample((make((3, 1, 2)).transpose(2, 1, 0),), {"axis": (1,)}, "transposed")
    yield Sample((make(()),), {"axis": ()}, "scalar")


@expand_dims.samples
def expand_dims_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"axis": (1,)}, "middle")
    yield Sample((make(()),), {"axis": (0, 1)}, "scalar")
    yield Sample((make((0,)),), {"axis": (1,)}, "empty")
    yield Sample((make((4, 6))[::2, ::-1],), {"axis": (0, 3)}, "strided")


# Broadcasting.


@view(torch="expand", spec="shape")
def broadcast_to(x, *, shape):
    """`x` repeated along new axes and axes of length 1, without copying: repeated elements have stride 0.

    Writing to repeated elements is refused by the operations that write in place; where nothing is repeated the result
    is an ordinary view.
    """
    if x.shape == shape:
        return x.view()
    extra = len(shape) - x.ndim
    strides = [0] * extra
    for own, length, stride in zip(x.shape, shape[extra:], x.strides, strict=True):
        if own != length and own != 1:
            raise ValueError(f"broadcast_to: {x.shape} does not broadcast to {shape}")
        strides.append(stride if own == length else 0)
    if x.flags.c_contiguous:
        # Seven times faster than np.broadcast_to, and the rule of every sum comes through here.
        return np.ndarray(shape, x.dtype, x, 0, strides)
    return strided_view(x, shape, strides)


@broadcast_to.spelling("array_api")
def broadcast_to_spelling(np_there, x, *, shape):
    return np_there.broadcast_to(x, shape)


broadcast_to.keywords_are_canonical = True  # the rule of every sum comes this way


@broadcast_to.door
@called_as(lambda x, /, shape: None)
def broadcast_to_door(x: Any, *lengths: Any, shape: Any = None) -> Any:
    x = as_array(x)
    lengths = normalize_shape(one_sequence("broadcast_to", lengths, shape))
    if len(lengths) < x.ndim or any(
        own not in (1, length) for own, length in zip(x.shape, lengths[len(lengths) - x.ndim :], strict=True)
    ):
        raise ValueError(f"broadcast_to: {x.shape} does not broadcast to {lengths}")
    return (x,), {"shape": lengths}


@broadcast_to.transpose
def broadcast_to_transpose(g):
    return g  # gradients are summed over broadcast axes where they arrive


@broadcast_to.batch
def broadcast_to_batch(x, *, shape):
    aligned = x.reshape(x.shape[:1] + (1,) * (len(shape) - x.ndim + 1) + x.shape[1:])
    return broadcast_to(aligned, shape=(x.shape[0], *shape))


@broadcast_to.samples
def broadcast_to_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 1)),), {"shape": (2, 3, 4)}, "both")
    yield Sample((make(()),), {"shape": (2, 2)}, "scalar")
    yield Sample((make((2, 3)),), {"shape": (2, 3)}, "same")
    yield Sample((make((1, 3)),), {"shape": (0, 3)}, "empty")
    yield Sample((make((0, 1)),), {"shape": (2, 0, 3)}, "empty-both")
    yield Sample((make((4, 1, 3)).transpose(2, 1, 0),), {"shape": (3, 2, 4)}, "transposed")


@composite
def expand(x: Any, *lengths: Any, size: Any = None) -> Any:
    """`broadcast_to` in which -1 keeps the length of an axis."""
    wanted = normalize_shape(one_sequence("expand", lengths, size))
    extra = len(wanted) - x.ndim
    if extra < 0 or -1 in wanted[:extra]:
        raise ValueError(f"expand: {x.shape} cannot be expanded to {wanted}")
    kept = zip(wanted[extra:], x.shape, strict=True)
    return broadcast_to(x, wanted[:extra] + tuple(own if length == -1 else length for length, own in kept))


@composite(arrays=2)
def expand_as(x: Any, other: Any) -> Any:
    """`x` broadcast to the shape of `other`."""
    return broadcast_to(x, other.shape)


@composite(arrays=ANY_NUMBER, aliases=("broadcast_tensors",), method=False)
def broadcast_arrays(*xs: Any) -> tuple[Any, ...]:
    """All arguments broadcast against each other: views."""
    arrays = tuple(map(as_array, xs))
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return tuple(broadcast_to(x, shape) for x in arrays)


@composite(arrays=0)
def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes broadcast to."""
    return np.broadcast_shapes(*shapes)


# Diagonals.


@view(batch="shifted")
def diagonal(x, *, offset, axis1, axis2):
    """The diagonal of every matrix in the axes `axis1` and `axis2`, as the last axis. It can be written."""
    out = np.diagonal(x, offset, axis1, axis2)
    out.setflags(write=x.flags.writeable)
    return out


@diagonal.spelling("array_api")
def diagonal_spelling(np_there, x, *, offset, axis1, axis2):
    return np_there.diagonal(x, offset, axis1, axis2)


@primitive(name="_from_diagonal", torch="diag_embed", flow="moves", fresh=True, batch="shifted", spec="shape")
def from_diagonal(x, *, shape, offset, axis1, axis2):
    """Zeros of `shape` with `x` on the diagonals."""
    out = np.zeros(shape, x.dtype)
    diagonal.kernel(out, offset=offset, axis1=axis1, axis2=axis2)[...] = x
    return out


@diagonal.door
def diagonal_door(
    x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dim1: int | None = None, dim2: int | None = None
) -> Any:
    x = as_array(x)
    first = normalize_axis_index(axis1 if dim1 is None else dim1, x.ndim)
    second = normalize_axis_index(axis2 if dim2 is None else dim2, x.ndim)
    if first == second:
        raise ValueError(f"diagonal: the two axes must differ, both are {first}")
    return (x,), {"offset": operator.index(offset), "axis1": first, "axis2": second}


diagonal.shows_each_once = True


@diagonal.transpose
def diagonal_transpose(g, x: Spec, offset, axis1, axis2):
    return from_diagonal(g, shape=x.shape, offset=offset, axis1=axis1, axis2=axis2)


@from_diagonal.transpose
def from_diagonal_transpose(g, offset, axis1, axis2):
    return diagonal(g, offset=offset, axis1=axis1, axis2=axis2)


diagonal.refuses("a diagonal has two axes", "0-d")


@diagonal.samples
def diagonal_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"offset": 0, "axis1": 0, "axis2": 1}, "wide")
    yield Sample((make((4, 2, 3)),), {"offset": -1, "axis1": 2, "axis2": 0}, "inside")
    yield Sample((make((2, 2)),), {"offset": 5, "axis1": 0, "axis2": 1}, "outside")
    yield Sample((make((0, 3)),), {"offset": 0, "axis1": 0, "axis2": 1}, "empty")
    for label, array in layouts(make((3, 3))):
        yield Sample((array,), {"offset": 1, "axis1": 0, "axis2": 1}, label)


@from_diagonal.samples
def from_diagonal_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3,)),), {"shape": (3, 4), "offset": 0, "axis1": 0, "axis2": 1}, "wide")
    yield Sample((make((2, 2)),), {"shape": (4, 2, 3), "offset": -1, "axis1": 2, "axis2": 0}, "inside")
    yield Sample((make((0,)),), {"shape": (0, 3), "offset": 0, "axis1": 0, "axis2": 1}, "empty")


@composite
def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Square matrices of zeros with the last axis of `x` on their diagonals."""
    x = x if x.ndim else x.reshape(1)
    ndim, side = x.ndim + 1, x.shape[-1] + abs(offset)
    first, second = normalize_axis_index(dim1, ndim), normalize_axis_index(dim2, ndim)
    lengths = iter(x.shape[:-1])
    shape = tuple(side if axis in (first, second) else next(lengths) for axis in range(ndim))
    return from_diagonal(x, shape=shape, offset=operator.index(offset), axis1=first, axis2=second)


@composite
def diag(x: Any, k: int = 0) -> Any:
    """The matrix with a vector on its diagonal, or a copy of the diagonal of a matrix."""
    if x.ndim == 1:
        return diag_embed(x, k)
    if x.ndim != 2:
        raise ValueError(f"diag: expected a vector or a matrix, got {x.ndim} axes")
    return diagonal(x, k).copy()


@composite
def diagflat(x: Any, k: int = 0, *, offset: int | None = None) -> Any:
    """The matrix with all elements of `x` on its diagonal, or on the one `k` places above it (torch: `offset`)."""
    return diag_embed(x.reshape(-1), k if offset is None else offset)


members: dict[str, Any] = {
    "transpose": transpose_method,
    "T": property(_reversed_axes),
    "mT": property(matrix_transpose, doc="The matrix transpose: the last two axes exchanged."),
    "H": property(adjoint, doc="The conjugate transpose."),
    "mH": property(adjoint, doc="The conjugate transpose of the last two axes."),
}
"""Attributes of `Tensor` that are no functions of the same name."""
