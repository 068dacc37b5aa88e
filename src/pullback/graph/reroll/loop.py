"""`Loop`: what becomes of every node of a region when its repetitions are one scan.

| role      | the node                                                          | becomes                          |
|-----------|-------------------------------------------------------------------|----------------------------------|
| HOISTED   | has the same operands every time                                  | one node in front of the loop    |
| FED       | takes element k of an array, or is another constant every time    | an array that is scanned         |
| GATHERED  | writes element k of an array that goes through all repetitions    | a collected result, written once |
| REPEATED  | anything else                                                     | a node of the body               |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.core.records import Record, field
from pullback.graph.descriptors import DummyAOTInput
from pullback.graph.ir import FORWARD, ArrayType, Node, Program, Value, array_type, find_operator, type_of
from pullback.graph.reroll.regions import (
    CollectedBy,
    Feed,
    Fixed,
    Homes,
    Own,
    Region,
    RowsOf,
    Sequence,
    Stacked,
    feed_of,
    find_sources,
)
from pullback.graph.reroll.sums import Chain, find_chains
from pullback.graph.reroll.table import axis_of, index_of, width_of
from pullback.graph.rewrite import with_operands

HOISTED, FED, GATHERED, REPEATED = "hoisted", "fed", "gathered", "repeated"


class Loop(Record, eq=False):
    """A region and what becomes of it. `collected` grows as others turn out to need results of all repetitions."""

    region: Region
    roles: dict[int, str]
    feeds: dict[tuple[int, int], Feed]  # of operands
    feeds_of_slots: dict[int, Feed]  # of nodes that are fed
    chains: list[Chain]
    depth: dict[Own, int] = field(default_factory=dict)  # how many repetitions back a carried result is needed
    rebased: set[Own] = field(default_factory=set)  # views of earlier repetitions that are taken again
    collected: dict[Own, None] = field(default_factory=dict)
    is_reversed: bool = False

    def carries(self) -> list[Own]:
        """What is carried: every result as far back as it is needed."""
        return [own._replace(lag=lag) for own, depth in self.depth.items() for lag in range(1, depth + 1)]

    def turn_of(self, repetition: int) -> int:
        """The slice of scanned and collected arrays that belongs to a repetition."""
        return self.region.count - 1 - repetition if self.is_reversed else repetition


def rows_of(loop: Loop, first: int, slope: int) -> slice:
    """The rows of repetitions in the order of turns."""
    count = loop.region.count
    return slice_of(first + slope * (count - 1), -slope, count) if loop.is_reversed else slice_of(first, slope, count)


def slice_of(first: int, slope: int, count: int) -> slice:
    """So many rows, of which each is `slope` behind the one before."""
    stop = first + slope * (count - 1) + (1 if slope > 0 else -1)
    return slice(first, None if stop < 0 else stop, slope)


class Loops(Homes):
    """All loops of a graph, in order."""

    def __init__(self, table: Any, repeats: int) -> None:
        super().__init__(table)
        self.repeats = repeats
        self.loops: list[Loop] = []
        self.by_region: dict[Region, Loop] = {}

    def plan(self, region: Region) -> Loop | None:
        """The loop that a region becomes, if it can."""
        while True:
            feeds = self._feeds(region)
            if feeds is None:
                return None
            first = max([feed.first for feed in feeds.values()], default=0)
            stop = min([feed.stop for feed in feeds.values()], default=region.count)
            if first == 0 and stop == region.count:
                break
            if stop - first < self.repeats:
                return None
            shorter = region.part(first, stop)
            if not find_sources(shorter):
                return None
            region = shorter
        return _loop_of(region, feeds)

    def keep(self, loop: Loop) -> None:
        """Take a loop in, and let others know what it needs of them."""
        self.add(loop.region)
        self.loops.append(loop)
        self.by_region[loop.region] = loop
        for feed in (*loop.feeds.values(), *loop.feeds_of_slots.values()):
            if isinstance(feed.origin, CollectedBy):
                self.by_region[feed.origin.region].collected.setdefault(feed.origin.own)
            elif isinstance(feed.origin, (RowsOf, Fixed)):
                self.need(feed.origin.base if isinstance(feed.origin, RowsOf) else feed.origin.value)
        for source in loop.region.sources.values():
            if isinstance(source, Fixed):
                self.need(source.value)
        for value in loop.region.starting.values():
            self.need(value)

    def need(self, value: int) -> None:
        """Somebody outside of the loops reads a value: if it is made in one, it has to come out."""
        region = self.of_value(value)
        if region is None:
            return
        loop = self.by_region[region]
        own, repetition = region.place_of(value)
        role = loop.roles[own.slot]
        if role == GATHERED or loop.depth.get(own, 0) >= region.count - repetition:
            return
        if role != REPEATED or region.node(own.slot).is_view:
            for operand in self.table.operands_of(int(self.table.maker[value])):
                self.need(operand)
        else:
            loop.collected.setdefault(own)

    def _feeds(self, region: Region) -> dict[tuple[int, int], Feed] | None:
        found = {}
        for key, source in region.sources.items():
            if isinstance(source, Sequence):
                feed = feed_of(self, source.values)
                feed = None if feed is None else self._settled(feed)
                if feed is None:
                    return None
                found[key] = feed
        return found

    def _settled(self, feed: Feed) -> Feed | None:
        """A feed from another loop is fine if that loop computes it every time."""
        origin = feed.origin
        if isinstance(origin, CollectedBy):
            role = self.by_region[origin.region].roles[origin.own.slot]
            if role == HOISTED:
                return feed._replace(origin=Fixed(origin.region.value_at(origin.own, origin.first)))
            if role != REPEATED:
                return None
        return feed


def _loop_of(region: Region, feeds: dict[tuple[int, int], Feed]) -> Loop | None:
    roles: dict[int, str] = {}
    feeds_of_slots: dict[int, Feed] = {}
    chains = find_chains(region)
    if chains is None:
        return None
    gathered = {slot for chain in chains for slot in chain.slots}
    for slot in range(region.period):
        if slot in gathered:
            roles[slot] = GATHERED
            continue
        feed = _feed_of_slot(region, slot)
        if feed is not None:
            roles[slot], feeds_of_slots[slot] = FED, feed
        elif slot in region.rows or (slot, -1) in region.numbers:
            return None  # it moves along an array that the loop itself makes
        else:
            roles[slot] = HOISTED if _is_fixed(region, slot, roles) else REPEATED
    if any(roles[slot] == REPEATED and _leaves_in_another_order(region, slot) for slot in range(region.period)):
        return None
    loop = Loop(region, roles, feeds, feeds_of_slots, chains)
    inner = {(slot, place) for chain in chains for slot, place in chain.links}
    for key, source in region.sources.items():
        if isinstance(source, Own) and source.lag and key not in inner and not _carry(loop, source):
            return None
    slopes = [_slope(feed) for feed in (*feeds.values(), *feeds_of_slots.values())]
    loop.is_reversed = sum(slope < 0 for slope in slopes) > sum(slope > 0 for slope in slopes)
    return loop


def _slope(feed: Feed) -> int:
    """In which direction a loop goes through an array, as it lies in memory; 0 if that does not matter."""
    origin = feed.origin
    return origin.slope if isinstance(origin, (RowsOf, CollectedBy)) else 0


def _feed_of_slot(region: Region, slot: int) -> Feed | None:
    node = region.node(slot)
    symbols = region.numbers.get((slot, -1))
    if symbols is not None and node.result.type.strides is None:
        return Feed(Stacked(tuple(symbols.tolist()), node), (), 0, region.count)
    rows, source = region.rows.get(slot, {}), region.sources.get((slot, 0))
    if len(rows) != 1 or not isinstance(source, Fixed) or not node.is_view:
        return None
    ((place, (first, slope)),) = rows.items()
    return Feed(RowsOf(source.value, node, place, first, slope), (), 0, region.count)


def _is_fixed(region: Region, slot: int, roles: dict[int, str]) -> bool:
    for place in range(len(region.node(slot).operands)):
        source = region.sources.get((slot, place))
        if isinstance(source, Own) and (source.lag or roles[source.slot] != HOISTED):
            return False
        if isinstance(source, Sequence) or (slot, place) in region.numbers:
            return False
    return (slot, -1) not in region.numbers


def _leaves_in_another_order(region: Region, slot: int) -> bool:
    """Is a result that does not lie in row-major order read outside? What a loop collects does, and what is computed
    from it would not lie as it is known to."""
    node = region.node(slot)
    if node.is_view or all(value.type.strides is None for value in node.results):
        return False
    inside = [x for x in region.sources.values() if isinstance(x, Own) and x.slot == slot]
    firsts = region.table.first_result[region.start + slot + region.period * np.arange(region.count)]
    total = sum(int(region.table.uses[firsts + index].sum()) for index in range(len(node.results)))
    return total > sum(region.count - x.lag for x in inside)


def _carry(loop: Loop, own: Own) -> bool:
    """Carry a result; of a view, what it is a view of, if that was so before the first repetition too."""
    region = loop.region
    if own in loop.rebased:
        return True
    deeper = _behind_view(loop, own)
    if deeper is not None:
        loop.rebased.add(own)
        return _carry(loop, deeper)
    table = region.table
    kind = region.node(own.slot).results[own.result].type
    for lag in range(1, own.lag + 1):
        if kind.strides is not None or table.values[region.starting[own._replace(lag=lag)]].type != kind:
            return False
    plain = own._replace(lag=0)
    loop.depth[plain] = max(loop.depth.get(plain, 0), own.lag)
    return True


def _behind_view(loop: Loop, own: Own) -> Own | None:
    """The result that a result of an earlier repetition is a view of; None if it has to be carried itself."""
    region, table = loop.region, loop.region.table
    node, source = region.node(own.slot), region.sources.get((own.slot, 0))
    is_view = node.is_view and len(node.results) == 1 and loop.roles[own.slot] == REPEATED
    if not is_view or not isinstance(source, Own) or loop.roles[source.slot] == HOISTED:
        return None
    found: dict[Own, int] = {}
    for lag in range(1, own.lag + 1):
        maker = int(table.maker[region.starting[own._replace(lag=lag)]])
        if maker < 0 or table.labels[maker] != table.labels[region.start + own.slot]:
            return None
        before = source._replace(lag=source.lag + lag)
        found[before] = table.operands_of(maker)[0]
    if any(region.starting.get(before, value) != value for before, value in found.items()):
        return None
    region.starting.update(found)
    return source._replace(lag=source.lag + own.lag)


# `Body`: the graph of one repetition, and the arrays that the loop around it is given.

class Body:
    """Grows from the first node of a repetition to the last. `outside` makes what the loop is given."""

    def __init__(self, loop: Loop, kind: type[Program], outside: Any) -> None:
        self.loop, self.region, self.outside = loop, loop.region, outside
        self.graph = kind("body")
        self.values: dict[Own, Value] = {}
        self.carried: dict[Own, Value] = {}
        self.scanned: dict[Any, tuple[Value, Value]] = {}  # what the body sees, what the loop is given
        self.constants: dict[Value, Value] = {}
        self.given: dict[Own, Value] = {}
        for own in loop.carries():
            self.carried[own] = Value(self.region.node(own.slot).results[own.result].type)
            self.given[own] = outside.outer(self.region.starting[own])
        for slot in range(self.region.period):
            if loop.roles[slot] == REPEATED:
                self._repeat(slot)

    def finish(self) -> Program:
        """The graph with its inputs: carried, scanned, constant."""
        inputs = [*self.carried.values(), *(seen for seen, _ in self.scanned.values()), *self.constants.values()]
        self.graph.inputs = inputs
        self.graph.input_descs = [DummyAOTInput(k) for k in range(len(inputs))]
        return self.graph

    def operands(self) -> list[Value]:
        """What the loop is given."""
        return [*self.given.values(), *(given for _, given in self.scanned.values()), *self.constants]

    def _repeat(self, slot: int) -> None:
        node = self.region.node(slot)
        made = with_operands(node, tuple([self.operand(slot, place) for place in range(len(node.operands))]))
        self._append(made)
        for result, value in enumerate(made.results):
            self.values[Own(slot, result, 0)] = value

    def _append(self, node: Node) -> None:
        node.tag = FORWARD
        self.graph.nodes.append(node)

    # Operands.

    def operand(self, slot: int, place: int) -> Any:
        """What a node of the body reads."""
        region = self.region
        numbers = region.numbers.get((slot, place))
        if numbers is not None:
            return self.fed(Feed(Stacked(tuple(numbers.tolist()), region.node(slot)), (), 0, region.count))
        source = region.sources.get((slot, place))
        if source is None:
            return region.node(slot).operands[place]
        if isinstance(source, Own):
            return self.own(source)
        if isinstance(source, Fixed):
            return self.constant(self.outside.outer(source.value))
        return self.fed(self.loop.feeds[slot, place])

    def own(self, own: Own) -> Value:
        """A result of this repetition or of one before."""
        found = self.values.get(own) or self.carried.get(own)
        if found is None:
            found = self.values[own] = self._found(own)
        return found

    def _found(self, own: Own) -> Value:
        region, role = self.region, self.loop.roles[own.slot]
        if own.lag:  # a view of something that is carried
            source = region.sources[own.slot, 0]
            assert isinstance(source, Own)
            return self._viewed(region.node(own.slot), self.own(source._replace(lag=source.lag + own.lag)))
        if role == HOISTED:
            return self.constant(self.outside.hoisted[self.loop, own.slot].results[own.result])
        assert role == FED
        return self.fed(self.loop.feeds_of_slots[own.slot])

    def _viewed(self, node: Node, value: Value) -> Value:
        made = with_operands(node, (value,))
        self._append(made)
        return made.result

    def constant(self, value: Value) -> Value:
        """A value that is the same in every repetition."""
        found = self.constants.get(value)
        if found is None:
            found = self.constants[value] = Value(value.type)
        return found

    def fed(self, feed: Feed) -> Value:
        """The value of this repetition in a sequence."""
        origin = feed.origin
        if isinstance(origin, Fixed):
            value = self.constant(self.outside.outer(origin.value))
        elif isinstance(origin, Stacked):
            value = self._scanned(origin, lambda: self.outside.stacked(self.loop, origin))
        elif isinstance(origin, CollectedBy):
            first, slope = self.outside.rows_collected(origin)
            value = self._scanned(origin, lambda: self.outside.slices(self.loop, origin.own, origin, first, slope))
        else:
            value = self._row(origin)
        for node in reversed(feed.views):
            value = self._viewed(node, value)
        return value

    def _scanned(self, key: Any, make: Callable[[], Value]) -> Value:
        found = self.scanned.get(key)
        if found is None:
            given = make()
            kind = given.type
            seen = Value(array_type(kind.shape[1:], kind.dtype, kind.byte_strides[1:]))
            found = self.scanned[key] = seen, given
        return found[0]

    def _row(self, origin: RowsOf) -> Value:
        base = self.outside.outer(origin.base)
        index = index_of(origin.node)
        assert index is not None
        if origin.node.op == "_part":
            axis, width, rest = origin.node.attrs["params"]["axis"] % base.type.ndim, None, (Ellipsis,)
        else:
            axis, width = axis_of(index, origin.place, base.type.ndim), width_of(index[origin.place])
            kept = () if width is None else (slice(None),)
            rest = (*index[: origin.place], *kept, *index[origin.place + 1 :])
        key = base, axis, width, origin.first, origin.slope
        make = self.outside.sliced
        value = self._scanned(key, lambda: make(self.loop, base, axis, origin.first, origin.slope, width))
        if width is not None and axis < value.type.ndim - 1:  # the axis of windows is the last
            last = value.type.ndim - 1
            value = self._taken("permute_dims", value, {"axes": (*range(axis), last, *range(axis, last))})
        if all(part is Ellipsis or part == slice(None) for part in rest):
            return value
        return self._taken("_basic_index", value, {"index": rest})

    def _taken(self, name: str, value: Value, attrs: dict[str, Any]) -> Value:
        node = Node(find_operator(name), name, (value,), attrs)
        node.results = (Value(view_type(node.target, value.type, attrs), node, 0),)
        self._append(node)
        return node.result


def view_type(op: Any, kind: ArrayType, attrs: dict[str, Any]) -> ArrayType:
    """The type of a view. Nothing is read through the array that stands for the operand."""
    stand_in = np.lib.stride_tricks.as_strided(np.empty(1, kind.dtype), kind.shape, kind.byte_strides)
    return type_of(op.kernel(stand_in, **attrs))
