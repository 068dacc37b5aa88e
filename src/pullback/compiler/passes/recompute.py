"""`recompute`: a scan computes again what is cheap, instead of reading what another scan kept of every step.

The gradient of a loop is a loop that goes the other way and needs values of every step. To keep all of them is right
for a backend that calls NumPy for every operator. Fused code does an addition in a tenth of the time that it takes to
write a number to memory and to read it back. Here a smallest cut decides, step for step, what is kept and what is
computed again: the body of the first loop is a network in which to keep a value costs its bytes, and to compute it
again costs time. Constants of the first loop and the slices it goes along are there for the second one as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, TypeVar

from pullback.core.records import Record, field
from pullback.graph.cost import flops
from pullback.graph.ir import FORWARD, Node, Program, Value, array_type
from pullback.graph.network import UNLIMITED, FlowNetwork
from pullback.graph.rewrite import Replacements, in_bodies, keep_remarks, keeps_its_place, outline, with_operands

Kind = TypeVar("Kind", bound=Program)

# Picoseconds on one thread. What fits into the nearer caches is read and written faster.
_KEPT_BYTE, _KEPT_BYTE_NEARBY, _NEARBY = 120, 40, 1 << 19
_OPERATION = {"add": 100, "divide": 500, "function": 2000}  # by the `price` of operators


@in_bodies
def recompute(program: Kind) -> Kind:
    """The graph with loops that keep less; the graph itself if none of them reads what another one kept."""
    seen: set[tuple[Node, Node]] = set()
    while True:
        pair = next((pair for pair in _pairs(program) if (pair.first, pair.second) not in seen), None)
        if pair is None:
            return program
        seen.add((pair.first, pair.second))
        kept = _cut(pair)
        if set(kept) != {pair.body.outputs[k] for k in pair.kept}:
            # path: recomputed in loops
            program, made = _rewritten(program, pair, kept)
            seen.add(made)


class _Pair(Record, eq=False):
    """Two scans, and what the first one keeps for the second alone: places of its results, by operands of the other."""

    first: Node
    second: Node
    slices: dict[int, int] = field(default_factory=dict)

    @property
    def body(self) -> Program:
        body: Program = self.first.attrs["body"]
        return body

    @property
    def kept(self) -> list[int]:
        return sorted(set(self.slices.values()))


def _ends(node: Node) -> tuple[int, int]:
    """The places of a scan's operands at which slices and constants begin."""
    carried: int = node.attrs["carried"]
    return carried, carried + node.attrs["scanned"]


def _pairs(program: Program) -> Iterable[_Pair]:
    readers: dict[Value, list[tuple[Node, int]]] = defaultdict(list)
    for node in program.nodes:
        for place, x in enumerate(node.operands):
            if type(x) is Value:
                readers[x].append((node, place))
    for node in program.nodes:
        if not _is_plain_scan(node):
            continue
        found: dict[Node, _Pair] = {}
        for number, value in enumerate(node.results[node.attrs["carried"] :], node.attrs["carried"]):
            nodes = {reader for reader, _ in readers[value]}
            if len(nodes) == 1 and value not in program.outputs:
                (reader,) = nodes
                places = [place for _, place in readers[value]]
                if _is_plain_scan(reader) and all(_ends(reader)[0] <= k < _ends(reader)[1] for k in places):
                    pair = found.setdefault(reader, _Pair(node, reader))
                    pair.slices.update(dict.fromkeys(places, number))
        yield from found.values()


def _is_plain_scan(node: Node) -> bool:
    return node.op == "scan" and node.target is None and not keeps_its_place(node)


# What is kept.


def _cut(pair: _Pair) -> list[Value]:
    """The values of the first body that the second one gets, in the order in which they are made."""
    network, body = _Network(pair), pair.body
    order = [*body.inputs, *(value for node in body.nodes for value in node.results)]
    chosen = network.cut()
    return [value for value in order if value in chosen]


class _Network:
    def __init__(self, pair: _Pair) -> None:
        self.pair = pair
        self.flow = FlowNetwork()
        self.source, self.sink = self.flow.add_vertex(), self.flow.add_vertex()
        self.ends: dict[Value, tuple[int, int]] = {}
        self.price = self._price_of_a_byte()
        staying = set(range(len(pair.body.outputs))) - set(pair.kept)
        self.there = {pair.body.outputs[k] for k in staying if k >= _ends(pair.first)[0]}
        for place, value in enumerate(pair.body.inputs):
            self._add(value, self._price_of_input(place, value), UNLIMITED)
        for node in pair.body.nodes:
            for value in node.results:
                self._add(value, self._price_of(value), _time_of(node))
                for x in node.inputs:
                    self.flow.add_edge(self.ends[x][1], self.ends[value][0], UNLIMITED)
        for k in pair.kept:
            wanted = pair.body.outputs[k]
            assert wanted is not None
            self.flow.add_edge(self.ends[wanted][1], self.sink, UNLIMITED)

    def cut(self) -> set[Value]:
        self.flow.push_all(self.source, self.sink)
        late = self.flow.sink_side(self.sink)
        return {value for value, (enter, leave) in self.ends.items() if late[leave] and not late[enter]}

    def _add(self, value: Value, price: int, time: int) -> None:
        """To keep a value costs its price, to compute it again takes time."""
        self.ends[value] = self.flow.add_vertex(), self.flow.add_vertex()
        self.flow.add_edge(*self.ends[value], price)
        self.flow.add_edge(self.source, self.ends[value][0], time)

    def _price_of_a_byte(self) -> int:
        total = sum(self.pair.first.results[k].type.nbytes for k in self.pair.kept)
        return _KEPT_BYTE if total > _NEARBY else _KEPT_BYTE_NEARBY

    def _price_of_input(self, place: int, value: Value) -> int:
        carried, end = _ends(self.pair.first)
        if place >= end:
            return 0
        whole = self._price_of(value)
        return whole if place < carried else whole // 2

    def _price_of(self, value: Value) -> int:
        node = value.node
        if node is not None and (node.is_view or node.op == "constant"):
            return UNLIMITED
        whole = value.type.nbytes * self.price
        return whole // 2 if value in self.there else whole


def _time_of(node: Node) -> int:
    """Picoseconds that a node takes in fused code."""
    target = node.target
    if node.op == "constant" or node.is_view:
        return 0
    if target is None or target.price is None or node.effect is not None or len(node.results) != 1:
        return UNLIMITED
    return _OPERATION[target.price] * flops(node)


# The loops written anew.


def _rewritten(program: Kind, pair: _Pair, kept: list[Value]) -> tuple[Kind, tuple[Node, Node]]:
    made, replaced = outline(program), Replacements()
    first = second = None
    for original in program.nodes:
        node = replaced.node(original)
        if original is pair.first:
            first, where = _first_loop(node, pair, kept)
            node = first
            staying = [k for k in range(len(original.results)) if k not in pair.kept]
            replaced.found.update((original.results[k], node.results[n]) for n, k in enumerate(staying))
        elif original is pair.second:
            assert first is not None
            node = second = _second_loop(node, pair, where)
            replaced.found.update(zip(original.results, node.results, strict=True))
        made.nodes.append(node)
    assert first is not None and second is not None
    return replaced.finish(made, program), (first, second)


def _first_loop(node: Node, pair: _Pair, kept: list[Value]) -> tuple[Node, dict[Value, Any]]:
    """The first loop, and where the second finds what is kept: (is it a constant?, the array)."""
    body, (carried, end) = pair.body, _ends(node)
    staying = [k for k in range(len(body.outputs)) if k not in pair.kept]
    outputs = [body.outputs[k] for k in staying]
    inputs = {value: place for place, value in enumerate(body.inputs)}
    added = [x for x in kept if x not in outputs[carried:] and inputs.get(x, -1) < carried]
    new = outline(body)
    new.nodes, new.outputs = list(body.nodes), [*outputs, *added]
    new.output_descs = [body.output_descs[0]] * len(new.outputs)
    made = Node(None, "scan", node.operands, {**node.attrs, "body": new}, node.tag)
    keep_remarks(made, node)
    length = node.attrs["length"]
    types = [*(node.results[k].type for k in staying), *(_stacked(x, length) for x in added)]
    made.results = tuple([Value(kind, made, index) for index, kind in enumerate(types)])
    where: dict[Value, Any] = {}
    for x in kept:
        place = inputs.get(x, -1)
        if place >= carried:
            where[x] = (place >= end, node.operands[place])
        else:
            where[x] = (False, made.results[carried + new.outputs[carried:].index(x)])
    return made, where


def _stacked(value: Value, length: int) -> Any:
    return array_type((length, *value.type.shape), value.type.dtype)


def _second_loop(node: Node, pair: _Pair, where: dict[Value, Any]) -> Node:
    """The second loop, which gets other slices and computes from them what it does not get any more."""
    carried, end = _ends(node)
    slices = [x for x, (is_constant, _) in where.items() if not is_constant]
    fixed = [x for x, (is_constant, _) in where.items() if is_constant]
    operands = [
        *(x for k, x in enumerate(node.operands[:end]) if k not in pair.slices), *(where[x][1] for x in slices),
        *node.operands[end:], *(where[x][1] for x in fixed),
    ]  # fmt: skip
    scanned = end - carried - len(pair.slices) + len(slices)
    body = _second_body(node, pair, slices, fixed)
    made = Node(None, "scan", tuple(operands), {**node.attrs, "body": body, "scanned": scanned}, node.tag)
    keep_remarks(made, node)
    made.results = tuple([Value(value.type, made, value.index) for value in node.results])
    return made


def _second_body(node: Node, pair: _Pair, slices: list[Value], fixed: list[Value]) -> Program:
    """The body of the second loop: nodes of the first one in front of its own."""
    body, (_, end) = node.attrs["body"], _ends(node)
    new: Program = type(body)(body.name)
    given = {x: Value(array_type(x.type.shape, x.type.dtype)) for x in slices} | {x: Value(x.type) for x in fixed}
    new.inputs = [
        *(x for k, x in enumerate(body.inputs[:end]) if k not in pair.slices), *(given[x] for x in slices),
        *body.inputs[end:], *(given[x] for x in fixed),
    ]  # fmt: skip
    new.input_descs = [body.input_descs[0]] * len(new.inputs)
    found: dict[Any, Any] = dict(given)
    for inner in _needed(pair.body, [pair.body.outputs[k] for k in pair.kept], given):
        copy = with_operands(inner, tuple([found.get(x, x) for x in inner.operands]))
        copy.tag = FORWARD
        found.update(zip(inner.results, copy.results, strict=True))
        new.nodes.append(copy)
    again = Replacements()
    again.found.update((body.inputs[k], found[pair.body.outputs[number]]) for k, number in pair.slices.items())
    new.nodes += [again.node(inner) for inner in body.nodes]
    return again.finish(new, body)


def _needed(body: Program, wanted: Iterable[Any], known: dict[Value, Any]) -> list[Node]:
    """The nodes that make these values out of those that are known."""
    live, found = {value for value in wanted if value not in known}, []
    for node in reversed(body.nodes):
        if not live.isdisjoint(node.results):
            found.append(node)
            live.update(x for x in node.inputs if x not in known)
    return found[::-1]
