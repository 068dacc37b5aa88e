"""`Writing`: the graph with loops in place of their repetitions, written from the first node to the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pullback.declare.views import ViewStep
from pullback.graph.descriptors import DummyAOTOutput
from pullback.graph.ir import FORWARD, Node, Value, array_type, find_operator, returned_roots, type_of
from pullback.graph.reroll.loop import HOISTED, REPEATED, Body, Loop, Loops, rows_of, slice_of, view_type
from pullback.graph.reroll.regions import CollectedBy, Fixed, Own, Stacked
from pullback.graph.reroll.stacks import Piece, pieces_of
from pullback.graph.reroll.sums import Chain, Link, in_order, index_in, place_in
from pullback.graph.rewrite import outline, with_operands

# Arrays that are written in parts, put together behind the loop: see `accumulators`.

class Payload(NamedTuple):
    """What a link writes: the same every time, or what the loop collects as this result."""

    value: Any
    place: int | None = None


def payloads_of(writing: Writing, body: Body, outputs: list[Value]) -> dict[Link, Payload]:
    """What is written in parts. What the loop has to collect for that is appended to the outputs of its body."""
    region = body.region
    found: dict[Link, Payload] = {}
    for link in [link for chain in body.loop.chains for link in chain.written]:
        source = region.sources.get(link.payload)
        if isinstance(source, Fixed):
            found[link] = Payload(writing.outer(source.value))
        elif source is None and link.payload not in region.numbers:
            slot, place = link.payload
            found[link] = Payload(region.node(slot).operands[place])
        else:
            found[link] = Payload(None, len(outputs))
            outputs.append(body.operand(*link.payload))
    return found


def gathered(writing: Writing, loop: Loop, chain: Chain, payloads: dict[Link, Payload], scan: Node) -> Value:
    """The array after all repetitions."""
    region = loop.region
    value = writing.outer(region.starting[chain.last._replace(lag=1)])
    kind = value.type
    for strip in in_order(region, chain):
        link = strip.link
        index, place = index_in(region, link), place_in(region, link)
        index = (*index[:place], rows_of(loop, strip.first, strip.slope), *index[place + 1 :])
        wanted = view_type(find_operator("_basic_index"), kind, {"index": index}).shape
        axis = _axis_of_slice(index, place, kind.ndim)
        parts = _parts(writing, payloads[link], scan, wanted, axis, strip.offset)
        if link.is_sum:
            placed = writing.add("_place_slice", (parts,), {"index": index, "shape": kind.shape}, kind)
            value = writing.add("add", (value, placed), {}, kind)
        else:
            step = ViewStep(find_operator("_basic_index"), {"index": index})
            value = writing.add("update", (value, parts), {"steps": (step,)}, kind)
    if any(link.is_sum for link in chain.written):
        value = writing.add("add", (value, 0.0 if kind.dtype.kind in "fc" else 0), {}, kind)
    for link in chain.behind_sums:
        last = _last(writing, loop, payloads[link], scan)
        value = writing.add("update", (value, last), region.node(link.slot).attrs, kind)
    return value


def _last(writing: Writing, loop: Loop, payload: Payload, scan: Node) -> Any:
    """What the last repetition writes."""
    if payload.place is None:
        return payload.value
    row = loop.turn_of(loop.region.count - 1)
    return writing.view("_basic_index", scan.results[payload.place], {"index": (row, Ellipsis)})


def _parts(
    writing: Writing, payload: Payload, scan: Node, wanted: tuple[int, ...], axis: int, offset: int | None
) -> Any:
    """What all repetitions write, with their axis where the index has it; of windows, one element of each."""
    value = payload.value if payload.place is None else scan.results[payload.place]
    if type(value) is not Value:
        return value
    lead = 0 if payload.place is None else 1
    if offset is not None:
        value = _element(writing, value, len(wanted) - axis, offset)
    missing = len(wanted) - value.type.ndim
    if missing:
        index = (*(slice(None),) * lead, *(None,) * missing, Ellipsis)
        value = writing.view("_basic_index", value, {"index": index})
    if axis:
        axes = (*range(1, axis + 1), 0, *range(axis + 1, len(wanted)))
        value = writing.view("permute_dims", value, {"axes": axes})
    if value.type.shape != wanted:
        value = writing.view("broadcast_to", value, {"shape": wanted})
    return value


def _element(writing: Writing, value: Value, from_end: int, offset: int) -> Value:
    """One element of a window, whose axis is so many from the end; there is none if one number is for all elements."""
    axis = value.type.ndim - from_end
    if axis < 0:
        return value
    element = offset if value.type.shape[axis] > 1 else 0
    return writing.view("_basic_index", value, {"index": (*(slice(None),) * axis, element, Ellipsis)})


def _axis_of_slice(index: tuple[Any, ...], place: int, ndim: int) -> int:
    """Which axis of the result the slice at `place` of an index is."""
    axis = sum(type(part) is not int for part in index[:place])
    if Ellipsis in index[:place]:
        axis += ndim - sum(part is not None and part is not Ellipsis for part in index) - 1
    return axis


class Writing:
    """The new graph so far, and the values in it that stand for those of the old one."""

    def __init__(self, program: Any, loops: Loops, change_body: Callable[[Any], Any]) -> None:
        self.program, self.loops, self.table = program, loops, loops.table
        self.change_body = change_body
        self.made = outline(program)
        self.tag = FORWARD
        self.found: dict[int, Value] = dict(enumerate(program.inputs))
        self.hoisted: dict[tuple[Loop, int], Node] = {}
        self.results: dict[tuple[Loop, Own], Value] = {}  # carried ones by lag, collected ones without
        self.returned = returned_roots(program)

    def run(self) -> Any:
        """The whole graph."""
        table, loops = self.table, self.loops
        starts = {loop.region.start: loop for loop in loops.loops}
        outputs = [None if value is None else table.number[value] for value in self.program.outputs]
        position = 0
        while position < len(table.nodes):
            self.tag = table.nodes[position].tag
            loop = starts.get(position)
            if loop is None:
                self._write(position)
                position += 1
                continue
            self._loop(loop)
            for value in outputs:  # here, and not behind nodes of the other half
                if value is not None and loops.of_value(value) is loop.region:
                    self.outer(value)
            position = loop.region.stop
        self.made.outputs = [None if value is None else self.outer(value) for value in outputs]
        self.made.output_descs = list(self.program.output_descs)
        return self.made

    def _write(self, position: int) -> None:
        """A node that is in no loop."""
        node = self.table.nodes[position]
        pieces = pieces_of(self.loops, node)
        made = self._joined(node, pieces) if pieces else self._copy(node)
        first = int(self.table.first_result[position])
        for index, value in enumerate(made):
            self.found[first + index] = value

    def _copy(self, node: Node) -> tuple[Value, ...]:
        """The node itself if its operands are the same."""
        operands = tuple([self.outer(self.table.number[x]) if type(x) is Value else x for x in node.operands])
        if any(new is not old for new, old in zip(operands, node.operands, strict=True)):
            node = with_operands(node, operands)
        self.made.nodes.append(node)
        return node.results

    def _again(self, node: Node) -> tuple[Value, ...]:
        """A node of a loop outside of it, in the half that needs it."""
        operands = tuple([self.outer(self.table.number[x]) if type(x) is Value else x for x in node.operands])
        made = with_operands(node, operands)
        made.tag = self.tag
        self.made.nodes.append(made)
        return made.results

    def add(self, name: str, operands: Any, attrs: dict[str, Any], type: Any) -> Value:
        """The result of a new node."""
        target = name if name in ("update", "constant") else find_operator(name)
        return self.made.add(target, operands, attrs, (type,), self.tag).result

    def view(self, name: str, value: Value, attrs: dict[str, Any]) -> Value:
        """A view of a value."""
        return self.add(name, (value,), attrs, view_type(find_operator(name), value.type, attrs))

    # Values.

    def outer(self, value: int) -> Value:
        """A value of the old graph, outside of all loops."""
        found = self.found.get(value)
        if found is None:
            found = self.found[value] = self._out_of_loop(value)
        return found

    def _out_of_loop(self, value: int) -> Value:
        region = self.loops.of_value(value)
        assert region is not None
        loop = self.loops.by_region[region]
        own, repetition = region.place_of(value)
        carried = self.results.get((loop, own._replace(lag=region.count - repetition)))
        if carried is not None:
            return carried
        role = loop.roles[own.slot]
        if role != HOISTED and (role != REPEATED or region.node(own.slot).is_view):
            return self._again(self.table.nodes[self.table.maker[value]])[own.result]
        if role == HOISTED:
            found = self.hoisted[loop, own.slot].results[own.result]
        else:
            row = loop.turn_of(repetition)
            found = self.view("_basic_index", self.results[loop, own], {"index": (row, Ellipsis)})
        # What the caller gets is memory of its own, not a part of what backward reads as well.
        return self.add("copy", (found,), {"order": "C"}, found.type) if self._is_returned(value) else found

    def _is_returned(self, value: int) -> bool:
        return self.table.values[value] in self.returned

    # Arrays that loops are given.

    def stacked(self, loop: Loop, origin: Stacked) -> Value:
        """Numbers or constants as one array."""
        symbols = [self.table.symbols[symbol] for symbol in origin.symbols]
        symbols = symbols[::-1] if loop.is_reversed else symbols
        array = np.stack([np.asarray(x, origin.node.result.type.dtype) for x in symbols])
        array.flags.writeable = False
        return self.add("constant", (), {"value": array}, type_of(array))

    def rows_collected(self, origin: CollectedBy) -> tuple[int, int]:
        """First and slope of the rows that a feed from another loop is."""
        loop = self.loops.by_region[origin.region]
        return loop.turn_of(origin.first), -origin.slope if loop.is_reversed else origin.slope

    def slices(self, loop: Loop, own: Own, origin: CollectedBy, first: int, slope: int) -> Value:
        """Rows of what another loop has collected."""
        base = self.results[self.loops.by_region[origin.region], own]
        return self.sliced(loop, base, 0, first, slope)

    def sliced(
        self, loop: Loop, base: Value, axis: int, first: int, slope: int, width: int | None = None
    ) -> Value:
        """Rows of an array along an axis, or windows of so many rows, as a view with the axis of turns in front."""
        if width is not None:
            base = self.view("_windows", base, {"window": (width,), "axis": (axis,)})
        length = base.type.shape[axis]
        if axis:
            axes = (axis, *(k for k in range(base.type.ndim) if k != axis))
            base = self.view("permute_dims", base, {"axes": axes})
        part = rows_of(loop, first, slope)
        if part == slice(0, length, 1):
            return base
        return self.view("_basic_index", base, {"index": (part, Ellipsis)})

    # Loops.

    def _loop(self, loop: Loop) -> None:
        region = loop.region
        for slot in range(region.period):
            if loop.roles[slot] == HOISTED:
                self._hoist(loop, slot)
        body = Body(loop, type(self.program), self)
        carries = loop.carries()
        outputs = [body.own(own._replace(lag=own.lag - 1)) for own in carries]
        outputs += [body.own(own) for own in loop.collected]
        payloads = payloads_of(self, body, outputs)
        if not outputs:
            return  # what it takes out of arrays, others take there themselves
        graph = body.finish()
        for k, value in enumerate(outputs):
            graph.add_output(value, DummyAOTOutput(k))
        attrs = {
            "body": self.change_body(graph), "carried": len(carries), "scanned": len(body.scanned),
            "length": region.count, "reverse": loop.is_reversed,
        }  # fmt: skip
        types = [value.type for value in outputs[: len(carries)]]
        types += [array_type((region.count, *value.type.shape), value.type.dtype) for value in outputs[len(carries) :]]
        node = self.made.add("scan", body.operands(), attrs, types, self.tag)
        node.place = region.node(0).place
        for own, value in zip([*carries, *loop.collected], node.results, strict=False):
            self.results[loop, own] = value
        for chain in loop.chains:
            last = region.value_at(chain.last, region.count - 1)
            self.found[last] = gathered(self, loop, chain, payloads, node)

    def _hoist(self, loop: Loop, slot: int) -> None:
        region = loop.region
        node = region.node(slot)
        operands: list[Any] = []
        for place, x in enumerate(node.operands):
            source = region.sources.get((slot, place))
            if isinstance(source, Own):
                operands.append(self.hoisted[loop, source.slot].results[source.result])
            else:
                operands.append(self.outer(source.value) if isinstance(source, Fixed) else x)
        made = self.hoisted[loop, slot] = with_operands(node, tuple(operands))
        self.made.nodes.append(made)

    # Results of all repetitions, put together.

    def _joined(self, node: Node, pieces: list[Piece]) -> tuple[Value, ...]:
        """What `_stack` or `_concat` makes of values of a loop: what the loop has collected."""
        kind, axis = node.result.type, node.attrs["axis"]
        parts = [(self._several if piece.own is None else self._all)(node, axis, piece) for piece in pieces]
        if len(parts) > 1:
            parts = [self._in_rows(part) for part in parts]  # or the result would lie in memory as the first one does
            return (self.add("_concat", parts, {"axis": axis}, kind),)
        if node.result in self.returned or parts[0].type != kind:
            return (self.add("copy", parts, {"order": "C"}, kind),)
        return (parts[0],)

    def _several(self, node: Node, axis: int, piece: Piece) -> Value:
        """Operands that are no results of a loop, joined."""
        operands = [self.outer(value) for value in piece.values]
        shape = list(node.result.type.shape)
        shape[axis] = len(operands) if node.op == "_stack" else sum(x.type.shape[axis] for x in operands)
        return self.add(node.op, operands, node.attrs, array_type(tuple(shape), node.result.type.dtype))

    def _all(self, node: Node, axis: int, piece: Piece) -> Value:
        """What a loop has collected, as if it were joined."""
        assert piece.region is not None and piece.own is not None
        loop = self.loops.by_region[piece.region]
        value = self.results[loop, piece.own]
        first, slope = loop.turn_of(piece.first), -piece.slope if loop.is_reversed else piece.slope
        part = slice_of(first, slope, len(piece.values))
        if part != slice(0, value.type.shape[0], 1):
            value = self.view("_basic_index", value, {"index": (part, Ellipsis)})
        if axis:
            axes = (*range(1, axis + 1), 0, *range(axis + 1, value.type.ndim))
            value = self.view("permute_dims", value, {"axes": axes})
        if node.op == "_stack":
            return value
        shape, value = value.type.shape, self._in_rows(value)
        merged = (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
        return self.view("_reshape", value, {"shape": merged})

    def _in_rows(self, value: Value) -> Value:
        """The value in row-major order."""
        kind = value.type
        if kind.strides is None:
            return value
        return self.add("copy", (value,), {"order": "C"}, array_type(kind.shape, kind.dtype))
