"""The largest and smallest elements, and where they are.

Without an index there is no preferred one among equal elements, so `amax` and `amin` share the gradient between them.
Where an index is part of the answer (`max_with_indices`), or is meant by naming one axis (`max`), the element at that
index gets it all.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes, normalize_axis_index
from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import primitive, reduced_shape, reduction
from pullback.declare.op import Op, Rule
from pullback.declare.samples import Maker, Sample
from pullback.operators.arguments import as_array, is_constant
from pullback.operators.elementwise.comparison import choose, isnan, where
from pullback.operators.reductions.reduction import sum

# From this size on a gradient is written to the elements that get one.
_LARGE = 1 << 10


def _extreme(name: str, ufunc: np.ufunc, doc: str) -> Op:
    def kernel(x, *, axis, keepdims=False):
        return ufunc.reduce(x, axis, None, None, keepdims)  # type: ignore[call-arg]

    kernel.__doc__ = doc
    op: Op = reduction(
        kernel, name=name, distinct=True, empty=False, complex_domain=True, price="add", folds=ufunc
    )

    @op.vjp
    def vjp(g, x, out, axis):
        # Equal elements share the gradient. If the result is NaN, so is every element that made it NaN.
        reached = (x == out) | isnan(x)
        return where(reached, g / sum(reached, axis=axis, keepdims=True, dtype=g.dtype.type), 0)

    @op.vjp_on_arrays
    def pulled(g, x, out, axis):
        reached = x == out
        number = np.add.reduce(reached, axis, g.dtype, None, True)  # type: ignore[call-overload]
        if not np.logical_and.reduce(number, None):  # only of NaN
            return vjp(g, x, out, axis)
        return choose(reached, g / number, 0)

    @op.jvp
    def jvp(t_x, x, out, axis):
        reached = (x == out) | isnan(x)
        number = sum(reached, axis=axis, keepdims=True, dtype=t_x.dtype.type)
        return sum(where(reached, t_x, 0), axis=axis, keepdims=True) / number

    return op


amax = _extreme("amax", np.maximum, "The largest element over `axis`; equal ones share the gradient, as do NaNs.")
amin = _extreme("amin", np.minimum, "The smallest element over `axis`; equal ones share the gradient, as do NaNs.")


def _flat(indices: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Where the elements that `indices` point to along `axis` lie in the flat array."""
    offsets, step = _offsets(shape, axis)
    return indices * step + offsets


@functools.lru_cache(256)
def _offsets(shape: tuple[int, ...], axis: int) -> tuple[Any, int]:
    """Where the first elements along `axis` lie in the flat array, and how far they are from the next."""
    step = math.prod(shape[axis + 1 :])
    others = shape[:axis] + shape[axis + 1 :]
    starts = np.arange(math.prod(shape[:axis]))[:, None] * (shape[axis] * step) + np.arange(step)
    return starts.reshape(others), step


def _with_indices(name: str, positions: Callable[..., Any], doc: str) -> Op:
    def kernel(x, *, axis, keepdims):
        indices = positions(x, axis, keepdims=True)
        values = np.take_along_axis(x, indices, axis)
        return (values, indices) if keepdims else (np.squeeze(values, axis), np.squeeze(indices, axis))

    kernel.__doc__ = doc
    op: Op = primitive(kernel, name=name, outputs=("values", "indices"), torch=name.partition("_")[0], flow="reduces")
    op.along_axis = True

    @op.kernel_on_arrays
    def quick(x, *, axis, keepdims):
        if keepdims or not x.flags.c_contiguous or not x.size:
            return kernel(x, axis=axis, keepdims=keepdims)
        indices = np.asarray(positions(x, axis))
        return np.asarray(x.reshape(-1).take(_flat(indices, x.shape, axis))), indices

    @op.door
    def door(x: Any, axis: int = -1, keepdims: bool = False, *, dim: Any = None, keepdim: Any = None) -> Any:
        x, axis = as_array(x), axis if dim is None else dim
        keepdims = keepdims if keepdim is None else keepdim
        return (x,), {"axis": normalize_axis_index(axis, x.ndim), "keepdims": bool(keepdims)}

    def selected(indices: Any, shape: tuple[int, ...], axis: int) -> Any:
        """True at the elements that `indices` point to."""
        kept = indices.reshape(reduced_shape(shape, (axis,), True))
        return kept == np.arange(shape[axis]).reshape((-1,) + (1,) * (len(shape) - axis - 1))

    def vjp(g_values, indices, x, axis):
        g = g_values.reshape(reduced_shape(x.shape, (axis,), True))
        if type(g) is type(indices) is np.ndarray and math.prod(x.shape) >= _LARGE:
            # One write for each result, where the formula below compares and chooses for each element.
            out = np.zeros(x.shape, g.dtype)
            np.put_along_axis(out, indices.reshape(g.shape), g, axis)
            return out
        return where(selected(indices, x.shape, axis), g, 0)

    # The rule reads no more of x than its shape, although the op is not linear in it.
    op.joint = Rule(op, vjp, specs=(0,))

    @op.vjp_on_arrays
    def pulled(g_values, indices, x, axis):
        if g_values is None:
            return None
        out = np.zeros(x.shape, g_values.dtype)
        if out.size:
            flat = indices.reshape(g_values.shape) if indices.ndim == x.ndim - 1 else np.squeeze(indices, axis)
            out.reshape(-1)[_flat(flat, x.shape, axis)] = g_values.reshape(flat.shape)
        return out

    @op.jvp
    def jvp(t_x, indices, axis, keepdims):
        chosen = where(selected(indices, t_x.shape, axis), t_x, 0)
        return sum(chosen, axis=axis, keepdims=keepdims), None

    @op.expand(in_rows=True)
    def parts(x, *, axis, keepdims):
        largest, where_it_is = (amax, argmax) if positions is np.argmax else (amin, argmin)
        return largest(x, axis=(axis,), keepdims=keepdims), where_it_is(x, axis=axis, keepdims=keepdims)

    @op.spec
    def spec(x, *, axis, keepdims):
        if x.shape[axis] == 0:
            positions(np.empty(x.shape), axis)  # an error, also where nobody reads the result
        shape = reduced_shape(x.shape, (axis,), keepdims)
        return spec_for(shape, x.dtype), spec_for(shape, np.dtype(np.intp))

    @op.batch
    def batch(x, *, axis, keepdims):
        return op(x, axis=axis + 1, keepdims=keepdims)

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample((make.distinct((5,)),), {"axis": 0, "keepdims": False}, "vector")
        yield Sample((make.distinct((3, 4)),), {"axis": 1, "keepdims": True}, "keepdims")
        yield Sample((make.distinct((2, 3, 4)),), {"axis": 1, "keepdims": False}, "middle")
        yield Sample((make.integers(0, 9, (3, 4)),), {"axis": 0, "keepdims": False}, "integers")
        yield Sample((make((3, 4), np.complex128),), {"axis": 0, "keepdims": False}, "complex")
        yield Sample((make((3, 0)),), {"axis": 0, "keepdims": True}, "empty")

    return op


max_with_indices = _with_indices(
    "max_with_indices", np.argmax,
    "The largest elements along `axis` and where they are, the first of equal ones, which gets the gradient.",
)  # fmt: skip
min_with_indices = _with_indices(
    "min_with_indices", np.argmin,
    "The smallest elements along `axis` and where they are, the first of equal ones, which gets the gradient.",
)  # fmt: skip


def _extreme_value(
    x: Any, axis: Any, keepdims: bool, dim: Any, keepdim: Any, over_axes: Op, with_indices: Op
) -> Any:
    if dim is not None:
        axis = merge_spellings("axis/dim", axis, dim)
    keepdims = keepdims if keepdim is None else keepdim
    if axis is None or not x.ndim or is_constant(x):
        return over_axes.function(x, axis, keepdims)  # nobody will ask which of equal elements it was
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    if isinstance(axis, (tuple, list)):
        return over_axes(x, axis, keepdims)
    return with_indices(x, axis, keepdims)[0]


@composite
def max(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: Any = None) -> Any:
    """The largest element over `axis`.

    Of several equal ones, the first gets the gradient if there is one axis; if there is none, or more than one, they
    share it. `amax` always shares, `max_with_indices` also says where the element is.
    """
    return _extreme_value(x, axis, keepdims, dim, keepdim, amax, max_with_indices)


@composite
def min(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: Any = None) -> Any:
    """The smallest element over `axis`. Equal elements are treated as by `max`."""
    return _extreme_value(x, axis, keepdims, dim, keepdim, amin, min_with_indices)


def _arg_extreme(name: str, kernel: Callable[..., Any], doc: str) -> Op:
    def positions(x, *, axis, keepdims):
        return kernel(x, axis, keepdims=keepdims)

    positions.__doc__ = doc
    op: Op = primitive(positions, name=name, flow="reduces")
    op.not_differentiable("its results are positions")

    @op.door
    def door(x: Any, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: Any = None) -> Any:
        x, axis = as_array(x), merge_spellings(f"{name}: axis/dim", axis, dim)
        if axis is not None:
            axis = next(iter(normalize_axes(operator.index(axis), x.ndim)), None)
        return (x,), {"axis": axis, "keepdims": bool(keepdims if keepdim is None else keepdim)}

    @op.spec
    def spec(x, *, axis, keepdims):
        axes = tuple(range(x.ndim)) if axis is None else (axis,)
        if 0 in [x.shape[k] for k in axes]:
            kernel(np.empty(x.shape), axis)  # an error, also where nobody reads the position
        return spec_for(reduced_shape(x.shape, axes, keepdims), np.dtype(np.intp))

    @op.batch
    def batch(x, *, axis, keepdims):
        if axis is not None:
            return op(x, axis=axis + 1, keepdims=keepdims)
        found = op(x.reshape((x.shape[0], -1)), axis=1)
        return found.reshape((-1,) + (1,) * (x.ndim - 1)) if keepdims else found

    @op.samples
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample((make((5,)),), {"axis": 0, "keepdims": False}, "vector")
        yield Sample((make((3, 4)),), {"axis": None, "keepdims": False}, "flat")
        yield Sample((make((3, 4)),), {"axis": None, "keepdims": True}, "flat-keepdims")
        yield Sample((make.integers(0, 9, (3, 4)),), {"axis": 1, "keepdims": True}, "keepdims")
        yield Sample((make((3, 4), np.complex128),), {"axis": 1, "keepdims": False}, "complex")
        yield Sample((make(()),), {"axis": None, "keepdims": False}, "scalar")
        yield Sample((make((3, 0)),), {"axis": 0, "keepdims": True}, "empty")

    return op


argmax = _arg_extreme(
    "argmax", np.argmax, "Where the largest element is along `axis`, or in the flat array; the first of equal ones."
)
argmin = _arg_extreme(
    "argmin", np.argmin, "Where the smallest element is along `axis`, or in the flat array; the first of equal ones."
)
