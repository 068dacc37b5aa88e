"""Arrays that are written in parts, put together behind the loop: see `accumulators`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pullback.declare.steps import ViewStep
from pullback.graph.ir import Node, Value
from pullback.graph.operators import find_operator
from pullback.graph.rerolling.accumulators import Chain, Link, in_order, index_in, place_in
from pullback.graph.rerolling.body import Body, view_type
from pullback.graph.rerolling.loops import Loop, rows_of
from pullback.graph.rerolling.regions import Fixed

if TYPE_CHECKING:
    from pullback.graph.rerolling.writing import Writing


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
