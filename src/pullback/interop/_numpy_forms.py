"""Functions of NumPy whose form is NumPy's own: `np.split` gives a list, `np.var` takes `where=` and `mean=`.

Each is called with NumPy's names for its arguments, without those that have their default. Where a function of
Pullback's takes the same arguments and gives the same result, it is called as it is, and has no place here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.axes import merge_spellings
from pullback.interop._ufuncs import holds_tensors
from pullback.operators import functions
from pullback.tensors.tensor import Tensor, as_constant


def _as_array(value: Any) -> Any:
    """A list of tensors as one tensor; anything else as it is."""
    return functions["asarray"](value) if isinstance(value, (list, tuple)) and holds_tensors(value) else value


# Pieces ---------------------------------------------------------------------------------------------------------------


def _list_of_pieces(name: str) -> Callable[..., list[Any]]:
    def pieces(ary: Any, indices_or_sections: Any, **axis: Any) -> list[Any]:
        return list(functions[name](ary, indices_or_sections, **axis))

    return pieces


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Coordinate matrices: arrays of their own unless `copy=False`."""
    grids = functions["meshgrid"](*xi, sparse=sparse, indexing=indexing)
    if copy:
        return tuple(grid.copy() for grid in grids)
    return list(grids) if sparse and _SPARSE_GRIDS_ARE_LISTS else grids


_SPARSE_GRIDS_ARE_LISTS = np.lib.NumpyVersion(np.__version__) < "2.5.0"


def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Any:
    """As `pb.pad`."""
    return functions["pad"](array, pad_width, mode, **options)


def insert(arr: Any, obj: Any, values: Any, **axis: Any) -> Any:
    """As `pb.insert`; the values may be a list with tensors in it."""
    return functions["insert"](as_constant(arr), obj, _as_array(values), **axis)


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """As `pb.polyint`; the constants may be a list with tensors in it."""
    return functions["polyint"](p, m, _as_array(k))


# Reductions -----------------------------------------------------------------------------------------------------------


def _extreme(name: str, shared: str) -> Callable[..., Any]:
    """`np.amax`: equal elements share the gradient, unless a mask or a first value is given as to `np.max`."""

    def extreme(a: Any, **options: Any) -> Any:
        return functions[name if options.keys() & {"where", "initial"} else shared](a, **options)

    return extreme


def _nan_total(name: str, neutral: int) -> Callable[..., Any]:
    """A sum or product with NaN counted as nothing, as NumPy does it."""

    def reduce(a: Any, **options: Any) -> Any:
        a = as_constant(a)
        if a.dtype.kind in "fc":
            a = functions["where"](functions["isnan"](a), neutral, a)
        return functions[name](a, **options)

    return reduce


def _nan_extreme(name: str, plain: str) -> Callable[..., Any]:
    """`np.nanmax`: a first value also stands for NaN, which it is as good as."""

    def reduce(a: Any, initial: Any = None, **options: Any) -> Any:
        a = as_constant(a)
        if initial is None:
            return functions[plain if "where" in options else name](a, **options)
        first = as_constant(initial).astype(a.dtype)
        a = functions["where"](functions["isnan"](a), first, a) if a.dtype.kind in "fc" else a
        return functions[plain](a, initial=first, **options)

    return reduce


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, where: Any = True) -> Any:
    """The mean of the elements that are chosen and not NaN."""
    a = as_constant(a)
    if dtype is None and where is True:
        return functions["nanmean"](a, axis=axis, keepdims=keepdims)
    a, chosen = _chosen(a, where, omits_nan=True)
    return functions["mean"](a, axis=axis, keepdims=keepdims, where=chosen, dtype=dtype)


def _chosen(a: Any, where: Any, omits_nan: bool) -> tuple[Any, Any]:
    """`a` with zeros where it is not chosen, and the mask of what is."""
    chosen = functions["broadcast_to"](as_constant(where), a.shape)
    if omits_nan and a.dtype.kind in "fc":
        chosen = functions["logical_and"](chosen, functions["logical_not"](functions["isnan"](a)))
    return functions["where"](chosen, a, 0), chosen


def _deviation(name: str, is_root: bool) -> Callable[..., Any]:
    """`np.var`, `np.std` and the two that leave NaN out, with every argument of theirs."""
    omits_nan = name.startswith("nan")

    def reduce(
        a: Any, axis: Any = None, dtype: Any = None, ddof: Any = None, keepdims: bool = False, where: Any = True,
        mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        less = merge_spellings(f"np.{name}: correction/ddof", correction, ddof) or 0
        if dtype is None and where is True and mean is None:
            return functions[name](a, axis=axis, keepdims=keepdims, correction=less)
        # `dtype` is that of the sums; deviations keep the precision of `a`.
        a, mask = _chosen(as_constant(a), where, omits_nan)
        center = functions["mean"](a, axis=axis, keepdims=True, where=mask, dtype=dtype) if mean is None else mean
        off = functions["where"](mask, a - center, 0)
        squares = (off * functions["conj"](off)).real
        total = functions["sum"](squares, axis=axis, keepdims=keepdims, dtype=dtype)
        freedom = functions["sum"](mask, axis=axis, keepdims=keepdims) - less
        divisor = functions["where"](freedom > 0, freedom, np.nan if omits_nan else 0)
        variance = (total / divisor).astype(total.dtype)
        if not is_root:
            return variance
        is_positive = variance > 0
        return functions["where"](is_positive, functions["where"](is_positive, variance, 1) ** 0.5, variance)

    return reduce


# Precision ------------------------------------------------------------------------------------------------------------


def _in_double(name: str, *read: str) -> Callable[..., Any]:
    """A function that NumPy computes in double precision at least, whatever precision these arguments have."""

    def compute(**given: Any) -> Any:
        given |= {key: _double(given[key]) for key in given.keys() & set(read)}
        first = given.pop(next(iter(given)))  # whose name differs
        return functions[name](first, **given)

    return compute


def _double(value: Any) -> Any:
    """An array in double precision at least."""
    value = as_constant(_as_array(value))
    return value.astype(np.promote_types(value.dtype, np.float64), copy=False)


def _of_arrays(name: str) -> Callable[..., Any]:
    """A function that takes Python's numbers for arrays, which do not give way to the dtype of another one."""

    def compute(**given: Any) -> Any:
        first, second = (as_constant(_as_array(given.pop(key))) for key in list(given)[:2])
        return functions[name](first, second, **given)

    return compute


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """As `pb.vander`, with powers that are 64 bits wide at least."""
    return functions["vander"](x.astype(np.promote_types(x.dtype, np.int64), copy=False), N, increasing)


def i0(x: Any) -> Any:
    """As `pb.i0`, in the precision of `x`."""
    if x.dtype.kind == "c":
        raise TypeError("np.i0: of real numbers only; scipy.special.iv(0, z) takes complex ones")
    dtype = x.dtype if x.dtype.kind == "f" else np.float64
    return functions["i0"](x.astype(dtype, copy=False)).astype(dtype, copy=False)


# Histograms -----------------------------------------------------------------------------------------------------------


def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> tuple[Any, Any]:
    """As `pb.histogram`; sums of weights have the dtype of the weights."""
    wide = None if weights is None else _double(weights)
    counts, edges = functions["histogram"](as_constant(a), bins, range, weights=wide)
    if weights is not None:
        counts = counts.astype(as_constant(_as_array(weights)).dtype, copy=False)
    if density:
        widths = (edges[1:] - edges[:-1]).real.astype(np.float64, copy=False)
        counts = counts / widths / functions["sum"](counts)
    return counts, edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    """The counts, and a list of the edges. A sequence of arrays holds one coordinate in each."""
    points = sample if hasattr(sample, "ndim") else functions["stack"]([as_constant(part) for part in sample], -1)
    points = as_constant(points) if range is None else _double(points)  # the precision of the limits
    weights = None if weights is None else _double(weights)
    counts, edges = functions["histogramdd"](points, bins, range, bool(density), weights)
    return counts, list(edges if range is None else (edge.real for edge in edges))


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, ...]:
    """As `pb.histogram2d`."""
    if not isinstance(bins, (int, str)) and len(bins) != 2:
        bins = [bins, bins]  # edges for both axes
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, *edges


# Elements -------------------------------------------------------------------------------------------------------------


def angle(z: Any, deg: bool = False) -> Any:
    """The angle in the complex plane, in degrees if they are asked for."""
    out = functions["angle"](z)
    return out * (180 / np.pi) if deg else out


def nan_to_num(x: Any, copy: bool = True, **options: Any) -> Any:
    """As `pb.nan_to_num`, written to `x` itself with `copy=False`."""
    out = functions["nan_to_num"](x, **options)
    if copy or not isinstance(x, Tensor):
        return out
    x[...] = out
    return x


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Are shapes and all elements equal?"""
    if not equal_nan:
        return functions["array_equal"](a1, a2)
    a1, a2 = as_constant(a1), as_constant(a2)
    if a1.shape != a2.shape:
        return False
    return bool(((a1 == a2) | ((a1 != a1) & (a2 != a2))).all())


# Vectors and matrices -------------------------------------------------------------------------------------------------


def _triangle(name: str) -> Callable[..., Any]:
    """`np.tril` and `np.triu`: a vector stands for a matrix with as many equal rows."""

    def triangle(m: Any, k: int = 0) -> Any:
        return functions[name](functions["broadcast_to"](m, m.shape * 2) if m.ndim == 1 else m, k=k)

    return triangle


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """As `pb.cross`; vectors of length 2 lie in the plane, and the product of two such is a number."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    a, b = functions["moveaxis"](as_constant(a), axisa, -1), functions["moveaxis"](as_constant(b), axisb, -1)
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    a, b = (functions["pad"](x, ((0, 0),) * (x.ndim - 1) + ((0, 1),)) if x.shape[-1] == 2 else x for x in (a, b))
    return functions["cross"](a, b, axisc=axisc)


def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, stable: Any = None) -> Any:
    """As `pb.argsort`; a number is sorted as a vector of one."""
    return functions["argsort"](a if a.ndim else a.reshape((1,)), axis=axis)


# Making ---------------------------------------------------------------------------------------------------------------


def _like(name: str) -> Callable[..., Any]:
    """`np.zeros_like` and its like, also with another shape."""

    def like(
        a: Any = None, fill_value: Any = None, dtype: Any = None, order: Any = None, subok: Any = None,
        shape: Any = None, device: Any = None, prototype: Any = None,
    ) -> Any:  # fmt: skip
        a = prototype if a is None else a
        value = () if fill_value is None else (_as_array(fill_value),)
        if shape is None:
            return functions[f"{name}_like"](as_constant(a), *value, dtype=dtype)
        return functions[name](shape, *value, dtype=a.dtype if dtype is None else dtype)

    return like


FORMS: dict[str, Callable[..., Any]] = {
    **{name: _list_of_pieces(name) for name in ("split", "array_split", "hsplit", "vsplit", "dsplit")},
    **{f"{name}_like": _like(name) for name in ("zeros", "ones", "empty", "full")},
    "amax": _extreme("max", "amax"),
    "amin": _extreme("min", "amin"),
    "nansum": _nan_total("sum", 0),
    "nanprod": _nan_total("prod", 1),
    "nanmax": _nan_extreme("nanmax", "max"),
    "nanmin": _nan_extreme("nanmin", "min"),
    **{name: _deviation(name, is_root=False) for name in ("var", "nanvar")},
    **{name: _deviation(name, is_root=True) for name in ("std", "nanstd")},
    **{name: _of_arrays(name) for name in ("append", "dot", "inner", "kron", "outer", "vdot")},
    **{name: _triangle(name) for name in ("tril", "triu")},
    "bincount": _in_double("bincount", "weights"),
    "corrcoef": _in_double("corrcoef", "x", "y"),
    "cov": _in_double("cov", "m", "y"),
    "interp": _in_double("interp", "x", "xp", "fp"),
    **{
        form.__name__: form
        for form in (
            angle, argsort, array_equal, cross, histogram, histogram2d, histogramdd, i0, insert, meshgrid, nan_to_num,
            nanmean, pad, polyint, vander,
        )
    },
}  # fmt: skip
"""The functions by their names in `np`."""
