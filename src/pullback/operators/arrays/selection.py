"""Choosing elements by conditions, inserting and removing them, and writing to chosen places.

What is chosen depends on conditions and positions, which have no derivative; the elements are read or written by
indexing, and so are their gradients.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.core.axes import normalize_axis_index, normalize_shape
from pullback.declare.composite import composite
from pullback.operators.arguments import common_dtype, every_value, plain, tensor_from
from pullback.operators.arrays.creation import zeros
from pullback.operators.arrays.index_operators import ARRAY, index_put_arrays
from pullback.operators.arrays.indexing import getitem, setitem
from pullback.operators.arrays.joining import concat
from pullback.operators.arrays.movement import broadcast_arrays, broadcast_to, moveaxis
from pullback.operators.arrays.reshaping import ravel, reshape
from pullback.operators.arrays.scatter import take
from pullback.operators.elementwise.casting import astype
from pullback.operators.elementwise.comparison import equal, where
from pullback.payloads.evaluate import is_traced
from pullback.tensors.tensor import Tensor

# Choosing.


@composite(arrays=0)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """At every place the element of the first choice whose condition holds there, or `default` if none does."""
    if len(condlist) != len(choicelist) or not len(condlist):
        raise ValueError(f"select: {len(condlist)} conditions do not go with {len(choicelist)} choices")
    conditions = [tensor_from(condition) for condition in condlist]
    if any(condition.dtype.kind != "b" for condition in conditions):
        raise TypeError("select: conditions must hold truth values")
    kind = common_dtype(*choicelist, default)
    out = astype(tensor_from(default), kind, copy=False)
    for condition, choice in zip(reversed(conditions), reversed(list(choicelist)), strict=True):
        out = where(condition, astype(tensor_from(choice), kind, copy=False), out)
    return out


@composite
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """At every place the element of the choice whose number is in `a`; all of them broadcast.

    Numbers beyond the choices raise, begin anew with `mode="wrap"`, or mean the nearest choice with "clip".
    """
    arrays = [tensor_from(choice) for choice in choices]
    count = len(arrays)
    if a.dtype.kind not in "biu" or not count:
        raise TypeError(f"choose: expected the numbers of choices, got {a.dtype}")
    if mode == "wrap":
        a = a % count
    elif mode == "clip":
        a = a.clip(0, count - 1)
    elif mode != "raise":
        raise ValueError(f"choose: mode must be 'raise', 'wrap' or 'clip', got {mode!r}")
    elif a.size and not bool(((every_value(a) >= 0) & (every_value(a) < count)).all()):
        raise ValueError(f"choose: numbers must lie between 0 and {count - 1}")
    a, *arrays = broadcast_arrays(a, *arrays)
    kind = np.result_type(*(array.dtype for array in arrays))
    out = astype(arrays[0], kind)
    for number in range(1, count):
        out = where(equal(a, number), arrays[number], out)
    return out


@composite
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """A function defined by cases: `funclist[k](x)` where `condlist[k]` holds, of several the last.

    A function is called on the elements of its case only; numbers are allowed. One more function than conditions is
    for the rest, which is 0 otherwise. The result has the dtype of `x`.
    """
    conditions = condlist if isinstance(condlist, (list, tuple)) else [condlist]
    if conditions and x.ndim and type(conditions[0]) in (bool, np.bool_):
        conditions = [np.asarray(conditions)]
    masks = [_mask(condition, x.shape) for condition in conditions]
    if len(funclist) == len(masks) + 1:
        masks.append(~functools.reduce(operator.or_, masks))
    if len(funclist) != len(masks):
        raise ValueError(f"piecewise: {len(masks)} conditions do not go with {len(funclist)} functions")
    row, out = reshape(x, (-1,)), zeros((x.size,), dtype=x.dtype)
    for mask, function in zip(masks, funclist, strict=True):
        (places,) = mask.reshape(-1).nonzero()
        if not places.size:
            continue
        values = function(take(row, places), *args, **kw) if callable(function) else function
        values = values if isinstance(values, Tensor) else tensor_from(values)
        values = broadcast_to(astype(values, x.dtype, copy=False), places.shape)
        out = index_put_arrays(out, values, places, template=(ARRAY,), accumulate=False, distinct=True)
    return reshape(out, x.shape)


def _mask(condition: Any, shape: tuple[int, ...]) -> Any:
    """A condition as truth values of this shape: an array, or in a trace a tensor that is searched in every call."""
    if isinstance(condition, Tensor) and is_traced(condition._data):
        return broadcast_to(astype(condition, np.dtype(bool), copy=False), shape)
    return np.broadcast_to(plain("piecewise", condition).astype(bool), shape)


@composite(arrays=2, method=False)
def extract(condition: Any, arr: Any) -> Any:
    """The elements of `arr` where `condition` holds, in row-major order."""
    (places,) = plain("extract", tensor_from(condition)).reshape(-1).nonzero()
    return take(ravel(tensor_from(arr)), places)


@composite(arrays=2, method=False)
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """The slices of `a` along `axis` for which `condition` holds; without an axis, elements in row-major order."""
    chosen = plain("compress", tensor_from(condition))
    if chosen.ndim != 1:
        raise ValueError(f"compress: the condition must be a vector, got {chosen.ndim} axes")
    return take(tensor_from(a), chosen.nonzero()[0], axis)


def compress_method(self: Tensor, condition: Any, axis: int | None = None) -> Any:
    """The slices along `axis` for which `condition` holds; without an axis, elements in row-major order."""
    return compress(tensor_from(condition), self, axis)


def choose_method(self: Tensor, choices: Any, mode: str = "raise") -> Any:
    """At every place the element of the choice whose number is in this tensor."""
    return choose(self, choices, mode)


# Inserting and removing.


def _positions(name: str, obj: Any) -> Any:
    """Positions or a mask as an array. An empty list has no dtype of its own."""
    places = plain(name, obj)
    if places.dtype.kind not in "iub" and (places.size or isinstance(obj, (Tensor, np.ndarray))):
        raise IndexError(f"{name}: positions are integers or a mask, not {places.dtype}")
    return places if places.dtype.kind == "b" else places.astype(np.int64)


def _in_line(x: Any, axis: int | None) -> tuple[Any, int]:
    return (ravel(x), 0) if axis is None else (x, normalize_axis_index(axis, x.ndim))


@composite
def delete(x: Any, obj: Any, axis: int | None = None) -> Any:
    """`x` without the slices at `obj` along `axis`: a number, a slice, positions or a mask."""
    x, axis = _in_line(x, axis)
    keep = np.ones(x.shape[axis], bool)
    if isinstance(obj, (slice, int)):
        keep[obj] = False
    else:
        places = _positions("delete", obj)
        if places.dtype.kind == "b" and places.shape != keep.shape:
            raise ValueError(f"delete: a mask of shape {places.shape} for an axis of length {len(keep)}")
        keep[places] = False
    return take(x, keep.nonzero()[0], axis)


@composite
def insert(x: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`x` with `values` inserted before the positions `obj` along `axis`, as they were counted before inserting."""
    x, axis = _in_line(x, axis)
    length = x.shape[axis]
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(length))
    places = _positions("insert", obj)
    if places.dtype.kind == "b":
        places = places.nonzero()[0]
    if places.ndim > 1:
        raise ValueError(f"insert: positions must be a vector, got {places.ndim} axes")
    if places.size and not bool(((places >= -length) & (places <= length)).all()):
        raise IndexError(f"insert: positions {places.tolist()} are beyond an axis of length {length}")
    is_one = places.ndim == 0
    places = np.where(places < 0, places + length, places).reshape(-1)
    values = astype(tensor_from(values), x.dtype, copy=False)
    if places.size == 1 and values.ndim:
        # As NumPy has it: all values go to the one position; if it is a number, their first axis is that of insertion.
        values = reshape(values, (1,) * (x.ndim - values.ndim) + values.shape)
        values = moveaxis(values, 0, axis) if is_one else values
        places = np.repeat(places, values.shape[axis])
    number = len(places)
    values = broadcast_to(values, (*x.shape[:axis], number, *x.shape[axis + 1 :]))
    # Both are joined and then read in the order that the stable sort of positions gives.
    order = np.argsort(np.concatenate([places, np.arange(length) + 0.5]), kind="stable")
    order = np.where(order < number, order + length, order - number)
    return take(concat([x, values], axis), order, axis)


@composite(method=False)
def resize(x: Any, new_shape: Any) -> Any:
    """The elements of `x` in row-major order, repeated or cut off to fill `new_shape`."""
    shape = normalize_shape(new_shape)
    size = math.prod(shape)
    if min(shape, default=0) < 0:
        raise ValueError(f"resize: lengths cannot be negative, got {shape}")
    if not x.size or not size:
        return zeros(shape, dtype=x.dtype)
    return reshape(take(ravel(x), np.arange(size) % x.size), shape)


# Writing in place.


def _target(name: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name}: writes into a Tensor, got {type(x).__name__}")
    return x


def _repeated(name: str, values: Any, count: int) -> Any:
    values = ravel(tensor_from(values))
    if not values.shape[0] and count:
        raise ValueError(f"{name}: there are no values to write")
    return take(values, np.arange(count) % max(values.shape[0], 1))


@composite(arrays=0)
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """Write `src` into the tensor `dst`, where `where` holds."""
    dst, src = _target("copyto", dst), tensor_from(src)
    if not np.can_cast(src.dtype, dst.dtype, casting):
        raise TypeError(f"copyto: {src.dtype} does not become {dst.dtype} under the rule {casting!r}")
    if where is True:
        dst.copy_(src)
        return
    mask = np.broadcast_to(plain("copyto", where), dst.shape)
    setitem(dst, mask, getitem(broadcast_to(src, dst.shape), mask))


@composite(arrays=0)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """Write values, from the first on and repeated as needed, to the places of the tensor `arr` where `mask` holds."""
    arr = _target("place", arr)
    chosen = plain("place", mask).astype(bool).reshape(arr.shape)
    setitem(arr, chosen, _repeated("place", vals, int(chosen.sum())))


@composite(arrays=0)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """Write values to the places of the tensor `a` where `mask` holds: to each the one of its own number in the flat
    order, repeated as needed."""
    a = _target("putmask", a)
    chosen = plain("putmask", mask).astype(bool).reshape(a.shape)
    values = tensor_from(values)
    if values.ndim == 0:
        setitem(a, chosen, values)
        return
    every = _repeated("putmask", values, a.size)
    setitem(a, chosen, take(every, np.flatnonzero(chosen)))


@composite(arrays=0)
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write `val`, a number or values that are repeated, to the diagonal of the tensor `a`.

    With `wrap` the diagonal of a tall matrix begins anew below. `fill_diagonal_` is the method that returns the tensor.
    """
    a = _target("fill_diagonal", a)
    if a.ndim < 2:
        raise ValueError("fill_diagonal: there is no diagonal with fewer than two axes")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError(f"fill_diagonal: with more than two axes all lengths must be equal, got {a.shape}")
    step = a.shape[1] + 1 if a.ndim == 2 else 1 + int(np.cumprod(a.shape[:-1]).sum())
    stop = a.size if wrap or a.ndim > 2 else min(a.shape[0], a.shape[1]) * a.shape[1]
    places = np.unravel_index(np.arange(0, stop, step), a.shape)
    value = tensor_from(val)
    setitem(a, places, value if value.ndim == 0 else _repeated("fill_diagonal", value, len(places[0])))


def fill_diagonal_(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Write a value to the diagonal of this tensor."""
    fill_diagonal(self, fill_value, wrap)
    return self


def _out_of_place(write: Callable[..., None], name: str, doc: str) -> None:
    def function(x: Any, *args: Any, **options: Any) -> Any:
        out = x.clone()
        write(out, *args, **options)
        return out

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    composite(function, method=False)


_out_of_place(copyto, "copyto_copy", "What `x` is after `copyto(x, ...)`, which stays as it is.")
_out_of_place(place, "place_copy", "What `x` is after `place(x, ...)`, which stays as it is.")
_out_of_place(putmask, "putmask_copy", "What `x` is after `putmask(x, ...)`, which stays as it is.")
_out_of_place(fill_diagonal, "fill_diagonal_copy", "What `x` is after `fill_diagonal(x, ...)`, which stays as it is.")

members: dict[str, Any] = {
    "choose": choose_method,
    "compress": compress_method,
    "fill_diagonal_": fill_diagonal_,
}
"""Methods of `Tensor` whose arguments differ from those of the functions."""

