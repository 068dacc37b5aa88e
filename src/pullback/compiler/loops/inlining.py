"""Inlining: a cheap value that is read at other places than it would be computed is computed again where it is read.

`100 * (x[1:] - x[:-1] ** 2)` is needed once for the sum and once, shifted by one, for the gradient. Two loops would
need memory in between; one loop computes it twice. What is read is then no longer an element of memory but an
expression of such elements, whose places follow from the place that was read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from pullback.compiler.loops.access import own_strides, squeezed
from pullback.compiler.loops.fusion import Element, Expression, Gathered, Item, Position, elements_of
from pullback.core.records import replace

LARGEST = 32
"""Operations in an expression."""
MOST_READERS = 4


class _Axis(NamedTuple):
    """Along an axis of the reader, `index` of the source is `start + step * (i - low)`."""

    of_source: int
    step: int
    low: int


def inlined(items: Sequence[Item], wanted: Collection[Any]) -> list[Item]:
    """Items that read expressions, without those that nobody needs any more. `wanted` values are needed outside."""
    wanted = set(wanted)
    makers = {item.result: item for item in items}
    readers = Counter(read.root for item in items for read in _elements(item))
    made = []
    for item in items:
        if item.shape is not None and any(read.root in makers for read in _elements(item)):
            inlining = _Inlining(makers, readers, wanted, item.shape)
            reads = tuple([inlining.whole(read) for read in item.reads])
            if any(new is not old for new, old in zip(reads, item.reads, strict=True)):
                item = makers[item.result] = replace(item, reads=reads)
        made.append(item)
    return _needed(made, wanted)


def _elements(item: Item) -> Iterator[Element]:
    return (leaf for read in item.reads for leaf in elements_of(read))


def _needed(items: list[Item], wanted: Collection[Any]) -> list[Item]:
    live, kept = set(wanted), []
    for item in reversed(items):
        if not live.isdisjoint(item.results):
            kept.append(item)
            live.update(read.root for read in _elements(item))
    return kept[::-1]


class _Inlining:
    """What one item reads, as expressions as far as they are worth it."""

    def __init__(self, makers: dict[Any, Item], readers: Counter[Any], wanted: Collection[Any], shape: Any) -> None:
        self.makers = makers
        self.readers = readers
        self.wanted = wanted
        self.shape: tuple[int, ...] = shape
        self.room = 0  # operations that the expression may still have

    def whole(self, read: Any) -> Any:
        """The expression in place of a read, with its bounds, if it is not too large."""
        self.room = LARGEST
        made = self.expression(read)
        if not isinstance(made, Expression) or self.room < 0 or not any(elements_of(made)):
            return read
        # path: inlined
        return made._replace(bounds=read.bounds)

    def expression(self, read: Any) -> Any:
        """The same for a part of an expression; its bounds are those of the whole."""
        if not isinstance(read, Element) or not self._is_cheap(read):
            return read
        axes = _axes(read, self.shape)
        if axes is None:
            return read
        source = self.makers[read.root]
        parts = [_moved(part, axes, read.bounds) for part in source.reads]
        if None in parts:
            return read
        self.room -= 1 + _size(tuple(parts))
        if self.room < 0:  # a value that is read twice by one that is read twice is there four times: stop at once
            return read
        return Expression(source.what, read.kind, tuple([self.expression(part) for part in parts]))

    def _is_cheap(self, read: Element) -> bool:
        """Is it a value that may be computed again here, and would not be computed in the same loop anyway?"""
        source, type_ = self.makers.get(read.root), read.root.type
        if source is None or source.shape is None or source.reduced is not None:
            return False
        if source.is_expensive or source.is_slow or type_.strides is not None or read.root in self.wanted:
            return False
        if self.readers[read.root] > MOST_READERS or math.prod(self.shape) > 2 * type_.size:
            return False
        is_itself = not read.offset and read.strides == own_strides(type_) and self.shape == squeezed(type_.shape)
        return not is_itself or bool(read.bounds)


def _size(reads: tuple[Any, ...]) -> int:
    return sum(1 + _size(read.reads) for read in reads if isinstance(read, Expression))


def _axes(read: Element, shape: tuple[int, ...]) -> tuple[list[_Axis | None], list[int]] | None:
    """For every axis of the reader the one of the source that it runs along, and where the source begins."""
    lengths, steps = squeezed(read.root.type.shape), own_strides(read.root.type)
    lows = {axis: (low, high) for axis, low, high in read.bounds}
    offset = read.offset + sum(low * read.strides[axis] for axis, (low, _) in lows.items())
    starts = []
    for length, step in zip(lengths, steps, strict=True):
        start, offset = divmod(offset, step)
        if not 0 <= start < length:
            return None
        starts.append(start)
    if offset:
        return None
    found: list[_Axis | None] = []
    for axis, stride in enumerate(read.strides):
        low, high = lows.get(axis, (0, shape[axis]))
        if not stride:
            found.append(None)
            continue
        taken = {each.of_source for each in found if each is not None}
        fitting = [
            k for k, step in enumerate(steps)
            if k not in taken and not stride % step
            and 0 <= starts[k] + stride // step * (high - low - 1) < lengths[k]
        ]  # fmt: skip
        if not fitting:
            return None
        found.append(_Axis(fitting[0], stride // steps[fitting[0]], low))
    return found, starts


def _moved(part: Any, axes: tuple[list[_Axis | None], list[int]], bounds: tuple[Any, ...]) -> Any:
    """What the source reads, at the places that the reader asks for; None if that cannot be said."""
    if isinstance(part, Expression):
        if part.bounds:
            return None
        parts = [_moved(each, axes, bounds) for each in part.reads]
        return None if None in parts else part._replace(reads=tuple(parts))
    if isinstance(part, (Gathered, Position)):
        return None
    if not isinstance(part, Element):
        return part
    if part.bounds:
        return None
    along, starts = axes
    offset = part.offset + sum(start * step for start, step in zip(starts, part.strides, strict=True))
    strides = []
    for axis in along:
        step = 0 if axis is None else axis.step * part.strides[axis.of_source]
        offset -= 0 if axis is None else axis.low * step
        strides.append(step)
    return part._replace(offset=offset, strides=tuple(strides), bounds=bounds)
