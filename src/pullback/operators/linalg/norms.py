"""Norms: `vector_norm` with a rule of its own, `matrix_norm`, `norm` and `cond` made of it and of singular values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings, normalize_axes, normalize_axis_index
from pullback.core.spec import is_complex_dtype
from pullback.declare.composite import composite
from pullback.declare.families import reduction
from pullback.declare.samples import Maker, Sample
from pullback.operators.arrays.movement import moveaxis
from pullback.operators.elementwise.arithmetic import sqrt
from pullback.operators.elementwise.comparison import where
from pullback.operators.elementwise.complex_numbers import abs as absolute
from pullback.operators.elementwise.complex_numbers import conjugated, sign
from pullback.operators.linalg.solve import check_square, inverse
from pullback.operators.linalg.spectra import singular_values
from pullback.operators.reductions.extremes import amax, amin
from pullback.operators.reductions.reduction import sum


@reduction(
    name="_linalg_vector_norm", torch="linalg_vector_norm",
    complex=lambda x, **how: lengths(np.hypot(x.real, x.imag), **how),
)  # fmt: skip
def lengths(x, *, axis, ord=2.0):
    """The `ord`-norm over `axis`."""
    if x.dtype.kind not in "fc":
        x = x.astype(np.float64)
    if ord == 2 and x.dtype.char in "fd" and len(axis) == x.ndim and x.flags.c_contiguous:
        flat = x.reshape(-1)
        return np.sqrt(flat.dot(flat)).reshape((1,) * x.ndim)  # as NumPy's norm
    if ord == 2:
        squares = x.real**2 + x.imag**2 if x.dtype.kind == "c" else x * x
        return np.sqrt(np.sum(squares, axis=axis, keepdims=True))
    size = np.abs(x)
    if ord == np.inf:
        return np.max(size, axis=axis, keepdims=True, initial=0)
    if ord == -np.inf:
        return np.min(size, axis=axis, keepdims=True)
    if ord == 0:
        return np.sum(size != 0, axis=axis, keepdims=True).astype(size.dtype)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.sum(size**ord, axis=axis, keepdims=True) ** (1 / ord)


@lengths.expand(when=lambda ord: ord != 0, in_rows=True)
def lengths_parts(x, *, axis, ord=2.0, keepdims=False):
    along = {"axis": axis, "keepdims": keepdims}
    if ord == 2:
        return sqrt(sum(x * x, **along))
    size = absolute(x)
    if np.isinf(ord):
        return (amax if ord > 0 else amin)(size, **along)
    return sum(size, **along) if ord == 1 else sum(size**ord, **along) ** (1 / ord)


def _weights(x: Any, out: Any, axis: tuple[int, ...], ord: float) -> Any:
    """The derivative of the norm by every element, as a gradient: 0 where the norm is 0, whatever `ord`."""
    if ord == 0:
        return np.zeros(x.shape, x.dtype)
    if ord == 1:
        return sign(x)
    is_zero = out == 0
    if ord in (np.inf, -np.inf):
        size = absolute(x)
        extreme = (size == out) | ((size != size) & (out != out))
        return where(extreme, sign(x), 0) / extreme.sum(axis=axis, keepdims=True)
    length = where(is_zero, 1, out)
    if ord == 2:
        return where(is_zero, 0, x / length)
    # A zero entry is kept out of the power, which is infinite there for ord < 1 and has no second derivative below 2.
    skip = is_zero | (x == 0)
    safe = where(skip, 1, x)
    return where(skip, 0, sign(safe) * (absolute(safe) / length) ** (ord - 1))


@lengths.vjp
def lengths_vjp(g, x, out, axis, ord):
    return g * _weights(x, out, axis, ord)


@lengths.vjp_on_arrays
def lengths_pulled(g, x, out, axis, ord):
    if ord != 2 or x.dtype.kind != "f" or not np.logical_and.reduce(out, None):
        return lengths_vjp(g, x, out, axis, ord)
    return g * (x / out)


@lengths.jvp
def lengths_jvp(t_x, x, out, axis, ord):
    terms = conjugated(_weights(x, out, axis, ord)) * t_x
    return (terms.real if is_complex_dtype(terms.dtype) else terms).sum(axis=axis, keepdims=True)


_family_samples = lengths.sample_rule


@lengths.samples
def lengths_samples(make: Maker) -> Iterator[Sample]:
    assert _family_samples is not None
    yield from _family_samples(make)
    for ord in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0, np.inf, -np.inf):
        values = make((3, 4))
        away_from_zero = np.sign(values) * (0.3 + np.abs(values))
        yield Sample((away_from_zero,), {"axis": (1,), "keepdims": False, "ord": ord}, f"ord{ord}")
    for ord in (1.0, 2.0, 3.0, np.inf):
        values = make((2, 3), np.complex128) + 3
        yield Sample((values,), {"axis": (0, 1), "keepdims": True, "ord": ord}, f"complex-ord{ord}")


def _order(name: str, ord: Any) -> float:
    if isinstance(ord, str) or ord is None:
        raise ValueError(f"{name}: the order of a vector norm is a number, got {ord!r}")
    return float(ord)


@composite(name="linalg.vector_norm")
def vector_norm(
    x: Any, /, ord: float = 2, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: Any = None,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """The norm of vectors: `sum(abs(x) ** ord) ** (1 / ord)` over `axis`, over all elements if it is None.

    `ord` is any number; inf and -inf give the largest and the smallest absolute value, 0 counts what is not zero.
    The derivative at the zero vector is 0. Elements that share the largest absolute value share its gradient.
    """
    x = x if dtype is None else x.astype(dtype)
    axes = normalize_axes(merge_spellings("axis/dim", axis, dim), x.ndim)
    kept = bool(keepdims if keepdim is None else keepdim)
    return lengths(x, axis=axes, keepdims=kept, ord=_order("vector_norm", ord))


@composite(name="linalg.matrix_norm")
def matrix_norm(
    x: Any, /, ord: Any = "fro", axis: Any = (-2, -1), keepdims: bool = False, *, dim: Any = None, keepdim: Any = None
) -> Any:
    """The norm of matrices in the two axes `axis`.

    `ord` is "fro", "nuc" (the sum of singular values), 2 or -2 (the largest or smallest one), 1 or -1 (the largest or
    smallest sum of a column of absolute values), inf or -inf (of a row). Gradients follow from `abs`, `max` and `svd`:
    the derivative of `abs` at 0 is 0, and equal largest sums share the gradient.
    """
    if dim is not None:
        axis = dim
    rows, columns = (normalize_axis_index(each, x.ndim) for each in axis)
    if rows == columns:
        raise ValueError(f"matrix_norm: the axes of a matrix must differ, got {axis}")
    kept = bool(keepdims if keepdim is None else keepdim)
    if ord is None or ord in ("fro", "f"):
        return lengths(x, axis=tuple(sorted((rows, columns))), keepdims=kept, ord=2.0)
    if ord == "nuc" or ord in (2, -2):
        values = singular_values(moveaxis(x, (rows, columns), (-2, -1)))
        out = values.sum(axis=-1) if ord == "nuc" else _extreme(values, -1, ord == 2)
    elif ord in (1, -1, np.inf, -np.inf):
        summed, other = (rows, columns) if ord in (1, -1) else (columns, rows)
        sums = (absolute(x) * 1.0).sum(axis=summed) if x.dtype.kind in "biu" else absolute(x).sum(axis=summed)
        out = _extreme(sums, other - (other > summed), ord > 0)
    else:
        raise ValueError(f"matrix_norm: ord is 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}")
    return _with_axes(out, (rows, columns)) if kept else out


def _extreme(values: Any, axis: int, is_largest: bool) -> Any:
    """The largest or the smallest along an axis. The largest of none is 0, as the norm of what has no elements."""
    if is_largest:
        return amax(values, axis=axis) if values.shape[axis] else values.sum(axis=axis)
    return amin(values, axis=axis)


def _with_axes(out: Any, axes: tuple[int, ...]) -> Any:
    """`out` with axes of length one put in at `axes`."""
    remaining = iter(out.shape)
    shape = tuple(1 if axis in axes else next(remaining) for axis in range(out.ndim + len(axes)))
    return out.reshape(shape)


@composite(name="linalg.norm")
def norm(
    x: Any, /, ord: Any = None, axis: Any = None, keepdims: bool = False, *, dim: Any = None, keepdim: Any = None
) -> Any:
    """NumPy's `norm`: of a vector along one axis, of matrices along two.

    Without `axis` the array is a vector or a matrix; without `axis` and `ord` the norm is that of all its elements.
    """
    axis = merge_spellings("axis/dim", axis, dim)
    kept = bool(keepdims if keepdim is None else keepdim)
    if axis is None and (ord is None or (x.ndim, ord) in ((1, 2), (2, "fro"), (2, "f"))):
        return lengths(x, axis=tuple(range(x.ndim)), keepdims=kept, ord=2.0)
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    if len(axes) == 1:
        return vector_norm(x, 2 if ord is None else ord, axes, kept)
    if len(axes) == 2:
        return matrix_norm(x, "fro" if ord is None else ord, axes, kept)
    raise ValueError(f"norm: a vector has one axis and a matrix two, not {len(axes)}")


@composite(name="linalg.cond")
def cond(x: Any, /, p: Any = None) -> Any:
    """The condition number of matrices: the norm times the norm of the inverse, in the norm `p` of `matrix_norm`.

    None and 2 mean the largest singular value over the smallest; the matrices need not be square then. It is inf for a
    singular matrix.
    """
    if p is None or p in (2, -2):
        values = singular_values(x)
        large, small = values[..., 0], values[..., -1]
        with np.errstate(all="ignore"):
            product = small / large if p == -2 else large / small
    else:
        check_square("cond", x)
        product = matrix_norm(x, p) * matrix_norm(inverse(x, singular="nan"), p)
    # NaN because the inverse is missing, and not because the matrix has NaN.
    return where((product != product) & (x == x).all(axis=(-2, -1)), np.inf, product)
