"""`Body`: the graph of one repetition, and the arrays that the loop around it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.graph.descriptors import DummyAOTInput
from pullback.graph.ir import FORWARD, Node, Program, Value
from pullback.graph.operators import find_operator
from pullback.graph.rerolling.feeds import CollectedBy, Feed, RowsOf, Stacked
from pullback.graph.rerolling.loops import FED, HOISTED, REPEATED, Loop
from pullback.graph.rerolling.regions import Fixed, Own
from pullback.graph.rerolling.table import axis_of, index_of, width_of
from pullback.graph.rewrite import with_operands
from pullback.graph.types import ArrayType, array_type, type_of


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
