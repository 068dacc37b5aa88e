"""`Table`: a graph as columns of integers, in which repetition can be looked for with a few operations on arrays.

Every value has a number, inputs first. Every node has a *label*: two nodes with the same label are the same operator
with results, operands and attributes of the same types. What may differ from one repetition of a loop to the next is
left out of the label, and is the node's *entries*, as many for all nodes of a label:

    VALUE     the number of an operand
    ROW       an integer in the index of `x[3]`, the first one in that of `x[3:5]`; also of a gradient that is placed
              there, and of an update
    SYMBOL    which Python number an operand is, or which array a constant: different numbers for different things
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from pullback.graph.ir import Node, Program, Value
from pullback.graph.rewrite import attribute_key, attributes_key

VALUE, ROW, SYMBOL = 0, 1, 2

# Operators of which an operand that is a Python number may become an array of numbers, one for each repetition.
NUMBERS_MAY_VARY = frozenset({"add", "subtract", "multiply", "divide", "maximum", "minimum"})
_OWN_KINDS = frozenset({"update", "scan", "cond", "while_loop"})

Ints = np.ndarray[Any, np.dtype[np.int64]]


class Entry(NamedTuple):
    """What one entry of a node is: its kind, and the operand or the part of the index that it belongs to."""

    kind: int
    place: int


class Table:
    """The columns. Nodes and values are known by their numbers."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes = program.nodes
        self.values: list[Value] = list(program.inputs)
        self.entries_of: list[tuple[Entry, ...]] = []  # by label
        self.symbols: list[Any] = []
        self._known_labels: dict[Any, int] = {}
        self._known_symbols: dict[Any, int] = {}
        self._known_types: dict[int, int] = {}  # by id
        self._type_numbers: dict[Any, int] = {}
        self._fill()

    def _fill(self) -> None:
        number = {value: k for k, value in enumerate(self.values)}
        labels: list[int] = []
        entries: list[int] = []
        starts: list[int] = [0]
        first: list[int] = []
        makers: list[int] = [-1] * len(self.values)
        others: list[int] = []  # operands of nodes that have no entries
        for position, node in enumerate(self.nodes):
            labels.append(self._label(node, position, number, entries))
            starts.append(len(entries))
            if labels[-1] < 0:
                others += [number[x] for x in node.operands if type(x) is Value]
            first.append(len(makers))
            for value in node.results:
                number[value] = len(makers)
                makers.append(position)
                self.values.append(value)
        first.append(len(makers))
        self.number = number
        self.labels: Ints = np.array(labels, np.int64)
        self.entries: Ints = np.array(entries, np.int64)
        self.starts: Ints = np.array(starts, np.int64)
        self.first_result: Ints = np.array(first, np.int64)
        self.maker: Ints = np.array(makers, np.int64)
        outputs = [number[value] for value in self.program.outputs if value is not None]
        self.uses = self._count_uses(np.array([*others, *outputs], np.int64))

    def _count_uses(self, others: Ints) -> Ints:
        """How often every value is read, by nodes and as an output."""
        kinds = [np.array([entry.kind == VALUE for entry in entries], bool) for entries in self.entries_of]
        flags = [kinds[label] for label in self.labels.tolist() if label >= 0]
        is_value = np.concatenate(flags) if flags else np.zeros(0, bool)
        counted = np.concatenate((self.entries[is_value], others))
        return np.bincount(counted, minlength=len(self.values)).astype(np.int64)

    def operands_of(self, position: int) -> list[int]:
        """The values that a node reads, by number."""
        return [self.number[x] for x in self.nodes[position].operands if type(x) is Value]

    def _label(self, node: Node, position: int, number: dict[Value, int], entries: list[int]) -> int:
        target = node.target
        if node.effect is not None or (target is None and node.op not in _OWN_KINDS and node.op != "constant"):
            return -1 - position
        types = self._known_types
        parts: list[Any] = [target or node.op, node.tag, node.recompute, node.region]
        for x in node.operands:
            if type(x) is Value:
                parts.append(types.get(id(x.type)) or self._type(x.type))
                entries.append(number[x])
            elif node.op in NUMBERS_MAY_VARY and type(x) in (int, float):
                parts.append(type(x))
                entries.append(self._symbol(x))
            else:
                parts.append(("number", attribute_key(x)))
        for value in node.results:
            parts.append(types.get(id(value.type)) or self._type(value.type))
        if node.attrs:
            parts.append(self._attributes(node, entries))
        key = tuple(parts)
        label = self._known_labels.get(key)
        if label is None:
            label = self._known_labels[key] = len(self.entries_of)
            self.entries_of.append(tuple(_entries_of(node)))
        return label

    def _attributes(self, node: Node, entries: list[int]) -> Any:
        index = index_of(node)
        if index is None:
            if node.op == "constant":
                entries.append(self._symbol(node.attrs["value"]))
                return None
            return attributes_key(node.attrs)
        key: list[Any] = []
        for place, part in enumerate(index):
            if type(part) is int:
                entries.append(part if part >= 0 else _from_start(node, index, place))
                key.append("row")
            elif (width := width_of(part)) is not None:
                entries.append(part.start or 0)
                key.append(("window", width))
            else:
                key.append(attribute_key(part))
        rest = {name: value for name, value in node.attrs.items() if name not in ("index", "steps")}
        return tuple(key), attributes_key(rest) if rest else None

    def _type(self, type: Any) -> int:
        """A small number for a type, which is not 0. Types are mostly interned, so the identity is asked first; the
        program keeps them alive."""
        found = self._type_numbers.setdefault(type, len(self._type_numbers) + 1)
        self._known_types[id(type)] = found
        return found

    def _symbol(self, x: Any) -> int:
        key = attribute_key(x) if type(x) is not int else ("int", x)
        found = self._known_symbols.get(key)
        if found is None:
            found = self._known_symbols[key] = len(self.symbols)
            self.symbols.append(x)
        return found

    def kinds_of(self, position: int) -> tuple[Entry, ...]:
        """What the entries of a node are."""
        return self.entries_of[self.labels[position]]


def _entries_of(node: Node) -> Iterator[Entry]:
    """What the entries of a node are, in their order."""
    for place, x in enumerate(node.operands):
        if type(x) is Value:
            yield Entry(VALUE, place)
        elif node.op in NUMBERS_MAY_VARY and type(x) in (int, float):
            yield Entry(SYMBOL, place)
    if node.op == "constant":
        yield Entry(SYMBOL, -1)
    for place, part in enumerate(index_of(node) or ()):
        if type(part) is int or width_of(part) is not None:
            yield Entry(ROW, place)


def _from_start(node: Node, index: tuple[Any, ...], place: int) -> int:
    """An index that is counted from the end, counted from the start."""
    if node.op == "_part":
        shape, axis = node.operands[0].type.shape, node.attrs["params"]["axis"]
    else:
        shape = node.attrs["shape"] if node.op == "_place_slice" else node.operands[0].type.shape
        axis = axis_of(index, place, len(shape))
    return int(index[place] % shape[axis])


def axis_of(index: tuple[Any, ...], place: int, ndim: int) -> int:
    """The axis that part `place` of an index is about."""
    if Ellipsis in index[:place]:
        return ndim - sum(part is not None for part in index[place:])
    return sum(part is not None for part in index[:place])


def width_of(part: Any) -> int | None:
    """The number of elements in `start:stop`; None for a slice that is counted from the end, has steps, or is open."""
    if type(part) is not slice or part.step not in (None, 1) or type(part.stop) is not int:
        return None
    start = part.start or 0
    return part.stop - start if 0 <= start < part.stop else None


def index_of(node: Node) -> tuple[Any, ...] | None:
    """The index with which a node reads a view, places a gradient or writes; None for other nodes."""
    if node.op in ("_basic_index", "_place_slice"):
        index = node.attrs["index"]
        return index if type(index) is tuple else (index,)
    if node.op == "update":
        steps = node.attrs["steps"]
        if len(steps) == 1 and steps[0].op.name == "_basic_index":
            index = steps[0].params["index"]
            return index if type(index) is tuple else (index,)
        return None
    if node.op == "_part" and node.attrs["whole"].name == "_unbind":
        return (node.attrs["index"],)
    return None


# Where a list of labels repeats itself: stretches [start, stop) in which every label stands again `period` further on.
#
# Candidates for periods are the distances from one occurrence of a few labels in a row to the next. There are few of
# them, and for each the list is compared with itself once, so the work is linear in the length of the list.

_WINDOW = 6  # labels in a row that are looked for again
_MOST_PERIODS = 128


class Stretch(NamedTuple):
    """A part of the list that repeats itself."""

    start: int
    stop: int
    period: int

    @property
    def length(self) -> int:
        """The number of labels."""
        return self.stop - self.start


def find_stretches(labels: Ints, repeats: int, nodes: int) -> list[Stretch]:
    """All stretches of at least so many repetitions and labels, the longest first; of equal ones the shorter period."""
    found = []
    for period in _candidates(labels, repeats):
        same = np.concatenate(([False], labels[:-period] == labels[period:], [False]))
        edges = np.flatnonzero(np.diff(same.astype(np.int8)))
        starts, stops = edges[::2], edges[1::2] + period
        long = stops - starts >= max(nodes, repeats * period)
        found += [
            Stretch(start, stop, period)
            for start, stop in zip(starts[long].tolist(), stops[long].tolist(), strict=True)
        ]
    # A longer stretch is worth more only if it is longer by more than the ragged ends of a repetition.
    return sorted(found, key=lambda stretch: (2 * stretch.period - stretch.length, stretch.period))


def _candidates(labels: Ints, repeats: int) -> list[int]:
    """Distances that occur often enough, the most frequent first."""
    count = len(labels) - _WINDOW + 1
    if count < 2:
        return []
    hashed = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for shift in range(_WINDOW):
            hashed = hashed * np.uint64(0x9E3779B97F4A7C15) + labels[shift : shift + count].astype(np.uint64)
    order = np.argsort(hashed, kind="stable")
    again = hashed[order[1:]] == hashed[order[:-1]]
    distances, counts = np.unique((order[1:] - order[:-1])[again], return_counts=True)
    often = counts >= repeats - 1
    ranked = np.argsort(-counts[often], kind="stable")[:_MOST_PERIODS]
    return [int(period) for period in distances[often][ranked]]
