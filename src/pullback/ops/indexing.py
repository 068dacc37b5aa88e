"""What `x[index]` and `x[index] = value` mean.

A basic index is a view, and assigning to it writes through that view. In an index with arrays, truth arrays become
the positions of their True elements, so the operators see integers only; assigning one value needs no search.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from pullback.autograd._variable import bump_version
from pullback.core.axes import normalize_axis_index
from pullback.declare.composite import composite
from pullback.eager.build import as_operand
from pullback.eager.inplace import write
from pullback.ops.casting import _assign as assign
from pullback.ops.index_operators import (
    ARRAY,
    Template,
    basic_view,
    index_arrays,
    index_key,
    index_put_arrays,
    indexed_shape,
    masked_fill,
    positions,
)
from pullback.ops.movement import expand_dims
from pullback.ops.plain import is_constant
from pullback.payloads.batched import plain_array
from pullback.tensors.tensor import Tensor, as_constant


def as_basic(index: Any) -> Template | None:
    """A basic index in canonical form, which has an Ellipsis; None if there are arrays in it."""
    if type(index) is int:
        return (index, ...)
    parts = index if type(index) is tuple else (index,)
    canonical: list[Any] = []
    has_ellipsis = False
    for part in parts:
        kind = type(part)
        if kind is int or part is None:
            canonical.append(part)
        elif kind is slice:
            canonical.append(_plain_slice(part))
        elif part is Ellipsis:
            has_ellipsis = True
            canonical.append(part)
        elif isinstance(part, np.integer) or _is_lone_integer(part):
            canonical.append(int(part))
        else:
            return None
    if not has_ellipsis:
        # Without it NumPy gives a scalar in place of a view without axes.
        canonical.append(...)
    return tuple(canonical)


def _plain_slice(part: slice) -> slice:
    for bound in (part.start, part.stop, part.step):
        if bound is not None and type(bound) is not int:
            bounds = (part.start, part.stop, part.step)
            return slice(*(None if bound is None else operator.index(_as_payload(bound)) for bound in bounds))
    return part


def _is_lone_integer(part: Any) -> bool:
    array = plain_array(_as_payload(part))
    return array is not None and array.ndim == 0 and array.dtype.kind in "iu"


def _as_payload(part: Any) -> Any:
    return part._data if isinstance(part, Tensor) else part


def resolve(x: Any, index: Any) -> tuple[Any, list[Any], Template, bool]:
    """An index with arrays as `(x, arrays, template, distinct)`; `x` may have got axes of length 1."""
    parts = [_as_index_array(part) for part in (index if type(index) is tuple else (index,))]
    consumed = sum(_axes_taken(part) for part in parts)
    if consumed > x.ndim:
        raise IndexError(f"too many indices: {consumed} axes are indexed, and the array has {x.ndim}")
    arrays: list[Any] = []
    template: list[Any] = []
    axis = masks = integers = 0
    for part in parts:
        if part is None or part is Ellipsis:
            template.append(part)
            axis += 0 if part is None else x.ndim - consumed
            continue
        if _is_mask(part):
            masks += 1
            if part.ndim == 0:
                # A lone truth value is an axis of length 1, taken or not.
                x, consumed = expand_dims(x, axis), consumed + 1
                part = part.reshape(1)
            _check_mask(part, x.shape, axis)
            found = positions(part)
            arrays.extend(found)
            template.extend(ARRAY for _ in found)
        elif hasattr(part, "ndim"):
            integers += 1
            arrays.append(part)
            template.append(ARRAY)
        else:
            template.append(part)
        axis += _axes_taken(part)
    _check_compatible(arrays)
    return x, arrays, tuple(template), masks == 1 and integers == 0


def _check_compatible(arrays: list[Any]) -> None:
    if len(arrays) > 1:
        try:
            np.broadcast_shapes(*(array.shape for array in arrays))
        except ValueError:
            shapes = ", ".join(str(array.shape) for array in arrays)
            raise IndexError(f"the arrays of an index must broadcast together, and have shapes {shapes}") from None


def _is_mask(part: Any) -> bool:
    return hasattr(part, "ndim") and part.dtype == np.bool_


def _axes_taken(part: Any) -> int:
    """How many axes of the array a part of an index stands for; the Ellipsis takes what is left."""
    if part is None or part is Ellipsis:
        return 0
    return int(part.ndim) if _is_mask(part) else 1


def _check_mask(mask: Any, shape: tuple[int, ...], axis: int) -> None:
    lengths = shape[axis : axis + mask.ndim]
    # As in NumPy, an empty mask selects nothing from an axis of any length.
    if mask.shape != lengths and any(own not in (0, length) for own, length in zip(mask.shape, lengths, strict=True)):
        raise IndexError(f"a truth array of shape {mask.shape} can not index axes of lengths {lengths}")


def _as_index_array(part: Any) -> Any:
    """Ints, slices, None and Ellipsis as they are; everything else as an array of integers or truth values."""
    if part is None or part is Ellipsis or type(part) is int:
        return part
    if type(part) is slice:
        return _plain_slice(part)
    if isinstance(part, np.integer) or _is_lone_integer(part):
        return int(part)
    if isinstance(part, Tensor):
        mask = plain_array(part._data) if part.dtype == np.bool_ else None
        array = part if mask is None else mask
    elif hasattr(type(part), "evaluate_op"):
        array = part
    else:
        # A copy, because the array may be changed before the gradient asks for it.
        array = np.array([_as_number(item) for item in part] if isinstance(part, (list, tuple)) else part)
        array = array.astype(np.int64) if array.size == 0 and array.dtype.kind == "f" else array
    if array.dtype.kind not in "iub":
        raise IndexError(f"an index holds ints, slices, None, Ellipsis and integer or truth arrays, not {array.dtype}")
    return array


def _as_number(item: Any) -> Any:
    return item._data if isinstance(item, Tensor) else item


@composite(arrays=0)
def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: a view for a basic index, a copy for an index with arrays."""
    x = x if type(x) is Tensor else as_constant(x)
    if type(index) is Tensor and type(index._data) is np.ndarray and index.dtype.kind == "i" and index.ndim and x.ndim:
        # Rows by their numbers: the most frequent index with an array. bench/operators.py, take rows
        return index_arrays(x, index, template=(ARRAY,), distinct=False)
    basic = as_basic(index)
    if basic is not None:
        return basic_view(x, index=basic)
    x, arrays, template, distinct = resolve(x, index)
    return index_arrays(x, *arrays, template=template, distinct=distinct)


def setitem(x: Any, index: Any, value: Any) -> None:
    """`x[index] = value`, recorded: the gradient of `x` is 0 at the places written, that of `value` is read there."""
    if not isinstance(x, Tensor):
        x[index] = value
        return
    value = as_operand(value)
    basic = as_basic(index)
    if basic is not None and _write_plain(x, basic, value):
        return
    if basic is not None:
        target = basic_view(x, index=basic)
        write(assign, target, (_without_leading_ones(value, target.ndim),), {})
        return
    mask = _lone_mask(index)
    if mask is not None and getattr(value, "ndim", 0) == 0 and mask.shape == x.shape[: mask.ndim]:
        write(masked_fill, x, (mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim)), value), {})
        return
    seen, arrays, template, distinct = resolve(x, index)
    if seen is not x:
        setitem(seen, index_key(template, tuple(arrays)), value)
        return
    value = _without_leading_ones(value, len(indexed_shape(x.shape, arrays, template)))
    write(index_put_arrays, x, (value, *arrays), {"template": template, "accumulate": False, "distinct": distinct})


def _write_plain(x: Tensor, basic: Any, value: Any) -> bool:
    """Write numbers of the same kind to a part of a plain tensor, if nobody can ask for gradients; says whether it did.

    bench/plain_numpy.py::fill
    """
    if x._extra is not None or not is_constant(x) or x.dtype.kind != "f" or 0 in x._data.strides:
        return False
    part = x._data[basic]
    if type(part) is not np.ndarray:
        return False
    if type(value) is Tensor:
        if not is_constant(value) or value.dtype != x.dtype or value.shape != part.shape:
            return False
        value = value._data
        if np.may_share_memory(part, value):  # NumPy does not get every overlap right
            return False
    elif type(value) is not float and type(value) is not int:
        return False
    part[...] = value
    bump_version(x, part)
    return True


def _lone_mask(index: Any) -> Any:
    """The mask, if the index is one truth array and nothing else."""
    parts = index if type(index) is tuple else (index,)
    if len(parts) != 1 or not hasattr(parts[0], "ndim") or parts[0].dtype != np.bool_ or parts[0].ndim == 0:
        return None
    return parts[0] if isinstance(parts[0], Tensor) else np.array(parts[0])


def _without_leading_ones(value: Any, ndim: int) -> Any:
    """A value that has more axes than its target, as NumPy assigns it: without axes of length 1 in front."""
    extra = getattr(value, "ndim", 0) - ndim
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        return value.reshape(value.shape[extra:])
    return value


@composite
def narrow(x: Any, dim: int, start: int, length: int) -> Any:
    """`length` elements from `start` on along axis `dim`: a view."""
    axis = normalize_axis_index(dim, x.ndim)
    start, length, size = operator.index(_as_payload(start)), operator.index(length), x.shape[axis]
    start = start + size if start < 0 else start
    if length < 0 or start < 0 or start + length > size:
        raise IndexError(f"narrow: {length} elements from {start} on do not fit into an axis of length {size}")
    return basic_view(x, index=(slice(None),) * axis + (slice(start, start + length), ...))


def select_index(x: Any, dim: int, index: int) -> Any:
    """The elements at `index` of axis `dim`: a view without that axis."""
    axis = normalize_axis_index(dim, x.ndim)
    return basic_view(x, index=(slice(None),) * axis + (operator.index(_as_payload(index)), ...))


def length_of_first_axis(x: Tensor) -> int:
    """The length of the first axis."""
    if x.ndim == 0:
        raise TypeError("len() of a tensor without axes")
    return x.shape[0]


members: dict[str, Any] = {
    "__len__": length_of_first_axis,
    "__setitem__": setitem,
    "select": select_index,
}
"""Attributes of `Tensor` that are no functions of the same name."""
