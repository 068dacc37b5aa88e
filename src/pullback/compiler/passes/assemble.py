"""`sums_to_writes`: a sum of slices put into different places of an array is an array into which they are written.

The gradient of an array of which a function takes parts is a sum of arrays that are zero outside of their part. To add
them up, every element asks of every part whether it lies in it. Where parts do not overlap there is nothing to add:
they are written side by side. Parts along one axis, as columns are, are joined, with zeros in the gaps; others are
written one after the other. Of several parts of one place the sum is written. Parts that overlap, but are small beside
the whole, as the steps of a simulation are that fills an array, are added one after the other to where they belong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container
from typing import Any, NamedTuple, TypeVar

import numpy as np

from pullback.declare.views import ViewStep
from pullback.graph.ir import Node, Program, Value, array_type, empty_like_type, find_operator, type_of
from pullback.graph.rewrite import Replacements, in_bodies, keep_remarks, outline, with_operands

Kind = TypeVar("Kind", bound=Program)
Box = tuple[range, ...]
_LARGEST = 1 << 20
_FEWEST = 3
"""Places from which on they are written. Of two, whoever reads the sum asks in which of them an element lies."""
_SMALL = 4
"""How many times as large as its parts an array must be for these to be added to it one after the other. Where they are
larger, one loop over the whole adds all of them at once."""


class Part(NamedTuple):
    """A value and the indices that lead to its place; without any it is as large as the whole."""

    value: Any
    indices: tuple[Any, ...]


@in_bodies
def sums_to_writes(program: Kind) -> Kind:
    """The graph with such sums; the graph itself if there are none. What is not needed any more is left to `dce`."""
    if not any(node.op == "_place_slice" for node in program.nodes):
        return program
    readers = Counter(x for node in program.nodes for x in node.inputs)
    readers.update(value for value in program.outputs if value is not None)
    inner = {x for node in program.nodes for x in node.inputs if node.op in ("add", "_place_slice") and readers[x] == 1}
    sums = _sums_of_places(program, readers)
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original.op == "add" and original.result in sums and original.result not in inner:
            found = parts_of(original.result, readers, sums)
            parts = [part._replace(value=replaced.found.get(part.value, part.value)) for part in found]
            free = [not part.indices and readers[part.value] == 1 for part in found]
            total = _assembled(made, node, parts, free)
            if total is not None:
                # path: assembled sum
                replaced.found[original.result] = total
                continue
        made.nodes.append(node)
    return replaced.finish(made, program)


_MOST_AROUND = 4
"""How many times as large as what is around it a box of zeros must be."""


@in_bodies
def frames_in_sums(program: Kind) -> Kind:
    """An update by zeros that is added to slices in their places is its own frame, in slices.

    The gradient of `u[1:-1] = new` is the gradient of u with zeros in that box, and what `new` read is added to it. To
    write the zeros to memory, and read them again, takes as long as the sum. (A sum of negative
    zeros may be 0.0 then.)
    """
    readers = Counter(x for node in program.nodes for x in node.inputs)
    readers.update(value for value in program.outputs if value is not None)
    sums = _sums_of_places(program, readers)
    made, replaced = outline(program), Replacements()
    for original in program.nodes:
        node = replaced.node(original)
        if original.op == "add" and original.result in sums:
            for x in original.inputs:
                framed = _framed(made, node, x, replaced) if readers[x] == 1 and x not in sums else None
                if framed is not None:
                    # path: frame in a sum
                    operands = [framed if y is x else replaced.found.get(y, y) for y in original.operands]
                    node = with_operands(node, tuple(operands))
                    replaced.found[original.result] = node.result
        made.nodes.append(node)
    return replaced.finish(made, program)


def _framed(made: Program, total: Node, value: Value, replaced: Replacements) -> Value | None:
    """The sum of what is around a box of zeros, put into its places; None if this is no such value."""
    node, kind = value.node, value.type
    if node is None or node.op != "update" or kind.strides is not None or not _is_like(value, total.result):
        return None
    base, new = (replaced.found.get(x, x) for x in node.operands)
    steps = node.attrs["steps"]
    if not _is_zero(new) or base.type != kind or len(steps) != 1 or steps[0].op is not find_operator("_basic_index"):
        return None
    index = steps[0].params["index"]
    if not all(part is ... or (type(part) is slice and part.step in (None, 1)) for part in index):
        return None
    box = _box((index,), kind.shape)
    slabs = [
        (*box[:axis], ends, *map(range, kind.shape[axis + 1 :]))
        for axis, along in enumerate(box)
        for ends in (range(along.start), range(along.stop, kind.shape[axis])) if len(ends)
    ]  # fmt: skip
    around = sum(math.prod(map(len, slab)) for slab in slabs)
    if not slabs or _MOST_AROUND * around > kind.size:
        return None
    found: Value | None = None
    for slab in slabs:
        place = tuple([slice(along.start, along.stop) for along in slab])
        shape = tuple(map(len, slab))
        strides = kind.byte_strides
        view = made.add(
            find_operator("_basic_index"), (base,), {"index": (*place, ...)},
            (array_type(shape, kind.dtype, strides),), node.tag,
        ).result  # fmt: skip
        part = add_node(made, node, find_operator("_place_slice"), (view,), {"index": place, "shape": kind.shape}, kind)
        found = part if found is None else add_node(made, node, total.target, (found, part), {}, kind)
    return found


def _is_zero(x: Any) -> bool:
    """Is a value nothing but positive zeros, read again and again from one constant?"""
    while type(x) is Value and x.node is not None and x.node.is_view:
        x = x.node.operands[0]
    node = x.node if type(x) is Value else None
    if node is None or node.op != "constant" or x.type.size != 1:
        return False
    value = node.attrs["value"]
    return bool(value.dtype.kind == "f" and value == 0 and not np.signbit(value))


def _sums_of_places(program: Program, readers: Counter[Any]) -> set[Any]:
    """Slices in their places, and what they are added up to."""
    found: set[Any] = set()
    for node in program.nodes:
        is_sum = node.op == "add" and any(x in found and readers[x] == 1 for x in node.inputs)
        if node.target is not None and (is_sum or node.op == "_place_slice"):
            found.add(node.result)
    return found


def parts_of(total: Value, readers: Counter[Any], sums: Container[Any] | None = None) -> list[Part]:
    """What a value is the sum of, from left to right. What others read as well is a part as it is.

    Sums that are not in `sums` are parts as they are, if it is given.
    """
    found: list[Part] = []
    waiting = [Part(total, ())]
    while waiting:
        part = waiting.pop()
        value, indices = part
        node = value.node if value is total or readers[value] == 1 else None
        operands: tuple[Any, ...] = () if node is None or node.target is None else node.operands
        is_sum = node is not None and node.op == "add" and (sums is None or value in sums)
        if is_sum and all(_is_like(x, value) for x in operands):
            waiting += [Part(x, indices) for x in reversed(operands)]
        elif node is not None and node.op == "_place_slice" and operands[0].type.dtype == value.type.dtype:
            waiting.append(Part(operands[0], (*indices, node.attrs["index"])))
        else:
            found.append(part)
    return found


def _is_like(x: Any, value: Value) -> bool:
    return type(x) is Value and x.type.spec == value.type.spec


def _assembled(made: Program, node: Node, parts: list[Part], free: list[bool]) -> Value | None:
    """The sum, with parts written to where they belong; None if there are too few of them. `free` says which parts are
    as large as the whole and read by nobody else, so that they can be written to."""
    kind = node.result.type
    places: dict[Box, list[Part]] = {}
    for part in parts:
        if part.indices:
            places.setdefault(_box(part.indices, kind.shape), []).append(part)
    if not places or kind.strides is not None or not all(_fits(part, kind.shape) for part in parts):
        return None
    writes = _Writes(made, node)
    whole = [part.value for part in parts if not part.indices]
    total = writes.joined(places) or writes.one_by_one(places) if len(places) >= _FEWEST else None
    if total is None:
        volume = sum(part.value.type.size for part in parts if part.indices)
        if kind.size * (len(parts) - len(whole)) < _SMALL * volume or (whole and True not in free):
            return None
        start = whole.pop(sum(not part.indices for part in parts[: free.index(True)])) if whole else None
        total = writes.added([part for part in parts if part.indices], start)
    for value in whole:
        total = add_node(made, node, node.target, (total, value), {}, kind)
    return total


def _fits(part: Part, shape: tuple[int, ...]) -> bool:
    """Has a part as many elements as its place, and some?"""
    place = np.broadcast_to(np.False_, shape)
    for index in part.indices:
        place = place[index]
    return bool(place.size) and place.shape == part.value.type.shape


def _box(indices: tuple[Any, ...], shape: tuple[int, ...]) -> Box:
    """The positions along each axis that some indices lead to, one after the other."""
    box = [range(length) for length in shape]
    axes: list[int | None] = list(range(len(shape)))  # of what has been selected so far; None is a new one
    for index in indices:
        kept: list[int | None] = []
        rest = len(axes) - sum(part is not None and part is not ... for part in index)
        for part in index if ... in index else (*index, ...):
            if part is ...:
                kept, axes = kept + axes[:rest], axes[rest:]
            elif part is None:
                kept.append(None)
            else:
                axis, *axes = axes
                if axis is not None:
                    found = box[axis][part]
                    box[axis] = found if isinstance(found, range) else range(found, found + 1)
                kept += [axis] * isinstance(part, slice)
        axes = kept
    return tuple(box)


def _steps(part: Part) -> tuple[ViewStep, ...]:
    """The views that lead to the place of a part."""
    indices = [index if ... in index else (*index, ...) for index in part.indices]  # so that it is a view
    return tuple([ViewStep(find_operator("_basic_index"), {"index": index}) for index in indices])


def _upward(along: range) -> range:
    return along if along.step > 0 else along[::-1]


def _are_apart(ranges: list[range]) -> bool:
    """Are these the positions of slices without steps, one after the other?"""
    stops = [0, *(along.stop for along in ranges)]
    return all(0 < len(r) == r.stop - r.start and end <= r.start for r, end in zip(ranges, stops, strict=False))


class _Writes:
    """Adds the nodes that put an array together, in the place of one node."""

    def __init__(self, made: Program, node: Node) -> None:
        self.made = made
        self.node = node
        self.kind = node.result.type

    def joined(self, places: dict[Box, list[Part]]) -> Value | None:
        """Parts that lie side by side along one axis, with zeros between them; None if they do not."""
        shape = self.kind.shape
        axes = {axis for box in places for axis, along in enumerate(box) if along != range(shape[axis])}
        if len(axes) != 1:
            return None
        (axis,) = axes
        order = sorted(places, key=lambda box: box[axis].start)
        if not _are_apart([box[axis] for box in order]):
            return None
        operands, end = [], 0
        for box in order:
            operands += self._zeros(axis, box[axis].start - end)
            operands.append(self._sum(places[box], tuple(map(len, box))))
            end = box[axis].stop
        operands += self._zeros(axis, shape[axis] - end)
        return self._add(find_operator("_concat"), tuple(operands), {"axis": axis}, shape)

    def one_by_one(self, places: dict[Box, list[Part]]) -> Value | None:
        """Parts written into zeros; None if some overlap, or if there are too many elements to find out."""
        if self.kind.size > _LARGEST:
            return None
        taken = np.zeros(self.kind.shape, bool)
        for box in places:
            place = tuple([slice(along[0], along[-1] + 1, along.step) for along in map(_upward, box)])
            if taken[place].any():
                return None
            taken[place] = True
        total = self._constant(self.kind.shape)
        for parts in places.values():
            part = self._sum(parts, parts[0].value.type.shape)
            total = self._written(total, part, _steps(parts[0]))
        return total

    def added(self, parts: list[Part], start: Value | None) -> Value:
        """Parts added one after the other, to a start or to zeros."""
        # path: parts added in place
        total = self._constant(self.kind.shape) if start is None else start
        for part in parts:
            steps, place, seen = _steps(part), total, empty_like_type(total.type)
            for op, params in steps:
                seen = op.kernel(seen, **params)
                place = self._add(op, (place,), params, seen.shape, type_of(seen).strides)
            value = self._add(self.node.target, (place, part.value), {}, part.value.type.shape)
            total = self._written(total, value, steps)
        return total

    def _written(self, total: Value, part: Value, steps: tuple[ViewStep, ...]) -> Value:
        return self._add("update", (total, part), {"steps": steps}, self.kind.shape)

    def _sum(self, parts: list[Part], shape: tuple[int, ...]) -> Value:
        """What belongs to one place, as an array of this shape."""
        total, *others = [self._reshaped(part.value, shape) for part in parts]
        for value in others:
            total = self._add(self.node.target, (total, value), {}, shape)
        return total

    def _reshaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """With other axes of length 1."""
        if value.type.shape == shape:
            return value
        pairs = zip(value.type.shape, value.type.byte_strides, strict=True)
        steps = iter([step for length, step in pairs if length != 1])
        strides = tuple([0 if length == 1 else next(steps) for length in shape])
        return self._add(find_operator("_reshape"), (value,), {"shape": shape}, shape, strides)

    def _zeros(self, axis: int, length: int) -> list[Value]:
        """Zeros so far along an axis: one number that is read again and again."""
        if not length:
            return []
        shape = (*self.kind.shape[:axis], length, *self.kind.shape[axis + 1 :])
        strides = (0,) * len(shape)
        return [self._add(find_operator("broadcast_to"), (self._constant(()),), {"shape": shape}, shape, strides)]

    def _constant(self, shape: tuple[int, ...]) -> Value:
        zeros = np.zeros(shape, self.kind.dtype)
        zeros.flags.writeable = False
        return self._add("constant", (), {"value": zeros}, shape)

    def _add(self, op: Any, operands: tuple[Any, ...], attrs: dict[str, Any], shape: Any, strides: Any = None) -> Value:
        added = self.made.add(op, operands, attrs, (array_type(shape, self.kind.dtype, strides),), self.node.tag)
        keep_remarks(added, self.node)
        return added.result


def add_node(
    made: Program, node: Node, op: Any, operands: tuple[Any, ...], attrs: dict[str, Any], kind: Any, tag: str = ""
) -> Value:
    """The result of a new node in the place of `node`, and of its half unless another one is named."""
    added = made.add(op, operands, attrs, (array_type(kind.shape, kind.dtype),), tag or node.tag)
    keep_remarks(added, node)
    return added.result
