"""Fusion: which nodes are computed in the same loops.

An `Item` is one node, or a part of one, with the loops it wants: over `shape`, of which it may reduce some axes. A
`Group` is a set of items that share loops. In a group with reduced axes there are two kinds of values: those at every
point of all loops, and outer ones, which results of reductions are and what is computed from them alone. A loop over
the reduced axes that needs an outer value comes after the one that makes it: it is the next stage.

    softmax of rows:   stage 0  peak = max(x)                        outer: peak
                       stage 1  powers = exp(x - peak), sum(powers)  outer: total
                       stage 2  powers / total

Reductions of many elements are cut into blocks of fixed size, the sums of which are added up in a loop of their own.
So the order in which numbers are added depends on the shape and on nothing else, and threads have blocks to share.
Groups of that kind have one stage.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from pullback.compiler.loops.access import own_strides, squeezed
from pullback.core.records import Record, field
from pullback.graph.ir import Node, Value

BLOCKED_FROM = 8192
"""Elements of a reduction from which on it is done in blocks."""
COLUMNS_BLOCKED_FROM = 1 << 16
"""Elements from which on a reduction of leading axes is: its loops would jump through memory."""
_LONGEST_COLUMN = 64
_MOST_ITEMS = 512
_MOST_STRANGERS = 8  # items that have nothing to do with others, and share loops only to save calls
_MOST_READS = 128  # values that are read and not made in the loops
_LOOK_BACK = 8
_WINDOW = 1024  # items that may share loops; what each depends on is kept as bits, so the work is quadratic in these
_AHEAD = 32  # items that are compared to find where a window may end
_MOST_STAGES = 12


class Element(NamedTuple):
    """Where an item reads: one element of `root` for every point of its loops."""

    root: Value
    kind: str
    offset: int
    strides: tuple[int, ...]
    bounds: tuple[tuple[int, int, int], ...] = ()


class Expression(NamedTuple):
    """What an item reads if it is computed on the spot; outside of bounds it is 0."""

    what: Any
    kind: str
    reads: tuple[Any, ...]
    bounds: tuple[tuple[int, int, int], ...] = ()


class Index(NamedTuple):
    """A number read from memory that says where another element lies: `step` bytes further for each."""

    read: Element
    step: int


class Gathered(NamedTuple):
    """What an item reads at places that numbers in memory say; the numbers were checked before."""

    base: Element
    kind: str
    indices: tuple[Index, ...]


class Position(NamedTuple):
    """A number that follows from the point of the loops: `offset + sum(index * strides)`."""

    offset: int
    strides: tuple[int, ...]


def elements_of(read: Any) -> Iterator[Element]:
    """The elements of memory in what an item reads."""
    if isinstance(read, Element):
        yield read
    elif isinstance(read, Gathered):
        yield read.base
        for index in read.indices:
            yield index.read
    elif isinstance(read, Expression):
        for part in read.reads:
            yield from elements_of(part)


class Item(Record, frozen=True, eq=False):
    """A node with its loops. Items that are not fusible (`shape` is None) form groups of their own."""

    node: Node
    result: Value
    shape: tuple[int, ...] | None
    reads: tuple[Any, ...]  # an Element, an Expression or a number for each operand
    what: Any = None  # how it is computed, to whoever writes it
    reduced: frozenset[int] | None = None
    is_expensive: bool = False  # rather kept in memory than computed twice
    is_slow: bool = False  # not that expensive, but not worth nothing either
    others: tuple[Value, ...] = ()  # further results, of control flow
    before: tuple[Item, ...] = ()  # what has to be computed besides, for this item alone

    @property
    def results(self) -> tuple[Value, ...]:
        """All results."""
        return (self.result, *self.others)

    @cached_property
    def elements(self) -> list[Element]:
        """The elements of memory that it reads. Asked for when inlining is over."""
        return [part for read in self.reads for part in elements_of(read)]

    @cached_property
    def gathered(self) -> set[Value]:
        """The values that it reads anywhere, and which therefore have to be complete."""
        return {read.base.root for read in self.reads if isinstance(read, Gathered)}

    @cached_property
    def roots(self) -> list[Value]:
        """The values it reads."""
        return [part.root for part in self.elements]


class Group(Record, eq=False):
    """Items that share loops. `fuse` puts them together; nobody writes to them afterwards."""

    number: int
    shape: tuple[int, ...] | None
    reduced: frozenset[int] | None = None
    items: list[Item] = field(default_factory=list)
    is_outer: dict[Value, bool] = field(default_factory=dict)
    stage: dict[Value, int] = field(default_factory=dict)
    before: int = 0  # the groups that have to run before, as bits
    has_bounds: bool = False
    reads: set[Value] = field(default_factory=set)  # what others make
    strangers: int = 0  # items that read nothing of what others read or make
    placed: tuple[tuple[Value, Any], ...] = ()  # parts of arrays that its loops write as well

    outer_shape: tuple[int, ...] = ()  # the lengths of the axes that are not reduced, if some are
    is_blocked: bool = False  # the reduction is done in blocks

    def reduce(self, reduced: frozenset[int]) -> None:
        """Let these axes be reduced."""
        assert self.shape is not None
        self.reduced = reduced
        self.outer_shape = tuple([n for axis, n in enumerate(self.shape) if axis not in reduced])
        self.is_blocked = needs_blocks(self.shape, reduced)

    @property
    def stages(self) -> int:
        """How many loops over the reduced axes there are."""
        inner = [self.stage[item.result] for item in self.items if not self.is_outer[item.result] or item.reduced]
        return max(inner, default=-1) + 1


def needs_blocks(shape: tuple[int, ...], reduced: frozenset[int]) -> bool:
    """Is a reduction done in blocks?"""
    terms = math.prod(shape[axis] for axis in reduced)
    if terms > BLOCKED_FROM:
        return True
    return len(shape) - 1 not in reduced and terms > _LONGEST_COLUMN and math.prod(shape) > COLUMNS_BLOCKED_FROM


def fuse(items: Sequence[Item]) -> list[Group]:
    """Groups of items in an order in which they can run. Items come in an order in which they could."""
    groups: list[Group] = []
    for window in _windows(items):
        fusion = _Fusion()
        for item in window:
            fusion.place(item)
        groups += sorted(fusion.groups, key=lambda group: (group.before.bit_count(), group.number))
    return groups


def _windows(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Items that may share loops. A window ends where the next one begins as it did, if there is such a place: so what
    repeats itself is cut at the same places, and gives the same kernels."""
    labels = [(item.node.op, item.shape) for item in items]
    first = 0
    while len(items) - first > _WINDOW:
        beginning = labels[first : first + _AHEAD]
        ends = range(first + _WINDOW, first + _WINDOW // 2, -1)
        stop = next((end for end in ends if labels[end : end + _AHEAD] == beginning), first + _WINDOW)
        yield items[first:stop]
        first = stop
    yield items[first:]


class _Fusion:
    def __init__(self) -> None:
        self.groups: list[Group] = []
        self.maker: dict[Value, Group] = {}
        self.by_shape: dict[Any, list[Group]] = defaultdict(list)
        self.by_outer_shape: dict[Any, list[Group]] = defaultdict(list)

    def place(self, item: Item) -> None:
        """Put an item into the best group that takes it, or into a new one."""
        for group in self._candidates(item):
            found = _fit(group, item)
            if found is not None and _is_welcome(group, item) and self._is_acyclic(group, item):
                self._join(group, item, *found)
                return
        group = Group(len(self.groups), item.shape)
        self.groups.append(group)
        if item.shape is not None:
            self.by_shape[item.shape].append(group)
        self._join(group, item, False, 0)

    def _candidates(self, item: Item) -> Iterable[Group]:
        """Groups that make what is read, then others with the same loops; the latest first."""
        if item.shape is None:
            return ()
        makers = dict.fromkeys(self.maker[root] for root in reversed(item.roots) if root in self.maker)
        alike = self.by_shape[item.shape][-_LOOK_BACK:] if item.reduced is None or len(item.shape) else []
        outer = self.by_outer_shape[item.shape][-_LOOK_BACK:] if item.reduced is None else []
        latest = sorted({*alike, *outer}, key=lambda group: -group.number)
        return [*makers, *(group for group in latest if group not in makers)]

    def _needs(self, group: Group, item: Item) -> int:
        need = 0
        for root in item.roots:
            maker = self.maker.get(root)
            if maker is not None and maker is not group:
                need |= maker.before | 1 << maker.number
        return need

    def _is_acyclic(self, group: Group, item: Item) -> bool:
        return not self._needs(group, item) >> group.number & 1

    def _join(self, group: Group, item: Item, is_outer: bool, stage: int) -> None:
        need = self._needs(group, item) & ~group.before
        if need:
            group.before |= need
            bit = 1 << group.number
            for other in self.groups:
                if other.before & bit:
                    other.before |= need
        group.strangers += not _is_related(group, item)
        group.reads.update([root for root in item.roots if root not in group.stage])
        group.items.append(item)
        group.is_outer[item.result], group.stage[item.result] = is_outer or item.reduced is not None, stage
        group.has_bounds |= _has_bounds(item)
        if item.reduced is not None and group.reduced is None:
            group.reduce(item.reduced)
            self.by_outer_shape[group.outer_shape].append(group)
        self.maker.update(dict.fromkeys(item.results, group))


def _is_related(group: Group, item: Item) -> bool:
    return any(root in group.reads or root in group.stage for root in item.roots)


def _is_welcome(group: Group, item: Item) -> bool:
    """Do the loops stay short enough with this item? A long program would otherwise become a few kernels with hundreds
    of pointers each, no two of them alike, where shorter ones are compiled once and called often."""
    if group.strangers >= _MOST_STRANGERS and not _is_related(group, item):
        return False
    return len(group.reads) < _MOST_READS or all(root in group.reads or root in group.stage for root in item.roots)


def _fit(group: Group, item: Item) -> tuple[bool, int] | None:
    """Whether the item is an outer one in this group, and at which stage; None if it does not fit."""
    if group.shape is None or len(group.items) >= _MOST_ITEMS:
        return None
    found = None
    if item.shape == group.shape and (item.reduced is None or group.reduced in (None, item.reduced)):
        found = _fit_inside(group, item)
    if found is None and item.reduced is None and group.reduced is not None and item.shape == group.outer_shape:
        found = _fit_outside(group, item)
    return None if found is not None and found[1] >= _MOST_STAGES else found


def _has_bounds(item: Item) -> bool:
    return any(isinstance(read, (Element, Expression)) and bool(read.bounds) for read in (*item.reads, *item.elements))


def _fit_inside(group: Group, item: Item) -> tuple[bool, int] | None:
    blocked = group.is_blocked
    if item.reduced is not None and group.reduced is None and group.shape is not None:
        blocked = needs_blocks(group.shape, item.reduced)
    if blocked and (group.has_bounds or _has_bounds(item)):
        return None
    stage = 0
    for read in item.elements:
        if read.root not in group.stage:
            continue
        if read.root in item.gathered:
            return None
        own = read.root.type
        if group.is_outer[read.root]:
            if blocked or not _is_repeated(read, group):
                return None
            stage = max(stage, group.stage[read.root] + 1)
        elif read.bounds or read.offset or read.strides != own_strides(own) or squeezed(own.shape) != group.shape:
            return None
        else:
            stage = max(stage, group.stage[read.root])
    return False, stage


def _is_repeated(read: Element, group: Group) -> bool:
    """Is an outer value read at the point that it belongs to, the same for all points of the reduced axes?"""
    assert group.reduced is not None
    own = read.root.type
    if read.bounds or read.offset or squeezed(own.shape) != group.outer_shape:
        return False
    if any(read.strides[axis] for axis in group.reduced):
        return False
    return own_strides(own) == tuple([s for axis, s in enumerate(read.strides) if axis not in group.reduced])


_SHORT_ROW, _SHORT_ROW_OF_FUNCTIONS = 256, 16


def _is_scalar_outside(group: Group) -> bool:
    """Would an expensive function of results of rows take a good part of the time? Alone it is done in vectors."""
    assert group.shape is not None and group.reduced is not None
    if len(group.shape) - 1 not in group.reduced:
        return False
    terms = math.prod(group.shape[axis] for axis in group.reduced)
    return terms < (_SHORT_ROW_OF_FUNCTIONS if any(item.is_expensive for item in group.items) else _SHORT_ROW)


def _fit_outside(group: Group, item: Item) -> tuple[bool, int] | None:
    """An item with the shape of results, if it reads one of them."""
    if group.is_blocked or not any(root in group.stage for root in item.roots):
        return None
    if item.is_expensive and _is_scalar_outside(group):
        return None
    if _has_bounds(item):
        return None
    stage = -1
    for read in item.elements:
        if read.root in group.stage:
            own = read.root.type
            if not group.is_outer[read.root] or read.offset or read.strides != own_strides(own):
                return None
            if squeezed(own.shape) != group.outer_shape or read.root in item.gathered:
                return None
            stage = max(stage, group.stage[read.root])
    return True, stage
