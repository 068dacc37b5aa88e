"""What `x[index]` and `x[index] = value` mean.

A basic index is a view, and assigning to it writes through that view. In an index with arrays, truth arrays become
the positions of their True elements, so the operators see integers only; assigning one value needs no search.
"""

from __future__ import annotations

import operator
from sys import _getframe, getrefcount
from typing import Any

import numpy as np

from pullback._sites import told
from pullback.core.axes import normalize_axis_index
from pullback.core.frames import adapted_call, adapting
from pullback.core.state import current
from pullback.declare.composite import composite
from pullback.eager.build import as_operand
from pullback.eager.direct import copying
from pullback.eager.failures import failed
from pullback.eager.inplace import write
from pullback.eager.parts import Placer, Reader
from pullback.eager.picked import Picked
from pullback.operators.arguments import is_constant
from pullback.operators.arrays.index_operators import (
    ARRAY,
    ROWS,
    Template,
    basic_view,
    index_arrays,
    index_key,
    index_put_arrays,
    indexed_shape,
    stands_for_array,
)
from pullback.operators.arrays.masks import masked_fill, positions
from pullback.operators.arrays.movement import expand_dims
from pullback.operators.elementwise.casting import _assign as assign
from pullback.operators.elementwise.casting import copy, without_leading_ones
from pullback.payloads.batched import BatchedArray, bare, plain_array
from pullback.payloads.evaluate import is_traced
from pullback.tape.history import bump_version
from pullback.tensors.overwrites import make_way
from pullback.tensors.tensor import Tensor, as_constant

_parts = Reader(basic_view)
_places = Placer(index_put_arrays)
_PLAIN_VALUES = (Tensor, float, int)


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
        elif isinstance(part, np.integer) or part.__class__ is int or _is_lone_integer(part):
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


def resolve(x: Any, index: Any) -> tuple[Any, tuple[Any, ...], Template, bool]:
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
    return x, tuple(arrays), tuple(template), masks == 1 and integers == 0


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
        raise IndexError(f"a truth array of shape {mask.shape} cannot index axes of lengths {lengths}")


def _as_index_array(part: Any) -> Any:
    """Ints, slices, None and Ellipsis as they are; everything else as an array of integers or truth values."""
    if part is None or part is Ellipsis or type(part) is int:
        return part
    if type(part) is slice:
        return _plain_slice(part)
    if isinstance(part, np.integer) or part.__class__ is int or _is_lone_integer(part):  # also one of a trace
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
        shown = f"an array of {array.dtype}" if array.ndim else type(part).__name__
        raise told(
            IndexError(f"an index holds ints, slices, None, Ellipsis and integer or truth arrays, not {shown}"),
            why="a position between two elements has none" if array.dtype.kind == "f" else "",
            fix="write int(i), or // in place of / where it is computed; x.astype(int) for an array"
            if array.dtype.kind == "f"
            else "",
        )
    return array


def _as_number(item: Any) -> Any:
    return item._data if isinstance(item, Tensor) else item


@composite(arrays=0)
def getitem(x: Any, index: Any) -> Any:
    """`x[index]`: a view for a basic index, a copy for an index with arrays."""
    try:
        x = x if type(x) is Tensor else as_constant(x)
        places = _places_of(x, index)
        if places is not None:
            arrays, distinct = places
            return index_arrays.run((x, *arrays), {"template": (ARRAY,) * len(arrays), "distinct": distinct})
        if type(index) is Tensor and index.is_nested:
            return index_arrays(x, index, template=ROWS, distinct=False)
        basic = (index, ...) if type(index) is int else as_basic(index)
        if basic is not None:
            if adapting and _is_element(x, index) and adapted_call(_getframe(1)) is not None:
                return element(x, basic)
            if type(x._data) is not np.ndarray and _is_element(x, index) and stands_for_array(x):
                return element(x, basic)
            return _parts.read(x, basic)
        x, arrays, template, distinct = resolve(x, index)
        out = index_arrays(x, *arrays, template=template, distinct=distinct)
        if current().trace is not None and _are_computed_integers(arrays):
            source, copy = _memory(current().trace.lifted(x)), _memory(out)
            if is_traced(source) and is_traced(copy):
                copy.picked_from(source, tuple(map(_memory, arrays)))
        elif type(out._data) is BatchedArray and all(array.ndim == 0 for array in arrays):
            out._data.picked = Picked(x, arrays, template)
        return out
    except Exception as error:
        failed(error, basic_view, (x,))
        raise


def _places_of(x: Tensor, index: Any) -> tuple[tuple[Any, ...], bool] | None:
    """The arrays of integers that an index stands for, and whether they are `distinct`, if that takes no questions: for
    one array, or some of one shape in a tuple, or a mask. Arrays of NumPy's are copied, since they may be changed
    before the gradient asks for them.

    bench/operators.py, take rows
    """
    kind = type(index)
    if kind is np.ndarray:
        dtype = index.dtype.kind
        if dtype == "i" and index.ndim and x._spec.ndim:
            return (index.copy(),), False
        if dtype == "b" and (ndim := index.ndim) and index.shape == x._spec.shape[:ndim]:
            return index.nonzero(), True
    elif kind is Tensor:
        data = index._data
        if type(data) is np.ndarray:
            dtype = data.dtype.kind
            if dtype == "i" and data.ndim and x._spec.ndim:
                return (index,), False
            if dtype == "b" and (ndim := data.ndim) and data.shape == x._spec.shape[:ndim]:
                return data.nonzero(), True
    elif kind is tuple and index and set(map(type, index)) == _ARRAYS:
        shape = index[0].shape
        if shape and len(index) <= x._spec.ndim:
            for part in index:
                if part.dtype.kind != "i" or part.shape != shape:
                    return None
            return tuple([part.copy() for part in index]), False
    return None


_ARRAYS = {np.ndarray}


def _is_element(x: Tensor, index: Any) -> bool:
    """Is this basic index that of one element, for which NumPy gives a number? `x[..., 0]` is a view there too."""
    if type(index) is int:
        return x._spec.ndim == 1
    parts = index if type(index) is tuple else (index,)
    if len(parts) != x._spec.ndim:
        return False
    for part in parts:
        if type(part) is not int and (part is None or part is Ellipsis or type(part) is slice):
            return False
    return True


def element(x: Tensor, basic: Template) -> Tensor:
    """The element at a basic index as NumPy gives it to adapted code, and of its own arrays: a copy."""
    out: Tensor = _copied_element((x,), {"index": basic})
    return out


_copied_element = copying(
    basic_view, lambda x, index: x[index].copy(), lambda operands, params: copy(basic_view(*operands, **params))
)


def _memory(x: Tensor) -> Any:
    """What a tensor lies in, with all examples if it is a batch."""
    return x._data.data if type(x._data) is BatchedArray else x._data


def _are_computed_integers(arrays: tuple[Any, ...]) -> bool:
    """Would the arrays of an index be plain integers in eager code?"""
    are_traced = all(type(each) is Tensor and is_traced(bare(each._data)) for each in arrays)
    return are_traced and bool(arrays) and not any(each.ndim for each in arrays)


def setitem(x: Any, index: Any, value: Any) -> None:
    """`x[index] = value`, recorded: the gradient of `x` is 0 at the places written, that of `value` is read there."""
    if not isinstance(x, Tensor):
        x[index] = value
        return
    try:
        places = _places_of(x, index)
        if places is not None:
            arrays, distinct = places
            ndim = x._spec.ndim - len(arrays) + arrays[0].ndim
            value = without_leading_ones(value if type(value) in _PLAIN_VALUES else as_operand(value), ndim)
            template = (ARRAY,) * len(arrays)
            params = {"template": template, "accumulate": False, "distinct": distinct}
            if _places.assign(x, value, arrays, params):
                return
            if not distinct:
                write(index_put_arrays, x, (value, *arrays), params)
                return
        basic = (index, ...) if type(index) is int else as_basic(index)
        if basic is not None and type(x) is Tensor and type(value) in _PLAIN_VALUES:
            if type(value) is Tensor and _parts.is_own_part(x, basic, value):
                bump_version(x)
                return
            if _parts.assign(x, basic, value) or _write_plain(x, basic, value):
                return
        value = as_operand(value)
        if basic is not None:
            if hasattr(x._data, "rows_to_write"):
                part = x._data.rows_to_write(basic)
                if part is not None:  # there is no view of it
                    _write_rows(x, value, *part)
                    return
            target = basic_view(x, index=basic)
            write(assign, target, (without_leading_ones(value, target.ndim),), {})
            return
        mask = _lone_mask(index)
        if mask is not None and getattr(value, "ndim", 0) == 0 and mask.shape == x.shape[: mask.ndim]:
            write(masked_fill, x, (mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim)), value), {})
            return
        seen, arrays, template, distinct = resolve(x, index)
        if seen is not x:
            setitem(seen, index_key(template, arrays), value)
            return
        value = without_leading_ones(value, len(indexed_shape(x.shape, arrays, template)))
        pick = _pick_of(x, arrays, value)
        if pick is not None:
            current().trace.unsettled.discard(pick.source)
        write(index_put_arrays, x, (value, *arrays), {"template": template, "accumulate": False, "distinct": distinct})
        if pick is not None:
            pick.generation = pick.source.generation
    except Exception as error:
        failed(error, assign, (x, value))
        raise


def _write_rows(x: Tensor, value: Any, view: Any, axis: int, rows: Any, is_one: bool) -> None:
    """`x[view]` at `rows` along an axis; of a single row, the value has not that axis."""
    target = basic_view(x, index=view)
    behind = target.ndim - axis - 1
    if is_one and getattr(value, "ndim", 0) > behind:
        value = expand_dims(value, value.ndim - behind)
    setitem(target, (*(slice(None),) * axis, rows), value)


def _pick_of(x: Tensor, arrays: tuple[Any, ...], value: Any) -> Any:
    """If a trace puts back what it has taken a copy of, as `x[i] += 1` does: what is known of the copy."""
    if current().trace is None or type(value) is not Tensor or not is_traced(_memory(value)):
        return None
    copy = _memory(value)
    if copy.storage.pick is None or copy.steps or not _are_computed_integers(arrays):
        return None
    target = _memory(current().trace.lifted(x))
    is_there = is_traced(target) and copy.storage.pick.is_place(target, tuple(map(_memory, arrays)))
    return copy.storage.pick if is_there else None


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
    counter = x._counter
    if counter is not None and counter.shared:
        make_way(x, part, "setitem")
    elif getrefcount(x._data) > _ALONE or x._data.base is not None:
        del part
        make_way(x, name="setitem")
        part = x._data[basic]
    # path: plain slice write
    part[...] = value
    bump_version(x)
    return True


def _references_to_a_payload() -> int:
    x = Tensor()
    x._data = np.empty(2)
    part = x._data[:1]
    return getrefcount(x._data) if part.size else 0


_ALONE = _references_to_a_payload()


def _lone_mask(index: Any) -> Any:
    """The mask, if the index is one truth array and nothing else."""
    parts = index if type(index) is tuple else (index,)
    if len(parts) != 1 or not hasattr(parts[0], "ndim") or parts[0].dtype != np.bool_ or parts[0].ndim == 0:
        return None
    return parts[0] if isinstance(parts[0], Tensor) else np.array(parts[0])


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
