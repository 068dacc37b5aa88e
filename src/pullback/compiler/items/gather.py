"""Reading and writing at places that arrays of integers say, as items of fusion.

A gather is an elementwise item: for every point of its loops one element, some bytes behind where it would be if all
indices were 0. A scatter is put together from a region, which is zeros or a copy of the base, and from a loop over the
values, in the order in which NumPy goes through them; therefore of several values for one place the last one stays, and
sums are the same from run to run. Where every row has one value, the result is that value where the row's index equals
the position, and 0 elsewhere: an elementwise item again, for which nothing has to lie in memory.

Indices are checked once, in an item of their own, which makes them positive; constants are checked here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.compiler.items.common import Assembly, Part, element, fits_kind
from pullback.compiler.loops.access import Accesses, squeezed
from pullback.compiler.loops.fusion import Element, Gathered, Index, Item, Position
from pullback.compiler.loops.scalars import Rule
from pullback.compiler.loops.text import kind_of
from pullback.graph.ir import Node, Value, array_type, find_operator, row_major

# Which elements of an array an index with arrays selects, as steps in bytes along the axes of what it selects.
#
# An index reaches operators as a `template`, in which a string marks the place of each array, and the arrays. Results
# are laid out as in NumPy, where an int next to arrays counts as one of them: adjacent arrays leave their axes in
# place, separated ones move them to the front.

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


_INT64 = np.dtype(np.int64)


class Scattered(NamedTuple):
    """Values put at, or added to, places of a result: `offset` and `strides` as if all indices were 0."""

    source: Any  # an Element or a number
    lengths: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    indices: tuple[Index, ...]
    adds: bool

    @property
    def reads(self) -> tuple[Any, ...]:
        """What it reads."""
        return (self.source, *(index.read for index in self.indices))

    @property
    def is_shared(self) -> bool:
        """Does every slice along the first axis write to places of its own?"""
        return bool(self.lengths) and self.strides[0] != 0 and not any(i.read.strides[0] for i in self.indices)


# Indices.


class _Indices:
    """The indices of one item, checked; `checks` are the items that do it."""

    def __init__(self, places: Places, accesses: Accesses) -> None:
        self.places = places
        self.accesses = accesses
        self.checks: list[Item] = []

    def all(self) -> tuple[Index, ...]:
        """One for each array."""
        return tuple([Index(self.read(each), self.places.steps[each.axis]) for each in self.places.indices])

    def read(self, each: Along) -> Element:
        """Where an index lies in memory, for the axes of the result."""
        array, length = each.array, self.places.lengths[each.axis]
        known = constant_of(array)
        if known is None or known.min() < 0 or known.max() >= length:
            array, strides, offset = self._checked(array, length, each.axis)
            root = array
        else:
            access = self.accesses[array]
            root, strides, offset = access.root, access.strides, access.offset
        ahead, shape = each.first, self.places.shape
        behind = len(shape) - ahead - array.type.ndim
        own = [step if n != 1 else 0 for n, step in zip(array.type.shape, strides, strict=True)]
        full = [*[0] * ahead, *own, *[0] * behind]
        kind = kind_of(array.type.dtype)
        assert kind is not None
        return Element(root, kind, offset, tuple([s for s, n in zip(full, shape, strict=True) if n != 1]))

    def _checked(self, array: Value, length: int, axis: int) -> tuple[Value, tuple[int, ...], int]:
        type_ = array_type(array.type.shape, _INT64)
        node = Node(find_operator("copy"), "index", (array,), {"order": "K"})
        node.results = (Value(type_, node),)
        reads = (element(array, self.accesses, type_.shape), length, axis)
        rule = Rule("checked_index", ("i8", "i8", "i8"), "i8")
        self.checks.append(Item(node, node.result, squeezed(type_.shape), reads, rule, is_slow=True))
        return node.result, type_.byte_strides, 0


def _dense(strides: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([step for step, length in zip(strides, shape, strict=True) if length != 1])


# Items.


def _gather(node: Node, x: Value, places: Places | None, accesses: Accesses) -> Item | None:
    made = node.result.type
    kind = kind_of(made.dtype)
    if places is None or places.shape != made.shape or kind is None or x.type.dtype != made.dtype:
        return None
    indices = _Indices(places, accesses)
    access = accesses[x]
    base = Element(access.root, kind, access.offset + places.offset, _dense(places.strides, places.shape))
    read: Any = Gathered(base, kind, indices.all()) if places.indices else base
    rule = Rule("identity", (kind,), kind)
    shape = squeezed(places.shape)
    return Item(node, node.result, shape, (read,), rule, is_slow=True, before=tuple(indices.checks))


def _index(node: Node, accesses: Accesses) -> Item | None:
    x, *arrays = node.operands
    if type(x) is not Value:
        return None
    places = places_of(node.attrs["template"], tuple(arrays), x.type.shape, accesses[x].strides)
    return _gather(node, x, places, accesses)


def _take_rows(node: Node, accesses: Accesses) -> Item | None:
    x, rows = node.operands
    if type(x) is not Value:
        return None
    return _gather(node, x, places_of(("array",), (rows,), x.type.shape, accesses[x].strides), accesses)


def _gather_along(node: Node, accesses: Accesses) -> Item | None:
    x, places = node.operands
    if type(x) is not Value:
        return None
    found = along_axis(places, node.attrs["axis"], node.result.type.shape, x.type.shape, accesses[x].strides)
    return _gather(node, x, found, accesses)


def _scatter(node: Node, values: Any, places: Places | None, base: Any, adds: bool, accesses: Accesses) -> Item | None:
    """A scatter into zeros (`base` is 0) or into a copy of the base."""
    type_ = node.result.type
    kind = kind_of(type_.dtype)
    if places is None or kind in (None, "b1") or type_.strides is not None or 0 in places.shape:
        return None
    if not fits_kind(values, node) or (type(base) is Value and not fits_kind(base, node)):
        return None
    indices = _Indices(places, accesses)
    source, shape = element(values, accesses, places.shape), squeezed(places.shape)
    own = indices.all()
    # path: scatter
    scattered = Scattered(source, shape, places.offset, _dense(places.strides, places.shape), own, adds)
    ones = _dense(row_major(type_.shape, type_.dtype.itemsize), type_.shape)
    whole = Part(element(base, accesses, type_.shape), squeezed(type_.shape), 0, ones)
    reads = (whole.source, *scattered.reads)
    return Item(node, node.result, None, reads, Assembly((whole, scattered)), before=tuple(indices.checks))


def _index_add(node: Node, accesses: Accesses) -> Item | None:
    x, *arrays = node.operands
    type_ = node.result.type
    places = places_of(node.attrs["template"], tuple(arrays), type_.shape, type_.byte_strides)
    return _one_of_each_row(node, x, places, accesses) or _scatter(node, x, places, 0, True, accesses)


def _gather_add(node: Node, accesses: Accesses) -> Item | None:
    x, array = node.operands
    type_ = node.result.type
    if type(x) is not Value:
        return None
    places = along_axis(array, node.attrs["axis"], x.type.shape, type_.shape, type_.byte_strides)
    return _one_of_each_row(node, x, places, accesses) or _scatter(node, x, places, 0, True, accesses)


def _index_put(node: Node, accesses: Accesses) -> Item | None:
    x, values, *arrays = node.operands
    type_ = node.result.type
    if type(x) is not Value:
        return None
    places = places_of(node.attrs["template"], tuple(arrays), type_.shape, type_.byte_strides)
    return _scatter(node, values, places, x, node.attrs["accumulate"], accesses)


_LONGEST_ROW = 1 << 14
"""Elements of a row up to which one comparison for each costs less than zeros and a write elsewhere."""


def _one_of_each_row(node: Node, x: Any, places: Places | None, accesses: Accesses) -> Item | None:
    """A scatter of one value into each row: that value where the index is the position in the row, and 0 elsewhere."""
    type_ = node.result.type
    kind = kind_of(type_.dtype)
    if places is None or len(places.indices) != 1 or type(x) is not Value or places.offset or kind in (None, "b1"):
        return None
    (index,) = places.indices
    axis, shape = index.axis, type_.shape
    if shape[axis] > _LONGEST_ROW or shape[axis] == 1 or x.type.shape != places.shape or not fits_kind(x, node):
        return None
    # Every other axis of the result is an axis of the values.
    of_values = {step: k for k, (step, n) in enumerate(zip(places.strides, places.shape, strict=True)) if n != 1}
    if len(of_values) != len(squeezed(places.shape)):
        return None
    others = [k for k in range(type_.ndim) if k != axis and shape[k] != 1]
    if any(of_values.get(type_.byte_strides[k]) is None for k in others) or len(of_values) != len(others):
        return None
    if any(places.shape[of_values[type_.byte_strides[k]]] != shape[k] for k in others):
        return None
    loops = [k for k in range(type_.ndim) if shape[k] != 1]
    squeezed_places = {k: place for place, k in enumerate(k for k, n in enumerate(places.shape) if n != 1)}

    def spread(read: Element) -> Element:
        """Strides along the axes of the values as strides along those of the result."""
        own = [0 if k == axis else read.strides[squeezed_places[of_values[type_.byte_strides[k]]]] for k in loops]
        return read._replace(strides=tuple(own))

    indices = _Indices(places, accesses)
    value = element(x, accesses, places.shape)
    number = spread(indices.read(index))
    position = Position(0, tuple([int(k == axis) for k in loops]))
    value = spread(value) if isinstance(value, Element) else value
    # path: one place in each row
    rule = Rule("where_equal", ("i8", "i8", kind), kind)
    return Item(
        node, node.result, squeezed(shape), (position, number, value), rule, is_slow=True, before=tuple(indices.checks)
    )


MAKERS: dict[str, Callable[[Node, Accesses], Item | None]] = {
    "_index": _index, "_take_rows": _take_rows, "_gather": _gather_along, "_index_add": _index_add,
    "_gather_add": _gather_add, "_index_put": _index_put,
}  # fmt: skip
