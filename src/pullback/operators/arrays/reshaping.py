"""Reshaping: the same elements in row-major order in another shape, as a view where NumPy can make one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pullback.core.axes import no_fit, normalize_axis_index, resolve_shape
from pullback.core.spec import spec_for
from pullback.declare.composite import composite
from pullback.declare.families import view
from pullback.declare.samples import Maker, Sample, layouts
from pullback.operators.arguments import ANY_NUMBER, as_array, called_as, one_sequence
from pullback.operators.arrays.movement import transpose
from pullback.tensors.tensor import Tensor


@view(may_copy=True, name="_reshape", torch="view", batch="shifted")
def reshape_view(x, *, shape):
    """The elements of `x` in row-major order as an array of `shape`."""
    return x.reshape(shape)


@reshape_view.door
def reshape_door(x: Any, *lengths: Any, shape: Any = None) -> Any:
    size = math.prod(x.shape)
    lengths = resolve_shape(one_sequence("reshape", lengths, shape), size)
    if math.prod(lengths) != size:
        raise no_fit(size, lengths)
    return (x,), {"shape": lengths}


reshape_view.keywords_are_canonical = True


@reshape_view.spec
def reshape_spec(x, *, shape):
    if math.prod(shape) != x.size:
        raise ValueError(f"reshape: cannot fit {x.size} elements into shape {shape}")
    return spec_for(shape, x.dtype)


reshape_view.shows_each_once = True
reshape_view.shows_all = "in order"


@reshape_view.transpose
def reshape_transpose(g, x):
    return reshape_view(g, shape=x.shape)


@reshape_view.vjp_on_arrays
def reshape_pulled(g, x):
    return g.reshape(x.shape)


@reshape_view.samples
def reshape_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"shape": (2, 6)}, "matrix")
    yield Sample((make(()),), {"shape": (1, 1)}, "scalar")
    yield Sample((make((0, 3)),), {"shape": (3, 0, 2)}, "empty")
    yield Sample((make((2, 3), np.complex128),), {"shape": (6,)}, "complex")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"shape": (4, 3)}, label)


@view(name="_view", torch="view", complex="whole")
def reshape_without_copy(x, *, shape):
    """As `_reshape`, but an error where the elements do not lie in memory in that order."""
    return _shared(x, x.reshape(shape), x.shape, x.strides, shape)


def _shared(x: Any, out: Any, own: Any, strides: Any, shape: Any) -> Any:
    is_view_of = getattr(type(out), "aliases_payload", np.may_share_memory)
    if x.size and not is_view_of(out, x):
        raise ValueError(
            f"view: an array of shape {own} with strides {strides} has no view of shape {shape}; "
            "reshape() copies where it has to"
        )
    return out


reshape_without_copy.spec(reshape_spec)
reshape_without_copy.transpose(reshape_transpose)


@reshape_without_copy.batch
def reshape_without_copy_batch(x, *, shape):
    out = reshape_view(x, shape=(x.shape[0], *shape))
    return _shared(x, out, x.shape[1:], x.strides[1:], shape)


@reshape_without_copy.samples
def reshape_without_copy_samples(make: Maker) -> Iterator[Sample]:
    yield Sample((make((3, 4)),), {"shape": (2, 6)}, "matrix")
    yield Sample((make((0, 3)),), {"shape": (3, 0)}, "empty")
    yield Sample((make(()),), {"shape": (1, 1)}, "scalar")
    for label, array in layouts(make((3, 4))):
        yield Sample((array,), {"shape": (3, 1, 4)}, label)


@composite
@called_as(lambda x, /, shape, *, copy=None, order="C": None)
def reshape(x: Any, *lengths: Any, shape: Any = None, copy: bool | None = None, order: str = "C") -> Any:
    """`x` with the same elements in another shape, in which one length may be -1.

    A view where NumPy can make one and a copy otherwise; `copy=True` always copies, `copy=False` refuses to.
    """
    if type(x) is Tensor and shape is None and copy is None and order == "C":
        return reshape_view.function(x, *lengths)
    _, params = reshape_door(x, *lengths, shape=shape)
    if order == "F":
        return transpose(reshape(transpose(x), params["shape"][::-1], copy=copy))
    if order != "C":
        raise ValueError(f"reshape: order must be 'C' or 'F', got {order!r}")
    if copy is False:
        return reshape_without_copy(x, **params)
    out = reshape_view(x, **params)
    return out.copy() if copy else out


@composite
def ravel(x: Any, order: str = "C") -> Any:
    """The elements of `x` in one axis: a view where possible."""
    return reshape(x, -1, order=order)


@composite(method=False)
def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """`x` with the axes from `start_dim` to `end_dim` merged into one: a view where possible."""
    if x.ndim == 0:
        return reshape(x, 1)
    start, end = normalize_axis_index(start_dim, x.ndim), normalize_axis_index(end_dim, x.ndim)
    if start > end:
        raise ValueError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    return reshape(x, x.shape[:start] + (math.prod(x.shape[start : end + 1]),) + x.shape[end + 1 :])


def flatten_method(x: Any, order: str | int = "C", end_dim: int = -1, *, start_dim: int = 0) -> Any:
    """A copy of the elements in one axis, as NumPy's method of this name. With axes, as torch's method has them, it is
    `pb.flatten`: `x.flatten(1)`, `x.flatten(0, 1)`, `x.flatten(start_dim=1)`."""
    if isinstance(order, str) and start_dim == 0 and end_dim == -1:
        return reshape(x, -1, order=order, copy=True)
    return flatten(x, start_dim if isinstance(order, str) else order, end_dim)


@composite
def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """`x` with axis `dim` split into axes of these lengths, of which one may be -1."""
    dim = normalize_axis_index(dim, x.ndim)
    return reshape(x, x.shape[:dim] + resolve_shape(sizes, x.shape[dim]) + x.shape[dim + 1 :])


@composite(arrays=2)
def reshape_as(x: Any, other: Any) -> Any:
    """`x` in the shape of `other`."""
    return reshape(x, other.shape)


@composite(arrays=2)
def view_as(x: Any, other: Any) -> Any:
    """A view of `x` in the shape of `other`; an error where that would need a copy."""
    return reshape(x, other.shape, copy=False)


@composite(arrays=ANY_NUMBER, method=False)
def atleast_1d(*xs: Any) -> Any:
    """Each argument with at least one axis; a tuple if there are several."""
    return _each(xs, lambda x: (1,) if x.ndim == 0 else x.shape)


@composite(arrays=ANY_NUMBER, method=False)
def atleast_2d(*xs: Any) -> Any:
    """Each argument with at least two axes, new ones in front; a tuple if there are several."""
    return _each(xs, lambda x: (1,) * (2 - x.ndim) + x.shape)


@composite(arrays=ANY_NUMBER, method=False)
def atleast_3d(*xs: Any) -> Any:
    """Each argument with at least three axes, as NumPy places them; a tuple if there are several."""
    return _each(xs, lambda x: {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}.get(x.ndim, x.shape))


def _each(xs: tuple[Any, ...], shape_of: Callable[[Any], tuple[int, ...]]) -> Any:
    outs = tuple(reshape(x, shape_of(x)) for x in map(as_array, xs))
    return outs[0] if len(outs) == 1 else outs


@composite(aliases=("ascontiguousarray",))
def contiguous(x: Any) -> Any:
    """`x` itself if its elements lie in memory in row-major order, and a copy for which that holds otherwise."""
    return x if _flags(x).c_contiguous else x.copy(order="C")


@composite(method=False)
def asfortranarray(x: Any) -> Any:
    """`x` itself if its elements lie in memory in column-major order, and a copy for which that holds otherwise."""
    return x if _flags(x).f_contiguous else x.copy(order="F")


def _flags(x: Any) -> Any:
    return (x._data if isinstance(x, Tensor) else x).flags


members: dict[str, Any] = {"flatten": flatten_method}
"""Attributes of `Tensor` that are no functions of the same name."""
