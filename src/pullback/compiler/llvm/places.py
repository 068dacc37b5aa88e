"""Which elements of an array an index with arrays selects, as steps in bytes along the axes of what it selects.

An index reaches operators as a `template`, in which a string marks the place of each array, and the arrays. Results are
laid out as in NumPy, where an int next to arrays counts as one of them: adjacent arrays leave their axes in place,
separated ones move them to the front.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.llvm.text import kind_of
from pullback.graph.ir import Value

_INTEGERS = frozenset({"i1", "i2", "i4", "i8", "u1", "u2", "u4"})
ARRAY = str  # the type of what marks the place of an array in a template


class Along(NamedTuple):
    """An index: the array that it is, the axis that it indexes, and the first axis of the result that it runs along."""

    array: Value
    axis: int
    first: int


class Places(NamedTuple):
    """Where the elements of an indexed array lie, for each axis of what the index selects."""

    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    indices: tuple[Along, ...]
    lengths: tuple[int, ...]  # of the indexed array
    steps: tuple[int, ...]


def places_of(
    template: tuple[Any, ...], arrays: tuple[Any, ...], lengths: tuple[int, ...], steps: tuple[int, ...]
) -> Places | None:
    """The places that an index with arrays selects of an array with these lengths and steps in bytes."""
    is_known = all(type(x) is Value and kind_of(x.type.dtype) in _INTEGERS and x.type.size for x in arrays)
    if not arrays or not is_known:
        return None
    common = np.broadcast_shapes(*(x.type.shape for x in arrays))
    before = _axes_before(template, len(lengths))
    kept: list[tuple[int, int]] = []  # length and step of the axes that are not indexed by arrays
    along: list[int] = []
    offset = axis = 0
    for part in _full(template, len(lengths)):
        if part is None:
            kept.append((1, 0))
            continue
        length, step = lengths[axis], steps[axis]
        if type(part) is ARRAY:
            along.append(axis)
        elif type(part) is slice:
            start, stop, stride = part.indices(length)
            kept.append((len(range(start, stop, stride)), stride * step))
            offset += start * step if kept[-1][0] else 0
        elif -length <= part < length:
            offset += part % length * step
        else:
            return None
        axis += 1
    shape = (*(n for n, _ in kept[:before]), *common, *(n for n, _ in kept[before:]))
    strides = [*(s for _, s in kept[:before]), *([0] * len(common)), *(s for _, s in kept[before:])]
    indices = []
    for array, axis in zip(arrays, along, strict=True):
        counted = _counts_along(array, lengths[axis])
        if counted is None:
            indices.append(Along(array, axis, before + len(common) - array.type.ndim))
        else:  # the numbers from 0 on, as they come: no index at all
            strides[before + len(common) - array.type.ndim + counted] += steps[axis]
    return Places(shape, offset, tuple(strides), tuple(indices), lengths, steps)


def _full(template: tuple[Any, ...], ndim: int) -> list[Any]:
    """The template with slices in place of the Ellipsis and behind the last part."""
    missing = ndim - sum(part is not None and part is not ... for part in template)
    if ... not in template:
        return [*template, *[slice(None)] * missing]
    place = template.index(...)
    return [*template[:place], *[slice(None)] * missing, *template[place + 1 :]]


def _axes_before(template: tuple[Any, ...], ndim: int) -> int:
    """How many axes of the result come before those of the arrays; an int next to arrays counts as one of them."""
    places = [place for place, part in enumerate(template) if type(part) in (ARRAY, int)]
    if places[-1] - places[0] + 1 != len(places):
        return 0
    missing = ndim - sum(part is not None and part is not ... for part in template)
    return sum(missing if part is ... else 1 for part in template[: places[0]])


def constant_of(value: Value) -> Any:
    """The array that a value is, if it is a constant."""
    node = value.node
    return node.attrs["value"] if node is not None and node.op == "constant" else None


def _counts_along(array: Value, length: int) -> int | None:
    """The axis along which a constant counts from 0 to `length`, None if it does anything else."""
    known, shape = constant_of(array), array.type.shape
    if known is None or array.type.size != length or length == 1 or max(shape) != length:
        return None
    return shape.index(length) if np.array_equal(known.reshape(-1), np.arange(length)) else None


def along_axis(
    array: Any, axis: int, shape: tuple[int, ...], lengths: tuple[int, ...], steps: tuple[int, ...]
) -> Places | None:
    """The places of `takealong_axis`: one index, along one axis, and axes that broadcast."""
    if type(array) is not Value or kind_of(array.type.dtype) not in _INTEGERS or len(shape) != len(lengths):
        return None
    strides = tuple([0 if k == axis or lengths[k] == 1 else steps[k] for k in range(len(shape))])
    return Places(shape, 0, strides, (Along(array, axis, len(shape) - array.type.ndim),), lengths, steps)
